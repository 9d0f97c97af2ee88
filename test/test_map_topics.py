"""Maps and paths as messages, and when they are published."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed; scripts/setup.sh installs it")

from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.memory.walks import Walk
from gst_ros.nodes.map_topics import MapTopics, grid_message, path_message

CELLS = np.array([[-1, 0, 100], [0, 0, 0]], np.int8)


def place(frames: int = 3, grid: OccupancyGrid | None = None) -> Any:
    poses = np.column_stack([np.arange(frames), np.zeros(frames), np.full(frames, math.pi / 2)]).astype(float)
    parts = np.zeros(frames, int)
    parts[-1] = 1
    trajectory = SimpleNamespace(stamps_ns=np.arange(frames) * 1_500_000_000, poses=poses, parts=parts)
    return SimpleNamespace(grid=grid, trajectory=trajectory, main_part=0)


def test_cells_rows_and_origin_are_those_of_the_grid() -> None:
    message = grid_message(OccupancyGrid(CELLS, 0.05, (-1.0, 2.5)), 1_500_000_000)
    assert (message.info.width, message.info.height) == (3, 2)
    assert list(message.data) == [-1, 0, 100, 0, 0, 0]
    assert message.info.resolution == pytest.approx(0.05)
    assert (message.info.origin.position.x, message.info.origin.position.y) == (-1.0, 2.5)
    assert message.header.frame_id == "map"
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)


def test_the_path_has_the_poses_that_are_connected_with_the_map() -> None:
    message = path_message(place())
    assert [pose.pose.position.x for pose in message.poses] == [0.0, 1.0]
    assert message.poses[1].pose.orientation.z == pytest.approx(math.sqrt(0.5))
    assert message.poses[1].header.stamp.sec == 1
    assert len(path_message(place(5001)).poses) <= 2000


def test_each_map_is_published_once() -> None:
    sent: list[tuple[str, Any]] = []

    class Node:
        def create_publisher(self, kind: Any, topic: str, qos: Any) -> Any:
            return SimpleNamespace(publish=lambda message: sent.append((topic, message)))

    topics = MapTopics(Node())
    first = Walk(place(grid=OccupancyGrid(CELLS, 0.05, (0.0, 0.0))), (), "as told")
    for walk in (None, first, first, Walk(place(), (), "as told")):
        topics.show(walk)
    assert [topic for topic, _ in sent] == ["map", "path", "path"]
