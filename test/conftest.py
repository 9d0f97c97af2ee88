"""Fixtures that all tests share."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# A shell starts background jobs with interrupts ignored, and processes inherit that: those under test would not stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


LONG = ("test_eval_over_ros", "test_scene_make", "test_mapping_walk", "test_demo", "test_scene_check", "test_readme")
"""Files that take longest begin first, so that no process is left alone with one at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, the others in their order."""
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder with official sample questions, where a checkout has one beside it."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "gst_bench" / "samples").is_dir():
        pytest.skip("the official samples are not beside this checkout (../shared/gst_bench/samples)")
    return folder


@pytest.fixture
def ros_domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A ROS domain of the test's own, seen by this process and by the processes that it starts."""
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed; scripts/setup.sh installs it")
    with _domain_of_its_own() as domain:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
        monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        for name in ("ROS_NAMESPACE", "ROS_LOCALHOST_ONLY"):
            monkeypatch.delenv(name, raising=False)
        yield domain
        assert os.environ["ROS_DOMAIN_ID"] == str(domain)


@contextmanager
def _domain_of_its_own() -> Iterator[int]:
    """A domain that no other test run on this machine holds, so that runs side by side do not hear each other.

    Of those the one that has not been used for longest: killed nodes are believed to be there for some seconds more.
    """
    # Domains up to 101 keep their UDP ports below the ephemeral range on Linux.
    files = {domain: Path(tempfile.gettempdir()) / f"gst_ros_test_domain_{domain}.lock" for domain in range(1, 101)}
    domains = list(files)
    random.SystemRandom().shuffle(domains)
    domains.sort(key=lambda domain: files[domain].stat().st_mtime if files[domain].exists() else 0.0)
    for domain in domains:
        with open(files[domain], "a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            try:
                os.utime(lock.fileno())
                yield domain
            finally:
                os.utime(lock.fileno())
            return
    pytest.fail("all hundred ROS domains are taken by other test runs")
