"""What all kinds of answers share: the order of reading, hostile input, and linear time."""

from __future__ import annotations

import importlib
import json
import math
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gst_ros.bench.answers
from gst_ros.bench.answers import format_answer, parse_answer, parse_truth
from gst_ros.bench.answers.numbers import number_of_digits, number_of_words
from gst_ros.bench.answers.reading import _markers, refuses
from gst_ros.bench.answers.text import normalise
from gst_ros.bench.tasks import TASKS, Task, find_task
from gst_ros.errors import QuestionError

if sys.version_info >= (3, 11):
    from re import _constants as sre_constants
    from re import _parser as sre_parse
else:
    import sre_constants
    import sre_parse

LETTER, ANGLE, DISTANCE, POINT = (TASKS[key] for key in ("trajectory", "ed_s", "edist_v", "gp_s"))
KINDS = (LETTER, ANGLE, DISTANCE, POINT)
# Per kind: a right answer as text, another one, and the value of the first.
EXAMPLES: dict[str, tuple[str, str, Any]] = {
    LETTER.key: ("B", "C", "B"),
    ANGLE.key: ("-134", "90", -134.0),
    DISTANCE.key: ("13.2", "4.5", 13.2),
    POINT.key: ("<point>391 698</point>", "<point>10 20</point>", (391.0, 698.0)),
}


def canonical_values(task: Task) -> st.SearchStrategy[Any]:
    if task.answer_kind == "letter":
        return st.sampled_from("ABCD")
    if task.answer_kind == "angle_deg":
        return st.integers(-180, 180).map(float)
    if task.answer_kind == "distance_m":
        return st.integers(0, 2000).map(lambda tenths: tenths / 10)
    return st.tuples(st.integers(0, 999).map(float), st.integers(0, 999).map(float))


TASK_AND_VALUE = st.sampled_from(list(TASKS.values())).flatmap(
    lambda task: st.tuples(st.just(task), canonical_values(task))
)


# --- properties -----------------------------------------------------------------------------------------------------


@given(TASK_AND_VALUE)
@settings(max_examples=400, deadline=None)
def test_canonical_answers_round_trip(case: tuple[Task, Any]) -> None:
    task, value = case
    result = parse_answer(task, format_answer(task, value))
    assert (result.value, result.status, result.note) == (value, "parsed", "")


@given(
    TASK_AND_VALUE,
    st.sampled_from(
        ["{}", " {}\n", "**{}**", "`{}`", "Answer: {}", "The answer is {}.", "<answer>{}</answer>", "\\boxed{{{}}}",
         "<think>Maybe B, 90, 12 m or (1, 2)?\nAnswer: C</think>\n{}", "Let me think. It is hard.\n\nFinal answer: {}",
         '{{"answer": "{}"}}', "Wait, is it A? 10? (5, 5)?\n{}", "\ufeff{}\u200b", "{}<|im_end|>"]
    ),
)  # fmt: skip
@settings(max_examples=400, deadline=None)
def test_wrapped_answers_round_trip(case: tuple[Task, Any], wrapping: str) -> None:
    task, value = case
    result = parse_answer(task, wrapping.format(format_answer(task, value)))
    assert (result.value, result.status) == (value, "parsed")


VOCABULARY = (
    "answer: ", "the answer is ", "not ", "A", "B", " or ", "I ", "(", ")", "<point>", "</point>", "<think>",
    "</think>",
    "\\boxed{", "}", "12", ".", ",", "-", "–", "°", " m", " ft", " to the left", "\n", "half a ", "twenty ", "and ",
    "point ",
    "%", "=", "~", "±", "<answer>", "</answer>", "e", "x=", "y=", "**", "½", "1e9", "north", "&#0;", "\x00", "\ud800",
    "०",
)  # fmt: skip


