"""What walls hide: the test for targets that are near a view but behind a wall."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import Place, PlacedObject

Array = NDArray[np.float64]

SCREEN_HEIGHT_M = 2.0
"""Lower walls hide nothing for certain."""
END_M = 0.05
"""Lines of sight that pass the end of a wall, or the edge of an opening, this closely are not clearly blocked."""


class WallScreen:
    """Lines of sight against the walls of a place. Every opening counts as transparent over its whole height.

    Args:
        place: The place.
    """

    def __init__(self, place: Place) -> None:
        pieces = []
        for wall in place.walls:
            if wall.height_m < SCREEN_HEIGHT_M:
                continue
            start, end = np.array(wall.start), np.array(wall.end)
            along = (end - start) / max(wall.length_m, 1e-9)
            low = 0.0
            for opening in sorted(wall.openings, key=lambda o: o.start_m):
                pieces.append((start + low * along, start + opening.start_m * along))
                low = opening.start_m + opening.width_m
            pieces.append((start + low * along, end))
        kept = [(a, b) for a, b in pieces if np.linalg.norm(b - a) > 2.5 * END_M]
        self._starts = np.array([a for a, _ in kept]).reshape(-1, 2)
        self._ends = np.array([b for _, b in kept]).reshape(-1, 2)

    def hides(self, eye_m: tuple[float, float], points_m: Array) -> NDArray[np.bool_]:
        """Whether a wall stands between a camera and points.

        Args:
            eye_m: Camera position (x, y), frame ``map``.
            points_m: N x 2 or N x 3 points.

        Returns:
            N booleans.
        """
        if not len(self._starts):
            return np.zeros(len(points_m), bool)
        eye = np.array(eye_m)
        along = self._ends - self._starts
        length = np.linalg.norm(along, axis=1)
        ray = np.asarray(points_m)[:, None, :2] - eye
        gap = self._starts[None] - eye
        cross = _cross(ray, along[None])
        parallel = np.abs(cross) < 1e-9
        safe = np.where(parallel, 1.0, cross)
        t = _cross(gap, along[None]) / safe
        s = _cross(gap, ray) / safe * length
        met = ~parallel & (t > 0.0) & (t < 1.0) & (s > END_M) & (s < length - END_M)
        return np.asarray(met.any(axis=1))


def box_points(thing: PlacedObject, per_side: int = 5) -> Array:
    """Points on and in an object's box, N x 3, frame ``map``."""
    steps = np.linspace(-0.5, 0.5, per_side)
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3) * np.array(thing.size_m)
    c, s = math.cos(math.radians(thing.yaw_deg)), math.sin(math.radians(thing.yaw_deg))
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return np.asarray(grid @ turn.T + np.array(thing.centre_m))


def _cross(a: Array, b: Array) -> Array:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])
