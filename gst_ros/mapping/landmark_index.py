"""Landmarks of all keyframes in flat arrays: what a picture is matched with, and where it should show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import Array, PinholeCamera
from gst_ros.mapping.features import Matches
from gst_ros.mapping.landmarks import Depths, View, points_of
from gst_ros.mapping.query_picture import QueryPicture
from gst_ros.mapping.retrieval import Retrieval
from gst_ros.mapping.upright_hypotheses import Sightings, rotations

_NEAREST = 8
"""Keypoints around its place that a landmark is compared with."""


@dataclass(frozen=True)
class GuidedConfig(Settings):
    """How landmarks are looked for where a pose expects them."""

    keyframes: int = setting(12, "Keyframes whose landmarks are looked for.", low=0)
    far_px: float = setting(30.0, "How far from its place a landmark is looked for at first.", unit="px", above=0.0)
    near_px: float = setting(10.0, "How far in the end.", unit="px", above=0.0)


@dataclass(frozen=True)
class Pair:
    """A copy of a picture and a keyframe.

    Attributes:
        scale: Which copy of the picture.
        keyframe: Index of the keyframe.
        matches: Features of the copy (first) and of the keyframe (second).
    """

    scale: int
    keyframe: int
    matches: Matches


class LandmarkIndex:
    """Landmarks of all keyframes in flat arrays."""

    def __init__(self, views: Sequence[View], depths: Sequence[Depths]) -> None:
        self.views = []
        points, spreads, centres, owners = [], [], [], []
        for k, (view, depth) in enumerate(zip(views, depths, strict=True)):
            at, spread = points_of(view, depth)
            self.views.append(view.features)
            points.append(at)
            spreads.append(spread)
            centres.append(np.broadcast_to(view.centre_m, at.shape))
            owners.append(np.full(len(at), k))
        self.sizes = np.array([len(part) for part in points], np.int64)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.points_m = np.concatenate(points) if points else np.zeros((0, 3))
        self.spreads_m = np.concatenate(spreads) if points else np.zeros((0, 3))
        self.centres_m = np.concatenate(centres) if points else np.zeros((0, 3))
        self.owners = np.concatenate(owners) if points else np.zeros(0, np.int64)
        self.known = np.concatenate([depth.known for depth in depths]) if points else np.zeros(0, np.bool_)
        self.descriptors = np.concatenate([part.descriptors for part in self.views]) if points else np.zeros((0, 1))
        self._known_at = np.flatnonzero(self.known)
        self._known_m = self.points_m[self._known_at].astype(np.float32)
        ray = self._known_m - self.centres_m[self._known_at].astype(np.float32)
        self._known_far_m = np.linalg.norm(ray, axis=1)
        self._known_ray = ray / np.maximum(self._known_far_m, 1e-6)[:, None]
        self.retrieval = Retrieval([part.descriptors for part in self.views])

    def sightings(self, picture: QueryPicture, pairs: Sequence[Pair]) -> Sightings:
        """Matches with several keyframes as sightings of landmarks."""
        nothing = np.zeros(0, np.int64)
        marks = [nothing, *(self.starts[pair.keyframe] + pair.matches.second for pair in pairs)]
        keypoints = [nothing, *(picture.starts[pair.scale] + pair.matches.first for pair in pairs)]
        trust = [np.zeros(0), *(pair.matches.scores.astype(np.float64) for pair in pairs)]
        return self._sightings(picture, np.concatenate(keypoints), np.concatenate(marks), np.concatenate(trust))

    def known_since(self, before: LandmarkIndex, pairs: Sequence[Pair]) -> NDArray[np.bool_]:
        """Which of the sightings of :meth:`sightings` are of landmarks whose depth was not known before."""
        marks = [np.zeros(0, np.int64), *(self.starts[pair.keyframe] + pair.matches.second for pair in pairs)]
        return np.asarray((self.known & ~before.known)[np.concatenate(marks)])

    def _sightings(
        self, picture: QueryPicture, keypoints: NDArray[np.int64], marks: NDArray[np.int64], trust: Array
    ) -> Sightings:
        return Sightings(
            picture.pixels[keypoints],
            self.points_m[marks],
            self.spreads_m[marks],
            trust,
            keypoints,
            self.owners[marks],
        )

    def look_for(
        self, picture: QueryPicture, parameters: Array, config: GuidedConfig, likeness: float, reach_px: float
    ) -> Sightings:
        """Landmarks near where a pose expects them, in the keyframes that see most of what it shows.

        Args:
            picture: The picture.
            parameters: (6,), the pose, as in :mod:`gst_ros.mapping.upright_pnp`.
            config: Limits.
            likeness: Least dot product of descriptors.
            reach_px: How far from its place a landmark is looked for.
        """
        shown, pixels = self._shown(picture.camera, parameters)
        counts = np.bincount(self.owners[shown], minlength=len(self.views))
        chosen = np.argsort(-counts, kind="stable")[: config.keyframes]
        chosen = chosen[counts[chosen] > 0]
        use = np.isin(self.owners[shown], chosen)
        marks = shown[use]
        reach, found = picture.tree.query(pixels[use], k=_NEAREST, distance_upper_bound=reach_px)
        missing, near = ~np.isfinite(reach), np.asarray(found, np.int64)
        alike = np.einsum("nd,nkd->nk", self.descriptors[marks], picture.looks[np.where(missing, 0, near)])
        alike[missing] = -1.0
        best = alike.argmax(axis=1)
        rows = np.arange(len(marks))
        score, keypoints = alike[rows, best], near[rows, best]
        # Of one keyframe's landmarks, a keypoint is the likest only.
        order = np.lexsort((-score, keypoints, self.owners[marks]))
        owner, keypoint = self.owners[marks][order], keypoints[order]
        first = np.r_[True, (np.diff(owner) != 0) | (np.diff(keypoint) != 0)][: len(order)]
        kept = order[first & (score[order] > likeness)]
        return self._sightings(picture, keypoints[kept], marks[kept], np.ones(len(kept)))

    def _shown(self, camera: PinholeCamera, parameters: Array) -> tuple[NDArray[np.int64], Array]:
        """Which landmarks a pose shows from a side and at a size that can be recognised, and their pixels."""
        centre = parameters[[0, 1, 3]]
        from_here = self._known_m - centre.astype(np.float32)
        there = from_here @ rotations(parameters[None])[0].T.astype(np.float32)
        ahead = np.flatnonzero(there[:, 2] > 0.2)
        pixels = camera.pixels(there[ahead].astype(np.float64))
        inside = ((pixels >= 0) & (pixels < (camera.width, camera.height))).all(axis=1)
        shown, pixels = ahead[inside], pixels[inside]
        near, far = np.linalg.norm(from_here[shown], axis=1), self._known_far_m[shown]
        cosine = (from_here[shown] * self._known_ray[shown]).sum(axis=1) / np.maximum(near, 1e-6)
        good = (near > 0.4 * far) & (near < 2.5 * far) & (cosine > 0.6)
        return self._known_at[shown[good]], pixels[good]