@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(VOCABULARY), max_size=40).map("".join)))
@settings(max_examples=600, deadline=None)
def test_any_text_is_read_without_raising_and_within_range(text: str) -> None:
    for task in (*KINDS, TASKS["orientation"]):
        result = parse_answer(task, text)
        assert (result.value is None) == (result.status != "parsed")
        assert result.note or result.status == "parsed"
        if result.value is None:
            continue
        assert result.matched
        if task.answer_kind == "letter":
            assert result.value in tuple("ABCD")
        elif task.answer_kind == "point_999":
            assert isinstance(result.value, tuple) and all(0.0 <= v <= 999.0 for v in result.value)
        else:
            assert isinstance(result.value, float) and math.isfinite(result.value)
            assert -180.0 <= result.value <= 180.0 if task.answer_kind == "angle_deg" else result.value >= 0.0


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.binary(max_size=40)),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
        max_leaves=6,
    )
)
@settings(max_examples=300, deadline=None)
def test_anything_else_is_read_without_raising(raw: Any) -> None:
    for task in KINDS:
        assert parse_answer(task, raw).status in ("parsed", "unparsed", "ambiguous")


REFUSALS = (
    "I can't tell", "I cannot determine this.", "I don't know", "Unknown", "N/A", "n/a", "None of the above",
    "I'm sorry, but I can't help.",
    "It is impossible to say from the video.", "There is not enough information.", "unable to determine", "No answer",
    "The distance cannot be determined from this view.", "As an AI I am not able to estimate that.",
    "I do not have enough information",
)  # fmt: skip


