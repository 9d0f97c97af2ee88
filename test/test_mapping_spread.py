"""Pitch, roll and height along a trajectory, and the gate that they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gst_ros.mapping.camera import Array, CameraMount
from gst_ros.mapping.spread import (
    SpreadLimits,
    gravity_aligned,
    rotation_to_z,
    tilts_deg,
    trajectory_spread,
    turn_spread_deg,
)


def turned(yaw: float, pitch_deg: float, roll_deg: float) -> Array:
    cos, sin = math.cos(yaw), math.sin(yaw)
    level = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    return level @ CameraMount(1.0, pitch_deg, roll_deg).rotation_base_from_camera


def walk(count: int = 80, sway_deg: float = 0.0, bob_m: float = 0.0) -> tuple[Array, Array]:
    random = np.random.default_rng(0)
    angle = np.linspace(0, 5, count)
    tilt = random.normal(0, 1, (count, 2)) * sway_deg
    rotations = np.array([turned(a, 35 + t[0], t[1]) for a, t in zip(angle, tilt, strict=True)])
    height = 1.5 + random.normal(0, 1, count) * bob_m
    return rotations, np.column_stack([3 * np.cos(angle), 3 * np.sin(angle), height])


def test_tilts_are_the_mounts() -> None:
    rotations = np.array([turned(2.0, 35, -4), turned(-1.0, -10, 30), turned(0.0, 0, 0)])
    pitch, roll = tilts_deg(rotations)
    assert pitch == pytest.approx([35, -10, 0], abs=1e-9)
    assert roll == pytest.approx([-4, 30, 0], abs=1e-9)


def test_a_camera_on_a_mount_passes() -> None:
    spread = trajectory_spread(*walk())
    assert (spread.pitch_deg, spread.roll_deg, spread.height_m) == pytest.approx((35, 0, 1.5))
    assert spread.pitch_std_deg == pytest.approx(0, abs=1e-9)
    assert spread.faults() == ()
    swaying = trajectory_spread(*walk(sway_deg=1.5, bob_m=0.03))
    assert swaying.pitch_std_deg == pytest.approx(1.5, rel=0.2)
    assert swaying.height_std_m == pytest.approx(0.03, rel=0.2)
    assert swaying.faults() == ()
    assert swaying.faults(SpreadLimits(tilt_std_deg=0.5)) != ()


def test_wrongly_glued_blocks_do_not_pass() -> None:
    rotations, positions = walk()
    tilt = CameraMount(1.0, 20.0).rotation_base_from_camera @ CameraMount().rotation_base_from_camera.T
    rotations[40:], positions[40:] = tilt @ rotations[40:], positions[40:] @ tilt.T
    faults = " ".join(trajectory_spread(rotations, positions).faults())
    assert "pitch" in faults and "height" in faults
    rotations, positions = walk()
    positions[60:, 2] += 0.5
    assert trajectory_spread(rotations, positions).faults()


def test_numbers_that_are_none_do_not_pass() -> None:
    rotations, positions = walk()
    positions[3] = np.nan
    assert trajectory_spread(rotations, positions).faults()


def test_gravity_is_found_from_level_cameras() -> None:
    rotations, positions = walk(sway_deg=1.0)
    truth = trajectory_spread(rotations, positions)
    tip = rotation_to_z(np.array([0.3, -0.8, -0.4]))
    found = trajectory_spread(*gravity_aligned(tip @ rotations, positions @ tip.T))
    assert found.pitch_deg == pytest.approx(truth.pitch_deg, abs=0.5)
    assert found.roll_deg == pytest.approx(truth.roll_deg, abs=0.5)
    up = tip @ np.array([0.0, 0.0, 1.0])
    exact = trajectory_spread(*gravity_aligned(tip @ rotations, positions @ tip.T, up))
    assert exact.pitch_deg == pytest.approx(truth.pitch_deg) and exact.height_m == pytest.approx(truth.height_m)


@pytest.mark.parametrize("direction", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0.2, -3, 0.1)])
def test_rotation_to_z(direction: tuple[float, float, float]) -> None:
    turn = rotation_to_z(np.array(direction, dtype=float))
    assert turn @ turn.T == pytest.approx(np.eye(3)) and np.linalg.det(turn) == pytest.approx(1)
    assert turn @ (np.array(direction) / np.linalg.norm(direction)) == pytest.approx([0, 0, 1])


def test_turn_spread() -> None:
    assert turn_spread_deg(walk()[0]) == pytest.approx(math.degrees(5))
