from __future__ import annotations

import dataclasses
import errno
import json
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gst_ros.bench.questions import Skipped
from gst_ros.bench.records import AnswerRecord, RunFolder, RunHeader, read_run
from gst_ros.errors import DiskError, RunError

HEADER = RunHeader(
    answerer={"name": "random", "params": {"answerer_seed": 0}},
    config={"scoring": {"angle_thresholds_deg": [15.0, 30.0]}},
    frames={"policy": "uniform", "count": 16},
    questions_sha256="abc",
    info={"versions": {"numpy": "1"}},
)


def answer(uid: str, **fields: Any) -> AnswerRecord:
    return AnswerRecord(**{"uid": uid, "task": "ed_v", "gt": "-134", "pred": "12", "question": {"uid": uid}, **fields})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run with three answers, a skip, a video and an event in it."""
    path = tmp_path / "run"
    with RunFolder.open(path, HEADER) as run:
        run.append_skip(Skipped("s", "gp_v", "video v.mp4 missing", "q.json", "copied_video_path"))
        run.append_video({"video": "video1.mp4", "frames_sent": 535, "frames_received": 535})
        for uid in "abc":
            run.append_answer(answer(uid))
        run.append_event({"event": "note"})
    return path


def lines(path: Path, kind: str) -> list[dict[str, Any]]:
    entries = [json.loads(line) for line in (path / "records.jsonl").read_bytes().splitlines()]
    return [entry for entry in entries if entry["kind"] == kind]


# --- what is written is what is read ---


def test_everything_comes_back(tmp_path: Path) -> None:
    record = answer(
        "a",
        scene="scene_1",
        pred="“–134°” \u2028 \x00 \ud800 \U0001f600",
        value=(391.0, 698.5),
        matched="391",
        parse_status="parsed",
        score=0.25,
        confidence=0.5,
        explanation="why",
        seconds=1.5,
        video="v.mp4",
        frames_received=16,
        prompt_sha256="12",
        question={"uid": "a", "texts": ["x\ny"], "answer": "-134"},
    )
    with RunFolder.open(tmp_path / "run", HEADER) as run:
        run.append_answer(record)
        assert run.answered == {"a": record}
        assert run.data.answers == {"a": record}
    data = read_run(tmp_path / "run")
    assert data.answers == {"a": record}
    assert data.header == HEADER and not data.torn
    assert (tmp_path / "run" / "records.jsonl").read_bytes().isascii()
    assert dataclasses.replace(record, status="failed").status == "failed"


def test_all_kinds_are_kept_apart(folder: Path) -> None:
    data = read_run(folder)
    assert list(data.answers) == ["a", "b", "c"]
    assert data.skipped == [Skipped("s", "gp_v", "video v.mp4 missing", "q.json", "copied_video_path")]
    assert [video["frames_sent"] for video in data.videos] == [535]
    assert [event["event"] for event in data.events] == ["started", "note"]
    assert all(entry["time"] for kind in ("answer", "skip", "video", "event") for entry in lines(folder, kind))


def test_numbers_that_json_does_not_know_never_cost_an_answer(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, HEADER) as run:
        run.append_answer(answer("a", confidence=float("nan"), seconds=np.float32(0.5), question={"x": math.inf}))
        run.append_event({"event": "x", "array": np.arange(3), "path": Path("a/b"), "set": (1, 2)})
    data = read_run(tmp_path)
    assert data.answers["a"].confidence is None and data.answers["a"].question == {"x": None}
    assert data.events[-1]["array"] == [0, 1, 2] and data.events[-1]["path"] == "a/b"
    assert b"NaN" not in (tmp_path / "records.jsonl").read_bytes()


def test_an_empty_answer_stays_an_answer(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, HEADER) as run:
        run.append_answer(answer("a", pred="", parse_status="unparsed", score=0.0))
    with RunFolder.open(tmp_path, HEADER, resume=True) as run:
        assert run.answered["a"].pred == "" and run.answered["a"].score == 0.0
        with pytest.raises(ValueError, match="must not be asked twice"):
            run.append_answer(answer("a", pred="12"))
    assert [entry["pred"] for entry in lines(tmp_path, "answer")] == [""]


def test_a_failed_answer_is_recorded_and_asked_again(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, HEADER) as run:
        run.append_answer(answer("a", status="failed", pred="", explanation="HTTP 503"))
        assert run.answered == {}
    with RunFolder.open(tmp_path, HEADER, resume=True) as run:
        assert run.answered == {} and run.data.answers["a"].explanation == "HTTP 503"
        run.append_answer(answer("a", pred="-134"))
    assert read_run(tmp_path).answered["a"].pred == "-134"
    assert len(lines(tmp_path, "answer")) == 2


def test_a_skip_is_recorded_once_and_ends_when_the_question_is_asked(tmp_path: Path) -> None:
    skip = Skipped("a", "ed_v", "video v.mp4 missing", "q.json", "copied_video_path")
    twin = Skipped("b", "ed_v", "duplicate uid (another question has this uid)", "q.json record 2", "uid")
    for _ in range(3):
        with RunFolder.open(tmp_path, HEADER, resume=True) as run:
            run.append_skip(skip)
            run.append_skip(twin)
    assert len(lines(tmp_path, "skip")) == 2
    with RunFolder.open(tmp_path, HEADER, resume=True) as run:
        assert run.data.skipped == [skip, twin]
        run.append_answer(answer("a"))
        run.append_answer(answer("b"))
        assert run.data.skipped == [twin]
    assert read_run(tmp_path).skipped == [twin]


def test_summary_is_written_whole(folder: Path) -> None:
    with RunFolder.open(folder, HEADER, resume=True) as run:
        run.write_summary({"average": math.nan, "tasks": {"ed_v": {"score": 1.5}}})
        run.write_summary({"average": 2.0})
    assert json.loads((folder / "summary.json").read_text()) == {"average": 2.0}
    assert sorted(p.name for p in folder.iterdir()) == [".lock", "records.jsonl", "run.json", "summary.json"]


# --- torn and damaged records ---


def test_a_torn_last_line_at_every_byte(folder: Path) -> None:
    with RunFolder.open(folder, HEADER, resume=True) as run:
        run.append_answer(answer("last", pred="\u2013134", question={"deep": [{}, [1]]}))
    file = folder / "records.jsonl"
    whole = file.read_bytes()
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    for length in range(start, len(whole) + 1):
        file.write_bytes(whole[:length])
        # All of the record is there when only its newline is missing.
        expected = ["a", "b", "c", "last"] if length >= len(whole) - 1 else ["a", "b", "c"]
        data = read_run(folder)
        assert list(data.answers) == expected
        assert data.torn == (start < length < len(whole) - 1)
        assert file.read_bytes() == whole[:length], "reading must not change a run"


@pytest.mark.parametrize("keep", [1, 30, 120])
def test_reopening_cuts_off_the_torn_line_and_keeps_a_copy(folder: Path, keep: int) -> None:
    file = folder / "records.jsonl"
    whole = file.read_bytes()
    torn = b'{"kind": "answer", "uid": "torn", "task": "ed_v", "pred": "' + b"x" * 200
    file.write_bytes(whole + torn[:keep])
    with RunFolder.open(folder, HEADER, resume=True) as run:
        assert sorted(run.answered) == ["a", "b", "c"]
        run.append_answer(answer("torn"))
    assert file.read_bytes().startswith(whole)
    assert (folder / "records.torn").read_bytes() == torn[:keep] + b"\n"
    assert sorted(read_run(folder).answers) == ["a", "b", "c", "torn"]


def test_a_last_line_without_its_newline_is_no_loss(folder: Path) -> None:
    file = folder / "records.jsonl"
    with RunFolder.open(folder, HEADER, resume=True) as run:
        run.append_answer(answer("last"))
    file.write_bytes(file.read_bytes()[:-1])
    with RunFolder.open(folder, HEADER, resume=True) as run:
        assert "last" in run.answered
        run.append_answer(answer("next"))
    assert list(read_run(folder).answers)[-2:] == ["last", "next"]
    assert not (folder / "records.torn").exists()


def test_zeros_at_the_end_after_a_power_failure(folder: Path) -> None:
    with (folder / "records.jsonl").open("ab") as stream:
        stream.write(b"\0" * 4096)
    assert read_run(folder).torn
    with RunFolder.open(folder, HEADER, resume=True) as run:
        assert sorted(run.answered) == ["a", "b", "c"]
    assert not read_run(folder).torn


@pytest.mark.parametrize("damage", [b"{broken}", b"\0\0\0", b"[1]", b'{"kind": "answer", "uid": "a"', b"\xff\xfe"])
def test_damage_before_the_last_line_is_named_and_nothing_is_touched(folder: Path, damage: bytes) -> None:
    file = folder / "records.jsonl"
    whole = file.read_bytes().splitlines(keepends=True)
    whole[2] = damage + b"\n"
    file.write_bytes(b"".join(whole))
    for use in (lambda: read_run(folder), lambda: RunFolder.open(folder, HEADER, resume=True)):
        with pytest.raises(RunError, match=r"records\.jsonl: line 3 is damaged"):
            use()
    assert file.read_bytes() == b"".join(whole)


@pytest.mark.parametrize(
    "entry",
    [
        {"uid": "a", "task": "ed_v"},
        {"kind": "answer", "task": "ed_v", "pred": "", "status": "answered"},
        {"kind": "answer", "uid": "a", "task": "ed_v", "pred": "", "status": "perhaps"},
        {"kind": "answer", "uid": "a", "task": "ed_v", "pred": None, "status": "answered"},
        {"kind": "skip", "uid": "a"},
        {"kind": "skip", "uid": [], "task": None, "reason": "", "file": "", "field": ""},
        {"kind": "skip", "uid": "a", "task": None, "reason": 5, "file": "", "field": ""},
        {"kind": "video", "video": "v.mp4", "frames_sent": "many"},
    ],
)
def test_a_line_of_something_else_is_refused(folder: Path, entry: dict[str, Any]) -> None:
    with (folder / "records.jsonl").open("a") as stream:
        stream.write(json.dumps(entry) + "\n")
    with pytest.raises(RunError, match="is not a record of a run"):
        read_run(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("question", 5),
        ("question", [1]),
        ("question", None),
        ("scene", 5),
        ("explanation", []),
        ("score", "high"),
        ("score", True),
        ("seconds", None),
        ("frames_received", "16"),
        ("value", [1, "2"]),
        ("value", {}),
        ("uid", 5),
        ("task", None),
        ("status", []),
    ],
)
def test_a_field_of_another_type_is_named_with_its_line(folder: Path, name: str, value: Any) -> None:
    entry = {"kind": "answer", "uid": "a", "task": "ed_v", "pred": "1", "status": "answered", name: value}
    with (folder / "records.jsonl").open("a") as stream:
        stream.write(json.dumps(entry) + "\n")
    number = len((folder / "records.jsonl").read_bytes().splitlines())
    with pytest.raises(RunError, match=rf"records\.jsonl: line {number} is not .* field '{name}'"):
        read_run(folder)


def test_a_question_nested_too_deeply_in_a_record(folder: Path) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = {"a": deep}
    with (folder / "records.jsonl").open("a") as stream:
        record = {"kind": "answer", "uid": "a", "task": "ed_v", "pred": "1", "status": "answered", "question": deep}
        stream.write(json.dumps(record) + "\n")
    with pytest.raises(RunError, match="64 levels in field 'question'"):
        read_run(folder)


def test_blank_lines_and_windows_line_ends_of_an_editor(folder: Path) -> None:
    file = folder / "records.jsonl"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert list(read_run(folder).answers) == ["a", "b", "c"]


def test_fields_of_a_later_version_do_not_disturb(folder: Path) -> None:
    file = folder / "records.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"kind": "answer"', b'"kind": "answer", "tokens": 12'))
    assert list(read_run(folder).answers) == ["a", "b", "c"]


# --- opening ---


def test_a_run_is_not_overwritten(folder: Path) -> None:
    with pytest.raises(RunError, match="holds a run already"):
        RunFolder.open(folder, HEADER)
    assert len(read_run(folder).answers) == 3


def test_resume_without_a_run_begins_one(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "new" / "run", HEADER, resume=True) as run:
        run.append_answer(answer("a"))
    assert list(read_run(tmp_path / "new" / "run").answers) == ["a"]


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RunError, match=r"holds no run \(there is 'thesis.tex'\)"):
        RunFolder.open(tmp_path, HEADER, resume=True)
    assert not (tmp_path / "run.json").exists()


def test_killed_before_the_first_record(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("")
    (tmp_path / ".tmp-abc").write_text('{"for')
    with RunFolder.open(tmp_path, HEADER, resume=True) as run:
        run.append_answer(answer("a"))
    (tmp_path / "records.jsonl").unlink()
    with RunFolder.open(tmp_path, HEADER, resume=True) as run:
        assert run.answered == {}


def test_a_path_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        RunFolder.open(tmp_path / "file", HEADER)
    with pytest.raises(RunError, match="is no folder"):
        read_run(tmp_path / "file")
    with pytest.raises(RunError, match="it is no run folder"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"answerer": {"name": "scripted", "params": {"answerer_seed": 0}}}, "name is 'random', now 'scripted'"),
        ({"answerer": {"name": "random", "params": {"answerer_seed": 1}}}, "answerer.params.answerer_seed is 0, now 1"),
        ({"frames": {"policy": "uniform", "count": 64}}, "frames.count is 16, now 64"),
        ({"frames": {"policy": "all"}}, "frames.count is 16, now 'absent'"),
        ({"config": {"scoring": {"angle_thresholds_deg": [15.0]}}}, "now [15.0]"),
        ({"questions_sha256": "def"}, "questions_sha256 is 'abc', now 'def'"),
        ({"prompt_sha256": "x"}, "prompt_sha256 is '', now 'x'"),
    ],
)  # fmt: skip
def test_another_configuration_is_refused_by_name(folder: Path, change: dict[str, Any], text: str) -> None:
    before = (folder / "records.jsonl").read_bytes()
    with pytest.raises(RunError) as caught:
        RunFolder.open(folder, dataclasses.replace(HEADER, **change), resume=True)
    assert text in str(caught.value) and "\n" not in str(caught.value)
    assert (folder / "records.jsonl").read_bytes() == before


def test_other_software_may_go_on_and_is_noted(folder: Path) -> None:
    newer = dataclasses.replace(HEADER, info={"versions": {"numpy": "2"}})
    with RunFolder.open(folder, newer, resume=True) as run:
        assert run.header.info == HEADER.info
    resumed = read_run(folder).events[-1]
    assert resumed["event"] == "resumed" and resumed["info"]["versions"] == {"numpy": "2"}
    assert resumed["answered"] == 3


def test_header_types_survive_the_round_trip(tmp_path: Path) -> None:
    header = dataclasses.replace(HEADER, config={"a": (1, 2), "b": Path("x"), "c": np.float64(0.5), "d": None, "e": {}})
    RunFolder.open(tmp_path, header).close()
    RunFolder.open(tmp_path, header, resume=True).close()
    with pytest.raises(RunError, match=r"config\.c is 0\.5, now 1\.0"):
        RunFolder.open(tmp_path, dataclasses.replace(header, config={**header.config, "c": 1.0}), resume=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "is empty, .*safe in records.jsonl.*another --output"), ("{", "is torn or damaged"), ("[]", "torn"),
     ("{}", "not the header"), ("[" * 900 + "]" * 900, "damaged"), ('{"format": 1, "config": ' + '{"a":' * 99 + "1"
     + "}" * 100, "not the header"), ('{"format": 99}', "newer version"),
     ('{"format": 1, "answerer": 5}', "field 'answerer'")],
)  # fmt: skip
def test_a_damaged_header(folder: Path, text: str, problem: str) -> None:
    (folder / "run.json").write_text(text)
    with pytest.raises(RunError, match=problem):
        RunFolder.open(folder, HEADER, resume=True)
    with pytest.raises(RunError, match=problem):
        read_run(folder)


def test_two_writers(folder: Path) -> None:
    with RunFolder.open(folder, HEADER, resume=True) as first:
        with pytest.raises(RunError, match=f"another process writes to this run \\(pid {os.getpid()} on"):
            RunFolder.open(folder, HEADER, resume=True)
        first.append_answer(answer("d"))
        assert len(read_run(folder).answers) == 4  # readers are always welcome
    RunFolder.open(folder, HEADER, resume=True).close()


def test_a_refused_folder_is_not_left_locked(folder: Path) -> None:
    with pytest.raises(RunError):
        RunFolder.open(folder, dataclasses.replace(HEADER, questions_sha256="x"), resume=True)
    RunFolder.open(folder, HEADER, resume=True).close()


def test_a_closed_folder_takes_nothing(folder: Path) -> None:
    run = RunFolder.open(folder, HEADER, resume=True)
    run.close()
    run.close()
    with pytest.raises(ValueError, match="closed"):
        run.append_answer(answer("d"))


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import resource, signal, sys
        from test_records import HEADER, answer
        from gst_ros.bench.records import RunFolder
        from gst_ros.errors import RunError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        run = RunFolder.open(sys.argv[1], HEADER)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
        try:
            for number in range(1000):
                run.append_answer(answer(str(number), pred="x" * 300))
        except RunError as error:
            print(number, error.exit_code, error)
    """)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "run")],
        env=child_environment(), capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    failed_at, _, text = done.stdout.partition(" ")
    assert (
        text.startswith("3 ")
        and "a record cannot be written" in text
        and "is kept" in text
        and "free disk space" in text
    )
    data = read_run(tmp_path / "run")
    assert list(data.answers) == [str(number) for number in range(int(failed_at))]
    assert not data.torn


