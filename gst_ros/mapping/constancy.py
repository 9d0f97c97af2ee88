"""Whether a camera keeps its pitch, roll and height, so that the planar assumption holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import Array, CameraMount
from gst_ros.mapping.planar_epipolar import Matches, triangulated_heights
from gst_ros.mapping.planar_fit import FREE, PlanarFit, Prior, fit_planar


@dataclass(frozen=True)
class ConstancyConfig(Settings):
    """When pitch, roll and height count as constant."""

    tilt_deg: float = setting(0.6, "Greatest standard deviation of pitch and of roll.", unit="deg", above=0.0)
    height_share: float = setting(0.01, "Greatest standard deviation of the height, as a share of it.", above=0.0)
    segments: int = setting(5, "Parts of the video whose pitch and roll are compared.", low=1)


@dataclass(frozen=True)
class Constancy:
    """How far a camera's tilt and height change during a video.

    Attributes:
        pitch_deg: Standard deviation of the pitch.
        roll_deg: Standard deviation of the roll.
        height_m: Standard deviation of the height, from one frame of a pair to the other.
        constant: Whether all three are so small that the planar assumption holds.
        notes: The same in words.
    """

    pitch_deg: float
    roll_deg: float
    height_m: float
    constant: bool
    notes: tuple[str, ...]


def check_constancy(
    matches: Matches,
    fit: PlanarFit,
    stamps_ns: Sequence[int],
    mount: CameraMount | None,
    config: ConstancyConfig,
) -> Constancy:
    """Give every pair the freedom to tilt and to climb, and every part of the video its own pitch and roll.

    Quick changes show in the first, slow ones in the second.

    Args:
        matches: M matches of P pairs.
        fit: The planar fit of them.
        stamps_ns: The P times of the pairs.
        mount: The mount, for its height; None for 1.5 m.
        config: Limits.
    """
    fixed = Prior((float(fit.lens.vector[0]), fit.lens.pitch_rad, fit.lens.roll_rad), (0.0, 0.0, 0.0))
    free = fit_planar(matches, fit.lens, fit.motion, fixed, columns=FREE, scales_px=(10.0, 3.0, None))
    roll = _changes(free.motion[:, 3], free.motion_std[:, 3])
    pitch = _changes(free.motion[:, 4], free.motion_std[:, 4])
    slow_pitch, slow_roll = 0.0, 0.0
    if max(pitch, roll) <= math.radians(config.tilt_deg):
        slow_pitch, slow_roll = _slow_changes(matches, fit, stamps_ns, config.segments)
    height_m = 1.5 if mount is None else mount.height_m
    climb = _changes(*_climbs(matches, free, height_m))
    pitch_deg = math.degrees(max(pitch, slow_pitch))
    roll_deg = math.degrees(max(roll, slow_roll))
    constant = max(pitch_deg, roll_deg) <= config.tilt_deg and climb <= config.height_share * height_m
    said = "constant" if constant else "not constant: the planar assumption fails"
    note = f"pitch varies by {pitch_deg:.2f} deg, roll by {roll_deg:.2f} deg, height by {100 * climb:.1f} cm ({said})"
    return Constancy(pitch_deg, roll_deg, climb, constant, (note,))


def _changes(values: Array, std: Array) -> float:
    """Standard deviation of a quantity of which noisy differences between two times are given.

    Robust (median absolute value), over the more certain half of the differences; what their own noise explains is
    taken off.
    """
    certain = std <= np.median(std)
    values, std = values[certain], std[certain]
    spread = 1.4826 * float(np.median(np.abs(values)))
    noise = float(np.median(std))
    return math.sqrt(max(0.0, spread**2 - noise**2) / 2)


def _slow_changes(matches: Matches, fit: PlanarFit, stamps_ns: Sequence[int], segments: int) -> tuple[float, float]:
    """Standard deviations of pitch and roll between parts of the video."""
    parts = [part for part in np.array_split(np.argsort(np.asarray(stamps_ns)), segments) if len(part) >= 4]
    if len(parts) < 2:
        return 0.0, 0.0
    weak = math.radians(20)
    prior = Prior((float(fit.lens.vector[0]), fit.lens.pitch_rad, fit.lens.roll_rad), (0.0, weak, weak))
    found = []
    for part in parts:
        part = np.sort(part)
        own = fit_planar(matches.subset(part), fit.lens, fit.motion[part], prior, scales_px=(None,))
        found.append((own.lens.vector[1:], np.diag(own.covariance)[1:]))
    values, variances = np.array([f[0] for f in found]), np.array([f[1] for f in found])
    spread = np.var(values, axis=0, ddof=1) - np.median(variances, axis=0)
    pitch, roll = np.sqrt(np.maximum(spread, 0))
    return float(pitch), float(roll)


def _climbs(matches: Matches, fit: PlanarFit, height_m: float) -> tuple[Array, Array]:
    """How far the camera climbs in each pair, metres, and the standard deviations."""
    distance = _distances(matches, fit, height_m)
    known = np.isfinite(distance)
    climb = np.sin(fit.motion[known, 2]) * distance[known]
    return climb, fit.motion_std[known, 2] * distance[known]


def _distances(matches: Matches, fit: PlanarFit, height_m: float) -> Array:
    """Length of each pair's motion in metres: points are triangulated, and the lowest of them taken for the floor."""
    heights = triangulated_heights(matches, fit.lens, fit.motion)
    distance = np.full(matches.pairs, np.nan)
    for pair in range(matches.pairs):
        below = heights[(matches.pair == pair) & (heights < 0)]
        if len(below) >= 15:
            # In units of the motion; mirror images in the floor and wrong matches lie below it.
            distance[pair] = height_m / -float(np.percentile(below, 20))
    return distance
