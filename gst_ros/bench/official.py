"""The official runner's result files: written from a run, read and scored like one.

The official runner writes ``<save_dir>/<Model>/results/``, one file per task; its records keep the sample's
fields and carry ``pred`` and ``gt``. Files that others wrote vary, so they are read tolerantly: a JSON list,
JSON lines or records keyed by uid; the task from the record or from the file's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gst_ros.bench.jsonfiles import Entry, kind_of, plain_json, read_entries
from gst_ros.bench.questions import MAX_UID_LETTERS, Skipped, true_answer
from gst_ros.bench.records import not_written, write_atomically
from gst_ros.bench.run_data import AnswerRecord, RunData, plain
from gst_ros.bench.tasks import TASKS, Task, find_task
from gst_ros.errors import QuestionError, RunError

PRED_FIELDS = ("pred", "prediction", "model_answer", "response", "output")
NOT_ANSWERED_FILE = "not_answered.json"


@dataclass
class OfficialResults:
    """What the result files of one model hold.

    Attributes:
        path: The folder or file.
        records: One record for each question that has a ``pred``, by uid.
        skipped: Records that cannot be used, and repeated ones.
        files: The files that were read.
    """

    path: Path
    records: dict[str, AnswerRecord] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


def export_official(run: RunData, save_dir: str | Path, model: str, overwrite: bool = False) -> list[Path]:
    """Write a run as the official runner would have.

    Only answered questions are written: an empty ``pred`` would be scored as wrong there. Those that failed or
    were skipped are listed in ``not_answered.json`` beside the results, with their reasons.

    Args:
        run: The run.
        save_dir: The official runner's ``--save_dir``.
        model: The model's name, which becomes a folder.
        overwrite: Replace result files that are there.

    Returns:
        The files written, one for each task that has answers, under ``<save_dir>/<model>/results/``.

    Raises:
        RunError: The run has no answer, the results are there already, or they cannot be written.
    """
    by_task: dict[str, list[dict[str, Any]]] = {}
    for record in run.answered.values():
        by_task.setdefault(record.task, []).append(official_record(record))
    if not by_task:
        raise RunError("holds no answer to export", file=run.path)
    base = Path(save_dir) / folder_name(model)
    results = base / "results"
    files = {results / f"{TASKS[key].official_name}.json": by_task[key] for key in TASKS if key in by_task}
    if not overwrite and results.exists() and any(results.iterdir()):
        raise RunError("holds results already", file=results, remedy="pass --overwrite, or another --model")
    try:
        results.mkdir(parents=True, exist_ok=True)
        for stale in {results / f"{task.official_name}.json" for task in TASKS.values()} - files.keys():
            stale.unlink(missing_ok=True)  # of an earlier export; its answers are not of this run
    except OSError as error:
        raise not_written(error, results) from error
    for file, records in files.items():
        write_atomically(file, _json_text(records))
    write_atomically(base / NOT_ANSWERED_FILE, _json_text(_not_answered(run)))
    return list(files)


def official_record(record: AnswerRecord) -> dict[str, Any]:
    """One record in the official form: the sample's fields as they were, then ``pred`` and ``gt``."""
    sample = {"uid": record.uid, "task": TASKS[record.task].official_name, "scene": record.scene}
    return {**sample, **record.question, "pred": record.pred, "gt": record.gt}


def read_official(path: str | Path) -> OfficialResults:
    """Read official result files.

    Args:
        path: A result file, a ``results`` folder, or a folder that holds just one such folder.

    Raises:
        RunError: Nothing is there, or the results of several models.
        QuestionError: A file is unreadable as a whole.
    """
    path = Path(path)
    if not path.exists():
        raise RunError("does not exist", file=path, remedy="give a run folder or an official results folder")
    found = OfficialResults(path)
    files = [path] if path.is_file() else _result_files(path)
    for file in files:
        # Not strict: an answer of NaN or of broken Unicode is an answer, if one that cannot be read.
        entries = read_entries(file, strict=False)
        if path.is_dir() and not _is_result_file(file, entries):
            continue  # a summary or another file that lies beside the results
        found.files.append(file)
        for entry in entries:
            _take(found, entry)
    if not found.files:
        raise RunError(
            "holds neither a run nor official results",
            file=path,
            remedy="expected JSON files whose records have 'pred'",
        )
    return found


