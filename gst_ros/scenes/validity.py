"""What is wrong with a place: things inside each other or in walls, rooms that nobody can enter, and the like.

Written apart from the code that makes places and with other means (oriented rectangles, the finished description), so
that it finds that code's mistakes.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import shapely

from gst_ros.scenes.catalogue import Catalogue
from gst_ros.scenes.freespace import FreeSpace
from gst_ros.scenes.place import Place, PlacedObject, Room, SceneError, Wall
from gst_ros.scenes.rendering.builtin import PREFIX
from gst_ros.scenes.rendering.builtin import kinds as builtin_kinds
from gst_ros.scenes.rendering.materials import kinds as material_kinds
from gst_ros.scenes.rendering.structure import door_leaf

TOLERANCE_M = 0.01
FLAT_M = 0.05
"""Rugs, mats and paving are this flat: others may stand on them."""
WALKER_RADIUS_M = 0.25
LEAST_FREE_M2 = 0.5
"""Free floor that a room must have for the walker's centre, within reach of all other rooms."""
LEAST_OBJECTS = 1
_FIRST_FLOOR_M = 0.03


def check_place(place: Place, catalogue: Catalogue | None = None) -> list[str]:
    """Look for problems.

    Args:
        place: The place.
        catalogue: With it, the models of objects are looked up, too.

    Returns:
        One line for each problem; empty when all is well.
    """
    unusable = list(_numbers(place))
    if unusable:
        return unusable  # no geometry can be made of them
    checks = (_names, _walls, _openings, _rooms, _contained, _apart, _carried, _clear_of_leaves, _reachable)
    problems = [line for check in checks for line in check(place)]
    return problems + list(_models(place, catalogue))


def _names(place: Place) -> Iterator[str]:
    for what, ids in (
        ("room", [room.id for room in place.rooms]),
        ("wall", [wall.id for wall in place.walls]),
        ("object", [thing.id for thing in place.objects]),
    ):
        for name, count in sorted(Counter(ids).items()):
            if count > 1:
                yield f"{what} id '{name}' occurs {count} times"
    rooms = {room.id for room in place.rooms}
    for thing in place.objects:
        if thing.room not in rooms:
            yield f"{thing.id}: unknown room '{thing.room}'"


def _numbers(place: Place) -> Iterator[str]:
    for thing in place.objects:
        if not all(math.isfinite(v) for v in (*thing.position_m, *thing.size_m, thing.yaw_deg)):
            yield f"{thing.id}: position, size or direction is not a number"
        elif min(thing.size_m) <= 0:
            yield f"{thing.id}: its size is not positive"


def _walls(place: Place) -> Iterator[str]:
    for wall in place.walls:
        if wall.length_m < 0.01 or wall.thickness_m <= 0 or wall.height_m <= 0:
            yield f"{wall.id}: it has no length, thickness or height"
    kinds = set(material_kinds())
    named = [(wall.id, m) for wall in place.walls for m in (wall.material_left, wall.material_right)]
    named += [(room.id, m) for room in place.rooms for m in (room.floor, room.wall)]
    for owner, material in named:
        if material.partition(":")[0] not in kinds:
            yield f"{owner}: unknown material '{material}'"


def _openings(place: Place) -> Iterator[str]:
    for wall in place.walls:
        for number, opening in enumerate(wall.openings):
            where = f"{wall.id}, opening {number}"
            if opening.start_m < 0 or opening.start_m + opening.width_m > wall.length_m + 1e-6:
                yield f"{where}: it reaches beyond the wall's ends"
            if not 0 <= opening.sill_m < opening.head_m <= wall.height_m + 1e-6:
                yield f"{where}: sill {opening.sill_m} and head {opening.head_m} do not fit the wall"
        for a, b in itertools.pairwise(wall.openings):
            if a.start_m + a.width_m > b.start_m + 1e-6:
                yield f"{wall.id}: two openings overlap or are out of order at {b.start_m:.2f} m"


