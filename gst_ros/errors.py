"""The one root of every error that a user is meant to read.

A command shows such an error as a single line and exits with its ``exit_code``; anything else is a
defect of ours and keeps its traceback.
"""

from __future__ import annotations

from pathlib import Path


class GstError(Exception):
    """An expected failure: what is wrong, where, and what to do about it.

    Args:
        problem: What is wrong, in a few words, without a final full stop.
        file: The file (or topic, or service) that it is about.
        field: The field or parameter inside ``file``.
        remedy: What the reader can do, in a few words.
    """

    exit_code = 2

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        field: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.problem = problem
        self.file = None if file is None else str(file)
        self.field = field
        self.remedy = remedy
        super().__init__(self._line())

    def _line(self) -> str:
        where = self.file or ""
        if self.field:
            where = f"{where}: field '{self.field}'" if where else f"field '{self.field}'"
        line = f"{where}: {self.problem}" if where else self.problem
        if self.remedy:
            line = f"{line} ({self.remedy})"
        return " ".join(line.split())


class ConfigError(GstError):
    """A setting has an unknown name, a wrong type or a value out of range."""


class MediaError(GstError):
    """A video or image is missing, unreadable or empty."""


class QuestionError(GstError):
    """A question file cannot be read at all (single bad questions are skipped and counted instead)."""


class RunError(GstError):
    """A run folder cannot be used: locked, torn beyond its last line, or made with other settings."""


class DiskError(RunError):
    """The disk is full or fails. What was written before is kept, and the run can be resumed."""

    exit_code = 3


class SessionError(GstError):
    """The machinery of an evaluation failed: a node died or did not answer. What was done is kept."""

    exit_code = 3


class AnswererError(GstError):
    """An answerer could not answer this one question; the run goes on."""
