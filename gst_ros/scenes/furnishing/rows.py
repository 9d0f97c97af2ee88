"""Desks of a classroom that face its board, and tables of a restaurant."""

from __future__ import annotations

import numpy as np

from gst_ros.scenes.furnishing.groups import ahead, table_set
from gst_ros.scenes.furnishing.models import Piece
from gst_ros.scenes.furnishing.placing import Furnisher
from gst_ros.scenes.furnishing.space import Edge
from gst_ros.scenes.place import PlacedObject

BOARD_Z_M = 0.85
TEACHER_M = 2.5
"""Depth of the floor before the board that the teacher has."""


def classroom(
    room: Furnisher,
    *,
    boards: list[Piece],
    teacher_desks: list[Piece],
    teacher_chairs: list[Piece],
    desks: list[Piece],
    chairs: list[Piece],
) -> bool:
    """A board, the teacher's desk before it, and rows of desks with chairs that look at it."""
    edge, board = _board(room, boards)
    if edge is None or board is None:
        return False
    along = (board.position_m[0] - edge.start[0]) * edge.direction[0] + (
        board.position_m[1] - edge.start[1]
    ) * edge.direction[1]
    _teacher(room, edge, along, teacher_desks, teacher_chairs)
    desk, chair = desks[0], chairs[0]
    pitch_along, pitch_away = desk.size_m[1] + 0.72, desk.size_m[0] + chair.size_m[0] + 0.5
    face = edge.yaw_deg + 180.0
    depth = max(
        (x - edge.start[0]) * edge.normal[0] + (y - edge.start[1]) * edge.normal[1] for x, y in room.space.room.outline
    )
    tint = room.tint()
    columns = int((edge.length_m - 0.9) / pitch_along)
    first = edge.length_m / 2 - (columns - 1) * pitch_along / 2
    away = TEACHER_M + desk.size_m[0] / 2
    while away + desk.size_m[0] / 2 + chair.size_m[0] + 0.6 < depth:
        for k in range(columns):
            if room.random.random() < 0.06:
                continue  # a desk is missing here and there
            _pupil(room, edge, first + k * pitch_along, away, desk, chair, face, tint)
        away += pitch_away
    return True


def _board(room: Furnisher, boards: list[Piece]) -> tuple[Edge | None, PlacedObject | None]:
    """The board on the wall with fewest windows that is wide enough for rows of desks."""
    wide = [e for e in room.space.edges if e.length_m > 3.2]
    ranked = sorted(wide, key=lambda e: (sum(h.kind == "window" for h in e.holes), -e.length_m))
    for edge in ranked:
        for board in boards:
            for offset in (0.0, -0.4, 0.4, -0.8, 0.8):
                made = room.hang(board, BOARD_Z_M, edges=[edge], along_m=edge.length_m / 2 + offset)
                if made:
                    return edge, made
    return None, None


def _teacher(room: Furnisher, edge: Edge, along: float, desks: list[Piece], chairs: list[Piece]) -> None:
    """The teacher's desk beside the board's middle; its chair between desk and board, looking at the class."""
    for desk in desks[:3]:
        for offset in (1.1, -1.1, 0.6, -0.6, 0.0, 1.7, -1.7):
            away = 0.95 + desk.size_m[0] / 2
            x, y = edge.point(along + offset, away)
            box = room.floor_spot(desk, x, y, edge.yaw_deg + 180.0)
            if not box or not room.space.connected([box]):
                continue
            room.put(desk, x, y, edge.yaw_deg + 180.0)
            for chair in chairs[:1]:
                cx, cy = edge.point(along + offset, away - desk.size_m[0] / 2 - chair.size_m[0] / 2 - 0.05)
                spot = room.floor_spot(chair, cx, cy, edge.yaw_deg)
                if spot and room.space.connected([spot]):
                    room.put(chair, cx, cy, edge.yaw_deg)
            return


def _pupil(
    room: Furnisher,
    edge: Edge,
    along: float,
    away: float,
    desk: Piece,
    chair: Piece,
    face: float,
    tint: tuple[float, float, float],
) -> None:
    x, y = edge.point(along, away)
    # The desk's front is where one sits at it.
    box = room.floor_spot(desk, x, y, edge.yaw_deg, gap_m=0.3)
    cx, cy = edge.point(along, away + desk.size_m[0] / 2 + chair.size_m[0] / 2 + 0.05)
    turn = float(room.random.normal(0.0, 3.0))
    spot = room.floor_spot(chair, cx, cy, face + turn)
    if box and spot and room.space.connected([box, spot]):
        room.put(desk, x, y, edge.yaw_deg, tint=tint)
        room.put(chair, cx, cy, face + turn, tint=tint)


def dining_room(
    room: Furnisher,
    *,
    bars: list[Piece],
    stools: list[Piece],
    tables: list[Piece],
    chairs: list[Piece],
) -> int:
    """A bar with stools, and tables with chairs in loose rows.

    Returns:
        The number of tables.
    """
    bar = room.against(bars, front_m=1.1, prefer="corner") if bars else None
    if bar and stools:
        _stools(room, bar, stools[0])
    x0, y0, x1, y1 = room.space.shape.bounds
    pitch = float(room.random.uniform(2.2, 2.7))
    xs = np.arange(x0 + 1.2, x1 - 1.0, pitch)
    ys = np.arange(y0 + 1.2, y1 - 1.0, pitch)
    kinds = tables[: int(room.random.integers(1, 3))]
    made = 0
    for x in xs:
        for y in ys:
            table = kinds[int(room.random.integers(len(kinds)))]
            # Near its place in the row; further off where something is in the way.
            spots = [
                (float(x + room.random.uniform(-reach, reach)), float(y + room.random.uniform(-reach, reach)))
                for reach in (0.12, 0.3, 0.5, 0.7)
            ]
            if room.random.random() < 0.06:
                continue
            made += table_set(room, [table], chairs, seats=(2, 4), margin_m=0.1, spots=spots) is not None
    return made


def _stools(room: Furnisher, bar: PlacedObject, stool: Piece) -> None:
    ux, uy = ahead(bar.yaw_deg)
    if room.space.zones:
        room.space.zones.pop()  # the floor before the bar is where its stools stand
    count = int(bar.size_m[1] / 0.7)
    tint = room.tint()
    for k in range(count):
        side = bar.size_m[1] * ((k + 0.5) / count - 0.5)
        away = bar.size_m[0] / 2 + stool.size_m[0] / 2 + 0.05
        x = bar.position_m[0] + ux * away - uy * side
        y = bar.position_m[1] + uy * away + ux * side
        box = room.floor_spot(stool, x, y, bar.yaw_deg + 180.0)
        if box and room.random.random() < 0.85 and room.space.connected([box]):
            room.put(stool, x, y, bar.yaw_deg + 180.0, tint=tint)
