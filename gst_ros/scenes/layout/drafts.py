"""Rooms as rectangles on a grid of 0.1 m, before there are walls.

Lengths in this module are whole decimetres; rectangles reach to the centre lines of the walls to come.
"""

from __future__ import annotations

from dataclasses import dataclass

Rect = tuple[int, int, int, int]
"""x0, y0, x1, y1 in decimetres."""

DM = 0.1
"""Metres per unit of the grid."""


@dataclass(frozen=True)
class Segment:
    """A straight stretch of boundary.

    Attributes:
        vertical: Whether it runs along y.
        at: Its x if vertical, else its y.
        low: Where it starts along its axis.
        high: Where it ends.
    """

    vertical: bool
    at: int
    low: int
    high: int

    @property
    def length(self) -> int:
        """Length in decimetres."""
        return self.high - self.low


@dataclass(frozen=True)
class Draft:
    """A room to be: one rectangle, or two that touch and make an L."""

    kind: str
    rects: tuple[Rect, ...]

    @property
    def area_m2(self) -> float:
        """Area up to the centre lines of its walls."""
        return sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in self.rects) * DM * DM

    @property
    def width_m(self) -> float:
        """Shorter side of its largest rectangle."""
        x0, y0, x1, y1 = max(self.rects, key=lambda r: (r[2] - r[0]) * (r[3] - r[1]))
        return min(x1 - x0, y1 - y0) * DM

    @property
    def aspect(self) -> float:
        """Longer side over shorter side of its largest rectangle."""
        x0, y0, x1, y1 = max(self.rects, key=lambda r: (r[2] - r[0]) * (r[3] - r[1]))
        return max(x1 - x0, y1 - y0) / max(1, min(x1 - x0, y1 - y0))


def shared(a: Draft, b: Draft) -> list[Segment]:
    """Stretches of boundary that two rooms share, longest first."""
    found = [s for r in a.rects for q in b.rects for s in _touch(r, q)]
    return sorted(_joined(found), key=lambda s: (-s.length, s.vertical, s.at, s.low))


def outer(rooms: list[Draft], index: int) -> int:
    """Length of a room's boundary that no other room touches, in decimetres."""
    room = rooms[index]
    own = sum(2 * (x1 - x0) + 2 * (y1 - y0) for x0, y0, x1, y1 in room.rects)
    inner = sum(2 * s.length for i, r in enumerate(room.rects) for q in room.rects[i + 1 :] for s in _touch(r, q))
    others = sum(s.length for k, other in enumerate(rooms) if k != index for s in shared(room, other))
    return own - inner - others


def bounds(rooms: list[Draft]) -> Rect:
    """The rectangle around all rooms."""
    rects = [r for room in rooms for r in room.rects]
    return (
        min(r[0] for r in rects),
        min(r[1] for r in rects),
        max(r[2] for r in rects),
        max(r[3] for r in rects),
    )


def _touch(r: Rect, q: Rect) -> list[Segment]:
    result = []
    if r[0] == q[2] or r[2] == q[0]:
        low, high = max(r[1], q[1]), min(r[3], q[3])
        if high > low:
            result.append(Segment(True, r[0] if r[0] == q[2] else r[2], low, high))
    if r[1] == q[3] or r[3] == q[1]:
        low, high = max(r[0], q[0]), min(r[2], q[2])
        if high > low:
            result.append(Segment(False, r[1] if r[1] == q[3] else r[3], low, high))
    return result


def _joined(segments: list[Segment]) -> list[Segment]:
    """Segments that go on from each other become one."""
    result: list[Segment] = []
    for s in sorted(segments, key=lambda s: (s.vertical, s.at, s.low)):
        last = result[-1] if result else None
        if last and (last.vertical, last.at, last.high) == (s.vertical, s.at, s.low):
            result[-1] = Segment(s.vertical, s.at, last.low, s.high)
        else:
            result.append(s)
    return result
