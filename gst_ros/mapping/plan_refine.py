"""Laying a map on a plan exactly: scale, rotation and translation together, from coarse to fine."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.plan_images import PlanImage
from gst_ros.mapping.plan_search import Candidate, plan_fields, weighted_fields

Array = NDArray[np.float64]

_ROW = 256
_BLURS_M = (0.15, 0.05)
_STEPS = ((0.02, 0.012, 0.12), (0.005, 0.004, 0.04))
"""Steps of a search at each blur: scale (relative), rotation (rad), translation (m)."""


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
        self._all = grid.point_of(np.stack([rows, columns], axis=1))
        self._all_weights = fields[rows, columns]
        step = max(len(rows) // points, 1)
        # A stride that does not divide the rows leaves no stripes.
        chosen = np.random.default_rng(0).permutation(len(rows))[::step]
        self._points, self._weights = self._all[chosen], self._all_weights[chosen] * step
        self._middle = self._all.mean(axis=0)
        self._free = grid.point_of(np.argwhere(grid.free))
        self._free_m2 = float(grid.free.sum()) * grid.resolution_m**2
        self._plan, self._fields = plan, plan_fields(plan)
        self._coverage_weight = coverage_weight

    def refined(self, candidate: Candidate) -> Candidate:
        """The best place near a candidate."""
        state = self._state(candidate)
        for blur_m, (scale, turn, shift) in zip(_BLURS_M, _STEPS, strict=True):
            fields = self._blurred(blur_m / candidate.m_per_px)
            state = self._climbed(fields, state, np.array([scale, turn, shift, shift]))
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

    def _climbed(self, fields: NDArray[np.float32], state: Array, steps: Array) -> Array:
        def cost(x: Any) -> float:
            return -self._agreement(fields, np.asarray(x), self._points, self._weights)

        options: Any = {
            "initial_simplex": np.vstack([state, state + np.diag(steps)]),
            "maxfev": 140,
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
        self, fields: NDArray[np.float32], state: Array, points: Array, weights: NDArray[np.float32]
    ) -> float:
        return float((self._sampled(fields, state, points) * weights).sum())

    def _sampled(self, fields: NDArray[np.float32], state: Array, points: Array) -> NDArray[np.float32]:
        """The plan's fields at points of the map: N x K."""
        m_per_px, cos, sin = np.exp(state[0]), np.cos(state[1]), np.sin(state[1])
        around = points - self._middle
        x = (cos * around[:, 0] - sin * around[:, 1] + state[2]) / m_per_px - 0.5
        y = (-sin * around[:, 0] - cos * around[:, 1] - state[3]) / m_per_px - 0.5
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
