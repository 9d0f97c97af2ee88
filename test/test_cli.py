"""The ``gst`` command: its group, and ``gst eval`` without ROS."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from tiny_set import make_question, make_set, records_of, write_questions

from gst_ros import __version__
from gst_ros.cli import main as cli
from gst_ros.errors import GstError, SessionError

WITHOUT_ROS = """
import sys
class WithoutRos:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        ros = name.split(".")[0] in ("rclpy", "gst_interfaces", "sensor_msgs", "std_srvs", "rcl_interfaces")
        return None if ros else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [WithoutRos(finder) for finder in sys.meta_path]
from gst_ros.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


def gst(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = cli.run([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def without_ros(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_ROS, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def test_help_lists_every_subcommand_and_version_is_the_packages(capsys) -> None:
    code, out, _ = gst("--help", capsys=capsys)
    assert code == 0
    assert {"eval", "replay", "score", "leaderboard"} <= set(re.findall(r"^  ([a-z-]+) ", out, re.MULTILINE))
    assert gst("--version", capsys=capsys)[:2] == (0, f"gst {__version__}\n")
    assert gst(capsys=capsys)[0] == 0


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys\nfrom gst_ros.cli.main import run\nrun(['--help'])\n"
        "print(sorted(m for m in ('av', 'cv2', 'numpy', 'rclpy', 'rich', 'torch', 'tqdm', 'yaml') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("word", "remedy"),
    [("evla", "did you mean 'eval'?"), ("leader-board", "did you mean 'leaderboard'?"), ("xyz", "known:")],
)
def test_unknown_commands_name_the_nearest(capsys, word: str, remedy: str) -> None:
    code, _, err = gst(word, capsys=capsys)
    assert code == 2 and remedy in err and err.startswith("gst: error: no such command") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (
            GstError("is torn", file="run", field="uid", remedy="resume"),
            2,
            "gst: error: run: field 'uid': is torn (resume)\n",
        ),
        (SessionError("node x\ndied"), 3, "gst: error: node x died\n"),
        (KeyboardInterrupt(), 130, "\ngst: interrupted\n"),
        (click.UsageError("No such option '--x'."), 2, "gst: error: No such option '--x'; see 'gst eval --help'\n"),
    ],
)
def test_errors_are_one_line_with_their_exit_code(
    capsys, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, text: str
) -> None:
    @click.command("fails")
    def fails() -> None:
        raise error

    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda self, ctx, name: fails)
    assert gst("eval", capsys=capsys) == (code, "", text)


def test_defects_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command("fails")
    def fails() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda self, ctx, name: fails)
    with pytest.raises(ZeroDivisionError):
        cli.run(["eval"])


def test_eval_without_ros_needs_no_ros(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=2, questions=5)
    done = without_ros("eval", "--no-ros", "--questions", file, "--output", tmp_path / "run", "--seed", 3)
    assert done.returncode == 0, done.stderr
    assert "Average of 4 of 12 tasks" in done.stdout
    assert len(records_of(tmp_path / "run", "answer")) == 5
    header = json.loads((tmp_path / "run" / "run.json").read_text())
    assert header["answerer"]["answerer_seed"] == 3 and header["info"]["transport"] == "in-process"

    again = without_ros("eval", "--no-ros", "--questions", file, "--output", tmp_path / "run", "--seed", 3)
    assert again.returncode == 0 and "5 of them answered before" in again.stderr
    assert len(records_of(tmp_path / "run", "answer")) == 5


@pytest.mark.parametrize("command", ["eval", "replay"])
def test_without_ros_the_others_say_how_to_get_it(tmp_path: Path, command: str) -> None:
    arguments = {"eval": ("--output", tmp_path / "run"), "replay": (tmp_path,)}[command]
    done = without_ros(command, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("gst: error: ROS 2 is not") and "scripts/setup.sh" in done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "run").exists()


