"""Sets of places: several processes, progress, and going on after an interruption.

Each place is made in a hidden folder and renamed when it is complete, so an interrupted ``make`` leaves whole places
only. The same command then makes the rest; the result is the same, byte for byte, as without the interruption.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gst_ros import __version__
from gst_ros.errors import GstError
from gst_ros.scenes.files import PART, SET_FILE, PlaceFiles, disk_error, write_json, write_text
from gst_ros.scenes.place import SceneError, load_place
from gst_ros.scenes.reading import read_json
from gst_ros.scenes.settings import PlaceSpec, SetOptions
from gst_ros.scenes.shapes import anything, table
from gst_ros.scenes.whole import check_whole
from gst_ros.scenes.workers import Progress, processes, tell

WORK_FOLDER = ".making"
DRAFT_SHARE = 0.05
"""A draft is this much of the work of a place."""
NEIGHBOURS = 6
"""Other places that lend their top-down images as wrong options; more than the set has are drafted for that alone."""


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


def make_set(options: SetOptions, out: Path, *, jobs: int = 2, progress: Progress | None = None) -> MadeSet:
    """Make a set of places, or what is missing of it.

    Args:
        options: What to make.
        out: The set's folder; made if missing.
        jobs: Number of processes. It does not change the result.
        progress: Told how far it is, once it is clear that there is something to do.

    Raises:
        SceneError: The folder holds another set or other things, is in use, or the disk is full; a place there is not
            whole any more; there is no OpenGL or no furniture; or a place cannot be made.
    """
    progress = progress or Progress()
    _check_machine(options)
    with _claimed(out, options) as work:
        specs = [options.place(number) for number in range(options.count)]
        result = MadeSet([spec.name for spec in specs])
        missing = [spec for spec in specs if not (out / spec.name).exists()]
        try:
            for spec in specs:
                if spec not in missing:
                    check_whole(out / spec.name, options)
        except SceneError:
            if not missing:
                shutil.rmtree(work, ignore_errors=True)  # nothing to go on with
            raise
        if missing:
            progress.begin(float(options.count - len(missing)))
            pool = [options.place(number) for number in range(max(options.count, NEIGHBOURS + 1))]
            _make(options, out, work, pool, missing, jobs, progress, result)
        _write_attribution(options, out, result.places)
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
    progress: Progress,
    result: MadeSet,
) -> None:
    drafts = work / "drafts"
    drafts.mkdir(exist_ok=True)
    others = {spec.number: neighbours(spec, pool) for spec in missing}
    needed = {s.number for spec in missing for s in (spec, *others[spec.number])}
    undrafted = [spec for spec in pool if spec.number in needed and not (drafts / spec.name).is_dir()]
    # Drafts are work too, most of all for a small set: all of it together counts as the missing places.
    scale = len(missing) / (len(missing) + DRAFT_SHARE * len(undrafted))

    def report(share: float) -> None:
        progress.add(share * scale)

    with processes(jobs, report) as run:
        progress.stage(f"drafting {len(undrafted)} places")
        for number, _ in enumerate(run(_draft, [(s, (s, options, drafts / s.name)) for s in undrafted]), start=1):
            progress.stage(f"drafting {len(undrafted)} places, {number} done")
            report(DRAFT_SHARE)
        progress.stage(f"filming {len(missing)} places")
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
            raise disk_error(error, Path(error.filename or out)) from error
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
        # What a maker that was killed as it wrote leaves behind is no stranger's.
        own = {WORK_FOLDER, SET_FILE + PART}
        strangers = sorted(path.name for path in out.iterdir() if path.name not in own)
        if strangers:
            raise SceneError(
                f"the folder is not empty ('{strangers[0]}')", file=out, remedy="give an empty or a new folder"
            )
        write_json(file, wanted)
        return
    found = read_json(file, table(anything), remedy="restore it, or give another folder")
    expected = _as_json(wanted)
    difference = _difference(found, expected)
    if difference:
        name, old, new = difference
        raise SceneError(
            f"the set there was made with {_brief(old)}, not {_brief(new)}",
            file=file,
            field=name,
            remedy="give the same settings or another folder",
        )


def _brief(value: Any) -> str:
    return f"{value!r:.80}"


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


def _write_attribution(options: SetOptions, out: Path, names: list[str]) -> None:
    from gst_ros.scenes.attribution import FILE_NAME, attribution
    from gst_ros.scenes.filming import open_catalogue

    file = out / FILE_NAME
    text = attribution((load_place(PlaceFiles(out / name).scene) for name in names), open_catalogue(options))
    if not file.is_file() or file.read_bytes() != text.encode():
        write_text(file, text)


def _check_machine(options: SetOptions) -> None:
    """Fail early and once, not in every process: no furniture, no OpenGL, an unknown camera."""
    from gst_ros.scenes.filming import open_catalogue
    from gst_ros.scenes.rendering.renderer import create_context

    _ = options.preset
    open_catalogue(options)
    create_context().release()


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
            tell((int(done * 100) - int(before * 100)) / 100)

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
