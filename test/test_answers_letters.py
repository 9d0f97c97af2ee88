from __future__ import annotations

import pytest

from gst_ros.bench.answers import parse_answer
from gst_ros.bench.tasks import TASKS

TASK = TASKS["tds_medium"]
ANALYSIS = (
    "To determine which image fits, let's analyze each option:\n\n"
    "**A.** This shows a long corridor.\n**B.** This shows a square.\n"
    "**C.** This has two rooms.\n**D.** Another hall.\n"
)


@pytest.mark.parametrize(
    "text",
    [
        # bare
        "B", "b", "B.", "(B)", "(b)", "b)", "[B]", "{B}", "B!", "B?", " B \n", '"B"', "'B'", "B,", "Option B",
        "option b.",
        "Choice B.", "Image B", "Answer B", "Trajectory B", "Probably B", "Maybe B?", "So, B.",
        # marked up, full-width, circled, LaTeX, special tokens, HTML
        "**B**", "*B*", "__B__", "`B`", "```\nB\n```", "> B", "- B", "# B", "\uff22", "\u24b7", "\u249d",
        "\U0001d401", "\\boxed{B}", "$\\boxed{\\text{B}}$", "$B$", "\\(\\mathbf{B}\\)", "<b>B</b>", "B</s>",
        "B<|im_end|>",
        "<|begin_of_box|>B<|end_of_box|>", "\ufeffB", "B\u200b",
        # markers
        "Answer: B", "ANSWER: B", "answer=B", "Answer: (b)", "**Answer:** B", "**Answer: B**",
        "Correct answer: **(B)**",
        "Answer\nB", "### Final Answer:\n\n**B**", "The answer is:\n\n**B.**", "The correct answer is (B)",
        "The correct answer is: **(B)**", "The answer is b.", "Answer: B. Image 2", "the answer is option b",
        "The correct letter is B", "Correct option: B", "Therefore, the best option is: B", "Selected: B", "Output: B",
        "The answer to this question is B because A is wrong", "I choose B", "I'd go with option B.",
        "I would pick (B).",
        "<answer>B</answer>", "<answer>\nOption B\n</answer>", "<answer>B", '{"answer": "B"}', "{'answer': 'B'}",
        '```json\n{"reasoning": "A is too small", "answer": "B"}\n```', "Ответ: B", "正确答案是:**B**", "选B",
        "我认为答案是B,因为A不对",
        # prose
        "B because a car moves", "B. Dog is wrong.", "B) because A is wrong", "B - the top-right plan",
        "B, since A has no hall",
        "B\n\nExplanation: A and C are mirrored, D matches only partly.", "It's B", "I think it's B.", "Therefore, B.",
        "Thus B", "B is the answer", "B is correct.", "Image B matches the layout best.",
        "Option B is the closest match.",
        "B shows the same layout as the video.", "The plan with the L-shaped corridor is B",
        "The video matches option B.", "I lean towards B.", "I am not sure, but B", "Not sure. B?", "✓ B", "→ B",
        "I think the plan fits the walk. B", "A long corridor leads to the hall. B.",
        "Based on the video, the layout closest to the scene is option B.",
        # revisions and markers over prose
        "A. But wait, actually it must be B.", "I initially thought A, but the correct option is B.",
        "Answer: A. Hmm, wait. Final answer: B", "Let me think... Is it A? Is it C? Answer: B",
        "If the answer is A, the start would be at the top. So B.",
        ANALYSIS + "\nThe video shows two rooms, so the correct answer is **B**.", ANALYSIS + "\n**B**",
        "- A: no hall\n- B: hall present\n- C: no\n- D: no\nB",
        # after a refusal only an explicit answer counts
        "I can't tell, but my best guess is B", "I cannot determine it with certainty.\nB",
    ],
)  # fmt: skip
def test_letter_is_read(text: str) -> None:
    result = parse_answer(TASK, text)
    assert (result.value, result.status) == ("B", "parsed"), result
    assert result.matched


