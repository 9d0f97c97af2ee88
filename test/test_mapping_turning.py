"""The turn between whole pictures, on pictures made by turning a camera in a painted room."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from gst_ros.mapping.camera import CameraMount, PinholeCamera
from gst_ros.mapping.motion import Rig
from gst_ros.mapping.turning import align_turn

RIG = Rig(PinholeCamera.centred(320, 256, 167.6), CameraMount(1.5, 35.0))


def panorama(seed: int, shapes: int = 60) -> np.ndarray:
    """What is all round: a grey ground with a few large, faint shapes; columns are directions, rows elevations."""
    random = np.random.default_rng(seed)
    picture = np.full((1024, 2048), 150, np.uint8)
    for _ in range(shapes):
        x, y, w, h = random.integers((0, 0, 30, 30), (2048, 1024, 260, 260))
        cv2.rectangle(picture, (int(x), int(y)), (int(x + w), int(y + h)), int(random.integers(120, 180)), -1)
    return cv2.GaussianBlur(picture, (0, 0), 3)


def seen(picture: np.ndarray, yaw_rad: float, noise: float = 2.0) -> np.ndarray:
    """The panorama from within, as the rig sees it when it is turned by a yaw."""
    columns, rows = np.meshgrid(np.arange(320.0), np.arange(256.0))
    rays = RIG.rays(np.stack([columns.ravel(), rows.ravel()], axis=1))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    bearing = np.arctan2(rays[:, 1], rays[:, 0]) + yaw_rad
    u = (-bearing / (2 * np.pi) % 1.0) * 2048
    v = (0.5 - np.arcsin(rays[:, 2]) / np.pi) * 1024
    maps = (u.reshape(256, 320).astype(np.float32), v.reshape(256, 320).astype(np.float32))
    image = cv2.remap(picture, *maps, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP).astype(float)
    grain = np.random.default_rng(int(abs(yaw_rad) * 1e6)).normal(0, noise, image.shape)
    return np.clip(image + grain, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("turn_deg", [-12.0, -3.3, 0.0, 0.7, 6.0, 14.5])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_turn_is_found_to_a_fraction_of_a_degree(turn_deg: float, seed: int) -> None:
    room = panorama(seed)
    found = align_turn(seen(room, 0.4), seen(room, 0.4 + np.radians(turn_deg)), RIG)
    assert found is not None
    error_deg = np.degrees(found.yaw_rad) - turn_deg
    assert abs(error_deg) < 0.3
    assert abs(error_deg) < 4 * np.degrees(found.std_rad)
    assert found.likeness > 0.8 and found.margin > 0.1


def test_the_brightness_does_not_matter() -> None:
    room = panorama(2)
    darker = (seen(room, np.radians(5)) * 0.6).astype(np.uint8)
    found = align_turn(seen(room, 0.0), darker, RIG)
    assert found is not None and np.degrees(found.yaw_rad) == pytest.approx(5, abs=0.3)


def test_another_room_does_not_agree() -> None:
    likeness = [align_turn(seen(panorama(s), 0.0), seen(panorama(s + 50), 0.0), RIG) for s in range(6)]
    assert all(turn is None or turn.likeness < 0.6 for turn in likeness)


def test_an_empty_picture_tells_nothing() -> None:
    blank = np.full((256, 320), 90, np.uint8)
    assert align_turn(blank, blank, RIG) is None
    assert align_turn(seen(panorama(0), 0.0), blank, RIG) is None
