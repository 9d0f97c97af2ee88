"""Reading one distance in metres or one angle in degrees.

Distances: a number without unit is in metres, as the prompts ask. An explicit unit (m, cm, mm, km, ft, in, yd) is
converted, and the note says so; of two units for one length the metres are taken, and a conversion in brackets is
ignored. A negative distance is none.

Angles: degrees with or without sign for it; radians only when named. Without sign, "to the left" or "counter-clockwise"
makes a number positive and "to the right" or "clockwise" negative. A sign that says otherwise, or says it twice
("-90 degrees to the right"), is ambiguous; in brackets or after a comma ("-90°, to the right") the words only explain
the sign. Angles up to a full turn are wrapped into [-180, 180], with a note; larger ones are none. Words alone
("straight ahead", "behind", "left", "north-east", "3 o'clock") name a sector, not an angle, and give no value.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from gst_ros.bench.answers.numbers import Quantity, quantities
from gst_ros.bench.answers.parsed import ParsedAnswer, ambiguous, parsed, unparsed
from gst_ros.bench.answers.text import Statement, statements

_PREFIX = re.compile(
    r"[\s\"'(\[<{~≈=:,→—<>≤≥-]{0,6}(?:(?:approximately|about|around|roughly|approx\.?|circa|ca\.?|nearly|almost|exactly|i|it|this|that"
    r"|i'd|it's|that's|think|believe|say|would|guess|estimate|is|be|at|so|thus|therefore|hence|the|my|your|its|an?"
    r"|estimated|final|answer|result|total|angle|distance|direction|bearing|orientation|heading|object|target|value|located|of"
    r"|(?:more|less|greater|fewer) than|at (?:least|most)|over|under|within|up to|below|above"
    r"|距离|角度|方向|约|大约|是|为|,|:|=|~|≈|→|\()(?: ?)){0,9}[\s\"'(\[<{]{0,3}",
    re.I,
)
_SUFFIX = re.compile(
    r"(?: ?(?:away|from|me|you|us|here|the|current|query|camera|viewpoint|view|position|viewing direction|approximately"
    r"|approx\.?|roughly|or so|about|straight|in total|distance|angle|relative to|of|my|your|left|right)\b){0,6}"
    r"[\s.!,;)\]\"'>}]{0,6}",
    re.I,
)
_BRACKETS = re.compile(r"[(\[][^()\[\]\n]{0,160}[)\]]")
_AFTER_HEAD = re.compile(
    r" ?(?:$|[\n.,;:)(}\]\"'—]|- |(?:because|since|as|due|to|from|away|left|right|clockwise|counter"
    r"|anti|relative|based|for|approximately|approx|or so|in|on|at|given|which|so|with)\b)",
    re.I,
)
_CONCLUSION = re.compile(
    r"\b(?:so|therefore|thus|hence|giving|gives|which (?:gives|makes|is)|totall?ing|totals?|making|makes"
    r"|equals?|overall|in total|result(?:s|ing)?(?: in)?|i'd say|estimate)\b|[=≈→]",
    re.I,
)
_RESULT_BEFORE = re.compile(r"[=≈] ?\Z")
_ZERO_BEFORE = re.compile(
    r"\b(?:as|direction(?: is| as| at)?|ahead(?: is| as)?|forward(?: is)?|front(?: is)?|being) ?=? ?\Z", re.I
)
_REVISION = re.compile(r"\b(?:wait|actually|correction|on second thought|let me re\w{2,12}|reconsider|hmm)\b", re.I)

_SIDE = r"(?P<side>left|right|anti-?clockwise|counter-? ?clockwise|clockwise|ccw|cw|左|右)(?![a-z])"
_SIDE_AFTER = re.compile(
    rf"(?P<gloss> ?[,(] ?| ?= ?)?(?: ?(?:which is|i\.?e\.?,?|that is|turn(?:ed|ing)?|rotat(?:e|ed|ion)|off|around))?"
    rf"(?: ?(?:to|towards?|on|at|in|of))?(?: ?(?:the|my|your|a|an|its))?(?: ?(?:far|rear|back|front|current))?"
    rf" ?-?{_SIDE}",
    re.I,
)
_SIDE_BEFORE = re.compile(
    rf"{_SIDE}(?: ?(?:side|hand side|turn|direction|rear|back|front))?"
    r"(?: ?(?:by|of|at|about|around|approximately|roughly|an|angle|is|[~:=≈(,])){0,5} ?\Z",
    re.I,
)
_COMPASS = re.compile(
    r"\b(?:north|south|(?:north|south)?-?(?:east|west)(?:ern)?)\b"
    r"|\b(?-i:NE|NW|SE|SW|NNE|ENE|ESE|SSE|SSW|WSW|WNW|NNW)\b",
    re.I,
)
_LEFTWARD = ("left", "anticlockwise", "anti-clockwise", "counterclockwise", "counter-clockwise", "counter clockwise",
             "ccw", "左")  # fmt: skip


class QuantityReader:
    """Reads one length or angle.

    Args:
        lengths: True for metres, False for degrees.
        left_positive: Sense of angles.
    """

    def __init__(self, *, lengths: bool, left_positive: bool = True) -> None:
        self._lengths = lengths
        self._left_sign = 1.0 if left_positive else -1.0
        if lengths:
            self.json_keys: tuple[str, ...] = ("distance", "meters", "metres", "value", "length", "range")
            words = (
                r"distance|away|far|from (?:me|you|us|here|the (?:camera|view|current|query))|met(?:er|re)s? ahead|距离"
            )
        else:
            self.json_keys = ("angle", "direction", "degrees", "bearing", "yaw", "orientation", "heading", "value")
            words = (
                r"angle|direction|bearing|relative|turn|rotat\w{1,4}|left|right|clockwise|orientation|heading|facing|azimuth"
                r"|yaw|located|角度|方向"
            )
        self._cue = re.compile(rf"\b(?:{words})\b|距离|角度|方向", re.I)

    def bare(self, line: str) -> ParsedAnswer | None:
        """A statement that is one quantity, with at most a label, a hedge and a bracketed remark."""
        found = [q for q in quantities(line, lengths=self._lengths) if not q.counts_something]
        if not found or not _PREFIX.fullmatch(line[: found[0].start]):
            return None
        main = found[0]
        rest = line[main.end :]
        side = None if self._lengths else _SIDE_AFTER.match(rest)
        if side:
            rest = rest[side.end() :].removeprefix(")")
        if not _SUFFIX.fullmatch(_BRACKETS.sub("", rest)):
            return None
        return self._choose(line, found, head=main)

    def is_heading(self, line: str) -> bool:
        """Never: nothing is headed by its number."""
        return False

    def final(self, text: str) -> ParsedAnswer | None:
        """The quantity that follows a marker: at its head, in its first sentence or line, or in what follows."""
        said = statements(text)
        first_line = text.split("\n", 1)[0]
        return (
            self._leading(said[0].text)
            or self._choose(said[0].text, self._candidates(said[0].text, cued=True))
            or self._choose(first_line, self._candidates(first_line, cued=True))
            or self.body(text, said)
        )

    def body(self, text: str, said: list[Statement]) -> ParsedAnswer | None:
        """The quantity that running text gives."""
        first = self.bare(said[0].text) or self._leading(said[0].text)
        cued: ParsedAnswer | None = None
        cued_at = 0
        others: list[ParsedAnswer] = []
        for index, statement in enumerate(said):
            has_cue = self._cue.search(statement.text) is not None
            bare = self.bare(statement.text)
            result = bare or self._choose(statement.text, self._candidates(statement.text, cued=has_cue))
            if result is None:
                continue
            if has_cue or (bare is not None and index):
                cued, cued_at = result, index
            others.append(result)
        if first is not None:
            second = self.bare(said[1].text) if len(said) > 1 and said[1].line == said[0].line else None
            if second is not None and second.value not in (None, first.value):
                return ambiguous("several numbers are given", f"{first.matched} … {second.matched}")
            revised = cued is not None and cued_at and any(_REVISION.search(s.text) for s in said[1 : cued_at + 1])
            return cued if revised else first
        if cued is not None:
            return cued
        values = {result.value for result in others}
        if len(values) > 1:
            return ambiguous("several numbers are given", ", ".join(result.matched for result in others[-4:]))
        return others[-1] if others else None

    def _leading(self, sentence: str) -> ParsedAnswer | None:
        """A quantity that opens a sentence and is then explained."""
        found = [q for q in quantities(sentence, lengths=self._lengths) if not q.counts_something]
        if not found or not _PREFIX.fullmatch(sentence[: found[0].start]):
            return None
        rest = sentence[found[0].end : found[0].end + 40]
        if not _AFTER_HEAD.match(rest):
            return None
        near = [
            q
            for q in found[1:]
            if q.start - found[0].end <= 24 and not re.search(r"[.;\n]|\w{3,}", sentence[found[0].end : q.start])
        ]
        return self._choose(sentence, [found[0], *near], head=found[0])

    def _candidates(self, sentence: str, *, cued: bool) -> list[Quantity]:
        """The quantities of running text that may be meant."""
        found = []
        for q in quantities(sentence, lengths=self._lengths):
            plain = q.unit is None
            in_words = any(c.isalpha() for c in sentence[q.start : q.end])
            if q.counts_something or (
                plain and (in_words or not (cued or _RESULT_BEFORE.search(sentence[max(0, q.start - 2) : q.start])))
            ):
                continue
            if not self._lengths and abs(q.value) == 180.0 and q.problem:
                continue  # the range that the prompt gives
            if not self._lengths and q.value == 0.0 and _ZERO_BEFORE.search(sentence[max(0, q.start - 24) : q.start]):
                continue  # the prompt's "viewing direction as 0°"
            found.append(q)
        if any(q.unit for q in found):
            found = [q for q in found if q.unit]
        return found

    def _choose(self, sentence: str, found: Sequence[Quantity], head: Quantity | None = None) -> ParsedAnswer | None:
        """One answer from the quantities of a sentence."""
        if not found:
            return None
        results = [i for i, q in enumerate(found) if _RESULT_BEFORE.search(sentence[max(0, q.start - 2) : q.start])]
        if results and head is None:
            found = found[results[-1] :]
        found = self._without_glosses(sentence, found)
        answers = [self._answer(sentence, q) for q in found]
        if self._agree(found, answers):
            best = next((i for i, q in enumerate(found) if q.unit == "m"), 0)
            return answers[best]
        if head is None:
            ends = [match.end() for match in _CONCLUSION.finditer(sentence)]
            after = [answer for q, answer in zip(found, answers, strict=True) if ends and q.start >= ends[-1]]
            if after and len({answer.value for answer in after}) == 1:
                return after[0]
        matched = " … ".join(sentence[q.start : q.end] for q in found[:4])
        return ambiguous("several numbers are given", matched)

    def _agree(self, found: Sequence[Quantity], answers: Sequence[ParsedAnswer]) -> bool:
        values = [answer.value for answer in answers]
        if len(set(values)) == 1:
            return True
        numbers = [value for value in values if isinstance(value, float)]
        if not self._lengths or len(numbers) < len(values) or len({q.unit for q in found}) < len(found):
            return False
        # The same length said in several units, rounded.
        return max(numbers) - min(numbers) <= 0.05 * max(numbers)

    def _without_glosses(self, sentence: str, found: Sequence[Quantity]) -> Sequence[Quantity]:
        """Leave out what stands in brackets after a quantity, unless it offers another one ("or 15 m")."""
        spans = [m.span() for m in _BRACKETS.finditer(sentence) if m.start() > found[0].start]
        if not spans:
            return found
        kept = []
        for q in found:
            at = bisect_right(spans, (q.start, len(sentence))) - 1
            span = spans[at] if at >= 0 and q.end <= spans[at][1] else None
            inside = sentence[span[0] : q.start].lower() if span else ""
            other = "or" in re.findall(r"\w{1,12}", inside) and q.unit in (found[0].unit, None)
            metres = q.unit == "m" and found[0].unit not in ("m", None)
            if span is None or other or metres:
                kept.append(q)
        return kept

    def _answer(self, sentence: str, q: Quantity) -> ParsedAnswer:
        matched = sentence[q.start : q.end]
        if not math.isfinite(q.value):
            return unparsed("no finite number", matched)
        return self._distance(sentence, q, matched) if self._lengths else self._angle(sentence, q, matched)

    def _distance(self, sentence: str, q: Quantity, matched: str) -> ParsedAnswer:
        if q.problem and q.problem != "the sign is unclear":
            return ambiguous(q.problem, matched)
        if q.signed and matched.startswith(("- ", "+ ")) and not sentence[: q.start].strip():
            q = replace(q, value=abs(q.value))  # a bullet
        if q.value < 0.0 or (q.signed and matched.startswith(("-", "minus", "negative")) and q.value == 0.0):
            return unparsed("a distance is not negative", matched)
        note = f"converted from {q.unit}" if q.unit not in (None, "m") else ""
        return parsed(float(f"{q.value:.12g}"), matched, note)

    def _angle(self, sentence: str, q: Quantity, matched: str) -> ParsedAnswer:
        if q.problem:
            return ambiguous(q.problem, matched)
        value = q.value
        after = _SIDE_AFTER.match(sentence[q.end : q.end + 60])
        before = None if after else _SIDE_BEFORE.search(sentence[max(0, q.start - 50) : q.start])
        side = after or before
        if side:
            sign = self._left_sign if side["side"].lower() in _LEFTWARD else -self._left_sign
            if after:
                matched = sentence[q.start : q.end + after.end()]
            gloss = before is not None or bool(after and after["gloss"])
            if q.signed:
                if value * sign < 0 or (value < 0 and not gloss):
                    return ambiguous("the sign and the side contradict each other", matched)
            else:
                value *= sign
        if _COMPASS.search(sentence[max(0, q.start - 24) : q.start]) or _COMPASS.search(sentence[q.end : q.end + 24]):
            return ambiguous("a compass bearing is not relative to the view", matched)
        if abs(value) > 360.0:
            return unparsed("more than a full turn", matched)
        notes = ["converted from radians"] if q.unit == "rad" else []
        if abs(value) > 180.0:
            value -= math.copysign(360.0, value)
            notes.append("wrapped into [-180, 180]")
        return parsed(float(f"{value:.12g}") + 0.0, matched, "; ".join(notes))
