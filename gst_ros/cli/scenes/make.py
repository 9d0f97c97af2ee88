"""``gst scenes make``: a set of places from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gst_ros.cli.scenes._options import SomePath, words
from gst_ros.errors import ConfigError, GstError

if TYPE_CHECKING:
    from gst_ros.scenes.make import MadeSet


OPTIONS = {"speed_mps": "--speed", "turn_dps": "--turn-rate", "area_m2": "--area"}
"""Settings whose options have other names than they."""


@click.command("make")
@click.option("--out", required=True, type=SomePath(file_okay=False), help="The set's folder.")
@click.option("--seed", default=1, show_default=True, help="The same seed and options give the same files.")
@click.option("--count", default=1, show_default=True, help="Number of places.")
@click.option(
    "--split", default="bench", show_default=True, help="bench, train (other places, other furniture) or local."
)
@click.option("--kinds", callback=words, help="Kinds of places, in turn: home, office, classroom, restaurant.")
@click.option("--camera", default="official", show_default=True, help="Camera preset: official, handheld, vacuum, ...")
@click.option("--seconds", default=45.0, show_default=True, help="Length of a video; longer where rooms are many.")
@click.option("--videos", default=1, show_default=True, help="Exploration videos per place.")
@click.option("--speed", default=0.8, show_default=True, help="Greatest speed of a walk, m/s.")
@click.option("--turn-rate", default=60.0, show_default=True, help="Greatest rate of turning, deg/s.")
@click.option("--per-task", default=6, show_default=True, help="Questions per task and place.")
@click.option("--tasks", callback=words, help="Only these tasks, separated by commas.")
@click.option("--view-width", default=0, help="Width of query views in pixels; the preset's (official: 1920) if 0.")
@click.option("--crf", default=20, show_default=True, help="Quality of the videos (x264): 0 lossless to 51.")
@click.option("--area", type=float, help="Floor area of the places, m2; varies if not given.")
@click.option("--licences", callback=words, help="Licences of the furniture: cc0, cc-by; all if not given.")
@click.option("--builtin-only", is_flag=True, help="Simple built-in furniture; needs no furniture package.")
@click.option("--sensor-effects", is_flag=True, help="Noise, motion blur and changes of exposure in the videos.")
@click.option("--depth", is_flag=True, help="Keep the depth images of the videos, in gt/depth/.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1, 64), help="Places made at once.")
def command(
    out: Path,
    seed: int,
    count: int,
    split: str,
    kinds: tuple[str, ...] | None,
    camera: str,
    seconds: float,
    videos: int,
    speed: float,
    turn_rate: float,
    per_task: int,
    tasks: tuple[str, ...] | None,
    view_width: int,
    crf: int,
    area: float | None,
    licences: tuple[str, ...] | None,
    builtin_only: bool,
    sensor_effects: bool,
    depth: bool,
    jobs: int,
) -> int:
    """Make furnished places, videos of walks through them, and questions with their true answers.

    After an interruption the same command goes on where it stopped. Truth lies in each place's gt/ folder.

    On two quiet cores a place with one video of 45 s takes about a minute and a half. A set of fewer than seven places
    drafts seven all the same: their top-down images are the wrong options of its questions.
    """
    from gst_ros.cli.scenes._bar import Bar
    from gst_ros.scenes.make import make_set
    from gst_ros.scenes.questions.options import QuestionOptions
    from gst_ros.scenes.settings import DEFAULT_KINDS, SetOptions
    from gst_ros.scenes.walking.walk import WalkOptions

    with _named_options():
        options = SetOptions(
            seed=seed,
            count=count,
            split=split,
            kinds=kinds or DEFAULT_KINDS,
            camera=camera,
            videos=videos,
            walk=WalkOptions(seconds=seconds, speed_mps=speed, turn_dps=turn_rate),
            view_width=view_width,
            crf=crf,
            sensor_effects=sensor_effects,
            depth=depth,
            licences=licences or (),
            builtin_only=builtin_only,
            area_m2=area,
            questions=QuestionOptions(per_task=per_task, tasks=tasks or ()),
        )
    with Bar(count) as bar:
        result = make_set(options, out, jobs=jobs, progress=bar)
    _tell(result, out)
    return 0


@contextmanager
def _named_options() -> Iterator[None]:
    """Let what is wrong with a setting name the option that it was given with."""
    try:
        yield
    except GstError as error:
        if error.field is None:
            raise
        option = OPTIONS.get(error.field, "--" + error.field.replace("_", "-"))
        raise ConfigError(error.problem, file=option, remedy=error.remedy) from error


def _tell(result: MadeSet, out: Path) -> None:
    if not result.made:
        click.echo(f"{out}: complete already, {len(result.places)} places")
        return
    click.echo(f"{out}: {result.made} of {len(result.places)} places made, {sum(result.questions.values())} questions")
    click.echo("  " + ", ".join(f"{task} {count}" for task, count in result.questions.items()))
    for name, notes in result.notes.items():
        for note in notes:
            click.echo(f"  {name}: {note}")
