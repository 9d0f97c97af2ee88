"""The rules' verbs that place single things: at walls, in corners, on walls, on the floor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from gst_ros.scenes.furnishing import groups
from gst_ros.scenes.furnishing.models import Piece
from gst_ros.scenes.furnishing.placing import Furnisher
from gst_ros.scenes.furnishing.rules import Step, rules
from gst_ros.scenes.furnishing.space import Edge, centred, overlap
from gst_ros.scenes.place import PlacedObject

FULL = 0.42
"""No more furniture that is optional once this share of a room's floor is covered."""
PICTURE_MIDDLE_M = 1.55
SWITCH_M = 1.1
SOCKET_M = 0.28
ON_RUGS = ("bed_", "child_bed", "desk_", "office_chair", "chair_")
"""Ids of things that may stand on the edge of a rug."""
HANGING_LEAST_M = 1.62
"""Lamps over tables end higher than this."""


def how_many(room: Furnisher, step: Step) -> int:
    """A number between the step's bounds, by the room's clutter."""
    low, high = step.count
    drawn = float(room.random.uniform(low - 0.5, high + 0.5)) * room.clutter
    return int(np.clip(round(drawn), low, high))


def too_full(room: Furnisher) -> bool:
    """Whether a room takes no more furniture that is optional."""
    return room.space.covered_m2() > FULL * room.space.area_m2


def _against(room: Furnisher, step: Step) -> None:
    labels = list(step.labels)
    for _ in range(how_many(room, step)):
        if too_full(room) or not labels:
            return
        made = room.against(
            room.pool.shuffled(labels, room.random)[:6],
            front_m=float(step.options.get("front", 0.5)),
            prefer=str(step.options.get("prefer", "")),
        )
        if made and step.options.get("once"):
            labels.remove(made.label)


def _corner(room: Furnisher, step: Step) -> None:
    for _ in range(how_many(room, step)):
        if too_full(room):
            return
        pieces = [p for p in room.pool.shuffled(step.labels, room.random) if p.size_m[2] < 2.3]
        room.against(pieces[:4], front_m=0.0, prefer="corner")


def _free(room: Furnisher, step: Step) -> None:
    if room.space.area_m2 < float(step.options.get("least_m2", 0.0)):
        return
    for _ in range(how_many(room, step)):
        if not too_full(room):
            anywhere(room, room.pool.shuffled(step.labels, room.random)[:4])


def anywhere(room: Furnisher, pieces: Sequence[Piece]) -> PlacedObject | None:
    """Put the first of some models that fits on the open floor."""
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
    wanted = how_many(room, step)
    for label in order:
        if wanted <= 0 or too_full(room):
            return
        pieces = room.pool.shuffled([label], room.random)[:3]
        large = pieces[0].size_m[0] > 1.1 and pieces[0].size_m[1] > 1.1
        if large and room.space.area_m2 < 18.0:
            continue
        if large and room.space.room.kind == "garden":
            made = anywhere(room, pieces)
        else:
            made = room.against(pieces, front_m=0.3 if pieces[0].size_m[2] < 0.7 else 0.5)
        wanted -= made is not None


def _hang(room: Furnisher, step: Step) -> None:
    for _ in range(how_many(room, step)):
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
    for _ in range(how_many(room, step)):
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
    for _ in range(how_many(room, step)):
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


SINGLE_VERBS: dict[str, Callable[[Furnisher, Step], None]] = {
    "above": _above,
    "against": _against,
    "corner": _corner,
    "extras": _extras,
    "free": _free,
    "hang": _hang,
    "mat": _mat,
    "pendant": _pendant,
    "pictures": _pictures,
    "radiator": _radiator,
    "sockets": _sockets,
    "switches": _switches,
}
