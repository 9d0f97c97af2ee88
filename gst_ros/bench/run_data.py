"""What a run folder holds, and reading it; nothing here writes.

``run.json`` says what was run with what. ``records.jsonl`` has one JSON object a line, each with a ``kind``:
``answer``, ``skip``, ``video`` (how a video went through) or ``event`` (opened, resumed, node died, ...). Lines
are only ever appended, so a run that was killed can be read up to its last whole line, also while it goes on.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gst_ros.bench.jsonfiles import MAX_NESTING, nested_too_deeply
from gst_ros.bench.questions import Skipped
from gst_ros.errors import RunError

HEADER_FILE = "run.json"
RECORDS_FILE = "records.jsonl"
SUMMARY_FILE = "summary.json"
FORMAT = 1
"""Version of the layout; a newer one is refused rather than misread."""


@dataclass(frozen=True)
class AnswerRecord:
    """One question asked, what came back, and how it was read.

    Attributes:
        uid: The question's identifier.
        task: Task key.
        scene: The scene's name.
        gt: The true answer as the question file has it.
        pred: The answer as it came; empty stays empty.
        value: What was read from ``pred`` (degrees, metres, a point, a letter); None when unparsed.
        matched: The part of ``pred`` that was read.
        parse_status: ``parsed``, or why not.
        score: 0 to 1; None when the answerer failed.
        status: ``answered``, or ``failed`` (the answerer gave an error: not scored, asked again on resume).
        confidence: 0 to 1, or None.
        explanation: How it was found, or what failed.
        evidence: Which step answered, and the figures behind the answer (JSON types); empty where none were given.
        seconds: Wall time of the answer.
        video: The video that had been played.
        frames_received: Frames of it that the memory took in: 16- and 64-frame runs are told apart by this.
        prompt_sha256: Fingerprint of what the answerer was shown (texts and images).
        question: The official fields, untouched.
    """

    uid: str
    task: str
    scene: str = ""
    gt: Any = None
    pred: str = ""
    value: float | tuple[float, float] | str | None = None
    matched: str = ""
    parse_status: str = ""
    score: float | None = None
    status: Literal["answered", "failed"] = "answered"
    confidence: float | None = None
    explanation: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    video: str = ""
    frames_received: int | None = None
    prompt_sha256: str = ""
    question: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> AnswerRecord:
        """Build from a line of ``records.jsonl``; fields of later versions are left out.

        Raises:
            ValueError: ``uid``, ``task`` or ``status`` is missing or of the wrong kind.
        """
        values = {name: value for name, value in fields.items() if name in _ANSWER_FIELDS}
        for name in ("uid", "task", "pred"):
            if not isinstance(values.get(name), str):
                raise ValueError(f"no text in field '{name}'")
        if values.get("status") not in ("answered", "failed"):
            raise ValueError(f"unknown status {values.get('status')!r:.40} in field 'status'")
        for name, value in values.items():
            _check_field(name, value)
        if isinstance(values.get("value"), list):
            values["value"] = tuple(values["value"])
        return cls(**values)


_ANSWER_FIELDS = frozenset(f.name for f in dataclasses.fields(AnswerRecord))
_TEXT_FIELDS = frozenset({"scene", "matched", "parse_status", "explanation", "video", "prompt_sha256"})
_NUMBER_FIELDS = frozenset({"score", "confidence", "seconds", "frames_received"})


def _check_field(name: str, value: Any) -> None:
    """Refuse a field of another type than :class:`AnswerRecord` says.

    Raises:
        ValueError: It names the field.
    """
    if name in _TEXT_FIELDS:
        fits, wanted = isinstance(value, str), "text"
    elif name in _NUMBER_FIELDS:
        fits, wanted = (value is None and name != "seconds") or _is_number(value), "a number"
    elif name == "value":
        point = isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))
        fits, wanted = value is None or isinstance(value, str) or point or _is_number(value), "an answer's value"
    elif name in ("question", "evidence"):
        fits, wanted = isinstance(value, Mapping), "a mapping"
    else:
        return
    if not fits:
        raise ValueError(f"{type(value).__name__} in place of {wanted} in field '{name}'")
    if name in ("question", "evidence") and nested_too_deeply(value):
        raise ValueError(f"more than {MAX_NESTING} levels in field '{name}'")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True)
class RunHeader:
    """What a run was made with. Everything but ``info`` must be the same when it is resumed.

    Attributes:
        answerer: Name and parameters of the answerer.
        config: The effective configuration of everything that can change an answer.
        frames: Which frames the answerer sees (all, 16, 64, one a second, ...).
        prompt_sha256: Fingerprint of the prompt template; empty when the question's own texts are used.
        questions_sha256: Fingerprint of the question set (``QuestionSet.sha256``).
        info: What may differ between the parts of a run: software versions, machine, command, paths.
    """

    answerer: Mapping[str, Any]
    config: Mapping[str, Any] = field(default_factory=dict)
    frames: Mapping[str, Any] = field(default_factory=dict)
    prompt_sha256: str = ""
    questions_sha256: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The content of ``run.json``."""
        return {"format": FORMAT, **{f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}}

    def differences(self, other: RunHeader) -> list[str]:
        """What keeps ``other`` from going on with this run: ``answerer.name is 'random', now 'scripted'``."""
        mine, theirs = _flat(self.to_json()), _flat(other.to_json())
        changed = []
        for name in sorted(mine.keys() | theirs.keys()):
            if name.split(".")[0] in ("info", "format"):
                continue
            before, now = mine.get(name, "absent"), theirs.get(name, "absent")
            if before != now or type(before) is not type(now):
                changed.append(f"{name} is {before!r:.60}, now {now!r:.60}")
        return changed


