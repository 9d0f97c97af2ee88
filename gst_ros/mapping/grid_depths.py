"""How far features are that parallax does not tell, by what the map's grid says is in their way.

A camera that turns on the spot, or walks along its own line of sight, learns no depths of what it sees. The grid knows
where the walls are: a ray ends on the floor, or at the first wall that it meets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import Array
from gst_ros.mapping.grid import FREE, OCCUPIED, UNKNOWN, OccupancyGrid
from gst_ros.mapping.landmarks import Depths, View

_FARTHEST_M = 10.0
_WALL_M = 0.25  # how well the grid tells where a ray ends
_FURNITURE_HEIGHT_M = 0.9
_UNKNOWN_CELLS = 4  # so many in a row hide what may stand there
_FEET_M = 1.0
_FLOOR_PX = 2.0


def with_grid(view: View, depths: Depths, grid: OccupancyGrid) -> Depths:
    """Depths with those that are not known replaced by what a grid tells, where it does.

    Args:
        view: The keyframe.
        depths: Of its features.
        grid: Of the same map.
    """
    vague = np.flatnonzero(~depths.known)
    if not len(vague):
        return depths
    rays = view.camera.rays(view.features.keypoints[vague].astype(np.float64)) @ view.rotation_map_from_camera.T
    run = np.maximum(np.hypot(rays[:, 0], rays[:, 1]), 1e-6)
    reach_m = np.arange(1, int(_FARTHEST_M / grid.resolution_m)) * grid.resolution_m
    places = view.pose[:2] + reach_m[None, :, None] * (rays[:, :2] / run[:, None])[:, None]
    values, tall = _looked_up(grid, places.reshape(-1, 2))
    values, tall = values.reshape(len(vague), -1), tall.reshape(len(vague), -1)
    heights = view.mount.height_m + reach_m * (rays[:, 2] / run)[:, None]
    in_way = (values == OCCUPIED) & ((tall > 0.5) | (heights < _FURNITURE_HEIGHT_M))
    wall = _first(in_way)
    # What is at the feet of a camera is not seen from there.
    hidden = _first(_runs((values == UNKNOWN) & (reach_m > _FEET_M), _UNKNOWN_CELLS))
    floor = _first(heights <= 0)
    inverse, std = depths.inverse_depth.copy(), depths.inverse_std.copy()
    rows = np.arange(len(vague))
    last = len(reach_m) - 1

    on_floor = (floor <= np.minimum(wall, hidden)) & (floor <= last)
    on_floor &= values[rows, np.minimum(floor, last)] == FREE
    chosen = vague[on_floor]
    inverse[chosen] = -rays[on_floor, 2] / view.mount.height_m
    std[chosen] = np.maximum(_FLOOR_PX / view.camera.fx / view.mount.height_m, 0.03 * inverse[chosen])

    at_wall = (wall < np.minimum(hidden, floor)) & (wall <= last)
    at = wall[at_wall]
    depth = reach_m[at] / run[at_wall]
    chosen = vague[at_wall]
    inverse[chosen] = 1 / depth
    std[chosen] = _WALL_M / run[at_wall] / depth**2
    return Depths(inverse, std)


def _looked_up(grid: OccupancyGrid, places: Array) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Values of cells and whether they are tall, at N x 2 places."""
    rows, columns = grid.cell_of(places).T
    height, width = grid.cells.shape
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    values = np.full(len(rows), UNKNOWN, np.int8)
    tall = np.zeros(len(rows), np.float32)
    values[inside] = grid.cells[rows[inside], columns[inside]]
    tall[inside] = grid.tall[rows[inside], columns[inside]]
    return values, tall


def _first(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The first True of each row; the number of columns where there is none."""
    return np.asarray(np.where(mask.any(axis=1), mask.argmax(axis=1), mask.shape[1]), np.int64)


def _runs(mask: NDArray[np.bool_], length: int) -> NDArray[np.bool_]:
    """Where a row of so many True begins."""
    counts = np.cumsum(np.pad(mask, ((0, 0), (1, 0))), axis=1)
    full: NDArray[np.bool_] = counts[:, length:] - counts[:, :-length] == length
    return np.pad(full, ((0, 0), (0, length - 1)))
