"""Landmarks of all keyframes in flat arrays: what a picture is matched with, and where it should show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import Array, PinholeCamera
from gst_ros.mapping.features import Features, Matches
from gst_ros.mapping.landmarks import Depths, View, points_of
from gst_ros.mapping.retrieval import Retrieval
from gst_ros.mapping.upright_pnp import Sightings, UprightPose, rotations


@dataclass(frozen=True)
class GuidedConfig(Settings):
    """How landmarks are looked for where a pose expects them."""

    keyframes: int = setting(12, "Keyframes whose landmarks are looked for.", low=0)
    radius_px: float = setting(12.0, "How far from its place a landmark is looked for.", unit="px", above=0.0)


class LandmarkIndex:
    """Landmarks of all keyframes in flat arrays."""

    def __init__(self, views: Sequence[View], depths: Sequence[Depths]) -> None:
        self.views = []
        points, spreads, centres, owners = [], [], [], []
        for k, (view, depth) in enumerate(zip(views, depths, strict=True)):
            known = depth.known
            at, spread = points_of(view, depth)
            self.views.append(view.features.take(known))
            points.append(at[known])
            spreads.append(spread[known])
            centres.append(np.broadcast_to(view.centre_m, (int(known.sum()), 3)))
            owners.append(np.full(int(known.sum()), k))
        self.sizes = np.array([len(part) for part in points], np.int64)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.points_m = np.concatenate(points) if points else np.zeros((0, 3))
        self.spreads_m = np.concatenate(spreads) if points else np.zeros((0, 3))
        self.centres_m = np.concatenate(centres) if points else np.zeros((0, 3))
        self.owners = np.concatenate(owners) if points else np.zeros(0, np.int64)
        self.descriptors = np.concatenate([part.descriptors for part in self.views]) if points else np.zeros((0, 1))
        self.retrieval = Retrieval([part.descriptors for part in self.views])

    def sightings(
        self, query: Features, candidates: Sequence[int], matched: Sequence[Matches]
    ) -> tuple[Sightings, NDArray[np.int64]]:
        """Matches with several keyframes as sightings of landmarks, and which landmarks these are."""
        marks = np.concatenate([self.starts[k] + part.second for k, part in zip(candidates, matched, strict=True)])
        keypoints = np.concatenate([part.first for part in matched])
        trust = np.concatenate([part.scores for part in matched]).astype(np.float64)
        return self._sightings(query, keypoints, marks, trust), marks

    def _sightings(
        self, query: Features, keypoints: NDArray[np.int64], marks: NDArray[np.int64], trust: Array
    ) -> Sightings:
        pixels = query.keypoints[keypoints].astype(np.float64)
        return Sightings(pixels, self.points_m[marks], self.spreads_m[marks], trust, keypoints)

    def look_for(
        self, query: Features, camera: PinholeCamera, found: UprightPose, config: GuidedConfig, likeness: float
    ) -> tuple[Sightings, NDArray[np.int64]]:
        """Landmarks near where a pose expects them, in the keyframes that see most of what it shows."""
        centre = found.parameters[[0, 1, 3]]
        turn = rotations(found.parameters[None])[0]
        there = (self.points_m - centre) @ turn.T
        pixels = camera.pixels(there)
        shown = (there[:, 2] > 0.2) & (pixels >= 0).all(axis=1)
        shown &= (pixels[:, 0] < camera.width) & (pixels[:, 1] < camera.height)
        from_here = self.points_m - centre
        from_there = self.points_m - self.centres_m
        near, far = np.linalg.norm(from_here, axis=1), np.linalg.norm(from_there, axis=1)
        scale = near / np.maximum(far, 1e-6)
        cosine = (from_here * from_there).sum(axis=1) / np.maximum(near * far, 1e-9)
        shown &= (scale > 0.4) & (scale < 2.5) & (cosine > 0.6)
        counts = np.bincount(self.owners[shown], minlength=len(self.views))
        chosen = np.argsort(-counts, kind="stable")[: config.keyframes]
        keypoints, marks, trust = [], [], []
        for k in chosen:
            part = np.arange(self.starts[k], self.starts[k] + self.sizes[k])
            part = part[shown[part]]
            if not len(part):
                continue
            off = pixels[part][:, None] - query.keypoints[None]
            alike = self.descriptors[part] @ query.descriptors.T
            alike[(off**2).sum(axis=2) > config.radius_px**2] = -1.0
            best = alike.argmax(axis=1)
            good = (alike.argmax(axis=0)[best] == np.arange(len(part))) & (alike[np.arange(len(part)), best] > likeness)
            keypoints.append(best[good])
            marks.append(part[good])
            trust.append(np.ones(int(good.sum())))
        if not marks:
            nothing = np.zeros(0, np.int64)
            return self._sightings(query, nothing, nothing, np.zeros(0)), nothing
        flat = np.concatenate(marks)
        return self._sightings(query, np.concatenate(keypoints), flat, np.concatenate(trust)), flat
