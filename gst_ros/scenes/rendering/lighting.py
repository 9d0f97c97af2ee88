"""Lamps, sun and sky of a place, and which lamps reach which instance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import Place
from gst_ros.scenes.rendering.shaders import MAX_LAMPS

LAMP_REACH_M = 9.0
"""Beyond this a lamp's light is below what eight bits show."""

FULL_WALL_M = 2.2
"""Walls from this height on reach the ceiling."""
SAMPLE_M = 0.35
"""Distance between the points of a box that are tried for a lamp's light."""
MOST_SAMPLES = 24
NEAR_WALL_M = 0.2


@dataclass(frozen=True)
class Sky:
    """Colours of the sky (sRGB, 0 to 1) and how cloudy it is."""

    zenith: tuple[float, float, float]
    horizon: tuple[float, float, float]
    ground: tuple[float, float, float]
    clouds: float
    sun_strength: float


SKIES: dict[str, Sky] = {
    "clear": Sky((0.42, 0.62, 0.90), (0.85, 0.91, 0.97), (0.55, 0.56, 0.52), 0.25, 2.6),
    "hazy": Sky((0.66, 0.76, 0.88), (0.92, 0.94, 0.96), (0.60, 0.60, 0.57), 0.55, 1.6),
    "overcast": Sky((0.78, 0.82, 0.86), (0.90, 0.92, 0.93), (0.58, 0.58, 0.56), 0.9, 0.5),
    "evening": Sky((0.45, 0.52, 0.74), (0.97, 0.84, 0.70), (0.50, 0.47, 0.44), 0.35, 1.3),
}


def sun_direction(place: Place) -> NDArray[np.float64]:
    """Unit vector towards the sun, frame ``map``."""
    azimuth, elevation = math.radians(place.sun_azimuth_deg), math.radians(place.sun_elevation_deg)
    level = math.cos(elevation)
    return np.array([level * math.cos(azimuth), level * math.sin(azimuth), math.sin(elevation)])


def lamps_for_boxes(place: Place, low: NDArray[np.float32], high: NDArray[np.float32]) -> list[list[int]]:
    """For each box the lamps that light it most.

    A lamp is left out when walls stand between it and all of the box: its shadow map would say the same for each pixel,
    at a higher price.

    Args:
        place: The place, with its lamps and walls.
        low: K x 3 lower corners of the boxes, frame ``map``.
        high: K x 3 upper corners.

    Returns:
        Per box, at most ``MAX_LAMPS`` indices into ``lights``, strongest first.
    """
    lights = place.lights
    if not lights:
        return [[] for _ in low]
    positions = np.array([light.position_m for light in lights])
    strength = np.array([light.intensity for light in lights])
    nearest = np.clip(positions[None], low[:, None], high[:, None])
    distance = np.linalg.norm(nearest - positions[None], axis=2)
    weight = np.where(distance < LAMP_REACH_M, strength[None] / (distance**2 + 0.6), 0.0)
    walls = _full_walls(place)
    box, lamp = np.nonzero(weight)
    if len(walls) and len(box):
        dark = _hidden(walls, positions[lamp, :2], *(corner[box, :2].astype(np.float64) for corner in (low, high)))
        weight[box[dark], lamp[dark]] = 0.0
    order = np.argsort(-weight, axis=1, kind="stable")[:, :MAX_LAMPS]
    return [[int(i) for i in row if weight[k, i] > 0.0] for k, row in enumerate(order)]


def _full_walls(place: Place) -> NDArray[np.float64]:
    """S x 2 x 2 ends of the stretches of wall that no light passes: from floor to ceiling, between openings."""
    stretches = []
    for wall in place.walls:
        if wall.height_m < FULL_WALL_M:
            continue
        start, end = np.array(wall.start), np.array(wall.end)
        along = (end - start) / max(wall.length_m, 1e-9)
        position = 0.0
        for opening in (*wall.openings, None):
            stop = wall.length_m if opening is None else opening.start_m
            if stop - position > 0.01:
                stretches.append((start + along * position, start + along * stop))
            if opening is not None:
                position = opening.start_m + opening.width_m
    return np.array(stretches).reshape(-1, 2, 2)


def _hidden(
    walls: NDArray[np.float64], lamps: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether each line on the floor from a lamp to a box crosses a wall before it comes near the box.

    Args:
        walls: S x 2 x 2 stretches that no light passes.
        lamps: N x 2 lamps, one for each box.
        low: N x 2 lower corners of the boxes.
        high: N x 2 upper corners.
    """
    counts = np.clip(np.ceil((high - low) / SAMPLE_M).astype(np.int64) + 1, 2, MOST_SAMPLES)
    total = counts.prod(axis=1)
    first = np.cumsum(total) - total
    owner = np.repeat(np.arange(len(low)), total)
    index = np.arange(int(total.sum())) - np.repeat(first, total)
    steps = np.stack([index % counts[owner, 0], index // counts[owner, 0]], axis=1)
    targets = low[owner] + steps / (counts[owner] - 1) * (high - low)[owner]
    offsets = targets - lamps[owner]
    distance = np.linalg.norm(offsets, axis=1)
    # A wall's own faces lie half its thickness from its middle: lines stop a little before their ends.
    ends = lamps[owner] + offsets * np.clip(1.0 - NEAR_WALL_M / np.maximum(distance, 1e-9), 0.0, 1.0)[:, None]
    crossed = np.zeros(len(owner), bool)
    for a, b in walls:
        rest = np.flatnonzero(~crossed)
        start, end = lamps[owner[rest]], ends[rest]
        apart = (_side(start, end, a) * _side(start, end, b) < 0) & (_side(a, b, start) * _side(a, b, end) < 0)
        crossed[rest[apart]] = True
    return np.asarray(np.logical_and.reduceat(crossed, first))


def _side(a: NDArray[np.float64], b: NDArray[np.float64], point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positive where a point lies to the left of the line from ``a`` to ``b``."""
    return np.asarray(
        (b[..., 0] - a[..., 0]) * (point[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (point[..., 0] - a[..., 0])
    )
