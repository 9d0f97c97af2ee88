"""Keyframe thumbnails of a whole clip within a fixed number of bytes.

Time since the first frame is divided into cells of equal length, and the first frame of each cell is kept.
When the bound is reached the cells double in length and every second keyframe goes. So an hour and a minute
are covered alike from end to end, at any frame rate, and what is kept depends on the frames alone: not on
the machine's speed, nor on when anyone looked.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.errors import MediaError
from gst_ros.media.images import decode_image, encode_jpeg
from gst_ros.media.stamps import NS_PER_S


@dataclass(frozen=True)
class KeyframeConfig(Settings):
    """Settings of the keyframe store."""

    keyframe_limit_mb: float = setting(64.0, "Most that all keyframes together may take.", unit="MB", low=1.0)
    keyframe_interval_s: float = setting(
        0.5, "Media time between keyframes until the limit is reached.", unit="s", low=0.001, high=3600.0
    )
    keyframe_side_px: int = setting(
        640, "Longer side of a keyframe; smaller frames stay as they are.", unit="px", low=16
    )
    keyframe_quality: int = setting(90, "JPEG quality of keyframes.", low=10, high=100)

    @property
    def limit_bytes(self) -> int:
        """The limit in bytes (1 MB = 1,000,000 bytes)."""
        return int(self.keyframe_limit_mb * 1e6)

    @property
    def interval_ns(self) -> int:
        """The first cell length in nanoseconds."""
        return max(1, round(self.keyframe_interval_s * NS_PER_S))


@dataclass(frozen=True)
class Keyframe:
    """One remembered frame.

    Attributes:
        stamp_ns: The frame's own time.
        jpeg: The thumbnail, encoded.
        width: Width of the frame it was made from, in pixels.
        height: Height of the frame it was made from, in pixels.
    """

    stamp_ns: int
    jpeg: bytes = field(repr=False)
    width: int
    height: int

    def image_rgb(self) -> NDArray[np.uint8]:
        """Decode the thumbnail: height x width x 3, 8 bits, red first."""
        return decode_image(self.jpeg, f"keyframe at {_seconds(self.stamp_ns)}")


class KeyframeStore(Sequence[Keyframe]):
    """Keyframes in stamp order, bounded in bytes. Not thread-safe: readers in other threads take a copy.

    Adding is O(1) amortised: the store is thinned only when it is full, and each thinning doubles the cells.

    Args:
        config: Limit, first interval, size and quality.
    """

    def __init__(self, config: KeyframeConfig | None = None) -> None:
        self.config = config or KeyframeConfig()
        self._keyframes: list[Keyframe] = []
        self._stamps_ns: list[int] = []
        self._origin_ns: int | None = None
        self._cell_ns = self.config.interval_ns
        self._bytes = 0

    @property
    def bytes_used(self) -> int:
        """Bytes of all thumbnails together; never more than ``bytes_limit`` after :meth:`offer` returns."""
        return self._bytes

    @property
    def bytes_limit(self) -> int:
        """The bound on :attr:`bytes_used`."""
        return self.config.limit_bytes

    @property
    def interval_ns(self) -> int:
        """Present length of a cell: keyframes are at least roughly this far apart."""
        return self._cell_ns

    def __len__(self) -> int:
        return len(self._keyframes)

    def __iter__(self) -> Iterator[Keyframe]:
        return iter(self._keyframes)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]  # one of Sequence's two overloads
        return self._keyframes[index]

    def wants(self, stamp_ns: int) -> bool:
        """Whether a frame of this time would be kept: it opens a new cell and is newer than all before."""
        if not self._stamps_ns or self._origin_ns is None:
            return True
        newest = self._stamps_ns[-1]
        return stamp_ns > newest and self._cell(stamp_ns) > self._cell(newest)

    def offer(self, stamp_ns: int, image_rgb: Callable[[], NDArray[np.uint8]]) -> bool:
        """Keep a frame if its time calls for it.

        Args:
            stamp_ns: The frame's time; older ones than the newest keyframe are not kept.
            image_rgb: Gives the image (height x width x 3, 8 bits, red first); called only when it is kept.

        Returns:
            Whether it was kept.

        Raises:
            MediaError: ``image_rgb`` could not decode it. The next frame of the same cell gets the place.
        """
        if not self.wants(stamp_ns):
            return False
        image = image_rgb()
        height, width = image.shape[:2]
        jpeg = _thumbnail(image, self.config)
        if self._origin_ns is None:
            self._origin_ns = stamp_ns
        self._keyframes.append(Keyframe(stamp_ns, jpeg, width, height))
        self._stamps_ns.append(stamp_ns)
        self._bytes += len(jpeg)
        while self._bytes > self.bytes_limit:
            self._thin_out()
        return True

    def nearest(self, stamp_ns: int) -> Keyframe | None:
        """The keyframe nearest in time (the earlier one of two equally near), None when there are none."""
        if not self._keyframes:
            return None
        right = bisect.bisect_left(self._stamps_ns, stamp_ns)
        around = range(max(0, right - 1), min(len(self._stamps_ns), right + 1))
        return self._keyframes[min(around, key=lambda i: abs(self._stamps_ns[i] - stamp_ns))]

    def at(self, stamp_ns: int, tolerance_ns: int) -> Keyframe:
        """The keyframe at a time.

        Raises:
            MediaError: None is within ``tolerance_ns``; it says what was asked and what is nearest.
        """
        found = self.nearest(stamp_ns)
        if found is not None and abs(found.stamp_ns - stamp_ns) <= tolerance_ns:
            return found
        asked = f"no keyframe within {tolerance_ns / NS_PER_S:g} s of {_seconds(stamp_ns)}"
        if found is None:
            raise MediaError(f"{asked}: the memory holds none", remedy="play a video first")
        span = f"{len(self)} keyframes from {_seconds(self._stamps_ns[0])} to {_seconds(self._stamps_ns[-1])}"
        raise MediaError(
            f"{asked}: the nearest is at {_seconds(found.stamp_ns)}, of {span}",
            remedy=f"they are {_seconds(self._cell_ns)} apart: raise the tolerance or keyframe_limit_mb",
        )

    def evenly(self, count: int) -> list[Keyframe]:
        """At most ``count`` keyframes, spread evenly over all of them, first and last included."""
        if count >= len(self):
            return list(self._keyframes)
        picks = np.linspace(0, len(self) - 1, max(count, 0)).round().astype(int)
        return [self._keyframes[i] for i in picks]

    def copy(self) -> KeyframeStore:
        """An independent store of the same keyframes (their bytes are shared, they never change)."""
        other = KeyframeStore(self.config)
        other._keyframes = list(self._keyframes)
        other._stamps_ns = list(self._stamps_ns)
        other._origin_ns, other._cell_ns, other._bytes = self._origin_ns, self._cell_ns, self._bytes
        return other

    def _cell(self, stamp_ns: int) -> int:
        assert self._origin_ns is not None
        return (stamp_ns - self._origin_ns) // self._cell_ns

    def _thin_out(self) -> None:
        self._cell_ns *= 2
        kept: list[Keyframe] = []
        for keyframe in self._keyframes:
            if not kept or self._cell(keyframe.stamp_ns) > self._cell(kept[-1].stamp_ns):
                kept.append(keyframe)
        self._keyframes = kept
        self._stamps_ns = [keyframe.stamp_ns for keyframe in kept]
        self._bytes = sum(len(keyframe.jpeg) for keyframe in kept)


def _thumbnail(image_rgb: NDArray[np.uint8], config: KeyframeConfig) -> bytes:
    """Encode an image, not longer than ``keyframe_side_px`` and not larger than the whole limit."""
    height, width = image_rgb.shape[:2]
    scale = min(1.0, config.keyframe_side_px / max(height, width))
    while True:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        small = image_rgb if size == (width, height) else cv2.resize(image_rgb, size, interpolation=cv2.INTER_AREA)
        jpeg = encode_jpeg(np.asarray(small, dtype=np.uint8), config.keyframe_quality)
        if len(jpeg) <= config.limit_bytes:
            return jpeg
        scale /= 2


def _seconds(stamp_ns: int) -> str:
    return f"{stamp_ns / NS_PER_S:.3f} s"
