"""Drawn paths of the same shape in different places: which one goes with what was seen round the walk."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import MapError
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.plan_images import PlanImage, read_plan
from gst_ros.mapping.plan_refine import Refiner
from gst_ros.mapping.plan_search import Candidate
from gst_ros.mapping.planar import wrap
from gst_ros.reasoning.paths import PathFit, PathRanking

_POINTS = 4000
_OCCUPIED_WEIGHT = 0.7
_MOST_WORSE = 1.6
_MOST_WORSE_M = 0.05
_LEAST_CELLS = 50
_MOST_RESCALED, _MOST_TURNED_RAD, _MOST_MOVED_M = 0.12, 0.12, 0.5
"""So far may the place be corrected: by more, it would be another place."""


def settled_by_plan(
    ranking: PathRanking, grid: OccupancyGrid, plans: Sequence[NDArray[np.uint8] | PlanImage | None]
) -> PathRanking:
    """Decide between paths that fit alike by how well the map then lies on the plan.

    Each fit says where the map lies on its plan. There the map's free floor and obstacles are compared with the
    plan's, after a small correction of the place.

    Args:
        ranking: What :func:`gst_ros.reasoning.paths.rank_paths` found.
        grid: The map of the walk, in the walk's frame.
        plans: The images that the paths are drawn on (RGB, with the paths), in the order of the drawings.

    Returns:
        The ranking with ``agreements``. Where only one path fits, where the map knows too little or an image is no
        plan, best and margin stay.
    """
    errors = np.array([np.inf if f is None else f.error_m for f in ranking.fits])
    least = errors[ranking.best]
    close = [int(k) for k in np.flatnonzero(errors <= max(_MOST_WORSE * least, least + _MOST_WORSE_M))]
    if len(close) < 2 or int(grid.free.sum()) < _LEAST_CELLS:
        return ranking
    agreements: list[float | None] = [None] * len(errors)
    for k in close:
        fit, image = ranking.fits[k], plans[k]
        if fit is None or image is None:
            return ranking
        try:
            plan = image if isinstance(image, PlanImage) else read_plan(image)
        except MapError:
            return ranking
        agreements[k] = agreement_at(fit, grid, plan)
    order = sorted(close, key=lambda k: -(agreements[k] or 0.0))
    first, second = agreements[order[0]] or 0.0, agreements[order[1]] or 0.0
    # What tells these apart from the others is still how well they fit.
    far = float(np.delete(errors, close).min(initial=np.inf))
    apart = 1.0 if not np.isfinite(far) else (far - errors[order[0]]) / far
    margin = float(np.clip(min(first - second, apart), 0.0, 1.0))
    return dataclasses.replace(ranking, best=order[0], margin=margin, agreements=tuple(agreements))


def agreement_at(fit: PathFit, grid: OccupancyGrid, plan: PlanImage) -> float:
    """How well a map lies on a plan where a fit puts it, -1 to 1; see :meth:`Refiner.parts`."""
    refiner = Refiner(grid, plan, _POINTS, _OCCUPIED_WEIGHT, 0.0)
    at_first = Candidate(fit.m_per_px, fit.yaw_rad, *fit.shift_m, 0.0)
    agreement = refiner.parts(at_first)[0]
    better = refiner.refined(at_first)
    rescaled = abs(math.log(better.m_per_px / fit.m_per_px))
    turned = abs(float(wrap(better.yaw_rad - fit.yaw_rad)))
    if rescaled > _MOST_RESCALED or turned > _MOST_TURNED_RAD or _moved_m(fit, better) > _MOST_MOVED_M:
        return agreement
    return max(agreement, better.score)


def _moved_m(fit: PathFit, place: Candidate) -> float:
    """How far the walk's start lies from the drawn one."""
    cos, sin = math.cos(place.yaw_rad), math.sin(place.yaw_rad)
    x, y = fit.walk_start_m
    column = (cos * x - sin * y + place.x_m) / place.m_per_px - 0.5
    row = -(sin * x + cos * y + place.y_m) / place.m_per_px - 0.5
    return math.hypot(column - fit.start_px[0], row - fit.start_px[1]) * place.m_per_px
