"""Sets of places: several processes, progress, and going on after an interruption.

Each place is made in a hidden folder and renamed when it is complete, so an interrupted ``make`` leaves whole places
only. The same command then makes the rest; the result is the same, byte for byte, as without the interruption.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gst_ros import __version__
from gst_ros.errors import GstError
from gst_ros.scenes.files import SET_FILE, read_json, write_json
from gst_ros.scenes.footage import disk_error
from gst_ros.scenes.place import SceneError
from gst_ros.scenes.settings import PlaceSpec, SetOptions

WORK_FOLDER = ".making"
NEIGHBOURS = 6
"""Other places that lend their top-down images as wrong options; more than the set has are drafted for that alone."""
POLL_S = 0.5

Report = Callable[[float], object]
"""Told how many places' worth of work were done since the last call, a fraction."""


@dataclass
class MadeSet:
    """What ``make_set`` did.

    Attributes:
        places: Names of all places of the set, in order.
        made: How many of them were made now; the others were there already.
        questions: Task key -> number of questions in the places made now.
        notes: Per place, which tasks have fewer questions than wanted.
    """

    places: list[str]
    made: int = 0
    questions: dict[str, int] = field(default_factory=dict)
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)


def make_set(options: SetOptions, out: Path, *, jobs: int = 2, report: Report = lambda _: None) -> MadeSet:
    """Make a set of places, or what is missing of it.

    Args:
        options: What to make.
        out: The set's folder; made if missing.
        jobs: Number of processes. It does not change the result.
        report: Told about progress.

    Raises:
        SceneError: The folder holds another set or other things, is in use, or the disk is full; there is no OpenGL
            or no furniture; or a place cannot be made.
    """
    _check_machine(options)
    with _claimed(out, options) as work:
        specs = [options.place(number) for number in range(options.count)]
        result = MadeSet([spec.name for spec in specs])
        missing = [spec for spec in specs if not (out / spec.name).is_dir()]
        report(float(options.count - len(missing)))
        if missing:
            pool = [options.place(number) for number in range(max(options.count, NEIGHBOURS + 1))]
            _make(options, out, work, pool, missing, jobs, report, result)
        shutil.rmtree(work, ignore_errors=True)
    return result


def neighbours(spec: PlaceSpec, pool: list[PlaceSpec]) -> list[PlaceSpec]:
    """The places whose top-down images a place's questions offer as wrong options: those after it, in a circle.

    Args:
        spec: The place.
        pool: All that there are.
    """
    count = min(NEIGHBOURS, len(pool) - 1)
    return [pool[(spec.number + 1 + k) % len(pool)] for k in range(count)]


def _make(
    options: SetOptions,
    out: Path,
    work: Path,
    pool: list[PlaceSpec],
    missing: list[PlaceSpec],
    jobs: int,
    report: Report,
    result: MadeSet,
) -> None:
    drafts = work / "drafts"
    drafts.mkdir(exist_ok=True)
    others = {spec.number: neighbours(spec, pool) for spec in missing}
    needed = {s.number for spec in missing for s in (spec, *others[spec.number])}
    with _processes(jobs, report) as run:
        undrafted = [spec for spec in pool if spec.number in needed and not (drafts / spec.name).is_dir()]
        for _, _ in run(_draft, [(spec, (spec, options, drafts / spec.name)) for spec in undrafted]):
            pass
        tasks = [
            (
                spec,
                (
                    spec,
                    options,
                    drafts / spec.name,
                    [drafts / s.name for s in others[spec.number]],
                    out / spec.name,
                ),
            )
            for spec in missing
        ]
        notes = {}
        for spec, outcome in run(_film, tasks):
            result.made += 1
            for task, count in outcome.counts.items():
                result.questions[task] = result.questions.get(task, 0) + count
            notes[spec.name] = outcome.notes
    result.notes = {name: notes[name] for name in result.places if notes.get(name)}


