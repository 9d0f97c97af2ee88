"""``gst score``: score a run, or official result files, without asking anything again."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command(name="score")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON and nothing else.")
@click.option("--config", "scoring_file", type=click.Path(path_type=Path), help="YAML file with scoring settings.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="One scoring setting; may be repeated.")
@click.option("--export", "save_dir", type=click.Path(path_type=Path), help="Write official result files below DIR.")
@click.option("--model", default=None, help="Model name for the exported folder; default: the answerer's name.")
@click.option("--overwrite", is_flag=True, help="Replace exported results that are there already.")
def command(
    path: Path,
    as_json: bool,
    scoring_file: Path | None,
    settings: tuple[str, ...],
    save_dir: Path | None,
    model: str | None,
    overwrite: bool,
) -> int:
    """Score PATH: a run folder (also while the run goes on) or a folder of official result files.

    All scores are on a 0-100 scale. Failed and skipped questions are not scored, and counted; an answer that cannot
    be read scores 0.
    """
    from gst_ros.bench.official import NOT_ANSWERED_FILE, export_official
    from gst_ros.bench.score_table import print_score_table, skip_reasons
    from gst_ros.bench.scoring import summary
    from gst_ros.cli._results import load_results
    from gst_ros.errors import RunError

    results = load_results(path, scoring_file, settings)
    if save_dir is not None and results.run is None:
        raise RunError("is no run folder; these results are official already", file=path, remedy="leave out --export")
    if as_json:
        document = {**summary(results.score, results.videos), "scoring": results.config.to_mapping()}
        click.echo(json.dumps(document, indent=1, allow_nan=False))
    else:
        from rich.console import Console

        console = Console(highlight=False)
        print_score_table(console, results.score, f"GST-Bench, {results.name}")
        for line in skip_reasons(results.score):
            console.print(line, markup=False, soft_wrap=True)
    if save_dir is not None and results.run is not None:
        files = export_official(results.run, save_dir, model or results.name, overwrite)
        folder = files[0].parent
        click.echo(f"wrote {len(files)} result file(s) to {folder}", err=as_json)
        left_out = results.score.failed + len(results.score.skipped)
        if left_out:
            click.echo(
                f"{left_out} questions without an answer are in {folder.parent / NOT_ANSWERED_FILE}", err=as_json
            )
    return 0
