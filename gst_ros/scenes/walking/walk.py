"""A walk through a place, for a camera, of a wanted length."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from gst_ros.config import Settings, setting
from gst_ros.scenes.cameras import CameraPreset
from gst_ros.scenes.freespace import FreeSpace
from gst_ros.scenes.place import Place
from gst_ros.scenes.rng import rng
from gst_ros.scenes.trajectory import Trajectory
from gst_ros.scenes.walking.motion import carry, move
from gst_ros.scenes.walking.plan import WalkPlanner
from gst_ros.scenes.walking.routes import RouteMap
from gst_ros.scenes.walking.sight import Sight


@dataclass(frozen=True)
class WalkOptions(Settings):
    """How a walker walks."""

    seconds: float = setting(
        45.0, "Wanted length of a walk; it takes longer where the rooms are many.", unit="s", low=5.0, high=600.0
    )
    speed_mps: float = setting(0.8, "Greatest speed.", unit="m/s", low=0.05, high=5.0)
    turn_dps: float = setting(60.0, "Greatest rate of turning.", unit="deg/s", low=5.0, high=360.0)
    gaze_deg: float = setting(20.0, "How far the gaze wanders from the way.", unit="deg", low=0.0, high=60.0)


def walk(place: Place, space: FreeSpace, preset: CameraPreset, options: WalkOptions, name: str) -> Trajectory:
    """A walk that visits every room, looks round in each, and collides with nothing.

    Args:
        place: The place.
        space: Where a walker can be.
        preset: The camera that it carries.
        options: Length, speeds.
        name: Walks of different names differ; for example the name of the video.

    Returns:
        One pose per frame.

    Raises:
        SceneError: There is no free floor, or a room cannot be walked into.
    """
    random = rng(place.seed, "walk", name)
    routes = RouteMap(space)
    sight = Sight(place, preset.video, preset.height_m, preset.pitch_deg)
    planner = WalkPlanner(place, routes, sight, options.speed_mps, options.turn_dps, random)
    stops = planner.plan(options.seconds)
    ways = [planner.way(a.cell, b.cell) for a, b in itertools.pairwise(stops)]
    motion = move(
        routes.point(stops[0].cell),
        planner.start_yaw_deg,
        [stop.turns_deg for stop in stops],
        ways,
        speed_mps=options.speed_mps,
        turn_dps=options.turn_dps,
        rate_hz=preset.fps,
        gaze_deg=options.gaze_deg,
        random=random,
    )
    return carry(motion, preset, random)
