"""The scores of a run as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gst_ros.bench.run_score import RunScore
from gst_ros.bench.tasks import TASKS

if TYPE_CHECKING:
    from rich.table import Table


def score_table(score: RunScore, title: str = "GST-Bench") -> Table:
    """The scores of a run, one row for each task that it has questions of, and the average.

    Args:
        score: The scores.
        title: The table's title.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    # As narrow as it can be: a terminal of 80 columns must not break it.
    table = Table(
        title=escape(title),
        caption=_caption(score),
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=0,
    )
    table.add_column("Task", no_wrap=True)
    for name in ("Score", "± s.e.", "Answered", "Unparsed", "Failed", "Skipped"):
        table.add_column(name, justify="right")
    group = ""
    for key, row in score.tasks.items():
        if not (row.answered or row.failed or row.skipped):
            continue
        if group and TASKS[key].group != group:
            table.add_section()
        group = TASKS[key].group
        counts = (row.answered, row.unparsed, row.failed, row.skipped)
        table.add_row(TASKS[key].title, _number(row.score), _number(row.standard_error), *map(str, counts))
    table.add_section()
    name = "Average" if score.tasks_scored == len(TASKS) else f"Average of {score.tasks_scored} of {len(TASKS)} tasks"
    counts = (score.answered, score.unparsed, score.failed, len(score.skipped))
    table.add_row(name, _number(score.average), _number(score.standard_error), *map(str, counts), style="bold")
    return table


def skip_reasons(score: RunScore, limit: int = 10) -> list[str]:
    """Why questions were skipped: one line for each reason with its count, the most frequent first."""
    counts: dict[str, int] = {}
    for skip in score.skipped:
        counts[skip.reason] = counts.get(skip.reason, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"{count} skipped: {reason}" for reason, count in ordered[:limit]]
    if len(ordered) > limit:
        rest = sum(count for _, count in ordered[limit:])
        lines.append(f"{rest} skipped for {len(ordered) - limit} more reasons (all are in summary.json)")
    return lines


def _caption(score: RunScore) -> str | None:
    if score.tasks_scored == len(TASKS):
        return None
    return f"Not the benchmark's score: that is the mean of all {len(TASKS)} tasks."


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
