"""``gst scenes check``: prove a set right by other code than made it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from gst_ros.cli.scenes._options import SomePath

EXIT_FAILED = 3


@click.command("check")
@click.argument("folder", type=SomePath())
@click.option("--frames", default=50, show_default=True, type=click.IntRange(1), help="Frames rendered and ray-cast.")
@click.option("--quick", is_flag=True, help="Leave out what renders: files, marks, oracle and baselines only.")
@click.option("--seed", default=0, show_default=True, help="Seed of the choice of frames and points.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON and nothing else.")
def command(folder: Path, frames: int, quick: bool, seed: int, as_json: bool) -> int:
    """Check the set in FOLDER, or one place of it, with code that shares nothing with what made it.

    Files, marked videos, projections, depth, ray casting, an oracle that must score 100, random guesses that must score
    what theory says, and answers from the text alone that must gain nothing. Exit code 3 when a check fails.
    """
    from rich.console import Console

    from gst_ros.scenes.check.report import report_table, task_table
    from gst_ros.scenes.check.run import check_set

    console = Console(stderr=True, highlight=False)
    with console.status("reading ...") as status:
        report = check_set(
            folder, frames=frames, quick=quick, seed=seed, progress=lambda name: status.update(f"checking {name} ...")
        )
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=1, allow_nan=False))
    else:
        out = Console(highlight=False)
        out.print(report_table(report, f"Checks of {folder}"))
        out.print(task_table(report))
    for check in report.failed:
        click.echo(f"gst: check failed: {check.line}", err=True)
    return EXIT_FAILED if report.failed else 0
