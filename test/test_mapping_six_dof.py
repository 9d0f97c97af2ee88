"""The fallback with six degrees of freedom: scale, upright, gate; a small reconstruction where pycolmap is there."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from mapping_rendering import rendered

from gst_ros.mapping import sfm_process
from gst_ros.mapping.camera import Array, CameraMount, MapError, PinholeCamera
from gst_ros.mapping.six_dof import SixDofConfig, floor_depth, local_heights, metric, six_dof_trajectory
from gst_ros.mapping.spread import rotation_to_z, trajectory_spread

CAMERA = PinholeCamera.centred(320, 256, 170.0)
MOUNT = CameraMount(1.5, 35.0)


def walk(count: int = 60, sway_deg: float = 2.0) -> tuple[Array, Array]:
    """A swaying walk round a room, in ``map``."""
    random = np.random.default_rng(0)
    rotations, positions = [], []
    for angle in np.linspace(0, 5, count):
        cos, sin = math.cos(angle + 1.6), math.sin(angle + 1.6)
        mount = CameraMount(1.5, 35 + sway_deg * random.normal(), sway_deg * random.normal())
        rotations.append(np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]]) @ mount.rotation_base_from_camera)
        positions.append([2 * math.cos(angle), 1.5 * math.sin(angle), 1.5 + 0.02 * random.normal()])
    return np.array(rotations), np.array(positions)


def furnished(random: np.random.Generator) -> Array:
    floor = np.column_stack([random.uniform(-4, 4, (600, 2)), random.normal(0, 0.005, 600)])
    table = np.column_stack([random.uniform(-1, 1, (200, 2)), random.normal(0.74, 0.005, 200)])
    rest = random.uniform([-4, -4, 0], [4, 4, 2.5], (600, 3))
    mirrored = random.uniform([-4, -4, -1.5], [4, 4, 0], (60, 3))
    return np.concatenate([floor, table, rest, mirrored])


@pytest.mark.parametrize("scale", [0.02, 1.0, 37.0])
def test_a_reconstruction_becomes_metric_and_upright(scale: float) -> None:
    rotations, positions = walk()
    points = furnished(np.random.default_rng(1))
    tip = rotation_to_z(np.array([0.4, -0.7, -0.5]))
    shift = np.array([5.0, -3.0, 2.0])
    found, places, cloud, on_floor = metric(
        tip @ rotations, positions @ tip.T * scale + shift, points @ tip.T * scale + shift, 1.5
    )
    assert on_floor
    spread, truth = trajectory_spread(found, places), trajectory_spread(rotations, positions)
    assert spread.height_m == pytest.approx(1.5, rel=0.02)
    assert spread.pitch_deg == pytest.approx(truth.pitch_deg, abs=0.3)
    assert spread.roll_deg == pytest.approx(truth.roll_deg, abs=0.3)
    assert spread.faults() == ()
    assert np.linalg.norm(places[-1] - places[0]) == pytest.approx(
        np.linalg.norm(positions[-1] - positions[0]), rel=0.02
    )
    assert places[0, :2] == pytest.approx([0, 0]) and math.atan2(found[0, 1, 2], found[0, 0, 2]) == pytest.approx(0)
    assert np.median(cloud[:600, 2]) == pytest.approx(0, abs=0.02)


def test_no_points_no_floor() -> None:
    rotations, positions = walk()
    assert floor_depth(np.empty((0, 3)), positions) is None
    _, places, _, on_floor = metric(rotations, positions, np.empty((0, 3)), 1.5)
    assert not on_floor
    assert np.linalg.norm(places[9] - places[0]) == pytest.approx(np.linalg.norm(positions[9] - positions[0]))


def test_blocks_of_different_scales_show_in_the_depth_of_the_floor() -> None:
    _, positions = walk(40, sway_deg=0)
    points = furnished(np.random.default_rng(1))
    keyframe, point = (side.ravel() for side in np.meshgrid(np.arange(40), np.arange(len(points))))
    assert local_heights(positions, points, keyframe, point) == pytest.approx(1.5, rel=0.05)
    shrunk = points * 0.7 + [0, 0, 1.5 * 0.3]  # about the height of the cameras, which stay where they are
    both = np.concatenate([points, shrunk])
    point = np.where(keyframe < 20, point, point + len(points))
    heights = local_heights(positions, both, keyframe, point)
    assert heights[0] == pytest.approx(1.5, rel=0.05) and heights[-1] == pytest.approx(1.05, rel=0.05)


def test_without_pycolmap_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sfm_process.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MapError, match="pip install"):
        six_dof_trajectory([], CAMERA, MOUNT)


def test_a_crash_is_an_error_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(MapError, match=r"structure from motion ended with code [^0]"):
        sfm_process.reconstruct(tmp_path, CAMERA, sfm_process.SfmOptions())  # no pictures


@pytest.mark.skipif(importlib.util.find_spec("pycolmap") is None, reason="pycolmap is not installed (gst_ros[six-dof])")
def test_a_small_walk_is_recovered() -> None:
    rotations, positions = walk(120, sway_deg=1.0)
    rotations, positions = rotations[:22], positions[:22]
    found = six_dof_trajectory(rendered(CAMERA, rotations, positions), CAMERA, MOUNT, SixDofConfig(features=600))
    assert found.believed, found.faults
    assert len(found.stamps_ns) >= 6
    truth = positions[found.stamps_ns // 10**8]
    span = np.linalg.norm(truth[-1] - truth[0])
    assert np.linalg.norm(found.positions_m[-1] - found.positions_m[0]) == pytest.approx(span, rel=0.08)
    assert found.spread.pitch_deg == pytest.approx(35, abs=2.5)
    assert found.planar().shape == (len(truth), 3)
