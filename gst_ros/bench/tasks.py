"""The twelve tasks of GST-Bench, in the order of the published table.

Names and groups are the benchmark's own. ``find_task`` also understands the spellings met in its files
and texts: *Trajection* for *Trajectory*, *Egocentric_Localization* for *Self_Localization*, shortened
names such as ``..._Topdown_Selection_Medium``, and any case or separator.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from gst_ros.errors import QuestionError

Metric = Literal["acc", "angle", "point", "mra"]
AnswerKind = Literal["letter", "angle_deg", "point_999", "distance_m"]
Group = Literal["object_localization", "self_localization", "scene_structure"]

GROUPS: tuple[Group, ...] = ("object_localization", "self_localization", "scene_structure")

_KIND_OF_METRIC: dict[Metric, AnswerKind] = {
    "acc": "letter",
    "angle": "angle_deg",
    "point": "point_999",
    "mra": "distance_m",
}


@dataclass(frozen=True)
class Task:
    """One kind of question.

    Attributes:
        key: Short name used throughout this project, for example ``ed_v``.
        group: One of :data:`GROUPS`.
        official_name: The name in the official files.
        title: A name for tables.
        metric: ``acc`` (exact letter), ``angle`` and ``point`` (mean accuracy over error thresholds), ``mra``
            (mean relative accuracy).
        answer_form: What the prompt asks for, for people.
        chance_percent: Expected score of uniformly random answers, 0 to 100; None where it depends on the truths.
        chance_note: Where that number comes from.
        images: Smallest number of images that the question needs (query view, top-down image, options).
        needs_video: Whether the question is about a video.
        spellings: Other names under which the task is met.
    """

    key: str
    group: Group
    official_name: str
    title: str
    metric: Metric
    answer_form: str
    chance_percent: float | None
    chance_note: str
    images: int
    needs_video: bool = True
    spellings: tuple[str, ...] = ()

    @property
    def answer_kind(self) -> AnswerKind:
        """What an answer is: a letter, degrees, metres, or a point on the 0 to 999 grid."""
        return _KIND_OF_METRIC[self.metric]


_ANGLE_FORM = "integer degrees in [-180, 180], left positive"
_ANGLE_CHANCE = (50.0 / 3.0, "uniform on the circle: mean of 2*15/360, 2*30/360 and 2*45/360")
_DISTANCE_FORM = "metres, one decimal, no unit"
_DISTANCE_CHANCE = (None, "depends on the distances in the question set")
_POINT_FORM = "<point>x y</point>, both in [0, 999], x right, y down"
_POINT_CHANCE = (None, "depends on the positions; 11.4 when they are uniform too")
_LETTER_CHANCE = (25.0, "one of four options")


def _object_tasks(suffix: str, key_suffix: str, word: str) -> tuple[Task, Task, Task]:
    return (
        Task(
            f"ed_{key_suffix}", "object_localization", f"Object_Localization_Egocentric_Direction_{suffix}",
            f"Egocentric direction ({word})", "angle", _ANGLE_FORM, *_ANGLE_CHANCE, images=1,
        ),
        Task(
            f"edist_{key_suffix}", "object_localization", f"Object_Localization_Egocentric_Distance_{suffix}",
            f"Egocentric distance ({word})", "mra", _DISTANCE_FORM, *_DISTANCE_CHANCE, images=1,
        ),
        Task(
            f"gp_{key_suffix}", "object_localization", f"Object_Localization_Global_Position_{suffix}",
            f"Object position ({word})", "point", _POINT_FORM, *_POINT_CHANCE, images=1,
        ),
    )  # fmt: skip


def _selection_task(level: str) -> Task:
    return Task(
        f"tds_{level.lower()}", "scene_structure", f"Global_Structure_Understanding_Topdown_Selection_{level}",
        f"Top-down selection ({level.lower()})", "acc", "letter of one option", *_LETTER_CHANCE, images=4,
        spellings=(f"Global_Structure_Topdown_Selection_{level}",),
    )  # fmt: skip


_ALL: tuple[Task, ...] = (
    *_object_tasks("visual", "v", "visual"),
    *_object_tasks("semantic", "s", "semantic"),
    Task(
        "position", "self_localization", "Self_Localization_Global_Position",
        "Self position", "point", _POINT_FORM, *_POINT_CHANCE, images=2,
        spellings=("Egocentric_Localization_Global_Position",),
    ),
    Task(
        "orientation", "self_localization", "Self_Localization_Global_Orientation",
        "Self orientation", "angle", "integer degrees in [-180, 180]", *_ANGLE_CHANCE, images=2,
        spellings=("Egocentric_Localization_Global_Orientation",),
    ),
    _selection_task("Easy"),
    _selection_task("Medium"),
    _selection_task("Hard"),
    Task(
        "trajectory", "scene_structure", "Global_Structure_Understanding_Trajection_Selection",
        "Trajectory selection", "acc", "letter of one option", *_LETTER_CHANCE, images=4,
        spellings=("Global_Structure_Understanding_Trajectory_Selection", "Global_Structure_Trajectory_Selection"),
    ),
)  # fmt: skip

TASKS: dict[str, Task] = {task.key: task for task in _ALL}
"""The tasks by key, in official order."""


def _words(name: str) -> tuple[str, ...]:
    """Lower-case words of a name, with known spelling variants made one."""
    # CamelCase counts as several words; "top-down" and "TopDown" become the official "topdown".
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name[:200])
    words = re.sub(r"[^a-z0-9]+", " ", spaced.lower()).replace("top down", "topdown").split()
    return tuple("trajectory" if word in ("trajection", "trajectories", "traject") else word for word in words)


def _names() -> dict[str, str]:
    """Every full name, joined without separators, to the task's key."""
    names: dict[str, str] = {}
    for task in _ALL:
        for name in (task.key, task.official_name, task.title, *task.spellings):
            names["".join(_words(name))] = task.key
    return names


_FULL_NAMES = _names()


@lru_cache(maxsize=256)
def find_task(name: str) -> Task:
    """The task of a key, an official name or one of its spellings.

    A name may be shortened from the left as long as two words stay and only one task ends with them
    (``..._Topdown_Selection_Medium``).

    Args:
        name: In any case, with any separators.

    Raises:
        QuestionError: The name fits no task, or several; it names the nearest.
    """
    if not isinstance(name, str):
        raise QuestionError(f"a task name must be text, got {name!r}", field="task")
    words = _words(name)
    full = _FULL_NAMES.get("".join(words))
    if full is not None:
        return TASKS[full]
    if len(words) >= 2:
        found = {
            task.key
            for task in _ALL
            for spelling in (task.official_name, *task.spellings)
            if _words(spelling)[-len(words) :] == words
        }
        if len(found) == 1:
            return TASKS[found.pop()]
        if found:
            options = ", ".join(key for key in TASKS if key in found)
            raise QuestionError(f"task name '{name}' fits several tasks", field="task", remedy=f"one of: {options}")
    shown = name if len(name) <= 80 else f"{name[:77]}..."
    near = difflib.get_close_matches("".join(words), _FULL_NAMES, n=1, cutoff=0.6)
    if near:
        task = TASKS[_FULL_NAMES[near[0]]]
        remedy = f"did you mean '{task.official_name}' ({task.key})?"
    else:
        remedy = f"known: {', '.join(TASKS)}"
    raise QuestionError(f"unknown task '{shown}'", field="task", remedy=remedy)
