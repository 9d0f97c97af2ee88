"""Loop closure: places seen before, found by looks, believed by geometry."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from gst_ros.config import Settings, setting
from gst_ros.mapping.features import FeatureKind, Features, Matches
from gst_ros.mapping.keyframes import Keyframe
from gst_ros.mapping.motion import Landmarks, Rig, estimate
from gst_ros.mapping.planar import Array

_FLOOR_STD = 0.01
_NEAR_PX = 10.0  # a feature so near to a followed corner has about its depth


@dataclass(frozen=True)
class LoopConfig(Settings):
    """Settings of loop closure."""

    features: int = setting(400, "Features of a keyframe that are matched.", low=50)
    pixel_std: float = setting(1.5, "Standard deviation of a feature's coordinate.", unit="px", above=0.0)
    least_inliers: int = setting(25, "Fewer agreeing matches are no loop.", low=6)
    least_share: float = setting(0.35, "A smaller share of agreeing matches is no loop.", low=0.0, high=1.0)
    least_spread_px: float = setting(60.0, "Standard deviation of the matches over the picture.", unit="px", low=0.0)
    most_std_m: float = setting(0.15, "A loop known worse than this is none.", unit="m", above=0.0)
    hypotheses: int = setting(200, "Motions tried per pair.", low=10)


@dataclass(frozen=True)
class Loop:
    """Two keyframes that see the same.

    Attributes:
        first: Index of the earlier keyframe.
        second: Index of the later one.
        motion: (3,) pose of the second in ``base`` of the first.
        covariance: 3 x 3 of it, in the first's axes.
        pixels_first: M x 2 of agreeing matches, in the first.
        pixels_second: M x 2, in the second.
        points: M x 3, where they are, in ``base`` of the first.
        on_floor: M, which of them lie on the floor.
    """

    first: int
    second: int
    motion: Array
    covariance: Array
    pixels_first: Array
    pixels_second: Array
    points: Array
    on_floor: np.typing.NDArray[np.bool_]


class LoopVerifier:
    """Turns pairs of keyframes into loops, or refuses.

    Args:
        rig: Camera and mount, for pixels of the tracker.
        features: How to match.
        config: Settings.
        rig_from_features: 3 x 3 homography from the features' pixels to those of the tracker's camera; None: they
            differ by their size at most.
    """

    def __init__(
        self,
        rig: Rig,
        features: FeatureKind,
        config: LoopConfig | None = None,
        rig_from_features: Array | None = None,
    ) -> None:
        self.config = config or LoopConfig()
        self._rig = rig
        self._kind = features
        self._matrix = rig_from_features
        self._random = np.random.default_rng(1)

    def verify(self, first: Keyframe, second: Keyframe, seen_first: Features, seen_second: Features) -> Loop | None:
        """Match two keyframes and find the motion between them that the matches agree on.

        Args:
            first: The earlier keyframe; its corners' depths serve as depths of nearby features.
            second: The later one.
            seen_first: Features of the first.
            seen_second: Features of the second.
        """
        seen_first, seen_second = (seen.take(slice(0, self.config.features)) for seen in (seen_first, seen_second))
        matches = self._kind.match(seen_first, [seen_second])[0]
        if len(matches) < self.config.least_inliers:
            return None
        pixels_first, pixels_second = self._pixels(seen_first, seen_second, matches)
        sure, unsure, trusted = self._landmarks(first, pixels_first)
        motion = estimate(
            self._rig, sure, pixels_second, trusted, self._random,
            count=self.config.hypotheses, pixel_std=self.config.pixel_std, otherwise=unsure,
        )  # fmt: skip
        if motion is None:
            return None
        agree = motion.inliers
        n = int(agree.sum())
        if n < max(self.config.least_inliers, self.config.least_share * len(matches)):
            return None
        spread = float(np.sqrt(np.var(pixels_second[agree], axis=0).sum()))
        std_m = float(np.sqrt(np.linalg.eigvalsh(motion.covariance[:2, :2])[-1]))
        if spread < self.config.least_spread_px or std_m > self.config.most_std_m:
            return None
        height = self._rig.mount.height_m
        floor = np.abs(sure.inverse_depths - sure.on_floor(height)) < 1e-9
        # Matches of one picture err together; the information of all of them is worth that of a few.
        covariance = motion.covariance * 4.0 + np.diag([0.02, 0.02, 0.005]) ** 2
        return Loop(
            first.index, second.index, motion.pose, covariance, pixels_first[agree], pixels_second[agree],
            sure.points(height)[agree], floor[agree],
        )  # fmt: skip

    def _pixels(self, first: Features, second: Features, matches: Matches) -> tuple[Array, Array]:
        """Matched keypoints in pixels of the tracker's camera."""
        camera = self._rig.camera
        both = []
        for seen, rows in ((first, matches.first), (second, matches.second)):
            if self._matrix is not None:
                turned = cv2.perspectiveTransform(seen.keypoints[rows].astype(np.float64)[None], self._matrix)[0]
                both.append(np.asarray(turned, np.float64))
                continue
            scale = np.array([camera.width / seen.width, camera.height / seen.height])
            both.append((seen.keypoints[rows].astype(np.float64) + 0.5) * scale - 0.5)
        return both[0], both[1]

    def _landmarks(self, keyframe: Keyframe, pixels: Array) -> tuple[Landmarks, Landmarks, np.typing.NDArray[np.bool_]]:
        """Landmarks at N x 2 pixels: as they most likely are, as they may be, and whose depth may be relied on."""
        rays = self._rig.rays(pixels)
        floor = -rays[:, 2] / self._rig.mount.height_m
        depths, stds = np.where(floor > 0.08, 1.3 * floor, 0.3), np.where(floor > 0.08, 0.6 * floor, 0.3)
        unsure = Landmarks.seen_from(np.zeros(3), rays, depths, stds)
        likely, likely_stds = np.where(floor > 0.08, floor, 0.3), np.where(floor > 0.08, _FLOOR_STD * floor, 0.3)
        trusted = floor > 0.08
        known = keyframe.depth_stds < 0.08
        if known.any():
            apart = np.linalg.norm(pixels[:, None] - keyframe.pixels[None, known], axis=2)
            nearest = apart.argmin(axis=1)
            close = apart[np.arange(len(pixels)), nearest] < _NEAR_PX
            off = close & ~keyframe.on_floor[known][nearest]
            rotation = self._rig.mount.rotation_base_from_camera
            forward = (keyframe.points[known] - [0.0, 0.0, self._rig.mount.height_m]) @ rotation[:, 2]
            inverse_depths = 1.0 / np.maximum(forward[nearest], 0.1)
            likely = np.where(off, inverse_depths, likely)
            likely_stds = np.where(off, 0.08 * inverse_depths, likely_stds)
            trusted |= off
        sure = Landmarks.seen_from(np.zeros(3), rays, likely, likely_stds)
        return sure, unsure, trusted
