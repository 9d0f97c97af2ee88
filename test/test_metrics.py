from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gst_ros.bench.answers import ParsedAnswer, parse_answer, parse_truth
from gst_ros.bench.metrics import (
    ScoringConfig,
    acc_score,
    angle_score,
    circular_error_deg,
    circular_mean_deg,
    image_direction_from_orientation,
    mra_score,
    orientation_from_image_direction_deg,
    point_score,
    score_answer,
    wrap_deg,
)
from gst_ros.bench.tasks import TASKS
from gst_ros.errors import ConfigError, QuestionError

CONFIG = ScoringConfig()
ANGLES = CONFIG.angle_thresholds_deg
POINTS = CONFIG.point_thresholds_999
degrees = st.integers(-180, 180)


def test_acc_is_the_exact_letter() -> None:
    assert acc_score("B", "B") == 1.0
    assert acc_score("B", "C") == 0.0


@pytest.mark.parametrize(
    ("a", "b", "error"), [(179, -179, 2), (-179, 179, 2), (180, -180, 0), (0, 180, 180), (350, 10, 20), (-134, 134, 92)]
)
def test_circular_error(a: float, b: float, error: float) -> None:
    assert circular_error_deg(a, b) == error


@given(degrees, degrees, st.integers(-3, 3))
def test_circular_error_is_symmetric_periodic_and_at_most_a_half_turn(a: int, b: int, turns: int) -> None:
    error = circular_error_deg(a, b)
    assert 0 <= error <= 180
    assert error == circular_error_deg(b, a) == circular_error_deg(a + 360 * turns, b)
    assert error == min((a - b) % 360, (b - a) % 360)


@pytest.mark.parametrize(
    ("error", "score"), [(0, 1), (14, 1), (15, 2 / 3), (29, 2 / 3), (30, 1 / 3), (44, 1 / 3), (45, 0), (180, 0)]
)
def test_angle_thresholds_are_strict(error: float, score: float) -> None:
    for truth in (0.0, 100.0, 179.0, -180.0):
        for sign in (1, -1):
            assert angle_score(wrap_deg(truth + sign * error), truth, ANGLES) == pytest.approx(score)


def test_angle_ties_are_not_decided_by_binary_rounding() -> None:
    ties = [((tenths + 150) / 10, tenths / 10) for tenths in range(-1000, 1000)]
    assert any(pred - truth < 15.0 for pred, truth in ties)  # what a plain subtraction makes of some of them
    for pred, truth in ties:
        assert angle_score(pred, truth, (15.0,)) == angle_score(truth, pred, (15.0,)) == 0.0


@pytest.mark.parametrize(
    ("pred", "score"),
    [
        ((500, 500), 1.0),
        ((599, 500), 1.0),
        ((600, 500), 0.8),
        ((560, 580), 0.8),  # 60, 80: an error of exactly 100
        ((500, 649), 0.8),
        ((500, 650), 0.6),
        ((500, 700), 0.4),
        ((500, 750), 0.2),
        ((500, 799), 0.2),
        ((500, 800), 0.0),
        ((680, 740), 0.0),  # 180, 240: exactly 300
    ],
)
def test_point_thresholds_are_strict(pred: tuple[float, float], score: float) -> None:
    assert point_score(pred, (500.0, 500.0), POINTS) == pytest.approx(score)


@pytest.mark.parametrize(
    ("pred", "truth", "hits"),
    [
        (10.0, 10.0, 10),
        (10.4, 10.0, 10),
        (10.5, 10.0, 9),  # relative error exactly 0.05 is not below 0.05
        (9.5, 10.0, 9),
        (11.0, 10.0, 8),
        (11.5, 10.0, 7),
        (8.5, 10.0, 7),
        (14.9, 10.0, 1),
        (15.0, 10.0, 0),
        (5.0, 10.0, 0),
        (0.0, 10.0, 0),
        (100.0, 10.0, 0),
        (6.6, 13.2, 0),
        (0.9, 1.0, 8),
        (3.3, 3.0, 8),
        (0.42, 0.3, 2),
    ],
)
def test_mra_in_decimal_arithmetic(pred: float, truth: float, hits: int) -> None:
    assert mra_score(pred, truth) == hits / 10