def test_the_bundled_questions_are_the_default_and_the_run_folder_is_named(tmp_path: Path) -> None:
    source = str(Path(cli.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": source}
    done = without_ros("eval", "--no-ros", "--limit", 2, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "runs").iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-\d{6}-random", run.name)
    assert len(records_of(run, "answer")) == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--questions", "nowhere.json"], "nowhere.json: does not exist"),
        (["--answerer", "randon"], "did you mean 'random'?"),
        (["--tasks", "ed_x"], "ed_x"),
        (["--set", "evaluator.limit=-1"], "limit"),
        (["--set", "evaluator.limt=1"], "did you mean 'limit'?"),
        (["--set", "spatial_reasoning.answerer_seed=y"], "answerer_seed"),
        (["--params", "nowhere.yaml"], "nowhere.yaml"),
        (["--rate", "0"], "rate"),
        (["--mode", "realtime"], "leave out --no-ros"),
        (["--mode", "lockstop"], "lockstep"),
        (["--answerer", "scripted"], "answers_file"),
        (["--set", "evaluator.scoring=nowhere.yaml"], "nowhere.yaml"),
        (["--set", "spatial_reasoning.answerer_sed=0"], "did you mean 'answerer_seed'"),
        (["--answerer", "random", "--answers", "mine.json"], "add --answerer scripted"),
        (["--rate", "2"], "add --mode realtime"),
    ],
)
def test_bad_options_are_one_clear_line_and_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, arguments: list[str], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = make_set(tmp_path / "set", questions=2)
    given = [] if "--questions" in arguments else ["--questions", file]
    code, _, err = gst("eval", "--no-ros", "--output", tmp_path / "run", *given, *arguments, capsys=capsys)
    assert code == 2 and problem in err
    assert err.startswith("gst: error: ") and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_failed_questions_give_exit_code_3_and_a_scripted_run_can_be_completed(tmp_path: Path, capsys) -> None:
    file = make_set(tmp_path / "set", questions=3)
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps({"question_000": "-134", "question_002": "I can't tell"}))
    options = ("eval", "--no-ros", "--questions", file, "--output", tmp_path / "run", "--answerer", "scripted")
    code, _, err = gst(*options, "--answers", answers, capsys=capsys)
    assert code == 3 and "questions that failed: 1; run the same command again" in err and "question_001" in err
    answers.write_text(json.dumps({"question_000": "0", "question_001": "3.2", "question_002": "1 2"}))
    code, _, _ = gst(*options, "--answers", answers, capsys=capsys)
    assert code == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["answered"], summary["unparsed"], summary["failed"]) == (3, 1, 0)
    assert summary["tasks"]["ed_v"]["score"] == 100.0


def test_skipped_questions_are_shown_with_their_reason(tmp_path: Path, capsys) -> None:
    file = make_set(tmp_path / "set", questions=1)
    write_questions(file, [make_question(0, "clip0"), make_question(1, "gone.mp4")])
    code, out, _ = gst("eval", "--no-ros", "--questions", file, "--output", tmp_path / "run", capsys=capsys)
    assert code == 0 and "video gone.mp4 missing" in out


def test_parameters_that_only_nodes_understand_are_named(tmp_path: Path, capsys) -> None:
    file = make_set(tmp_path / "set", questions=1)
    params = tmp_path / "params.yaml"
    params.write_text("spatial_reasoning:\n  ros__parameters: {image_transport: compressed, use_sim_time: true}\n")
    options = ("--questions", file, "--output", tmp_path / "run", "--params", params)
    code, _, err = gst("eval", "--no-ros", *options, capsys=capsys)
    assert code == 0 and "mean nothing: image_transport, use_sim_time" in err


# --- where the output goes ---

NEEDS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("results") / "ed_v.json"
    file.write_text(json.dumps([{"uid": str(n), "task": "ed_v", "gt": "90", "pred": "90"} for n in range(3)]))
    return file


def gst_process(
    *arguments: object, stdout: Any = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gst_ros.cli.main", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2]), **environment},
        stdout=stdout, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("command", ["score", "leaderboard"])
def test_an_encoding_without_our_letters(results: Path, command: str, encoding: str) -> None:
    done = gst_process(command, results, PYTHONIOENCODING=encoding)
    assert done.returncode == 0 and done.stderr == ""
    assert "100.00" in done.stdout


@NEEDS_FULL
@pytest.mark.parametrize("arguments", [["score"], ["score", "--json"], ["leaderboard"]])
def test_output_that_cannot_be_written_is_one_line(results: Path, arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = gst_process(*arguments, results, stdout=full)
    assert done.returncode == 3
    assert done.stderr.startswith("gst: error: ") and "No space left" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["score"], ["score", "--json"], ["leaderboard"]])
def test_a_reader_that_has_gone_is_no_error(results: Path, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = gst_process(*arguments, results, stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
