"""Reading the true answers of question files.

Strict where :mod:`gst_ros.bench.answers` is forgiving: a truth comes in the official form or is an error.
"""

from __future__ import annotations

import math
import re
from numbers import Real
from typing import Any

from gst_ros.bench.answers.parsed import AnswerValue
from gst_ros.bench.answers.points import GRID_MAX
from gst_ros.bench.answers.text import to_text
from gst_ros.bench.tasks import Task
from gst_ros.errors import QuestionError

_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,20})?")
_POINT = re.compile(
    r"(?:<point>)? ?[(\[]? ?(\d{1,4}(?:\.\d{1,20})?)(?: ?, ?| )(\d{1,4}(?:\.\d{1,20})?) ?[)\]]? ?(?:</point>)?"
)
_MINUS = str.maketrans(dict.fromkeys("\u2212\u2013", "-"))


def parse_truth(task: Task, raw: Any, *, options: int = 4) -> AnswerValue:
    """The value of a question's own answer.

    Args:
        task: The question's task.
        raw: The field as it stands in the file: a letter, a number or its text ("-134"), "<point>323 292</point>" or
            a list of two numbers.
        options: Number of options of a letter question.

    Returns:
        A letter, degrees in [-180, 180], metres, or a point on the 0 to 999 grid.

    Raises:
        QuestionError: The answer is missing, not of the task's kind, or out of its range (a distance of 0, too).
    """
    kind = task.answer_kind
    if kind == "letter":
        letter = raw.strip().strip("().").upper() if isinstance(raw, str) else ""
        allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:options]
        if len(letter) != 1 or letter not in allowed:
            raise _refused(task, raw, f"a letter from A to {allowed[-1]}")
        return letter
    if kind == "point_999":
        return _point(task, raw)
    number = _number(raw)
    if kind == "angle_deg":
        if number is None or not -180.0 <= number <= 180.0:
            raise _refused(task, raw, "degrees in [-180, 180]")
        return number
    if number is None or number <= 0.0:
        raise _refused(task, raw, "metres, above 0 (a relative error needs that)")
    return number


def _number(raw: Any) -> float | None:
    if isinstance(raw, bool):
        return None
    if isinstance(raw, Real):
        try:
            number = float(raw)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    if isinstance(raw, str):
        text = raw.strip().translate(_MINUS)
        return float(text) if _NUMBER.fullmatch(text) else None
    return None


def _point(task: Task, raw: Any) -> tuple[float, float]:
    numbers: list[float | None] = []
    if isinstance(raw, (list, tuple)):
        numbers = [_number(item) for item in raw]
    elif isinstance(raw, str) and (match := _POINT.fullmatch(" ".join(raw.split()))):
        numbers = [float(match[1]), float(match[2])]
    if len(numbers) == 2:
        x, y = numbers
        if x is not None and y is not None and 0.0 <= x <= GRID_MAX and 0.0 <= y <= GRID_MAX:
            return x, y
    raise _refused(task, raw, "<point>x y</point> with both in [0, 999]")


def _refused(task: Task, raw: Any, wanted: str) -> QuestionError:
    shown = repr(raw) if isinstance(raw, (str, int, float, type(None))) else to_text(raw)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return QuestionError(
        f"{shown} is no answer to a question of task {task.key}", field="answer", remedy=f"it must be {wanted}"
    )
