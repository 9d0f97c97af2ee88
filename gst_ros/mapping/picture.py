"""A picture of a map with the walk in it, for people."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.spatial_map import SpatialMap

_WALK, _LOST, _START, _SCALE = (214, 39, 40), (255, 160, 0), (31, 70, 220), (40, 40, 40)
_LONG_SIDE_PX = 1000
_MARGIN_M = 0.5


def draw_map(place: SpatialMap) -> NDArray[np.uint8]:
    """Draw grid, walk (red; orange where the camera was lost), start (blue dot) and a metre as scale; +y is up.

    Returns:
        H x W x 3, RGB; the longer side is 1000 pixels.
    """
    walk = place.trajectory.poses[place.trajectory.parts == place.main_part][:, :2]
    states = np.array(place.trajectory.states)[place.trajectory.parts == place.main_part]
    low, high = walk.min(axis=0) - _MARGIN_M, walk.max(axis=0) + _MARGIN_M
    if place.grid is not None:
        origin = np.array(place.grid.origin_m)
        size_m = np.array(place.grid.cells.shape[::-1]) * place.grid.resolution_m
        low, high = np.minimum(low, origin), np.maximum(high, origin + size_m)
    scale = _LONG_SIDE_PX / float((high - low).max())
    width, height = (int(v) for v in np.ceil((high - low) * scale))
    canvas = np.full((height, width, 3), 160, np.uint8)

    def pixels(points: NDArray[np.float64]) -> NDArray[np.int32]:
        flipped = (points - low) * [1, -1] + [0, high[1] - low[1]]
        return np.asarray(np.round(flipped * scale), np.int32)

    if place.grid is not None:
        picture = place.grid.image()
        corners = pixels(np.stack([origin + np.array([0, size_m[1]]), origin + np.array([size_m[0], 0])]))
        (left, top), (right, bottom) = np.clip(corners, 0, [width, height])
        patch = cv2.resize(picture, (int(right - left), int(bottom - top)), interpolation=cv2.INTER_NEAREST)
        canvas[top:bottom, left:right] = patch[:, :, None]
    points = pixels(walk)
    for k in range(1, len(points)):
        colour = _LOST if states[k] == "lost" else _WALK
        cv2.line(canvas, points[k - 1].tolist(), points[k].tolist(), colour, 2, cv2.LINE_AA)
    cv2.circle(canvas, points[0].tolist(), 7, _START, -1, cv2.LINE_AA)
    cv2.line(canvas, (15, height - 15), (15 + round(scale), height - 15), _SCALE, 3)
    cv2.putText(canvas, "1 m", (15, height - 22), cv2.FONT_HERSHEY_SIMPLEX, 0.5, _SCALE, 1, cv2.LINE_AA)
    return canvas
