"""The progress bar of ``gst scenes make``."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from gst_ros.scenes.workers import Progress

FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {n:.1f}/{total} places [{elapsed}<{remaining}]"


class Bar(Progress):
    """A bar that appears when work begins, so not above an error about the command; a context manager.

    Args:
        total: Number of places.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._bar: Any = None
        self._live = sys.stderr.isatty()

    def begin(self, done: float) -> None:
        """Show the bar. What is there already does not count for the time that is left."""
        from tqdm import tqdm

        self._bar = tqdm(total=self._total, initial=done, bar_format=FORMAT, desc="starting")

    def stage(self, words: str) -> None:
        """Say what is done now."""
        if self._bar is not None:
            self._bar.set_description_str(words)

    def add(self, share: float) -> None:
        """Go on; without news, let a terminal see the time pass."""
        if self._bar is None:
            return
        if share:
            self._bar.update(share)
        elif self._live:
            self._bar.refresh()

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
