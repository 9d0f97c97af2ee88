"""The two directions, at a right angle, that most walls of a building run along."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.grid import OccupancyGrid

Array = NDArray[np.float64]

QUARTER_RAD = np.pi / 2
_STEP_DEG = 0.5


@dataclass(frozen=True)
class ManhattanDirections:
    """Directions of walls.

    Attributes:
        yaw_rad: One of them, in [-pi/4, pi/4) from +x; the others follow by quarter turns.
        strength: How far they stand out, from 0 (any direction does as well) upwards; below about 0.15 the walls
            have no common directions, or too few of them are known.
    """

    yaw_rad: float
    strength: float


def directions_of_points(points: Array, bin_size: float) -> ManhattanDirections:
    """Directions along which points line up.

    Points on walls, projected on an axis across the walls, fall into few bins: the sum of the squared counts on two
    axes at a right angle is greatest when they lie along and across the walls.

    Args:
        points: N x 2 points on walls.
        bin_size: Width of the bins, in the unit of the points.
    """
    if len(points) < 8:
        return ManhattanDirections(0.0, 0.0)
    centred = points - points.mean(axis=0)
    reach = np.hypot(*centred.T).max() + 2 * bin_size
    bins = int(np.ceil(2 * reach / bin_size))
    angles = np.radians(np.arange(-45, 45, _STEP_DEG))
    sharpness = np.array([_sharpness(centred, angle, reach, bin_size, bins) for angle in angles])
    best = int(np.argmax(sharpness))
    low, middle, high = sharpness[best - 1], sharpness[best], sharpness[(best + 1) % len(angles)]
    bend = low - 2 * middle + high
    offset = float(np.clip((low - high) / (2 * bend), -0.5, 0.5)) if bend < 0 else 0.0
    yaw = float(angles[best] + np.radians(_STEP_DEG) * offset)
    yaw = (yaw + QUARTER_RAD / 2) % QUARTER_RAD - QUARTER_RAD / 2
    return ManhattanDirections(yaw, float(middle / np.median(sharpness) - 1))


def directions_of_grid(grid: OccupancyGrid) -> ManhattanDirections:
    """Directions of the borders between free and other cells, frame ``map``."""
    return directions_of_points(border_points(grid.free) * grid.resolution_m, grid.resolution_m)


def border_points(free: NDArray[np.bool_], least_px: int = 12) -> Array:
    """N x 2 (x, y), in pixels with y running with the rows, of what lies at the border of free areas.

    Args:
        free: H x W.
        least_px: Smaller holes and islands are left out.
    """
    kept = free.copy()
    for value in (True, False):
        count, labels, stats, _ = cv2.connectedComponentsWithStats((kept == value).astype(np.uint8), connectivity=4)
        small = np.zeros(count, bool)
        small[1:] = stats[1:, cv2.CC_STAT_AREA] < least_px
        kept[small[labels]] = not value
    image = kept.astype(np.uint8)
    inside = cv2.erode(image, np.ones((3, 3), np.uint8), borderValue=1)
    rows, columns = np.nonzero(image > inside)
    return np.stack([columns, rows], axis=1).astype(np.float64)


def _sharpness(points: Array, angle_rad: float, reach: float, bin_size: float, bins: int) -> float:
    cos, sin = np.cos(angle_rad), np.sin(angle_rad)
    total = 0.0
    for along in (points @ np.array([cos, sin]), points @ np.array([-sin, cos])):
        counts = np.bincount(((along + reach) / bin_size).astype(np.int64), minlength=bins).astype(np.float64)
        smooth = counts + 0.5 * (np.roll(counts, 1) + np.roll(counts, -1))
        total += float((smooth**2).sum())
    return total
