"""Frames that wait to be mapped, compressed where they are many."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.media.frames import Frame
from gst_ros.media.images import decode_image

Image = NDArray[np.uint8]

MOST_BYTES = 250_000_000
_RAW_FRAMES = 32
_PNG = (cv2.IMWRITE_PNG_COMPRESSION, 1)
_JPEG = (cv2.IMWRITE_JPEG_QUALITY, 95, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444)


class WaitingFrames:
    """A queue of frames: some as they are, more of them compressed. Not thread-safe."""

    def __init__(self) -> None:
        self._frames: deque[tuple[int, Image | bytes]] = deque()
        self._raw = self._bytes = 0

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def full(self) -> bool:
        """Whether no more should be kept."""
        return self._bytes > MOST_BYTES

    def add(self, frame: Frame, *, exactly: bool) -> None:
        """Keep a frame, compressed without loss or, which is quicker and smaller, nearly so."""
        if self._raw < _RAW_FRAMES:
            self._raw += 1
            self._keep(frame.stamp_ns, frame.image_rgb)
            return
        bgr = cv2.cvtColor(frame.image_rgb, cv2.COLOR_RGB2BGR)
        name, settings = (".png", _PNG) if exactly else (".jpg", _JPEG)
        self._keep(frame.stamp_ns, cv2.imencode(name, bgr, settings)[1].tobytes())

    def pop(self) -> Frame:
        """Take the first out.

        Raises:
            IndexError: There is none.
        """
        stamp_ns, image = self._frames.popleft()
        self._bytes -= _size(image)
        self._raw -= not isinstance(image, bytes)
        return _frame(stamp_ns, image)

    def __iter__(self) -> Iterator[Frame]:
        for stamp_ns, image in self._frames:
            yield _frame(stamp_ns, image)

    def _keep(self, stamp_ns: int, image: Image | bytes) -> None:
        self._frames.append((stamp_ns, image))
        self._bytes += _size(image)


def _size(image: Image | bytes) -> int:
    return len(image) if isinstance(image, bytes) else image.nbytes


def _frame(stamp_ns: int, image: Image | bytes) -> Frame:
    return Frame(decode_image(image) if isinstance(image, bytes) else image, stamp_ns)