@given(
    st.sampled_from(REFUSALS),
    st.sampled_from(["{}", "Answer: {}", "<answer>{}</answer>", "\\boxed{{{}}}", "<think>B, 12 m</think>{}", "**{}**",
    "The answer is: {}"]),
    st.sampled_from(["", " The room is 4 m wide.", " The sofa at 90 degrees is near A.", " (1, 2) is the door.",
    " It is 3 m at least."]),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_refusals_never_give_a_value(refusal: str, wrapping: str, more: str) -> None:
    assert refuses(normalise(refusal))
    for task in TASKS.values():
        result = parse_answer(task, wrapping.format(refusal) + more)
        assert (result.value, result.status) == (None, "unparsed"), (task.key, result)
        assert "refused" in result.note


# --- the order of reading -------------------------------------------------------------------------------------------

TASKS_BY_KIND = pytest.mark.parametrize("task", KINDS, ids=lambda task: task.answer_kind)


@TASKS_BY_KIND
@pytest.mark.parametrize(
    "text",
    [
        "<think>It is {other}.</think>{right}",
        "<thinking>Answer: {other}</thinking>\n\n{right}",
        "It could be {other}.\nAnswer: {other}\n</think>\n{right}",  # the template swallowed the opening tag
        "<think>{other}</think>{other}<think>no</think>{right}",
        "◁think▷{other}◁/think▷{right}",
        "<|channel|>analysis<|message|>{other}<|end|><|start|>assistant<|channel|>final<|message|>{right}",
        "Let me think... first {other}, then more. Answer: {right}",
        "Answer: {other}\nHmm, wait.\nFinal answer: {right}",
        "Final answer: {other}\n\\boxed{{{right}}}",
        "Answer: {other}\n<answer>{right}</answer>",
        "<answer>{other}</answer> <answer>{right}</answer>",
        "If the answer is {other}, I am wrong.\nAnswer: {right}",
        "Answer: {right}\nAnswer:",  # cut off
        "I cannot determine it exactly.\nBest guess: {right}",
        "I think so.\n{right}",
        "{right}\nI cannot determine it exactly.",
        "Answer: {right}, but I cannot tell exactly.",
    ],
)
def test_order(task: Task, text: str) -> None:
    right, other, value = EXAMPLES[task.key]
    result = parse_answer(task, text.format(right=right, other=other))
    assert (result.value, result.status) == (value, "parsed"), result


@TASKS_BY_KIND
def test_unfinished_thoughts(task: Task) -> None:
    right, other, value = EXAMPLES[task.key]
    assert parse_answer(task, f"<think>It may be {right}").value is None
    assert parse_answer(task, f"<think>\n{right}\n").value is None
    assert "not finished" in parse_answer(task, f"<think>\n{right}").note
    late = parse_answer(task, f"<think>It may be {other}.\nFinal answer: {right}")
    assert late.value == value
    assert "not finished" in late.note
    # A finished thought without an answer after it is no answer, whatever it says.
    assert parse_answer(task, f"<think>Answer: {right}</think>").value is None
    assert parse_answer(task, f"<think>Answer: {right}</think>\n").note == "empty"


@TASKS_BY_KIND
@pytest.mark.parametrize(
    "text",
    ["", " ", "\n\n", "\u200b", "?", "...", "{}", "[]", "<answer></answer>", "Answer:", "**", "\x00", "null", "</s>"],
)
def test_empty_answers(task: Task, text: str) -> None:
    result = parse_answer(task, text)
    assert (result.value, result.status) == (None, "unparsed")
    assert result.note


@TASKS_BY_KIND
def test_the_prompt_itself_is_no_answer(task: Task, shared_dir: Path) -> None:
    for file in sorted((shared_dir / "gst_bench" / "samples").glob("*/question.json")):
        question = json.loads(file.read_text(encoding="utf-8"))
        if find_task(question["task"]).answer_kind == task.answer_kind:
            assert parse_answer(task, "\n".join(question["texts"])).value is None


# --- what prediction files hold -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "raw", "value"),
    [
        (LETTER, ["B"], "B"),
        (LETTER, {"answer": "B"}, "B"),
        (LETTER, b"B", "B"),
        (LETTER, 2, None),
        (ANGLE, -134, -134.0),
        (ANGLE, -134.0, -134.0),
        (ANGLE, np.int64(-134), -134.0),
        (ANGLE, [[-134]], -134.0),
        (ANGLE, 270, -90.0),
        (ANGLE, {"answer": -134}, -134.0),
        (ANGLE, {"angle": "-134"}, -134.0),
        (ANGLE, "−134".encode(), -134.0),
        (ANGLE, "\xb0-134\xff".encode("latin-1"), -134.0),
        (DISTANCE, 13.2, 13.2),
        (DISTANCE, np.float64(13.2), 13.2),
        (DISTANCE, 1e-7, 1e-7),
        (DISTANCE, 10**30, 1e30),
        (DISTANCE, -13.2, None),
        (POINT, [391, 698], (391.0, 698.0)),
        (POINT, (391.0, 698.0), (391.0, 698.0)),
        (POINT, [[391, 698]], (391.0, 698.0)),
        (POINT, {"x": 391, "y": 698}, (391.0, 698.0)),
        (POINT, {"point_2d": [391, 698]}, (391.0, 698.0)),
        (POINT, [391, 698, 3], None),
        *((task, raw, None) for task in KINDS for raw in (None, True, False, math.nan, math.inf, [], {}, object(),
        b"\xff\xfe")),
    ],
)  # fmt: skip
def test_predictions_that_are_no_text(task: Task, raw: Any, value: Any) -> None:
    assert parse_answer(task, raw).value == value


def test_numbers_too_long_to_write_out() -> None:
    for task in KINDS:
        assert parse_answer(task, 10**5000).value is None
        assert parse_answer(task, {"answer": 10**5000}).value is None


def test_lists_within_themselves() -> None:
    endless: list[Any] = []
    endless.append(endless)
    deep: Any = ["B"]
    for _ in range(10_000):
        deep = [deep, 1]
    for task in KINDS:
        assert parse_answer(task, endless).value is None
        assert parse_answer(task, deep).status in ("parsed", "unparsed", "ambiguous")


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("zero", 0), ("twelve", 12), ("ninety", 90), ("twenty-one", 21), ("one hundred and thirty-four", 134),
        ("a hundred", 100),
        ("hundred", 100), ("two thousand three hundred and five", 2305), ("two point five", 2.5),
        ("zero point zero five", 0.05),
        ("one three four", None), ("twenty thirty", None), ("two point twelve", None), ("five twenty", None),
        ("twenty eleven", None),
    ],
)  # fmt: skip
def test_number_of_words(words: str, value: float | None) -> None:
    assert number_of_words(words) == value


