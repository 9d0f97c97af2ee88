"""ROS parameters from settings, and the shared main of node processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed; scripts/setup.sh installs it")

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

from gst_ros.config import Settings, setting
from gst_ros.errors import ConfigError
from gst_ros.nodes.parameters import declare

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class InnerConfig(Settings):
    depth: int = setting(3, "Inner depth.", low=1, high=9)


@dataclass(frozen=True)
class PlayerConfig(Settings):
    rate: float = setting(1.0, "Speed of playback.", unit="media s per s", above=0.0, high=100.0)
    path: str = setting("", "What to play.")
    mode: str = setting("lockstep", "How.", choices=("lockstep", "realtime"))
    loop: bool = setting(False, "Begin again at the end.")
    window: int = setting(8, "Frames ahead.", low=1)
    end_s: float | None = setting(None, "Where to stop.", unit="s", low=0.0)
    thresholds: tuple[float, ...] = setting((15.0, 30.0), "Thresholds.", unit="deg")
    tasks: tuple[str, ...] = setting((), "Tasks.")
    inner: InnerConfig = setting(InnerConfig(), "Nested.")  # noqa: RUF009  # settings are frozen


@pytest.fixture
def ros(ros_domain):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain)
    made = []

    def node_with(overrides=None, args=()):
        cli = ["--ros-args", *args] if args else []
        parameters = [Parameter(name, value=value) for name, value in (overrides or {}).items()]
        node = Node("player", context=context, parameter_overrides=parameters, cli_args=cli)
        made.append(node)
        return node

    yield node_with
    for node in made:
        node.destroy_node()
    rclpy.try_shutdown(context=context)


def test_defaults_are_declared_with_description_and_bounds(ros):
    node = ros()
    assert declare(node, PlayerConfig) == PlayerConfig()
    assert node.get_parameter("rate").value == 1.0 and node.get_parameter("inner.depth").value == 3
    rate = node.describe_parameter("rate")
    assert "Speed of playback." in rate.description and "media s per s" in rate.description and rate.read_only
    assert (rate.floating_point_range[0].from_value, rate.floating_point_range[0].to_value) == (0.0, 100.0)
    assert "greater than 0.0" in rate.additional_constraints
    assert node.describe_parameter("window").integer_range[0].from_value == 1
    assert node.describe_parameter("mode").additional_constraints == "one of: lockstep, realtime"
    assert node.get_parameter("end_s").value == "" and "not set" in node.describe_parameter("end_s").description


def test_overrides_of_every_type_arrive(ros):
    given = {
        "rate": 2.5, "path": "a b.mp4", "mode": "realtime", "loop": True, "window": 4, "end_s": 9.5,
        "thresholds": [1.0, 2.0], "tasks": ["ed_v"], "inner.depth": 5, "use_sim_time": False,
    }  # fmt: skip
    config = declare(ros(given), PlayerConfig)
    assert (config.rate, config.path, config.mode, config.loop, config.window) == (2.5, "a b.mp4", "realtime", True, 4)
    assert (config.end_s, config.thresholds, config.tasks, config.inner.depth) == (9.5, (1.0, 2.0), ("ed_v",), 5)


def test_whole_numbers_are_taken_for_floats(ros):
    node = ros({"rate": 2, "end_s": 3, "thresholds": [15, 45]})
    config = declare(node, PlayerConfig)
    assert (config.rate, config.end_s, config.thresholds) == (2.0, 3.0, (15.0, 45.0))
    assert node.get_parameter("rate").value == 2.0


def test_parameter_files_and_empty_lists_are_read(ros, tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("/**:\n  ros__parameters:\n    rate: 3\n    end_s: ''\n    tasks: []\n    inner: {depth: 2}\n")
    config = declare(ros(args=["--params-file", str(file)]), PlayerConfig)
    assert (config.rate, config.end_s, config.tasks, config.inner.depth) == (3.0, None, (), 2)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"rat": 1.0}, "field 'rat': unknown parameter .did you mean 'rate'"),
        ({"inner.dept": 1}, "did you mean 'inner.depth'"),
        ({"rate": 0.0}, "'rate': 0.0 is out of range .allowed: <= 100.0 and > 0.0"),
        ({"rate": "fast"}, "'rate': expected float, got 'fast'"),
        ({"rate": float("nan")}, "'rate': nan is out of range"),
        ({"rate": float("inf")}, "'rate': inf is out of range"),
        ({"end_s": float("inf")}, "'end_s': inf is out of range .allowed: >= 0.0"),
        ({"thresholds": [1.0, float("inf")]}, "'thresholds': inf is out of range .allowed: finite"),
        ({"window": 2.5}, "'window': expected int, got 2.5"),
        ({"path": True}, "'path': expected str, got True .in YAML, bare y/n"),
        ({"loop": "y"}, "'loop': expected bool, got 'y'"),
        ({"mode": "locstep"}, "did you mean 'lockstep'"),
        ({"tasks": "ed_v"}, "'tasks': expected a list"),
        ({"inner.depth": 12}, "'depth': 12 is out of range"),
    ],
)
def test_wrong_parameters_are_one_line_that_names_node_and_parameter(ros, given, says):
    with pytest.raises(ConfigError, match=says) as caught:
        declare(ros(given), PlayerConfig)
    assert "parameters of /player" in str(caught.value) and "\n" not in str(caught.value)


def test_standard_parameters_are_known(ros):
    node = ros({"use_sim_time": True, "qos_overrides./clock.subscription.depth": 3})
    assert declare(node, PlayerConfig) == PlayerConfig()


def test_read_only_parameters_stay_and_changeable_ones_are_checked(ros):
    node, seen = ros(), []
    declare(node, PlayerConfig, changeable=("rate", "end_s"), on_change=seen.append)

    def put(name, value):
        return node.set_parameters([Parameter(name, value=value)])[0]

    assert not put("window", 3).successful and node.get_parameter("window").value == 8
    refused = put("rate", -1.0)
    assert not refused.successful and "out of range" in refused.reason
    assert seen == []
    assert put("rate", 2).successful and seen[-1].rate == 2.0
    assert put("end_s", 5).successful and (seen[-1].rate, seen[-1].end_s) == (2.0, 5.0)
    assert put("end_s", "").successful and seen[-1].end_s is None
    assert not put("end_s", "late").successful and node.get_parameter("end_s").value == ""


def test_a_mapping_cannot_be_a_parameter(ros):
    @dataclass(frozen=True)
    class BadConfig(Settings):
        options: dict = setting({}, "Cannot be.")  # noqa: RUF009  # setting() copies it

    with pytest.raises(TypeError, match=r"BadConfig\.options"):
        declare(ros(), BadConfig)


# The shared main

SCRIPT = """
import os, sys, time
from dataclasses import dataclass
from rclpy.node import Node
from gst_ros.config import Settings, setting
from gst_ros.errors import SessionError
from gst_ros.nodes.parameters import declare
from gst_ros.nodes.process import finish, run_node
@dataclass(frozen=True)
class Config(Settings):
    rate: float = setting(1.0, "Speed.", above=0.0)
