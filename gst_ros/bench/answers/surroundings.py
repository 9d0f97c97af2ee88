"""What stands around a quantity and changes what it says: other things it may measure, units and sides told elsewhere.

A number with its unit is not yet the answer: "2 m wide", "I turned 90 degrees" and "a field of view of 60°" measure
something else, "10° left of the door" is not relative to the view, and "5 m or more" is a bound. A number alone may
get its unit or its side from a label, a neighbouring field or another sentence.
"""

from __future__ import annotations

import re

from gst_ros.bench.answers.numbers import LENGTHS_M, Quantity

SOMETHING_ELSE = "the numbers measure something else"

_MOVED_BEFORE = re.compile(
    r"(?:\b(?:i|we|you|he|she|they|it|camera|robot|agent|person|observer|viewer|video|view|which|then|and|but|having"
    r"|after|initially|first|have|has|had|was|i've|in total)[ ,]{1,2}(?:\w{1,12} ){0,2}(?:turned|rotated|walked|moved"
    r"|went|travell?ed|stepped|advanced|panned|proceeded|continued|swung|spun|turning|rotating|walking|moving)"
    r"|\b(?:walk|move|go|step|travel|walked|moved)(?: (?:forwards?|backwards?|ahead|straight|on|left|right))?)\b"
    r"(?:(?! is | are | was |,)[^.;\n]){0,30}\Z",
    re.I,
)
_OTHER_BEFORE = re.compile(
    r"\b(?:field of view|fov|height|width|depth of the \w{1,12}|length of the \w{1,12}|ceiling|error|margin"
    r"|uncertainty|tolerance|step (?:length|size)|stride|speed|radius|diameter)\b"
    r"(?: ?(?:is|was|of|at|about|around|approximately|roughly|only|=|:|≈|~|±)){0,4} ?\Z",
    re.I,
)
_OTHER_AFTER = re.compile(
    r" ?-?(?:wide|long|tall|high|deep|thick|broad|in (?:width|height|length|size|diameter)|(?:horizontal |vertical )?"
    r"(?:field of view|fov)|steps?|per|of (?:rotation|error|turning|walking)|(?:error )?margin|error)\b",
    re.I,
)
_BOUND_AFTER = re.compile(
    r"(?: away)? ?,? ?(?:or (?:more|less|further|farther|greater|fewer|over|under|above|below|closer|nearer|beyond"
    r"|longer"
    r"|shorter)"
    r"|at (?:the )?(?:very )?(?:most|least)|and (?:more|up|above|over|beyond)|upwards?"
    r"|(?:max|min)(?:imum)?(?! (?:error|of))|tops)\b",
    re.I,
)
_OWN_FRAME = (
    r"(?:me|us|you|here|my|your|our|this|where|straight|ahead|forwards?|front|cent(?:re|er)|zero|0|north"
    r"|(?:the|its|a) (?:(?:\w{1,12} )?(?:camera|viewpoint|view(?:er)?|viewing|query|robot|agent|observer|cent(?:re|er)"
    r"|middle|forward|front|facing|heading|optical|axis|image|frame|screen|current|initial|line of sight|zero"
    r"|straight)))\b"
)
_NOT_OWN_FRAME = re.compile(rf" ?(?:side )?(?:of|from|than|past|beyond) (?!{_OWN_FRAME})\w", re.I)
_EITHER_SIDE = re.compile(
    r"(?: side)? ?(?:or|/|and) ?(?:to )?(?:the |my |your )?(?:left|right|clockwise|counter)", re.I
)
_CLOCK = re.compile(r"\bo'? ?clock\b", re.I)

_UNIT_NAMES = {
    "m": r"met(?:er|re)s?|m", "cm": r"centimet(?:er|re)s?|cms?", "mm": r"millimet(?:er|re)s?|mm",
    "km": r"kilomet(?:er|re)s?|km", "ft": r"feet|foot|ft", "in": r"inch(?:es)?", "yd": r"yards?|yds?",
}  # fmt: skip
_UNIT = "|".join(f"(?P<{name}>{pattern})" for name, pattern in _UNIT_NAMES.items())
_UNIT_LABEL = re.compile(
    rf"(?:[(\[] ?(?:in |units?:? ?)?|\bin |_|(?:^|[\n,;{{\"']) ?)(?:{_UNIT}|(?<=[(_])(?P<in_>in))(?![a-z])"
    r"(?:[)\]\"' ,:=≈~]|is|was|are|that'?s|it'?s|this|that|be|would|equals|about|approximately|roughly|around){0,9}\Z",
    re.I,
)
_UNIT_AFTER = re.compile(rf"[\"']? ?[(\[] ?(?:in )?(?:{_UNIT}|(?P<in_>in)) ?[)\]]", re.I)
_UNIT_FIELD = re.compile(rf"[\"']?\b(?:units?|uom)[\"']? ?[:=] ?[\"']?(?:{_UNIT}|(?P<in_>in))(?![a-z])", re.I)
_UNIT_LOOSE = re.compile(rf"\b(?:in|using|units?(?: are| is|:)?) (?:{_UNIT})(?![a-z])", re.I)

