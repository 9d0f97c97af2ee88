"""Quantities whose meaning stands around them: units and sides told elsewhere, other things measured, conclusions."""

from __future__ import annotations

from typing import Any

import pytest

from gst_ros.bench.answers import parse_answer
from gst_ros.bench.metrics import ScoringConfig
from gst_ros.bench.tasks import TASKS

ANGLE = TASKS["ed_v"]
DISTANCE = TASKS["edist_s"]


@pytest.mark.parametrize(
    ("raw", "metres"),
    [
        ('{"distance": 240, "unit": "cm"}', 2.4),
        ('{"unit": "cm", "distance": 240}', 2.4),
        ({"distance": 240, "unit": "cm"}, 2.4),
        ('{"distance": "2400", "units": "millimetres"}', 2.4),
        ('{"distance_cm": 240}', 2.4),
        ('{"distance_ft": 20}', 6.096),
        ('{"value": 20, "unit": "feet"}', 6.096),
        ("Distance (cm): 240", 2.4),
        ("Distance [mm]: 2400", 2.4),
        ("The distance in cm: 240", 2.4),
        ("distance in centimeters is 240", 2.4),
        ("Distance in feet: 20", 6.096),
        ("Distance (in feet): 20.5", 6.2484),
        ("100 in", 2.54),
        ('100"', 2.54),
        ("20'", 6.096),
        ("20 ft 6 in", 6.2484),
        ("The answer in cm is 240.", 2.4),
        ("240 (cm)", 2.4),
        ("Distance: 240\nUnit: cm", 2.4),
        ("Answer (in feet): 20", 6.096),
    ],
)
def test_a_unit_named_apart_from_the_number_is_applied_with_a_note(raw: Any, metres: float) -> None:
    result = parse_answer(DISTANCE, raw)
    assert result.value == pytest.approx(metres), result
    assert "converted" in result.note


@pytest.mark.parametrize(
    "text",
    ['{"distance": 2.4, "unit": "m"}', '{"distance_m": 2.4}', "Distance (m): 2.4", "Distance [m]: 2.4",
     '"2.4"', "'2.4'",
     "The answer, in metres, is 2.4.", "Answer (m): 2.4",
     '{"distance": "2.4"}', "The distance is 2.4 m; in feet that is 7.9 ft."],
)  # fmt: skip
def test_metres_named_apart_and_quotation_marks_change_nothing(text: str) -> None:
    result = parse_answer(DISTANCE, text)
    assert (result.value, result.note) == (2.4, ""), result


@pytest.mark.parametrize(
    "text",
    ["In feet: 20\nAnswer: 6.1", "I answer in feet. 20", '{"distance": 20, "unit": "ft", "units": "m"}', "4 m.2"],
)  # fmt: skip
def test_unclear_units_are_ambiguous(text: str) -> None:
    result = parse_answer(DISTANCE, text)
    assert (result.value, result.status) == (None, "ambiguous"), result


@pytest.mark.parametrize(
    "text",
    [
        '{"direction": "right", "degrees": 70}', '{"degrees": 70, "direction": "right"}',
        '{"side":"right","angle_deg":70}',
        "The sofa is on the right side. The angle is 70 degrees.", "The angle is 70 degrees. It is on the right.",
        "Right.\n70", "To the right\n\n**70**", "Negative. 70 degrees.",
        "To my right-hand side: 70", '{"sign": "negative", "angle": 70}',
        "Answer: 70\nThe sofa is on my right.",
    ],
)  # fmt: skip
def test_a_side_named_apart_from_the_angle_is_applied_with_a_note(text: str) -> None:
    result = parse_answer(ANGLE, text)
    assert result.value == -70.0, result
    assert result.note


def test_a_side_named_apart_follows_the_sense_of_orientation_answers() -> None:
    task, clockwise = TASKS["orientation"], ScoringConfig(orientation_sense="right")
    assert parse_answer(task, "It faces to the left.\n70", config=clockwise).value == -70.0
    assert parse_answer(task, "It faces to the right.\n70", config=clockwise).value == 70.0