@given(st.integers(1, 999), st.integers(0, 3000))
def test_mra_equals_whole_number_arithmetic(truth_dm: int, pred_dm: int) -> None:
    # In decimetres and twentieths everything is a whole number: no rounding at all.
    hits = sum(20 * abs(pred_dm - truth_dm) < (20 - twentieths) * truth_dm for twentieths in range(10, 20))
    assert mra_score(pred_dm / 10, truth_dm / 10) == hits / 10


def test_naive_float_mra_would_differ() -> None:
    # The guard above is worth its cost: plain floats decide some of these ties wrongly.
    def naive(pred: float, truth: float) -> float:
        return sum(abs(pred - truth) / truth < 1 - theta for theta in CONFIG.mra_thetas) / 10

    ties = [(truth * (20 + k) / 200, truth / 10) for truth in range(1, 200) for k in range(1, 10)]
    ties = [(round(p, 3), t) for p, t in ties]
    assert any(naive(p, t) != mra_score(p, t) for p, t in ties)


@pytest.mark.parametrize("truth", [0.0, -0.0, -3.0, math.nan, math.inf])
def test_mra_refuses_a_truth_that_is_not_positive(truth: float) -> None:
    with pytest.raises(QuestionError, match="above 0") as caught:
        mra_score(1.0, truth)
    assert caught.value.field == "answer"


def test_mra_of_huge_and_tiny_numbers() -> None:
    assert mra_score(1e308, 1e-308) == 0.0
    assert mra_score(math.inf, 1.0) == 0.0
    assert mra_score(1e-308, 1e-308) == 1.0


@pytest.mark.parametrize(
    ("angles", "mean"), [([350, 10], 0), ([10], 10), ([-170, 170], 180), ([0, 90], 45), ([-90, -90], -90), ([720], 0)]
)
def test_circular_mean(angles: list[float], mean: float) -> None:
    result = circular_mean_deg(angles)
    assert result == pytest.approx(mean, abs=1e-9)
    assert math.copysign(1, result) == 1 or result < 0


