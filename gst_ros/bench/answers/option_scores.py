"""Reading a list that gives every option a score, or yes and no.

"A: 10 %, B: 70 %", ``{"A": 0.1, "B": 0.7}``, "A (score: 3)", "A. no / B. yes". The single best is the answer; a tie,
two yes, and numbers that may be anything (or errors, of which the smallest is the best) are ambiguous.
"""

from __future__ import annotations

import re

from gst_ros.bench.answers.parsed import ParsedAnswer, ambiguous, parsed

_SCORE = r"(?:score|probability|prob\.?|confidence|likelihood|similarity|match(?:ing)?|rating|points?)"
_ITEM = re.compile(
    r"(?<![\w&])(?:(?:option|choice|image|answer|plan|map) )?[(\[\"']{0,2}(?P<letter>[A-Z])(?P<shut>[)\]\"']{0,2}) ?"
    rf"(?P<mark>[.:=)→—-]|\(|\[|(?= {_SCORE})| (?:is|has|gets|scores))? ?[\"'(\[]?"
    rf"(?P<named>(?:an? )?{_SCORE}(?: (?:of|is))? ?[:=]? ?)?"
    r"(?:(?P<number>\d{1,4}(?:\.\d{1,9})?)(?P<unit> ?%| ?/ ?\d{1,3}| out of \d{1,3}| points)?"
    r"|(?P<word>yes|no|true|false)\b)"
    r"(?=[\s\"')\]},;.]|\Z)(?![.,]?\d| [a-z])",
    re.I,
)
_LESS_IS_BETTER = re.compile(
    r"\b(?:errors?|differences?|distances?|mismatch\w{0,3}|ranks?|ranking|discrepanc\w{1,3})\b", re.I
)


def option_scores(text: str, allowed: str) -> tuple[ParsedAnswer, int, int] | None:
    """What a list of scores says.

    Args:
        text: Normalised text.
        allowed: The letters of the options.

    Returns:
        The result, and where the list begins and ends; None when there is no such list.
    """
    items = [
        match for match in _ITEM.finditer(text) if match["letter"] in allowed and (match["mark"] or match["named"])
    ]
    letters = [match["letter"] for match in items]
    if len(set(letters)) < 2:
        return None
    start, end = items[0].start(), items[-1].end()
    matched = text[start:end][:200]
    if len(set(letters)) < len(letters):
        return ambiguous("an option is scored twice", matched), start, end
    words = [match["word"] for match in items]
    if all(words):
        yes = [letter for letter, word in zip(letters, words, strict=True) if word.lower() in ("yes", "true")]
        if len(yes) == 1:
            return parsed(yes[0], matched, "the only option with a yes"), start, end
        return ambiguous("not exactly one option has a yes", matched), start, end
    if any(words):
        return ambiguous("some options are scored and some have a yes or no", matched), start, end
    numbers = [float(match["number"]) for match in items]
    best = max(numbers)
    is_score = all(match["named"] or match["unit"] for match in items) or best <= 1.0
    if numbers.count(best) > 1 or not is_score or _LESS_IS_BETTER.search(text[max(0, start - 80) : end + 80]):
        return ambiguous("the numbers of the options name no single best one", matched), start, end
    return parsed(letters[numbers.index(best)], matched, "the option with the highest score"), start, end
