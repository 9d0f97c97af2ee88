"""The benchmark's metrics, each a number from 0 to 1 for one answer.

Source: the paper (arXiv 2608.05747). Every comparison is strict, as there.

- Acc: the exact letter.
- mAcc for angles: mean over {15, 30, 45} degrees of "circular error < threshold".
- mAcc for points: mean over {100, 150, 200, 250, 300} of "Euclidean error < threshold". The unit is taken to be
  the [0, 999] grid of prompts and answers; the paper's notes say pixels.
- MRA: mean over theta in {0.50, 0.55, ..., 0.95} of "|pred - gt| < (1 - theta) * gt", in decimal arithmetic, so that
  binary rounding never decides a tie.

An answer that could not be parsed scores 0; it is counted apart by whoever sums up.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gst_ros.bench.tasks import Task
from gst_ros.config import Settings, setting
from gst_ros.errors import ConfigError, QuestionError

if TYPE_CHECKING:
    from gst_ros.bench.answers import AnswerValue, ParsedAnswer

_DEFAULT_THETAS = (0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95)

# Room for any two doubles that a distance may be, side by side, without rounding.
_EXACT = decimal.Context(prec=700)

# Image directions as counter-clockwise degrees from "up", seen on the image.
_ZERO_FROM_UP_DEG = {"up": 0.0, "left": 90.0, "down": 180.0, "right": -90.0}


@dataclass(frozen=True)
class ScoringConfig(Settings):
    """Thresholds and conventions of scoring."""

    angle_thresholds_deg: tuple[float, ...] = setting(
        (15.0, 30.0, 45.0), "Error thresholds of the angle accuracy.", unit="deg"
    )
    point_thresholds_999: tuple[float, ...] = setting(
        (100.0, 150.0, 200.0, 250.0, 300.0), "Error thresholds of the point accuracy.", unit="steps of the 0-999 grid"
    )
    mra_thetas: tuple[float, ...] = setting(
        _DEFAULT_THETAS, "Confidence levels theta of the mean relative accuracy (relative error < 1 - theta)."
    )
    orientation_zero: str = setting(
        "up", "Side of the top-down image that orientation 0 looks to.", choices=("up", "left", "down", "right")
    )
    orientation_sense: str = setting(
        "left", "Turn that counts as positive: left (counter-clockwise) or right.", choices=("left", "right")
    )
    bootstrap_samples: int = setting(1000, "Resamples for standard errors.", low=2, high=1_000_000)
    bootstrap_seed: int = setting(0, "Seed of the resamples.", low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_levels("angle_thresholds_deg", 0.0, 180.0)
        self._check_levels("point_thresholds_999", 0.0, 2000.0)
        self._check_levels("mra_thetas", 0.0, 1.0)

    def _check_levels(self, name: str, above: float, below: float) -> None:
        levels: tuple[float, ...] = getattr(self, name)
        if not levels or len(set(levels)) != len(levels) or not all(above < level < below for level in levels):
            raise ConfigError(
                f"{list(levels)} is not a list of different numbers between {above:g} and {below:g}", field=name
            )


def wrap_deg(angle_deg: float) -> float:
    """The same direction in (-180, 180]."""
    wrapped = math.remainder(angle_deg, 360.0)
    return 180.0 if wrapped == -180.0 else wrapped + 0.0  # + 0.0 turns -0.0 into 0.0


def circular_error_deg(a_deg: float, b_deg: float) -> float:
    """Smallest turn between two directions, 0 to 180 degrees (179 and -179 are 2 apart)."""
    return abs(math.remainder(a_deg - b_deg, 360.0))


def circular_mean_deg(angles_deg: Iterable[float]) -> float:
    """Mean direction in (-180, 180]: the direction of the sum of unit vectors (350 and 10 give 0).

    Args:
        angles_deg: Directions in degrees.

    Raises:
        ValueError: Nothing to average, or the directions cancel so that there is no mean direction.
    """
    angles = [math.radians(angle) for angle in angles_deg]
    if not angles:
        raise ValueError("no angles to average")
    x = math.fsum(math.cos(angle) for angle in angles)
    y = math.fsum(math.sin(angle) for angle in angles)
    if math.hypot(x, y) < 1e-9 * len(angles):
        raise ValueError("the angles cancel: they have no mean direction")
    return wrap_deg(round(math.degrees(math.atan2(y, x)), 9))


def orientation_from_image_direction_deg(dx: float, dy: float, config: ScoringConfig) -> float:
    """Orientation answer for a view direction on the top-down image.

    Args:
        dx: Component to the right on the image.
        dy: Component down on the image.
        config: Holds the zero direction and the positive sense.

    Returns:
        Degrees in (-180, 180].

    Raises:
        ValueError: The direction is zero.
    """
    if dx == 0.0 and dy == 0.0:
        raise ValueError("a zero vector has no direction")
    counter_clockwise_from_up = math.degrees(math.atan2(-dx, -dy))
    turn = counter_clockwise_from_up - _ZERO_FROM_UP_DEG[config.orientation_zero]
    return wrap_deg(turn if config.orientation_sense == "left" else -turn)


def image_direction_from_orientation(orientation_deg: float, config: ScoringConfig) -> tuple[float, float]:
    """Unit view direction ``(dx right, dy down)`` on the top-down image; the inverse of the function above."""
    turn = orientation_deg if config.orientation_sense == "left" else -orientation_deg
    from_up = math.radians(turn + _ZERO_FROM_UP_DEG[config.orientation_zero])
    return -math.sin(from_up), -math.cos(from_up)


def acc_score(pred: str, truth: str) -> float:
    """1 for the exact letter, else 0."""
    return 1.0 if pred == truth else 0.0


def angle_score(pred_deg: float, truth_deg: float, thresholds_deg: Sequence[float]) -> float:
    """Share of thresholds that the circular error stays below."""
    # Nine decimals: far below any answer's precision, far above the rounding of the subtraction.
    error = round(circular_error_deg(pred_deg, truth_deg), 9)
    return sum(error < threshold for threshold in thresholds_deg) / len(thresholds_deg)


def point_score(
    pred_999: tuple[float, float], truth_999: tuple[float, float], thresholds_999: Sequence[float]
) -> float:
    """Share of thresholds that the Euclidean error on the [0, 999] grid stays below."""
    # Squares of whole numbers are exact, so that an error of exactly 100 is not below 100.
    squared = (pred_999[0] - truth_999[0]) ** 2 + (pred_999[1] - truth_999[1]) ** 2
    return sum(squared < threshold * threshold for threshold in thresholds_999) / len(thresholds_999)


def mra_score(pred_m: float, truth_m: float, thetas: Sequence[float] = _DEFAULT_THETAS) -> float:
    """Mean relative accuracy: share of thetas with ``|pred - gt| < (1 - theta) * gt``.

    Args:
        pred_m: Predicted distance in metres.
        truth_m: True distance in metres, above 0.
        thetas: Levels between 0 and 1.

    Raises:
        QuestionError: The truth is not a positive finite number; a relative error needs one.
    """
    if not (math.isfinite(truth_m) and truth_m > 0.0):
        raise QuestionError(
            f"a relative error needs a true distance above 0, got {truth_m!r}",
            field="answer",
            remedy="correct the question's answer or leave the question out",
        )
    if not math.isfinite(pred_m):
        return 0.0
    truth = decimal.Decimal(repr(float(truth_m)))
    with decimal.localcontext(_EXACT):
        error = abs(decimal.Decimal(repr(float(pred_m))) - truth)
        hits = sum(error < (1 - decimal.Decimal(repr(float(theta)))) * truth for theta in thetas)
    return hits / len(thetas)


def score_answer(task: Task, parsed: ParsedAnswer, truth: AnswerValue, config: ScoringConfig) -> float:
    """Score one answer with its task's metric.

    Args:
        task: The question's task.
        parsed: What :func:`gst_ros.bench.answers.parse_answer` made of the answer.
        truth: What :func:`gst_ros.bench.answers.parse_truth` made of the question's answer.
        config: Thresholds.

    Returns:
        0 to 1; 0 for an answer that was not parsed.

    Raises:
        TypeError: Value or truth is not of the task's kind.
        QuestionError: The true distance is 0.
    """
    value = parsed.value
    if value is None:
        return 0.0
    if task.metric == "acc" and isinstance(value, str) and isinstance(truth, str):
        return acc_score(value, truth)
    if task.metric == "point" and isinstance(value, tuple) and isinstance(truth, tuple):
        return point_score(value, truth, config.point_thresholds_999)
    if isinstance(value, (int, float)) and isinstance(truth, (int, float)):
        if task.metric == "angle":
            return angle_score(value, truth, config.angle_thresholds_deg)
        if task.metric == "mra":
            return mra_score(value, truth, config.mra_thetas)
    raise TypeError(f"{task.key}: cannot compare {value!r} with {truth!r}")
