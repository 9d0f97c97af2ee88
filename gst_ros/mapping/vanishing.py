"""Which way is up in one picture: the vanishing point of its vertical edges.

Buildings and furniture are full of vertical edges. A line segment and the camera's centre span a plane; if the segment
is vertical in the room, the vertical lies in that plane. So the vertical is the direction that is perpendicular to the
normals of as many (and as long) segments as possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import Array, PinholeCamera

_LEAST_SHARE = 0.06  # a shorter segment, of the picture's height, has no direction to speak of
_INLIER_RAD = math.radians(1.0)


@dataclass(frozen=True)
class Vertical:
    """The vertical as a picture shows it.

    Attributes:
        pitch_deg: Downward tilt of the camera.
        roll_deg: Its tilt to the right.
        pitch_std_deg: Standard deviation of the pitch.
        roll_std_deg: Standard deviation of the roll.
        segments: How many segments agree.
        share: Their share of the length of all segments that could be vertical.
    """

    pitch_deg: float
    roll_deg: float
    pitch_std_deg: float
    roll_std_deg: float
    segments: int
    share: float


def line_segments(image_rgb: NDArray[np.uint8]) -> Array:
    """Straight edges of a picture, by LSD (Grompone von Gioi et al. 2012).

    Args:
        image_rgb: Height x width x 3.

    Returns:
        N x 4: x1, y1, x2, y2 in pixels; those shorter than 6 % of the height are left out.
    """
    gray = cv2.cvtColor(image_rgb, cv2.COLOR_RGB2GRAY)
    found: Any = cv2.createLineSegmentDetector(cv2.LSD_REFINE_STD).detect(gray)[0]
    if found is None:
        return np.empty((0, 4))
    lines = np.asarray(found, dtype=np.float64).reshape(-1, 4)
    return np.asarray(lines[np.hypot(lines[:, 2] - lines[:, 0], lines[:, 3] - lines[:, 1]) > _LEAST_SHARE * len(gray)])


def find_vertical(
    segments: Sequence[Array],
    camera: PinholeCamera,
    *,
    pitch_deg: tuple[float, float] = (-45.0, 60.0),
    most_roll_deg: float = 5.0,
    least_segments: int = 5,
) -> Vertical | None:
    """Pitch and roll of a camera from the vertical edges in its pictures.

    A grid over pitch and roll, weighted by length with a smooth inlier threshold of one degree, then least squares.

    Args:
        segments: N x 4 of each picture (:func:`line_segments`), all with the same pitch and roll.
        camera: Intrinsics of the pictures.
        pitch_deg: Range of the pitch.
        most_roll_deg: Greatest roll, to both sides.
        least_segments: With fewer that agree there is no answer.

    Returns:
        None where too few segments agree.
    """
    lines = np.concatenate([np.empty((0, 4)), *segments])
    normals = np.cross(camera.rays(lines[:, :2]), camera.rays(lines[:, 2:]))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    length = np.hypot(lines[:, 2] - lines[:, 0], lines[:, 3] - lines[:, 1])
    steep = np.abs(lines[:, 3] - lines[:, 1]) > np.abs(lines[:, 2] - lines[:, 0])
    normals, length = normals[steep], length[steep]
    if len(normals) < least_segments:
        return None
    best, tilt = 0.0, np.zeros(2)
    for pitch in np.radians(np.arange(pitch_deg[0], pitch_deg[1] + 0.5, 1.0)):
        for roll in np.radians(np.arange(-most_roll_deg, most_roll_deg + 0.5, 1.0)):
            score = float((length * _weight(normals @ down_direction(pitch, roll))).sum())
            if score > best:
                best, tilt = score, np.array([pitch, roll])
    return _refined(tilt, normals, length, least_segments)


def _refined(tilt: Array, normals: Array, length: Array, least_segments: int) -> Vertical | None:
    step = 1e-5
    for _ in range(10):
        error = normals @ down_direction(*tilt)
        weight = length * _weight(error)
        ahead = [normals @ (down_direction(*(tilt + step * axis)) - down_direction(*tilt)) / step for axis in np.eye(2)]
        slopes = np.stack(ahead, axis=1)
        matrix = (slopes * weight[:, None]).T @ slopes + 1e-9 * np.eye(2)
        tilt = tilt - np.linalg.solve(matrix, slopes.T @ (weight * error))
    agree = np.abs(error) < _INLIER_RAD
    if agree.sum() < least_segments:
        return None
    own = slopes[agree]
    noise = max(math.radians(0.1), float(np.std(error[agree])))
    std = np.degrees(np.sqrt(np.diag(np.linalg.inv(own.T @ own + 1e-9 * np.eye(2)))) * noise)
    share = float(length[agree].sum() / length.sum())
    pitch, roll = np.degrees(tilt)
    return Vertical(float(pitch), float(roll), float(std[0]), float(std[1]), int(agree.sum()), share)


def _weight(error: Array) -> Array:
    return np.asarray(1 / (1 + (error / _INLIER_RAD) ** 2) ** 2)


def down_direction(pitch_rad: float, roll_rad: float) -> Array:
    """The downward direction (3,) in ``camera_optical_frame``: minus the third row of the mount's rotation.

    Args:
        pitch_rad: Downward tilt.
        roll_rad: Tilt of the right side down.
    """
    cos = math.cos(pitch_rad)
    return np.array([math.sin(roll_rad) * cos, math.cos(roll_rad) * cos, math.sin(pitch_rad)])