def _rooms(place: Place) -> Iterator[str]:
    shapes = [(room, shapely.Polygon(room.outline)) for room in place.rooms]
    for room, shape in shapes:
        if not shape.is_valid or shape.area < 0.5:
            yield f"{room.id}: its outline is no simple polygon of at least 0.5 m2"
            return
        if not shape.exterior.is_ccw:
            yield f"{room.id}: its outline is not counter-clockwise"
    for (a, first), (b, second) in itertools.combinations(shapes, 2):
        if first.intersection(second).area > 1e-4:
            yield f"{a.id} and {b.id} overlap"
    bodies = shapely.union_all([_wall_body(wall) for wall in place.walls])
    counts = Counter(thing.room for thing in place.objects if not thing.on and thing.mount == "floor" and thing.blocks)
    for room, shape in shapes:
        if shape.buffer(-TOLERANCE_M).intersection(bodies).area > 1e-3:
            yield f"{room.id}: a wall stands inside its outline"
        if counts[room.id] < LEAST_OBJECTS:
            yield f"{room.id}: the room is empty"


def _contained(place: Place) -> Iterator[str]:
    outlines = {room.id: (room, shapely.Polygon(room.outline)) for room in place.rooms}
    for thing in place.objects:
        if thing.room not in outlines:
            continue
        room, shape = outlines[thing.room]
        outside = shapely.Polygon(thing.footprint()).difference(shape.buffer(TOLERANCE_M, join_style="mitre")).area
        if outside > 1e-4:
            yield f"{thing.id}: it pokes out of {room.id} by {outside * 1e4:.0f} cm2"
        yield from _height(thing, room)


def _height(thing: PlacedObject, room: Room) -> Iterator[str]:
    low, high = thing.position_m[2], thing.position_m[2] + thing.size_m[2]
    if low < -1e-3:
        yield f"{thing.id}: it sinks into the floor"
    if not room.outdoor and high > room.ceiling_m + TOLERANCE_M:
        yield f"{thing.id}: it pokes through the ceiling"
    if thing.mount == "floor" and not thing.on and low > _FIRST_FLOOR_M:
        yield f"{thing.id}: it floats {low:.2f} m above the floor"


def _apart(place: Place) -> Iterator[str]:
    """No two things are in the same place."""
    things = [t for t in place.objects if t.size_m[2] > FLAT_M or t.mount != "floor"]
    shapes = [shapely.Polygon(t.footprint(-TOLERANCE_M / 2)) for t in things]
    valid = [i for i, s in enumerate(shapes) if s.area > 0 and min(things[i].size_m[:2]) > TOLERANCE_M]
    tree = shapely.STRtree([shapes[i] for i in valid])
    for i in valid:
        for k in sorted(int(valid[int(n)]) for n in tree.query(shapes[i], predicate="intersects")):
            a, b = things[i], things[k]
            if k <= i or a.on == b.id or b.on == a.id:
                continue
            depth = min(a.position_m[2] + a.size_m[2], b.position_m[2] + b.size_m[2]) - max(
                a.position_m[2], b.position_m[2]
            )
            if depth > TOLERANCE_M:
                area = shapes[i].intersection(shapes[k]).area
                yield f"{a.id} and {b.id} are in each other ({area * 1e4:.0f} cm2, {depth:.2f} m high)"
    mats = [t for t in place.objects if t.size_m[2] <= FLAT_M and t.mount == "floor" and not t.on]
    for a, b in itertools.combinations(mats, 2):
        same = a.label in _PAVING and b.label in _PAVING
        shared = shapely.Polygon(a.footprint()).intersection(shapely.Polygon(b.footprint())).area
        if shared > 1e-3 and not same:
            yield f"{a.id} and {b.id} lie on each other"


_PAVING = ("terrace", "path")


def _carried(place: Place) -> Iterator[str]:
    """What stands on another thing is above it, and rests on it."""
    things = {thing.id: thing for thing in place.objects}
    for thing in place.objects:
        if not thing.on:
            if thing.mount == "object":
                yield f"{thing.id}: it stands on an object, but no object is named"
            continue
        carrier = things.get(thing.on)
        if carrier is None:
            yield f"{thing.id}: it stands on '{thing.on}', which does not exist"
            continue
        beyond = shapely.Polygon(thing.footprint()).difference(shapely.Polygon(carrier.footprint(TOLERANCE_M))).area
        if beyond > 1e-4:
            yield f"{thing.id}: it reaches beyond {carrier.id}"
        low, top = thing.position_m[2], carrier.position_m[2] + carrier.size_m[2]
        if not carrier.position_m[2] < low <= top + TOLERANCE_M:
            yield f"{thing.id}: it does not rest on {carrier.id}"


