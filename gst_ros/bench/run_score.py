"""The scores of a run as values, and as the content of ``summary.json``. All on a 0-100 scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gst_ros.bench.questions import Skipped
from gst_ros.bench.tasks import TASKS


@dataclass(frozen=True)
class TaskScore:
    """The score of one task.

    Attributes:
        task: Task key.
        score: 0 to 100; None while nothing is answered.
        standard_error: Bootstrap over the questions, in points; None with fewer than two answers.
        answered: Questions scored.
        unparsed: Those of them whose answer cannot be read; they score 0.
        failed: Questions without an answer, because the answerer gave an error; not scored.
        skipped: Questions not asked; not scored.
    """

    task: str
    score: float | None
    standard_error: float | None
    answered: int
    unparsed: int
    failed: int
    skipped: int


@dataclass(frozen=True)
class RunScore:
    """The scores of a run.

    Attributes:
        tasks: One entry for each of the twelve tasks, in official order, by key.
        average: Plain mean of the scores of the tasks that have answers, 0 to 100; None while there is none.
        standard_error: Of the average, in points; None when it is unknown for one of its tasks.
        tasks_scored: How many tasks the average is over: it is the benchmark's score only with all of them.
        skipped: Every question not asked, with its reason.
    """

    tasks: Mapping[str, TaskScore]
    average: float | None
    standard_error: float | None
    tasks_scored: int
    skipped: tuple[Skipped, ...] = field(default=(), repr=False)

    @property
    def answered(self) -> int:
        """Questions scored."""
        return sum(task.answered for task in self.tasks.values())

    @property
    def unparsed(self) -> int:
        """Answers that cannot be read."""
        return sum(task.unparsed for task in self.tasks.values())

    @property
    def failed(self) -> int:
        """Questions to which the answerer gave an error."""
        return sum(task.failed for task in self.tasks.values())


def summary(score: RunScore, videos: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The content of ``summary.json``; all scores on a 0-100 scale.

    Args:
        score: The scores.
        videos: How the videos went through (``RunData.videos``). A video that was played again, after a resume
            or for other questions, counts once, with its last playback.
    """
    last = {str(video.get("video")): video for video in videos}
    return {
        "average": score.average,
        "standard_error": score.standard_error,
        "scale": "0-100",
        "tasks_scored": score.tasks_scored,
        "tasks_total": len(TASKS),
        "answered": score.answered,
        "unparsed": score.unparsed,
        "failed": score.failed,
        "tasks": {
            key: {
                "score": task.score,
                "standard_error": task.standard_error,
                "answered": task.answered,
                "unparsed": task.unparsed,
                "failed": task.failed,
                "skipped": task.skipped,
            }
            for key, task in score.tasks.items()
        },
        "skipped": [skip.to_json() for skip in score.skipped],
        "videos": len(last),
        "playbacks": len(videos),
        "frames_sent": sum(int(video.get("frames_sent") or 0) for video in last.values()),
        "frames_received": sum(int(video.get("frames_received") or 0) for video in last.values()),
    }
