"""All rooms of a floor plan, furnished in order by the rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gst_ros.scenes.furnishing import gardens, groups, rows, runs
from gst_ros.scenes.furnishing.models import ModelPool, Piece
from gst_ros.scenes.furnishing.placing import Furnisher, Names
from gst_ros.scenes.furnishing.rules import Step, rules
from gst_ros.scenes.furnishing.space import Edge, centred, open_space, overlap
from gst_ros.scenes.layout.plan import FloorPlan
from gst_ros.scenes.place import PlacedObject
from gst_ros.scenes.rng import rng

FULL = 0.42
"""No more furniture that is optional once this share of a room's floor is covered."""
PICTURE_MIDDLE_M = 1.55
SWITCH_M = 1.1
SOCKET_M = 0.28
ON_RUGS = ("bed_", "child_bed", "desk_", "office_chair", "chair_")
"""Ids of things that may stand on the edge of a rug."""
HANGING_LEAST_M = 1.62
"""Lamps over tables end higher than this."""
TOP_HEIGHT_M = 0.65
"""What stands on furniture is lower than this."""


@dataclass(frozen=True)
class Kinds:
    """What the rooms of the whole place are: rules ask for things that no other room has."""

    rooms: frozenset[str]


def furnish(plan: FloorPlan, pool: ModelPool, seed: int, *, clutter: float = 1.0) -> tuple[PlacedObject, ...]:
    """The objects of a place, room by room.

    Args:
        plan: Rooms, walls and front door.
        pool: Models that may be used.
        seed: The place's seed.
        clutter: How full the place is; 1 is usual, 0.5 sparse, 1.5 crowded.
    """
    names = Names()
    kinds = Kinds(frozenset(room.kind for room in plan.rooms))
    objects = list(plan.fixtures)
    for fixture in plan.fixtures:
        names.new(fixture.label)
    for room in plan.rooms:
        random = rng(seed, "furnish", room.id)
        fullness = clutter * float(np.clip(random.normal(1.0, 0.25), 0.45, 1.5))
        space = open_space(room, plan.walls, plan.fixtures)
        lamps = tuple(light.position_m[:2] for light in plan.lights if light.room == room.id)
        furnisher = Furnisher(space, pool, random, names, fullness, lamps=lamps)
        for step in rules().rooms.get(room.kind, ()):
            missing = step.options.get("if_missing")
            if missing and missing in kinds.rooms:
                continue
            _run(furnisher, step)
        for thing in list(furnisher.objects):
            for step in rules().tops.get(thing.label, ()):
                _on(furnisher, thing, step)
        objects += furnisher.objects
    return tuple(objects)


def _run(room: Furnisher, step: Step) -> None:
    # Clutter shifts chances towards all or nothing, but what must be there stays certain.
    chance = step.chance if step.chance >= 1.0 else min(0.97, step.chance * room.clutter)
    if room.random.random() >= chance:
        return
    VERBS[step.verb](room, step)


def _count(room: Furnisher, step: Step) -> int:
    low, high = step.count
    drawn = float(room.random.uniform(low - 0.5, high + 0.5)) * room.clutter
    return int(np.clip(round(drawn), low, high))


def _too_full(room: Furnisher) -> bool:
    return room.space.covered_m2() > FULL * room.space.area_m2


def _against(room: Furnisher, step: Step) -> None:
    labels = list(step.labels)
    for _ in range(_count(room, step)):
        if _too_full(room) or not labels:
            return
        made = room.against(
            room.pool.shuffled(labels, room.random)[:6],
            front_m=float(step.options.get("front", 0.5)),
            prefer=str(step.options.get("prefer", "")),
        )
        if made and step.options.get("once"):
            labels.remove(made.label)


def _corner(room: Furnisher, step: Step) -> None:
    for _ in range(_count(room, step)):
        if _too_full(room):
            return
        pieces = [p for p in room.pool.shuffled(step.labels, room.random) if p.size_m[2] < 2.3]
        room.against(pieces[:4], front_m=0.0, prefer="corner")


def _free(room: Furnisher, step: Step) -> None:
    if room.space.area_m2 < float(step.options.get("least_m2", 0.0)):
        return
    for _ in range(_count(room, step)):
        if not _too_full(room):
            _anywhere(room, room.pool.shuffled(step.labels, room.random)[:4])


