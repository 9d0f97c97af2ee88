"""The tilt of every frame of a camera that sways, and frames with the sway taken off."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from mapping_rendering import rendered

from gst_ros.mapping.camera import Array, CameraMount, MapError, PinholeCamera
from gst_ros.mapping.spread import tilts_deg
from gst_ros.mapping.sway import Sway, _smoothed, estimate_sway
from gst_ros.mapping.vanishing import down_direction
from gst_ros.media.frames import Frame

CAMERA = PinholeCamera.centred(320, 256, 170.0)
MOUNT = CameraMount(1.5, 35.0)


def swaying(count: int, sway_deg: float) -> tuple[Array, Array]:
    """Rotations to ``map`` and positions of a walk with smooth sway."""
    time = np.arange(count)
    pitch, roll = 35 + sway_deg * np.sin(time / 3.0), sway_deg * np.cos(time / 4.1)
    rotations, positions = [], []
    for k in range(count):
        cos, sin = math.cos(0.03 * k), math.sin(0.03 * k)
        mount = CameraMount(1.5, float(pitch[k]), float(roll[k]))
        rotations.append(np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]]) @ mount.rotation_base_from_camera)
        positions.append([-1 + 0.05 * k, 0.3 * math.sin(0.1 * k), 1.5])
    return np.array(rotations), np.array(positions)


def test_steady_pictures_are_those_of_a_steady_mount() -> None:
    point = np.array([[2.0, 0.3, 0.4]])
    tilted = CameraMount(1.5, 38.0, 3.0)
    image = np.zeros((256, 320, 3), np.uint8)
    u, v = CAMERA.pixels(tilted.points_in_camera(point))[0]
    cv2.circle(image, (round(u * 16), round(v * 16)), 5 * 16, (255, 255, 255), -1, cv2.LINE_AA, 4)
    down = np.stack([down_direction(0.3, 0.0), down_direction(math.radians(38), math.radians(3))])
    sway = Sway(np.array([0, 10**8]), down, np.zeros(2))
    assert sway.tilts_deg[1] == pytest.approx([38, 3])
    steady = sway.steady(Frame(image, 10**8), CAMERA, MOUNT)
    assert steady.stamp_ns == 10**8
    rows, columns = np.nonzero(steady.image_rgb[:, :, 0] > 127)
    assert [columns.mean(), rows.mean()] == pytest.approx(CAMERA.pixels(MOUNT.points_in_camera(point))[0], abs=0.5)


def test_turns_and_sightings_are_fused_and_wrong_ones_lose() -> None:
    random = np.random.default_rng(0)
    truth, _ = swaying(80, 2.5)
    turns = np.tile(np.eye(3), (80, 1, 1))
    for k in range(1, 80):
        noise = cv2.Rodrigues(random.normal(0, np.radians(0.05), 3))[0]
        turns[k] = truth[k - 1].T @ truth[k] @ noise
    down = truth.transpose(0, 2, 1) @ np.array([0, 0, -1.0])
    std = np.radians(0.3)
    seen = [(down[k] + random.normal(0, std, 3), std**2) if k % 4 == 0 else None for k in range(80)]
    for k in (8, 28, 60):
        seen[k] = (down_direction(math.radians(50), math.radians(8)), std**2)
    mean = down_direction(math.radians(35), 0.0)
    found, variance = _smoothed(turns, np.full(80, np.radians(0.06) ** 2), seen, mean, math.radians(3) ** 2)
    error = np.degrees(np.linalg.norm(found - down, axis=1))
    assert error.max() < 0.6 and np.sqrt(np.mean(error**2)) < 0.3
    assert (np.degrees(np.sqrt(variance)) < 0.5).all()
    blind, unsure = _smoothed(turns, np.full(80, np.radians(0.06) ** 2), [None] * 80, mean, math.radians(3) ** 2)
    assert unsure.min() > variance.max()  # it knows less without sightings, and says so
    assert np.degrees(np.linalg.norm(blind - down, axis=1)).max() < 4


def test_sway_is_found_in_pictures() -> None:
    rotations, positions = swaying(36, 2.0)
    found = estimate_sway(rendered(CAMERA, rotations, positions), CAMERA, MOUNT)
    truth = np.column_stack(tilts_deg(rotations))
    assert found.stamps_ns.tolist() == [k * 10**8 for k in range(36)]
    error = found.tilts_deg - truth
    assert (error.std(axis=0) < 0.4 * truth.std(axis=0)).all()


def test_no_frame_no_sway() -> None:
    with pytest.raises(MapError):
        estimate_sway([], CAMERA, MOUNT)
