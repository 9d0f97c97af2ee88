"""Fixtures that all tests share."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest


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
    # Domains up to 101 keep their UDP ports below the ephemeral range on Linux.
    domain = random.SystemRandom().randrange(1, 101)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    for name in ("ROS_NAMESPACE", "ROS_LOCALHOST_ONLY"):
        monkeypatch.delenv(name, raising=False)
    yield domain
    assert os.environ["ROS_DOMAIN_ID"] == str(domain)