class Talker(Node):
    def __init__(self):
        super().__init__("talker")
        declare(self, Config)
        self.create_timer(0.05, self.act)
        print("ready", flush=True)
    def act(self):
        {act}
sys.exit(run_node(Talker, name="talker"{more}))
"""


@pytest.fixture
def start(ros_domain, tmp_path):
    processes = []

    def start_one(act="pass", args=(), more="", environment=None):
        file = tmp_path / f"talker{len(processes)}.py"
        file.write_text(SCRIPT.format(act=act, more=more))
        process = subprocess.Popen(
            [sys.executable, str(file), *args],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        )  # fmt: skip
        processes.append(process)
        return process

    yield start_one
    for process in processes:
        process.kill()
        process.communicate()


def ready(process: subprocess.Popen) -> subprocess.Popen:
    assert process.stdout.readline() == "ready\n"
    return process


def wait_until(condition: Callable[[], bool], limit_s: float = 60.0) -> bool:
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("more", "code"), [("", 0), (", interrupted_code=130", 130)])
def test_signals_end_a_node_cleanly(start, number, more, code):
    process = ready(start(more=more))
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code and "Traceback" not in err


def test_a_busy_node_ends_without_traceback_on_sigterm(start):
    act = "[self.executor.create_task(lambda: None) for _ in range(50)]; self.get_logger().debug('x')"
    process = ready(start(act=act))
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "Traceback" not in err


def test_a_node_ends_its_process_with_a_code(start):
    process = start(act="finish(self, 7); finish(self, 8)")
    process.communicate(timeout=60)
    assert process.returncode == 7


def test_a_node_can_be_finished_from_another_thread_while_it_waits(start):
    act = "self.destroy_timer(list(self.timers)[0]); import threading; threading.Timer(0.3, finish, (self, 5)).start()"
    process = start(act=act)
    process.communicate(timeout=60)
    assert process.returncode == 5


def test_expected_errors_are_one_line_and_their_exit_code(start):
    process = start(args=["--ros-args", "-p", "rat:=2"])
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    expected = "talker: error: parameters of /talker: field 'rat': unknown parameter (did you mean 'rate'?)"
    assert err.splitlines() == [expected]
    process = start(act="raise SessionError('player died', remedy='look at its log')")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3 and err.splitlines()[-1] == "talker: error: player died (look at its log)"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["-p", "rate"], "parameter override"),
        (["--params-file", "/nowhere/none.yaml"], "/nowhere/none.yaml"),
        (["-p", "rate:=[1, a]"], "same type"),
        (["-r", "__node:=a-b"], "__node:=a-b"),
        (["-p", "rate:=.inf"], "inf is out of range"),
        (["-p", "use_sim_time:=maybe"], "use_sim_time"),
    ],
)
def test_malformed_ros_arguments_are_one_line(start, args, says):
    process = start(args=["--ros-args", *args])
    _, err = process.communicate(timeout=60)
    ours = [line for line in err.splitlines() if line.startswith("talker: error:")]
    assert process.returncode == 2 and len(ours) == 1 and says in ours[0] and "Traceback" not in err


def test_defects_keep_their_traceback(start):
    process = start(act="raise ZeroDivisionError('defect')")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "Traceback" in err and "ZeroDivisionError: defect" in err


def test_a_malformed_runner_pid_is_refused(start):
    process = start(environment={"GST_RUNNER_PID": "me"})
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2 and "GST_RUNNER_PID" in err


RUNNER = """
import os, subprocess, sys, time
environment = {**os.environ, "GST_RUNNER_PID": str(os.getpid())}
command = [sys.executable, sys.argv[1]]
if sys.argv[2] == "shell":
    command = ["sh", "-c", '"$@"; true', "sh", *command]
child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
print(child.stdout.readline(), end="", flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("between", ["direct", "shell"])
def test_no_node_survives_kill_9_of_its_runner(ros_domain, tmp_path, between):
    node_pid_file = tmp_path / "pid"
    node = tmp_path / "node.py"
    note = f"open({str(node_pid_file)!r}, 'w').write(str(os.getpid()))"
    node.write_text(SCRIPT.format(act="pass", more="").replace('print("ready"', f'{note}; print("ready"'))
    runner_file = tmp_path / "runner.py"
    runner_file.write_text(textwrap.dedent(RUNNER))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    runner = subprocess.Popen(
        [sys.executable, str(runner_file), str(node), between], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        ready(runner)
        pid = int(node_pid_file.read_text())
        assert running(pid)
    finally:
        runner.kill()
        runner.communicate()
    assert wait_until(lambda: not running(pid)), "the node outlived its runner"


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
