"""A room's walls, what stands in it already, and whether one can still walk through it.

Walls run along the axes of ``map`` and so does nearly all furniture: everything is tested by its upright box, given as
(x0, y0, x1, y1) in metres.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
import shapely
from numpy.typing import NDArray

from gst_ros.scenes.place import PlacedObject, Room, Wall
from gst_ros.scenes.rendering.structure import door_leaf, wall_frame

Box = tuple[float, float, float, float]

HEAD_M = 1.9
"""What hangs higher than this is walked under."""
FLAT_M = 0.05
"""What is lower than this is walked over, as a rug is."""
DOOR_DEPTH_M = 0.75
WALK_RADIUS_M = 0.30
"""A little more than the 0.25 m that places promise."""
CELL_M = 0.05
TALL_M = 1.25
"""Furniture up to this height may stand before windows: taller things would block them."""


@dataclass(frozen=True)
class Hole:
    """An opening as seen along an edge of a room."""

    low_m: float
    high_m: float
    sill_m: float
    head_m: float
    kind: str


@dataclass(frozen=True)
class Edge:
    """A straight side of a room's outline.

    Attributes:
        start: Its first corner; the room lies to the left.
        direction: Unit vector along it.
        normal: Unit vector into the room.
        length_m: Its length.
        holes: Openings in it; positions count from ``start``.
    """

    start: tuple[float, float]
    direction: tuple[float, float]
    normal: tuple[float, float]
    length_m: float
    holes: tuple[Hole, ...]

    @property
    def yaw_deg(self) -> float:
        """The direction that a thing with its back to this side looks in."""
        return float(round(math.degrees(math.atan2(self.normal[1], self.normal[0]))))

    def point(self, along_m: float, away_m: float) -> tuple[float, float]:
        """A point by its distance along the side and away from it."""
        return (
            self.start[0] + self.direction[0] * along_m + self.normal[0] * away_m,
            self.start[1] + self.direction[1] * along_m + self.normal[1] * away_m,
        )

    def box(self, low_m: float, high_m: float, near_m: float, far_m: float) -> Box:
        """The upright box between two stations along the side and two distances from it."""
        (ax, ay), (bx, by) = self.point(low_m, near_m), self.point(high_m, far_m)
        return (min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))

    def free(self, low_m: float, high_m: float, bottom_m: float, top_m: float, margin_m: float = 0.0) -> bool:
        """Whether no opening is behind a thing at that place and height."""
        for hole in self.holes:
            if high_m + margin_m <= hole.low_m or low_m - margin_m >= hole.high_m:
                continue
            if bottom_m < hole.head_m + margin_m and top_m > hole.sill_m - margin_m:
                return False
        return True


@dataclass(frozen=True)
class Body:
    """What stands or hangs in a room."""

    box: Box
    low_m: float
    high_m: float
    name: str = ""


@dataclass
class Space:
    """One room while it is furnished."""

    room: Room
    edges: list[Edge]
    shape: shapely.Polygon
    bodies: list[Body] = field(default_factory=list)
    zones: list[Box] = field(default_factory=list)
    doors: list[tuple[float, float]] = field(default_factory=list)
    _walkable: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 0), np.uint8))

    def __post_init__(self) -> None:
        shapely.prepare(self.shape)
        x0, y0, x1, y1 = self.shape.bounds
        columns, rows = math.ceil((x1 - x0) / CELL_M), math.ceil((y1 - y0) / CELL_M)
        xs, ys = x0 + (np.arange(columns) + 0.5) * CELL_M, y0 + (np.arange(rows) + 0.5) * CELL_M
        inside = shapely.contains_xy(self.shape.buffer(-WALK_RADIUS_M), *np.meshgrid(xs, ys))
        self._walkable = np.asarray(inside, np.uint8)

    @property
    def area_m2(self) -> float:
        """Floor area."""
        return float(self.shape.area)

    def covered_m2(self) -> float:
        """Floor that is taken by furniture."""
        return sum(
            (b.box[2] - b.box[0]) * (b.box[3] - b.box[1]) for b in self.bodies if b.low_m < 0.3 and b.high_m > FLAT_M
        )

    def inside(self, box: Box) -> bool:
        """Whether a box lies in the room."""
        return bool(self.shape.covers(shapely.box(box[0] + 1e-3, box[1] + 1e-3, box[2] - 1e-3, box[3] - 1e-3)))

    def fits(
        self,
        box: Box,
        low_m: float,
        high_m: float,
        *,
        gap_m: float = 0.02,
        zones: Sequence[Box] = (),
        carrier: str = "",
        flat: bool = False,
    ) -> bool:
        """Whether a thing can be there, with the floor that must stay clear for its use.

        Args:
            box: Its upright box.
            low_m: Its lower edge.
            high_m: Its upper edge.
            gap_m: Least distance from others.
            zones: Floor to be kept clear; it may overlap other such floor, but nothing that stands.
            carrier: Name of the thing that it stands on, which may surround it.
            flat: Whether it takes no floor, as a picture on a wall.
        """
        if not self.inside(box) or (0.0 < self.room.ceiling_m < high_m + 0.02):
            return False
        for body in self.bodies:
            if carrier and body.name == carrier:
                continue
            if low_m < body.high_m - 1e-6 and high_m > body.low_m + 1e-6 and overlap(box, body.box, gap_m):
                return False
        if not flat and low_m < HEAD_M and high_m > FLAT_M and any(overlap(box, zone) for zone in self.zones):
            return False
        for zone in zones:
            if not self.inside(zone):
                return False
            if any(b.low_m < HEAD_M and b.high_m > FLAT_M and overlap(zone, b.box) for b in self.bodies):
                return False
        return True

    def connected(self, extra: Iterable[Box] = ()) -> bool:
        """Whether all doors can still be reached from each other, with more boxes on the floor."""
        if not self.doors:
            return True
        grid = self._walkable.copy()
        x0, y0, *_ = self.shape.bounds
        boxes = [b.box for b in self.bodies if b.low_m < HEAD_M and b.high_m > FLAT_M] + list(extra)
        for box in boxes:
            columns = [round((v - x0) / CELL_M) for v in (box[0] - WALK_RADIUS_M, box[2] + WALK_RADIUS_M)]
            rows = [round((v - y0) / CELL_M) for v in (box[1] - WALK_RADIUS_M, box[3] + WALK_RADIUS_M)]
            grid[max(0, rows[0]) : max(0, rows[1]), max(0, columns[0]) : max(0, columns[1])] = 0
        _, parts = cv2.connectedComponents(grid, connectivity=4)
        seen = set()
        for x, y in self.doors:
            column, row = int((x - x0) / CELL_M), int((y - y0) / CELL_M)
            near = parts[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3]
            found = {int(v) for v in near.ravel()} - {0}
            if len(found) != 1:
                return False
            seen |= found
        if len(seen) != 1:
            return False
        # What can be reached is most of what is left: no corner is walled off.
        reached = int((parts == seen.pop()).sum())
        return reached >= 0.8 * int(grid.sum())

    def add(self, box: Box, low_m: float, high_m: float, name: str = "", zones: Sequence[Box] = ()) -> None:
        """Put a thing there."""
        self.bodies.append(Body(box, low_m, high_m, name))
        self.zones += list(zones)


def overlap(a: Box, b: Box, gap_m: float = 0.0) -> bool:
    """Whether two boxes come closer than a gap."""
    return (
        a[0] < b[2] + gap_m - 1e-6
        and b[0] < a[2] + gap_m - 1e-6
        and a[1] < b[3] + gap_m - 1e-6
        and b[1] < a[3] + gap_m - 1e-6
    )


def bounding(corners: Sequence[tuple[float, float]]) -> Box:
    """The upright box around points."""
    xs, ys = [c[0] for c in corners], [c[1] for c in corners]
    return (min(xs), min(ys), max(xs), max(ys))


def centred(x: float, y: float, size_x: float, size_y: float) -> Box:
    """The upright box of a size about a centre."""
    return (x - size_x / 2, y - size_y / 2, x + size_x / 2, y + size_y / 2)


def open_space(room: Room, walls: Sequence[Wall], fixtures: Sequence[PlacedObject]) -> Space:
    """A room before it is furnished: its sides with their openings, door leaves, and floor that must stay clear."""
    ring = list(room.outline)
    edges = [_edge(a, b, walls) for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)]
    space = Space(room, edges, shapely.Polygon(room.outline))
    for edge in edges:
        for hole in edge.holes:
            if hole.kind in ("door", "passage"):
                space.zones.append(edge.box(hole.low_m, hole.high_m, 0.0, DOOR_DEPTH_M))
                space.doors.append(edge.point((hole.low_m + hole.high_m) / 2, WALK_RADIUS_M + 0.08))
            elif hole.kind == "french_window":
                space.zones.append(edge.box(hole.low_m, hole.high_m, 0.0, 0.5))
    for wall in walls:
        for opening in wall.openings:
            leaf = door_leaf(wall, opening)
            if leaf and space.shape.intersects(shapely.Polygon(leaf)):
                box = bounding(leaf)
                space.bodies.append(Body((box[0] - 0.06, box[1] - 0.06, box[2] + 0.06, box[3] + 0.06), 0.0, 2.1))
    for thing in fixtures:
        if thing.room == room.id:
            c, s = math.cos(math.radians(thing.yaw_deg)), math.sin(math.radians(thing.yaw_deg))
            x, y, _ = thing.position_m
            half = thing.size_m[1] / 2
            space.bodies.append(Body(bounding(thing.footprint()), 0.0, thing.size_m[2]))
            corners = [(x - s * half, y + c * half), (x + s * half + c * 0.9, y - c * half + s * 0.9)]
            space.zones.append(bounding(corners))
            space.doors.append((x + c * (WALK_RADIUS_M + 0.1), y + s * (WALK_RADIUS_M + 0.1)))
    return space


def _edge(a: tuple[float, float], b: tuple[float, float], walls: Sequence[Wall]) -> Edge:
    length = math.dist(a, b)
    direction = ((b[0] - a[0]) / length, (b[1] - a[1]) / length)
    normal = (-direction[1], direction[0])
    holes = []
    for wall in walls:
        for opening in wall.openings:
            frame = wall_frame(wall)
            low, high = opening.start_m, opening.start_m + opening.width_m
            ends = [(frame @ np.array([v, 0.0, 0.0, 1.0]))[:2] for v in (low, high)]
            along = sorted(float((e[0] - a[0]) * direction[0] + (e[1] - a[1]) * direction[1]) for e in ends)
            away = [float((e[0] - a[0]) * normal[0] + (e[1] - a[1]) * normal[1]) for e in ends]
            on_line = all(abs(v + wall.thickness_m / 2) < 0.04 for v in away)
            if on_line and along[0] > -0.05 and along[1] < length + 0.05:
                holes.append(Hole(along[0], along[1], opening.sill_m, opening.head_m, opening.kind))
    return Edge(a, direction, normal, length, tuple(sorted(holes, key=lambda h: h.low_m)))
