"""The camera from pairs of frames, against cameras that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gst_ros.mapping.calibration import EstimateConfig, estimate_camera, estimate_from_pairs
from gst_ros.mapping.camera import Array, CameraMount, MapError, PinholeCamera
from gst_ros.mapping.pairs import FramePair
from gst_ros.mapping.planar import transform
from gst_ros.mapping.planar_epipolar import Lens, Matches, residuals, scan, triangulated_heights
from gst_ros.mapping.planar_fit import Prior, fit_planar
from gst_ros.media.frames import Frame

SIZE = (640, 512)


def room(random: np.random.Generator, count: int = 1500) -> Array:
    """Points on floor, walls and furniture of a room of 6 by 5 metres, in ``map``."""
    points = random.uniform([-3, -2.5, 0], [3, 2.5, 2.4], (count, 3))
    wall = random.integers(0, 6, count)
    points[wall == 0, 0], points[wall == 1, 0] = 3.0, -3.0
    points[wall == 2, 1], points[wall == 3, 1] = 2.5, -2.5
    points[wall == 4, 2] = 0.0
    return points


def seen(points: Array, pose: Array, mount: CameraMount, camera: PinholeCamera) -> tuple[Array, Array]:
    """Pixels of points from a pose in the plane, and which of them are in the picture."""
    flat = np.column_stack([points[:, :2] - pose[:2], points[:, 2]])
    cos, sin = math.cos(pose[2]), math.sin(pose[2])
    in_base = flat @ np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    in_camera = mount.points_in_camera(in_base)
    pixels = camera.pixels(in_camera)
    inside = (pixels >= 0).all(axis=1) & (pixels < [camera.width, camera.height]).all(axis=1)
    return pixels, inside & (in_camera[:, 2] > 0.3)


def walk_pairs(
    mounts: list[CameraMount], camera: PinholeCamera, *, noise_px: float = 0.3, wrong: float = 0.05, seed: int = 1
) -> list[FramePair]:
    """A walk of one pair of frames per two mounts, with noise and some wrong matches."""
    random = np.random.default_rng(seed)
    points, pose, pairs = room(random), np.array([0.0, 0.0, 0.3]), []
    for number in range(0, len(mounts), 2):
        turn = random.choice([-1, 1]) * random.uniform(0.05, 0.25)
        step = np.array([random.uniform(0.05, 0.25), random.uniform(-0.03, 0.03)])
        ahead = transform(pose, step[None])[0]
        if np.abs(ahead).max() > 1.5:
            pose = np.array([0.0, 0.0, random.uniform(-3, 3)])
            ahead = transform(pose, step[None])[0]
        after = np.array([*ahead, pose[2] + turn])
        first, in_first = seen(points, pose, mounts[number], camera)
        second, in_second = seen(points, after, mounts[number + 1], camera)
        both = np.flatnonzero(in_first & in_second)[:150]
        first = first[both] + random.normal(0, noise_px, (len(both), 2))
        second = second[both] + random.normal(0, noise_px, (len(both), 2))
        bad = random.random(len(both)) < wrong
        second[bad] += random.normal(0, 20, (bad.sum(), 2))
        pairs.append(FramePair(number * 10**8, (number + 1) * 10**8, first, second))
        pose = after
    return pairs


@pytest.mark.parametrize(
    ("f_px", "pitch_deg", "roll_deg"), [(335.3, 35.0, 0.0), (460.0, -4.0, 1.5), (600.0, 12.0, 0.0)]
)
def test_camera_is_found(f_px: float, pitch_deg: float, roll_deg: float) -> None:
    mount, camera = CameraMount(1.2, pitch_deg, roll_deg), PinholeCamera.centred(*SIZE, f_px)
    found = estimate_from_pairs(walk_pairs([mount] * 60, camera), SIZE)
    assert found.camera.fx == pytest.approx(f_px, rel=0.01)
    assert found.mount.pitch_deg == pytest.approx(pitch_deg, abs=0.3)
    assert found.mount.roll_deg == pytest.approx(roll_deg, abs=0.3)
    assert 0 < found.f_std_px < 0.02 * f_px
    assert found.constant, found.notes
    assert found.mount.height_m == 1.5 and found.mount.height_std_m > 0


def test_known_values_are_kept() -> None:
    camera = PinholeCamera(640, 512, 400.0, 380.0, 310.0, 262.0)
    mount = CameraMount(0.9, 20.0)
    found = estimate_from_pairs(walk_pairs([mount] * 40, camera), SIZE, camera, mount)
    assert found.camera == camera and found.mount == mount and found.f_std_px == 0
    assert found.constant, found.notes
    free = estimate_from_pairs(walk_pairs([mount] * 40, camera), SIZE, camera)
    assert free.camera == camera and free.mount.pitch_deg == pytest.approx(20.0, abs=0.3)


def test_a_swaying_camera_is_not_constant() -> None:
    random = np.random.default_rng(3)
    camera = PinholeCamera.centred(*SIZE, 335.3)
    mounts = [CameraMount(1.5, 35 + random.normal(0, 1.5), random.normal(0, 1.0)) for _ in range(60)]
    found = estimate_from_pairs(walk_pairs(mounts, camera), SIZE, camera)
    assert not found.constant
    assert found.constancy.pitch_deg == pytest.approx(1.5, rel=0.5)
    assert "not constant" in " ".join(found.notes)


def test_a_bobbing_camera_is_not_constant() -> None:
    random = np.random.default_rng(4)
    camera = PinholeCamera.centred(*SIZE, 335.3)
    mounts = [CameraMount(1.5 + random.normal(0, 0.04), 35) for _ in range(60)]
    found = estimate_from_pairs(walk_pairs(mounts, camera), SIZE, camera)
    assert not found.constant
    assert 0.02 < found.constancy.height_m < 0.08


def test_a_pitch_that_changes_slowly_is_not_constant() -> None:
    camera = PinholeCamera.centred(*SIZE, 335.3)
    mounts = [CameraMount(1.5, 30 + 10 * (number // 2) / 40) for number in range(80)]
    found = estimate_from_pairs(walk_pairs(mounts, camera), SIZE, camera)
    assert not found.constant and found.constancy.pitch_deg > 1.5


def test_sampson_distance_is_the_first_order_distance() -> None:
    """Moving both points by the residual along the gradient (here: found numerically) must meet the constraint."""
    camera, mount = PinholeCamera.centred(*SIZE, 400.0), CameraMount(1.0, 25.0, 2.0)
    pair = walk_pairs([mount] * 2, camera, noise_px=0, wrong=0)[0]
    matches = Matches.of([pair], (camera.cx, camera.cy))
    lens = Lens(400.0, math.radians(25), math.radians(2))
    fit = fit_planar(matches, lens, scan(matches, lens), Prior(tuple(lens.vector), (0.0, 0.0, 0.0)))
    assert np.abs(residuals(matches, lens, fit.motion)).max() < 1e-3
    step = 0.01
    for column in (0, 1):
        moved = matches.first.copy()
        moved[:, column] += step
        change = residuals(Matches(moved, matches.second, matches.pair, 1), lens, fit.motion)
        assert (np.abs(change) <= step * 1.01).all()  # no farther from its line than it was moved
    moved = matches.first + np.random.default_rng(0).normal(0, 0.2, matches.first.shape)
    off = residuals(Matches(moved, matches.second, matches.pair, 1), lens, fit.motion)
    # Of noise in one picture, Sampson's distance sees the share across the line of both pictures together.
    assert 0.05 < np.std(off) < 0.2


def test_triangulated_heights() -> None:
    camera, mount = PinholeCamera.centred(*SIZE, 335.3), CameraMount(1.5, 35.0)
    random = np.random.default_rng(0)
    points = room(random)
    start, end = np.array([0.0, 0.0, 0.0]), np.array([0.3, 0.1, 0.2])
    first, a = seen(points, start, mount, camera)
    second, b = seen(points, end, mount, camera)
    both = a & b
    matches = Matches.of([FramePair(0, 1, first[both], second[both])], (camera.cx, camera.cy))
    for turned in (0.0, math.pi):  # the direction of travel has no sign
        motion = np.array([[0.2, math.atan2(0.1, 0.3) + turned, 0, 0, 0]])
        heights = triangulated_heights(matches, Lens(335.3, math.radians(35), 0.0), motion)
        known = np.isfinite(heights)
        assert known.mean() > 0.5
        assert heights[known] * math.hypot(0.3, 0.1) == pytest.approx(points[both][known, 2] - 1.5, abs=1e-6)


def test_a_still_or_blank_video_cannot_calibrate() -> None:
    image = np.random.default_rng(0).integers(0, 255, (240, 320, 3)).astype(np.uint8)
    for picture in (image, np.zeros_like(image)):
        frames = [Frame(picture, k * 10**8) for k in range(12)]
        with pytest.raises(MapError, match="pairs of frames"):
            estimate_camera(frames, config=EstimateConfig())
