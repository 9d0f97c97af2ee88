"""The same picture as a camera of another pitch would have taken it from the same place.

Keyframes look down at the floor and query views look ahead. Turning a picture about the optical centre is exact (no
parallax), and features of upright things are alike only between pictures of similar pitch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import Array, CameraMount, PinholeCamera

STEEPEST_DEG = 62.0
"""Rows that look down more steeply are left out: what is so near the feet of a camera is not seen from elsewhere."""


@dataclass(frozen=True)
class Tilt:
    """How pictures of one camera are turned to another pitch.

    Attributes:
        camera: The camera of the turned pictures.
        mount: Where it sits: level, at the other pitch.
        homography: 3 x 3; takes pixels of the picture as it was taken to pixels of the turned one.
    """

    camera: PinholeCamera
    mount: CameraMount
    homography: Array

    def turn(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The turned picture, black where the camera did not look."""
        size = (self.camera.width, self.camera.height)
        return np.asarray(cv2.warpPerspective(image, self.homography, size, flags=cv2.INTER_LINEAR), np.uint8)

    def inside(self, width: int, height: int, margin_px: int = 6) -> NDArray[np.uint8]:
        """Which pixels of turned pictures show something, 255 or 0; the margin keeps features off the edge."""
        full = np.full((height, width), 255, np.uint8)
        seen = self.turn(full)
        side = 2 * margin_px + 1
        return np.asarray(cv2.erode(seen, np.ones((side, side), np.uint8), borderValue=0) == 255, np.uint8) * 255


def tilt_to(
    camera: PinholeCamera, mount: CameraMount, pitch_deg: float, focal_px: float, highest_deg: float = 90.0
) -> Tilt:
    """Plan how pictures of a camera are turned.

    Args:
        camera: The camera that takes them.
        mount: Its height and tilt.
        pitch_deg: The pitch that they shall have; the roll becomes 0.
        focal_px: Their focal length.
        highest_deg: Rows that look up more steeply are left out.

    Returns:
        The plan. The turned picture is as wide as the picture as it was taken. It has the rows that the middle column
        fills down to :data:`STEEPEST_DEG`, but is at most a quarter higher.
    """
    level = replace(mount, pitch_deg=pitch_deg, roll_deg=0.0)
    width = _whole(camera.width * focal_px / camera.fx)
    height = round(camera.height * focal_px / camera.fy)
    turn = level.rotation_base_from_camera.T @ mount.rotation_base_from_camera
    middle = np.array([[(camera.width - 1) / 2, 0.0], [(camera.width - 1) / 2, camera.height - 1.0]])
    rays = camera.rays(middle) @ turn.T
    # An edge more than 80 degrees off the new axis would be infinitely far.
    slopes = np.where(rays[:, 2] > 0.17 * np.abs(rays[:, 1]), rays[:, 1] / np.maximum(rays[:, 2], 1e-3), np.nan)
    limit = math.tan(math.radians(80.0))
    steepest = math.tan(math.radians(min(max(STEEPEST_DEG - pitch_deg, 20.0), 80.0)))
    highest = math.tan(math.radians(min(max(highest_deg + pitch_deg, 20.0), 80.0)))
    top = max(float(slopes[0]) if np.isfinite(slopes[0]) else -limit, -highest)
    bottom = min(float(slopes[1]) if np.isfinite(slopes[1]) else limit, steepest)
    rows = _whole(min((bottom - top) * focal_px + 1, 1.25 * height))
    keep_top = abs(top) <= abs(bottom)
    cy = -top * focal_px if keep_top else rows - 1 - bottom * focal_px
    turned = PinholeCamera(width, rows, focal_px, focal_px, (width - 1) / 2, cy)
    return Tilt(turned, level, np.asarray(turned.matrix @ turn @ np.linalg.inv(camera.matrix)))


def highest_deg(camera: PinholeCamera, mount: CameraMount) -> float:
    """How steeply up the middle of the first row looks, degrees above the horizon."""
    return math.degrees(math.atan2(camera.cy, camera.fy)) - mount.pitch_deg


def _whole(pixels: float) -> int:
    """The next multiple of 32, so that networks which halve pictures five times need not resample them."""
    return max(32, math.ceil(round(pixels, 3) / 32) * 32)
