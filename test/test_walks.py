"""Walks: they visit every room, collide with nothing, keep to their speeds, and look at most of what is there."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_places import tiny_place

from gst_ros.errors import ConfigError
from gst_ros.scenes.cameras import CameraPose, find_preset
from gst_ros.scenes.freespace import FreeSpace
from gst_ros.scenes.grow import GrowOptions, grow_place
from gst_ros.scenes.place import Place, Room, SceneError
from gst_ros.scenes.rng import rng
from gst_ros.scenes.trajectory import Trajectory, quaternion, read_tum
from gst_ros.scenes.walking.motion import move
from gst_ros.scenes.walking.routes import RouteMap
from gst_ros.scenes.walking.sight import Sight
from gst_ros.scenes.walking.walk import WalkOptions, walk

OFFICIAL = find_preset("official")


def a_walk(place: Place, seconds: float = 30.0, name: str = "video1", camera: str = "official") -> Trajectory:
    return walk(place, FreeSpace(place), find_preset(camera), WalkOptions(seconds=seconds), name)


def yaws_deg(way: Trajectory) -> np.ndarray:
    return np.degrees(np.unwrap([math.radians(pose.yaw_deg) for pose in way.poses]))


@pytest.fixture(scope="module", params=[("home", 3), ("office", 1), ("restaurant", 2)], ids=lambda p: f"{p[0]}-{p[1]}")
def grown(request: pytest.FixtureRequest) -> tuple[Place, Trajectory]:
    kind, seed = request.param
    place = grow_place(kind, seed, options=GrowOptions(builtin_only=True))
    return place, a_walk(place, 45.0)


def test_a_walk_enters_every_room_and_touches_nothing(grown):
    place, way = grown
    for room in place.rooms:
        assert shapely.contains_xy(shapely.Polygon(room.outline), way.path_m).any(), room.id
    # A walker 5 cm slimmer than the one that the walk is planned for leaves room for the raster's cells.
    slim = FreeSpace(place, radius_m=0.2)
    assert all(slim.contains((x, y)) for x, y in way.path_m)


def test_a_walk_keeps_to_its_speeds_and_is_smooth(grown):
    _, way = grown
    steps = np.linalg.norm(np.diff(way.path_m, axis=0), axis=1) * OFFICIAL.fps
    turns = np.diff(yaws_deg(way)) * OFFICIAL.fps
    assert steps.max() <= 0.8 + 1e-6 and np.abs(turns).max() <= 60.0 + 1e-4
    assert np.abs(np.diff(steps)).max() < 0.25, "starts and halts are gentle"
    assert np.abs(np.diff(turns)).max() < 30.0, "even from full turning one way to the other"
    assert steps[0] < 0.1 and steps[-1] < 0.1


def test_a_walk_looks_round_and_shows_most_objects(grown):
    place, way = grown
    sight = Sight(place, OFFICIAL.video, OFFICIAL.height_m, OFFICIAL.pitch_deg)
    off = np.abs((sight.bearings_deg(way.path_m) - yaws_deg(way)[:, None] + 180.0) % 360.0 - 180.0)
    seconds = (sight.lines(way.path_m) & (off < sight.half_width_deg)).sum(axis=0) / OFFICIAL.fps
    assert (seconds >= 1.0).mean() > 0.5
    still = np.linalg.norm(np.diff(way.path_m, axis=0), axis=1) * OFFICIAL.fps < 0.05
    assert np.abs(np.diff(yaws_deg(way)))[still].sum() >= 80.0 * len(place.rooms), "it turns in every room"


def test_a_walk_lasts_about_as_long_as_wanted_where_the_rooms_allow_it():
    place = tiny_place()
    for seconds in (40.0, 90.0):
        assert 0.85 * seconds <= a_walk(place, seconds).duration_s <= 1.2 * seconds + 2.0


def test_walks_depend_on_place_and_name_alone():
    place = tiny_place()
    first, again, other = a_walk(place), a_walk(place), a_walk(place, name="video2")
    assert first == again
    assert first.poses != other.poses


def test_the_official_camera_is_level_and_a_handheld_one_is_not():
    place = tiny_place()
    way = a_walk(place)
    assert {(p.z_m, p.pitch_deg, p.roll_deg) for p in way.poses} == {(1.5, 35.0, 0.0)}
    held = a_walk(place, camera="handheld")
    for values, most in (
        ([p.z_m - 1.5 for p in held.poses], 0.05),
        ([p.pitch_deg - 35.0 for p in held.poses], 8.0),
        ([p.roll_deg for p in held.poses], 4.0),
    ):
        assert 0.1 * most < np.abs(values).max() < most
    steps = np.abs(np.diff([p.pitch_deg for p in held.poses]))
    assert steps.max() < 1.5, "it sways, but does not jump"


def test_a_room_without_a_way_in_is_an_error_that_names_it():
    place = tiny_place()
    closed = replace(place, rooms=(*place.rooms, Room("vault", "storage", _square(20.0), "tiles:1", "plaster:1", 2.6)))
    with pytest.raises(SceneError, match="'vault' cannot be walked into"):
        a_walk(closed)


def test_no_floor_at_all_is_an_error():
    place = tiny_place()
    narrow = replace(place, rooms=(Room("slit", "hall", _square(0.0, 0.3), "tiles:1", "plaster:1", 2.6),), objects=())
    with pytest.raises(SceneError, match="no free floor"):
        a_walk(replace(narrow, walls=()))


@pytest.mark.parametrize("wrong", [{"seconds": 0.0}, {"speed_mps": -1.0}, {"turn_dps": 0.0}, {"seconds": math.nan}])
def test_impossible_walks_are_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        WalkOptions(**wrong)


def test_routes_keep_clear_of_walls_and_are_no_longer_than_they_must_be():
    place = tiny_place()
    routes = RouteMap(FreeSpace(place))
    start, end = routes.cell((2.5, 3.2)), routes.cell((8.0, 2.6))
    way = routes.route(start, end)
    assert routes.is_free(way).all()
    assert tuple(way[0]) == pytest.approx(routes.point(start)) and tuple(way[-1]) == pytest.approx(routes.point(end))
    assert np.linalg.norm(np.diff(way, axis=0), axis=1).max() < 2 * routes.step_m
    length = np.linalg.norm(np.diff(way, axis=0), axis=1).sum()
    # Through the door at x = 2.45 and the passage at x = 6.85: no shorter way exists.
    corners = [(2.5, 3.2), (2.45, 4.0), (6.85, 4.0), (8.0, 2.6)]
    shortest = sum(math.dist(a, b) for a, b in itertools.pairwise(corners))
    assert shortest - 0.3 < length < 1.15 * shortest
    assert routes.cost(start, end) == pytest.approx(routes.cost(end, start))


def test_walls_hide_and_doors_do_not():
    place = tiny_place()
    sight = Sight(place, OFFICIAL.video, 1.5, 35.0)
    names = [thing.id for thing in sight.things]
    lines = sight.lines(np.array([(2.5, 2.0), (2.45, 5.5)]))
    assert lines[0, names.index("bookcase")] and not lines[0, names.index("bed")]
    assert not lines[1, names.index("bed")] and lines[1, names.index("bench")]
    assert sight.lines(np.array([(2.9, 3.5)]))[0, names.index("bench")], "through the open door"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.floats(-170.0, 170.0), max_size=3), min_size=1, max_size=4),
    st.floats(0.2, 1.5),
    st.floats(20.0, 120.0),
    st.integers(0, 1000),
)
def test_no_walk_is_faster_than_allowed(turns, speed, turn_dps, seed):
    random = rng(seed, "test")
    corners = [random.uniform(-4.0, 4.0, 2) for _ in turns]
    ways = [np.linspace(a, b, 60) for a, b in itertools.pairwise(corners)]
    motion = move(
        (float(corners[0][0]), float(corners[0][1])),
        0.0,
        turns,
        ways,
        speed_mps=speed,
        turn_dps=turn_dps,
        rate_hz=20.0,
        gaze_deg=15.0,
        random=random,
    )
    assert np.linalg.norm(np.diff(motion.points_m, axis=0), axis=1).max(initial=0.0) * 20.0 <= speed * (1 + 1e-6)
    assert np.abs(np.diff(motion.yaws_deg)).max(initial=0.0) * 20.0 <= turn_dps * (1 + 1e-6)
    assert np.allclose(motion.points_m[-1], corners[-1], atol=5e-3) and np.allclose(motion.points_m[0], corners[0])


# Files


@given(st.floats(-180.0, 180.0), st.floats(-80.0, 80.0), st.floats(-60.0, 60.0))
def test_quaternions_turn_the_camera_as_its_angles_do(yaw, pitch, roll):
    pose = CameraPose(0.0, 0.0, 0.0, yaw, pitch, roll)
    x, y, z, w = quaternion(pose)
    assert x * x + y * y + z * z + w * w == pytest.approx(1.0) and w >= 0.0
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    assert np.allclose(rotation, pose.rotation_map_from_camera, atol=1e-9)


def test_a_trajectory_file_comes_back_as_it_was(tmp_path):
    way = a_walk(tiny_place(), camera="handheld")
    file = tmp_path / "walk.tum"
    way.save_tum(file)
    read = read_tum(file)
    assert read.stamps_s == pytest.approx(way.stamps_s)
    for a, b in zip(read.poses, way.poses, strict=True):
        assert np.allclose(a.matrix_camera_from_map, b.matrix_camera_from_map, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "where"),
    [("0 1 2 3\n", "line 1"), ("# x\n0 0 0 0 0 0 0 nan\n", "line 2"), ("0 a 0 0 0 0 0 1\n", "line 1"), ("", "empty")],
)
def test_a_damaged_trajectory_file_names_its_line(tmp_path, text, where):
    file = tmp_path / "walk.tum"
    file.write_text(text)
    with pytest.raises(SceneError, match=where):
        read_tum(file)


def _square(at: float, size: float = 3.0) -> tuple[tuple[float, float], ...]:
    return ((at, at), (at + size, at), (at + size, at + size), (at, at + size))
