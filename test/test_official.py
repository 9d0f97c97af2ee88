from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench_makers import record as question_fields
from click.testing import CliRunner

from gst_ros.bench.official import export_official, folder_name, read_official
from gst_ros.bench.questions import Skipped
from gst_ros.bench.records import AnswerRecord, RunFolder, RunHeader, read_run
from gst_ros.bench.scoring import score_records, score_run
from gst_ros.bench.tasks import TASKS
from gst_ros.cli import score as score_command
from gst_ros.errors import GstError, QuestionError, RunError


def answer(task: str, uid: str, pred: str, **fields: Any) -> AnswerRecord:
    question = question_fields(task, uid, extra={"kept": ["as", 1, "is"]})
    return AnswerRecord(uid=uid, task=task, gt=question["answer"], pred=pred, question=question, **fields)


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    with RunFolder.open(tmp_path / "run", RunHeader({"name": "scripted"})) as run:
        run.append_skip(Skipped("s", "gp_v", "video v.mp4 missing", "q.json", "copied_video_path"))
        for number, pred in enumerate(("-134", "\u2013130\u00b0", "I can't tell", "")):
            run.append_answer(answer("ed_v", f"d{number}", pred))
        run.append_answer(answer("edist_s", "m0", "about 12.8 m"))
        run.append_answer(answer("position", "p0", "<point>323 292</point>"))
        run.append_answer(answer("tds_hard", "l0", "\ud800 C"))
        run.append_answer(answer("trajectory", "f0", "", status="failed", explanation="HTTP 503"))
    return tmp_path / "run"


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(score_command.command, [str(word) for word in arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.output


# --- export ---


def test_export_is_in_the_official_layout(run_folder: Path, tmp_path: Path) -> None:
    files = export_official(read_run(run_folder), tmp_path / "out", "Qwen/Qwen3-VL-8B")
    results = tmp_path / "out" / "Qwen_Qwen3-VL-8B" / "results"
    tasks = ("ed_v", "edist_s", "position", "tds_hard")
    assert files == [results / f"{TASKS[key].official_name}.json" for key in tasks]
    assert sorted(results.iterdir()) == sorted(files)
    records = json.loads(files[0].read_text(encoding="utf-8"))
    assert [r["pred"] for r in records] == ["-134", "\u2013130\u00b0", "I can't tell", ""]
    assert records[0] == {
        **question_fields("ed_v", "d0", extra={"kept": ["as", 1, "is"]}),
        "pred": "-134",
        "gt": "-134",
    }
    left_out = json.loads((results.parent / "not_answered.json").read_text())
    assert [(entry["uid"], entry["status"], entry["reason"]) for entry in left_out] == [
        ("f0", "failed", "HTTP 503"),
        ("s", "skipped", "video v.mp4 missing"),
    ]


def test_there_and_back_scores_the_same(run_folder: Path, tmp_path: Path) -> None:
    run = read_run(run_folder)
    export_official(run, tmp_path / "out", "model")
    mine = score_run(run)
    for path in (tmp_path / "out", tmp_path / "out" / "model", tmp_path / "out" / "model" / "results"):
        back = read_official(path)
        assert not back.skipped and len(back.files) == 4
        theirs = score_records(back.records.values(), back.skipped)
        assert theirs.average == mine.average and theirs.standard_error == mine.standard_error
        assert theirs.unparsed == mine.unparsed == 3
        assert {uid: r.pred for uid, r in back.records.items()} == {uid: r.pred for uid, r in run.answered.items()}


def test_export_does_not_mix_two_runs(run_folder: Path, tmp_path: Path) -> None:
    export_official(read_run(run_folder), tmp_path / "out", "model")
    with RunFolder.open(tmp_path / "other", RunHeader({"name": "other"})) as run:
        run.append_answer(answer("gp_s", "g0", "1 2"))
        with pytest.raises(RunError, match="holds results already"):
            export_official(run.data, tmp_path / "out", "model")
        (file,) = export_official(run.data, tmp_path / "out", "model", overwrite=True)
    assert list(file.parent.iterdir()) == [file]


def test_nothing_to_export_and_nowhere_to_write(run_folder: Path, tmp_path: Path) -> None:
    with (
        RunFolder.open(tmp_path / "empty", RunHeader({"name": "x"})) as run,
        pytest.raises(RunError, match="no answer"),
    ):
        export_official(run.data, tmp_path / "out", "model")
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        export_official(read_run(run_folder), tmp_path / "file", "model")


@pytest.mark.parametrize(
    ("model", "folder"),
    [
        ("GPT-5", "GPT-5"),
        ("Qwen/Qwen3-VL-8B", "Qwen_Qwen3-VL-8B"),
        ("../../etc", "etc"),
        ("a b:c", "a_b_c"),
        ("x" * 500, "x" * 120),
    ],
)
def test_a_model_name_is_one_folder(model: str, folder: str) -> None:
    assert folder_name(model) == folder


def test_a_model_without_a_name() -> None:
    with pytest.raises(RunError, match="pass --model NAME"):
        folder_name("../..")


def test_command_exports_and_says_where(run_folder: Path, tmp_path: Path) -> None:
    text = invoke(run_folder, "--export", tmp_path / "out", "--model", "m")
    assert "wrote 4 result file(s)" in text and "2 questions without an answer" in text
    results = tmp_path / "out" / "m" / "results"
    assert json.loads(invoke(results, "--json"))["average"] == json.loads(invoke(run_folder, "--json"))["average"]
    with pytest.raises(GstError, match="official already"):
        invoke(results, "--export", tmp_path / "again")


# --- reading what others wrote ---


def write(path: Path, records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(records if isinstance(records, str) else json.dumps(records))
    return path


DIRECTION = "Object_Localization_Egocentric_Direction_visual"
RECORDS = [
    {"uid": "a", "task": DIRECTION, "answer": "-134", "pred": "-134", "gt": "-134"},
    {"uid": "b", "task": DIRECTION, "answer": "10", "pred": "100", "gt": "10"},
]


@pytest.mark.parametrize(
    "records",
    [
        RECORDS,
        {r["uid"]: {k: v for k, v in r.items() if k != "uid"} for r in RECORDS},
        {"model": "m", "results": RECORDS},
        "\ufeff" + "\r\n".join(map(json.dumps, RECORDS)) + "\r\n",
        [{**r, "prediction": r["pred"], "pred": None} for r in RECORDS],
        [{k: v for k, v in r.items() if k != "gt"} for r in RECORDS],
        [{k: v for k, v in r.items() if k != "task"} for r in RECORDS],
        [{**r, "pred": [r["pred"]]} for r in RECORDS],
        [{**r, "pred": int(r["pred"]), "gt": int(r["gt"])} for r in RECORDS],
    ],
    ids=[
        "list",
        "by uid",
        "inside",
        "lines",
        "prediction",
        "answer for gt",
        "task from name",
        "batch of one",
        "numbers",
    ],
)
@pytest.mark.parametrize("extension", ["json", "jsonl"])
def test_forms_of_result_files(tmp_path: Path, records: Any, extension: str) -> None:
    file = write(tmp_path / "results" / f"Object_Localization_Egocentric_Direction_visual.{extension}", records)
    for path in (tmp_path, tmp_path / "results", file):
        found = read_official(path)
        score = score_records(found.records.values(), found.skipped)
        assert not found.skipped
        assert score.tasks["ed_v"].answered == 2 and score.average == 50.0


def test_predictions_of_other_types(tmp_path: Path) -> None:
    def of(task: str, uid: str, pred: Any, gt: Any) -> dict[str, Any]:
        return {"uid": uid, "task": TASKS[task].official_name, "pred": pred, "gt": gt}

    records = [
        of("position", "p", [391, 698], "<point>391 698</point>"),
        of("edist_v", "m", 13.2, 13.2),
        of("gp_s", "n", None, "1 2"),
    ]
    found = read_official(write(tmp_path / "all.json", records))
    score = score_records(found.records.values(), found.skipped)
    assert score.tasks["position"].score == 100.0 and score.tasks["edist_v"].score == 100.0
    assert score.tasks["gp_s"].failed == 1 and score.tasks["gp_s"].score is None


def test_an_empty_prediction_is_an_answer_and_a_missing_one_is_none(tmp_path: Path) -> None:
    records = [{**RECORDS[0], "pred": ""}, {k: v for k, v in RECORDS[1].items() if k != "pred"}]
    found = read_official(write(tmp_path / "all.json", records))
    task = score_records(found.records.values(), found.skipped).tasks["ed_v"]
    assert not found.skipped
    assert (task.answered, task.unparsed, task.failed, task.score) == (1, 1, 1, 0.0)


def test_answers_that_are_no_answers_are_unparsed_and_not_lost(tmp_path: Path) -> None:
    records = [
        {**RECORDS[0], "uid": str(i), "pred": pred} for i, pred in enumerate((float("nan"), "\ud800", {}, [], False))
    ]
    found = read_official(write(tmp_path / "results" / "all.json", records))
    task = score_records(found.records.values(), found.skipped).tasks["ed_v"]
    assert (task.answered, task.unparsed, task.failed, task.skipped) == (5, 5, 0, 0)


def test_a_result_file_without_a_single_good_record_is_not_overlooked(tmp_path: Path) -> None:
    write(tmp_path / "results" / f"{DIRECTION}.json", ["text", 3])
    write(tmp_path / "results" / "all.json", RECORDS)
    assert len(read_official(tmp_path).skipped) == 2


def test_repeated_and_bad_records_are_counted(tmp_path: Path) -> None:
    records = [
        *RECORDS,
        {**RECORDS[1], "pred": "10"},
        RECORDS[0],
        {**RECORDS[0], "uid": "c", "task": "Juggling"},
        {k: v for k, v in RECORDS[0].items() if k not in ("gt", "answer")} | {"uid": "d"},
        {
            **RECORDS[0],
            "uid": "a",
            "task": "Global_Structure_Understanding_Topdown_Selection_Easy",
            "gt": "C",
            "pred": "C",
        },
        "not a record",
    ]
    found = read_official(write(tmp_path / "all.json", records))
    assert found.records["b"].pred == "10", "the last record counts"
    assert found.records["a@tds_easy"].pred == "C", "one uid in two tasks is two questions"
    assert [(s.uid.split("/")[-1], s.field) for s in found.skipped] == [
        ("b", "uid"),
        ("a", "uid"),
        ("c", "task"),
        ("d", "gt"),
        ("all.json record 8", ""),
    ]
    assert "with the other answer" in found.skipped[0].reason and "with the same answer" in found.skipped[1].reason


def test_files_beside_the_results_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "results" / "all.json", RECORDS)
    write(tmp_path / "results" / "metrics.json", {"average": 12.0})
    write(tmp_path / "results" / ".hidden.json", "{")
    assert [file.name for file in read_official(tmp_path).files] == ["all.json"]


def test_several_models_are_not_mixed(tmp_path: Path) -> None:
    for model in ("A", "B"):
        write(tmp_path / model / "results" / "all.json", RECORDS)
    with pytest.raises(RunError, match=r"holds the results of 2 models \(A, B\)"):
        read_official(tmp_path)
    assert len(read_official(tmp_path / "A").records) == 2


def test_a_broken_result_file_is_one_error(tmp_path: Path) -> None:
    file = write(tmp_path / "results" / "all.json", json.dumps(RECORDS)[:-20])
    with pytest.raises(QuestionError, match=f"{file}: is not JSON"):
        read_official(tmp_path)


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (None, "has no task"),
        ("", "has no task"),
        ({}, "task is a mapping"),
        ({"a": 1}, "task is a mapping"),
        (5, "task is a number"),
        ("zzz", "unknown task 'zzz'"),
    ],
)
def test_a_record_with_no_task_to_be_found(tmp_path: Path, task: Any, reason: str) -> None:
    good = {"uid": "good", "task": "ed_v", "gt": "1", "pred": "1"}
    write(tmp_path / "some.json", [good, {**good, "uid": "bad", "task": task}])
    found = read_official(tmp_path / "some.json")
    assert list(found.records) == ["good"]
    assert [(skip.uid, skip.field) for skip in found.skipped] == [("bad", "task")] and reason in found.skipped[0].reason


def test_a_record_nested_too_deeply_is_counted(tmp_path: Path) -> None:
    deep: Any = "B"
    for _ in range(300):
        deep = [deep]
    good = {"uid": "good", "task": "ed_v", "gt": "1", "pred": "1"}
    write(tmp_path / "some.json", [good, {**good, "uid": "p", "pred": deep}, {**good, "uid": "g", "gt": deep}])
    found = read_official(tmp_path / "some.json")
    assert list(found.records) == ["good"] and [skip.field for skip in found.skipped] == ["pred", "gt"]
