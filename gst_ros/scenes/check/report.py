"""Results of checks, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: What was checked.
        passed: Whether it held; None when it could not be done here.
        measured: What was found, in words.
        limit: What had to hold.
        place: Name of the place; empty when it is about the whole set.
        values: The numbers behind it, JSON types only.
    """

    name: str
    passed: bool | None
    measured: str
    limit: str
    place: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """One line: where, what, what was found and what had to hold."""
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.name}: {self.measured} (must be: {self.limit})"

    def to_json(self) -> dict[str, Any]:
        """The same as JSON types."""
        return {
            "name": self.name,
            "place": self.place,
            "passed": self.passed,
            "measured": self.measured,
            "limit": self.limit,
            "values": dict(self.values),
        }


@dataclass
class Report:
    """All checks of a set.

    Attributes:
        checks: The checks, in the order in which they were made.
    """

    checks: list[Check] = field(default_factory=list)

    @property
    def failed(self) -> list[Check]:
        """The checks that did not hold."""
        return [check for check in self.checks if check.passed is False]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON types."""
        skipped = sum(check.passed is None for check in self.checks)
        return {
            "passed": not self.failed,
            "failed": len(self.failed),
            "skipped": skipped,
            "checks": [check.to_json() for check in self.checks],
        }


def report_table(report: Report, title: str) -> Table:
    """A table with one row for each check.

    Args:
        report: The checks.
        title: Title of the table.
    """
    from rich.table import Table

    table = Table(title=title)
    for name in ("place", "check", "found", "must be", ""):
        table.add_column(name, overflow="fold")
    words = {True: "[green]ok[/green]", False: "[red]FAILED[/red]", None: "[yellow]not done[/yellow]"}
    for check in report.checks:
        table.add_row(check.place or "set", check.name, check.measured, check.limit, words[check.passed])
    return table


def task_table(report: Report) -> Table:
    """A table of the tasks: what the oracle, random guesses and the text alone score on each, 0 to 100."""
    from rich.table import Table

    table = Table(title="Scores (0-100)")
    for name in ("task", "questions", "oracle", "random", "in theory", "text alone", "without data"):
        table.add_column(name, justify="left" if name == "task" else "right")
    found = {check.name: check.values.get("tasks", {}) for check in report.checks if check.name in _BASELINES}
    oracle, random, text = (found.get(name, {}) for name in _BASELINES)
    for task in oracle:
        numbers = [
            (oracle, "score"),
            (random, "score"),
            (random, "theory"),
            (text, "score"),
            (text, "without_data"),
        ]
        cells = [f"{values[task][name]:.1f}" if task in values else "-" for values, name in numbers]
        table.add_row(task, str(oracle[task]["questions"]), *cells)
    return table


_BASELINES = ("oracle", "random", "text alone")