@pytest.mark.parametrize(
    "text",
    [
        "C is wrong, so B", "It is not A but B.", "The answer is not A. It is B.", "It isn't A or C; it's B.",
        "The best match is B, not C.", "A and C are wrong, D too. So the answer is B.", "Neither A nor C, so B",
        "The answer can't be A, and C looks off, so I'd say B.", "A: wrong\nB: correct\nC: wrong\nD: wrong",
        "A is wrong, B is correct, C is wrong, D is wrong", "Option A turns right, so A is out. This leaves B.",
        "A shows a different layout. B matches the video.", "B rather than A", "Answer: B (not A)",
        "B (the answer is not A)",
        "I can rule out A and D. Between B and C, B has the hall, so B.", "I would pick B over A", "~~A~~ B",
        "Option A turns right, so it is incorrect. Option C doesn't turn. Therefore, Option B best matches the path.",
    ],
)  # fmt: skip
def test_letters_named_in_a_refutation_are_passed_over(text: str) -> None:
    assert parse_answer(TASK, text).value == "B"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("The correct answer is (B)", "B"),  # a peer read T
        ("C. Dog is wrong.", "C"),  # a peer read D
        ("B because a car moves", "B"),  # a peer read A
        ("Based on…", None),  # a peer read B
        ("Based on the video, I would need more views.", None),
        ("A", "A"),
        ("a", "A"),
        ("a.", "A"),
        ("A matches", "A"),
        ("A because the start fits", "A"),
        ("A is the one that fits", "A"),
        ("Let's go with A.", "A"),
        ("the answer is a", "A"),
        ("The correct answer is A.", "A"),
    ],
)
def test_words_are_not_letters(text: str, letter: str | None) -> None:
    assert parse_answer(TASK, text).value == letter


@pytest.mark.parametrize(
    "text",
    [
        "A red path starts at the blue dot.", "I think it goes left.", "a trajectory", "Hello a", "I see a", "I", "The",
        "A 3-room flat", "An office", "ABCD", "AB", "DDD", "U-shaped corridor", "The scene has a B-shaped hall", "C++",
        "D'accord",
        "Vitamin C", "The path goes from A to B.", "The video shows a corridor from room A to room B.",
        "The view is of a type D building", "The answer is a bit unclear.", "The answer is a corridor", "scene_B",
        "B52", "e.g. B.C.",
    ],
)  # fmt: skip
def test_articles_words_and_other_things_are_no_answers(text: str) -> None:
    result = parse_answer(TASK, text)
    assert (result.value, result.status) == (None, "unparsed"), result


@pytest.mark.parametrize(
    "text",
    [
        "A or B", "A/B", "A and B", "A or maybe B", "either A or B", "The answer is A or C", "Answer: A/B",
        "A, B, C, D",
        "Both A and B match.", "The answer is between B and C", "B\nC", "A.\nB.\nC.\nD.", "B. C.",
        "A. This image shows x. B. This image shows y.", "B. The plan fits. So it must be C.",
        "B matches well. C matches well.",
    ],
)  # fmt: skip
def test_several_letters_are_ambiguous(text: str) -> None:
    result = parse_answer(TASK, text)
    assert (result.value, result.status) == (None, "ambiguous"), result
    assert result.note


@pytest.mark.parametrize(
    "text",
    [
        "not A", "Not B", "C is not correct", "C isn't right", "Neither A nor B", "Rule out A, B and C",
        "A is wrong, B is wrong, C is wrong",  # that leaves D, but it does not say so
        "Plan A is too small", "A is not the answer", "The map in A lacks a room; B does not.",
    ],
)  # fmt: skip
def test_refuted_letters_leave_no_answer(text: str) -> None:
    result = parse_answer(TASK, text)
    assert result.value is None, result
    assert result.note


@pytest.mark.parametrize(
    "text",
    [
        "Looking at image A, the corridor goes", ANALYSIS, "In image A, there is a hall. In image B, there is a yard.",
        "Option A shows a hall. Option B", "B is right next to the wall", "So B shows a hall and the video",
        "A has the right number of rooms but", "**Option A:**\nA hall.\n**Option B:**",
        "### Option A\nA hall.\n### Option B",
    ],
)  # fmt: skip
def test_a_letter_that_is_only_talked_about_is_no_answer(text: str) -> None:
    # Answers cut off by a token limit look like this.
    assert parse_answer(TASK, text).value is None


