"""Settings as frozen dataclasses that refuse what they do not know.

Every setting is declared once, with its default, its meaning, its unit and its bounds:

    @dataclass(frozen=True)
    class PlayerConfig(Settings):
        rate: float = setting(1.0, "Speed of playback.", unit="media s per s", above=0.0)

The same declaration reads YAML files, declares ROS parameters (``gst_ros.nodes.parameters``) and is
written beside every result. Names are checked: an unknown key names the nearest known one.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from gst_ros.errors import ConfigError

S = TypeVar("S", bound="Settings")


def setting(
    default: Any,
    doc: str,
    *,
    unit: str | None = None,
    choices: tuple[str, ...] | None = None,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
) -> Any:
    """Declare one setting of a :class:`Settings` class.

    Args:
        default: Its default value; the type comes from the class annotation.
        doc: One sentence for the parameter description and the documentation.
        unit: The unit of the number, where it has one.
        choices: The allowed words of a text setting.
        low: Smallest allowed number, inclusive.
        high: Largest allowed number, inclusive.
        above: Bound that the number must exceed.
    """
    metadata = {"doc": doc, "unit": unit, "choices": choices, "low": low, "high": high, "above": above}
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: default.copy(), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Settings:
    """Base of every settings class: checks types, choices and bounds as it is made.

    Numbers are finite: a limit that can be switched off says which number does that.
    """

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):
            value = _coerce(getattr(self, field.name), hints[field.name], field.name)
            _check_bounds(value, field)
            object.__setattr__(self, field.name, value)

    @classmethod
    def from_mapping(cls: type[S], values: Mapping[str, Any], source: str | Path | None = None) -> S:
        """Build from a mapping such as a YAML document.

        Args:
            values: Setting names to values.
            source: The file that they came from, for the error text.

        Raises:
            ConfigError: On an unknown name, a wrong type or a value out of range.
        """
        check_names(values, [f.name for f in dataclasses.fields(cls)], source)
        try:
            return cls(**values)
        except ConfigError as error:
            raise ConfigError(error.problem, file=source, field=error.field, remedy=error.remedy) from error

    def to_mapping(self) -> dict[str, Any]:
        """The effective values, ready for YAML or JSON."""
        return dataclasses.asdict(self)


def check_names(given: Iterable[str], known: Iterable[str], source: str | Path | None = None) -> None:
    """Refuse a name that is not known.

    Raises:
        ConfigError: It names the unknown key and the nearest known one.
    """
    known = list(known)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
            remedy = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(sorted(known))}"
            raise ConfigError("unknown setting", file=source, field=str(name), remedy=remedy)


def _coerce(value: Any, hint: Any, name: str) -> Any:
    """Return ``value`` as the annotated type, allowing only lossless changes (int to float, list to tuple)."""
    origin = typing.get_origin(hint)
    if origin is typing.Union or origin is types.UnionType:
        options = typing.get_args(hint)
        inner = next(o for o in options if o is not type(None))
        # ROS parameter files have no null: there an empty text stands for it.
        if value is None or (value == "" and inner is not str):
            return None
        return _coerce(value, inner, name)
    if origin in (tuple, list):
        if isinstance(value, str) or not isinstance(value, (list, tuple)):
            raise ConfigError(f"expected a list, got {value!r}", field=name)
        of = typing.get_args(hint)[0]
        return origin(_coerce(item, of, name) for item in value)
    if origin is dict or hint is dict:
        if not isinstance(value, Mapping):
            raise ConfigError(f"expected a mapping, got {value!r}", field=name)
        return dict(value)
    if isinstance(hint, type) and issubclass(hint, Settings):
        return value if isinstance(value, hint) else hint.from_mapping(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError as error:
            raise ConfigError("the number is too large", field=name) from error
    if hint in (bool, int, float, str):
        if type(value) is not hint:
            hostile = " (in YAML, bare y/n/on/off are booleans: quote them)" if isinstance(value, bool) else ""
            raise ConfigError(f"expected {hint.__name__}, got {value!r}{hostile}", field=name)
        return value
    return value


def _check_bounds(value: Any, field: dataclasses.Field[Any]) -> None:
    meta = field.metadata
    choices = meta.get("choices")
    if choices and value not in choices:
        shown = f"{value!s:.60}"
        near = difflib.get_close_matches(shown, choices, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"one of: {', '.join(choices)}"
        raise ConfigError(f"'{shown}' is not a choice", field=field.name, remedy=hint)
    for item in value if isinstance(value, (list, tuple)) else ():
        if isinstance(item, float) and not math.isfinite(item):
            raise ConfigError(f"{item} is out of range", field=field.name, remedy="allowed: finite numbers")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high, above = meta.get("low"), meta.get("high"), meta.get("above")
        if (
            (isinstance(value, float) and not math.isfinite(value))
            or (low is not None and value < low)
            or (high is not None and value > high)
            or (above is not None and value <= above)
        ):
            bounds = [
                text
                for text, bound in ((f">= {low}", low), (f"<= {high}", high), (f"> {above}", above))
                if bound is not None
            ]
            allowed = " and ".join(bounds) or "finite numbers"
            raise ConfigError(f"{value!s:.40} is out of range", field=field.name, remedy=f"allowed: {allowed}")