def _anywhere(room: Furnisher, pieces: Sequence[Piece]) -> PlacedObject | None:
    x0, y0, x1, y1 = room.space.shape.bounds
    for piece in pieces:
        for _ in range(25):
            x, y = float(room.random.uniform(x0, x1)), float(room.random.uniform(y0, y1))
            yaw = 90.0 * int(room.random.integers(4))
            box = room.floor_spot(piece, x, y, yaw, gap_m=0.15)
            if box and room.space.connected([box]):
                return room.put(piece, x, y, yaw)
    return None


def _extras(room: Furnisher, step: Step) -> None:
    """Odd things that nothing else in the place is called."""
    labels = [label for label in rules().extras[step.labels[0]] if not room.names.used(label)]
    labels = [label for label in labels if room.pool.options(label)]
    order = [labels[int(i)] for i in room.random.permutation(len(labels))]
    wanted = _count(room, step)
    for label in order:
        if wanted <= 0 or _too_full(room):
            return
        pieces = room.pool.shuffled([label], room.random)[:3]
        large = pieces[0].size_m[0] > 1.1 and pieces[0].size_m[1] > 1.1
        if large and room.space.area_m2 < 18.0:
            continue
        if large and room.space.room.kind == "garden":
            made = _anywhere(room, pieces)
        else:
            made = room.against(pieces, front_m=0.3 if pieces[0].size_m[2] < 0.7 else 0.5)
        wanted -= made is not None


def _table(room: Furnisher, step: Step) -> None:
    tables = room.pool.shuffled(step.labels, room.random)
    tables = [t for t in tables if 0.6 <= t.size_m[2] <= 0.82] or tables
    # Large rooms get large tables.
    if room.space.area_m2 < 12.0:
        tables = sorted(tables, key=lambda t: t.size_m[0] * t.size_m[1] > 1.4)
    spots = gardens.near_door(room) if step.options.get("near_door") else None
    low, high = step.options["seats"]
    groups.table_set(room, tables, _one(room, step.options["with"]), seats=(int(low), int(high)), spots=spots or None)


def _one(room: Furnisher, labels: Sequence[str]) -> list[Piece]:
    """Models of the first label that has any, shuffled."""
    for label in labels:
        pieces = room.pool.shuffled([label], room.random)
        if pieces:
            return pieces
    return []


def _bed(room: Furnisher, step: Step) -> None:
    labels = list(step.labels)
    others = step.options.get("alternatives", [])
    if others and room.random.random() < 0.22:
        labels = list(others[int(room.random.integers(len(others)))])
    beds = _one(room, [*labels, *step.labels])
    if room.space.area_m2 < 11.0:
        beds = sorted(beds, key=lambda b: b.size_m[1])
    groups.bed_set(room, beds, room.pool.shuffled(step.options["with"], room.random), sides=int(step.options["sides"]))


def _workplace(room: Furnisher, step: Step) -> None:
    per = step.options.get("per_m2")
    count = _count(room, step)
    if per:
        count = int(np.clip(round(room.space.area_m2 / float(per) * room.clutter), 1, int(step.options["most"])))
    desks = [d for d in room.pool.shuffled(step.labels, room.random) if d.size_m[2] < 1.3] or room.pool.shuffled(
        step.labels, room.random
    )
    chairs = _one(room, step.options["with"])
    if room.random.random() < 0.5:
        chairs = room.pool.shuffled([label for label in step.options["with"] if room.pool.options(label)], room.random)
    chairs = [c for c in chairs if c.size_m[0] < 0.75][:3] or chairs[:3]
    for _ in range(count):
        if _too_full(room) or groups.workplace(room, desks[:2], chairs) is None:
            return


