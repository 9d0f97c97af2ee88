"""What is known of each object: where it is, and where, when and how well the videos show it.

The facts are those of the official pipeline: name, 3D box, largest pixel count with its box, best frame, and the
frames in which the object is visible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import Place, PlacedObject

Ints = NDArray[np.int64]

VISIBLE_PIXELS = 40
"""An object counts as visible in a frame from so many pixels on (of 640 x 512; fewer are a speck)."""


@dataclass(frozen=True)
class Track:
    """Where one video shows one object. All arrays are of one length, ordered by frame.

    Attributes:
        frames: Frame numbers in which it has at least one pixel.
        pixels: Its numbers of pixels there.
        boxes: N x 4, its pixels' box: first column, first row, last column, last row.
    """

    frames: Ints
    pixels: Ints
    boxes: Ints

    def best(self, width: int, height: int) -> int:
        """Index of the frame that shows it best: with the most pixels, and not cut off if there is such a frame.

        Args:
            width: Width of the images.
            height: Height of the images.
        """
        clear = (self.boxes[:, :2] > 0).all(axis=1) & (self.boxes[:, 2:] < (width - 1, height - 1)).all(axis=1)
        return int(np.argmax(np.where(clear, self.pixels, 0) if clear.any() else self.pixels))

    def visible_frames(self, least_pixels: int = VISIBLE_PIXELS) -> Ints:
        """The frames that show at least so many pixels of it."""
        return np.asarray(self.frames[self.pixels >= least_pixels])


@dataclass(frozen=True)
class InstanceFacts:
    """What the videos of a place show of one object.

    Attributes:
        thing: The object.
        pixels: Its number of pixels in its best frame (:meth:`Track.best`); 0 when no video shows it.
        video: The video that has this frame, or an empty name.
        frame: The frame.
        box: The box of its pixels there: first column, first row, last column, last row.
        cut_off: Whether the box touches the image's border, there and in all other frames.
        unoccluded: Share of its pixels within the image that nothing hides in this frame.
        complete: Share of its pixels that are to be seen in this frame, cut off or hidden ones counted as missing.
        visible: Per video, the frames that show it with at least :data:`VISIBLE_PIXELS`.
    """

    thing: PlacedObject
    pixels: int = 0
    video: str = ""
    frame: int = -1
    box: tuple[int, int, int, int] = (0, 0, 0, 0)
    cut_off: bool = False
    unoccluded: float = 0.0
    complete: float = 0.0
    visible: Mapping[str, Ints] = field(default_factory=dict)

    def to_mapping(self) -> dict[str, Any]:
        """For ``gt/instances.json``."""
        thing = self.thing
        return {
            "id": thing.id,
            "name": thing.label,
            "room": thing.room,
            "askable": thing.askable,
            "translation_m": list(thing.centre_m),
            "size_m": list(thing.size_m),
            "yaw_deg": thing.yaw_deg,
            "largest_pixels": self.pixels,
            "largest_box": list(self.box),
            "best_video": self.video,
            "best_frame": self.frame,
            "cut_off": self.cut_off,
            "unoccluded": round(self.unoccluded, 3),
            "complete": round(self.complete, 3),
            "visible_frames": {name: runs(frames) for name, frames in self.visible.items()},
        }


class TrackRecorder:
    """Collects the tracks of a video while it is rendered.

    Args:
        place: The place.
        instances: Instance id -> object id, of its mesh.
    """

    def __init__(self, place: Place, instances: Mapping[int, str]) -> None:
        things = {thing.id for thing in place.objects}
        self._names = {number: name for number, name in instances.items() if name in things}
        self._rows: dict[str, list[tuple[int, ...]]] = {}

    def add(self, frame: int, ids: NDArray[np.uint16]) -> None:
        """Take the instance image of a frame.

        Args:
            frame: Its number.
            ids: H x W instance ids.
        """
        for number, pixels, box in census(ids, self._names):
            self._rows.setdefault(self._names[number], []).append((frame, pixels, *box))

    def tracks(self) -> dict[str, Track]:
        """Per object that was seen at all, its track; ordered by object id."""
        result = {}
        for name in sorted(self._rows):
            table = np.array(self._rows[name], np.int64)
            result[name] = Track(table[:, 0], table[:, 1], table[:, 2:])
        return result


def census(ids: NDArray[np.uint16], wanted: Mapping[int, str]) -> list[tuple[int, int, tuple[int, int, int, int]]]:
    """Number of pixels and box of each instance in an image.

    Args:
        ids: H x W instance ids.
        wanted: The instances to look for.

    Returns:
        Per instance that is there: its id, its pixels, and the first column, first row, last column and last row.
    """
    counts = np.bincount(ids.ravel())
    result = []
    for number in np.flatnonzero(counts):
        if int(number) not in wanted:
            continue
        mask = ids == number
        rows = np.flatnonzero(mask.any(axis=1))
        columns = np.flatnonzero(mask[rows[0] : rows[-1] + 1].any(axis=0))
        box = (int(columns[0]), int(rows[0]), int(columns[-1]), int(rows[-1]))
        result.append((int(number), int(counts[number]), box))
    return result


def runs(numbers: Sequence[int] | Ints) -> list[list[int]]:
    """Ascending numbers as ``[first, last]`` of each stretch without gaps."""
    result: list[list[int]] = []
    for number in numbers:
        if result and number == result[-1][1] + 1:
            result[-1][1] = int(number)
        else:
            result.append([int(number), int(number)])
    return result