@pytest.mark.parametrize("name", ["records.jsonl", "records.torn"])
def test_a_folder_in_place_of_a_file(folder: Path, name: str) -> None:
    if name == "records.jsonl":
        (folder / name).unlink()
    else:
        with (folder / "records.jsonl").open("ab") as stream:
            stream.write(b'{"kind"')
    (folder / name).mkdir()
    with pytest.raises(RunError, match=rf"{name}: is (not a file|a directory)|Is a directory") as caught:
        RunFolder.open(folder, HEADER, resume=True)
    assert caught.value.exit_code == 2
    (folder / name).rmdir()
    RunFolder.open(folder, HEADER, resume=True).close()


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, DiskError), (errno.EIO, DiskError), (errno.EACCES, RunError)]
)
def test_a_disk_that_fails_while_the_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[RunError]
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        with pytest.raises(RunError, match=os.strerror(number)) as caught:
            RunFolder.open(tmp_path / "run", HEADER)
    assert type(caught.value) is kind and caught.value.exit_code == (3 if kind is DiskError else 2)
    with RunFolder.open(tmp_path / "run", HEADER, resume=True) as run:
        run.append_answer(answer("a"))
    assert list(read_run(tmp_path / "run").answers) == ["a"]


# --- kill -9 ---

WRITER = textwrap.dedent("""
    import os, signal, sys
    from gst_ros.bench import records

    header = records.RunHeader({"name": "random"})
    folder, count, die_at, die_after_bytes, most = sys.argv[1], *map(int, sys.argv[2:])
    write = os.write

    def write_and_die(handle, line):
        global die_at
        die_at -= 1
        if die_at == 0:
            write(handle, line[: die_after_bytes % len(line)])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(handle, line)

    with records.RunFolder.open(folder, header, resume=True) as run:
        os.write = write_and_die
        print("open", flush=True)
        for number in range(count):
            uid = f"q{number}"
            if uid not in run.answered:
                print(f"asked {uid}", flush=True)
                run.append_answer(records.AnswerRecord(uid, "ed_v", pred="x" * 10 ** (number % 6)))
                print(f"kept {uid}", flush=True)
                most -= 1
                if most == 0:
                    signal.pause()  # whoever is to kill us may be slow
    print("done", flush=True)
""")


