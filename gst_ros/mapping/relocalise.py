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

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.errors import ConfigError
from gst_ros.mapping.camera import Array, CameraMount, MapError, PinholeCamera
from gst_ros.mapping.features import FeatureKind, Features, Matches, as_gray, open_features
from gst_ros.mapping.floor_texture import FloorFit, FloorMosaic, FloorScores, FloorSearcher
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.grid_depths import with_grid
from gst_ros.mapping.keyframe_arrays import pack, unpack
from gst_ros.mapping.landmark_index import GuidedConfig, LandmarkIndex, Pair
from gst_ros.mapping.landmarks import Depths, LandmarkConfig, View, triangulate
from gst_ros.mapping.level_lines import LEAST_STRENGTH, QUARTER_RAD, Walls, walls_of, walls_seen
from gst_ros.mapping.planar import wrap
from gst_ros.mapping.pose_confidence import confidence_of, worth_of
from gst_ros.mapping.query_picture import QueryPicture, read_picture
from gst_ros.mapping.tilted import highest_deg, tilt_to
from gst_ros.mapping.upright_hypotheses import PARAMETERS, Sightings, UprightConfig
from gst_ros.mapping.upright_pnp import Known, UprightPose, refine_upright, search_upright, support_of

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
    walls_every: int = setting(3, "Of so many keyframes, one tells where the walls run.", low=1)
    walls_pitch_std_deg: float = setting(1.0, "Walls and floor are used up to this deviation.", unit="deg", low=0.0)
    hopeful: float = setting(0.3, "Poses with less support than this share of the best are left.", low=0.0, high=1.0)
    yaw_std_deg: float = setting(0.4, "How well a picture's edges tell its yaw.", unit="deg", above=0.0)
    floors: int = setting(4, "Places where the floor fits best that are tried.", low=0)
    least_floor: float = setting(0.3, "Least score of such a place.", low=0.0)
    floor_std_m: float = setting(0.06, "How well a fitting floor tells the place.", unit="m", above=0.0)
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
    least_confidence: float = setting(0.75, "Poses less sure than this are given as lost.", low=0.0, high=1.0)


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
    """A pose, what it was refined with, and how well the floor fits there and elsewhere."""

    pose: UprightPose
    sightings: Sightings
    floor: float = 0.0
    floor_rival: float = 0.0

    @property
    def worth(self) -> float:
        """How promising it is before it is verified."""
        return worth_of(self.pose.support, self.floor, self.floor_rival)


