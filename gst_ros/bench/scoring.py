"""Scores of a run: per task, and the plain mean of the twelve, each with its standard error.

All scores here are on a 0-100 scale; only the score of a single answer (``AnswerRecord.score``) is 0 to 1.
A *skipped* question was not asked and a *failed* one got no answer: neither is scored, both are counted. An
*unparsed* answer is one that came but cannot be read: it scores 0 and is counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gst_ros.bench.answers import parse_answer, parse_truth
from gst_ros.bench.metrics import ScoringConfig, score_answer
from gst_ros.bench.questions import OPTIONS, Question, Skipped
from gst_ros.bench.run_data import AnswerRecord, RunData
from gst_ros.bench.run_score import RunScore, TaskScore, summary
from gst_ros.bench.score_table import score_table, skip_reasons
from gst_ros.bench.tasks import TASKS, Task, find_task
from gst_ros.errors import QuestionError

MAX_OPTIONS = 26
"""Letters that an answer may choose from."""
_REMEMBERED_LETTERS = 80
_REMEMBERED_ANSWERS = 100_000
_DRAWN_SINGLY = 10_000

__all__ = [
    "AnswerScorer",
    "RunScore",
    "TaskScore",
    "UnscorableError",
    "record_answer",
    "score_records",
    "score_run",
    "score_table",
    "skip_reasons",
    "summary",
]


def record_answer(
    question: Question,
    pred: str,
    config: ScoringConfig,
    *,
    status: Literal["answered", "failed"] = "answered",
    confidence: float | None = None,
    explanation: str = "",
    evidence: Mapping[str, Any] | None = None,
    seconds: float = 0.0,
    frames_received: int | None = None,
    prompt_sha256: str = "",
) -> AnswerRecord:
    """Read and score one answer, and make the record of it.

    Args:
        question: The question.
        pred: The answer as it came; taken as it is, also when it is empty.
        config: How to score.
        status: ``failed`` when the answerer gave an error; it is then neither read nor scored.
        confidence: 0 to 1, or None (NaN counts as None).
        explanation: How it was found, or what failed.
        evidence: Which step answered, and the figures behind the answer (JSON types).
        seconds: Wall time of the answer.
        frames_received: Frames of the video that the memory took in.
        prompt_sha256: Fingerprint of what the answerer was shown.
    """
    value: float | tuple[float, float] | str | None = None
    matched, parse_status, score = "", "", None
    if status == "answered":
        parsed = parse_answer(question.task, pred, options=question.options, config=config)
        value, matched, parse_status = parsed.value, parsed.matched, parsed.status
        score = score_answer(question.task, parsed, question.truth, config)
    return AnswerRecord(
        uid=question.uid,
        task=question.task.key,
        scene=question.scene,
        gt=question.gt,
        pred=pred,
        value=value,
        matched=matched,
        parse_status=parse_status,
        score=score,
        status=status,
        confidence=None if confidence is None or math.isnan(confidence) else confidence,
        explanation=explanation,
        evidence={} if evidence is None else evidence,
        seconds=seconds,
        video="" if question.video is None else str(question.video),
        frames_received=frames_received,
        prompt_sha256=prompt_sha256,
        question=question.raw,
    )


def score_records(
    records: Iterable[AnswerRecord], skipped: Iterable[Skipped] = (), config: ScoringConfig | None = None
) -> RunScore:
    """Score records, from their answers and true answers alone: a run can be scored anew with other settings.

    Args:
        records: Answers; one for each question.
        skipped: Questions that were not asked.
        config: How to score; the defaults when None.
    """
    config = config or ScoringConfig()
    points: dict[str, list[float]] = {key: [] for key in TASKS}
    unparsed: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    skips = list(skipped)
    reader = AnswerScorer(config)
    for record in records:
        try:
            task, score, read = reader.score(record)
        except UnscorableError as error:
            skips.append(Skipped(record.uid, error.task, f"cannot be scored: {error}", field=error.field))
            continue
        if score is None:
            failed[task.key] += 1
        else:
            points[task.key].append(100.0 * score)
            unparsed[task.key] += not read

    skip_counts = Counter(skip.task for skip in skips)
    tasks: dict[str, TaskScore] = {}
    replicates: list[NDArray[np.float64] | None] = []
    for index, key in enumerate(TASKS):
        scores = np.sort(np.asarray(points[key], dtype=np.float64))
        means = _bootstrap_means(scores, config.bootstrap_samples, [config.bootstrap_seed, index])
        if len(scores):
            replicates.append(means)
        tasks[key] = TaskScore(
            task=key,
            score=float(scores.mean()) if len(scores) else None,
            standard_error=None if means is None else float(means.std(ddof=1)),
            answered=len(scores),
            unparsed=unparsed[key],
            failed=failed[key],
            skipped=skip_counts[key],
        )
    scored = [task.score for task in tasks.values() if task.score is not None]
    known = [means for means in replicates if means is not None]
    complete = bool(known) and len(known) == len(replicates)
    return RunScore(
        tasks=tasks,
        average=float(np.mean(scored)) if scored else None,
        standard_error=float(np.mean(known, axis=0).std(ddof=1)) if complete else None,
        tasks_scored=len(scored),
        skipped=tuple(skips),
    )


def score_run(run: RunData, config: ScoringConfig | None = None) -> RunScore:
    """Score what a run folder holds so far."""
    return score_records(run.answers.values(), run.skipped, config)


class UnscorableError(Exception):
    """One record has nothing to be scored against.

    Attributes:
        task: Task key; None where the task is unknown.
        field: The field at fault.
    """

    def __init__(self, reason: str, task: str | None, field: str) -> None:
        super().__init__(reason)
        self.task = task
        self.field = field


class AnswerScorer:
    """Scores single records, and remembers what it has read: many answers are a letter or a round number.

    Args:
        config: How to score.
    """

    def __init__(self, config: ScoringConfig) -> None:
        self._config = config
        self._known: dict[tuple[str, int, str, type, Any], tuple[float, bool]] = {}

    def score(self, record: AnswerRecord) -> tuple[Task, float | None, bool]:
        """Score one record.

        Returns:
            Its task, its score from 0 to 1 (None for a failed question), and whether its answer could be read.

        Raises:
            UnscorableError: Its task, true answer or number of options makes no sense; it is to count as skipped.
        """
        try:
            task = find_task(record.task)
        except QuestionError as error:
            raise UnscorableError(error.problem, None, "task") from error
        if record.status == "failed":
            return task, None, False
        options = _options(task, record)
        gt, pred = record.gt, record.pred
        # 1, 1.0 and True are equal, but not equally good as a true answer: hence the type.
        simple = isinstance(gt, (str, int, float)) and len(pred) <= _REMEMBERED_LETTERS
        key = (task.key, options, pred, type(gt), gt if simple else None)
        known = self._known.get(key) if simple else None
        if known is None:
            try:
                truth = parse_truth(task, gt, options=options)
            except QuestionError as error:
                raise UnscorableError(f"true answer {error.problem}", task.key, "gt") from error
            parsed = parse_answer(task, pred, options=options, config=self._config)
            known = (score_answer(task, parsed, truth, self._config), parsed.value is not None)
            if simple and len(self._known) < _REMEMBERED_ANSWERS:
                self._known[key] = known
        return task, *known


def _options(task: Task, record: AnswerRecord) -> int:
    """How many letters the answer may choose from; the benchmark's four where the record names no images.

    Raises:
        UnscorableError: There are more images than letters.
    """
    images = record.question.get("images")
    if task.metric != "acc" or not isinstance(images, list) or len(images) < 2:
        return OPTIONS
    if len(images) > MAX_OPTIONS:
        raise UnscorableError(f"{len(images)} images, but an answer is one letter", task.key, "images")
    return len(images)


def _bootstrap_means(scores: NDArray[np.float64], samples: int, seed: Sequence[int]) -> NDArray[np.float64] | None:
    """Means of ``samples`` resamples of the scores of one task; None where one answer says nothing of the spread.

    The scores must be sorted, so that the order in which questions were asked changes nothing.
    """
    if len(scores) < 2:
        return None
    if len(scores) > _DRAWN_SINGLY:
        # How often each different score is drawn: the same distribution, without one draw for every answer.
        values, counts = np.unique(scores, return_counts=True)
        times = np.random.default_rng(list(seed)).multinomial(len(scores), counts / len(scores), size=samples)
        return np.asarray(times @ values / len(scores))
    draws = np.random.default_rng(list(seed)).integers(len(scores), size=(samples, len(scores)), dtype=np.int32)
    return np.asarray(scores[draws].mean(axis=1))
