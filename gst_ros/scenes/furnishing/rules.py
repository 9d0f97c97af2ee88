"""The furnishing rules: ``data/furnishing.yaml`` as typed values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import yaml


@dataclass(frozen=True)
class BuiltIn:
    """A thing that the data engine makes itself, for a label.

    Attributes:
        kind: Kind of built-in mesh.
        sizes: Possible sizes (depth, width, height) in metres.
        flat: Whether things can stand on it.
        elevation_m: Height of its lower edge where it hangs.
    """

    kind: str
    sizes: tuple[tuple[float, float, float], ...]
    flat: bool
    elevation_m: float


@dataclass(frozen=True)
class Step:
    """One step of furnishing a room.

    Attributes:
        verb: How to place: a key of :data:`gst_ros.scenes.furnishing.furnish.VERBS`.
        labels: What to place; one is chosen each time.
        count: Least and greatest number.
        chance: Chance that the step happens at all, in a room of middling clutter.
        options: Everything else, by name, for the verb.
    """

    verb: str
    labels: tuple[str, ...]
    count: tuple[int, int]
    chance: float
    options: dict[str, Any]


@dataclass(frozen=True)
class Rules:
    """Everything in the file; see its comments."""

    builtin: dict[str, BuiltIn]
    own: frozenset[str]
    mixed: frozenset[str]
    scenery: frozenset[str]
    niche: frozenset[str]
    no_top: frozenset[str]
    wall: frozenset[str]
    heavy: frozenset[str]
    unsuited: dict[str, tuple[str, ...]]
    tops: dict[str, tuple[Step, ...]]
    rooms: dict[str, tuple[Step, ...]]
    extras: dict[str, tuple[str, ...]]


@lru_cache(maxsize=1)
def rules() -> Rules:
    """The rules, read once."""
    text = resources.files("gst_ros.scenes").joinpath("data/furnishing.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return Rules(
        builtin={label: _builtin(rule) for label, rule in data["builtin"].items()},
        own=frozenset(data["own"]),
        mixed=frozenset(data["mixed"]),
        scenery=frozenset(data["scenery"]),
        niche=frozenset(data["niche"]),
        no_top=frozenset(data["no_top"]),
        wall=frozenset(data["wall"]),
        heavy=frozenset(data["heavy"]),
        unsuited={label: tuple(ids) for label, ids in data["unsuited"].items()},
        tops={label: tuple(_step(s) for s in steps) for label, steps in data["tops"].items()},
        rooms={kind: tuple(_step(s) for s in steps) for kind, steps in data["rooms"].items()},
        extras={kind: tuple(labels) for kind, labels in data["extras"].items()},
    )


def _builtin(rule: dict[str, Any]) -> BuiltIn:
    sizes = tuple((float(d), float(w), float(h)) for d, w, h in rule["sizes"])
    return BuiltIn(rule["kind"], sizes, bool(rule.get("flat", False)), float(rule.get("elevation", 0.0)))


def _step(raw: dict[str, Any]) -> Step:
    verb = next(iter(raw))
    named = raw[verb]
    labels = (named,) if isinstance(named, str) else tuple(named or ())
    count = raw.get("count", 1)
    low, high = (count, count) if isinstance(count, int) else count
    rest = {key: value for key, value in raw.items() if key not in (verb, "count", "chance")}
    return Step(verb, labels, (int(low), int(high)), float(raw.get("chance", 1.0)), rest)
