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

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import Array, CameraMount, PinholeCamera
from gst_ros.mapping.planar import wrap

PARAMETERS = 6
"""x_m, y_m, yaw_rad, height_m, pitch_rad, roll_rad."""
_CELL_SHARE = 1 / 16
"""Side of a cell of a picture, of its width; features share the say of their cell."""


@dataclass(frozen=True)
class UprightConfig(Settings):
    """How the pose of an image is searched for."""

    hypotheses: int = setting(1500, "Pairs of points that are tried.", low=1)
    some: int = setting(160, "Sightings that all hypotheses are tried with first.", low=2)
    better: int = setting(500, "Hypotheses that are tried with all sightings.", low=1)
    pixel_std: float = setting(1.2, "Standard deviation of a keypoint.", unit="px", above=0.0)
    independent: float = setting(60.0, "Sightings beyond this number say nothing new.", above=0.0)
    gate: float = setting(3.0, "Points that miss by more standard deviations are outliers.", above=0.0)
    refined: int = setting(8, "Hypotheses that are refined.", low=1)
    least_height_std: float = setting(0.005, "The height is never trusted better than this, of itself.", above=0.0)
    least_tilt_std_deg: float = setting(0.15, "Pitch and roll are never trusted better.", unit="deg", above=0.0)
    apart_m: float = setting(0.5, "A pose so far away is another one.", unit="m", above=0.0)
    apart_deg: float = setting(12.0, "A pose turned by so much is another one.", unit="deg", above=0.0)


@dataclass(frozen=True)
class Sightings:
    """Points of the map, and the pixels of the image where they are believed to be seen.

    Attributes:
        pixels: N x 2.
        points_m: N x 3 in ``map``.
        spreads_m: N x 3; each point may lie off by this vector, which is one standard deviation (along the ray on
            which it was triangulated: depth is what is known worst).
        trust: N, how likely each is right, 0 to 1.
        keypoints: N, which keypoint of the image it is; one keypoint may be seen as several points.
        sources: N, which keyframe believes so: one keyframe's sightings are right or wrong together, rather.
    """

    pixels: Array
    points_m: Array
    spreads_m: Array
    trust: Array
    keypoints: NDArray[np.int64]
    sources: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.pixels)

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> Sightings:
        """Those that an index array or a mask chooses."""
        return Sightings(
            self.pixels[index],
            self.points_m[index],
            self.spreads_m[index],
            self.trust[index],
            self.keypoints[index],
            self.sources[index],
        )

    def joined(self, other: Sightings) -> Sightings:
        """These and others, of the same picture."""
        return Sightings(
            np.concatenate([self.pixels, other.pixels]),
            np.concatenate([self.points_m, other.points_m]),
            np.concatenate([self.spreads_m, other.spreads_m]),
            np.concatenate([self.trust, other.trust]),
            np.concatenate([self.keypoints, other.keypoints]),
            np.concatenate([self.sources, other.sources]),
        )


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
    sightings: Sightings, camera: PinholeCamera, prior: CameraMount, config: UprightConfig | None = None
) -> list[UprightPose]:
    """Find the poses that most sightings agree with.

    Args:
        sightings: What is seen where; most of it may be wrong.
        camera: The camera that the pixels come from.
        prior: Height, pitch and roll with their standard deviations.
        config: Limits.

    Returns:
        Poses that differ, the one with the most support first; none where no pair of points gives one.
    """
    config = config or UprightConfig()
    if len(sightings) < 2:
        return []
    problem = _Problem(sightings, camera, prior, config)
    tried = _hypotheses(sightings, camera, prior, config)
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
) -> UprightPose | None:
    """The pose near parameters (6,) that sightings agree with best; None where fewer than two do."""
    problem = _Problem(sightings, camera, prior, config or UprightConfig())
    return problem.refined(np.asarray(start, np.float64)) if len(sightings) >= 2 else None


def _same(a: Array, b: Array, distance_m: float, turn_rad: float) -> bool:
    return bool(np.hypot(*(a[:2] - b[:2])) < distance_m and abs(wrap(a[2] - b[2])) < turn_rad)


