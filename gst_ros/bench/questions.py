"""Questions of the benchmark, read from files as people have them.

``load_questions`` takes a folder (searched through, for one ``question.json`` a question as well as for files
with many), a JSON list, or JSON lines. A question that cannot be asked is *skipped*: it is handed back with
its reason, its file and the field at fault, to be counted; it is never scored and never dropped in silence.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gst_ros.bench.answers import AnswerValue, parse_truth
from gst_ros.bench.jsonfiles import Entry, kind_of, plain_json
from gst_ros.bench.media_files import VIDEO_FIELDS, MediaFolders, MediaProblem, find_images, find_video
from gst_ros.bench.question_files import question_entries
from gst_ros.bench.tasks import Task, find_task
from gst_ros.errors import QuestionError

log = logging.getLogger(__name__)

TRUTH_FIELDS = ("answer", "gt", "ground_truth")
TEXT_FIELDS = ("texts", "text", "prompt", "question")
MAX_UID_LETTERS = 1000
OPTIONS = 4
"""Images of a question that is answered with a letter."""
LOCAL_IMAGE = "local_image"
"""Setting of GST-Bench-Local (field ``setting``) whose questions are about a single view, without any video."""


@dataclass(frozen=True)
class Question:
    """One question that can be asked: its media are there and its true answer is understood.

    Attributes:
        uid: Its identifier, unique within a set.
        task: Its task.
        scene: The scene's name; empty when the file has none.
        texts: The prompt's parts; they interleave with the media: first text, the video, next text, an image, ...
        video: The exploration video (a file or a folder of images); None for a task that needs none.
        images: The images in the question's order.
        truth: The true answer (degrees, metres, a point on the [0, 999] grid, or a letter). For scoring alone.
        raw: The official fields, untouched.
        file: The file that it came from.
    """

    uid: str
    task: Task
    scene: str
    texts: tuple[str, ...]
    video: Path | None
    images: tuple[Path, ...]
    truth: AnswerValue
    raw: Mapping[str, Any] = field(repr=False)
    file: Path

    @property
    def options(self) -> int:
        """How many letters an answer may choose from (letter tasks)."""
        return len(self.images) if self.task.metric == "acc" else OPTIONS

    @property
    def gt(self) -> Any:
        """The true answer as the file has it, for the run record."""
        return true_answer(self.raw)[1]


@dataclass(frozen=True)
class Skipped:
    """A question that is not asked, and why.

    Attributes:
        uid: Its identifier, or its place in the file when it has none.
        task: Its task key; None when the task is unknown.
        reason: A few words, for example ``video video1.mp4 missing``.
        file: The file that it came from; empty when unknown.
        field: The field at fault; empty when it is not about one.
    """

    uid: str
    task: str | None
    reason: str
    file: str = ""
    field: str = ""

    def to_json(self) -> dict[str, Any]:
        """The same as JSON types, for records and summaries."""
        return {"uid": self.uid, "task": self.task, "reason": self.reason, "file": self.file, "field": self.field}


@dataclass
class QuestionSet:
    """What was found under one path.

    Attributes:
        questions: Those that can be asked, in the order of their files.
        skipped: Those that cannot.
        path: Where they were looked for.
        data_root: Where their media were looked for, beside their own files.
        sha256: Fingerprint of what is asked (all records found, skipped or not, whether or not their media are
            there), so that a run can be resumed after a missing video was downloaded, but not with other questions.
    """

    questions: list[Question]
    skipped: list[Skipped]
    path: Path
    data_root: Path
    sha256: str


def load_questions(
    path: str | Path, data_root: str | Path | None = None, tasks: Collection[str] | None = None
) -> QuestionSet:
    """Read all questions under a path.

    Args:
        path: A question file, or a folder that is searched through (in sorted order).
        data_root: Where media are looked for besides the question file's own folder; by default ``path`` itself,
            or the folder of the file. Media outside these folders are refused.
        tasks: Only these tasks (keys or any spelling of their names); by default all.

    Raises:
        QuestionError: The path does not exist or holds no question, or a file of it is unreadable as a whole.
    """
    path = Path(os.path.abspath(path))
    if not path.exists():
        raise QuestionError("does not exist", file=path, remedy="give a question file or a folder of them")
    wanted = None if tasks is None else {find_task(name).key for name in tasks}
    root = Path(os.path.abspath(data_root)) if data_root is not None else (path if path.is_dir() else path.parent)
    if not root.is_dir():
        raise QuestionError("is not a folder", file=root, remedy="--data-root takes the folder of the media")

    loader = _Loader(root, wanted)
    for entry in question_entries(path):
        loader.add(entry)
    if not loader.found:
        what = f"of the tasks {', '.join(sorted(wanted))}" if wanted else "in it"
        raise QuestionError(f"no question {what}", file=path, remedy="expected question.json, *.json or *.jsonl files")
    return QuestionSet(loader.questions, loader.skipped, path, root, loader.fingerprint())


def question_texts(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The parts of the prompt; empty when the record has none, or has something else in their place."""
    for name in TEXT_FIELDS:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return (value,)
        if isinstance(value, (list, tuple)) and value and all(isinstance(part, str) for part in value):
            return tuple(value)
    return ()


