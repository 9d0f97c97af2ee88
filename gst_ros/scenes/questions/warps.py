"""Changes of a place's proportions: a wall is moved, and the rooms beside it grow and shrink."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import shapely

from gst_ros.scenes.place import Opening, Place, PlacedObject, Wall
from gst_ros.scenes.questions.edits import OVERLAP_M2, TRIES, Edit

LEAST_SHIFT_M = 0.5
MOST_SHIFT_M = 1.2
LEAST_WALL_M = 2.0
RIGID_M = 0.6
"""What is this near to an outer wall or the moved one keeps its distance from it."""
STRETCH = (0.55, 1.7)
"""Least and greatest factor by which what lies between is stretched."""

Warp = Callable[[float], float]


def wall_moved(place: Place, random: np.random.Generator) -> Edit | None:
    """An inner wall is moved along x or y, with all that is in line with it.

    The place's outer walls stay. All between the outer walls and the moved one is stretched or squeezed along that
    axis; furniture keeps its size.
    """
    points = np.array([p for wall in place.walls for p in (wall.start, wall.end)])
    low, high = points.min(axis=0), points.max(axis=0)
    inner = []
    for wall in place.walls:
        for axis in (0, 1):
            at = wall.start[axis]
            straight = abs(wall.start[axis] - wall.end[axis]) < 1e-6 and wall.length_m >= LEAST_WALL_M
            if straight and low[axis] + 2.0 < at < high[axis] - 2.0:
                inner.append((axis, at, wall.id))
    for _ in range(TRIES // 3):
        if not inner:
            return None
        axis, at, name = inner[int(random.integers(len(inner)))]
        shift = float(random.uniform(LEAST_SHIFT_M, MOST_SHIFT_M)) * (1 if random.random() < 0.5 else -1)
        warp = _warp(float(low[axis]), float(high[axis]), at, round(shift, 3))
        if warp is None:
            continue

        def apply(place: Place, axis: int = axis, warp: Warp = warp) -> Place:
            return warped(place, axis, warp)

        try:
            changed = apply(place)
        except ValueError:
            continue
        if _no_new_overlaps(place, changed):
            return Edit("wall moved", frozenset({name}), apply, whole=True)
    return None


def warped(place: Place, axis: int, warp: Warp) -> Place:
    """A place with one coordinate mapped by an increasing function.

    Args:
        place: The place.
        axis: 0 for x, 1 for y.
        warp: The function.

    Raises:
        ValueError: The openings of a wall do not fit into it any more.
    """

    def move(point: tuple[float, float]) -> tuple[float, float]:
        return (warp(point[0]), point[1]) if axis == 0 else (point[0], warp(point[1]))

    rooms = tuple(replace(room, outline=tuple(move(p) for p in room.outline)) for room in place.rooms)
    walls = tuple(_warped_wall(wall, axis, move, warp) for wall in place.walls)
    by_id = {thing.id: thing for thing in place.objects}
    things = []
    for thing in place.objects:
        root = _root(thing, by_id)
        offset = warp(root.position_m[axis]) - root.position_m[axis]
        position = list(thing.position_m)
        position[axis] += offset
        things.append(replace(thing, position_m=(position[0], position[1], position[2])))
    return replace(place, rooms=rooms, walls=walls, objects=tuple(things))


def _warp(low: float, high: float, at: float, shift: float) -> Warp | None:
    """Piecewise linear, with slope 1 at both ends and around the wall; None when it would stretch too much."""
    rigid = min(RIGID_M, (at - low) / 4, (high - at) / 4)
    old = [low - 100.0, low + rigid, at - rigid, at + rigid, high - rigid, high + 100.0]
    new = [old[0], old[1], old[2] + shift, old[3] + shift, old[4], old[5]]
    for k in (1, 3):
        if old[k + 1] - old[k] < 0.2 or not STRETCH[0] <= (new[k + 1] - new[k]) / (old[k + 1] - old[k]) <= STRETCH[1]:
            return None
    return lambda value: round(float(np.interp(value, old, new)), 4)


def _warped_wall(wall: Wall, axis: int, move: Callable[[tuple[float, float]], tuple[float, float]], warp: Warp) -> Wall:
    start, end = move(wall.start), move(wall.end)
    length = math.dist(start, end)
    along = (wall.end[axis] - wall.start[axis]) / max(wall.length_m, 1e-9)
    if abs(along) < 1e-6 or not wall.openings:
        return replace(wall, start=start, end=end)
    openings: list[Opening] = []
    for opening in wall.openings:
        middle = wall.start[axis] + along * (opening.start_m + opening.width_m / 2)
        share = abs(warp(middle) - start[axis]) / max(abs(end[axis] - start[axis]), 1e-9)
        begin = round(share * length - opening.width_m / 2, 4)
        earlier = openings[-1].start_m + openings[-1].width_m if openings else 0.0
        if begin < earlier or begin + opening.width_m > length:
            raise ValueError(f"the openings of wall {wall.id} do not fit any more")
        openings.append(replace(opening, start_m=begin))
    return replace(wall, start=start, end=end, openings=tuple(openings))


def _root(thing: PlacedObject, by_id: dict[str, PlacedObject]) -> PlacedObject:
    """What a thing stands on, down to the floor."""
    for _ in range(5):
        if thing.on not in by_id:
            break
        thing = by_id[thing.on]
    return thing


def _no_new_overlaps(before: Place, after: Place) -> bool:
    def overlaps(place: Place) -> dict[tuple[int, int], float]:
        shapes = [
            shapely.Polygon(t.footprint()) if t.blocks and t.mount == "floor" and not t.on else shapely.Polygon()
            for t in place.objects
        ]
        tree = shapely.STRtree(shapes)
        pairs = tree.query(shapes, predicate="intersects").T
        return {(int(a), int(b)): shapes[a].intersection(shapes[b]).area for a, b in pairs if a < b}

    old = overlaps(before)
    return all(area <= old.get(pair, 0.0) + OVERLAP_M2 for pair, area in overlaps(after).items())
