"""Ctrl-C and SIGTERM that stop an evaluation between two steps, never in the middle of a record."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """The user or the system asked us to stop."""

    def __init__(self, signum: int) -> None:
        self.signal_name = signal.Signals(signum).name
        self.exit_code = 128 + signum
        super().__init__(self.signal_name)


class StopSignals:
    """Turns SIGINT, SIGTERM and SIGHUP into :class:`Stopped`, raised in the main thread.

        with StopSignals() as stop:
            ...
            with stop.held():   # a signal that comes here is raised at the end of the block
                run.append_answer(record)

    SIGHUP stays ignored where the parent has set it so (``nohup``). SIGINT does not: scripts start their background
    jobs with it ignored, and yet ``kill -INT`` of such a job is meant. Outside the main thread, where
    Python allows no handlers, it does nothing.
    """

    def __init__(self) -> None:
        self._holds = 0
        self._pending: int | None = None
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for signum in _SIGNALS:
                if signum != signal.SIGHUP or signal.getsignal(signum) is not signal.SIG_IGN:
                    self._before[signum] = signal.signal(signum, self._on_signal)
        return self

    def __exit__(self, *exc_info: object) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)
        self._before.clear()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Put off signals until the end of the block."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
        if self._pending is not None and not self._holds:
            signum, self._pending = self._pending, None
            raise Stopped(signum)

    def _on_signal(self, signum: int, frame: FrameType | None) -> None:
        if self._holds:
            self._pending = signum
        else:
            raise Stopped(signum)
