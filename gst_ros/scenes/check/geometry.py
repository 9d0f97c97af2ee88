"""Projections, boxes and top-down images, worked out anew from the documented conventions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.check.truth import Pinhole, Pose

Array = NDArray[np.float64]


def project(points_m: Array, pose: Pose, camera: Pinhole) -> tuple[Array, Array, Array]:
    """Columns, rows and depths (along the optical axis, metres) of N x 3 points in ``map``."""
    in_camera = (points_m - pose.position_m) @ pose.map_from_camera
    depth = in_camera[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = camera.cx + camera.f_px * in_camera[:, 0] / depth
        rows = camera.cy + camera.f_px * in_camera[:, 1] / depth
    return columns, rows, depth


def rays(columns: Array, rows: Array, pose: Pose, camera: Pinhole) -> Array:
    """Directions in ``map`` of N pixels, scaled so that a step of 1 goes 1 m deeper along the optical axis: N x 3."""
    local = np.stack([(columns - camera.cx) / camera.f_px, (rows - camera.cy) / camera.f_px, np.ones(len(columns))], 1)
    return np.asarray(local @ pose.map_from_camera.T)


def box_centre(thing: Mapping[str, Any]) -> Array:
    """Centre of an object's box, 3 numbers, ``map``."""
    x, y, z = thing["position_m"]
    return np.array([x, y, z + thing["size_m"][2] / 2.0])


def in_box_frame(points_m: Array, thing: Mapping[str, Any]) -> Array:
    """Points relative to the centre of an object's box, along its front, its left and up: N x 3."""
    yaw = math.radians(thing["yaw_deg"])
    offset = points_m - box_centre(thing)
    forward = offset[:, 0] * math.cos(yaw) + offset[:, 1] * math.sin(yaw)
    left = offset[:, 1] * math.cos(yaw) - offset[:, 0] * math.sin(yaw)
    return np.stack([forward, left, offset[:, 2]], axis=1)


def bearing_deg(pose: Pose, point_m: Array) -> float:
    """Direction of a point against the view direction on the floor, left positive, in [-180, 180]."""
    forward, offset = pose.map_from_camera[:, 2], point_m - pose.position_m
    dot = forward[0] * offset[0] + forward[1] * offset[1]
    cross = forward[0] * offset[1] - forward[1] * offset[0]
    return math.degrees(math.atan2(cross, dot))


def plan_point_999(frame: Mapping[str, Any], x_m: float, y_m: float) -> tuple[float, float]:
    """A point of ``map`` on the grid of a top-down image: 0 at its left and upper edge, 999 at the others."""
    across = (x_m - frame["left_m"]) / (frame["width"] * frame["m_per_px"])
    down = (frame["top_m"] - y_m) / (frame["height"] * frame["m_per_px"])
    return 999.0 * across, 999.0 * down


def plan_pixels(frame: Mapping[str, Any], points_m: Array) -> Array:
    """N x 2 pixel coordinates (column, row) of N x 2 points; the first pixel's centre is (0, 0)."""
    columns = (points_m[:, 0] - frame["left_m"]) / frame["m_per_px"] - 0.5
    rows = (frame["top_m"] - points_m[:, 1]) / frame["m_per_px"] - 0.5
    return np.stack([columns, rows], axis=1)
