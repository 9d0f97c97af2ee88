"""The session of an evaluation in one process: no ROS, the same frames, memory and answers."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gst_ros.errors import AnswererError
from gst_ros.evaluation.session import Playback, ProgressCallback, Reply, reply_of
from gst_ros.media.clip import open_clip
from gst_ros.media.frames import StampDigest
from gst_ros.reasoning.answerer import Query
from gst_ros.reasoning.engine import ReasoningConfig, SpatialMemory


def reasoning_config(parameters: Mapping[str, Any]) -> tuple[ReasoningConfig, list[str]]:
    """The memory's and answerer's settings among the parameters of the node ``spatial_reasoning``.

    Returns:
        The settings, and the names that only the node understands (topics, QoS, ...).

    Raises:
        ConfigError: A value is of the wrong type or out of range.
    """
    known = {field.name for field in dataclasses.fields(ReasoningConfig)}
    ours = {name: value for name, value in parameters.items() if name in known}
    return ReasoningConfig.from_mapping(ours, "parameters of spatial_reasoning"), sorted(parameters.keys() - known)


class LocalSession:
    """Reads clips straight into a memory of its own.

    Args:
        config: Memory and answerer.

    Raises:
        ConfigError: The answerer's name or one of its settings is wrong.
    """

    def __init__(self, config: ReasoningConfig) -> None:
        self._config = config
        self._memory = SpatialMemory(config)

    def describe(self) -> Mapping[str, Any]:
        """The settings of memory and answerer."""
        return {"reasoning": self._config.to_mapping(), "transport": "in-process", "mode": "in-process"}

    def play(self, video: Path, progress: ProgressCallback) -> Playback:
        """Read one video into the memory.

        Raises:
            MediaError: The video cannot be read.
        """
        started = time.monotonic()
        self._memory.reset(str(video))
        if self._memory.needs_walk:
            from gst_ros.memory.walks import facts_beside

            self._memory.tell_camera(facts_beside(video))
        sent = StampDigest()
        with open_clip(video) as clip:
            for frame in clip:
                sent.add(frame.stamp_ns)
                self._memory.observe(frame)
                progress(frame.stamp_ns / 1e9, clip.duration_s)
            damaged = clip.damaged
        status = self._memory.status()
        return Playback(
            video=str(video),
            mode="in-process",
            frames_sent=sent.count,
            frames_received=status.frames_received,
            frames_dropped=0,
            frames_damaged=damaged,
            frames_refused=status.frames_duplicate + status.frames_out_of_order,
            first_stamp_ns=status.first_stamp_ns,
            last_stamp_ns=status.last_stamp_ns,
            sent_sha256=sent.sha256,
            received_sha256=status.stamps_sha256,
            seconds=time.monotonic() - started,
        )

    def forget(self) -> None:
        """Reset the memory."""
        self._memory.reset("")

    def ask(self, query: Query) -> Reply:
        """Ask one question about what was played last."""
        started = time.monotonic()
        try:
            answer = self._memory.answer(query)
        except AnswererError as error:
            return Reply("failed", "", None, str(error), time.monotonic() - started)
        return reply_of(answer, time.monotonic() - started)

    def close(self) -> None:
        """Nothing is left open."""
