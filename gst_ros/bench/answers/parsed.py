"""The result of reading one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

AnswerValue: TypeAlias = str | float | tuple[float, float]
"""A letter, degrees or metres, or a point ``(x, y)`` on the 0 to 999 grid."""

ParseStatus = Literal["parsed", "unparsed", "ambiguous"]


@dataclass(frozen=True)
class ParsedAnswer:
    """What was read from an answer, and how.

    Attributes:
        value: The answer; None unless ``status`` is ``parsed``. It is never a guess.
        matched: The piece of the (normalised) text that it was read from; for an ambiguous answer the competing pieces.
        status: ``parsed``; ``unparsed`` when no answer is given; ``ambiguous`` when several are, or one that is no
            single value (a range, a bound). The last two score 0 and count as unparsed.
        note: Why there is no value, or which documented rule was applied to get it. Empty for a plain answer.
    """

    value: AnswerValue | None
    matched: str
    status: ParseStatus
    note: str = ""


def parsed(value: AnswerValue, matched: str, note: str = "") -> ParsedAnswer:
    """An answer that was read."""
    return ParsedAnswer(value, matched.strip(), "parsed", note)


def unparsed(note: str, matched: str = "") -> ParsedAnswer:
    """No answer."""
    return ParsedAnswer(None, matched.strip(), "unparsed", note)


def ambiguous(note: str, matched: str) -> ParsedAnswer:
    """More than one answer, or one that is not a single value."""
    return ParsedAnswer(None, matched.strip(), "ambiguous", note)
