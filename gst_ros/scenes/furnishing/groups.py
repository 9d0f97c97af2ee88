"""Things that belong together: seats round a table, a bed with its bedside tables, a workplace."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gst_ros.scenes.furnishing.models import Piece
from gst_ros.scenes.furnishing.placing import WALL_GAP_M, Furnisher
from gst_ros.scenes.furnishing.space import Box, Edge, centred, overlap
from gst_ros.scenes.place import PlacedObject

SEAT_PITCH_M = 0.62
"""Width of table that one person takes."""
SEAT_GAP_M = 0.03


def extent(piece: Piece, yaw_deg: float) -> tuple[float, float]:
    """Size along x and y of a thing that looks along an axis."""
    depth, width, _ = piece.size_m
    return (depth, width) if round(yaw_deg / 90) % 2 == 0 else (width, depth)


def ahead(yaw_deg: float) -> tuple[float, float]:
    """Unit vector of a direction."""
    return math.cos(math.radians(yaw_deg)), math.sin(math.radians(yaw_deg))


def table_set(
    room: Furnisher,
    tables: Sequence[Piece],
    chairs: Sequence[Piece],
    *,
    seats: tuple[int, int],
    margin_m: float = 0.35,
    spots: Sequence[tuple[float, float]] | None = None,
) -> PlacedObject | None:
    """A table on the open floor with chairs that face it.

    Args:
        room: The room.
        tables: Models in order of preference.
        chairs: Models; all chairs of a table are alike.
        seats: Least and greatest number of chairs.
        margin_m: Floor kept clear behind the chairs.
        spots: Where its centre may be; by default all over the room, the middle first.
    """
    if not chairs:
        return None
    wanted = int(room.random.integers(seats[0], seats[1] + 1))
    places = list(spots) if spots is not None else _middle_first(room)
    for table in list(tables)[:4]:
        for x, y in places[:70]:
            quarter = 90.0 * int(room.random.integers(2))
            for yaw in (quarter, 90.0 - quarter):
                made = _table_at(room, table, chairs[0], x, y, yaw, wanted, seats[0], margin_m)
                if made:
                    return made
    return None


def _table_at(
    room: Furnisher,
    table: Piece,
    chair: Piece,
    x: float,
    y: float,
    yaw: float,
    wanted: int,
    least: int,
    margin_m: float,
) -> PlacedObject | None:
    size_x, size_y = extent(table, yaw)
    box = centred(x, y, size_x, size_y)
    if not room.space.fits(box, 0.0, table.size_m[2], gap_m=0.1):
        return None
    seats: list[tuple[float, float, float, Box]] = []
    for sx, sy, face in seat_places(size_x, size_y, chair, wanted):
        away = SEAT_GAP_M + float(room.random.uniform(0.0, 0.06))
        turn = float(room.random.normal(0.0, 2.5))
        # A turned chair reaches a little further.
        reach = abs(math.sin(math.radians(turn))) * chair.size_m[1] / 2
        ux, uy = ahead(face)
        cx, cy = x + sx - ux * (away + reach), y + sy - uy * (away + reach)
        back = centred(cx - ux * margin_m, cy - uy * margin_m, chair.size_m[1], chair.size_m[1])
        spot = room.floor_spot(chair, cx, cy, face + turn, gap_m=0.04)
        others = [box, *(s[3] for s in seats)]
        if spot and room.space.inside(back) and not any(overlap(spot, other, 0.01) for other in others):
            seats.append((cx, cy, face + turn, spot))
        if len(seats) == wanted:
            break
    if len(seats) < least or not room.space.connected([box, *(s[3] for s in seats)]):
        return None
    made = room.put(table, x, y, yaw)
    tint = room.tint()
    for cx, cy, face, _ in seats:
        room.put(chair, cx, cy, face, tint=tint)
    return made


def seat_places(size_x: float, size_y: float, chair: Piece, wanted: int) -> list[tuple[float, float, float]]:
    """Seats round a table: centre of the chair as it touches the table's edge, and the direction it looks in.

    Args:
        size_x: Size of the table along x.
        size_y: Size along y.
        chair: The chair.
        wanted: How many seats; the long sides come first, the ends when there are more.
    """
    half = chair.size_m[0] / 2
    pitch = max(SEAT_PITCH_M, chair.size_m[1] + 0.06)
    along_x = max(1, int((size_x + 0.05) / pitch))
    along_y = max(1, int((size_y + 0.05) / pitch))
    north_south, east_west = [], []
    for i in range(along_x):
        x = size_x * ((i + 0.5) / along_x - 0.5)
        north_south += [(x, size_y / 2 + half, -90.0), (x, -size_y / 2 - half, 90.0)]
    for i in range(along_y):
        y = size_y * ((i + 0.5) / along_y - 0.5)
        east_west += [(size_x / 2 + half, y, 180.0), (-size_x / 2 - half, y, 0.0)]
    ordered = [*north_south, *east_west] if size_x >= size_y else [*east_west, *north_south]
    if wanted >= 4 and abs(size_x - size_y) < 0.25:
        # A square or round table has one on each side first.
        ordered = [*north_south[:2], *east_west[:2], *north_south[2:], *east_west[2:]]
    # Ends of a long table take one each.
    return ordered


def _middle_first(room: Furnisher) -> list[tuple[float, float]]:
    x0, y0, x1, y1 = room.space.shape.bounds
    xs, ys = np.meshgrid(np.arange(x0 + 0.4, x1 - 0.3, 0.25), np.arange(y0 + 0.4, y1 - 0.3, 0.25))
    centre = room.space.shape.centroid
    away = np.hypot(xs - centre.x, ys - centre.y) + room.random.uniform(0.0, 0.8, xs.shape)
    order = np.argsort(away, axis=None, kind="stable")
    return [(float(xs.flat[i]), float(ys.flat[i])) for i in order]


def bed_set(
    room: Furnisher,
    beds: Sequence[Piece],
    tables: Sequence[Piece],
    *,
    sides: int,
) -> PlacedObject | None:
    """A bed with its head at a wall and bedside tables beside it."""
    for bed in list(beds)[:5]:
        double = bed.size_m[1] > 1.3
        for prefer, side in (("middle", 0.55), ("corner", 0.0)) if double else (("corner", 0.0),):
            made = room.against([bed], front_m=0.5, side_m=side, prefer=prefer)
            if not made:
                continue
            # The floor beside a bed is where its tables stand.
            if side:
                del room.space.zones[-2:]
            tint = room.tint()
            for sign in (1, -1)[: max(0, sides)]:
                _beside(room, made, tables, sign, tint)
            if not side and double:
                _keep_one_side(room, made)
            return made
    return None


def _beside(
    room: Furnisher, thing: PlacedObject, pieces: Sequence[Piece], sign: int, tint: tuple[float, float, float]
) -> None:
    """Put a small thing beside a larger one at the same wall."""
    for piece in pieces[:2]:
        ux, uy = ahead(thing.yaw_deg)
        back = -thing.size_m[0] / 2 + piece.size_m[0] / 2
        side = sign * (thing.size_m[1] / 2 + piece.size_m[1] / 2 + 0.05)
        x = thing.position_m[0] + ux * back - uy * side
        y = thing.position_m[1] + uy * back + ux * side
        box = room.floor_spot(piece, x, y, thing.yaw_deg)
        if box and room.space.connected([box]):
            room.put(piece, x, y, thing.yaw_deg, tint=tint)
            return


def _keep_one_side(room: Furnisher, bed: PlacedObject) -> None:
    """Keep the floor beside a bed clear on the side that has more of it."""
    ux, uy = ahead(bed.yaw_deg)
    for sign in (1, -1):
        side = sign * (bed.size_m[1] / 2 + 0.3)
        x, y = bed.position_m[0] + ux * 0.3 - uy * side, bed.position_m[1] + uy * 0.3 + ux * side
        zone = centred(x, y, 0.9, 0.9)
        if room.space.inside(zone) and not any(overlap(zone, b.box) for b in room.space.bodies if b.name != bed.id):
            room.space.zones.append(zone)
            return


def workplace(
    room: Furnisher, desks: Sequence[Piece], chairs: Sequence[Piece], *, edges: Sequence[Edge] | None = None
) -> PlacedObject | None:
    """A desk at a wall with a chair before it."""
    if not chairs:
        return None
    chair = chairs[0]
    turn = float(room.random.normal(0.0, 4.0))

    def sits(desk: Piece, edge: Edge, along: float) -> bool:
        x, y = edge.point(along, _chair_away(desk, chair))
        return room.floor_spot(chair, x, y, edge.yaw_deg + 180.0 + turn) is not None

    for desk in list(desks)[:4]:
        front = chair.size_m[0] + 0.5
        prefer = "corner" if room.random.random() < 0.5 else ""
        made = room.against([desk], front_m=front, prefer=prefer, edges=edges, accept=sits)
        if made:
            # The floor before the desk is where its chair stands; behind the chair it stays clear.
            del room.space.zones[-1]
            ux, uy = ahead(made.yaw_deg)
            away = _chair_away(desk, chair) - WALL_GAP_M - desk.size_m[0] / 2
            room.put(chair, made.position_m[0] + ux * away, made.position_m[1] + uy * away, made.yaw_deg + 180.0 + turn)
            behind = away + chair.size_m[0] / 2 + 0.25
            room.space.zones.append(
                centred(made.position_m[0] + ux * behind, made.position_m[1] + uy * behind, 0.4, 0.4)
            )
            return made
    return None


def _chair_away(desk: Piece, chair: Piece) -> float:
    """Distance of the chair's centre from the wall behind the desk."""
    return WALL_GAP_M + desk.size_m[0] + chair.size_m[0] / 2 + 0.06


def box_on_leaf(room: Furnisher, box: Box) -> bool:
    """Whether a rug would lie under a door's leaf or on another rug."""
    return any((not b.name or b.high_m < 0.06) and overlap(box, b.box) for b in room.space.bodies)
