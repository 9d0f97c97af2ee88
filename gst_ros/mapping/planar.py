"""Poses in the plane: composition, difference, alignment.

A pose is an array (x_m, y_m, yaw_rad): the position of ``base`` in ``map`` and its counter-clockwise turn from +x.
Functions take one pose (3,) or many (N, 3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def wrap(angle_rad: Array | float) -> Array:
    """The same angles in [-pi, pi)."""
    return np.asarray((np.asarray(angle_rad) + np.pi) % (2 * np.pi) - np.pi)


def compose(a: Array, b: Array) -> Array:
    """The pose that ``b`` is when it is given relative to ``a`` (a then b)."""
    cos, sin = np.cos(a[..., 2]), np.sin(a[..., 2])
    x = a[..., 0] + cos * b[..., 0] - sin * b[..., 1]
    y = a[..., 1] + sin * b[..., 0] + cos * b[..., 1]
    return np.stack([x, y, wrap(a[..., 2] + b[..., 2])], axis=-1)


def between(a: Array, b: Array) -> Array:
    """How ``b`` looks from ``a``; composing ``a`` with it gives ``b`` again."""
    cos, sin = np.cos(a[..., 2]), np.sin(a[..., 2])
    dx, dy = b[..., 0] - a[..., 0], b[..., 1] - a[..., 1]
    return np.stack([cos * dx + sin * dy, -sin * dx + cos * dy, wrap(b[..., 2] - a[..., 2])], axis=-1)


def inverse(a: Array) -> Array:
    """The pose of the old origin seen from ``a``."""
    return between(a, np.zeros_like(a))


def transform(pose: Array, points: Array) -> Array:
    """N x 2 points given relative to one pose, in the frame that the pose is given in."""
    cos, sin = np.cos(pose[2]), np.sin(pose[2])
    return np.asarray(points @ np.array([[cos, sin], [-sin, cos]]) + pose[:2])


def align(source: Array, target: Array) -> Array:
    """The motion in the plane, without scale, that best takes one set of points to another.

    Least squares over rotation and translation (Umeyama 1991, in two dimensions, where the rotation has a closed form).

    Args:
        source: N x 2 positions, metres.
        target: N x 2 positions, metres, in the same order.

    Returns:
        The pose T with ``transform(T, source)`` nearest to ``target``.
    """
    a, b = source - source.mean(axis=0), target - target.mean(axis=0)
    yaw = np.arctan2((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum(), (a * b).sum())
    turned = transform(np.array([0.0, 0.0, yaw]), source.mean(axis=0)[None])[0]
    return np.array([*(target.mean(axis=0) - turned), yaw])


def trajectory_rmse_m(estimate: Array, truth: Array) -> float:
    """Root mean square distance of positions after :func:`align` (absolute trajectory error, without scale).

    Args:
        estimate: N x 2 or N x 3 poses.
        truth: The same at the same times.
    """
    moved = transform(align(estimate[:, :2], truth[:, :2]), estimate[:, :2])
    return float(np.sqrt(np.mean(np.sum((moved - truth[:, :2]) ** 2, axis=1))))
