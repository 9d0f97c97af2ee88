"""Lamps, sun and sky of a place, and which lamps reach which instance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import Light, Place
from gst_ros.scenes.rendering.shaders import MAX_LAMPS

LAMP_REACH_M = 9.0
"""Beyond this a lamp's light is below what eight bits show."""


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


def lamps_for_boxes(lights: tuple[Light, ...], low: NDArray[np.float32], high: NDArray[np.float32]) -> list[list[int]]:
    """For each box the lamps that light it most.

    Args:
        lights: All lamps of the place.
        low: K x 3 lower corners of the boxes, frame ``map``.
        high: K x 3 upper corners.

    Returns:
        Per box, at most ``MAX_LAMPS`` indices into ``lights``, strongest first.
    """
    if not lights:
        return [[] for _ in low]
    positions = np.array([light.position_m for light in lights])
    strength = np.array([light.intensity for light in lights])
    nearest = np.clip(positions[None], low[:, None], high[:, None])
    distance = np.linalg.norm(nearest - positions[None], axis=2)
    weight = np.where(distance < LAMP_REACH_M, strength[None] / (distance**2 + 0.6), 0.0)
    order = np.argsort(-weight, axis=1, kind="stable")[:, :MAX_LAMPS]
    return [[int(i) for i in row if weight[k, i] > 0.0] for k, row in enumerate(order)]
