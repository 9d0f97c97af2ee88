"""All rooms of a floor plan, furnished in order by the rules."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gst_ros.scenes.furnishing.models import ModelPool
from gst_ros.scenes.furnishing.placing import Furnisher, Names
from gst_ros.scenes.furnishing.rules import Step, rules
from gst_ros.scenes.furnishing.single import SINGLE_VERBS
from gst_ros.scenes.furnishing.space import open_space
from gst_ros.scenes.furnishing.together import GROUP_VERBS
from gst_ros.scenes.furnishing.tops import put_on
from gst_ros.scenes.layout.plan import FloorPlan
from gst_ros.scenes.place import PlacedObject
from gst_ros.scenes.rng import rng

VERBS: dict[str, Callable[[Furnisher, Step], None]] = {**SINGLE_VERBS, **GROUP_VERBS}
"""How things are placed, by the names that ``data/furnishing.yaml`` uses."""


def furnish(plan: FloorPlan, pool: ModelPool, seed: int, *, clutter: float = 1.0) -> tuple[PlacedObject, ...]:
    """The objects of a place, room by room.

    Args:
        plan: Rooms, walls and front door.
        pool: Models that may be used.
        seed: The place's seed.
        clutter: How full the place is; 1 is usual, 0.5 sparse, 1.5 crowded.
    """
    names = Names()
    kinds = {room.kind for room in plan.rooms}
    objects = list(plan.fixtures)
    for fixture in plan.fixtures:
        names.new(fixture.label)
    for room in plan.rooms:
        random = rng(seed, "furnish", room.id)
        fullness = clutter * float(np.clip(random.normal(1.0, 0.25), 0.45, 1.5))
        space = open_space(room, plan.walls, plan.fixtures)
        lamps = tuple(light.position_m[:2] for light in plan.lights if light.room == room.id)
        furnisher = Furnisher(space, pool, random, names, fullness, lamps=lamps)
        for step in rules().rooms.get(room.kind, ()):
            missing = step.options.get("if_missing")
            if missing and missing in kinds:
                continue
            _run(furnisher, step)
        for thing in list(furnisher.objects):
            for step in rules().tops.get(thing.label, ()):
                put_on(furnisher, thing, step)
        objects += furnisher.objects
    return tuple(objects)


def _run(room: Furnisher, step: Step) -> None:
    # Clutter shifts chances towards all or nothing, but what must be there stays certain.
    chance = step.chance if step.chance >= 1.0 else min(0.97, step.chance * room.clutter)
    if room.random.random() >= chance:
        return
    VERBS[step.verb](room, step)
