"""From anything a prediction may be to plain text, its thinking removed.

All patterns of this package have bounded repeats (or are a single repeat of one character class), so that reading is
linear in the length of the text; a test walks over the compiled patterns and checks that.
"""

from __future__ import annotations

import decimal
import html
import json
import math
import numbers
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

# En dash and the real minus signs are what models write for "-" before a number (the prompts do so too). The em dash
# is kept apart: it is punctuation more often than a sign.
_SIGNS = dict.fromkeys(map(ord, "\u2212\u2013\u2012\u2010\u2011\ufe63\uff0d\u207b\u2796"), "-")
_CHARACTERS: dict[int, str | None] = {
    **_SIGNS,
    **dict.fromkeys(map(ord, "\u2014\u2015\ufe58\u2e3a\u2e3b"), "\u2014"),
    **dict.fromkeys(map(ord, "\u00ba\u02da\u2218\u00b0"), "\u00b0"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u2032\u00b4"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u00ab\u00bb\u2033"), '"'),
    **dict.fromkeys(map(ord, "\u2192\u27f6\u21d2\u27f9\u279c\u2794"), "\u2192"),
    **dict.fromkeys(map(ord, "\u00b2\u00b3\u00b9"), "^"),
    **{0x1F170 + i: chr(ord("A") + i) for i in range(26)},
    **{0x1F150 + i: chr(ord("A") + i) for i in range(26)},
    **{0x1F130 + i: chr(ord("A") + i) for i in range(26)},
    0x3002: ". ",
    0x2044: "/",
    # Zero-width and direction marks, byte order mark, variation selectors.
    **dict.fromkeys([*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2065), 0xFEFF, 0x00AD]),
    **dict.fromkeys([*range(0xFE00, 0xFE10)]),
    0xFFFD: " ",  # a byte that was no text may have been anything
    0x2028: "\n",
    0x2029: "\n",
}
_VULGAR = {"½": ".5", "¼": ".25", "¾": ".75"}
_VULGAR_FRACTION = re.compile(r"(\d?)([½¼¾])")
_THIN_GROUPS = re.compile(r"(?<=\d)[\u00a0\u202f\u2009](?=\d{3}(?!\d))")

_LATEX_TEXT = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|boldsymbol|bf) ?\{([^{}]{0,120})\}"
)
_LATEX_DEGREE = re.compile(r" ?\^ ?\{? ?\\circ ?\}?| ?\\degree| ?\\deg\b")
_BOXED = re.compile(r"\\f?boxed ?\{([^{}\n]{0,200})\}|<\|begin_of_box\|>([^<\n]{0,200})<\|end_of_box\|>")
_LATEX_MARKS = re.compile(r"\\(?:left|right|displaystyle|quad|big)\b|\\[()\[\],;:! ]|\$")
_LATEX_NAMES = {r"\approx": "≈", r"\sim": "~", r"\times": "×", r"\pm": "±", r"\rightarrow": "→", r"\Rightarrow": "→"}
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~|<(?:s|del|strike)>[^<\n]{1,200}</(?:s|del|strike)>")
_TIMES = re.compile(r"(?<=\d) ?\* ?(?=\d)")
_SPOKEN_POINT = re.compile(r"(?<=\d) point (?=\d)", re.I)
_MARKUP = re.compile(r"\*\*|__|[*`]|</?(?:b|i|em|strong|u|p|br|code|span|div|html|body|big|center|font) ?/?>")
_SPECIAL_TOKEN = re.compile(r"<\|[a-z_]{1,40}\|>|</?s>|<eos>|<bos>|\[/?INST\]|<end_of_turn>|<start_of_turn>", re.I)
_ARROW = re.compile(r"[=-]>")
_BULLET = re.compile(r"(?:[-•·▪◦+] (?!\d)|#{1,6} |> |\(?\d{1,2}[.)] (?=[A-Za-z(<-]))")
_NOT_AVAILABLE = re.compile(r"(?<![\w/])n ?/ ?a(?![\w/])|(?<![\w.])n\.a\.(?!\w)", re.I)

_THOUGHT = "(?:think|thinking|thought|thoughts|reasoning|analysis|scratchpad|seed:think)"
_THOUGHT_OPEN = re.compile(rf"<{_THOUGHT}>|◁think▷|\[THINK\]|<\|channel\|>analysis", re.I)
_THOUGHT_CLOSE = re.compile(rf"</{_THOUGHT}>|◁/think▷|\[/THINK\]|<\|channel\|>final(?:<\|message\|>)?", re.I)

