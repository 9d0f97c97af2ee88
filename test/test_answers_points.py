from __future__ import annotations

import pytest

from gst_ros.bench.answers import parse_answer
from gst_ros.bench.tasks import TASKS

TASK = TASKS["position"]


@pytest.mark.parametrize(
    "text",
    [
        "<point>391 698</point>", "<point>391, 698</point>", "<point>391,698</point>", "<point> 391  698 </point>",
        "<point>(391, 698)</point>", "<point>[391, 698]</point>", "<point>x=391 y=698</point>",
        "<Point>391 698</Point>",
        "<points>391 698</points>", '<point x="391" y="698">', "&lt;point&gt;391 698&lt;/point&gt;",
        # broken tags
        "<point>391 698", "<point>391 698<point>", "</point>391 698<point>", "point>391 698</point>",
        "<point>391</point><point>698</point>", "<point 391 698>", "<point>391 698</point></answer>",
        # brackets, keys, JSON
        "(391, 698)", "(391 698)", "[391,698]", "[[391, 698]]", "(391; 698)", "x=391, y=698", "X = 391, Y = 698",
        "x: 391\ny: 698",
        "x is 391 and y is 698", "x≈391, y≈698", "(x=391, y=698)", "(x, y) = (391, 698)", '{"x": 391, "y": 698}',
        '{"y": 698, "x": 391}', "{x: 391, y: 698}", '{"x": "391", "y": "698"}', '{"point_2d": [391, 698]}',
        '```json\n[{"point_2d": [391, 698], "label": "me"}]\n```',
        # bare, other scripts and signs
        "391 698", "391, 698", "391 , 698", "391;698", "391.0 698.0",
        "\uff08\uff13\uff19\uff11\uff0c\uff16\uff19\uff18\uff09",
        "<point>\u0663\u0669\u0661 \u0666\u0669\u0668</point>", "\\boxed{(391, 698)}", "$(391, 698)$",
        "**(391, 698)**", "`391 698`",
        # prose
        "Answer: 391 698", "<answer>391 698</answer>", "Coordinates: 391 698", "The location is at 391, 698.",
        "I am at (391, 698), next to the wall.", "The coordinates are approximately (391, 698).",
        "Normalized to the range [0, 999], I am at (391, 698).", "The image is 640x512. My location: 391, 698.",
        "My current location corresponds to <point>391 698</point> on the map.",
        "My location is (391, 698) on the top-down image of size (1920, 1080).",
        "<think>(1, 2)?</think><point>391 698</point>", "First (1, 2)... Final answer: <point>391 698</point>",
        "The chair is at (1, 2).\n<point>391 698</point>", "<point>391 698</point>\n<point>391 698</point>",
    ],
)  # fmt: skip
def test_point_is_read(text: str) -> None:
    result = parse_answer(TASK, text)
    assert (result.value, result.status) == ((391.0, 698.0), "parsed"), result
    assert "391" in result.matched or not text.isascii()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(0.39, 0.70)", (389.61, 699.3)),
        ("<point>0.39 0.70</point>", (389.61, 699.3)),
        ("0.5, 1.0", (499.5, 999.0)),
        ("39.1%, 69.8%", (390.609, 697.302)),
        ("(50 %, 50 %)", (499.5, 499.5)),
    ],
)
def test_fractions_of_the_image_are_converted_and_say_so(text: str, value: tuple[float, float]) -> None:
    result = parse_answer(TASK, text)
    assert result.value == pytest.approx(value)
    assert "converted" in result.note


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<point>0 0</point>", (0, 0)),
        ("<point>1 1</point>", (1, 1)),  # whole numbers are steps of the grid
        ("<point>0 1</point>", (0, 1)),
        ("(0, 999)", (0, 999)),
        ("<point>391.5 698.2</point>", (391.5, 698.2)),
        ("(1000, 500)", (999, 500)),
    ],
)
def test_ends_of_the_grid(text: str, value: tuple[float, float]) -> None:
    assert parse_answer(TASK, text).value == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(1500, 800)", "another size"),
        ("<point>391, 1200</point>", "another size"),
        ("(-5, 30)", "negative"),
        ("<point>\u2013391 698</point>", "negative"),
        ("<box>(1,2),(3,4)</box>", "box"),
        ("[1, 2, 3, 4]", "box"),
        ('{"bbox_2d": [391, 698, 400, 720]}', "box"),
        ("[0, 999]", ""),
        ("Coordinates are normalized to the range [0, 999].", ""),
        ("<point>x y</point>", ""),
        ("<point>391</point>", ""),
        ("<point>391 698 12</point>", ""),
        ("391", ""),
        ("1 2 3", ""),
        ("391-698", ""),
        ("391/698", ""),
        ("(391 px, 698 px)", ""),
        ("top left", ""),
        ("near the center", ""),
        ("about 3 meters", ""),
        ("3 chairs, 2 sofas", ""),
        ("Frame 12, 13: chair", ""),
        ("I can't tell", "refused"),
        ("I cannot determine the location. (391, 698) is the door.", "refused"),
    ],
)
def test_no_point(text: str, said: str) -> None:
    result = parse_answer(TASK, text)
    assert (result.value, result.status) == (None, "unparsed"), result
    assert said in result.note


