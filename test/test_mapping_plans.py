"""A map laid on top-down images, and the choice among images that resemble each other; all drawn here."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest

from gst_ros.mapping.camera import MapError
from gst_ros.mapping.grid import FREE, OCCUPIED, UNKNOWN, OccupancyGrid
from gst_ros.mapping.plan_images import BINARY, COLOURED, read_plan
from gst_ros.mapping.plan_match import PlanRegistration, rank_plans, register_plan

M_PER_PX = 0.031
SHIFT_M = np.array([9.6, -7.9])
FLOORS = ((180, 140, 90), (200, 200, 205), (90, 120, 160))


def plan(seed: int, move: tuple[int, int] = (0, 0)) -> np.ndarray:
    """Three rooms with furniture; ``move`` shifts one piece of it."""
    rng = np.random.default_rng(seed)
    image = np.zeros((512, 640), np.uint8)
    cv2.rectangle(image, (60, 80), (560, 430), 255, -1)
    for x in (200, 380):
        cv2.rectangle(image, (x, 80), (x + 7, 430), 0, -1)
        y = int(rng.integers(100, 380))
        cv2.rectangle(image, (x - 1, y), (x + 9, y + 40), 255, -1)
    for k in range(12):
        x, y = int(rng.integers(70, 500)), int(rng.integers(90, 380))
        width, height = int(rng.integers(12, 50)), int(rng.integers(12, 45))
        if k == 5:
            x, y = x + move[0], y + move[1]
        cv2.rectangle(image, (x, y), (x + width, y + height), 0, -1)
    return image


def coloured(image: np.ndarray) -> np.ndarray:
    """The same place as a render on a white ground: a floor colour per room, dark furniture and grey walls."""
    render = np.full((*image.shape, 3), 255, np.uint8)
    render[74:437, 54:567] = 120
    for (left, right), colour in zip(((60, 200), (208, 380), (388, 561)), FLOORS, strict=True):
        part = np.zeros(image.shape, bool)
        part[80:431, left:right] = True
        render[part & (image > 0)] = colour
        render[part & (image == 0)] = (60, 30, 30)
    return render


def mapped(image: np.ndarray, yaw_deg: float, colours: np.ndarray | None = None) -> OccupancyGrid:
    """The grid that a robot would have of a plan's place, its frame turned, with a part that it did not see."""
    resolution, size = 0.05, 440
    grid = OccupancyGrid(np.full((size, size), UNKNOWN, np.int8), resolution, (-10.3, -10.1))
    points = grid.point_of(np.stack(np.mgrid[0:size, 0:size], axis=-1).reshape(-1, 2))
    pixels = np.round(truth(points, yaw_deg)).astype(int)
    inside = (pixels >= 0).all(axis=1) & (pixels < (640, 512)).all(axis=1)
    columns, rows = np.where(inside[:, None], pixels, 0).T
    free = (image[rows, columns] > 0) & inside & (pixels[:, 0] > 110)
    # Grids that are swept from pictures show free floor that reaches a little into walls.
    cross = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
    free = cv2.dilate(free.reshape(size, size).astype(np.uint8), cross).ravel() > 0
    near = cv2.dilate(free.reshape(size, size).astype(np.uint8), np.ones((7, 7))).ravel() > 0
    cells = np.where(free, FREE, np.where(near & (pixels[:, 0] > 110), OCCUPIED, UNKNOWN)).astype(np.int8)
    colour = np.zeros((size * size, 3), np.uint8) if colours is None else colours[rows, columns] // 2 + 20
    return OccupancyGrid(cells.reshape(size, size), resolution, grid.origin_m, colour=colour.reshape(size, size, 3))


def truth(points: np.ndarray, yaw_deg: float) -> np.ndarray:
    yaw = math.radians(yaw_deg)
    turned = points @ np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]]) + SHIFT_M
    return turned / M_PER_PX * (1, -1) - 0.5


def error_m(found: PlanRegistration, grid: OccupancyGrid, yaw_deg: float) -> float:
    points = grid.point_of(np.argwhere(grid.free)[::50])
    return float(np.hypot(*((found.pixels_of(points) - truth(points, yaw_deg)) * M_PER_PX).T).max())


@pytest.mark.parametrize("yaw_deg", [0.0, 117.0, -151.0])
def test_a_map_is_laid_on_its_plan(yaw_deg: float) -> None:
    image = plan(3)
    grid = mapped(image, yaw_deg)
    found = register_plan(grid, np.repeat(image[:, :, None], 3, axis=2))
    assert error_m(found, grid, yaw_deg) < 0.06
    assert found.m_per_px == pytest.approx(M_PER_PX, rel=0.005)
    assert found.margin > 0.05
    assert found.agreement > 0.9
    assert found.heading_deg(0.0) == pytest.approx((yaw_deg - 90 + 180) % 360 - 180, abs=0.5)
    assert found.rotation_quarter == round(yaw_deg / 90) % 4