def _seating(room: Furnisher, step: Step) -> None:
    def models(*labels: str) -> list[Piece]:
        return room.pool.shuffled([label for label in labels if room.pool.options(label)], room.random)

    sofas = models(*step.labels)
    if room.space.area_m2 < 20.0:
        sofas = sorted(sofas, key=lambda s: s.size_m[0] > 1.1 or s.size_m[1] > 2.4)
    armchairs = models("armchair")
    count = int(room.random.integers(0, int(step.options.get("armchairs", 2)) + 1))
    groups.seating(
        room,
        {
            "sofa": sofas,
            "table": models("coffee table"),
            "armchair": armchairs[:1] * count,
            "stand": models("tv stand") if room.random.random() < 0.85 else [],
            "screen": models("tv"),
            "wall_screen": models("wall tv"),
            "rug": models("rug") if room.random.random() < 0.55 else [],
        },
    )


def _kitchen(room: Furnisher, step: Step) -> None:
    def models(label: str) -> list[Piece]:
        return room.pool.shuffled([label], room.random)

    stoves = [s for s in models("stove") if s.size_m[2] > 0.8]
    units = {
        "refrigerator": models("refrigerator"),
        "sink": models("sink"),
        "stove": stoves or [room.pool.varied(p, room.random) for p in own_models("stove")],
        "counter": models("kitchen counter"),
        "washer": models("washing machine"),
        "upper": models("upper cabinet"),
        "hood": models("range hood"),
    }
    made = {unit.label for unit in runs.kitchen_run(room, units, short=bool(step.options.get("short")))}
    for name in ("sink", "stove", "refrigerator"):
        if name not in made:
            room.against(units[name][:2], front_m=0.6, prefer="corner")


def own_models(label: str) -> list[Piece]:
    """The data engine's own models of a label."""
    return ModelPool(None, "local").options(label)


def _hang(room: Furnisher, step: Step) -> None:
    for _ in range(_count(room, step)):
        for piece in room.pool.shuffled(step.labels, room.random)[:3]:
            z = float(step.options["z"])
            if z + piece.size_m[2] > room.space.room.ceiling_m - 0.03:
                continue
            if room.hang(piece, z):
                break


def _above(room: Furnisher, step: Step) -> None:
    """On the wall above a thing that stands at it."""
    for thing in [t for t in room.objects if t.label in step.options["of"] and t.size_m[2] < 1.4]:
        z = max(float(step.options["z"]), thing.position_m[2] + thing.size_m[2] + 0.05)
        for piece in room.pool.shuffled(step.labels, room.random)[:3]:
            edge, along = _edge_behind(room, thing)
            if edge and z + piece.size_m[2] < room.space.room.ceiling_m - 0.1:
                room.hang(piece, z, edges=[edge], along_m=along, margin_m=0.01)
                break


def _edge_behind(room: Furnisher, thing: PlacedObject) -> tuple[Edge | None, float]:
    for edge in room.space.edges:
        dx, dy = thing.position_m[0] - edge.start[0], thing.position_m[1] - edge.start[1]
        away, along = dx * edge.normal[0] + dy * edge.normal[1], dx * edge.direction[0] + dy * edge.direction[1]
        same = abs((edge.yaw_deg - thing.yaw_deg + 180.0) % 360.0 - 180.0) < 1.0
        if same and 0.0 < away < thing.size_m[0] / 2 + 0.1 and 0.0 < along < edge.length_m:
            return edge, along
    return None, 0.0


def _pendant(room: Furnisher, step: Step) -> None:
    """Lamps under the ceiling, over tables; not where a light's own disc would shine on them from just above."""
    ceiling = room.space.room.ceiling_m
    pieces = [p for p in room.pool.shuffled(step.labels, room.random) if ceiling - p.size_m[2] > HANGING_LEAST_M]
    if not pieces:
        return
    for thing in [t for t in room.objects if t.label in step.options["over"]]:
        x, y, _ = thing.position_m
        if all(math.hypot(x - lx, y - ly) > 0.5 for lx, ly in room.lamps):
            room.put(pieces[0], x, y, thing.yaw_deg, z=ceiling - pieces[0].size_m[2] - 0.005, mount="ceiling")


def _pictures(room: Furnisher, step: Step) -> None:
    for _ in range(_count(room, step)):
        for piece in room.pool.shuffled(step.labels, room.random)[:3]:
            if room.hang(piece, PICTURE_MIDDLE_M - piece.size_m[2] / 2, margin_m=0.12):
                break


