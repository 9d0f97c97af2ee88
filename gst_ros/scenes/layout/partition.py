"""An outline cut into rooms: slices, wings, carved corners, and corridors with rooms on both sides.

Outlines are built from the rooms' areas, not the other way round, so every room gets about what it wants. All lengths
are decimetres unless the name says otherwise.
"""

from __future__ import annotations

import math

import numpy as np

from gst_ros.scenes.layout.drafts import Draft, Rect
from gst_ros.scenes.layout.programmes import RULES, Wish

CARVE_RATIO = 2.4
"""A room this many times larger than its neighbour may surround one of its corners and become an L."""


def sliced(rooms: list[Wish], random: np.random.Generator, *, wing: bool, carve: float) -> list[Draft]:
    """Cut a rectangle, or one with a wing, by straight lines.

    Args:
        rooms: What rooms are wanted.
        random: Source of randomness.
        wing: Whether some rooms go into a wing, which makes an L or a T of the outline.
        carve: Chance that a small room is carved out of a large one's corner.
    """
    order = [rooms[int(i)] for i in random.permutation(len(rooms))]
    if not wing or len(rooms) < 3:
        return _slice(_rectangle(_area(order), random), order, random, carve)
    cut = int(random.integers(1, max(2, len(order) // 2 + 1)))
    side, main = order[:cut], order[cut:]
    body = _rectangle(_area(main), random)
    width, height = body[2], body[3]
    # The wing stands on the body's upper side; the whole is turned and mirrored later.
    wing_width = round(width * random.uniform(0.4, 0.75))
    wing_height = max(12, round(_area(side) * 100 / max(1, wing_width)))
    free = width - wing_width
    offset = int(random.choice([0, free, free // 2]))
    top = (offset, height, offset + wing_width, height + wing_height)
    return _slice(body, main, random, carve) + _slice(top, side, random, carve)


def spine(
    rooms: list[Wish], random: np.random.Generator, *, passage: str, width: int, depth_m: tuple[float, float], head: str
) -> list[Draft]:
    """A corridor with rooms on one or both sides, and perhaps a large room across its end.

    Args:
        rooms: What rooms are wanted, without the corridor.
        random: Source of randomness.
        passage: Kind of the corridor, ``hall`` or ``corridor``.
        width: Its width.
        depth_m: Least and greatest depth of the rows of rooms, in metres.
        head: Kind of a room that lies across the corridor's end, or an empty string.
    """
    order = [rooms[int(i)] for i in random.permutation(len(rooms))]
    across = next((r for r in order if r[0] == head), None)
    if across is not None:
        order.remove(across)
    rows = _two_rows(order, random)
    depths = [round(float(random.uniform(*depth_m)) * 10) for _ in rows]
    cells = [_cells(row, depth / 10, random) for row, depth in zip(rows, depths, strict=True)]
    areas = [[_area(cell) for cell in row] for row in cells]
    lengths = [round(sum(row) * 100 / depth) for row, depth in zip(areas, depths, strict=True)]
    if min(lengths) > 0.82 * max(lengths):
        # Nearly equal rows become equal; unequal ones leave a step in the outline.
        lengths = [round(sum(lengths) / len(lengths))] * len(lengths)
    drafts: list[Draft] = []
    last_start = 0
    for k, (row, length) in enumerate(zip(cells, lengths, strict=True)):
        y0, y1 = ((width, width + depths[k]), (-depths[k], 0))[k]
        x, total = 0, sum(areas[k])
        for i, cell in enumerate(row):
            end = length if i == len(row) - 1 else x + round(length * areas[k][i] / total)
            rect = (x, y0, end, y1)
            if len(cell) == 1:
                drafts.append(Draft(cell[0][0], (rect,)))
            else:
                # The carved room lies at the corridor, or nobody could enter it.
                drafts += _carved(rect, cell[0], cell[1], random, at_top=k == 1)
            if length == max(lengths):
                last_start = x
            x = end
    reach = max(min(lengths) if len(rows) > 1 else 0, last_start + 16)
    reach = max(lengths) if across is None and random.random() < 0.6 else min(reach, max(lengths))
    drafts.append(Draft(passage, ((0, 0, reach, width),)))
    if across is not None:
        low = -depths[1] if len(rows) > 1 else 0
        high = width + depths[0]
        drafts.append(Draft(across[0], ((-round(across[1] * 100 / (high - low)), low, 0, high),)))
    return drafts


def turned(rooms: list[Draft], random: np.random.Generator) -> list[Draft]:
    """The same rooms turned by a multiple of 90 degrees and perhaps mirrored, with the lower left corner at 0, 0."""
    quarter, mirror = int(random.integers(4)), bool(random.integers(2))

    def turn(r: Rect) -> Rect:
        x0, y0, x1, y1 = (-r[2], r[1], -r[0], r[3]) if mirror else r
        for _ in range(quarter):
            x0, y0, x1, y1 = -y1, x0, -y0, x1
        return (x0, y0, x1, y1)

    moved = [[turn(r) for r in room.rects] for room in rooms]
    left = min(r[0] for rects in moved for r in rects)
    bottom = min(r[1] for rects in moved for r in rects)
    return [
        Draft(room.kind, tuple((r[0] - left, r[1] - bottom, r[2] - left, r[3] - bottom) for r in rects))
        for room, rects in zip(rooms, moved, strict=True)
    ]


def _area(rooms: list[Wish]) -> float:
    return sum(area for _, area in rooms)


def _rectangle(area_m2: float, random: np.random.Generator) -> Rect:
    aspect = float(random.uniform(1.0, 1.7))
    width = round(math.sqrt(area_m2 * aspect) * 10)
    return (0, 0, width, round(area_m2 * 100 / width))


def _slice(rect: Rect, rooms: list[Wish], random: np.random.Generator, carve: float) -> list[Draft]:
    if len(rooms) == 1:
        return [Draft(rooms[0][0], (rect,))]
    x0, y0, x1, y1 = rect
    if len(rooms) == 2:
        small, large = sorted(rooms, key=lambda r: r[1])
        if large[1] > CARVE_RATIO * small[1] and random.random() < carve:
            return _carved(rect, small, large, random, at_top=bool(random.integers(2)))
    cut = int(random.integers(1, len(rooms)))
    first, second = rooms[:cut], rooms[cut:]
    share = _area(first) / _area(rooms)
    wide = x1 - x0 >= y1 - y0
    if random.random() < 0.15:
        wide = not wide
    if wide:
        x = x0 + round((x1 - x0) * share)
        parts = (x0, y0, x, y1), (x, y0, x1, y1)
    else:
        y = y0 + round((y1 - y0) * share)
        parts = (x0, y0, x1, y), (x0, y, x1, y1)
    return _slice(parts[0], first, random, carve) + _slice(parts[1], second, random, carve)


def _carved(rect: Rect, small: Wish, large: Wish, random: np.random.Generator, *, at_top: bool) -> list[Draft]:
    """The small room in a corner of the large one."""
    x0, y0, x1, y1 = rect
    aspect = random.uniform(0.75, 1.6)
    width = min(round(math.sqrt(small[1] * aspect) * 10), x1 - x0)
    height = min(round(small[1] * 100 / max(1, width)), y1 - y0)
    at_right = bool(random.integers(2))
    sx0 = x1 - width if at_right else x0
    sy0 = y1 - height if at_top else y0
    corner = (sx0, sy0, sx0 + width, sy0 + height)
    # The L is a full-width strip and the rest beside the corner.
    strip = (x0, y0, x1, sy0) if at_top else (x0, sy0 + height, x1, y1)
    beside = (x0, sy0, sx0, sy0 + height) if at_right else (sx0 + width, sy0, x1, sy0 + height)
    rects = tuple(r for r in (strip, beside) if r[2] > r[0] and r[3] > r[1])
    return [Draft(small[0], (corner,)), Draft(large[0], rects)]


def _two_rows(rooms: list[Wish], random: np.random.Generator) -> list[list[Wish]]:
    """Share rooms out between the two sides of a corridor, largest first, to even lengths; then mix each side."""
    rows: list[list[Wish]] = [[], []]
    for room in sorted(rooms, key=lambda r: -r[1]):
        rows[0 if _area(rows[0]) <= _area(rows[1]) else 1].append(room)
    return [[row[int(i)] for i in random.permutation(len(row))] for row in rows if row]


def _cells(row: list[Wish], depth_m: float, random: np.random.Generator) -> list[list[Wish]]:
    """A row's rooms in cells across its depth: one room, or a small one (first) carved out of a larger one."""
    cells: list[list[Wish]] = []
    narrow: list[Wish] = []
    for kind, area in row:
        rule = RULES[kind]
        if area / depth_m >= rule.min_width_m:
            cells.append([(kind, area)])
        elif depth_m / rule.min_width_m <= rule.max_aspect and random.random() < 0.6:
            cells.append([(kind, rule.min_width_m * depth_m)])
        else:
            narrow.append((kind, area))
    for small in narrow:
        hosts = [i for i, cell in enumerate(cells) if len(cell) == 1 and cell[0][1] > 1.8 * small[1]]
        if hosts:
            host = hosts[int(random.integers(len(hosts)))]
            cells[host] = [small, cells[host][0]]
        else:
            cells.append([(small[0], RULES[small[0]].min_width_m * depth_m)])
    return cells


def cramped(room: Draft) -> float:
    """How far a room misses its bounds: 0 when it fits, larger when it is too narrow or too long."""
    rule = RULES[room.kind]
    narrow = max(0.0, rule.min_width_m - room.width_m) * 6.0
    long = max(0.0, room.aspect - rule.max_aspect) * 3.0
    alcove = 0.0
    if len(room.rects) == 2:
        x0, y0, x1, y1 = min(room.rects, key=lambda r: (r[2] - r[0]) * (r[3] - r[1]))
        # The short arm of an L must be wide enough to stand in.
        alcove = max(0.0, 1.5 - min(x1 - x0, y1 - y0) * 0.1) * 4.0
    return narrow + long + alcove
