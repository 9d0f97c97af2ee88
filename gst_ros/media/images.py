"""Single images: decoded by content, whatever the file is called, and encoded as JPEG."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.errors import MediaError

_JPEG_START, _JPEG_SCAN, _JPEG_END = b"\xff\xd8\xff", b"\xff\xda", b"\xff\xd9"


def decode_image(data: bytes, name: str | Path | None = None) -> NDArray[np.uint8]:
    """Decode a JPEG, PNG, WebP, BMP or TIFF image.

    Greyscale becomes RGB, 16 bits become 8, transparency is dropped and EXIF orientation is applied.

    Args:
        data: The encoded image.
        name: What to call it in an error.

    Returns:
        Height x width x 3, 8 bits, red first.

    Raises:
        MediaError: The data is no image, or only a part of one.
    """
    if not data:
        raise MediaError("the image is empty (0 bytes)", file=name, remedy="fetch it again")
    if data.startswith(_JPEG_START) and data.rfind(_JPEG_END) < data.rfind(_JPEG_SCAN):
        # Some decoders fill the missing part with grey and say nothing.
        raise MediaError("the JPEG image is cut off", file=name, remedy="fetch it again")
    try:
        image_bgr = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        image_bgr = None
    if image_bgr is None:
        raise MediaError("not an image that can be decoded, or cut off", file=name, remedy="JPEG and PNG always work")
    # Swapping in place keeps one copy of the picture instead of two.
    return np.asarray(cv2.cvtColor(image_bgr, cv2.COLOR_BGR2RGB, dst=image_bgr), dtype=np.uint8)


def read_image(path: str | Path) -> NDArray[np.uint8]:
    """Read an image file; see :func:`decode_image`.

    Raises:
        MediaError: The file is missing, unreadable, no image or cut off.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise MediaError(f"cannot be read: {reason}", file=path, remedy="check the path") from error
    return decode_image(data, path)


def encode_jpeg(image_rgb: NDArray[np.uint8], quality: int = 90) -> bytes:
    """Encode an image as JPEG.

    Args:
        image_rgb: Height x width x 3, 8 bits, red first.
        quality: 1 (smallest) to 100 (best).

    Raises:
        ValueError: The array is no such image.
    """
    if image_rgb.ndim != 3 or image_rgb.shape[2] != 3 or image_rgb.dtype != np.uint8:
        raise ValueError(f"expected height x width x 3 uint8, got {image_rgb.shape} {image_rgb.dtype}")
    image_bgr = cv2.cvtColor(image_rgb, cv2.COLOR_RGB2BGR)
    done, data = cv2.imencode(".jpg", image_bgr, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise ValueError(f"cannot encode an image of shape {image_rgb.shape} as JPEG")
    return data.tobytes()