def _switches(room: Furnisher, step: Step) -> None:
    """A switch beside the doors, where the hand finds it."""
    for edge in room.space.edges:
        for hole in edge.holes:
            if hole.kind != "door":
                continue
            for piece in room.pool.shuffled(step.labels, room.random)[:1]:
                for along in (hole.high_m + 0.18, hole.low_m - 0.18):
                    inside = 0.06 < along < edge.length_m - 0.06
                    if inside and room.hang(piece, SWITCH_M, edges=[edge], along_m=along, margin_m=0.0):
                        break


def _sockets(room: Furnisher, step: Step) -> None:
    for _ in range(_count(room, step)):
        for piece in room.pool.shuffled(step.labels, room.random)[:1]:
            room.hang(piece, SOCKET_M, margin_m=0.0)


def _mat(room: Furnisher, step: Step) -> None:
    pieces = room.pool.shuffled(step.labels, room.random)[:3]
    if step.options.get("at"):
        for edge, hole_middle in _front_doors(room):
            for piece in pieces:
                x, y = edge.point(hole_middle, piece.size_m[0] / 2 + 0.12)
                box = centred(x, y, *groups.extent(piece, edge.yaw_deg))
                if room.space.inside(box) and not groups.box_on_leaf(room, box):
                    room.put(piece, x, y, edge.yaw_deg)
                    return
        return
    x0, y0, x1, y1 = room.space.shape.bounds
    for piece in pieces:
        for _ in range(20):
            x, y = float(room.random.uniform(x0, x1)), float(room.random.uniform(y0, y1))
            yaw = 90.0 * int(room.random.integers(2))
            box = centred(x, y, *groups.extent(piece, yaw))
            standing = [b for b in room.space.bodies if b.high_m > 0.06 and b.low_m < 0.3]
            covered = any(overlap(box, b.box) for b in standing if not b.name.startswith(ON_RUGS))
            if room.space.inside(box) and not covered and not groups.box_on_leaf(room, box):
                room.put(piece, x, y, yaw, tint=(1.0, 1.0, 1.0))
                return


def _front_doors(room: Furnisher) -> list[tuple[Edge, float]]:
    """The sides of the room with its front door, and where that is along them."""
    found = []
    for body in room.space.bodies:
        middle = (body.box[0] + body.box[2]) / 2, (body.box[1] + body.box[3]) / 2
        if body.name or min(body.box[2] - body.box[0], body.box[3] - body.box[1]) > 0.07:
            continue
        for edge in room.space.edges:
            dx, dy = middle[0] - edge.start[0], middle[1] - edge.start[1]
            away = dx * edge.normal[0] + dy * edge.normal[1]
            along = dx * edge.direction[0] + dy * edge.direction[1]
            if abs(away) < 0.06 and 0.0 < along < edge.length_m:
                found.append((edge, along))
    return found


def _radiator(room: Furnisher, step: Step) -> None:
    """Radiators under windows."""
    for edge in room.space.edges:
        for hole in edge.holes:
            if hole.kind != "window" or room.random.random() < 0.4:
                continue
            for piece in room.pool.shuffled(step.labels, room.random)[:3]:
                fits = piece.size_m[0] < 0.3 and piece.size_m[2] < 0.85
                if fits and room.hang(piece, 0.1, edges=[edge], along_m=(hole.low_m + hole.high_m) / 2, margin_m=0.02):
                    break


def _classroom(room: Furnisher, step: Step) -> None:
    rows.classroom(
        room,
        boards=room.pool.shuffled(step.options["board"], room.random),
        teacher_desks=[d for d in room.pool.shuffled(step.options["teacher"], room.random) if d.size_m[2] < 0.9],
        teacher_chairs=_one(room, step.options["teacher_chair"]),
        desks=room.pool.shuffled(step.labels, room.random),
        chairs=room.pool.shuffled(step.options["with"], room.random),
    )


def _dining_room(room: Furnisher, step: Step) -> None:
    tables = [t for t in room.pool.shuffled(step.labels, room.random) if 0.6 <= t.size_m[2] <= 0.82]
    small = [t for t in tables if t.size_m[1] <= 1.45] or tables
    stools = [s for s in _one(room, step.options["stools"]) if s.size_m[2] > 0.6]
    chairs = [c for c in room.pool.shuffled(step.options["with"], room.random) if c.size_m[0] < 0.66]
    bars = room.pool.shuffled(step.options["bar"], room.random)
    rows.dining_room(room, bars=bars, stools=stools, tables=small, chairs=chairs)


