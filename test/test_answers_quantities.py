from __future__ import annotations

import pytest

from gst_ros.bench.answers import parse_answer
from gst_ros.bench.metrics import ScoringConfig
from gst_ros.bench.tasks import TASKS

ANGLE = TASKS["ed_v"]
DISTANCE = TASKS["edist_s"]


@pytest.mark.parametrize(
    "text",
    [
        # every dash that models write for a minus
        "-134", "\u2013134", "\u2212134", "\u2010134", "\u2011134", "\u2012134", "\ufe63134", "\uff0d134", "\u2014134",
        "\u2013 134", "- 134", "Answer: \u2013 134", "The answer is - 134", "&minus;134",
        # degree signs, units, markup, scripts
        "-134°", "-134º", "-134 ˚", "-134 degrees", "-134degrees", "-134 deg.", "-134.0", "-134.", "(-134)", "'-134'",
        '"-134"',
        "[-134]", "**-134**", "`-134`", "$-134^\\circ$", "$-134^{\\circ}$", "\\boxed{-134}", "\\boxed{-134^\\circ}",
        "~ -134", "≈-134°",
        "=> -134", "−\uff11\uff13\uff14°", "-\u0661\u0663\u0664", "1. -134",
        # words
        "minus 134", "negative 134 degrees", "minus one hundred and thirty-four",
        "minus one hundred thirty four degrees",
        # sides
        "134 degrees to the right", "134° right", "134 degrees clockwise", "turn right by 134 degrees", "right 134°",
        "134° to your right", "-134 (to the right)", "-134°, to the right", "134 degrees clockwise (i.e., -134)",
        "about 134 degrees (right)",
        # markers, labels, prose
        "Answer: -134", "<answer>\u2013134°</answer>", '{"angle": -134}', '{"answer": "-134"}', "Angle = -134",
        "θ = -134°",
        "Direction: -134", "The angle is -134 degrees.", "about -134", "I would estimate -134.",
        "-134 because it is behind me",
        "-134\n\nThe sofa at 90° is closer.", "-134\n-134", "180 - 314 = -134", "-180 + 46 = -134", "about -134° ± 5°",
        "Based on the video, the armchair is behind me to the right. The angle would be approximately -134 degrees.",
        "The object is 134 degrees to the right. Answer: -134",
        "It is about 134 degrees to my right, so the answer is -134.",
        "The prompt asks for an integer between –180° and 180°. I'd answer -134.",
        "Taking my viewing direction as 0°, the object is at -134°.", "I can't be precise: it is about -134 degrees",
        "The object is between 120 and 150 degrees to the right.\n-134", "<think>90? -90?</think>-134",
        "-120. Wait, actually it is further: the angle is -134.",
    ],
)  # fmt: skip
def test_angle_is_read(text: str) -> None:
    result = parse_answer(ANGLE, text)
    assert (result.value, result.status) == (-134.0, "parsed"), result
    assert result.matched


@pytest.mark.parametrize(
    ("text", "value", "note"),
    [
        ("270", -90, "wrapped"),
        ("-270", 90, "wrapped"),
        ("200 to the right", 160, "wrapped"),
        ("360", 0, "wrapped"),
        ("180", 180, ""),
        ("-180", -180, ""),
        ("-0", 0, ""),
        ("+45", 45, ""),
        ("plus 45", 45, ""),
        ("90 degrees to the left", 90, ""),
        ("to your left at about 45°", 45, ""),
        ("45 degrees counter-clockwise", 45, ""),
        ("twenty degrees to the left", 20, ""),
        ("behind me, i.e. 180", 180, ""),
        ("straight ahead, 0°", 0, ""),
        ("12,5", 12.5, ""),
        ("1.57 radians", 89.954373835539, "radians"),
        ("The armchair is 5 meters away at 30 degrees.", 30, ""),
        ("one of the objects is at 30 degrees", 30, ""),
        ("45°C is warm. 30", 30, ""),
    ],
)
def test_angle_conventions(text: str, value: float, note: str) -> None:
    result = parse_answer(ANGLE, text)
    assert result.value == pytest.approx(value), result
    assert note in result.note and bool(note) == bool(result.note)


