"""Worker processes that make places: how they start, tell of progress, and end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from gst_ros.scenes.place import SceneError
from gst_ros.scenes.settings import PlaceSpec

POLL_S = 0.5
TRACKER_WARNING = "ignore:resource_tracker:UserWarning"
Report = Callable[[float], object]
"""Told how many places' worth of work were done since the last call, a fraction."""


class Progress:
    """Told how far the work is; this one keeps it to itself."""

    def begin(self, done: float) -> None:
        """Work begins: so many places are there already."""

    def stage(self, words: str) -> None:
        """Something else is done from now on."""

    def add(self, share: float) -> None:
        """So many places' worth of work were done since the last call, a fraction; 0 when nothing new is known."""


_progress: Any = None
"""In a worker: the queue to the process that reports."""


@contextmanager
def processes(jobs: int, report: Report) -> Iterator[Callable[..., Iterator[tuple[PlaceSpec, Any]]]]:
    """Worker processes and a function that runs tasks in them, yielding results as they come.

    Args:
        jobs: How many; each gets its share of the processor's cores.
        report: Told about progress.

    Yields:
        ``run(function, tasks)``: its tasks are pairs of a place and the function's arguments, and it yields pairs of a
        place and the function's result.

    Raises:
        SceneError: What a task raises; or a process died.
    """
    context = multiprocessing.get_context("spawn")
    # The software renderer's threads: its share of the cores for each process. Read when OpenGL is first used.
    threads = max(1, len(os.sched_getaffinity(0)) // jobs)
    surroundings = {
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
        "LP_NUM_THREADS": str(threads),
        # Python's resource tracker, a process that the first queue starts, complains when this one was killed.
        "PYTHONWARNINGS": ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), TRACKER_WARNING])),
    }
    before = {name: os.environ.get(name) for name in surroundings}
    os.environ.update(surroundings)
    queue = context.SimpleQueue()
    executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker, initargs=(queue, os.getpid()))

    def told() -> None:
        report(0.0)
        while not queue.empty():
            report(queue.get())

    def run(function: Any, tasks: list[tuple[PlaceSpec, tuple[Any, ...]]]) -> Iterator[tuple[PlaceSpec, Any]]:
        pending: dict[Future[Any], PlaceSpec] = {
            executor.submit(function, *arguments): spec for spec, arguments in tasks
        }
        while pending:
            done, _ = wait(pending, timeout=POLL_S, return_when=FIRST_COMPLETED)
            told()
            for future in done:
                spec = pending.pop(future)
                try:
                    outcome = future.result()
                except BrokenProcessPool as error:
                    raise SceneError(
                        "a process died without a word", file=spec.name, remedy="fewer --jobs, if memory ran out"
                    ) from error
                yield spec, outcome

    try:
        with _orderly_end():
            yield run
    except BaseException:
        # What is being made now is lost anyway: do not wait for it.
        for process in list((executor._processes or {}).values()):
            process.terminate()
        executor.shutdown(wait=True, cancel_futures=True)
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _orderly_end() -> Iterator[None]:
    """Let SIGTERM end this process as Ctrl-C does: its workers first, and with the exit code that a shell gives it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can take signals
        return

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _start_worker(queue: Any, parent: int) -> None:
    global _progress
    import cv2

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells its processes when to end
    cv2.setNumThreads(1)
    _progress = queue
    _die_with(parent)


def _die_with(parent: int) -> None:
    """End this process when its parent is gone, even if that was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def tell(share: float) -> None:
    """In a worker: a share of a place's work is done."""
    _progress.put(share)
