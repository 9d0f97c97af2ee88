"""A picture that is to be located: its features at several scales, in one camera."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from gst_ros.mapping.camera import Array, CameraMount, PinholeCamera
from gst_ros.mapping.features import FeatureKind, Features
from gst_ros.mapping.tilted import Tilt, tilt_to


@dataclass(frozen=True)
class QueryPicture:
    """Features of a picture that was turned to the common pitch.

    What the keyframes show from afar, or from close by, is alike only in a smaller or larger copy of the picture.

    Attributes:
        scales: Features of each copy, in its own pixels.
        camera: The camera that all pixels are given in.
        mount: Height and tilt of that camera, with the standard deviations of the one that took the picture.
        pixels: N x 2, all keypoints of all copies in that camera, one copy after the other.
        starts: Where the keypoints of each copy begin.
        taken_pitch_deg: The pitch at which the picture is believed to have been taken.
        looks: N x D descriptors of all keypoints.
        tree: All keypoints by place.
    """

    scales: tuple[Features, ...]
    camera: PinholeCamera
    mount: CameraMount
    pixels: Array
    starts: tuple[int, ...]
    taken_pitch_deg: float
    looks: NDArray[np.float32]
    tree: cKDTree


def read_picture(
    image: NDArray[np.uint8],
    camera: PinholeCamera,
    prior: CameraMount,
    kind: FeatureKind,
    pitch_deg: float,
    focal_px: float,
    most: Sequence[int],
    factors: Sequence[float],
    highest_deg: float,
) -> QueryPicture:
    """Turn a picture and find its features.

    Args:
        image: H x W x 3 (RGB) or H x W.
        camera: The camera that took it, at this size.
        prior: Its height and tilt.
        kind: The kind of features.
        pitch_deg: The common pitch.
        focal_px: The common focal length.
        most: Features of each copy.
        factors: Size of each copy, relative to the common focal length; the first is 1. A copy that would be larger
            than the picture is left out.
        highest_deg: Rows that look up more steeply are left out.
    """
    copies: list[Features] = []
    pixels: list[Array] = []
    common: Tilt | None = None
    for factor, count in zip(factors, most, strict=True):
        shrink = factor * focal_px / camera.fx
        if common is not None and shrink > 1.1:
            continue
        small, small_camera = image, camera
        if shrink < 0.75:
            size = (round(camera.width * shrink), round(camera.height * shrink))
            small = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
            small_camera = camera.scaled_to(*size)
        tilt = tilt_to(small_camera, prior, pitch_deg, factor * focal_px, highest_deg)
        inside = tilt.inside(small_camera.width, small_camera.height)
        found = kind.extract(tilt.turn(small), count, inside)
        common = common or tilt
        copies.append(found)
        rays = tilt.camera.rays(found.keypoints.astype(np.float64))
        pixels.append(common.camera.pixels(rays))
    if common is None:
        raise ValueError("a picture has at least one copy")
    ends = np.cumsum([len(part) for part in copies])
    starts = (0, *(int(end) for end in ends[:-1]))
    everywhere = np.concatenate(pixels)
    return QueryPicture(
        tuple(copies),
        common.camera,
        common.mount,
        everywhere,
        starts,
        prior.pitch_deg,
        np.concatenate([part.descriptors for part in copies]),
        cKDTree(everywhere),
    )
