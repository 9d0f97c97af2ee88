"""The data engine's questions: filters, spread, look-alikes, paths, and the records of a whole small place."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_places import TINY_OPTIONS, thing, tiny_camera, tiny_place, tiny_set

from gst_ros.bench.answers import parse_answer, parse_truth
from gst_ros.bench.questions import load_questions
from gst_ros.bench.tasks import TASKS
from gst_ros.errors import ConfigError
from gst_ros.scenes.cameras import CameraPose, Intrinsics
from gst_ros.scenes.instances import InstanceFacts, Track
from gst_ros.scenes.place import Opening, Place
from gst_ros.scenes.questions import edits, warps, wording
from gst_ros.scenes.questions.lookalikes import turned_difference
from gst_ros.scenes.questions.names import unique_labels
from gst_ros.scenes.questions.objects import direction_bin, distance_bin
from gst_ros.scenes.questions.options import QuestionOptions
from gst_ros.scenes.questions.paths import mirrored, moved, path_distance_m, stretches
from gst_ros.scenes.questions.records import Item, QuestionSheet, official_answer
from gst_ros.scenes.questions.sampling import Deck, choose, circle_gap, line_gap
from gst_ros.scenes.questions.screens import WallScreen, box_points
from gst_ros.scenes.questions.self_localization import orientation_deg
from gst_ros.scenes.questions.targets import target_problem
from gst_ros.scenes.questions.views import (
    bearing_deg,
    grown,
    objects_problem,
    outside,
    range_m,
    shows_whole,
    view_problem,
)
from gst_ros.scenes.trajectory import Trajectory

# Spread and balance


def test_a_deck_holds_every_item_equally_often_whatever_the_place():
    deck = Deck("ABCD", 5, "tds_hard", "letter")
    letters = Counter("ABCD"[deck.index(number)] for number in range(400))
    assert letters == {letter: 100 for letter in "ABCD"}
    assert [deck.index(k) for k in range(40)] != [Deck("ABCD", 6, "tds_hard", "letter").index(k) for k in range(40)]
    assert [deck.index(k) for k in range(40)] == [Deck("ABCD", 5, "tds_hard", "letter").index(k) for k in range(40)]


def test_choose_takes_what_is_nearest_to_the_bin_wanted_and_puts_refused_items_aside():
    taken: list[str] = []

    def accept(item: str) -> bool:
        if item == "refused":
            return False
        taken.append(item)
        return True

    items, bins = ["low", "refused", "high", "middle"], [0, 3, 7, 4]
    count = choose(items, bins, itertools.cycle([3]), 2, gap=line_gap, cost=lambda item: 0.0, accept=accept)
    assert (count, taken) == (2, ["middle", "low"])


def test_choose_never_takes_an_item_of_infinite_cost():
    found = choose(
        ["a", "b"], [0, 0], itertools.cycle([0]), 5, gap=line_gap,
        cost=lambda item: math.inf if item == "b" else 0.0, accept=lambda item: True,
    )  # fmt: skip
    assert found == 1


def test_directions_on_a_circle_have_neighbours_across_its_ends():
    gap = circle_gap(12)
    assert (gap(0, 11), gap(0, 6), gap(3, 3)) == (1, 6, 0)
    assert (direction_bin(0.0), direction_bin(-0.1), direction_bin(179.9), direction_bin(-180.0)) == (0, 11, 5, 6)
    assert (distance_bin(0.6), distance_bin(1.5), distance_bin(30.0)) == (0, 1, 7)


# Names


def with_things(*labels: str) -> Place:
    place = tiny_place()
    things = tuple(
        thing(f"x{k}", "table", "hall", 1.0, 5.0, 0.0, (0.4, 0.4, 0.4), label=v) for k, v in enumerate(labels)
    )
    return replace(place, objects=things)


@pytest.mark.parametrize(
    ("labels", "unique"),
    [
        (("sofa", "bed"), {"sofa", "bed"}),
        (("chair", "chair", "bed"), {"bed"}),
        (("chair", "office chair", "bed"), {"bed"}),  # somebody asked for "the chair" may think of either
        (("dining table", "coffee table"), {"dining table", "coffee table"}),
        (("plant", "small plant"), set()),
    ],
)
def test_a_name_must_fit_one_object_alone(labels: tuple[str, ...], unique: set[str]):
    assert unique_labels(with_things(*labels)) == unique


def test_things_that_no_question_asks_for_still_make_a_name_doubtful():
    place = with_things("sofa", "sofa")
    hidden = replace(place.objects[1], askable=False)
    assert unique_labels(replace(place, objects=(place.objects[0], hidden))) == frozenset()


# Targets and views


def facts(**changes: Any) -> InstanceFacts:
    usual: dict[str, Any] = {
        "pixels": 4000,
        "video": "video1",
        "frame": 3,
        "box": (10, 10, 90, 90),
        "unoccluded": 0.9,
        "complete": 0.9,
        "visible": {"video1": np.arange(40)},
    }
    return InstanceFacts(tiny_place().objects[0], **{**usual, **changes})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, ""),
        ({"video": ""}, "never in a video"),
        ({"pixels": 300}, "too small in the video"),
        ({"visible": {"video1": np.arange(4)}}, "too short in the video"),
        ({"cut_off": True}, "cut off in its best frame"),
        ({"unoccluded": 0.3}, "hidden in its best frame"),
    ],
)
def test_targets_must_be_shown_well(changes: dict[str, Any], problem: str):
    assert target_problem(facts(**changes), QuestionOptions()) == problem


def test_the_best_frame_of_a_track_is_not_cut_off_where_there_is_such_a_frame():
    boxes = np.array([[0, 5, 50, 60], [20, 20, 60, 60], [30, 30, 50, 50]])
    track = Track(np.arange(3), np.array([900, 500, 200]), boxes)
    assert track.best(640, 512) == 1
    assert Track(np.arange(1), np.array([900]), boxes[:1]).best(640, 512) == 0


def test_a_view_needs_objects_depth_edges_and_air():
    options = QuestionOptions()
    random = np.random.default_rng(0)
    noise = random.integers(0, 256, (100, 120, 3), dtype=np.uint8)
    depth = np.linspace(1.0, 5.0, 100 * 120, dtype=np.float32).reshape(100, 120)
    assert view_problem(noise, depth, options) == ""
    assert view_problem(np.full_like(noise, 200), depth, options) == "few edges"
    assert view_problem(noise, np.full_like(depth, 2.0), options) == "flat"
    assert view_problem(noise, depth - 0.7, options) == "too near something"
    assert view_problem(noise, np.full_like(depth, np.inf), options) == "too near something"
    assert objects_problem({"a": 0.2, "b": 0.1, "c": 0.1}, options) == ""
    assert objects_problem({"a": 0.4, "b": 0.0001, "c": 0.0001}, options) == "few objects"


def test_the_margin_of_a_view_is_ten_percent_or_three_degrees_whichever_is_more():
    wide = grown(Intrinsics(1920, 1536, 1005.9), 0.10, 3.0)
    half_deg = math.degrees(math.atan(960 / 1005.9))
    assert math.degrees(math.atan(wide.width / 2 / wide.f_px)) == pytest.approx(half_deg + 3.0, abs=0.1)
    assert wide.width / 1920 >= 1.10
    narrow = grown(Intrinsics(640, 480, 2000.0), 0.10, 3.0)  # here three degrees are much more
    assert narrow.width / 640 == pytest.approx(1.33, abs=0.02)


def test_walls_hide_and_doors_do_not():
    screen = WallScreen(tiny_place())
    eye = (2.5, 2.0)  # in the living room
    behind_wall, through_door, same_room = (7.0, 2.0, 0.5), (2.45, 5.0, 0.5), (4.0, 1.0, 0.5)
    assert list(screen.hides(eye, np.array([behind_wall, through_door, same_room]))) == [True, False, False]


def test_low_walls_hide_nothing_for_certain():
    place = tiny_place()
    low = replace(place, walls=tuple(replace(wall, height_m=1.1) for wall in place.walls))
    assert not WallScreen(low).hides((2.5, 2.0), np.array([(7.0, 2.0, 0.5)])).any()


def test_bearings_are_positive_to_the_left_and_ranges_horizontal():
    pose = CameraPose(1.0, 1.0, 1.5, 90.0)
    assert bearing_deg(pose, (0.0, 1.0, 0.0)) == pytest.approx(90.0)
    assert bearing_deg(pose, (2.0, 1.0, 3.0)) == pytest.approx(-90.0)
    assert bearing_deg(pose, (1.0, 5.0, 0.0)) == pytest.approx(0.0)
    assert range_m(pose, (4.0, 5.0, 9.0)) == pytest.approx(5.0)


def test_a_camera_beside_a_long_sofa_is_not_outside_it():
    sofa = thing("sofa", "sofa", "living", 0.0, 0.0, 90.0, (0.8, 2.0, 0.8))  # its length lies along x
    assert not outside(sofa, CameraPose(1.1, 0.0, 1.5, 0.0))
    assert outside(sofa, CameraPose(1.4, 0.0, 1.5, 0.0))
    assert outside(sofa, CameraPose(0.0, 0.8, 1.5, 0.0))


def test_a_box_is_shown_whole_only_when_all_corners_are_in_view():
    camera = tiny_camera().query
    bed = tiny_place().objects[6]
    assert bed.id == "bed"
    assert shows_whole(CameraPose(7.0, 5.6, 1.5, -90.0), camera, bed)
    assert not shows_whole(CameraPose(7.0, 2.4, 1.5, -90.0), camera, bed)
    assert not shows_whole(CameraPose(7.0, 5.6, 1.5, 90.0), camera, bed)
    assert box_points(bed).shape == (125, 3)


def test_orientations_are_zero_to_the_top_of_the_plan_and_positive_to_the_left():
    for yaw, answer in ((90.0, 0.0), (180.0, 90.0), (0.0, -90.0), (-90.0, 180.0)):
        assert orientation_deg(CameraPose(0, 0, 1.5, yaw)) == pytest.approx(answer)


# Records


def item(task: str, answer: Any, name: str = "a", **changes: Any) -> Item:
    usual: dict[str, Any] = {"texts": ("video", "question"), "video": "video1.mp4", "images": ("views/v.jpg",)}
    return Item(task, name, answer, **{**usual, **changes})


@pytest.mark.parametrize(
    ("task", "answer", "written"),
    [
        ("ed_v", -133.6, "-134"),
        ("ed_v", -179.8, "180"),  # -180 and 180 are one direction
        ("ed_v", -0.2, "0"),
        ("edist_s", 13.249, 13.2),
        ("gp_v", (322.6, 292.4), "<point>323 292</point>"),
        ("tds_hard", "C", "C"),
    ],
)
def test_answers_are_written_as_in_official_files(task: str, answer: Any, written: Any):
    found = official_answer(TASKS[task], answer)
    assert found == written and type(found) is type(written)
    assert parse_truth(TASKS[task], found) is not None


def test_the_same_question_is_taken_once():
    sheet = QuestionSheet("place")
    assert sheet.add(item("ed_v", 10.0))
    assert not sheet.add(item("ed_v", 10.0, name="b"))
    assert sheet.add(item("ed_v", 10.0, name="c", images=("views/w.jpg",)))
    assert sheet.counts == {"ed_v": 2}
    with pytest.raises(ValueError, match="uid"):
        sheet.add(item("ed_v", 10.0, images=("views/x.jpg",)))


def test_uids_are_like_official_ones():
    sheet = QuestionSheet("scene_2")
    sheet.add(item("ed_v", 1.0, name="armchair_0_pos_10_orient_4_video_3"))
    sheet.add(item("tds_medium", "A", name="video_1_choice_0"))
    uids = [record["uid"] for record in sheet._records]
    assert uids == [
        "scene_2_Object_Localization_Egocentric_Direction_visual_armchair_0_pos_10_orient_4_video_3",
        "scene_2_Topdown_Selection_Medium_video_1_choice_0",
    ]


@pytest.mark.parametrize(("task", "answer"), [("ed_v", "-134"), ("edist_s", "2.4"), ("gp_s", "<point>3 4</point>")])
def test_prompts_ask_for_answers_that_the_bench_reads(task: str, answer: str):
    texts = {
        "ed_v": wording.direction(wording.MARKED),
        "edist_s": wording.distance(wording.named("sofa")),
        "gp_s": wording.object_position(wording.named("flowers")),
    }[task]
    assert len(texts) == 2
    assert parse_answer(TASKS[task], answer).status == "parsed"
    assert "–180° and 180°" in wording.direction("x")[1]
    assert "are the flowers" in wording.object_position("the flowers")[1]
    assert len(wording.selection()) == len(wording.path_selection()) == 4


def test_options_refuse_unknown_tasks_and_lengths_the_wrong_way_round():
    with pytest.raises(ConfigError, match="ed_v"):
        QuestionOptions(tasks=("ed_w",))
    with pytest.raises(ConfigError, match="shorter first"):
        QuestionOptions(clip_length_m=(5.0, 2.0))
    assert QuestionOptions(tasks=("Self_Localization_Global_Position",)).wants("position")


# Look-alikes


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("maker", [edits.furniture_moved, edits.room_turned, edits.door_moved, warps.wall_moved])
def test_a_change_leaves_a_place_that_differs_and_stands_well(maker: Any):
    place = tiny_place()
    found = [edit for edit in (maker(place, generator(seed)) for seed in range(12)) if edit is not None]
    assert found
    for edit in found:
        changed = edit.apply(place)
        assert changed != place
        assert edit.apply(place) == changed  # no chance in making it again
        assert {t.id for t in changed.objects} == {t.id for t in place.objects}
        if not edit.whole:
            poses = {t.id: (t.position_m, t.yaw_deg) for t in changed.objects}
            assert edits.stands_well(place, poses)


def test_rooms_of_one_size_swap_their_furniture():
    place = tiny_place(stretch=1.0)  # the bedroom is then as large as the living room
    edit = edits.rooms_swapped(place, generator())
    assert edit is not None
    swapped = {t.id: t for t in edit.apply(place).objects}
    assert swapped["bed"].position_m[0] < 5.0 < swapped["sofa"].position_m[0]


def test_furniture_never_stands_in_a_door_nor_in_other_furniture():
    place = tiny_place()
    bench = next(t for t in place.objects if t.id == "bench")
    assert edits.stands_well(place, {"bench": (bench.position_m, bench.yaw_deg)})
    assert not edits.stands_well(place, {"bench": ((2.4, 4.4, 0.0), 0.0)})  # in the living room's door
    assert not edits.stands_well(place, {"bench": ((7.0, 1.1, 0.0), 0.0)})  # in the bed
    assert not edits.stands_well(place, {"bench": ((0.0, 5.2, 0.0), 0.0)})  # in the wall


def test_a_moved_door_joins_the_same_rooms():
    place = tiny_place()
    for seed in range(20):
        edit = edits.door_moved(place, generator(seed))
        if edit is None:
            continue
        (wall,) = (w for w in edit.apply(place).walls if w.id == "along")
        assert [o.kind for o in wall.openings].count("door") == 1
        for opening in wall.openings:
            end = opening.start_m + opening.width_m
            assert end < 5.0 or opening.start_m > 5.0  # not across the wall between the rooms
            assert (opening.kind == "door") == (end < 5.0)
        low, high = wall.openings
        assert low.start_m + low.width_m < high.start_m


def test_a_moved_wall_keeps_outer_walls_doors_and_furniture_sizes():
    place = tiny_place()
    edit = warps.wall_moved(place, generator(1))
    assert edit is not None
    changed = edit.apply(place)
    before, after = ({w.id: w for w in p.walls} for p in (place, changed))
    assert {k: (after[k].start, after[k].end) for k in ("south", "west")} == {
        k: (before[k].start, before[k].end) for k in ("south", "west")
    }
    assert [t.size_m for t in changed.objects] == [t.size_m for t in place.objects]
    widths = [[o.width_m for o in w.openings] for w in changed.walls]
    assert widths == [[o.width_m for o in w.openings] for w in place.walls]
    moved_walls = [k for k in before if (before[k].start, before[k].end) != (after[k].start, after[k].end)]
    assert edit.touches & set(moved_walls)


def test_openings_that_do_not_fit_a_squeezed_wall_are_an_error():
    place = tiny_place()
    wall = replace(place.walls[0], openings=(Opening("door", 0.1, 8.6, 0.0, 2.0),))
    with pytest.raises(ValueError, match="do not fit"):
        warps.warped(replace(place, walls=(wall,)), 0, lambda x: x * 0.5)


def test_plans_are_compared_in_all_four_turns():
    plan = np.zeros((512, 640), np.uint8)
    plan[100:400, 200:300] = 255
    upside_down = plan[::-1, ::-1]
    assert turned_difference(plan, plan) == 0
    assert turned_difference(plan, upside_down) == 0
    changed = plan.copy()
    changed[100:110, 200:300] = 0
    assert turned_difference(plan, changed) == 1000


# Paths


def straight(length_m: float, frames: int) -> Trajectory:
    xs = np.linspace(0.0, length_m, frames)
    return Trajectory(tuple(np.arange(frames) / 10.0), tuple(CameraPose(float(x), 0.0, 1.5, 0.0) for x in xs))


def test_stretches_have_the_length_asked_for():
    found = list(stretches("video1", straight(10.0, 101), 3.0, 60.0))
    assert len(found) == 15
    for stretch in found:
        assert stretch.length_m == pytest.approx(3.0, abs=0.11)
        assert stretch.path_m[-1, 0] - stretch.path_m[0, 0] == pytest.approx(stretch.length_m)
    assert list(stretches("video1", straight(10.0, 101), 3.0, 2.0)) == []  # 3 m take 3 s here
    assert list(stretches("video1", straight(2.0, 21), 3.0, 60.0)) == []


def test_standing_still_does_not_begin_a_stretch():
    walk = straight(4.0, 41)
    waiting = Trajectory(tuple(np.arange(61) / 10.0), (walk.poses[0],) * 20 + walk.poses)
    first = next(stretches("video1", waiting, 2.0, 60.0))
    assert 19 <= first.first <= 20


def test_the_distance_of_paths_minds_the_way_round():
    path = np.stack([np.linspace(0, 4, 20), np.zeros(20)], axis=1)
    assert path_distance_m(path, path) == 0.0
    assert path_distance_m(path, path + np.array([0.0, 1.0])) == pytest.approx(1.0)
    assert path_distance_m(path, path[::-1]) == pytest.approx(2.0, abs=0.1)


def test_moved_and_mirrored_paths_keep_their_length():
    path = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])

    def length(way: np.ndarray) -> float:
        return float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())

    assert length(moved(path, 1, np.array([5.0, 5.0]))) == pytest.approx(3.0)
    flipped = mirrored(path, 0, 0.5)
    assert flipped.tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]
    assert path.tolist() == [[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]]  # the original stays


# A whole place


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The tiny place, filmed, with others beside it, and ready to render more."""
    recording, others, _ = tiny_set(tmp_path_factory)
    from gst_ros.scenes.rendering.renderer import Renderer

    with Renderer(recording.scene, recording.place) as renderer:
        yield replace(recording, renderer=renderer), others


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The tiny place's folder, and what came of asking."""
    recording, _, outcome = tiny_set(tmp_path_factory)
    return recording.files.root, outcome


