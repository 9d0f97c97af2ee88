"""Tracking and the back end on pictures that the test draws itself: a textured floor with boxes on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from gst_ros.mapping.backend import Backend, BackendConfig
from gst_ros.mapping.camera import CameraMount, PinholeCamera
from gst_ros.mapping.corners import detect, follow
from gst_ros.mapping.features import SiftFeatures
from gst_ros.mapping.loops import LoopVerifier
from gst_ros.mapping.planar import Array, between, compose, trajectory_rmse_m, wrap
from gst_ros.mapping.tracking import Track, Tracker
from gst_ros.media.frames import Frame

CAMERA = PinholeCamera.centred(320, 256, 168.0)
MOUNT = CameraMount(1.2, 35.0)
STEP_NS = 100_000_000
Image = NDArray[np.uint8]


@lru_cache
def surfaces() -> tuple[tuple[Array, Image], ...]:
    """Rectangles in space (corner, two edges) with a picture each: a floor of 12 m and walls of boxes."""
    random = np.random.default_rng(0)

    def picture(width: int, height: int) -> Image:
        coarse = cv2.resize(random.random((height // 8, width // 8)), (width, height), interpolation=cv2.INTER_CUBIC)
        fine = cv2.GaussianBlur(random.random((height, width)), (0, 0), 1.2)
        return np.clip(60 + 120 * coarse + 300 * (fine - 0.5), 0, 255).astype(np.uint8)

    made = [(np.array([[-6.0, -6.0, 0.0], [12.0, 0.0, 0.0], [0.0, 12.0, 0.0]]), picture(1800, 1800))]
    for x, y, turn in ((2.2, 1.2, 0.3), (-2.4, 1.0, 0.5), (-0.4, -2.6, 1.0)):
        along = 0.7 * np.array([np.cos(turn), np.sin(turn), 0.0])
        across = 0.7 * np.array([-np.sin(turn), np.cos(turn), 0.0])
        corner = np.array([x, y, 0.0])
        up = np.array([0.0, 0.0, 0.9])
        for start, edge in ((corner, along), (corner, across), (corner + along, across), (corner + across, along)):
            made.append((np.array([start, edge, up]), picture(240, 320)))
    return tuple(made)


def draw(pose: Array) -> Image:
    """What the camera sees from a pose: each rectangle by its homography, the nearest in front."""
    colour, depth = np.zeros(CAMERA.height * CAMERA.width, np.uint8), np.full(CAMERA.height * CAMERA.width, np.inf)
    pixels = np.stack(np.meshgrid(np.arange(CAMERA.width), np.arange(CAMERA.height)), axis=-1).reshape(-1, 2)
    rays = CAMERA.rays(pixels.astype(np.float64)) @ MOUNT.rotation_base_from_camera.T
    cos, sin = np.cos(pose[2]), np.sin(pose[2])
    rays[:, :2] = rays[:, :2] @ np.array([[cos, sin], [-sin, cos]])
    centre = np.array([pose[0], pose[1], MOUNT.height_m])
    for (corner, first, second), image in surfaces():
        normal = np.cross(first, second)
        with np.errstate(divide="ignore", invalid="ignore"):
            far = ((corner - centre) @ normal) / (rays @ normal)
        rows = np.flatnonzero((far > 0.05) & (far < depth))
        hit = centre - corner + rays[rows] * far[rows, None]
        a, b = hit @ first / (first @ first), hit @ second / (second @ second)
        inside = (a >= 0) & (a < 1) & (b >= 0) & (b < 1)
        if not inside.any():
            continue
        rows, a, b = rows[inside], a[inside].astype(np.float32), b[inside].astype(np.float32)
        x, y = a[:, None] * image.shape[1] - 0.5, b[:, None] * image.shape[0] - 0.5
        colour[rows] = np.concatenate(
            [
                cv2.remap(image, x[k : k + 30000], y[k : k + 30000], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
                for k in range(0, len(rows), 30000)  # remap takes no longer columns
            ]
        )[:, 0]
        depth[rows] = far[rows]
    return np.repeat(colour.reshape(CAMERA.height, CAMERA.width, 1), 3, axis=2)


def walk(n: int = 100) -> Array:
    """A circle of 0.8 m radius, once around and a bit, with the view swinging."""
    angle = np.linspace(0.0, 2.4 * np.pi, n)
    yaw = angle + np.pi / 2 + 0.25 * np.sin(3 * angle)
    return np.stack([0.8 * np.cos(angle), 0.8 * np.sin(angle), wrap(yaw)], axis=1)


@lru_cache
def pictures() -> tuple[Image, ...]:
    return tuple(draw(pose) for pose in walk())


def run(
    images: list[Image], config: BackendConfig | None = None, odometry: Array | None = None
) -> tuple[list[Track], Backend]:
    tracker = Tracker(CAMERA, MOUNT)
    kind = SiftFeatures()
    backend = Backend(tracker.rig, lambda image: kind.extract(image, 500), LoopVerifier(tracker.rig, kind), config)
    tracks = []
    for k, image in enumerate(images):
        track = tracker.track(Frame(image, k * STEP_NS), None if odometry is None else odometry[k])
        backend.add(track)
        tracks.append(track)
    return tracks, backend


def test_corners_are_spread_out_and_keep_away_from_those_there_are() -> None:
    gray = pictures()[0][:, :, 0]
    old = detect(gray, np.empty((0, 2)), 60)
    new = detect(gray, old, 120)
    assert len(old) == 60
    assert 20 < len(new) <= 60
    apart = np.linalg.norm(old[:, None] - new[None], axis=2)
    assert apart.min() >= 8
    assert not len(detect(np.full((256, 320), 90, np.uint8), np.empty((0, 2)), 60))


def test_corners_are_followed_to_a_fraction_of_a_pixel_and_their_loss_is_noticed() -> None:
    gray = pictures()[0][:, :, 0]
    moved = cv2.warpAffine(gray, np.array([[1.0, 0.0, 4.3], [0.0, 1.0, -2.6]]), (320, 256))
    pixels = detect(gray, np.empty((0, 2)), 100)
    found, good = follow(gray, moved, pixels, pixels)
    assert good.mean() > 0.7
    assert np.median(np.abs(found[good] - pixels[good] - [4.3, -2.6])) < 0.1
    _, good = follow(gray, np.full_like(gray, 127), pixels, pixels)
    assert not good.any()


def test_a_walk_is_tracked_and_the_final_pass_makes_it_better() -> None:
    tracks, backend = run(list(pictures()))
    truth = walk()
    assert {track.state for track in tracks} == {"tracking"}
    assert trajectory_rmse_m(np.array([track.pose for track in tracks]), truth) < 0.05
    backend.optimise(final=True)
    final = backend.trajectory()
    assert backend.loops
    assert trajectory_rmse_m(final.poses, truth) < 0.015
    assert np.array_equal(final.stamps_ns, np.arange(100) * STEP_NS)
    turned = wrap(final.poses[:, 2] - truth[:, 2])
    assert np.abs(wrap(turned - turned[0])).max() < np.radians(1.0)
    # The first frame stands at the origin of the map, and length is metric: the camera's height gives the scale.
    assert final.poses[0] == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
    assert np.linalg.norm(final.poses[40, :2]) == pytest.approx(np.linalg.norm(truth[40, :2] - truth[0, :2]), rel=0.01)


def test_the_same_frames_give_the_same_poses() -> None:
    results = []
    for _ in range(2):
        _, backend = run(list(pictures()[:40]))
        backend.optimise(final=True)
        results.append(backend.trajectory().poses)
    assert np.array_equal(results[0], results[1])


def blank_some(images: list[Image]) -> list[Image]:
    random = np.random.default_rng(1)
    return [np.full_like(image, 128) if k and random.random() < 0.2 else image for k, image in enumerate(images)]


def black_out(images: list[Image]) -> list[Image]:
    return [np.zeros_like(image) if 30 <= k < 55 else image for k, image in enumerate(images)]


@pytest.mark.parametrize("spoil", [blank_some, black_out])
def test_what_is_not_seen_is_said_and_found_again(spoil: Callable[[list[Image]], list[Image]]) -> None:
    images = spoil(list(pictures()))
    tracks, backend = run(images)
    spoilt = np.array([not np.array_equal(a, b) for a, b in zip(images, pictures(), strict=True)])
    states = np.array([track.state for track in tracks])
    assert (states[spoilt] != "tracking").all()
    assert (states[~spoilt] == "tracking").mean() > 0.95
    if spoil is black_out:
        assert "lost" in states
        assert tracks[-1].submap == 1
    backend.optimise(final=True)
    final = backend.trajectory()
    # The walk's end sees the walk's beginning again: so both sub-maps are one part.
    assert set(final.parts.tolist()) == {0}
    assert trajectory_rmse_m(final.poses[~spoilt], walk()[~spoilt]) < 0.03


def test_a_camera_carried_away_is_lost_not_wrong() -> None:
    far = [draw(pose + np.array([3.0, 3.5, 0.0])) for pose in walk()[:12]]
    tracks, backend = run([*pictures()[:25], *far])
    assert "lost" in [track.state for track in tracks[25:30]]
    assert tracks[-1].submap == 1
    assert tracks[-1].state == "tracking"
    assert set(backend.trajectory().parts.tolist()) == {0, 1}


def test_uncertainty_grows_where_nothing_is_seen_and_odometry_carries_on() -> None:
    images = [np.zeros_like(image) if 20 <= k < 45 else image for k, image in enumerate(pictures()[:60])]
    truth = walk()[:60]
    wheels = compose(np.array([5.0, 1.0, 0.7]), between(truth[0], truth))
    tracks, _ = run(images, odometry=wheels)
    stds = [np.sqrt(track.covariance[0, 0] + track.covariance[1, 1]) for track in tracks]
    assert stds[44] > stds[30] > stds[20]
    assert tracks[-1].submap == 0
    assert trajectory_rmse_m(np.array([track.pose for track in tracks]), truth) < 0.03
    blind, _ = run(images)
    error = np.linalg.norm((between(blind[0].pose, blind[30].pose) - between(truth[0], truth[30]))[:2])
    assert error < 4.0 * np.sqrt(blind[30].covariance[0, 0] + blind[30].covariance[1, 1])


def test_keyframes_are_bounded_and_thinning_keeps_all_frames() -> None:
    config = BackendConfig(most_keyframes=20)
    _, backend = run(list(pictures()), config)
    assert len(backend.keyframes) <= 20
    backend.optimise(final=True)
    final = backend.trajectory()
    assert len(final.stamps_ns) == 100
    assert trajectory_rmse_m(final.poses, walk()) < 0.05
