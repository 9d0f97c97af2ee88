"""The parameters of the camera player, and the camera that they describe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from gst_ros.config import setting
from gst_ros.errors import ConfigError
from gst_ros.media.calibration import Calibration, find_calibration, read_calibration
from gst_ros.media.clip import Clip
from gst_ros.media.playback import PlaybackConfig
from gst_ros.memory.replays import CameraFacts
from gst_ros.nodes.camera_topics import TopicsConfig


@dataclass(frozen=True)
class CameraPlayerConfig(PlaybackConfig, TopicsConfig):
    """Parameters of the node: those of playback and topics, and its own."""

    path: str = setting("", "Video file or folder of images to load at start; empty for none.")
    autoplay: bool = setting(True, "Play 'path' at once.")
    exit_when_finished: bool = setting(False, "End the node at the end of the clip (exit code 0) or on failure (3).")
    progress: bool = setting(False, "Show a progress bar where standard error is a terminal.")
    start_s: float = setting(0.0, "Media time of the first frame of 'path'.", unit="s", low=0.0)
    end_s: float = setting(0.0, "Media time at which to stop (exclusive); 0 for the end.", unit="s", low=0.0)
    folder_fps: float = setting(
        10.0, "Rate of a folder of images without timestamps.txt.", unit="1/s", above=0.0, high=1e9
    )
    status_period_s: float = setting(0.2, "Time between status messages.", unit="s", low=0.01, high=60.0)
    calibration_file: str = setting(
        "", "JSON, or YAML as of ROS camera calibration; empty: camera.json beside the clip, if there is one."
    )
    fx: float = setting(0.0, "Focal length; 0: from horizontal_fov_deg or a file.", unit="pixels", low=0.0)
    fy: float = setting(0.0, "Focal length; 0: as fx.", unit="pixels", low=0.0)
    cx: float = setting(-1.0, "Principal point; negative: the middle.", unit="pixels", low=-1.0)
    cy: float = setting(-1.0, "Principal point; negative: the middle.", unit="pixels", low=-1.0)
    horizontal_fov_deg: float = setting(0.0, "Field of view of an ideal camera; 0: unknown.", low=0.0, high=177.0)
    camera_height_m: float = setting(
        0.0, "Height of the camera above the floor, for camera/mount; 0: from the file.", unit="m", low=0.0, high=1000.0
    )
    camera_pitch_deg: float | None = setting(
        None, "Its downward tilt; not set: from the file.", unit="deg", low=-89.0, high=89.0
    )
    distortion: tuple[float, ...] = setting((), "Coefficients of the plumb_bob lens model (k1 k2 p1 p2 k3).")


def check(config: CameraPlayerConfig) -> None:
    """Refuse settings that do not go together.

    Raises:
        ConfigError: It names the setting and the remedy.
    """
    if config.publish_clock and config.stamp_origin in ("media", "now"):
        raise ConfigError(
            f"'{config.stamp_origin}' stamps may go back, and /clock must not",
            field="stamp_origin",
            remedy="with publish_clock, leave it at auto or continuous",
        )
    if len(config.distortion) > 5:
        raise ConfigError(f"plumb_bob has 5 coefficients, got {len(config.distortion)}", field="distortion")


def facts_of(config: CameraPlayerConfig, clip: Clip) -> CameraFacts:
    """What is known of a clip's camera: intrinsics, height and tilt, each from parameters, else from a file.

    Raises:
        MediaError: The file cannot be used.
    """
    file = _file(config, clip)
    told: dict[str, float] = {}
    if file is not None:
        from gst_ros.mapping.camera_files import mount_told  # takes a moment to load

        told = mount_told(file)
    return CameraFacts(
        calibration_of(config, clip),
        config.camera_height_m or told.get("height_m"),
        0.0 if config.camera_height_m else told.get("height_std_m", 0.0),
        told.get("pitch_deg") if config.camera_pitch_deg is None else config.camera_pitch_deg,
        told.get("roll_deg"),
    )


def calibration_of(config: CameraPlayerConfig, clip: Clip) -> Calibration | None:
    """Intrinsics of a clip: from parameters, else from the file of the parameter, else from beside the clip.

    Returns:
        Intrinsics of pictures of the clip's size, or None when nothing is known.

    Raises:
        MediaError: The file cannot be used.
    """
    width, height = clip.width, clip.height
    lens = (*config.distortion, *[0.0] * (5 - len(config.distortion)))
    if config.fx > 0:
        cx = config.cx if config.cx >= 0 else (width - 1) / 2
        cy = config.cy if config.cy >= 0 else (height - 1) / 2
        calibration = Calibration(width, height, config.fx, config.fy or config.fx, cx, cy, distortion=lens)
        calibration.check()
        return calibration
    if config.horizontal_fov_deg > 0:
        return replace(Calibration.from_horizontal_fov(width, height, config.horizontal_fov_deg), distortion=lens)
    file = _file(config, clip)
    return None if file is None else read_calibration(file).scaled_to(width, height)


def _file(config: CameraPlayerConfig, clip: Clip) -> Path | None:
    return Path(config.calibration_file).expanduser() if config.calibration_file else find_calibration(clip.path)
