"""Which way the walls run, seen from one picture: the directions of its level edges.

Walls, floors, furniture and windows are full of level edges along two directions at a right angle. When pitch and roll
of a camera are known, the plane through its centre and an edge tells the edge's direction, if that is level. So one
picture gives its yaw in the building up to quarter turns, to some tenths of a degree, without knowing where it was
taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import Array, CameraMount, PinholeCamera
from gst_ros.mapping.features import as_gray

QUARTER_RAD = math.pi / 2
LEAST_STRENGTH = 0.4
"""Directions with less are not to be relied on."""
_LEAST_SHARE = 0.045  # of the picture's width: shorter edges have no direction to speak of
_UPRIGHT_RAD = math.radians(6.0)  # planes of edges so near to upright may be those of upright edges
_WIDTH_RAD = math.radians(1.0)
_STEP_RAD = math.radians(0.25)


@dataclass(frozen=True)
class Walls:
    """One of the directions of walls.

    Attributes:
        yaw_rad: In [0, pi/2); the others follow by quarter turns.
        strength: Which share of the level edges, by length, runs along them.
    """

    yaw_rad: float
    strength: float


def walls_seen(image: NDArray[np.uint8], camera: PinholeCamera, mount: CameraMount) -> Walls:
    """Directions of walls relative to ``base``, from the level edges of a picture.

    Args:
        image: H x W x 3 (RGB) or H x W.
        camera: The camera that took it, at this size.
        mount: Its tilt.
    """
    found = cv2.createLineSegmentDetector(cv2.LSD_REFINE_STD).detect(as_gray(image))[0]
    lines = np.zeros((0, 4)) if found is None else np.asarray(found, np.float64).reshape(-1, 4)
    length = np.hypot(lines[:, 2] - lines[:, 0], lines[:, 3] - lines[:, 1])
    lines, length = lines[length > _LEAST_SHARE * camera.width], length[length > _LEAST_SHARE * camera.width]
    to_base = mount.rotation_base_from_camera.T
    normals = np.cross(camera.rays(lines[:, :2]) @ to_base, camera.rays(lines[:, 2:]) @ to_base)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    level = np.abs(normals[:, 2]) > math.sin(_UPRIGHT_RAD)
    # Edges at the height of the eye show as the horizon, whatever their direction.
    weight = length * np.clip(np.hypot(normals[:, 0], normals[:, 1]) / 0.2, 0.0, 1.0)
    return _common(np.arctan2(normals[level, 0], -normals[level, 1]), weight[level], _WIDTH_RAD)


def walls_of(seen: Sequence[Walls], yaws_rad: Array) -> Walls:
    """Directions of walls in ``map``, from many pictures with known yaws."""
    angles = np.array([part.yaw_rad for part in seen]) + yaws_rad
    return _common(angles, np.array([part.strength for part in seen]), _WIDTH_RAD)


def _common(angles: Array, weights: Array, width_rad: float) -> Walls:
    total = float(weights.sum()) if len(angles) else 0.0
    if total <= 0:
        return Walls(0.0, 0.0)
    tried = np.arange(0.0, QUARTER_RAD, _STEP_RAD)
    off = _off(angles[None], tried[:, None])
    shares = (np.exp(-0.5 * (off / width_rad) ** 2) @ weights) / total
    best = int(shares.argmax())
    yaw = float(tried[best])
    for _ in range(3):
        off = _off(angles, yaw)
        near = weights * np.exp(-0.5 * (off / width_rad) ** 2)
        yaw += float((near * off).sum() / near.sum())
    return Walls(yaw % QUARTER_RAD, float(shares[best]))


def _off(angles: Array, yaw: Array | float) -> Array:
    """Difference of directions modulo quarter turns, in [-pi/4, pi/4)."""
    return np.asarray((angles - yaw + QUARTER_RAD / 2) % QUARTER_RAD - QUARTER_RAD / 2)
