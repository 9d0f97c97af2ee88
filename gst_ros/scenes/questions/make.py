"""Makes the questions of one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gst_ros.scenes.files import PlaceFiles
from gst_ros.scenes.questions.asking import Asker
from gst_ros.scenes.questions.local import LOCAL_TASKS, ask_local
from gst_ros.scenes.questions.objects import ask_from_views, ask_positions, find_sightings
from gst_ros.scenes.questions.options import QuestionOptions
from gst_ros.scenes.questions.self_localization import ask_self_localization
from gst_ros.scenes.questions.structure import ask_look_alikes, ask_other_places
from gst_ros.scenes.questions.trajectories import ask_trajectories
from gst_ros.scenes.recording import Recording

LOCAL_SPLIT = "local"


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    Attributes:
        counts: Task key (with the setting, for GST-Bench-Local) -> number of questions.
        notes: One line for each task that has fewer questions than wanted, with the reason.
    """

    counts: dict[str, int]
    notes: tuple[str, ...]


def make_questions(
    recording: Recording,
    neighbours: Sequence[PlaceFiles],
    options: QuestionOptions,
    *,
    set_seed: int,
    number: int,
) -> Outcome:
    """Make a place's questions with all that they show, and write them and their truth.

    Args:
        recording: The place and what was filmed of it; its top-down images must be there. A place of the split
            ``local`` gets the questions of GST-Bench-Local, any other the twelve tasks.
        neighbours: Other places, whose top-down images are the wrong options of easy and medium selections.
        options: What to ask, and the thresholds.
        set_seed: Seed of the set: letters and answers are balanced over all its places.
        number: Number of the place in the set, from 0.

    Raises:
        SceneError: A file that is needed is missing, or cannot be written.
    """
    asker = Asker(recording, options, set_seed, number)
    if recording.place.split == LOCAL_SPLIT:
        sightings = find_sightings(asker)
        for task in LOCAL_TASKS:
            if options.wants(task):
                ask_local(asker, task, sightings)
    else:
        _ask_objects(asker)
        for task in ("position", "orientation"):
            if options.wants(task):
                ask_self_localization(asker, task)
        for task in ("tds_easy", "tds_medium"):
            if options.wants(task):
                ask_other_places(asker, task, neighbours)
        if options.wants("tds_hard"):
            ask_look_alikes(asker)
        if options.wants("trajectory"):
            ask_trajectories(asker)
    asker.finder.drop_unused(asker.sheet.images)
    recording.save_views()
    asker.sheet.write(recording.files)
    return Outcome(asker.sheet.counts, tuple(asker.sheet.notes))


def _ask_objects(asker: Asker) -> None:
    wanted = [task for task in ("ed_v", "edist_v", "ed_s", "edist_s") if asker.options.wants(task)]
    if wanted:
        sightings = find_sightings(asker)
        for task in wanted:
            ask_from_views(asker, task, sightings)
    for task in ("gp_v", "gp_s"):
        if asker.options.wants(task):
            ask_positions(asker, task)
