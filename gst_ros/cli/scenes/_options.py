"""Kinds of arguments that the commands of ``gst scenes`` share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click


class SomePath(click.Path):
    """A path that is not empty: an empty text, as from a shell variable that is not set, would be the folder here."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Refuse an empty text."""
        if not os.fspath(value):
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


def words(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Callback of an option that takes words separated by commas, one or more; None when it is not given.

    Raises:
        click.BadParameter: A word is empty.
    """
    if value is None:
        return None
    found = tuple(word.strip() for word in value.split(","))
    if not all(found):
        raise click.BadParameter(f"expected words separated by commas, got '{value}'", ctx, param)
    return found