def _terrace(room: Furnisher, step: Step) -> None:
    slab = room.pool.shuffled(step.labels, room.random)[0]
    path = room.pool.shuffled(step.options["with"], room.random)[0]
    gardens.terrace(room, slab, Piece(slab.model, path.label, path.size_m, None))


def _hedges(room: Furnisher, step: Step) -> None:
    gardens.hedges(room, room.pool.shuffled(step.labels, room.random))


def _trees(room: Furnisher, step: Step) -> None:
    pieces = [p for p in room.pool.shuffled(step.labels, room.random) if p.size_m[0] < 3.0]
    gardens.trees(room, pieces, _count(room, step))


def _on(room: Furnisher, thing: PlacedObject, step: Step) -> None:
    """Small things on a large one."""
    if room.random.random() >= min(0.97, step.chance * room.clutter):
        return
    if step.verb == "settings":
        _settings(room, thing, step)
        return
    labels = list(step.labels)
    if step.options.get("once"):
        labels = [label for label in labels if not room.names.used(label)]
    for _ in range(_count(room, step)):
        pieces = [p for p in room.pool.shuffled(labels, room.random) if p.size_m[2] <= TOP_HEIGHT_M]
        for piece in pieces[:3]:
            where, turn = str(step.options.get("where", "")), float(step.options.get("turn", 0.0))
            made = room.on_top(thing, piece, where=where, turn_deg=turn)
            if made:
                labels.remove(piece.label)
                break
        if not labels:
            return


def _settings(room: Furnisher, table: PlacedObject, step: Step) -> None:
    """A place setting before every chair of a table."""
    pieces = room.pool.shuffled(step.labels, room.random)
    top = room.tops.get(table.id)
    if not pieces or top is None:
        return
    piece = pieces[0]
    for chair in [t for t in room.objects if t.label == "chair"]:
        ux, uy = groups.ahead(chair.yaw_deg)
        dx, dy = table.position_m[0] - chair.position_m[0], table.position_m[1] - chair.position_m[1]
        if math.hypot(dx, dy) > 1.6 or dx * ux + dy * uy <= 0.0:
            continue
        reach = chair.size_m[0] / 2 + 0.1 + piece.size_m[0] / 2
        x, y = chair.position_m[0] + ux * reach, chair.position_m[1] + uy * reach
        yaw = round(chair.yaw_deg / 90.0) * 90.0 + 180.0
        half = _table_extent(table)
        setting = groups.extent(piece, yaw)
        near = abs(x - table.position_m[0]) <= half[0] / 2 - setting[0] / 2
        wide = abs(y - table.position_m[1]) <= half[1] / 2 - setting[1] / 2
        z = table.position_m[2] + top
        box = centred(x, y, *setting)
        free = room.space.fits(box, z + 1e-3, z + piece.size_m[2], gap_m=0.01, carrier=table.id, flat=True)
        if near and wide and free:
            room.put(piece, x, y, yaw, z=z, on=table.id, mount="object", tint=(1.0, 1.0, 1.0))


def _table_extent(table: PlacedObject) -> tuple[float, float]:
    depth, width, _ = table.size_m
    return (depth, width) if round(table.yaw_deg / 90) % 2 == 0 else (width, depth)


VERBS: dict[str, Callable[[Furnisher, Step], None]] = {
    "above": _above,
    "against": _against,
    "bed": _bed,
    "classroom": _classroom,
    "corner": _corner,
    "dining_room": _dining_room,
    "extras": _extras,
    "free": _free,
    "hang": _hang,
    "hedges": _hedges,
    "kitchen": _kitchen,
    "mat": _mat,
    "pendant": _pendant,
    "pictures": _pictures,
    "radiator": _radiator,
    "seating": _seating,
    "sockets": _sockets,
    "switches": _switches,
    "table": _table,
    "terrace": _terrace,
    "trees": _trees,
    "workplace": _workplace,
}
