"""Where in the map a single picture was taken, or that it cannot be told.

Retrieval gives a few keyframes; their features are matched with the picture's; all matches together give a pose by
points of known depth, gravity and height; landmarks around are then looked for where that pose expects them. What is
left after that decides between a pose with a confidence and *lost*: a wrong confident pose is worse than none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.errors import ConfigError
from gst_ros.mapping.camera import Array, CameraMount, MapError, PinholeCamera
from gst_ros.mapping.features import FeatureKind, Features, Matches, open_features
from gst_ros.mapping.keyframe_arrays import pack, unpack
from gst_ros.mapping.landmark_index import GuidedConfig, LandmarkIndex, Pair
from gst_ros.mapping.landmarks import Depths, LandmarkConfig, View, triangulate
from gst_ros.mapping.planar import wrap
from gst_ros.mapping.query_picture import QueryPicture, read_picture
from gst_ros.mapping.tilted import highest_deg, tilt_to
from gst_ros.mapping.upright_pnp import Sightings, UprightConfig, UprightPose, refine_upright, search_upright

_NO_MATCHES = Matches(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))


@dataclass(frozen=True)
class RelocaliseConfig(Settings):
    """How pictures are located."""

    features: str = setting("auto", "Kind of local features.", choices=("auto", "xfeat", "sift"))
    common_pitch_deg: float = setting(15.0, "Pictures are turned to this pitch first.", unit="deg", low=-30, high=60)
    keyframe_features: int = setting(600, "Features of a keyframe.", low=50)
    query_features: tuple[int, ...] = setting((800, 400), "Features of each copy of a picture that is located.")
    vote_features: int = setting(300, "Features of a copy that vote for keyframes.", low=10)
    candidates: tuple[int, ...] = setting((14, 6), "Keyframes that each copy of a picture is tried with.")
    first_features: int = setting(200, "Features that are matched first.", low=20)
    thorough: int = setting(5, "Pairs that all features are matched of.", low=1)
    verified: int = setting(3, "Poses that are verified in full.", low=1)
    least_matches: int = setting(5, "Pairs with fewer matches are left out.", low=1)
    guided: GuidedConfig = field(default_factory=GuidedConfig)
    search: UprightConfig = field(default_factory=lambda: UprightConfig(pixel_std=2.0))
    final: UprightConfig = field(default_factory=lambda: UprightConfig(pixel_std=1.5))
    above_deg: float = setting(
        12.0, "Pictures are looked at up to so much above what keyframes show.", unit="deg", low=0.0
    )
    pitch_deg: float = setting(0.0, "Pitch of a picture of which nothing is known.", unit="deg", low=-60, high=80)
    pitch_std_deg: float = setting(0.3, "How well that is known.", unit="deg", low=0.0)
    height_std: float = setting(0.01, "The same of its height, relative to the map's camera.", low=0.0)
    least_confidence: float = setting(0.7, "Poses less sure than this are given as lost.", low=0.0, high=1.0)


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
        others: Poses elsewhere that were considered too, the likeliest first.
    """

    pose: Array
    covariance: Array
    pitch_deg: float
    height_m: float
    n_inliers: int
    confidence: float
    keyframes: tuple[int, ...]
    evidence: dict[str, float]
    others: tuple[Located, ...] = ()


@dataclass(frozen=True)
class Lost:
    """That a picture could not be located.

    Attributes:
        reason: Why, in a few words.
        best: The best pose all the same, with its low confidence, where there was one.
    """

    reason: str
    best: Located | None = None


@dataclass(frozen=True)
class _Guess:
    """A pose, what it was refined with, and its support before."""

    pose: UprightPose
    sightings: Sightings
    first: float


