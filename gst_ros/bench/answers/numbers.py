"""Finding the quantities in a text: digits or words, sign, unit, and what makes one no single value.

Conventions:

- ``1,234.5`` has a thousands separator, ``13,2`` and ``1.234,5`` a decimal comma; ``1,234`` is read as English (1234),
  ``0,234`` as 0.234.
- A hyphen, en dash or minus sign is a sign where a number begins, a range between two numbers ("10-15", "10 to 15",
  "between 10 and 15"), and unclear after a word ("angle - 134").
- "13.2 ± 0.5" is 13.2. A bound ("more than 10"), a range, a ratio and a product are no single value; the quantity is
  kept, with its ``problem``.
- "12 chairs", "image 2", "50 %", "12:30", "3rd" and "2 m/s" are other things and are left out.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache

_ONES = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90,
}  # fmt: skip
_WORD = "|".join(sorted((*_ONES, *_TENS, "hundred", "thousand"), key=len, reverse=True))
_WORDS = (
    rf"(?<![\w-])(?:a (?=hundred|thousand))?(?:{_WORD})(?:(?: |-| and |, )(?:{_WORD})){{0,8}}"
    rf"(?: point(?: (?:{_WORD})){{1,6}})?(?!\w|-(?:{_WORD}))"
)
_HALF = r"(?P<half> and (?:a |one )?(?:half|quarter))?"
_DIGITS = (
    r"(?:\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,40})?|\d{1,3}(?:\.\d{3}){1,5},\d{1,40}|\d{1,40}(?:[.,]\d{1,40})?|\.\d{1,40})"
    r"(?:[eE][+-]?\d{1,3}(?![\d.]))?(?!\d|[.,]\d)"
)
_NUMBER = re.compile(
    rf"(?:(?<!\d)(?<!\d[.,:])(?<![A-Za-z_\\])(?P<digits>{_DIGITS})|(?P<words>{_WORDS})){_HALF}"
    r"|(?P<only_half>(?<![\w-])half (?:a |an )?(?=met(?:re|er)|foot|m\b))",
    re.I,
)

LENGTHS_M = {"m": 1.0, "cm": 0.01, "mm": 0.001, "km": 1000.0, "ft": 0.3048, "in": 0.0254, "yd": 0.9144}
ANGLES_DEG = {"deg": 1.0, "rad": 180.0 / math.pi}
_UNIT = re.compile(
    r" ?-?(?:(?P<m>met(?:er|re)s?|mtrs?|m|米|公尺|メートル|метр(?:а|ов)?|м)|(?P<cm>centimet(?:er|re)s?|cms?|厘米)"
    r"|(?P<mm>millimet(?:er|re)s?|mm)|(?P<km>kilomet(?:er|re)s?|km)|(?P<ft>feet|foot|ft\.?)"
    r"|(?P<in>inch(?:es)?|in\.(?! [a-z])|in(?= ?(?:$|[\n,;)(/=≈]|away\b)))"
    r"|(?P<yd>yards?|yds?)|(?P<deg>°|deg(?:ree)?s?|度)|(?P<rad>rad(?:ian)?s?))"
    r"(?![A-Za-z0-9_^²]| ?/ ?s\b)",
    re.I,
)
_OTHER_UNIT = re.compile(r" ?(?:%|‰|° ?[CF]\b|px\b|π|\\pi|/ ?\w|:\d|\^|!|'\d)|[A-Za-z_\\]|-[A-Za-z]")
# Words that may follow a number without being what it counts.
_GOES_ON = re.compile(
    r" (?:and|or|to|from|away|because|since|as|which|but|so|with|is|in|at|on|when|if|then|for|left|right|clockwise"
    r"|counter|counterclockwise|anticlockwise|anti|approximately|approx|roughly|about|relative|toward|towards|based|given|the|it|i"
    r"|my|your|by|plus|minus|away|exactly|below|above|measured|straight|ahead|behind|not|would|should|however|therefore|thus"
    r"|x|y|of|a|an|this|that|due|away|positive|negative|answer|final)\b",
    re.I,
)
_COUNTED_BEFORE = re.compile(
    r"(?:\b(?:step|frame|image|picture|figure|fig\.?|option|room|scene|video|question|case|point|part|item|number|no\."
    r"|note|floor|section|view|photo|line|stage|phase|task|method|version|page|second|minute|time|scale)s?|#) ?\Z",
    re.I,
)
_BOUND_BEFORE = re.compile(
    r"(?:\b(?:at least|at most|(?:more|less|greater|smaller|larger|fewer|farther|further|closer|nearer) than|over|under"
    r"|below|above|up to|within|beyond|exceed(?:s|ing)?|minimum(?: of)?|maximum(?: of)?|not)|[<>≤≥≥≲≳])"
    r"(?: (?:about|around|approximately))? ?\Z",
    re.I,
)
_CALCULATED_BEFORE = re.compile(r"(?:[π√]|\bpi|\bsqrt|\\pi|\\sqrt) ?[/*×({]? ?[({]?\Z", re.I)
_ARTICLES = re.compile(r"\b(?:this|that|the|which|another|each|any|no|every|only) ?\Z", re.I)
_SAYS = re.compile(
    r"(?:^|[\n:=(\[{<~≈,|\"']|\b(?:is|of|at|about|approximately|be|to|around|roughly|by|and|or|answer|than)) ?\Z", re.I
)
_RANGE = re.compile(r" ?(?:-|—|~|\.{2,3}|…) ?-?\Z| (?:to|through|or|until|up to) (?:about |approximately )?-?\Z", re.I)
_AND = re.compile(r" and (?:about |approximately )?[+-]?\Z", re.I)
_FROM = re.compile(r"\b(?:between|from|range of|ranges?|\[|\() ?(?:about |approximately )?[+-]?\Z|[\[(] ?[+-]?\Z", re.I)
_LIST = re.compile(r" ?, ?[+-]?\Z")
_PLUS_MINUS = re.compile(r" ?(?:±|\+/-|\+-|give or take(?: about)?|plus or minus) ?\Z", re.I)
_PRODUCT = re.compile(r" ?(?:[x×*/+÷]|by|divided by|times|plus|minus) ?-?\Z", re.I)


@dataclass(frozen=True)
class Quantity:
    """One number of a text.

    Attributes:
        value: In metres or degrees when ``unit`` says so.
        start: Where it begins in the text, sign included.
        end: Where it ends, unit included.
        unit: A key of :data:`LENGTHS_M` or :data:`ANGLES_DEG`, or None.
        signed: Whether a plus or minus is written.
        problem: Why it is no single value; empty for a plain number.
        counts_something: Whether a noun follows, or stands before, that it counts or numbers.
    """

    value: float
    start: int
    end: int
    unit: str | None = None
    signed: bool = False
    problem: str = ""
    counts_something: bool = False


def number_of_words(words: str) -> float | None:
    """The number that English words name, None when they name none ("one three four").

    Args:
        words: For example "one hundred and thirty-four", "two point five".
    """
    whole, _, fraction = words.lower().partition(" point ")
    total, current, last = 0, 0, "start"
    for word in re.split(r"[ ,-]", whole):
        if word in ("and", "", "a"):
            continue
        if word in _ONES:
            one = _ONES[word]
            if last == "one" or (last == "ten" and not 1 <= one <= 9):
                return None
            current, last = current + one, "one"
        elif word in _TENS:
            if last in ("one", "ten"):
                return None
            current, last = current + _TENS[word], "ten"
        elif word == "hundred":
            if last in ("hundred", "ten") or current > 99:
                return None
            current, last = 100 * max(current, 1), "hundred"
        else:
            if total or current > 999:
                return None
            total, current, last = 1000 * max(current, 1), 0, "thousand"
    digits = [_ONES.get(word, 10) for word in fraction.split()]
    if any(digit > 9 for digit in digits):
        return None
    return float(f"{total + current}.{''.join(map(str, digits)) or '0'}")


def number_of_digits(digits: str) -> float | None:
    """The number written with digits, in English or with a decimal comma; None when it is no finite number."""
    mantissa, mark, exponent = digits.lower().partition("e")
    if "," in mantissa and "." in mantissa:
        last = max(mantissa.rfind(","), mantissa.rfind("."))
        mantissa = re.sub("[.,]", "", mantissa[:last]) + "." + mantissa[last + 1 :]
    elif mantissa.count(",") == 1 and (len(mantissa.split(",")[1]) != 3 or mantissa.startswith("0,")):
        mantissa = mantissa.replace(",", ".")
    else:
        mantissa = mantissa.replace(",", "")
    value = float(mantissa + mark + exponent)
    return value if math.isfinite(value) else None


@lru_cache(maxsize=8)  # several rules look at one sentence
def quantities(text: str, *, lengths: bool) -> tuple[Quantity, ...]:
    """All numbers of a normalised text that are quantities of one kind or have no unit.

    Args:
        text: From :func:`gst_ros.bench.answers.text.normalise`.
        lengths: True to keep lengths (in metres), False to keep angles (in degrees).
    """
    found: list[Quantity] = []
    pending: Quantity | None = None
    for match in _NUMBER.finditer(text):
        quantity = _quantity(text, match)
        if quantity is None:
            continue
        if pending is not None:
            first, second = _relate(text, pending, quantity, match.start())
            if second is None:
                pending = first
                continue
            found.append(first)
            quantity = second
        pending = quantity
    if pending is not None:
        found.append(pending)
    wanted = LENGTHS_M if lengths else ANGLES_DEG
    return tuple(
        replace(q, value=q.value * wanted[q.unit]) if q.unit is not None else q
        for q in found
        if q.unit is None or q.unit in wanted
    )


def _quantity(text: str, match: re.Match[str]) -> Quantity | None:
    if match["only_half"]:
        value: float | None = 0.5
        end = match.end() - 1  # the unit pattern takes the space
    else:
        value = number_of_digits(match["digits"]) if match["digits"] else number_of_words(match["words"])
        end = match.end()
        if value is not None and match["half"]:
            value += 0.5 if match["half"].endswith("half") else 0.25
    if value is None:
        return None
    at_least = text[end : end + 1] == "+" and re.match(r"\+ ?[\d/-]", text[end : end + 3]) is None  # "10+ m"
    end += at_least
    unit_match = _UNIT.match(text, end)
    unit = unit_match.lastgroup if unit_match else None
    mark_unit, unclear = (None, "") if unit_match else _mark_unit(text, match.start(), end)
    after = text[end : end + 24]
    before = text[max(0, match.start() - 32) : match.start()]
    counts = False
    if unit_match:
        end = unit_match.end()
    elif mark_unit:
        unit, end = mark_unit, end + 1
    else:
        counts = bool(_OTHER_UNIT.match(after)) or (
            re.match(r" [^\W\d_]", after) is not None and _GOES_ON.match(after) is None
        )
        # "the one on the left" and "this one" are no numbers.
        counts = counts or bool(match["words"] and _ARTICLES.search(before))
    start, sign, signed, problem = _sign(text, match.start())
    before = text[max(0, start - 32) : start]
    if unclear:
        problem = unclear
    if unit_match and re.match(r"\.\d", text[end : end + 2]):
        problem = "the number is broken"  # "4 m.2"
    if _CALCULATED_BEFORE.search(before):
        problem = "a calculation is no value"
    if before.endswith("'") and re.search(r"\d'\Z", before):
        counts = True  # the inches of 5'6"
    if _COUNTED_BEFORE.search(before) and not unit:
        counts = True
    if before.rstrip().endswith(("/", "^")) and not unit:
        counts = True  # the lower half of a fraction
    closed = text[end : end + 1] == ">"
    bound = _BOUND_BEFORE.search(before)
    if bound and not (bound[0].startswith("<") and closed):
        problem = problem or "a bound is no value"
    if at_least:
        problem = problem or "a bound is no value"
    return Quantity(sign * value, start, end, unit, signed, problem, counts)


def _mark_unit(text: str, start: int, end: int) -> tuple[str | None, str]:
    """Feet or inches written as 10' or 126", where the mark is no closing quotation mark; and what is unclear."""
    mark = text[end : end + 1]
    if mark not in ("'", '"') or not mark or not text[end - 1].isdigit():
        return None, ""
    if text[end + 1 : end + 2].isalnum() or text[max(0, start - 3) : start].rstrip("+- ").endswith(mark):
        return None, ""
    line = max(text.rfind("\n", max(0, start - 200), start), max(0, start - 200))
    if text.count(mark, line, start) % 2 == 0:
        return ("ft" if mark == "'" else "in"), ""
    return None, "" if mark == '"' else "feet or a quotation mark"


