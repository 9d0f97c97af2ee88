"""The camera's walk through the demo's home."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drawn_demo.drawing import Pose

WALK_PITCH_DOWN_DEG = 35.0
FPS = 10
SPEED_M_PER_S = 0.85
TURN_FRAMES = 30

# Places the walk goes through, in order (map, metres); the camera first turns round where it stands.
WAYPOINTS = (
    (2.4, 1.5),
    (3.3, 2.1),
    (3.5, 3.6),
    (3.9, 4.7),
    (5.07, 4.85),
    (6.0, 4.75),
    (6.25, 3.57),
    (6.6, 2.2),
    (6.0, 1.6),
    (5.07, 1.55),
    (4.0, 1.9),
)
FIRST_YAW_DEG = 175.0


def walk_poses() -> list[Pose]:
    """One pose per frame: a turn on the spot, then a smooth walk that looks where it is going."""
    points = np.array(WAYPOINTS)
    dense = smooth_curve(points)
    along = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(dense, axis=0), axis=1))])

    def at(distance_m: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([np.interp(distance_m, along, dense[:, k]) for k in (0, 1)], axis=-1)

    distance_m = np.arange(0, along[-1] - 0.3, SPEED_M_PER_S / FPS)
    places = at(distance_m)
    towards = at(np.minimum(distance_m + 0.7, along[-1])) - places
    yaw_deg = np.degrees(np.unwrap(np.arctan2(towards[:, 1], towards[:, 0])))
    ease = 0.5 - 0.5 * np.cos(np.pi * np.arange(TURN_FRAMES) / TURN_FRAMES)
    turn_deg = FIRST_YAW_DEG + ease * (yaw_deg[0] - FIRST_YAW_DEG)
    poses = [Pose(*points[0], yaw, WALK_PITCH_DOWN_DEG) for yaw in turn_deg]
    return poses + [
        Pose(x, y, yaw, WALK_PITCH_DOWN_DEG) for (x, y), yaw in zip(places.tolist(), yaw_deg.tolist(), strict=True)
    ]


def smooth_curve(points: NDArray[np.float64], steps: int = 60) -> NDArray[np.float64]:
    """A curve through all points (N x 2), sampled ``steps`` times a piece."""
    padded = np.vstack([2 * points[0] - points[1], points, 2 * points[-1] - points[-2]])
    t = np.linspace(0, 1, steps, endpoint=False)[:, None]
    pieces = [
        0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
        for a, b, c, d in zip(padded, padded[1:], padded[2:], padded[3:], strict=False)
    ]
    return np.vstack([*pieces, points[-1:]])
