"""The GST-Bench-Local settings: direction and distance of named objects, with less and less to remember.

``global``: video, and a view without the target. ``local_video``: video, and a view that shows it.
``local_image``: that view alone.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

from gst_ros.scenes.questions import wording
from gst_ros.scenes.questions.asking import Asker
from gst_ros.scenes.questions.objects import (
    DIRECTION_BINS,
    DISTANCE_EDGES_M,
    Sighting,
    ask_from_views,
    direction_bin,
    distance_bin,
)
from gst_ros.scenes.questions.records import Item
from gst_ros.scenes.questions.sampling import Deck, choose, circle_gap, line_gap
from gst_ros.scenes.questions.views import bearing_deg, outside, range_m, shows_whole

GLOBAL, LOCAL_VIDEO, LOCAL_IMAGE = "global", "local_video", "local_image"
LOCAL_TASKS = ("ed_s", "edist_s")


def ask_local(asker: Asker, task: str, hidden: Sequence[Sighting]) -> None:
    """Questions of one task in all three settings; the two local ones ask the same about the same views.

    Args:
        asker: Where the questions go.
        task: ``ed_s`` or ``edist_s``.
        hidden: Pairs of a view and a target that it does not show.
    """
    ask_from_views(asker, task, hidden, setting=GLOBAL)
    pool = find_shown(asker)
    by_view: Counter[str] = Counter()
    by_target: Counter[str] = Counter()
    is_direction = task == "ed_s"

    def cost(sighting: Sighting) -> float:
        seen, asked = by_view[sighting.candidate.name], by_target[sighting.target.id]
        if seen >= 2 or asked >= 3:
            return math.inf
        return 2.0 * seen + 1.5 * asked + asker.finder.cost(sighting.candidate)

    def accept(sighting: Sighting) -> bool:
        target = sighting.target
        view = asker.finder.take(sighting.candidate)
        text = wording.named(target.facts.thing.label)
        texts = wording.direction(text) if is_direction else wording.distance(text)
        truth = {
            "target": target.id,
            "view": view.name,
            "bearing_deg": sighting.bearing_deg,
            "range_m": sighting.range_m,
        }
        answer = sighting.bearing_deg if is_direction else sighting.range_m
        name = f"{target.id}_{view.name}_{target.video.name.replace('video', 'video_')}"
        with_video = {**truth, "video": target.video.name}
        asker.sheet.add(
            Item(
                task, name, answer, (wording.VIDEO, *texts), asker.video(target), (view.file,), with_video, LOCAL_VIDEO
            )
        )
        asker.sheet.add(Item(task, name, answer, texts, None, (view.file,), truth, LOCAL_IMAGE))
        by_view[sighting.candidate.name] += 1
        by_target[target.id] += 1
        return True

    if is_direction:
        # Only directions within the view occur; their bins are finer, so that they too are spread.
        bins = [direction_bin(4.0 * s.bearing_deg) for s in pool]
        count, gap = DIRECTION_BINS, circle_gap(DIRECTION_BINS)
    else:
        bins, count, gap = [distance_bin(s.range_m) for s in pool], len(DISTANCE_EDGES_M) + 1, line_gap
    deck = Deck(range(count), asker.set_seed, task, "local")
    wanted = (deck.index(asker.first_number + k) for k in itertools.count())
    choose(pool, bins, wanted, asker.options.per_task, gap=gap, cost=cost, accept=accept)
    for setting in (LOCAL_VIDEO, LOCAL_IMAGE):
        asker.note_if_short(task, f"{len(pool)} pairs of view and target", setting)


def find_shown(asker: Asker) -> list[Sighting]:
    """Pairs of a view and a target unique by name that it shows well, in a random order."""
    result = []
    for target in asker.targets:
        thing = target.facts.thing
        if not asker.may_ask(target, LOCAL_TASKS[0]):
            continue
        for candidate in asker.candidates:
            distance = range_m(candidate.pose, target.centre_m)
            if (
                candidate.shares.get(thing.id, 0.0) >= asker.options.least_local_share
                and distance >= asker.options.least_distance_m
                and outside(thing, candidate.pose)
                and shows_whole(candidate.pose, asker.recording.query_camera, thing)
                and asker.finder.suits(candidate, target.video)
            ):
                result.append(Sighting(candidate, target, bearing_deg(candidate.pose, target.centre_m), distance))
    return asker.shuffled(result, "shown")
