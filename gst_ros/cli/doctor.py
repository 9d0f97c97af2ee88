"""``gst doctor``: what is there, what is missing, and the remedy of each."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table

    from gst_ros.doctor.probes import Finding

EXIT_INCOMPLETE = 3

_MARKS = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "missing": "missing", "error": "[red]error[/]"}


@click.command(short_help="Say what is there and what is missing, with remedies.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON and nothing else.")
def command(as_json: bool) -> int:
    """Look at this machine: ROS, libraries, models, disk.

    Exit code 0 when an evaluation can run over ROS, 3 when something that it needs is missing.
    """
    from gst_ros.doctor import libraries, machine, ros
    from gst_ros.doctor.probes import run_probes

    findings = run_probes([*machine.PROBES, *ros.PROBES, *libraries.PROBES])
    blocking = [finding.subject for finding in findings if finding.blocks]
    if as_json:
        report = {"ready": not blocking, "findings": [dataclasses.asdict(finding) for finding in findings]}
        click.echo(json.dumps(report, indent=2))
    else:
        _show(findings, blocking)
    return EXIT_INCOMPLETE if blocking else 0


def _show(findings: list[Finding], blocking: list[str]) -> None:
    from rich.console import Console

    console = Console()
    console.print(findings_table(findings))
    if blocking:
        console.print(f"[bold red]The bench cannot run over ROS yet:[/] {', '.join(blocking)}.")
    else:
        console.print("[bold green]The bench can run.[/] Try: gst eval")


def findings_table(findings: list[Finding]) -> Table:
    """A table of findings, each remedy below its detail."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("what was found", overflow="fold")  # a path or remedy that is cut helps nobody
    for finding in findings:
        # Paths and messages of other programs are shown as they are: brackets in them are no markup.
        found = Text(finding.detail)
        if finding.remedy:
            found.append(f"\n-> {finding.remedy}", style="cyan")
        mark = "[bold red]missing[/]" if finding.blocks else _MARKS[finding.state]
        table.add_row(finding.subject, mark, found)
    return table
