"""``gst scenes show``: a set of places to look at."""

from __future__ import annotations

from pathlib import Path

import click

from gst_ros.cli.scenes._options import SomePath


@click.command("show")
@click.argument("folder", type=SomePath())
@click.option(
    "--out",
    type=SomePath(dir_okay=False),
    help="The page. Default: <name of FOLDER>_sheet.html here.",
)
@click.option("--frames", default=6, show_default=True, type=click.IntRange(1, 60), help="Frames shown of each video.")
@click.option("--per-task", default=2, show_default=True, type=click.IntRange(0), help="Questions shown; 0 for all.")
def command(folder: Path, out: Path | None, frames: int, per_task: int) -> int:
    """Draw a contact sheet of the set in FOLDER, or of one place of it.

    Frames, plans with the walk, query views, and questions with their true answers drawn in: one HTML page for all, and
    beside it a PNG image for each place and an overview of all (JPEG).
    """
    from rich.console import Console

    from gst_ros.scenes.show.page import show_set

    page = out or Path(f"{folder.absolute().name}_sheet.html")
    with Console(stderr=True, highlight=False).status("reading ...") as status:
        shown = show_set(
            folder, page, frames=frames, per_task=per_task, progress=lambda name: status.update(f"drawing {name} ...")
        )
    for warning in shown.warnings:
        click.echo(f"gst: warning: {warning}", err=True)
    click.echo(f"{shown.page}, {shown.overview} and {len(shown.images)} x {shown.page.stem}_<place>.png")
    return 0
