"""Where the camera stands: its pose in the plane from landmarks that it sees again.

A landmark is remembered as it was first seen: where the optical centre was, the direction of the ray, and the inverse
depth along it with a standard deviation (Civera, Davison and Montiel 2008). One residual then serves all cases. A floor
point has a known inverse depth and measures translation in metres; a point of unknown depth constrains only the
direction across its epipolar line; under pure rotation, where depth does not matter, every point counts fully.

All optical centres are equally high. So a landmark at the depth 1 / rho along the ray ``D`` from the centre ``O`` lies,
seen from a new centre ``C``, in the direction ``D + rho (O - C)``, whose vertical part is that of ``D``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import CameraMount, PinholeCamera
from gst_ros.mapping.planar import Array, wrap

Mask = NDArray[np.bool_]

INLIER = 9.0
"""Squared standard deviations within which a residual agrees with a pose."""

_FARTHEST_M = 100.0
_CAUCHY = 2.0  # standard deviations at which a residual's weight has fallen to a half
_PAIR_SHORTEST_M = 0.15
_PAIR_FARTHEST_M = 6.0
_PAIR_TOLERANCE = 0.12
_CONVERGED = 1e-5  # metres and radians
_STEEPEST_HEIGHT = 0.25  # rise over depth below which a ray does not tell a distance from a height


@dataclass(frozen=True)
class Rig:
    """A camera on its mount: everything that stays the same while it drives."""

    camera: PinholeCamera
    mount: CameraMount

    def rays(self, pixels: Array) -> Array:
        """N x 3 directions in ``base`` axes of N x 2 pixels, scaled to a depth of 1 along the optical axis."""
        return np.asarray(self.camera.rays(pixels) @ self.rotation.T)

    @cached_property
    def rotation(self) -> Array:
        """3 x 3, from ``camera_optical_frame`` to ``base``."""
        return self.mount.rotation_base_from_camera

    def view(self, ahead: Array, left: Array, up: Array) -> View:
        """See directions from the optical centre, given in ``base`` axes (arrays of one shape)."""
        r, camera = self.rotation, self.camera
        x, y, z = (r[0, i] * ahead + r[1, i] * left + r[2, i] * up for i in range(3))
        z = np.where(z > 1e-6, z, np.nan)
        x, y = x / z, y / z
        fx, fy = camera.fx / z, camera.fy / z
        return View(
            camera.fx * x + camera.cx,
            camera.fy * y + camera.cy,
            (fx * (r[0, 0] - r[0, 2] * x), fx * (r[1, 0] - r[1, 2] * x), fx * (r[2, 0] - r[2, 2] * x)),
            (fy * (r[0, 1] - r[0, 2] * y), fy * (r[1, 1] - r[1, 2] * y), fy * (r[2, 1] - r[2, 2] * y)),
        )


@dataclass(frozen=True)
class View:
    """Pixels of directions, and their derivatives.

    Attributes:
        u: Pixels to the right; NaN behind the camera.
        v: Pixels down.
        du: Derivatives of ``u`` by the ahead, left and up parts of the direction.
        dv: The same of ``v``.
    """

    u: Array
    v: Array
    du: tuple[Array, Array, Array]
    dv: tuple[Array, Array, Array]


@dataclass(frozen=True)
class Landmarks:
    """N landmarks as they were first seen.

    Attributes:
        origins: N x 2, the optical centre then, in ``map``, metres.
        directions: N x 3, the ray then, in ``map`` axes, scaled to a depth of 1 along the optical axis.
        inverse_depths: N, 1/m along that axis.
        stds: N, standard deviations of ``inverse_depths``, 1/m.
    """

    origins: Array
    directions: Array
    inverse_depths: Array
    stds: Array

    @classmethod
    def seen_from(cls, pose: Array, rays: Array, inverse_depths: Array, stds: Array) -> Landmarks:
        """Landmarks along N x 3 rays (``base`` axes) from one pose (3,)."""
        directions = rays.copy()
        directions[:, :2] = turn(rays[:, :2], float(pose[2]))
        return cls(np.tile(pose[:2], (len(rays), 1)), directions, inverse_depths, stds)

    def __len__(self) -> int:
        return len(self.inverse_depths)

    def __getitem__(self, rows: Mask | NDArray[np.intp]) -> Landmarks:
        return Landmarks(self.origins[rows], self.directions[rows], self.inverse_depths[rows], self.stds[rows])

    def points(self, height_m: float) -> Array:
        """N x 3 positions in ``map``, metres, for a camera ``height_m`` above the floor; none is farther than 100 m."""
        points = self.directions / np.maximum(self.inverse_depths, 1.0 / _FARTHEST_M)[:, None]
        points[:, :2] += self.origins
        points[:, 2] += height_m
        return np.asarray(points)

    def on_floor(self, height_m: float) -> Array:
        """N inverse depths at which the rays meet the floor; not positive where they do not."""
        return np.asarray(-self.directions[:, 2] / height_m)


def turn(vectors: Array, yaw_rad: float) -> Array:
    """N x 2 vectors turned counter-clockwise."""
    cos, sin = np.cos(yaw_rad), np.sin(yaw_rad)
    return np.asarray(vectors @ np.array([[cos, sin], [-sin, cos]]))


@dataclass(frozen=True)
class Residuals:
    """How N landmarks' pixels differ from where P poses see them; arrays (P, N), or (N,) for one pose.

    Attributes:
        u: Pixels to the right, measured minus expected.
        v: Pixels down.
        by_depth: Derivatives of the expected pixel by the inverse depth (u and v).
        by_pose: Those by x, y and yaw: three for u, three for v; None where they were not asked for.
        squared: Squared Mahalanobis distances: of the pixel's noise and the depth's; infinite behind the camera.
    """

    u: Array
    v: Array
    by_depth: tuple[Array, Array]
    by_pose: tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]] | None
    squared: Array


def residuals(
    rig: Rig, landmarks: Landmarks, pixels: Array, poses: Array, pixel_std: float, with_jacobians: bool = False
) -> Residuals:
    """Compare N x 2 pixels with landmarks seen from one pose (3,) or P poses (P, 3).

    The covariance of a residual is ``s^2 I + std^2 a a^T`` with the pixel noise s and the derivative a by the inverse
    depth; its inverse follows from Sherman and Morrison's formula.
    """
    pose = np.asarray(poses)[..., None, :]
    cos, sin, rho = np.cos(pose[..., 2]), np.sin(pose[..., 2]), landmarks.inverse_depths
    dx, dy = landmarks.origins[:, 0] - pose[..., 0], landmarks.origins[:, 1] - pose[..., 1]
    vx, vy = landmarks.directions[:, 0] + rho * dx, landmarks.directions[:, 1] + rho * dy
    ahead, left = cos * vx + sin * vy, cos * vy - sin * vx
    view = rig.view(ahead, left, np.broadcast_to(landmarks.directions[:, 2], ahead.shape))
    base_ahead, base_left = cos * dx + sin * dy, cos * dy - sin * dx
    u_depth = view.du[0] * base_ahead + view.du[1] * base_left
    v_depth = view.dv[0] * base_ahead + view.dv[1] * base_left
    u, v = pixels[:, 0] - view.u, pixels[:, 1] - view.v

    variance = pixel_std**2
    along = u_depth * u + v_depth * v
    ratio = landmarks.stds**2 / (variance + landmarks.stds**2 * (u_depth**2 + v_depth**2))
    squared = (u**2 + v**2 - along**2 * ratio) / variance
    squared = np.where(np.isfinite(squared), squared, np.inf)
    by_pose = None
    if with_jacobians:
        u_pose, v_pose = (
            (-rho * (cos * d[0] - sin * d[1]), -rho * (sin * d[0] + cos * d[1]), d[0] * left - d[1] * ahead)
            for d in (view.du, view.dv)
        )
        by_pose = (u_pose, v_pose)
    return Residuals(u, v, (u_depth, v_depth), by_pose, squared)


@dataclass(frozen=True)
class Motion:
    """An estimated pose.

    Attributes:
        pose: (3,) in the frame of the landmarks.
        covariance: 3 x 3 of (x, y, yaw), in m and rad, in the same axes.
        inliers: N, which landmarks agree with it.
        squared: N, squared Mahalanobis distances of all.
    """

    pose: Array
    covariance: Array
    inliers: Mask
    squared: Array

    @property
    def n_inliers(self) -> int:
        """How many landmarks agree."""
        return int(self.inliers.sum())


def refine(
    rig: Rig,
    landmarks: Landmarks,
    pixels: Array,
    start: Array,
    *,
    pixel_std: float = 1.0,
    prior: Array | None = None,
    prior_information: Array | None = None,
    iterations: int = 8,
) -> Motion:
    """Gauss-Newton over (x, y, yaw) with Cauchy weights and, where given, a Gaussian prior.

    Args:
        rig: Camera and mount.
        landmarks: N of them.
        pixels: N x 2 where they are seen now.
        start: (3,) to begin with.
        pixel_std: Standard deviation of a pixel coordinate.
        prior: (3,) expected pose.
        prior_information: 3 x 3 inverse covariance of the prior.
        iterations: At most so many.
    """
    pose = np.array(start, dtype=np.float64)
    information = np.zeros((3, 3))
    for _ in range(iterations):
        found = residuals(rig, landmarks, pixels, pose, pixel_std, with_jacobians=True)
        assert found.by_pose is not None
        usable = np.isfinite(found.squared)
        weights = np.where(usable, 1.0 / (1.0 + found.squared / _CAUCHY**2), 0.0) / pixel_std**2
        # Whitening removes from residual and derivatives the part that an uncertain depth explains.
        a_u, a_v = found.by_depth
        length = a_u**2 + a_v**2
        share = landmarks.stds**2 / (pixel_std**2 + landmarks.stds**2 * length)
        j_u, j_v = np.stack(found.by_pose[0], axis=1), np.stack(found.by_pose[1], axis=1)
        along_j = a_u[:, None] * j_u + a_v[:, None] * j_v
        along_r = a_u * found.u + a_v * found.v
        rows = [np.where(usable[:, None], j, 0.0) for j in (j_u, j_v, along_j)]
        r_u, r_v, r_a = (np.where(usable, r, 0.0) for r in (found.u, found.v, along_r))
        share = np.where(usable, share, 0.0)
        information = (
            (rows[0] * weights[:, None]).T @ rows[0]
            + (rows[1] * weights[:, None]).T @ rows[1]
            - (rows[2] * (weights * share)[:, None]).T @ rows[2]
        )
        gradient = rows[0].T @ (weights * r_u) + rows[1].T @ (weights * r_v) - rows[2].T @ (weights * share * r_a)
        if prior is not None and prior_information is not None:
            error = prior - pose
            error[2] = wrap(error[2])
            information = information + prior_information
            gradient = gradient + prior_information @ error
        step = np.linalg.solve(information + 1e-9 * np.eye(3), gradient)
        step *= min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-12))
        pose += step
        if np.abs(step).max() < _CONVERGED:
            break
    pose[2] = wrap(pose[2])
    squared = residuals(rig, landmarks, pixels, pose, pixel_std).squared
    covariance = np.asarray(np.linalg.inv(information + 1e-9 * np.eye(3)), dtype=np.float64)
    return Motion(pose, covariance, squared < INLIER, squared)


def two_point_poses(points_map: Array, points_base: Array) -> Array:
    """Poses that take two points each from ``base`` to ``map``.

    The turn is that of the line through both points; the middle of the two then gives the position. This is the planar
    form of Horn's absolute orientation, and in place of a floor homography it serves points of any known height.

    Args:
        points_map: H x 2 x 2 (hypothesis, point, xy), metres.
        points_base: The same points in ``base``.

    Returns:
        H x 3 poses.
    """
    line_map, line_base = points_map[:, 1] - points_map[:, 0], points_base[:, 1] - points_base[:, 0]
    yaw = np.arctan2(line_map[:, 1], line_map[:, 0]) - np.arctan2(line_base[:, 1], line_base[:, 0])
    middle_map, middle_base = points_map.mean(axis=1), points_base.mean(axis=1)
    cos, sin = np.cos(yaw), np.sin(yaw)
    x = middle_map[:, 0] - cos * middle_base[:, 0] + sin * middle_base[:, 1]
    y = middle_map[:, 1] - sin * middle_base[:, 0] - cos * middle_base[:, 1]
    return np.stack([x, y, wrap(yaw)], axis=1)


def hypotheses(
    rig: Rig, landmarks: Landmarks, pixels: Array, trusted: Mask, count: int, random: np.random.Generator
) -> Array:
    """Poses from pairs of landmarks whose height is trusted: where a ray reaches that height is a point in ``base``.

    Args:
        rig: Camera and mount.
        landmarks: N of them.
        pixels: N x 2 where they are seen now.
        trusted: N, whose inverse depth may be relied on.
        count: How many pairs to draw.
        random: Where the pairs come from.

    Returns:
        At most ``count`` x 3 poses; pairs whose distance differs between map and image are left out.
    """
    height = rig.mount.height_m
    rays = rig.rays(pixels)
    rise = landmarks.directions[:, 2] / np.maximum(landmarks.inverse_depths, 1e-6)
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = rise / rays[:, 2]
    usable = trusted & (np.abs(rays[:, 2]) > _STEEPEST_HEIGHT) & (depth > 0) & (depth < _PAIR_FARTHEST_M)
    rows = np.flatnonzero(usable)
    if len(rows) < 2:
        return np.empty((0, 3))
    pairs = rows[random.integers(0, len(rows), (count, 2))]
    in_map = landmarks.points(height)[pairs, :2]
    in_base = (rays[:, :2] * np.where(usable, depth, 0.0)[:, None])[pairs]
    length_map = np.linalg.norm(in_map[:, 1] - in_map[:, 0], axis=1)
    length_base = np.linalg.norm(in_base[:, 1] - in_base[:, 0], axis=1)
    good = (np.minimum(length_map, length_base) > _PAIR_SHORTEST_M) & (
        np.abs(length_map - length_base) < _PAIR_TOLERANCE * length_map
    )
    return two_point_poses(in_map[good], in_base[good])


def estimate(
    rig: Rig,
    landmarks: Landmarks,
    pixels: Array,
    trusted: Mask,
    random: np.random.Generator,
    *,
    guesses: Array | None = None,
    count: int = 60,
    pixel_std: float = 1.0,
    prior: Array | None = None,
    prior_information: Array | None = None,
    otherwise: Landmarks | None = None,
) -> Motion | None:
    """Find the pose that most landmarks agree with (RANSAC with truncated squares), then refine it.

    Args:
        rig: Camera and mount.
        landmarks: N of them.
        pixels: N x 2 where they are seen now.
        trusted: N, whose inverse depth may be relied on to form hypotheses.
        random: Source of the pairs.
        guesses: G x 3 poses to try as well.
        count: How many pairs to try.
        pixel_std: Standard deviation of a pixel coordinate.
        prior: (3,) expected pose, for the refinement.
        prior_information: 3 x 3 inverse covariance of the prior.
        otherwise: The same N landmarks less surely placed, for those that disagree: what was taken for floor and is
            none still has its epipolar line.

    Returns:
        The pose, or None without any hypothesis. Inliers are those that agree as ``landmarks``.
    """
    tries = hypotheses(rig, landmarks, pixels, trusted, count, random)
    if guesses is not None:
        tries = np.concatenate([guesses, tries])
    if not len(tries):
        return None
    # Hypotheses come from two noisy points; a wider tolerance keeps the good ones.
    squared = residuals(rig, landmarks, pixels, tries, 2.0 * pixel_std).squared
    best = tries[int(np.minimum(squared, INLIER).sum(axis=1).argmin())]
    solve = partial(refine, rig, pixel_std=pixel_std, prior=prior, prior_information=prior_information)
    if otherwise is None:
        return solve(landmarks, pixels, best)
    # What disagrees as it is thought to lie may agree as it may lie; the better the pose, the better that is known.
    pose, tolerance = best, 4.0 * INLIER
    for iterations in (3, 6):
        squared = residuals(rig, landmarks, pixels, pose, pixel_std).squared
        wrong = ~(squared < tolerance) & (otherwise.stds > landmarks.stds)
        mixed = Landmarks(
            landmarks.origins,
            landmarks.directions,
            np.where(wrong, otherwise.inverse_depths, landmarks.inverse_depths),
            np.where(wrong, otherwise.stds, landmarks.stds),
        )
        motion = solve(mixed, pixels, pose, iterations=iterations)
        pose, tolerance = motion.pose, INLIER
    squared = residuals(rig, landmarks, pixels, pose, pixel_std).squared
    return Motion(pose, motion.covariance, squared < INLIER, squared)


def relative_covariance(pose: Array, covariance: Array) -> Array:
    """A 3 x 3 covariance from the axes of ``map`` to those of the pose itself."""
    cos, sin = np.cos(pose[2]), np.sin(pose[2])
    to_base = np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
    return np.asarray(to_base @ covariance @ to_base.T)
