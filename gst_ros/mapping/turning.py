"""How far the camera turned, from whole pictures: where a wall leaves no corners, its edges and shades still move.

A turn on the spot maps each picture onto the next by a homography that depends on the angle alone, however far what is
seen may be. So one number is sought that makes the pictures agree best. Translation shifts near things on top of that,
and limits the accuracy; it is part of the standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.motion import Rig
from gst_ros.mapping.planar import Array

_WIDTH_PX = 128
_STEP_DEG = 0.5
_RIVAL_DEG = 3.0
"""Another peak nearer than this is the same one."""


@dataclass(frozen=True)
class Turn:
    """A turn between two pictures.

    Attributes:
        yaw_rad: Of the second against the first, counter-clockwise.
        std_rad: Its standard deviation for a camera that does not move otherwise.
        likeness: Normalised correlation of the pictures then, -1 to 1.
        margin: By how much the likeness exceeds that of the best other turn.
    """

    yaw_rad: float
    std_rad: float
    likeness: float
    margin: float


def align_turn(
    first: NDArray[np.uint8], second: NDArray[np.uint8], rig: Rig, expected_rad: float = 0.0, range_rad: float = 0.35
) -> Turn | None:
    """The turn that makes two pictures agree best.

    Args:
        first: H x W, the earlier picture, at the rig's size.
        second: H x W, the later one.
        rig: Camera and mount.
        expected_rad: The middle of the range that is searched.
        range_rad: How far it is searched to either side.

    Returns:
        None where the pictures have no structure in common.
    """
    height = round(rig.camera.height * _WIDTH_PX / rig.camera.width)
    camera = rig.camera.scaled_to(_WIDTH_PX, height)
    matrix, tilt = camera.matrix, rig.mount.rotation_base_from_camera
    a, b = _structure(first, (_WIDTH_PX, height)), _structure(second, (_WIDTH_PX, height))
    if a.std() < 1e-3 or b.std() < 1e-3:
        return None
    everywhere = np.ones_like(a)
    turns = expected_rad + np.arange(-range_rad, range_rad + 1e-9, np.radians(_STEP_DEG))
    scores = np.full(len(turns), -1.0)
    for k, turn in enumerate(turns):
        homography = matrix @ tilt.T @ _about_z(float(turn)) @ tilt @ np.linalg.inv(matrix)
        seen = cv2.warpPerspective(everywhere, homography, (_WIDTH_PX, height), flags=cv2.INTER_NEAREST) > 0.5
        if seen.sum() > 0.3 * seen.size:
            warped = cv2.warpPerspective(b, homography, (_WIDTH_PX, height), flags=cv2.INTER_LINEAR)
            scores[k] = _correlation(a[seen], np.asarray(warped, np.float32)[seen])
    best = int(np.argmax(scores))
    if scores[best] <= 0 or best in (0, len(turns) - 1):
        return None
    left, middle, right = scores[best - 1 : best + 2]
    bend = left - 2 * middle + right
    offset = 0.5 * (left - right) / bend if bend < -1e-9 else 0.0
    far = np.abs(turns - turns[best]) > np.radians(_RIVAL_DEG)
    rival = float(scores[far].max()) if far.any() else -1.0
    # A correlation c means noise of (1 - c) of the signal; the curvature turns it into an angle.
    sharpness = max(-bend / np.radians(_STEP_DEG) ** 2, 1e-6)
    std = float(np.sqrt(max(1 - middle, 0.002) / sharpness) / 4)
    yaw = float(turns[best] + np.clip(offset, -1, 1) * np.radians(_STEP_DEG))
    return Turn(yaw, std, float(middle), float(middle - rival))


def _structure(gray: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.float32]:
    """Edges and shades without the overall brightness."""
    small = cv2.resize(gray, size, interpolation=cv2.INTER_AREA).astype(np.float32)
    fine = cv2.GaussianBlur(small, (0, 0), 1.0) - cv2.GaussianBlur(small, (0, 0), 8.0)
    # A compressed range: one bright edge must not outvote everything else.
    return np.asarray(np.sign(fine) * np.sqrt(np.abs(fine)), np.float32)


def _correlation(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    a, b = a - a.mean(), b - b.mean()
    return float((a * b).sum() / np.sqrt(max(float((a * a).sum() * (b * b).sum()), 1e-12)))


def _about_z(angle_rad: float) -> Array:
    cos, sin = np.cos(angle_rad), np.sin(angle_rad)
    return np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
