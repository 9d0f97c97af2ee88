"""Reading one point on a top-down image.

Forms: ``<point>391 698</point>`` (also with a comma, brackets, x= and y=, or broken tags), ``(391, 698)``,
``[391, 698]``, ``{"x": 391, "y": 698}``, ``{"point_2d": [391, 698]}``, "x = 391, y = 698", and a bare "391 698".

- Both in [0, 999]: taken as they are. 1000, the end of the grid that some models are trained on, counts as 999.
- Both in [0, 1] with a decimal point, and percentages: a fraction of the image, converted to the 999 grid with a note.
- Anything outside: pixels of an image whose size is not known; no value.
- Several different points are ambiguous, unless the last line is one, or an explicit final answer opens with one and
  the others stand in other thoughts ("; the door is at (1, 2)"). A point that is denied ("not at (1, 2)") is left out;
  one said in two ways ("(0.39, 0.70), i.e. (391, 698)") is one.
- Coordinates that may be in the order (y, x), or pixels of an image of another size, are ambiguous;
  "(y, x) = (698, 391)" is swapped, with a note.
- A box is no point, nor is a list of three numbers or one number.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
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
_ROW, _COLUMN = (rf"\b{name} ?(?:[:=]|is)? ?(?P<{axis}>{_N})" for name, axis in (("row", "y"), ("col(?:umn)?", "x")))
_ROW_COLUMN = re.compile(rf"{_ROW} ?(?:[,;]|and)? ?(?:and )?{_COLUMN}(?!\d|\.\d)", re.I)
_COLUMN_ROW = re.compile(rf"{_COLUMN} ?(?:[,;]|and)? ?(?:and )?{_ROW}(?!\d|\.\d)", re.I)
_LOOSE = re.compile(rf"(?<![\d.,;:-])(?<!\d )(?<!\d[,;] ){_PAIR}{_END}")
_BOX = re.compile(rf"[(\[] ?{_N}(?:(?: ?[,;] ?| |[)\]] ?,? ?[(\[] ?){_N}){{3}} ?[)\]]|bbox|<box>|<\|box_start\|>", re.I)
_BARE = re.compile(
    r"(?:[\s\"'({\[<:=~≈,]|about|approximately|around|roughly|point|coordinates?|location|position|the|answer|is|at|it"
    r"|are|my|i am){0,14}",
    re.I,
)
_HEAD = re.compile(r"(?:the )?point [A-Z] ?(?:is |lies )?(?:at)? ?", re.I)
_BARE_END = re.compile(r"[\s\"')}\]>.,;!]{0,8}")
_RANGE_BEFORE = re.compile(
    r"\b(?:range|normali[sz]ed|within|between|scale|grid|from|interval|in)\b[^.\n]{0,24}\Z", re.I
)
_IMAGE_SIZE = re.compile(r"\b(?:size|resolution|dimensions?|width|image is)\b[^.\n]{0,16}\Z", re.I)
_CUE = re.compile(r"\b(?:coordinates?|point|position|location|located|at|is|pixel)\b", re.I)


_DENIED = "only says where it is not"
_DENIED_BEFORE = re.compile(
    r"(?:\bnot|n't|\bnever|\brather than|\binstead of)(?: (?:at|in|near|the|point|located|on|be|exactly|to)){0,4}"
    r" ?[(:]? ?\Z",
    re.I,
)
# Between two points that are one, said in two ways.
_SAME_POINT = re.compile(
    r"[ )\]>]{0,3}(?:in (?:percent|fractions?|normali[sz]ed coordinates)|normali[sz]ed)?[ ,;(]{0,3}"
    r"(?:=|≈|→|i\.?e\.?,?|that is,?|which (?:is|equals|corresponds to|means)|or rather|corresponds? to|equivalent to"
    r"|equals)[ (:,]{0,3}(?:about |approximately |the )?(?:point )?[ (<]{0,2}",
    re.I,
)
# Between the answer and a point that only places it.
_NEW_THOUGHT = re.compile(
    r"[ )\]>]{0,3}(?:[.;(]|, ?(?:relative to|near|next to|close to|not far from|compared|starting|while|whereas|where"
    r"|since|because)\b| ?(?:relative to|near|next to|close to|because|since)\b)",
    re.I,
)
_CHOICE = re.compile(
    r"\b(?:or|and|also|alternatively|actually|wait|rather|perhaps|maybe|possibly|no|correction)\b", re.I
)
_TURN = re.compile(r"\b(?:wait|actually|correction|on second thought|on reflection|hmm|scratch that)\b", re.I)
_ROW_FIRST = re.compile(
    r"[(\[{]? ?\by ?, ?x\b ?[)\]}]?|\by[- ]x (?:order|format)"
    r"|[(\[{]? ?\brows? ?(?:,|/|and|then) ?col(?:umn)?s?\b ?[)\]}]?",
    re.I,
)
_EQUALS_AFTER = re.compile(r" ?(?:=|:|is|are|≈) ?(?:about |approximately )?", re.I)
_KEYED_POINT = re.compile(r"\bx1? ?[:=\"']|\bx is\b", re.I)
_PIXELS = re.compile(
    r"\b(?:pixels?|px)\b|\b(?:of|in|on|for) (?:an?|the|this|my) (?!(?:1000|999|1024) ?[x×] ?(?:1000|999|1024))"
    r"\d{2,5} ?[x×] ?\d{2,5}\b",
    re.I,
)
_SIZED = re.compile(r"[\"'](?:w|h|width|height)[\"'] ?:", re.I)


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

    def is_heading(self, line: str) -> bool:
        """Never: nothing is headed by its number."""
        return False

    def final(self, text: str) -> ParsedAnswer | None:
        """The point at the head of what follows a marker; several different ones must be told apart."""
        for line in text.split("\n"):
            found = self._points(line, loose=True)
            if not found:
                continue
            kept = _not_denied(line, found)
            if not kept:
                return unparsed(_DENIED, line[:80])
            result = self._one_of(line, kept, _told_apart)
            rest = text[text.index(line) + len(line) :]
            others = {(f.x, f.y) for f in self._points(rest, loose=False)} - {(f.x, f.y) for f in kept}
            opens = _BARE.fullmatch(line[: kept[0].start]) or _HEAD.fullmatch(line[: kept[0].start])
            if others and (_TURN.search(rest) or not opens):
                return ambiguous("several points are given", f"{result.matched} … {' '.join(others.pop())}")
            return result
        if _BOX.search(text):
            return unparsed("a box is no point", text[:80])
        found = self._points(text, loose=False)
        kept = _not_denied(text, found)
        if found and not kept:
            return unparsed(_DENIED, text[:80])
        return self._one_of(text, kept, _told_apart) if kept else None

    def body(self, text: str, said: list[Statement]) -> ParsedAnswer | None:
        """The only point that running text gives."""
        found = self._points(text, loose=False)
        if not found:
            for statement in said:
                loose = self._points(statement.text, loose=True)
                if loose and (self.bare(statement.text) or _CUE.search(statement.text[: loose[0].start])):
                    if not _not_denied(statement.text, loose):
                        return unparsed(_DENIED, statement.text[:80])
                    found.extend(loose)
                    text = statement.text if len(found) == len(loose) else text
            if found:
                values = {(f.x, f.y) for f in found}
                if len(values) > 1:
                    return ambiguous("several points are given", "; ".join(f"{f.x} {f.y}" for f in found[-4:]))
                return self._value(text, found[0])
        if len(found) > 1:
            found = [f for f in found if not _is_range(text, f)] or found[-1:]
        kept = _not_denied(text, found)
        if kept:
            result = self._one_of(text, kept, _said_again)
            return None if len(kept) == 1 and _is_range(text, kept[0]) else result
        if found:
            return unparsed(_DENIED, text[found[0].start : found[0].end])
        return unparsed("a box is no point") if _BOX.search(text) else None

    def review(self, result: ParsedAnswer, text: str) -> ParsedAnswer:
        """Swap a point that is said to be (y, x); withdraw one that may be, or may be in pixels or part of a box."""
        if not isinstance(result.value, tuple):
            return result
        order = _ROW_FIRST.search(text)
        if order and not _KEYED_POINT.search(result.matched):
            at = text.find(result.matched)
            if len(_ROW_FIRST.findall(text)) == 1 and _EQUALS_AFTER.fullmatch(text[order.end() : max(order.end(), at)]):
                return replace(result, value=(result.value[1], result.value[0]), note="read as (y, x), as it says")
            return ambiguous("the coordinates may be in the order (y, x)", result.matched)
        if _PIXELS.search(text) and "converted" not in result.note:
            return ambiguous("the coordinates may be pixels of an image of another size", result.matched)
        if _SIZED.search(text):
            return ambiguous("a box is no point", result.matched)
        return result

    def _one_of(self, text: str, found: list[_Found], same: Callable[[str, _Found, _Found], bool]) -> ParsedAnswer:
        """The first point, unless others follow that are not told apart from it."""
        first = found[0]
        result = self._value(text, first)
        for earlier, other in pairwise(found):
            if (other.x, other.y) == (first.x, first.y):
                continue
            gap = text[earlier.end : other.start]
            if _SAME_POINT.fullmatch(gap):
                second = self._value(text, other)
                if not _close(result, second):
                    return ambiguous("several points are given", text[first.start : other.end][:200])
                result = result if not result.note else second
            elif not same(text, first, other):
                from_to = re.search(r"\bfrom ?\Z", text[max(0, first.start - 8) : first.start], re.I)
                if same is _told_apart and from_to and len(found) == 2 and re.search(r"\b(?:to|at) ?\Z", gap, re.I):
                    return self._value(text, other)  # "from (1, 2) to (3, 4)", as a final answer
                return ambiguous("several points are given", text[first.start : other.end][:200])
        return result

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
        add(_ROW_COLUMN.finditer(text))
        add(_COLUMN_ROW.finditer(text))
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


def _not_denied(text: str, found: list[_Found]) -> list[_Found]:
    """The points that are not said to be wrong ("not at (1, 2)")."""
    return [f for f in found if not _DENIED_BEFORE.search(text[max(0, f.start - 48) : f.start])]


def _said_again(_text: str, _first: _Found, _other: _Found) -> bool:
    """In running text, two different points are two points."""
    return False


def _told_apart(text: str, first: _Found, other: _Found) -> bool:
    """Whether a point after the answer belongs to another thought, and does not offer another answer."""
    head = text[: first.start]
    gap = text[first.end : other.start]
    at_head = _BARE.fullmatch(head) is not None or _HEAD.fullmatch(head) is not None
    return at_head and _NEW_THOUGHT.match(gap) is not None and _CHOICE.search(gap[:80]) is None


def _close(one: ParsedAnswer, other: ParsedAnswer) -> bool:
    """Whether two points are the same but for rounding."""
    if not isinstance(one.value, tuple) or not isinstance(other.value, tuple):
        return False
    return max(abs(a - b) for a, b in zip(one.value, other.value, strict=True)) <= 10.0


def _overlaps(span: tuple[int, int], spans: list[tuple[int, int]]) -> bool:
    at = bisect_left(spans, (span[1], 0))
    return at > 0 and spans[at - 1][1] > span[0]


def _is_range(text: str, found: _Found) -> bool:
    """Whether a pair is the grid or the size of the image rather than a point on it."""
    before = text[max(0, found.start - 48) : found.start]
    if found.x in ("0", "0.0") and found.y in ("999", "1000", "1", "1.0", "100"):
        return text[found.start] == "[" or _RANGE_BEFORE.search(before) is not None
    return _IMAGE_SIZE.search(before) is not None
