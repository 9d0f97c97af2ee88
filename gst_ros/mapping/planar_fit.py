"""Least squares over many pairs of frames: one lens for all of them, and a motion for each.

Levenberg-Marquardt on Sampson distances with Cauchy weights. The motions of the pairs do not meet each other, so they
are eliminated (Schur complement) and 3 x 3 equations for the lens remain. Priors are weighed against matches that are
good to one pixel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gst_ros.mapping.camera import Array
from gst_ros.mapping.planar_epipolar import Lens, Matches, residuals

PLANAR = (0, 1)
"""The columns of a motion that stay free when the camera neither tilts nor climbs."""
FREE = (0, 1, 2, 3, 4)

_STEP = 1e-5
_CAUCHY = 2.385  # 95 % efficiency for normal errors (Huber and Ronchetti 2009)
_FLOOR_PX = 0.05  # a noise below this is not believed
_CHANGES = np.array([0.0, 0.0, 1 / 0.3**2, 1 / 0.1**2, 1 / 0.1**2])  # prior of MOTION, where free: about 17 and 6 deg
_WEAK = 1e-6  # keeps the direction of pairs that only turn from being undetermined


@dataclass(frozen=True)
class Prior:
    """What is known beforehand of ``(log f, pitch, roll)``: normal, each for itself.

    Attributes:
        mean: The three values.
        std: Their standard deviations; 0 means known and not to be changed.
    """

    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    @property
    def free(self) -> Array:
        """1 where a value may change, else 0."""
        return np.array([float(value > 0) for value in self.std])

    @property
    def information(self) -> Array:
        """Inverse variances, 0 for what is known (it does not change at all)."""
        return np.array([1 / value**2 if value > 0 else 0.0 for value in self.std])


@dataclass(frozen=True)
class PlanarFit:
    """What a fit found.

    Attributes:
        lens: Focal length, pitch, roll.
        motion: P x 5.
        covariance: 3 x 3 of (log f, pitch, roll), from how the pairs disagree (sandwich estimator, White 1982).
        cost: Sum of the robust costs in pixels squared, with a Cauchy scale of ``scale_px``.
        scale_px: That scale.
        noise_px: Standard deviation of a Sampson distance, from the median.
        pair_cost: The P pairs' shares in the cost.
        motion_std: P x 5, standard deviations of the motions with the lens given; 0 where a column was not free.
    """

    lens: Lens
    motion: Array
    covariance: Array
    cost: float
    scale_px: float
    noise_px: float
    pair_cost: Array
    motion_std: Array


def keep_better(matches: Matches, one: PlanarFit, motion: Array, prior: Prior) -> PlanarFit:
    """Give every pair the better one of two motions, and refine all together.

    Args:
        matches: M matches of P pairs.
        one: A fit.
        motion: P x 5, other motions, which are refined with the lens of ``one`` first.
        prior: Of the lens.
    """
    given = Prior(prior.mean, (0.0, 0.0, 0.0))
    scale = one.scale_px
    other = fit_planar(matches, one.lens, motion, given, scales_px=(3 * scale, scale))
    better = other.pair_cost < one.pair_cost
    best = np.where(better[:, None], other.motion, one.motion)
    return fit_planar(matches, one.lens, best, prior, scales_px=(None, None))


def fit_planar(
    matches: Matches,
    lens: Lens,
    motion: Array,
    prior: Prior,
    *,
    columns: tuple[int, ...] = PLANAR,
    scales_px: tuple[float | None, ...] = (3.0, None, None),
    iterations: int = 8,
) -> PlanarFit:
    """Refine lens and motions together.

    Args:
        matches: M matches of P pairs.
        lens: Where to start.
        motion: P x 5, where to start.
        prior: Of the lens.
        columns: The columns of the motions that are free.
        scales_px: Cauchy scales of successive rounds; None takes it from the noise.
        iterations: Most steps of one round.
    """
    state = _State(matches, lens.vector, motion.copy(), prior, columns)
    for scale in scales_px:
        state.minimise(scale or max(_FLOOR_PX, state.noise_px) * _CAUCHY, iterations)
    return state.result()


class _State:
    def __init__(self, matches: Matches, values: Array, motion: Array, prior: Prior, columns: tuple[int, ...]) -> None:
        self._matches, self._prior, self._columns = matches, prior, columns
        self._values, self._motion = values, motion
        self._scale = 1.0
        self._residual = residuals(matches, Lens.from_vector(values), motion)

    @property
    def noise_px(self) -> float:
        return float(1.4826 * np.median(np.abs(self._residual)))

    def minimise(self, scale: float, iterations: int) -> None:
        self._scale = scale
        cost, damping = self._cost(self._values, self._residual, self._motion), 1e-3
        for _ in range(iterations):
            equations = self._equations()
            for _ in range(6):
                change, local = equations.solve(damping, self._prior)
                values, motion = self._values + change, self._motion.copy()
                motion[:, list(self._columns)] += local
                residual = residuals(self._matches, Lens.from_vector(values), motion)
                tried = self._cost(values, residual, motion)
                if np.isfinite(tried) and tried < cost:
                    break
                damping *= 8
            else:
                return
            gain = cost - tried
            self._values, self._motion, self._residual, cost = values, motion, residual, tried
            damping = max(1e-9, damping / 5)
            if gain < 1e-7 * cost:
                return

    def result(self) -> PlanarFit:
        equations = self._equations()
        noise = max(_FLOOR_PX, self.noise_px)
        return PlanarFit(
            Lens.from_vector(self._values),
            self._motion,
            equations.covariance(self._prior),
            self._cost(self._values, self._residual, self._motion),
            self._scale,
            noise,
            self._matches.sums(self._scale**2 * np.log1p((self._residual / self._scale) ** 2)),
            equations.motion_std(noise, self._columns),
        )

    def _cost(self, values: Array, residual: Array, motion: Array) -> float:
        away = values - np.array(self._prior.mean)
        prior = float((away**2 * self._prior.information * self._prior.free).sum() + (motion**2 * _CHANGES).sum())
        return float(self._scale**2 * np.log1p((residual / self._scale) ** 2).sum()) + prior

    def _equations(self) -> _Equations:
        matches = self._matches
        weight = 1 / (1 + (self._residual / self._scale) ** 2)
        by_lens = np.zeros((len(weight), 3))
        for k in np.flatnonzero(self._prior.free).tolist():
            step = np.zeros(3)
            step[k] = _STEP
            ahead = residuals(matches, Lens.from_vector(self._values + step), self._motion)
            by_lens[:, k] = (ahead - self._residual) / _STEP
        by_motion = np.zeros((len(weight), len(self._columns)))
        for k, column in enumerate(self._columns):
            moved = self._motion.copy()
            moved[:, column] += _STEP
            ahead = residuals(matches, Lens.from_vector(self._values), moved)
            by_motion[:, k] = (ahead - self._residual) / _STEP
        away = self._values - np.array(self._prior.mean)
        columns = list(self._columns)
        own = _CHANGES[columns]
        return _Equations.of(
            matches, weight, self._residual, by_lens, by_motion, away, own, -own * self._motion[:, columns]
        )


@dataclass(frozen=True)
class _Equations:
    """Normal equations: ``lens`` (P x 3 x 3) and ``own`` (P x k x k) blocks of each pair, ``mixed`` (P x k x 3)."""

    lens: Array
    own: Array
    mixed: Array
    lens_side: Array
    own_side: Array
    away: Array

    @classmethod
    def of(
        cls,
        matches: Matches,
        weight: Array,
        residual: Array,
        by_lens: Array,
        by_motion: Array,
        away: Array,
        prior: Array,
        prior_side: Array,
    ) -> _Equations:
        def blocks(left: Array, right: Array) -> Array:
            products = weight[:, None, None] * left[:, :, None] * right[:, None, :]
            flat = products.reshape(len(products), -1)
            sums = np.stack([matches.sums(column) for column in flat.T], axis=1)
            return np.asarray(sums.reshape(matches.pairs, left.shape[1], right.shape[1]))

        error = -residual[:, None]
        own = blocks(by_motion, by_motion) + np.diag(prior + _WEAK)
        return cls(
            blocks(by_lens, by_lens),
            own,
            blocks(by_motion, by_lens),
            blocks(by_lens, error)[:, :, 0],
            blocks(by_motion, error)[:, :, 0] + prior_side,
            away,
        )

    def _reduced(self, damping: float) -> tuple[Array, Array, Array]:
        """Each pair's 3 x 3 of the lens and its right side, and the factor that takes lens changes to own ones."""
        size = self.own.shape[1]
        own = self.own + damping * self.own * np.eye(size)
        factor = np.linalg.solve(own, np.concatenate([self.mixed, self.own_side[:, :, None]], axis=2))
        matrices = self.lens - np.swapaxes(self.mixed, 1, 2) @ factor[:, :, :3]
        sides = self.lens_side - np.einsum("pki,pk->pi", self.mixed, factor[:, :, 3])
        return matrices, sides, factor

    def solve(self, damping: float, prior: Prior) -> tuple[Array, Array]:
        """Changes of the lens (3) and of each pair's motion (P x k)."""
        matrices, sides, factor = self._reduced(damping)
        free = prior.free
        matrix = matrices.sum(axis=0) * np.outer(free, free) + np.diag(prior.information + (1 - free))
        matrix += damping * np.diag(np.diag(matrix))
        change = np.linalg.solve(matrix, (sides.sum(axis=0) - prior.information * self.away) * free)
        return np.asarray(change), np.asarray(factor[:, :, 3] - factor[:, :, :3] @ change)

    def covariance(self, prior: Prior) -> Array:
        matrices, sides, _ = self._reduced(0.0)
        free = prior.free
        matrix = matrices.sum(axis=0) * np.outer(free, free) + np.diag(prior.information + (1 - free))
        inverse = np.linalg.inv(matrix)
        sides = (sides - sides.mean(axis=0)) * free
        return np.asarray(inverse @ (sides.T @ sides + np.diag(prior.information)) @ inverse)

    def motion_std(self, noise_px: float, columns: tuple[int, ...]) -> Array:
        variance = np.diagonal(np.linalg.inv(self.own), axis1=1, axis2=2) * noise_px**2
        std = np.zeros((len(variance), 5))
        std[:, list(columns)] = np.sqrt(np.maximum(variance, 0))
        return std
