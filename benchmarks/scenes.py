"""How fast places are made: frames rendered and encoded per second, and seconds per place.

    python benchmarks/scenes.py [--places 2] [--jobs 2] [--frames 120] [--seconds 45]

First, as many processes as jobs film the same furnished home at once, 640 x 512, video encoding and the bookkeeping of
visible objects included; their frames per second are added up. Then ``gst scenes make`` makes whole places, with all
that belongs to them (marked videos, query views, plans, questions). The furniture's meshes come from the user's cache,
which a first place of the same kind fills. The last line printed is JSON.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from gst_ros.errors import GstError

TARGET_FPS = 6.0
TARGET_SECONDS_PER_PLACE = 150.0
AREA_M2 = 75.0  # a home with about sixty objects
FILM_SEED = 11


def film(frames: int, threads: int, start: Any, results: Any) -> None:
    """Film some frames; run in a process of its own."""
    os.environ["LP_NUM_THREADS"] = str(threads)
    import cv2

    from gst_ros.scenes.cameras import find_preset
    from gst_ros.scenes.catalogue import Catalogue
    from gst_ros.scenes.footage import VideoWriter
    from gst_ros.scenes.freespace import FreeSpace
    from gst_ros.scenes.grow import GrowOptions, grow_place
    from gst_ros.scenes.instances import TrackRecorder
    from gst_ros.scenes.rendering.build import build_scene_mesh
    from gst_ros.scenes.rendering.renderer import Renderer
    from gst_ros.scenes.walking.walk import WalkOptions, walk

    cv2.setNumThreads(1)
    catalogue = Catalogue.open()
    place = grow_place("home", FILM_SEED, catalogue=catalogue, options=GrowOptions(area_m2=AREA_M2))
    scene = build_scene_mesh(place, catalogue)
    preset = find_preset("official")
    poses = walk(place, FreeSpace(place), preset, WalkOptions(), "video1").poses
    chosen = [poses[k * len(poses) // frames] for k in range(frames)]
    tracks = TrackRecorder(place, scene.instances)
    with tempfile.TemporaryDirectory() as scratch, Renderer(scene, place) as renderer:
        renderer.render(preset.video, chosen[0])  # compiles the shaders
        start.wait()
        before = time.perf_counter(), time.process_time()
        with VideoWriter(Path(scratch) / "video.mp4", preset.video.width, preset.video.height, preset.fps) as writer:
            for number, pose in enumerate(chosen):
                picture = renderer.render(preset.video, pose)
                tracks.add(number, picture.ids)
                writer.write(picture.rgb)
        wall, cpu = time.perf_counter() - before[0], time.process_time() - before[1]
    results.put((frames / wall, cpu / frames, len(place.objects), len(scene.mesh.faces)))


def measure_filming(frames: int, jobs: int) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(jobs), context.Queue()
    threads = max(1, len(os.sched_getaffinity(0)) // jobs)
    processes = [context.Process(target=film, args=(frames, threads, start, results)) for _ in range(jobs)]
    for process in processes:
        process.start()
    found = []
    for process in processes:
        process.join()
        if process.exitcode:
            raise SystemExit("scenes: a filming process failed")
        found.append(results.get())
    return {
        "fps": round(sum(fps for fps, *_ in found), 2),
        "cpu_s_per_frame": round(sum(cpu for _, cpu, *_ in found) / jobs, 4),
        "objects": found[0][2],
        "triangles": found[0][3],
    }


def measure_making(places: int, jobs: int, seconds: float) -> dict[str, Any]:
    from gst_ros.scenes.make import make_set
    from gst_ros.scenes.settings import SetOptions
    from gst_ros.scenes.walking.walk import WalkOptions

    options = SetOptions(count=places, walk=WalkOptions(seconds=seconds))
    with tempfile.TemporaryDirectory(prefix="gst_scenes_") as scratch:
        before = time.perf_counter()
        result = make_set(options, Path(scratch) / "set", jobs=jobs)
        wall = time.perf_counter() - before
        size = sum(path.stat().st_size for path in Path(scratch).rglob("*") if path.is_file())
    return {
        "seconds_per_place": round(wall / places, 1),
        "questions_per_place": round(sum(result.questions.values()) / places, 1),
        "mb_per_place": round(size / places / 1e6, 1),
    }


@click.command(help=__doc__)
@click.option("--places", default=2, show_default=True, type=click.IntRange(0), help="Places to make; 0: film only.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1), help="Processes.")
@click.option("--frames", default=120, show_default=True, type=click.IntRange(1), help="Frames that each one films.")
@click.option("--seconds", default=45.0, show_default=True, help="Wanted length of the videos.")
@click.option("--cores", default=2, show_default=True, type=click.IntRange(1), help="Processor cores to use.")
def main(places: int, jobs: int, frames: int, seconds: float, cores: int) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    try:
        result: dict[str, Any] = measure_filming(frames, jobs)
        if places:
            result |= measure_making(places, jobs, seconds)
    except GstError as error:
        print(f"scenes: error: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from error
    table = Table("", "measured", "wanted")
    table.add_row("frames/s, encoding included", f"{result['fps']}", f">= {TARGET_FPS:g}")
    table.add_row("processor seconds per frame", f"{result['cpu_s_per_frame']}", "")
    table.add_row("objects, triangles", f"{result['objects']}, {result['triangles']}", "60")
    if places:
        table.add_row("seconds per place", f"{result['seconds_per_place']}", f"<= {TARGET_SECONDS_PER_PLACE:g}")
        table.add_row("questions, MB per place", f"{result['questions_per_place']}, {result['mb_per_place']}", "")
    Console(width=88).print(table)
    print(json.dumps({**result, "places": places, "jobs": jobs, "cores": cores}))


if __name__ == "__main__":
    main()
