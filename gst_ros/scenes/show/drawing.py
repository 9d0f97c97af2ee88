"""Marks on pictures: arrows, points, dials, badges.

All functions draw in place, on H x W x 3 bytes (r, g, b), and scale with the picture: a mark looks the same on a query
view 1920 pixels wide and on a plan once both are shrunk to tiles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
At = Sequence[float] | NDArray[np.float64]
Colour = tuple[int, int, int]

TILE_SIZE = (320, 256)
"""Width and height to which all pictures are shrunk."""

ANSWER: Colour = (0, 150, 60)
CAMERA: Colour = (40, 90, 230)
OBJECT: Colour = (230, 60, 30)
INK: Colour = (25, 25, 25)
PAPER: Colour = (255, 255, 255)

_FONT = cv2.FONT_HERSHEY_SIMPLEX
_SHIFT = 4


def unit_px(image: Image) -> float:
    """Pixels of an image per pixel of the tile that it will become.

    Args:
        image: H x W x 3 bytes.
    """
    return float(max(image.shape[1] / TILE_SIZE[0], image.shape[0] / TILE_SIZE[1]))


def coloured(image: Image) -> Image:
    """A copy to draw on, in colour whatever the image was.

    Args:
        image: H x W or H x W x 3 bytes.
    """
    return np.repeat(image[:, :, None], 3, axis=2) if image.ndim == 2 else image.copy()


def tile(image: Image, size: tuple[int, int] = TILE_SIZE) -> Image:
    """An image shrunk to a tile, in the middle of it, with grey where its shape differs.

    Args:
        image: H x W x 3 bytes.
        size: Width and height of the tile.
    """
    width, height = size
    factor = min(width / image.shape[1], height / image.shape[0])
    inner = (max(1, round(image.shape[1] * factor)), max(1, round(image.shape[0] * factor)))
    small = cv2.resize(image, inner, interpolation=cv2.INTER_AREA)
    result = np.full((height, width, 3), 235, np.uint8)
    left, top = (width - inner[0]) // 2, (height - inner[1]) // 2
    result[top : top + inner[1], left : left + inner[0]] = small
    return result


def draw_point(image: Image, at: At, colour: Colour = ANSWER, radius: float = 6.0) -> None:
    """A dot with a white ring.

    Args:
        image: Drawn on.
        at: Column and row.
        colour: Of the dot.
        radius: In tile pixels.
    """
    unit = unit_px(image)
    _disc(image, at, (radius + 2) * unit, PAPER)
    _disc(image, at, radius * unit, colour)


def draw_arrow(image: Image, start: At, end: At, colour: Colour = ANSWER) -> None:
    """An arrow with a white rim.

    Args:
        image: Drawn on.
        start: Column and row of its tail.
        end: Column and row of its tip.
        colour: Of the arrow.
    """
    length = math.dist(start, end)
    unit = unit_px(image)
    if length < unit:
        return
    for extra, ink in ((3.0, PAPER), (0.0, colour)):
        thickness = max(1, round((2.5 + extra) * unit))
        cv2.arrowedLine(
            image, _fixed(start), _fixed(end), ink, thickness, cv2.LINE_AA, _SHIFT, min(0.4, 10 * unit / length)
        )


def draw_ray(image: Image, start: At, angle_deg: float, length: float, colour: Colour = ANSWER) -> None:
    """An arrow of a length in tile pixels.

    Args:
        image: Drawn on.
        start: Column and row of its tail.
        angle_deg: 0 is up, left is positive.
        length: In tile pixels.
        colour: Of the arrow.
    """
    angle, reach = math.radians(angle_deg), length * unit_px(image)
    draw_arrow(image, start, (start[0] - reach * math.sin(angle), start[1] - reach * math.cos(angle)), colour)


def draw_circle(image: Image, at: At, radius_px: float, colour: Colour = ANSWER) -> None:
    """A thin circle.

    Args:
        image: Drawn on.
        at: Column and row of its centre.
        radius_px: In the image's own pixels.
        colour: Of the line.
    """
    thickness = max(1, round(1.5 * unit_px(image)))
    cv2.circle(image, _fixed(at), round(radius_px * (1 << _SHIFT)), colour, thickness, cv2.LINE_AA, _SHIFT)


def draw_box(image: Image, box: Sequence[float], colour: Colour = OBJECT) -> None:
    """A rectangle.

    Args:
        image: Drawn on.
        box: First column, first row, last column, last row.
        colour: Of the line.
    """
    thickness = max(1, round(1.5 * unit_px(image)))
    cv2.rectangle(image, (int(box[0]), int(box[1])), (int(box[2]), int(box[3])), colour, thickness)


def draw_polygon(image: Image, corners: NDArray[np.float64], colour: Colour = OBJECT) -> None:
    """A filled polygon.

    Args:
        image: Drawn on.
        corners: N x 2, columns and rows.
        colour: Of its inside.
    """
    fixed = np.round(corners * (1 << _SHIFT)).astype(np.int32)
    cv2.fillPoly(image, [fixed.reshape(-1, 1, 2)], colour, cv2.LINE_AA, _SHIFT)


def draw_dial(image: Image, angle_deg: float) -> None:
    """A dial in the lower right corner: its top is straight ahead, its hand points along an angle.

    Args:
        image: Drawn on.
        angle_deg: 0 is ahead, left is positive.
    """
    unit = unit_px(image)
    radius = 34 * unit
    centre = (image.shape[1] - radius - 8 * unit, image.shape[0] - radius - 8 * unit)
    _disc(image, centre, radius, PAPER)
    draw_circle(image, centre, radius, INK)
    cv2.line(
        image,
        _fixed((centre[0], centre[1] - radius)),
        _fixed((centre[0], centre[1] - 0.75 * radius)),
        INK,
        max(1, round(2 * unit)),
        cv2.LINE_AA,
        _SHIFT,
    )
    draw_ray(image, centre, angle_deg, 29)


def draw_badge(image: Image, text: str, colour: Colour = INK) -> None:
    """Words in the upper left corner, on white.

    Args:
        image: Drawn on.
        text: ASCII.
        colour: Of the letters.
    """
    unit = unit_px(image)
    scale, thickness = 0.55 * unit, max(1, round(1.4 * unit))
    (width, height), below = cv2.getTextSize(text, _FONT, scale, thickness)
    pad = round(5 * unit)
    image[: height + below + 2 * pad, : width + 2 * pad] = PAPER
    cv2.putText(image, text, (pad, pad + height), _FONT, scale, colour, thickness, cv2.LINE_AA)


def draw_border(image: Image, colour: Colour = ANSWER) -> None:
    """A thick frame along the image's edge.

    Args:
        image: Drawn on.
        colour: Of the frame.
    """
    width = max(1, round(5 * unit_px(image)))
    for part in (image[:width], image[-width:], image[:, :width], image[:, -width:]):
        part[...] = colour


def draw_text(image: Image, text: str, at: tuple[int, int], scale: float = 0.5, colour: Colour = INK) -> None:
    """A line of text.

    Args:
        image: Drawn on.
        text: What is not ASCII becomes a question mark, or what stands for it.
        at: Column and row where its baseline begins.
        scale: Of the font.
        colour: Of the letters.
    """
    plain = text.replace("°", " deg").replace("–", "-").encode("ascii", "replace").decode("ascii")
    cv2.putText(image, plain, at, _FONT, scale, colour, 1, cv2.LINE_AA)


def _disc(image: Image, at: At, radius: float, colour: Colour) -> None:
    cv2.circle(image, _fixed(at), round(radius * (1 << _SHIFT)), colour, -1, cv2.LINE_AA, _SHIFT)


def _fixed(at: At) -> tuple[int, int]:
    return round(at[0] * (1 << _SHIFT)), round(at[1] * (1 << _SHIFT))