_SENTENCE_END = re.compile(r"(?<=[.!?;]) (?=\S)|(?<=[.!?;][)\"']) (?=\S)")


def to_text(raw: Any) -> str:
    """The text of a prediction: text as it is, bytes as UTF-8, numbers written out, lists and mappings as JSON.

    A list with one entry counts as that entry. Never raises; what has no text form gives an empty text.
    """
    for _ in range(4):
        if not (isinstance(raw, (list, tuple)) and len(raw) == 1):
            break
        raw = raw[0]
    if isinstance(raw, str):
        return raw
    if isinstance(raw, (bytes, bytearray, memoryview)):
        return bytes(raw).decode("utf-8", errors="replace")
    if raw is None or isinstance(raw, bool):
        return ""
    try:
        if isinstance(raw, numbers.Integral):
            return str(int(raw))
        if isinstance(raw, numbers.Real):
            number = float(raw)
            return format(decimal.Decimal(repr(number)), "f") if math.isfinite(number) and abs(number) < 1e15 else ""
        if isinstance(raw, (list, tuple, dict)):
            return json.dumps(raw, ensure_ascii=False)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return ""
    return ""


def normalise(text: str) -> str:
    """Plain text: one kind of each sign, no markup, LaTeX or special tokens, single spaces, no blank lines.

    ``<answer>`` marks what was in ``\\boxed{}`` or in a model's box tokens.
    """
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii():
        text = _fold_characters(text)
    text = _single_spaces(text.replace("\r", "\n"))
    text = _NOT_AVAILABLE.sub(" not_available ", text)
    # The tests for a character only spare a pass over texts that have none of it.
    if "\\" in text or "$" in text or "^" in text:
        text = _plain_latex(text)
    if "\\" in text or "<|" in text:
        text = _BOXED.sub(lambda m: f"\n<answer>{m[1] if m[1] is not None else m[2]}</answer>\n", text)
    if "<" in text or "~~" in text or "[" in text:
        text = _SPECIAL_TOKEN.sub(" ", _STRUCK.sub(" ", text))
    text = _SPOKEN_POINT.sub(".", _MARKUP.sub("", _TIMES.sub("×", text)))
    lines = _single_spaces(_ARROW.sub("→", text)).split("\n")
    return "\n".join(_BULLET.sub("", line, count=1) if _BULLET.match(line) else line for line in lines if line)


def _single_spaces(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


def _fold_characters(text: str) -> str:
    text = _VULGAR_FRACTION.sub(lambda m: (m[1] or "0") + _VULGAR[m[2]], _THIN_GROUPS.sub("", text))
    # Combining marks go before normalisation, whose reordering of long runs of them is quadratic.
    text = "".join(c for c in text.translate(_CHARACTERS) if c.isascii() or not unicodedata.combining(c))
    text = unicodedata.normalize("NFKC", text).translate(_CHARACTERS)
    if text.isascii():
        return text
    return "".join(c if c.isascii() or not c.isdecimal() else str(unicodedata.decimal(c)) for c in text)


def _plain_latex(text: str) -> str:
    text = _LATEX_DEGREE.sub("°", text)
    for name, sign in _LATEX_NAMES.items():
        text = text.replace(name, sign)
    for _ in range(2):
        text = _LATEX_TEXT.sub(r"\1", text)
    return _LATEX_MARKS.sub(" ", text)


def split_thoughts(text: str) -> tuple[str, str]:
    """Separate what was said from an unfinished thought.

    Args:
        text: The text before :func:`normalise` (which removes special tokens).

    Returns:
        What stands after the last closing tag, up to an opening tag that is never closed; and what follows that tag.
    """
    end = 0
    for match in _THOUGHT_CLOSE.finditer(text):
        end = match.end()
    said = text[end:]
    opening = _THOUGHT_OPEN.search(said)
    if opening is None:
        return said, ""
    return said[: opening.start()], said[opening.end() :]


@dataclass(frozen=True)
class Statement:
    """One sentence, or one line when the line is not divided.

    Attributes:
        text: The sentence.
        line: Index of its line.
        whole_line: Whether it is all that the line says.
    """

    text: str
    line: int
    whole_line: bool


def statements(text: str) -> list[Statement]:
    """The sentences of a normalised text, in order."""
    found: list[Statement] = []
    for number, line in enumerate(text.split("\n")):
        sentences = [part for part in _SENTENCE_END.split(line) if part.strip()]
        found.extend(Statement(sentence.strip(), number, len(sentences) == 1) for sentence in sentences)
    return found
