"""The order in which any kind of answer is looked for.

1. Thinking is set aside: only what follows the last closing tag counts. In a thought that never ends only an explicit
   final answer (rule 2) counts, and the note says so.
2. An explicit final answer wins over everything, the last one first: ``<answer>…</answer>``, ``\\boxed{…}`` and box
   tokens before words such as "Final answer:", "the correct option is", "I choose". If it holds a refusal or is
   ambiguous, that is the result; if it holds nothing that can be read, the one before it is tried.
3. A refusal ("I cannot determine…", "unknown", "N/A") ends the search, unless the last line after it is a bare answer,
   or a bare answer opened the text and the rest only doubts it.
4. The last line, when it is nothing but an answer, and does not end a list of different ones.
5. The rules of the kind: an answer that opens the text and is then explained; the last statement that gives one;
   a single one in all. Different answers with no rule to choose between them are ambiguous.
6. What the whole text tells of the value (its unit, its side, the order of its coordinates) is applied to it, with a
   note, or makes it ambiguous.

Of an answer of more than 40,000 characters the first and last 20,000 are read, and the note says so.

An answer is never made up: a range, a bound, a compass word or "straight ahead" is no number, and a letter that is
only talked about is no choice.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol

from gst_ros.bench.answers.parsed import ParsedAnswer, ambiguous, unparsed
from gst_ros.bench.answers.text import Statement, normalise, split_thoughts, statements, to_text

_KIND = "(?:final|correct|best|right|predicted|estimated|selected|chosen|overall|likely|closest|most likely|my)"
_VERB = r"(?:is|es|ist|est|lautet|was|would be|will be|must be|should be|seems to be|appears to be|remains|→)(?![a-z])"
_CONDITION = re.compile(
    r"\b(?:if|whether|suppose|supposing|assume|assuming|unless)(?: [\w']{1,12}){0,2} ?$|\bwhich ?$",
    re.I,
)
# "The second best answer is", "the wrong answer is" and "it is doubtful that … is the answer" announce none either.
_NOT_A_MARKER = re.compile(
    r"\b(?:(?:second|2nd|third|3rd|next|wrong|worst|incorrect|false|bad|poor|least \w{1,12}|alternative|previous"
    r"|trap|opposite"
    r"|initial)[- ]"
    r"|nobody (?:would )?|(?:doubtful|unlikely|not true|not clear|unclear) (?:that|if|whether) (?:the )?)\Z",
    re.I,
)
_NULL = re.compile(r"(?:null|none|\"\"|'') ?(?:[,}\n]|\Z)", re.I)
_REFUSAL = re.compile(
    r"\b(?:can'?t|can not|cannot|could not|couldn'?t|unable to|not able to|impossible to|not possible to|no way to"
    r"|don'?t|do not|didn'?t|won'?t|will not|refuse to|decline to|not to)\b[^.\n]{0,40}?"
    r"\b(?:tell|determined?|say|answer|estimate|provide|infer|calculate|compute|know|known|measure|give|decide|judge"
    r"|deduce|conclude|assess|pinpoint|locate|choose|select|assist|help|comply)\b"
    r"|\b(?:unknown|undetermined|indeterminate|not_available|not applicable|unanswerable|no answer|no idea)\b"
    r"|(?:\binsufficient|\bno|(?:\bnot|n't) (?:have )?(?:enough|sufficient)) (?:information|data|evidence|context)\b"
    r"|\bnone of (?:the|these|them|those)\b|\bi'?m sorry\b|\bno valid (?:answer|option)\b",
    re.I,
)
_EMPTY_REFUSAL = re.compile(
    r"[\s\"'(\[<{]{0,4}(?:none|null|nil|nan|\?{1,5}|not sure|unsure|unclear)[\s\"').\]>}!?]{0,6}", re.I
)


class Reader(Protocol):
    """What a kind of answer knows: how to read a final answer, a bare line, and running text."""

    json_keys: tuple[str, ...]

    def final(self, text: str) -> ParsedAnswer | None:
        """Read what follows an explicit marker; None when it holds no answer of this kind."""
        ...

    def bare(self, line: str) -> ParsedAnswer | None:
        """Read a statement that is nothing but an answer; None when it is more, or none."""
        ...

    def is_heading(self, line: str) -> bool:
        """Whether a bare statement may also be the heading of a paragraph."""
        ...

    def body(self, text: str, said: list[Statement]) -> ParsedAnswer | None:
        """Read running text (rule 5); None when it gives no answer."""
        ...

    def review(self, result: ParsedAnswer, text: str) -> ParsedAnswer:
        """Correct or withdraw a value by what the whole text tells of it (rule 6)."""
        ...


@lru_cache(maxsize=16)
def _markers(json_keys: tuple[str, ...]) -> re.Pattern[str]:
    keys = "|".join(("answer", "prediction", "pred", "result", *json_keys))
    return re.compile(
        r"(?<![\w])(?:"
        rf"(?:(?:{_KIND} ){{0,2}}(?:answer|ans|prediction|conclusion|guess|estimate|antwort|réponse|respuesta|ответ)"
        # "each option:" opens a list; "the best option:" and "Option:" on a line of its own announce an answer.
        rf"|(?:(?:{_KIND} ){{1,2}}|(?<![^\n]))(?:option|choice|solution|result))"
        r"(?: (?:correcta|final|correcte|finale))?"
        r"(?: (?:letter|option|choice|here|to (?:the|this) question|for (?:the|this) question|of mine)){0,2}"
        # "The answer in cm is", "Answer (degrees):"
        r"(?: ?[,(]? ?(?:in )?(?:deg(?:ree)?s?|°|[cm]?m|ft|feet|inches|(?:centi|milli)?met(?:er|re)s)[,)]?)?"
        rf"(?: ?(?:[:=→]|{_VERB} ?:?)|(?=\n))"
        r"|i(?:'d| would|'ll| will)? ?(?:guess|estimate|say|choose|select|pick|go with|answer)(?! not\b)(?: that)?"
        r"(?: it(?:'s| is))?(?: ?:)?(?![a-z]))"
        rf"|[\"'](?:{keys})(?:_[a-z0-9]{{1,12}})?[\"'] ?:"
        r"|(?:正确|最终)?(?:答案|答え|回答|选择|选)(?:应该)?(?:是|为|は)? ?:?(?=[^\u4e00-\u9fff]|$)",
        re.I,
    )


# How much of each end of a long answer is read, and where it may be cut.
_MOST = 20_000
_BREAK = re.compile(r"[.!?] |\n")

_TAG = re.compile(r"<(?:answer|final_answer|final)>", re.I)
_TAG_END = re.compile(r"</(?:answer|final_answer|final)>", re.I)


def read(raw: Any, reader: Reader) -> ParsedAnswer:
    """Read one prediction. Never raises, whatever ``raw`` is."""
    said, thought = split_thoughts(to_text(raw))
    cut = max(len(said), len(thought)) > 2 * _MOST
    said, thought = normalise(_shorten(said)), normalise(_shorten(thought))
    result = _read_reviewed(said, thought, reader)
    if cut:
        result = replace(result, note="; ".join(filter(None, (result.note, "read only the beginning and the end"))))
    return result


def _shorten(text: str) -> str:
    """The beginning and the end of a long text, neither with a sentence, a word or a number that was cut."""
    if len(text) <= 2 * _MOST:
        return text
    head, tail = text[:_MOST], text[-_MOST:]
    last = [match.start() for match in _BREAK.finditer(head, _MOST - 400)]
    first = _BREAK.search(tail, 0, 400)
    return f"{head[: last[-1] if last else -400]}\n…\n{tail[first.end() if first else 400 :]}"


def _read_reviewed(said: str, thought: str, reader: Reader) -> ParsedAnswer:
    result = _read_said(said, reader) if said else None
    if result is not None and result.value is not None:
        return reader.review(result, said)
    if result is None and thought:
        result = _read_markers(thought, reader)
        if result is not None:
            if result.value is not None:
                result = reader.review(result, thought)
            note = "; ".join(filter(None, ("from a thought that was not finished", result.note)))
            result = replace(result, note=note)
        else:
            result = unparsed("the thought was not finished and holds no final answer")
    if result is not None:
        return result
    return unparsed("no answer found" if said else "empty")


def refuses(text: str) -> bool:
    """Whether a statement says that there is no answer."""
    return bool(_REFUSAL.search(text) or _EMPTY_REFUSAL.fullmatch(text))


def _read_said(text: str, reader: Reader) -> ParsedAnswer | None:
    result = _read_markers(text, reader)
    if result is not None:
        return result
    said = statements(text)
    refusals = [i for i, statement in enumerate(said) if _REFUSAL.search(statement.text)]
    last = said[-1]
    bare = reader.bare(last.text) if last.whole_line and len(said) > 1 else None
    if refusals:
        if bare is not None and refusals[-1] < len(said) - 1 and bare.value is not None:
            return bare
        opening = reader.bare(said[0].text) if refusals[0] > 0 else None
        if opening is not None and opening.value is not None:
            return replace(opening, note="; ".join(filter(None, (opening.note, "followed by doubts"))))
        return unparsed("refused to answer", said[refusals[-1]].text[:200])
    if bare is not None:
        if _ends_a_list(said, bare, reader):
            return ambiguous("different answers stand on lines of their own", f"{said[-2].text[:80]} … {bare.matched}")
        return bare
    return reader.body(text, said)


def _ends_a_list(said: list[Statement], bare: ParsedAnswer, reader: Reader) -> bool:
    before = said[-2]
    other = reader.bare(before.text) if before.whole_line else None
    if other is not None and other.value not in (None, bare.value):
        return True
    if not reader.is_heading(said[-1].text):
        return False
    heads = (reader.bare(statement.text) for statement in said[:-1] if reader.is_heading(statement.text))
    return any(head is not None and head.value not in (None, bare.value) for head in heads)


def _read_markers(text: str, reader: Reader) -> ParsedAnswer | None:
    """Read the explicit final answers, last first; tags and boxes before words."""
    for parts in (_tagged(text), _announced(text, reader)):
        for part in reversed(parts):
            if not part:
                continue
            if _NULL.match(part):
                return unparsed("the answer is empty", part[:80])
            result = reader.final(part)
            first = statements(part)[0].text
            if refuses(first) and not _comes_first(result, first):
                return unparsed("refused to answer", first[:200])
            if result is not None:
                return result
    return None


def _comes_first(result: ParsedAnswer | None, sentence: str) -> bool:
    """Whether an answer is given before the doubt ("13.2, but I cannot tell exactly")."""
    refusal = _REFUSAL.search(sentence)
    if result is None or result.value is None or refusal is None:
        return False
    return 0 <= sentence.find(result.matched) < refusal.start()


def _tagged(text: str) -> list[str]:
    starts = list(_TAG.finditer(text))
    parts = []
    for match, following in itertools.zip_longest(starts, starts[1:]):
        part = text[match.end() : following.start() if following else len(text)]
        parts.append(_TAG_END.split(part, maxsplit=1)[0].strip())
    return parts


def _announced(text: str, reader: Reader) -> list[str]:
    text = _TAG.sub(" ", _TAG_END.sub(" ", text))
    # "If the answer is A, then …" and "which option is …" announce nothing.
    starts = [
        match
        for match in _markers(reader.json_keys).finditer(text)
        if not _CONDITION.search(text[max(0, match.start() - 40) : match.start()])
        and not _NOT_A_MARKER.search(text[max(0, match.start() - 40) : match.start()])
    ]
    return [
        text[match.end() : following.start() if following else len(text)].strip()
        for match, following in itertools.zip_longest(starts, starts[1:])
    ]
