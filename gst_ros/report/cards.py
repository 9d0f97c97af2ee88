"""One question as the page shows it: its pictures with the answers drawn in, and how the answer was found."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gst_ros.bench.metrics import ScoringConfig, circular_error_deg, image_direction_from_orientation
from gst_ros.bench.questions import question_texts
from gst_ros.report.judged import Judged, finite
from gst_ros.report.pictures import LEFT_OUT, NoPictureError, Picture, PictureStore, QuestionImages

SIDES_PX, SMALLER_SIDES_PX = (560, 360), (400, 240)
"""Longer side of a shown image, and of one of several options."""
MANY_QUESTIONS = 500
"""With more of them pictures are smaller, so that more of them fit."""

MAX_TEXT_LETTERS = 2000
MAX_PICTURES = 26
_MAX_EVIDENCE, _MAX_VALUE_LETTERS = 40, 300
_SEEN_FROM_ABOVE = ("gp_v", "gp_s", "position", "orientation")
_ARROW_SHARE = 0.36


@dataclass(frozen=True)
class Mark:
    """An answer on a plan, in the shown picture's pixels.

    Attributes:
        which: ``true`` or ``given``.
        x: To the right.
        y: Down.
        to: Where an arrow's head is; None for a point.
    """

    which: str
    x: float
    y: float
    to: tuple[float, float] | None = None


@dataclass(frozen=True)
class Shot:
    """One image of a question.

    Attributes:
        role: ``query view``, ``plan``, or an option's letter.
        picture: What is shown; None where there is only a note.
        note: Why there is no picture.
        marks: The answers drawn on it.
        is_true: Whether it is the right option.
        is_given: Whether it is the option that was given.
    """

    role: str
    picture: Picture | None
    note: str = ""
    marks: tuple[Mark, ...] = ()
    is_true: bool = False
    is_given: bool = False


@dataclass(frozen=True)
class Compass:
    """Directions as unit vectors to the right and down; None for an answer that cannot be read.

    Attributes:
        zero: What 0 degrees mean, for people: ``ahead`` or a side of the plan.
        origin: Where 0 degrees point.
        true: The true direction.
        given: The direction given.
    """

    zero: str
    origin: tuple[float, float]
    true: tuple[float, float] | None
    given: tuple[float, float] | None


@dataclass(frozen=True)
class Lengths:
    """Distances, each also as a share of the longer one, 0 to 1."""

    true: str
    given: str
    true_share: float
    given_share: float


@dataclass(frozen=True)
class Card:
    """All that the page shows of a question; texts are as they came, cut to a bound.

    Attributes:
        key: Its anchor on the page.
        judged: The record and its verdict.
        title: The task's title.
        task: Task key, or the unknown task's name.
        true: The true answer.
        given: What was read from the answer, or that it cannot be read.
        error: How far the two are apart; empty where that means nothing.
        shots: The pictures, with notes in place of missing ones.
        compass: For angles.
        lengths: For distances.
        texts: The prompt's parts.
        answer: The answer as it came, where that says more than ``given``.
        explanation: How it was found, or what failed.
        evidence: The figures behind it: names and values.
        facts: More for people: video, frames, fingerprint.
        seconds: Wall time of the answer; None where it is unknown.
    """

    key: str
    judged: Judged
    title: str
    task: str
    true: str
    given: str
    error: str
    shots: tuple[Shot, ...]
    compass: Compass | None
    lengths: Lengths | None
    texts: tuple[str, ...]
    answer: str
    explanation: str
    evidence: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]
    seconds: float | None


def make_cards(
    judged: Sequence[Judged], images: QuestionImages, store: PictureStore, config: ScoringConfig
) -> list[Card]:
    """Make the card of every question, in the order given.

    Where pictures have to be left out, every task keeps some, and of each task the worst answers keep theirs.
    """
    sides_px = SMALLER_SIDES_PX if len(judged) > MANY_QUESTIONS else SIDES_PX
    found = {index: _take_pictures(judged[index], images, store, sides_px) for index in _by_need(judged)}
    return [_card(item, f"q{index + 1}", found[index], config) for index, item in enumerate(judged)]


def cut(text: str, letters: int = MAX_TEXT_LETTERS) -> str:
    """The text, or its beginning and how much is missing."""
    return text if len(text) <= letters else f"{text[:letters]} … ({len(text) - letters:,} letters more)"


def _by_need(judged: Sequence[Judged]) -> list[int]:
    """Indices in the order in which cards get pictures: the worst of each task, then the next worst of each, ..."""
    of_task: dict[str, list[int]] = {}
    for index, item in enumerate(judged):
        of_task.setdefault(item.record.task, []).append(index)
    ranked = []
    for indices in of_task.values():
        indices.sort(key=lambda index: (judged[index].score is not None, judged[index].score or 0.0, index))
        ranked += [(rank, index) for rank, index in enumerate(indices)]
    return [index for _, index in sorted(ranked)]


def _take_pictures(
    item: Judged, images: QuestionImages, store: PictureStore, sides_px: tuple[int, int]
) -> list[Picture | str]:
    """The pictures of a question; a note in place of each that cannot be shown, or one note for all."""
    if store.full:
        return [LEFT_OUT]
    try:
        paths = images.find(item.record.question)
    except NoPictureError as error:
        return [str(error)]
    side_px = sides_px[item.task is not None and item.task.metric == "acc"]
    taken: list[Picture | str] = []
    for path in paths[:MAX_PICTURES]:
        try:
            taken.append(store.take(path, side_px))
        except NoPictureError as error:
            taken.append(str(error))
    return taken


def _card(item: Judged, key: str, pictures: Sequence[Picture | str], config: ScoringConfig) -> Card:
    record, metric = item.record, item.task.metric if item.task else ""
    true, given = _value(item.truth, metric), _value(record.value, metric)
    compass = _compass(item, true, given, config) if metric == "angle" and item.task else None
    seconds = finite(record.seconds)
    frames = finite(record.frames_received)
    facts = {
        "video": record.video.replace("\\", "/").rsplit("/", 1)[-1],
        "frames taken in": "" if frames is None else f"{frames:,.0f}",
        "read from the answer": record.matched if record.matched != record.pred.strip() else "",
        "prompt SHA-256": record.prompt_sha256[:16],
    }
    return Card(
        key=key,
        judged=item,
        title=item.task.title if item.task else cut(record.task, 100),
        task=item.task.key if item.task else cut(record.task, 100),
        true=_words(true, metric) or cut(json.dumps(record.gt), 200),
        given=_words(given, metric) or _unread(item),
        error=_apart(true, given, metric),
        shots=_shots(item, pictures, true, given, compass),
        compass=compass,
        lengths=_lengths(true, given) if metric == "mra" else None,
        texts=tuple(cut(text) for text in question_texts(record.question)[:20]),
        answer=cut(record.pred) if record.pred.strip() != _plain(given, metric) else "",
        explanation=cut(record.explanation),
        evidence=_evidence(record.evidence),
        facts=tuple((name, cut(value, _MAX_VALUE_LETTERS)) for name, value in facts.items() if value),
        seconds=seconds if seconds is not None and seconds >= 0 else None,
    )


Value = float | tuple[float, float] | str | None


def _value(value: object, metric: str) -> Value:
    """A value of the kind that the metric compares; None for anything else."""
    if metric == "acc":
        return value if isinstance(value, str) and len(value) == 1 else None
    if metric == "point":
        if not isinstance(value, tuple) or len(value) != 2:
            return None
        x, y = finite(value[0]), finite(value[1])
        return None if x is None or y is None else (x, y)
    return finite(value)


def _words(value: Value, metric: str) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return f"({value[0]:.0f}, {value[1]:.0f})"
    if isinstance(value, str):
        return value
    return f"{value:.0f}°".replace("-", "−") if metric == "angle" else f"{value:.2f} m"


def _plain(value: Value, metric: str) -> str:
    """The answer as a prompt asks for it: what need not be shown twice."""
    if isinstance(value, tuple):
        return f"<point>{value[0]:.0f} {value[1]:.0f}</point>"
    if isinstance(value, float):
        return f"{value:.0f}" if metric == "angle" else f"{value:.1f}"
    return value or ""


def _unread(item: Judged) -> str:
    if item.record.status == "failed":
        return "no answer"
    return "could not be read" if item.record.pred.strip() else "empty"


def _apart(true: Value, given: Value, metric: str) -> str:
    if isinstance(true, tuple) and isinstance(given, tuple):
        return f"{math.hypot(true[0] - given[0], true[1] - given[1]):.0f} of 999 apart"
    if isinstance(true, float) and isinstance(given, float):
        if metric == "angle":
            return f"{circular_error_deg(true, given):.0f}° apart"
        if metric == "mra" and true > 0:
            return f"{100 * (given - true) / true:+.0f} %".replace("-", "−")
    return ""


def _compass(item: Judged, true: Value, given: Value, config: ScoringConfig) -> Compass:
    on_plan = item.task is not None and item.task.key == "orientation"

    def direction(value: Value) -> tuple[float, float] | None:
        if not isinstance(value, float):
            return None
        if on_plan:
            return image_direction_from_orientation(value, config)
        angle = math.radians(value)  # ahead is up, and left is positive
        return -math.sin(angle), -math.cos(angle)

    zero = f"{config.orientation_zero} on the plan" if on_plan else "ahead"
    return Compass(zero, direction(0.0) or (0.0, -1.0), direction(true), direction(given))


def _lengths(true: Value, given: Value) -> Lengths | None:
    if not isinstance(true, float):
        return None
    other = given if isinstance(given, float) and given > 0 else 0.0
    longest = max(true, other, 1e-9)
    return Lengths(_words(true, "mra"), _words(given, "mra") or "—", true / longest, other / longest)


def _shots(
    item: Judged, pictures: Sequence[Picture | str], true: Value, given: Value, compass: Compass | None
) -> tuple[Shot, ...]:
    task = item.task
    if task is not None and task.metric == "acc" and len(pictures) > 1:
        letters = [chr(ord("A") + index) for index in range(len(pictures))]
        return tuple(
            Shot(letter, *_shown(picture), (), letter == true, letter == given)
            for letter, picture in zip(letters, pictures, strict=True)
        )
    shots = []
    for index, picture in enumerate(pictures):
        image, note = _shown(picture)
        last = index == len(pictures) - 1
        plan = task is not None and task.key in _SEEN_FROM_ABOVE and last
        role = "plan" if plan else "query view" if index == 0 else f"image {index + 1}"
        if len(pictures) == 1 and note:
            role = "pictures"
        marks = _marks(image, true, given, compass) if image and plan else ()
        shots.append(Shot(role, image, note, marks))
    return tuple(shots)


def _shown(picture: Picture | str) -> tuple[Picture | None, str]:
    return (None, picture) if isinstance(picture, str) else (picture, "")


def _marks(image: Picture, true: Value, given: Value, compass: Compass | None) -> tuple[Mark, ...]:
    marks = []
    for which, value in (("true", true), ("given", given)):
        if isinstance(value, tuple):
            # The grid runs from 0 to 999 over the whole image; what lies outside is drawn at its edge.
            x, y = (min(max(v, 0.0), 999.0) / 999.0 for v in value)
            marks.append(Mark(which, round(x * image.width, 1), round(y * image.height, 1)))
        direction = getattr(compass, which) if compass else None
        if direction is not None:
            x, y, length = image.width / 2, image.height / 2, _ARROW_SHARE * min(image.width, image.height)
            head = (round(x + length * direction[0], 1), round(y + length * direction[1], 1))
            marks.append(Mark(which, x, y, head))
    return tuple(marks)


def _evidence(evidence: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    rows = []
    for name, value in evidence.items():
        if name != "step":
            text = value if isinstance(value, str) else json.dumps(value)
            rows.append((cut(str(name), 80), cut(text, _MAX_VALUE_LETTERS)))
    return tuple(rows[:_MAX_EVIDENCE])
