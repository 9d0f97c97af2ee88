"""A run among the published models.

A run gets a rank only when it answered what the published models answered: all twelve tasks with the published
number of questions each. Any other run is shown beside them, task by task, with how much of the benchmark it
covers; its average is of other questions and is marked so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from gst_ros.bench.run_score import RunScore, TaskScore
from gst_ros.bench.tasks import TASKS
from gst_ros.errors import ConfigError
from gst_ros.yaml_files import parse_yaml

LOCAL_TASKS = ("ed_s", "edist_s")
RUN_FAMILY = "this run"


@dataclass(frozen=True)
class Published:
    """One published row. Scores are 0 to 100.

    Attributes:
        name: The model.
        family: ``proprietary``, ``open-source``, ``embodied``, ``fine-tuned`` or ``baseline``.
        kind: ``model``, ``human`` or ``random``; only models are ranked.
        average: The published average (not recomputed).
        scores: Task key to score.
        note: What a reader must know of these numbers.
    """

    name: str
    family: str
    kind: str
    average: float
    scores: Mapping[str, float]
    note: str = ""


@dataclass(frozen=True)
class Leaderboard:
    """The published numbers.

    Attributes:
        source: Where they are from.
        question_counts: Task key to number of questions.
        rows: As published, in no order.
        local_source: Where GST-Bench-Local is from.
        local_settings: Its columns.
        local: Task key -> model -> one score for each setting.
    """

    source: str
    question_counts: Mapping[str, int]
    rows: tuple[Published, ...]
    local_source: str
    local_settings: tuple[str, ...]
    local: Mapping[str, Mapping[str, tuple[float, ...]]]

    @property
    def questions(self) -> int:
        """Questions of the whole benchmark."""
        return sum(self.question_counts.values())


@dataclass(frozen=True)
class Row:
    """One line of the comparison.

    Attributes:
        rank: Place among models, 1 for the best; None for humans, random guessing and a partial run.
        name: Model, or name of the run.
        family: As in :class:`Published`, or ``this run``.
        kind: ``model``, ``human``, ``random`` or ``run``.
        average: 0 to 100; None while a run has no answer.
        scores: Task key to score; a task without answers is absent.
        note: For a footnote.
    """

    rank: int | None
    name: str
    family: str
    kind: str
    average: float | None
    scores: Mapping[str, float]
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """A run among the published rows.

    Attributes:
        rows: Sorted by average, best first; a partial run is not among them.
        run: The run's own row.
        score: The run's scores.
        board: The published numbers.
        shortfalls: What the run lacks to be comparable, one sentence each; empty for a complete run.
    """

    rows: tuple[Row, ...]
    run: Row
    score: RunScore
    board: Leaderboard
    shortfalls: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether the run answered all that the published models answered."""
        return not self.shortfalls


@lru_cache(maxsize=4)
def load_leaderboard(path: Path | None = None) -> Leaderboard:
    """Read the published numbers.

    Args:
        path: Another file of the same form; the package's own when None.

    Raises:
        ConfigError: The file cannot be read or lacks something.
    """
    source = path or resources.files("gst_ros.bench") / "data" / "leaderboard.yaml"
    try:
        document: Any = parse_yaml(source.read_bytes(), file=str(source))
        rows = tuple(_published(model) for model in document["models"])
        local = document["local"]
        return Leaderboard(
            source=str(document["source"]),
            question_counts={key: int(document["question_counts"][key]) for key in TASKS},
            rows=rows,
            local_source=str(local["source"]),
            local_settings=tuple(local["settings"]),
            local={key: {str(name): tuple(map(float, s)) for name, s in local[key].items()} for key in LOCAL_TASKS},
        )
    except OSError as error:
        raise ConfigError(f"cannot be read: {error}", file=str(source)) from error
    except KeyError as error:
        raise ConfigError("is missing", file=str(source), field=str(error.args[0])) from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"is not a leaderboard: {error}", file=str(source)) from error


def compare(score: RunScore, name: str, board: Leaderboard | None = None) -> Comparison:
    """Place a run among the published models.

    Args:
        score: The run's scores.
        name: What to call the run.
        board: The published numbers; the package's own when None.
    """
    board = board or load_leaderboard()
    shortfalls = tuple(_shortfalls(score, board))
    scores = {key: task.score for key, task in score.tasks.items() if task.score is not None}
    run = Row(None, name, RUN_FAMILY, "run", score.average, scores)
    rows = [Row(None, p.name, p.family, p.kind, p.average, p.scores, p.note) for p in board.rows]
    if not shortfalls:
        rows.append(run)
    rows.sort(key=lambda row: -(row.average or 0.0))
    averages = [row.average or 0.0 for row in rows if row.kind in ("model", "run")]
    # Equal averages share a rank.
    ranked = [
        replace(row, rank=1 + sum(average > (row.average or 0.0) for average in averages))
        if row.kind in ("model", "run")
        else row
        for row in rows
    ]
    run = next((row for row in ranked if row.kind == "run"), run)
    return Comparison(tuple(ranked), run, score, board, shortfalls)


def coverage(task: TaskScore, board: Leaderboard) -> str:
    """How much of a task a run answered: ``3/220``."""
    return f"{task.answered}/{board.question_counts[task.task]}"


def _shortfalls(score: RunScore, board: Leaderboard) -> list[str]:
    found = []
    if score.tasks_scored < len(TASKS):
        missing = ", ".join(key for key, task in score.tasks.items() if task.score is None)
        found.append(f"It answered questions of {score.tasks_scored} of the {len(TASKS)} tasks (none of: {missing}).")
    if score.answered < board.questions:
        found.append(f"It answered {score.answered} of the {board.questions} questions.")
    counts = [
        f"{key} has {task.answered}, published {board.question_counts[key]}"
        for key, task in score.tasks.items()
        if task.answered > board.question_counts[key]
    ]
    if counts or (not found and any(score.tasks[key].answered != board.question_counts[key] for key in TASKS)):
        found.append(f"Its questions are not the published ones ({'; '.join(counts[:3])}).")
    if score.failed:
        found.append(f"Questions that failed and are not scored: {score.failed}.")
    return found


def _published(model: Mapping[str, Any]) -> Published:
    kind = str(model.get("kind", "model"))
    if kind not in ("model", "human", "random"):
        raise ValueError(f"{model['name']}: kind '{kind}' is none of model, human, random")
    scores = {key: float(model["scores"][key]) for key in TASKS}
    return Published(
        str(model["name"]), str(model["family"]), kind, float(model["average"]), scores, str(model.get("note", ""))
    )
