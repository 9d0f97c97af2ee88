"""Pitch and roll from the vertical edges of a picture."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from gst_ros.mapping.camera import CameraMount, PinholeCamera
from gst_ros.mapping.vanishing import down_direction, find_vertical, line_segments

CAMERA = PinholeCamera.centred(640, 512, 335.3)


def boxes(mount: CameraMount, uprights: int = 30, lying: int = 40) -> np.ndarray:
    """Segments of vertical and of level edges, with half a pixel of noise at their ends."""
    random = np.random.default_rng(0)
    base = np.column_stack([random.uniform(1.5, 5, uprights), random.uniform(-3, 3, uprights), np.zeros(uprights)])
    ends = [(base, base + np.array([0, 0, 1.4]))]
    start = np.column_stack([random.uniform(1.5, 5, lying), random.uniform(-3, 3, lying), random.uniform(0, 2, lying)])
    ends.append((start, start + np.eye(3)[random.integers(0, 2, lying)] * 0.8))
    first, second = (CAMERA.pixels(mount.points_in_camera(np.concatenate(side))) for side in zip(*ends, strict=True))
    return np.column_stack([first, second]) + random.normal(0, 0.5, (uprights + lying, 4))


def test_down_is_the_mounts() -> None:
    mount = CameraMount(1.0, 33.0, -7.0)
    down = mount.rotation_base_from_camera.T @ [0, 0, -1]
    assert down_direction(np.radians(33.0), np.radians(-7.0)) == pytest.approx(down)


@pytest.mark.parametrize(("pitch_deg", "roll_deg"), [(35.0, 0.0), (0.0, 2.0), (-12.0, -3.0), (50.0, 1.0)])
def test_pitch_and_roll_are_found(pitch_deg: float, roll_deg: float) -> None:
    found = find_vertical([boxes(CameraMount(1.5, pitch_deg, roll_deg))], CAMERA)
    assert found is not None
    assert found.pitch_deg == pytest.approx(pitch_deg, abs=0.5)
    assert found.roll_deg == pytest.approx(roll_deg, abs=0.3)
    assert found.segments >= 20 and found.pitch_std_deg < 0.5


def test_too_few_edges_give_no_answer() -> None:
    assert find_vertical([], CAMERA) is None
    assert find_vertical([np.empty((0, 4))], CAMERA) is None
    assert find_vertical([boxes(CameraMount(1.5, 10.0), uprights=3, lying=0)], CAMERA) is None


def test_segments_of_a_picture() -> None:
    image = np.full((512, 640, 3), 40, np.uint8)
    cv2.rectangle(image, (200, 100), (400, 380), (220, 220, 220), -1)
    lines = line_segments(image)
    assert len(lines) == 4
    assert (np.hypot(lines[:, 2] - lines[:, 0], lines[:, 3] - lines[:, 1]) > 190).all()
    assert len(line_segments(np.zeros((100, 100, 3), np.uint8))) == 0
