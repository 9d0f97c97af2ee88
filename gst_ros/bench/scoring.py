"""Scores of a run: per task, and the plain mean of the twelve, each with its standard error.

All scores here are on a 0-100 scale; only the score of a single answer (``AnswerRecord.score``) is 0 to 1.
A *skipped* question was not asked and a *failed* one got no answer: neither is scored, both are counted. An
*unparsed* answer is one that came but cannot be read: it scores 0 and is counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gst_ros.bench.answers import parse_answer, parse_truth
from gst_ros.bench.metrics import ScoringConfig, score_answer
from gst_ros.bench.questions import OPTIONS, Question, Skipped
from gst_ros.bench.run_data import AnswerRecord, RunData
from gst_ros.bench.run_score import RunScore, TaskScore, summary
from gst_ros.bench.score_table import score_table, skip_reasons
from gst_ros.bench.tasks import TASKS, find_task
from gst_ros.errors import QuestionError

__all__ = [
    "RunScore",
    "TaskScore",
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
    for record in records:
        try:
            task = find_task(record.task)
            if record.status == "failed":
                failed[task.key] += 1
                continue
            truth = parse_truth(task, record.gt)
        except QuestionError as error:
            skips.append(Skipped(record.uid, record.task, f"cannot be scored: true answer {error.problem}", field="gt"))
            continue
        parsed = parse_answer(task, record.pred, options=_options(record), config=config)
        points[task.key].append(100.0 * score_answer(task, parsed, truth, config))
        unparsed[task.key] += parsed.value is None

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


def _options(record: AnswerRecord) -> int:
    images = record.question.get("images")
    return len(images) if isinstance(images, list) and len(images) >= 2 else OPTIONS


def _bootstrap_means(scores: NDArray[np.float64], samples: int, seed: Sequence[int]) -> NDArray[np.float64] | None:
    """Means of ``samples`` resamples of the scores of one task; None where one answer says nothing of the spread.

    The scores must be sorted, so that the order in which questions were asked changes nothing.
    """
    if len(scores) < 2:
        return None
    draws = np.random.default_rng(list(seed)).integers(len(scores), size=(samples, len(scores)), dtype=np.int32)
    return np.asarray(scores[draws].mean(axis=1))
