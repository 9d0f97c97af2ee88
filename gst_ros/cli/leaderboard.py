"""``gst leaderboard``: a run among the published models."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gst_ros.bench.leaderboard import Comparison


@click.command(name="leaderboard")
@click.argument("path", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--name", default=None, help="What to call the run; default: the answerer's name.")
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
@click.option("--local", is_flag=True, help="Show the GST-Bench-Local table too.")
def command(path: Path, name: str | None, markdown: bool, as_json: bool, local: bool) -> int:
    """Show RUN (a run folder or official result files) among the published models, sorted by average.

    A run gets a rank only when it answered all questions of all twelve tasks. Questions are counted, not compared:
    of other questions than GST-Bench's own the rank means nothing.
    """
    from gst_ros.bench.leaderboard import compare
    from gst_ros.bench.leaderboard_tables import (
        TABLE_WIDTH,
        leaderboard_markdown,
        leaderboard_notes,
        leaderboard_tables,
        local_tables,
    )
    from gst_ros.bench.score_table import print_uncut
    from gst_ros.cli._results import load_results

    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other")
    results = load_results(path, None, ())
    comparison = compare(results.score, name or results.name)
    if as_json:
        click.echo(json.dumps(_document(comparison), indent=1, allow_nan=False))
        return 0
    if markdown:
        click.echo(leaderboard_markdown(comparison), nl=False)
        return 0
    from rich.console import Console

    console = Console(highlight=False)
    # Without a terminal nobody has chosen a width.
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else TABLE_WIDTH
    tables = leaderboard_tables(comparison, width)
    if local:
        tables += local_tables(comparison, width)
    console.width = width
    for number, table in enumerate(tables):
        if number:
            console.print()
        print_uncut(console, table)
    console.print()
    for line in leaderboard_notes(comparison):
        console.print(line, markup=False, soft_wrap=True)
    return 0


def _document(comparison: Comparison) -> dict[str, Any]:
    from gst_ros.bench.scoring import summary

    rows = [
        {
            "rank": row.rank,
            "name": row.name,
            "family": row.family,
            "kind": row.kind,
            "average": row.average,
            "scores": dict(row.scores),
            "note": row.note,
        }
        for row in comparison.rows
    ]
    return {
        "source": comparison.board.source,
        "scale": "0-100",
        "complete": comparison.complete,
        "shortfalls": list(comparison.shortfalls),
        "rank": comparison.run.rank,
        "run": {"name": comparison.run.name, **summary(comparison.score)},
        "rows": rows,
    }
