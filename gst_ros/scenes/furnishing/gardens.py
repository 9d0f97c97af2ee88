"""A garden's terrace, path, hedges and trees."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gst_ros.scenes.furnishing.models import Piece
from gst_ros.scenes.furnishing.placing import Furnisher
from gst_ros.scenes.furnishing.space import Edge, overlap
from gst_ros.scenes.place import PlacedObject

SLAB_M = 0.02
HEDGE_GAP_M = 0.06


def terrace(room: Furnisher, slab: Piece, path: Piece) -> None:
    """Paving before the door to the house, and a path from it to the far fence."""
    door = next(((e, h) for e in room.space.edges for h in e.holes if h.kind in ("door", "passage")), None)
    if door is None:
        return
    edge, hole = door
    depth = float(room.random.uniform(2.4, 3.4))
    low = max(0.0, hole.low_m - float(room.random.uniform(0.4, 2.0)))
    high = min(edge.length_m, hole.high_m + float(room.random.uniform(0.4, 2.0)))
    x, y = edge.point((low + high) / 2, depth / 2)
    white = (1.0, 1.0, 1.0)
    model = Piece(slab.model, slab.label, (depth, round(high - low, 3), SLAB_M), None)
    room.put(model, x, y, edge.yaw_deg, tint=white)
    middle = (hole.low_m + hole.high_m) / 2
    far = depth
    while room.space.inside(edge.box(middle - 0.5, middle + 0.5, depth, far + 0.3)):
        far += 0.3
    if far - depth > 1.2:
        x, y = edge.point(middle, (depth + far) / 2)
        stretch = Piece(path.model, path.label, (round(far - depth, 3), 0.9, SLAB_M), None)
        room.put(stretch, x, y, edge.yaw_deg, tint=white)


def hedges(room: Furnisher, pieces: Sequence[Piece]) -> None:
    """Hedges along some of the fences."""
    fences = [e for e in room.space.edges if not e.holes and e.length_m > 3.0 and _is_fence(room, e)]
    for edge in fences:
        if room.random.random() < 0.35 or not pieces:
            continue
        piece = pieces[0]
        step = piece.size_m[1] + 0.03
        count = int((edge.length_m - 0.6) / step)
        first = edge.length_m / 2 - (count - 1) * step / 2
        tint = room.tint()
        for k in range(count):
            along = first + k * step
            box = edge.box(
                along - piece.size_m[1] / 2, along + piece.size_m[1] / 2, HEDGE_GAP_M, HEDGE_GAP_M + piece.size_m[0]
            )
            if room.space.fits(box, 0.0, piece.size_m[2], gap_m=0.01) and room.space.connected([box]):
                x, y = edge.point(along, HEDGE_GAP_M + piece.size_m[0] / 2)
                room.put(piece, x, y, edge.yaw_deg, tint=tint)


def trees(room: Furnisher, pieces: Sequence[Piece], count: int) -> list[PlacedObject]:
    """Trees on the lawn, away from the house and from paving."""
    x0, y0, x1, y1 = room.space.shape.bounds
    paved = [b.box for b in room.space.bodies if b.high_m <= SLAB_M + 1e-6]
    made: list[PlacedObject] = []
    for _ in range(count * 25):
        if len(made) >= count or not pieces:
            break
        piece = pieces[int(room.random.integers(len(pieces)))]
        x, y = float(room.random.uniform(x0, x1)), float(room.random.uniform(y0, y1))
        box = room.floor_spot(piece, x, y, 0.0, gap_m=0.3)
        if box and not any(overlap(box, p, 0.2) for p in paved) and room.space.connected([box]):
            made.append(room.put(piece, x, y, 90.0 * int(room.random.integers(4))))
    return made


def near_door(room: Furnisher, reach_m: float = 3.0) -> list[tuple[float, float]]:
    """Places on the terrace, nearest to its middle first."""
    slabs = [t for t in room.objects if t.label == "terrace"]
    if not slabs:
        return []
    x, y, _ = slabs[0].position_m
    offsets = [(dx, dy) for dx in np.arange(-2.0, 2.1, 0.25) for dy in np.arange(-2.0, 2.1, 0.25)]
    offsets.sort(key=lambda o: math.hypot(*o))
    return [(x + float(dx), y + float(dy)) for dx, dy in offsets if math.hypot(dx, dy) <= reach_m]


def _is_fence(room: Furnisher, edge: Edge) -> bool:
    """Whether a side of the garden is on its outer bounds."""
    x0, y0, x1, y1 = room.space.shape.bounds
    (ax, ay), (bx, by) = edge.start, edge.point(edge.length_m, 0.0)
    return any(
        abs(a - v) < 0.05 and abs(b - v) < 0.05 for a, b, v in ((ax, bx, x0), (ax, bx, x1), (ay, by, y0), (ay, by, y1))
    )
