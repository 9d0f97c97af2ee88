"""Planar pose graph: poses tied by measured motions, some of which may be wrong.

Gauss-Newton with sparse normal equations. Ties that may be wrong (loops) are weighted anew in each iteration, so that
one that all others speak against loses its say (iteratively reweighted least squares with Cauchy's weights).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from gst_ros.mapping.planar import Array, between, wrap

Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

WRONG = 25.0
"""Squared Mahalanobis distance (three degrees of freedom) from which on a loop is taken to be wrong."""

_CAUCHY = 2.5


@dataclass(frozen=True)
class Ties:
    """E measured motions between poses.

    Attributes:
        first: E, index of the pose that a motion starts from.
        second: E, index of the pose that it leads to.
        motions: E x 3, what ``between(first, second)`` should be.
        information: E x 3 x 3 inverse covariances.
        doubtful: E, which may be wrong.
    """

    first: Index
    second: Index
    motions: Array
    information: Array
    doubtful: Mask

    @classmethod
    def of(cls, rows: list[tuple[int, int, Array, Array, bool]]) -> Ties:
        """From tuples of first, second, motion, covariance, doubtful."""
        n = len(rows)
        return cls(
            np.array([r[0] for r in rows], dtype=np.int64),
            np.array([r[1] for r in rows], dtype=np.int64),
            np.array([r[2] for r in rows], dtype=np.float64).reshape(n, 3),
            np.asarray(np.linalg.inv(np.array([r[3] for r in rows]).reshape(n, 3, 3)), dtype=np.float64),
            np.array([r[4] for r in rows], dtype=bool),
        )

    def __len__(self) -> int:
        return len(self.first)

    def errors(self, poses: Array) -> tuple[Array, Array, Array]:
        """Measured minus expected (E x 3), and derivatives of what is expected by both poses (E x 3 x 3 each)."""
        a, b = poses[self.first], poses[self.second]
        expected = between(a, b)
        error = self.motions - expected
        error[:, 2] = wrap(error[:, 2])
        cos, sin = np.cos(a[:, 2]), np.sin(a[:, 2])
        by_second = np.zeros((len(self), 3, 3))
        by_second[:, 0, 0] = by_second[:, 1, 1] = cos
        by_second[:, 0, 1], by_second[:, 1, 0] = sin, -sin
        by_second[:, 2, 2] = 1.0
        by_first = -by_second
        by_first[:, 0, 2], by_first[:, 1, 2] = expected[:, 1], -expected[:, 0]
        return error, by_first, by_second

    def squared(self, poses: Array) -> Array:
        """E squared Mahalanobis distances."""
        error = self.errors(poses)[0]
        return np.asarray(np.einsum("ea,eab,eb->e", error, self.information, error))

    def weights(self, poses: Array) -> Array:
        """E weights: 1, or Cauchy's where a tie is doubtful."""
        return np.where(self.doubtful, 1.0 / (1.0 + self.squared(poses) / _CAUCHY**2), 1.0)

    def cost(self, poses: Array) -> float:
        """Half-robust sum of squared Mahalanobis distances."""
        squared = self.squared(poses)
        robust = _CAUCHY**2 * np.log1p(squared / _CAUCHY**2)
        return float(np.where(self.doubtful, robust, squared).sum())

    def normal_equations(self, poses: Array) -> tuple[sp.csr_matrix, Array]:
        """The Hessian (3 K x 3 K, sparse) and the right-hand side (K x 3) of a Gauss-Newton step."""
        error, by_first, by_second = self.errors(poses)
        weighted = self.information * self.weights(poses)[:, None, None]
        side = np.zeros((len(poses), 3))
        rows, columns, values = [], [], []
        sides = ((self.first, by_first), (self.second, by_second))
        for i, by_i in sides:
            pulled = np.einsum("eba,ebc->eac", by_i, weighted)
            np.add.at(side, i, np.einsum("eab,eb->ea", pulled, error))
            for j, by_j in sides:
                block = np.einsum("eab,ebc->eac", pulled, by_j)
                rows.append(np.broadcast_to(3 * i[:, None, None] + np.arange(3)[:, None], block.shape).ravel())
                columns.append(np.broadcast_to(3 * j[:, None, None] + np.arange(3), block.shape).ravel())
                values.append(block.ravel())
        place = (np.concatenate(rows), np.concatenate(columns))
        size = 3 * len(poses)
        return sp.coo_matrix((np.concatenate(values), place), shape=(size, size)).tocsr(), side


def optimise(poses: Array, ties: Ties, fixed: Mask, iterations: int = 30) -> Array:
    """The poses that agree best with all ties.

    Args:
        poses: K x 3 to begin with.
        ties: Between them.
        fixed: K, which stay as they are: at least one of every connected part.
        iterations: At most so many steps.

    Returns:
        K x 3.
    """
    poses = poses.copy()
    free = np.repeat(~fixed, 3)
    if not len(ties) or not free.any():
        return poses
    damping, now = 1e-6, ties.cost(poses)
    for _ in range(iterations):
        hessian, side = ties.normal_equations(poses)
        inner = hessian[free][:, free]
        step = np.zeros(free.shape)
        damped = inner + sp.diags(damping * inner.diagonal() + 1e-9)
        step[free] = splu(damped.tocsc()).solve(side.ravel()[free])
        tried = poses + step.reshape(poses.shape)
        tried[:, 2] = wrap(tried[:, 2])
        after = ties.cost(tried)
        if after > now:
            damping = max(damping, 1e-6) * 100.0
            if damping > 1e6:
                break
            continue
        done = now - after < 1e-6 * max(now, 1.0)
        poses, now, damping = tried, after, damping * 0.1
        if done:
            break
    return poses
