"""Planar bundle adjustment: poses (x, y, yaw) and points that together explain all observations best.

Levenberg-Marquardt with the points eliminated (the Schur complement; Triggs et al. 2000), Cauchy weights and analytic
Jacobians. Points on the floor are drawn to z = 0, which keeps the scale. Pairs of poses may be tied by measured
motion, which carries the trajectory across stretches where nothing is seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from gst_ros.mapping.motion import Rig
from gst_ros.mapping.planar import Array, wrap
from gst_ros.mapping.posegraph import Index, Mask, Ties

_CAUCHY_PX = 2.0
_CAUCHY_FLOOR = 2.0  # standard deviations: a rug or a sill, taken for floor, must not stretch the map
_DENSE_UNKNOWNS = 900  # up to here a dense Cholesky decomposition is quicker than a sparse one


@dataclass
class Bundle:
    """A problem, and after :func:`adjust` its solution.

    Attributes:
        poses: K x 3 in ``map``.
        points: L x 3 in ``map``, metres.
        pose_of: M, index of the pose that made an observation.
        point_of: M, index of the point that it shows.
        pixels: M x 2, where.
        on_floor: L, which points lie on the floor.
        fixed: K, which poses stay as they are (at least one).
        ties: Motions between poses.
        pixel_std: Standard deviation of a pixel coordinate.
        floor_std_m: Standard deviation of the height of floor points.
    """

    poses: Array
    points: Array
    pose_of: Index
    point_of: Index
    pixels: Array
    on_floor: Mask
    fixed: Mask
    ties: Ties = field(default_factory=lambda: Ties.of([]))
    pixel_std: float = 0.8
    floor_std_m: float = 0.005


@dataclass(frozen=True)
class Linearised:
    """Residuals of M observations in pixels (measured minus expected), with derivatives of what is expected.

    Attributes:
        errors: M x 2.
        by_pose: M x 2 x 3, by x, y, yaw.
        by_point: M x 2 x 3, by the point's coordinates.
        usable: M, False behind the camera.
    """

    errors: Array
    by_pose: Array
    by_point: Array
    usable: Mask


def linearise(rig: Rig, bundle: Bundle) -> Linearised:
    """Compare all observations with what the poses and points say."""
    pose, point = bundle.poses[bundle.pose_of], bundle.points[bundle.point_of]
    cos, sin = np.cos(pose[:, 2]), np.sin(pose[:, 2])
    dx, dy, up = point[:, 0] - pose[:, 0], point[:, 1] - pose[:, 1], point[:, 2] - rig.mount.height_m
    ahead, left = cos * dx + sin * dy, cos * dy - sin * dx
    view = rig.view(ahead, left, up)
    by_point, by_pose = np.empty((len(dx), 2, 3)), np.empty((len(dx), 2, 3))
    for row, d in enumerate((view.du, view.dv)):
        by_point[:, row, 0] = cos * d[0] - sin * d[1]
        by_point[:, row, 1] = sin * d[0] + cos * d[1]
        by_point[:, row, 2] = d[2]
        by_pose[:, row, :2] = -by_point[:, row, :2]
        by_pose[:, row, 2] = d[0] * left - d[1] * ahead
    errors = bundle.pixels - np.stack([view.u, view.v], axis=1)
    usable = np.isfinite(errors[:, 0]) & np.isfinite(errors[:, 1])
    if not usable.all():
        errors[~usable], by_pose[~usable], by_point[~usable] = 0.0, 0.0, 0.0
    return Linearised(errors, by_pose, by_point, usable)


def cost(rig: Rig, bundle: Bundle) -> float:
    """Robust cost: Cauchy's for observations and for heights of floor points; that of :class:`Ties` for ties."""
    return _cost(linearise(rig, bundle), bundle)


def _cost(found: Linearised, bundle: Bundle) -> float:
    scale = _CAUCHY_PX**2
    squared = (found.errors**2).sum(axis=1)
    unusable = float((~found.usable).sum()) * scale * np.log1p(100.0)
    seen = (scale * np.log1p(squared / scale).sum() + unusable) / bundle.pixel_std**2
    squared_height = (bundle.points[bundle.on_floor, 2] / bundle.floor_std_m) ** 2
    height = _CAUCHY_FLOOR**2 * np.log1p(squared_height / _CAUCHY_FLOOR**2).sum()
    return float(seen + height + bundle.ties.cost(bundle.poses))


