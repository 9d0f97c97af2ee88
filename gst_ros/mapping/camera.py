"""The camera that maps are made with: a pinhole, and how it is mounted above the floor."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gst_ros.errors import GstError, MediaError
from gst_ros.media.calibration import Calibration, number_in

Array = NDArray[np.float64]

LEAST_HEIGHT_M, MOST_HEIGHT_M = 0.01, 1000.0
"""Bounds of a camera's height above the floor."""


class MapError(GstError):
    """A map cannot be made, read or used as asked."""


@dataclass(frozen=True)
class PinholeCamera:
    """A pinhole without distortion; pixel centres lie at integer coordinates.

    Attributes:
        width: Image width in pixels.
        height: Image height in pixels.
        fx: Focal length in pixels along x (right).
        fy: The same along y (down).
        cx: Principal point in pixels along x.
        cy: The same along y.
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float

    @classmethod
    def centred(cls, width: int, height: int, f_px: float) -> PinholeCamera:
        """Square pixels, and the principal point in the middle of the picture."""
        return cls(width, height, f_px, f_px, (width - 1) / 2, (height - 1) / 2)

    @property
    def matrix(self) -> Array:
        """3 x 3 camera matrix."""
        return np.array([[self.fx, 0, self.cx], [0, self.fy, self.cy], [0, 0, 1]], dtype=np.float64)

    def scaled_to(self, width: int, height: int) -> PinholeCamera:
        """The same view at another size in pixels (pixel edges, not centres, are kept)."""
        x, y = width / self.width, height / self.height
        cx, cy = (self.cx + 0.5) * x - 0.5, (self.cy + 0.5) * y - 0.5
        return PinholeCamera(width, height, self.fx * x, self.fy * y, cx, cy)

    def rays(self, pixels: Array) -> Array:
        """N x 3 directions in ``camera_optical_frame`` (z = 1) of N x 2 pixels."""
        x = (pixels[:, 0] - self.cx) / self.fx
        y = (pixels[:, 1] - self.cy) / self.fy
        return np.stack([x, y, np.ones_like(x)], axis=1)

    def pixels(self, points_camera: Array) -> Array:
        """N x 2 pixels of N x 3 points in ``camera_optical_frame``; meaningless where z <= 0."""
        z = points_camera[:, 2]
        safe = np.where(np.abs(z) < 1e-9, 1e-9, z)
        u = self.fx * points_camera[:, 0] / safe + self.cx
        v = self.fy * points_camera[:, 1] / safe + self.cy
        return np.stack([u, v], axis=1)


@dataclass(frozen=True)
class CameraMount:
    """Where a camera sits on its robot: ``base`` to ``camera_optical_frame``, which do not move against each other.

    Attributes:
        height_m: Height of the optical centre above the floor.
        pitch_deg: Downward tilt, positive looks down.
        roll_deg: Positive tilts the camera's right side down.
        height_std_m: Standard deviation of the height; every distance of a map has it, relative to the height.
        pitch_std_deg: Standard deviation of the pitch.
        roll_std_deg: Standard deviation of the roll.
    """

    height_m: float = 1.5
    pitch_deg: float = 0.0
    roll_deg: float = 0.0
    height_std_m: float = 0.0
    pitch_std_deg: float = 0.0
    roll_std_deg: float = 0.0

    @property
    def rotation_base_from_camera(self) -> Array:
        """3 x 3 rotation that takes vectors of ``camera_optical_frame`` to ``base``."""
        pitch, roll = math.radians(self.pitch_deg), math.radians(self.roll_deg)
        ahead = np.array([math.cos(pitch), 0.0, -math.sin(pitch)])
        right = np.array([0.0, -1.0, 0.0])
        down = np.cross(ahead, right)
        rolled_right = math.cos(roll) * right + math.sin(roll) * down
        rolled_down = math.cos(roll) * down - math.sin(roll) * right
        return np.stack([rolled_right, rolled_down, ahead], axis=1)

    def floor_points(self, pixels: Array, camera: PinholeCamera) -> Array:
        """Where pixels lie on the floor, if they show the floor.

        Args:
            pixels: N x 2.
            camera: The camera that they come from.

        Returns:
            N x 2 points (x ahead, y left) in ``base``, metres; NaN at and above the horizon.
        """
        directions = camera.rays(pixels) @ self.rotation_base_from_camera.T
        falling = np.where(directions[:, 2] < -1e-6, directions[:, 2], np.nan)
        return np.asarray(-directions[:, :2] / falling[:, None] * self.height_m)

    def points_in_camera(self, points_base: Array) -> Array:
        """N x 3 points of ``base`` in ``camera_optical_frame``, metres."""
        return np.asarray((points_base - [0.0, 0.0, self.height_m]) @ self.rotation_base_from_camera)


def check_camera(camera: PinholeCamera, mount: CameraMount) -> None:
    """Refuse numbers that no camera has, before they are reckoned with.

    Raises:
        MapError: It names the field and what is allowed.
    """
    try:
        Calibration(camera.width, camera.height, camera.fx, camera.fy, camera.cx, camera.cy).check()
    except MediaError as error:
        raise MapError(error.problem, field=error.field, remedy=error.remedy) from error
    check_mount(mount)


def check_mount(mount: CameraMount) -> None:
    """:func:`check_camera` for the mount alone.

    Raises:
        MapError: As there.
    """
    try:
        number_in(mount.height_m, "height_m", None, LEAST_HEIGHT_M, MOST_HEIGHT_M)
        number_in(mount.pitch_deg, "pitch_deg", None, -90.0, 90.0)
        number_in(mount.roll_deg, "roll_deg", None, -180.0, 180.0)
        for name in ("height_std_m", "pitch_std_deg", "roll_std_deg"):
            number_in(getattr(mount, name), name, None, 0.0)
    except MediaError as error:
        raise MapError(error.problem, field=error.field, remedy=error.remedy) from error
