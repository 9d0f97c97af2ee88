"""The answerer ``memory`` on maps whose truth is known: conventions, steps, and what is done when a part is missing."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest

from gst_ros.bench.tasks import TASKS
from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.plan_match import PlanRanking, PlanRegistration
from gst_ros.mapping.relocalise import Located, Lost
from gst_ros.media.images import encode_jpeg
from gst_ros.memory.keyframes import KeyframeStore
from gst_ros.memory.silhouettes import BOX, Silhouettes
from gst_ros.memory.walks import Mark, Walk
from gst_ros.reasoning.answerer import Answer, Query, Recall
from gst_ros.reasoning.memory_answers import MemoryAnswerer
from gst_ros.reasoning.memory_settings import MemoryAnswererConfig

CAMERA, MOUNT = PinholeCamera.centred(640, 512, 335.3), CameraMount(1.5, 35.0)
THING = np.array([3.0, 1.0])
SIZE, HEIGHT_M = np.array([0.5, 0.5]), 0.8
VIEW = encode_jpeg(np.zeros((8, 8, 3), np.uint8))
PLAN = encode_jpeg(np.full((8, 8, 3), 255, np.uint8))


def located(x_m: float, y_m: float, yaw_deg: float, confidence: float = 0.95) -> Located:
    pose = np.array([x_m, y_m, math.radians(yaw_deg)])
    return Located(pose, np.diag([1e-4, 1e-4, 1e-5]), 0.0, 1.5, 80, confidence, (3, 1), {})


def registration(yaw_rad: float = 0.0, **changes: Any) -> PlanRegistration:
    """A plan of 1000 x 1000 pixels, 1 cm each, the map's origin in its middle."""
    return replace(PlanRegistration(1000, 1000, 0.01, yaw_rad, (5.0, -5.0), 0.9, 0.9, 0.9, 0.3), **changes)


class FakeMap:
    """A map that says what it is told to."""

    camera, mount, main_part, relative_scale_std = CAMERA, MOUNT, 0, 0.0

    def __init__(self, view: Located | Lost, plan: PlanRegistration | None = None, best: int = 0) -> None:
        self.asked: list[str] = []
        self._view, self._plan, self._best = view, plan, best
        angles = np.radians(np.arange(120, 300, 12))
        places = THING + 2.2 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        poses = np.column_stack([places, angles + math.pi])
        stamps = np.arange(len(poses)) * 100_000_000
        self.trajectory = SimpleNamespace(stamps_ns=stamps, poses=poses, parts=np.zeros(len(poses), int))
        free = np.full((100, 100), -1, np.int8)
        free[20:80, 20:80] = 0
        self.grid = OccupancyGrid(free, 0.05, (0.0, -2.0))

    def locate(self, image: np.ndarray) -> Located | Lost:
        self.asked.append("locate")
        return self._view

    def register_plan(self, image: np.ndarray) -> PlanRegistration:
        self.asked.append("register")
        if self._plan is None:
            raise MapError("the image shows nothing")
        return self._plan

    def rank_plans(self, images: list[np.ndarray]) -> PlanRanking:
        return PlanRanking(self._best, tuple(None for _ in images), 0.2)

    def marks(self) -> tuple[Mark, ...]:
        boxes = np.zeros((len(self.trajectory.poses), 4))
        wide = np.tile([-1e4, -1e4, 1e4, 1e4], (len(boxes), 1)).astype(float)
        excess = Silhouettes(wide, self.trajectory.poses, CAMERA, MOUNT, -1e6).excess_px(
            THING, SIZE, 0.0, HEIGHT_M, 0.0, BOX
        )
        boxes = (wide.T + excess * np.array([-1.0, -1.0, 1.0, 1.0])[:, None]).T
        return tuple(
            Mark(int(stamp), tuple(box), 1.0) for stamp, box in zip(self.trajectory.stamps_ns, boxes, strict=True)
        )