def test_paths_on_plans_and_jpeg_noise_do_no_harm() -> None:
    image = np.repeat(plan(3)[:, :, None], 3, axis=2)
    cv2.polylines(image, [np.array([(100, 120), (180, 400), (300, 300)], np.int32)], False, (255, 127, 127), 8)
    cv2.circle(image, (100, 120), 10, (127, 127, 255), -1)
    _, data = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 40])
    decoded = cv2.imdecode(data, cv2.IMREAD_COLOR)[:, :, ::-1]
    assert read_plan(decoded).kind == BINARY
    grid = mapped(plan(3), 40.0)
    assert error_m(register_plan(grid, decoded), grid, 40.0) < 0.08


def test_a_map_is_laid_on_a_render() -> None:
    render = coloured(plan(3))
    assert read_plan(render).kind == COLOURED
    grid = mapped(plan(3), 117.0, render)
    found = register_plan(grid, render)
    assert error_m(found, grid, 117.0) < 0.15
    large = register_plan(grid, np.repeat(np.repeat(render, 2, axis=0), 2, axis=1))
    assert (large.width, large.height) == (1280, 1024)
    assert large.m_per_px == pytest.approx(found.m_per_px / 2, rel=0.01)
    points = grid.point_of(np.argwhere(grid.free)[::500])
    assert large.points_999(points) == pytest.approx(found.points_999(points), abs=3)


def test_the_right_one_of_several_places_wins() -> None:
    grid = mapped(plan(3), 25.0)
    ranking = rank_plans(grid, [plan(9), plan(3), plan(4)])
    assert ranking.best == 1
    assert ranking.margin > 0.05


@pytest.mark.parametrize("kind", ["moved", "mirrored"])
def test_look_alikes_are_told_apart(kind: str) -> None:
    right = plan(3)
    other = plan(3, (45, 20)) if kind == "moved" else np.ascontiguousarray(right[:, ::-1])
    grid = mapped(right, -65.0)
    ranking = rank_plans(grid, [other, right])
    assert ranking.best == 1
    assert ranking.margin > 0.005


def test_points_and_pixels_of_a_registration() -> None:
    found = PlanRegistration(640, 512, 0.02, math.pi / 2, (3.0, -4.0), 1.0, 1.0, 1.0)
    points = np.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)])
    # Turned by a quarter: map's +x points up on the image, its +y to the left.
    assert found.pixels_of(points) == pytest.approx(np.array([(149.5, 199.5), (149.5, 149.5), (99.5, 199.5)]))
    assert found.points_of(found.pixels_of(points)) == pytest.approx(points, abs=1e-9)
    assert found.points_999(points[:1]) == pytest.approx(np.array([(150 * 999 / 640, 200 * 999 / 512)]))
    assert found.heading_deg(0.0) == pytest.approx(0.0, abs=1e-9)
    assert found.heading_deg(math.pi / 2) == pytest.approx(90.0)
    assert found.rotation_quarter == 1


def test_what_is_no_plan_is_refused() -> None:
    grid = mapped(plan(3), 0.0)
    with pytest.raises(MapError, match="black all over"):
        register_plan(grid, np.zeros((512, 640, 3), np.uint8))
    with pytest.raises(MapError, match="shape"):
        register_plan(grid, np.zeros((512, 640, 7), np.uint8))
    with pytest.raises(MapError, match="nothing"):
        read_plan(np.full((100, 100, 3), 254, np.uint8))
    empty = OccupancyGrid(np.full((50, 50), UNKNOWN, np.int8), 0.05, (0.0, 0.0))
    with pytest.raises(MapError, match="too little free floor"):
        register_plan(empty, plan(3))
    ranking = rank_plans(grid, [np.zeros((512, 640, 3), np.uint8), plan(3)])
    assert ranking.best == 1
    assert ranking.registrations[0] is None
    with pytest.raises(MapError):
        rank_plans(grid, [np.zeros((512, 640, 3), np.uint8)])


def test_furniture_on_plans_is_told_from_walls_and_doors() -> None:
    walls = np.zeros((512, 640), np.uint8)
    cv2.rectangle(walls, (60, 80), (560, 430), 255, -1)
    cv2.rectangle(walls, (300, 80), (304, 300), 0, -1)
    cv2.line(walls, (304, 340), (340, 344), 0, 2)  # the leaf of a door, standing free
    assert not read_plan(walls).furnished
    assert read_plan(plan(3)).furnished


def test_low_things_hardly_count_on_a_plan_of_walls() -> None:
    walls = np.zeros((512, 640), np.uint8)
    cv2.rectangle(walls, (60, 80), (560, 430), 255, -1)
    cv2.rectangle(walls, (300, 80), (307, 330), 0, -1)
    furnished = walls.copy()
    for x, y in ((90, 100), (150, 380), (240, 100), (330, 90), (420, 200), (480, 380), (500, 120)):
        cv2.rectangle(furnished, (x, y), (x + 45, y + 40), 0, -1)
    grid = mapped(furnished, 20.0)
    points = grid.point_of(np.stack(np.mgrid[0:440, 0:440], axis=-1).reshape(-1, 2))
    columns, rows = np.clip(np.round(truth(points, 20.0)).astype(int), 0, (639, 511)).T
    tall = (walls[rows, columns] == 0).reshape(440, 440).astype(np.float32)
    known = OccupancyGrid(grid.cells, grid.resolution_m, grid.origin_m, tall=tall)
    found = register_plan(known, walls)
    assert error_m(found, known, 20.0) < 0.1
    assert found.agreement > register_plan(grid, walls).agreement + 0.05
