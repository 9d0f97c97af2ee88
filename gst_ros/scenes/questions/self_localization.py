"""Questions for where a query view was taken, and which way it looks, on a plan."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable

from gst_ros.bench.metrics import ScoringConfig, orientation_from_image_direction_deg
from gst_ros.scenes.cameras import CameraPose
from gst_ros.scenes.questions import wording
from gst_ros.scenes.questions.asking import Asker
from gst_ros.scenes.questions.objects import DIRECTION_BINS, GRID_BINS, direction_bin, grid_bin, grid_gap
from gst_ros.scenes.questions.records import Item
from gst_ros.scenes.questions.sampling import Deck, choose, circle_gap
from gst_ros.scenes.questions.views import Candidate
from gst_ros.scenes.recording import Video

SCORING = ScoringConfig()
"""Prompts state the convention of orientations that scoring has by default."""


def orientation_deg(pose: CameraPose) -> float:
    """View direction on a plan with north up, by the convention of scoring."""
    yaw = math.radians(pose.yaw_deg)
    return orientation_from_image_direction_deg(math.cos(yaw), -math.sin(yaw), SCORING)


def ask_self_localization(asker: Asker, task: str) -> None:
    """Questions of the tasks ``position`` and ``orientation``.

    Args:
        asker: Where the questions go.
        task: Task key.
    """
    videos = asker.recording.videos
    pool = asker.shuffled([(c, v) for v in videos for c in asker.candidates if asker.finder.suits(c, v)], task)
    by_view: Counter[str] = Counter()
    by_position: Counter[int] = Counter()
    by_video: Counter[str] = Counter()

    def cost(pair: tuple[Candidate, Video]) -> float:
        candidate, video = pair
        if by_view[candidate.name]:
            return math.inf
        return 2.0 * by_position[candidate.position] + by_video[video.name] + asker.finder.cost(candidate)

    def accept(pair: tuple[Candidate, Video]) -> bool:
        candidate, video = pair
        view = asker.finder.take(candidate)
        point = asker.grid_point((view.pose.x_m, view.pose.y_m))
        level = asker.preferred_plan(task)
        is_position = task == "position"
        texts = (wording.VIDEO, *(wording.own_position() if is_position else wording.own_orientation()))
        turn = orientation_deg(view.pose)
        item = Item(
            task,
            f"{view.name}_{video.name.replace('video', 'video_')}",
            point if is_position else turn,
            texts,
            asker.recording.video_file(video),
            (view.file, asker.plan(level)),
            {"view": view.name, "video": video.name, "plan": level, "point_999": point, "orientation_deg": turn},
        )
        by_view[candidate.name] += 1
        by_position[candidate.position] += 1
        by_video[video.name] += 1
        return asker.sheet.add(item)

    if task == "position":
        bins = [grid_bin(asker.grid_point((c.pose.x_m, c.pose.y_m))) for c, _ in pool]
        count = GRID_BINS * GRID_BINS
        gap: Callable[[int, int], int] = grid_gap
    else:
        bins = [direction_bin(orientation_deg(c.pose)) for c, _ in pool]
        count, gap = DIRECTION_BINS, circle_gap(DIRECTION_BINS)
    deck = Deck(range(count), asker.set_seed, task)
    wanted = (deck.index(asker.first_number + k) for k in itertools.count())
    choose(pool, bins, wanted, asker.options.per_task, gap=gap, cost=cost, accept=accept)
    asker.note_if_short(task, f"{len(pool)} views")