def ask(place: FakeMap, task: str, *images: bytes, marks: bool = True, **settings: Any) -> Answer:
    walk = Walk(place, place.marks() if marks else (), "as told")  # type: ignore[arg-type]
    answerer = MemoryAnswerer(MemoryAnswererConfig(**settings))
    return answerer.answer(Query("u", task, images=images), Recall(KeyframeStore(), lambda: walk))


@pytest.mark.parametrize(
    ("pose", "angle_deg"),
    [((1.0, 1.0, 0.0), 0), ((1.0, 1.0, 90.0), -90), ((3.0, 4.0, 0.0), -90), ((5.0, 1.0, 10.0), 170)],
)
def test_directions_are_positive_to_the_left(pose: tuple[float, float, float], angle_deg: int) -> None:
    answer = ask(FakeMap(located(*pose)), "ed_v", VIEW)
    assert abs((int(answer.text) - angle_deg + 180) % 360 - 180) <= 2
    assert answer.explanation.startswith("map: ")
    assert answer.confidence is not None and 0.8 < answer.confidence <= 0.95
    assert answer.details["step"] == "map" and answer.details["view_keyframes"] == [3, 1]


def test_distances_are_on_the_floor_unless_asked_otherwise() -> None:
    place = FakeMap(located(0.0, 1.0, 0.0))
    assert float(ask(place, "edist_v", VIEW).text) == pytest.approx(3.0, abs=0.11)
    straight = ask(FakeMap(located(2.5, 1.0, 0.0)), "edist_v", VIEW, distance="straight")
    assert float(straight.text) == pytest.approx(math.hypot(0.5, 1.5 - HEIGHT_M / 2), abs=0.11)


def test_positions_on_plans_run_from_0_to_999_down_the_image() -> None:
    plan = registration()
    x, y = (int(n) for n in ask(FakeMap(located(0, 0, 0), plan), "gp_v", PLAN).text[7:-8].split())
    assert (x, y) == (pytest.approx(799, abs=8), pytest.approx(399, abs=8))
    assert ask(FakeMap(located(-2.0, -1.0, 0), plan), "position", VIEW, PLAN).text == "<point>300 599</point>"
    assert ask(FakeMap(located(90.0, -90.0, 0), plan), "position", VIEW, PLAN).text == "<point>999 999</point>"


@pytest.mark.parametrize(
    ("yaw_deg", "turn_deg", "heading"), [(90, 0, "0"), (180, 0, "90"), (0, 0, "-90"), (0, 90, "0")]
)
def test_headings_are_from_up_and_positive_to_the_left(yaw_deg: float, turn_deg: float, heading: str) -> None:
    plan = registration(math.radians(turn_deg))
    assert ask(FakeMap(located(0, 0, yaw_deg), plan), "orientation", VIEW, PLAN).text == heading


def test_the_best_plan_is_named_by_its_letter() -> None:
    answer = ask(FakeMap(located(0, 0, 0), best=2), "tds_hard", PLAN, VIEW, PLAN, VIEW)
    assert answer.text == "C" and answer.confidence is not None and answer.confidence > 0.9


def test_the_walked_path_is_chosen() -> None:
    place = FakeMap(located(0, 0, 0))
    place.grid.cells[:] = -1  # the shape alone decides
    walk = (place.trajectory.poses[:, :2] - THING) * 60 + 256
    straight = np.column_stack([np.linspace(100, 400, 16), np.full(16, 256.0)])
    images = []
    for path in (straight, walk * [1, -1] + [0, 512], walk):
        image = np.full((512, 640, 3), 255, np.uint8)
        cv2.polylines(image, [path.astype(np.int32)], False, (255, 0, 0), 4)
        cv2.circle(image, path[0].astype(int).tolist(), 8, (0, 0, 255), -1)
        images.append(cv2.imencode(".png", image[..., ::-1])[1].tobytes())
    answer = ask(place, "trajectory", *images)
    assert answer.text == "B", "not the straight one, and not the mirrored one"
    assert answer.details["errors_m"][1] < 0.1


