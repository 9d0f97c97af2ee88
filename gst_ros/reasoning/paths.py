"""Which of several paths drawn on plans is the path that was walked.

A walk in metres is laid on each drawing: start on start, turned and scaled, never mirrored. How far it then lies from
the drawing is measured twice: along the way (both resampled by arc length), and between walk and line whatever the
order, which bears a drawing that was read in the wrong order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from gst_ros.mapping.planar import wrap
from gst_ros.reasoning.drawn_paths import DrawnPath, read_drawn_path

__all__ = ["DrawnPath", "PathFit", "PathRanking", "fit_path", "rank_paths", "read_drawn_path"]

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_SAMPLES = 64
_LEAST_WALK_M = 0.3
_MOST_INK = 160
_MOST_RESCALED = 1.5
_REFINED = 4
_LEAST_ERROR_M = 0.02
"""Added to both errors before they are multiplied, so that neither can hide the other by being 0."""


@dataclass(frozen=True)
class PathFit:
    """A walk laid on a drawn path.

    Attributes:
        error_m: Geometric mean of the two following (and 0.02), metres of the walk; the smaller, the likelier.
        along_m: Mean distance along the way.
        ink_m: Mean distance between walk and line whatever the order.
        m_per_px: Metres of the walk per pixel.
        yaw_rad: By how much ``map`` is turned counter-clockwise to lie on the image with its +x to the right.
        start_px: Where the walk starts on the image, (column, row).
        walk_start_m: Where it starts in ``map``.
    """

    error_m: float
    along_m: float
    ink_m: float
    m_per_px: float
    yaw_rad: float
    start_px: tuple[float, float]
    walk_start_m: tuple[float, float]

    @property
    def shift_m(self) -> tuple[float, float]:
        """(x, y) of the map's origin on the turned map, from the image's upper left corner, y up.

        The same as of :class:`gst_ros.mapping.plan_match.PlanRegistration`.
        """
        cos, sin = math.cos(self.yaw_rad), math.sin(self.yaw_rad)
        x, y = self.walk_start_m
        right = (self.start_px[0] + 0.5) * self.m_per_px - (cos * x - sin * y)
        up = -(self.start_px[1] + 0.5) * self.m_per_px - (sin * x + cos * y)
        return right, up


@dataclass(frozen=True)
class PathRanking:
    """Which drawing shows the walk.

    Attributes:
        best: Its index.
        fits: One per drawing, in their order; None where there is none.
        margin: 0 to 1: by how much the second best fits worse, relative to its error; 0 is a tie.
        agreements: Of drawings between which the map on the plan decided, how well it lies there (-1 to 1); see
            :func:`gst_ros.reasoning.path_places.settled_by_plan`.
    """

    best: int
    fits: tuple[PathFit | None, ...]
    margin: float
    agreements: tuple[float | None, ...] = ()


def rank_paths(
    walk_m: Array,
    candidates: Sequence[DrawnPath | None],
    *,
    yaws_rad: Sequence[float] | None = None,
    yaw_tolerance_rad: float = math.radians(6.0),
    m_per_px: float | None = None,
    scale_tolerance: float = 0.15,
) -> PathRanking:
    """Rank drawn paths by how well a walk fits on them.

    Args:
        walk_m: N x 2 positions in ``map``, metres, in the order walked.
        candidates: The drawings; None for one that could not be read.
        yaws_rad: The rotations to allow (:attr:`PathFit.yaw_rad`), such as the four Manhattan ones; None allows all.
        yaw_tolerance_rad: How far from these a rotation may be.
        m_per_px: The plans' scale, if it is known.
        scale_tolerance: How wrong it may be, relative.

    Raises:
        ValueError: There is nothing to rank: no drawing, or a walk without a length.
    """
    fits = [
        None if c is None else fit_path(walk_m, c, yaws_rad, yaw_tolerance_rad, m_per_px, scale_tolerance)
        for c in candidates
    ]
    errors = [math.inf if f is None else f.error_m for f in fits]
    if not errors or not math.isfinite(min(errors)):
        raise ValueError("there is no drawn path to choose")
    best = int(np.argmin(errors))
    second = min((e for k, e in enumerate(errors) if k != best), default=math.inf)
    margin = 1.0 if not math.isfinite(second) else float((second - errors[best]) / max(second, 1e-9))
    return PathRanking(best, tuple(fits), margin)


def fit_path(
    walk_m: Array,
    drawn: DrawnPath,
    yaws_rad: Sequence[float] | None = None,
    yaw_tolerance_rad: float = math.radians(6.0),
    m_per_px: float | None = None,
    scale_tolerance: float = 0.15,
) -> PathFit:
    """Lay a walk on a drawn path; see :func:`rank_paths` for the arguments.

    Raises:
        ValueError: The walk has no length.
    """
    walk = np.asarray(walk_m, np.float64)[:, :2]
    steps = np.linalg.norm(np.diff(walk, axis=0), axis=1)
    if len(walk) < 2 or not np.isfinite(walk).all() or steps.sum() < _LEAST_WALK_M:
        raise ValueError(f"a walk needs a length of {_LEAST_WALK_M} m or more")
    bounds = _Bounds(yaws_rad, yaw_tolerance_rad, m_per_px, scale_tolerance)
    points = resampled(walk, _SAMPLES)
    relative = _complex(points - points[0])
    ink = _Ink(relative, _complex((_thinned_out(drawn.ink_px, _MOST_INK) - drawn.start_px) * [1, -1]))
    ways = np.array([_complex((resampled(w, _SAMPLES) - drawn.start_px) * [1, -1]) for w in drawn.ways_px])
    turns = np.concatenate([*(bounds.nearest(relative, way) for way in ways), ink.search(bounds)])
    between = ink.errors_px(turns) / np.abs(turns)
    gaps = np.abs(turns[:, None, None] * relative - ways).mean(axis=2).min(axis=1) / np.abs(turns)
    errors = np.sqrt((between + _LEAST_ERROR_M) * (gaps + _LEAST_ERROR_M))
    best = int(np.argmin(errors))
    turn = complex(turns[best])
    return PathFit(
        error_m=float(errors[best]),
        along_m=float(gaps[best]),
        ink_m=float(between[best]),
        m_per_px=1.0 / abs(turn),
        yaw_rad=float(wrap(float(np.angle(turn)))),
        start_px=drawn.start_px,
        walk_start_m=(float(points[0, 0]), float(points[0, 1])),
    )


@dataclass(frozen=True)
class _Bounds:
    """Which similarities are allowed; a similarity is a complex factor in pixels per metre."""

    yaws_rad: Sequence[float] | None
    yaw_tolerance_rad: float
    m_per_px: float | None
    scale_tolerance: float

    def nearest(self, relative: Complex, target: Complex) -> Complex:
        """One factor per allowed rotation, that best lays a walk on a way.

        The best factor in the least-squares sense has a closed form; where the rotation is bounded, the best scale is
        a projection.
        """
        energy = float((np.abs(relative) ** 2).sum())
        free = complex((np.conj(relative) * target).sum()) / energy
        angles = np.array([np.angle(free)])
        if self.yaws_rad is not None:
            yaws = np.asarray(self.yaws_rad, np.float64)
            off = np.clip(wrap(np.angle(free) - yaws), -self.yaw_tolerance_rad, self.yaw_tolerance_rad)
            angles = yaws + off
        low, high = self.scales(math.sqrt(float((np.abs(target) ** 2).sum()) / energy))
        return np.asarray(np.clip((free * np.exp(-1j * angles)).real, low, high) * np.exp(1j * angles))

    def scales(self, usual: float) -> tuple[float, float]:
        """Least and greatest scale, pixels per metre; ``usual`` gives walk and drawing the same extent."""
        if self.m_per_px is None:
            return usual / _MOST_RESCALED, usual * _MOST_RESCALED
        return (1 - self.scale_tolerance) / self.m_per_px, (1 + self.scale_tolerance) / self.m_per_px

    def angles(self) -> Array:
        """Rotations to begin a search at."""
        if self.yaws_rad is None:
            return np.asarray(np.arange(36) * (math.pi / 18), np.float64)
        offsets = np.array([-0.8, 0.0, 0.8]) * self.yaw_tolerance_rad
        return np.asarray((np.asarray(self.yaws_rad, np.float64)[:, None] + offsets).ravel(), np.float64)

    def allows(self, turns: Complex, usual: float) -> NDArray[np.bool_]:
        """Which factors lie within the bounds."""
        low, high = self.scales(usual)
        good = (np.abs(turns) >= low * 0.999) & (np.abs(turns) <= high * 1.001)
        if self.yaws_rad is not None:
            off = np.abs(wrap(np.angle(turns)[:, None] - np.asarray(self.yaws_rad, np.float64)))
            good &= off.min(axis=1) <= self.yaw_tolerance_rad * 1.001
        return np.asarray(good)


class _Ink:
    """Distances between a walk and a line, in any order, under many similarities at once."""

    def __init__(self, relative: Complex, ink: Complex) -> None:
        self._walk, self._ink = relative, ink
        self._walk_tree, self._ink_tree = cKDTree(_plane(relative)), cKDTree(_plane(ink))
        energy = float((np.abs(relative) ** 2).mean())
        self._usual = math.sqrt(float((np.abs(ink) ** 2).mean()) / energy)

    def errors_px(self, turns: Complex) -> Array:
        """Mean distance from walk to line and from line to walk, one per similarity."""
        there, _ = self._ink_tree.query(_plane((turns[:, None] * self._walk).ravel()))
        back, _ = self._walk_tree.query(_plane((self._ink / turns[:, None]).ravel()))
        ahead = np.asarray(there).reshape(len(turns), -1).mean(axis=1)
        behind = np.asarray(back).reshape(len(turns), -1).mean(axis=1) * np.abs(turns)
        return np.asarray(0.5 * (ahead + behind))

    def search(self, bounds: _Bounds) -> Complex:
        """The best similarities, from a grid that is refined round its best places."""
        low, high = bounds.scales(self._usual)
        scales = np.exp(np.linspace(math.log(low), math.log(high), 7))
        turns = (scales[:, None] * np.exp(1j * bounds.angles())).ravel()
        angle_step, scale_step = 0.06, math.log(high / low) / 12
        for _ in range(3):
            errors = self.errors_px(turns) / np.abs(turns)
            best = turns[np.argsort(errors)[:_REFINED]]
            away = np.linspace(-1.0, 1.0, 5)
            factors = np.exp(scale_step * away)[:, None] * np.exp(1j * angle_step * away)
            turns = np.concatenate([best, (best[:, None] * factors.ravel()).ravel()])
            turns = turns[bounds.allows(turns, self._usual)]
            angle_step, scale_step = angle_step / 2.5, scale_step / 2.5
        errors = self.errors_px(turns) / np.abs(turns)
        return np.asarray(turns[np.argsort(errors)[:_REFINED]])


def _thinned_out(points: Array, most: int) -> Array:
    step = max(1, math.ceil(len(points) / most))
    return points[::step]


def _plane(points: Complex) -> Array:
    return np.column_stack([points.real, points.imag])


def resampled(path: Array, count: int) -> Array:
    """A path as points evenly spaced along it."""
    travelled = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    at = np.linspace(0.0, travelled[-1], count)
    return np.column_stack([np.interp(at, travelled, path[:, k]) for k in (0, 1)])


def _complex(points: Array) -> Complex:
    return np.asarray(points[:, 0] + 1j * points[:, 1])
