"""The oracle, random guesses and answers from the text alone: what each must score.

The expectations of random guesses are counted out here, question by question, and not taken from the metrics' code.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.bench.answers import AnswerValue, parse_answer, parse_truth
from gst_ros.bench.metrics import ScoringConfig, angle_score, mra_score, point_score, score_answer
from gst_ros.bench.tasks import TASKS, Task, find_task
from gst_ros.scenes.check.oracle import Oracle
from gst_ros.scenes.check.report import Check
from gst_ros.scenes.check.truth import PlaceTruth
from gst_ros.scenes.place import SceneError

Array = NDArray[np.float64]

GUESSES = 40
"""Random answerers, each of its own seed; all their answers together are compared with theory."""
SIGMAS = 5.0
TEXT_MARGIN = 5.0
TEXT_SIGMAS = 3.0
ENOUGH = 20
"""Fewer questions of a task say nothing about what the text gives away."""
KNOWN_DISTANCE_M = 4.0
KNOWN_POINT = (500.0, 500.0)

ORACLE, RANDOM, TEXT_ALONE = "oracle", "random", "text alone"


@dataclass(frozen=True)
class Asked:
    """A question with its parsed truth."""

    place: str
    task: Task
    setting: str
    uid: str
    texts: tuple[str, ...]
    images: int
    truth: AnswerValue


def collect(places: Sequence[PlaceTruth]) -> list[Asked]:
    """All questions of a set."""
    result = []
    for place in places:
        for record in place.questions:
            task = find_task(record["task"])
            truth = parse_truth(task, record["answer"])
            setting = record.get("setting", "")
            result.append(
                Asked(place.name, task, setting, record["uid"], tuple(record["texts"]), len(record["images"]), truth)
            )
    return result


def check_oracle(places: Sequence[PlaceTruth]) -> Iterator[Check]:
    """Every question answered from poses and boxes alone: 100 on every task."""
    scores: dict[str, list[float]] = defaultdict(list)
    wrong: list[str] = []
    for place in places:
        oracle = Oracle(place)
        for record in place.questions:
            task = find_task(record["task"])
            truth = parse_truth(task, record["answer"])
            try:
                answer = oracle.answer(record)
                score = _score(task, answer, truth)
            except SceneError as error:
                answer, score = str(error), 0.0
            scores[task.key].append(score)
            if score < 1.0:
                wrong.append(f"{record['uid']}: {answer}, not {record['answer']}")
    values = {key: {"questions": len(scores[key]), "score": 100 * _mean(scores[key])} for key in TASKS if key in scores}
    count = sum(len(found) for found in scores.values())
    text = f"{count - len(wrong)} of {count} right" + (f" ({wrong[0]})" if wrong else "")
    yield Check(ORACLE, bool(values) and not wrong, text, "100 on every task", "", {"tasks": values, "wrong": wrong})


def check_random(asked: Sequence[Asked]) -> Iterator[Check]:
    """The ``random`` answerer against what uniform guesses must score."""
    from gst_ros.reasoning.answerer import Query
    from gst_ros.reasoning.random_guess import RandomConfig, RandomGuess

    config = RandomConfig()
    guessers = [RandomGuess(RandomConfig(answerer_seed=seed)) for seed in range(GUESSES)]
    problems, values, worst = [], {}, 0.0
    for key, group in _by_task(asked).items():
        expected, variance, found = 0.0, 0.0, 0.0
        for question in group:
            mean, spread = expected_score(question, config.random_range_low_m, config.random_range_high_m)
            expected, variance = expected + mean, variance + spread / GUESSES
            query = Query(question.uid, key, question.texts, tuple(b"" for _ in range(question.images)))
            answers = [guesser.answer(query, None) for guesser in guessers]  # type: ignore[arg-type]
            found += float(np.mean([_score(question.task, a.text, question.truth) for a in answers]))
        mean, theory = 100 * found / len(group), 100 * expected / len(group)
        error = 100 * math.sqrt(variance) / len(group)
        sigmas = abs(mean - theory) / error if error else 0.0
        worst = max(worst, sigmas)
        values[key] = {"score": mean, "theory": theory, "standard_error": error}
        if sigmas > SIGMAS:
            problems.append(f"{key} {mean:.1f}, theory {theory:.1f}")
    text = "; ".join(problems) or f"at most {worst:.1f} standard errors off ({GUESSES} runs)"
    limit = f"what theory says, within {SIGMAS:g} standard errors"
    yield Check(RANDOM, bool(values) and not problems, text, limit, "", {"tasks": values})


def check_text_only(asked: Sequence[Asked]) -> Iterator[Check]:
    """The best answer that the other places' answers to the same words, or of the same task, suggest.

    It must gain nothing over what needs no data at all: chance for letters and angles, the image's middle for points,
    4 m for distances.
    """
    problems, values = [], {}
    judged = 0
    for key, group in _by_task(asked).items():
        table = np.array([[_value_score(q.task, a.truth, q.truth) for q in group] for a in group])
        learnt = [_learnt_score(group, table, k) for k in range(len(group))]
        known = [_without_data(question) for question in group]
        gained = np.array(learnt) - np.array(known)
        mean, error = 100 * float(np.mean(gained)), 100 * float(np.std(gained)) / math.sqrt(len(group))
        score, without = 100 * _mean(learnt), 100 * _mean(known)
        values[key] = {"score": score, "without_data": without, "questions": len(group)}
        if len(group) >= ENOUGH:
            judged += 1
            if mean > TEXT_MARGIN + TEXT_SIGMAS * error:
                problems.append(f"{key} {score:.0f} instead of {without:.0f}")
    text = "; ".join(problems) or (f"{judged} tasks" if judged else f"no task has {ENOUGH} questions")
    limit = f"gains <= {TEXT_MARGIN:g} + {TEXT_SIGMAS:g} standard errors over no data at all"
    yield Check(TEXT_ALONE, not problems if judged else None, text, limit, "", {"tasks": values})


def expected_score(question: Asked, low_m: float, high_m: float) -> tuple[float, float]:
    """Mean and variance of the score of a uniform guess, counted over all guesses.

    Args:
        question: The question.
        low_m: Smallest distance guessed.
        high_m: Largest distance guessed.
    """
    metric, truth = question.task.metric, question.truth
    if metric == "acc":
        return 1 / question.images, (1 / question.images) * (1 - 1 / question.images)
    if metric == "angle" and isinstance(truth, float):
        guesses = np.arange(-179, 181)
        error = np.abs((guesses - truth + 180.0) % 360.0 - 180.0)
        scores = sum((error < limit).astype(np.float64) for limit in (15.0, 30.0, 45.0)) / 3.0
    elif metric == "point" and isinstance(truth, tuple):
        x, y = np.arange(1000) - truth[0], np.arange(1000) - truth[1]
        squared = x[:, None] ** 2 + y[None, :] ** 2
        scores = sum((squared < limit**2).astype(np.float64) for limit in (100, 150, 200, 250, 300)) / 5.0
    elif isinstance(truth, float):
        guesses = np.arange(round(low_m * 10), round(high_m * 10) + 1)  # decimetres
        truth_dm = round(truth * 10)
        # Whole numbers keep ties exact: |guess - truth| / truth < k / 20 for k = 1 ... 10.
        error = 20 * np.abs(guesses - truth_dm)
        scores = sum((error < k * truth_dm).astype(np.float64) for k in range(1, 11)) / 10.0
    else:
        raise TypeError(f"{truth!r} is no answer to {question.uid}")
    values = np.asarray(scores)
    return float(values.mean()), float(values.var())


def _learnt_score(group: Sequence[Asked], table: Array, k: int) -> float:
    """Score on one question of the answer that does best on others like it; 0 when there are none.

    Args:
        group: The questions of a task.
        table: Score of each question's answer (row) as the answer to each question (column).
        k: Number of the question.
    """
    question = group[k]
    others = [i for i, q in enumerate(group) if q.place != question.place] or [i for i in range(len(group)) if i != k]
    same = [i for i in others if group[i].texts == question.texts] or others
    if not same:
        return 0.0
    return float(table[same[int(np.argmax(table[np.ix_(same, same)].sum(axis=1)))], k])


def _without_data(question: Asked) -> float:
    metric = question.task.metric
    if metric == "acc":
        return 1 / question.images
    if metric == "angle":
        return 1 / 6
    constant: AnswerValue = KNOWN_POINT if metric == "point" else KNOWN_DISTANCE_M
    return _value_score(question.task, constant, question.truth)


def _by_task(asked: Sequence[Asked]) -> Mapping[str, list[Asked]]:
    """Questions by task key, in official order; of GST-Bench-Local those of the global setting alone."""
    groups: dict[str, list[Asked]] = defaultdict(list)
    for question in asked:
        if question.setting in ("", "global"):
            groups[question.task.key].append(question)
    return {key: groups[key] for key in TASKS if key in groups}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _score(task: Task, answer: str, truth: AnswerValue) -> float:
    return score_answer(task, parse_answer(task, answer), truth, ScoringConfig())


def _value_score(task: Task, answer: Any, truth: AnswerValue) -> float:
    config = ScoringConfig()
    if task.metric == "acc":
        return float(answer == truth)
    if task.metric == "angle" and isinstance(truth, float):
        return angle_score(answer, truth, config.angle_thresholds_deg)
    if task.metric == "point" and isinstance(truth, tuple):
        return point_score(answer, truth, config.point_thresholds_999)
    if isinstance(truth, float):
        return mra_score(answer, truth, config.mra_thetas)
    raise TypeError(f"{truth!r} is no answer of task {task.key}")
