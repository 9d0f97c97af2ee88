"""What a JSON value must look like, said once: types, finite numbers within bounds, and fields.

A shape is a function that takes a value and its dotted name and raises :class:`Misfit` when the value is not so. Shapes
are put together from others; those of dataclasses come from their annotations.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from gst_ros.bench.jsonfiles import kind_of

Shape = Callable[[Any, str], None]
T = TypeVar("T")

LARGEST = 1e9
"""Metres, degrees, pixels and frames of a set are smaller; what is larger would overflow somewhere later."""


class Misfit(ValueError):
    """A value has not the shape that it must have.

    Attributes:
        field: Its dotted name; empty for the whole document.
        problem: What is wrong, in a few words.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


def _is(value: Any, name: str, kind: type, words: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Misfit(name, f"expected {words}, found {kind_of(value)}")


def text(value: Any, name: str) -> None:
    """Text."""
    _is(value, name, str, "text")


def flag(value: Any, name: str) -> None:
    """True or false."""
    _is(value, name, bool, "true or false")


def anything(value: Any, name: str) -> None:
    """Whatever there is: nobody looks at it here."""


def number(low: float = -LARGEST, high: float = LARGEST) -> Shape:
    """A finite number within bounds, both included."""

    def check(value: Any, name: str) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Misfit(name, f"expected a number, found {kind_of(value)}")
        if not low <= value <= high:  # not so for NaN either
            raise Misfit(name, f"{str(value)[:20]} is out of range: {low:g} to {high:g}")

    return check


def whole(low: int = -int(LARGEST), high: int = int(LARGEST)) -> Shape:
    """A whole number within bounds, both included."""
    within = number(low, high)

    def check(value: Any, name: str) -> None:
        within(value, name)
        if not isinstance(value, int):
            raise Misfit(name, f"expected a whole number, found {value}")

    return check


def one_of(*words: str) -> Shape:
    """One of some words."""

    def check(value: Any, name: str) -> None:
        if value not in words:
            raise Misfit(name, f"expected one of {', '.join(words)}, found {str(value)[:40]!r}")

    return check


def either(*shapes: Shape) -> Shape:
    """One of some shapes; the last one says what is wrong."""

    def check(value: Any, name: str) -> None:
        for shape in shapes[:-1]:
            try:
                return shape(value, name)
            except Misfit:
                continue
        return shapes[-1](value, name)

    return check


def each(shape: Shape, *, count: int | None = None, least: int = 0) -> Shape:
    """A list whose items have a shape.

    Args:
        shape: Of the items.
        count: How many there must be, if that is fixed.
        least: How many there must be at least.
    """

    def check(value: Any, name: str) -> None:
        if not isinstance(value, (list, tuple)):
            raise Misfit(name, f"expected a list, found {kind_of(value)}")
        if len(value) < least or (count is not None and len(value) != count):
            wanted = f"{least} or more" if count is None else str(count)
            raise Misfit(name, f"expected {wanted} items, found {len(value)}")
        for k, item in enumerate(value):
            shape(item, f"{name}[{k}]")

    return check


def numbers(count: int) -> Shape:
    """A list of so many numbers."""
    return each(number(), count=count)


def table(shape: Shape) -> Shape:
    """A mapping from any names to values of a shape."""

    def check(value: Any, name: str) -> None:
        _is(value, name, dict, "a mapping")
        for key, item in value.items():
            shape(item, _below(name, key))

    return check


def record(
    required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None, *, closed: bool = False
) -> Shape:
    """A mapping with known fields.

    Args:
        required: Fields that must be there.
        optional: Fields that may be there.
        closed: Refuse others; else they may be there, whatever they hold.
    """
    known = {**required, **(optional or {})}

    def check(value: Any, name: str) -> None:
        _is(value, name, dict, "a mapping")
        for key in required:
            if key not in value:
                raise Misfit(_below(name, key), "is missing")
        for key, item in value.items():
            if key in known:
                known[key](item, _below(name, key))
            elif closed:
                raise Misfit(_below(name, key), "unknown field")

    return check


@functools.lru_cache(maxsize=64)
def shape_of(hint: Any) -> Shape:
    """The shape of a type: a plain one, ``Literal``, ``tuple``, or a dataclass, which takes no unknown fields.

    Args:
        hint: The type.

    Raises:
        TypeError: There is no rule for it.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return one_of(*arguments)
    if origin is tuple:
        endless = len(arguments) == 2 and arguments[1] is Ellipsis
        return each(shape_of(arguments[0]), count=None if endless else len(arguments))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        required: dict[str, Shape] = {}
        optional: dict[str, Shape] = {}
        for field in dataclasses.fields(hint):
            bare = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            (required if bare else optional)[field.name] = shape_of(hints[field.name])
        return record(required, optional, closed=True)
    plain: dict[Any, Shape] = {str: text, bool: flag, int: whole(-(2**63), 2**63), float: number()}
    if hint not in plain:
        raise TypeError(f"no shape for {hint!r}")
    return plain[hint]


def built(hint: type[T], value: Any) -> T:
    """A dataclass from a mapping that has its shape; lists become tuples.

    Args:
        hint: The dataclass.
        value: The mapping, checked before.
    """
    result: T = _built(hint, value)
    return result


def _built(hint: Any, value: Any) -> Any:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        return hint(**{key: _built(hints[key], item) for key, item in value.items()})
    if typing.get_origin(hint) is tuple:
        return tuple(_built(typing.get_args(hint)[0], item) for item in value)
    return value


def _below(name: str, key: Any) -> str:
    return f"{name}.{key}" if name else str(key)