def test_an_unsure_view_is_used_and_told() -> None:
    lost = Lost("too few", located(1.0, 1.0, 90.0, confidence=0.3))
    answer = ask(FakeMap(lost), "ed_v", VIEW)
    assert abs(int(answer.text) + 90) <= 2
    assert answer.explanation.startswith("unsure pose: ") and answer.confidence is not None and answer.confidence <= 0.3


def test_without_a_view_what_is_usual_is_said() -> None:
    place = FakeMap(Lost("nothing alike"), registration())
    usual = ask(place, "edist_v", VIEW)
    assert usual.details["step"] == "prior" and 0.5 < float(usual.text) < 3.0
    middle = ask(place, "position", VIEW, PLAN)
    x, y = (int(n) for n in middle.text[7:-8].split())
    assert middle.details["step"] == "prior" and (x, y) == (pytest.approx(750, abs=20), pytest.approx(450, abs=20))
    for task, images in (("ed_v", (VIEW,)), ("orientation", (VIEW, PLAN))):
        guess = ask(place, task, *images)
        assert guess.details["step"] == "guess" and "not recognised" in guess.explanation


def test_what_cannot_be_known_is_guessed_with_its_reason() -> None:
    place = FakeMap(located(0, 0, 0))
    assert "no mark was seen" in ask(place, "ed_v", VIEW, marks=False).explanation
    assert "shows nothing" in ask(place, "gp_v", PLAN).explanation
    weak = FakeMap(located(0, 0, 0), registration(agreement=0.1))
    assert "does not lie on the plan" in ask(weak, "position", VIEW, PLAN).explanation
    assert "names" in ask(place, "ed_s", VIEW).explanation
    first, second = (ask(place, "ed_s", VIEW, answerer_seed=seed).text for seed in (1, 2))
    assert first == ask(place, "ed_s", VIEW, answerer_seed=1).text != second


def test_every_task_gets_an_answer_without_a_map() -> None:
    def nothing() -> Walk:
        raise MapError("there is no frame to make a map of")

    for task in TASKS:
        answer = MemoryAnswerer(MemoryAnswererConfig()).answer(
            Query("u", task, images=(VIEW,) * 4), Recall(KeyframeStore(), nothing)
        )
        assert answer.text and answer.details["step"] == "guess"


def test_a_view_and_a_plan_are_worked_out_once_for_all_questions() -> None:
    place = FakeMap(located(1.0, 1.0, 0.0), registration())
    walk = Walk(place, place.marks(), "as told")  # type: ignore[arg-type]
    answerer, recall = MemoryAnswerer(MemoryAnswererConfig()), Recall(KeyframeStore(), lambda: walk)
    for task in ("position", "orientation", "position"):
        answerer.answer(Query("u", task, images=(VIEW, PLAN)), recall)
    assert sorted(place.asked) == ["locate", "register"]


def test_a_mark_that_flashes_up_once_is_not_believed() -> None:
    place = FakeMap(located(1.0, 1.0, 0.0))
    marks = place.marks()
    trajectory = place.trajectory
    later = trajectory.stamps_ns[-1] + np.arange(1, 11) * 100_000_000
    trajectory.stamps_ns = np.concatenate([trajectory.stamps_ns, later])
    trajectory.poses = np.concatenate([trajectory.poses, np.tile([9.0, -7.0, 0.3], (10, 1))])
    trajectory.parts = np.zeros(len(trajectory.poses), int)
    flash = Mark(int(later[7]), (300.0, 2.0, 320.0, 20.0), 0.8)
    walk = Walk(place, (*marks, flash), "as told")  # type: ignore[arg-type]
    answer = MemoryAnswerer(MemoryAnswererConfig()).answer(
        Query("u", "edist_v", images=(VIEW,)), Recall(KeyframeStore(), lambda: walk)
    )
    assert float(answer.text) == pytest.approx(2.0, abs=0.11)
    assert answer.details["object_views"] == len(marks)
    alone = Walk(place, (flash,), "as told")  # type: ignore[arg-type]
    assert (
        MemoryAnswerer(MemoryAnswererConfig())
        .answer(Query("u", "edist_v", images=(VIEW,)), Recall(KeyframeStore(), lambda: alone))
        .text
    ), "better than nothing"
