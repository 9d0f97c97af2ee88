"""The page itself: what it says of a run, and writing it."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.resources
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from gst_ros.bench.leaderboard import Comparison, Row, compare
from gst_ros.bench.leaderboard_tables import leaderboard_notes
from gst_ros.bench.metrics import ScoringConfig
from gst_ros.bench.records import write_atomically
from gst_ros.bench.run_data import RunData
from gst_ros.bench.run_score import RunScore, TaskScore
from gst_ros.bench.scoring import score_records, skip_reasons
from gst_ros.bench.tasks import TASKS
from gst_ros.errors import RunError
from gst_ros.report.cards import Card, cut, make_cards
from gst_ros.report.judged import KNOWN_STEPS, NO_STEP, VERDICTS, Judged, finite, judge, steps_of
from gst_ros.report.pictures import PictureStore, QuestionImages
from gst_ros.report.statistics import by_scene, by_step, lost_points, quantile, reliability

REPORT_FILE = "report.html"
PICTURE_LIMIT_MB = 12.0
"""Bound on all pictures of a page together, in millions of bytes as they stand in it."""


@dataclass(frozen=True)
class Page:
    """A page, ready to be written.

    Attributes:
        html: Its text.
        questions: Cards on it.
        pictures: Pictures in it, each counted once.
        pictures_bytes: Their length in the page.
        without_picture: Cards on which at least one picture is missing.
    """

    html: str
    questions: int
    pictures: int
    pictures_bytes: int
    without_picture: int


@dataclass(frozen=True)
class _ScoreRow:
    """A task (or the average) with what is published of it; None where there is no number."""

    key: str
    title: str
    score: float | None
    standard_error: float | None
    counts: TaskScore | None
    best: float | None
    best_name: str
    people: float | None
    chance: float | None


def make_page(
    run: RunData,
    *,
    questions: Path | None = None,
    data_root: Path | None = None,
    limit_mb: float = PICTURE_LIMIT_MB,
) -> Page:
    """Make the page of a run, finished or not. The same run, settings and images give the same bytes.

    Args:
        run: The run.
        questions: Where its question set is; where the run says that it was, when None.
        data_root: Where its media are besides; as ``questions``.
        limit_mb: Bound on all pictures together.

    Raises:
        ConfigError: The run's scoring settings make no sense.
    """
    config = _scoring(run)
    images = _question_images(run, questions, data_root)
    store = PictureStore(round(limit_mb * 1e6))
    judged = judge(run.answers.values(), config)
    score = score_records(run.answers.values(), run.skipped, config)
    cards = make_cards(judged, images, store, config)
    steps = steps_of(judged)
    name = str(run.header.answerer.get("name") or run.path.resolve().name)
    comparison = compare(score, cut(name, 60))
    environment, script = _environment(), _data("report.js")
    html = environment.get_template("report.html").render(
        name=cut(name, 60),
        folder=run.path.resolve().name,
        facts=_facts(run, judged),
        score=score,
        score_rows=_score_rows(score, comparison),
        notes=_notes(run, score),
        comparison=comparison,
        board_notes=leaderboard_notes(comparison),
        tasks=[key for key in TASKS if score.tasks[key].answered],
        titles={key: task.title for key, task in TASKS.items()},
        steps=steps,
        step_classes=_step_classes(steps),
        by_step=by_step(judged, steps),
        lost=lost_points(judged, steps),
        scenes=by_scene(judged),
        reliability=reliability(judged),
        cards=cards,
        verdicts=[(verdict, count) for verdict in VERDICTS if (count := _count(judged, verdict))],
        card_tasks=list(dict.fromkeys((card.task, card.title) for card in cards)),
        card_scenes=sorted({item.record.scene for item in judged}),
        pictures=store.pictures,
        limit_mb=limit_mb,
        full=store.full,
        missing=_missing(cards),
        style=_data("report.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
    )
    html = html.encode("utf-8", "replace").decode("utf-8")  # a record may hold halves of surrogate pairs
    return Page(html, len(cards), len(store.pictures), store.total_bytes, _missing(cards))


def write_curve(run: RunData, file: Path) -> None:
    """Write the reliability curve alone, as an SVG file.

    Args:
        run: The run.
        file: Where to.

    Raises:
        ConfigError: The run's scoring settings make no sense.
        RunError: No scored answer has a confidence, or the file cannot be written.
    """
    found = reliability(judge(run.answers.values(), _scoring(run)))
    if found is None:
        raise RunError("no scored answer has a confidence, so there is no curve", file=run.path)
    figures = _environment().get_template("figures.html").make_module({"titles": {}})
    write_atomically(file, str(figures.curve(found, alone=True)).strip() + "\n")  # type: ignore[attr-defined]


def write_report(run: RunData, file: Path | None = None, **options: Any) -> Page:
    """Make the page of a run and write it, whole or not at all.

    Args:
        run: The run.
        file: Where to; ``report.html`` in the run folder by default.
        options: As for :func:`make_page`.

    Raises:
        ConfigError: The run's scoring settings make no sense.
        RunError: The file cannot be written.
    """
    page = make_page(run, **options)
    write_atomically(file or run.path / REPORT_FILE, page.html)
    return page


def _scoring(run: RunData) -> ScoringConfig:
    values = run.header.config.get("scoring")
    return ScoringConfig.from_mapping(values if isinstance(values, dict) else {}, run.path)


def _question_images(run: RunData, questions: Path | None, data_root: Path | None) -> QuestionImages:
    told = run.header.info.get("evaluation")
    told = told if isinstance(told, Mapping) else {}

    def told_path(name: str) -> Path | None:
        value = told.get(name)
        return Path(value) if isinstance(value, str) and value and "\0" not in value else None

    if questions is not None:
        return QuestionImages(questions, data_root)
    return QuestionImages(told_path("questions"), data_root or told_path("data_root"))


def _facts(run: RunData, judged: Sequence[Judged]) -> list[tuple[str, str]]:
    info = run.header.info
    software = info.get("software")
    software = software if isinstance(software, Mapping) else {}
    told = info.get("evaluation")
    questions = told.get("questions") if isinstance(told, Mapping) else None
    seconds = [value for item in judged if (value := finite(item.record.seconds)) is not None and value >= 0]
    median, most = quantile(seconds, 0.5), quantile(seconds, 0.95)
    videos = {str(video.get("video")): finite(video.get("frames_received")) or 0.0 for video in run.videos}
    started = next((event.get("time") for event in run.events if event.get("event") == "started"), None)
    facts = {
        "Run": run.path.resolve().name,
        "Questions": Path(questions).name if isinstance(questions, str) else "",
        "Started": str(started or "").replace("T", " "),
        "Frames": str(run.header.frames.get("delivery") or ""),
        "Transport": str(info.get("transport") or ""),
        "Videos": f"{len(videos):,} ({sum(videos.values()):,.0f} frames taken in)" if videos else "",
        "Seconds an answer": "" if median is None else f"{median:.2f} median, {most:.2f} at 95 %",
        "gst_ros": f"{software.get('gst_ros') or ''} {str(software.get('git_commit') or '')[:10]}".strip(),
        "Settings": ", ".join(f"{key} {value}" for key, value in run.header.answerer.items() if key != "name"),
    }
    return [(name, cut(value, 300)) for name, value in facts.items() if value]


def _notes(run: RunData, score: RunScore) -> list[str]:
    """What a reader must know before the numbers."""
    notes = []
    if score.tasks_scored < len(TASKS):
        tasks = f"{score.tasks_scored} of {len(TASKS)} tasks have answers"
        notes.append(f"{tasks}: the average is of these, and not the benchmark's score.")
    if run.torn:
        notes.append("The last record is incomplete: the run was killed, or still goes on.")
    if run.events and run.events[-1].get("event") == "stopped":
        notes.append(f"The run was stopped: {cut(str(run.events[-1].get('reason')), 300)}")
    if score.unparsed:
        notes.append(f"Answers that could not be read, and score 0: {score.unparsed}.")
    if score.failed:
        notes.append(f"Questions without an answer because the answerer failed, not scored: {score.failed}.")
    return notes + [cut(line, 300) for line in skip_reasons(score)]


def _score_rows(score: RunScore, comparison: Comparison) -> list[_ScoreRow]:
    """The tasks that the run met, in official order, and the average."""
    models = [row for row in comparison.rows if row.kind == "model"]
    people = next((row for row in comparison.rows if row.kind == "human"), None)
    chance = next((row for row in comparison.rows if row.kind == "random"), None)

    def published(row: Row | None, key: str) -> float | None:
        return None if row is None else row.average if key == "average" else row.scores.get(key)

    def row(key: str, title: str, value: float | None, error: float | None, counts: TaskScore | None) -> _ScoreRow:
        best = max(models, key=lambda model: published(model, key) or 0.0, default=None)
        numbers = (published(best, key), best.name if best else "", published(people, key), published(chance, key))
        return _ScoreRow(key, title, value, error, counts, *numbers)

    rows = [
        row(key, TASKS[key].title, task.score, task.standard_error, task)
        for key, task in score.tasks.items()
        if task.answered or task.failed or task.skipped
    ]
    return [*rows, row("average", "Average", score.average, score.standard_error, None)]


def _step_classes(steps: Sequence[str]) -> dict[str, str]:
    """A class of the style sheet for each step: known ones always have the same colour."""
    others = [step for step in steps if step not in KNOWN_STEPS and step != NO_STEP]
    ordered = [*KNOWN_STEPS, *others]
    return {step: "s-none" if step == NO_STEP else f"s{ordered.index(step)}" for step in steps}


def _missing(cards: Sequence[Card]) -> int:
    return sum(any(shot.picture is None for shot in card.shots) for card in cards)


def _count(judged: Sequence[Judged], verdict: str) -> int:
    return Counter(item.verdict for item in judged)[verdict]


@functools.lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_data),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    return environment


def _number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _data(name: str) -> str:
    return (importlib.resources.files("gst_ros.report") / "data" / name).read_text(encoding="utf-8")
