"""Two views of a camera that moves in the plane: the epipolar constraint, and what it says of camera and motion.

With rays d levelled into ``base`` (x ahead, y left, z up), a motion by ``t`` and a turn by yaw about the vertical, the
rays of one point satisfy ``t . (d_1 x Rz(yaw) d_2) = 0`` (Hartley and Zisserman 2004, chapter 9), with t horizontal.
The size of the error is Sampson's: the first-order distance in pixels. Focal length, pitch and roll enter through the
levelling, are the same for all pairs, and can be seen as soon as the camera turns: a rotation about a known axis
stretches the picture in a way that only the right focal length explains.

A pair may also be given the freedom to tilt and to climb, which is how the planar assumption is tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import Array, CameraMount
from gst_ros.mapping.pairs import FramePair

Index = NDArray[np.intp]

MOTION = ("yaw_rad", "direction_rad", "climb_rad", "roll_change_rad", "pitch_change_rad")
"""Columns of a motion: turn (counter-clockwise), direction of travel from straight ahead, its elevation, and how the
second camera is tilted further: its right side down, its view down."""


@dataclass(frozen=True)
class Lens:
    """What is unknown of a camera in the plane: focal length in pixels and the tilt of its mount in radians."""

    f_px: float
    pitch_rad: float
    roll_rad: float

    @property
    def vector(self) -> Array:
        """Natural logarithm of the focal length, pitch, roll."""
        return np.array([math.log(self.f_px), self.pitch_rad, self.roll_rad])

    @classmethod
    def from_vector(cls, values: Array) -> Lens:
        """The inverse of :attr:`vector`."""
        return cls(math.exp(values[0]), float(values[1]), float(values[2]))

    @property
    def rotation(self) -> Array:
        """3 x 3, from ``camera_optical_frame`` to ``base``."""
        mount = CameraMount(pitch_deg=math.degrees(self.pitch_rad), roll_deg=math.degrees(self.roll_rad))
        return mount.rotation_base_from_camera


@dataclass(frozen=True)
class Matches:
    """The points of many pairs in one table.

    Attributes:
        first: M x 2, pixels from the principal point, in the first frames.
        second: The same in the second frames.
        pair: M numbers of pairs, ascending.
        pairs: How many pairs there are.
    """

    first: Array
    second: Array
    pair: Index
    pairs: int

    @classmethod
    def of(cls, pairs: Sequence[FramePair], centre: tuple[float, float], most: int = 10**9) -> Matches:
        """Put pairs together, with at most ``most`` points of each, evenly chosen.

        Args:
            pairs: At least one.
            centre: Principal point (cx, cy) in pixels.
            most: Bound of the points of one pair.
        """
        chosen = [np.unique(np.linspace(0, len(p.first_px) - 1, min(most, len(p.first_px))).astype(int)) for p in pairs]
        first = np.concatenate([p.first_px[c] for p, c in zip(pairs, chosen, strict=True)]) - centre
        second = np.concatenate([p.second_px[c] for p, c in zip(pairs, chosen, strict=True)]) - centre
        return cls(first, second, np.repeat(np.arange(len(pairs)), [len(c) for c in chosen]), len(pairs))

    def subset(self, pairs: Sequence[int] | Index) -> Matches:
        """Only some pairs, numbered anew in their order here."""
        number = np.full(self.pairs, -1)
        number[np.sort(np.asarray(pairs))] = np.arange(len(pairs))
        keep = number[self.pair] >= 0
        return Matches(self.first[keep], self.second[keep], number[self.pair[keep]], len(pairs))

    def sums(self, values: Array) -> Array:
        """Sums of M values over each pair."""
        return np.bincount(self.pair, weights=values, minlength=self.pairs).astype(np.float64)


def residuals(matches: Matches, lens: Lens, motion: Array) -> Array:
    """Sampson distances.

    Args:
        matches: M matches of P pairs.
        lens: Focal length and tilt.
        motion: P x 5, columns as in :data:`MOTION`.

    Returns:
        M signed distances in pixels.
    """
    level = lens.rotation
    a = _rays(matches.first, lens.f_px) @ level.T
    turn, travel = _turns(motion, level)[matches.pair], _directions(motion)[matches.pair]
    b = np.einsum("nij,nj->ni", turn, _rays(matches.second, lens.f_px))
    normal_a = np.cross(b, travel)
    normal_b = np.cross(travel, a)
    error = np.einsum("ni,ni->n", a, normal_a)
    gradient_a = normal_a @ level[:, :2]
    gradient_b = np.einsum("nij,ni->nj", turn[:, :, :2], normal_b)
    size = np.sqrt((gradient_a**2).sum(axis=1) + (gradient_b**2).sum(axis=1)) / lens.f_px
    return np.asarray(error / np.maximum(size, 1e-12))


def scan(matches: Matches, lens: Lens, widest_rad: float = math.radians(45), steps: int = 31) -> Array:
    """A first idea of every pair's motion: the yaw and direction that agree best, of all yaws on a grid.

    For a given yaw the best direction is the smallest eigenvector of a 2 x 2 matrix. A finer grid follows about the
    best yaw of the coarse one.

    Args:
        matches: M matches of P pairs.
        lens: Focal length and tilt.
        widest_rad: The greatest turn that is tried, both ways.
        steps: Number of yaws of the coarse grid.

    Returns:
        P x 5 motions that do not tilt or climb.
    """
    level = lens.rotation
    a = _unit(_rays(matches.first, lens.f_px) @ level.T)
    b = _unit(_rays(matches.second, lens.f_px) @ level.T)
    coarse = np.linspace(-widest_rad, widest_rad, steps)
    motion = _best_of_grid(matches, a, b, np.zeros(matches.pairs), coarse, 12 / lens.f_px)
    fine = np.linspace(-1, 1, 13) * 2 * widest_rad / (steps - 1)
    return _best_of_grid(matches, a, b, motion[:, 0], fine, 3 / lens.f_px)


def _best_of_grid(matches: Matches, a: Array, b: Array, about: Array, yaws: Array, soft: float) -> Array:
    """The best of ``yaws`` about P yaws, with the directions that fit; errors above ``soft`` hardly count."""
    best = np.full(matches.pairs, np.inf)
    motion = np.zeros((matches.pairs, len(MOTION)))
    for yaw in yaws:
        turn = about + yaw
        cos, sin = np.cos(turn)[matches.pair], np.sin(turn)[matches.pair]
        x, y = cos * b[:, 0] - sin * b[:, 1], sin * b[:, 0] + cos * b[:, 1]
        across_x = a[:, 1] * b[:, 2] - a[:, 2] * y
        across_y = a[:, 2] * x - a[:, 0] * b[:, 2]
        weight = np.ones(len(a))
        for _ in range(2):
            xx, yy = matches.sums(weight * across_x**2), matches.sums(weight * across_y**2)
            direction = _least_direction(xx, yy, matches.sums(weight * across_x * across_y))
            away = np.cos(direction)[matches.pair] * across_x + np.sin(direction)[matches.pair] * across_y
            weight = 1 / (1 + (away / soft) ** 2)
        cost = matches.sums(np.log1p((away / soft) ** 2))
        better = cost < best
        best[better], motion[better, 0], motion[better, 1] = cost[better], turn[better], direction[better]
    return motion


def relative_rotations(lens: Lens, motion: Array) -> Array:
    """P x 3 x 3: how the cameras of pairs turned, from the second ``camera_optical_frame`` to the first one.

    Args:
        lens: Its tilt is the first cameras'.
        motion: P x 5.
    """
    return np.asarray(lens.rotation.T @ _turns(motion, lens.rotation))


def triangulated_heights(matches: Matches, lens: Lens, motion: Array, least_rad: float = math.radians(1.0)) -> Array:
    """Heights of the points above the camera, in units of the distance that the camera moved in their pair.

    The midpoint of the shortest line between the two rays (Hartley and Zisserman 2004, section 12.1).

    Args:
        matches: M matches of P pairs.
        lens: Focal length and tilt.
        motion: P x 5. A direction of travel may be the opposite one; points in front decide.
        least_rad: A smaller angle between two rays gives no height.

    Returns:
        M heights, negative below the camera, NaN where there is none.
    """
    level = lens.rotation
    a = _unit(_rays(matches.first, lens.f_px) @ level.T)
    turn, travel = _turns(motion, level)[matches.pair], _directions(motion)[matches.pair]
    b = _unit(np.einsum("nij,nj->ni", turn, _rays(matches.second, lens.f_px)))
    cos = np.einsum("ni,ni->n", a, b)
    along_a, along_b = np.einsum("ni,ni->n", a, travel), np.einsum("ni,ni->n", b, travel)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Depths along both rays where |s a - (t + u b)| is smallest.
        s = (along_a - cos * along_b) / (1 - cos**2)
        u = (cos * along_a - along_b) / (1 - cos**2)
    ahead = np.where(matches.sums(np.nan_to_num(np.sign(s)))[matches.pair] < 0, -1.0, 1.0)
    s, u = s * ahead, u * ahead
    height = (s * a[:, 2] + u * b[:, 2] + ahead * travel[:, 2]) / 2
    seen = (cos < math.cos(least_rad)) & (s > 0) & (u > 0)
    return np.asarray(np.where(seen, height, np.nan))


def _least_direction(xx: Array, yy: Array, xy: Array) -> Array:
    """Angle of the eigenvector of [[xx, xy], [xy, yy]] with the smaller eigenvalue."""
    return np.asarray(0.5 * np.arctan2(2 * xy, xx - yy) + math.pi / 2)


def _rays(centred: Array, f_px: float) -> Array:
    return np.column_stack([centred / f_px, np.ones(len(centred))])


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _directions(motion: Array) -> Array:
    direction, climb = motion[:, 1], motion[:, 2]
    level = np.cos(climb)
    return np.stack([level * np.cos(direction), level * np.sin(direction), np.sin(climb)], axis=1)


def _turns(motion: Array, level: Array) -> Array:
    """P x 3 x 3: vectors of the second ``camera_optical_frame`` in the first ``base``."""
    cos, sin = np.cos(motion[:, 0]), np.sin(motion[:, 0])
    turn = np.zeros((len(motion), 3, 3))
    turn[:, 0, 0], turn[:, 0, 1] = cos, -sin
    turn[:, 1, 0], turn[:, 1, 1] = sin, cos
    turn[:, 2, 2] = 1
    roll, pitch = motion[:, 3], motion[:, 4]
    if roll.any() or pitch.any():
        turn = turn @ _tilts(roll, pitch)
    return np.asarray(turn @ level)


def _tilts(roll: Array, pitch: Array) -> Array:
    """P x 3 x 3: rotations about ``base``'s x (right side down) and then y (view down), Rodrigues' formula."""
    axis = np.stack([roll, pitch, np.zeros_like(roll)], axis=1)
    angle = np.linalg.norm(axis, axis=1)
    unit = axis / np.maximum(angle, 1e-12)[:, None]
    cross = np.zeros((len(axis), 3, 3))
    cross[:, 0, 2], cross[:, 1, 2] = unit[:, 1], -unit[:, 0]
    cross[:, 2, 0], cross[:, 2, 1] = -unit[:, 1], unit[:, 0]
    sin, cos = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return np.asarray(np.eye(3) + sin * cross + (1 - cos) * cross @ cross)
