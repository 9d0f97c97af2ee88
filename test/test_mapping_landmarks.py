"""Depths of features by triangulation, tilted pictures, and retrieval, on synthetic views."""

from __future__ import annotations

import numpy as np
import pytest

from gst_ros.mapping.camera import CameraMount, PinholeCamera
from gst_ros.mapping.features import Features
from gst_ros.mapping.landmarks import LandmarkConfig, View, neighbours_of, points_of, triangulate
from gst_ros.mapping.retrieval import Retrieval
from gst_ros.mapping.tilted import tilt_to

CAMERA = PinholeCamera.centred(640, 512, 335.3)
MOUNT = CameraMount(1.5, 20.0)


def view_of(points: np.ndarray, looks: np.ndarray, pose: np.ndarray, noise_px: float, seed: int) -> View:
    """What a camera at a pose sees of points that look like ``looks``, in a shuffled order."""
    rng = np.random.default_rng(seed)
    empty = View(Features(np.zeros((0, 2)), np.zeros((0, 1)), np.zeros(0), 640, 512), CAMERA, MOUNT, pose)
    there = (points - empty.centre_m) @ empty.rotation_map_from_camera
    pixels = CAMERA.pixels(there)
    shown = (there[:, 2] > 0.3) & (pixels > 0).all(axis=1) & (pixels < [640, 512]).all(axis=1)
    order = rng.permutation(np.flatnonzero(shown))
    keypoints = (pixels[order] + noise_px * rng.standard_normal((len(order), 2))).astype(np.float32)
    features = Features(keypoints, looks[order], np.ones(len(order), np.float32), 640, 512)
    return View(features, CAMERA, MOUNT, pose)


@pytest.fixture(scope="module")
def walk() -> tuple[np.ndarray, np.ndarray, list[View]]:
    """A room full of points, and five views of it on a line."""
    rng = np.random.default_rng(0)
    points = np.stack([rng.uniform(2, 6, 300), rng.uniform(-3, 3, 300), rng.uniform(0, 1.6, 300)], axis=1)
    looks = rng.standard_normal((300, 32)).astype(np.float32)
    looks /= np.linalg.norm(looks, axis=1, keepdims=True)
    poses = [np.array([0.3 * k, 0.25 * (k % 2), 0.05 * k]) for k in range(5)]
    return points, looks, [view_of(points, looks, pose, 0.3, k) for k, pose in enumerate(poses)]


def test_depths_are_right_and_their_deviations_honest(walk: tuple[np.ndarray, np.ndarray, list[View]]) -> None:
    points, looks, views = walk
    found = triangulate(views, LandmarkConfig(pixel_std=0.5))
    for view, depths in zip(views, found, strict=True):
        at, spread = points_of(view, depths)
        known = depths.known
        assert known.mean() > 0.75
        truth = points[(view.features.descriptors @ looks.T).argmax(axis=1)]
        error = np.linalg.norm(at - truth, axis=1)[known]
        assert np.median(error) < 0.05
        assert (error < 4 * np.linalg.norm(spread, axis=1)[known] + 0.02).mean() > 0.97


def test_landmarks_follow_their_view(walk: tuple[np.ndarray, np.ndarray, list[View]]) -> None:
    _, _, views = walk
    depths = triangulate(views)[2]
    before, _ = points_of(views[2], depths)
    moved = View(views[2].features, CAMERA, MOUNT, views[2].pose + np.array([1.0, -2.0, 0.0]))
    after, _ = points_of(moved, depths)
    assert np.allclose((after - before)[depths.known], [1.0, -2.0, 0.0])


def test_a_standing_camera_triangulates_nothing(walk: tuple[np.ndarray, np.ndarray, list[View]]) -> None:
    points, looks, _ = walk
    turning = [view_of(points, looks, np.array([0.0, 0.0, 0.1 * k]), 0.3, k) for k in range(4)]
    assert not any(depths.known.any() for depths in triangulate(turning))
    assert all((depths.inverse_std >= 0.3).all() for depths in triangulate(turning))
    assert triangulate([]) == []


def test_neighbours_look_the_same_way_from_a_little_apart() -> None:
    nothing = Features(np.zeros((0, 2)), np.zeros((0, 1)), np.zeros(0), 640, 512)
    poses = [[0, 0, 0], [0.5, 0, 0.1], [0.02, 0, 0], [0.5, 0.5, 3.0], [9, 0, 0]]
    views = [View(nothing, CAMERA, MOUNT, np.array(pose, float)) for pose in poses]
    assert neighbours_of(views, LandmarkConfig())[0] == [1]


def test_retrieval_prefers_the_keyframe_that_shows_the_same() -> None:
    rng = np.random.default_rng(1)

    def unit(count: int) -> np.ndarray:
        some = rng.standard_normal((count, 64)).astype(np.float32)
        return np.asarray(some / np.linalg.norm(some, axis=1, keepdims=True), np.float32)

    keyframes = [unit(100) for _ in range(9)] + [unit(0)]
    query = keyframes[4] + 0.03 * rng.standard_normal((100, 64)).astype(np.float32)
    index = Retrieval(keyframes)
    assert index.candidates(query, 3)[0] == 4
    assert index.votes(query)[9] == 0
    allowed = np.arange(10) != 4
    assert 4 not in index.candidates(query, 10, allowed)
    assert Retrieval([]).candidates(query, 3) == []


def test_a_tilted_picture_is_what_the_other_pitch_sees() -> None:
    mount = CameraMount(1.5, 35.0, 2.0)
    tilt = tilt_to(CAMERA, mount, 15.0, CAMERA.fx)
    rng = np.random.default_rng(2)
    points = np.stack([rng.uniform(1.5, 4, 50), rng.uniform(-1, 1, 50), rng.uniform(0, 1, 50)], axis=1)
    pixels = CAMERA.pixels(mount.points_in_camera(points))
    turned = np.concatenate([pixels, np.ones((50, 1))], axis=1) @ tilt.homography.T
    expected = tilt.camera.pixels(tilt.mount.points_in_camera(points))
    assert np.allclose(turned[:, :2] / turned[:, 2:], expected)
    assert tilt.mount.pitch_deg == 15.0 and tilt.mount.roll_deg == 0.0
    # The horizon, which lies near the upper edge of the picture, stays inside.
    assert 0 < tilt.camera.cy - tilt.camera.fy * np.tan(np.radians(15.0)) < 40
    inside = tilt.inside(640, 512)
    assert inside.shape == (tilt.camera.height, 640)
    assert 0.5 < (inside == 255).mean() < 1.0


def test_an_unturned_camera_stays_the_same() -> None:
    tilt = tilt_to(CAMERA, CameraMount(1.5, 10.0), 10.0, CAMERA.fx)
    assert np.allclose(tilt.homography, np.eye(3), atol=1e-9)
    assert tilt.camera == CAMERA