@pytest.mark.parametrize(
    "text",
    [
        "<point>1 2</point> <point>3 4</point>",
        "The chair is at (1, 2) and I am at (3, 4).",
        "<point>391 698</point> is where I am. The door is at <point>1 2</point>.",
        "Answer: (1, 2) or (3, 4)",
        "1 2\n3 4",
        '<point x="39.1" y="69.8" alt="me">me</point>',  # percent or grid?
        "(39%, 698)",
    ],
)
def test_ambiguous_points(text: str) -> None:
    result = parse_answer(TASK, text)
    assert (result.value, result.status) == (None, "ambiguous"), result
    assert result.note


def test_the_last_point_of_a_final_answer_counts() -> None:
    assert parse_answer(TASK, "Answer: from (1, 2) I walked to (391, 698)").value == (391.0, 698.0)


@pytest.mark.parametrize(
    "text",
    [
        "Answer: 210 640 (not 50 60)", "Answer: not <point>50 60</point> but <point>210 640</point>",
        "Answer: (210, 640); the lamp is at (50, 60)", "Final answer: (210, 640). The map spans (0,0) to (999,999).",
        "Answer: <point>210 640</point>. For reference the start was <point>50 60</point>.",
        "Answer: point A at (210, 640), relative to start (50, 60)", "Answer: (210, 640)\nThe lamp is at (50, 60)",
        "I am not at (50, 60); I am at (210, 640)", "row 640, column 210", "Answer: column 210, row 640",
    ],
)  # fmt: skip
def test_points_that_are_denied_or_only_place_the_answer_are_passed_over(text: str) -> None:
    result = parse_answer(TASK, text)
    assert (result.value, result.note) == ((210.0, 640.0), ""), result


def test_a_point_said_in_two_ways_is_one() -> None:
    for text in ("Answer: (0.21, 0.64) which is (210, 640)", "Answer: (210, 640), i.e. (0.210, 0.640)"):
        assert parse_answer(TASK, text).value == (210.0, 640.0)
    assert parse_answer(TASK, "Answer: (210, 640), i.e. (0.5, 0.6)").status == "ambiguous"


@pytest.mark.parametrize(
    "text", ["The lamp is NOT at <point>50 60</point>.", "Answer: not (50, 60)", "It isn't at (50, 60)"]
)
def test_a_denied_point_leaves_none(text: str) -> None:
    result = parse_answer(TASK, text)
    assert (result.value, result.status) == (None, "unparsed"), result


@pytest.mark.parametrize(
    "text",
    [
        "Answer: (210, 640) and (50, 60)", "Answer: the lamp is at (50, 60); I am at (210, 640)",
        "Answer: the lamp is at (50, 60)\nI am at (210, 640)", "Answer: (50, 60)\nActually, wait: (210, 640)",
        "Answer: (50, 60). No, (210, 640)", "from <point>50 60</point> to <point>210 640</point>",
    ],
)  # fmt: skip
def test_final_answers_with_several_points_are_ambiguous(text: str) -> None:
    result = parse_answer(TASK, text)
    assert (result.value, result.status) == (None, "ambiguous"), result


def test_the_order_of_coordinates() -> None:
    swapped = parse_answer(TASK, "(y, x) = (640, 210)")
    assert swapped.value == (210.0, 640.0)
    assert "(y, x)" in swapped.note
    assert parse_answer(TASK, "(x, y) = (210, 640)").value == (210.0, 640.0)
    for text in ("[640, 210] (y, x)", "In row, column order: (640, 210)", "I give y, x.\n640 210"):
        assert parse_answer(TASK, text).status == "ambiguous", text


@pytest.mark.parametrize(
    "text",
    ["Pixel (210, 640) of a 1280x960 image", "In the 1920x1080 image it is at (210, 640)", "(210, 640) in pixels",
     '{"x": 210, "y": 640, "w": 10, "h": 10}'],
)  # fmt: skip
def test_pixels_and_boxes_are_ambiguous(text: str) -> None:
    result = parse_answer(TASK, text)
    assert (result.value, result.status) == (None, "ambiguous"), result
