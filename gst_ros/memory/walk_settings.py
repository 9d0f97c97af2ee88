"""Settings of walks; apart from what maps them, which takes a second to load."""

from __future__ import annotations

from dataclasses import dataclass

from gst_ros.config import Settings, setting


@dataclass(frozen=True)
class WalkConfig(Settings):
    """How walks are mapped. What is set of the camera here counts more than what is told of it."""

    camera_height_m: float = setting(
        0.0, "Height of the camera above the floor; 0: as told, else 1.5.", unit="m", low=0.0, high=1000.0
    )
    camera_pitch_deg: float | None = setting(
        None, "Downward tilt of the camera; not set: as told, else from the video.", unit="deg", low=-89.0, high=89.0
    )
    camera_ignore_told: bool = setting(
        False, "Estimate the camera from the video even if its calibration, height or tilt is told."
    )
    map_features: str = setting("auto", "Local features that the map is made with.", choices=("auto", "xfeat", "sift"))
    camera_wait_frames: int = setting(
        600, "An unknown camera is estimated from so many frames (or from all, when a question comes).", low=20
    )
