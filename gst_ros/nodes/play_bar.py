"""A progress bar of a playback, for people at a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TextIO

from gst_ros.media.playback import State
from gst_ros.media.player import PlayerReport


class PlayBar:
    """Shows media time against the clip's duration; silent where there is no terminal.

    Args:
        stream: Where to draw; standard error by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._bar: Any = None

    def update(self, report: PlayerReport) -> None:
        """Draw what the player has come to."""
        if not self._stream.isatty():
            return
        if self._bar is None:
            if report.state != State.PLAYING:
                return
            from tqdm import tqdm

            layout = "{desc}: {percentage:3.0f}%|{bar}| {n:.1f}/{total:.1f} s [{elapsed}, {postfix}]"
            if report.duration_s is None:
                layout = "{desc}: {n:.1f} s [{elapsed}, {postfix}]"
            self._bar = tqdm(
                total=report.duration_s, desc=Path(report.path).name, file=self._stream, bar_format=layout, leave=True
            )
        end = report.state == State.FINISHED and report.duration_s is not None
        self._bar.n = report.duration_s if end else report.position_s
        self._bar.set_postfix_str(f"{report.frames_sent} frames, {report.frames_dropped} dropped")
        if report.state in (State.FINISHED, State.FAILED):
            self.close()

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
