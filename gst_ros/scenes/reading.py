"""The one reader of a set's JSON files: what is missing, damaged or of another shape is named by file and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from gst_ros.scenes.place import SceneError
from gst_ros.scenes.shapes import Misfit, Shape, anything

MAKE_AGAIN = "make the set again"
MAX_FILE_BYTES = 256 * 1024 * 1024
"""The largest files of a set, ``gt/instances.json`` of long walks, have a few megabytes."""

V = TypeVar("V")


class Table(dict[str, V]):
    """A mapping read from a file: asked for what is not there, it names the file and the field.

    Args:
        entries: What it holds.
        file: The file.
        name: Its dotted name in there; empty for the whole document.
    """

    def __init__(self, entries: dict[str, V], file: Path, name: str = "") -> None:
        super().__init__(entries)
        self._file = file
        self._name = name

    def __missing__(self, key: str) -> V:
        name = f"{self._name}.{key}" if self._name else str(key)
        raise SceneError("is missing", file=self._file, field=name, remedy=MAKE_AGAIN)


def read_json(file: Path, shape: Shape = anything, *, remedy: str = MAKE_AGAIN) -> Any:
    """Read JSON of a known shape.

    Args:
        file: The file.
        shape: What it must hold.
        remedy: What to do when it does not.

    Returns:
        The document; its mappings are :class:`Table`.

    Raises:
        SceneError: The file is missing, no JSON, or holds something else; it names file and field.
    """
    value = _parsed(file, remedy)
    try:
        shape(value, "")
    except Misfit as error:
        raise SceneError(error.problem, file=file, field=error.field or None, remedy=remedy) from error
    return _tables(value, file, "")


def _parsed(file: Path, remedy: str) -> Any:
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise SceneError(f"is larger than {MAX_FILE_BYTES >> 20} MB", file=file, remedy=remedy)
        text = file.read_bytes().decode("utf-8")
        if not text.strip():
            raise SceneError("is empty", file=file, remedy=remedy)
        return json.loads(text)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise SceneError(problem, file=file, remedy=remedy) from error
    except UnicodeDecodeError as error:
        raise SceneError("is no UTF-8 text", file=file, remedy=remedy) from error
    except json.JSONDecodeError as error:
        raise SceneError(f"is no JSON: {error.msg} in line {error.lineno}", file=file, remedy=remedy) from error
    except RecursionError as error:
        raise SceneError("is nested too deeply", file=file, remedy=remedy) from error
    except ValueError as error:  # a whole number of thousands of digits
        raise SceneError("holds a number that is too long", file=file, remedy=remedy) from error


def _tables(value: Any, file: Path, name: str) -> Any:
    if isinstance(value, dict):
        below = f"{name}." if name else ""
        return Table({key: _tables(item, file, f"{below}{key}") for key, item in value.items()}, file, name)
    if isinstance(value, list):
        return [_tables(item, file, f"{name}[{k}]") for k, item in enumerate(value)]
    return value
