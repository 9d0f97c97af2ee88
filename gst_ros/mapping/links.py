"""What ties frames to keyframes and keyframes to each other, and the trajectory that follows from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.loops import Loop
from gst_ros.mapping.planar import Array, compose, inverse


@dataclass(frozen=True)
class Link:
    """The tracked motion to a keyframe from the one before.

    Attributes:
        before: Index of the one before.
        motion: (3,) pose in the ``base`` of the one before.
        covariance: 3 x 3.
        whole: Whether the two are neighbours still (with corners in common), or one in between was thinned out.
    """

    before: int
    motion: Array
    covariance: Array
    whole: bool


@dataclass(frozen=True)
class Trajectory:
    """Where the camera was.

    Attributes:
        stamps_ns: F times of all frames.
        poses: F x 3 in ``map``.
        states: F words of the tracker: tracking, weak, lost.
        parts: F numbers: frames with the same number are placed relative to each other; 0 is the first frame's part.
    """

    stamps_ns: NDArray[np.int64]
    poses: Array
    states: tuple[str, ...]
    parts: NDArray[np.int64]


@dataclass(frozen=True)
class Note:
    """What is remembered of a frame: its pose relative to a keyframe.

    Attributes:
        stamp_ns: Its time.
        relative: (3,) pose in the keyframe's ``base``.
        state: Word of the tracker.
    """

    stamp_ns: int
    relative: Array
    state: str


def rehung(loop: Loop, gone: int, link: Link, step: Array) -> Loop:
    """A loop with a keyframe that is left out, given to the keyframe before it: its motion stays, its matches go.

    Args:
        loop: Any loop.
        gone: Index of the keyframe that is left out.
        link: From the keyframe before it.
        step: (3,) pose of the one left out in ``base`` of the one before it.
    """
    if gone not in (loop.first, loop.second):
        return loop
    if loop.first == gone:
        first, second, motion = link.before, loop.second, compose(step, loop.motion)
    else:
        first, second, motion = loop.first, link.before, compose(loop.motion, inverse(step))
    if first > second:
        first, second, motion = second, first, inverse(motion)
    nothing = np.empty((0, 2))
    covariance = loop.covariance + link.covariance
    return Loop(first, second, motion, covariance, nothing, nothing, np.empty((0, 3)), np.empty(0, dtype=bool))
