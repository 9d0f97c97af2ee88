"""Does a trajectory with six degrees of freedom belong to a camera on a mount? The gate against misassembled maps.

Structure from motion may register nearly every frame at half a pixel and still glue blocks together wrongly across
stretches without texture. What gives it away is the camera: its pitch, roll and height, constant in truth (or swaying
by little), drift and jump in a map that was put together wrongly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import Array


@dataclass(frozen=True)
class SpreadLimits(Settings):
    """What a trajectory may do and still be believed. Ranges are between the 2nd and 98th percentiles."""

    tilt_std_deg: float = setting(3.0, "Standard deviation of pitch and of roll.", unit="deg", above=0.0)
    tilt_range_deg: float = setting(14.0, "Range of pitch and of roll.", unit="deg", above=0.0)
    height_std_share: float = setting(0.06, "Standard deviation of the height, as a share of it.", above=0.0)
    height_range_share: float = setting(0.25, "Range of the height, as a share of it.", above=0.0)


@dataclass(frozen=True)
class Spread:
    """How pitch, roll and height of a camera vary along a trajectory.

    Attributes:
        pitch_deg: Mean downward tilt.
        roll_deg: Mean tilt to the right.
        height_m: Mean height; metres if the trajectory has a scale.
        pitch_std_deg: Standard deviation of the pitch.
        roll_std_deg: Standard deviation of the roll.
        height_std_m: Standard deviation of the height.
        pitch_range_deg: From the 2nd to the 98th percentile.
        roll_range_deg: The same of the roll.
        height_range_m: The same of the height.
    """

    pitch_deg: float
    roll_deg: float
    height_m: float
    pitch_std_deg: float
    roll_std_deg: float
    height_std_m: float
    pitch_range_deg: float
    roll_range_deg: float
    height_range_m: float

    def faults(self, limits: SpreadLimits | None = None) -> tuple[str, ...]:
        """Why the trajectory is not to be believed; empty where it is.

        Args:
            limits: Narrower ones suit a camera on wheels.
        """
        limits = limits or SpreadLimits()
        height = abs(self.height_m)
        checks = (
            ("standard deviation of pitch", self.pitch_std_deg, limits.tilt_std_deg, "deg"),
            ("standard deviation of roll", self.roll_std_deg, limits.tilt_std_deg, "deg"),
            ("range of pitch", self.pitch_range_deg, limits.tilt_range_deg, "deg"),
            ("range of roll", self.roll_range_deg, limits.tilt_range_deg, "deg"),
            ("standard deviation of height", self.height_std_m, limits.height_std_share * height, "m"),
            ("range of height", self.height_range_m, limits.height_range_share * height, "m"),
        )
        return tuple(
            f"{name} {value:.2f} {unit}, of {limit:.2f} {unit} allowed"
            for name, value, limit, unit in checks
            if not value <= limit
        )


def trajectory_spread(rotations_map_from_camera: Array, positions_m: Array) -> Spread:
    """Pitch, roll and height along a trajectory, and how they vary.

    Args:
        rotations_map_from_camera: N x 3 x 3, from ``camera_optical_frame`` to a ``map`` whose z points up, N > 0.
        positions_m: N x 3 positions of the camera in that map.

    Returns:
        All not-a-number where a value is.
    """
    pitch, roll = tilts_deg(rotations_map_from_camera)
    height = positions_m[:, 2]
    ranges = [float(np.subtract(*np.percentile(values, [98, 2]))) for values in (pitch, roll, height)]
    stds = [float(values.std()) for values in (pitch, roll, height)]
    return Spread(float(pitch.mean()), float(roll.mean()), float(height.mean()), *stds, *ranges)


def tilts_deg(rotations_map_from_camera: Array) -> tuple[Array, Array]:
    """Pitch (positive looks down) and roll (positive tilts the right side down) in degrees.

    Args:
        rotations_map_from_camera: N x 3 x 3, to a frame whose z points up.

    Returns:
        N pitches in [-90, 90] and N rolls in [-180, 180].
    """
    right, down, ahead = (rotations_map_from_camera[:, 2, axis] for axis in range(3))
    pitch = np.degrees(np.arcsin(np.clip(-ahead, -1, 1)))
    roll = np.degrees(np.arctan2(-right, -down))
    return pitch, roll


def gravity_aligned(rotations: Array, positions: Array, up: Array | None = None) -> tuple[Array, Array]:
    """Turn a trajectory so that z points up.

    Without ``up``, the camera's right-hand directions are taken to be level on average (people and robots hold
    cameras so): up is the direction that is most perpendicular to them.

    Args:
        rotations: N x 3 x 3, camera to any world.
        positions: N x 3 in that world.
        up: Upward direction in that world (3,), if known.

    Returns:
        Rotations and positions in a world with z up.
    """
    if up is None:
        right = rotations[:, :, 0]
        _, vectors = np.linalg.eigh(right.T @ right)
        up = vectors[:, 0]
        if float((rotations[:, :, 1] @ up).sum()) > 0:
            up = -up  # the camera's y points down
    turn = rotation_to_z(up)
    return np.asarray(turn @ rotations), np.asarray(positions @ turn.T)


def rotation_to_z(direction: Array) -> Array:
    """The shortest rotation (3 x 3) that takes a direction to +z."""
    a = direction / np.linalg.norm(direction)
    cos = float(a[2])
    if cos < -1 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    x, y = float(a[0]), float(a[1])
    cross = np.array([[0, 0, -x], [0, 0, -y], [x, y, 0]])
    return np.asarray(np.eye(3) + cross + cross @ cross / (1 + cos))


def turn_spread_deg(rotations_map_from_camera: Array) -> float:
    """How far the camera turns about the vertical in all, degrees: little turning leaves the vertical uncertain."""
    ahead = rotations_map_from_camera[:, :2, 2]
    yaw = np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]))
    return math.degrees(float(yaw.max() - yaw.min()))
