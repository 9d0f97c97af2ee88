"""The rules' verbs that place things that belong together, and what a whole room is laid out by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gst_ros.scenes.furnishing import gardens, groups, rows, runs, seating
from gst_ros.scenes.furnishing.models import ModelPool, Piece
from gst_ros.scenes.furnishing.placing import Furnisher
from gst_ros.scenes.furnishing.rules import Step
from gst_ros.scenes.furnishing.single import how_many, too_full


def _table(room: Furnisher, step: Step) -> None:
    tables = room.pool.shuffled(step.labels, room.random)
    tables = [t for t in tables if 0.6 <= t.size_m[2] <= 0.82] or tables
    # Large rooms get large tables.
    if room.space.area_m2 < 12.0:
        tables = sorted(tables, key=lambda t: t.size_m[0] * t.size_m[1] > 1.4)
    spots = gardens.near_door(room) if step.options.get("near_door") else None
    low, high = step.options["seats"]
    groups.table_set(room, tables, _one(room, step.options["with"]), seats=(int(low), int(high)), spots=spots or None)


def _one(room: Furnisher, labels: Sequence[str]) -> list[Piece]:
    """Models of the first label that has any, shuffled."""
    for label in labels:
        pieces = room.pool.shuffled([label], room.random)
        if pieces:
            return pieces
    return []


def _bed(room: Furnisher, step: Step) -> None:
    labels = list(step.labels)
    others = step.options.get("alternatives", [])
    if others and room.random.random() < 0.22:
        labels = list(others[int(room.random.integers(len(others)))])
    beds = _one(room, [*labels, *step.labels])
    if room.space.area_m2 < 11.0:
        beds = sorted(beds, key=lambda b: b.size_m[1])
    groups.bed_set(room, beds, room.pool.shuffled(step.options["with"], room.random), sides=int(step.options["sides"]))


def _workplace(room: Furnisher, step: Step) -> None:
    per = step.options.get("per_m2")
    count = how_many(room, step)
    if per:
        count = int(np.clip(round(room.space.area_m2 / float(per) * room.clutter), 1, int(step.options["most"])))
    desks = [d for d in room.pool.shuffled(step.labels, room.random) if d.size_m[2] < 1.3] or room.pool.shuffled(
        step.labels, room.random
    )
    chairs = _one(room, step.options["with"])
    if room.random.random() < 0.5:
        chairs = room.pool.shuffled([label for label in step.options["with"] if room.pool.options(label)], room.random)
    chairs = [c for c in chairs if c.size_m[0] < 0.75][:3] or chairs[:3]
    for _ in range(count):
        if too_full(room) or groups.workplace(room, desks[:2], chairs) is None:
            return


def _seating(room: Furnisher, step: Step) -> None:
    def models(*labels: str) -> list[Piece]:
        return room.pool.shuffled([label for label in labels if room.pool.options(label)], room.random)

    sofas = models(*step.labels)
    if room.space.area_m2 < 20.0:
        sofas = sorted(sofas, key=lambda s: s.size_m[0] > 1.1 or s.size_m[1] > 2.4)
    armchairs = models("armchair")
    count = int(room.random.integers(0, int(step.options.get("armchairs", 2)) + 1))
    seating.seating(
        room,
        {
            "sofa": sofas,
            "table": models("coffee table"),
            "armchair": armchairs[:1] * count,
            "stand": models("tv stand") if room.random.random() < 0.85 else [],
            "screen": models("tv"),
            "wall_screen": models("wall tv"),
            "rug": models("rug") if room.random.random() < 0.55 else [],
        },
    )


def _kitchen(room: Furnisher, step: Step) -> None:
    def models(label: str) -> list[Piece]:
        return room.pool.shuffled([label], room.random)

    stoves = [s for s in models("stove") if s.size_m[2] > 0.8]
    units = {
        "refrigerator": models("refrigerator"),
        "sink": models("sink"),
        "stove": stoves or [room.pool.varied(p, room.random) for p in own_models("stove")],
        "counter": models("kitchen counter"),
        "washer": models("washing machine"),
        "upper": models("upper cabinet"),
        "hood": models("range hood"),
    }
    made = {unit.label for unit in runs.kitchen_run(room, units, short=bool(step.options.get("short")))}
    for name in ("sink", "stove", "refrigerator"):
        if name not in made:
            room.against(units[name][:2], front_m=0.6, prefer="corner")


def own_models(label: str) -> list[Piece]:
    """The data engine's own models of a label."""
    return ModelPool(None, "local").options(label)


def _classroom(room: Furnisher, step: Step) -> None:
    rows.classroom(
        room,
        boards=room.pool.shuffled(step.options["board"], room.random),
        teacher_desks=[d for d in room.pool.shuffled(step.options["teacher"], room.random) if d.size_m[2] < 0.9],
        teacher_chairs=_one(room, step.options["teacher_chair"]),
        desks=room.pool.shuffled(step.labels, room.random),
        chairs=room.pool.shuffled(step.options["with"], room.random),
    )


def _dining_room(room: Furnisher, step: Step) -> None:
    tables = [t for t in room.pool.shuffled(step.labels, room.random) if 0.6 <= t.size_m[2] <= 0.82]
    small = [t for t in tables if t.size_m[1] <= 1.45] or tables
    stools = [s for s in _one(room, step.options["stools"]) if s.size_m[2] > 0.6]
    chairs = [c for c in room.pool.shuffled(step.options["with"], room.random) if c.size_m[0] < 0.66]
    bars = room.pool.shuffled(step.options["bar"], room.random)
    rows.dining_room(room, bars=bars, stools=stools, tables=small, chairs=chairs)


def _terrace(room: Furnisher, step: Step) -> None:
    slab = room.pool.shuffled(step.labels, room.random)[0]
    path = room.pool.shuffled(step.options["with"], room.random)[0]
    gardens.terrace(room, slab, Piece(slab.model, path.label, path.size_m, None))


def _hedges(room: Furnisher, step: Step) -> None:
    gardens.hedges(room, room.pool.shuffled(step.labels, room.random))


def _trees(room: Furnisher, step: Step) -> None:
    pieces = [p for p in room.pool.shuffled(step.labels, room.random) if p.size_m[0] < 3.0]
    gardens.trees(room, pieces, how_many(room, step))


GROUP_VERBS: dict[str, Callable[[Furnisher, Step], None]] = {
    "bed": _bed,
    "classroom": _classroom,
    "dining_room": _dining_room,
    "hedges": _hedges,
    "kitchen": _kitchen,
    "seating": _seating,
    "table": _table,
    "terrace": _terrace,
    "trees": _trees,
    "workplace": _workplace,
}
