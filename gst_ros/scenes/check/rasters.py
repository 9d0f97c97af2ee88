"""Plans and paths as the oracle expects them, drawn from boxes and walls by plain geometry."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.check.geometry import plan_pixels

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def draw_rooms(scene: Mapping[str, Any], frame: Mapping[str, Any]) -> Mask:
    """Floors of rooms and gardens, H x W."""
    return _union([np.array(room["outline"]) for room in scene["rooms"]], frame)


def draw_walls(scene: Mapping[str, Any], frame: Mapping[str, Any]) -> Mask:
    """Walls without their doors and passages, H x W."""
    solid, holes = [], []
    for wall in scene["walls"]:
        solid.append(_strip(wall, 0.0, math.dist(wall["start"], wall["end"])))
        for opening in wall["openings"]:
            if opening["kind"] in ("door", "passage"):
                holes.append(_strip(wall, opening["start_m"], opening["start_m"] + opening["width_m"]))
    return _union(solid, frame) & ~_union(holes, frame)


def draw_holes(scene: Mapping[str, Any], frame: Mapping[str, Any]) -> Mask:
    """Floors of doors and passages, H x W."""
    return _union(
        [
            _strip(wall, opening["start_m"], opening["start_m"] + opening["width_m"])
            for wall in scene["walls"]
            for opening in wall["openings"]
            if opening["kind"] in ("door", "passage")
        ],
        frame,
    )


def draw_boxes(scene: Mapping[str, Any], frame: Mapping[str, Any]) -> Mask:
    """Footprints of the boxes of what a walker must go round, H x W."""
    return _union(
        [
            _footprint(thing)
            for thing in scene["objects"]
            if thing["blocks"] and thing["mount"] != "ceiling" and thing["position_m"][2] < 1.9
        ],
        frame,
    )


def draw_plan(scene: Mapping[str, Any], frame: Mapping[str, Any], furniture: bool) -> Mask:
    """A plan as the oracle expects it: True where the floor is free."""
    free = (draw_rooms(scene, frame) | draw_holes(scene, frame)) & ~draw_walls(scene, frame)
    return free & ~draw_boxes(scene, frame) if furniture else free


def _strip(wall: Mapping[str, Any], first_m: float, last_m: float) -> Array:
    start, end = np.array(wall["start"], np.float64), np.array(wall["end"], np.float64)
    along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    across = np.array([-along[1], along[0]]) * wall["thickness_m"] / 2
    a, b = start + along * first_m, start + along * last_m
    return np.array([a - across, b - across, b + across, a + across])


def _footprint(thing: Mapping[str, Any]) -> Array:
    yaw = math.radians(thing["yaw_deg"])
    forward, left = np.array([math.cos(yaw), math.sin(yaw)]), np.array([-math.sin(yaw), math.cos(yaw)])
    depth, width = thing["size_m"][0] / 2, thing["size_m"][1] / 2
    middle = np.array(thing["position_m"][:2])
    return np.array([middle + s * depth * forward + t * width * left for s, t in ((1, 1), (-1, 1), (-1, -1), (1, -1))])


def _union(polygons: Sequence[Array], frame: Mapping[str, Any]) -> Mask:
    image = np.zeros((int(frame["height"]), int(frame["width"])), bool)
    for polygon in polygons:
        _fill(image, plan_pixels(frame, polygon))
    return image


def _fill(image: Mask, corners: Array) -> None:
    """Set the pixels whose centres lie in a polygon, by the even-odd rule."""
    height, width = image.shape
    left, top = (max(0, math.floor(v)) for v in corners.min(axis=0))
    right, bottom = (
        min(limit, math.ceil(v) + 1) for v, limit in zip(corners.max(axis=0), (width, height), strict=True)
    )
    if right <= left or bottom <= top:
        return
    columns, rows = np.meshgrid(np.arange(left, right), np.arange(top, bottom))
    inside = np.zeros(columns.shape, bool)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y0 != y1:
            crosses = (rows >= min(y0, y1)) & (rows < max(y0, y1))
            inside ^= crosses & (columns < x0 + (rows - y0) * (x1 - x0) / (y1 - y0))
    image[top:bottom, left:right] |= inside
