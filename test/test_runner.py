"""The runner, with small Python programs in the place of nodes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml

from gst_ros import runner
from gst_ros.deployment import Deployment, NodeSpec
from gst_ros.errors import ConfigError, SessionError

FOREVER = "import time; time.sleep(600)"
UNTIL_INTERRUPTED = """
import sys, time
print("[INFO] ready", flush=True)
try:
    time.sleep(600)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
TAKES_SIGNALS = "import signal; signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])\n"
STUBBORN = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open({marker!r}, "w").close()
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def no_child_outlives_its_test() -> Iterator[None]:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    for child in left:
        child.kill()
    assert left == []


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs programs by node name; the last one is the ending one."""

    def run_programs(grace_s: float = 5.0, **programs: str) -> int:
        def command(spec: NodeSpec, file: Path) -> list[str]:
            return [sys.executable, "-c", TAKES_SIGNALS + programs[spec.name]]

        monkeypatch.setattr(runner, "node_command", command)
        nodes = tuple(NodeSpec(executable=name, name=name) for name in programs)
        deployment = Deployment(nodes, ending=nodes[-1].name, output=tmp_path)
        return runner.run_deployment(deployment, tmp_path / "logs", grace_s=grace_s)

    return run_programs


def log(tmp_path: Path, name: str) -> str:
    return (tmp_path / "logs" / f"{name}.log").read_text()


@pytest.mark.parametrize("code", [0, 2, 3, 130])
def test_the_ending_nodes_exit_code_is_the_runs(run, tmp_path: Path, code: int) -> None:
    waits = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'up')!r}): time.sleep(0.01)\n"
    up = f"    open({str(tmp_path / 'up')!r}, 'w').close()"
    beside = UNTIL_INTERRUPTED.replace("    time.sleep", f"{up}\n    time.sleep", 1)
    assert run(camera_player=beside, evaluator=f"{waits}raise SystemExit({code})") == code
    assert log(tmp_path, "camera_player") == "[INFO] ready\ninterrupted\n"


def test_a_node_that_dies_is_named_with_its_last_lines_and_ends_the_others(run, capfd) -> None:
    dying = "import os, signal\nfor n in range(30): print('line', n, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(
        SessionError, match=r"node spatial_reasoning was killed by SIGKILL .*goes on from there"
    ) as error:
        run(camera_player=FOREVER, spatial_reasoning=dying, evaluator=FOREVER)
    assert error.value.exit_code == 3
    shown = capfd.readouterr().err
    assert "[spatial_reasoning] line 29\n" in shown and "line 5\n" not in shown


def test_a_node_that_ends_by_itself_before_the_run_is_over_is_an_error_too(run) -> None:
    with pytest.raises(SessionError, match="node camera_player ended with exit code 0"):
        run(camera_player="pass", evaluator=FOREVER)


def test_a_node_that_refuses_its_configuration_makes_it_a_configuration_error(run, capfd) -> None:
    refusing = "import sys; print('camera_player: error: field rate', file=sys.stderr); sys.exit(2)"
    with pytest.raises(ConfigError, match="camera_player"):
        run(camera_player=refusing, evaluator=FOREVER)
    err = capfd.readouterr().err
    assert err.count("[camera_player] camera_player: error: field rate") == 1 and "last lines" not in err


def test_the_killed_ending_node_is_named(run) -> None:
    with pytest.raises(SessionError, match="node evaluator was killed by SIGKILL"):
        run(camera_player=FOREVER, evaluator="import os; os.kill(os.getpid(), 9)")


def test_a_node_that_will_not_end_is_killed_and_named(run, tmp_path: Path, capfd) -> None:
    marker = str(tmp_path / "deaf")
    waits = f"import os, time\nwhile not os.path.exists({marker!r}): time.sleep(0.01)"
    assert run(grace_s=0.3, camera_player=STUBBORN.format(marker=marker), evaluator=waits) == 0
    assert "node camera_player does not end; killing it" in capfd.readouterr().err


def test_what_a_node_has_started_ends_with_it(run, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    parent = (
        "import subprocess, sys, time, os\n"
        f"child = subprocess.Popen([sys.executable, '-c', {FOREVER!r}])\n"
        f"open({str(file) + '.part'!r}, 'w').write(str(child.pid))\n"
        f"os.rename({str(file) + '.part'!r}, {str(file)!r})\n"
        "time.sleep(600)"
    )
    waits = f"import os, time\nwhile not os.path.exists({str(file)!r}): time.sleep(0.01)"
    assert run(camera_player=parent, evaluator=waits) == 0
    deadline = time.monotonic() + 10
    while psutil.pid_exists(int(file.read_text())) and time.monotonic() < deadline:
        if psutil.Process(int(file.read_text())).status() == psutil.STATUS_ZOMBIE:
            break
        time.sleep(0.01)
    assert not psutil.pid_exists(int(file.read_text())) or (
        psutil.Process(int(file.read_text())).status() == psutil.STATUS_ZOMBIE
    )


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_ending_node_first_while_the_others_still_live(run, tmp_path: Path, signum: int) -> None:
    finishing = (
        "import time, os\n"
        "try:\n"
        f"    open({str(tmp_path / 'up')!r}, 'w').close()\n"
        "    time.sleep(600)\n"
        f"except KeyboardInterrupt: os.kill(int(open({str(tmp_path / 'pid')!r}).read()), 0)\n"
        f"open({str(tmp_path / 'finished')!r}, 'w').close()\n"
    )
    beside = f"import os\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n{UNTIL_INTERRUPTED}"

    def send_when_up() -> None:
        deadline = time.monotonic() + 30
        while not all((tmp_path / name).exists() for name in ("up", "pid")) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(os.getpid(), signum)

    threading.Thread(target=send_when_up).start()
    assert run(camera_player=beside, evaluator=finishing) == 128 + signum
    assert (tmp_path / "finished").exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_background_job_obeys_kill_int_but_nohup_is_respected(run, tmp_path: Path) -> None:
    """Scripts start background jobs with SIGINT ignored; `nohup` ignores SIGHUP."""
    before = {s: signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, signal.SIGHUP)}
    up = tmp_path / "up"

    def send_when_up() -> None:
        deadline = time.monotonic() + 30
        while not up.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGINT)

    try:
        threading.Thread(target=send_when_up).start()
        assert run(camera_player=f"open({str(up)!r}, 'w').close()\n{UNTIL_INTERRUPTED}") == 128 + signal.SIGINT
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def test_a_node_that_is_not_ready_yet_is_not_interrupted_before_it_is(run, tmp_path: Path, monkeypatch) -> None:
    # Imports take seconds, and an interrupt in them would be a traceback.
    importing = (
        f"import time, signal, pathlib\nup, told = (pathlib.Path({str(tmp_path)!r}) / n for n in ('up', 'told'))\n"
        "up.touch()\n"
        "while signal.SIGINT not in signal.sigpending(): time.sleep(0.01)\n"
        "try: signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])\n"
        "except KeyboardInterrupt: told.touch()\n"
    )
    waits = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'up')!r}): time.sleep(0.01)"
    monkeypatch.setitem(globals(), "TAKES_SIGNALS", "")
    assert run(camera_player=importing, evaluator=waits) == 0
    assert (tmp_path / "told").exists() and log(tmp_path, "camera_player") == ""


def test_only_warnings_and_errors_of_the_other_nodes_reach_the_terminal(run, tmp_path: Path, capfd) -> None:
    talkative = (
        "print('[INFO] [1.0] [camera_player]: much', flush=True)\n"
        "print('\\x1b[33m[WARN] [1.0] [camera_player]: little\\x1b[0m', flush=True)\n"
        f"open({str(tmp_path / 'said')!r}, 'w').close()\n{FOREVER}"
    )
    waits = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'said')!r}): time.sleep(0.01)\nprint('table')"
    assert run(camera_player=talkative, evaluator=waits) == 0
    out, err = capfd.readouterr()
    assert out == "table\n"
    assert err == "[camera_player] [WARN] [1.0] [camera_player]: little\n"
    assert "much" in log(tmp_path, "camera_player")


def test_parameter_files_say_exactly_what_ran_and_quote_every_text(tmp_path: Path) -> None:
    parameters = {
        "text": "1e5",
        "yes": "y",
        "number": 1e-05,
        "flag": True,
        "list": ["no", "1"],
        "path": "/a b/ü: {c}#",
        "empty": "",
        "lines": "a\nb",
        "count": 3,
    }
    text = runner.parameter_file_text(parameters)
    assert yaml.safe_load(text) == {"/**": {"ros__parameters": parameters}}
    for quoted in ('"1e5"', '"y"', '"no"', '""'):
        assert quoted in text


def test_ros_reads_the_parameter_file_as_it_was_meant(tmp_path: Path, ros_domain: int) -> None:
    parameters = {"text": "1e5", "yes": "y", "small": 1e-05, "list": ["no", "1"], "count": 3, "flag": False}
    file = tmp_path / "params.yaml"
    file.write_text(runner.parameter_file_text(parameters))
    program = (
        "import json, rclpy\n"
        "rclpy.init()\n"
        "node = rclpy.create_node('n', automatically_declare_parameters_from_overrides=True)\n"
        "print(json.dumps({n: p.value for n, p in node.get_parameters_by_prefix('').items() if n != 'use_sim_time'}))\n"
        "node.destroy_node(); rclpy.shutdown()"
    )
    command = [sys.executable, "-c", program, "--ros-args", "--params-file", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    read = json.loads(done.stdout)
    assert {name: read[name] for name in parameters} == parameters


def test_command_line_of_a_node() -> None:
    spec = NodeSpec("camera_player", "cam", namespace="/robot", remappings=(("camera/ack", "ack"),))
    command = runner.node_command(spec, Path("p.yaml"))
    assert command[:3] == [sys.executable, "-m", "gst_ros.nodes.camera_player"]
    assert " ".join(command[3:]) == (
        "--ros-args -r __node:=cam -r __ns:=/robot -r camera/ack:=ack --params-file p.yaml"
    )


def test_each_start_has_a_log_folder_of_its_own(tmp_path: Path) -> None:
    first = runner.new_log_folder(tmp_path)
    first.mkdir(parents=True)
    second = runner.new_log_folder(tmp_path)
    assert first != second and second.parent == tmp_path / "logs"


def test_an_environment_without_a_home_gets_its_logs_beside_the_run(run, tmp_path: Path, monkeypatch) -> None:
    for name in ("HOME", "ROS_LOG_DIR", "ROS_HOME"):
        monkeypatch.delenv(name, raising=False)
    said = tmp_path / "said"
    program = f"import os; open({str(said)!r}, 'w').write(os.environ.get('ROS_LOG_DIR', ''))"
    assert run(evaluator=program) == 0
    assert said.read_text() == str(tmp_path / "logs" / "ros")


def test_an_environment_of_no_use_is_refused_before_anything_is_made(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", "abc")
    with pytest.raises(ConfigError, match=r"ROS_DOMAIN_ID.*'abc' is not a ROS domain"):
        run(evaluator="pass")
    assert not (tmp_path / "logs").exists()


def test_a_log_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    deployment = Deployment((NodeSpec("evaluator", "evaluator"),), ending="evaluator")
    with pytest.raises(ConfigError, match="file/logs"):
        runner.run_deployment(deployment, tmp_path / "file" / "logs")