def _sign(text: str, start: int) -> tuple[int, float, bool, str]:
    """Where the number with its sign begins, the sign as a factor, whether one is written, and what is unclear."""
    before = text[max(0, start - 24) : start]
    word = re.search(r"\b(minus|negative|plus|positive) \Z", before, re.I)
    if word:
        at = start - len(before) + word.start()
        if re.search(r"\d ?°?\s?\Z", before[: word.start()]):
            return start, 1.0, False, ""  # "90 plus 44": see _relate
        return at, -1.0 if word[1].lower() in ("minus", "negative") else 1.0, True, ""
    sign = re.search(r"([+—-]|±)( ?)\Z", before)
    if sign is None:
        return start, 1.0, False, ""
    at = start - len(before) + sign.start()
    rest, mark, spaced = before[: sign.start()], sign[1], bool(sign[2])
    if mark == "±" or rest.endswith(("+", "-", "±", "/")):
        return at, 1.0, False, "the sign is unclear"
    factor = 1.0 if mark == "+" else -1.0
    if re.search(r"[\w°)]\s?\Z" if spaced else r"[\w°)]\Z", rest):
        if re.search(r"\d ?(?:°|m|deg\w{0,5}|met\w{1,4})?\s?\Z", rest):
            return start, 1.0, False, ""  # a range or a difference: see _relate
        if spaced and _SAYS.search(rest) and mark != "—":
            return at, factor, True, ""
        return start, 1.0, False, "" if mark == "—" else "the sign is unclear"
    if spaced and mark == "—":
        return start, 1.0, False, "the sign is unclear"
    return at, factor, True, ""


