"""Where the map lies on a top-down image, whose scale is not known, and which of several images shows it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import MapError
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.manhattan import QUARTER_RAD, directions_of_grid
from gst_ros.mapping.plan_images import PlanImage, read_plan
from gst_ros.mapping.plan_refine import Refiner
from gst_ros.mapping.plan_search import Candidate, coarse_search
from gst_ros.mapping.planar import wrap

Array = NDArray[np.float64]

_THREADS = 2


@dataclass(frozen=True)
class PlanConfig(Settings):
    """How maps are laid on plans."""

    cells: int = setting(96, "The map is searched for at this many cells along its longer side.", low=24, high=400)
    scale_step: float = setting(0.04, "Step of the search between scales, relative.", above=0.0, high=0.2)
    most_scale: float = setting(3.0, "Greatest scale searched, relative to the least possible one.", above=1.0)
    coverage_weight: float = setting(0.4, "Weight of how much of the plan's free area was seen.", low=0.0)
    occupied_weight: float = setting(
        0.35, "Share of obstacles in the agreement; the rest is free floor.", low=0.0, high=1.0
    )
    refined: int = setting(6, "Candidates that are looked at more closely.", low=1)
    most_width_px: int = setting(800, "Wider images are shrunk by a whole factor for the search.", unit="px", low=64)
    finalists: int = setting(2, "Candidates that are refined to the end, besides the best one elsewhere.", low=1)
    points: int = setting(12000, "Cells of the map that a refinement uses.", low=500)


@dataclass(frozen=True)
class PlanRegistration:
    """A map on a top-down image.

    Attributes:
        width: Of the image, pixels.
        height: The same.
        m_per_px: Metres of the map per pixel of the image.
        yaw_rad: By how much ``map`` is turned counter-clockwise to lie on the image with its +x to the right.
        shift_m: (x, y) of the map's origin on the turned map, from the image's upper left corner, y up (so negative).
        score: How well the image agrees with the map; 1 is perfect.
        agreement: The part of it that says how far free floor and obstacles agree, -1 to 1.
        coverage: Share of the image's free area that was seen.
        margin: By how much ``score`` exceeds that of the best other place, scale or rotation.
        runner_up: That other registration's (m_per_px, yaw_rad, x, y, score), or None.
    """

    width: int
    height: int
    m_per_px: float
    yaw_rad: float
    shift_m: tuple[float, float]
    score: float
    agreement: float
    coverage: float
    margin: float = 0.0
    runner_up: tuple[float, float, float, float, float] | None = None

    @property
    def rotation_quarter(self) -> int:
        """The quarter turns (0 to 3) nearest to the rotation."""
        return round(self.yaw_rad / QUARTER_RAD) % 4

    @property
    def matrix(self) -> Array:
        """2 x 3 matrix from (x, y, 1) in ``map``, metres, to (column, row); the first pixel's centre is (0, 0)."""
        cos, sin = np.cos(self.yaw_rad), np.sin(self.yaw_rad)
        linear = np.array([[cos, -sin], [-sin, -cos]]) / self.m_per_px
        offset = np.array([self.shift_m[0], -self.shift_m[1]]) / self.m_per_px - 0.5
        return np.column_stack([linear, offset])

    def pixels_of(self, points_map: Array) -> Array:
        """N x 2 pixels (column, row) of N x 2 points in ``map``."""
        matrix = self.matrix
        return np.asarray(points_map @ matrix[:, :2].T + matrix[:, 2])

    def points_of(self, pixels: Array) -> Array:
        """N x 2 points in ``map`` of N x 2 pixels (column, row): the inverse of :meth:`pixels_of`."""
        matrix = self.matrix
        return np.asarray((pixels - matrix[:, 2]) @ np.linalg.inv(matrix[:, :2]).T)

    def points_999(self, points_map: Array) -> Array:
        """N x 2 points in ``map`` on the [0, 999] grid of the questions (x right, y down), not rounded.

        0 and 999 are the image's edges.
        """
        return np.asarray((self.pixels_of(points_map) + 0.5) * (999.0 / np.array([self.width, self.height])))

    def heading_deg(self, yaw_map_rad: float) -> float:
        """Direction on the image of a direction in ``map``: 0 is up, left is positive, in [-180, 180)."""
        return float(np.degrees(wrap(self.yaw_rad + yaw_map_rad - QUARTER_RAD)))


@dataclass(frozen=True)
class PlanRanking:
    """Which of several images shows the map.

    Attributes:
        best: Index of the image.
        registrations: One per image, in their order; None for images that cannot be read as a plan.
        margin: By how much the best score exceeds the second best.
    """

    best: int
    registrations: tuple[PlanRegistration | None, ...]
    margin: float


