"""How far an evaluation has come, for people at a terminal and for whoever else listens."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from gst_ros.bench.run_score import RunScore

_LINE_PERIOD_S = 5.0


@dataclass
class Progress:
    """A snapshot of the run.

    Attributes:
        videos_done: Videos played or given up, in this part of the run.
        videos_total: Videos to play in this part of the run.
        questions_done: Questions answered or failed, with those of earlier parts of the run.
        questions_total: Questions that can be asked.
        skipped: Questions that cannot.
        unparsed: Answers so far that cannot be read.
        failed: Questions so far to which the answerer gave an error.
        score: Running scores; may be a few seconds old.
        current_video: What is being played or asked about; empty between videos.
        current_uid: The question being asked; empty in between.
    """

    videos_total: int
    questions_total: int
    videos_done: int = 0
    questions_done: int = 0
    skipped: int = 0
    unparsed: int = 0
    failed: int = 0
    score: RunScore | None = None
    current_video: str = ""
    current_uid: str = ""

    def line(self) -> str:
        """One line for people."""
        parts = [f"questions {self.questions_done}/{self.questions_total}"]
        if self.videos_total:
            parts.append(f"videos {self.videos_done}/{self.videos_total}")
        parts += [f"{count} {what}" for what in ("failed", "unparsed", "skipped") if (count := getattr(self, what))]
        if self.score is not None and self.score.average is not None:
            parts.append(f"average so far {self.score.average:.2f}")
        return ", ".join(parts)


class Observer(Protocol):
    """Somebody who wants to know."""

    def update(self, progress: Progress) -> None:
        """Something was done: a video played, a question answered."""
        ...

    def playing(self, progress: Progress, position_s: float, duration_s: float | None) -> None:
        """A video is being played; called often."""
        ...

    def close(self) -> None:
        """The run is over, one way or the other."""
        ...


class Observers:
    """Several observers as one."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers

    def update(self, progress: Progress) -> None:
        """Tell all of them."""
        for observer in self._observers:
            observer.update(progress)

    def playing(self, progress: Progress, position_s: float, duration_s: float | None) -> None:
        """Tell all of them."""
        for observer in self._observers:
            observer.playing(progress, position_s, duration_s)

    def close(self) -> None:
        """Tell all of them."""
        for observer in self._observers:
            observer.close()


def terminal_progress(stream: TextIO | None = None) -> Observer:
    """Bars on a terminal, a line every few seconds anywhere else."""
    stream = stream or sys.stderr
    return ProgressBars(stream) if stream.isatty() else ProgressLines(stream)


class ProgressLines:
    """A line every few seconds, for log files."""

    def __init__(self, stream: TextIO, period_s: float = _LINE_PERIOD_S) -> None:
        self._stream = stream
        self._period_s = period_s
        self._next_s = time.monotonic() + period_s

    def update(self, progress: Progress) -> None:
        """Write a line if it is time for one."""
        self._write(progress, "")

    def playing(self, progress: Progress, position_s: float, duration_s: float | None) -> None:
        """Write a line if it is time for one."""
        of = "" if duration_s is None else f" of {duration_s:.0f}"
        self._write(progress, f"; playing {progress.current_video}, {position_s:.0f}{of} s")

    def close(self) -> None:
        """Nothing is left open."""

    def _write(self, progress: Progress, more: str) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + self._period_s
            print(f"{progress.line()}{more}", file=self._stream, flush=True)


class ProgressBars:
    """One bar for the questions and, while a video is played, one for its media time."""

    def __init__(self, stream: TextIO) -> None:
        from tqdm import tqdm

        self._make = tqdm
        self._stream = stream
        self._questions: Any = None
        self._video: Any = None

    def update(self, progress: Progress) -> None:
        """Move the questions' bar."""
        if self._questions is None:
            self._questions = self._make(
                total=progress.questions_total, initial=progress.questions_done, unit="question", file=self._stream
            )
        self._close_video()
        if progress.score is not None and progress.score.average is not None:
            self._questions.set_postfix_str(f"average {progress.score.average:.2f}", refresh=False)
        self._questions.update(progress.questions_done - self._questions.n)

    def playing(self, progress: Progress, position_s: float, duration_s: float | None) -> None:
        """Move the video's bar."""
        if self._video is None:
            self._video = self._make(
                total=duration_s,
                desc=progress.current_video,
                leave=False,
                file=self._stream,
                bar_format=None if duration_s is None else "{desc}: {percentage:3.0f}%|{bar}| {n:.1f}/{total:.1f} s",
            )
        position_s = position_s if duration_s is None else min(position_s, duration_s)
        self._video.update(max(0.0, position_s - self._video.n))

    def close(self) -> None:
        """Leave the questions' bar as it is and the cursor below it."""
        self._close_video()
        if self._questions is not None:
            self._questions.close()
            self._questions = None

    def _close_video(self) -> None:
        if self._video is not None:
            self._video.close()
            self._video = None
