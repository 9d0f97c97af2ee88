"""From what a model wrote to a value: ``parse_answer``; and from a question's own answer: ``parse_truth``.

- ``reading``: the order in which an answer is looked for (thinking, explicit answers, refusals, last line, prose).
- ``letters`` (with ``letter_patterns`` and ``option_scores``), ``quantities`` (with ``numbers`` and ``surroundings``),
  ``points``: what an answer of each kind looks like.
- ``text``: plain text from anything a prediction may be.
- ``truth``: the strict reading of question files.
- ``parsed``: the result.

An answer that is not there is never made up: refusals, ranges, compass words and letters that are only talked about
give no value, and the result says why.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gst_ros.bench.answers.letters import LetterReader
from gst_ros.bench.answers.parsed import AnswerValue, ParsedAnswer, ParseStatus
from gst_ros.bench.answers.points import PointReader
from gst_ros.bench.answers.quantities import QuantityReader
from gst_ros.bench.answers.reading import Reader, read
from gst_ros.bench.answers.truth import parse_truth
from gst_ros.bench.metrics import ScoringConfig
from gst_ros.bench.tasks import Task

__all__ = ["AnswerValue", "ParseStatus", "ParsedAnswer", "format_answer", "parse_answer", "parse_truth"]


def parse_answer(task: Task, text: Any, *, options: int = 4, config: ScoringConfig | None = None) -> ParsedAnswer:
    """Read one answer. Never raises on any ``text``.

    Args:
        task: The question's task.
        text: What was answered: text, or whatever a prediction file holds (numbers, lists, None, bytes).
        options: Number of options of a letter question.
        config: Gives the positive sense of orientation answers; the default is left.

    Returns:
        Its ``value`` is None unless ``status`` is ``parsed``. Degrees are in [-180, 180], distances in metres, points
        on the 0 to 999 grid.
    """
    clockwise = config is not None and task.key == "orientation" and config.orientation_sense == "right"
    return read(text, _reader(task.answer_kind, options, not clockwise))


def format_answer(task: Task, value: AnswerValue) -> str:
    """Write a value the way the prompt asks for it: a letter, whole degrees, metres with one decimal, a point tag.

    Raises:
        TypeError: The value is not of the task's kind.
    """
    kind = task.answer_kind
    if kind == "letter" and isinstance(value, str):
        return value
    if kind == "point_999" and isinstance(value, tuple):
        return f"<point>{round(value[0])} {round(value[1])}</point>"
    if kind == "angle_deg" and isinstance(value, (int, float)):
        return str(round(value))
    if kind == "distance_m" and isinstance(value, (int, float)):
        return f"{value:.1f}"
    raise TypeError(f"{value!r} is no answer to a question of task {task.key}")


@lru_cache(maxsize=64)
def _reader(kind: str, options: int, left_positive: bool) -> Reader:
    if kind == "letter":
        return LetterReader(options)
    if kind == "point_999":
        return PointReader()
    return QuantityReader(lengths=kind == "distance_m", left_positive=left_positive)
