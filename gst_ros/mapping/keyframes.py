"""Keyframes: the few frames that a map is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import MapError
from gst_ros.mapping.planar import Array

_JPEG_QUALITY = 92


@dataclass(eq=False)
class Keyframe:
    """What is kept of a frame.

    Attributes:
        index: Its number; not reused.
        stamp_ns: Its time.
        submap: Number of the stretch without loss that it belongs to.
        pose: (3,) as tracked, in the tracker's own frame.
        motion_covariance: 3 x 3 of the motion since the keyframe before, in that one's ``base`` axes.
        track_ids: N, which corners are seen, by numbers that stay the same from keyframe to keyframe.
        pixels: N x 2, where, in pixels of the tracker's camera.
        points: N x 3, where their landmarks were thought to be then, in ``base`` of this keyframe.
        depth_stds: N, relative standard deviations of their depths.
        on_floor: N, which of them lie on the floor.
        jpeg: The picture, compressed.
    """

    index: int
    stamp_ns: int
    submap: int
    pose: Array
    motion_covariance: Array
    track_ids: NDArray[np.int64]
    pixels: Array
    points: Array
    depth_stds: Array
    on_floor: NDArray[np.bool_]
    jpeg: bytes = field(repr=False, default=b"")

    @property
    def image_rgb(self) -> NDArray[np.uint8]:
        """The picture, height x width x 3."""
        return decode(self.jpeg)


def decode(jpeg: bytes, least_width: int = 0) -> NDArray[np.uint8]:
    """The picture of a keyframe, RGB.

    Args:
        jpeg: From :func:`encode`.
        least_width: A picture at half the size does if it is so wide; it is read faster. 0 asks for the whole one.

    Raises:
        MapError: The picture is damaged.
    """
    data = np.frombuffer(jpeg, np.uint8)
    if least_width:
        half = cv2.imdecode(data, cv2.IMREAD_REDUCED_COLOR_2)
        if half is not None and half.shape[1] >= least_width:
            return np.asarray(cv2.cvtColor(half, cv2.COLOR_BGR2RGB), np.uint8)
    bgr = cv2.imdecode(data, cv2.IMREAD_COLOR)
    if bgr is None:
        raise MapError("the picture of a keyframe is damaged")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8)


def encode(image_rgb: NDArray[np.uint8]) -> bytes:
    """A picture as JPEG, for :attr:`Keyframe.jpeg`."""
    done, data = cv2.imencode(".jpg", image_rgb[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    if not done:
        raise MapError("a keyframe's picture cannot be encoded")
    return bytes(data)
