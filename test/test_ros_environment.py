"""Environments in which no node could start, and the first moments of a node's process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gst_ros.deployment import NODE_NAMES
from gst_ros.errors import ConfigError
from gst_ros.ros_environment import can_log_at_home, check_ros_environment

ROOT = Path(__file__).resolve().parents[1]


def refused(environment: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        check_ros_environment(environment)
    assert caught.value.exit_code == 2 and len(str(caught.value)) < 600
    return str(caught.value)


@pytest.mark.parametrize("domain", ["abc", "-1", "233", "9999", "1.5", " 1", "\u0663", "1" * 10_000])
def test_domains_that_ros_does_not_have_are_named(tmp_path: Path, domain: str) -> None:
    line = refused({"HOME": str(tmp_path), "ROS_DOMAIN_ID": domain})
    assert "ROS_DOMAIN_ID" in line and f"'{domain[:40]}' is not a ROS domain" in line and "0 to 232" in line


@pytest.mark.parametrize("domain", ["", "0", "007", "232"])
def test_domains_that_ros_has_are_fine(tmp_path: Path, domain: str) -> None:
    check_ros_environment({"HOME": str(tmp_path), "ROS_DOMAIN_ID": domain})


def test_ros_must_have_a_place_for_its_logs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert can_log_at_home({"HOME": str(tmp_path)})
    assert can_log_at_home({"ROS_LOG_DIR": "anywhere"}) and can_log_at_home({"ROS_HOME": "anywhere"})
    for home in ({}, {"HOME": ""}, {"HOME": str(tmp_path / "file")}, {"HOME": "/proc/nobody"}):
        assert not can_log_at_home(home)
        assert "HOME" in refused(home) and "ROS_LOG_DIR" in refused(home)
    (tmp_path / ".ros").write_text("in the way")
    assert not can_log_at_home({"HOME": str(tmp_path)})


def environment(**changes: str | None) -> dict[str, str]:
    base = {k: v for k, v in os.environ.items() if k not in ("_ROS_WHEELS_BOOTSTRAP_COMPLETE", "GST_RUNNER_PID")}
    base.update({name: value for name, value in changes.items() if value is not None})
    return {name: value for name, value in base.items() if changes.get(name, "") is not None}


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("RMW_IMPLEMENTATION", "rmw_nonsense", "ROS cannot load the middleware 'rmw_nonsense' (install it, or unset"),
        ("ROS_DOMAIN_ID", "abc", "'abc' is not a ROS domain"),
        ("HOME", None, "ROS has no place for its logs (set HOME"),
    ],
)
@pytest.mark.parametrize("node", NODE_NAMES)
def test_a_single_node_says_it_in_one_line(
    ros_domain: int, node: str, variable: str, value: str | None, says: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"gst_ros.nodes.{node}"],
        cwd=ROOT,
        env=environment(**{"ROS_LOG_DIR": None, "ROS_HOME": None, variable: value}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{node}: error: environment: field '{variable}': ") and says in line


def test_a_middleware_that_is_there_is_fine(ros_domain: int) -> None:
    import rclpy

    check_ros_environment(environment(RMW_IMPLEMENTATION=rclpy.get_rmw_implementation_identifier()))


def test_an_interrupt_while_a_node_is_loading_is_no_traceback(ros_domain: int, tmp_path: Path) -> None:
    # A module that is slow to import, in the place of a node's own.
    slow = tmp_path / "rclpy.py"
    slow.write_text(f"open({str(tmp_path / 'up')!r}, 'w').close()\nimport time\ntime.sleep(600)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "gst_ros.nodes.evaluator"],
        env=environment(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}"),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "up").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, err) == (130, "")
