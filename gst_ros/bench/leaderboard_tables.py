"""The leaderboard as tables for people: in the terminal (rich) and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gst_ros.bench.leaderboard import LOCAL_TASKS, Comparison, Row, coverage
from gst_ros.bench.tasks import TASKS

if TYPE_CHECKING:
    from rich.table import Table

TABLE_WIDTH = 136
"""Columns that the leaderboard needs; a pipe gets as many, a narrower terminal gets it in several parts."""
_LOCAL_WIDTH = 110
_RANK_WIDTH = 6
_TASK_WIDTH = 8  # with the space before it

_MARKS = {"human": "human", "random": "chance"}  # in place of a rank


def leaderboard_tables(comparison: Comparison, width: int) -> list[Table]:
    """The leaderboard in as few tables as fit a width, each with some of the tasks; one from 136 columns on."""
    if width >= TABLE_WIDTH:
        return [leaderboard_table(comparison)]
    # Names may be cut, numbers not: in 40 columns there are 14 letters for the name and two columns of numbers.
    name_width = min(30, max(10, width // 2 - _RANK_WIDTH))
    fitting = max(1, (width - _RANK_WIDTH - 1 - name_width) // _TASK_WIDTH)
    columns = ["average", *TASKS]
    parts = [columns[start : start + fitting] for start in range(0, len(columns), fitting)]
    return [leaderboard_table(comparison, part, name_width) for part in parts]


def leaderboard_table(comparison: Comparison, columns: Sequence[str] | None = None, name_width: int = 30) -> Table:
    """The published models, sorted by average, with the run among them; a partial run stands apart, below.

    Args:
        comparison: The run among the models.
        columns: ``average`` and task keys, in their order; all by default.
        name_width: Letters for the name of a model; longer ones are cut.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    known = ["average", *TASKS]
    chosen = [0, 1, *(2 + known.index(name) for name in columns or known)]
    table = Table(title="GST-Bench, percent", title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    heads = ["#", "Model", "Average", *map(_short, TASKS)]
    rows = [*comparison.rows] if comparison.complete else [*comparison.rows, comparison.run]
    shares = [coverage(task, comparison.board) for task in comparison.score.tasks.values()]
    partial = ["", "  questions answered", "partial", *shares]
    lines = [(_cells(row), _style(row)) for row in rows] + ([] if comparison.complete else [(partial, "dim")])
    for index in chosen:
        if index == 1:
            table.add_column("Model", no_wrap=True, max_width=name_width)
            continue
        least = max(len(cells[index]) for cells, _ in lines)
        table.add_column(heads[index], justify="right", no_wrap=True, min_width=least)
    for cells, style in lines:
        if style and not comparison.complete and cells[1] == _cells(comparison.run)[1]:
            table.add_section()
        table.add_row(*(escape(cells[index]) for index in chosen), style=style)
    return table


def leaderboard_notes(comparison: Comparison) -> list[str]:
    """What must be said below the leaderboard, one line each."""
    lines = []
    if not comparison.complete:
        name = comparison.run.name
        lines.append(f"{name} is partial and has no rank; its average is of other questions than the published ones:")
        lines += [f"  {sentence}" for sentence in comparison.shortfalls]
    else:
        lines.append("Questions are counted, not compared: a rank means something for GST-Bench's own questions only.")
    if comparison.complete and comparison.score.standard_error is not None:
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


def local_tables(comparison: Comparison, width: int) -> list[Table]:
    """GST-Bench-Local in one table where that fits, else in one for each task."""
    if width >= _LOCAL_WIDTH:
        return [local_table(comparison)]
    return [local_table(comparison, [key]) for key in LOCAL_TASKS]


def local_table(comparison: Comparison, tasks: Sequence[str] = LOCAL_TASKS) -> Table:
    """GST-Bench-Local with the run's own row; a run of the ordinary questions fills the column *global*."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    board = comparison.board
    part = len(tasks) < len(LOCAL_TASKS)
    table = Table(
        title="GST-Bench-Local, percent",
        title_justify="left",
        show_edge=False,
        box=box.SIMPLE_HEAD if part else box.HEAVY_HEAD,
        padding=0 if part else (0, 1),
    )
    rows = []
    for model in board.local[LOCAL_TASKS[0]]:
        rows.append((model, [_number(number) for key in tasks for number in board.local[key][model]]))
    cells = []
    for key in tasks:
        task = comparison.score.tasks[key]
        cells += [_number(task.score) if name == "global" else "-" for name in board.local_settings]
        if task.score is not None and task.answered != board.question_counts[key]:
            cells[-len(board.local_settings)] += f" ({coverage(task, board)})"
    table.add_column("Model", no_wrap=True, max_width=20)
    heads = [(key, name) for key in tasks for name in board.local_settings]
    for index, (key, name) in enumerate(heads):
        least = max(len(row[index]) for row in (*(numbers for _, numbers in rows), cells))
        table.add_column(f"{key}\n{name}", justify="right", no_wrap=True, min_width=least)
    for model, numbers in rows:
        table.add_row(escape(model), *numbers)
    table.add_section()
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
