"""Walls from the boundaries between rooms, and the rooms' outlines inside the walls' faces.

A wall is drawn once per pair of neighbours. Its ends reach into crossing walls so that corners are closed, but one
millimetre short of their far faces: two faces in one plane would flicker in a picture.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import shapely
from numpy.typing import NDArray

from gst_ros.scenes.layout.drafts import DM, Draft, Segment, bounds
from gst_ros.scenes.place import Opening, SceneError

OUTSIDE = -1
SHORT_OF_FACE_M = 0.001


@dataclass
class Run:
    """A straight stretch of wall between the same two neighbours, openings to be added.

    Attributes:
        segment: Centre line.
        low_side: Index of the room at the smaller coordinate across the wall; ``OUTSIDE`` for none.
        high_side: Index of the room at the larger coordinate.
        thickness_m: Full thickness.
        height_m: Height.
        reach_low_m: How far its low end goes beyond the segment.
        reach_high_m: The same at its high end.
        inset_low_m: Half the thickness of what crosses at the low end: openings stay clear of it.
        inset_high_m: The same at the high end.
        openings: Holes; ``start_m`` counts from the segment's low end until the wall is finished.
    """

    segment: Segment
    low_side: int
    high_side: int
    thickness_m: float
    height_m: float
    reach_low_m: float = 0.0
    reach_high_m: float = 0.0
    inset_low_m: float = 0.0
    inset_high_m: float = 0.0
    openings: list[Opening] = field(default_factory=list)

    @property
    def sides(self) -> tuple[int, int]:
        """Both neighbours."""
        return self.low_side, self.high_side

    @property
    def length_m(self) -> float:
        """Length of the segment."""
        return self.segment.length * DM

    def beside(self, room: int) -> bool:
        """Whether the room is at one of its sides."""
        return room in self.sides

    def point(self, along_m: float, across_m: float) -> tuple[float, float]:
        """A point (x_m, y_m) by its distance from the low end and its offset towards the high side."""
        s = self.segment
        along, across = s.low * DM + along_m, s.at * DM + across_m
        return (across, along) if s.vertical else (along, across)

    def body(self, *, exact: bool = False) -> shapely.Polygon:
        """Its footprint; by default with closed corners, as the rooms' outlines need it."""
        short = 0.0 if exact else SHORT_OF_FACE_M
        low = -self.reach_low_m - (short if self.reach_low_m else 0.0)
        high = self.length_m + self.reach_high_m + (short if self.reach_high_m else 0.0)
        half = self.thickness_m / 2
        (x0, y0), (x1, y1) = self.point(low, -half), self.point(high, half)
        return shapely.box(x0, y0, x1, y1)


def raise_walls(
    rooms: list[Draft], *, inner_m: float, outer_m: float, height_m: float, fence: tuple[float, float]
) -> list[Run]:
    """All walls of a plan.

    Args:
        rooms: The rooms; one of kind ``garden`` is walled in by a fence.
        inner_m: Thickness of walls between rooms.
        outer_m: Thickness of outer walls.
        height_m: Height of the walls.
        fence: Thickness and height of the garden's fence, in metres.
    """
    runs = []
    for segment, low, high in _boundaries(rooms):
        open_air = [s == OUTSIDE or rooms[s].kind == "garden" for s in (low, high)]
        if all(open_air):
            thickness, height = fence
        else:
            thickness, height = (outer_m if any(open_air) else inner_m), height_m
        runs.append(Run(segment, low, high, thickness, height))
    _close_corners(runs)
    return runs


def outlines(rooms: list[Draft], runs: list[Run]) -> list[tuple[tuple[float, float], ...]]:
    """The rooms' outlines between the walls' faces, counter-clockwise, in metres.

    Raises:
        SceneError: The walls leave nothing of a room, or cut it in two.
    """
    bodies = shapely.union_all([run.body() for run in runs])
    result = []
    for room in rooms:
        whole = shapely.union_all([shapely.box(a * DM, b * DM, c * DM, d * DM) for a, b, c, d in room.rects])
        inside = shapely.difference(whole, bodies, grid_size=1e-4)
        parts = sorted(getattr(inside, "geoms", [inside]), key=lambda p: -p.area)
        if not parts or parts[0].area < 0.9 * sum(p.area for p in parts) or parts[0].interiors:
            raise SceneError(f"the walls leave no whole {room.kind}", field="layout")
        ring = shapely.geometry.polygon.orient(shapely.remove_repeated_points(parts[0].simplify(1e-4)))
        result.append(tuple((round(x, 4), round(y, 4)) for x, y in ring.exterior.coords[:-1]))
    return result


def _boundaries(rooms: list[Draft]) -> list[tuple[Segment, int, int]]:
    """Maximal straight boundaries between two neighbours: segment, lower and higher side."""
    x0, y0, x1, y1 = bounds(rooms)
    grid = np.full((y1 - y0 + 2, x1 - x0 + 2), OUTSIDE, np.int64)
    for i, room in enumerate(rooms):
        for rx0, ry0, rx1, ry1 in room.rects:
            grid[ry0 - y0 + 1 : ry1 - y0 + 1, rx0 - x0 + 1 : rx1 - x0 + 1] = i
    found = [(Segment(True, at + x0, a + y0, b + y0), p, q) for at, a, b, p, q in _changes(grid)]
    found += [(Segment(False, at + y0, a + x0, b + x0), p, q) for at, a, b, p, q in _changes(grid.T)]
    return found


def _changes(grid: NDArray[np.int64]) -> list[tuple[int, int, int, int, int]]:
    """Where neighbouring columns differ: column, first and last row of the stretch, and the two values."""
    result = []
    for column in range(grid.shape[1] - 1):
        left, right = grid[:, column], grid[:, column + 1]
        start = 0
        for row in range(1, len(left) + 1):
            if row < len(left) and left[row] == left[start] and right[row] == right[start]:
                continue
            if left[start] != right[start]:
                result.append((column, start - 1, row - 1, int(left[start]), int(right[start])))
            start = row
    return result


def _close_corners(runs: list[Run]) -> None:
    at: dict[tuple[int, int], list[tuple[Run, bool]]] = {}
    for run in runs:
        s = run.segment
        for end, is_high in ((s.low, False), (s.high, True)):
            at.setdefault((s.at, end) if s.vertical else (end, s.at), []).append((run, is_high))
    for arms in at.values():
        for run, is_high in arms:
            across = [other.thickness_m for other, _ in arms if other.segment.vertical != run.segment.vertical]
            ahead = [o for o, high in arms if o.segment.vertical == run.segment.vertical and high != is_high]
            goes_on = any(o.thickness_m >= run.thickness_m and o.height_m >= run.height_m for o in ahead)
            half = max(across, default=0.0) / 2
            reach = 0.0 if goes_on or not across else half - SHORT_OF_FACE_M
            if is_high:
                run.reach_high_m, run.inset_high_m = reach, half
            else:
                run.reach_low_m, run.inset_low_m = reach, half
