"""What places and questions the data engine makes: sizes, contents, walks, and how true answers are spread.

    python benchmarks/scene_statistics.py [--places 100] [--seed 1] [--set SET] [--figure FIGURE.svg]

Grows the places of a set, without rendering, checks each (nothing inside something else, every room furnished and
within reach) and walks through it. With --set, the questions of sets that ``gst scenes make`` made are counted, too.
The last line printed is JSON; the exit code is 3 when a place has a problem.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from histograms import Histogram, draw
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from gst_ros.errors import GstError

NUMBERS = {
    "area_m2": ("floor area indoors, m2", (20, 40, 60, 80, 100, 120, 140, 160, 180, 200)),
    "rooms": ("rooms indoors", (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)),
    "objects": ("objects", (0, 40, 80, 120, 160, 200, 240, 280)),
    "names": ("names of one object alone", (0, 5, 10, 15, 20, 25, 30, 35, 40)),
    "walk_m": ("length of a walk, m", (0, 10, 20, 30, 40, 50, 60)),
    "walk_s": ("time of a walk, s", (30, 45, 60, 75, 90, 105, 120)),
}
DISTANCES_M = (0, 1.5, 2.5, 3.5, 4.5, 6, 8, 11, 20)
ANGLES_DEG = tuple(range(-180, 181, 30))
GRID = tuple(range(0, 1001, 100))


def measure(job: tuple[Any, Any]) -> dict[str, Any]:
    """Grow a place, check it and walk through it; run in a process of its own."""
    import cv2
    import shapely

    from gst_ros.scenes.filming import grow, open_catalogue
    from gst_ros.scenes.freespace import FreeSpace
    from gst_ros.scenes.place import SceneError
    from gst_ros.scenes.questions.names import unique_labels
    from gst_ros.scenes.validity import check_place
    from gst_ros.scenes.walking.walk import walk

    cv2.setNumThreads(1)
    spec, options = job
    catalogue = open_catalogue(options)
    try:
        place = grow(spec, options, catalogue)
        way = walk(place, FreeSpace(place), options.preset, options.walk, "video1")
    except SceneError as error:
        return {"kind": spec.kind, "problems": [str(error)]}
    entered = [shapely.contains_xy(shapely.Polygon(room.outline), way.path_m).any() for room in place.rooms]
    indoors = [room for room in place.rooms if not room.outdoor]
    return {
        "kind": spec.kind,
        "problems": check_place(place, catalogue),
        "area_m2": sum(shapely.Polygon(room.outline).area for room in indoors),
        "rooms": len(indoors),
        "garden": len(indoors) < len(place.rooms),
        "objects": len(place.objects),
        "names": len(unique_labels(place)),
        "walk_m": way.length_m,
        "walk_s": way.duration_s,
        "not_entered": len(place.rooms) - int(sum(entered)),
    }


def read_answers(folders: Iterable[Path]) -> dict[str, list[Any]]:
    """True answers by task key, in the order of the table of tasks."""
    from gst_ros.bench.questions import load_questions
    from gst_ros.bench.tasks import TASKS
    from gst_ros.scenes.check.truth import find_places

    found: dict[str, list[Any]] = defaultdict(list)
    for folder in folders:
        for place in find_places(folder):
            for question in load_questions(place.root / "questions.json").questions:
                found[question.task.key].append(question.truth)
    return {key: found[key] for key in TASKS if key in found}


def binned(values: Sequence[float], edges: Sequence[float]) -> list[int]:
    """Counts of values between edges; what lies beyond the last ones counts with them."""
    return [int(n) for n in np.histogram(np.clip(values, edges[0], np.nextafter(edges[-1], -np.inf)), edges)[0]]


def summary(values: Sequence[float]) -> list[float]:
    """Least, 25 %, median, 75 % and greatest of some numbers."""
    return [round(float(v), 1) for v in np.percentile(values, [0, 25, 50, 75, 100])]


def place_histograms(found: Sequence[dict[str, Any]]) -> list[Histogram]:
    result = []
    for name, (title, edges) in NUMBERS.items():
        result.append(Histogram(title, binned([row[name] for row in found], edges), [str(edge) for edge in edges]))
    return result


def answer_histograms(answers: dict[str, list[Any]]) -> list[Histogram]:
    result = []
    for key, values in answers.items():
        if isinstance(values[0], str):
            result.append(Histogram(f"{key}, letter", [Counter(values)[letter] for letter in "ABCD"], list("ABCD")))
        elif isinstance(values[0], tuple):
            for axis, name in enumerate("xy"):
                labels = [str(edge) if edge % 200 == 0 and edge < GRID[-1] else "" for edge in GRID]
                result.append(Histogram(f"{key}, {name} of 999", binned([v[axis] for v in values], GRID), labels))
        elif key.startswith("edist"):
            labels = [f"{edge:g}" for edge in DISTANCES_M[:-1]] + [""]
            result.append(Histogram(f"{key}, m", binned(values, DISTANCES_M), labels))
        else:
            labels = [str(edge) if abs(edge) in (0, 90) else "" for edge in ANGLES_DEG]
            result.append(Histogram(f"{key}, degrees", binned(values, ANGLES_DEG), labels))
    return result


def grow_all(places: int, jobs: int, seed: int, builtin_only: bool) -> list[dict[str, Any]]:
    from gst_ros.scenes.filming import open_catalogue
    from gst_ros.scenes.settings import SetOptions

    options = SetOptions(seed=seed, count=max(1, places), builtin_only=builtin_only)
    open_catalogue(options)  # one clear error, and not one from each process
    work = [(options.place(number), options) for number in range(places)]
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        return list(tqdm(pool.imap(measure, work), total=places, desc="growing", unit="place", disable=not places))


@click.command(help=__doc__)
@click.option("--places", default=100, show_default=True, type=click.IntRange(0), help="Places to grow.")
@click.option("--seed", default=1, show_default=True, help="Seed of their set.")
@click.option("--set", "sets", multiple=True, type=click.Path(path_type=Path), help="A made set; may be repeated.")
@click.option("--figure", type=click.Path(path_type=Path, dir_okay=False), help="Where to draw histograms (SVG).")
@click.option("--builtin-only", is_flag=True, help="Simple built-in furniture; needs no furniture package.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1), help="Processes.")
@click.option("--cores", default=2, show_default=True, type=click.IntRange(1), help="Processor cores to use.")
def main(
    places: int, seed: int, sets: tuple[Path, ...], figure: Path | None, builtin_only: bool, jobs: int, cores: int
) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    try:
        answers = read_answers(sets)
        rows = grow_all(places, jobs, seed, builtin_only)
    except GstError as error:
        print(f"scene_statistics: error: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from error
    built = [row for row in rows if "area_m2" in row]
    result: dict[str, Any] = {
        "places": places,
        "seed": seed,
        "built": len(built),
        "problems": sum(len(row["problems"]) for row in rows),
        "rooms_not_entered": sum(row["not_entered"] for row in built),
        "kinds": dict(sorted(Counter(row["kind"] for row in built).items())),
        "gardens": sum(row["garden"] for row in built),
        **{name: summary([row[name] for row in built]) for name in NUMBERS if built},
        "questions": {key: len(values) for key, values in answers.items()},
    }
    if figure is not None:
        drawn = (place_histograms(built) if built else []) + answer_histograms(answers)
        figure.write_text(draw(drawn), encoding="utf-8")
    for row in rows:
        for problem in row["problems"]:
            print(f"{row['kind']}: {problem}")
    table = Table("", "least", "25 %", "median", "75 %", "greatest")
    for name, (title, _) in NUMBERS.items():
        table.add_row(title, *(f"{v:g}" for v in result.get(name, ())))
    if built:
        Console(width=88).print(table)
    print(f"{len(built)} of {places} built; {result['problems']} problems; kinds: {result['kinds']}")
    print(json.dumps(result))
    if result["problems"] or result["rooms_not_entered"]:
        raise SystemExit(3)


if __name__ == "__main__":
    main()
