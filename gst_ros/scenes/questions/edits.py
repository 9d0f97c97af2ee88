"""Changes of a place that leave it plausible: furniture moved, a room's furniture turned, rooms swapped, doors moved.

A change is found once, on the true place, and can then be made on it or on a place that another change has altered
already: both ways round the result is the same when the changes touch different things.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import shapely

from gst_ros.scenes.place import Opening, Place, PlacedObject, Room, Wall
from gst_ros.scenes.rendering.structure import door_leaf, wall_frame

DOOR_CLEARANCE_M = 0.6
LEAST_MOVE_M = 1.0
LEAST_DOOR_MOVE_M = 0.8
LEAST_FOOTPRINT_M2 = 0.4
AT_WALL_M = 0.2
OVERLAP_M2 = 0.02
TRIES = 60

Pose = tuple[tuple[float, float, float], float]


@dataclass(frozen=True)
class Edit:
    """A change of a place.

    Attributes:
        kind: For the truth file, for example ``furniture moved``.
        touches: Ids of the objects, rooms and walls that it concerns; changes that share one do not mix.
        apply: Makes the change.
        whole: Whether it stretches the whole place; such changes are made last.
    """

    kind: str
    touches: frozenset[str]
    apply: Callable[[Place], Place]
    whole: bool = False


def move_objects(kind: str, poses: Mapping[str, Pose], touches: frozenset[str]) -> Edit:
    """The change that puts objects elsewhere.

    Args:
        kind: For the truth file.
        poses: Object id -> new position and yaw.
        touches: See :class:`Edit`.
    """

    def apply(place: Place) -> Place:
        things = tuple(
            replace(thing, position_m=poses[thing.id][0], yaw_deg=poses[thing.id][1]) if thing.id in poses else thing
            for thing in place.objects
        )
        return replace(place, objects=things)

    return Edit(kind, touches, apply)


def furniture_moved(place: Place, random: np.random.Generator) -> Edit | None:
    """A large piece of furniture somewhere else in its room; along a wall, if it stands along one now."""
    large = [t for t in place.objects if _is_root(t) and shapely.Polygon(t.footprint()).area >= LEAST_FOOTPRINT_M2]
    if not large:
        return None
    thing = large[int(random.integers(len(large)))]
    room = next((r for r in place.rooms if r.id == thing.room), None)
    if room is None:
        return None
    for _ in range(TRIES):
        pose = _along_wall(thing, room, random) if _stands_at_wall(thing, room) else _anywhere(thing, room, random)
        if math.dist(pose[0][:2], thing.position_m[:2]) < LEAST_MOVE_M:
            continue
        poses = _carried(place, thing, pose)
        if stands_well(place, poses):
            return move_objects("furniture moved", poses, frozenset({room.id, *poses}))
    return None


def room_turned(place: Place, random: np.random.Generator) -> Edit | None:
    """Everything in a room turned by half, or mirrored from one wall to the opposite one."""
    rooms = [r for r in place.rooms if not r.outdoor and _count_large(place, r) >= 2]
    if not rooms:
        return None
    room = rooms[int(random.integers(len(rooms)))]
    outline = shapely.Polygon(room.outline)
    cx, cy = outline.envelope.centroid.x, outline.envelope.centroid.y
    kinds = (("room turned", -1, -1), ("room mirrored", -1, 1), ("room mirrored", 1, -1))
    for i in random.permutation(len(kinds)):
        kind, sx, sy = kinds[int(i)]
        poses = {}
        for thing in place.objects:
            if thing.room == room.id:
                x, y, z = thing.position_m
                yaw = thing.yaw_deg + 180.0 if sx == sy else (180.0 - thing.yaw_deg if sx < 0 else -thing.yaw_deg)
                poses[thing.id] = ((cx + sx * (x - cx), cy + sy * (y - cy), z), math.remainder(yaw, 360.0))
        if stands_well(place, poses):
            return move_objects(kind, poses, frozenset({room.id, *poses}))
    return None


def rooms_swapped(place: Place, random: np.random.Generator) -> Edit | None:
    """The furniture of two rooms changes places."""
    rooms = [r for r in place.rooms if not r.outdoor and _count_large(place, r) >= 2]
    pairs = [(a, b) for i, a in enumerate(rooms) for b in rooms[i + 1 :]]
    for k in random.permutation(len(pairs))[:8]:
        a, b = pairs[int(k)]
        for turn_a, turn_b in ((0, 0), (180, 180), (90, -90), (-90, 90), (0, 180), (180, 0)):
            poses = {**_transplanted(place, a, b, turn_a), **_transplanted(place, b, a, turn_b)}
            if stands_well(place, poses):
                return move_objects("rooms swapped", poses, frozenset({a.id, b.id, *poses}))
    return None


def door_moved(place: Place, random: np.random.Generator) -> Edit | None:
    """A door or passage somewhere else in its wall, between the same two rooms."""
    doors = [(w, i) for w in place.walls for i, o in enumerate(w.openings) if o.kind in ("door", "passage")]
    for k in random.permutation(len(doors)):
        wall, i = doors[int(k)]
        old = wall.openings[i]
        if wall.length_m < old.width_m + LEAST_DOOR_MOVE_M:
            continue
        for _ in range(TRIES // 3):
            start = round(float(random.uniform(0.1, wall.length_m - old.width_m - 0.1)), 3)
            new = replace(old, start_m=start)
            if abs(start - old.start_m) >= LEAST_DOOR_MOVE_M and _door_fits(place, wall, i, new):
                openings = sorted((*wall.openings[:i], new, *wall.openings[i + 1 :]), key=lambda o: o.start_m)
                moved = replace(wall, openings=tuple(openings))
                rooms = [room.id for room in _rooms_beside(place, wall, new) if room is not None]

                def apply(place: Place, moved: Wall = moved) -> Place:
                    return replace(place, walls=tuple(moved if w.id == moved.id else w for w in place.walls))

                return Edit("door moved", frozenset({wall.id, *rooms}), apply)
    return None


def stands_well(place: Place, poses: Mapping[str, Pose]) -> bool:
    """Whether moved objects stand inside rooms, apart from each other and the rest, and clear of doors.

    Args:
        place: The place as it was.
        poses: Object id -> new position and yaw.
    """
    moved, rest = [], []
    before = {}
    for thing in place.objects:
        if not _is_root(thing):
            continue
        if thing.id in poses:
            position, yaw = poses[thing.id]
            moved.append((thing, shapely.Polygon(replace(thing, position_m=position, yaw_deg=yaw).footprint())))
            before[thing.id] = shapely.Polygon(thing.footprint())
        else:
            rest.append((thing, shapely.Polygon(thing.footprint())))
    rooms = [shapely.Polygon(room.outline).buffer(0.03) for room in place.rooms]
    doors = _door_zones(place)
    original = {thing.id: before[thing.id] for thing, _ in moved}
    for k, (thing, shape) in enumerate(moved):
        if not any(room.covers(shape) for room in rooms) and any(r.covers(original[thing.id]) for r in rooms):
            return False
        if any(shape.intersection(zone).area > OVERLAP_M2 for zone in doors):
            return False
        if any(shape.intersection(other).area > OVERLAP_M2 for _, other in rest):
            return False
        for other, other_shape in moved[k + 1 :]:
            was = original[thing.id].intersection(original[other.id]).area
            if shape.intersection(other_shape).area > was + OVERLAP_M2:
                return False
    return True


def _is_root(thing: PlacedObject) -> bool:
    """Whether it stands on the floor and shows on a plan."""
    return thing.blocks and thing.mount == "floor" and not thing.on


def _count_large(place: Place, room: Room) -> int:
    return sum(
        t.room == room.id and _is_root(t) and shapely.Polygon(t.footprint()).area >= LEAST_FOOTPRINT_M2
        for t in place.objects
    )


def _carried(place: Place, thing: PlacedObject, pose: Pose) -> dict[str, Pose]:
    """New poses of a thing and of what stands on it."""
    poses = {thing.id: pose}
    turn = math.radians(pose[1] - thing.yaw_deg)
    c, s = math.cos(turn), math.sin(turn)
    group = {thing.id}
    for _ in range(3):  # things on things on it
        group |= {t.id for t in place.objects if t.on in group}
    for other in place.objects:
        if other.id in group and other.id != thing.id:
            x, y = (other.position_m[i] - thing.position_m[i] for i in (0, 1))
            position = (pose[0][0] + c * x - s * y, pose[0][1] + s * x + c * y, other.position_m[2])
            poses[other.id] = (position, math.remainder(other.yaw_deg + math.degrees(turn), 360.0))
    return poses


def _transplanted(place: Place, source: Room, target: Room, turn_deg: int) -> dict[str, Pose]:
    """Poses of a room's things in another room, turned about the rooms' middles."""
    a, b = (shapely.Polygon(r.outline).envelope.centroid for r in (source, target))
    c, s = math.cos(math.radians(turn_deg)), math.sin(math.radians(turn_deg))
    poses = {}
    for thing in place.objects:
        if thing.room == source.id and thing.mount != "wall":
            x, y = thing.position_m[0] - a.x, thing.position_m[1] - a.y
            position = (b.x + c * x - s * y, b.y + s * x + c * y, thing.position_m[2])
            poses[thing.id] = (position, math.remainder(thing.yaw_deg + turn_deg, 360.0))
    return poses


def _stands_at_wall(thing: PlacedObject, room: Room) -> bool:
    return bool(shapely.Polygon(room.outline).exterior.distance(shapely.Polygon(thing.footprint())) < AT_WALL_M)


def _along_wall(thing: PlacedObject, room: Room, random: np.random.Generator) -> Pose:
    """A pose with its back to a random stretch of the room's walls."""
    corners = np.array(room.outline)
    ends = np.roll(corners, -1, axis=0)
    lengths = np.linalg.norm(ends - corners, axis=1)
    k = int(random.choice(len(corners), p=lengths / lengths.sum()))
    along = (ends[k] - corners[k]) / lengths[k]
    inward = np.array([-along[1], along[0]])  # outlines run counter-clockwise
    point = corners[k] + along * random.uniform(0.0, lengths[k]) + inward * (thing.size_m[0] / 2 + 0.02)
    yaw = math.degrees(math.atan2(inward[1], inward[0]))
    return (round(float(point[0]), 3), round(float(point[1]), 3), thing.position_m[2]), round(yaw, 3)


