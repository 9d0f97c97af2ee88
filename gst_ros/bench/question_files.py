"""The question files below a path, and the records in them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gst_ros.bench.jsonfiles import Entry, read_entries
from gst_ros.bench.media_files import VIDEO_FIELDS
from gst_ros.errors import QuestionError

log = logging.getLogger(__name__)

PLACE_FILE, TRUTH_FOLDER = "questions.json", "gt"
"""In the folders of places that the data engine makes: the questions, and the ground truth that none may look into."""

SET_FILES = ("set.json", "camera.json")
"""What else such sets hold beside the questions; not worth a warning."""

_QUESTION_FIELDS = frozenset({"texts", "answer", "gt", *VIDEO_FIELDS})


def question_entries(path: Path) -> Iterator[Entry]:
    """Read all records of a question file, or of the question files below a folder in sorted order.

    Raises:
        QuestionError: A file that may hold many questions is unreadable as a whole. An unreadable
            ``question.json`` inside a folder is one bad entry instead.
    """
    if path.is_file():
        yield from read_entries(path)
        return
    for file in _json_files(path):
        try:
            entries = read_entries(file)
        except QuestionError as error:
            if file.name != "question.json":
                raise  # an unknown number of questions would be lost
            yield Entry(file, "", None, error.problem)  # one question is lost, and counted
            continue
        if file.name == "question.json" or any(_looks_like_question(entry.value) for entry in entries):
            yield from entries
        elif file.name not in SET_FILES:
            log.warning("%s: no questions in it; ignored", file)


def _looks_like_question(record: Mapping[str, Any] | None) -> bool:
    """Whether a record of a file with any name is a question, and not an answer to one or something else."""
    if record is None or "pred" in record:
        return False
    return ("uid" in record or "task" in record) and bool(_QUESTION_FIELDS & record.keys())


def _json_files(folder: Path) -> list[Path]:
    """All JSON files below a folder, sorted.

    Not in hidden folders, nor in run folders of this project, nor in the ground truth beside a place's questions.
    """
    found: list[Path] = []
    visited: set[str] = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(parent)
        if real in visited or ("run.json" in names and "records.jsonl" in names):
            folders.clear()  # a link that leads back to where we were, or our own output
            continue
        visited.add(real)
        closed = {TRUTH_FOLDER} if PLACE_FILE in names else set()
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in closed)
        found += (
            Path(parent, name)
            for name in names
            if name.lower().endswith((".json", ".jsonl")) and not name.startswith(".")
        )
    return sorted(found)
