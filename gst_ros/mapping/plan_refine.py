"""Laying a map on a plan exactly: scale, rotation and translation together, from coarse to fine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.plan_images import PlanImage
from gst_ros.mapping.plan_search import Candidate, plan_fields, weighted_fields

Array = NDArray[np.float64]
Field = NDArray[np.float32]

_ROW = 256
_TURN_COST_PER_DEG2 = 0.003
"""The walls' directions in the map are known well; where a plan ties a turn loosely, they shall keep it."""


@dataclass(frozen=True)
class _Steps:
    """First steps of a search, and on how much blurred a plan it goes."""

    blur_m: float
    scale: float
    turn_rad: float
    shift_m: float
    most: int


_NEAR = _Steps(blur_m=0.15, scale=0.02, turn_rad=0.012, shift_m=0.12, most=90)
_FINE = _Steps(blur_m=0.05, scale=0.006, turn_rad=0.004, shift_m=0.05, most=150)


class Refiner:
    """Refines the places of one map on one plan.

    Args:
        grid: The map.
        plan: The plan.
        points: At most so many cells are used.
        occupied_weight: Weight of obstacles.
        coverage_weight: Weight of the share of the plan's free area that is covered.
    """

    def __init__(
        self, grid: OccupancyGrid, plan: PlanImage, points: int, occupied_weight: float, coverage_weight: float
    ) -> None:
        fields = weighted_fields(grid, plan, occupied_weight)
        rows, columns = np.nonzero(np.abs(fields).sum(axis=2) > 0)
        places = grid.point_of(np.stack([rows, columns], axis=1))
        self._middle = places.mean(axis=0)
        self._all = (places - self._middle).astype(np.float32)
        self._all_weights = fields[rows, columns]
        step = max(len(rows) // points, 1)
        # A stride that does not divide the rows leaves no stripes.
        chosen = np.random.default_rng(0).permutation(len(rows))[::step]
        self._points, self._weights = self._all[chosen], self._all_weights[chosen] * step
        self._free = (grid.point_of(np.argwhere(grid.free)) - self._middle).astype(np.float32)
        self._free_m2 = float(grid.free.sum()) * grid.resolution_m**2
        self._plan, self._fields = plan, plan_fields(plan)
        self._coverage_weight = coverage_weight

    def approached(self, candidate: Candidate) -> Candidate:
        """A better place near a candidate, found quickly, with a score of blurred pictures."""
        fields = self._blurred(_NEAR.blur_m / candidate.m_per_px)
        few = slice(0, max(len(self._points) // 4, 500))
        state = self._climbed(fields, self._state(candidate), _NEAR, few)
        weights = self._weights[few] * (len(self._weights) / len(self._weights[few]))
        return self._candidate(state, self._agreement(fields, state, self._points[few], weights))

    def refined(self, candidate: Candidate) -> Candidate:
        """The best place near a candidate."""
        fields = self._blurred(_FINE.blur_m / candidate.m_per_px)
        state = self._climbed(fields, self._state(candidate), _FINE, slice(None))
        placed = self._candidate(state, 0.0)
        agreement, coverage = self.parts(placed)
        return Candidate(
            placed.m_per_px, placed.yaw_rad, placed.x_m, placed.y_m, agreement + self._coverage_weight * coverage
        )

    def parts(self, candidate: Candidate) -> tuple[float, float]:
        """Agreement (-1 to 1), and the share of the plan's free area that the map's free floor covers."""
        state = self._state(candidate)
        agreement = self._agreement(self._blurred(0.02 / candidate.m_per_px), state, self._all, self._all_weights)
        values = self._sampled(self._fields[:, :, :1], state, self._free)[:, 0]
        covered_m2 = self._free_m2 * float((values + 1).mean()) / 2
        plan_m2 = float(self._plan.free.sum()) * candidate.m_per_px**2
        return agreement, covered_m2 / plan_m2

    def _climbed(self, fields: NDArray[np.float32], state: Array, steps: _Steps, part: slice) -> Array:
        points, weights = self._points[part], self._weights[part]

        def cost(x: Array) -> float:
            turned_deg = np.degrees(x[1] - state[1])
            return _TURN_COST_PER_DEG2 * float(turned_deg) ** 2 - self._agreement(fields, x, points, weights)

        shifts = np.diag([steps.scale, steps.turn_rad, steps.shift_m, steps.shift_m])
        options: Any = {
            "initial_simplex": np.vstack([state, state + shifts]),
            "maxfev": steps.most,
            "xatol": 1e-4,
            "fatol": 1e-5,
        }
        return np.asarray(minimize(cost, state, method="Nelder-Mead", options=options).x)

    def _blurred(self, sigma_px: float) -> NDArray[np.float32]:
        if sigma_px < 0.3:
            return self._fields
        image = cv2.GaussianBlur(self._fields, (0, 0), sigma_px)
        return np.asarray(image.reshape(self._fields.shape), dtype=np.float32)

    def _agreement(
        self, fields: NDArray[np.float32], state: Array, points: Field, weights: NDArray[np.float32]
    ) -> float:
        return float((self._sampled(fields, state, points) * weights).sum())

    def _sampled(self, fields: NDArray[np.float32], state: Array, points: Field) -> NDArray[np.float32]:
        """The plan's fields at points, given from the map's middle: N x K."""
        m_per_px, cos, sin = np.exp(state[0]), np.cos(state[1]), np.sin(state[1])
        turn = (np.array([[cos, -sin], [-sin, -cos]]) / m_per_px).astype(np.float32)
        offset = (np.array([state[2], -state[3]]) / m_per_px - 0.5).astype(np.float32)
        x, y = turn @ points.T + offset[:, None]
        border = np.zeros(fields.shape[2])
        border[0] = -1.0
        maps = []
        for coordinate in (x, y):  # cv2.remap takes no images higher than 32767
            padded = np.zeros(-(-len(points) // _ROW) * _ROW, np.float32)
            padded[: len(points)] = coordinate
            maps.append(padded.reshape(-1, _ROW))
        value = cv2.remap(
            fields,
            maps[0],
            maps[1],
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_CONSTANT,
            borderValue=[float(v) for v in border],
        )
        return np.asarray(value.reshape(maps[0].size, -1)[: len(points)], dtype=np.float32)

    def _state(self, candidate: Candidate) -> Array:
        """(log metres per pixel, yaw, x, y of the map's middle), which depend little on each other."""
        cos, sin = np.cos(candidate.yaw_rad), np.sin(candidate.yaw_rad)
        middle = np.array([[cos, -sin], [sin, cos]]) @ self._middle + (candidate.x_m, candidate.y_m)
        return np.array([np.log(candidate.m_per_px), candidate.yaw_rad, *middle])

    def _candidate(self, state: Array, score: float) -> Candidate:
        cos, sin = np.cos(state[1]), np.sin(state[1])
        shift = state[2:] - np.array([[cos, -sin], [sin, cos]]) @ self._middle
        return Candidate(float(np.exp(state[0])), float(state[1]), float(shift[0]), float(shift[1]), score)
