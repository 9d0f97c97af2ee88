"""Reading the letter of an option.

A letter counts when it is given as the answer, not when it is only talked about:

- *bare*: the statement is the letter, perhaps with its bracket, a full stop, or "Option" before it;
- *leading*: the text opens with it and goes on ("B because…", "C. Dog is wrong."), and no list of options follows;
- *chosen*: "so B", "must be B", "I choose B", "not A but B";
- *praised*: "B matches best", "B is correct"; it counts when no other letter is praised.

A list that scores every option gives its single best one (:mod:`gst_ros.bench.answers.option_scores`). Praise that the
sentence takes back ("the correct layout but…"), what "one might choose" and a second choice do not count, and a letter
that is taken back ("C... Hmm, no. So B.") gives way to the later one.

A letter that a refutation names ("not A", "A is wrong", "rule out A and C") is no answer, and so is an article
("A red path…", "I think…"), a point ("from A to B") or a letter in a word. Letters named together ("A or B") are
ambiguous. That three options are refuted does not make the fourth an answer. In brackets, quotes or after "option",
and when it is all there is, a letter may be lower-case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gst_ros.bench.answers import letter_patterns as p
from gst_ros.bench.answers.option_scores import option_scores
from gst_ros.bench.answers.parsed import AnswerValue, ParsedAnswer, ambiguous, parsed, unparsed
from gst_ros.bench.answers.text import Statement, statements

Verdict = Literal["refuted", "chosen", "praised", "named"]


@dataclass
class _Mention:
    """Letters named together, and what is said of them."""

    letters: list[str]
    start: int
    end: int
    verdict: Verdict = "named"


class LetterReader:
    """Reads one of the first ``options`` letters.

    Args:
        options: Number of options, 2 to 26.
    """

    json_keys: tuple[str, ...] = ("letter", "option", "choice", "correct_option", "selected")

    def __init__(self, options: int) -> None:
        if not 2 <= options <= 26:
            raise ValueError(f"a question has 2 to 26 options, not {options}")
        self._allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:options]

    def bare(self, line: str) -> ParsedAnswer | None:
        """A statement that is one letter."""
        match = p.BARE.fullmatch(line.strip())
        if match is None:
            return None
        letter = match[1].upper()
        if letter in self._allowed:
            return parsed(letter, line)
        return unparsed(f"{letter} is not one of the options A to {self._allowed[-1]}", line)

    def review(self, result: ParsedAnswer, text: str) -> ParsedAnswer:
        """The result as it is."""
        return result

    def is_heading(self, line: str) -> bool:
        """Whether it could head a paragraph about an option ("Option B"), as answers that were cut off end."""
        return p.HEADING.fullmatch(line.strip()) is not None

    def final(self, text: str) -> ParsedAnswer | None:
        """The letter right after a marker, else the one that the following text chooses."""
        lead = p.LEAD.match(text)
        if lead is not None and self._is_letter_not_word(text, lead) and not self._opens_a_list(text, lead):
            if p.BUT_WRONG_AFTER.match(text[lead.end() : lead.end() + 40]):
                return unparsed("the letter is taken back", text[: lead.end() + 40])
            return self._unless_revised(text, lead.end(), self._leading_group(text, lead))
        scores = option_scores(text, self._allowed)
        if scores is not None and not text[: scores[1]].strip(" \n"):
            return scores[0]
        first_line = text.split("\n", 1)[0]
        for part in (first_line, text) if first_line != text else (text,):
            result = self.body(part, statements(part))
            if result is not None and result.status != "unparsed":
                return result
        return None

    def body(self, text: str, said: list[Statement]) -> ParsedAnswer | None:
        """The letter that running text gives."""
        whole = self.bare(text)
        if whole is not None:
            return whole
        scores = option_scores(text, self._allowed)
        if scores is not None:
            rest = text[scores[2] :].lstrip(" \n.,;:)}]\"'%")
            said_after = self.body(rest, statements(rest)) if rest else None
            return said_after if said_after is not None and said_after.value is not None else scores[0]
        mentions = self._mentions(text)
        bare = [result for s in said if (result := self.bare(s.text)) is not None and result.value is not None]
        bare_letters = {result.value for result in bare}
        chosen = self._last_chosen(mentions)
        leading = self._leading(text, bare_letters)
        if chosen is not None:
            if len(chosen.letters) > 1:
                return ambiguous("several letters are chosen", text[chosen.start : chosen.end])
            if (
                leading is not None
                and leading.value not in (None, chosen.letters[0])
                and not self._revised(text, chosen)
            ):
                return ambiguous("it opens with one letter and then chooses another", text[: chosen.end][-200:])
            return parsed(chosen.letters[0], text[chosen.start : chosen.end])
        if leading is not None:
            return leading
        if len(bare_letters) > 1:
            return ambiguous("several letters stand alone", ", ".join(sorted(map(str, bare_letters))))
        if bare and bare[-1].matched == said[-1].text:
            named = {letter for mention in mentions for letter in mention.letters}
            if not self.is_heading(said[-1].text) or len(named) == 1:
                return bare[-1]
        return self._praised_or_named(text, mentions)

    def _unless_revised(self, text: str, end: int, result: ParsedAnswer) -> ParsedAnswer:
        """The letter at the head, unless what follows takes it back ("C... Hmm, no. So B.")."""
        turn = p.REVISION.search(text, end)
        if turn is None or result.value is None:
            return result
        rest = text[turn.end() :].lstrip(" ,.:;!?")
        later = self.body(rest, statements(rest)) if rest else None
        if later is not None and later.value is not None:
            return later
        mentions = self._mentions(rest)
        others = {letter for m in mentions if m.verdict != "refuted" for letter in m.letters} - {result.value}
        denied = any(m.verdict == "refuted" and result.value in m.letters for m in mentions)
        if (later is not None and later.status == "ambiguous") or denied or others:
            return ambiguous("the letter that is given first may be taken back", text[:end][:80])
        return result

    def _is_letter_not_word(self, text: str, lead: re.Match[str]) -> bool:
        """Whether a leading letter is an answer and no article."""
        opened, letter = lead[1], lead[2]
        after = text[lead.end() : lead.end() + 40]
        marked = bool(opened) and opened[-1] in "([{\"'" and bool(lead[3])
        if marked or (lead[0].lower() != letter.lower() and letter.isupper() and letter != "A"):
            return True
        if p.AFTER_LEAD.match(after) is not None:
            return True
        if not letter.isupper():
            return False
        joined = p.JOIN.match(after)
        if joined and len(after) > joined.end() and p.TOKEN.match(text, lead.end() + joined.end()):
            return True
        return letter not in "AI"

    def _opens_a_list(self, text: str, lead: re.Match[str]) -> bool:
        """Whether the options are gone through, each on its line: that has not chosen the first one."""
        if text[lead.end() : lead.end() + 1] not in tuple(".:)") and not lead[3]:
            return False
        following = text.find("\n", lead.end())
        item = p.LIST_ITEM.match(text, following) if following >= 0 else None
        return item is not None and item[1].upper() != lead[2].upper()

    def _leading_group(self, text: str, lead: re.Match[str]) -> ParsedAnswer:
        letters = [lead[2].upper()]
        end = lead.end(2)
        while (joined := p.JOIN.match(text[end : end + 40])) and (token := p.TOKEN.match(text, end + joined.end())):
            if not token[0].isupper() and letters[0] == lead[2]:
                break
            if (
                token[0] in "AI"
                and p.VERB_AFTER.match(text[token.end() : token.end() + 20]) is None
                and (text[token.end() : token.end() + 1] == " ")
            ):
                break
            letters.append(token[0].upper())
            end = token.end()
        matched = text[lead.start() : end + len(lead[3]) if len(letters) == 1 else end]
        if len(set(letters)) > 1:
            return ambiguous("several letters are given", matched)
        if letters[0] not in self._allowed:
            return unparsed(f"{letters[0]} is not one of the options A to {self._allowed[-1]}", matched)
        return parsed(letters[0], matched)

    def _leading(self, text: str, bare_letters: set[AnswerValue | None]) -> ParsedAnswer | None:
        """A letter that opens the text and is then explained."""
        lead = p.LEAD.match(text)
        if lead is None or not (lead[2].isupper() or (lead[1] and lead[3])):
            return None
        after = text[lead.end() : lead.end() + 80]
        if p.AFTER_LEAD.match(after) is None and p.JOIN.match(after) is None:
            return None
        if p.NOT_AFTER.match(after) or (bare_letters - {lead[2].upper()}):
            return None
        if after.startswith(" is") and not p.PRAISED_AFTER.match(after):
            return None
        if any(item[1].upper() != lead[2].upper() for item in p.LIST_ITEM.finditer(text)):
            return None
        result = self._leading_group(text, lead)
        return result if result.status == "ambiguous" or self._is_letter_not_word(text, lead) else None

    def _mentions(self, text: str) -> list[_Mention]:
        mentions: list[_Mention] = []
        for token in p.TOKEN.finditer(text):
            if not self._is_mention(text, token):
                continue
            letter = token[0].upper()
            if mentions:
                gap = text[mentions[-1].end : token.start()]
                if len(gap) <= 30 and p.JOIN.fullmatch(gap):
                    mentions[-1].letters.append(letter)
                    mentions[-1].end = token.end()
                    continue
                if len(gap) <= 30 and p.PATH.fullmatch(gap):
                    mentions.pop()  # "from A to B": the ends of a path
                    continue
            mentions.append(_Mention([letter], token.start(), token.end()))
        for before, mention in zip([None, *mentions], mentions, strict=False):
            mention.verdict = self._verdict(text, mention, before)
        return mentions

    def _is_mention(self, text: str, token: re.Match[str]) -> bool:
        letter = token[0]
        if letter.upper() not in self._allowed:
            return False
        before = text[max(0, token.start() - 24) : token.start()]
        after = text[token.end() : token.end() + 24]
        if p.OTHER_THING.search(before):
            return False
        strong = bool(p.STRONG_CONTEXT.search(before))
        ends = not after or after[0] in ".,:;!?)]}\"'\n>/—" or after.startswith((" -", " —", " ("))
        if not letter.isupper():
            return strong and (ends or bool(p.VERB_AFTER.match(after)))
        if letter in "AI" and not ends:
            # "A" before another word is the article unless a verb or conjunction follows; "I" needs brackets.
            return bool(p.VERB_AFTER.match(after)) and (letter == "A" or strong)
        return letter != "I" or strong

    def _verdict(self, text: str, mention: _Mention, previous: _Mention | None) -> Verdict:
        before = text[max(0, mention.start - 60) : mention.start]
        after = text[mention.end : mention.end + 80]
        stop = p.CLAUSE_END.search(after)
        clause = after[: stop.start()] if stop else after
        if p.NOT_AFTER.match(after):
            return "refuted"
        if p.NOT_BEFORE.search(before):
            return "refuted"
        if p.TENTATIVE_BEFORE.search(before) or p.RANKED_BEFORE.search(before):
            return "named"
        if p.BUT_BEFORE.search(before) and not clause.strip(")]}\"' "):
            return "chosen"
        negative = re.search(rf"\b{p.NEGATIVE}", clause) is not None
        if not clause.strip(")]}\"'> ") and p.IS_BEFORE.search(before) and not p.IS_THING.search(before):
            return "chosen"
        ends = p.END_OF_TEXT.match(text[mention.end : mention.end + 8]) is not None
        chosen = p.CHOSEN_BEFORE.search(before)
        if chosen and not negative and not before[chosen.start() :].lower().startswith("but"):
            # "so B shows…" only talks about B; "so B", "so B is right" and "so it must be B" choose it.
            talks = before[chosen.start() :].lower().startswith(("so", "then", "thus", "hence", "therefore", "overall"))
            rest = clause.strip(")]}\"'> ")
            if not (talks and rest and not p.PRAISED_AFTER.match(after)):
                return "chosen"
        if ends and (p.COLON_BEFORE.search(before) or re.search(r"[,;—(] ?[(\"']?\Z", before)):
            return "chosen"
        if p.PRAISED_AFTER.match(after) and not negative and not p.TAKEN_BACK.match(after):
            return "praised"
        subject = (
            previous is not None and mention.start - previous.end < 40 and "." not in text[previous.end : mention.start]
        )
        if p.PRAISED_BEFORE.search(before) and not subject:
            return "praised"
        return "named"

    def _last_chosen(self, mentions: list[_Mention]) -> _Mention | None:
        chosen: _Mention | None = None
        for mention in mentions:
            if mention.verdict == "chosen":
                chosen = mention
            elif mention.verdict == "refuted" and chosen is not None and set(chosen.letters) <= set(mention.letters):
                chosen = None
        return chosen

    def _revised(self, text: str, chosen: _Mention) -> bool:
        return p.REVISION.search(text[max(0, chosen.start - 400) : chosen.start]) is not None

    def _praised_or_named(self, text: str, mentions: list[_Mention]) -> ParsedAnswer | None:
        refuted = {letter for m in mentions if m.verdict == "refuted" for letter in m.letters}
        praised = [m for m in mentions if m.verdict == "praised" and not refuted.issuperset(m.letters)]
        letters = {letter for m in praised for letter in m.letters}
        if len(letters) == 1:
            return parsed(letters.pop(), text[praised[-1].start : praised[-1].end])
        if letters:
            return ambiguous("several letters are favoured", ", ".join(sorted(letters)))
        named = {letter for m in mentions for letter in m.letters} - refuted
        groups = [m for m in mentions if len(set(m.letters)) > 1 and m.verdict == "named"]
        if groups:
            return ambiguous("several letters are given", text[groups[-1].start : groups[-1].end])
        if named:
            return unparsed("letters are named, but none is given as the answer", ", ".join(sorted(named)))
        return unparsed("only says which options are wrong", ", ".join(sorted(refuted))) if refuted else None
