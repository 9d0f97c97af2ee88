"""The scores of a run as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gst_ros.bench.questions import Skipped
from gst_ros.bench.run_score import RunScore
from gst_ros.bench.tasks import TASKS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


_WIDE = 80
"""Columns of a terminal from which on every heading is a whole word."""


def print_score_table(console: Console, score: RunScore, title: str = "GST-Bench") -> None:
    """Print the scores at the width of the terminal. No number is ever cut: a table that does not fit sticks out.

    Args:
        console: Where to.
        score: The scores.
        title: The table's title.
    """
    table = score_table(score, title, console.width)
    print_uncut(console, table)


def print_uncut(console: Console, table: Table) -> None:
    """Print a table, wider than the terminal if its least column widths need that, so that no number is cut."""
    needed = console.measure(table, options=console.options.update(width=1000)).minimum
    if needed > console.width:
        table.width = needed
    console.print(table, crop=False)


def score_table(score: RunScore, title: str = "GST-Bench", width: int = _WIDE) -> Table:
    """The scores of a run, one row for each task that it has questions of, and the average.

    Args:
        score: The scores.
        title: The table's title.
        width: Columns that there are; with less than 80, tasks are given by their keys, and headings are short. With
            less than 50, counts that are zero everywhere are left out.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    wide = width >= _WIDE
    names = ("Answered", "Unparsed", "Failed", "Skipped") if wide else ("n", "bad", "fail", "skip")
    totals = (score.answered, score.unparsed, score.failed, len(score.skipped))
    shown = [index for index, total in enumerate(totals) if width >= 50 or index == 0 or total]
    caption = _caption(score)
    if not wide:
        meanings = ("n = answered", "bad = unparsed", "fail = failed", "skip = skipped")
        caption = "\n".join(filter(None, [", ".join(meanings[index] for index in shown), caption]))
    table = Table(
        title=escape(title),
        caption=caption,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=0,
    )
    table.add_column("Task", no_wrap=True)
    for name in ("Score", "± s.e." if wide else "±", *(names[index] for index in shown)):
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))

    def add(name: str, mean: float | None, error: float | None, counts: tuple[int, ...], style: str = "") -> None:
        cells = [_number(mean), _number(error), *(str(counts[index]) for index in shown)]
        # The widest cell is the least width of the column, so that nothing is cut.
        for column, cell in zip(table.columns, [name, *cells], strict=True):
            column.min_width = max(column.min_width or 0, len(cell))
        table.add_row(name, *cells, style=style)

    group = ""
    for key, row in score.tasks.items():
        if not (row.answered or row.failed or row.skipped):
            continue
        if group and TASKS[key].group != group:
            table.add_section()
        group = TASKS[key].group
        counts = (row.answered, row.unparsed, row.failed, row.skipped)
        add(TASKS[key].title if wide else key, row.score, row.standard_error, counts)
    table.add_section()
    partial = f"Average of {score.tasks_scored} of {len(TASKS)} tasks"
    if not wide:
        partial = f"Average {score.tasks_scored}/{len(TASKS)}"
    name = "Average" if score.tasks_scored == len(TASKS) else partial
    add(name, score.average, score.standard_error, totals, "bold")
    return table


def skip_reasons(score: RunScore, limit: int = 10) -> list[str]:
    """Why questions were skipped: one line for each reason with its count, the most frequent first."""
    of: dict[str, list[Skipped]] = {}
    for skip in score.skipped:
        of.setdefault(skip.reason, []).append(skip)
    ordered = sorted(of.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = [
        f"{len(skips)} skipped: {reason}" + (f" ({skips[0].uid or skips[0].file})" if len(skips) == 1 else "")
        for reason, skips in ordered[:limit]
    ]
    if len(ordered) > limit:
        rest = sum(len(skips) for _, skips in ordered[limit:])
        lines.append(f"{rest} skipped for {len(ordered) - limit} more reasons (all are in summary.json)")
    if any(reason.endswith(" missing") for reason in of):
        lines.append("media are looked for beside the question files and in --data-root")
    return lines


def _caption(score: RunScore) -> str | None:
    if score.tasks_scored == len(TASKS):
        return None
    return f"Not the benchmark's score: that is the mean of all {len(TASKS)} tasks."


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