def _anywhere(thing: PlacedObject, room: Room, random: np.random.Generator) -> Pose:
    low, high = np.array(room.outline).min(axis=0), np.array(room.outline).max(axis=0)
    x, y = random.uniform(low, high)
    yaw = thing.yaw_deg + 90.0 * int(random.integers(4))
    return (round(float(x), 3), round(float(y), 3), thing.position_m[2]), math.remainder(yaw, 360.0)


def _door_zones(place: Place) -> list[shapely.Polygon]:
    """What must stay free on both sides of doors and passages, and where doors' leaves stand."""
    zones = []
    for wall in place.walls:
        for opening in wall.openings:
            if opening.kind in ("door", "passage"):
                zones += _zones(wall, opening)
    return zones


def _zones(wall: Wall, opening: Opening) -> list[shapely.Polygon]:
    reach = wall.thickness_m / 2 + DOOR_CLEARANCE_M
    low, high = opening.start_m, opening.start_m + opening.width_m
    local = np.array([(low, -reach), (high, -reach), (high, reach), (low, reach)])
    frame = wall_frame(wall)
    zones = [shapely.Polygon(local @ frame[:2, :2].T + frame[:2, 3])]
    leaf = door_leaf(wall, opening)
    return zones if leaf is None else [*zones, shapely.Polygon(leaf)]


