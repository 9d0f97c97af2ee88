"""Where an image was taken, from points of the map that it shows, when height and tilt are known almost.

Gravity and the height of the camera are priors (a :class:`CameraMount` with standard deviations), so a hypothesis needs
two points only, and a wrong match set seldom agrees with them. All hypotheses are tried at once; the best are refined
by robust least squares over position, yaw, height, pitch and roll.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import Array, CameraMount, PinholeCamera
from gst_ros.mapping.planar import wrap
from gst_ros.mapping.upright_hypotheses import (
    PARAMETERS,
    Sightings,
    UprightConfig,
    pairs_of_points,
    places_with_yaws,
    rotations,
)

_HOPELESS = 15.0
_CELL_SHARE = 1 / 16
"""Side of a cell of a picture, of its width; features share the say of their cell."""


@dataclass(frozen=True)
class Known:
    """What is known of a pose besides height and tilt.

    Attributes:
        yaws_rad: K, one of which the yaw is, nearly: the directions of walls tell it up to quarter turns.
        yaw_std_rad: How nearly.
        place_m: (2,) where the picture was taken, if something tells.
        place_std_m: How well.
    """

    yaws_rad: Array
    yaw_std_rad: float
    place_m: Array | None = None
    place_std_m: float = 1.0


@dataclass(frozen=True)
class UprightPose:
    """A pose with how well the sightings agree with it.

    Attributes:
        parameters: (6,): x_m, y_m, yaw_rad, height_m, pitch_rad, roll_rad.
        covariance: 6 x 6 of them.
        inliers: N, which sightings agree.
        support: Sum over the keypoints of how well they agree, each 0 to 1, and less where they crowd.
        rms: Root mean square of the agreeing sightings' misses, in standard deviations.
    """

    parameters: Array
    covariance: Array
    inliers: NDArray[np.bool_]
    support: float
    rms: float

    @property
    def pose(self) -> Array:
        """(3,): x_m, y_m, yaw_rad in ``map``."""
        return self.parameters[:3]


def search_upright(
    sightings: Sightings,
    camera: PinholeCamera,
    prior: CameraMount,
    config: UprightConfig | None = None,
    known: Known | None = None,
) -> list[UprightPose]:
    """Find the poses that most sightings agree with.

    Args:
        sightings: What is seen where; most of it may be wrong.
        camera: The camera that the pixels come from.
        prior: Height, pitch and roll with their standard deviations.
        config: Limits.
        known: What else is known.

    Returns:
        Poses that differ, the one with the most support first; none where no pair of points gives one.
    """
    config = config or UprightConfig()
    if len(sightings) < 2:
        return []
    problem = _Problem(sightings, camera, prior, config, known)
    if known is None:
        tried = pairs_of_points(sightings, camera, prior, config)
    else:
        tried = places_with_yaws(sightings, camera, prior, config, known.yaws_rad)
    if not len(tried):
        return []
    found: list[UprightPose] = []
    # All by some of the sightings first, then the better ones by all.
    some = np.random.default_rng(1).permutation(len(sightings))[: config.some]
    if len(some) < len(sightings):
        rough = _Problem(sightings.take(some), camera, prior, config).supports(tried)
        tried = tried[np.argsort(-rough, kind="stable")[: config.better]]
    for at in _apart(tried, problem.supports(tried), config):
        pose = problem.refined(tried[at])
        if pose is not None:
            found.append(pose)
    found.sort(key=lambda pose: -pose.support)
    different: list[UprightPose] = []
    for pose in found:
        if not any(_same(pose.parameters, other.parameters, 0.15, 0.05) for other in different):
            different.append(pose)
    return different


def refine_upright(
    start: Array,
    sightings: Sightings,
    camera: PinholeCamera,
    prior: CameraMount,
    config: UprightConfig | None = None,
    known: Known | None = None,
) -> UprightPose | None:
    """The pose near parameters (6,) that sightings agree with best; None where fewer than two do."""
    problem = _Problem(sightings, camera, prior, config or UprightConfig(), known)
    return problem.refined(np.asarray(start, np.float64)) if len(sightings) >= 2 else None


def support_of(
    parameters: Array, sightings: Sightings, camera: PinholeCamera, prior: CameraMount, config: UprightConfig
) -> float:
    """Support of one pose, parameters (6,)."""
    if not len(sightings):
        return 0.0
    return float(_Problem(sightings, camera, prior, config).supports(parameters[None])[0])


def _same(a: Array, b: Array, distance_m: float, turn_rad: float) -> bool:
    return bool(np.hypot(*(a[:2] - b[:2])) < distance_m and abs(wrap(a[2] - b[2])) < turn_rad)


class _Problem:
    """Misses of sightings under poses, in standard deviations, and their derivatives."""

    def __init__(
        self,
        sightings: Sightings,
        camera: PinholeCamera,
        prior: CameraMount,
        config: UprightConfig,
        known: Known | None = None,
    ) -> None:
        self._known = known
        self._seen = sightings
        self._camera = camera
        self._config = config
        height_std = max(prior.height_std_m, config.least_height_std * prior.height_m)
        pitch_std = math.radians(max(prior.pitch_std_deg, config.least_tilt_std_deg))
        roll_std = math.radians(max(prior.roll_std_deg, config.least_tilt_std_deg))
        self._expected = np.array([prior.height_m, math.radians(prior.pitch_deg), math.radians(prior.roll_deg)])
        self._expected_std = np.array([height_std, pitch_std, roll_std])
        # A point of unknown depth agrees with many poses: it must only lie on the epipolar line.
        vague = np.linalg.norm(sightings.spreads_m, axis=1)
        self._worth = (0.4 + 0.6 / (1 + (vague / 0.5) ** 2)).astype(np.float32)
        keypoints, first, self._group = np.unique(sightings.keypoints, return_index=True, return_inverse=True)
        # A window or a rug full of features must not outvote what is spread over the picture.
        cells = np.floor(sightings.pixels[first] / (_CELL_SHARE * camera.width)).astype(np.int64)
        _, cell, crowd = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
        crowded = crowd[np.ravel(cell)] if len(keypoints) else np.zeros(0)
        self._worth *= (1 / np.sqrt(crowded))[self._group].astype(np.float32) if len(keypoints) else 1.0
        self._groups = int(self._group.max()) + 1 if len(sightings) else 0

    def supports(self, parameters: Array, chunk: int = 200) -> Array:
        """H supports of H x 6 parameters, without the price of leaving the priors."""
        turned = rotations(parameters)
        centres = np.concatenate([parameters[:, :2], parameters[:, 3:4]], axis=1)
        shifts = -np.einsum("hij,hj->hi", turned, centres).astype(np.float32)
        turns = turned.astype(np.float32)
        points = self._seen.points_m.T.astype(np.float32)
        spreads = self._seen.spreads_m.T.astype(np.float32)
        out = np.zeros(len(parameters))
        for first in range(0, len(parameters), chunk):
            part = slice(first, first + chunk)
            misses = self._squared_misses(turns[part] @ points + shifts[part, :, None], turns[part] @ spreads)
            out[part] = self._support(misses)
        return out

    def _squared_misses(self, at: NDArray[np.float32], spread: NDArray[np.float32]) -> NDArray[np.float32]:
        """H x N squared misses, in variances, of points and their spreads in the camera's frame, both H x 3 x N."""
        camera, variance = self._camera, self._config.pixel_std**2
        ahead = at[:, 2] > 0.05
        inverse = 1 / np.where(ahead, at[:, 2], 1)
        x, y = at[:, 0] * inverse, at[:, 1] * inverse
        du = camera.fx * x + (camera.cx - self._seen.pixels[:, 0]).astype(np.float32)
        dv = camera.fy * y + (camera.cy - self._seen.pixels[:, 1]).astype(np.float32)
        su = camera.fx * inverse * (spread[:, 0] - x * spread[:, 2])
        sv = camera.fy * inverse * (spread[:, 1] - y * spread[:, 2])
        # The covariance of a miss is variance * I + s s', whose inverse is known in closed form (Sherman, Morrison).
        along = du * su + dv * sv
        squared = (du * du + dv * dv - along * along / (variance + su * su + sv * sv)) / variance
        return np.asarray(np.where(ahead, squared, np.inf), np.float32)

    def _support(self, squared: NDArray[np.float32]) -> Array:
        """H sums over keypoints of the best agreement among the points that each is taken for."""
        agreed = np.maximum(0, 1 - squared / self._config.gate**2) * self._worth
        best = np.zeros((len(agreed), self._groups), np.float32)
        order = np.argsort(self._group, kind="stable")
        starts = np.searchsorted(self._group[order], np.arange(self._groups))
        np.maximum.reduceat(agreed[:, order], starts, axis=1, out=best)
        return np.asarray(best.sum(axis=1), np.float64)

    def refined(self, start: Array, rounds: int = 10) -> UprightPose | None:
        """Robust least squares (Geman and McClure's weights), from wide to narrow, with the priors."""
        at = start.copy()
        config = self._config
        # What is far off at the start will not agree in the end.
        near = np.flatnonzero(self._linear(at)[2] < (_HOPELESS * config.gate) ** 2)
        for step in range(rounds):
            width = config.gate * max(1.0, 3.0 - step / 2)
            residuals, derivatives, squared = self._linear(at, near)
            weights = np.where(squared < width**2, (1 + squared / width**2 * 3) ** -2.0, 0.0) * self._seen.trust[near]
            change, _ = self._normal(at, residuals, derivatives, weights * self._dependence(weights))
            if change is None:
                return None
            at = at + change
            at[2] = wrap(at[2])
            if step > 3 and np.abs(change).max() < 1e-4:
                break
        residuals, derivatives, squared = self._linear(at)
        inliers = squared < config.gate**2
        if inliers.sum() < 2:
            return None
        weights = inliers.astype(np.float64)
        _, information = self._normal(at, residuals, derivatives, weights * self._dependence(weights))
        rms = float(np.sqrt(np.mean(squared[inliers]) / 2))
        covariance = np.asarray(np.linalg.inv(information) * max(1.0, rms**2), np.float64)
        support = float(self._support(squared[None].astype(np.float32))[0])
        return UprightPose(at, covariance, inliers, support, rms)

    def _dependence(self, weights: Array) -> float:
        """How much less many sightings say than if their errors were independent of each other.

        Neighbouring features, and landmarks of one keyframe, are off together: a hundred of them would otherwise
        overrule what is known of height and tilt by errors of half a pixel.
        """
        return min(1.0, self._config.independent / max(float(weights.sum()), 1e-9))

    def _linear(self, at: Array, chosen: NDArray[np.int64] | None = None) -> tuple[Array, Array, Array]:
        """Whitened misses N x 2, their derivatives N x 2 x 6, and their squares N, at one pose."""
        camera, seen, std = self._camera, self._seen, self._config.pixel_std
        part = slice(None) if chosen is None else chosen
        points, by_pose = points_and_derivatives(seen.points_m[part], at)
        turned = seen.spreads_m[part] @ rotations(at[None])[0].T
        z = np.maximum(points[:, 2], 0.05)
        misses = camera.pixels(points) - seen.pixels[part]
        x, y = points[:, 0] / z, points[:, 1] / z
        spread = np.stack([turned[:, 0] - x * turned[:, 2], turned[:, 1] - y * turned[:, 2]], axis=1)
        spread *= np.array([camera.fx, camera.fy]) / z[:, None]
        derivatives = by_pose[:, :2] - np.stack([x, y], axis=1)[:, :, None] * by_pose[:, 2:]
        derivatives *= (np.array([camera.fx, camera.fy]) / z[:, None])[:, :, None]
        # Inverse square root of variance * I + s s': shorten what lies along s.
        length = np.sqrt((spread**2).sum(axis=1))
        along = spread / np.maximum(length, 1e-12)[:, None]
        shorter = 1 - std / np.sqrt(std**2 + length**2)
        residuals = (misses - (shorter * (along * misses).sum(axis=1))[:, None] * along) / std
        along_derivatives = (along[:, :, None] * derivatives).sum(axis=1)
        derivatives -= (shorter[:, None] * along)[:, :, None] * along_derivatives[:, None, :]
        squared = np.where(points[:, 2] > 0.05, (residuals**2).sum(axis=1), np.inf)
        return residuals, derivatives / std, squared

    def _normal(self, at: Array, residuals: Array, derivatives: Array, weights: Array) -> tuple[Array | None, Array]:
        """The Gauss-Newton step (None where the equations are singular) and the information matrix."""
        flat = derivatives.reshape(-1, PARAMETERS)
        weighted = flat * np.repeat(weights, 2)[:, None]
        information = weighted.T @ flat
        gradient = weighted.T @ residuals.ravel()
        surprise = (at[3:] - self._expected) / self._expected_std**2
        information[3:, 3:] += np.diag(self._expected_std**-2.0)
        gradient[3:] += surprise
        self._add_known(at, information, gradient)
        information += 1e-9 * np.eye(PARAMETERS)
        step = np.linalg.solve(information, -gradient)
        largest = np.array([1.0, 1.0, 0.5, 0.3, 0.2, 0.2])
        return (np.clip(step, -largest, largest) if np.isfinite(step).all() else None), information

    def _add_known(self, at: Array, information: Array, gradient: Array) -> None:
        known = self._known
        if known is None:
            return
        off = wrap(at[2] - known.yaws_rad)
        information[2, 2] += known.yaw_std_rad**-2
        gradient[2] += off[np.abs(off).argmin()] / known.yaw_std_rad**2
        if known.place_m is not None:
            information[[0, 1], [0, 1]] += known.place_std_m**-2
            gradient[:2] += (at[:2] - known.place_m) / known.place_std_m**2