@pytest.mark.parametrize(
    "text",
    [
        "North-east", "NE", "south", "straight ahead", "behind", "directly behind me", "Left", "slightly to the left",
        "3 o'clock",
        "between –180° and 180°", "an integer between -180 and 180", "[-180, 180]", "4 chairs", "It is 3 m away",
        "1000", "361",
        "π/2", "0.5π", "pi/4", "-134/2", "0x12", "12:30", "L45", "The object is in frame 120.", "scene_16",
        "video3.mp4", "45%",
        "The angle cannot be determined.", "It's impossible to say; maybe 90", "I can't tell", "-134" * 30, "9" * 400,
    ],
)  # fmt: skip
def test_no_angle(text: str) -> None:
    result = parse_answer(ANGLE, text)
    assert result.value is None, result
    assert result.note


@pytest.mark.parametrize(
    "text",
    [
        "-90 degrees to the right", "+90 to the right", "-90 to the left", "Answer: -134 degrees to the right", "±180",
        "angle - 134",
        "around 30-45°", "30\u201345", "Between 30 and 45 degrees to the left", "-134 or -120", "-134 to -130",
        "[-134, 120]", "-134\n120",
        "more than 90 degrees to the left", "at least 90", "less than 45", "45° north-east", "NE (45°)",
        "It's not 90 degrees.",
        "I turn 90 degrees left, then 45 degrees left.",
    ],
)  # fmt: skip
def test_ambiguous_angles(text: str) -> None:
    result = parse_answer(ANGLE, text)
    assert (result.value, result.status) == (None, "ambiguous"), result
    assert result.note and result.matched


def test_sense_of_orientation_answers_is_a_setting() -> None:
    task = TASKS["orientation"]
    clockwise = ScoringConfig(orientation_sense="right")
    assert parse_answer(task, "90 degrees clockwise").value == -90.0
    assert parse_answer(task, "90 degrees clockwise", config=clockwise).value == 90.0
    assert parse_answer(task, "90", config=clockwise).value == 90.0
    # The egocentric direction is left positive by its prompt.
    assert parse_answer(ANGLE, "90 degrees to the right", config=clockwise).value == -90.0


@pytest.mark.parametrize(
    "text",
    [
        "13.2", "13.20", "13,2", "13.2 m", "13.2m", "13.2 M.", "13.2 meters", "13.2 metres", "13.2\u00a0m",
        "13.2-meter", "13.2米",
        "\uff11\uff13\uff0e\uff12", "\u0661\u0663.\u0662", "**13.2**", "*13.2 m*", "`13.2`", "\\boxed{13.2\\text{ m}}",
        "\\boxed{13.2} m",
        "$13.2$", "<13.2>", "[13.2]", "- 13.2", "~13.2", "≈ 13.2 m", "approximately 13.2", "13.2 meters away",
        "13.2 ± 0.5 m",
        "thirteen point two", "thirteen point two metres", "13 point 2", "1320 cm", "13200 mm",
        # a conversion in brackets, or beside it
        "13.2 m (approx 43 ft)", "43 ft (13.2 m)", "13.2 m / 43.3 ft", "13.2m/43ft", "13.2 m, or about 43 ft",
        "13.2 m (range 12-14 m)",
        # markers, labels, prose
        "Answer: 13.2", "Answer: 13.2 m (43 feet). The sofa is 2 m wide", "The answer is 13.2, not 14",
        "<answer>13.2</answer>",
        '{"distance_m": "13.2"}', '{"reasoning": "walked 4 m", "distance": 13.2}', "Distance: 13.2", "distance ≈ 13.2m",
        "距离是13.2米", "The distance is about 13.2 meters.", "13.2 meters. The sofa is 2 m wide.",
        "13.2 m because 10 m + 3.2 m",
        "The sofa is 2 m wide. The distance is 13.2 m.", "I see 3 chairs. The distance is about 13.2 meters from me.",
        "10 + 3.2 = 13.2 m", "√(12² + 5.5²) ≈ 13.2", "45 degrees, 13.2 meters", "frame 120: 13.2 m",
        "3 to 4 steps, 13.2 m",
        "At 12 s, the chair is 13.2 m away", "At 0:35 it is seen. 13.2", "about 10-15 meters\n13.2",
        "The object is 5 m away. No wait, actually it is 13.2 m away.", "The target is not visible. 13.2",
        "The room is 10 m long. It is 4 m from the door, I am 9.2 m from the door, so the total distance is 13.2 m.",
    ],
)  # fmt: skip
def test_distance_is_read(text: str) -> None:
    result = parse_answer(DISTANCE, text)
    assert (result.value, result.status) == (13.2, "parsed"), result
    assert result.matched


