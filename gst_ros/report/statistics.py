"""Scores by scene and by confidence, and where points are lost. All scores here are on a 0-100 scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gst_ros.bench.tasks import TASKS
from gst_ros.report.judged import Judged

BINS = 10
"""Points of the reliability curve, at most."""


@dataclass(frozen=True)
class Group:
    """Answers that have something in common.

    Attributes:
        name: What.
        answers: How many are scored.
        score: Their mean score, 0 to 100.
        standard_error: Of the mean, in points; None for a single answer.
    """

    name: str
    answers: int
    score: float
    standard_error: float | None


@dataclass(frozen=True)
class LostPoints:
    """Where the points of a task go.

    Attributes:
        task: Task key; ``average`` for the mean of the tasks that have answers.
        title: For people.
        answers: How many are scored.
        score: 0 to 100.
        lost: Step to the points lost by its answers; with the score they sum to 100.
    """

    task: str
    title: str
    answers: int
    score: float
    lost: dict[str, float]


@dataclass(frozen=True)
class Bin:
    """Answers of similar confidence: one point of the reliability curve.

    Attributes:
        low: Least confidence among them, 0 to 1.
        high: Greatest.
        confidence: Their mean confidence, 0 to 100 as scores are.
        score: Their mean score, 0 to 100.
        standard_error: Of the mean score, in points; None for a single answer.
        answers: How many.
    """

    low: float
    high: float
    confidence: float
    score: float
    standard_error: float | None
    answers: int


@dataclass(frozen=True)
class Reliability:
    """How much confidence says about being right.

    Attributes:
        bins: From the least confident to the most.
        calibration_error: Mean distance between confidence and score over the bins, weighted by answers, in points.
        less_sure: The less confident half; None where all answers are equally confident.
        more_sure: The more confident half.
    """

    bins: tuple[Bin, ...]
    calibration_error: float
    less_sure: Group | None
    more_sure: Group | None


def by_scene(judged: Sequence[Judged]) -> list[Group]:
    """Scores by scene, the worst first: plain means over the answers of all tasks."""
    scores: dict[str, list[float]] = {}
    for item in judged:
        if item.score is not None:
            scores.setdefault(item.record.scene, []).append(100.0 * item.score)
    groups = [_group(name, values) for name, values in scores.items()]
    return sorted(groups, key=lambda group: (group.score, group.name))


def by_step(judged: Sequence[Judged], steps: Sequence[str]) -> list[Group]:
    """Scores by the step that answered: plain means over the answers of all tasks."""
    found = []
    for step in steps:
        values = [100.0 * item.score for item in judged if item.step == step and item.score is not None]
        if values:
            found.append(_group(step, values))
    return found


def lost_points(judged: Sequence[Judged], steps: Sequence[str]) -> list[LostPoints]:
    """Where the points are lost, task by task, and at last for the average; empty without a scored answer."""
    rows = []
    for key, task in TASKS.items():
        mine = [item for item in judged if item.task is task and item.score is not None]
        if mine:
            lost = {
                step: 100.0 * math.fsum(1.0 - (item.score or 0.0) for item in mine if item.step == step) / len(mine)
                for step in steps
            }
            score = 100.0 * math.fsum(item.score or 0.0 for item in mine) / len(mine)
            rows.append(LostPoints(key, task.title, len(mine), score, lost))
    if rows:
        mean = {step: math.fsum(row.lost[step] for row in rows) / len(rows) for step in steps}
        score = math.fsum(row.score for row in rows) / len(rows)
        rows.append(LostPoints("average", "Average", sum(row.answers for row in rows), score, mean))
    return rows


def reliability(judged: Sequence[Judged]) -> Reliability | None:
    """The reliability curve: bins of about equally many answers; equal confidences are never parted.

    Returns:
        None where no scored answer has a confidence.
    """
    pairs = sorted(
        (item.confidence, 100.0 * item.score)
        for item in judged
        if item.score is not None and item.confidence is not None
    )
    if not pairs:
        return None
    bins = [_bin(part) for part in _parts(pairs, BINS)]
    error = math.fsum(b.answers * abs(b.confidence - b.score) for b in bins) / len(pairs)
    halves = _parts(pairs, 2)
    if len(halves) < 2:
        return Reliability(tuple(bins), error, None, None)
    less, more = ([score for _, score in half] for half in halves)
    return Reliability(tuple(bins), error, _group("less sure half", less), _group("more sure half", more))


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of the values does not exceed; None of nothing."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _parts(pairs: Sequence[tuple[float, float]], count: int) -> list[Sequence[tuple[float, float]]]:
    """Cut sorted pairs into ``count`` parts, each cut at the nearest change of the first number."""
    changes = [i for i in range(1, len(pairs)) if pairs[i][0] != pairs[i - 1][0]]
    wanted = [len(pairs) * part / count for part in range(1, count)]
    cuts = (
        sorted({min(changes, key=lambda change: (abs(change - place), change)) for place in wanted}) if changes else []
    )
    return [pairs[start:end] for start, end in zip([0, *cuts], [*cuts, len(pairs)], strict=True)]


def _bin(pairs: Sequence[tuple[float, float]]) -> Bin:
    group = _group("", [score for _, score in pairs])
    confidence = 100.0 * math.fsum(confidence for confidence, _ in pairs) / len(pairs)
    return Bin(pairs[0][0], pairs[-1][0], confidence, group.score, group.standard_error, group.answers)


def _group(name: str, scores: Sequence[float]) -> Group:
    mean = math.fsum(scores) / len(scores)
    error = None
    if len(scores) > 1:
        variance = math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)
        error = math.sqrt(variance / len(scores))
    return Group(name, len(scores), mean, error)
