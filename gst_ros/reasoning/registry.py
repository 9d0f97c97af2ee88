"""Answerers by name."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gst_ros.config import Settings, check_names
from gst_ros.errors import ConfigError
from gst_ros.reasoning.answerer import Answerer
from gst_ros.reasoning.memory_settings import MemoryAnswererConfig
from gst_ros.reasoning.random_guess import RandomConfig, RandomGuess
from gst_ros.reasoning.scripted import Scripted, ScriptedConfig


class Entry(NamedTuple):
    """An answerer and the class of its settings."""

    make: Callable[[Any], Answerer]
    settings: type[Settings]


def _memory(config: MemoryAnswererConfig) -> Answerer:
    # Maps need libraries that take a second to load: not for every command and node.
    from gst_ros.reasoning.memory_answers import MemoryAnswerer

    return MemoryAnswerer(config)


ANSWERERS: dict[str, Entry] = {
    "memory": Entry(_memory, MemoryAnswererConfig),
    "random": Entry(RandomGuess, RandomConfig),
    "scripted": Entry(Scripted, ScriptedConfig),
}


def make_answerer(name: str, options: Mapping[str, Any]) -> Answerer:
    """Make an answerer.

    Args:
        name: A key of :data:`ANSWERERS`.
        options: Settings of answerers. Those of other answerers may be among them and are left alone, so that
            one parameter file serves all.

    Raises:
        ConfigError: Unknown name (naming the nearest), unknown option, or a bad value.
    """
    entry = ANSWERERS.get(name)
    if entry is None:
        near = difflib.get_close_matches(name, ANSWERERS, n=1, cutoff=0.4)
        remedy = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(sorted(ANSWERERS))}"
        raise ConfigError(f"unknown answerer '{name}'", field="answerer", remedy=remedy)
    check_names(options, option_names())
    own = {field.name for field in dataclasses.fields(entry.settings)}
    return entry.make(entry.settings.from_mapping({key: value for key, value in options.items() if key in own}))


def option_names() -> list[str]:
    """Names of the settings of all answerers."""
    names = (field.name for entry in ANSWERERS.values() for field in dataclasses.fields(entry.settings))
    return list(dict.fromkeys(names))
