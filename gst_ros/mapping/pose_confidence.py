"""How likely a located pose is right, from what speaks for it."""

from __future__ import annotations

import math
from collections.abc import Mapping

LEAST_FLOOR = 0.25
"""Any floor fits as well as this somewhere."""
_BIAS, _FIRST, _SUPPORT, _SPREAD, _FLOOR, _RIVAL = -6.9, 1.3, 0.45, 28.5, 15.0, -1.45
_LIMIT_M = 1.0
_OPTIMISM = 3.0  # errors along what is known badly are so much larger than computed


def worth_of(first: float, floor: float, floor_rival: float) -> float:
    """How much speaks for a pose, to compare it with others.

    Args:
        first: Support of the matches of keyframes.
        floor: How well the floor fits.
        floor_rival: How well it fits elsewhere at best: tiles fit in many places.
    """
    return 2.0 * math.log1p(max(first, 0.0)) + 6.0 * _distinct(floor, floor_rival)


def _distinct(floor: float, floor_rival: float) -> float:
    return max(floor - max(floor_rival, LEAST_FLOOR), 0.0)


def confidence_of(evidence: Mapping[str, float]) -> float:
    """How likely a pose is right (within 1 m and 15 degrees).

    A logistic function fitted to query views of generated places. Its terms: support of the matches, before and after
    landmarks were looked for; how widely the agreeing features lie over the picture (equal windows agree in one corner
    only); how well the floor fits; the worth of the best pose elsewhere, relative to this one's. Where the matches do
    not tell a place to a metre, they cannot make one sure.
    """
    score = _BIAS
    score += _FIRST * math.log1p(max(evidence["first"], 0.0)) + _SUPPORT * math.log1p(max(evidence["support"], 0.0))
    score += _SPREAD * min(evidence["spread"], 0.2) + _FLOOR * _distinct(evidence["floor"], evidence["floor_rival"])
    score += _RIVAL * min(evidence["rival"], 3.0)
    right = 1 / (1 + math.exp(-min(max(score, -30.0), 30.0)))
    told = 1 - math.exp(-0.5 * (_LIMIT_M / (_OPTIMISM * max(evidence["std_m"], 1e-6))) ** 2)
    return float(right * told)
