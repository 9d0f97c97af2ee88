"""``gst report``: a run as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("report", short_help="Write a run as one HTML page.")
@click.argument("path", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), help="The page to write. Default: report.html in RUN.")
@click.option(
    "--questions", type=click.Path(path_type=Path), help="Where the question set is now, if it has been moved."
)
@click.option("--data-root", type=click.Path(path_type=Path), help="Where its media are, if not beside the questions.")
@click.option(
    "--pictures-mb",
    type=click.FloatRange(min=0.0, max=1000.0),
    default=12.0,
    show_default=True,
    help="Bound on all pictures together; beyond it they are left out, right answers' first.",
)
@click.option("--curve", type=click.Path(path_type=Path), help="Write the reliability curve alone too, as SVG.")
def command(
    path: Path,
    output: Path | None,
    questions: Path | None,
    data_root: Path | None,
    pictures_mb: float,
    curve: Path | None,
) -> int:
    """Write RUN (a run folder, finished or not) as one HTML page that needs nothing else to be read.

    It has the scores beside the published ones, scores by scene and confidence, where points are lost, and every
    question with its pictures, the true answer, the answer given and how it was found.
    """
    from gst_ros.bench.run_data import RECORDS_FILE, read_run
    from gst_ros.errors import QuestionError, RunError
    from gst_ros.report.page import REPORT_FILE, write_curve, write_report

    if path.name == RECORDS_FILE:
        path = path.parent
    if questions is not None and not questions.exists():
        raise QuestionError("does not exist", file=questions, remedy="give a question file or a folder of them")
    if data_root is not None and not data_root.is_dir():
        raise QuestionError("is not a folder", file=data_root, remedy="--data-root takes the folder of the media")
    file = output or path / REPORT_FILE
    if file.is_dir():
        raise RunError("is a folder", file=file, remedy="--output takes the page's file name")
    run = read_run(path)
    page = write_report(run, file, questions=questions, data_root=data_root, limit_mb=pictures_mb)
    click.echo(f"{file}: {page.questions} questions, {page.pictures} pictures ({page.pictures_bytes / 1e6:.1f} MB)")
    if curve is not None:
        write_curve(run, curve)
        click.echo(f"{curve}: the reliability curve")
    if page.without_picture:
        click.echo(f"questions without all of their pictures: {page.without_picture}; the page says why", err=True)
    return 0