@pytest.mark.parametrize("angles", [[], [0, 180], [0, 120, 240]])
def test_circular_mean_without_a_direction(angles: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no (angles|mean direction)|cancel"):
        circular_mean_deg(angles)


@given(st.lists(st.integers(-40, 40), min_size=1, max_size=9), degrees)
def test_circular_mean_turns_with_its_angles(angles: list[int], turn: int) -> None:
    still = circular_mean_deg(angles)
    assert circular_error_deg(circular_mean_deg([a + turn for a in angles]), still + turn) < 1e-6


@pytest.mark.parametrize(
    ("zero", "sense", "right", "up", "left", "down"),
    [
        ("up", "left", -90, 0, 90, 180),
        ("up", "right", 90, 0, -90, 180),
        ("right", "left", 0, 90, 180, -90),
        ("right", "right", 0, -90, 180, 90),
        ("down", "left", 90, 180, -90, 0),
        ("left", "left", 180, -90, 0, 90),
    ],
)
def test_orientation_conventions(zero: str, sense: str, right: int, up: int, left: int, down: int) -> None:
    config = ScoringConfig(orientation_zero=zero, orientation_sense=sense)
    directions = {(1, 0): right, (0, -1): up, (-1, 0): left, (0, 1): down}
    for (dx, dy), expected in directions.items():
        angle = orientation_from_image_direction_deg(dx, dy, config)
        assert circular_error_deg(angle, expected) < 1e-9
        assert image_direction_from_orientation(angle, config) == pytest.approx((dx, dy), abs=1e-9)
    with pytest.raises(ValueError, match="no direction"):
        orientation_from_image_direction_deg(0.0, 0.0, config)


def test_default_convention_is_zero_up_left_positive() -> None:
    assert (CONFIG.orientation_zero, CONFIG.orientation_sense) == ("up", "left")


def test_score_answer_dispatches_and_gives_unparsed_nothing() -> None:
    assert score_answer(TASKS["tds_hard"], parse_answer(TASKS["tds_hard"], "(c)"), "C", CONFIG) == 1.0
    assert score_answer(TASKS["ed_v"], parse_answer(TASKS["ed_v"], "-120"), -134.0, CONFIG) == 1.0
    assert score_answer(TASKS["ed_v"], parse_answer(TASKS["ed_v"], "179"), -179.0, CONFIG) == 1.0
    assert score_answer(TASKS["gp_s"], parse_answer(TASKS["gp_s"], "(323, 392)"), (323.0, 292.0), CONFIG) == 0.8
    assert score_answer(TASKS["edist_s"], parse_answer(TASKS["edist_s"], "13.2 m"), 13.2, CONFIG) == 1.0
    # "I can't tell" on a truth of (0, 0) or 0 degrees is no hit.
    for key, truth in (("gp_v", (0.0, 0.0)), ("ed_v", 0.0), ("edist_v", 1.0), ("tds_easy", "A")):
        refused = parse_answer(TASKS[key], "I can't tell")
        assert refused.value is None
        assert score_answer(TASKS[key], refused, truth, CONFIG) == 0.0


def test_score_answer_refuses_mixed_kinds() -> None:
    with pytest.raises(TypeError, match="cannot compare"):
        score_answer(TASKS["ed_v"], ParsedAnswer("B", "B", "parsed"), 3.0, CONFIG)
    with pytest.raises(TypeError, match="cannot compare"):
        score_answer(TASKS["tds_easy"], ParsedAnswer(3.0, "3", "parsed"), "B", CONFIG)


def test_config_carries_the_published_thresholds_and_refuses_nonsense() -> None:
    assert ANGLES == (15.0, 30.0, 45.0)
    assert POINTS == (100.0, 150.0, 200.0, 250.0, 300.0)
    assert CONFIG.mra_thetas == (0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95)
    assert ScoringConfig.from_mapping({"angle_thresholds_deg": [10, 20]}).angle_thresholds_deg == (10.0, 20.0)
    for bad in ({"angle_thresholds_deg": []}, {"angle_thresholds_deg": [15, 15]}, {"mra_thetas": [1.0]},
                {"mra_thetas": [50]}, {"point_thresholds_999": [-1]}, {"bootstrap_samples": 0},
                {"orientation_zero": "north"}, {"angle_threshold_deg": [15]}):  # fmt: skip
        with pytest.raises(ConfigError):
            ScoringConfig.from_mapping(bad)


def test_chance_of_angles_is_one_sixth() -> None:
    # Analytically: an error below t covers 2t/360 of the circle.
    chance = 100 * sum(2 * t / 360 for t in ANGLES) / len(ANGLES)
    assert chance == pytest.approx(16.67, abs=0.005)
    assert TASKS["ed_v"].chance_percent == TASKS["orientation"].chance_percent == pytest.approx(chance)
    # By enumeration over whole degrees: 29, 59 and 89 of 360 are strictly inside.
    scores = [angle_score(pred, truth, ANGLES) for truth in (-134, 0, 180) for pred in range(-179, 181)]
    assert 100 * np.mean(scores) == pytest.approx(100 * (29 + 59 + 89) / 360 / 3)
    # By drawing real angles.
    rng = np.random.default_rng(0)
    pairs = rng.uniform(-180, 180, (20_000, 2))
    drawn = 100 * np.mean([angle_score(p, t, ANGLES) for p, t in pairs])
    assert drawn == pytest.approx(chance, abs=4 * 27 / math.sqrt(len(pairs)))


def test_chance_of_letters_is_a_quarter() -> None:
    pairs = [(p, t) for p in "ABCD" for t in "ABCD"]
    assert 100 * np.mean([acc_score(p, t) for p, t in pairs]) == 25.0
    assert {TASKS[key].chance_percent for key in ("tds_easy", "tds_medium", "tds_hard", "trajectory")} == {25.0}


def test_chance_of_points_is_what_the_note_says() -> None:
    # Distance of two uniform points in a unit square (side 999): P(d < r) = pi r^2 - 8/3 r^3 + r^4/2 for r <= 1.
    def below(r: float) -> float:
        return math.pi * r**2 - 8 / 3 * r**3 + r**4 / 2

    chance = 100 * sum(below(t / 999) for t in POINTS) / len(POINTS)
    assert f"{chance:.1f}" in TASKS["gp_v"].chance_note
    rng = np.random.default_rng(1)
    drawn = [point_score((p[0], p[1]), (p[2], p[3]), POINTS) for p in rng.uniform(0, 999, (20_000, 4)).tolist()]
    assert 100 * np.mean(drawn) == pytest.approx(chance, abs=4 * 27 / math.sqrt(20_000))


def test_truths_of_the_published_samples_score_full_marks_against_themselves() -> None:
    for key, raw in (("ed_v", "-134"), ("edist_v", 13.2), ("position", "<point>323 292</point>"), ("tds_easy", "C")):
        task = TASKS[key]
        assert score_answer(task, parse_answer(task, raw), parse_truth(task, raw), CONFIG) == 1.0