def test_a_place_gets_questions_of_all_twelve_tasks_that_the_bench_reads(asked: tuple[Path, Any]):
    root, outcome = asked
    assert set(outcome.counts) == set(TASKS)
    found = load_questions(root / "questions.json")
    assert not found.skipped
    assert Counter(q.task.key for q in found.questions) == outcome.counts
    for key, count in outcome.counts.items():
        assert count == 2 or any(note.startswith(f"{key}: ") for note in outcome.notes)
    for question in found.questions:
        # A text before each medium, and the question behind the last one (or a letter before each option).
        media = (question.video is not None) + len(question.images)
        letters = question.task.metric == "acc"
        assert len(question.texts) == (media if letters else media + 1)


def test_truth_is_in_its_own_folder_alone(asked: tuple[Path, Any]):
    root, _ = asked
    records = json.loads((root / "questions.json").read_text())
    truths = json.loads((root / "gt" / "questions.json").read_text())
    assert {r["uid"] for r in records} == set(truths)
    for r in records:
        assert set(r) == {"task", "uid", "scene", "answer", "texts", "copied_video_path", "images"}
        assert all((root / image["copied_path"]).is_file() for image in r["images"])
    views = json.loads((root / "gt" / "views.json").read_text())
    assert {path.stem for path in (root / "views").iterdir()} == set(views)


