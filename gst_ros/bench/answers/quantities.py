"""Reading one distance in metres or one angle in degrees.

Distances: a number without unit is in metres, as the prompts ask. An explicit unit (m, cm, mm, km, ft, in, yd) is
converted, and the note says so; of two units for one length the metres are taken, and a conversion in brackets is
ignored. A negative distance is none.

Angles: degrees with or without sign for it; radians only when named. Without sign, "to the left" or "counter-clockwise"
makes a number positive and "to the right" or "clockwise" negative. A sign that says otherwise, or says it twice
("-90 degrees to the right"), is ambiguous; in brackets or after a comma ("-90°, to the right") the words only explain
the sign. Angles up to a full turn are wrapped into [-180, 180], with a note; larger ones are none. Words alone
("straight ahead", "behind", "left", "north-east", "3 o'clock") name a sector, not an angle, and give no value.

A conclusion ("so 4.1 m") and a revision ("actually, 100") beat an earlier number. What measures something else ("2 m
wide", "I turned 90 degrees") is passed over. A unit or side that stands apart from its number, in a label, a field or
another sentence, is applied with a note: see :mod:`gst_ros.bench.answers.surroundings`.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from gst_ros.bench.answers import surroundings
from gst_ros.bench.answers.numbers import LENGTHS_M, Quantity, quantities
from gst_ros.bench.answers.parsed import ParsedAnswer, ambiguous, parsed, unparsed
from gst_ros.bench.answers.surroundings import SOMETHING_ELSE
from gst_ros.bench.answers.text import Statement, statements

_PREFIX = re.compile(
    r"[\s\"'(\[<{~≈=:,→—<>≤≥-]{0,6}(?:(?:approximately|about|around|roughly|approx\.?|circa|ca\.?|nearly|almost|exactly|i|it|this|that"
    r"|i'd|it's|that's|think|believe|say|would|guess|estimate|is|be|at|so|thus|therefore|hence|the|my|your|its|an?"
    r"|estimated|final|answer|result|total|sum|angle|distance|direction|bearing|orientation|heading|object|target|value|located|of"
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
# Words that draw a conclusion from the numbers before them.
_CONCLUDES = re.compile(
    r"\b(?:so|therefore|thus|hence|gives|giving|totall?ing|totals?|sum"
    r"|altogether|overall|in total|making|makes)\b|[=→]",
    re.I,
)
_RESULT_BEFORE = re.compile(r"[=≈] ?\Z")
_ZERO_BEFORE = re.compile(
    r"\b(?:as|direction(?: is| as| at)?|ahead(?: is| as)?|forward(?: is)?|front(?: is)?|being) ?=? ?\Z", re.I
)
_REVISION = re.compile(
    r"\b(?:wait|actually|on reflection|scratch that|no,|correction|on second thought|let me re\w{2,12}"
    r"|reconsider|hmm)\b",
    re.I,
)

_SIDE = r"(?P<side>left|right|anti-?clockwise|counter-? ?clockwise|clockwise|ccw|cw|左|右)(?![a-z])"
_SIDE_AFTER = re.compile(
    rf"(?P<gloss> ?[,(] ?| ?= ?)?(?: ?(?:which is|i\.?e\.?,?|that is|turn(?:ed|ing)?|rotat(?:e|ed|ion)|off|around"
    r"|(?:even |a )?further|more))?"
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


class _Reading(NamedTuple):
    """What one statement gives: its number, and whether a word or its form says that the quantity is meant."""

    number: int
    result: ParsedAnswer
    cued: bool


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
        sentence = said[0].text
        result = self._leading(sentence) or self._choose(sentence, self._candidates(sentence, cued=True))
        if result is None or result.note == SOMETHING_ELSE:
            result = self._choose(first_line, self._candidates(first_line, cued=True)) or result
        if result is None or result.note == SOMETHING_ELSE:
            result = self.body(text, said) or result
        if result is not None and len(said) > 1:
            revised = self._revised(said, self._readings(said), result)
            result = revised or result
        return result

    def body(self, text: str, said: list[Statement]) -> ParsedAnswer | None:
        """The quantity that running text gives."""
        whole = self.bare(said[0].text)
        first = whole or self._leading(said[0].text)
        readings = self._readings(said)
        plain = [reading for reading in readings if reading.result.note != SOMETHING_ELSE]
        cued = [reading for reading in plain if reading.cued]
        if first is not None:
            second = self.bare(said[1].text) if len(said) > 1 and said[1].line == said[0].line else None
            revised = self._revised(said, readings, first)
            if revised is not None:
                return revised
            if second is not None and second.value not in (None, first.value):
                return ambiguous("several numbers are given", f"{first.matched} … {second.matched}")
            return first if whole is not None else self._unless_others_follow(said, _Reading(0, first, True), plain)
        if cued:
            revised = self._revised(said, readings, cued[0].result)
            return revised or self._unless_others_follow(said, cued[-1], cued[:-1] + plain)
        values = {reading.result.value for reading in plain}
        if len(values) > 1:
            return ambiguous("several numbers are given", ", ".join(r.result.matched for r in plain[-4:]))
        return plain[-1].result if plain else readings[-1].result if readings else None

    def review(self, result: ParsedAnswer, text: str) -> ParsedAnswer:
        """Give a number alone the unit, or the side, that the rest of the answer tells of it."""
        if not isinstance(result.value, float):
            return result
        if self._lengths:
            return self._with_told_unit(result, result.value, text)
        return self._with_told_side(result, result.value, text)

    def _with_told_unit(self, result: ParsedAnswer, value: float, text: str) -> ParsedAnswer:
        found = quantities(result.matched, lengths=True)
        if not found or any(q.unit for q in found):
            return result
        unit, disagree = surroundings.told_unit(text, result.matched)
        if disagree:
            return ambiguous("units are named that may or may not be those of the number", result.matched)
        if unit in (None, "m"):
            return result
        note = "; ".join(filter(None, (result.note, f"converted from {unit}, which is named apart from the number")))
        return parsed(float(f"{value * LENGTHS_M[unit or 'm']:.12g}"), result.matched, note)

    def _with_told_side(self, result: ParsedAnswer, value: float, text: str) -> ParsedAnswer:
        found = quantities(result.matched, lengths=False)
        if not found or found[0].signed or not 0.0 < value < 180.0 or _SIDE_AFTER.search(result.matched):
            return result
        sides, said = surroundings.told_sides(text)
        if self._left_sign > 0 and surroundings.told_negative(text) and "left" not in sides:
            return replace(result, value=-value, note="the answer says in words that the angle is negative")
        if sides != {"right" if self._left_sign > 0 else "left"}:
            return result
        if not said:
            return ambiguous("the number has no sign, and only the other side is named", result.matched)
        return replace(result, value=-value, note="the side is named apart from the number")

    def _readings(self, said: list[Statement]) -> list[_Reading]:
        """What each statement gives."""
        readings = []
        for number, statement in enumerate(said):
            has_cue = self._cue.search(statement.text) is not None
            bare = self.bare(statement.text)
            result = bare or self._choose(statement.text, self._candidates(statement.text, cued=has_cue))
            if result is not None:
                readings.append(_Reading(number, result, has_cue or (bare is not None and number > 0)))
        return readings

    def _revised(self, said: list[Statement], readings: list[_Reading], result: ParsedAnswer) -> ParsedAnswer | None:
        """What is said after "actually", "wait" and the like in place of an earlier number."""
        turns = [i for i, statement in enumerate(said) if i and _REVISION.search(statement.text)]
        if not turns:
            return None
        later = [r for r in readings if r.number >= turns[0] and r.result.note != SOMETHING_ELSE]
        if not later or later[-1].result.value == result.value:
            return None
        later = [r for r in later if r.cued] or later
        return later[-1].result

    def _unless_others_follow(
        self, said: list[Statement], reading: _Reading, others: Sequence[_Reading]
    ) -> ParsedAnswer:
        """A reading, unless other statements give other numbers and none of them draws a conclusion."""
        rivals = [
            r for r in others if r.number != reading.number and r.result.value not in (None, reading.result.value)
        ]
        later = [r for r in rivals if r.number > reading.number]
        rivals = later or [r for r in rivals if r.cued]
        if not rivals or _CONCLUDES.search(said[reading.number].text):
            return reading.result
        if later and _CONCLUDES.search(said[later[-1].number].text):
            return later[-1].result
        return ambiguous("several numbers are given", f"{reading.result.matched} … {rivals[-1].result.matched}")

    def _leading(self, sentence: str) -> ParsedAnswer | None:
        """A quantity that opens a sentence and is then explained."""
        found = [q for q in quantities(sentence, lengths=self._lengths) if not q.counts_something]
        if not found or not _PREFIX.fullmatch(sentence[: found[0].start]):
            return None
        rest = sentence[found[0].end : found[0].end + 40]
        if not _AFTER_HEAD.match(rest) or surroundings.measures_something_else(sentence, found[0]):
            return None
        concluded = self._concluded(sentence, found)
        if concluded is not None:
            return concluded
        near = [
            q
            for q in found[1:]
            if q.start - found[0].end <= 24 and not re.search(r"[.;\n]|\w{3,}", sentence[found[0].end : q.start])
        ]
        return self._choose(sentence, [found[0], *near], head=found[0])

    def _concluded(self, sentence: str, found: Sequence[Quantity]) -> ParsedAnswer | None:
        """The number of a conclusion, which says more than the one that opens the sentence."""
        ends = [match.end() for match in _CONCLUDES.finditer(sentence) if match.start() >= found[0].end]
        after = [q for q in found[1:] if ends and q.start >= ends[-1] and not q.problem]
        if len(after) != 1 or (found[0].unit is not None and after[0].unit is None):
            return None
        if self._agree([found[0], after[0]], [self._answer(sentence, q) for q in (found[0], after[0])]):
            return None
        return self._answer(sentence, after[0])

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
        other = [surroundings.measures_something_else(sentence, q) for q in found]
        if all(other):
            return [replace(q, problem=SOMETHING_ELSE) for q in found]
        return [q for q, is_other in zip(found, other, strict=True) if not is_other]

    def _choose(self, sentence: str, found: Sequence[Quantity], head: Quantity | None = None) -> ParsedAnswer | None:
        """One answer from the quantities of a sentence."""
        if not found:
            return None
        if found[0].problem == SOMETHING_ELSE:
            return ambiguous(SOMETHING_ELSE, " … ".join(sentence[q.start : q.end] for q in found[:4]))
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
        if surroundings.is_bound(sentence, q.end):
            return ambiguous("a bound is no value", matched)
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
        if after and surroundings.is_convention(sentence[q.end + after.start("side") : q.end + after.end() + 16]):
            after = None
        aside = surroundings.unclear_direction(sentence[q.end + (after.end() if after else 0) :][:60])
        if aside:
            return ambiguous(aside, matched)
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
