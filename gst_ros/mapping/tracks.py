"""Corners that are being followed, and how far away they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.motion import INLIER, Landmarks, Mask, Rig, residuals
from gst_ros.mapping.planar import Array

_NEAREST_M, _FARTHEST_M = 0.4, 40.0
_FLOOR_FARTHEST_M = 12.0
_FLOOR_STD = 0.006  # of the inverse depth of a floor point, relative: a rug, a sill
_LEAST_STD = 0.006  # a depth is never known better, relative
_TRUSTED_STD = 0.12
_FILTER_PIXEL_STD = 2.0  # errors of one corner in successive frames are much alike, so each frame counts for less
_MISSES = 3


class Tracks:
    """N corners with the landmarks they belong to.

    Each landmark's inverse depth is filtered frame by frame, from a guess as wide as the room. Where the estimate
    agrees with the floor, the landmark is taken to lie on it, until the estimate is sharp enough to say otherwise.

    Attributes:
        ids: N numbers, never reused.
        pixels: N x 2, where they were seen last.
        landmarks: N, with filtered inverse depths.
    """

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._next_id = 0
        self.ids = np.empty(0, dtype=np.int64)
        self.pixels = np.empty((0, 2))
        self.landmarks = Landmarks(np.empty((0, 2)), np.empty((0, 3)), np.empty(0), np.empty(0))
        self._misses = np.empty(0, dtype=np.int64)
        self._off_floor = np.empty(0, dtype=bool)

    def __len__(self) -> int:
        return len(self.ids)

    def left_of(self, ids: NDArray[np.int64]) -> int:
        """How many of some corners (numbers in rising order) are still followed."""
        return int(np.isin(self.ids, ids, assume_unique=True).sum())

    def keep(self, rows: Mask) -> None:
        """Forget all other corners."""
        self.ids, self.pixels, self.landmarks = self.ids[rows], self.pixels[rows], self.landmarks[rows]
        self._misses, self._off_floor = self._misses[rows], self._off_floor[rows]

    def add(self, pose: Array, pixels: Array) -> None:
        """Begin to follow M x 2 pixels seen from a pose (3,)."""
        rays = self._rig.rays(pixels)
        floor = -rays[:, 2] / self._rig.mount.height_m
        # Nothing below the floor: a ray that falls ends there at the latest, and rather there than in between.
        farthest = np.maximum(floor, 1.0 / _FARTHEST_M)
        inverse_depths = np.where(floor > 1.0 / _FLOOR_FARTHEST_M, 1.3 * farthest, 0.3)
        stds = np.where(floor > 1.0 / _FLOOR_FARTHEST_M, 0.6 * farthest, 0.3)
        new = Landmarks.seen_from(pose, rays, inverse_depths, stds)
        old = self.landmarks
        self.landmarks = Landmarks(
            np.concatenate([old.origins, new.origins]),
            np.concatenate([old.directions, new.directions]),
            np.concatenate([old.inverse_depths, new.inverse_depths]),
            np.concatenate([old.stds, new.stds]),
        )
        self.ids = np.concatenate([self.ids, np.arange(self._next_id, self._next_id + len(pixels))])
        self._next_id += len(pixels)
        self.pixels = np.concatenate([self.pixels, pixels])
        self._misses = np.concatenate([self._misses, np.zeros(len(pixels), dtype=np.int64)])
        self._off_floor = np.concatenate([self._off_floor, np.zeros(len(pixels), dtype=bool)])

    def on_floor(self) -> Mask:
        """N, which landmarks may well lie on the floor."""
        floor = self.landmarks.on_floor(self._rig.mount.height_m)
        near = floor > 1.0 / _FLOOR_FARTHEST_M
        stds = np.maximum(self.landmarks.stds, _LEAST_STD * self.landmarks.inverse_depths)
        return near & (np.abs(self.landmarks.inverse_depths - floor) < 3.0 * stds) & ~self._off_floor

    def best_landmarks(self) -> tuple[Landmarks, Mask]:
        """What to take for the motion, and of which landmarks the depth may be relied on."""
        floor, flat = self.landmarks.on_floor(self._rig.mount.height_m), self.on_floor()
        depths = np.where(flat, floor, self.landmarks.inverse_depths)
        stds = np.where(
            flat, _FLOOR_STD * floor, np.maximum(self.landmarks.stds, _LEAST_STD * self.landmarks.inverse_depths)
        )
        best = Landmarks(self.landmarks.origins, self.landmarks.directions, depths, stds)
        return best, stds < _TRUSTED_STD * depths

    def see(self, pixels: Array, pose: Array, agrees: Mask) -> None:
        """Take in where all corners were seen from a pose (3,): sharpen depths, drop what does not fit.

        Args:
            pixels: N x 2.
            pose: Of this frame.
            agrees: N, which landmarks of :meth:`best_landmarks` agree with it.
        """
        self.pixels = pixels
        old = self.landmarks
        found = residuals(self._rig, old, pixels, pose, _FILTER_PIXEL_STD)
        a_u, a_v = found.by_depth
        fits = np.isfinite(found.squared) & (found.squared < INLIER)
        # The Kalman update of one number from two pixel coordinates.
        spread = _FILTER_PIXEL_STD**2 + old.stds**2 * (a_u**2 + a_v**2)
        gain = np.where(fits, old.stds**2 / spread, 0.0)
        depths = old.inverse_depths + gain * np.where(fits, a_u * found.u + a_v * found.v, 0.0)
        stds = np.where(fits, old.stds * _FILTER_PIXEL_STD / np.sqrt(spread), old.stds)
        depths = np.clip(depths, 1.0 / _FARTHEST_M, 1.0 / _NEAREST_M)
        self.landmarks = Landmarks(old.origins, old.directions, depths, stds)
        # What was taken for floor and does not move like it, but like something nearer, is no floor.
        self._off_floor |= self.on_floor() & ~agrees & fits
        self._misses = np.where(fits, 0, self._misses + 1)
        self.keep(self._misses < _MISSES)
