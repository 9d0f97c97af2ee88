"""Small things on large ones."""

from __future__ import annotations

import math

from gst_ros.scenes.furnishing import groups
from gst_ros.scenes.furnishing.placing import Furnisher
from gst_ros.scenes.furnishing.rules import Step
from gst_ros.scenes.furnishing.single import how_many
from gst_ros.scenes.furnishing.space import centred
from gst_ros.scenes.place import PlacedObject

TOP_HEIGHT_M = 0.65
"""What stands on furniture is lower than this."""


def put_on(room: Furnisher, thing: PlacedObject, step: Step) -> None:
    """Small things on a large one."""
    if room.random.random() >= min(0.97, step.chance * room.clutter):
        return
    if step.verb == "settings":
        _settings(room, thing, step)
        return
    labels = list(step.labels)
    if step.options.get("once"):
        labels = [label for label in labels if not room.names.used(label)]
    for _ in range(how_many(room, step)):
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
