"""Pairs of frames with the points that were followed from one to the other: what calibration works on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import Array
from gst_ros.media.frames import Frame


@dataclass(frozen=True)
class PairConfig(Settings):
    """How pairs are collected."""

    max_frames: int = setting(600, "Frames that are looked at, at most.", low=2)
    working_width: int = setting(640, "Wider pictures are made this small first.", unit="px", low=160)
    burst: int = setting(24, "So many frames on end are looked at ...", low=2)
    rest: int = setting(24, "... and then so many left out, so that a whole video costs little.", low=0)
    corners: int = setting(200, "Points that are followed from one frame on.", low=20)
    least_points: int = setting(25, "A pair with fewer points is dropped.", low=8)
    stride_share: float = setting(0.12, "A pair ends when its points have moved so far, of the width.", above=0.0)
    longest: int = setting(12, "A pair ends after so many frames.", low=1)
    still_share: float = setting(0.015, "A pair whose points moved less, of the width, is dropped.", above=0.0)


@dataclass(frozen=True)
class FramePair:
    """Two frames of one clip, and where the same points are in both.

    Attributes:
        first_ns: Stamp of the first frame.
        second_ns: Stamp of the second frame.
        first_px: N x 2 pixels in the first frame, in its full size.
        second_px: N x 2 pixels in the second frame.
    """

    first_ns: int
    second_ns: int
    first_px: Array
    second_px: Array


def collect_pairs(frames: Iterable[Frame], config: PairConfig | None = None) -> Iterator[FramePair]:
    """Follow points through a clip, and yield a pair whenever they have moved far enough.

    Corners (Shi and Tomasi 1994) are followed from frame to frame (pyramidal Lucas-Kanade) and back again; those that
    do not return to where they came from are dropped. Frames without texture end a pair early.

    Args:
        frames: Frames in the order of their stamps, all of one size.
        config: Limits.
    """
    config = config or PairConfig()
    start: _Tracks | None = None
    seen = 0
    for number, frame in enumerate(frames):
        if number % (config.burst + config.rest) >= config.burst:
            start = None
            continue
        seen += 1
        if seen > config.max_frames:
            return
        width = frame.image_rgb.shape[1]
        scale = max(1.0, width / config.working_width)
        gray = _prepared(frame.image_rgb, scale)
        if start is None:
            start = _Tracks.begin(frame.stamp_ns, gray, config)
            continue
        moved_share = start.follow(gray, frame.stamp_ns) / (width / scale)
        if moved_share < config.stride_share and start.length < config.longest and start.enough(config):
            continue
        pair = start.pair
        if pair is not None and moved_share >= config.still_share and len(pair.first_px) >= config.least_points:
            yield _in_full_size(pair, scale)
        start = _Tracks.begin(frame.stamp_ns, gray, config)


def spaced_frames(frames: Iterable[Frame], config: PairConfig | None = None) -> Iterator[Frame]:
    """The first frame, and every one that shows enough motion against the one before that was chosen.

    Args:
        frames: Frames in the order of their stamps, all of one size.
        config: As of :func:`collect_pairs`; ``stride_share`` is the motion.
    """
    config = config or PairConfig()
    start: _Tracks | None = None
    for number, frame in enumerate(frames):
        if number >= config.max_frames:
            return
        width = frame.image_rgb.shape[1]
        scale = max(1.0, width / config.working_width)
        gray = _prepared(frame.image_rgb, scale)
        if start is not None:
            moved_share = start.follow(gray, frame.stamp_ns) / (width / scale)
            ended = moved_share >= config.stride_share or start.length >= config.longest or not start.enough(config)
            if not ended or (start.enough(config) and moved_share < config.still_share):
                continue
        yield frame
        start = _Tracks.begin(frame.stamp_ns, gray, config)


class _Tracks:
    """Points on their way from one frame."""

    def __init__(self, stamp_ns: int, gray: NDArray[np.uint8], points: NDArray[np.float32]) -> None:
        self.stamp_ns = stamp_ns
        self.length = 0
        self.pair: FramePair | None = None
        self._gray = gray
        self._first = points
        self._now = points
        self._begun = len(points)

    @classmethod
    def begin(cls, stamp_ns: int, gray: NDArray[np.uint8], config: PairConfig) -> _Tracks:
        """Choose corners to follow."""
        distance = gray.shape[1] / 45
        found = cv2.goodFeaturesToTrack(gray, config.corners, 0.005, distance, blockSize=5)
        points = np.empty((0, 2), np.float32) if found is None else found.reshape(-1, 2).astype(np.float32)
        return cls(stamp_ns, gray, points)

    def enough(self, config: PairConfig) -> bool:
        """Whether it is worth following on."""
        return len(self._now) >= max(config.least_points, self._begun // 2)

    def follow(self, gray: NDArray[np.uint8], stamp_ns: int) -> float:
        """One frame on; returns the median distance in pixels that the points have moved since the first frame.

        Where too many are lost in this one step, the pair ends with the frame before.
        """
        self.length += 1
        if len(self._now):
            ahead, kept = _flow(self._gray, gray, self._now)
            if kept.sum() >= 0.4 * len(kept) or self.pair is None:
                self._first, self._now, self._gray = self._first[kept], ahead[kept], gray
                first, now = self._first.astype(np.float64), self._now.astype(np.float64)
                self.pair = FramePair(self.stamp_ns, stamp_ns, first, now)
            else:
                self._now = self._now[:0]
        if self.pair is None or not len(self.pair.first_px):
            return 0.0
        return float(np.median(np.linalg.norm(self.pair.second_px - self.pair.first_px, axis=1)))


def _flow(
    before: NDArray[np.uint8], after: NDArray[np.uint8], points: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    ahead, found = _lucas_kanade(before, after, points)
    back, returned = _lucas_kanade(after, before, ahead)
    height, width = after.shape
    inside = (ahead[:, 0] > 2) & (ahead[:, 0] < width - 3) & (ahead[:, 1] > 2) & (ahead[:, 1] < height - 3)
    near = np.linalg.norm(back - points, axis=1) < 0.5
    return ahead, found & returned & inside & near


def _lucas_kanade(
    before: NDArray[np.uint8], after: NDArray[np.uint8], points: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    stop = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 20, 0.01)
    moved, found, _ = cv2.calcOpticalFlowPyrLK(
        before, after, points, points.copy(), winSize=(21, 21), maxLevel=4, criteria=stop
    )
    return np.asarray(moved, dtype=np.float32), found.ravel() == 1


def _prepared(image_rgb: NDArray[np.uint8], scale: float) -> NDArray[np.uint8]:
    gray = cv2.cvtColor(image_rgb, cv2.COLOR_RGB2GRAY)
    if scale > 1:
        size = (round(gray.shape[1] / scale), round(gray.shape[0] / scale))
        gray = cv2.resize(gray, size, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.createCLAHE(2.0, (8, 8)).apply(gray), dtype=np.uint8)


def _in_full_size(pair: FramePair, scale: float) -> FramePair:
    if scale == 1:
        return pair
    first, second = ((points + 0.5) * scale - 0.5 for points in (pair.first_px, pair.second_px))
    return FramePair(pair.first_ns, pair.second_ns, first, second)
