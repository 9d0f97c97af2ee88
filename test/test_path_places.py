"""Paths of the same shape in different places are told apart by the map."""

from __future__ import annotations

import math

import cv2
import numpy as np

from gst_ros.mapping.grid import FREE, OCCUPIED, UNKNOWN, OccupancyGrid
from gst_ros.mapping.plan_images import read_plan
from gst_ros.mapping.planar import transform
from gst_ros.reasoning.drawn_paths import read_drawn_path
from gst_ros.reasoning.path_places import agreement_at, settled_by_plan
from gst_ros.reasoning.paths import fit_path, rank_paths
from gst_ros.scenes.plans import draw_path

M_PER_PX = 0.03
TURN = 0.9
PATH = np.concatenate(
    [
        np.column_stack([np.full(40, 150.0), np.linspace(380, 220, 40)]),
        np.column_stack([np.linspace(150, 260, 30), np.full(30, 220.0)]),
    ]
)
MOVED = PATH + np.array([230.0, -60.0])


def plan() -> np.ndarray:
    image = np.zeros((512, 640), np.uint8)
    image[80:460, 60:300] = 255
    image[60:420, 310:600] = 255
    image[200:240, 300:310] = 255
    image[300:360, 200:280] = 0
    image[90:130, 480:590] = 0
    image[260:330, 460:520] = 0
    return image


def map_of(plan_image: np.ndarray, around_px: tuple[int, int, int, int]) -> OccupancyGrid:
    """The map of a part of the plan (x0, y0, x1, y1), turned by ``TURN`` against it."""
    x0, y0, x1, y1 = around_px
    resolution, size = 0.05, 500
    cells = np.full((size, size), UNKNOWN, np.int8)
    rows, columns = np.mgrid[0:size, 0:size]
    origin = (-12.0, -14.0)
    points = np.column_stack([columns.ravel(), rows.ravel()]) * resolution + resolution / 2 + origin
    upright = transform(np.array([0.0, 0.0, TURN]), points)
    px = np.round(upright * [1, -1] / M_PER_PX).astype(int)
    inside = (px[:, 0] >= x0) & (px[:, 0] < x1) & (px[:, 1] >= y0) & (px[:, 1] < y1)
    values = np.where(plan_image[px[inside, 1], px[inside, 0]] > 127, FREE, OCCUPIED)
    flat = cells.ravel()
    flat[inside] = values
    return OccupancyGrid(flat.reshape(size, size), resolution, origin)


def walk() -> np.ndarray:
    return transform(np.array([0.0, 0.0, -TURN]), PATH * [1, -1] * M_PER_PX)


def drawings() -> list[np.ndarray]:
    other = PATH[::-1] + np.array([200.0, 20.0])
    return [draw_path(plan(), path) for path in (MOVED, other, PATH)]


def test_the_map_tells_a_moved_path_from_the_walked_one() -> None:
    images = drawings()
    ranking = rank_paths(walk(), [read_drawn_path(image) for image in images])
    assert ranking.margin < 0.5
    grid = map_of(plan(), (50, 150, 310, 460))
    settled = settled_by_plan(ranking, grid, images)
    assert settled.best == 2
    assert settled.agreements[1] is None
    first, second = settled.agreements[2], settled.agreements[0]
    assert first is not None
    assert second is not None
    assert first > 0.8
    assert first > second + 0.3
    assert settled.margin > 0.2


def test_agreement_is_that_of_the_place_where_the_fit_puts_the_map() -> None:
    images = drawings()
    grid = map_of(plan(), (50, 150, 310, 460))
    fit = fit_path(walk(), read_drawn_path(images[2]))
    assert math.isclose(fit.yaw_rad, TURN, abs_tol=0.05)
    assert agreement_at(fit, grid, read_plan(images[2])) > 0.8


def test_without_a_map_or_a_tie_the_ranking_stays() -> None:
    images = drawings()
    ranking = rank_paths(walk(), [read_drawn_path(image) for image in images])
    unknown = OccupancyGrid(np.full((40, 40), UNKNOWN, np.int8), 0.05, (0.0, 0.0))
    assert settled_by_plan(ranking, unknown, images) is ranking
    clear = rank_paths(walk(), [read_drawn_path(image) for image in images[1:]])
    grid = map_of(plan(), (50, 150, 310, 460))
    assert settled_by_plan(clear, grid, images[1:]) is clear
    black = [np.zeros_like(images[0]), images[1], images[2]]
    assert settled_by_plan(ranking, grid, black) is ranking


def test_drawn_images_may_be_jpeg() -> None:
    images = [
        cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 80])[1], cv2.IMREAD_COLOR)
        for image in drawings()
    ]
    ranking = rank_paths(walk(), [read_drawn_path(image) for image in images])
    assert settled_by_plan(ranking, map_of(plan(), (50, 150, 310, 460)), images).best == 2
