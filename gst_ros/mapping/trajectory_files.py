"""Trajectories in the TUM format: one line per frame, as evo and other tools read it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from gst_ros.mapping.camera import CameraMount
from gst_ros.mapping.spatial_map import SpatialMap


def write_tum(place: SpatialMap, file: Path) -> None:
    """Write ``timestamp tx ty tz qx qy qz qw``: ``camera_optical_frame`` in ``map``, seconds and metres.

    Frames outside the map's main part are left out: where they were is not known.

    Args:
        place: The map.
        file: Where to.
    """
    chosen = place.trajectory.parts == place.main_part
    poses, stamps_ns = place.trajectory.poses[chosen], place.trajectory.stamps_ns[chosen]
    quaternions = (_turns(poses[:, 2]) * _from_camera(place.mount)).as_quat()
    lines = ["# timestamp_s tx_m ty_m tz_m qx qy qz qw (camera_optical_frame in map)"]
    for stamp_ns, pose, quaternion in zip(stamps_ns.tolist(), poses, quaternions, strict=True):
        seconds = f"{stamp_ns // 10**9}.{stamp_ns % 10**9:09d}"
        numbers = [pose[0], pose[1], place.mount.height_m, *quaternion]
        lines.append(" ".join([seconds, *(f"{value:.7f}" for value in numbers)]))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _turns(yaws_rad: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Rotation:
    return Rotation.from_rotvec(np.outer(yaws_rad, [0.0, 0.0, 1.0]))


def _from_camera(mount: CameraMount) -> Rotation:
    return Rotation.from_matrix(mount.rotation_base_from_camera)