_SIDE_WORD = re.compile(
    r"(?<![a-z])(?:(?P<left>left|anti-?clockwise|counter-? ?clockwise|ccw)"
    r"|(?P<right>(?:(?<=the )|(?<=my )|(?<=your ))right(?! (?:answer|option|choice|angle))"
    r"|right(?! (?:answer|option|choice|away|now|next|behind|in front|before|after|angles?)\b|-angled?)"
    r"|clockwise|cw))(?![a-z])"
    r"(?! ?(?:is|=|being|:|are|as|being)? ?\(?(?:positive|negative|\+|-(?![\da-z])))",
    re.I,
)
_CONVENTION_BEFORE = re.compile(
    r"(?:positive|negative|[+-])(?: (?:values?|angles?|numbers?))?"
    r" ?(?:is|=|means?|for|:|to|if|when|being|are|→|on|\(| )(?: ?(?:to|on|the|it|is|in)){0,4} ?\Z",
    re.I,
)
_SIDE_SAID = re.compile(
    r"(?:\b(?:on|to|towards?|at|in) (?:the |my |your |its )?(?:far |back |rear |front )?(?:-hand )?|^|[\n.:\"'(] ?"
    r"|\b(?:is|lies) )(?:right|left|clockwise|cw)\b(?!,? (?:so|okay|let|then|turn) )",
    re.I,
)
_NEGATIVE_SAID = re.compile(
    r"\b(?:angle|answer|value|sign|it|number|which|result|direction|bearing) (?:is|must be|should be|will be|would be)"
    r" (?:therefore |thus |then )?negative\b|(?:^|[\n.;] ?)(?:so |therefore )?negative ?(?=[.!:;\n]|$)"
    r"|[\"']sign[\"'] ?: ?[\"'](?:negative|minus|-)[\"']",
    re.I,
)


def measures_something_else(sentence: str, q: Quantity) -> bool:
    """Whether the words around a quantity say that it is a size, a movement, a field of view or an error."""
    before, after = sentence[max(0, q.start - 90) : q.start], sentence[q.end : q.end + 32]
    return any(
        (_MOVED_BEFORE.search(before), _OTHER_BEFORE.search(before), q.unit is not None and _OTHER_AFTER.match(after))
    )


def is_bound(sentence: str, end: int) -> bool:
    """Whether what follows a quantity makes it a bound ("5 m or more", "5 m at most")."""
    return _BOUND_AFTER.match(sentence[end : end + 32]) is not None


def unclear_direction(after: str) -> str:
    """Why an angle is not relative to the view, judged by what follows it or its side; empty when nothing says so."""
    if _NOT_OWN_FRAME.match(after):
        return "relative to something other than the view"
    if _EITHER_SIDE.match(after):
        return "both sides are offered"
    if _CLOCK.search(after[:24]):
        return "a clock position is no angle"
    return ""


def is_convention(side_and_after: str) -> bool:
    """Whether a side is named to say which sign it has ("left is positive")."""
    return _SIDE_WORD.search(side_and_after) is None


def told_unit(text: str, number: str) -> tuple[str | None, bool]:
    """The unit that a label or a field gives to a number without unit.

    Args:
        text: The whole answer.
        number: The number as it stands there.

    Returns:
        A key of :data:`~gst_ros.bench.answers.numbers.LENGTHS_M` or None; and whether the units told disagree, or one
        is told without saying of which number.
    """
    labels: set[str | None] = set()
    at = text.find(number)
    for _ in range(8):
        if at < 0:
            break
        label = _UNIT_LABEL.search(text[max(0, at - 48) : at])
        label = label or _UNIT_AFTER.match(text[at + len(number) : at + len(number) + 24])
        labels.add(_unit_name(label) if label else None)
        at = text.find(number, at + len(number))
    fields = {_unit_name(match) for match in _UNIT_FIELD.finditer(text)}
    named = (labels | fields) - {None}
    if len(named) > 1:
        return None, True
    if named:
        return named.pop(), False
    loose = {_unit_name(match) for match in _UNIT_LOOSE.finditer(text)}
    return None, bool(loose - {"m"})


def _unit_name(match: re.Match[str]) -> str:
    name = (match.lastgroup or "m").rstrip("_")
    return name if name in LENGTHS_M else "m"


def told_sides(text: str) -> tuple[set[str], bool]:
    """The sides that a whole answer names, and whether one is said as a place ("on the right") or stands alone.

    Words that only explain the sign ("left is positive") are passed over.
    """
    sides: set[str] = set()
    for match in _SIDE_WORD.finditer(text):
        if not _CONVENTION_BEFORE.search(text[max(0, match.start() - 32) : match.start()]):
            sides.add(str(match.lastgroup))
    return sides, _SIDE_SAID.search(text) is not None


def told_negative(text: str) -> bool:
    """Whether an answer says in words that its number is negative."""
    return _NEGATIVE_SAID.search(text) is not None