@contextmanager
def _claimed(out: Path, options: SetOptions) -> Iterator[Path]:
    """Check that a folder is this set's or empty, and keep other makers out of it."""
    work = out / WORK_FOLDER
    with ExitStack() as stack:
        try:
            out.mkdir(parents=True, exist_ok=True)
            _check_settings(out, options)
            work.mkdir(exist_ok=True)
            lock = stack.enter_context(open(work / "lock", "w"))
        except OSError as error:
            raise disk_error(error, out) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SceneError("another gst scenes make is at work here", file=out) from error
        yield work


def _check_settings(out: Path, options: SetOptions) -> None:
    """Write the settings of a new set; refuse to go on with those of another.

    Raises:
        SceneError: It names the difference.
    """
    file = out / SET_FILE
    wanted = {"version": __version__, **options.to_mapping()}
    if not file.exists():
        strangers = sorted(path.name for path in out.iterdir() if path.name != WORK_FOLDER)
        if strangers:
            raise SceneError(
                f"the folder is not empty ('{strangers[0]}')", file=out, remedy="give an empty or a new folder"
            )
        part = file.with_suffix(".part")
        write_json(part, wanted)
        part.rename(file)
        return
    found = read_json(file)
    expected = _as_json(wanted)
    difference = _difference(found, expected)
    if difference:
        name, old, new = difference
        raise SceneError(
            f"the set there was made with {old!r}, not {new!r}",
            file=file,
            field=name,
            remedy="give the same settings or another folder",
        )


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _as_json(item) for key, item in value.items()}
    return [_as_json(item) for item in value] if isinstance(value, (list, tuple)) else value


def _difference(found: Any, expected: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """The first setting that differs: its name, what was found, what was expected."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in sorted(set(found) | set(expected)):
            inner = _difference(found.get(key), expected.get(key), f"{name}.{key}" if name else key)
            if inner:
                return inner
        return None
    return None if found == expected else (name or "set", found, expected)


def _check_machine(options: SetOptions) -> None:
    """Fail early and once, not in every process: no furniture, no OpenGL, an unknown camera."""
    from gst_ros.scenes.filming import open_catalogue
    from gst_ros.scenes.rendering.renderer import create_context

    _ = options.preset
    open_catalogue(options)
    create_context().release()


# Processes

_progress: Any = None


@contextmanager
def _processes(jobs: int, report: Report) -> Iterator[Callable[..., Iterator[tuple[PlaceSpec, Any]]]]:
    """Worker processes and a function that runs tasks in them, yielding results as they come."""
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    # The software renderer's threads: its share of the cores for each process. Read when OpenGL is first used.
    before = {name: os.environ.get(name) for name in ("LP_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    threads = max(1, len(os.sched_getaffinity(0)) // jobs)
    os.environ.update(LP_NUM_THREADS=str(threads), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker, initargs=(queue, os.getpid()))

    def told() -> None:
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


def _start_worker(queue: Any, parent: int) -> None:
    global _progress
    import cv2

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells its processes when to end
    cv2.setNumThreads(1)
    _progress = queue
    _die_with(parent)


def _die_with(parent: int) -> None:
    """End this process when its parent is gone, even if that was killed."""
    import threading
    import time

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _draft(spec: PlaceSpec, options: SetOptions, folder: Path) -> None:
    from gst_ros.scenes.filming import draft_place

    with _readable_errors(folder):
        draft_place(spec, options, folder)


def _film(spec: PlaceSpec, options: SetOptions, draft: Path, others: list[Path], folder: Path) -> Any:
    from gst_ros.scenes.filming import film_place

    done = 0.0

    def progress(share: float) -> None:
        # In steps of a hundredth of a place: a message for each frame would be a waste.
        nonlocal done
        before, done = done, done + share
        if int(done * 100) > int(before * 100):
            _progress.put((int(done * 100) - int(before * 100)) / 100)

    with _readable_errors(folder):
        return film_place(spec, options, draft, others, folder, progress)


@contextmanager
def _readable_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except GstError:
        raise
    except OSError as error:
        raise disk_error(error, Path(error.filename or folder)) from error
