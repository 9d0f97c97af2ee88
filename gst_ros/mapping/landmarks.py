"""How far the features of keyframes are: triangulation over neighbours whose poses are known.

Each feature keeps the ray on which one keyframe saw it and its inverse depth there, so that points follow when poses
are corrected. Matches between neighbours are searched along epipolar lines only, which leaves few wrong ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import Array, CameraMount, PinholeCamera
from gst_ros.mapping.features import Features
from gst_ros.mapping.planar import wrap

KNOWN = 0.15
"""Depths whose standard deviation is a smaller part of them count as known."""
_GUESS_M = 3.0
_GUESSED_FROM = 6


@dataclass(frozen=True)
class LandmarkConfig(Settings):
    """How the features of keyframes are triangulated."""

    neighbours: int = setting(5, "Other keyframes that each one is matched with.", low=1)
    least_baseline_m: float = setting(0.12, "Nearer keyframes see no parallax.", unit="m", above=0.0)
    most_baseline_m: float = setting(2.5, "Keyframes further away see too little of the same.", unit="m", above=0.0)
    best_baseline_m: float = setting(0.5, "The distance of neighbours that is best.", unit="m", above=0.0)
    most_turn_deg: float = setting(50.0, "Keyframes turned further see too little of the same.", unit="deg", above=0.0)
    likeness: float = setting(0.8, "Least dot product of descriptors, of the learned kind.", above=0.0)
    epipolar_px: float = setting(3.0, "How far a match may lie from its epipolar line.", unit="px", above=0.0)
    pixel_std: float = setting(1.5, "Standard deviation of a match, poses included.", unit="px", above=0.0)
    guess_reach_px: float = setting(50.0, "Depths are guessed from features so near.", unit="px", above=0.0)
    nearest_m: float = setting(0.25, "Points nearer to the camera are wrong.", unit="m", above=0.0)
    farthest_m: float = setting(20.0, "Points further from the camera are wrong.", unit="m", above=0.0)


@dataclass(frozen=True)
class View:
    """A picture whose place is known, and its features.

    Attributes:
        features: What is seen.
        camera: The camera, at the size of the picture that the features are of.
        mount: Its height and tilt.
        pose: (3,): x_m, y_m, yaw_rad of ``base`` in ``map``.
    """

    features: Features
    camera: PinholeCamera
    mount: CameraMount
    pose: Array

    @property
    def rotation_map_from_camera(self) -> Array:
        """3 x 3 rotation that takes vectors of ``camera_optical_frame`` to ``map``."""
        cos, sin = math.cos(self.pose[2]), math.sin(self.pose[2])
        turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
        return np.asarray(turn @ self.mount.rotation_base_from_camera)

    @property
    def centre_m(self) -> Array:
        """(3,): where the camera is, in ``map``."""
        return np.array([self.pose[0], self.pose[1], self.mount.height_m])


@dataclass(frozen=True)
class Depths:
    """How far the features of one view are.

    Attributes:
        inverse_depth: N, 1 / m, along the optical axis; a guess where the deviation is large.
        inverse_std: N, its standard deviation.
    """

    inverse_depth: Array
    inverse_std: Array

    @property
    def known(self) -> NDArray[np.bool_]:
        """N, True where the depth is known, to 15 %; elsewhere little more than the ray is."""
        return np.asarray(self.inverse_std < KNOWN * self.inverse_depth)


def points_of(view: View, depths: Depths) -> tuple[Array, Array]:
    """Points in ``map`` and how they may lie off.

    Returns:
        N x 3 points, metres, and N x 3 vectors, one standard deviation along the ray.
    """
    rays = view.camera.rays(view.features.keypoints.astype(np.float64)) @ view.rotation_map_from_camera.T
    depth = 1 / depths.inverse_depth
    return view.centre_m + rays * depth[:, None], rays * (depth**2 * depths.inverse_std)[:, None]


def neighbours_of(views: Sequence[View], config: LandmarkConfig) -> list[list[int]]:
    """Which other views each one is matched with, the best first: near, but not too near, and looking the same way."""
    poses = np.array([view.pose for view in views]).reshape(-1, 3)
    chosen = []
    for i, pose in enumerate(poses):
        baseline = np.hypot(*(poses[:, :2] - pose[:2]).T)
        turn = np.degrees(np.abs(wrap(poses[:, 2] - pose[2])))
        fit = (baseline >= config.least_baseline_m) & (baseline <= config.most_baseline_m)
        fit &= turn <= config.most_turn_deg
        price = np.abs(np.log(np.maximum(baseline, 1e-6) / config.best_baseline_m)) + turn / 25.0
        order = [int(j) for j in np.argsort(np.where(fit, price, np.inf), kind="stable") if fit[j] and j != i]
        chosen.append(_spread_out(order, poses, config.neighbours))
    return chosen


def _spread_out(order: list[int], poses: Array, most: int) -> list[int]:
    """The first of them that do not stand where another one stands already; then the others."""
    apart: list[int] = []
    rest: list[int] = []
    for j in order:
        near = [k for k in apart if np.hypot(*(poses[j, :2] - poses[k, :2])) < 0.1]
        (rest if near else apart).append(j)
    return (apart + rest)[:most]


def triangulate(views: Sequence[View], config: LandmarkConfig | None = None) -> list[Depths]:
    """Depths of the features of views, from their poses.

    Args:
        views: Keyframes with known poses.
        config: Limits.

    Returns:
        One for each view.
    """
    config = config or LandmarkConfig()
    around = neighbours_of(views, config)
    return [_depths_of(view, [views[j] for j in around[i]], config) for i, view in enumerate(views)]


def _depths_of(view: View, others: Sequence[View], config: LandmarkConfig) -> Depths:
    """Inverse depths that most neighbours agree with.

    In each neighbour, a ray's point at inverse depth r lies at (a + r b) in the camera's frame, up to scale: a is the
    ray turned into that frame and b the way from its centre to this view's.
    """
    count = len(view.features)
    pairs = [_matched(view, other, config) for other in others]
    if not pairs or not count:
        return _with_guesses(view, np.full(count, np.nan), np.full(count, np.nan), config)
    a = np.stack([pair[0] for pair in pairs])  # K x N x 3
    b = np.stack([pair[1] for pair in pairs])[:, None, :]  # K x 1 x 3
    found = np.stack([pair[2] for pair in pairs])  # K x N x 2, NaN without a match
    scale = np.array([other.camera.fx for other in others])[:, None]
    # One neighbour gives one value, by least squares over its two image axes.
    rows = b[..., :2] - found * b[..., 2:]
    right = found * a[..., 2:] - a[..., :2]
    single = (rows * right).sum(axis=-1) / np.maximum((rows**2).sum(axis=-1), 1e-12)
    single = np.where((single > 1 / config.farthest_m) & (single < 1 / config.nearest_m), single, np.nan)
    gate = 2.5 * config.pixel_std
    best = np.full(count, np.nan)
    votes = np.zeros(count)
    with np.errstate(invalid="ignore"):
        for guess in single:
            agree = (_misses_px(guess, a, b, found, scale) < gate).sum(axis=0)
            better = agree > votes
            best, votes = np.where(better, guess, best), np.where(better, agree, votes)
        for _ in range(3):
            at = a + best[:, None] * b
            shown = at[..., :2] / at[..., 2:]
            slope = (b[..., :2] - shown * b[..., 2:]) / at[..., 2:] * scale[..., None]
            miss = (found - shown) * scale[..., None]
            use = (np.linalg.norm(miss, axis=-1) < gate)[..., None]
            information = np.where(use, slope**2, 0.0).sum(axis=(0, 2))
            step = np.where(use, slope * miss, 0.0).sum(axis=(0, 2)) / np.maximum(information, 1e-9)
            best = best + step
        std = config.pixel_std / np.sqrt(np.maximum(information, 1e-9))
        good = (best > 1 / config.farthest_m) & (best < 1 / config.nearest_m) & (std < KNOWN * best)
    return _with_guesses(view, np.where(good, best, np.nan), np.where(good, std, np.nan), config)


def _with_guesses(view: View, inverse_depth: Array, inverse_std: Array, config: LandmarkConfig) -> Depths:
    """Fill in what was not triangulated, from features around it in the picture, and with a deviation to match.

    A feature with a vague depth still ties a picture to its ray: it counts across the epipolar line.
    """
    known = np.isfinite(inverse_depth)
    guess = np.where(known, inverse_depth, 1 / _GUESS_M)
    std = np.where(known, inverse_std, 1 / _GUESS_M)
    if known.sum() >= _GUESSED_FROM and not known.all():
        places = view.features.keypoints.astype(np.float64)
        reach, index = cKDTree(places[known]).query(places[~known], k=_GUESSED_FROM)
        reach, around = np.asarray(reach), inverse_depth[known][np.asarray(index)]
        middle = np.median(around, axis=1)
        # The third nearest must be near: with fewer there is no telling what surface this is.
        near = reach[:, 2] < config.guess_reach_px
        guess[~known] = middle
        std[~known] = np.where(near, np.maximum(around.std(axis=1), KNOWN * middle), np.maximum(middle, 1 / _GUESS_M))
    return Depths(guess, std)


def _misses_px(inverse_depth: Array, a: Array, b: Array, found: Array, scale: Array) -> Array:
    """K x N distances in pixels between where points should be and where they were matched; NaN without a match."""
    at = a + inverse_depth[:, None] * b
    miss = np.linalg.norm(at[..., :2] / at[..., 2:] - found, axis=-1) * scale
    return np.asarray(np.where(at[..., 2] > 0, miss, np.nan))


def _matched(view: View, other: View, config: LandmarkConfig) -> tuple[Array, Array, Array]:
    """Rays of a view and the way to it, both in another's camera frame, and where the other one sees them.

    Returns:
        N x 3 turned rays; (3,) way; N x 2 image coordinates (z = 1) in the other view, NaN without a match.
    """
    to_other = other.rotation_map_from_camera.T
    turned = view.camera.rays(view.features.keypoints.astype(np.float64)) @ (to_other @ view.rotation_map_from_camera).T
    way = to_other @ (view.centre_m - other.centre_m)
    there = other.camera.rays(other.features.keypoints.astype(np.float64))
    found = np.full((len(turned), 2), np.nan)
    if not len(there):
        return turned, way, found
    lines = np.cross(np.broadcast_to(way, turned.shape), turned)
    lines /= np.maximum(np.linalg.norm(lines[:, :2], axis=1, keepdims=True), 1e-12)
    off = np.abs(lines.astype(np.float32) @ there.T.astype(np.float32)) * np.float32(other.camera.fx)
    alike = view.features.descriptors @ other.features.descriptors.T
    alike[off > config.epipolar_px] = -1.0
    best = alike.argmax(axis=1)
    rows = np.arange(len(turned))
    good = (alike.argmax(axis=0)[best] == rows) & (alike[rows, best] >= config.likeness)
    found[good] = there[best[good], :2]
    return turned, way, found