class Relocaliser:
    """Keyframes with their landmarks, and the search for where a picture was taken.

    Args:
        camera: The camera of the keyframes.
        mount: Its height and tilt.
        config: Limits.
        kind: A kind of features that is ready already; the configuration's without it.

    Raises:
        ConfigError: The kind of features is not installed, or needs more numbers than the configuration has.
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
        for name in ("query_features", "candidates"):
            if len(getattr(self.config, name)) < len(self.kind.scales):
                raise ConfigError(
                    "a number is missing", field=name, remedy=f"{self.kind.name} needs {len(self.kind.scales)} of them"
                )
        self.stamps_ns: list[int] = []
        self.views: list[View] = []
        self.depths: list[Depths] = []
        self._tilt = tilt_to(camera, mount, self.config.common_pitch_deg, camera.fx)
        self._inside = self._tilt.inside(camera.width, camera.height)
        self._index: LandmarkIndex | None = None

    @property
    def picture_from_features(self) -> Array:
        """3 x 3 homography from pixels of a keyframe's features, which are of a turned picture, to its own pixels."""
        return np.asarray(np.linalg.inv(self._tilt.homography))

    def extract(self, image: NDArray[np.uint8]) -> Features:
        """Features of a keyframe, for :meth:`add_features`; may run beside other methods.

        Args:
            image: H x W x 3 (RGB) or H x W, of the camera's size.

        Raises:
            MapError: The picture has another size.
        """
        if image.shape[:2] != (self.camera.height, self.camera.width):
            raise MapError(
                f"a keyframe has {image.shape[1]} x {image.shape[0]} pixels, the camera"
                f" {self.camera.width} x {self.camera.height}"
            )
        return self.kind.extract(self._tilt.turn(image), self.config.keyframe_features, self._inside)

    def add(self, image: NDArray[np.uint8], pose: Array, stamp_ns: int, features: Features | None = None) -> None:
        """Take a keyframe in.

        Args:
            image: H x W x 3 (RGB) or H x W, of the camera's size.
            pose: (3,): x_m, y_m, yaw_rad of ``base`` in ``map``.
            stamp_ns: Its time.
            features: What :meth:`extract` gave for it, where that is known already.

        Raises:
            MapError: The picture has another size.
        """
        self.add_features(self.extract(image) if features is None else features, pose, stamp_ns)

    def add_features(self, features: Features, pose: Array, stamp_ns: int) -> None:
        """Take a keyframe in of which :meth:`extract` gave the features."""
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

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but the settings, to be saved; see :meth:`restore`."""
        if self._index is None:
            self.prepare()
        return pack(self.views, self.depths, self.stamps_ns)

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what :meth:`arrays` gave, in place of all keyframes.

        Raises:
            MapError: The arrays are not what it gives, or were made with another kind of features.
        """
        dimensions = self.kind.dimensions
        self.views, self.depths, self.stamps_ns = unpack(arrays, self._tilt.camera, self._tilt.mount, dimensions)
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
        if index is None or not index.known.any():
            return Lost("the map has no landmarks")
        picture = self._picture(image, camera, prior)
        if len(picture.pixels) < 8:
            return Lost(f"the picture has {len(picture.pixels)} features only")
        pairs = self._matched(picture, index)
        sightings = index.sightings(picture, pairs)
        poses = search_upright(sightings, picture.camera, picture.mount, self.config.search)
        if not poses:
            return Lost("no keyframe shows the same")
        closer = [self._guided(pose, sightings, picture, index, far=True) for pose in poses]
        closer.sort(key=lambda guess: -guess.pose.support)
        apart: list[_Guess] = []
        for guess in closer:
            if not any(_near(guess.pose.pose, other.pose.pose) for other in apart):
                apart.append(guess)
        tried = [self._verified(guess, sightings, picture, index) for guess in apart[: self.config.verified]]
        for found, evidence in tried:
            rivals = [other.support for other, _ in tried if not _near(other.pose, found.pose)]
            evidence["rival"] = max(rivals, default=0.0) / max(found.support, 1e-9)
            evidence["confidence"] = confidence_of(evidence)
        tried.sort(key=lambda pair: -pair[1]["confidence"])
        best, *others = [self._located(found, evidence, picture, pairs) for found, evidence in tried]
        best = replace(best, others=tuple(other for other in others if not _near(other.pose, best.pose)))
        if best.confidence < self.config.least_confidence:
            return Lost(f"{best.n_inliers} features agree, which does not suffice here", best)
        return best

    def _located(
        self, found: UprightPose, evidence: dict[str, float], picture: QueryPicture, pairs: list[Pair]
    ) -> Located:
        # Turning a level picture is a turn about the same axis as pitch.
        turned_deg = math.degrees(found.parameters[4]) - picture.mount.pitch_deg
        return Located(
            found.pose,
            found.covariance[:3, :3],
            picture.taken_pitch_deg + turned_deg,
            float(found.parameters[3]),
            int(evidence["inliers"]),
            evidence["confidence"],
            tuple(pair.keyframe for pair in pairs),
            evidence,
        )

    def _guided(
        self, pose: UprightPose, sightings: Sightings, picture: QueryPicture, index: LandmarkIndex, far: bool
    ) -> _Guess:
        """A pose refined with landmarks that are looked for where it expects them."""
        config = self.config
        reach_px = config.guided.far_px if far else config.guided.near_px
        there = index.look_for(picture, pose.parameters, config.guided, self.kind.likeness, reach_px)
        together = sightings.joined(there)
        limits = config.search if far else config.final
        found = refine_upright(pose.parameters, together, picture.camera, picture.mount, limits)
        if found is None:
            found = replace(pose, inliers=np.zeros(len(together), np.bool_), support=0.0)
        return _Guess(found, together, pose.support)

    def _verified(
        self, guess: _Guess, sightings: Sightings, picture: QueryPicture, index: LandmarkIndex
    ) -> tuple[UprightPose, dict[str, float]]:
        """A pose refined until it stays, and what speaks for it."""
        first = guess.first
        for _ in range(2):
            guess = self._guided(guess.pose, sightings, picture, index, far=False)
        found, together = guess.pose, guess.sightings
        places = together.pixels[found.inliers] / picture.camera.width
        evidence = {
            "inliers": float(len(np.unique(together.keypoints[found.inliers]))),
            "first": first,
            "support": found.support,
            "spread": float(np.sqrt(np.prod(places.std(axis=0)))) if len(places) else 0.0,
            "rms": found.rms,
            "height": float(found.parameters[3] / self.mount.height_m - 1),
        }
        return found, evidence

    def _matched(self, picture: QueryPicture, index: LandmarkIndex) -> list[Pair]:
        """Copies of the picture matched with keyframes: many pairs by a few features, the best of them by all."""
        config = self.config
        likely = [
            Pair(scale, k, _NO_MATCHES)
            for scale, copy in enumerate(picture.scales)
            for k in index.retrieval.candidates(copy.descriptors[: config.vote_features], config.candidates[scale])
        ]
        tried = self._match(picture, index, likely, config.first_features, quick=True)
        tried.sort(key=lambda pair: -float(pair.matches.scores.sum()))
        best = self._match(picture, index, tried[: config.thorough], config.keyframe_features)
        return best + [pair for pair in tried[config.thorough :] if len(pair.matches) >= config.least_matches]

    def _match(
        self, picture: QueryPicture, index: LandmarkIndex, pairs: list[Pair], most: int, quick: bool = False
    ) -> list[Pair]:
        found = []
        for scale, copy in enumerate(picture.scales):
            chosen = [pair for pair in pairs if pair.scale == scale]
            others = [index.views[pair.keyframe].take(slice(0, most)) for pair in chosen]
            matched = self.kind.match(copy.take(slice(0, most)), others, quick)
            found += [replace(pair, matches=part) for pair, part in zip(chosen, matched, strict=True)]
        return found

    def _picture(
        self, image: NDArray[np.uint8], camera: PinholeCamera | None, prior: CameraMount | None
    ) -> QueryPicture:
        config = self.config
        height, width = image.shape[:2]
        camera = camera or PinholeCamera.centred(width, height, self.camera.fx * width / self.camera.width)
        camera = camera.scaled_to(width, height)
        prior = prior or CameraMount(
            self.mount.height_m,
            config.pitch_deg,
            height_std_m=config.height_std * self.mount.height_m,
            pitch_std_deg=config.pitch_std_deg,
            roll_std_deg=0.15,
        )
        factors = self.kind.scales
        return read_picture(
            image,
            camera,
            prior,
            self.kind,
            config.common_pitch_deg,
            self.camera.fx,
            config.query_features[: len(factors)],
            factors,
            highest_deg(self.camera, self.mount) + config.above_deg,
        )


def confidence_of(evidence: dict[str, float]) -> float:
    """How likely a pose is right (within 1 m and 15 degrees), from what speaks for it.

    A logistic function fitted to query views of generated homes, and to views of other homes. Its terms: support before
    landmarks were looked for; the support of the best pose elsewhere, relative to this one's; how widely the agreeing
    features lie over the picture (equal windows agree in one corner only); and how well they agree.
    """
    score = -6.9 + 4.4 * math.log1p(evidence["first"]) - 0.75 * min(evidence["rival"], 1.5)
    score += 48.0 * min(evidence["spread"], 0.2) - 8.5 * evidence["rms"]
    return float(1 / (1 + math.exp(-min(max(score, -30.0), 30.0))))


def _near(a: Array, b: Array) -> bool:
    """Whether two poses are the same for whoever asks where a picture was taken."""
    return bool(np.hypot(*(a[:2] - b[:2])) < 0.5 and abs(wrap(a[2] - b[2])) < math.radians(15))
