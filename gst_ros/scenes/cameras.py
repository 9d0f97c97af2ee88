"""Camera models, presets and poses of the data engine.

The camera frame is ``camera_optical_frame`` (REP 103): x right, y down, z forward. A pose is a position in ``map`` with
yaw (counter-clockwise from +x), pitch (positive looks down) and roll (positive tilts the camera's right side down).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import SceneError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Intrinsics:
    """A pinhole without distortion; pixel centres lie at integer coordinates.

    Attributes:
        width: Image width in pixels.
        height: Image height in pixels.
        f_px: Focal length, the same in x and y.
    """

    width: int
    height: int
    f_px: float

    @property
    def cx(self) -> float:
        """Principal point, x."""
        return (self.width - 1) / 2

    @property
    def cy(self) -> float:
        """Principal point, y."""
        return (self.height - 1) / 2

    @property
    def matrix(self) -> Array:
        """3 x 3 camera matrix."""
        return np.array([[self.f_px, 0, self.cx], [0, self.f_px, self.cy], [0, 0, 1]], dtype=np.float64)

    def scaled(self, factor: float) -> Intrinsics:
        """The same view at another resolution."""
        return Intrinsics(round(self.width * factor), round(self.height * factor), self.f_px * factor)


@dataclass(frozen=True)
class CameraPose:
    """Where a camera is and where it looks, frame ``map``."""

    x_m: float
    y_m: float
    z_m: float
    yaw_deg: float
    pitch_deg: float = 0.0
    roll_deg: float = 0.0

    @property
    def rotation_map_from_camera(self) -> Array:
        """3 x 3 rotation that takes vectors of ``camera_optical_frame`` to ``map``."""
        yaw, pitch, roll = (math.radians(v) for v in (self.yaw_deg, self.pitch_deg, self.roll_deg))
        forward = np.array([math.cos(yaw) * math.cos(pitch), math.sin(yaw) * math.cos(pitch), -math.sin(pitch)])
        right = np.array([math.sin(yaw), -math.cos(yaw), 0.0])
        down = np.cross(forward, right)
        rolled_right = math.cos(roll) * right + math.sin(roll) * down
        rolled_down = math.cos(roll) * down - math.sin(roll) * right
        return np.stack([rolled_right, rolled_down, forward], axis=1)

    @property
    def matrix_camera_from_map(self) -> Array:
        """4 x 4 transform that takes points of ``map`` to ``camera_optical_frame``."""
        rotation = self.rotation_map_from_camera.T
        matrix = np.eye(4)
        matrix[:3, :3] = rotation
        matrix[:3, 3] = -rotation @ np.array([self.x_m, self.y_m, self.z_m])
        return matrix


def project(points_map: Array, pose: CameraPose, camera: Intrinsics) -> tuple[Array, Array]:
    """Project points into an image.

    Args:
        points_map: N x 3, metres, frame ``map``.
        pose: The camera's pose.
        camera: Its intrinsics.

    Returns:
        N x 2 pixel coordinates and N depths along the optical axis in metres (points behind have a depth <= 0 and
        meaningless pixels).
    """
    in_camera = points_map @ pose.matrix_camera_from_map[:3, :3].T + pose.matrix_camera_from_map[:3, 3]
    depth = in_camera[:, 2]
    safe = np.where(np.abs(depth) < 1e-9, 1e-9, depth)
    pixels = camera.f_px * in_camera[:, :2] / safe[:, None] + np.array([camera.cx, camera.cy])
    return pixels, depth


@dataclass(frozen=True)
class CameraPreset:
    """How a walker carries its camera.

    Attributes:
        name: Preset name for the command line.
        video: Intrinsics of the exploration video.
        height_m: Height of the camera above the floor.
        pitch_deg: Downward tilt in the video.
        fps: Frames per second of the video.
        query: Intrinsics of the query views.
        query_pitch_deg: Downward tilt of the query views.
        bob_m: Amplitude of the up-and-down of walking.
        sway_deg: Amplitude of roll and pitch changes while walking.
    """

    name: str
    video: Intrinsics
    height_m: float
    pitch_deg: float
    fps: float = 10.0
    query: Intrinsics = Intrinsics(1920, 1536, 1005.9)
    query_pitch_deg: float = 0.0
    bob_m: float = 0.0
    sway_deg: float = 0.0


_OFFICIAL = CameraPreset("official", Intrinsics(640, 512, 335.3), 1.5, 35.0)

PRESETS: dict[str, CameraPreset] = {
    preset.name: preset
    for preset in (
        _OFFICIAL,
        replace(_OFFICIAL, name="handheld", bob_m=0.03, sway_deg=3.0),
        CameraPreset("vacuum", Intrinsics(640, 480, 420.0), 0.3, 0.0, query=Intrinsics(1280, 960, 840.0)),
        CameraPreset("turtlebot", Intrinsics(640, 480, 381.4), 0.45, 10.0, query=Intrinsics(1280, 960, 762.8)),
        CameraPreset("service", Intrinsics(640, 360, 461.0), 1.2, 30.0, query=Intrinsics(1280, 720, 922.0)),
    )
}


def find_preset(name: str) -> CameraPreset:
    """Look a preset up by name.

    Raises:
        SceneError: It names the known ones.
    """
    if name not in PRESETS:
        raise SceneError(f"unknown camera preset '{name}'", field="camera", remedy=f"one of: {', '.join(PRESETS)}")
    return PRESETS[name]
