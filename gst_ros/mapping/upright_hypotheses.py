"""Poses that few sightings of landmarks suggest, when height and tilt of the camera are known almost.

Two sightings give a pose. Where the yaw is known up to quarter turns as well, one does, and two give it better.
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
_LEAST_SLOPE = 0.06
_LEAST_CROSS = 0.15
_NEAREST_M = 0.2
_FARTHEST_M = 15.0


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


def rotations(parameters: Array) -> Array:
    """H x 3 x 3 rotations that take vectors of ``map`` to ``camera_optical_frame``, of H x 6 parameters."""
    yaw, pitch, roll = parameters[:, 2], parameters[:, 4], parameters[:, 5]
    zero = np.zeros_like(yaw)
    ahead = np.stack([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), -np.sin(pitch)], axis=1)
    right = np.stack([np.sin(yaw), -np.cos(yaw), zero], axis=1)
    # Their cross product; numpy's own takes longer than all the rest.
    down = np.stack(
        [-ahead[:, 2] * right[:, 1], ahead[:, 2] * right[:, 0], ahead[:, 0] * right[:, 1] - ahead[:, 1] * right[:, 0]],
        axis=1,
    )
    cos, sin = np.cos(roll)[:, None], np.sin(roll)[:, None]
    return np.stack([cos * right + sin * down, cos * down - sin * right, ahead], axis=1)


def pairs_of_points(sightings: Sightings, camera: PinholeCamera, prior: CameraMount, config: UprightConfig) -> Array:
    """H x 6 parameters, each from two sightings.

    The height of the camera and the elevation of a ray give how far its point is; the distance of the two points in
    the plane then leaves at most two places for the second one on its ray (law of cosines). Two points, each at a known
    bearing and distance, give position and yaw.
    """
    rng = np.random.default_rng(len(sightings))
    count = config.hypotheses
    odds, source, sizes = _odds(sightings)
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


def places_with_yaws(
    sightings: Sightings, camera: PinholeCamera, prior: CameraMount, config: UprightConfig, yaws_rad: Array
) -> Array:
    """H x 6 parameters with yaws that are known but for which of them it is.

    One sighting gives a place where its ray is steep enough to tell how far the point is; two rays give the place
    where the lines through their points meet.
    """
    rng = np.random.default_rng(len(sightings))
    odds, _, _ = _odds(sightings)
    level = np.array([[0.0, 0.0, 0.0, prior.height_m, math.radians(prior.pitch_deg), math.radians(prior.roll_deg)]])
    rays = camera.rays(sightings.pixels) @ rotations(level)[0]
    run = np.maximum(np.hypot(rays[:, 0], rays[:, 1]), 1e-9)
    bearings, slopes = np.arctan2(rays[:, 1], rays[:, 0]), rays[:, 2] / run
    each = max(1, config.hypotheses // (3 * len(yaws_rad)))
    found = []
    for yaw in yaws_rad:
        chosen = rng.choice(len(sightings), each, p=odds)
        with np.errstate(divide="ignore"):
            reach = (sightings.points_m[chosen, 2] - prior.height_m) / slopes[chosen]
        good = (np.abs(slopes[chosen]) > _LEAST_SLOPE) & (reach > _NEAREST_M) & (reach < _FARTHEST_M)
        found.append(_behind(sightings.points_m[chosen[good], :2], bearings[chosen[good]] + yaw, reach[good], yaw))
        one, two = rng.choice(len(sightings), (2, 2 * each), p=odds)
        ways = [np.stack([np.cos(bearings[k] + yaw), np.sin(bearings[k] + yaw)], axis=1) for k in (one, two)]
        apart = sightings.points_m[one, :2] - sightings.points_m[two, :2]
        cross = ways[0][:, 0] * ways[1][:, 1] - ways[0][:, 1] * ways[1][:, 0]
        safe = np.where(np.abs(cross) > _LEAST_CROSS, cross, np.nan)
        first, second = ((apart[:, 0] * way[:, 1] - apart[:, 1] * way[:, 0]) / safe for way in (ways[1], ways[0]))
        good = (first > _NEAREST_M) & (second > _NEAREST_M) & (first < _FARTHEST_M) & (second < _FARTHEST_M)
        at = one[good]
        found.append(_behind(sightings.points_m[at, :2], bearings[at] + yaw, first[good], yaw))
    poses = np.concatenate(found)
    return np.concatenate([poses, np.repeat(level[:, 3:], len(poses), axis=0)], axis=1)


def _behind(points_m: Array, headings_rad: Array, reach_m: Array, yaw_rad: float) -> Array:
    """N x 3 poses that see points in directions at distances."""
    back = reach_m[:, None] * np.stack([np.cos(headings_rad), np.sin(headings_rad)], axis=1)
    return np.column_stack([points_m - back, np.full(len(points_m), yaw_rad)])


def _odds(sightings: Sightings) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """N odds of being drawn, N numbers of keyframes, and how many sightings each of those has."""
    vague = np.linalg.norm(sightings.spreads_m, axis=1)
    odds = np.maximum(sightings.trust, 1e-6) / (1 + (vague / 0.3) ** 2)
    # A keyframe's say grows with the root of its matches: many keyframes may show the same wrong thing.
    _, source, sizes = np.unique(sightings.sources, return_inverse=True, return_counts=True)
    odds /= np.sqrt(sizes)[source]
    return odds / odds.sum(), source, sizes
