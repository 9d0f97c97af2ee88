"""Camera poses over time, and their file in the TUM format."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.cameras import CameraPose
from gst_ros.scenes.files import write_text
from gst_ros.scenes.place import SceneError
from gst_ros.scenes.reading import MAKE_AGAIN

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trajectory:
    """A camera's way through a place.

    Attributes:
        stamps_s: N times in seconds, ascending; those of the video's frames.
        poses: N poses of the camera, frame ``map``.
    """

    stamps_s: tuple[float, ...]
    poses: tuple[CameraPose, ...]

    def __len__(self) -> int:
        return len(self.poses)

    @property
    def duration_s(self) -> float:
        """Time from the first pose to the last."""
        return self.stamps_s[-1] - self.stamps_s[0]

    @property
    def path_m(self) -> Array:
        """N x 2 positions on the floor, frame ``map``."""
        return np.array([(pose.x_m, pose.y_m) for pose in self.poses])

    @property
    def length_m(self) -> float:
        """Length of the way on the floor."""
        return float(np.linalg.norm(np.diff(self.path_m, axis=0), axis=1).sum())

    def part(self, first: int, last: int) -> Trajectory:
        """The poses ``first`` to ``last``, both included, with times that start at zero."""
        stamps = self.stamps_s[first : last + 1]
        return Trajectory(tuple(round(s - stamps[0], 9) for s in stamps), self.poses[first : last + 1])

    def save_tum(self, file: Path) -> None:
        """Write lines ``timestamp tx ty tz qx qy qz qw``: ``camera_optical_frame`` in ``map``, metres and seconds."""
        lines = ["# timestamp_s tx_m ty_m tz_m qx qy qz qw (camera_optical_frame in map)"]
        for stamp, pose in zip(self.stamps_s, self.poses, strict=True):
            x, y, z, w = quaternion(pose)
            numbers = (pose.x_m, pose.y_m, pose.z_m, x, y, z, w)
            lines.append(" ".join([f"{stamp:.6f}", *(f"{v + 0.0:.7f}" for v in numbers)]))
        write_text(file, "\n".join(lines) + "\n")


def read_tum(file: Path) -> Trajectory:
    """Read what :meth:`Trajectory.save_tum` wrote.

    Raises:
        SceneError: The file is missing or a line does not hold a time and a pose; it names the line.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise SceneError(f"cannot be read: {error}", file=file, remedy=MAKE_AGAIN) from error
    stamps, poses = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            values = [float(word) for word in line.split()]
        except ValueError:
            values = []
        if len(values) != 8 or not all(map(math.isfinite, values)) or not any(values[4:]):
            problem = "expected 'timestamp tx ty tz qx qy qz qw'"
            raise SceneError(problem, file=file, field=f"line {number}", remedy=MAKE_AGAIN)
        stamps.append(values[0])
        poses.append(_pose(values))
    if not poses:
        raise SceneError("the trajectory is empty", file=file, remedy=MAKE_AGAIN)
    return Trajectory(tuple(stamps), tuple(poses))


def quaternion(pose: CameraPose) -> tuple[float, float, float, float]:
    """Rotation of ``camera_optical_frame`` in ``map`` as a unit quaternion (x, y, z, w), w >= 0.

    Args:
        pose: The camera's pose.
    """
    r = pose.rotation_map_from_camera
    # The eigenvector of the largest eigenvalue of Bar-Itzhack's matrix: no case distinction, no cancellation.
    k = np.array(
        [
            [r[0, 0] - r[1, 1] - r[2, 2], r[1, 0] + r[0, 1], r[2, 0] + r[0, 2], r[2, 1] - r[1, 2]],
            [r[1, 0] + r[0, 1], r[1, 1] - r[0, 0] - r[2, 2], r[2, 1] + r[1, 2], r[0, 2] - r[2, 0]],
            [r[2, 0] + r[0, 2], r[2, 1] + r[1, 2], r[2, 2] - r[0, 0] - r[1, 1], r[1, 0] - r[0, 1]],
            [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], r[0, 0] + r[1, 1] + r[2, 2]],
        ]
    )
    vector = np.linalg.eigh(k)[1][:, -1]
    x, y, z, w = (float(v) for v in (vector if vector[3] >= 0 else -vector))
    return x, y, z, w


def _pose(values: list[float]) -> CameraPose:
    _, x, y, z, *q = values
    qx, qy, qz, qw = np.array(q) / np.linalg.norm(q)
    forward = (2 * (qx * qz + qw * qy), 2 * (qy * qz - qw * qx), 1 - 2 * (qx * qx + qy * qy))
    right_z = 2 * (qx * qz - qw * qy)
    down_z = 2 * (qy * qz + qw * qx)
    yaw = math.degrees(math.atan2(forward[1], forward[0]))
    pitch = -math.degrees(math.asin(max(-1.0, min(1.0, forward[2]))))
    roll = math.degrees(math.atan2(-right_z, -down_z))
    return CameraPose(x, y, z, yaw, pitch, roll)