def test_targets_are_not_in_their_query_views(asked: tuple[Path, Any]):
    root, _ = asked
    views = json.loads((root / "gt" / "views.json").read_text())
    truths = json.loads((root / "gt" / "questions.json").read_text())
    pairs = [(t["view"], t["target"]) for t in truths.values() if t["task"].startswith(("ed_", "edist_"))]
    assert pairs
    assert all(target not in views[view]["pixels"] for view, target in pairs)


def test_the_true_plan_does_not_stand_out_among_its_look_alikes(asked: tuple[Path, Any]):
    from gst_ros.media.images import read_image

    root, _ = asked
    truths = json.loads((root / "gt" / "questions.json").read_text())
    records = [r for r in json.loads((root / "questions.json").read_text()) if "Selection_Hard" in r["task"]]
    assert records
    for r in records:
        plans = [read_image(root / image["copied_path"])[..., 0] for image in r["images"]]
        options = [option["edits"] for option in truths[r["uid"]]["options"]]
        assert options["ABCD".index(r["answer"])] == []
        assert sorted(len(option) for option in options) == [0, 1, 1, 2]
        true_plan = read_image(root / "plans" / "furniture.png")[..., 0]
        assert [bool((plan == true_plan).all()) for plan in plans] == [not option for option in options]
        for a, b in itertools.combinations(plans, 2):
            assert turned_difference(a, b) >= 700


