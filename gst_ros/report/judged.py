"""Every record of a run with its score, true answer, verdict and the step that answered."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gst_ros.bench.answers import AnswerValue, parse_truth
from gst_ros.bench.metrics import ScoringConfig
from gst_ros.bench.run_data import AnswerRecord
from gst_ros.bench.scoring import MAX_OPTIONS, AnswerScorer, UnscorableError
from gst_ros.bench.tasks import TASKS, Task
from gst_ros.errors import QuestionError

VERDICTS = ("right", "partly", "wrong", "failed", "not scored")

KNOWN_STEPS = ("map", "unsure pose", "prior", "guess")
"""Steps of the answerer ``memory``, from the best founded to the least; others come after them."""
NO_STEP = "not said"
OTHER_STEPS = "other steps"
MAX_STEPS = 8
"""Different steps that are told apart; an answerer that invents more gets the rest counted together."""
_STEP_LETTERS = 40


@dataclass(frozen=True)
class Judged:
    """One record, judged.

    Attributes:
        record: The record.
        task: Its task; None where it is unknown.
        score: 0 to 1; None for a failed question and for one that cannot be scored.
        truth: The true answer; None where it makes no sense.
        step: Which step answered.
        problem: Why it cannot be scored; empty where it is.
    """

    record: AnswerRecord
    task: Task | None
    score: float | None
    truth: AnswerValue | None
    step: str
    problem: str = ""

    @property
    def verdict(self) -> str:
        """One of :data:`VERDICTS`: all points, some, none, no answer, or nothing to score it against."""
        if self.record.status == "failed":
            return "failed"
        if self.score is None:
            return "not scored"
        if self.score >= 1.0:
            return "right"
        return "partly" if self.score > 0.0 else "wrong"

    @property
    def confidence(self) -> float | None:
        """0 to 1; None where the record has none that makes sense."""
        confidence = finite(self.record.confidence)
        return None if confidence is None else min(max(confidence, 0.0), 1.0)


def finite(value: object) -> float | None:
    """A number that can be drawn; None for anything else. Records may hold NaN, or integers beyond any float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def judge(records: Iterable[AnswerRecord], config: ScoringConfig) -> list[Judged]:
    """Judge records as :func:`gst_ros.bench.scoring.score_records` scores them.

    Returns:
        In the order of tasks, scenes and uids, whatever the order in which they were asked.
    """
    scorer = AnswerScorer(config)
    judged = [_judged(record, scorer) for record in records]
    kept = _kept_steps({item.step for item in judged})
    order = {key: index for index, key in enumerate(TASKS)}
    judged = [item if item.step in kept else replace(item, step=OTHER_STEPS) for item in judged]
    return sorted(
        judged,
        key=lambda item: (order[item.task.key] if item.task else len(order), item.record.scene, item.record.uid),
    )


def steps_of(judged: Iterable[Judged]) -> list[str]:
    """The steps that answered, in the order of :data:`KNOWN_STEPS`, others behind them."""
    return sorted({item.step for item in judged}, key=_step_rank)


def _judged(record: AnswerRecord, scorer: AnswerScorer) -> Judged:
    step = record.evidence.get("step")
    step = " ".join(step.split())[:_STEP_LETTERS] if isinstance(step, str) else ""
    step = step or NO_STEP
    try:
        task, score, _ = scorer.score(record)
    except UnscorableError as error:
        return Judged(record, TASKS.get(error.task or ""), None, None, step, f"{error} (field '{error.field}')")
    try:
        truth = parse_truth(task, record.gt, options=MAX_OPTIONS)
    except QuestionError as error:  # of a failed question, whose truth nobody has looked at yet
        return Judged(record, task, score, None, step, f"true answer {error.problem}")
    return Judged(record, task, score, truth, step)


def _step_rank(step: str) -> tuple[int, str]:
    last = {OTHER_STEPS: len(KNOWN_STEPS) + 1, NO_STEP: len(KNOWN_STEPS) + 2}
    return (KNOWN_STEPS.index(step) if step in KNOWN_STEPS else last.get(step, len(KNOWN_STEPS)), step)


def _kept_steps(steps: set[str]) -> set[str]:
    if len(steps) <= MAX_STEPS:
        return steps
    named = sorted(steps - {NO_STEP}, key=_step_rank)
    return {*named[: MAX_STEPS - 2], NO_STEP}