def _relate(text: str, first: Quantity, second: Quantity, number_at: int) -> tuple[Quantity, Quantity | None]:
    """Look at what joins two neighbours: a range, an error, a product, or feet and inches."""
    gap = text[first.end : number_at]
    if len(gap) > 40:
        return first, second
    unit = second.unit if first.unit is None else first.unit
    if _PLUS_MINUS.fullmatch(gap):
        return replace(first, unit=unit, end=second.end, problem=first.problem), None
    if gap in (" ", " and ", ", ") and (first.unit, second.unit) in (("ft", "in"), ("m", "cm")) and not second.signed:
        assert first.unit and second.unit
        extra = second.value * LENGTHS_M[second.unit] / LENGTHS_M[first.unit]
        return replace(first, value=first.value + extra, end=second.end), None
    other_units = first.unit is not None and second.unit is not None and first.unit != second.unit
    if other_units:
        return first, second  # "13.2 m or 43 ft": one length said twice
    opening = text[max(0, first.start - 24) : first.start]
    between = _AND.fullmatch(gap) and _FROM.search(opening)
    listed = _LIST.fullmatch(gap) and _FROM.search(opening)
    problem = ""
    if _RANGE.fullmatch(gap) or between or listed:
        problem = "a range or a choice of numbers is no value"
    elif _PRODUCT.fullmatch(gap):
        problem = "a calculation is no value"
    if not problem:
        return first, second
    if first.counts_something and not first.unit and not second.unit and not re.match(r" ?(?:-|to|—)", gap):
        return first, second
    first = replace(first, unit=unit, problem=problem, end=second.end, counts_something=second.counts_something)
    return first, None
