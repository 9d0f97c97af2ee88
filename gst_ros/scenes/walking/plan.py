"""Where a walk stops, in which order, and where it looks round.

Every room gets a stop. The stops' order is short (nearest neighbour, then 2-opt, on the lengths of real ways). What
time is left goes where most objects become visible per second: wider looks around and further stops.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import Place, Room, SceneError
from gst_ros.scenes.walking.routes import Cell, RouteMap
from gst_ros.scenes.walking.sight import Sight

Array = NDArray[np.float64]

CANDIDATES_PER_ROOM = 5
CANDIDATE_SPACING_M = 0.6
AREA_PER_CANDIDATE_M2 = 8.0
LEAST_TURN_DEG = 90.0
MOST_TURN_DEG = 300.0
SHORT_ENOUGH = 1.1
"""A tour may be so many times longer than the shortest one found."""
ENOUGH_S = 1.2
"""An object is known after it was in view for so long; longer gains nothing."""
SAMPLE_S = 0.25
LOOK_AHEAD_M = 0.5


@dataclass(frozen=True)
class Stop:
    """A place to stop and look round.

    Attributes:
        cell: Where.
        room: Id of the room it lies in.
        turns_deg: Turns on the spot, one after the other, positive to the left; the last one ends in the heading in
            which the walk goes on.
    """

    cell: Cell
    room: str
    turns_deg: tuple[float, ...] = ()


class WalkPlanner:
    """Plans walks through one place.

    Args:
        place: The place.
        routes: Its free floor.
        sight: What can be seen from where.
        speed_mps: Greatest speed.
        turn_dps: Greatest rate of turning, degrees per second.
        random: For the choice of the start and of what is equally good.
    """

    def __init__(
        self,
        place: Place,
        routes: RouteMap,
        sight: Sight,
        speed_mps: float,
        turn_dps: float,
        random: np.random.Generator,
    ) -> None:
        self._routes, self._sight, self._random = routes, sight, random
        self._speed_mps, self._turn_dps = speed_mps, turn_dps
        self._ways: dict[tuple[Cell, Cell], Array] = {}
        self._exposures: dict[tuple[Cell, Cell], Array] = {}
        self._views: dict[Cell, tuple[NDArray[np.bool_], Array]] = {}
        self.candidates = self._find_candidates(place)
        self.start_yaw_deg = float(random.uniform(-180.0, 180.0))

    def plan(self, seconds: float) -> list[Stop]:
        """Stops with their turns, for a walk of about a given time; longer where the rooms are too many for it.

        Args:
            seconds: Wanted duration.
        """
        stops = self._base_tour()
        time_s, seen = self._assess(stops)
        while time_s < seconds:
            better = self._improve(stops, time_s, seen, seconds)
            if better is None:
                break
            stops = better
            time_s, seen = self._assess(stops)
        while time_s < 0.9 * seconds:  # small places are walked through again, from another side
            stops = self._settle([*stops, self._another(stops)], len(stops) - 1)
            time_s, seen = self._assess(stops)
        return stops

    def way(self, start: Cell, end: Cell) -> Array:
        """N x 2 points of the way between two stops."""
        if (start, end) not in self._ways:
            self._ways[start, end] = self._routes.route(start, end)
            self._ways[end, start] = self._ways[start, end][::-1]
        return self._ways[start, end]

    # Candidates

    def _find_candidates(self, place: Place) -> dict[str, list[Cell]]:
        """Per room, cells that would make good stops, best first."""
        import shapely

        space, routes = self._routes.space, self._routes
        rows, columns = np.nonzero(routes.free)
        every = max(1, round(0.2 / routes.step_m))
        coarse = (rows % every == 0) & (columns % every == 0)
        cells = np.stack([rows[coarse], columns[coarse]], axis=1)
        points = np.array([space.to_point((int(r), int(c))) for r, c in cells]).reshape(-1, 2)
        clearance = routes.clearance_m[cells[:, 0], cells[:, 1]]
        result: dict[str, list[Cell]] = {}
        for room in place.rooms:
            outline = shapely.Polygon(room.outline)
            inside = np.flatnonzero(shapely.contains_xy(outline.buffer(-0.35), points))
            if not len(inside):
                inside = np.flatnonzero(shapely.contains_xy(outline, points))
            if not len(inside):
                raise SceneError(f"the room '{room.id}' cannot be walked into", file=place.name)
            result[room.id] = self._best_of(
                cells[inside], points[inside], clearance[inside], _count(room, outline.area)
            )
        return result

    def _best_of(self, cells: NDArray[np.int64], points: Array, clearance: Array, count: int) -> list[Cell]:
        """Some cells, spread out, that see many objects and have air around them."""
        if len(cells) > 60:
            chosen = np.sort(self._random.choice(len(cells), 60, replace=False))
            cells, points, clearance = cells[chosen], points[chosen], clearance[chosen]
        lines = self._sight.lines(points)
        value = lines.sum(axis=1) + 4.0 * np.minimum(clearance, 0.5) + self._random.uniform(0.0, 1.0, len(cells))
        taken: list[int] = []
        covered = np.zeros(lines.shape[1], bool)
        for _ in range(min(count, len(cells))):
            fresh = value + 2.0 * (lines & ~covered).sum(axis=1)
            if taken:
                gap = np.linalg.norm(points[:, None] - points[None, taken], axis=2).min(axis=1)
                fresh[gap < CANDIDATE_SPACING_M] = -np.inf
            best = int(np.argmax(fresh))
            if not np.isfinite(fresh[best]):
                break
            taken.append(best)
            covered |= lines[best]
        return [(int(cells[k, 0]), int(cells[k, 1])) for k in taken]

    # The tour

    def _base_tour(self) -> list[Stop]:
        """One stop in every room, in a short order, with the least turns."""
        rooms = list(self.candidates)
        cells = {room: self.candidates[room][0] for room in rooms}
        order = self._short_order([cells[room] for room in rooms])
        rooms = [rooms[i] for i in order]
        for _ in range(2):  # each room's stop moves to where the way passes anyway
            for i, room in enumerate(rooms):
                around = [cells[rooms[k]] for k in (i - 1, i + 1) if 0 <= k < len(rooms)]
                costs = [
                    sum(self._routes.cost(other, cell) for other in around) + 1.0 * rank
                    for rank, cell in enumerate(self.candidates[room])
                ]
                cells[room] = self.candidates[room][int(np.argmin(costs))]
        stops = [Stop(cells[room], room) for room in rooms]
        for i in range(len(stops)):
            stops = self._settle(stops, i)
        return stops

    def _short_order(self, cells: list[Cell]) -> list[int]:
        """An order of cells whose way is short: an open tour, from any start that does not make it much longer."""
        costs = np.array([[self._routes.cost(a, b) for b in cells] for a in cells])
        orders = [_tour(costs, start) for start in range(len(cells))]
        lengths = np.array([_length(order, costs) for order in orders])
        good = np.flatnonzero(lengths <= SHORT_ENOUGH * lengths.min() + 1e-9)
        return orders[int(good[int(self._random.integers(len(good)))])]

    def _another(self, stops: list[Stop]) -> Stop:
        """A stop to go back to: in another room than the last where there is one, and not one used lately."""
        recent = {stop.cell for stop in stops[-2:]}
        rooms = [r for r in self.candidates if r != stops[-1].room] or [stops[-1].room]
        pool = [(room, cell) for room in rooms for cell in self.candidates[room] if cell not in recent]
        if not pool:
            pool = [(room, cell) for room in rooms for cell in self.candidates[room]]
        room, cell = pool[int(self._random.integers(len(pool)))]
        return Stop(cell, room)

    def _improve(self, stops: list[Stop], time_s: float, seen: Array, limit_s: float) -> list[Stop] | None:
        """The change that shows most per second and keeps within the time; None when nothing gains."""
        options: list[list[Stop]] = []
        for i in range(len(stops)):
            options += [_with_turns(stops, i, turns) for turns in self._turns(stops, i)]
        used = {stop.cell for stop in stops}
        for room, cells in self.candidates.items():
            for cell in cells:
                if cell not in used:
                    options.append(self._inserted(stops, Stop(cell, room)))
        best, best_rate = None, 0.0
        before = float(np.minimum(seen, ENOUGH_S).sum())
        for option in options:
            new_time, new_seen = self._assess(option)
            gain = (float(np.minimum(new_seen, ENOUGH_S).sum()) - before) / ENOUGH_S
            if gain < 0.1 or new_time > 1.05 * limit_s or new_time <= time_s:
                continue
            rate = gain / (new_time - time_s)
            if rate > best_rate:
                best, best_rate = option, rate
        return best

    def _inserted(self, stops: list[Stop], stop: Stop) -> list[Stop]:
        """The stops with one more where it costs the shortest detour."""
        cost = self._routes.cost

        def detour(i: int) -> float:
            if i == len(stops):
                return cost(stops[-1].cell, stop.cell)
            extra = cost(stop.cell, stops[i].cell)
            return (
                extra if i == 0 else extra + cost(stops[i - 1].cell, stop.cell) - cost(stops[i - 1].cell, stops[i].cell)
            )

        place = min(range(1, len(stops) + 1), key=detour)
        return self._settle([*stops[:place], stop, *stops[place:]], place, turn_at_least=0.0)

    # Turns

    def _settle(self, stops: list[Stop], i: int, turn_at_least: float = LEAST_TURN_DEG) -> list[Stop]:
        """Give a stop its cheapest turns, and let those of its neighbours end in the right heading again."""
        stops = list(stops)
        for k in (i - 1, i, i + 1):
            if 0 <= k < len(stops):
                old = _total(stops[k].turns_deg)
                least = turn_at_least if k == i else max(0.7 * old, min(old, LEAST_TURN_DEG))
                options = self._turns(stops, k)
                enough = [turns for turns in options if _total(turns) >= least - 1e-6] or options
                stops[k] = replace(stops[k], turns_deg=min(enough, key=_total))
        return stops

    def _turns(self, stops: list[Stop], i: int) -> list[tuple[float, ...]]:
        """Ways of turning on the spot from the heading of arrival to that of leaving."""
        here = stops[i].cell
        arrive = self.start_yaw_deg if i == 0 else heading_deg(self.way(stops[i - 1].cell, here)[::-1]) + 180.0
        if i + 1 < len(stops):
            short = (heading_deg(self.way(here, stops[i + 1].cell)) - arrive + 180.0) % 360.0 - 180.0
            long = short - math.copysign(360.0, short)
            options: list[tuple[float, ...]] = [(short,), (long,)]
            options += [(swing, short - swing) for swing in (-140.0, -90.0, -50.0, 50.0, 90.0, 140.0)]
        else:
            options = [(swing,) for swing in (-280.0, -200.0, -120.0, -90.0, 90.0, 120.0, 200.0, 280.0)]
        within = [turns for turns in options if _total(turns) <= MOST_TURN_DEG]
        return within or [options[0]]

    # What a walk shows

    def _assess(self, stops: list[Stop]) -> tuple[float, Array]:
        """Duration in seconds, and for how long each object is in view."""
        time_s, seen = 0.0, np.zeros(len(self._sight.things))
        for i, stop in enumerate(stops):
            if i:
                before = stops[i - 1].cell
                time_s += _way_seconds(self.way(before, stop.cell), self._speed_mps, self._turn_dps)
                seen += self._exposure(before, stop.cell)
            yaw = self.start_yaw_deg if i == 0 else heading_deg(self.way(stops[i - 1].cell, stop.cell)[::-1]) + 180.0
            for turn in stop.turns_deg:
                count = max(1, round(abs(turn) / self._turn_dps / SAMPLE_S))
                yaws = yaw + turn * (np.arange(count) + 0.5) / count
                seen += self._shown(stop.cell, yaws) * abs(turn) / self._turn_dps / count
                yaw += turn
                time_s += abs(turn) / self._turn_dps
        return time_s, seen

    def _shown(self, cell: Cell, yaws_deg: Array) -> Array:
        if cell not in self._views:
            point = np.array([self._routes.point(cell)])
            self._views[cell] = (self._sight.lines(point)[0], self._sight.bearings_deg(point)[0])
        lines, bearings = self._views[cell]
        off = np.abs(_wrapped(bearings[None] - yaws_deg[:, None]))
        return np.asarray(((off < self._sight.half_width_deg) & lines[None]).sum(axis=0), np.float64)

    def _exposure(self, start: Cell, end: Cell) -> Array:
        """For how many seconds a way shows each object."""
        if (start, end) not in self._exposures:
            way = self.way(start, end)
            every = max(1, round(self._speed_mps * SAMPLE_S / self._routes.step_m))
            yaws = headings_deg(way)[::every]
            points = way[::every]
            off = np.abs(_wrapped(self._sight.bearings_deg(points) - yaws[:, None]))
            shown = self._sight.lines(points) & (off < self._sight.half_width_deg)
            self._exposures[start, end] = shown.sum(axis=0) * every * self._routes.step_m / self._speed_mps
        return self._exposures[start, end]


def headings_deg(way: Array) -> Array:
    """Continuous headings along a way, each towards the point a little further on.

    Args:
        way: N x 2 points, evenly spaced.

    Returns:
        N degrees, counter-clockwise from +x, without jumps of a full turn.
    """
    if len(way) < 2:
        return np.zeros(len(way))
    spacing = max(float(np.linalg.norm(np.diff(way, axis=0), axis=1).mean()), 1e-6)
    ahead = max(1, min(len(way) - 1, round(LOOK_AHEAD_M / spacing)))
    # Beyond its end the way goes on as it ended.
    last = way[-1] - way[-1 - ahead]
    longer = np.concatenate([way, way[-1] + np.arange(1, ahead + 1)[:, None] / ahead * last])
    offsets = longer[ahead:] - way
    return np.asarray(np.degrees(np.unwrap(np.arctan2(offsets[:, 1], offsets[:, 0]))))


def heading_deg(way: Array) -> float:
    """The heading at the start of a way."""
    return float(headings_deg(way)[0])


def _way_seconds(way: Array, speed_mps: float, turn_dps: float) -> float:
    steps = np.linalg.norm(np.diff(way, axis=0), axis=1) / speed_mps
    turns = np.abs(np.diff(headings_deg(way))) / turn_dps
    return float(np.maximum(steps, turns).sum())


def _count(room: Room, area_m2: float) -> int:
    return int(min(3 * CANDIDATES_PER_ROOM, max(CANDIDATES_PER_ROOM, round(area_m2 / AREA_PER_CANDIDATE_M2))))


def _length(order: list[int], costs: Array) -> float:
    return float(sum(costs[a, b] for a, b in itertools.pairwise(order)))


def _tour(costs: Array, start: int) -> list[int]:
    """An order of all places from a given one: the nearest first, then made shorter by turning stretches round."""
    count = len(costs)
    order = [start]
    while len(order) < count:
        rest = [k for k in range(count) if k not in order]
        order.append(min(rest, key=lambda k: costs[order[-1], k]))
    improved = True
    while improved:
        improved = False
        for i, k in itertools.combinations(range(1, count), 2):
            turned = order[:i] + order[i : k + 1][::-1] + order[k + 1 :]
            if _length(turned, costs) < _length(order, costs) - 1e-6:
                order, improved = turned, True
    return order


def _total(turns: tuple[float, ...]) -> float:
    return sum(abs(turn) for turn in turns)


def _with_turns(stops: list[Stop], i: int, turns: tuple[float, ...]) -> list[Stop]:
    return [*stops[:i], replace(stops[i], turns_deg=turns), *stops[i + 1 :]]


def _wrapped(angle_deg: Array) -> Array:
    return np.asarray((angle_deg + 180.0) % 360.0 - 180.0)
