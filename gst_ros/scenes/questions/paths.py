"""Paths on the floor: stretches of walks, how far apart two of them are, and copies elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.freespace import FreeSpace
from gst_ros.scenes.trajectory import Trajectory

Array = NDArray[np.float64]

STEP_M = 0.1
SAMPLES = 48


@dataclass(frozen=True)
class Stretch:
    """A part of a walk.

    Attributes:
        walk: Name of the walk.
        first: Its first frame.
        last: Its last frame, included.
        path_m: N x 2 points about 0.1 m apart, frame ``map``.
        length_m: Its length.
    """

    walk: str
    first: int
    last: int
    path_m: Array
    length_m: float


def stretches(
    walk: str, trajectory: Trajectory, length_m: float, longest_s: float, every_m: float = 0.5
) -> Iterator[Stretch]:
    """Parts of a walk of a wanted length on the floor, one starting every so often.

    Args:
        walk: Name of the walk.
        trajectory: The walk.
        length_m: Wanted length.
        longest_s: Parts that take longer are left out.
        every_m: Distance between starts.
    """
    way = trajectory.path_m
    travelled = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    stamps = np.array(trajectory.stamps_s)
    start = 0.0
    while start + length_m <= travelled[-1]:
        # The last frame before the walk goes on, and the first that has come far enough: no standing about at the ends.
        first = int(np.searchsorted(travelled, start, side="right")) - 1
        last = int(np.searchsorted(travelled, start + length_m, side="left"))
        if last < len(way) and stamps[last] - stamps[first] <= longest_s:
            yield Stretch(walk, first, last, thinned(way[first : last + 1]), float(travelled[last] - travelled[first]))
        start += every_m


def thinned(way: Array) -> Array:
    """A path with one point for each step that it goes on; first and last stay."""
    travelled = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    steps = np.floor(travelled / STEP_M)
    kept = np.concatenate([[True], np.diff(steps) > 0])
    kept[-1] = True
    return np.asarray(way[kept])


def sampled(path: Array, count: int = SAMPLES) -> Array:
    """A path as points that are evenly spaced along it.

    Args:
        path: N x 2 points.
        count: How many points to return.
    """
    travelled = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    at = np.linspace(0.0, travelled[-1], count)
    return np.asarray(np.stack([np.interp(at, travelled, path[:, k]) for k in (0, 1)], axis=1), np.float64)


def path_distance_m(a: Array, b: Array) -> float:
    """Mean distance of two paths that are walked side by side at a steady pace: the way round matters."""
    return float(np.linalg.norm(sampled(a) - sampled(b), axis=1).mean())


def extent_m(path: Array) -> float:
    """Diagonal of the rectangle around a path."""
    return float(np.linalg.norm(path.max(axis=0) - path.min(axis=0)))


def mirrored(path: Array, axis: int, about: float) -> Array:
    """A path mirrored about a line parallel to the other axis.

    Args:
        path: N x 2 points.
        axis: The coordinate that changes.
        about: Where the line lies.
    """
    result: Array = path.copy()
    result[:, axis] = 2 * about - result[:, axis]
    return result


def moved(path: Array, quarter_turns: int, offset_m: Array) -> Array:
    """A path turned about its middle and shifted."""
    angle = quarter_turns * math.pi / 2
    turn = np.round([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    low, high = path.min(axis=0), path.max(axis=0)
    middle = np.asarray((low + high) / 2, np.float64)
    turned: Array = (path - middle) @ turn.T
    return turned + (middle + offset_m)


def is_free(path: Array, space: FreeSpace) -> bool:
    """Whether one can walk a path.

    Args:
        path: N x 2 points.
        space: Where a walker can be.
    """
    return all(space.contains((float(x), float(y))) for x, y in sampled(path, max(2, 2 * len(path))))
