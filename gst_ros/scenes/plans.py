"""Top-down images of a place: plans in black and white, and paths drawn on them.

White is free floor, black is an obstacle or outside, as in the official plans. North is up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.catalogue import Catalogue
from gst_ros.scenes.place import Opening, Place, PlacedObject, Wall
from gst_ros.scenes.rendering.build import object_mesh
from gst_ros.scenes.rendering.simplify import unique_rows
from gst_ros.scenes.rendering.structure import door_leaf, wall_frame

Image = NDArray[np.uint8]
Array = NDArray[np.float64]

PLAN_SIZE = (640, 512)
"""Width and height of the official plans."""
RENDER_SIZE = (1920, 1080)
"""Width and height of the official coloured renders."""

PATH_COLOUR = (255, 127, 127)
START_COLOUR = (127, 127, 255)
PATH_WIDTH_PX = 8
START_RADIUS_PX = 10
OVERHEAD_M = 1.9
"""What hangs higher than this does not show on a plan."""
_WALKABLE = ("door", "passage")
_SPAN_PX = 1 << 20  # more than any image is high
_SHIFT = 6  # cv2 draws with 6 fractional bits


@dataclass(frozen=True)
class PlanFrame:
    """Where a top-down image lies in ``map``.

    Attributes:
        width: Image width in pixels.
        height: Image height in pixels.
        m_per_px: Metres per pixel.
        left_m: x of the left edge of the image, frame ``map``.
        top_m: y of its upper edge.
    """

    width: int
    height: int
    m_per_px: float
    left_m: float
    top_m: float

    @classmethod
    def around(cls, place: Place, size: tuple[int, int] = PLAN_SIZE, margin: float = 0.02) -> PlanFrame:
        """The frame that shows a whole place as large as it can, in the middle.

        Args:
            place: The place.
            size: Width and height in pixels.
            margin: Share of the image that stays free on each side.
        """
        low, high = bounds(place)
        width, height = size
        extent = high - low
        m_per_px = float(max(extent / (np.array(size) * (1 - 2 * margin))))
        m_per_px = math.ceil(m_per_px * 1e5) / 1e5  # a number that the file states exactly
        middle = (low + high) / 2
        left, top = middle[0] - width * m_per_px / 2, middle[1] + height * m_per_px / 2
        return cls(width, height, m_per_px, round(float(left), 5), round(float(top), 5))

    @property
    def centre_m(self) -> tuple[float, float]:
        """What the image's centre shows, frame ``map``."""
        return (self.left_m + self.width * self.m_per_px / 2, self.top_m - self.height * self.m_per_px / 2)

    def pixel(self, points_m: Array) -> Array:
        """Pixel coordinates (column, row) of points in ``map``; the centre of the first pixel is (0, 0).

        Args:
            points_m: ... x 2, metres.
        """
        return (np.asarray(points_m) - (self.left_m, self.top_m)) / (self.m_per_px, -self.m_per_px) - 0.5

    def point(self, pixels: Array) -> Array:
        """Points in ``map`` of pixel coordinates: the inverse of :meth:`pixel`.

        Args:
            pixels: ... x 2 (column, row).
        """
        return (np.asarray(pixels) + 0.5) * (self.m_per_px, -self.m_per_px) + (self.left_m, self.top_m)

    def grid_999(self, points_m: Array) -> Array:
        """Points in ``map`` on the [0, 999] grid of the questions, x right, y down; not rounded.

        The grid's 0 and 999 are the image's edges, so that every image has the same grid whatever its size.

        Args:
            points_m: ... x 2, metres.
        """
        return (self.pixel(points_m) + 0.5) * (999.0 / np.array([self.width, self.height]))

    def to_mapping(self) -> dict[str, Any]:
        """For ``gt/plan.json``."""
        return {
            "width": self.width,
            "height": self.height,
            "m_per_px": self.m_per_px,
            "left_m": self.left_m,
            "top_m": self.top_m,
        }

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> PlanFrame:
        """The inverse of :meth:`to_mapping`."""
        return cls(
            int(values["width"]),
            int(values["height"]),
            float(values["m_per_px"]),
            float(values["left_m"]),
            float(values["top_m"]),
        )


def bounds(place: Place) -> tuple[Array, Array]:
    """Lower and upper corner (x_m, y_m) of a place's rooms and walls."""
    points = [corner for room in place.rooms for corner in room.outline]
    for wall in place.walls:
        points += [tuple(p) for p in _rectangle(wall, 0.0, wall.length_m)]
    corners = np.array(points)
    return corners.min(axis=0), corners.max(axis=0)


