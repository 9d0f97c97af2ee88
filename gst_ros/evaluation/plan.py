"""The settings of an evaluation, and what is still to be asked, in which order."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from gst_ros.bench.metrics import ScoringConfig
from gst_ros.bench.questions import Question
from gst_ros.config import Settings, setting
from gst_ros.environment import share_dir
from gst_ros.errors import ConfigError
from gst_ros.yaml_files import read_yaml


@dataclass(frozen=True)
class EvaluationConfig(Settings):
    """What to ask, where to record it, and how long to wait for whom."""

    questions: str = setting("", "Question file, or folder of them.")
    data_root: str = setting("", "Where media are looked for besides the question file's folder; may be empty.")
    output: str = setting("", "Folder of the run; one that holds a run is resumed.")
    fresh: bool = setting(False, "Refuse an output folder that already holds a run.")
    tasks: tuple[str, ...] = setting((), "Task keys or official names to ask; empty for all.")
    limit: int = setting(0, "Ask only the first so many questions; 0 for all.", low=0)
    scoring: str = setting("", "Scoring file (as config/bench.yaml); empty for the package's own.")
    report: bool = setting(True, "Write report.html into the run folder at the end.")
    mode: str = setting("lockstep", "How videos are played.", choices=("lockstep", "realtime"))
    rate: float = setting(1.0, "Speed of playback in realtime mode.", unit="media s per s", above=0.0, high=1000.0)
    start_timeout_s: float = setting(60.0, "How long the other nodes may take to appear.", unit="s", above=0.0)
    settle_s: float = setting(
        0.5,
        "How long the nodes must have been there, once each, before a run begins: busy machines and wireless networks "
        "discover a second system late.",
        unit="s",
        low=0.0,
    )
    service_timeout_s: float = setting(30.0, "How long a service other than answering may take.", unit="s", above=0.0)
    silence_timeout_s: float = setting(
        30.0, "A node whose status is not heard for so long is taken for dead.", unit="s", above=0.0
    )
    node_grace_s: float = setting(
        20.0,
        "A node whose services have vanished may come back for so long: it was suspended, or the machine was. "
        "The death of a process is noticed at once by who started it.",
        unit="s",
        low=0.0,
    )
    stall_timeout_s: float = setting(
        600.0, "A playback in lockstep in which no frame moves for so long is given up.", unit="s", above=0.0
    )
    answer_timeout_s: float = setting(3600.0, "How long one answer may take.", unit="s", above=0.0)


def read_scoring(path: str | Path = "") -> ScoringConfig:
    """Read a scoring file: the settings of :class:`ScoringConfig` as YAML.

    Args:
        path: The file; empty for the package's own, ``config/bench.yaml``.

    Raises:
        ConfigError: It cannot be read, or a setting is unknown or out of range.
    """
    file = Path(path) if path else share_dir() / "config" / "bench.yaml"
    values = read_yaml(file)
    if not isinstance(values or {}, dict):
        raise ConfigError("is not a scoring file", file=file, remedy="write 'setting: value' lines")
    return ScoringConfig.from_mapping(values or {}, file)


@dataclass(frozen=True)
class VideoGroup:
    """Questions about one video.

    Attributes:
        video: The file; None for questions that have none.
        questions: In the order of the question set.
    """

    video: Path | None
    questions: tuple[Question, ...]


def plan(questions: Sequence[Question], answered: Collection[str]) -> tuple[VideoGroup, ...]:
    """What is left to ask, grouped so that each video is played once.

    Args:
        questions: The questions of the run, in order.
        answered: Uids that need not be asked again.

    Returns:
        Groups in the order in which their videos first appear among *all* questions, so that a resumed run
        goes through them as the first one did.
    """
    groups: dict[str | None, list[Question]] = {}
    videos: dict[str | None, Path | None] = {}
    for question in questions:
        # Official folders may hold links to one and the same video.
        key = None if question.video is None else os.path.realpath(question.video)
        videos.setdefault(key, question.video)
        groups.setdefault(key, [])
        if question.uid not in answered:
            groups[key].append(question)
    return tuple(VideoGroup(videos[key], tuple(members)) for key, members in groups.items() if members)