def test_wrong_paths_are_of_the_true_ones_length_and_can_be_walked(asked: tuple[Path, Any]):
    from gst_ros.media.images import read_image

    root, _ = asked
    plan = read_image(root / "plans" / "furniture.png")
    records = [r for r in json.loads((root / "questions.json").read_text()) if "Trajection" in r["task"]]
    assert records
    for r in records:
        areas = []
        for image in r["images"]:
            pixels = read_image(root / image["copied_path"]).astype(int)
            red = (pixels[..., 0] > pixels[..., 1] + 60) & (pixels[..., 0] > pixels[..., 2] + 60)
            blue = (pixels[..., 2] > pixels[..., 0] + 60) & (pixels[..., 2] > pixels[..., 1] + 60)
            assert 100 < blue.sum() < 700
            areas.append(int(red.sum()))
            middle = (plan[..., 0] == 0) & red  # the line is wider than the walker's path: it may touch furniture
            assert middle.sum() < 0.25 * red.sum()
        assert max(areas) < 2.0 * min(areas)  # a path that curls up covers a part of itself


def test_the_local_split_asks_with_less_and_less_to_remember(studio: Any, tmp_path: Path):
    import shutil

    from gst_ros.scenes.files import PlaceFiles
    from gst_ros.scenes.questions.make import make_questions

    recording, others = studio
    root = tmp_path / "local"
    shutil.copytree(recording.files.root, root)
    local = replace(recording, place=replace(recording.place, split="local"), files=PlaceFiles(root), views={})
    outcome = make_questions(local, others, TINY_OPTIONS, set_seed=3, number=0)
    assert set(outcome.counts) == {
        f"{task}/{setting}" for task in ("ed_s", "edist_s") for setting in ("global", "local_video", "local_image")
    }
    found = load_questions(root / "questions.json")
    assert not found.skipped
    settings = {q.uid: q.raw["setting"] for q in found.questions}
    assert all((q.video is None) == (settings[q.uid] == "local_image") for q in found.questions)
    views = json.loads((root / "gt" / "views.json").read_text())
    truths = json.loads((root / "gt" / "questions.json").read_text())
    for uid, setting in settings.items():
        shown = truths[uid]["target"] in views[truths[uid]["view"]]["pixels"]
        assert shown == (setting != "global")


def test_the_same_seed_gives_the_same_questions(studio: Any, asked: tuple[Path, Any], tmp_path: Path):
    import shutil

    from gst_ros.scenes.files import PlaceFiles
    from gst_ros.scenes.questions.make import make_questions

    recording, others = studio
    root = tmp_path / "again"
    shutil.copytree(recording.files.root, root, ignore=shutil.ignore_patterns("marked", "views", "clips", "options"))
    again = replace(recording, files=PlaceFiles(root), views={})
    make_questions(again, others, TINY_OPTIONS, set_seed=3, number=0)
    first = {p.relative_to(asked[0]): p.read_bytes() for p in sorted(asked[0].rglob("*")) if p.is_file()}
    second = {p.relative_to(root): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
    assert first.keys() == second.keys()
    assert [str(name) for name in first if first[name] != second[name]] == []