def _rooms_beside(place: Place, wall: Wall, opening: Opening) -> list[Room | None]:
    """The rooms at both ends of an opening, on both sides: left, left, right, right; None is outside."""
    frame, reach = wall_frame(wall), wall.thickness_m / 2 + 0.25
    result = []
    for y in (reach, -reach):
        for x in (opening.start_m - 0.05, opening.start_m + opening.width_m + 0.05):
            point = shapely.Point(frame[:2, :2] @ (x, y) + frame[:2, 3])
            result.append(next((r for r in place.rooms if shapely.Polygon(r.outline).covers(point)), None))
    return result


def _door_fits(place: Place, wall: Wall, index: int, new: Opening) -> bool:
    for k, other in enumerate(wall.openings):
        apart = new.start_m > other.start_m + other.width_m + 0.1 or other.start_m > new.start_m + new.width_m + 0.1
        if k != index and not apart:
            return False
    if _rooms_beside(place, wall, new) != _rooms_beside(place, wall, wall.openings[index]):
        return False
    for zone in _zones(wall, new):
        for thing in place.objects:
            low_enough = thing.mount == "wall" and thing.position_m[2] < new.head_m
            if (_is_root(thing) or low_enough) and shapely.Polygon(thing.footprint()).intersects(zone):
                return False
    return True