def draw_plan(place: Place, frame: PlanFrame, catalogue: Catalogue | None = None, *, furniture: bool = True) -> Image:
    """A plan in black and white.

    Args:
        place: What to draw; it need not be one that was rendered.
        frame: Where the image lies.
        catalogue: Where the silhouettes of its furniture come from; None is enough without furniture, or when all
            of it is built in.
        furniture: Whether to draw what stands in the rooms, or the walls alone.

    Returns:
        H x W bytes, 0 or 255.
    """
    image = np.zeros((frame.height, frame.width), np.uint8)
    for room in place.rooms:
        _fill(image, frame, np.array(room.outline), 255)
    for wall in place.walls:
        for opening in wall.openings:
            if opening.kind in _WALKABLE:
                # A little longer than the wall is thick: no hairline between the hole and the floors.
                _fill(image, frame, _rectangle(wall, *_span(opening), extra_m=frame.m_per_px), 255)
    for polygon in solid_walls(place):
        _fill(image, frame, polygon, 0)
    for wall in place.walls:
        for opening in wall.openings:
            leaf = door_leaf(wall, opening)
            if leaf is not None:
                _fill(image, frame, np.array(leaf), 0)
    if furniture:
        for thing in place.objects:
            if _shows(thing):
                image[silhouette(thing, frame, catalogue)] = 0
    return image


def silhouette(thing: PlacedObject, frame: PlanFrame, catalogue: Catalogue | None) -> NDArray[np.bool_]:
    """The pixels of a plan that an object covers, seen from above.

    Args:
        thing: The object.
        frame: Where the image lies.
        catalogue: Where its mesh comes from, unless it is built in.

    Returns:
        H x W booleans.
    """
    mesh = object_mesh(thing, catalogue)
    pixels = np.round(frame.pixel(mesh.positions[:, :2].astype(np.float64))).astype(np.int64)
    mask = np.zeros((frame.height, frame.width), np.uint8)
    # Most triangles of furniture are smaller than a plan's pixels, and many fall together.
    corners = np.sort((pixels[:, 0] * _SPAN_PX + pixels[:, 1])[mesh.faces], axis=1)
    first, _ = unique_rows(corners)
    for triangle in pixels[mesh.faces[first]].astype(np.int32):
        cv2.fillConvexPoly(mask, triangle, 255, lineType=cv2.LINE_8)
    return mask > 0


def draw_path(
    plan: Image,
    pixels: Array,
    *,
    colour: tuple[int, int, int] = PATH_COLOUR,
    start_colour: tuple[int, int, int] = START_COLOUR,
    width_px: int = PATH_WIDTH_PX,
) -> Image:
    """A plan with a path and a dot at its start, as in the official trajectory questions.

    Args:
        plan: H x W or H x W x 3 bytes.
        pixels: N x 2 pixel coordinates (column, row) of the path, its start first.
        colour: Of the path (r, g, b).
        start_colour: Of the dot.
        width_px: Width of the path.

    Returns:
        H x W x 3 bytes.
    """
    image = np.repeat(plan[:, :, None], 3, axis=2) if plan.ndim == 2 else plan.copy()
    fixed = np.round(np.asarray(pixels) * (1 << _SHIFT)).astype(np.int32)
    cv2.polylines(image, [fixed.reshape(-1, 1, 2)], False, colour, width_px, cv2.LINE_AA, shift=_SHIFT)
    radius = round(START_RADIUS_PX * width_px / PATH_WIDTH_PX) << _SHIFT
    centre = (int(fixed[0, 0]), int(fixed[0, 1]))
    cv2.circle(image, centre, radius, start_colour, -1, cv2.LINE_AA, shift=_SHIFT)
    return image


def solid_walls(place: Place, taller_than_m: float = 0.0) -> Iterable[Array]:
    """The stretches of walls between doors and passages.

    Args:
        place: The place.
        taller_than_m: Lower walls are left out.

    Yields:
        4 x 2 corners, frame ``map``.
    """
    for wall in place.walls:
        if wall.height_m > taller_than_m:
            for start, end in _solid_runs(wall):
                yield _rectangle(wall, start, end)


def _shows(thing: PlacedObject) -> bool:
    return thing.blocks and thing.mount != "ceiling" and thing.position_m[2] < OVERHEAD_M


def _fill(image: Image, frame: PlanFrame, polygon_m: Array, value: int) -> None:
    fixed = np.round(frame.pixel(polygon_m) * (1 << _SHIFT)).astype(np.int32)
    cv2.fillPoly(image, [fixed.reshape(-1, 1, 2)], value, lineType=cv2.LINE_8, shift=_SHIFT)


def _span(opening: Opening) -> tuple[float, float]:
    return opening.start_m, opening.start_m + opening.width_m


def _solid_runs(wall: Wall) -> Iterable[tuple[float, float]]:
    """The stretches of a wall between its doors and passages."""
    start = 0.0
    for opening in wall.openings:
        if opening.kind in _WALKABLE:
            low, high = _span(opening)
            if low > start:
                yield start, low
            start = high
    if wall.length_m > start:
        yield start, wall.length_m


def _rectangle(wall: Wall, start_m: float, end_m: float, extra_m: float = 0.0) -> Array:
    """Corners of a stretch of wall, frame ``map``."""
    half = wall.thickness_m / 2 + extra_m
    local = np.array([(start_m, -half), (end_m, -half), (end_m, half), (start_m, half)])
    frame = wall_frame(wall)
    return np.asarray(local @ frame[:2, :2].T + frame[:2, 3])
