"""The camera and the poses in the plane, against the data engine's own projection and against known values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gst_ros.mapping.camera import CameraMount, PinholeCamera
from gst_ros.mapping.planar import align, between, compose, inverse, trajectory_rmse_m, transform, wrap
from gst_ros.scenes.cameras import CameraPose, Intrinsics, project

CAMERA = PinholeCamera.centred(640, 512, 335.3)
NUMBER = st.floats(-20, 20)
POSES = st.tuples(NUMBER, NUMBER, st.floats(-3.1, 3.1)).map(np.array)


@pytest.mark.parametrize("pitch_deg", [0.0, 35.0])
@pytest.mark.parametrize("roll_deg", [0.0, 4.0])
def test_a_mounted_camera_sees_points_where_the_data_engine_draws_them(pitch_deg: float, roll_deg: float) -> None:
    points = np.random.default_rng(0).normal((5.0, 4.0, 0.5), size=(50, 3))
    base = np.array([1.0, 2.0, np.radians(40)])
    expected, _ = project(points, CameraPose(1, 2, 1.5, 40, pitch_deg, roll_deg), Intrinsics(640, 512, 335.3))
    in_base = np.column_stack([transform(inverse(base), points[:, :2]), points[:, 2]])
    found = CAMERA.pixels(CameraMount(1.5, pitch_deg, roll_deg).points_in_camera(in_base))
    assert np.allclose(found, expected)


def test_a_pixel_at_the_pitch_angle_below_the_horizon_is_where_trigonometry_says() -> None:
    mount = CameraMount(height_m=1.5, pitch_deg=35)
    (ahead, left) = mount.floor_points(np.array([[CAMERA.cx, CAMERA.cy]]), CAMERA)[0]
    assert ahead == pytest.approx(1.5 / np.tan(np.radians(35)))
    assert left == pytest.approx(0)
    above = mount.floor_points(np.array([[CAMERA.cx, CAMERA.cy - CAMERA.fy * np.tan(np.radians(35.1))]]), CAMERA)
    assert np.isnan(above).all()


def test_floor_points_project_back() -> None:
    mount = CameraMount(0.45, 10, -2)
    pixels = np.array([[20.0, 400.0], [320.0, 300.0], [600.0, 511.0]])
    floor = mount.floor_points(pixels, CAMERA)
    again = CAMERA.pixels(mount.points_in_camera(np.column_stack([floor, np.zeros(3)])))
    assert np.allclose(again, pixels)


def test_rays_lead_through_their_pixels() -> None:
    pixels = np.random.default_rng(1).uniform(0, 500, (20, 2))
    assert np.allclose(CAMERA.pixels(CAMERA.rays(pixels) * 3.0), pixels)


def test_a_camera_scaled_threefold_keeps_its_edges() -> None:
    big = CAMERA.scaled_to(1920, 1536)
    assert (big.fx, big.cx, big.cy) == (pytest.approx(1005.9), pytest.approx(959.5), pytest.approx(767.5))


def test_composition_of_known_poses() -> None:
    quarter = np.array([1.0, 2.0, np.pi / 2])
    assert np.allclose(compose(quarter, np.array([3.0, 0.0, 0.0])), [1.0, 5.0, np.pi / 2])
    assert np.allclose(transform(quarter, np.array([[3.0, 1.0]])), [[0.0, 5.0]])
    assert wrap(np.pi) == pytest.approx(-np.pi)


@given(POSES, POSES, POSES)
def test_poses_form_a_group(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    def same(p: np.ndarray, q: np.ndarray) -> bool:
        return np.allclose(p[:2], q[:2], atol=1e-9) and abs(wrap(p[2] - q[2])) < 1e-9

    assert same(compose(a, between(a, b)), b)
    assert same(compose(compose(a, b), c), compose(a, compose(b, c)))
    assert same(compose(a, inverse(a)), np.zeros(3))


@given(POSES)
def test_alignment_finds_the_motion_and_leaves_no_error(motion: np.ndarray) -> None:
    path = np.random.default_rng(2).normal(size=(12, 2)) * 4
    moved = transform(motion, path)
    assert np.allclose(transform(align(path, moved), path), moved)
    assert trajectory_rmse_m(path, moved) == pytest.approx(0, abs=1e-9)


def test_alignment_has_no_scale() -> None:
    path = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [0.0, 2.0]])
    assert trajectory_rmse_m(path, path * 1.1) == pytest.approx(0.1 * np.sqrt(5))
