"""The red rectangle that marks an object in a video: hollow, pure red, upright, perhaps cut off by the border.

Lines are found by run lengths in a mask of red pixels, and rectangles as sets of lines that meet in corners or reach
the border. What is red but no mark fails one of these: a sofa is not thin, a frame in perspective is not straight along
the pixel rows, a shaded frame is not pure red, letters do not close to a rectangle.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting

Image = NDArray[np.uint8]
Mask = NDArray[np.uint8]


@dataclass(frozen=True)
class RedBoxConfig(Settings):
    """What counts as a mark. The defaults allow for compression and for colour at half the resolution."""

    least_red: int = setting(125, "Least red of a pixel of the line.", low=0, high=255)
    most_other: int = setting(85, "Most green or blue of a pixel of the line.", low=0, high=255)
    least_excess: int = setting(75, "Least excess of red over green and blue.", low=0, high=255)
    pure_red: int = setting(175, "Least median red of a line of four pixels or more.", low=0, high=255)
    pure_other: int = setting(80, "Most median green or blue of the line.", low=0, high=255)
    widest_line_px: int = setting(9, "Widest line.", unit="px", low=1, high=20)
    shortest_line_px: int = setting(11, "Shortest side that counts as a line.", unit="px", low=3)
    smallest_px: int = setting(12, "Smallest width and height of a rectangle that is not cut off.", unit="px", low=4)
    least_cover: float = setting(0.72, "Least share of each side that must be red.", above=0.0, high=1.0)


@dataclass(frozen=True)
class RedBox:
    """A mark in an image. Pixels are whole numbers, and the last column and row belong to the rectangle.

    Attributes:
        x0: First column of the line; 0 where the left side is cut off.
        y0: First row.
        x1: Last column; the image's last where the right side is cut off.
        y1: Last row.
        cut_left: Whether the left side lies outside the image or on its border.
        cut_top: The same of the upper side.
        cut_right: The same of the right side.
        cut_bottom: The same of the lower side.
        line_px: Width of the line.
        score: 0 to 1: share of the sides' pixels that are red, times 0.85 where two sides are to be seen and 0.6 where
            one is: a single side does not tell on which side of it the object lies (a level one is taken to lie
            above it, an upright one beside the larger part of the image).
    """

    x0: int
    y0: int
    x1: int
    y1: int
    cut_left: bool
    cut_top: bool
    cut_right: bool
    cut_bottom: bool
    line_px: int
    score: float

    def inside(self, margin_px: float = 0.0) -> tuple[float, float, float, float]:
        """What the line encloses, (x0, y0, x1, y1) in pixels, inclusive; cut sides stay at the image's border.

        Args:
            margin_px: Distance kept between the line and the object.
        """
        step = self.line_px + margin_px
        x0 = self.x0 if self.cut_left else self.x0 + step
        y0 = self.y0 if self.cut_top else self.y0 + step
        x1 = self.x1 if self.cut_right else self.x1 - step
        y1 = self.y1 if self.cut_bottom else self.y1 - step
        return float(min(x0, x1)), float(min(y0, y1)), float(max(x0, x1)), float(max(y0, y1))


@dataclass(frozen=True)
class _Line:
    """A straight run of red: ``across`` is its row range (or column range), ``along`` its extent. All inclusive."""

    across: tuple[int, int]
    along: tuple[int, int]

    @property
    def width(self) -> int:
        return self.across[1] - self.across[0] + 1

    @property
    def length(self) -> int:
        return self.along[1] - self.along[0] + 1


_MOST_LINES = 6
_BORDER_PX = 2
"""A line that ends so near to the border is taken to go on beyond it."""
_GAP_PX = 12
"""Pieces of a line that are so far apart are one, and so far may a line end before its corner."""
_CORNER_PX = 4
"""So far may a line go on beyond the corner."""
_DEFAULT = RedBoxConfig()


def find_red_box(image_rgb: Image, config: RedBoxConfig | None = None) -> RedBox | None:
    """Find the mark in an image.

    Args:
        image_rgb: H x W x 3 bytes, RGB.
        config: See :class:`RedBoxConfig`.

    Returns:
        The best rectangle, or None. A mark whose four sides all lie outside the image cannot be seen.

    Raises:
        ValueError: It is no RGB image.
    """
    if image_rgb.ndim != 3 or image_rgb.shape[2] != 3 or image_rgb.dtype != np.uint8:
        raise ValueError(f"an RGB image is H x W x 3 bytes, got shape {image_rgb.shape} of {image_rgb.dtype}")
    config = config or _DEFAULT
    mask = _red(image_rgb, config)
    if cv2.countNonZero(mask) < config.shortest_line_px:
        return None
    thin = _thin(mask, config.widest_line_px)
    level = _lines(thin, mask, config)
    upright = _lines(np.asarray(cv2.transpose(thin), np.uint8), np.asarray(cv2.transpose(mask), np.uint8), config)
    if not level and not upright:
        return None
    height, width = mask.shape
    best: RedBox | None = None
    for sides in _rectangles(level, upright, width, height, config):
        found = _judged(image_rgb, mask, sides, config)
        if found is not None and (best is None or _rank(found) > _rank(best)):
            best = found
    return best


_Sides = tuple["_Line | None", "_Line | None", "_Line | None", "_Line | None"]
"""Left, top, right, bottom; None where cut off."""


def _red(image: Image, config: RedBoxConfig) -> Mask:
    """255 where a pixel may belong to a line. Colour at half the resolution takes much of the red of a thin line."""
    red, green, blue = cv2.split(image)
    other = cv2.max(green, blue)
    mask = cv2.threshold(other, config.most_other, 255, cv2.THRESH_BINARY_INV)[1]
    cv2.bitwise_and(mask, cv2.threshold(red, config.least_red - 1, 255, cv2.THRESH_BINARY)[1], mask)
    excess = cv2.subtract(red, other)
    cv2.bitwise_and(mask, cv2.threshold(excess, config.least_excess - 1, 255, cv2.THRESH_BINARY)[1], mask)
    return np.asarray(mask, np.uint8)


def _rank(box: RedBox) -> tuple[float, bool, int]:
    above = box.cut_left and box.cut_right and box.cut_bottom
    return round(box.score, 2), above, (box.x1 - box.x0) * (box.y1 - box.y0)


def _thin(mask: Mask, widest: int) -> Mask:
    """The mask without areas that are wider than a line both ways (and their rims)."""
    side = widest + 3
    x, y, w, h = cv2.boundingRect(mask)
    part = mask[y : y + h, x : x + w]
    area = cv2.morphologyEx(
        part, cv2.MORPH_OPEN, np.ones((side, side), np.uint8), borderType=cv2.BORDER_CONSTANT, borderValue=0
    )
    if not area.any():
        return mask
    result = np.zeros_like(mask)
    result[y : y + h, x : x + w] = np.where(cv2.dilate(area, np.ones((3, 3), np.uint8)) > 0, 0, part)
    return result


def _lines(mask: Mask, red: Mask, config: RedBoxConfig) -> list[_Line]:
    """The longest straight runs along the rows of a mask.

    Args:
        mask: Red pixels without wide areas.
        red: All red pixels: a line that crosses a red thing goes on beyond it.
        config: Limits.
    """
    x, y, w, h = cv2.boundingRect(mask)
    if w < config.shortest_line_px:
        return []
    part = mask[y : y + h, x : x + w]
    runs = cv2.morphologyEx(
        part,
        cv2.MORPH_OPEN,
        np.ones((1, config.shortest_line_px), np.uint8),
        borderType=cv2.BORDER_CONSTANT,
        borderValue=0,
    )
    count, _, stats, _ = cv2.connectedComponentsWithStats(runs, connectivity=8)
    pieces = sorted((tuple(int(v) for v in row) for row in stats[1:count]), key=lambda s: -s[2])[: 4 * _MOST_LINES]
    lines: list[_Line] = []
    for left, top, wide, tall, _area in pieces:
        if tall > config.widest_line_px + 4:
            continue
        piece = _Line((top + y, top + y + tall - 1), (left + x, left + x + wide - 1))
        for k, other in enumerate(lines):
            if _continues(other, piece, red):
                lines[k] = _joined(other, piece)
                break
        else:
            lines.append(piece)
    longest = sorted(lines, key=lambda line: -line.length)[:_MOST_LINES]
    return [line for line in (_trimmed(line, mask, config.least_cover) for line in longest) if line is not None]


def _continues(line: _Line, piece: _Line, red: Mask) -> bool:
    """Whether a piece lies in line with another, after a short gap or one that is all red."""
    low, high = min(line.along[1], piece.along[1]), max(line.along[0], piece.along[0])
    if any(abs(a - b) > 3 for a, b in zip(line.across, piece.across, strict=True)):
        return False
    if high - low <= _GAP_PX:
        return True
    rows = slice(max(line.across[0], piece.across[0]), min(line.across[1], piece.across[1]) + 1)
    between = red[rows, low + 1 : high]
    return bool(between.size) and float((between > 0).mean()) > 0.85


def _joined(a: _Line, b: _Line) -> _Line:
    return _Line(
        (min(a.across[0], b.across[0]), max(a.across[1], b.across[1])),
        (min(a.along[0], b.along[0]), max(a.along[1], b.along[1])),
    )


def _trimmed(line: _Line, mask: Mask, least_cover: float) -> _Line | None:
    """The line without rows that are red in places only, as compression leaves them beside it."""
    strip = mask[line.across[0] : line.across[1] + 1, line.along[0] : line.along[1] + 1] > 0
    full = np.flatnonzero(strip.mean(axis=1) >= least_cover)
    if not len(full):
        return None
    return _Line((line.across[0] + int(full[0]), line.across[0] + int(full[-1])), line.along)


def _rectangles(
    level: list[_Line], upright: list[_Line], width: int, height: int, config: RedBoxConfig
) -> Iterator[_Sides]:
    """Sets of sides that meet in corners or reach the border."""
    smallest = config.smallest_px
    for left, right in _pairs(upright, smallest):
        x0, x1 = 0 if left is None else left.across[0], width - 1 if right is None else right.across[1]
        spanning = [line for line in level if _spans(line, x0, x1, width)]
        for top, bottom in _pairs(spanning, smallest):
            if top is bottom is left is right is None:
                continue
            y0, y1 = 0 if top is None else top.across[0], height - 1 if bottom is None else bottom.across[1]
            if all(line is None or _spans(line, y0, y1, height) for line in (left, right)):
                yield left, top, right, bottom


def _pairs(lines: list[_Line], smallest: int) -> Iterator[tuple[_Line | None, _Line | None]]:
    """Two sides that face each other; the first or the second may be cut off."""
    choices: list[_Line | None] = [None, *lines]
    for first, second in itertools.product(choices, choices):
        if first is not None and second is not None:
            apart = second.across[1] - first.across[0] + 1
            if apart < smallest or first.across[1] >= second.across[0]:
                continue
        yield first, second


def _spans(line: _Line, low: int, high: int, size: int) -> bool:
    """Whether a side goes from one neighbour to the other, or to the border where there is none."""
    for end, corner, outwards in ((line.along[0], low, -1), (line.along[1], high, 1)):
        beyond = (end - corner) * outwards
        at_border = corner in (0, size - 1)
        if beyond > _CORNER_PX or -beyond > (_BORDER_PX if at_border else _GAP_PX):
            return False
    return True


def _judged(image: Image, mask: Mask, sides: _Sides, config: RedBoxConfig) -> RedBox | None:
    """The rectangle, if its line is red all along, straight, pure in colour and hollow."""
    height, width = mask.shape
    left, top, right, bottom = sides
    x0, x1 = 0 if left is None else left.across[0], width - 1 if right is None else right.across[1]
    y0, y1 = 0 if top is None else top.across[0], height - 1 if bottom is None else bottom.across[1]
    transposed = np.swapaxes(mask, 0, 1)
    covers, widths, colours = [], [], []
    for line, picture, low, high, turned in (
        (left, transposed, y0, y1, True),
        (top, mask, x0, x1, False),
        (right, transposed, y0, y1, True),
        (bottom, mask, x0, x1, False),
    ):
        if line is None:
            continue
        rows = (picture[line.across[0] : line.across[1] + 1, low : high + 1] > 0).mean(axis=1)
        full = rows >= config.least_cover
        if not full.any() or rows[full].sum() < 0.55 * rows.sum():
            return None
        covers.append(float(rows[full].max()))
        at_border = line.across[0] == 0 or line.across[1] == picture.shape[0] - 1
        widths.append((int(full.sum()), at_border))
        whole = np.swapaxes(image, 0, 1) if turned else image
        colours.append(_reddest(whole[line.across[0] : line.across[1] + 1, low : high + 1]))
        if _ring(picture, line, low, high) > 0.5:
            return None
    free = [w for w, at_border in widths if not at_border]
    thickness = round(float(np.median(free))) if free else max(w for w, _ in widths)
    if any(abs(w - thickness) > max(2, thickness // 2) for w in free) or thickness > config.widest_line_px:
        return None
    colour = np.median(np.concatenate(colours), axis=0)
    if (thickness > 3 and colour[0] < config.pure_red) or max(colour[1], colour[2]) > config.pure_other:
        return None
    share = {1: 0.6, 2: 0.85}.get(len(covers), 1.0)
    return RedBox(
        x0,
        y0,
        x1,
        y1,
        cut_left=x0 <= 1,
        cut_top=y0 <= 1,
        cut_right=x1 >= width - 2,
        cut_bottom=y1 >= height - 2,
        line_px=thickness,
        score=round(min(covers) * share, 3),
    )


def _reddest(band: Image) -> Image:
    """N x 3: of each place along a line, the colour of its reddest pixel across it (K x N x 3)."""
    excess = band[:, :, 0].astype(np.int16) - band[:, :, 1:].max(axis=2)
    return np.asarray(band[excess.argmax(axis=0), np.arange(band.shape[1])])


def _ring(mask: NDArray[np.uint8], line: _Line, low: int, high: int) -> float:
    """Share of red right beside a line, on its emptier side: on the other a red object may touch it."""
    inset = min(line.width + 2, (high - low) // 3)
    beside = []
    for at in (line.across[0] - 3, line.across[1] + 3):
        if 0 <= at < mask.shape[0]:
            beside.append(float((mask[at, low + inset : high + 1 - inset] > 0).mean()))
    return min(beside, default=0.0)
