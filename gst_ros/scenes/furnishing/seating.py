"""A sofa with its coffee table and armchairs, and the television that it looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gst_ros.scenes.furnishing.groups import ahead, box_on_leaf, extent
from gst_ros.scenes.furnishing.models import Piece
from gst_ros.scenes.furnishing.placing import WALL_GAP_M, Furnisher
from gst_ros.scenes.furnishing.space import Edge, centred
from gst_ros.scenes.place import PlacedObject


def seating(room: Furnisher, options: Mapping[str, Sequence[Piece]]) -> PlacedObject | None:
    """A sofa at a wall, a coffee table before it, armchairs beside that, a television opposite, a rug below.

    Args:
        room: The room.
        options: Models of ``sofa``, ``table``, ``armchair``, ``stand``, ``screen``, ``wall_screen`` and ``rug``.
    """
    tables = [t for t in options["table"] if t.size_m[0] <= 0.9]
    table = tables[0] if tables else None
    gap = float(room.random.uniform(0.38, 0.5))
    front = gap + (table.size_m[0] if table else 0.4) + 0.35
    sofa = None
    for piece in list(options["sofa"])[:5]:
        sofa = room.against([piece], front_m=front, prefer="middle")
        if sofa:
            del room.space.zones[-1]
            break
    if sofa is None:
        return None
    ux, uy = ahead(sofa.yaw_deg)
    focus_away = sofa.size_m[0] / 2 + gap + (table.size_m[0] / 2 if table else 0.3)
    focus = sofa.position_m[0] + ux * focus_away, sofa.position_m[1] + uy * focus_away
    if table:
        box = room.floor_spot(table, *focus, sofa.yaw_deg)
        if box and room.space.connected([box]):
            room.put(table, *focus, sofa.yaw_deg)
    _screen(room, sofa, options)
    half = (table.size_m[1] / 2 if table else 0.4) + 0.35
    signs = [1, -1] if room.random.random() < 0.5 else [-1, 1]
    tint = room.tint()
    for sign, armchair in zip(signs, options["armchair"], strict=False):
        away = half + armchair.size_m[0] / 2
        x, y = focus[0] - uy * sign * away, focus[1] + ux * sign * away
        face = sofa.yaw_deg - sign * 90.0
        spot = room.floor_spot(armchair, x, y, face, gap_m=0.12)
        if spot and room.space.connected([spot]):
            room.put(armchair, x, y, face + float(room.random.normal(0.0, 3.0)), tint=tint)
    for rug in options["rug"][:2]:
        x0, y0, x1, y1 = centred(*focus, *extent(rug, sofa.yaw_deg))
        if room.space.inside((x0, y0, x1, y1)) and not box_on_leaf(room, (x0, y0, x1, y1)):
            room.put(rug, *focus, sofa.yaw_deg, tint=(1.0, 1.0, 1.0))
            break
    return sofa


def _screen(room: Furnisher, sofa: PlacedObject, options: Mapping[str, Sequence[Piece]]) -> None:
    """A television that the sofa looks at: on a stand or on the wall opposite."""
    opposite = [e for e in room.space.edges if abs((e.yaw_deg - sofa.yaw_deg) % 360.0 - 180.0) < 1.0]
    if not opposite:
        return
    scored = []
    for edge in opposite:
        along = (sofa.position_m[0] - edge.start[0]) * edge.direction[0] + (
            sofa.position_m[1] - edge.start[1]
        ) * edge.direction[1]
        away = (sofa.position_m[0] - edge.start[0]) * edge.normal[0] + (
            sofa.position_m[1] - edge.start[1]
        ) * edge.normal[1]
        if 1.8 < away < 6.5:
            scored += [(abs(d), edge, along + d) for d in np.arange(-0.9, 0.91, 0.15)]
    scored.sort(key=lambda item: item[0])
    for stand in options["stand"][:2]:
        for _, edge, along in scored:
            half = stand.size_m[1] / 2
            if along - half < WALL_GAP_M or along + half > edge.length_m - WALL_GAP_M:
                continue
            if not room.wall_free(edge, along, stand, 0.0):
                continue
            box = edge.box(along - half, along + half, WALL_GAP_M, WALL_GAP_M + stand.size_m[0])
            if room.space.fits(box, 0.0, stand.size_m[2]) and room.space.connected([box]):
                x, y = edge.point(along, WALL_GAP_M + stand.size_m[0] / 2)
                made = room.put(stand, x, y, edge.yaw_deg)
                for screen in options["screen"][:2]:
                    if room.on_top(made, screen, where="centre", jitter_deg=0.0):
                        return
                _hang_screen(room, options, edge, along, stand.size_m[2] + 0.25)
                return
    for _, edge, along in scored:
        if _hang_screen(room, options, edge, along, 1.0):
            return


def _hang_screen(
    room: Furnisher, options: Mapping[str, Sequence[Piece]], edge: Edge, along: float, z: float
) -> PlacedObject | None:
    for screen in options["wall_screen"][:1]:
        made = room.hang(screen, z, edges=[edge], along_m=along)
        if made:
            return made
    return None
