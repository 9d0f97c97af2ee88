"""What a real camera adds to a rendered picture: exposure that hunts, motion blur, and noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.cameras import CameraPose, Intrinsics
from gst_ros.scenes.rng import rng
from gst_ros.scenes.trajectory import Trajectory

Image = NDArray[np.uint8]

SHUTTER = 0.3
"""Share of the time between frames in which the shutter is open."""
BLUR_SAMPLES = 5
TARGET_LEVEL = 0.45
"""Mean brightness (0 to 1, gamma-encoded) that the exposure settles at."""
SETTLING_FRAMES = 6.0
MOST_GAIN = 1.35
SHOT_NOISE = 0.018
READ_NOISE = 0.008
VIGNETTING = 0.12


class Sensor:
    """Turns rendered pictures into those of a small camera. Frames must come in order.

    Blur is that of the camera's turning, which moves near and far alike; the little that walking adds is left out.

    Args:
        camera: The camera's intrinsics.
        trajectory: Its poses, one per frame.
        seed: The place's seed.
        name: Name of the video.
    """

    def __init__(self, camera: Intrinsics, trajectory: Trajectory, seed: int, name: str) -> None:
        self._camera, self._poses = camera, trajectory.poses
        self._random = rng(seed, "sensor", name)
        self._gain: float | None = None
        x = (np.arange(camera.width) - camera.cx) / camera.f_px
        y = (np.arange(camera.height) - camera.cy) / camera.f_px
        radius = x[None, :] ** 2 + y[:, None] ** 2
        self._vignette = (1.0 - VIGNETTING * radius / radius.max()).astype(np.float32)[:, :, None]

    def expose(self, number: int, rgb: Image) -> Image:
        """The picture as the sensor delivers it.

        Args:
            number: Number of the frame.
            rgb: H x W x 3 bytes, as rendered.
        """
        light = self._blurred(number, rgb.astype(np.float32) / 255.0)
        level = float(light.mean())
        wanted = float(np.clip(TARGET_LEVEL / max(level, 0.05), 1.0 / MOST_GAIN, MOST_GAIN))
        self._gain = wanted if self._gain is None else self._gain + (wanted - self._gain) / SETTLING_FRAMES
        light *= self._gain * self._vignette
        noise = self._random.standard_normal(light.shape, dtype=np.float32)
        light += noise * (READ_NOISE * self._gain + SHOT_NOISE * np.sqrt(np.maximum(light, 0.0)))
        return np.clip(np.round(light * 255.0), 0, 255).astype(np.uint8)

    def _blurred(self, number: int, light: NDArray[np.float32]) -> NDArray[np.float32]:
        """Mean over the time in which the shutter is open: the picture warped by the camera's turning."""
        import cv2

        here = self._poses[number]
        other = self._poses[number - 1] if number else self._poses[min(1, len(self._poses) - 1)]
        rate = [_turn(b, a) for a, b in ((other.yaw_deg, here.yaw_deg), (other.pitch_deg, here.pitch_deg))]
        roll = here.roll_deg - other.roll_deg
        if max(abs(v) for v in (*rate, roll)) * SHUTTER < 0.05:
            return light
        size = (self._camera.width, self._camera.height)
        total = np.zeros_like(light)
        inverse = np.linalg.inv(self._camera.matrix)
        for k in range(BLUR_SAMPLES):
            part = SHUTTER * (k / (BLUR_SAMPLES - 1) - 0.5)
            turned = CameraPose(
                0.0,
                0.0,
                0.0,
                here.yaw_deg + part * rate[0],
                here.pitch_deg + part * rate[1],
                here.roll_deg + part * roll,
            )
            rotation = turned.rotation_map_from_camera.T @ here.rotation_map_from_camera
            warp = self._camera.matrix @ rotation @ inverse
            total += cv2.warpPerspective(light, warp, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return np.asarray(total / BLUR_SAMPLES, np.float32)


def _turn(after_deg: float, before_deg: float) -> float:
    return (after_deg - before_deg + 180.0) % 360.0 - 180.0
