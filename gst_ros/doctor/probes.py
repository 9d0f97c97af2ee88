"""Findings, and probes that cannot stop each other."""

from __future__ import annotations

import concurrent.futures
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "missing", "error"]

_IMPORT_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Finding:
    """What one probe found.

    Attributes:
        subject: What was looked at, in a word or two.
        state: ``ok``; ``warning`` (works, with a catch); ``missing`` (is not there or does not work); ``error``
            (the probe itself failed).
        detail: What was found: version, place, size.
        required: The bench cannot run over ROS without it.
        remedy: What to do; empty when all is well.
    """

    subject: str
    state: State
    detail: str
    required: bool = False
    remedy: str = ""

    @property
    def blocks(self) -> bool:
        """Whether the bench cannot run because of it."""
        return self.required and self.state in ("missing", "error")


@dataclass(frozen=True)
class Probe:
    """A named look at one thing.

    Attributes:
        subject: What it looks at; its finding carries the same name.
        look: Returns the finding.
        required: As in :class:`Finding`, for when ``look`` itself fails.
    """

    subject: str
    look: Callable[[], Finding]
    required: bool = False


def run_probes(probes: Sequence[Probe]) -> list[Finding]:
    """Run the probes beside each other and return their findings in the order of the probes."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
        return list(pool.map(_run, probes))


def _run(probe: Probe) -> Finding:
    try:
        return probe.look()
    except Exception as error:
        # A report on a broken machine must not break on it: the reader sees which look failed, and why.
        detail = " ".join(f"this check failed: {type(error).__name__}: {error}".split())
        return Finding(probe.subject, "error", detail, probe.required, "please report this line")


def try_import(module: str, expression: str = "''", before: str = "") -> tuple[str | None, str]:
    """Import a module in a Python process of its own, where even a crash of the module does no harm.

    Args:
        module: The module; it is available to ``expression`` as ``module``.
        expression: Python expression whose text is returned.
        before: Python statement to execute before the import.

    Returns:
        The text, or None when the import failed; and in that case the last line of what Python said.
    """
    code = f"{before}\nimport importlib\nmodule = importlib.import_module({module!r})\nprint({expression})"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=sys.prefix,  # Python looks in the current folder first; a user's numpy.py there is not ours
            capture_output=True,
            text=True,
            timeout=_IMPORT_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"the import took more than {_IMPORT_TIMEOUT_S:.0f} s"
    if done.returncode == 0:
        return done.stdout.strip(), ""
    lines = done.stderr.strip().splitlines()
    return None, lines[-1] if lines else f"Python ended with {done.returncode}"
