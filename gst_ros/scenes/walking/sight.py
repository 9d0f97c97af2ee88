"""What can be seen from where, without rendering: for planning walks and query views.

An object counts as in sight of a position when the straight line on the floor to its centre meets no wall and nothing
as tall as the camera's height, and when it is near enough to be told. Doors stand open and windows are looked through
by nobody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.cameras import Intrinsics
from gst_ros.scenes.place import Place, PlacedObject
from gst_ros.scenes.plans import PlanFrame, bounds, solid_walls

Array = NDArray[np.float64]

CELL_M = 0.05
NEAREST_M = 0.5
LEAST_PIXELS = 14.0
"""An object's larger side must span so many pixels of an image 640 pixels wide."""
LINES_AT_ONCE = 20000
EDGE_DEG = 4.0
"""Objects must be in view by so much more than their centre."""


class Sight:
    """Lines of sight in one place for one camera.

    Args:
        place: The place.
        camera: Intrinsics.
        height_m: Height of the camera.
        pitch_deg: Its downward tilt.
        things: The objects that matter; by default those that questions may ask for.
    """

    def __init__(
        self,
        place: Place,
        camera: Intrinsics,
        height_m: float,
        pitch_deg: float,
        things: Sequence[PlacedObject] | None = None,
    ) -> None:
        self.things = tuple(t for t in place.objects if t.askable) if things is None else tuple(things)
        self._camera, self._height_m, self._pitch_deg = camera, height_m, pitch_deg
        self._frame, self._opaque = self._raster(place)
        self._centres = np.array([t.centre_m for t in self.things]).reshape(-1, 3)
        self._own_depth = np.array(
            [0.5 * min(t.size_m[:2]) + (0.15 if t.mount == "wall" else 0.05) for t in self.things]
        )
        self._reach = np.array([max(t.size_m) * camera.f_px * 640 / camera.width / LEAST_PIXELS for t in self.things])

    def lines(self, points_m: Array) -> NDArray[np.bool_]:
        """Whether objects are in sight of positions, whatever the heading.

        Args:
            points_m: P x 2 positions, frame ``map``.

        Returns:
            P x K booleans, K objects in the order of :attr:`things`.
        """
        offsets = self._centres[None, :, :2] - points_m[:, None]
        distance = np.linalg.norm(offsets, axis=2)
        elevation = np.degrees(np.arctan2(self._centres[None, :, 2] - self._height_m, np.maximum(distance, 1e-6)))
        half = math.degrees(math.atan(self._camera.height / 2 / self._camera.f_px)) - EDGE_DEG
        seen = (distance > NEAREST_M) & (distance < self._reach) & (np.abs(elevation + self._pitch_deg) < half)
        where, what = np.nonzero(seen)
        for start in range(0, len(where), LINES_AT_ONCE):
            p, k = where[start : start + LINES_AT_ONCE], what[start : start + LINES_AT_ONCE]
            seen[p, k] = self._clear(points_m[p], k)
        return np.asarray(seen)

    def bearings_deg(self, points_m: Array) -> Array:
        """P x K directions of the objects from positions, counter-clockwise from +x, frame ``map``."""
        offsets = self._centres[None, :, :2] - points_m[:, None]
        return np.degrees(np.arctan2(offsets[..., 1], offsets[..., 0]))

    @property
    def half_width_deg(self) -> float:
        """How far from the optical axis an object may be and still count as in view."""
        return math.degrees(math.atan(self._camera.width / 2 / self._camera.f_px)) - EDGE_DEG

    def _clear(self, points: Array, k: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether nothing stands on the straight lines from N points to the objects ``k``."""
        targets = self._centres[k, :2]
        distance = np.linalg.norm(targets - points, axis=1)
        # The object itself, and what it hangs on, does not hide it.
        stop = np.maximum(distance - self._own_depth[k], 0.0)
        counts = np.maximum(2, (stop / CELL_M).astype(np.int64))
        first = np.cumsum(counts) - counts
        step = np.arange(int(counts.sum())) - np.repeat(first, counts)
        along = step * np.repeat(stop / np.maximum(distance, 1e-9) / (counts - 1), counts)
        line = np.repeat(points, counts, axis=0) + along[:, None] * np.repeat(targets - points, counts, axis=0)
        found = self._at(line)
        blocked = (found != 0) & (found != np.repeat(k, counts) + 2)
        return ~np.logical_or.reduceat(blocked, first)

    def _at(self, points: Array) -> NDArray[np.int32]:
        """What stands at N points: see :meth:`_raster`."""
        cells = np.round(self._frame.pixel(points)).astype(np.int64)
        inside = ((cells >= 0) & (cells < (self._frame.width, self._frame.height))).all(axis=1)
        found = np.zeros(len(points), np.int32)
        found[inside] = self._opaque[cells[inside, 1], cells[inside, 0]]
        return found

    def _raster(self, place: Place) -> tuple[PlanFrame, NDArray[np.int32]]:
        """1 where a wall is, 2 + k where the tall object k stands."""
        low, high = bounds(place)
        width, height = (int(v) for v in np.ceil((high - low) / CELL_M) + 2)
        frame = PlanFrame(width, height, CELL_M, float(low[0]) - CELL_M, float(high[1]) + CELL_M)
        opaque = np.zeros((height, width), np.int32)
        number = {thing.id: k for k, thing in enumerate(self.things)}
        for thing in place.objects:
            if thing.blocks and thing.mount == "floor" and thing.size_m[2] > self._height_m:
                value = 2 + number[thing.id] if thing.id in number else 1
                _fill(opaque, frame, np.array(thing.footprint(-0.05)), value)
        for polygon in solid_walls(place, taller_than_m=self._height_m):
            _fill(opaque, frame, polygon, 1)
        return frame, opaque


def _fill(raster: NDArray[np.int32], frame: PlanFrame, polygon_m: Array, value: int) -> None:
    corners = np.round(frame.pixel(polygon_m)).astype(np.int32)
    cv2.fillPoly(raster, [corners.reshape(-1, 1, 2)], float(value))
