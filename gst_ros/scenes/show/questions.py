"""A card for each question: what it shows, with its true answer drawn in.

The answer is the one of the question file, as it is scored. Where the camera stood and where the object is comes from
``gt/``: an arrow that does not hit its object would show that the two disagree.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gst_ros.bench.answers import format_answer
from gst_ros.bench.metrics import ScoringConfig, image_direction_from_orientation
from gst_ros.bench.questions import Question
from gst_ros.scenes.place import SceneError
from gst_ros.scenes.reading import MAKE_AGAIN
from gst_ros.scenes.show import drawing
from gst_ros.scenes.show.drawing import At, Image
from gst_ros.scenes.show.material import Material

SCORING = ScoringConfig()
OVERVIEW_PLAN = "furniture.png"
LETTERS = "ABCD"


@dataclass(frozen=True)
class Picture:
    """A picture of a sheet.

    Attributes:
        caption: A few words.
        image: H x W x 3 bytes, of any size.
    """

    caption: str
    image: Image


@dataclass(frozen=True)
class Card:
    """A question with its answer.

    Attributes:
        task: Task key, with the setting of GST-Bench-Local if it has one.
        title: The task's name for people.
        answer: The true answer, as it is written.
        uid: The question's identifier.
        texts: The prompt's parts.
        pictures: What it shows, with the answer drawn in.
    """

    task: str
    title: str
    answer: str
    uid: str
    texts: tuple[str, ...]
    pictures: tuple[Picture, ...]


def choose(questions: Sequence[Question], per_task: int) -> list[Question]:
    """The first questions of each task and setting, in their order.

    Args:
        questions: All questions of a place.
        per_task: How many of each; 0 for all.
    """
    seen: defaultdict[str, int] = defaultdict(int)
    result = []
    for question in questions:
        seen[task_name(question)] += 1
        if not per_task or seen[task_name(question)] <= per_task:
            result.append(question)
    return result


def task_name(question: Question) -> str:
    """Task key, with the setting of GST-Bench-Local if the question has one."""
    setting = question.raw.get("setting")
    return f"{question.task.key}/{setting}" if setting else question.task.key


def make_cards(material: Material, questions: Iterable[Question]) -> list[Card]:
    """Draw the cards of questions.

    Args:
        material: The place that they are about.
        questions: The questions.
    """
    chosen = list(questions)
    material.read(_frames_wanted(material, chosen))
    return [_card(material, question) for question in chosen]


def _frames_wanted(material: Material, questions: Iterable[Question]) -> dict[str, list[int]]:
    wanted: defaultdict[str, list[int]] = defaultdict(list)
    for question in questions:
        truth = material.truth.answers[question.uid]
        if question.video is None:
            continue
        if "target" in truth:
            wanted[_video(question)].append(_best_frame(material, truth))
        elif "frames" in truth:
            wanted[_video(question)] += [0, truth["frames"][1] - truth["frames"][0]]
    return wanted


def _card(material: Material, question: Question) -> Card:
    truth = material.truth.answers[question.uid]
    kind = question.task.metric
    if kind == "acc":
        pictures = _choice(material, question, truth)
    elif "target" in truth:
        pictures = _object(material, question, truth)
    else:
        pictures = _own_place(material, question, truth)
    answer = format_answer(question.task, question.truth)
    unit = {"angle": "°", "mra": " m"}.get(kind, "")
    return Card(task_name(question), question.task.title, answer + unit, question.uid, question.texts, tuple(pictures))


def _object(material: Material, question: Question, truth: dict[str, Any]) -> list[Picture]:
    """Direction, distance or position of an object."""
    pictures = []
    target = truth["target"]
    if question.video is not None:
        number = _best_frame(material, truth)
        seen = material.frame(_video(question), number)
        if question.task.key.endswith("_s"):
            drawing.draw_box(seen, material.truth.facts[target]["largest_box"])
        pictures.append(Picture(f"{target}, frame {number}", seen))
    if question.task.metric == "point":
        plan = material.image(f"plans/{truth['plan']}")
        _draw_grid_point(plan, question.truth)
        return [*pictures, Picture("position", plan)]
    view = material.image(f"views/{truth['view']}.jpg")
    pose = material.view(truth["view"])
    plan = material.image(f"plans/{OVERVIEW_PLAN}")
    frame = material.plan_frame(OVERVIEW_PLAN)
    eye = frame.pixel(np.array(pose["position_m"][:2]))
    drawing.draw_polygon(plan, frame.pixel(material.footprint_m(target)))
    if question.task.metric == "angle":
        drawing.draw_dial(view, _number(question))
        heading = math.radians(pose["yaw_deg"] + _number(question))
        reach = _range_m(material, pose, target) / frame.m_per_px
        tip = (eye[0] + reach * math.cos(heading), eye[1] - reach * math.sin(heading))
        drawing.draw_arrow(plan, eye, tip)
    else:
        drawing.draw_badge(view, f"{_number(question):g} m", drawing.ANSWER)
        drawing.draw_circle(plan, eye, _number(question) / frame.m_per_px)
    _draw_camera(plan, eye, pose["yaw_deg"])
    return [*pictures, Picture("query view", view), Picture("camera and object", plan)]


def _own_place(material: Material, question: Question, truth: dict[str, Any]) -> list[Picture]:
    """Position or orientation of the query view."""
    view = material.image(f"views/{truth['view']}.jpg")
    pose = material.view(truth["view"])
    plan = material.image(f"plans/{truth['plan']}")
    eye = material.plan_frame(truth["plan"]).pixel(np.array(pose["position_m"][:2]))
    _draw_camera(plan, eye, pose["yaw_deg"])
    if question.task.metric == "point":
        _draw_grid_point(plan, question.truth)
    else:
        dx, dy = image_direction_from_orientation(_number(question), SCORING)
        reach = 40 * drawing.unit_px(plan)
        drawing.draw_arrow(plan, eye, (eye[0] + reach * dx, eye[1] + reach * dy))
    return [Picture("query view", view), Picture(question.task.title.lower(), plan)]


def _choice(material: Material, question: Question, truth: dict[str, Any]) -> list[Picture]:
    """One of four images; for a clip also its first and last frame."""
    pictures = []
    if "frames" in truth:
        last = truth["frames"][1] - truth["frames"][0]
        pictures = [
            Picture("first frame", material.frame(_video(question), 0)),
            Picture("last frame", material.frame(_video(question), last)),
        ]
    options = truth["options"]
    if len(options) != len(question.images):
        problem = f"says what {len(options)} options are, the question has {len(question.images)}"
        file = material.truth.root / "gt" / "questions.json"
        raise SceneError(problem, file=file, field=f"{question.uid}.options", remedy=MAKE_AGAIN)
    for letter, path, facts in zip(LETTERS, question.images, options, strict=True):
        image = material.image(path)
        correct = letter == question.truth
        if correct:
            drawing.draw_border(image)
        drawing.draw_badge(image, letter, drawing.ANSWER if correct else drawing.INK)
        what = facts.get("path") or facts.get("place") or ", ".join(facts.get("edits", ())) or "the place itself"
        pictures.append(Picture(what, image))
    return pictures


def _draw_camera(plan: Image, eye: At, yaw_deg: float) -> None:
    drawing.draw_ray(plan, eye, yaw_deg - 90.0, 22, drawing.CAMERA)
    drawing.draw_point(plan, eye, drawing.CAMERA, 4)


def _draw_grid_point(plan: Image, point_999: Any) -> None:
    height, width = plan.shape[:2]
    drawing.draw_point(plan, (point_999[0] * width / 999 - 0.5, point_999[1] * height / 999 - 0.5))


def _range_m(material: Material, pose: dict[str, Any], target: str) -> float:
    """Horizontal distance of an object's middle from a query view's camera."""
    return math.dist(pose["position_m"][:2], material.truth.objects[target]["position_m"][:2])


def _best_frame(material: Material, truth: dict[str, Any]) -> int:
    return int(material.truth.facts[truth["target"]]["best_frame"])


def _video(question: Question) -> str:
    return str(question.raw["copied_video_path"])


def _number(question: Question) -> float:
    assert isinstance(question.truth, (int, float))
    return float(question.truth)
