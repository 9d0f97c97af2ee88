"""Plans: where they lie, what is white and what is black, and paths drawn on them."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_places import thing, tiny_place, wall

from gst_ros.scenes.freespace import FreeSpace
from gst_ros.scenes.grow import GrowOptions, grow_place
from gst_ros.scenes.place import Opening
from gst_ros.scenes.plans import (
    PATH_COLOUR,
    RENDER_SIZE,
    START_COLOUR,
    PlanFrame,
    bounds,
    draw_path,
    draw_plan,
    silhouette,
)


def at(image: np.ndarray, frame: PlanFrame, x: float, y: float) -> int:
    column, row = np.round(frame.pixel(np.array([x, y]))).astype(int)
    return int(image[row, column])


@given(
    st.integers(16, 2000),
    st.integers(16, 2000),
    st.floats(1e-3, 0.5),
    st.floats(-100, 100),
    st.floats(-100, 100),
    st.floats(-50, 50),
    st.floats(-50, 50),
)
def test_pixels_and_points_are_inverse(width, height, scale, left, top, x, y):
    frame = PlanFrame(width, height, scale, left, top)
    assert np.allclose(frame.point(frame.pixel(np.array([x, y]))), [x, y])
    assert PlanFrame.from_mapping(frame.to_mapping()) == frame


def test_x_is_right_y_is_up_and_the_grid_spans_the_image():
    frame = PlanFrame(640, 512, 0.02, 1.0, 9.0)
    assert frame.pixel(np.array([1.01, 8.99])) == pytest.approx([0.0, 0.0])
    assert frame.pixel(np.array([1.21, 8.99])) == pytest.approx([10.0, 0.0])
    assert frame.pixel(np.array([1.01, 8.79])) == pytest.approx([0.0, 10.0])
    assert frame.grid_999(np.array([1.0, 9.0])) == pytest.approx([0.0, 0.0])
    assert frame.grid_999(np.array([1.0 + 640 * 0.02, 9.0 - 512 * 0.02])) == pytest.approx([999.0, 999.0])
    assert frame.grid_999(np.array(frame.centre_m)) == pytest.approx([499.5, 499.5])


@pytest.mark.parametrize("size", [(640, 512), RENDER_SIZE])
def test_a_place_fills_its_plan_and_lies_in_the_middle(size):
    place = tiny_place()
    frame = PlanFrame.around(place, size)
    low, high = (frame.pixel(corner) for corner in bounds(place))
    left, bottom, right, top = low[0], low[1], high[0], high[1]
    assert left >= 0 and top >= 0 and right <= size[0] - 1 and bottom <= size[1] - 1
    assert left == pytest.approx(size[0] - 1 - right, abs=0.1) and top == pytest.approx(size[1] - 1 - bottom, abs=0.1)
    assert max((right - left) / size[0], (bottom - top) / size[1]) > 0.94


def test_floor_and_doors_are_white_walls_windows_leaves_and_outside_black():
    place = tiny_place()
    frame = PlanFrame.around(place)
    plan = draw_plan(place, frame, furniture=False)
    assert set(np.unique(plan)) == {0, 255} and plan.shape == (512, 640)
    for x, y in ((2.5, 2.0), (7.0, 2.0), (4.5, 5.2), (2.7, 4.0), (6.85, 4.0)):  # rooms, the door's hole, the passage
        assert at(plan, frame, x, y) == 255, (x, y)
    for x, y in ((5.0, 2.0), (0.0, 3.0), (2.3, 0.0), (1.0, 4.0), (-0.1, 2.0), (9.1, 6.0)):  # the third is a window
        assert at(plan, frame, x, y) == 0, (x, y)
    leaf_m2 = 0.9 * 0.04
    closed = replace(place, walls=tuple(_without_leaf(w) for w in place.walls))
    more = (draw_plan(closed, frame, furniture=False) > 0).sum() - (plan > 0).sum()
    assert more * frame.m_per_px**2 == pytest.approx(leaf_m2, rel=0.5)


def test_furniture_is_drawn_as_it_looks_from_above():
    place = tiny_place()
    frame = PlanFrame.around(place)
    walls, full = draw_plan(place, frame, furniture=False), draw_plan(place, frame)
    assert (full <= walls).all()
    assert at(full, frame, 7.0, 1.1) == 0 and at(walls, frame, 7.0, 1.1) == 255  # the bed
    table = next(t for t in place.objects if t.id == "dining_table")
    area = silhouette(table, frame, None).sum() * frame.m_per_px**2
    assert area == pytest.approx(1.2 * 0.8, rel=0.06)
    turned = replace(table, yaw_deg=90.0)
    shape = np.argwhere(silhouette(turned, frame, None))
    height, width = np.ptp(shape, axis=0) + 1
    assert height / width == pytest.approx(1.2 / 0.8, rel=0.05)


def test_rugs_pictures_and_ceiling_lamps_do_not_block():
    place = tiny_place()
    frame = PlanFrame.around(place)
    rug = replace(thing("rug", "rug", "living", 2.5, 2.0, 0.0, (1.5, 1.0, 0.01)), blocks=False)
    lamp = replace(thing("cloud", "board", "living", 2.5, 2.6, 0.0, (0.4, 0.4, 0.2), z=2.2), blocks=True)
    more = replace(place, objects=(*place.objects, rug, lamp))
    assert (draw_plan(more, frame) == draw_plan(place, frame)).all()


def test_a_fence_is_black_and_its_gate_white():
    place = tiny_place()
    gate = wall("fence", (1.0, 1.5), (4.0, 1.5), Opening("passage", 1.0, 1.0, 0.0, 1.0))
    fenced = replace(place, walls=(*place.walls, replace(gate, height_m=1.0)))
    frame = PlanFrame.around(place)
    plan = draw_plan(fenced, frame, furniture=False)
    assert at(plan, frame, 1.5, 1.5) == 0 and at(plan, frame, 2.5, 1.5) == 255 and at(plan, frame, 3.5, 1.5) == 0


@pytest.mark.parametrize(("kind", "seed"), [("home", 4), ("classroom", 1)])
def test_plans_agree_with_the_floor_that_walks_use(kind, seed):
    place = grow_place(kind, seed, options=GrowOptions(builtin_only=True))
    frame = PlanFrame.around(place)
    plan = draw_plan(place, frame)
    space = FreeSpace(place, radius_m=0.1)
    rows, columns = np.nonzero(space.free)
    points = np.array([space.to_point((int(r), int(c))) for r, c in zip(rows[::7], columns[::7], strict=True)])
    pixels = np.round(frame.pixel(points)).astype(int)
    assert (plan[pixels[:, 1], pixels[:, 0]] == 255).mean() > 0.999


def test_a_path_is_light_red_with_a_blue_dot_at_its_start():
    plan = np.full((512, 640), 255, np.uint8)
    pixels = np.array([(100.0, 400.0), (100.0, 100.0), (400.0, 100.0)])
    image = draw_path(plan, pixels)
    assert image.shape == (512, 640, 3)
    assert tuple(image[400, 100]) == START_COLOUR
    assert tuple(image[250, 100]) == PATH_COLOUR and tuple(image[100, 300]) == PATH_COLOUR
    assert tuple(image[300, 300]) == (255, 255, 255)
    assert (plan == 255).all(), "the plan itself stays as it was"
    backwards = draw_path(plan, pixels[::-1])
    assert tuple(backwards[100, 400]) == START_COLOUR and tuple(backwards[400, 100]) == PATH_COLOUR


def test_paths_and_plans_look_like_the_official_ones(shared_dir):
    file = shared_dir / "gst_bench" / "samples" / "trajectory_scene1" / "image_01_sub_trajectory_9.png"
    official = cv2.imread(str(file))[:, :, ::-1]
    colours, counts = np.unique(official.reshape(-1, 3), axis=0, return_counts=True)
    common = [tuple(int(v) for v in c) for c in colours[counts > 150]]
    assert PATH_COLOUR in common and START_COLOUR in common
    own = draw_path(np.full((512, 640), 255, np.uint8), np.array([(100.0, 400.0), (100.0, 100.0)]))
    assert own.shape == official.shape
    for colour, tolerance in ((PATH_COLOUR, 1), (START_COLOUR, 2)):
        width, own_width = (_width(image, colour) for image in (official, own))
        assert own_width == pytest.approx(width, abs=tolerance), colour


def _width(image, colour):
    """The median, over the rows that hold a colour, of how many pixels of it there are."""
    rows = (np.abs(image.astype(int) - colour).max(axis=2) < 20).sum(axis=1)
    return float(np.median(rows[rows > 0]))


def _without_leaf(w):
    openings = tuple(replace(o, style=0) if o.kind == "door" else o for o in w.openings)
    return replace(w, openings=openings)
