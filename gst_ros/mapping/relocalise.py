"""Where in the map a single picture was taken, or that it cannot be told.

Retrieval gives a few keyframes; their features are matched with the picture's; all matches together give a pose by
points of known depth, gravity and height; landmarks around are then looked for where that pose expects them. What is
left after that decides between a pose with a confidence and *lost*: a wrong confident pose is worse than none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import Array, CameraMount, PinholeCamera
from gst_ros.mapping.features import FeatureKind, Features, open_features
from gst_ros.mapping.landmark_index import GuidedConfig, LandmarkIndex
from gst_ros.mapping.landmarks import Depths, LandmarkConfig, View, triangulate
from gst_ros.mapping.tilted import Tilt, tilt_to
from gst_ros.mapping.upright_pnp import Sightings, UprightPose, solve_upright


@dataclass(frozen=True)
class RelocaliseConfig(Settings):
    """How pictures are located."""

    features: str = setting("auto", "Kind of local features.", choices=("auto", "xfeat", "sift"))
    common_pitch_deg: float = setting(15.0, "Pictures are turned to this pitch first.", unit="deg", low=-30, high=60)
    keyframe_features: int = setting(600, "Features of a keyframe.", low=50)
    query_features: int = setting(800, "Features of a picture that is located.", low=50)
    candidates: int = setting(5, "Keyframes that a picture is matched with.", low=1)
    guided: GuidedConfig = field(default_factory=GuidedConfig)
    pitch_deg: float = setting(0.0, "Pitch of a picture of which nothing is known.", unit="deg", low=-60, high=80)
    pitch_std_deg: float = setting(1.0, "How well that is known.", unit="deg", low=0.0)
    height_std: float = setting(0.02, "The same of its height, relative to the map's camera.", low=0.0)
    least_confidence: float = setting(0.5, "Poses less sure than this are given as lost.", low=0.0, high=1.0)


@dataclass(frozen=True)
class Located:
    """Where a picture was taken.

    Attributes:
        pose: (3,): x_m, y_m, yaw_rad of ``base`` in ``map``.
        covariance: 3 x 3 of it.
        pitch_deg: Downward tilt of the camera.
        height_m: Height of the camera.
        n_inliers: Features of the picture that agree with the pose.
        confidence: How likely the pose is right (within 1 m and 15 degrees), 0 to 1.
        keyframes: Which keyframes gave the evidence, the most important first.
        evidence: The figures that the confidence was made of.
    """

    pose: Array
    covariance: Array
    pitch_deg: float
    height_m: float
    n_inliers: int
    confidence: float
    keyframes: tuple[int, ...]
    evidence: dict[str, float]


@dataclass(frozen=True)
class Lost:
    """That a picture could not be located.

    Attributes:
        reason: Why, in a few words.
        best: The best pose all the same, with its low confidence, where there was one.
    """

    reason: str
    best: Located | None = None


class Relocaliser:
    """Keyframes with their landmarks, and the search for where a picture was taken.

    Args:
        camera: The camera of the keyframes.
        mount: Its height and tilt.
        config: Limits.
        kind: A kind of features that is ready already; the configuration's without it.
    """

    def __init__(
        self,
        camera: PinholeCamera,
        mount: CameraMount,
        config: RelocaliseConfig | None = None,
        kind: FeatureKind | None = None,
    ) -> None:
        self.camera = camera
        self.mount = mount
        self.config = config or RelocaliseConfig()
        self.kind = kind or open_features(self.config.features)
        self.stamps_ns: list[int] = []
        self.views: list[View] = []
        self.depths: list[Depths] = []
        self._tilt = tilt_to(camera, mount, self.config.common_pitch_deg, camera.fx)
        self._inside = self._tilt.inside(camera.width, camera.height)
        self._index: LandmarkIndex | None = None

    def add(self, image: NDArray[np.uint8], pose: Array, stamp_ns: int) -> None:
        """Take a keyframe in: H x W x 3 (RGB) or H x W, its pose (3,) in ``map`` and its time."""
        features = self.kind.extract(self._tilt.turn(image), self.config.keyframe_features, self._inside)
        self.views.append(View(features, self._tilt.camera, self._tilt.mount, np.asarray(pose, np.float64)))
        self.stamps_ns.append(stamp_ns)
        self._index = None

    def prepare(self) -> None:
        """Triangulate landmarks and make the index; after the last keyframe, before the first picture."""
        likeness = max(self.kind.likeness, 0.8)
        self.depths = triangulate(self.views, LandmarkConfig(likeness=likeness))
        self._index = LandmarkIndex(self.views, self.depths)

    def move(self, poses: Array) -> None:
        """Take corrected poses, N x 3, of the keyframes; landmarks go with them."""
        self.views = [replace(view, pose=np.asarray(pose)) for view, pose in zip(self.views, poses, strict=True)]
        if len(self.depths) == len(self.views):
            self._index = LandmarkIndex(self.views, self.depths)

    def locate(
        self, image: NDArray[np.uint8], camera: PinholeCamera | None = None, prior: CameraMount | None = None
    ) -> Located | Lost:
        """Find where a picture was taken.

        Args:
            image: H x W x 3 (RGB) or H x W, of any size.
            camera: The camera that took it; the keyframes' lens, scaled by the width, without it.
            prior: Its height and tilt with their standard deviations; without it the map's height and the pitch of
                the configuration.
        """
        if self._index is None:
            self.prepare()
        index = self._index
        if index is None or not index.sizes.any():
            return Lost("the map has no landmarks")
        query, tilt, taken_deg = self._query(image, camera, prior)
        if len(query) < 8:
            return Lost(f"the picture has {len(query)} features only")
        candidates = index.retrieval.candidates(query.descriptors, self.config.candidates)
        matched = self.kind.match(query, [index.views[k] for k in candidates])
        sightings, _ = index.sightings(query, candidates, matched)
        found = solve_upright(sightings, tilt.camera, tilt.mount)
        if found is None:
            return Lost("no keyframe shows the same")
        first, rival = found.support, found.rival / max(found.support, 1e-9)
        guided, _ = index.look_for(query, tilt.camera, found, self.config.guided, self.kind.likeness)
        refined = solve_upright(guided, tilt.camera, tilt.mount, start=found.parameters)
        if refined is not None and refined.support >= found.support:
            found, sightings = refined, guided
        # Turning a level picture is a turn about the same axis as pitch.
        pitch_deg = taken_deg + math.degrees(found.parameters[4]) - tilt.mount.pitch_deg
        return self._judged(found, first, rival, sightings, candidates, pitch_deg)

    def _query(
        self, image: NDArray[np.uint8], camera: PinholeCamera | None, prior: CameraMount | None
    ) -> tuple[Features, Tilt, float]:
        """Features of the picture, turned to the common pitch, at the scale of the keyframes; how; from which pitch."""
        height, width = image.shape[:2]
        camera = camera or PinholeCamera.centred(width, height, self.camera.fx * width / self.camera.width)
        camera = camera.scaled_to(width, height)
        if prior is None:
            prior = CameraMount(
                self.mount.height_m,
                self.config.pitch_deg,
                height_std_m=self.config.height_std * self.mount.height_m,
                pitch_std_deg=self.config.pitch_std_deg,
                roll_std_deg=0.5,
            )
        shrink = self.camera.fx / camera.fx
        if shrink < 0.75:
            size = (round(width * shrink), round(height * shrink))
            image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
            camera = camera.scaled_to(*size)
        tilt = tilt_to(camera, prior, self.config.common_pitch_deg, self.camera.fx)
        inside = tilt.inside(camera.width, camera.height)
        return self.kind.extract(tilt.turn(image), self.config.query_features, inside), tilt, prior.pitch_deg

    def _judged(
        self,
        found: UprightPose,
        first: float,
        rival: float,
        sightings: Sightings,
        candidates: list[int],
        pitch_deg: float,
    ) -> Located | Lost:
        seen = np.unique(sightings.keypoints[found.inliers])
        std = float(np.sqrt(np.trace(found.covariance[:2, :2])))
        evidence = {
            "inliers": float(len(seen)),
            "first": first,
            "support": found.support,
            "rival": rival,
            "rms": found.rms,
            "std_m": std,
            "height": float(found.parameters[3] / self.mount.height_m),
        }
        confidence = _confidence(evidence)
        located = Located(
            found.pose,
            found.covariance[:3, :3],
            pitch_deg,
            float(found.parameters[3]),
            len(seen),
            confidence,
            tuple(candidates),
            evidence,
        )
        if confidence < self.config.least_confidence:
            return Lost(f"{len(seen)} features agree, which is too few to be sure", located)
        return located


def _confidence(evidence: dict[str, float]) -> float:
    """How likely a pose is right, from what speaks for it."""
    score = 0.15 * (evidence["first"] - 18) - 6.0 * (evidence["rival"] - 0.6)
    return float(1 / (1 + math.exp(-min(max(score, -30), 30))))
