"""What one view cannot see: the floor behind the first thing that stands up in each direction."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_BIN_DEG = 1.0
_SIDE_DEG = 75.0
_CELLS_HIGH = 10


class Horizon:
    """How far the floor may be seen, by direction.

    A textureless wall and a floor look alike to a sweep, and the lowest part of any wall seems to lie on the floor a
    little behind it. What stands up in front of such floor is the surer sign.

    Args:
        points: N x 2 (x, y) in ``base`` of what stands up, metres.
        certainty: N, 0 to 1.
        focal_px: Of the picture that they are pixels of.
        farthest_m: Nothing further away counts.
        bin_m: Points of a thing lie within about so much of each other.
        enough: So many times the points that a small upright surface has, each fully certain, are a thing.
    """

    def __init__(
        self,
        points: Array,
        certainty: NDArray[np.float32],
        focal_px: float,
        farthest_m: float,
        bin_m: float,
        enough: float,
    ) -> None:
        distance, side = np.hypot(points[:, 0], points[:, 1]), np.degrees(np.arctan2(points[:, 1], points[:, 0]))
        use = (distance < farthest_m) & (np.abs(side) < _SIDE_DEG)
        bins, rings = int(2 * _SIDE_DEG / _BIN_DEG), max(int(np.ceil(farthest_m / bin_m)), 1)
        # So many pixels has an upright surface one bin wide and ten high, seen from obliquely above.
        scale = focal_px * np.radians(_BIN_DEG) * _CELLS_HIGH * bin_m * focal_px / 8
        weight = certainty[use] * np.maximum(distance[use], 0.1) / scale
        flat = ((side[use] + _SIDE_DEG) / _BIN_DEG).astype(np.int64) * rings + (distance[use] / bin_m).astype(np.int64)
        counts = np.bincount(flat, weight, bins * rings).reshape(bins, rings).astype(np.float64)
        # The mean over neighbouring directions, the sum over neighbouring distances.
        stands = 3.0 * np.asarray(cv2.blur(counts, (3, 3), borderType=cv2.BORDER_CONSTANT)) > enough
        self._first = np.where(stands.any(axis=1), stands.argmax(axis=1) * bin_m, np.inf)

    def clear(self, x: Array, y: Array, slack_m: float) -> NDArray[np.bool_]:
        """Which places (x, y) in ``base`` have nothing in front of them.

        Args:
            x: Metres, any shape.
            y: The same.
            slack_m: A thing may seem so much nearer than it is.
        """
        bins = ((np.degrees(np.arctan2(y, x)) + _SIDE_DEG) / _BIN_DEG).astype(np.int64)
        return np.asarray(np.hypot(x, y) < self._first[np.clip(bins, 0, len(self._first) - 1)] + slack_m)