def _clear_of_leaves(place: Place) -> Iterator[str]:
    """Door leaves stand open in free floor; nothing bars a door; nothing hangs in an opening."""
    floor = [(t, shapely.Polygon(t.footprint())) for t in place.objects if t.size_m[2] > FLAT_M or t.mount == "wall"]
    leaves = []
    for wall in place.walls:
        for number, opening in enumerate(wall.openings):
            leaf = door_leaf(wall, opening)
            if leaf:
                leaves.append((f"{wall.id}, opening {number}", shapely.Polygon(leaf)))
            reach = 0.70 if opening.kind in ("door", "passage") else 0.0
            zone = _strip(wall, opening.start_m, opening.start_m + opening.width_m, reach)
            for thing, shape in floor:
                low, high = thing.position_m[2], thing.position_m[2] + thing.size_m[2]
                high_enough = high > opening.sill_m + TOLERANCE_M and low < min(opening.head_m, 1.9)
                if high_enough and shape.intersection(zone).area > 1e-3:
                    yield f"{thing.id}: it stands in {wall.id}, opening {number} ({opening.kind})"
    bodies = [(w.id, _wall_body(w)) for w in place.walls]
    for i, (name, leaf_shape) in enumerate(leaves):
        for thing, shape in floor:
            if thing.position_m[2] < 2.0 and leaf_shape.intersection(shape).area > 1e-4:
                yield f"{thing.id}: the door leaf of {name} is in it"
        for other, other_shape in leaves[i + 1 :]:
            if leaf_shape.intersection(other_shape).area > 1e-4:
                yield f"the door leaves of {name} and {other} are in each other"
        for wall_id, body in bodies:
            if leaf_shape.intersection(body).area > 1e-3:
                yield f"the door leaf of {name} is in {wall_id}"


def _reachable(place: Place) -> Iterator[str]:
    """A walker comes from every room to every other."""
    space = FreeSpace(place, WALKER_RADIUS_M)
    if space.components == 0:
        yield "there is no free floor"
        return
    reached = space.largest()
    columns = [space.to_point((0, column))[0] for column in range(space.columns)]
    rows = [space.to_point((row, 0))[1] for row in range(space.rows)]
    grid_x, grid_y = np.meshgrid(columns, rows)
    for room in place.rooms:
        inside = shapely.contains_xy(shapely.Polygon(room.outline), grid_x, grid_y)
        area = float((inside & reached).sum()) * space.resolution_m**2
        if area < min(LEAST_FREE_M2, 0.1 * shapely.Polygon(room.outline).area):
            yield f"{room.id}: it cannot be reached by a walker of radius {WALKER_RADIUS_M} m"


def _models(place: Place, catalogue: Catalogue | None) -> Iterator[str]:
    known = set(builtin_kinds())
    for thing in place.objects:
        if thing.model.startswith(PREFIX):
            if thing.model.removeprefix(PREFIX).partition(":")[0] not in known:
                yield f"{thing.id}: unknown model '{thing.model}'"
        elif catalogue is not None:
            try:
                catalogue.model(thing.model)
            except SceneError:
                yield f"{thing.id}: unknown model '{thing.model}'"


def _wall_body(wall: Wall) -> shapely.Polygon:
    return _strip(wall, 0.0, wall.length_m, 0.0)


def _strip(wall: Wall, low_m: float, high_m: float, beyond_m: float) -> shapely.Polygon:
    """A stretch of wall seen from above, grown on both sides."""
    (x0, y0), (x1, y1) = wall.start, wall.end
    length = max(wall.length_m, 1e-9)
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    half = wall.thickness_m / 2 + beyond_m
    corners = [(low_m, -half), (high_m, -half), (high_m, half), (low_m, half)]
    return shapely.Polygon([(x0 + ux * a - uy * b, y0 + uy * a + ux * b) for a, b in corners])