@given(st.integers(0, 999_999))
def test_number_of_digits_with_separators(number: int) -> None:
    assert number_of_digits(str(number)) == number
    assert number_of_digits(f"{number:,}") == number
    assert number_of_digits(f"{number:,}.25") == number + 0.25
    assert number_of_digits(f"{number:,}.25".translate(str.maketrans(",.", ".,"))) == number + 0.25


# --- time linear in the text ----------------------------------------------------------------------------------------


def _patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    package = gst_ros.bench.answers
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                yield f"{info.name}.{name}", value
    for key, task in (("letter", LETTER), ("angle", ANGLE)):
        del task
        yield f"markers {key}", _markers((key,))


def _unbounded(tree: Any, limit: int = 400) -> Iterator[Any]:
    """Repeats without a bound (or with a large one) anywhere in a parsed pattern."""
    for operator, argument in tree:
        if operator in (sre_constants.MAX_REPEAT, sre_constants.MIN_REPEAT) and argument[1] > limit:
            yield argument
        stack = [argument]
        while stack:
            item = stack.pop()
            if isinstance(item, sre_parse.SubPattern):
                yield from _unbounded(item, limit)
            elif isinstance(item, (tuple, list)):
                stack.extend(item)


def test_no_pattern_can_backtrack_without_bound() -> None:
    patterns = list(_patterns())
    assert len(patterns) > 60, "where have the patterns gone?"
    for name, pattern in patterns:
        tree = sre_parse.parse(pattern.pattern, pattern.flags)
        loose = list(_unbounded(tree))
        # One repeat of one character class, and nothing else, takes one pass.
        alone = len(tree) == 1 and len(loose) == 1 and len(loose[0][2]) == 1 and loose[0][2][0][0] is sre_constants.IN
        assert not loose or alone, name
    assert list(_unbounded(sre_parse.parse(r"(a+)+b")))  # the check sees what it is for
    assert list(_unbounded(sre_parse.parse(r"(?:x|(?=y\s*))")))


