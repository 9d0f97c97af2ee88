"""What the makers of questions share: the recording, targets and views, and the sheet that questions go to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np

from gst_ros.scenes.questions.names import unique_labels
from gst_ros.scenes.questions.options import QuestionOptions
from gst_ros.scenes.questions.records import QuestionSheet
from gst_ros.scenes.questions.sampling import Deck
from gst_ros.scenes.questions.targets import Target, find_targets
from gst_ros.scenes.questions.views import Candidate, ViewFinder
from gst_ros.scenes.questions.wording import LETTERS
from gst_ros.scenes.recording import Recording
from gst_ros.scenes.rng import rng

T = TypeVar("T")

FURNITURE_PLAN = "furniture.png"
WALLS_PLAN = "walls.png"
RENDER = "render.jpg"
PLANS = (FURNITURE_PLAN, WALLS_PLAN)
LEAST_MARKED, MOST_MARKED = 3, 6


class Asker:
    """The makings of one place's questions.

    Args:
        recording: The place and what was filmed of it.
        options: What to ask, and the thresholds.
        set_seed: Seed of the set.
        number: Number of the place in the set, from 0.
    """

    def __init__(self, recording: Recording, options: QuestionOptions, set_seed: int, number: int) -> None:
        self.recording, self.options, self.set_seed = recording, options, set_seed
        self.sheet = QuestionSheet(recording.place.name)
        self.finder = ViewFinder(recording, options)
        self.first_number = number * options.per_task

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The query views that can be taken."""
        return self.finder.candidates()

    @cached_property
    def targets(self) -> list[Target]:
        """The objects that can be asked for."""
        return find_targets(self.recording, self.options)[0]

    @cached_property
    def marked_targets(self) -> frozenset[str]:
        """Ids of the targets that visual questions are about: few, because each costs a video of its own."""
        count = min(max(self.options.per_task, LEAST_MARKED), MOST_MARKED)
        return frozenset(target.id for target in self.shuffled(self.targets, "marked")[:count])

    @cached_property
    def _unique(self) -> frozenset[str]:
        return unique_labels(self.recording.place)

    def may_ask(self, target: Target, task: str) -> bool:
        """Whether a task may ask for a target: semantic ones need a name that fits it alone."""
        return target.facts.thing.label in self._unique if task.endswith("_s") else target.id in self.marked_targets

    def shuffled(self, items: Sequence[T], purpose: str) -> list[T]:
        """Items in a random order that is the place's own."""
        order = rng(self.recording.place.seed, "questions", purpose).permutation(len(items))
        return [items[int(i)] for i in order]

    def number(self, task: str, setting: str = "") -> int:
        """Number in the set of a task's next question."""
        return self.first_number + self.sheet.count(task, setting)

    def letter(self, task: str) -> str:
        """The correct letter of a task's next question: balanced over the set."""
        return LETTERS[Deck(LETTERS, self.set_seed, task, "letter").index(self.number(task))]

    # Media

    def video(self, target: Target) -> str:
        """The unmarked video that shows a target."""
        return self.recording.video_file(target.video)

    def marked_video(self, target: Target) -> str:
        """The video with a target marked."""
        return self.recording.marked_video(target.video, target.id)

    def plan(self, level: str) -> str:
        """Path of one of the place's own top-down images."""
        files = self.recording.files
        return files.relative(files.plan_image(level))

    def preferred_plan(self, task: str) -> str:
        """The plan that a task's next question shows: every third one has walls alone.

        Coloured renders are left out: on them an object is found by its look.
        """
        return WALLS_PLAN if self.number(task) % 3 == 2 else FURNITURE_PLAN

    def grid_point(self, point_m: Sequence[float]) -> tuple[float, float]:
        """A point in ``map`` on the 0 to 999 grid of the place's plans."""
        x, y = self.recording.plan.grid_999(np.array(point_m))
        return float(x), float(y)

    def note_if_short(self, task: str, reason: str, setting: str = "") -> None:
        """Say so when a task has fewer questions than wanted."""
        self.sheet.note_if_short(task, self.options.per_task, reason, setting)
