"""The upright pose solver against poses that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gst_ros.mapping.camera import CameraMount, PinholeCamera
from gst_ros.mapping.upright_hypotheses import Sightings, UprightConfig, rotations
from gst_ros.mapping.upright_pnp import Known, UprightPose, points_and_derivatives, refine_upright, search_upright

CAMERA = PinholeCamera.centred(640, 512, 335.3)
TRUTH = np.array([1.3, -0.7, 0.9, 1.5, 0.0, 0.0])


def best(sightings: Sightings, prior: CameraMount, config: UprightConfig | None = None) -> UprightPose:
    return search_upright(sightings, CAMERA, prior, config)[0]


def room(count: int, rng: np.random.Generator) -> np.ndarray:
    """Points on the floor and on things ahead of the true pose."""
    reach, bearing = rng.uniform(1.5, 6, count), rng.uniform(-0.7, 0.7, count) + TRUTH[2]
    height = np.where(rng.random(count) < 0.5, 0.0, rng.uniform(0, 1.4, count))
    return np.stack([TRUTH[0] + reach * np.cos(bearing), TRUTH[1] + reach * np.sin(bearing), height], axis=1)


def seen(points: np.ndarray, truth: np.ndarray, noise_px: float, rng: np.random.Generator) -> Sightings:
    there, _ = points_and_derivatives(points, truth)
    pixels = CAMERA.pixels(there) + noise_px * rng.standard_normal((len(points), 2))
    count = len(points)
    return Sightings(pixels, points, np.zeros((count, 3)), np.ones(count), np.arange(count), np.arange(count) // 20)


def test_rotations_agree_with_the_mount_and_the_derivatives_with_differences() -> None:
    at = np.array([0.4, -1.2, 2.1, 1.1, 0.3, -0.1])
    mount = CameraMount(1.1, math.degrees(0.3), math.degrees(-0.1))
    turn = np.array([[math.cos(2.1), -math.sin(2.1), 0], [math.sin(2.1), math.cos(2.1), 0], [0, 0, 1]])
    assert np.allclose(rotations(at[None])[0], (turn @ mount.rotation_base_from_camera).T)
    points = np.random.default_rng(1).uniform(-3, 3, (20, 3))
    values, derivatives = points_and_derivatives(points, at)
    assert np.allclose(values, mount.points_in_camera((points - [0.4, -1.2, 0]) @ turn))
    for k in range(6):
        step = np.zeros(6)
        step[k] = 1e-6
        numeric = (points_and_derivatives(points, at + step)[0] - points_and_derivatives(points, at - step)[0]) / 2e-6
        assert np.allclose(derivatives[:, :, k], numeric, atol=1e-6)


@pytest.mark.parametrize("wrong", [0.0, 0.5, 0.85])
def test_finds_the_pose_among_wrong_matches(wrong: float) -> None:
    rng = np.random.default_rng(3)
    sightings = seen(room(200, rng), TRUTH, 1.0, rng)
    bad = rng.random(200) < wrong
    sightings.points_m[bad] = rng.permutation(sightings.points_m)[bad] + rng.uniform(-2, 2, (bad.sum(), 3))
    found = best(sightings, CameraMount(1.5))
    assert np.hypot(*(found.pose[:2] - TRUTH[:2])) < 0.06
    assert abs(found.pose[2] - TRUTH[2]) < math.radians(1.0)
    assert found.inliers[~bad].mean() > 0.9
    others = search_upright(sightings, CAMERA, CameraMount(1.5))[1:]
    assert all(other.support < 0.6 * found.support for other in others)


def test_height_and_pitch_are_found_where_the_priors_are_wide() -> None:
    rng = np.random.default_rng(4)
    truth = np.array([1.3, -0.7, 0.9, 1.35, math.radians(12.0), 0.0])
    sightings = seen(room(150, rng), truth, 0.5, rng)
    found = best(sightings, CameraMount(1.5, 8.0, height_std_m=0.15, pitch_std_deg=5.0))
    assert abs(found.parameters[3] - 1.35) < 0.03
    assert abs(math.degrees(found.parameters[4]) - 12.0) < 0.6
    assert np.hypot(*(found.pose[:2] - truth[:2])) < 0.05


def test_the_covariance_is_as_large_as_the_errors() -> None:
    rng = np.random.default_rng(5)
    points = room(40, rng)
    squared = []
    for _ in range(20):
        found = best(seen(points, TRUTH, 1.5, rng), CameraMount(1.5), UprightConfig(pixel_std=1.5))
        error = found.pose - TRUTH[:3]
        squared.append(error @ np.linalg.solve(found.covariance[:3, :3], error))
    # Chi squared of three degrees of freedom has mean 3; the true height and tilt are exactly what the priors say.
    assert 0.7 < np.mean(squared) < 4.5


def test_points_of_uncertain_depth_count_across_their_ray_only() -> None:
    rng = np.random.default_rng(6)
    sightings = seen(room(60, rng), TRUTH, 0.3, rng)
    # Half of the points were triangulated from the side, with a bad depth.
    side = np.array([-math.sin(TRUTH[2]), math.cos(TRUTH[2]), 0.0])
    vague = np.arange(60) % 2 == 0
    sightings.points_m[vague] += side * rng.normal(0, 0.3, vague.sum())[:, None]
    sightings.spreads_m[vague] = 0.3 * side
    found = best(sightings, CameraMount(1.5))
    assert found.inliers.mean() > 0.9
    assert np.hypot(*(found.pose[:2] - TRUTH[:2])) < 0.03


def test_a_near_pose_is_refined_without_a_search() -> None:
    rng = np.random.default_rng(8)
    sightings = seen(room(80, rng), TRUTH, 0.5, rng)
    found = refine_upright(TRUTH + np.array([0.2, -0.1, 0.05, 0, 0, 0]), sightings, CAMERA, CameraMount(1.5))
    assert found is not None
    assert np.hypot(*(found.pose[:2] - TRUTH[:2])) < 0.03
    assert refine_upright(TRUTH, sightings.take(np.arange(1)), CAMERA, CameraMount(1.5)) is None


def test_too_few_points_give_nothing() -> None:
    rng = np.random.default_rng(7)
    assert search_upright(seen(room(1, rng), TRUTH, 0.0, rng), CAMERA, CameraMount(1.5)) == []


def test_a_known_yaw_finds_the_pose_where_nearly_all_matches_are_wrong() -> None:
    rng = np.random.default_rng(8)
    points = room(150, rng)
    sightings = seen(points, TRUTH, 1.0, rng)
    wrong = np.arange(150) >= 15
    sightings.pixels[wrong] = rng.uniform([0, 256], [640, 512], (135, 2))
    known = Known(TRUTH[2] + 0.003 + np.pi / 2 * np.arange(4, dtype=np.float64), math.radians(0.4))
    found = search_upright(sightings, CAMERA, CameraMount(1.5, height_std_m=0.02, pitch_std_deg=0.3), None, known)[0]
    assert np.hypot(*(found.pose[:2] - TRUTH[:2])) < 0.08
    assert abs(found.pose[2] - TRUTH[2]) < math.radians(0.6)


def test_a_known_place_holds_what_the_points_leave_open() -> None:
    rng = np.random.default_rng(9)
    points = room(40, rng)
    sightings = seen(points, TRUTH, 1.0, rng)
    sightings.spreads_m[:] = 2.0 * (points - [*TRUTH[:2], 1.5])  # hardly more than directions are known
    start = TRUTH + np.array([0.2, 0.15, 0.0, 0.0, 0.0, 0.0])
    prior = CameraMount(1.5, pitch_std_deg=0.3)
    place = Known(np.array([TRUTH[2]]), 0.01, TRUTH[:2], 0.002)
    held, free = (refine_upright(start, sightings, CAMERA, prior, None, known) for known in (place, None))
    assert held is not None and free is not None
    assert np.hypot(*(held.pose[:2] - TRUTH[:2])) < 0.01
    assert held.covariance[0, 0] < 0.5 * free.covariance[0, 0]
