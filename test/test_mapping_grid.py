"""The grid, the plane sweep that fills it, and the directions of walls, on a room that is drawn here."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.mapping.fusion import build_grid, spread_out
from gst_ros.mapping.grid import FREE, OCCUPIED, UNKNOWN, OccupancyGrid, reached
from gst_ros.mapping.manhattan import border_points, directions_of_grid, directions_of_points
from gst_ros.mapping.planar import transform
from gst_ros.mapping.sweep import PlaneSweep, View, semi_global
from gst_ros.mapping.visibility import Horizon

CAMERA = PinholeCamera.centred(320, 256, 167.65)
MOUNT = CameraMount(height_m=1.5, pitch_deg=35.0)
TABLE = (1.6, 2.3, -0.6, 0.3, 0.7)
"""A box that stands in the room: x from, x to, y from, y to, height."""
WALL_X = 3.5


def texture(u: np.ndarray, v: np.ndarray, seed: int) -> np.ndarray:
    """A smooth pattern without repetition, N x 3 bytes."""
    rng = np.random.default_rng(seed)
    waves = rng.normal(size=(24, 2)) * 14
    phases = rng.uniform(0, 2 * math.pi, (24, 3))
    angle = u[:, None] * waves[:, 0] + v[:, None] * waves[:, 1]
    colours = np.stack([np.sin(angle + phases[:, c]).sum(axis=1) for c in range(3)], axis=1)
    return np.clip(128 + 14 * colours, 0, 255).astype(np.uint8)


def photograph(pose: np.ndarray) -> np.ndarray:
    """What the camera sees of a floor, a wall across the way and a box."""
    columns, rows = np.meshgrid(np.arange(CAMERA.width), np.arange(CAMERA.height))
    pixels = np.stack([columns.ravel(), rows.ravel()], axis=1).astype(float)
    rays = CAMERA.rays(pixels) @ MOUNT.rotation_base_from_camera.T
    rays[:, :2] = transform(np.array([0.0, 0.0, pose[2]]), rays[:, :2])
    start = np.array([pose[0], pose[1], MOUNT.height_m])
    nearest = np.full(len(rays), np.inf)
    image = np.zeros((len(rays), 3), np.uint8)
    x0, x1, y0, y1, top = TABLE
    surfaces = [
        (2, 0.0, None, 1),
        (0, WALL_X, None, 2),
        (2, top, ((0, x0, x1), (1, y0, y1)), 3),
        (0, x0, ((1, y0, y1), (2, 0, top)), 4),
        (1, y0, ((0, x0, x1), (2, 0, top)), 5),
        (1, y1, ((0, x0, x1), (2, 0, top)), 6),
    ]
    for axis, at, bounds, seed in surfaces:
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = (at - start[axis]) / rays[:, axis]
        points = start + rays * np.where(np.isfinite(distance), distance, 0)[:, None]
        hit = np.isfinite(distance) & (distance > 0.01) & (distance < nearest)
        for other, low, high in bounds or ():
            hit &= (points[:, other] >= low) & (points[:, other] <= high)
        u, v = (points[hit, other] for other in range(3) if other != axis)
        image[hit], nearest[hit] = texture(u, v, seed), distance[hit]
    return image.reshape(CAMERA.height, CAMERA.width, 3)


@pytest.fixture(scope="module")
def room() -> OccupancyGrid:
    poses = [np.array([0.12 * k, 1.0 - 0.02 * k, -0.02 * k]) for k in range(8)]
    poses += [np.array([0.1 * k, -0.9, 0.1]) for k in range(6)]
    return build_grid([View(pose, photograph(pose)) for pose in poses], CAMERA, MOUNT)


def test_the_floor_of_a_room_is_free_and_a_box_is_not(room: OccupancyGrid) -> None:
    ahead = np.array([(1.2, 0.6), (2.0, 0.8), (1.4, -1.1), (2.8, 0.9)])
    assert (room.values_at(ahead) == FREE).all()
    x0, x1, y0, y1, _ = TABLE
    inside = np.array(
        [(x, y) for x in np.arange(x0 + 0.1, x1 - 0.05, 0.1) for y in np.arange(y0 + 0.1, y1 - 0.05, 0.1)]
    )
    values = room.values_at(inside)
    assert (values == OCCUPIED).mean() > 0.8
    assert not (values == FREE).any()


def test_a_wall_stands_where_it_is(room: OccupancyGrid) -> None:
    for y in (0.5, 0.8, 1.1):
        along = np.array([(x, y) for x in np.arange(2.4, 4.2, 0.05)])
        values = room.values_at(along)
        last_free = along[np.flatnonzero(values == FREE).max(), 0]
        assert abs(last_free - WALL_X) < 0.15
        assert not (values[along[:, 0] > WALL_X + 0.15] == FREE).any()


def test_what_nobody_saw_is_unknown(room: OccupancyGrid) -> None:
    assert (room.values_at(np.array([(-2.0, 0.0), (50.0, 50.0)])) == UNKNOWN).all()


def test_heights_of_a_picture() -> None:
    sweep = PlaneSweep(CAMERA, MOUNT)
    poses = np.array([(0.0, 0.0, 0.0), (0.3, 0.02, 0.03), (0.55, -0.03, 0.0), (-0.3, 0.05, -0.05)])
    images = [photograph(pose) for pose in poses]
    prepared = [sweep.prepared(image) for image in images]
    costs = sweep.costs(prepared[0], poses[0], [(prepared[k], poses[k]) for k in (1, 2, 3)])
    seen = sweep.heights([costs], images[:1])[0]
    rows, columns = np.mgrid[0:128, 0:160]
    pixels = np.stack([columns.ravel(), rows.ravel()], axis=1).astype(float)
    floor = MOUNT.floor_points(pixels, seen.camera).reshape(128, 160, 2)
    on_floor = (floor[..., 0] < TABLE[0] - 0.2) & np.isfinite(floor[..., 0])
    assert np.median(np.abs(seen.height[on_floor])) < 0.03
    x0, x1, y0, y1, top = TABLE
    scaled = floor * (1 - top / MOUNT.height_m)
    on_table = (scaled[..., 0] > x0 + 0.1) & (scaled[..., 0] < x1 - 0.1)
    on_table &= (scaled[..., 1] > y0 + 0.1) & (scaled[..., 1] < y1 - 0.1)
    assert abs(np.median(seen.height[on_table]) - top) < 0.05
    assert seen.certainty[on_floor].mean() > 0.5


def test_neighbours_have_a_baseline_and_look_the_same_way() -> None:
    sweep = PlaneSweep(CAMERA, MOUNT)
    steps = np.array([(0.1 * k, 0.0, 0.0) for k in range(12)] + [(0.4, 0.0, math.pi)])
    chosen = sweep.neighbours(steps, 4)
    assert 12 not in chosen
    assert 4 not in chosen
    assert len(set(chosen)) == sweep.config.neighbours
    assert all(abs(steps[k, 0] - 0.4) > 0.15 for k in chosen)
    assert {bool(steps[k, 0] > 0.4) for k in chosen} == {True, False}


def test_semi_global_matching_fills_what_has_no_structure() -> None:
    costs = np.full((1, 5, 9, 9), 20, np.int16)
    costs[0, 3, 0], costs[0, 3, -1] = 0, 0  # the upper and lower rows are surely label 3
    jumps = np.full((1, 9, 9), 10, np.int16)
    assert (np.argmin(semi_global(costs, 2, (jumps, jumps))[0], axis=0) == 3).all()


def test_two_views_are_the_least() -> None:
    with pytest.raises(MapError, match="two views"):
        build_grid([View(np.zeros(3), np.zeros((256, 320, 3), np.uint8))], CAMERA, MOUNT)


def test_cells_and_points_are_each_others_inverse() -> None:
    cells = np.full((20, 30), UNKNOWN, np.int8)
    cells[2:6, 3:8] = FREE
    cells[6, 3:8] = OCCUPIED
    grid = OccupancyGrid(cells, 0.1, (-1.0, 2.0))
    where = np.array([(0, 0), (3, 7), (19, 29)])
    assert (grid.cell_of(grid.point_of(where)) == where).all()
    assert grid.point_of(np.array([0, 0])) == pytest.approx([-0.95, 2.05])
    assert list(grid.values_at(np.array([(-0.65, 2.25), (-0.65, 2.65), (9.0, 9.0)]))) == [FREE, OCCUPIED, UNKNOWN]
    picture = grid.image()
    assert picture[-1 - 3, 4] == 255  # north is up
    assert picture[-1 - 6, 4] == 0
    part = grid.cropped(0.1)
    assert part.cells.shape == (7, 7)
    assert part.values_at(np.array([(-0.65, 2.25)]))[0] == FREE
    assert (grid.evidence[cells == FREE] == 1).all()


def test_free_cells_must_hang_together_with_a_seed() -> None:
    free = np.zeros((9, 9), bool)
    free[1:4, 1:4] = free[6:8, 6:8] = True
    seeds = np.zeros((9, 9), bool)
    seeds[2, 2] = True
    kept = reached(free, seeds)
    assert kept[1:4, 1:4].all()
    assert not kept[6:8, 6:8].any()


@pytest.mark.parametrize("turn_deg", [-40.0, -13.0, 0.0, 8.5, 31.0])
def test_directions_of_walls(turn_deg: float) -> None:
    cells = np.full((300, 300), OCCUPIED, np.int8)
    rows, columns = np.mgrid[0:300, 0:300]
    points = (np.stack([columns, rows], axis=-1).reshape(-1, 2) - 150) * 0.05
    turned = transform(np.array([0, 0, -math.radians(turn_deg)]), points)
    inside = (np.abs(turned[:, 0]) < 5) & (np.abs(turned[:, 1]) < 2.5) & ~(np.abs(turned[:, 0] - 1) < 0.06)
    cells[inside.reshape(300, 300)] = FREE
    found = directions_of_grid(OccupancyGrid(cells, 0.05, (-7.5, -7.5)))
    off = (math.degrees(found.yaw_rad) - turn_deg + 45) % 90 - 45
    assert abs(off) < 0.5
    assert found.strength > 0.3


def test_a_round_room_has_no_directions() -> None:
    angle = np.linspace(0, 2 * math.pi, 400, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 4
    assert directions_of_points(ring, 0.05).strength < 0.15
    assert directions_of_points(ring[:3], 0.05).strength == 0


def test_specks_are_no_border() -> None:
    free = np.zeros((40, 40), bool)
    free[5:35, 5:35] = True
    free[20, 20] = False
    points = border_points(free)
    assert len(points) == 4 * 29
    assert not ((np.abs(points - 20) < 2).all(axis=1)).any()


def test_what_stands_up_hides_the_floor_behind_it() -> None:
    height = np.linspace(0.2, 1.0, 40)
    side = np.linspace(-0.3, 0.3, 40)
    y, _ = (each.ravel() for each in np.meshgrid(side, height))
    wall = np.column_stack([np.full(len(y), 2.0), y])
    horizon = Horizon(wall, np.ones(len(wall), np.float32), 60.0, 5.0, 0.05, 0.5)
    x, y = np.array([1.5, 2.5, 2.5, 1.5]), np.array([0.0, 0.0, 1.5, 1.5])
    assert horizon.clear(x, y, 0.03).tolist() == [True, False, True, True]
    specks = Horizon(wall[:3], np.ones(3, np.float32), 60.0, 5.0, 0.05, 0.5)
    assert specks.clear(x, y, 0.03).all()


def test_views_from_nearly_the_same_place_are_swept_once() -> None:
    poses = np.array([(0.0, 0.0, 0.0), (0.05, 0.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.02, 0.0, 2 * math.pi)])
    assert spread_out(poses, 0.4, 0.4) == [0, 2, 3]
