"""What ``gst score`` and ``gst leaderboard`` share: a path in, scores out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gst_ros.errors import ConfigError

if TYPE_CHECKING:
    from gst_ros.bench.metrics import ScoringConfig
    from gst_ros.bench.records import AnswerRecord, RunData
    from gst_ros.bench.run_score import RunScore


@dataclass(frozen=True)
class Results:
    """Answers of one run or of one model's official result files, scored.

    Attributes:
        name: Of the answerer or model.
        score: The scores.
        config: How they were scored.
        videos: How the videos went through; empty for official results.
        run: The run's data; None for official results.
    """

    name: str
    score: RunScore
    config: ScoringConfig
    videos: list[dict[str, Any]]
    run: RunData | None


def load_results(path: Path, scoring_file: Path | None, settings: Sequence[str]) -> Results:
    """Read and score a run folder or official result files.

    Args:
        path: The run folder (finished or not), a ``results`` folder, or a file of either.
        scoring_file: YAML file with scoring settings; laid over those of the run.
        settings: ``name=value`` words; laid over both.

    Raises:
        RunError: There is neither a run nor results, or they are damaged.
        ConfigError: A setting is wrong.
    """
    from gst_ros.bench.metrics import ScoringConfig
    from gst_ros.bench.official import read_official
    from gst_ros.bench.records import is_run, read_run
    from gst_ros.bench.run_data import RECORDS_FILE
    from gst_ros.bench.scoring import score_records

    if path.name == RECORDS_FILE and is_run(path.parent):
        path = path.parent
    values: dict[str, Any] = {}
    run = read_run(path) if is_run(path) else None
    source: Path | None = None
    if run is not None and isinstance(run.header.config.get("scoring"), dict):
        values.update(run.header.config["scoring"])
        source = path
    if scoring_file is not None:
        values.update(_read_settings(scoring_file))
        source = scoring_file
    overrides = dict(_parse_setting(word) for word in settings)
    values.update(overrides)
    config = ScoringConfig.from_mapping(values, "--set" if overrides else source)
    if run is not None:
        name = str(run.header.answerer.get("name") or path.resolve().name)
        score = score_records(_with_progress(run.answers), run.skipped, config)
        return Results(name, score, config, run.videos, run)
    official = read_official(path)
    score = score_records(_with_progress(official.records), official.skipped, config)
    return Results(_model_name(path), score, config, [], None)


def _with_progress(records: Mapping[str, AnswerRecord]) -> Iterable[AnswerRecord]:
    """The records, with a bar for those who wait at a terminal for more than a moment."""
    from tqdm import tqdm

    return tqdm(records.values(), desc="scoring", unit=" answers", disable=None, delay=2.0, leave=False)


def _model_name(path: Path) -> str:
    path = path.resolve()
    folder = path.parent if path.is_file() else path
    return folder.parent.name if folder.name == "results" else folder.name


def _read_settings(file: Path) -> dict[str, Any]:
    from gst_ros.yaml_files import read_yaml

    document = read_yaml(file)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError("is not a mapping of settings", file=file, remedy="write 'name: value' lines")
    return document


def _parse_setting(word: str) -> tuple[str, Any]:
    from gst_ros.yaml_files import parse_yaml

    name, equals, text = word.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"'{word:.60}' is not name=value", file="--set", remedy="for example bootstrap_samples=500")
    value = parse_yaml(text, file="--set", field=name)
    # A bare list of numbers is easier to type in a shell than one in brackets.
    if isinstance(value, str) and "," in text and not text.startswith("["):
        value = parse_yaml(f"[{text}]", file="--set", field=name)
    return name.strip(), value