@dataclass
class RunData:
    """All that a run folder holds.

    Attributes:
        path: The folder.
        header: What it was made with.
        answers: The last record of each question asked, by uid, answered or failed.
        skipped: Questions that were not asked, each once; without those that were asked later.
        videos: How the videos went through, one mapping for each playback.
        events: What else was recorded.
        torn: Whether the last line is incomplete: the writer was killed, or is writing right now.
    """

    path: Path
    header: RunHeader
    answers: dict[str, AnswerRecord] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    videos: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    torn: bool = False

    @property
    def answered(self) -> dict[str, AnswerRecord]:
        """The questions that need not be asked again, by uid. An empty answer is one of them."""
        return {uid: record for uid, record in self.answers.items() if record.status == "answered"}


def is_run(path: Path) -> bool:
    """Whether a folder is a run folder."""
    return (path / HEADER_FILE).is_file()


def read_run(path: str | Path) -> RunData:
    """Read a run folder, finished or not, without changing it.

    Raises:
        RunError: It is no run folder, was made by a newer version, or is damaged before its last line.
    """
    path = Path(path)
    data = RunData(path, read_header(path))
    file = path / RECORDS_FILE
    refuse_no_file(file)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return data
    except OSError as error:
        raise RunError(f"cannot be read: {error.strerror or error}", file=file) from error
    *lines, tail = content.split(b"\n")
    skips: dict[Skipped, None] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            _take(data, skips, f"line {number}", _parse_line(file, number, line))
    if tail.strip():
        entry = whole_object(tail)
        data.torn = entry is None
        if entry is not None:  # the line is there to its last brace; only its end mark is missing
            _take(data, skips, "the last line", entry)
    # A question skipped in one part of the run may have been asked in another, after its video was downloaded.
    # A duplicate uid is different: its question is another one than the one that was asked.
    data.skipped = [skip for skip in skips if skip.field == "uid" or skip.uid not in data.answers]
    return data


