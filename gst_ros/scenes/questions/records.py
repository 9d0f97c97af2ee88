"""Question records in the official format, and beside them the truth that they came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gst_ros.bench.answers import AnswerValue, format_answer
from gst_ros.bench.metrics import wrap_deg
from gst_ros.bench.tasks import TASKS, Task
from gst_ros.scenes.files import PlaceFiles, write_json

TRUTH_FILE = "questions.json"


@dataclass(frozen=True)
class Item:
    """One question.

    Attributes:
        task: Task key.
        name: What tells it from other questions of its task, as the end of its uid.
        answer: Its true answer, not rounded: degrees, metres, a point on the 0 to 999 grid, or a letter.
        texts: The prompt's parts.
        video: Path of the video relative to the place's folder; None for questions about a single view.
        images: Paths of the images.
        truth: What the answer came from; goes into ``gt/`` alone.
        setting: Setting of GST-Bench-Local; empty for GST-Bench itself.
    """

    task: str
    name: str
    answer: AnswerValue
    texts: Sequence[str]
    video: str | None
    images: Sequence[str]
    truth: Mapping[str, Any] = field(default_factory=dict)
    setting: str = ""


class QuestionSheet:
    """Collects the questions of one place.

    Args:
        scene: Name of the place.
    """

    def __init__(self, scene: str) -> None:
        self._scene = scene
        self._records: list[dict[str, Any]] = []
        self._truths: dict[str, dict[str, Any]] = {}
        self._asked: set[tuple[Any, ...]] = set()
        self._counts: Counter[str] = Counter()
        self.notes: list[str] = []

    def add(self, item: Item) -> bool:
        """Take a question, unless the same one is there already.

        Returns:
            Whether it was taken.
        """
        asked = (item.task, item.setting, *item.texts, item.video, *item.images)
        if asked in self._asked:
            return False
        task = TASKS[item.task]
        uid = "_".join(part for part in (self._scene, _short_name(task), item.name, item.setting) if part)
        if uid in self._truths:
            raise ValueError(f"two questions with the uid {uid}")
        self._asked.add(asked)
        self._counts[count_key(item.task, item.setting)] += 1
        record: dict[str, Any] = {
            "task": task.official_name,
            "uid": uid,
            "scene": self._scene,
            "answer": official_answer(task, item.answer),
            "texts": list(item.texts),
        }
        if item.video is not None:
            record["copied_video_path"] = item.video
        record["images"] = [{"index": i, "copied_path": path} for i, path in enumerate(item.images, start=1)]
        if item.setting:
            record["setting"] = item.setting
        self._records.append(record)
        self._truths[uid] = {"task": item.task, "answer": item.answer, **item.truth}
        return True

    def count(self, task: str, setting: str = "") -> int:
        """Number of questions of a task so far."""
        return self._counts[count_key(task, setting)]

    @property
    def counts(self) -> dict[str, int]:
        """Number of questions per task (and setting of GST-Bench-Local), in the order in which they were made."""
        return dict(self._counts)

    @property
    def images(self) -> frozenset[str]:
        """Paths of all images that the questions show."""
        return frozenset(image["copied_path"] for record in self._records for image in record["images"])

    def note_if_short(self, task: str, wanted: int, reason: str, setting: str = "") -> None:
        """Say so when a task has fewer questions than it should.

        Args:
            task: Its key.
            wanted: How many it should have.
            reason: Why there are no more.
            setting: Setting of GST-Bench-Local.
        """
        found = self.count(task, setting)
        if found < wanted:
            self.notes.append(f"{count_key(task, setting)}: {found} of {wanted} questions ({reason})")

    def write(self, files: PlaceFiles) -> None:
        """Write ``questions.json`` and its truth."""
        write_json(files.questions, self._records, sort_keys=False)
        write_json(files.truth(TRUTH_FILE), self._truths)


def count_key(task: str, setting: str = "") -> str:
    """How counts and notes name a task in a setting."""
    return f"{task}/{setting}" if setting else task


def official_answer(task: Task, answer: AnswerValue) -> str | float:
    """A true answer as official records write it: a distance as a number, all others as text."""
    if task.answer_kind == "angle_deg" and not isinstance(answer, (str, tuple)):
        answer = wrap_deg(float(round(wrap_deg(answer))))
    text = format_answer(task, answer)
    return float(text) if task.answer_kind == "distance_m" else text


def _short_name(task: Task) -> str:
    return task.official_name.removeprefix("Global_Structure_Understanding_")
