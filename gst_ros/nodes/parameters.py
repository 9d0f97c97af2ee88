"""ROS parameters from the settings classes of :mod:`gst_ros.config`.

Every setting becomes one parameter of the same name; nested settings are joined with dots. How values map:

- ``bool``, ``int``, ``float``, ``str`` and lists of them as they are; a whole number is taken for a ``float``.
- An optional setting (``X | None``) that is not set is the empty string ``''``, whatever ``X`` is:
  ROS has no null.
"""

from __future__ import annotations

import array
import dataclasses
import difflib
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.parameter import Parameter

from gst_ros.config import Settings
from gst_ros.errors import ConfigError

S = TypeVar("S", bound=Settings)

_INT64_MAX = 2**63 - 1
_STANDARD_NAMES = ("use_sim_time", "start_type_description_service")
_STANDARD_PREFIXES = ("qos_overrides.",)


def declare(
    node: Any,
    settings_class: type[S],
    *,
    changeable: Collection[str] = (),
    on_change: Callable[[S], None] | None = None,
) -> S:
    """Declare every setting of a class as a parameter of ``node`` and return the effective settings.

    Values come from the class's defaults, then parameter files, then ``-p name:=value``. Each parameter has a
    description with unit, default and bounds (``ros2 param describe``).

    Args:
        node: An ``rclpy.node.Node``.
        settings_class: The settings to declare.
        changeable: Names that may be set while the node runs; all others are read-only.
        on_change: Called with the new settings after a change (never with invalid ones).

    Raises:
        ConfigError: On an unknown parameter (naming the nearest known one), a wrong type or a value out of range.
    """
    source = f"parameters of {node.get_fully_qualified_name()}"
    fields = {name: (field, hint) for name, field, hint in _walk(settings_class)}
    # rclpy offers no public list of what parameter files and the command line gave.
    given: dict[str, Parameter] = dict(node._parameter_overrides)
    _check_unknown(node, given, fields, source)
    values = {name: _from_ros(given[name].value, fields[name][1]) for name in fields if name in given}
    settings = settings_class.from_mapping(_nest(values), source)
    for name, (field, hint) in fields.items():
        value = _to_ros(_lookup(settings, name))
        node.declare_parameter(
            name, value, _descriptor(field, hint, value, read_only=name not in changeable), ignore_override=True
        )
    if changeable:
        _follow_changes(node, settings, fields, on_change)
    return settings


def _walk(settings_class: type[Settings], prefix: str = "") -> Iterator[tuple[str, dataclasses.Field, Any]]:
    hints = typing.get_type_hints(settings_class)
    for field in dataclasses.fields(settings_class):
        hint = hints[field.name]
        if isinstance(hint, type) and issubclass(hint, Settings):
            yield from _walk(hint, f"{prefix}{field.name}.")
        elif hint is dict or typing.get_origin(hint) is dict:
            raise TypeError(f"{settings_class.__name__}.{field.name}: ROS parameters cannot hold a mapping")
        else:
            yield prefix + field.name, field, hint


def _check_unknown(node: Any, given: dict[str, Parameter], fields: Collection[str], source: str) -> None:
    for name in given:
        if name in fields or name in _STANDARD_NAMES or name.startswith(_STANDARD_PREFIXES) or node.has_parameter(name):
            continue
        near = difflib.get_close_matches(name, list(fields), n=1, cutoff=0.5)
        remedy = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(sorted(fields))}"
        raise ConfigError("unknown parameter", file=source, field=name, remedy=remedy)


def _nest(values: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in values.items():
        *outer, last = name.split(".")
        place = nested
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = value
    return nested


def _lookup(settings: Settings, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _is_optional(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType) and type(None) in typing.get_args(hint)


def _plain(hint: Any) -> Any:
    """The type behind ``X | None``."""
    return next(h for h in typing.get_args(hint) if h is not type(None)) if _is_optional(hint) else hint


def _from_ros(value: Any, hint: Any) -> Any:
    if value == "" and _is_optional(hint):
        return None
    if value is None and typing.get_origin(_plain(hint)) in (list, tuple):
        return []  # an empty list in a parameter file has no type and arrives as 'not set'
    return list(value) if isinstance(value, (array.array, tuple)) else value


def _to_ros(value: Any) -> Any:
    if value is None:
        return ""
    return list(value) if isinstance(value, tuple) else value


def _descriptor(field: dataclasses.Field, hint: Any, value: Any, *, read_only: bool) -> ParameterDescriptor:
    meta = field.metadata
    unit, choices = meta.get("unit"), meta.get("choices")
    low, high, above = meta.get("low"), meta.get("high"), meta.get("above")
    description = meta.get("doc", "")
    if unit:
        description += f" Unit: {unit}."
    if _is_optional(hint):
        description += " Empty: not set."
    constraints = []
    if choices:
        constraints.append(f"one of: {', '.join(c or repr('') for c in choices)}")
    if above is not None:
        constraints.append(f"greater than {above}")
    descriptor = ParameterDescriptor(
        name=field.name,
        description=description,
        additional_constraints="; ".join(constraints),
        read_only=read_only,
        # Lets a float take a whole number, an optional be unset, and an empty list have no type.
        dynamic_typing=(_plain(hint) is float and not read_only) or _is_optional(hint) or value == [],
    )
    lowest = low if low is not None else above
    if _plain(hint) is float and (lowest is not None or high is not None):
        descriptor.floating_point_range = [
            FloatingPointRange(
                from_value=-sys.float_info.max if lowest is None else float(lowest),
                to_value=sys.float_info.max if high is None else float(high),
                step=0.0,
            )
        ]
    elif _plain(hint) is int and (lowest is not None or high is not None):
        descriptor.integer_range = [
            IntegerRange(
                from_value=-_INT64_MAX if lowest is None else int(lowest),
                to_value=_INT64_MAX if high is None else int(high),
                step=0,
            )
        ]
    return descriptor


def _follow_changes(
    node: Any, settings: Settings, fields: dict[str, tuple[dataclasses.Field, Any]], on_change: Callable | None
) -> None:
    current = [settings]

    def check(parameters: list[Parameter]) -> SetParametersResult:
        ours = {p.name: _from_ros(p.value, fields[p.name][1]) for p in parameters if p.name in fields}
        if not ours:
            return SetParametersResult(successful=True)
        flat = {name: _lookup(current[0], name) for name in fields}
        try:
            changed = type(settings).from_mapping(_nest({**flat, **ours}))
        except ConfigError as error:
            return SetParametersResult(successful=False, reason=str(error))
        current[0] = changed
        if on_change is not None:
            on_change(changed)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check)