def register_plan(
    grid: OccupancyGrid, image: NDArray[np.uint8] | PlanImage, config: PlanConfig | None = None
) -> PlanRegistration:
    """Lay a map on a top-down image of the same place: turned, scaled and shifted, never mirrored.

    Args:
        grid: The map.
        image: H x W x 3, RGB, or what :func:`read_plan` made of it.
        config: See :class:`PlanConfig`.

    Raises:
        MapError: The map holds no free floor, or the image shows nothing.
    """
    return _register(grid, image, config or PlanConfig(), _walls_yaw(grid))


def _walls_yaw(grid: OccupancyGrid) -> float:
    if int(grid.free.sum()) < 50:
        raise MapError("the map holds too little free floor to be laid on a plan")
    return directions_of_grid(grid).yaw_rad


def _register(
    grid: OccupancyGrid, image: NDArray[np.uint8] | PlanImage, config: PlanConfig, yaw: float
) -> PlanRegistration:
    whole = image if isinstance(image, PlanImage) else read_plan(image)
    factor = max(-(-whole.width // config.most_width_px), 1)
    plan = whole.shrunk(factor)
    candidates = coarse_search(
        grid,
        plan,
        [-yaw + k * QUARTER_RAD for k in range(4)],
        cells=config.cells,
        scale_step=config.scale_step,
        most_scale=config.most_scale,
        coverage_weight=config.coverage_weight,
        occupied_weight=config.occupied_weight,
        most=config.refined,
    )
    refiner = Refiner(grid, plan, config.points, config.occupied_weight, config.coverage_weight)
    near = sorted((refiner.approached(c) for c in candidates), key=lambda c: -c.score)
    rival = next((c for c in near[1:] if _differs(near[0], c, plan.width)), None)
    finalists = [c for k, c in enumerate(near) if k < config.finalists or c is rival]
    found = sorted((refiner.refined(c) for c in finalists), key=lambda c: -c.score)
    return _registration(whole, factor, found, refiner)


def rank_plans(
    grid: OccupancyGrid, images: Sequence[NDArray[np.uint8] | PlanImage], config: PlanConfig | None = None
) -> PlanRanking:
    """Find the image that shows the map, among images of other places or ones that resemble each other.

    Args:
        grid: The map.
        images: H x W x 3, RGB, or what :func:`read_plan` made of them; at least one.
        config: See :class:`PlanConfig`.

    Raises:
        MapError: No image can be read as a plan.
    """
    config, yaw = config or PlanConfig(), _walls_yaw(grid)
    problems: list[MapError] = []

    def laid(image: NDArray[np.uint8] | PlanImage) -> PlanRegistration | None:
        try:
            return _register(grid, image, config, yaw)
        except MapError as error:
            problems.append(error)
            return None

    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(laid, images))
    if not any(found):
        raise problems[0] if problems else MapError("there are no plans to choose from")
    scores = [-np.inf if r is None else r.score for r in found]
    best = int(np.argmax(scores))
    others = [s for k, s in enumerate(scores) if k != best]
    margin = float(scores[best] - max(others)) if others and np.isfinite(max(others)) else float(scores[best])
    return PlanRanking(best, tuple(found), margin)


def _registration(plan: PlanImage, factor: int, found: Sequence[Candidate], refiner: Refiner) -> PlanRegistration:
    """The result, in pixels of the whole plan, of places found on one that was shrunk by a factor."""
    best = found[0]
    agreement, coverage = refiner.parts(best)
    rival = next((c for c in found[1:] if _differs(best, c, plan.width / factor)), None)
    return PlanRegistration(
        width=plan.width,
        height=plan.height,
        m_per_px=best.m_per_px / factor,
        yaw_rad=float(wrap(best.yaw_rad)),
        shift_m=(best.x_m, best.y_m),
        score=best.score,
        agreement=agreement,
        coverage=coverage,
        margin=best.score if rival is None else best.score - rival.score,
        runner_up=None
        if rival is None
        else (rival.m_per_px / factor, rival.yaw_rad, rival.x_m, rival.y_m, rival.score),
    )


def _differs(a: Candidate, b: Candidate, width_px: float) -> bool:
    """Whether two registrations put the map's cells elsewhere: by more than a fiftieth of the image's width."""
    if abs(float(wrap(a.yaw_rad - b.yaw_rad))) > 0.2 or abs(np.log(a.m_per_px / b.m_per_px)) > 0.05:
        return True
    return float(np.hypot(a.x_m / a.m_per_px - b.x_m / b.m_per_px, a.y_m / a.m_per_px - b.y_m / b.m_per_px)) > (
        width_px / 50
    )
