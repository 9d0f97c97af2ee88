"""Six degrees of freedom for recorded video, where the planar assumption fails: structure from motion, gated.

The work is COLMAP's (Schoenberger and Frahm 2016), through ``pycolmap``, an optional dependency. Its result has any
scale and any upright: gravity comes from how cameras are held and from the floor, the scale from the floor's distance
below the camera. Registering many frames at a small error does not mean that the map is right (see
:mod:`gst_ros.mapping.spread`), so the trajectory is believed only if pitch, roll and height stay within limits.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import Array, CameraMount, MapError, PinholeCamera
from gst_ros.mapping.pairs import PairConfig, spaced_frames
from gst_ros.mapping.sfm_process import SfmOptions, check_installed, reconstruct
from gst_ros.mapping.spread import Spread, SpreadLimits, gravity_aligned, rotation_to_z, trajectory_spread
from gst_ros.media.frames import Frame


@dataclass(frozen=True)
class SixDofConfig(Settings):
    """How structure from motion is run."""

    frames: PairConfig = field(default_factory=lambda: PairConfig(stride_share=0.08, longest=6, max_frames=100000))
    limits: SpreadLimits = field(default_factory=SpreadLimits)
    most_keyframes: int = setting(400, "More keyframes are thinned out evenly.", low=10)
    overlap: int = setting(8, "Keyframes after each one that it is matched with; and those 16, 32, ... later.", low=2)
    features: int = setting(2048, "SIFT features of a keyframe, at most.", low=100)
    threads: int = setting(2, "Threads.", low=1)
    contrast: float = setting(0.003, "Least contrast of a SIFT feature.", above=0.0)
    least_inliers: int = setting(30, "A keyframe is registered with so many points or more.", low=6)
    most_drift: float = setting(0.12, "How far the floor may be from its depth in a part of the walk.", above=0.0)
    most_off: float = setting(0.15, "Share of the parts of the walk where it may be farther off.", low=0.0)
    least_registered: float = setting(0.7, "Share of the keyframes that must be registered in one piece.", low=0.0)


@dataclass(frozen=True)
class SixDofTrajectory:
    """Where the camera was, in ``map`` (metres, z up, floor at 0, the first pose at x = y = 0 with yaw 0).

    Attributes:
        stamps_ns: N stamps of the registered keyframes, ascending.
        rotations: N x 3 x 3, ``camera_optical_frame`` to ``map``.
        positions_m: N x 3, of the camera.
        points_m: P x 3, points of the room.
        keyframes: How many keyframes there were.
        models: How many separate pieces came out.
        error_px: Mean reprojection error.
        spread: Of pitch, roll and height.
        faults: Why the trajectory is not to be believed; empty where it is.
    """

    stamps_ns: NDArray[np.int64]
    rotations: Array
    positions_m: Array
    points_m: Array
    keyframes: int
    models: int
    error_px: float
    spread: Spread
    faults: tuple[str, ...]

    @property
    def believed(self) -> bool:
        """Whether the trajectory passed the gate."""
        return not self.faults

    def planar(self) -> Array:
        """N x 3 poses (x_m, y_m, yaw_rad) of ``base``, the point on the floor below the camera."""
        ahead = self.rotations[:, :2, 2]
        return np.column_stack([self.positions_m[:, :2], np.arctan2(ahead[:, 1], ahead[:, 0])])


def six_dof_trajectory(
    frames: Iterable[Frame], camera: PinholeCamera, mount: CameraMount, config: SixDofConfig | None = None
) -> SixDofTrajectory:
    """Recover a camera's path with all six degrees of freedom from a recorded video.

    Args:
        frames: The video.
        camera: Intrinsics of its frames; they are not changed.
        mount: Its height above the floor gives the scale.
        config: Limits.

    Raises:
        MapError: ``pycolmap`` is not installed, or nothing can be recovered.
    """
    config = config or SixDofConfig()
    check_installed()
    with tempfile.TemporaryDirectory(prefix="gst_ros_sfm_") as folder:
        stamps = _write_keyframes(frames, Path(folder) / "images", config)
        asked = SfmOptions(config.features, config.contrast, config.overlap, config.least_inliers, config.threads)
        models = reconstruct(Path(folder), camera, asked) if len(stamps) > 1 else []
    if not models:
        raise MapError("structure from motion found no two frames to begin with", remedy="a longer or sharper video")
    model = models[0]
    chosen = np.array([stamps[name] for name in model.names], dtype=np.int64)
    order = np.argsort(chosen)
    rotations, positions, points, on_floor = metric(
        model.rotations[order], model.positions[order], model.points, mount.height_m
    )
    place = np.argsort(order)  # of each picture in the order of time
    heights = local_heights(positions, points, place[model.seen[:, 0]], model.seen[:, 1])
    spread = trajectory_spread(rotations, positions)
    faults = list(spread.faults(config.limits))
    off = float(np.mean(np.abs(heights / mount.height_m - 1) > config.most_drift)) if len(heights) else 0.0
    if off > config.most_off:
        faults.append(f"the floor is at another depth in {100 * off:.0f} % of the walk: the scale changes on the way")
    if not on_floor:
        faults.append("no floor is seen: the scale is unknown")
    if len(order) < config.least_registered * len(stamps):
        faults.append(f"only {len(order)} of {len(stamps)} keyframes in one piece")
    return SixDofTrajectory(
        chosen[order], rotations, positions, points, len(stamps), len(models), model.error_px, spread, tuple(faults)
    )


def metric(rotations: Array, positions: Array, points: Array, height_m: float) -> tuple[Array, Array, Array, bool]:
    """Turn a reconstruction upright, scale it by the floor, and put its first pose where maps begin.

    Args:
        rotations: N x 3 x 3, ``camera_optical_frame`` to any world.
        positions: N x 3, in that world.
        points: P x 3, in that world.
        height_m: Height of the camera above the floor.

    Returns:
        The three in ``map``, metres, and whether a floor was found (else the scale is left as it is).
    """
    level, upright = gravity_aligned(rotations, positions)
    points = points @ (level[0] @ rotations[0].T).T
    depth = floor_depth(points, upright)
    for _ in range(3):
        if depth is None:
            break
        # The floor knows the vertical better than the cameras do.
        floor = np.median(upright[:, 2]) - depth
        normal = _plane_normal(points[np.abs(points[:, 2] - floor) < 0.05 * depth])
        if normal is None or normal[2] < np.cos(np.radians(10)):
            break
        turn = rotation_to_z(normal)
        level, upright, points = turn @ level, upright @ turn.T, points @ turn.T
        depth = floor_depth(points, upright) or depth
    scale = 1.0 if depth is None else height_m / depth
    floor = np.median(upright[:, 2]) - (height_m if depth is None else depth)
    yaw = np.arctan2(level[0, 1, 2], level[0, 0, 2])
    cos, sin = np.cos(yaw), np.sin(yaw)
    turn = np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
    origin = np.array([*upright[0, :2], floor])
    return turn @ level, (upright - origin) @ turn.T * scale, (points - origin) @ turn.T * scale, depth is not None


def floor_depth(points: Array, positions: Array) -> float | None:
    """How far below the cameras the floor lies: the lowest level at which points crowd.

    Args:
        points: P x 3, z up.
        positions: N x 3, of the cameras.

    Returns:
        The distance in the units of the input, or None where there are too few points below the cameras.
    """
    depth = np.median(positions[:, 2]) - points[:, 2]
    depth = depth[depth > 1e-9]
    if len(depth) < 50:
        return None
    # Levels on a logarithmic scale: the scale of the input is not known.
    logs = np.log(depth[depth > np.percentile(depth, 90) / 50])
    edges = np.arange(logs.min(), logs.max() + 0.06, 0.02)
    if len(edges) < 4:
        return float(np.median(depth))
    counts = np.convolve(np.histogram(logs, edges)[0], np.ones(3), mode="same")
    crowded = np.flatnonzero(counts >= 0.5 * counts.max())
    middle = edges[crowded[-1]] + 0.01
    best = crowded[-1]
    while best > 0 and counts[best - 1] > counts[best]:  # up to the peak of this crowd
        best -= 1
    middle = edges[best] + 0.01
    return float(np.exp(np.median(logs[np.abs(logs - middle) < 0.04])))


def local_heights(
    positions: Array, points: Array, keyframe: NDArray[np.int64], point: NDArray[np.int64], window: int = 10
) -> Array:
    """Heights above the floor that is seen from there, for one part of a walk after the other.

    Blocks that were glued together at different scales can keep their cameras in one plane; their floors are then at
    different depths.

    Args:
        positions: N x 3, of the cameras in the order of time, z up.
        points: P x 3.
        keyframe: K numbers of cameras, each of which sees ...
        point: ... one of K points.
        window: Cameras of one part; parts overlap by half.

    Returns:
        A height for each part in which a floor is seen.
    """
    heights = []
    for start in range(0, max(1, len(positions) - window // 2), max(1, window // 2)):
        part = positions[start : start + window]
        shown = np.unique(point[(keyframe >= start) & (keyframe < start + window)])
        depth = floor_depth(points[shown], part)
        if depth is not None:
            heights.append(depth)
    return np.array(heights)


def _plane_normal(points: Array) -> Array | None:
    """Upward normal (3,) of the plane through points, by trimmed least squares."""
    if len(points) < 30:
        return None
    for _ in range(3):
        middle = points.mean(axis=0)
        normal = np.linalg.svd(points - middle, full_matrices=False)[2][2]
        away = np.abs((points - middle) @ normal)
        points = points[away <= np.percentile(away, 80)]
        if len(points) < 30:
            break
    return np.asarray(normal * np.sign(normal[2]))


def _write_keyframes(frames: Iterable[Frame], folder: Path, config: SixDofConfig) -> dict[str, int]:
    """Write keyframes as pictures; their names and stamps."""
    folder.mkdir()
    stamps: dict[str, int] = {}
    even = cv2.createCLAHE(3.0, (8, 8))  # walls have more texture than one sees
    for frame in spaced_frames(frames, config.frames):
        name = f"{len(stamps):06d}.png"
        if not cv2.imwrite(str(folder / name), even.apply(cv2.cvtColor(frame.image_rgb, cv2.COLOR_RGB2GRAY))):
            raise MapError("a keyframe cannot be written", file=folder / name, remedy="is the disk full?")
        stamps[name] = frame.stamp_ns
    excess = len(stamps) - config.most_keyframes
    if excess > 0:
        keep = {list(stamps)[k] for k in np.linspace(0, len(stamps) - 1, config.most_keyframes).astype(int)}
        for name in list(stamps):
            if name not in keep:
                (folder / name).unlink()
                del stamps[name]
    return stamps