def rotations(parameters: Array) -> Array:
    """H x 3 x 3 rotations that take vectors of ``map`` to ``camera_optical_frame``, of H x 6 parameters."""
    yaw, pitch, roll = parameters[:, 2], parameters[:, 4], parameters[:, 5]
    zero = np.zeros_like(yaw)
    ahead = np.stack([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), -np.sin(pitch)], axis=1)
    right = np.stack([np.sin(yaw), -np.cos(yaw), zero], axis=1)
    down = np.cross(ahead, right)
    cos, sin = np.cos(roll)[:, None], np.sin(roll)[:, None]
    return np.stack([cos * right + sin * down, cos * down - sin * right, ahead], axis=1)


class _Problem:
    """Misses of sightings under poses, in standard deviations, and their derivatives."""

    def __init__(self, sightings: Sightings, camera: PinholeCamera, prior: CameraMount, config: UprightConfig) -> None:
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

    def refined(self, start: Array, rounds: int = 12) -> UprightPose | None:
        """Robust least squares (Geman and McClure's weights), from wide to narrow, with the priors."""
        at = start.copy()
        config = self._config
        for step in range(rounds):
            width = config.gate * max(1.0, 3.0 - step / 2)
            residuals, derivatives, squared = self._linear(at)
            weights = np.where(squared < width**2, (1 + squared / width**2 * 3) ** -2.0, 0.0) * self._seen.trust
            change, _ = self._normal(at, residuals, derivatives, weights * self._dependence(weights))
            if change is None:
                return None
            at = at + change
            at[2] = wrap(at[2])
            if step > 5 and np.abs(change).max() < 1e-5:
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

    def _linear(self, at: Array) -> tuple[Array, Array, Array]:
        """Whitened misses N x 2, their derivatives N x 2 x 6, and their squares N, at one pose."""
        camera, seen, std = self._camera, self._seen, self._config.pixel_std
        points, by_pose = points_and_derivatives(seen.points_m, at)
        z = np.maximum(points[:, 2], 0.05)
        to_pixels = np.zeros((len(points), 2, 3))
        to_pixels[:, 0, 0] = camera.fx / z
        to_pixels[:, 1, 1] = camera.fy / z
        to_pixels[:, 0, 2] = -camera.fx * points[:, 0] / z**2
        to_pixels[:, 1, 2] = -camera.fy * points[:, 1] / z**2
        misses = camera.pixels(points) - seen.pixels
        spread = np.einsum("nij,nj->ni", to_pixels, seen.spreads_m @ rotations(at[None])[0].T)
        # Inverse square root of variance * I + s s': shorten what lies along s.
        length = np.linalg.norm(spread, axis=1)
        along = spread / np.maximum(length, 1e-12)[:, None]
        shorter = 1 - std / np.sqrt(std**2 + length**2)
        whiten = (np.eye(2) - shorter[:, None, None] * along[:, :, None] * along[:, None, :]) / std
        residuals = np.einsum("nij,nj->ni", whiten, misses)
        squared = np.where(points[:, 2] > 0.05, (residuals**2).sum(axis=1), np.inf)
        return residuals, whiten @ to_pixels @ by_pose, squared

    def _normal(self, at: Array, residuals: Array, derivatives: Array, weights: Array) -> tuple[Array | None, Array]:
        """The Gauss-Newton step (None where the equations are singular) and the information matrix."""
        weighted = derivatives * weights[:, None, None]
        information = np.einsum("nki,nkj->ij", weighted, derivatives)
        gradient = np.einsum("nki,nk->i", weighted, residuals)
        surprise = (at[3:] - self._expected) / self._expected_std**2
        information[3:, 3:] += np.diag(self._expected_std**-2.0)
        gradient[3:] += surprise
        information += 1e-9 * np.eye(PARAMETERS)
        step = np.linalg.solve(information, -gradient)
        largest = np.array([1.0, 1.0, 0.5, 0.3, 0.2, 0.2])
        return (np.clip(step, -largest, largest) if np.isfinite(step).all() else None), information


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
    derivatives[:, :, 2] = -np.cross([0.0, 0.0, 1.0], from_centre) @ turn.T
    derivatives[:, :, 4] = -np.cross(left, from_centre) @ turn.T
    derivatives[:, :, 5] = -np.cross([0.0, 0.0, 1.0], seen)
    return seen, derivatives