def child_environment() -> dict[str, str]:
    here = Path(__file__).resolve().parent
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(here), str(here.parent), os.environ.get("PYTHONPATH", "")]),
    }


def writer_output(
    folder: Path, count: int, kill_after: tuple[int, float] | None = None, die_in_write: tuple[int, int] = (0, 0)
) -> Iterator[str]:
    """The lines that a writer prints.

    ``kill_after`` (lines, seconds) kills it from outside with SIGKILL; ``die_in_write`` (number of the write, bytes
    written) lets it die of SIGKILL in the middle of a line.
    """
    numbers = (count, *die_in_write, 0 if kill_after is None else 5)
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), *map(str, numbers)],
        env=child_environment(), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        for number, line in enumerate(process.stdout):
            yield line.strip()
            if kill_after is not None and number == kill_after[0]:
                signal.sigtimedwait([], kill_after[1])  # a precise sleep
                process.send_signal(signal.SIGKILL)
                break
        # What it had said before it died is still in the pipe.
        yield from (line.strip() for line in process.stdout)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_kill_9_at_random_moments_loses_nothing_and_asks_nothing_twice(tmp_path: Path) -> None:
    rng = random.Random(5)
    folder, count = tmp_path / "run", 60
    kept: set[str] = set()
    asked: list[str] = []
    torn = 0
    for attempt in range(10):
        if attempt % 2:
            output = list(writer_output(folder, count, die_in_write=(rng.randint(1, 6), rng.randrange(10**6))))
        else:
            output = list(writer_output(folder, count, kill_after=(rng.randrange(9), rng.uniform(0.0, 0.02))))
        assert output[-1:] != ["done"]
        asked += [line.split()[1] for line in output if line.startswith("asked ")]
        kept |= {line.split()[1] for line in output if line.startswith("kept ")}
        data = read_run(folder)
        torn += data.torn
        # All that was reported as kept is there; at most the one being written may be there besides.
        assert kept <= data.answers.keys() and len(data.answers.keys() - kept) <= 1
        kept |= data.answers.keys()
    assert torn >= 4, "the kills in the middle of a line must leave torn lines"
    output = list(writer_output(folder, count))
    asked += [line.split()[1] for line in output if line.startswith("asked ")]
    assert output[-1] == "done"
    uids = [f"q{number}" for number in range(count)]
    data = read_run(folder)
    assert list(data.answered) == uids and not data.torn
    assert all(record.pred == "x" * 10 ** (i % 6) for i, record in enumerate(data.answered.values()))
    assert [entry["uid"] for entry in lines(folder, "answer")] == uids, "each question has one answer in the file"
    # Asked again are only those whose answer was not on the disk when the kill came: at most one for each kill.
    assert len(asked) - len(set(asked)) <= 10
