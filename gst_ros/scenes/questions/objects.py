"""Questions for objects: their direction and distance from a query view, and their position on a plan.

An object is either marked with a red rectangle in the video (visual) or named (semantic).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gst_ros.scenes.questions import wording
from gst_ros.scenes.questions.asking import PLANS, Asker
from gst_ros.scenes.questions.records import Item
from gst_ros.scenes.questions.sampling import Deck, choose, circle_gap, line_gap
from gst_ros.scenes.questions.targets import Target
from gst_ros.scenes.questions.views import Candidate, bearing_deg, outside, range_m

DIRECTION_BINS = 12
DISTANCE_EDGES_M = (1.5, 2.5, 3.5, 4.5, 6.0, 8.0, 11.0)
GRID_BINS = 3


@dataclass(frozen=True)
class Sighting:
    """A query view and a target that it does not show.

    Attributes:
        candidate: The view.
        target: The target.
        bearing_deg: Its direction, left positive.
        range_m: Its horizontal distance.
    """

    candidate: Candidate
    target: Target
    bearing_deg: float
    range_m: float


def find_sightings(asker: Asker) -> list[Sighting]:
    """All pairs of a view and a target that a question may be about, in a random order."""
    result = []
    for target in asker.targets:
        thing = target.facts.thing
        for candidate in asker.candidates:
            distance = range_m(candidate.pose, target.centre_m)
            if (
                distance >= asker.options.least_distance_m
                and outside(thing, candidate.pose)
                and asker.finder.suits(candidate, target.video)
                and asker.finder.misses(candidate, thing)
            ):
                result.append(Sighting(candidate, target, bearing_deg(candidate.pose, target.centre_m), distance))
    return asker.shuffled(result, "sightings")


def ask_from_views(asker: Asker, task: str, sightings: Sequence[Sighting], setting: str = "") -> None:
    """Questions for direction (``ed_*``) or distance (``edist_*``).

    Args:
        asker: Where the questions go.
        task: Task key.
        sightings: Pairs to choose from; those whose target the task may ask for are used.
        setting: Setting of GST-Bench-Local, where the questions belong to one.
    """
    semantic = task.endswith("_s")
    pool = [s for s in sightings if asker.may_ask(s.target, task)]
    by_view: Counter[str] = Counter()
    by_target: Counter[str] = Counter()

    def cost(sighting: Sighting) -> float:
        seen, asked = by_view[sighting.candidate.name], by_target[sighting.target.id]
        if seen >= 2 or asked >= 3:
            return math.inf
        return 2.0 * seen + 1.5 * asked + asker.finder.cost(sighting.candidate)

    def accept(sighting: Sighting) -> bool:
        view = asker.finder.take(sighting.candidate)
        if view.pixels.get(sighting.target.id, 0):
            return False
        target = sighting.target
        text = wording.named(target.facts.thing.label) if semantic else wording.MARKED
        is_direction = task.startswith("ed_")
        texts = (wording.VIDEO, *(wording.direction(text) if is_direction else wording.distance(text)))
        video = asker.video(target) if semantic else asker.marked_video(target)
        item = Item(
            task,
            f"{target.id}_{view.name}_{_video_name(target)}",
            sighting.bearing_deg if is_direction else sighting.range_m,
            texts,
            video,
            (view.file,),
            {
                "target": target.id,
                "view": view.name,
                "video": target.video.name,
                "bearing_deg": sighting.bearing_deg,
                "range_m": sighting.range_m,
            },
            setting,
        )
        by_view[sighting.candidate.name] += 1
        by_target[target.id] += 1
        return asker.sheet.add(item)

    if task.startswith("ed_"):
        bins = [direction_bin(s.bearing_deg) for s in pool]
        gap, wanted = circle_gap(DIRECTION_BINS), _wanted(asker, task, DIRECTION_BINS)
    else:
        bins = [distance_bin(s.range_m) for s in pool]
        gap, wanted = line_gap, _wanted(asker, task, len(DISTANCE_EDGES_M) + 1)
    choose(pool, bins, wanted, asker.options.per_task, gap=gap, cost=cost, accept=accept)
    asker.note_if_short(task, f"{len(pool)} pairs of view and target", setting)


def ask_positions(asker: Asker, task: str) -> None:
    """Questions for the position of an object on a plan (``gp_*``)."""
    semantic = task == "gp_s"
    pool = asker.shuffled([t for t in asker.targets if asker.may_ask(t, task)], task)
    by_target: Counter[str] = Counter()
    combinations = [(target, level) for target in pool for level in PLANS]

    def cost(pair: tuple[Target, str]) -> float:
        # Every target once before any is asked for again, on the other plan.
        if by_target[pair[0].id] > min(by_target[target.id] for target in pool):
            return math.inf
        return 2.0 * (pair[1] != asker.preferred_plan(task))

    def accept(pair: tuple[Target, str]) -> bool:
        target, level = pair
        point = asker.grid_point(target.centre_m[:2])
        text = wording.named(target.facts.thing.label) if semantic else wording.MARKED
        item = Item(
            task,
            f"{target.id}_{level.partition('.')[0]}_{_video_name(target)}",
            point,
            (wording.VIDEO, *wording.object_position(text)),
            asker.video(target) if semantic else asker.marked_video(target),
            (asker.plan(level),),
            {"target": target.id, "video": target.video.name, "plan": level, "point_999": point},
        )
        by_target[target.id] += 1
        return asker.sheet.add(item)

    bins = [grid_bin(asker.grid_point(target.centre_m[:2])) for target, _ in combinations]
    wanted = _wanted(asker, task, GRID_BINS * GRID_BINS)
    choose(combinations, bins, wanted, asker.options.per_task, gap=grid_gap, cost=cost, accept=accept)
    asker.note_if_short(task, f"{len(pool)} targets")


def direction_bin(bearing: float) -> int:
    """Number of the sector of 30 degrees that a direction lies in; sector 0 begins straight ahead, to the left."""
    return int((bearing % 360.0) // (360.0 / DIRECTION_BINS))


def distance_bin(distance_m: float) -> int:
    """Number of the class of a distance."""
    return sum(distance_m >= edge for edge in DISTANCE_EDGES_M)


def grid_bin(point_999: tuple[float, float]) -> int:
    """Number of the cell of a coarse grid over the image, row by row."""
    column, row = (min(GRID_BINS - 1, int(v * GRID_BINS / 1000.0)) for v in point_999)
    return row * GRID_BINS + column


def grid_gap(a: int, b: int) -> int:
    """Distance of cells of the coarse grid."""
    return max(abs(a // GRID_BINS - b // GRID_BINS), abs(a % GRID_BINS - b % GRID_BINS))


def _wanted(asker: Asker, task: str, count: int) -> Iterator[int]:
    deck = Deck(range(count), asker.set_seed, task)
    return (deck.index(asker.first_number + k) for k in itertools.count())


def _video_name(target: Target) -> str:
    return target.video.name.replace("video", "video_")