def true_answer(record: Mapping[str, Any]) -> tuple[str, Any]:
    """The field that holds the true answer, and its value; ``("answer", None)`` when there is none."""
    for name in TRUTH_FIELDS:
        value = record.get(name)
        if value is not None and value != "":
            return name, value
    return TRUTH_FIELDS[0], None


class _SkipError(Exception):
    """One question cannot be asked."""

    def __init__(self, reason: str, field_name: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field_name


class _Loader:
    """Turns entries into questions and skips, and watches over their uids."""

    def __init__(self, data_root: Path, wanted: Collection[str] | None) -> None:
        self.questions: list[Question] = []
        self.skipped: list[Skipped] = []
        self.found = 0
        self._data_root = data_root
        self._wanted = wanted
        self._seen: dict[str, tuple[str, str]] = {}  # uid -> its task and its canonical text
        self._digests: list[str] = []

    def add(self, entry: Entry) -> None:
        """Read one entry."""
        record = entry.value
        if record is None:
            self.found += 1
            self._digests.append(f"{entry.label}: {entry.problem}")
            self._skip(entry.label, None, entry.problem or "unreadable", entry, entry.field or "")
            return
        try:
            task = self._task(record, entry)
        except _SkipError as error:
            self.found += 1
            self._digests.append(plain_json(record))
            self._skip(_uid_of(record) or entry.label, None, error.reason, entry, error.field)
            return
        if self._wanted is not None and task.key not in self._wanted:
            return
        self.found += 1
        self._digests.append(plain_json(record))
        uid = _uid_of(record)
        try:
            uid = self._check_uid(uid, task, record)
            self.questions.append(self._question(uid, task, record, entry))
        except _SkipError as error:
            self._skip(uid or entry.label, task.key, error.reason, entry, error.field)

    def fingerprint(self) -> str:
        """SHA-256 over all records found, whatever the order of their files."""
        digest = hashlib.sha256()
        for text in sorted(self._digests):
            digest.update(hashlib.sha256(text.encode()).digest())
        return digest.hexdigest()

    def _skip(self, uid: str, task: str | None, reason: str, entry: Entry, field_name: str) -> None:
        file = f"{entry.file} {entry.place}".rstrip()
        self.skipped.append(Skipped(uid[:MAX_UID_LETTERS], task, reason, file, field_name))
        log.info("skipped %s: %s: field '%s': %s", uid, file, field_name, reason)

    def _task(self, record: Mapping[str, Any], entry: Entry) -> Task:
        name = record.get("task")
        if name is None or name == "":
            # Files with one task each may say so in their name only.
            try:
                return find_task(entry.file.stem)
            except QuestionError:
                raise _SkipError("has no task", "task") from None
        if not isinstance(name, str):
            raise _SkipError(f"task is {kind_of(name)}, not a name", "task")
        try:
            return find_task(name)
        except QuestionError as error:
            raise _SkipError(f"{error.problem} ({error.remedy})", "task") from error

    def _check_uid(self, uid: str, task: Task, record: Mapping[str, Any]) -> str:
        if not uid:
            raise _SkipError("has no uid", "uid")
        if len(uid) > MAX_UID_LETTERS:
            raise _SkipError(f"uid has {len(uid)} letters; {MAX_UID_LETTERS} are allowed", "uid")
        text = plain_json(record)
        seen = self._seen.get(uid)
        if seen is not None and seen[0] != task.key:
            # Two tasks may have counted their questions alike; both are real, so the later one gets a longer name.
            uid = f"{uid}@{task.key}"
            seen = self._seen.get(uid)
        if seen is not None:
            same = "the same question twice" if seen[1] == text else "another question has this uid"
            raise _SkipError(f"duplicate uid ({same})", "uid")
        self._seen[uid] = (task.key, text)
        return uid

    def _question(self, uid: str, task: Task, record: dict[str, Any], entry: Entry) -> Question:
        truth_field, answer = true_answer(record)
        if answer is None:
            raise _SkipError("has no true answer", truth_field)
        try:
            truth = parse_truth(task, answer)
        except QuestionError as error:
            raise _SkipError(f"true answer {error.problem} ({error.remedy})", truth_field) from error
        texts = question_texts(record)
        if not texts:
            raise _SkipError("has no texts", "texts")
        folders = MediaFolders(entry.file.parent, self._data_root)
        try:
            video = find_video(record, folders)
            images = find_images(record, folders)
        except MediaProblem as error:
            raise _SkipError(error.reason, error.field) from error
        if video is None and task.needs_video and record.get("setting") != LOCAL_IMAGE:
            raise _SkipError("names no video", VIDEO_FIELDS[0])
        _check_image_count(task, len(images))
        scene = record.get("scene")
        scene = scene if isinstance(scene, str) else ""
        return Question(uid, task, scene, texts, video, images, truth, record, entry.file)


def _uid_of(record: Mapping[str, Any]) -> str:
    value = record.get("uid", record.get("id"))
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _check_image_count(task: Task, count: int) -> None:
    """Letters name images by their order, so there the count must be exact; elsewhere more images do no harm."""
    if count < task.images or (task.metric == "acc" and count != task.images):
        what = "the query view and the top-down image" if task.images == 2 else f"{task.images} image(s)"
        raise _SkipError(f"needs {what}, has {count} image(s)", "images")
