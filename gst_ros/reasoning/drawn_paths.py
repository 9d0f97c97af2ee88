"""Paths drawn on top-down images: a red line from a blue dot, read back as the ways that may have been walked.

Where a path crosses itself or was walked to and fro, one drawing stands for several walks: they are all returned, up to
a bound, the one that goes straight on at crossings first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.errors import MediaError

Array = NDArray[np.float64]
Image = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Pixel = tuple[int, int]

MOST_WAYS = 24
_LEAST_COLOUR = 60
"""Least excess of red (blue) over the two other colours: half transparent lines have 127."""
_LEAST_DOT_PX = 12
_BRIDGE_PX = 5


@dataclass(frozen=True)
class DrawnPath:
    """A path on an image; pixels are (column, row), the first pixel's centre is (0, 0).

    Attributes:
        points_px: N x 2 points about a pixel apart from the start to the end: the likeliest way.
        start_px: Middle of the dot.
        ways_px: All ways that the drawing may stand for, the likeliest first.
        ink_px: M x 2 pixels of the line's middle, in no order.
        width_px: Width of the line.
    """

    points_px: Array
    start_px: tuple[float, float]
    ways_px: tuple[Array, ...]
    ink_px: Array
    width_px: float

    @property
    def length_px(self) -> float:
        """Length of the likeliest way."""
        return float(np.linalg.norm(np.diff(self.points_px, axis=0), axis=1).sum())


def read_drawn_path(plan_rgb: Image) -> DrawnPath:
    """Read the red path and the blue dot at its start.

    Args:
        plan_rgb: H x W x 3 bytes, RGB.

    Raises:
        MediaError: There is no dot, or no path at it.
    """
    if plan_rgb.ndim != 3 or plan_rgb.shape[2] != 3:
        raise MediaError(f"an array of shape {plan_rgb.shape} is no colour image")
    colours = plan_rgb.astype(np.int16)
    red, green, blue = colours[:, :, 0], colours[:, :, 1], colours[:, :, 2]
    dot, start = _dot(blue - np.maximum(red, green) > _LEAST_COLOUR)
    line = _line(red - np.maximum(green, blue) > _LEAST_COLOUR, dot)
    column, row, wide, high = cv2.boundingRect((line | dot).astype(np.uint8))
    left, top = column - 1, row - 1
    padded = np.pad(line | dot, 1)[top + 1 : top + high + 3, left + 1 : left + wide + 3]
    inner = cv2.distanceTransform(padded.astype(np.uint8), cv2.DIST_L2, 5)
    thin = thinned(padded)
    offset = np.array([left, top], np.float64)
    rows, columns = np.nonzero(thin)
    ink = np.column_stack([columns, rows]) + offset
    outside = np.linalg.norm(ink - start, axis=1) > 1.5 * float(inner.max())
    radii = inner[rows, columns]
    width = 2.0 * float(np.median(radii[outside])) if outside.any() else 2.0 * float(np.median(radii))
    begin = int(np.argmin(np.linalg.norm(ink - start, axis=1)))
    graph = _Graph(thin, (int(rows[begin]), int(columns[begin])), least_spur=max(1.2 * width, 4.0))
    smooth = max(3, round(width))
    ways = tuple(_smoothed(np.array(way, np.float64)[:, ::-1] + offset, smooth) for way in graph.ways(MOST_WAYS))
    if not ways:
        raise MediaError("the line at the blue dot is too short for a path")
    return DrawnPath(ways[0], (float(start[0]), float(start[1])), ways, ink, width)


def _smoothed(way: Array, window: int) -> Array:
    """A moving mean, whose ends stay: pixels in rows and columns make a slanting line longer than it is."""
    if len(way) < 2 * window:
        return way
    padded = np.concatenate([np.repeat(way[:1], window, axis=0), way, np.repeat(way[-1:], window, axis=0)])
    kernel = np.ones(window) / window
    mean = np.stack([np.convolve(padded[:, k], kernel, "same") for k in (0, 1)], axis=1)
    return np.asarray(np.concatenate([way[:1], mean[window:-window], way[-1:]]))


def _dot(mask: Mask) -> tuple[Mask, Array]:
    count, labels, stats, centres = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    best, most = 0, 0.0
    for k in range(1, count):
        wide, high, area = (int(v) for v in stats[k, 2:5])
        roundness = min(wide, high) / max(wide, high) * area / (wide * high)
        if area >= _LEAST_DOT_PX and roundness > 0.35 and area * roundness > most:
            best, most = k, area * roundness
    if best == 0:
        raise MediaError("the image has no blue dot", remedy="it must mark where the path starts")
    return np.asarray(labels == best), np.asarray(centres[best])


def _line(mask: Mask, dot: Mask) -> Mask:
    """The red that hangs together with the dot, over small gaps."""
    kernel = np.ones((_BRIDGE_PX, _BRIDGE_PX), np.uint8)
    closed = cv2.morphologyEx((mask | dot).astype(np.uint8), cv2.MORPH_CLOSE, kernel)
    _, labels = cv2.connectedComponents(closed, connectivity=8)
    own = labels == np.bincount(labels[dot]).argmax()
    line = (closed > 0) & own
    if int((mask & own).sum()) < 20:
        raise MediaError("there is no red path at the blue dot")
    return np.asarray(line)


def thinned(mask: Mask) -> Mask:
    """The middle lines, one pixel wide, of a mask whose border is empty (Zhang and Suen 1984)."""
    image = mask.copy()
    while True:
        removed = 0
        for step in (0, 1):
            around = [np.roll(image, shift, (0, 1)) for shift in _AROUND]
            n, e, s, w = around[0], around[2], around[4], around[6]
            count = np.sum(around, axis=0)
            changes = np.sum([~a & b for a, b in zip(around, around[1:] + around[:1], strict=True)], axis=0)
            keep = (n & e & s) | (e & s & w) if step == 0 else (n & e & w) | (n & s & w)
            gone = image & (count >= 2) & (count <= 6) & (changes == 1) & ~keep
            removed += int(gone.sum())
            image &= ~gone
        if not removed:
            return _without_stairs(image)


def _without_stairs(thin: Mask) -> Mask:
    """The line without pixels that it hangs together without; its ends stay.

    A pixel can go when its 8-connectivity number is 1 (Yokoi, Toriwaki and Fukumura 1975).
    """
    result: Mask = thin.copy()
    for r, c in np.argwhere(thin):
        x = [bool(result[r - dr, c - dc]) for dr, dc in _AROUND]
        if sum(x) >= 2 and sum(not x[k] and (x[(k + 1) % 8] or x[(k + 2) % 8]) for k in (0, 2, 4, 6)) == 1:
            result[r, c] = False
    return result


_AROUND = [(1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1)]
"""Shifts that bring the neighbours N, NE, E, SE, S, SW, W, NW to a pixel."""


class _Graph:
    """Junctions and ends of a middle line, and the stretches between them."""

    def __init__(self, thin: Mask, start: Pixel, least_spur: float) -> None:
        self._pixels = {(int(r), int(c)) for r, c in zip(*np.nonzero(thin), strict=True)}
        self._start = start
        self._stretches = self._cut(least_spur)
        self._at: dict[int, list[tuple[int, bool]]] = {}
        for k, (a, b, _) in enumerate(self._stretches):
            self._at.setdefault(a, []).append((k, True))
            self._at.setdefault(b, []).append((k, False))

    def _near(self, pixel: Pixel) -> list[Pixel]:
        r, c = pixel
        around = [(r + dr, c + dc) for dr in (-1, 0, 1) for dc in (-1, 0, 1) if (dr or dc)]
        return [p for p in around if p in self._pixels]

    def _cut(self, least_spur: float) -> list[tuple[int, int, list[Pixel]]]:
        """Stretches as (node, node, pixels); short dead ends are left out."""
        while True:
            nodes = self._nodes()
            stretches = self._walked(nodes)
            degree: dict[int, int] = {}
            for a, b, _ in stretches:
                degree[a] = degree.get(a, 0) + 1
                degree[b] = degree.get(b, 0) + 1
            home = nodes[self._start]
            spur = next(
                (
                    way
                    for a, b, way in sorted(stretches, key=lambda s: len(s[2]))
                    if len(way) < least_spur and a != b and home not in (a, b) and (degree[a] == 1) != (degree[b] == 1)
                ),
                None,
            )
            if spur is None:
                return stretches
            self._pixels -= {p for p in spur if p not in nodes or len(self._near(p)) <= 1}

    def _nodes(self) -> dict[Pixel, int]:
        """Pixels that have more or fewer than two neighbours, and the start; those that touch are one node."""
        special = {p for p in self._pixels if len(self._near(p)) != 2} | {self._start}
        nodes: dict[Pixel, int] = {}
        number = 0
        for pixel in sorted(special):
            if pixel in nodes:
                continue
            queue = [pixel]
            while queue:
                at = queue.pop()
                if at not in nodes:
                    nodes[at] = number
                    queue += [p for p in self._near(at) if p in special]
            number += 1
        return nodes

    def _walked(self, nodes: dict[Pixel, int]) -> list[tuple[int, int, list[Pixel]]]:
        result: list[tuple[int, int, list[Pixel]]] = []
        used: set[Pixel] = set()
        for pixel, number in nodes.items():
            for first in self._near(pixel):
                if first in nodes or first in used:
                    continue
                way = [pixel, first]
                used.add(first)
                while way[-1] not in nodes:
                    ahead = [p for p in self._near(way[-1]) if p != way[-2] and p not in used]
                    if not ahead:
                        break
                    # Of the pixels of a node, the one beside comes first.
                    nearest = min(ahead, key=lambda p, at=way[-1]: _distance(p, at))  # type: ignore[misc]
                    way.append(nearest)
                    if nearest not in nodes:
                        used.add(nearest)
                if way[-1] in nodes:
                    result.append((number, nodes[way[-1]], way))
        self._home = nodes[self._start]
        return result

    def ways(self, most: int) -> Iterator[list[Pixel]]:
        """Walks from the start over all stretches, that turn back at dead ends only; straight on first."""
        found = 0
        everything = frozenset(range(len(self._stretches)))
        stack: list[tuple[int, frozenset[int], list[Pixel]]] = [(self._home, frozenset(), [self._start])]
        tries = 0
        while stack and found < most and tries < 4000:
            tries += 1
            node, walked, way = stack.pop()
            if walked == everything:
                if len(way) > 2:
                    found += 1
                    yield way
                continue
            ahead = [(k, forward) for k, forward in self._at.get(node, []) if k not in walked]
            if not ahead:
                back = self._way_back(node, walked)
                if back is not None:
                    stack.append((back[0], walked, way + back[1]))
                continue
            turns = sorted(ahead, key=lambda option: -_turn(way, self._oriented(*option)))
            for k, forward in turns:
                a, b, _ = self._stretches[k]
                stack.append((b if forward else a, walked | {k}, way + self._oriented(k, forward)))

    def _oriented(self, k: int, forward: bool) -> list[Pixel]:
        way = self._stretches[k][2]
        return way if forward else way[::-1]

    def _way_back(self, node: int, walked: frozenset[int]) -> tuple[int, list[Pixel]] | None:
        """The shortest walk over what was walked to where something was not."""
        best: dict[int, tuple[int, list[Pixel]]] = {node: (0, [])}
        queue = [node]
        while queue:
            queue.sort(key=lambda n: best[n][0])
            at = queue.pop(0)
            if any(k not in walked for k, _ in self._at.get(at, [])):
                return at, best[at][1]
            for k, forward in self._at.get(at, []):
                a, b, way = self._stretches[k]
                to, length = (b if forward else a), best[at][0] + len(way)
                if to not in best or length < best[to][0]:
                    best[to] = (length, best[at][1] + self._oriented(k, forward))
                    queue.append(to)
        return None


def _distance(a: Pixel, b: Pixel) -> int:
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2


def _turn(way: list[Pixel], ahead: list[Pixel]) -> float:
    """Angle between the end of a way and the beginning of another, 0 to pi."""
    into = np.subtract(way[-1], way[max(0, len(way) - 12)])
    onto = np.subtract(ahead[min(11, len(ahead) - 1)], ahead[0])
    norm = float(np.linalg.norm(into) * np.linalg.norm(onto))
    return float(np.arccos(np.clip(into @ onto / norm, -1, 1))) if norm > 0 else 0.0