def read_header(path: Path) -> RunHeader:
    """Read ``run.json``.

    Raises:
        RunError: It is missing, damaged, or made by a newer version.
    """
    file = path / HEADER_FILE
    if not path.is_dir():
        raise RunError("is no folder", file=path, remedy="give the folder of a run (the --output of 'gst eval')")
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise RunError(f"holds no {HEADER_FILE}: it is no run folder", file=path) from None
    except OSError as error:
        raise RunError(f"cannot be read: {error.strerror or error}", file=file) from error
    fields = whole_object(content)
    if fields is None or nested_too_deeply(fields) or not isinstance(fields.get("format"), int):
        torn = "empty" if not content.strip() else "torn or damaged" if fields is None else "not the header of a run"
        raise RunError(
            f"is {torn}, so nothing says what the run was made with",
            file=file,
            remedy=f"the answers so far are safe in {RECORDS_FILE} beside it: put {HEADER_FILE} back from a copy "
            "(another run of the same command has the same one), or begin again in another --output",
        )
    if fields["format"] > FORMAT:
        raise RunError(
            f"was written by a newer version (format {fields['format']})", file=file, remedy="update gst_ros"
        )
    values: dict[str, Any] = {}
    for known in dataclasses.fields(RunHeader):
        value = fields.get(known.name, "" if known.name.endswith("sha256") else {})
        if not isinstance(value, str if known.name.endswith("sha256") else dict):
            raise RunError("has the wrong type", file=file, field=known.name)
        values[known.name] = value
    return RunHeader(**values)


def refuse_no_file(file: Path) -> None:
    """Refuse a folder or device in place of a file; reading a device may never end.

    Raises:
        RunError: It is there and no file.
    """
    if file.exists() and not file.is_file():
        raise RunError("is not a file", file=file, remedy="remove it, or choose another --output")


def whole_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object that a line holds, or None. No beginning of an object's text is an object itself."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def plain(value: Any) -> Any:
    """Turn a value into strict JSON types: paths to text, numpy to Python, NaN and infinity to None.

    Raises:
        TypeError: For a type that has no place in a record.
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(child) for key, child in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(child) for child in value]
    if isinstance(value, Path):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return plain(value.tolist())
    raise TypeError(f"a {type(value).__name__} has no place in a run record")


def _parse_line(file: Path, number: int, line: bytes) -> dict[str, Any]:
    entry = whole_object(line)
    if entry is None:
        raise RunError(
            f"line {number} is damaged", file=file, remedy="delete this line; its question is asked again on resume"
        )
    return entry


def _take(data: RunData, skips: dict[Skipped, None], place: str, entry: dict[str, Any]) -> None:
    kind = entry.pop("kind", None)
    try:
        if kind == "answer":
            record = AnswerRecord.from_json(entry)
            data.answers.pop(record.uid, None)  # the last record stands at the time when it was made
            data.answers[record.uid] = record
        elif kind == "skip":
            skips.setdefault(_skip(entry))
        elif kind == "video":
            for name in ("frames_sent", "frames_received"):
                if entry.get(name) is not None and not _is_number(entry[name]):
                    raise ValueError(f"no number in field '{name}'")
            data.videos.append(entry)
        elif kind == "event":
            data.events.append(entry)
        else:
            raise ValueError(f"unknown kind {kind!r}")
    except (ValueError, KeyError, TypeError) as error:
        problem = f"{place} is not a record of a run: {error}"
        raise RunError(problem, file=data.path / RECORDS_FILE, remedy="was it written by something else?") from error


def _skip(entry: Mapping[str, Any]) -> Skipped:
    for name in ("uid", "task", "reason", "file", "field"):
        if not isinstance(entry[name], str) and not (name == "task" and entry[name] is None):
            raise ValueError(f"no text in field '{name}'")
    return Skipped(entry["uid"], entry["task"], entry["reason"], entry["file"], entry["field"])


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    if isinstance(value, dict) and (value or not name):
        flat: dict[str, Any] = {}
        for key, child in value.items():
            flat.update(_flat(child, f"{name}.{key}" if name else str(key)))
        return flat
    return {name: value}
