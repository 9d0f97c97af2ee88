"""Doors, passages, windows and the front door, cut into the walls of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import shapely

from gst_ros.scenes.layout.drafts import Draft
from gst_ros.scenes.layout.links import Link
from gst_ros.scenes.layout.walls import OUTSIDE, Run
from gst_ros.scenes.place import Opening, PlacedObject, SceneError, Wall
from gst_ros.scenes.rendering.structure import door_leaf

CORNER_M = 0.18
"""Openings stay this far from corners, so that their casing finds room."""
BETWEEN_M = 0.25
CLEAR_DEPTH_M = 0.75
"""Depth of the floor kept clear in front of doors."""


@dataclass(frozen=True)
class WindowRule:
    """Windows of a kind of room: widths, sills and heads as ranges in metres, the wall that one takes, a limit."""

    width_m: tuple[float, float]
    sill_m: tuple[float, float]
    head_m: tuple[float, float]
    pitch_m: float
    most: int
    chance: float


_LARGE = WindowRule((1.2, 2.2), (0.8, 0.95), (2.1, 2.3), 3.4, 3, 0.85)
_ROOM = WindowRule((1.0, 1.7), (0.85, 1.0), (2.05, 2.25), 4.0, 2, 0.85)
_SMALL = WindowRule((0.5, 0.7), (1.3, 1.5), (1.95, 2.1), 6.0, 1, 0.75)
_SIDE = WindowRule((0.7, 1.0), (1.0, 1.1), (2.0, 2.1), 6.0, 1, 0.35)
_RULES = {
    "living": _LARGE,
    "studio": _LARGE,
    "dining": _LARGE,
    "kitchen": WindowRule((0.9, 1.3), (1.05, 1.1), (2.0, 2.2), 4.0, 1, 0.9),
    "bathroom": _SMALL,
    "wc": _SMALL,
    "storage": _SIDE,
    "hall": _SIDE,
    "corridor": WindowRule((0.9, 1.3), (0.9, 1.0), (2.1, 2.3), 5.0, 2, 0.7),
    "office": WindowRule((1.4, 2.0), (0.8, 0.9), (2.2, 2.4), 2.8, 4, 0.9),
    "meeting": WindowRule((1.4, 2.0), (0.8, 0.9), (2.2, 2.4), 2.8, 3, 0.9),
    "classroom": WindowRule((1.7, 2.2), (0.85, 0.95), (2.3, 2.5), 2.6, 6, 0.95),
    "restaurant": WindowRule((1.6, 2.2), (0.8, 0.9), (2.2, 2.4), 2.9, 5, 0.85),
}
_ENTRY_ORDER = ("hall", "corridor", "restaurant", "living", "studio", "dining", "kitchen")


@dataclass
class Cutter:
    """Cuts openings one after the other, each clear of those before.

    Attributes:
        rooms: The rooms.
        runs: Their walls; openings are added to them.
        outlines: The rooms' outlines inside the walls' faces.
        random: Source of randomness.
        ceiling_m: Height of the ceilings.
        fixtures: Front doors, as objects.
        blocked: Floor that must stay clear, and door leaves.
    """

    rooms: list[Draft]
    runs: list[Run]
    outlines: list[tuple[tuple[float, float], ...]]
    random: np.random.Generator
    ceiling_m: float
    fixtures: list[PlacedObject] = field(default_factory=list)
    blocked: list[shapely.Polygon] = field(default_factory=list)
    _leaves: list[shapely.Polygon] = field(default_factory=list)
    _reserved: dict[int, list[tuple[float, float]]] = field(default_factory=dict)

    def gaps(self, run: Run) -> list[tuple[float, float]]:
        """Stretches of a wall, from its low end, where an opening may lie."""
        low, high = run.inset_low_m + CORNER_M, run.length_m - run.inset_high_m - CORNER_M
        taken = [(o.start_m, o.start_m + o.width_m) for o in run.openings]
        taken += self._reserved.get(id(run), [])
        result = []
        for a, b in sorted(taken):
            result.append((low, a - BETWEEN_M))
            low = max(low, b + BETWEEN_M)
        result.append((low, high))
        return [(a, b) for a, b in result if b - a > 0.05]

    def join(self, link: Link, colour: int) -> None:
        """Cut the door or the wide passage of a link.

        Raises:
            SceneError: The wall has no room for it.
        """
        kinds = {self.rooms[link.a].kind, self.rooms[link.b].kind}
        runs = [run for run in self.runs if set(run.sides) == {link.a, link.b}]
        spans = [(b - a, -i, run, a, b) for i, run in enumerate(runs) for a, b in self.gaps(run)]
        if not spans:
            raise SceneError("a wall has no room for its door", field="layout")
        length, _, run, low, high = max(spans, key=lambda s: s[:2])
        if link.wide and length >= 1.3:
            width = min(length, float(np.round(self.random.uniform(1.5, 3.2), 1)))
            head = self.ceiling_m if self.random.random() < 0.6 else 2.3
            self._add(run, Opening("passage", self._within(low, high, width), width, 0.0, head))
            return
        if "garden" in kinds:
            wanted, head = float(self.random.choice([1.0, 1.2, 1.6, 1.8])), 2.1
        else:
            small = bool(kinds & {"bathroom", "wc", "storage"})
            wanted, head = float(self.random.choice([0.75, 0.8] if small else [0.8, 0.85, 0.9, 0.95])), 2.05
        width = min(wanted, length)
        if width < 0.7:
            raise SceneError("a wall has no room for its door", field="layout")
        door = Opening("door", self._door_start(run, low, high, width), width, 0.0, head)
        if "garden" not in kinds and self.random.random() < 0.9:
            door = self._with_leaf(run, door, link, colour)
        self._add(run, door)

    def _door_start(self, run: Run, low: float, high: float, width: float) -> float:
        """Where a door begins: mostly near a corner, and never before another door's leaf if that can be helped."""
        corners = [low, high - width] if self.random.random() < 0.5 else [high - width, low]
        anywhere = [self._within(low, high, width) for _ in range(4)]
        starts = [*corners, *anywhere] if self.random.random() < 0.6 else [*anywhere, *corners]
        for start in starts:
            zones = [self._zone(run, start, width, side, CLEAR_DEPTH_M) for side in run.sides if side != OUTSIDE]
            if not any(zone.intersects(leaf) for zone in zones for leaf in self._leaves):
                return start
        return starts[0]

    def front_door(self, number: int) -> None:
        """Put a closed front door into an outer wall, from the hall if there is one.

        Raises:
            SceneError: No outer wall has room for it.
        """
        for kind in _ENTRY_ORDER:
            for run in sorted(self.runs, key=lambda r: -r.length_m):
                inside = next((s for s in run.sides if s != OUTSIDE and self.rooms[s].kind == kind), None)
                if inside is None or OUTSIDE not in run.sides:
                    continue
                for low, high in self.gaps(run):
                    width = 0.95
                    if high - low < width:
                        continue
                    for start in (low, high - width, (low + high - width) / 2):
                        zone = self._zone(run, start, width, inside, 0.9)
                        if not any(zone.intersects(other) for other in self.blocked):
                            self._entry(run, start, width, inside, number)
                            self.blocked.append(zone)
                            return
        raise SceneError("no outer wall has room for the front door", field="layout")

    def windows(self) -> None:
        """Cut windows into the outer walls of all rooms by their kind."""
        for index, room in enumerate(self.rooms):
            rule = _RULES.get(room.kind, _ROOM)
            if room.kind == "garden":
                continue
            look = {"sill": self.random.uniform(*rule.sill_m), "head": self.random.uniform(*rule.head_m)}
            style, made = int(self.random.integers(4)), 0
            outer = [r for r in self.runs if index in r.sides and self._outer(r)]
            for i in self.random.permutation(len(outer)):
                run = outer[int(i)]
                for low, high in self.gaps(run):
                    made += self._windows_in(run, low, high, rule, look, style, rule.most - made, room.kind)

    def _windows_in(
        self,
        run: Run,
        low: float,
        high: float,
        rule: WindowRule,
        look: dict[str, float],
        style: int,
        most: int,
        kind: str,
    ) -> int:
        count = min(most, max(1, round((high - low) / rule.pitch_m)))
        if count < 1 or self.random.random() > rule.chance:
            return 0
        share = (high - low) / count
        width = float(np.round(min(self.random.uniform(*rule.width_m), share - 0.1), 2))
        if width < min(0.5, rule.width_m[0]):
            return 0
        tall = kind in ("living", "studio", "dining") and self.random.random() < 0.15
        for k in range(count):
            start = low + share * k + (share - width) / 2
            head = min(look["head"], self.ceiling_m - 0.2)
            if tall and k == 0:
                run.openings.append(Opening("french_window", start, width, 0.0, head, style))
            else:
                run.openings.append(Opening("window", start, width, look["sill"], head, style))
        return count

    def _outer(self, run: Run) -> bool:
        """Whether a wall has a room on one side and the open air on the other."""
        open_air = [s == OUTSIDE or self.rooms[s].kind == "garden" for s in run.sides]
        return any(open_air) and not all(open_air)

    def _within(self, low: float, high: float, width: float) -> float:
        return low + float(self.random.random()) * max(0.0, high - low - width)

    def _zone(self, run: Run, start: float, width: float, room: int, depth: float) -> shapely.Polygon:
        """Floor in front of an opening on one room's side."""
        sign = -1.0 if run.low_side == room else 1.0
        (x0, y0), (x1, y1) = run.point(start + 0.02, 0.0), run.point(start + width - 0.02, sign * (depth + 0.15))
        return shapely.box(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))

    def _add(self, run: Run, opening: Opening) -> None:
        run.openings.append(opening)
        for side in run.sides:
            if side != OUTSIDE:
                self.blocked.append(self._zone(run, opening.start_m, opening.width_m, side, CLEAR_DEPTH_M))

    def _with_leaf(self, run: Run, door: Opening, link: Link, colour: int) -> Opening:
        """The door with its leaf where it disturbs nobody, or without one."""
        middle = door.start_m + door.width_m / 2
        near_high = middle > run.length_m / 2
        into = sorted((link.a, link.b), key=lambda i: (self.rooms[i].kind in ("hall", "corridor"), i))
        for room in into:
            if self.rooms[room].kind in ("hall", "corridor", "wc") and self.rooms[room].width_m < 2.0:
                continue
            left = run.low_side if run.segment.vertical else run.high_side
            for hinge_high in (near_high, not near_high):
                style = 1 + int(hinge_high) + 2 * int(left != room) + 4 * colour
                candidate = Opening("door", door.start_m, door.width_m, 0.0, door.head_m, style)
                leaf = door_leaf(wall_of(run, "", "", ""), _shifted(candidate, run.reach_low_m))
                if leaf is None:
                    continue
                shape = shapely.Polygon(leaf)
                inside = shapely.Polygon(self.outlines[room]).buffer(0.002).covers(shape)
                if inside and not any(shape.intersects(other) for other in self.blocked):
                    self.blocked.append(shape.buffer(0.03))
                    # Beside a leaf there must be room to pass.
                    self._leaves.append(shape.buffer(0.3))
                    return candidate
        return door

    def _entry(self, run: Run, start: float, width: float, inside: int, number: int) -> None:
        self._reserved.setdefault(id(run), []).append((start, start + width))
        sign = -1.0 if run.low_side == inside else 1.0
        depth = 0.06
        x, y = run.point(start + width / 2, sign * (run.thickness_m / 2 + depth / 2 + 0.001))
        yaw = {(True, 1.0): 0.0, (True, -1.0): 180.0, (False, 1.0): 90.0, (False, -1.0): -90.0}[
            run.segment.vertical, sign
        ]
        self.fixtures.append(
            PlacedObject(
                id=f"front_door_{len(self.fixtures)}",
                label="front door",
                model=f"builtin/entry_door:{number}",
                room=str(inside),
                position_m=(x, y, 0.0),
                yaw_deg=yaw,
                size_m=(depth, width, 2.08),
                mount="wall",
                blocks=False,
            )
        )


def wall_of(run: Run, name: str, material_low: str, material_high: str) -> Wall:
    """The finished wall of a run, from its low to its high end."""
    start = run.point(-run.reach_low_m, 0.0)
    end = run.point(run.length_m + run.reach_high_m, 0.0)
    # Seen along +y the smaller x is on the left; along +x it is the larger y.
    left, right = (material_low, material_high) if run.segment.vertical else (material_high, material_low)
    openings = tuple(_shifted(o, run.reach_low_m) for o in sorted(run.openings, key=lambda o: o.start_m))
    return Wall(name, _round(start), _round(end), run.thickness_m, run.height_m, left, right, openings)


def _shifted(opening: Opening, by_m: float) -> Opening:
    return Opening(
        opening.kind,
        round(opening.start_m + by_m, 4),
        round(opening.width_m, 4),
        round(opening.sill_m, 3),
        round(opening.head_m, 3),
        opening.style,
    )


def _round(point: tuple[float, float]) -> tuple[float, float]:
    return round(point[0], 4), round(point[1], 4)