def _calls(task: Task, text: str) -> int:
    """Number of function calls, resumed generators and built-in calls while a text is read."""
    count = 0

    def profile(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        parse_answer(task, text)
    finally:
        sys.setprofile(None)
    return count


PIECES = (
    "A ", "B or ", "C, ", "B. ", "B\n", "Option A\n", "(", "[", "[1,", "-1", "1.", "one ", "two hundred ", "<point>",
    "<think>",
    "<answer>", "<answer>A", "answer: ", "Answer: A ", "answer is not A. ", "I can't ", "\\boxed{", "{", " ", "\n",
    "\u0300\u0323", "9",
    "(1,2)", "1 2 ", "x=1,", "5 m ", "5 m. ", "(5 m) ", "1 m (", "5° ", "3 or ", "= 5 ", "5\n", "<point>1 2</point>",
    "&amp;", "**",
    "not A ", "so B ", "5 degrees to the left. ",
)  # fmt: skip


@TASKS_BY_KIND
def test_work_grows_with_the_length_of_the_text_only(task: Task) -> None:
    for piece in PIECES:
        short, long = 150, 600
        small, large = _calls(task, piece * short), _calls(task, piece * long)
        assert large <= 4.5 * small + 200, (piece, small, large)


@TASKS_BY_KIND
def test_a_long_answer_ends_with_its_answer(task: Task) -> None:
    right, other, value = EXAMPLES[task.key]
    filler = f"Let me look again; perhaps {other}, perhaps not. The corridor turns and the hall opens.\n"
    text = filler * (100_000 // len(filler)) + f"Answer: {right}"
    assert len(text) > 99_000
    assert parse_answer(task, text).value == value
    assert parse_answer(task, f"<think>{text}</think>{right}").value == value


# --- truths ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "raw", "value"),
    [
        ("ed_v", "-134", -134.0),
        ("ed_s", "–134", -134.0),
        ("orientation", 90, 90.0),
        ("ed_v", "180", 180.0),
        ("edist_v", 13.2, 13.2),
        ("edist_s", "13.2", 13.2),
        ("edist_s", 3, 3.0),
        ("position", "<point>323 292</point>", (323.0, 292.0)),
        ("gp_v", "<point>323, 292</point>", (323.0, 292.0)),
        ("gp_s", [0, 999], (0.0, 999.0)),
        ("tds_easy", "C", "C"),
        ("trajectory", " b. ", "B"),
    ],
)
def test_truths_in_their_official_forms(key: str, raw: Any, value: Any) -> None:
    assert parse_truth(TASKS[key], raw) == value


@pytest.mark.parametrize(
    ("key", "raw"),
    [
        *(("ed_v", raw) for raw in ("181", -180.5, "left", "", None, True, [3], math.nan, math.inf, "1e2",
        "90 degrees", 10**400)),
        *(("edist_v", raw) for raw in (0, 0.0, "0", -3, "near", None, False, math.nan, "13.2 m", {})),
        *(("gp_v", raw) for raw in ("<point>1000 3</point>", "323", [1], [1, 2, 3], ["a", "b"], [-1, 5], None, 5,
        "<point>x y</point>")),
        *(("tds_hard", raw) for raw in ("E", "", None, 2, "AB", "A or B", ["A"], True)),
    ],
)  # fmt: skip
def test_truths_out_of_range_are_refused_with_their_field(key: str, raw: Any) -> None:
    with pytest.raises(QuestionError) as caught:
        parse_truth(TASKS[key], raw)
    assert caught.value.field == "answer"
    assert caught.value.remedy
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_options_of_a_truth() -> None:
    assert parse_truth(TASKS["trajectory"], "E", options=5) == "E"
    with pytest.raises(QuestionError, match="A to C"):
        parse_truth(TASKS["trajectory"], "D", options=3)


def test_official_answers_read_as_themselves(shared_dir: Path) -> None:
    files = sorted((shared_dir / "gst_bench" / "samples").glob("*/question.json"))
    assert len(files) == 8
    for file in files:
        question = json.loads(file.read_text(encoding="utf-8"))
        task = find_task(question["task"])
        truth = parse_truth(task, question["answer"])
        assert parse_answer(task, question["answer"]).value == truth
        assert parse_answer(task, format_answer(task, truth)).value == truth


def test_values_of_another_kind_are_not_formatted() -> None:
    for task, value in ((LETTER, 3.0), (ANGLE, "B"), (POINT, 3.0), (DISTANCE, (1.0, 2.0))):
        with pytest.raises(TypeError, match="no answer"):
            format_answer(task, value)


@TASKS_BY_KIND
def test_only_both_ends_of_a_very_long_answer_are_read(task: Task) -> None:
    right, other, value = EXAMPLES[task.key]
    filler = "The corridor turns and the hall opens.\n"
    middle = filler * (1_000_000 // len(filler))
    long = parse_answer(task, f"{middle}Answer: {right}")
    assert long.value == value
    assert "the beginning and the end" in long.note
    assert parse_answer(task, f"Answer: {right}\n{middle}").value == value
    assert parse_answer(task, f"{middle}Answer: {other}\n{middle}").value is None
    # The work no longer grows with the text.
    assert _calls(task, middle) <= 1.1 * _calls(task, middle[: len(middle) // 4]) + 200
    assert parse_answer(task, "9" * 1_000_000).value is None
