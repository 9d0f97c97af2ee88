"""sensor_msgs to numpy and back, the quick way (cv_bridge is neither needed nor on PyPI for ROS 2).

Pictures in this project are height x width x 3, 8 bits, red first; encodings are converted here and nowhere else.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from gst_ros.errors import MediaError
from gst_ros.media.calibration import Calibration
from gst_ros.media.images import decode_image, encode_jpeg
from gst_ros.media.stamps import NS_PER_S

# Encoding -> bytes per channel, channels, OpenCV conversion to RGB. 8UC1 and 8UC3 say nothing about
# colours; like cv_bridge we take OpenCV's order. OpenCV names Bayer patterns after their second row.
_ENCODINGS: dict[str, tuple[int, int, int | None]] = {
    "rgb8": (1, 3, None),
    "bgr8": (1, 3, cv2.COLOR_BGR2RGB),
    "8UC3": (1, 3, cv2.COLOR_BGR2RGB),
    "rgba8": (1, 4, cv2.COLOR_RGBA2RGB),
    "bgra8": (1, 4, cv2.COLOR_BGRA2RGB),
    "8UC4": (1, 4, cv2.COLOR_BGRA2RGB),
    "mono8": (1, 1, cv2.COLOR_GRAY2RGB),
    "8UC1": (1, 1, cv2.COLOR_GRAY2RGB),
    "mono16": (2, 1, cv2.COLOR_GRAY2RGB),
    "rgb16": (2, 3, None),
    "bgr16": (2, 3, cv2.COLOR_BGR2RGB),
    "bayer_rggb8": (1, 1, cv2.COLOR_BayerBG2RGB),
    "bayer_bggr8": (1, 1, cv2.COLOR_BayerRG2RGB),
    "bayer_gbrg8": (1, 1, cv2.COLOR_BayerGR2RGB),
    "bayer_grbg8": (1, 1, cv2.COLOR_BayerGB2RGB),
}


def stamp_to_ns(stamp: Time) -> int:
    """A ROS time in nanoseconds."""
    return int(stamp.sec) * NS_PER_S + int(stamp.nanosec)


def ns_to_stamp(stamp_ns: int) -> Time:
    """Nanoseconds as a ROS time."""
    sec, nanosec = divmod(stamp_ns, NS_PER_S)
    return Time(sec=sec, nanosec=nanosec)


def image_to_rgb(message: Image) -> NDArray[np.uint8]:
    """Read a raw image message.

    Rows may be padded (``step``); 16 bits become 8, transparency is dropped, Bayer patterns are interpolated.

    Args:
        message: Any of the encodings rgb8, bgr8, rgba8, bgra8, mono8, mono16, rgb16, bgr16, 8UC1, 8UC3, 8UC4
            and bayer_*8.

    Returns:
        Height x width x 3, 8 bits, red first. For rgb8 it shares its memory with the message.

    Raises:
        MediaError: The encoding is another one, or size, step and data do not fit together.
    """
    if message.encoding not in _ENCODINGS:
        known = ", ".join(_ENCODINGS)
        raise MediaError(f"encoding '{message.encoding}' is no picture that can be read", remedy=f"known: {known}")
    depth, channels, conversion = _ENCODINGS[message.encoding]
    height, width, step = message.height, message.width, message.step
    row = width * channels * depth
    if height < 1 or width < 1:
        raise MediaError(f"an image of {width} x {height} pixels is empty")
    if step < row or len(message.data) < step * height:
        raise MediaError(
            f"{width} x {height} {message.encoding} with step {step} does not fit its {len(message.data)} bytes",
            remedy=f"step must be at least {row}, data at least step x height",
        )
    rows = np.frombuffer(message.data, np.uint8, count=step * height).reshape(height, step)[:, :row]
    pixels: NDArray[Any]
    if depth == 2:
        order = ">u2" if message.is_bigendian else "<u2"
        pixels = (np.ascontiguousarray(rows).view(order) >> 8).astype(np.uint8)
    else:
        pixels = rows
    pixels = pixels.reshape(height, width, channels) if channels > 1 else pixels.reshape(height, width)
    return np.asarray(pixels if conversion is None else cv2.cvtColor(np.ascontiguousarray(pixels), conversion))


def compressed_to_rgb(message: CompressedImage) -> NDArray[np.uint8]:
    """Read a compressed image message (JPEG, PNG, ...) by its content, whatever ``format`` says.

    Raises:
        MediaError: The data is no image, or cut off.
    """
    return decode_image(message.data.tobytes(), name=f"compressed image ({message.format or 'no format'})")


class ImageWriter:
    """Fills one raw image message again and again: a copy of the pixels is all that a frame costs.

    Args:
        frame_id: The camera's optical frame.
    """

    def __init__(self, frame_id: str) -> None:
        self._message = Image(encoding="rgb8", is_bigendian=0)
        self._message.header.frame_id = frame_id

    def fill(self, image_rgb: NDArray[np.uint8], stamp_ns: int) -> Image:
        """Return the message with a picture in it; it is valid until the next call.

        Args:
            image_rgb: Height x width x 3, 8 bits, red first.
            stamp_ns: Its time in nanoseconds.
        """
        message = self._message
        height, width, _ = image_rgb.shape
        if len(message.data) != image_rgb.size:
            # Assigning bytes or arrays would check every value; an array.array is filled as a block.
            del message.data[:]
            message.data.frombytes(bytes(image_rgb.size))
        memoryview(message.data)[:] = np.ascontiguousarray(image_rgb).reshape(-1).data
        message.height, message.width, message.step = height, width, width * 3
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(stamp_ns, NS_PER_S)
        return message


def rgb_to_image(image_rgb: NDArray[np.uint8], stamp_ns: int, frame_id: str) -> Image:
    """Make a raw rgb8 message; see :class:`ImageWriter` for many of them."""
    return ImageWriter(frame_id).fill(image_rgb, stamp_ns)


def rgb_to_compressed(image_rgb: NDArray[np.uint8], stamp_ns: int, frame_id: str, quality: int = 90) -> CompressedImage:
    """Make a JPEG message, labelled the way image_transport does.

    Args:
        image_rgb: Height x width x 3, 8 bits, red first.
        stamp_ns: Its time in nanoseconds.
        frame_id: The camera's optical frame.
        quality: 1 (smallest) to 100 (best).
    """
    message = CompressedImage(format="rgb8; jpeg compressed bgr8")
    message.header.frame_id = frame_id
    message.header.stamp = ns_to_stamp(stamp_ns)
    message.data.frombytes(encode_jpeg(image_rgb, quality))
    return message


def camera_info(calibration: Calibration | None, width: int, height: int, frame_id: str) -> CameraInfo:
    """Make a CameraInfo message without a stamp.

    Args:
        calibration: The intrinsics of pictures of this size; None leaves K all zero, which means
            'uncalibrated'.
        width: Pixels.
        height: Pixels.
        frame_id: The camera's optical frame.
    """
    message = CameraInfo(width=width, height=height)
    message.header.frame_id = frame_id
    if calibration is not None:
        fx, fy, cx, cy = calibration.fx, calibration.fy, calibration.cx, calibration.cy
        message.distortion_model = calibration.distortion_model
        message.d = list(calibration.distortion)
        message.k = [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]
        message.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
        message.p = [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    return message
