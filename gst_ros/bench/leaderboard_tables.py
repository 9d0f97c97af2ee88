"""The leaderboard as tables for people: in the terminal (rich) and in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gst_ros.bench.leaderboard import LOCAL_TASKS, Comparison, Row, coverage
from gst_ros.bench.tasks import TASKS

if TYPE_CHECKING:
    from rich.table import Table

TABLE_WIDTH = 136
"""Columns that the leaderboard needs; a pipe gets as many, a narrower terminal wraps."""

_MARKS = {"human": "human", "random": "chance"}  # in place of a rank


def leaderboard_table(comparison: Comparison) -> Table:
    """The published models, sorted by average, with the run among them; a partial run stands apart, below."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="GST-Bench, percent", title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("Model", no_wrap=True, max_width=30)
    table.add_column("Average", justify="right", no_wrap=True)
    for key in TASKS:
        table.add_column(_short(key), justify="right", no_wrap=True)
    for row in comparison.rows:
        table.add_row(*map(escape, _cells(row)), style=_style(row))
    if not comparison.complete:
        table.add_section()
        run = comparison.run
        table.add_row(*map(escape, _cells(run)), style=_style(run))
        shares = [coverage(task, comparison.board) for task in comparison.score.tasks.values()]
        table.add_row("", "  questions answered", "partial", *shares, style="dim")
    return table


def leaderboard_notes(comparison: Comparison) -> list[str]:
    """What must be said below the leaderboard, one line each."""
    lines = []
    if not comparison.complete:
        name = comparison.run.name
        lines.append(f"{name} is partial and has no rank; its average is of other questions than the published ones:")
        lines += [f"  {sentence}" for sentence in comparison.shortfalls]
    elif comparison.score.standard_error is not None:
        lines.append(f"Standard error of this run's average: {comparison.score.standard_error:.2f} points.")
    lines += [f"{row.name}: {row.note}." for row in comparison.rows if row.note]
    lines.append(f"Source: {comparison.board.source}.")
    return lines


def leaderboard_markdown(comparison: Comparison) -> str:
    """The leaderboard with its notes, as Markdown."""
    head = ["#", "Model", "Average", *TASKS]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * 2 + " ---: |" * (len(head) - 2)]
    rows = [*comparison.rows] if comparison.complete else [*comparison.rows, comparison.run]
    for row in rows:
        cells = [cell.replace("|", "\\|").replace("\n", " ") for cell in _cells(row)]
        if row.kind == "run":
            cells = [f"**{cell}**" if cell else cell for cell in cells]
        lines.append("| " + " | ".join(cells) + " |")
    if not comparison.complete:
        shares = [coverage(task, comparison.board) for task in comparison.score.tasks.values()]
        lines.append("| " + " | ".join(["", "questions answered", "partial", *shares]) + " |")
    notes = [line.strip() for line in leaderboard_notes(comparison)]
    return "\n".join([*lines, "", *(f"- {line}" for line in notes)]) + "\n"


def local_table(comparison: Comparison) -> Table:
    """GST-Bench-Local with the run's own row; a run of the ordinary questions fills the column *global*."""
    from rich.markup import escape
    from rich.table import Table

    board = comparison.board
    table = Table(title="GST-Bench-Local, percent", title_justify="left", show_edge=False)
    table.add_column("Model", no_wrap=True)
    for key in LOCAL_TASKS:
        for name in board.local_settings:
            table.add_column(f"{key}\n{name}", justify="right")
    for model in board.local[LOCAL_TASKS[0]]:
        numbers = [number for key in LOCAL_TASKS for number in board.local[key][model]]
        table.add_row(escape(model), *map(_number, numbers))
    table.add_section()
    cells = []
    for key in LOCAL_TASKS:
        task = comparison.score.tasks[key]
        cells += [_number(task.score) if name == "global" else "-" for name in board.local_settings]
        if task.score is not None and task.answered != board.question_counts[key]:
            cells[-len(board.local_settings)] += f" ({coverage(task, board)})"
    table.add_row(escape(comparison.run.name), *cells, style="bold green")
    return table


def _cells(row: Row) -> list[str]:
    rank = _MARKS.get(row.kind, "") if row.rank is None else str(row.rank)
    name = row.name
    if row.kind == "run":
        name = f"> {row.name}"
    average = _number(row.average)
    if row.kind == "run" and row.rank is None and row.average is not None:
        average += "*"
    return [rank, name, average, *(_number(row.scores.get(key)) for key in TASKS)]


def _style(row: Row) -> str | None:
    return {"run": "bold green", "human": "cyan", "random": "cyan"}.get(row.kind)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _short(key: str) -> str:
    """A task key that fits a column of six letters."""
    return {"tds_easy": "tds\neasy", "tds_medium": "tds\nmedium", "tds_hard": "tds\nhard"}.get(
        key,
        key.replace("orientation", "orien-\ntation")
        .replace("position", "posi-\ntion")
        .replace("trajectory", "trajec-\ntory"),
    )
