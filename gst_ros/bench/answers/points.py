"""Reading one point on a top-down image.

Forms: ``<point>391 698</point>`` (also with a comma, brackets, x= and y=, or broken tags), ``(391, 698)``,
``[391, 698]``, ``{"x": 391, "y": 698}``, ``{"point_2d": [391, 698]}``, "x = 391, y = 698", and a bare "391 698".

- Both in [0, 999]: taken as they are. 1000, the end of the grid that some models are trained on, counts as 999.
- Both in [0, 1] with a decimal point, and percentages: a fraction of the image, converted to the 999 grid with a note.
- Anything outside: pixels of an image whose size is not known; no value.
- Several different points are ambiguous, unless an explicit final answer or the last line names one
  (the last one there).
- A box is no point, nor is a list of three numbers or one number.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from gst_ros.bench.answers.parsed import ParsedAnswer, ambiguous, parsed, unparsed
from gst_ros.bench.answers.text import Statement

GRID_MAX = 999.0

_N = r"[+-]?(?:\d{1,12}(?:\.\d{1,40})?|\.\d{1,40})"
_PERCENT = " ?%?"
_PAIR = rf"(?P<x>{_N}{_PERCENT})(?: ?[,;] ?| )(?P<y>{_N}{_PERCENT})"
_END = r"(?!\d|\.\d| ?[,;] ?\d| \d)"
_KEYED = (
    r"[\"']?\b(?P<{a}k>[xy])(?:[-_ ]?(?:axis|coord(?:inate)?|value|999))?[\"']?(?: ?[:=≈~] ?| is | )"
    rf"(?:about |approximately )?[\"']?(?P<{{a}}>{_N}{_PERCENT})[\"']?"
)
_TAGGED = re.compile(
    r"</?points?\b[^<>]{0,80}> ?[(\[{]? ?(?:x ?[:=] ?)?"
    rf"(?P<x>{_N}{_PERCENT})(?: ?[,;] ?(?:y ?[:=] ?)?| (?:y ?[:=] ?)?)(?P<y>{_N}{_PERCENT})"
    r" ?[)\]}]? ?(?:</?points?>|(?=[<\n]|[^\d\s,.;])|\Z)",
    re.I,
)
_TAG_HALF = re.compile(
    rf"</?points?> ?(?:x ?[:=] ?)?(?P<x>{_N})(?: ?</?points?>){{1,2}} ?(?:y ?[:=] ?)?(?P<y>{_N}) ?</?points?>", re.I
)
_ATTRIBUTES = re.compile(
    rf"<points?\b[^<>]{{0,40}}?\bx1? ?= ?[\"']?(?P<x>{_N}{_PERCENT})[\"']?,? ?y1?= ?[\"']?(?P<y>{_N}{_PERCENT})[\"']?",
    re.I,
)
_BRACKETED = re.compile(rf"[(\[{{] ?{_PAIR} ?[)\]}}]")
_XY = re.compile(
    _KEYED.replace("{a}", "a") + r"(?: ?[,;] ?| and | |\n)(?:the )?" + _KEYED.replace("{a}", "b") + r"(?!\d|\.\d)", re.I
)
_LOOSE = re.compile(rf"(?<![\d.,;:-])(?<!\d )(?<!\d[,;] ){_PAIR}{_END}")
_BOX = re.compile(rf"[(\[] ?{_N}(?:(?: ?[,;] ?| |[)\]] ?,? ?[(\[] ?){_N}){{3}} ?[)\]]|bbox|<box>|<\|box_start\|>", re.I)
_BARE = re.compile(
    r"(?:[\s\"'({\[<:=~≈,]|about|approximately|around|roughly|point|coordinates?|location|position|the|answer|is|at|it"
    r"|are|my|i am){0,14}",
    re.I,
)
_BARE_END = re.compile(r"[\s\"')}\]>.,;!]{0,8}")
_RANGE_BEFORE = re.compile(
    r"\b(?:range|normali[sz]ed|within|between|scale|grid|from|interval|in)\b[^.\n]{0,24}\Z", re.I
)
_IMAGE_SIZE = re.compile(r"\b(?:size|resolution|dimensions?|width|image is)\b[^.\n]{0,16}\Z", re.I)
_CUE = re.compile(r"\b(?:coordinates?|point|position|location|located|at|is|pixel)\b", re.I)


class _Found(NamedTuple):
    start: int
    end: int
    x: str
    y: str
    attributes: bool = False


class PointReader:
    """Reads one point ``(x, y)`` on the 0 to 999 grid, x right, y down."""

    json_keys: tuple[str, ...] = ()

    def bare(self, line: str) -> ParsedAnswer | None:
        """A statement that is one point."""
        found = self._points(line, loose=True)
        if len(found) != 1:
            return None
        before, after = line[: found[0].start], line[found[0].end :]
        if not _BARE.fullmatch(before) or not _BARE_END.fullmatch(
            re.sub(r"</?points?>?|[a-z]{0,12}</", "", after[:24]) + after[24:]
        ):
            return None
        return self._value(line, found[0])

    def review(self, result: ParsedAnswer, text: str) -> ParsedAnswer:
        """The result as it is."""
        return result

    def is_heading(self, line: str) -> bool:
        """Never: nothing is headed by its number."""
        return False

    def final(self, text: str) -> ParsedAnswer | None:
        """The last point of the first line that has one."""
        for line in text.split("\n"):
            found = self._points(line, loose=True)
            if len(found) > 1 and re.search(r"\bor\b", line[found[-2].end : found[-1].start][:60]):
                return ambiguous("several points are given", line[found[-2].start : found[-1].end][:200])
            if found:
                return self._value(line, found[-1])
        if _BOX.search(text):
            return unparsed("a box is no point", text[:80])
        found = self._points(text, loose=False)
        return self._value(text, found[-1]) if found else None

    def body(self, text: str, said: list[Statement]) -> ParsedAnswer | None:
        """The only point that running text gives."""
        found = self._points(text, loose=False)
        if not found:
            for statement in said:
                loose = self._points(statement.text, loose=True)
                if loose and (self.bare(statement.text) or _CUE.search(statement.text[: loose[0].start])):
                    found.extend(loose)
                    text = statement.text if len(found) == len(loose) else text
            if found:
                values = {(f.x, f.y) for f in found}
                if len(values) > 1:
                    return ambiguous("several points are given", "; ".join(f"{f.x} {f.y}" for f in found[-4:]))
                return self._value(text, found[0])
        if len(found) > 1:
            found = [f for f in found if not _is_range(text, f)] or found[-1:]
        values = {(f.x, f.y) for f in found}
        if len(values) > 1:
            return ambiguous("several points are given", "; ".join(f"{f.x} {f.y}" for f in found[-4:]))
        if found:
            return None if _is_range(text, found[0]) else self._value(text, found[0])
        return unparsed("a box is no point") if _BOX.search(text) else None

    def _points(self, text: str, *, loose: bool) -> list[_Found]:
        """The points of a text, in order; ``loose`` also takes two numbers without brackets."""
        found: list[_Found] = []
        taken: list[tuple[int, int]] = []
        boxes = [match.span() for match in _BOX.finditer(text)]
        if any(text[start:end].lower() in ("bbox", "<box>", "<|box_start|>") for start, end in boxes):
            return []

        def add(matches: Iterable[re.Match[str]], attributes: bool = False) -> None:
            new = []
            for match in matches:
                if not _overlaps(match.span(), boxes) and not _overlaps(match.span(), taken):
                    new.append(_found(match, attributes))
            found.extend(new)
            taken.extend((f.start, f.end) for f in new)
            taken.sort()

        add(_ATTRIBUTES.finditer(text), attributes=True)
        add(_TAG_HALF.finditer(text))
        add(_TAGGED.finditer(text))
        add(_XY.finditer(text))
        add(_BRACKETED.finditer(text))
        if loose and not found:
            add(_LOOSE.finditer(text))
        return sorted(found)

    def _value(self, text: str, found: _Found) -> ParsedAnswer:
        matched = text[found.start : found.end]
        percent = [number.rstrip().endswith("%") for number in (found.x, found.y)]
        x, y = (float(number.rstrip(" %")) for number in (found.x, found.y))
        if x < 0 or y < 0:
            return unparsed("a coordinate is negative", matched)
        if all(percent):
            if max(x, y) > 100:
                return unparsed("more than 100 %", matched)
            return _on_grid(x / 100, y / 100, matched, "percentages converted to the 0-999 grid")
        if any(percent):
            return ambiguous("one coordinate is a percentage", matched)
        decimal = "." in found.x or "." in found.y
        if max(x, y) <= 1 and decimal:
            return _on_grid(x, y, matched, "fractions of the image converted to the 0-999 grid")
        if found.attributes and decimal and max(x, y) <= 100:
            return ambiguous("percent of the image or steps of the grid", matched)
        if max(x, y) > 1000:
            return unparsed("outside the 0-999 grid: pixels of an image of another size", matched)
        if max(x, y) > GRID_MAX:
            return parsed((min(x, GRID_MAX), min(y, GRID_MAX)), matched, "1000 read as the end of the 0-999 grid")
        return parsed((x, y), matched)


def _on_grid(x: float, y: float, matched: str, note: str) -> ParsedAnswer:
    return parsed((round(x * GRID_MAX, 6), round(y * GRID_MAX, 6)), matched, note)


def _found(match: re.Match[str], attributes: bool) -> _Found:
    groups = match.groupdict()
    if "ak" not in groups:
        return _Found(match.start(), match.end(), groups["x"], groups["y"], attributes)
    pair = {groups["ak"].lower(): groups["a"], groups["bk"].lower(): groups["b"]}
    if len(pair) < 2:
        return _Found(match.start(), match.end(), "-1", "-1")
    return _Found(match.start(), match.end(), pair["x"], pair["y"])


def _overlaps(span: tuple[int, int], spans: list[tuple[int, int]]) -> bool:
    at = bisect_left(spans, (span[1], 0))
    return at > 0 and spans[at - 1][1] > span[0]


def _is_range(text: str, found: _Found) -> bool:
    """Whether a pair is the grid or the size of the image rather than a point on it."""
    before = text[max(0, found.start - 48) : found.start]
    if found.x in ("0", "0.0") and found.y in ("999", "1000", "1", "1.0", "100"):
        return text[found.start] == "[" or _RANGE_BEFORE.search(before) is not None
    return _IMAGE_SIZE.search(before) is not None