def test_number_of_options() -> None:
    assert parse_answer(TASK, "E").value is None
    assert "A to D" in parse_answer(TASK, "E").note
    assert parse_answer(TASK, "Answer: E").value is None
    assert parse_answer(TASK, "E", options=5).value == "E"
    assert parse_answer(TASK, "The answer is D", options=3).value is None
    # Even with nine options, the pronoun is no option.
    assert parse_answer(TASK, "I think it is hard", options=9).value is None
    assert parse_answer(TASK, "Answer: (I)", options=9).value == "I"
    with pytest.raises(ValueError, match="options"):
        parse_answer(TASK, "A", options=1)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ('{"A": 0.1, "B": 0.2, "C": 0.6, "D": 0.1}', "C"),
        ("A - 10%\nB - 20%\nC - 65%\nD - 5%", "C"),
        ("A (score: 3)\nB (score: 2)\nC (score: 9)\nD (score: 1)", "C"),
        ("A. no\nB. no\nC. yes\nD. no", "C"),
        ("Answer:\nA. no\nB. no\nC. yes\nD. no", "C"),
        ("A: true, B: false", "A"),
        ('{"answer": "D", "scores": {"A": 0.1, "B": 0.9}}', "D"),  # what is announced wins
        ("A: 10%\nB: 70%\nSo the answer is C", "C"),
        ("A: 0.5, B: 0.5", None),
        ("A: 3\nB: 9", None),  # what of them?
        ("Error of A: 0.1, B: 0.7", None),
        ("A. yes\nB. yes\nC. no", None),
        ("A. no\nB. no", None),
        ("A: 0.2, B: yes", None),
        ("A: 10%, B: 20%, A: 60%", None),
    ],
)
def test_lists_of_scores_give_the_single_best_option(text: str, letter: str | None) -> None:
    result = parse_answer(TASK, text)
    assert result.value == letter, result
    assert letter is not None or result.note


@pytest.mark.parametrize(
    "text",
    [
        "The wrong answer is A.", "The worst answer is D.", "The incorrect option is B.", "I doubt D is correct",
        "It is doubtful that D is the answer", "It is unlikely that D is the answer", "Nobody would choose D",
        "Why choose D? The hall is on the other side.", "One might choose D, but the hall is missing",
        "You may be tempted to choose D", "At first I chose D", "Answer: anything but D", "Anything but D",
        "The second best answer is D.", '{"answer": null, "guess": "D"}', "D seems right at first glance, but",
        "D has the right layout but the wrong door.", "D looks correct except for the hall.",
        "I almost chose D", "The least likely is D", "If I had to eliminate one it would be D", "The trap answer is D",
        "The obvious choice is D, but it is wrong", "Answer: D, but that is wrong.",
    ],
)  # fmt: skip
def test_rejected_tentative_and_half_praised_letters_are_no_answer(text: str) -> None:
    result = parse_answer(TASK, text)
    assert result.value is None, result
    assert result.note


@pytest.mark.parametrize(
    "text",
    [
        "The best answer is B. The second best answer is A.", "The second best answer is A. The best answer is B.",
        "My first choice is B, my second choice is D", "I would choose B; D would be my second choice",
        "I would say C... Hmm, no. The hall turns left, so B.",
        "The answer is C. However, on reflection, the bath in C is misplaced. B has it right.",
        "Answer: B. Actually the hall is on the left.", "I originally chose A; now I choose B",
        "A naive observer would pick A; a careful one, B.", "A is closest but has the wrong door; B is correct.",
        "A looks correct except for the kitchen, B looks correct.", "There is no doubt: B", "Answer: B instead of A",
        "La respuesta correcta es la B", "Die richtige Antwort ist B.", "La réponse est B",
        "B matches best, although the door differs",
    ],
)  # fmt: skip
def test_the_letter_that_stands_in_the_end_is_read(text: str) -> None:
    assert parse_answer(TASK, text).value == "B"


def test_a_letter_that_may_be_taken_back_is_ambiguous() -> None:
    for text in ("Answer: C. Wait, A shows the hall too.", "The answer is C. Hmm, C is wrong."):
        assert parse_answer(TASK, text).status == "ambiguous", text
