"""Cuboids from the boxes that frame things in pictures from known places."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gst_ros.mapping.camera import CameraMount, PinholeCamera
from gst_ros.memory.cuboids import fit_cuboid
from gst_ros.memory.silhouettes import BOX, Silhouettes

CAMERA = PinholeCamera.centred(640, 512, 335.3)
MOUNT = CameraMount(1.5, 35.0)
FLOOR_BOX = ((3.0, 1.0), (0.5, 1.1), 0.0, 0.8, 0.0)


def around(centre: tuple[float, float], range_m: float, angles_deg: np.ndarray) -> np.ndarray:
    """Poses on an arc round a place, looking at it."""
    angles = np.radians(angles_deg)
    x, y = centre[0] + range_m * np.cos(angles), centre[1] + range_m * np.sin(angles)
    return np.column_stack([x, y, angles + math.pi])


def frames(box: tuple, poses: np.ndarray) -> np.ndarray:
    """N x 4 frames of a box's dense surface in the images: not the module's own way of framing."""
    (cx, cy), (along, across), low, height, yaw = box
    steps = np.linspace(-0.5, 0.5, 41)
    a, b, c = (g.ravel() for g in np.meshgrid(steps, steps, steps, indexing="ij"))
    skin = (np.abs(np.stack([a, b, c])) > 0.499).any(axis=0)
    a, b, c = a[skin] * along, b[skin] * across, (c[skin] + 0.5) * height + low
    x, y = cx + math.cos(yaw) * a - math.sin(yaw) * b, cy + math.sin(yaw) * a + math.cos(yaw) * b
    result = []
    for px, py, turn in poses:
        dx, dy = x - px, y - py
        base = np.column_stack(
            [math.cos(turn) * dx + math.sin(turn) * dy, -math.sin(turn) * dx + math.cos(turn) * dy, c]
        )
        points = MOUNT.points_in_camera(base)
        points = points[points[:, 2] > 0.05]
        pixels = CAMERA.pixels(points)
        inside = (pixels >= 0).all(axis=1) & (pixels <= [CAMERA.width - 1, CAMERA.height - 1]).all(axis=1)
        result.append([*pixels[inside].min(axis=0), *pixels[inside].max(axis=0)])
    return np.array(result)


def off(found: object, box: tuple) -> float:
    return float(np.hypot(*np.subtract(found.centre_m, box[0])))  # type: ignore[attr-defined]


def test_finds_place_and_size_from_exact_views() -> None:
    poses = around(FLOOR_BOX[0], 2.2, np.arange(150, 260, 10))
    found = fit_cuboid(frames(FLOOR_BOX, poses), poses, CAMERA, MOUNT, 0.0)
    assert found is not None
    assert off(found, FLOOR_BOX) < 0.03
    assert found.size_m == pytest.approx(FLOOR_BOX[1], abs=0.06)
    assert (found.z_low_m, found.z_high_m) == pytest.approx((0.0, 0.8), abs=0.04)
    assert found.on_floor > 0.7
    assert found.residual < 0.5
    assert found.std_m < 0.2


def test_finds_the_yaw_without_a_hint() -> None:
    box = ((3.0, 1.0), (0.4, 1.2), 0.0, 0.8, math.radians(30))
    poses = around(box[0], 2.2, np.arange(120, 300, 12))
    found = fit_cuboid(frames(box, poses), poses, CAMERA, MOUNT)
    assert found is not None
    assert off(found, box) < 0.04
    yaw = found.yaw_rad if found.size_m[0] < found.size_m[1] else found.yaw_rad + math.pi / 2
    assert abs((math.degrees(yaw) - 30 + 90) % 180 - 90) < 5


def test_a_thing_on_a_table_is_not_drawn_to_the_floor() -> None:
    box = ((2.5, -0.5), (0.3, 0.3), 0.75, 0.4, 0.0)
    poses = around(box[0], 2.0, np.arange(140, 250, 8))
    found = fit_cuboid(frames(box, poses), poses, CAMERA, MOUNT, 0.0)
    assert found is not None
    assert off(found, box) < 0.05
    assert found.on_floor < 0.1
    assert found.z_low_m == pytest.approx(0.75, abs=0.06)


def test_views_that_the_border_cuts_off_count_one_sidedly() -> None:
    poses = around(FLOOR_BOX[0], 1.8, np.arange(150, 260, 8))
    poses[:, 2] += np.where(np.arange(len(poses)) % 2, 0.62, -0.62)
    boxes = frames(FLOOR_BOX, poses)
    cut = (boxes[:, :2] < 2).any(axis=1) | (boxes[:, 2] > 637) | (boxes[:, 3] > 509)
    assert cut.all()
    found = fit_cuboid(boxes, poses, CAMERA, MOUNT, 0.0)
    assert found is not None
    assert off(found, FLOOR_BOX) < 0.1


def test_hidden_parts_do_not_move_it() -> None:
    poses = around(FLOOR_BOX[0], 2.4, np.arange(140, 270, 6))
    boxes = frames(FLOOR_BOX, poses)
    hidden = np.arange(len(boxes)) % 3 == 0
    boxes[hidden, 3] -= 0.5 * (boxes[hidden, 3] - boxes[hidden, 1])
    boxes[hidden, 0] += 0.4 * (boxes[hidden, 2] - boxes[hidden, 0])
    found = fit_cuboid(boxes, poses, CAMERA, MOUNT, 0.0)
    assert found is not None
    assert off(found, FLOOR_BOX) < 0.06


def test_noise_of_poses_is_borne_and_told() -> None:
    random = np.random.default_rng(5)
    errors, told = [], []
    for _ in range(6):
        poses = around(FLOOR_BOX[0], 2.2, np.arange(150, 260, 6))
        noise = random.normal(0, 1, poses.shape) * [0.03, 0.03, math.radians(0.5)]
        found = fit_cuboid(frames(FLOOR_BOX, poses), poses + noise, CAMERA, MOUNT, 0.0)
        assert found is not None
        errors.append(off(found, FLOOR_BOX))
        told.append(found.std_m)
    assert np.median(errors) < 0.08
    assert np.max(errors) < 4 * np.median(told)


def test_one_view_leaves_the_distance_uncertain() -> None:
    box = ((4.0, 0.0), (0.4, 0.4), 0.6, 0.5, 0.0)
    poses = np.array([[0.0, 0.0, 0.0], [0.02, 0.0, 0.0]])
    few = fit_cuboid(frames(box, poses), poses, CAMERA, MOUNT, 0.0)
    many_poses = around(box[0], 2.5, np.arange(120, 240, 8))
    many = fit_cuboid(frames(box, many_poses), many_poses, CAMERA, MOUNT, 0.0)
    assert few is not None
    assert many is not None
    assert few.std_m > 0.3
    assert few.std_m > 3 * many.std_m
    bearing = math.atan2(few.centre_m[1], few.centre_m[0])
    assert abs(bearing) < math.radians(2)


def test_silhouettes_are_framed_as_a_dense_surface_is() -> None:
    poses = around(FLOOR_BOX[0], 1.5, np.arange(0, 360, 15))
    poses[:, 2] += 0.5
    boxes = frames(FLOOR_BOX, poses)
    excess = Silhouettes(boxes, poses, CAMERA, MOUNT, 2.5).excess_px(
        np.array(FLOOR_BOX[0]), np.array(FLOOR_BOX[1]), 0.0, 0.8, 0.0, BOX
    )
    # The dense surface has gaps of 2 cm, which near the camera are several pixels.
    assert np.abs(excess).max() < 8
    assert np.median(np.abs(excess)) < 1


def test_views_that_tell_nothing_give_nothing() -> None:
    assert fit_cuboid(np.zeros((0, 4)), np.zeros((0, 3)), CAMERA, MOUNT) is None
    whole = np.array([[0.0, 0.0, 639.0, 511.0]] * 3)
    assert fit_cuboid(whole, np.zeros((3, 3)), CAMERA, MOUNT) is None
    broken = np.array([[100.0, 100.0, math.nan, 200.0]])
    assert fit_cuboid(broken, np.zeros((1, 3)), CAMERA, MOUNT) is None


def test_boxes_need_their_poses() -> None:
    with pytest.raises(ValueError, match="2 boxes, but 1 poses"):
        fit_cuboid(np.zeros((2, 4)), np.zeros((1, 3)), CAMERA, MOUNT)
