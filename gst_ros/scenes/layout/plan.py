"""Floor plans from a seed: many drafts, the best of them built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gst_ros.scenes.layout import programmes
from gst_ros.scenes.layout.drafts import Draft, Rect, bounds, shared
from gst_ros.scenes.layout.links import IMPOSSIBLE, Link, drawbacks, linked
from gst_ros.scenes.layout.looks import Style, draw_style, lamps
from gst_ros.scenes.layout.openings import Cutter, wall_of
from gst_ros.scenes.layout.partition import sliced, spine, turned
from gst_ros.scenes.layout.walls import OUTSIDE, outlines, raise_walls
from gst_ros.scenes.place import Light, PlacedObject, PlaceKind, Room, SceneError, Wall
from gst_ros.scenes.rng import rng

DRAFTS = 120
GARDEN_CHANCE = 0.4
FENCE_THICKNESS_M = 0.08


@dataclass(frozen=True)
class FloorPlan:
    """A place without furniture.

    Attributes:
        rooms: Rooms and the garden.
        walls: Walls with their openings.
        fixtures: What belongs to the building: the front door.
        lights: Lamps.
    """

    rooms: tuple[Room, ...]
    walls: tuple[Wall, ...]
    fixtures: tuple[PlacedObject, ...]
    lights: tuple[Light, ...]


def draw_plan(
    kind: PlaceKind, seed: int, *, area_m2: float | None = None, garden: bool | None = None, attempt: int = 0
) -> FloorPlan:
    """The floor plan of a seed.

    Args:
        kind: What sort of place.
        seed: Its seed.
        area_m2: Total area of the rooms; by default usual for the kind.
        garden: Whether a home has a garden; by default some have.
        attempt: Another plan for the same seed, where an earlier one could not be furnished.

    Raises:
        SceneError: No draft satisfies the rules; another attempt may.
    """
    random = rng(seed, "layout", kind, str(attempt))
    area = area_m2 if area_m2 is not None else programmes.place_area_m2(kind, random)
    drafts, links = _best(_DRAWERS[kind](area, random), random, open_plan=0.45 if kind == "home" else 0.0)
    drafts = turned(drafts, random)
    # Turning moved the boundaries, but not which rooms they join.
    links = [replace(link, segment=shared(drafts[link.a], drafts[link.b])[0]) for link in links]
    if kind == "home" and (garden if garden is not None else random.random() < GARDEN_CHANCE):
        added = _garden(drafts, random)
        if added:
            drafts, link = added
            links.append(link)
        elif garden:
            raise SceneError("no side of the home has room for a garden door", field="layout")
    return _built(kind, drafts, links, random, draw_style(rng(seed, "looks")))


Drawer = Callable[[np.random.Generator], list[Draft]]
"""Draws one draft of a place whose rooms and pattern are settled."""


def _best(drawer: Drawer, random: np.random.Generator, *, open_plan: float) -> tuple[list[Draft], list[Link]]:
    best: tuple[float, list[Draft], list[Link]] | None = None
    for _ in range(DRAFTS):
        drafts = drawer(random)
        bad = drawbacks(drafts)
        if bad >= IMPOSSIBLE or (best and bad > best[0]):
            continue
        links, price = linked(drafts, random, open_plan=open_plan)
        total = bad + price
        if price < IMPOSSIBLE and (best is None or total < best[0]):
            best = (total, drafts, links)
        if best and best[0] < 0.9:
            break  # good enough: always taking the very best of many would make all plans alike
    if best is None or best[0] > 12.0:
        raise SceneError("no draft of the rooms satisfies the rules", field="layout", remedy="another seed or area")
    return best[1], best[2]


def _home(area_m2: float, random: np.random.Generator) -> Drawer:
    rooms = programmes.home_programme(area_m2, random)
    if all(kind != "hall" for kind, _ in rooms) or random.random() < 0.25:
        return partial(sliced, rooms, wing=random.random() < 0.4, carve=0.45)
    rest = [room for room in rooms if room[0] != "hall"]
    head = "living" if random.random() < 0.6 else ""
    return partial(spine, rest, passage="hall", width=int(random.integers(14, 19)), depth_m=(3.2, 4.8), head=head)


def _office(area_m2: float, random: np.random.Generator) -> Drawer:
    rooms = programmes.office_programme(area_m2, random)
    head = "meeting" if random.random() < 0.5 else ""
    width = int(random.integers(17, 24))
    return partial(spine, rooms, passage="corridor", width=width, depth_m=(4.0, 6.0), head=head)


def _school(area_m2: float, random: np.random.Generator) -> Drawer:
    rooms = programmes.school_programme(area_m2, random)
    width = int(random.integers(22, 29))
    return partial(spine, rooms, passage="corridor", width=width, depth_m=(6.4, 7.6), head="")


def _restaurant(area_m2: float, random: np.random.Generator) -> Drawer:
    rooms = programmes.restaurant_programme(area_m2, random)
    return partial(sliced, rooms, wing=random.random() < 0.3, carve=0.6)


_DRAWERS: dict[PlaceKind, Callable[[float, np.random.Generator], Drawer]] = {
    "home": _home,
    "office": _office,
    "classroom": _school,
    "restaurant": _restaurant,
}
_CEILINGS_M = {"home": (2.45, 2.8), "office": (2.7, 3.1), "classroom": (2.9, 3.2), "restaurant": (2.7, 3.2)}


def _garden(drafts: list[Draft], random: np.random.Generator) -> tuple[list[Draft], Link] | None:
    """A plot along one side of the home, and the link that leads out to it."""
    depth = int(random.integers(50, 85))
    for side in random.permutation(4):
        plot = Draft("garden", tuple(_plot(drafts, int(side), depth)))
        rooms = [*drafts, plot]
        for kind in ("living", "studio", "dining", "kitchen", "hall"):
            for i, room in enumerate(drafts):
                found = shared(room, plot) if room.kind == kind else []
                if found and found[0].length >= 20:
                    return rooms, Link(i, len(drafts), False, found[0])
    return None


def _plot(drafts: list[Draft], side: int, depth: int) -> list[Rect]:
    """A strip beyond one side of the home, with the notches of the outline that open to it."""
    x0, y0, x1, y1 = bounds(drafts)
    rects = [rect for room in drafts for rect in room.rects]
    upward, along_x = side in (0, 1), side in (0, 2)
    low, high = (x0, x1) if along_x else (y0, y1)
    result: list[Rect] = []
    for v in range(low, high):
        ends = [_end(r, upward, along_x) for r in rects if _covers(r, v, along_x)]
        edge = (max(ends) if upward else min(ends)) if ends else (y0 if along_x else x0)
        far = ((y1 if along_x else x1) + depth) if upward else ((y0 if along_x else x0) - depth)
        a, b = min(edge, far), max(edge, far)
        cell = (v, a, v + 1, b) if along_x else (a, v, b, v + 1)
        last = result[-1] if result else None
        if last and along_x and (last[1], last[3], last[2]) == (a, b, v):
            result[-1] = (last[0], a, v + 1, b)
        elif last and not along_x and (last[0], last[2], last[3]) == (a, b, v):
            result[-1] = (a, last[1], b, v + 1)
        else:
            result.append(cell)
    return result


def _covers(rect: Rect, v: int, along_x: bool) -> bool:
    return rect[0] <= v < rect[2] if along_x else rect[1] <= v < rect[3]


def _end(rect: Rect, upward: bool, along_x: bool) -> int:
    if along_x:
        return rect[3] if upward else rect[1]
    return rect[2] if upward else rect[0]


def _built(
    kind: PlaceKind, drafts: list[Draft], links: list[Link], random: np.random.Generator, style: Style
) -> FloorPlan:
    ceiling = round(float(random.uniform(*_CEILINGS_M[kind])), 2)
    fence_height = float(random.choice([1.0, 1.2, 1.6, 1.8]))
    inner, outer = float(random.choice([0.10, 0.12, 0.15])), float(random.choice([0.20, 0.24, 0.30]))
    runs = raise_walls(drafts, inner_m=inner, outer_m=outer, height_m=ceiling, fence=(FENCE_THICKNESS_M, fence_height))
    shapes = outlines(drafts, runs)
    cutter = Cutter(drafts, runs, shapes, random, ceiling)
    colour = int(random.integers(4))
    for link in links:
        cutter.join(link, colour)
    cutter.front_door(int(random.integers(100)))
    cutter.windows()
    counts: dict[str, int] = {}
    rooms = []
    for draft, shape in zip(drafts, shapes, strict=True):
        number = counts[draft.kind] = counts.get(draft.kind, -1) + 1
        height = 0.0 if draft.kind == "garden" else ceiling
        floor, wall = style.floor(draft.kind, random), style.plaster(draft.kind, random)
        rooms.append(Room(f"{draft.kind}_{number}", draft.kind, shape, floor, wall, height))
    _match_open_floors(rooms, links)
    walls = []
    for number, run in enumerate(runs):
        low, high = (_look(rooms, run.sides, k, style) for k in (0, 1))
        walls.append(wall_of(run, f"wall_{number}", low, high))
    fixtures = tuple(replace(f, room=rooms[int(f.room)].id) for f in cutter.fixtures)
    lights = tuple(light for room in rooms for light in lamps(room, style.lamp, random))
    return FloorPlan(tuple(rooms), tuple(walls), fixtures, lights)


def _match_open_floors(rooms: list[Room], links: list[Link]) -> None:
    """Rooms joined by a wide opening share their walls' look, and living and dining also their floor."""
    for link in links:
        if not link.wide:
            continue
        a, b = rooms[link.a], rooms[link.b]
        floor = b.floor if "kitchen" in (a.kind, b.kind) else a.floor
        rooms[link.b] = replace(b, wall=a.wall, floor=floor)


def _look(rooms: list[Room], sides: tuple[int, int], side: int, style: Style) -> str:
    own, other = sides[side], sides[1 - side]
    open_air = [s == OUTSIDE or rooms[s].outdoor for s in (own, other)]
    if all(open_air):
        return style.fence
    return style.facade if open_air[0] else rooms[own].wall


def total_area_m2(plan: FloorPlan) -> float:
    """Floor area of the rooms under a roof, inside the walls."""
    import shapely

    return float(sum(shapely.Polygon(room.outline).area for room in plan.rooms if not room.outdoor))