@pytest.mark.parametrize(
    ("text", "value", "note"),
    [
        ("twelve metres", 12, ""),
        ("Twelve", 12, ""),
        ("one hundred and one metres", 101, ""),
        ("two thousand three hundred", 2300, ""),
        ("a hundred meters", 100, ""),
        ("two and a half metres", 2.5, ""),
        ("half a meter", 0.5, ""),
        ("13½ m", 13.5, ""),
        ("1,234.5", 1234.5, ""),
        ("1.234,5", 1234.5, ""),
        ("1\u202f234.5 m", 1234.5, ""),
        ("1,234", 1234, ""),
        ("12,345,678", 12345678, ""),
        ("0,234", 0.234, ""),
        (".5", 0.5, ""),
        ("5.", 5, ""),
        ("1.5e1", 15, ""),
        ("0", 0, ""),
        ("0.0 m", 0, ""),
        ("10 ft", 3.048, "ft"),
        ("5 feet 3 inches", 1.6002, "ft"),
        ("1 m 50 cm", 1.5, ""),
        ("2 yards", 1.8288, "yd"),
        ("1.5 km", 1500, "km"),
        ("60 inches", 1.524, "in"),
        ("5 (five) meters", 5, ""),
        ("the one on the left is 3 m away", 3, ""),
    ],
)
def test_numbers_and_units(text: str, value: float, note: str) -> None:
    result = parse_answer(DISTANCE, text)
    assert result.value == pytest.approx(value, abs=1e-12), result
    assert note in result.note and bool(note) == bool(result.note)


@pytest.mark.parametrize(
    "text",
    [
        "a few meters", "a couple of meters", "not far", "Yes", "I see 3 chairs.", "2 rooms away", "two rooms away",
        "12 s", "3 steps",
        "50%", "13.2 m²", "13.2 m^2", "5 m/s", "1/2", "16'4\"", "1.2.3", "1,23,456", "1 234.5", "1e400", "nan", "inf",
        "-inf", "9" * 60,
        "one three four", "that one", "video1.mp4", "Room 12", "-3", "minus 5", "-13.2 m", "Answer: -3 m",
        "10 degrees", "30°",
        "I don't know", "null", "None", "I do not have enough information to answer, but 5 m",
        "I cannot determine the distance; it is at least 5 m",
    ],
)  # fmt: skip
def test_no_distance(text: str) -> None:
    result = parse_answer(DISTANCE, text)
    assert (result.value, result.status) == (None, "unparsed"), result
    assert result.note


@pytest.mark.parametrize(
    "text",
    [
        "about 10-15 meters", "10\u201315", "10 - 15 m", "10 to 15 meters", "between 5 and 7 m", "from 3 to 4 meters",
        "3m-4m",
        "roughly 3m to 4m", "3 ~ 4 m", "ten to fifteen metres", "13 or 14 m", "5 meters or 6 meters", "[13.2, 4]",
        "13.2 m\n14.0 m", "5..2",
        "Answer: about 10-15 meters", "The answer is 5 or 6 m", "13.2 m (or 15 m)",
        "more than 10 m", "at least 5 meters", "less than 5 m", "within 5 meters", "up to 5 m", ">5", "< 5 m", "10+ m",
        "Answer: not 5",
        "2 x 3 m", "The room is 5 m by 4 m.", "3 m + 2 m", "The distance is 3.4m and 5.6m",
        "The room is 10 m long. I walked 4 m.",
    ],
)  # fmt: skip
def test_ambiguous_distances(text: str) -> None:
    result = parse_answer(DISTANCE, text)
    assert (result.value, result.status) == (None, "ambiguous"), result
    assert result.note and result.matched
