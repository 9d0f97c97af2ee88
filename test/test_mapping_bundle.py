"""Geometry of tracking and optimisation against known values, finite differences and made-up scenes."""

from __future__ import annotations

import numpy as np
import pytest

from gst_ros.mapping.bundle import Bundle, adjust, linearise
from gst_ros.mapping.camera import CameraMount, PinholeCamera
from gst_ros.mapping.motion import Landmarks, Rig, estimate, refine, residuals, two_point_poses
from gst_ros.mapping.planar import Array, between, compose, trajectory_rmse_m, transform, wrap
from gst_ros.mapping.posegraph import WRONG, Ties, optimise

RIG = Rig(PinholeCamera.centred(640, 512, 335.0), CameraMount(1.5, 35.0))
TILTED = Rig(PinholeCamera.centred(640, 512, 335.0), CameraMount(1.4, 30.0, 3.0))


def room(random: np.random.Generator, n: int) -> Array:
    """N x 3 points ahead of the origin: half of them on the floor."""
    points = np.column_stack([random.uniform(1.2, 4.0, n), random.uniform(-1.5, 1.5, n), random.uniform(0.1, 2.0, n)])
    points[: n // 2, 2] = 0.0
    return points


def seen(rig: Rig, points: Array, pose: Array) -> Array:
    """N x 2 pixels by another way than the code under test: matrices."""
    cos, sin = np.cos(pose[2]), np.sin(pose[2])
    base = (points - [pose[0], pose[1], 0.0]) @ np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    return rig.camera.pixels(rig.mount.points_in_camera(base))


def landmarks(rig: Rig, points: Array, std: float = 0.005) -> Landmarks:
    """The points as seen from the origin, with true depths."""
    rays = rig.rays(seen(rig, points, np.zeros(3)))
    inverse_depths = rays[:, 0] / points[:, 0]
    return Landmarks.seen_from(np.zeros(3), rays, inverse_depths, std * inverse_depths)


def test_a_floor_point_straight_ahead_is_where_trigonometry_puts_it() -> None:
    # 35 degrees down from 1.5 m, the optical axis meets the floor 1.5 / tan(35 deg) = 2.1422 m ahead.
    rays = RIG.rays(np.array([[319.5, 255.5]]))
    axis = Landmarks.seen_from(np.zeros(3), rays, np.array([1.0]), np.array([0.1]))
    depth = 1.0 / axis.on_floor(1.5)
    assert depth[0] == pytest.approx(1.5 / np.sin(np.radians(35.0)))
    placed = Landmarks(axis.origins, axis.directions, 1.0 / depth, axis.stds).points(1.5)
    assert placed[0] == pytest.approx([1.5 / np.tan(np.radians(35.0)), 0.0, 0.0], abs=1e-9)


@pytest.mark.parametrize("rig", [RIG, TILTED])
def test_residuals_vanish_at_the_true_pose_and_their_derivatives_match_finite_differences(rig: Rig) -> None:
    points = room(np.random.default_rng(1), 30)
    known, pose = landmarks(rig, points), np.array([0.1, -0.05, 0.08])
    pixels = seen(rig, points, pose)
    found = residuals(rig, known, pixels, pose, 1.0, with_jacobians=True)
    assert np.abs([found.u, found.v]).max() < 1e-6
    assert found.by_pose is not None
    for axis in range(3):
        step = np.zeros(3)
        step[axis] = 1e-6
        ahead, behind = (residuals(rig, known, pixels, pose + s * step, 1.0) for s in (1, -1))
        for row, name in enumerate(("u", "v")):
            slope = -(getattr(ahead, name) - getattr(behind, name)) / 2e-6
            assert found.by_pose[row][axis] == pytest.approx(slope, abs=1e-3)
    for row, name in enumerate(("u", "v")):
        nearer = Landmarks(known.origins, known.directions, known.inverse_depths + 1e-6, known.stds)
        slope = -(getattr(residuals(rig, nearer, pixels, pose, 1.0), name) - getattr(found, name)) / 1e-6
        assert found.by_depth[row] == pytest.approx(slope, abs=1e-2)


def test_an_unknown_depth_forgives_along_the_epipolar_line_only() -> None:
    known = landmarks(RIG, np.array([[3.0, 0.5, 1.0]]))
    vague = Landmarks(known.origins, known.directions, known.inverse_depths, np.array([10.0]))
    pose = np.array([0.3, 0.0, 0.0])
    found = residuals(RIG, vague, seen(RIG, np.array([[3.0, 0.5, 1.0]]), pose), pose, 1.0)
    along = np.array([found.by_depth[0][0], found.by_depth[1][0]])
    along /= np.linalg.norm(along)
    pixel = seen(RIG, np.array([[3.0, 0.5, 1.0]]), pose)
    moved = residuals(RIG, vague, pixel + 5.0 * along, pose, 1.0).squared[0]
    across = residuals(RIG, vague, pixel + 5.0 * np.array([-along[1], along[0]]), pose, 1.0).squared[0]
    assert moved < 0.1
    assert across == pytest.approx(25.0, abs=0.5)


def test_two_points_give_the_pose_in_closed_form() -> None:
    random = np.random.default_rng(2)
    pose = np.array([0.4, -1.2, 2.5])
    base = random.normal(size=(5, 2, 2))
    there = np.stack([transform(pose, pair) for pair in base])
    assert two_point_poses(there, base) == pytest.approx(np.tile(pose, (5, 1)))


def test_the_motion_is_found_among_many_wrong_tracks() -> None:
    random = np.random.default_rng(3)
    points = room(random, 200)
    pose = np.array([0.25, 0.06, -0.12])
    pixels = seen(RIG, points, pose) + random.normal(0.0, 0.4, (200, 2))
    wrong = random.random(200) < 0.4
    pixels[wrong] = random.uniform([0, 0], [640, 512], (int(wrong.sum()), 2))
    motion = estimate(RIG, landmarks(RIG, points), pixels, np.ones(200, dtype=bool), random, pixel_std=0.5)
    assert motion is not None
    assert np.hypot(*(motion.pose - pose)[:2]) < 0.01
    assert abs(motion.pose[2] - pose[2]) < np.radians(0.2)
    assert motion.n_inliers > 0.85 * (~wrong).sum()
    assert (motion.inliers & wrong).sum() < 8


def test_the_covariance_of_a_motion_is_that_of_its_errors() -> None:
    random = np.random.default_rng(4)
    points, pose = room(random, 60), np.array([0.2, 0.0, 0.05])
    known = landmarks(RIG, points, std=1e-6)
    clean = seen(RIG, points, pose)
    errors, covariances = [], []
    for _ in range(150):
        motion = refine(RIG, known, clean + random.normal(0.0, 1.0, clean.shape), pose)
        errors.append(motion.pose - pose)
        covariances.append(motion.covariance)
    ratio = np.var(errors, axis=0) / np.diag(np.mean(covariances, axis=0))
    assert ((ratio > 0.4) & (ratio < 1.6)).all()


def made_up_bundle(random: np.random.Generator, rig: Rig) -> tuple[Bundle, Array]:
    """Six poses that see 80 points, and the true poses."""
    points = room(random, 80)
    true = np.column_stack([np.linspace(0, 0.8, 6), random.normal(0, 0.1, 6), random.normal(0, 0.1, 6)])
    true[0] = 0.0
    pixels = np.concatenate([seen(rig, points, pose) for pose in true]) + random.normal(0, 0.3, (480, 2))
    bundle = Bundle(
        poses=true + np.vstack([np.zeros(3), random.normal(0, 0.03, (5, 3))]),
        points=points + random.normal(0, 0.1, points.shape),
        pose_of=np.repeat(np.arange(6), 80),
        point_of=np.tile(np.arange(80), 6),
        pixels=pixels,
        on_floor=points[:, 2] == 0.0,
        fixed=np.arange(6) == 0,
    )
    return bundle, true


def test_jacobians_of_bundle_adjustment_match_finite_differences() -> None:
    bundle, _ = made_up_bundle(np.random.default_rng(5), TILTED)
    found = linearise(TILTED, bundle)
    for axis in range(3):
        for name, jacobian in (("poses", found.by_pose), ("points", found.by_point)):
            values = getattr(bundle, name)
            sides = []
            for sign in (1, -1):
                moved = values.copy()
                moved[:, axis] += sign * 1e-6
                setattr(bundle, name, moved)
                sides.append(linearise(TILTED, bundle).errors)
            setattr(bundle, name, values)
            slope = -(sides[0] - sides[1]) / 2e-6
            assert jacobian[:, :, axis] == pytest.approx(slope, abs=1e-3)


def test_bundle_adjustment_finds_poses_and_the_scale_by_the_floor() -> None:
    bundle, true = made_up_bundle(np.random.default_rng(6), RIG)
    before = trajectory_rmse_m(bundle.poses, true)
    adjust(RIG, bundle, 20)
    after = trajectory_rmse_m(bundle.poses, true)
    assert before > 0.02
    assert after < 0.004
    assert np.linalg.norm(bundle.poses[-1, :2]) == pytest.approx(np.linalg.norm(true[-1, :2]), rel=0.01)


def test_bundle_adjustment_is_not_led_astray_by_wrong_matches() -> None:
    random = np.random.default_rng(7)
    bundle, true = made_up_bundle(random, RIG)
    wrong = random.random(480) < 0.1
    bundle.pixels[wrong] += random.uniform(-80, 80, (int(wrong.sum()), 2))
    adjust(RIG, bundle, 20)
    assert trajectory_rmse_m(bundle.poses, true) < 0.006


def square(random: np.random.Generator) -> tuple[Array, Array, list[tuple[int, int, Array, Array, bool]]]:
    """A walk around a square: true poses, drifted ones, and the ties between neighbours."""
    step = np.array([0.5, 0.0, 0.0])
    true = [np.zeros(3)]
    for k in range(31):
        true.append(compose(true[-1], step + np.array([0.0, 0.0, np.pi / 2 if k % 8 == 7 else 0.0])))
    covariance = np.diag([0.02, 0.02, 0.02]) ** 2
    drifted, ties = [np.zeros(3)], []
    for k in range(31):
        motion = between(true[k], true[k + 1]) + random.normal(0, 0.02, 3)
        ties.append((k, k + 1, motion, covariance, False))
        drifted.append(compose(drifted[-1], motion))
    return np.array(true), np.array(drifted), ties


def test_derivatives_of_ties_match_finite_differences() -> None:
    true, _, ties = square(np.random.default_rng(8))
    graph = Ties.of(ties)
    _, by_first, by_second = graph.errors(true)
    for axis in range(3):
        moved = true.copy()
        moved[::2, axis] += 1e-6
        slope = -(graph.errors(moved)[0] - graph.errors(true)[0]) / 1e-6
        first_moved = graph.first % 2 == 0
        expected = np.where(first_moved[:, None], by_first[:, :, axis], by_second[:, :, axis])
        assert slope == pytest.approx(expected, abs=1e-4)


def test_a_loop_removes_drift_and_a_wrong_one_does_no_harm() -> None:
    true, drifted, ties = square(np.random.default_rng(9))
    sharp = np.diag([0.01, 0.01, 0.005]) ** 2
    good = [(0, 31, between(true[0], true[31]), sharp, True), (4, 27, between(true[4], true[27]), sharp, True)]
    wrong = [(2, 20, np.array([0.3, 0.0, 0.1]), sharp, True)]
    fixed = np.arange(32) == 0
    closed = optimise(drifted, Ties.of(ties + good), fixed)
    robust = optimise(drifted, Ties.of(ties + good + wrong), fixed)
    gap_before, gap_after = (np.linalg.norm(p[31, :2] - true[31, :2]) for p in (drifted, closed))
    assert gap_before > 0.1
    assert gap_after < 0.02
    assert trajectory_rmse_m(closed, true) < 0.7 * trajectory_rmse_m(drifted, true)
    assert trajectory_rmse_m(robust, closed) < 0.03
    squared = Ties.of(good + wrong).squared(robust)
    assert (squared[:2] < WRONG).all()
    assert squared[2] > WRONG


def test_angles_across_the_half_turn_are_small_errors() -> None:
    poses = np.array([[0.0, 0.0, np.pi - 0.01], [0.0, 0.0, -np.pi + 0.01]])
    tie = Ties.of([(0, 1, np.array([0.0, 0.0, 0.02]), np.eye(3), False)])
    assert np.abs(tie.errors(poses)[0]).max() < 1e-12
    assert float(wrap(np.pi + 0.1)) == pytest.approx(-np.pi + 0.1)