def points_and_derivatives(points_m: Array, parameters: Array) -> tuple[Array, Array]:
    """Points of ``map`` in the camera's frame, and how they move with the pose.

    Args:
        points_m: N x 3 in ``map``.
        parameters: (6,): x_m, y_m, yaw_rad, height_m, pitch_rad, roll_rad.

    Returns:
        N x 3 points in ``camera_optical_frame`` and N x 3 x 6 derivatives.
    """
    turn = rotations(parameters[None])[0]
    from_centre = points_m - np.array([parameters[0], parameters[1], parameters[3]])
    seen = from_centre @ turn.T
    derivatives = np.empty((len(points_m), 3, PARAMETERS))
    derivatives[:, :, 0] = -turn[:, 0]
    derivatives[:, :, 1] = -turn[:, 1]
    derivatives[:, :, 3] = -turn[:, 2]
    # Yaw turns the camera about z; pitch about the level axis to its left; roll about its own axis.
    left = np.array([-math.sin(parameters[2]), math.cos(parameters[2]), 0.0])
    # Cross products with axes of which one component or two are zero.
    x, y, z = from_centre.T
    none = np.zeros_like(x)
    derivatives[:, :, 2] = np.stack([y, -x, none], axis=1) @ turn.T
    along = left[0] * y - left[1] * x
    derivatives[:, :, 4] = np.stack([-left[1] * z, left[0] * z, -along], axis=1) @ turn.T
    derivatives[:, :, 5] = np.stack([seen[:, 1], -seen[:, 0], none], axis=1)
    return seen, derivatives


def _apart(tried: Array, supports: Array, config: UprightConfig) -> list[int]:
    """The best hypotheses that are not just the same one again."""
    chosen: list[int] = []
    left = supports.copy()
    for _ in range(config.refined):
        at = int(left.argmax())
        if left[at] <= 0:
            break
        chosen.append(at)
        near = np.hypot(*(tried[:, :2] - tried[at, :2]).T) < config.apart_m
        left[near & (np.abs(wrap(tried[:, 2] - tried[at, 2])) < math.radians(config.apart_deg))] = 0
    return chosen
