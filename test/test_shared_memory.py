"""A node that ends gives its shared memory back: 35 MB each that would else stay on the machine until it restarts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gst_ros.deployment import environment_for_nodes

pytest.importorskip("gst_interfaces", reason="gst_interfaces is not built; scripts/setup.sh builds it")

if not Path("/dev/shm").is_dir():
    pytest.skip("there is no /dev/shm here", allow_module_level=True)


def segments(pid: int) -> set[str]:
    """Fast DDS's shared-memory segments that a process has mapped; alone on its domain, they are its own."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return set(re.findall(r"/dev/shm/fastdds_[0-9a-f]+$", maps, re.MULTILINE))


def wait_until(what: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    return what()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=lambda signum: signum.name)
@pytest.mark.parametrize("node, ready", [("camera_player", ""), ("spatial_reasoning", "taking frames from")])
def test_nothing_is_left(ros_domain: int, node: str, ready: str, signum: int, tmp_path: Path) -> None:

    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", f"gst_ros.nodes.{node}"],
            env=environment_for_nodes(os.environ, os.getpid()),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        assert wait_until(lambda: bool(segments(process.pid)) and ready in log.read_text(), 30), log.read_text()
        if not ready:
            time.sleep(1.0)  # it says nothing when it is ready; an end during its start counts as well
        own = segments(process.pid)
        process.send_signal(signum)
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()
    assert own
    assert not [path for path in sorted(own) if Path(path).exists()]
