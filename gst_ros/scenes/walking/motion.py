"""From stops and ways to positions and headings over time, within limits of speed and turning.

The walk is first laid out at its greatest speeds, then smoothed in time with a kernel of positive weights. A weighted
mean of velocities exceeds none of them, so the limits still hold, and starts, halts and turns become gentle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.cameras import CameraPose, CameraPreset
from gst_ros.scenes.trajectory import Trajectory
from gst_ros.scenes.walking.plan import headings_deg

Array = NDArray[np.float64]

SMOOTHING_S = 0.8
TICK_S = 0.02
STEP_RATE_HZ = 1.9
"""Steps of a person per second."""
SLOW_WALK = 0.8
"""The slowest cruise, as a share of the greatest speed."""


@dataclass(frozen=True)
class Motion:
    """Positions and headings at even times.

    Attributes:
        rate_hz: Samples per second.
        points_m: N x 2, frame ``map``.
        yaws_deg: N headings, continuous.
    """

    rate_hz: float
    points_m: Array
    yaws_deg: Array


def move(
    start_m: tuple[float, float],
    start_yaw_deg: float,
    turns_deg: Sequence[Sequence[float]],
    ways: Sequence[Array],
    *,
    speed_mps: float,
    turn_dps: float,
    rate_hz: float,
    gaze_deg: float,
    random: np.random.Generator,
) -> Motion:
    """Lay a walk out in time.

    Args:
        start_m: Where the walk starts (x, y), frame ``map``.
        start_yaw_deg: Heading at the start.
        turns_deg: Per stop, its turns on the spot.
        ways: The ways between the stops, one fewer than stops; N x 2 points each, frame ``map``.
        speed_mps: Greatest speed.
        turn_dps: Greatest rate of turning.
        rate_hz: Samples per second wanted.
        gaze_deg: How far the gaze wanders from the way while walking.
        random: For cruising speeds and the wandering gaze.
    """
    points: list[Array] = []
    yaws: list[Array] = []
    speeds: list[Array] = []
    yaw = start_yaw_deg
    here = np.array([start_m], np.float64)
    for i, turns in enumerate(turns_deg):
        for turn in turns:
            count = max(1, math.ceil(abs(turn)))
            points.append(np.repeat(here, count, axis=0))
            yaws.append(yaw + turn * np.arange(count) / count)
            speeds.append(np.full(count, speed_mps))
            yaw += turn
        if i < len(ways):
            way = ways[i]
            heading = headings_deg(way)
            heading = heading + 360.0 * round((yaw - heading[0]) / 360.0)
            points.append(way)
            yaws.append(heading + _gaze(way, gaze_deg, random))
            speeds.append(np.full(len(way), speed_mps * random.uniform(SLOW_WALK, 1.0)))
            yaw, here = float(heading[-1]), way[-1:]
    points.append(here)
    yaws.append(np.array([yaw]))
    speeds.append(np.array([speed_mps]))
    return _timed(np.concatenate(points), np.concatenate(yaws), np.concatenate(speeds), turn_dps, rate_hz)


def carry(motion: Motion, preset: CameraPreset, random: np.random.Generator) -> Trajectory:
    """The camera's poses on a walk, with the bobbing and swaying of its carrier.

    Args:
        motion: The walk, sampled at the camera's frame rate.
        preset: How the camera is carried.
        random: For the swaying.
    """
    count = len(motion.points_m)
    times = np.arange(count) / motion.rate_hz
    speed = np.linalg.norm(np.gradient(motion.points_m, axis=0), axis=1) * motion.rate_hz if count > 1 else np.zeros(1)
    effort = np.clip(speed / 0.7, 0.0, 1.0)
    step = 2 * math.pi * STEP_RATE_HZ * times
    height = preset.height_m + preset.bob_m * (effort * np.sin(step) + 0.3 * _wander(times, random))
    pitch = preset.pitch_deg + preset.sway_deg * (_wander(times, random) + 0.15 * effort * np.sin(step + 0.7))
    roll = preset.sway_deg * (0.5 * _wander(times, random) + 0.25 * effort * np.sin(step / 2))
    yaw = motion.yaws_deg + 0.5 * preset.sway_deg * _wander(times, random)
    poses = [
        CameraPose(*(round(float(v), 6) for v in (x, y, z, (a + 180.0) % 360.0 - 180.0, p, r)))
        for (x, y), z, a, p, r in zip(motion.points_m, height, yaw, pitch, roll, strict=True)
    ]
    return Trajectory(tuple(round(float(t), 9) for t in times), tuple(poses))


def _timed(points: Array, yaws: Array, speeds: Array, turn_dps: float, rate_hz: float) -> Motion:
    """Sample knots at even times, each step as fast as both limits allow, then smooth."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1) / speeds[: len(points) - 1]
    spans = np.maximum(steps, np.abs(np.diff(yaws)) / turn_dps)
    kept = np.concatenate([[True], spans > 1e-9])
    times = np.concatenate([[0.0], np.cumsum(spans)])[kept]
    ticks = np.arange(0.0, times[-1] + TICK_S, TICK_S)
    columns = [np.interp(ticks, times, values[kept]) for values in (points[:, 0], points[:, 1], yaws)]
    half = round(SMOOTHING_S / 2 / TICK_S)
    kernel = np.hanning(2 * half + 3)[1:-1]
    kernel /= kernel.sum()
    smooth = [np.convolve(np.pad(column, 2 * half, mode="edge"), kernel, mode="valid") for column in columns]
    wanted = np.arange(0.0, TICK_S * (len(smooth[0]) - 1) + 1e-9, 1.0 / rate_hz)
    x, y, yaw = (np.interp(wanted, TICK_S * np.arange(len(column)), column) for column in smooth)
    return Motion(rate_hz, np.stack([x, y], axis=1), yaw)


def _gaze(way: Array, gaze_deg: float, random: np.random.Generator) -> Array:
    """A glance to the sides that fades out at both ends of a way."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    period_m, phase = random.uniform(2.5, 4.5), random.uniform(0.0, 2 * math.pi)
    fade = np.minimum(1.0, np.minimum(along, along[-1] - along) / 0.8)
    return np.asarray(gaze_deg * fade * np.sin(2 * math.pi * along / period_m + phase))


def _wander(times: Array, random: np.random.Generator) -> Array:
    """A smooth random curve between about -1 and 1."""
    total = np.zeros(len(times))
    for frequency in (0.13, 0.31, 0.73):
        phase = random.uniform(0.0, 2 * math.pi)
        total += np.sin(2 * math.pi * frequency * random.uniform(0.8, 1.25) * times + phase)
    return total / 2.0