def folder_name(model: str) -> str:
    """A model's name as one folder's name: ``Qwen/Qwen3-VL-8B`` becomes ``Qwen_Qwen3-VL-8B``."""
    name = re.sub(r"[^\w.+-]+", "_", model).strip("._")
    if not name:
        raise RunError(f"'{model}' cannot be the name of a folder", remedy="pass --model NAME")
    return name[:120]


def _result_files(folder: Path) -> list[Path]:
    for candidate in (folder, folder / "results"):
        if candidate.is_dir():
            files = sorted(f for f in candidate.iterdir() if f.suffix.lower() in (".json", ".jsonl") and f.is_file())
            files = [f for f in files if f.name != NOT_ANSWERED_FILE and not f.name.startswith(".")]
            if files:
                return files
    models = sorted(p.parent for p in folder.glob("*/results") if p.is_dir())
    if len(models) > 1:
        names = ", ".join(model.name for model in models[:5])
        raise RunError(f"holds the results of {len(models)} models ({names})", file=folder, remedy="give one of them")
    return _result_files(models[0]) if models else []


def _is_result_file(file: Path, entries: list[Entry]) -> bool:
    if any(entry.value is not None and any(name in entry.value for name in PRED_FIELDS) for entry in entries):
        return True
    try:
        find_task(file.stem)
    except QuestionError:
        return False
    return True  # named after a task: its records are counted, whatever is wrong with them


def _take(found: OfficialResults, entry: Entry) -> None:
    file = f"{entry.file} {entry.place}".rstrip()
    record = entry.value
    if record is None:
        found.skipped.append(Skipped(entry.label, None, entry.problem or "unreadable", file, entry.field or ""))
        return
    uid = str(record.get("uid") or record.get("id") or entry.label)[:MAX_UID_LETTERS]
    try:
        task = _task_of(record, entry.file)
    except QuestionError as error:
        found.skipped.append(Skipped(uid, None, error.problem, file, "task"))
        return
    gt = record["gt"] if record.get("gt") is not None else true_answer(record)[1]
    if gt is None:
        found.skipped.append(Skipped(uid, task.key, "has no true answer", file, "gt"))
        return
    pred = _pred_text(record)
    scene = record.get("scene")
    # The same uid in two tasks is two questions, as in question files.
    before = found.records.get(uid)
    if before is not None and before.task != task.key:
        uid = f"{uid}@{task.key}"
        before = found.records.get(uid)
    if before is not None:
        same = "same" if before.pred == pred and plain_json(before.gt) == plain_json(gt) else "other"
        reason = f"duplicate uid (with the {same} answer); the last one counts"
        found.skipped.append(Skipped(uid, task.key, reason, file, "uid"))
    found.records[uid] = AnswerRecord(
        uid=uid,
        task=task.key,
        scene=scene if isinstance(scene, str) else "",
        gt=gt,
        pred=pred or "",
        # No 'pred' is no answer; an empty one is an answer that cannot be read.
        status="answered" if pred is not None else "failed",
        explanation="" if pred is not None else "the record has no 'pred'",
        question={name: value for name, value in record.items() if name not in (*PRED_FIELDS, "gt")},
    )


def _task_of(record: Mapping[str, Any], file: Path) -> Task:
    """The record's task; where it names none, the one that the file is named after."""
    name = record.get("task")
    if name is None or name == "":
        try:
            return find_task(file.stem)
        except QuestionError:
            raise QuestionError("has no task, and the file is not named after one") from None
    if not isinstance(name, str):
        raise QuestionError(f"task is {kind_of(name)}, not a name")
    return find_task(name)


def _pred_text(record: Mapping[str, Any]) -> str | None:
    """The answer's text: numbers and lists as JSON writes them, a list of one as its item; None when there is none."""
    value = next((record[name] for name in PRED_FIELDS if record.get(name) is not None), None)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def _not_answered(run: RunData) -> list[dict[str, Any]]:
    failed = [
        {"uid": record.uid, "task": record.task, "status": "failed", "reason": record.explanation}
        for record in run.answers.values()
        if record.status == "failed"
    ]
    return failed + [{"status": "skipped", **skip.to_json()} for skip in run.skipped]


def _json_text(records: list[dict[str, Any]]) -> str:
    """JSON text as people like to read it, unless an answer holds broken Unicode that only escapes can keep."""
    text = json.dumps(plain(records), indent=1, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(plain(records), indent=1)
    return text + "\n"
