"""Kitchen units side by side along a wall, with what hangs above and stands on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gst_ros.scenes.furnishing.models import Piece
from gst_ros.scenes.furnishing.placing import WALL_GAP_M, Furnisher
from gst_ros.scenes.furnishing.space import Edge
from gst_ros.scenes.place import PlacedObject

COUNTER_DEPTH_M = 0.6
COUNTER_HEIGHT_M = 0.9
FRONT_M = 0.8
UPPER_M = 1.45
SHORTEST_M = 1.5
NARROWEST_M = 0.25


def kitchen_run(room: Furnisher, units: Mapping[str, Sequence[Piece]], *, short: bool = False) -> list[PlacedObject]:
    """Units along the wall with most room: refrigerator, counters, sink, stove, washing machine.

    Args:
        room: The room.
        units: Models of ``refrigerator``, ``sink``, ``stove``, ``counter``, ``washer``, ``upper`` and ``hood``.
        short: Leave out what a kitchenette has not.

    Returns:
        The units that stand on the floor.
    """
    stretches = _stretches(room)
    made: list[PlacedObject] = []
    wanted = _wanted(room, units, short)
    for edge, low, high in stretches[:2]:
        if not wanted:
            break
        length = min(high - low, 2.6 if short else 4.4)
        if high - low > length and room.random.random() < 0.5:
            low = high - length
        fitting, used = _fitting(wanted, length)
        if not fitting or used < min(0.8, length):
            continue
        made += _build(room, edge, low, fitting, length - used, units)
        wanted = [piece for piece in wanted if piece not in fitting]
        if not any(piece.label in ("sink", "stove", "refrigerator") for piece in wanted):
            break
    return made


def _stretches(room: Furnisher) -> list[tuple[Edge, float, float]]:
    """Stretches of wall where units can stand, longest first."""
    probe = Piece("", "", (COUNTER_DEPTH_M, 0.1, COUNTER_HEIGHT_M), None)
    found = []
    for edge in room.space.edges:
        start: float | None = None
        station = WALL_GAP_M + 0.05
        while station <= edge.length_m - WALL_GAP_M - 0.05 + 1e-6:
            box = edge.box(station - 0.05, station + 0.05, WALL_GAP_M, WALL_GAP_M + 0.66)
            zone = edge.box(station - 0.05, station + 0.05, 0.68, 0.68 + FRONT_M)
            free = room.wall_free(edge, station, probe, 0.0) and room.space.fits(
                box, 0.0, COUNTER_HEIGHT_M, zones=[zone]
            )
            if free and start is None:
                start = station - 0.05
            if not free and start is not None:
                found.append((edge, start, station - 0.05))
                start = None
            station += 0.1
        if start is not None:
            found.append((edge, start, edge.length_m - WALL_GAP_M))
    usable = [f for f in found if f[2] - f[1] >= SHORTEST_M]
    return sorted(usable, key=lambda f: -(f[2] - f[1]))


def _wanted(room: Furnisher, units: Mapping[str, Sequence[Piece]], short: bool) -> list[Piece]:
    order = ["sink", "stove", "refrigerator"]
    if not short and room.random.random() < 0.35:
        order.append("washer")
    return [units[name][0] for name in order if units[name]]


def _fitting(wanted: list[Piece], length: float) -> tuple[list[Piece], float]:
    """The units of a list that a length takes, most important first."""
    chosen: list[Piece] = []
    used = 0.0
    for piece in wanted:
        if used + piece.size_m[1] + 0.01 <= length:
            chosen.append(piece)
            used += piece.size_m[1] + 0.01
    return chosen, used


def _build(
    room: Furnisher, edge: Edge, low: float, pieces: list[Piece], spare: float, units: Mapping[str, Sequence[Piece]]
) -> list[PlacedObject]:
    """Units one after the other, tall ones at the ends, counters in between."""
    tall = [p for p in pieces if p.size_m[2] > 1.25]
    rest = [p for p in pieces if p.size_m[2] <= 1.25]
    # Narrow fillers look odd: little spare length becomes one counter.
    places = [k for k in range(len(rest) + 1)]
    if spare / len(places) < NARROWEST_M:
        places = [int(room.random.integers(len(places)))]
    share = spare / len(places)
    counters = [p for p in units["counter"] if p.model.startswith("builtin")] or list(units["counter"])
    row: list[Piece | None] = []
    counter = counters[0] if counters else None
    for k, piece in enumerate([*rest, None]):
        if k in places:
            row.append(_cut(counter, share))
        if piece is not None:
            row.append(piece)
    ordered = [*tall, *row] if room.random.random() < 0.5 else [*row, *tall]
    made: list[PlacedObject] = []
    station = low
    tint = room.tint()
    for unit in ordered:
        if unit is None:
            station += share
            continue
        depth, width, height = unit.size_m
        box = edge.box(station, station + width, WALL_GAP_M, WALL_GAP_M + depth)
        zone = edge.box(station, station + width, WALL_GAP_M + depth, WALL_GAP_M + depth + FRONT_M - 0.1)
        behind = room.wall_free(edge, station + width / 2, unit, 0.0)
        if behind and room.space.fits(box, 0.0, height, gap_m=0.0) and room.space.connected([box]):
            x, y = edge.point(station + width / 2, WALL_GAP_M + depth / 2)
            is_counter = unit.label == "kitchen counter"
            made.append(room.put(unit, x, y, edge.yaw_deg, zones=[zone], tint=tint if is_counter else None))
            _above(room, edge, station + width / 2, unit, units)
        station += width + 0.01
    return made


def _cut(counter: Piece | None, width: float) -> Piece | None:
    """A counter cut to a width, or none where that is too little."""
    if counter is None or width < NARROWEST_M:
        return None
    size = (COUNTER_DEPTH_M, round(width - 0.01, 3), COUNTER_HEIGHT_M)
    return Piece(counter.model, counter.label, size, COUNTER_HEIGHT_M)


def _above(room: Furnisher, edge: Edge, along: float, unit: Piece, units: Mapping[str, Sequence[Piece]]) -> None:
    """A hood above the stove, cupboards above counters."""
    if unit.label == "stove" and units["hood"]:
        hood = units["hood"][0]
        room.hang(hood, max(1.6, 2.15 - hood.size_m[2]), edges=[edge], along_m=along, margin_m=0.0)
    elif unit.label == "kitchen counter" and units["upper"] and room.random.random() < 0.7:
        for upper in units["upper"][:3]:
            if upper.size_m[1] <= unit.size_m[1] + 0.02:
                count = max(1, min(3, int(unit.size_m[1] / upper.size_m[1])))
                for k in range(count):
                    offset = (k - (count - 1) / 2) * upper.size_m[1]
                    room.hang(upper, UPPER_M, edges=[edge], along_m=along + offset, margin_m=0.0)
                break
