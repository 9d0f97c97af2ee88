"""The real ``ros2 launch``, where it is installed and knows gst_ros; skipped, with the reason, where not."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import yaml
from tiny_set import make_question, make_set, make_video, records_of, write_image, write_questions

from gst_ros.deployment import EvalOptions, describe_eval

NODES = {"camera_player", "evaluator", "spatial_reasoning"}


@pytest.fixture(scope="module")
def ros2() -> str:
    ros2 = shutil.which("ros2")
    if ros2 is None:
        pytest.skip("ros2 launch is not installed: there is no `ros2` on the PATH")
    if subprocess.run([ros2, "launch", "--help"], capture_output=True, timeout=60).returncode != 0:
        pytest.skip("ros2 launch is not installed: `ros2` has no command `launch`")
    if subprocess.run([ros2, "pkg", "prefix", "gst_ros"], capture_output=True, timeout=60).returncode != 0:
        pytest.skip("`ros2` does not know gst_ros: build it with colcon and source install/setup.bash")
    return ros2


class Launched:
    """A running ``ros2 launch``, its output in a file, and all processes that it has started."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.log = log
        self.children: list[psutil.Process] = []
        with log.open("wb") as stream:
            self.popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                # A test runner in the background ignores Ctrl-C, and its children would inherit that.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait(self, seconds: float = 90.0) -> int:
        """The exit code."""
        try:
            return self.popen.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"ros2 launch does not end:\n{self.output()}")

    def wait_for(self, path: Path, seconds: float = 60.0) -> None:
        """Wait until a file is there, and note the nodes' processes."""
        deadline = time.monotonic() + seconds
        while not path.exists():
            assert self.popen.poll() is None, f"ros2 launch ended too early:\n{self.output()}"
            assert time.monotonic() < deadline, f"no {path}:\n{self.output()}"
            time.sleep(0.05)
        self.children = psutil.Process(self.popen.pid).children(recursive=True)

    def node(self, name: str) -> psutil.Process:
        return next(child for child in self.children if f"__node:={name}" in child.cmdline())

    def orphans(self, seconds: float = 30.0) -> list[psutil.Process]:
        """The nodes that are still there, after some time to end."""
        return psutil.wait_procs(self.children, timeout=seconds)[1]

    def kill(self) -> None:
        for process in self.children:
            if process.is_running():
                process.kill()
        if self.popen.poll() is None:
            for process in psutil.Process(self.popen.pid).children(recursive=True):
                process.kill()
            self.popen.kill()
            self.popen.wait()


Launcher = Callable[..., Launched]


@pytest.fixture
def launch(ros2: str, ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Launcher]:
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros-log"))
    launched: list[Launched] = []

    def start(file: str, **arguments: object) -> Launched:
        words = [f"{name}:={value}" for name, value in arguments.items()]
        launched.append(Launched([ros2, "launch", "gst_ros", file, *words], tmp_path / "launch.log"))
        return launched[-1]

    yield start
    for one in launched:
        one.kill()


@pytest.fixture
def slow_run(launch: Launcher, tmp_path: Path) -> Launched:
    """An evaluation that has begun and would take minutes."""
    make_video(tmp_path / "video.mp4", frames=30)
    write_image(tmp_path / "view0.png", seed=1)
    questions = write_questions(tmp_path / "questions.json", [make_question(0, "video.mp4")])
    launched = launch(
        "eval.launch.py", questions=questions, output=tmp_path / "run", answerer="random", mode="realtime", rate=0.01
    )
    launched.wait_for(tmp_path / "run" / "run.json")
    return launched


def test_an_evaluation_ends_by_itself_with_its_table(launch: Launcher, tmp_path: Path) -> None:
    questions = make_set(tmp_path / "set")
    run = tmp_path / "run"
    launched = launch("eval.launch.py", questions=questions, output=run, answerer="random", mode="lockstep", seed=5)
    assert launched.wait() == 0, launched.output()
    assert "Average" in launched.output()
    assert "Traceback" not in launched.output()
    summary = json.loads((run / "summary.json").read_text())
    assert summary["answered"] == 4
    assert summary["frames_sent"] == summary["frames_received"] == 12
    assert len(records_of(run, "answer")) == 4
    # What the nodes were given is what the deployment describes.
    described = describe_eval(EvalOptions(questions, run, answerer="random", mode="lockstep", seed=5))
    for spec in described.nodes:
        (file,) = (tmp_path / "ros-log").glob(f"*-*/{spec.name}.yaml")
        assert yaml.safe_load(file.read_text()) == {"/**": {"ros__parameters": spec.parameters}}


def test_the_evaluators_own_exit_code_comes_out(launch: Launcher, tmp_path: Path) -> None:
    questions = make_set(tmp_path / "set", videos=1, questions=2, frames=2)
    answers = tmp_path / "answers.json"
    answers.write_text('{"question_000": "12"}')  # none for the second question, which so fails
    launched = launch(
        "eval.launch.py", questions=questions, output=tmp_path / "run", answerer="scripted", answers=answers
    )
    assert launched.wait() == 3, launched.output()
    assert "evaluator ended with exit code 3" in launched.output()
    assert [r["status"] for r in records_of(tmp_path / "run", "answer")] == ["answered", "failed"]


def test_bad_input_is_one_clear_line(launch: Launcher, tmp_path: Path) -> None:
    launched = launch("eval.launch.py", questions=tmp_path / "nowhere", output=tmp_path / "run")
    assert launched.wait() == 2, launched.output()
    errors = [line for line in launched.output().splitlines() if "[ERROR]" in line]
    assert len(errors) == 1
    assert f"{tmp_path / 'nowhere'}: does not exist" in errors[0]
    assert "process started" not in launched.output()


def test_a_node_that_dies_is_named_and_ends_the_run(slow_run: Launched) -> None:
    slow_run.node("spatial_reasoning").kill()
    assert slow_run.wait() == 3, slow_run.output()
    assert "node spatial_reasoning was killed by SIGKILL" in slow_run.output()
    assert slow_run.orphans() == []


def test_ctrl_c_ends_all_nodes(slow_run: Launched) -> None:
    for name in NODES:
        assert slow_run.node(name).is_running()
    slow_run.popen.send_signal(signal.SIGINT)
    assert slow_run.wait() == 130, slow_run.output()
    assert slow_run.orphans() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_node_outlives_the_launch(slow_run: Launched, number: signal.Signals) -> None:
    for name in NODES:
        assert slow_run.node(name).is_running()
    slow_run.popen.send_signal(number)
    assert slow_run.wait() != 0
    assert slow_run.orphans() == []


def test_a_replay_ends_with_its_clip(launch: Launcher, tmp_path: Path) -> None:
    make_video(tmp_path / "video.mp4", frames=10)
    launched = launch("replay.launch.py", path=tmp_path / "video.mp4", rate=4.0)
    assert launched.wait() == 0, launched.output()
    assert "camera_player" in launched.output()
