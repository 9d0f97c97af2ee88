"""Reading JSON that other people wrote: one record, a list, records keyed by uid, or JSON lines.

Such files come with byte order marks, Windows line ends, NaN, half a last line, or an error page in
place of data. A whole file that makes no sense is one error; a single bad record is handed on with what
is wrong with it, so that the caller can count it.
"""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gst_ros.errors import QuestionError

_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "a mapping"}


def kind_of(value: object) -> str:
    """What a JSON value is, in words for people: ``a number``, ``a list``, ``nothing`` for null."""
    return "nothing" if value is None else _KINDS.get(type(value), f"of type {type(value).__name__}")


MAX_FILE_BYTES = 512 * 1024 * 1024
"""Largest JSON file that is read. The whole benchmark has about 5 MB of questions."""

MAX_NESTING = 64
"""Most lists and mappings inside one another in a record. Recursion in Python and in readers of other languages
ends at some depth; a record of the benchmark has three levels."""

_RECORD_FIELDS = frozenset({"uid", "task", "answer", "texts", "pred", "gt", "images", "copied_video_path"})
_LIST_FIELDS = ("questions", "data", "samples", "results", "records", "items", "annotations")


@dataclass(frozen=True)
class Entry:
    """One record of a file.

    Attributes:
        file: The file it stands in.
        place: Where in the file, for people: ``""`` (the file is the record), ``record 3``, ``line 7``.
        value: Its fields; None where there is a ``problem``.
        problem: Why it cannot be used, in a few words.
        field: The field that the problem is about, where it is about one.
    """

    file: Path
    place: str
    value: dict[str, Any] | None
    problem: str | None = None
    field: str | None = None

    @property
    def label(self) -> str:
        """A name for the record when it has no uid of its own."""
        name = f"{self.file.parent.name}/{self.file.name}" if self.file.parent.name else self.file.name
        return f"{name} {self.place}".rstrip()


def read_entries(path: Path, strict: bool = True) -> list[Entry]:
    """Read every record of a JSON or JSON-lines file.

    The form is told from the content, not from the file's name.

    Args:
        path: The file.
        strict: Take a record with NaN, infinity or broken Unicode in it for a bad one.

    Returns:
        One entry for each record, good or bad, in the file's order.

    Raises:
        QuestionError: When the file as a whole cannot be read.
    """
    text, bad_lines = _read_text(path)
    if not text.strip():
        raise QuestionError("is empty", file=path, remedy="download or write it again")
    try:
        document = _parse(text)
    except ValueError as error:
        lines = _json_lines(path, text, bad_lines, strict)
        if lines is None:
            raise QuestionError(_json_problem(error), file=path, remedy=_remedy_for(text, error)) from error
        return lines
    if bad_lines:
        raise QuestionError("is not UTF-8 text", file=path, remedy="save it as UTF-8")
    return list(_document_entries(path, document, strict))


def plain_json(value: Any) -> str:
    """Canonical JSON text of a record: for comparing and fingerprinting."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def find_unusable(value: Any, name: str = "") -> tuple[str, str] | None:
    """Find what cannot be written back as JSON.

    Args:
        value: A record or a part of one.
        name: The dotted name of that part.

    Returns:
        The part's dotted name and the problem (NaN, infinity, half a Unicode pair), or None.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return name, f"{value} is not a number that JSON knows"
    if isinstance(value, str) and _has_surrogates(value):
        return name, "holds half a Unicode pair (broken text)"
    children: Iterator[tuple[str, Any]] | None = None
    if isinstance(value, Mapping):
        children = ((str(key), child) for key, child in value.items())
    elif isinstance(value, (list, tuple)):
        children = ((str(index), child) for index, child in enumerate(value))
    for key, child in children or ():
        found = find_unusable(child, f"{name}.{key}" if name else key)
        if found:
            return found
    return None


def nested_too_deeply(value: Any, levels: int = MAX_NESTING) -> bool:
    """Whether a value has more than ``levels`` lists and mappings inside one another."""
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return False
    return levels == 0 or any(nested_too_deeply(child, levels - 1) for child in value)