@dataclass(frozen=True)
class _Query:
    """A picture with what is known of it before its features are matched."""

    picture: QueryPicture
    known: Known | None
    floor: FloorScores | None = None
    fits: tuple[FloorFit, ...] = ()


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
        self._seen_walls: list[tuple[Walls, float]] = []
        self._walls = Walls(0.0, 0.0)
        self._mosaic: FloorMosaic | None = FloorMosaic()
        self._by_grid: tuple[OccupancyGrid, LandmarkIndex] | None = None
        self._searcher: tuple[OccupancyGrid | None, FloorSearcher | None] | None = None

    @property
    def picture_from_features(self) -> Array:
        """3 x 3 homography from pixels of a keyframe's features, which are of a turned picture, to its own pixels."""
        return np.asarray(np.linalg.inv(self._tilt.homography))

    def extract(self, image: NDArray[np.uint8]) -> Features:
        """Features of a keyframe, for :meth:`add`; may run beside other methods.

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
        features = self.extract(image) if features is None else features
        gray, pose = as_gray(image), np.asarray(pose, np.float64)
        if len(self.views) % self.config.walls_every == 0:
            self._seen_walls.append((walls_seen(gray, self.camera, self.mount), float(pose[2])))
        if self._mosaic is not None:
            self._mosaic.add(gray, self.camera, self.mount, pose)
        self.views.append(View(features, self._tilt.camera, self._tilt.mount, pose))
        self.stamps_ns.append(stamp_ns)
        self._index, self._by_grid, self._searcher = None, None, None

    def prepare(self) -> None:
        """Triangulate landmarks and make the index; after the last keyframe, before the first picture."""
        likeness = max(self.kind.likeness, 0.8)
        self.depths = triangulate(self.views, LandmarkConfig(likeness=likeness))
        self._index = LandmarkIndex(self.views, self.depths)
        if self._seen_walls:
            seen, yaws = zip(*self._seen_walls, strict=True)
            self._walls = walls_of(seen, np.array(yaws))

    def move(self, poses: Array) -> None:
        """Take corrected poses, N x 3, of the keyframes; landmarks go with them, walls and floor are given up."""
        self.views = [replace(view, pose=np.asarray(pose)) for view, pose in zip(self.views, poses, strict=True)]
        # Both were found with the poses before.
        self._mosaic, self._by_grid, self._searcher = None, None, None
        self._seen_walls, self._walls = [], Walls(0.0, 0.0)
        if len(self.depths) == len(self.views):
            self._index = LandmarkIndex(self.views, self.depths)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but the settings, to be saved; see :meth:`restore`."""
        if self._index is None:
            self.prepare()
        walls = {"walls": np.array([self._walls.yaw_rad, self._walls.strength])}
        floor = {} if self._mosaic is None else self._mosaic.arrays()
        return pack(self.views, self.depths, self.stamps_ns) | walls | floor

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what :meth:`arrays` gave, in place of all keyframes.

        Raises:
            MapError: The arrays are not what it gives, or were made with another kind of features.
        """
        dimensions = self.kind.dimensions
        self.views, self.depths, self.stamps_ns = unpack(arrays, self._tilt.camera, self._tilt.mount, dimensions)
        self._index, self._by_grid, self._searcher = LandmarkIndex(self.views, self.depths), None, None
        walls = arrays.get("walls", np.zeros(2))  # maps of earlier versions have none
        if walls.shape != (2,) or not np.isfinite(walls).all():
            raise MapError("is damaged", field="walls", remedy="make the map anew")
        self._seen_walls, self._walls = [], Walls(float(walls[0]), float(walls[1]))
        self._mosaic = FloorMosaic.restored(arrays)

    def locate(
        self,
        image: NDArray[np.uint8],
        camera: PinholeCamera | None = None,
        prior: CameraMount | None = None,
        grid: OccupancyGrid | None = None,
    ) -> Located | Lost:
        """Find where a picture was taken.

        Args:
            image: H x W x 3 (RGB) or H x W, of any size.
            camera: The camera that took it; the keyframes' lens, scaled by the width, without it.
            prior: Its height and tilt with their standard deviations; without it the map's height and the pitch of
                the configuration.
            grid: What is free floor, if it is known.
        """
        if self._index is None:
            self.prepare()
        base = self._index
        index = None if base is None else self._known_by(base, grid)
        if base is None or index is None or not index.known.any():
            return Lost("the map has no landmarks")
        query = self._query(image, camera, prior, grid)
        picture = query.picture
        if len(picture.pixels) < 8:
            return Lost(f"the picture has {len(picture.pixels)} features only")
        pairs = self._matched(picture, index)
        sightings = index.sightings(picture, pairs)
        if index is not base:
            # What the grid says of depths may be wrong: both are kept.
            sightings = base.sightings(picture, pairs).joined(sightings.take(index.known_since(base, pairs)))
        poses = search_upright(sightings, picture.camera, picture.mount, self.config.search, query.known)
        hopeful = [pose for pose in poses if pose.support >= self.config.hopeful * poses[0].support]
        hopeful += self._by_floor(query, len(sightings))
        if not hopeful:
            return Lost("no keyframe shows the same")
        closer = [self._guided(pose, sightings, query, index, far=True) for pose in hopeful]
        closer.sort(key=lambda guess: -guess.worth)
        apart: list[_Guess] = []
        for guess in closer:
            if not any(_near(guess.pose.pose, other.pose.pose) for other in apart):
                apart.append(guess)
        tried = [self._verified(guess, sightings, query, index) for guess in apart[: self.config.verified]]
        for found, evidence in tried:
            elsewhere = [other for other in tried if not _near(other[0].pose, found.pose)]
            worth, *worths = (
                worth_of(e["first"], e["floor"], e["floor_rival"]) for _, e in [(found, evidence), *elsewhere]
            )
            evidence["rival"] = max(worths, default=0.0) / max(worth, 0.5)
            evidence["confidence"] = confidence_of(evidence)
        tried.sort(key=lambda pair: -pair[1]["confidence"])
        best, *others = [self._located(found, evidence, picture, pairs) for found, evidence in tried]
        best = replace(best, others=tuple(other for other in others if not _near(other.pose, best.pose)))
        if best.confidence < self.config.least_confidence:
            return Lost(f"{best.n_inliers} features agree, which does not suffice here", best)
        return best

    def _known_by(self, base: LandmarkIndex, grid: OccupancyGrid | None) -> LandmarkIndex:
        """The landmarks, with depths that a grid tells; made ready once for each grid."""
        if grid is None:
            return base
        if self._by_grid is None or self._by_grid[0] is not grid:
            depths = [with_grid(*part, grid) for part in zip(self.views, self.depths, strict=True)]
            self._by_grid = grid, LandmarkIndex(self.views, depths)
        return self._by_grid[1]

    def _query(
        self,
        image: NDArray[np.uint8],
        camera: PinholeCamera | None,
        prior: CameraMount | None,
        grid: OccupancyGrid | None,
    ) -> _Query:
        """Features of a picture, its yaw but for quarter turns, and where its floor fits."""
        camera, prior = self._taken_with(image, camera, prior)
        picture = self._picture(image, camera, prior)
        # Edges and floor tell something of a camera only whose tilt is known.
        if self._walls.strength < LEAST_STRENGTH or prior.pitch_std_deg > self.config.walls_pitch_std_deg:
            return _Query(picture, None)
        small, small_camera = image, camera
        if camera.fx > 1.2 * self.camera.fx:
            size = (round(camera.width * self.camera.fx / camera.fx), round(camera.height * self.camera.fx / camera.fx))
            small = np.asarray(cv2.resize(as_gray(image), size, interpolation=cv2.INTER_AREA), np.uint8)
            small_camera = camera.scaled_to(*size)
        seen = walls_seen(small, small_camera, prior)
        if seen.strength < LEAST_STRENGTH:
            return _Query(picture, None)
        yaws = wrap(self._walls.yaw_rad - seen.yaw_rad + QUARTER_RAD * np.arange(4, dtype=np.float64))
        known = Known(yaws, math.radians(self.config.yaw_std_deg))
        if self._mosaic is None:
            return _Query(picture, known)
        if self._searcher is None or self._searcher[0] is not grid:
            self._searcher = grid, self._mosaic.searcher(grid)
        searcher = self._searcher[1]
        if searcher is None:
            return _Query(picture, known)
        floor = searcher.fits(small, small_camera, prior, yaws)
        return _Query(picture, known, floor, tuple(floor.best(self.config.floors)))

    def _by_floor(self, query: _Query, sightings: int) -> list[UprightPose]:
        """Poses where the floor fits."""
        mount = query.picture.mount
        tilt = [mount.height_m, math.radians(mount.pitch_deg), math.radians(mount.roll_deg)]
        return [
            UprightPose(np.array([*fit.pose, *tilt]), np.eye(PARAMETERS), np.zeros(sightings, np.bool_), 0.0, 0.0)
            for fit in query.fits
            if fit.score >= self.config.least_floor
        ]

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
        self, pose: UprightPose, sightings: Sightings, query: _Query, index: LandmarkIndex, far: bool
    ) -> _Guess:
        """A pose refined with landmarks that are looked for where it expects them, and with the floor."""
        config, picture = self.config, query.picture
        reach_px = config.guided.far_px if far else config.guided.near_px
        there = index.look_for(picture, pose.parameters, config.guided, self.kind.likeness, reach_px)
        together = sightings.joined(there)
        limits = config.search if far else config.final
        known, floor, rival = query.known, 0.0, 0.0
        fit = None if query.floor is None else query.floor.at(pose.pose)
        if known is not None and fit is not None:
            floor = fit.score
            rival = max((other.score for other in query.fits if not _near(other.pose, fit.pose)), default=0.0)
            if floor >= config.least_floor:
                known = replace(known, place_m=fit.pose[:2], place_std_m=config.floor_std_m)
        found = refine_upright(pose.parameters, together, picture.camera, picture.mount, limits, known)
        if found is None:
            found = replace(pose, inliers=np.zeros(len(together), np.bool_), support=0.0)
        return _Guess(found, together, floor, rival)

    def _verified(
        self, guess: _Guess, sightings: Sightings, query: _Query, index: LandmarkIndex
    ) -> tuple[UprightPose, dict[str, float]]:
        """A pose refined until it stays, and what speaks for it."""
        for _ in range(2):
            guess = self._guided(guess.pose, sightings, query, index, far=False)
        found, together = guess.pose, guess.sightings
        places = together.pixels[found.inliers] / query.picture.camera.width
        evidence = {
            "inliers": float(len(np.unique(together.keypoints[found.inliers]))),
            "first": support_of(
                found.parameters, sightings, query.picture.camera, query.picture.mount, self.config.search
            ),
            "std_m": float(np.sqrt(np.linalg.eigvalsh(found.covariance[:2, :2]).max())),
            "support": found.support,
            "spread": float(np.sqrt(np.prod(places.std(axis=0)))) if len(places) else 0.0,
            "rms": found.rms,
            "height": float(found.parameters[3] / self.mount.height_m - 1),
            "floor": guess.floor,
            "floor_rival": guess.floor_rival,
            "walls": float(query.known is not None),
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

    def _taken_with(
        self, image: NDArray[np.uint8], camera: PinholeCamera | None, prior: CameraMount | None
    ) -> tuple[PinholeCamera, CameraMount]:
        """The camera that took a picture and its height and tilt, as far as they are known."""
        config = self.config
        height, width = image.shape[:2]
        camera = camera or PinholeCamera.centred(width, height, self.camera.fx * width / self.camera.width)
        return camera.scaled_to(width, height), prior or CameraMount(
            self.mount.height_m,
            config.pitch_deg,
            height_std_m=config.height_std * self.mount.height_m,
            pitch_std_deg=config.pitch_std_deg,
            roll_std_deg=0.15,
        )

    def _picture(self, image: NDArray[np.uint8], camera: PinholeCamera, prior: CameraMount) -> QueryPicture:
        config = self.config
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


def _near(a: Array, b: Array) -> bool:
    """Whether two poses are the same for whoever asks where a picture was taken."""
    return bool(np.hypot(*(a[:2] - b[:2])) < 0.5 and abs(wrap(a[2] - b[2])) < math.radians(15))
