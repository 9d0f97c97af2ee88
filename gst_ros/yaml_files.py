"""Reading YAML that other people wrote, without trusting it.

PyYAML's safe loader runs no code, but it follows a text into any depth, through references that lead back to
themselves and through a few lines of references that stand for billions of values. Such a text is refused here
from its events, before anything is built of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gst_ros.errors import ConfigError

MAX_BYTES = 16 * 1024 * 1024
"""Largest YAML text that is read."""
MAX_DEPTH = 64
"""Most lists and mappings inside one another."""
MAX_ALIASED_VALUES = 100_000
"""Most values that a text may stand for by its references (``*name``), beyond those that are written out."""

# What constructors of PyYAML raise on a value that does not fit its tag: 2026-99-99, !!bool x, !!timestamp x.
_VALUE_ERRORS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


def read_yaml(file: str | Path) -> Any:
    """Read the one document of a YAML file.

    Args:
        file: The file, UTF-8 or UTF-16.

    Returns:
        Its value; None for an empty file.

    Raises:
        ConfigError: The file cannot be read, or as for :func:`parse_yaml`.
    """
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=file, remedy="check the path") from error
    return parse_yaml(data, file=file)


def parse_yaml(text: str | bytes, *, file: str | Path | None = None, field: str | None = None) -> Any:
    """Parse one YAML document.

    Args:
        text: The document.
        file: Where it came from, for the error text.
        field: The setting that it is a value of, for the error text.

    Raises:
        ConfigError: It is too large, no YAML, nested more than 64 levels deep, refers to itself, stands for more
            than 100,000 values by its references, or holds a value that does not fit its type.
    """
    if len(text) > MAX_BYTES:
        problem = f"is larger than {MAX_BYTES // 2**20} MiB, too large for YAML that is read here"
        raise ConfigError(problem, file=file, field=field, remedy="check that it is the right file")
    try:
        _check_events(text)
        return yaml.safe_load(text)
    except _RefusedError as error:
        raise ConfigError(str(error), file=file, field=field, remedy="write the values out plainly") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"is not YAML: {error}", file=file, field=field) from error
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8 text", file=file, field=field, remedy="save it as UTF-8") from error
    except _VALUE_ERRORS as error:
        problem = "holds a value that YAML cannot read (a date, number or tag that is none)"
        raise ConfigError(problem, file=file, field=field, remedy="put quotes around text") from error


class _RefusedError(Exception):
    """The text is well-formed, but must not be built."""


@dataclass
class _Node:
    """A list, mapping or scalar: how many values it stands for, and how many levels it has."""

    size: int = 1
    height: int = 0


def _check_events(text: str | bytes) -> None:
    """Walk through the text without recursion and without building anything.

    Raises:
        _RefusedError: It is too deep, refers to itself, or stands for too much.
    """
    anchors: dict[str | None, _Node] = {}
    opened: list[_Node] = []
    still_open: set[int] = set()
    aliased = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            node = _Node()
            opened.append(node)
            still_open.add(id(node))
            if len(opened) > MAX_DEPTH:
                raise _RefusedError(f"is nested more than {MAX_DEPTH} levels deep")
            if event.anchor is not None:
                anchors[event.anchor] = node
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            node = opened.pop()
            still_open.discard(id(node))
            node.height += 1
        elif isinstance(event, yaml.AliasEvent):
            known = anchors.get(event.anchor)
            if known is None:
                continue  # building it says what is wrong, and where
            node = known
            if id(node) in still_open:
                raise _RefusedError(f"refers to itself (*{event.anchor})")
            aliased += node.size
            if aliased > MAX_ALIASED_VALUES:
                raise _RefusedError(f"stands for more than {MAX_ALIASED_VALUES:,} values by its references (*name)")
            if len(opened) + node.height > MAX_DEPTH:
                raise _RefusedError(f"is nested more than {MAX_DEPTH} levels deep")
        elif isinstance(event, yaml.ScalarEvent):
            node = _Node()
            if event.anchor is not None:
                anchors[event.anchor] = node
        else:
            continue
        if opened:
            opened[-1].size += node.size
            opened[-1].height = max(opened[-1].height, node.height)
