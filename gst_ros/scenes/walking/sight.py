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
        for p, k in zip(*np.nonzero(seen), strict=True):
            seen[p, k] = self._clear(points_m[p], int(k))
        return np.asarray(seen)

    def bearings_deg(self, points_m: Array) -> Array:
        """P x K directions of the objects from positions, counter-clockwise from +x, frame ``map``."""
        offsets = self._centres[None, :, :2] - points_m[:, None]
        return np.degrees(np.arctan2(offsets[..., 1], offsets[..., 0]))

    @property
    def half_width_deg(self) -> float:
        """How far from the optical axis an object may be and still count as in view."""
        return math.degrees(math.atan(self._camera.width / 2 / self._camera.f_px)) - EDGE_DEG

    def openness_m(self, point_m: tuple[float, float], yaw_deg: float) -> float:
        """How far a position looks before it meets a wall, in a heading, metres; at most 20."""
        far = np.arange(0.0, 20.0, CELL_M)
        yaw = math.radians(yaw_deg)
        blocked = self._at(np.array(point_m) + far[:, None] * np.array([math.cos(yaw), math.sin(yaw)]))
        return float(far[int(np.argmax(blocked))]) if blocked.any() else 20.0

    def _clear(self, point: Array, k: int) -> bool:
        thing = self.things[k]
        target = self._centres[k, :2]
        distance = float(np.linalg.norm(target - point))
        # The object itself, and what it hangs on, does not hide it.
        stop = distance - 0.5 * min(thing.size_m[:2]) - (0.15 if thing.mount == "wall" else 0.05)
        count = max(2, int(stop / CELL_M))
        along = np.linspace(0.0, max(stop, 0.0) / distance, count)
        hidden = self._at(point + along[:, None] * (target - point), but=k)
        return not bool(hidden.any())

    def _at(self, points: Array, but: int = -1) -> NDArray[np.bool_]:
        cells = np.round(self._frame.pixel(points)).astype(np.int64)
        inside = ((cells >= 0) & (cells < (self._frame.width, self._frame.height))).all(axis=1)
        found = np.zeros(len(points), np.int32)
        found[inside] = self._opaque[cells[inside, 1], cells[inside, 0]]
        return np.asarray((found != 0) & (found != but + 2))

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