def adjust(rig: Rig, bundle: Bundle, iterations: int = 10, tolerance: float = 1e-5) -> float:
    """Improve poses and points in place.

    Args:
        rig: Camera and mount.
        bundle: The problem.
        iterations: At most so many steps.
        tolerance: Stop when a step lowers the cost by less than this share.

    Returns:
        The robust cost at the end.
    """
    damping = 1e-4
    found = linearise(rig, bundle)
    now = _cost(found, bundle)
    for _ in range(iterations):
        system = _System(bundle, found)
        while True:
            pose_step, point_step = system.solve(damping)
            moved = Bundle(
                bundle.poses + pose_step, bundle.points + point_step, bundle.pose_of, bundle.point_of, bundle.pixels,
                bundle.on_floor, bundle.fixed, bundle.ties, bundle.pixel_std, bundle.floor_std_m,
            )  # fmt: skip
            then = linearise(rig, moved)
            after = _cost(then, moved)
            if after < now or damping > 1e4:
                break
            damping *= 10.0
        if after >= now:
            break
        gain = (now - after) / max(now, 1e-12)
        bundle.poses, bundle.points = moved.poses, moved.points
        found, now = then, after
        damping = max(damping * 0.2, 1e-7)
        if gain < tolerance:
            break
    bundle.poses[:, 2] = wrap(bundle.poses[:, 2])
    return now


class _System:
    """The normal equations of one step."""

    def __init__(self, bundle: Bundle, found: Linearised) -> None:
        self._bundle = bundle
        poses, points = len(bundle.poses), len(bundle.points)
        squared = (found.errors**2).sum(axis=1)
        weights = np.where(found.usable, 1.0 / (1.0 + squared / _CAUCHY_PX**2), 0.0) / bundle.pixel_std**2
        weighted_pose = found.by_pose * weights[:, None, None]
        weighted_point = found.by_point * weights[:, None, None]
        self._poses = _gather(np.einsum("mia,mib->mab", weighted_pose, found.by_pose), bundle.pose_of, poses)
        self._points = _gather(np.einsum("mia,mib->mab", weighted_point, found.by_point), bundle.point_of, points)
        self._mixed = np.einsum("mia,mib->mab", weighted_pose, found.by_point)
        self._pose_side = _gather(np.einsum("mia,mi->ma", weighted_pose, found.errors), bundle.pose_of, poses)
        self._point_side = _gather(np.einsum("mia,mi->ma", weighted_point, found.errors), bundle.point_of, points)
        squared_height = (bundle.points[:, 2] / bundle.floor_std_m) ** 2
        floor = bundle.on_floor / (1.0 + squared_height / _CAUCHY_FLOOR**2) / bundle.floor_std_m**2
        self._points[:, 2, 2] += floor
        self._point_side[:, 2] -= floor * bundle.points[:, 2]
        self._ties = sp.csr_matrix((3 * poses, 3 * poses))
        if len(bundle.ties):
            self._ties, side = bundle.ties.normal_equations(bundle.poses)
            self._pose_side += side

    def solve(self, damping: float) -> tuple[Array, Array]:
        """Steps of all poses (K x 3) and points (L x 3)."""
        bundle = self._bundle
        poses, points = len(bundle.poses), len(bundle.points)
        each = np.arange(3)
        damped = self._points.copy()
        damped[:, each, each] += damping * damped[:, each, each] + 1e-6
        inverse = np.linalg.inv(damped)
        carried = np.einsum("mab,mbc->mac", self._mixed, inverse[bundle.point_of])
        rows = np.repeat(3 * bundle.pose_of[:, None] + each, 3, axis=1).ravel()
        columns = np.tile(3 * bundle.point_of[:, None] + each, (1, 3)).ravel()
        shape = (3 * poses, 3 * points)
        left = sp.csr_matrix((carried.ravel(), (rows, columns)), shape=shape)
        right = sp.csr_matrix((self._mixed.ravel(), (rows, columns)), shape=shape)
        blocks = self._poses.copy()
        blocks[:, each, each] += damping * blocks[:, each, each] + 1e-9
        diagonal = sp.bsr_matrix((blocks, np.arange(poses), np.arange(poses + 1)), shape=(3 * poses, 3 * poses))
        reduced = (diagonal + self._ties - left @ right.T).tocsr()
        side = self._pose_side.ravel() - left @ self._point_side.ravel()
        free = np.repeat(~bundle.fixed, 3)
        pose_step = np.zeros(3 * poses)
        pose_step[free] = _solve(reduced[free][:, free], side[free])
        point_side = self._point_side - (right.T @ pose_step).reshape(points, 3)
        point_step = np.einsum("lab,lb->la", inverse, point_side)
        # A point almost without parallax can leap; no step is longer than its distance allows.
        length = np.linalg.norm(point_step, axis=1, keepdims=True)
        return pose_step.reshape(poses, 3), point_step * np.minimum(1.0, 2.0 / np.maximum(length, 1e-9))


def _solve(matrix: sp.csr_matrix, side: Array) -> Array:
    if not len(side):
        return np.zeros(0)
    if len(side) <= _DENSE_UNKNOWNS:
        return np.asarray(np.linalg.solve(matrix.toarray(), side))
    return np.asarray(splu(matrix.tocsc()).solve(side))


def _gather(values: Array, index: Index, count: int) -> Array:
    """Sum M arrays by index into ``count`` of them."""
    if not len(values):
        return np.zeros((count, *values.shape[1:]))
    flat = values.reshape(len(values), -1)
    sums = np.stack([np.bincount(index, flat[:, i], minlength=count) for i in range(flat.shape[1])], axis=1)
    return sums.reshape((count, *values.shape[1:]))