@pytest.mark.parametrize(
    "text",
    ["I turn right at the hall. 70", "You need to turn right. Answer: 70", "Right, so let me think. Answer: 70"],
)
def test_a_right_that_may_be_no_side_never_leaves_the_angle_positive(text: str) -> None:
    result = parse_answer(ANGLE, text)
    assert (result.value, result.status) == (None, "ambiguous"), result


@pytest.mark.parametrize(
    "text",
    ["Left is positive and right is negative. 70", "70 (positive = left, negative = right)", "The right answer is 70",
     "The sofa is on the left. 70", "right in front of me, but 70 degrees to the left"],
)  # fmt: skip
def test_conventions_and_other_rights_change_nothing(text: str) -> None:
    result = parse_answer(ANGLE, text)
    assert (result.value, result.note) == (70.0, ""), result


@pytest.mark.parametrize(
    "text",
    [
        "The wardrobe is 2 m wide.", "The hall is 6 m long. The bed is at its end.", "I moved 7 meters.",
        "I walked 7 meters away from the bed, then turned.", "Move forward 4 m", "The ceiling is 3 m high.",
        "At 2 m/s for 3 s I walked 6 m", "7 m or more", "7 m or less", "7 meters at most", "7 m max",
        "7 m away at most", "It is 7 m away or more", "2√3 m",
        "The lamp is 3 m away. The bed is 2 m from the lamp.", "3 m to the lamp. 2 m from the lamp to the bed.",
    ],
)  # fmt: skip
def test_lengths_of_other_things_and_bounds_are_no_distance(text: str) -> None:
    result = parse_answer(DISTANCE, text)
    assert result.value is None, result
    assert result.note


@pytest.mark.parametrize(
    "text",
    [
        "I turned 80 degrees to the left during the walk. I cannot see the bed.", "The camera rotated 80 degrees.",
        "Answer: I turned 80 degrees to the left.", "The field of view is 80 degrees. The bed is at its edge.",
        "20 degrees left of the wardrobe", "20° further left than the wardrobe", "10 degrees right of directly behind",
        "80 degrees to the left or right", "80 degrees to my 3 o'clock", "-π/2 radians", "sqrt(80) degrees",
        "The angle to the lamp is 20 degrees. The angle to the bed is 80 degrees.",
    ],
)  # fmt: skip
def test_angles_of_other_things_are_no_direction(text: str) -> None:
    result = parse_answer(ANGLE, text)
    assert result.value is None, result
    assert result.note


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20 deg left + 60 deg left = 80 deg left", 80),
        ("I turned 360 degrees in total; the direction of the bed is 80.", 80),
        ("The FOV is 60°, the bed is 80° left", 80),
        ("20 degrees. Actually, no, 80 degrees.", 80),
        ("80 degrees to the left of the viewing direction", 80),
        ("80 degrees left of straight ahead", 80),
        ("rotate 80 degrees counterclockwise", 80),
    ],
)
def test_an_angle_beside_other_angles_is_read(text: str, value: float) -> None:
    assert parse_answer(ANGLE, text).value == value


@pytest.mark.parametrize(
    "text",
    [
        "It is 3 m to the lamp and another 2 m to the bed, so 5 m", "Answer: I walked 8 m. The bed is 5 m away.",
        "The bed is 2 m wide and is about 5 m away.", "The bed is about 5 m away and is 2 m wide.",
        "The bed (2 m wide) is 5 m away", "Assuming a camera height of 1.5 m, the distance is 5 m.",
        "The distance to the lamp is 3 m. The distance from the lamp to the bed is 2 m. Total: 5 m.",
        "The lamp is 3 m away and the bed is 2 m from it. Sum 5 m.", "5 m, so more than 3",
    ],
)  # fmt: skip
def test_a_distance_beside_other_lengths_is_read(text: str) -> None:
    assert parse_answer(DISTANCE, text).value == 5.0
