"""Videos of a walk that was mapped before, such as copies in which an object is marked: they need no other map."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.media.calibration import Calibration
from gst_ros.media.frames import Frame

if TYPE_CHECKING:
    from gst_ros.mapping.spatial_map import SpatialMap

Image = NDArray[np.uint8]

_SIZE = (40, 32)
_MOST_DIFFERENT = 4.0
"""Grey levels of 255 by which three quarters of a thumbnail may differ: another encoding differs by one or two, and
the lines of a mark cover less than a quarter."""
_MOST_FRAMES = 12_000
"""Longer walks are not recognised again: their thumbnails would take too much."""


@dataclass(frozen=True)
class CameraFacts:
    """What is told of a camera before its frames are looked at.

    Attributes:
        calibration: Intrinsics and lens, or None.
        height_m: Height above the floor, or None.
        height_std_m: Its standard deviation.
        pitch_deg: Downward tilt, or None.
        roll_deg: Tilt to the right; None is level where the pitch is told.
    """

    calibration: Calibration | None = None
    height_m: float | None = None
    height_std_m: float = 0.0
    pitch_deg: float | None = None
    roll_deg: float | None = None


@dataclass(frozen=True, eq=False)
class PastWalk:
    """A walk that was mapped.

    Attributes:
        thumbnails: One per frame.
        stamps_ns: The frames' times.
        facts: What had been told of the camera.
        place: The map.
        camera_source: Where the knowledge of the camera is from.
        marked: Whether its frames showed marks, which hide a part of what is behind them.
    """

    thumbnails: tuple[Image, ...] = field(repr=False)
    stamps_ns: tuple[int, ...] = field(repr=False)
    facts: CameraFacts
    place: SpatialMap = field(repr=False)
    camera_source: str
    marked: bool


class PastWalks:
    """The last few walks."""

    def __init__(self, most: int = 2) -> None:
        self._walks: deque[PastWalk] = deque(maxlen=most)

    def add(self, walk: PastWalk, instead_of: PastWalk | None = None) -> None:
        """Remember a walk; the oldest goes, or that which this one is a longer version of."""
        if instead_of is not None and instead_of in self._walks:
            self._walks.remove(instead_of)
        self._walks.appendleft(walk)

    def __iter__(self) -> Iterator[PastWalk]:
        return iter(self._walks)


class Replay:
    """Follows a video as long as it shows, frame by frame, what an earlier one showed.

    Args:
        past: The walks that it may show again.
    """

    def __init__(self, past: PastWalks) -> None:
        self._candidates = list(past)
        self.thumbnails: list[Image] = []
        self.stamps_ns: list[int] = []

    @property
    def too_long(self) -> bool:
        """Whether there are more frames than are kept to recognise a walk by."""
        return len(self.thumbnails) > _MOST_FRAMES

    @property
    def goes_on(self) -> bool:
        """Whether it may still be an earlier walk."""
        return bool(self._candidates)

    def add(self, frame: Frame) -> None:
        """Look at the next frame."""
        if self.too_long:
            return
        number, seen = len(self.thumbnails), thumbnail(frame.image_rgb)
        self.thumbnails.append(seen)
        self.stamps_ns.append(frame.stamp_ns)
        self._candidates = [walk for walk in self._candidates if _shows(walk, number, seen)]

    def give_up(self) -> None:
        """Take it for a walk of its own."""
        self._candidates = []

    def found(self, facts: CameraFacts) -> PastWalk | None:
        """The earlier walk that the whole video showed, if its camera was told to be the same."""
        return next(
            (w for w in self._candidates if len(w.thumbnails) == len(self.thumbnails) and w.facts == facts), None
        )


def thumbnail(image_rgb: Image) -> Image:
    """32 x 40 grey picture."""
    small = cv2.resize(image_rgb, _SIZE, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY))


def _shows(walk: PastWalk, number: int, seen: Image) -> bool:
    if number >= len(walk.thumbnails):
        return False
    differences = np.abs(walk.thumbnails[number].astype(np.int16) - seen.astype(np.int16))
    return float(np.percentile(differences, 75)) <= _MOST_DIFFERENT