def _hypotheses(sightings: Sightings, camera: PinholeCamera, prior: CameraMount, config: UprightConfig) -> Array:
    """H x 6 parameters, each from two sightings.

    The height of the camera and the elevation of a ray give how far its point is; the distance of the two points in
    the plane then leaves at most two places for the second one on its ray (law of cosines). Two points, each at a known
    bearing and distance, give position and yaw.
    """
    rng = np.random.default_rng(len(sightings))
    count = config.hypotheses
    vague = np.linalg.norm(sightings.spreads_m, axis=1)
    odds = np.maximum(sightings.trust, 1e-6) / (1 + (vague / 0.3) ** 2)
    # A keyframe's say grows with the root of its matches: many keyframes may show the same wrong thing.
    _, source, sizes = np.unique(sightings.sources, return_inverse=True, return_counts=True)
    odds /= np.sqrt(sizes)[source]
    odds /= odds.sum()
    first, second = rng.choice(len(sightings), (2, count), p=odds)
    # The other point of most pairs comes from the same keyframe.
    order = np.argsort(source, kind="stable")
    inner = rng.random(count) < 0.7
    group = source[first[inner]]
    starts = np.cumsum(sizes) - sizes
    second[inner] = order[starts[group] + (rng.random(len(group)) * sizes[group]).astype(np.int64)]
    height_std = max(prior.height_std_m, config.least_height_std * prior.height_m)
    heights = prior.height_m + height_std * np.clip(rng.standard_normal(count), -2, 2) * (height_std > 0.03)
    pitches = np.radians(prior.pitch_deg + prior.pitch_std_deg * np.clip(rng.standard_normal(count), -2, 2))
    rolls = np.radians(prior.roll_deg + prior.roll_std_deg * np.clip(rng.standard_normal(count), -2, 2))
    level = np.zeros((count, PARAMETERS))
    level[:, 3], level[:, 4], level[:, 5] = heights, pitches, rolls
    to_base = rotations(level).transpose(0, 2, 1)
    rays = camera.rays(sightings.pixels)
    bearings, slopes = [], []
    for chosen in (first, second):
        direction = np.einsum("hij,hj->hi", to_base, rays[chosen])
        run = np.hypot(direction[:, 0], direction[:, 1])
        bearings.append(direction[:, :2] / np.maximum(run, 1e-9)[:, None])
        slopes.append(direction[:, 2] / np.maximum(run, 1e-9))
    a, b = sightings.points_m[first], sightings.points_m[second]
    steep = np.where(np.abs(slopes[0]) > 0.06, slopes[0], np.nan)
    reach = (a[:, 2] - heights) / steep
    apart = b[:, :2] - a[:, :2]
    cosine = (bearings[0] * bearings[1]).sum(axis=1)
    under = (apart**2).sum(axis=1) - reach**2 * (1 - cosine**2)
    # A little below zero is noise.
    root = np.sqrt(np.where(under > -0.05 * reach**2, np.maximum(under, 0), np.nan))
    found = []
    for sign in (1.0, -1.0):
        other = reach * cosine + sign * root
        leg = other[:, None] * bearings[1] - reach[:, None] * bearings[0]
        yaw = wrap(np.arctan2(apart[:, 1], apart[:, 0]) - np.arctan2(leg[:, 1], leg[:, 0]))
        cos, sin = np.cos(yaw), np.sin(yaw)
        ahead = reach[:, None] * bearings[0]
        x = a[:, 0] - (cos * ahead[:, 0] - sin * ahead[:, 1])
        y = a[:, 1] - (sin * ahead[:, 0] + cos * ahead[:, 1])
        pose = np.stack([x, y, yaw, heights, pitches, rolls], axis=1)
        with np.errstate(invalid="ignore"):
            good = np.isfinite(pose).all(axis=1) & (reach > 0.1) & (other > 0.1) & (np.hypot(*leg.T) > 0.1)
        found.append(pose[good])
    return np.concatenate(found)


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