def _has_surrogates(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)


def _read_text(path: Path) -> tuple[str, bool]:
    """The file's text, and whether some bytes of it are not UTF-8 (they are kept as lone surrogates)."""
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise QuestionError(
                f"has {size / 1e6:.0f} MB; question files of more than {MAX_FILE_BYTES / 1e6:.0f} MB are not read",
                file=path,
                remedy="split it, or check that it is a question file",
            )
        data = path.read_bytes()
    except OSError as error:
        raise QuestionError(f"cannot be read: {error.strerror or error}", file=path) from error
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return data.decode("utf-16"), False
        except UnicodeDecodeError as error:
            raise QuestionError("is not valid UTF-16 text", file=path, remedy="save it as UTF-8") from error
    try:
        return data.decode("utf-8-sig"), False
    except UnicodeDecodeError:
        return data.decode("utf-8-sig", errors="surrogateescape"), True


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # Python reads no number of thousands of digits: that takes it too long
        raise ValueError("holds a number with thousands of digits") from error


def _json_problem(error: ValueError, place: bool = True) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"is not JSON: {error if place else error.msg}"
    return str(error)


def _remedy_for(text: str, error: ValueError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return "no record of the benchmark has that: write it again"
    head = text.lstrip()[:200].lower()
    if head.startswith("version https://git-lfs"):
        return "it is a Git LFS pointer: run 'git lfs pull'"
    if head.startswith("<"):
        return "it looks like a web page: download the data again"
    return "one record, a list of records, or one record a line is expected"


def _json_lines(path: Path, text: str, bad_bytes: bool, strict: bool) -> list[Entry] | None:
    """Entries of a JSON-lines text, or None when it is none: no line of it is a JSON object."""
    if not text.lstrip().startswith("{"):  # a torn list is no set of lines, though its last line may be a record
        return None
    entries: list[Entry] = []
    # Not splitlines(): that also splits at U+2028 and at other characters which JSON strings may hold.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            value = _parse(line)
        except ValueError as error:
            entries.append(Entry(path, place, None, _json_problem(error, place=False)))
            continue
        if bad_bytes and any("\udc80" <= letter <= "\udcff" for letter in line):
            entries.append(Entry(path, place, None, "is not UTF-8 text"))
        else:
            entries.append(_entry(path, place, value, strict))
    return entries if any(entry.value is not None for entry in entries) else None


def _document_entries(path: Path, document: Any, strict: bool) -> Iterator[Entry]:
    if isinstance(document, list):
        for number, value in enumerate(document, start=1):
            yield _entry(path, f"record {number}", value, strict)
        return
    if not isinstance(document, dict):
        raise QuestionError(
            f"holds a bare {type(document).__name__}", file=path, remedy="a record or a list of records is expected"
        )
    if _RECORD_FIELDS & document.keys():
        yield _entry(path, "", document, strict)
        return
    for name in _LIST_FIELDS:
        if isinstance(document.get(name), list):
            yield from _document_entries(path, document[name], strict)
            return
    if document and all(isinstance(value, dict) for value in document.values()):
        for key, value in document.items():
            # Records keyed by uid need not repeat it inside; adding it keeps one form for all that follows.
            yield _entry(path, f"record '{key}'", {"uid": key, **value}, strict)
        return
    yield _entry(path, "", document, strict)


def _entry(path: Path, place: str, value: Any, strict: bool) -> Entry:
    if not isinstance(value, dict):
        return Entry(path, place, None, f"is {kind_of(value)}, not a record")
    for name, child in value.items():
        if nested_too_deeply(child, MAX_NESTING - 1):
            return Entry(path, place, None, f"is nested more than {MAX_NESTING} levels deep", name[:60])
    unusable = find_unusable(value) if strict else None
    if unusable:
        return Entry(path, place, None, unusable[1], unusable[0])
    return Entry(path, place, value)
