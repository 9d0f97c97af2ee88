"""The session of an evaluation over ROS: a camera player, a spatial memory, and their services."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.utilities import get_rmw_implementation_identifier
from sensor_msgs.msg import CompressedImage
from std_srvs.srv import Trigger

from gst_interfaces.msg import MemoryStatus, PlayerStatus
from gst_interfaces.srv import AnswerQuestion, GetMemoryStatus, LoadClip, ResetMemory
from gst_ros.bench.jsonfiles import nested_too_deeply
from gst_ros.deployment import CAMERA_PLAYER, SPATIAL_REASONING
from gst_ros.errors import MediaError, SessionError
from gst_ros.evaluation.plan import EvaluationConfig
from gst_ros.evaluation.session import Playback, ProgressCallback, Reply
from gst_ros.nodes.system_watch import Peer, SystemWatch
from gst_ros.reasoning.answerer import Query
from gst_ros.reasoning.engine import ReasoningConfig

IMAGE_TOPIC = "camera/image_raw"
_SETTLE_S = 1.0
_MOST_PLAYBACKS = 3


class _InterruptedError(Exception):
    """A node was away during a playback."""


class RosSession:
    """Drives ``camera_player`` and ``spatial_reasoning`` through their services.

    Args:
        node: The node to speak through; the session spins it in a thread of its own.
        config: Mode and time-outs.
    """

    def __init__(self, node: Node, config: EvaluationConfig) -> None:
        self._node = node
        self._config = config
        self._clip_id = ""
        self._watch = SystemWatch(node, config.silence_timeout_s, config.node_grace_s)
        self._player = Peer(self._watch, CAMERA_PLAYER, PlayerStatus)
        self._load = self._player.client(LoadClip, "load")
        self._play = self._player.client(Trigger, "play")
        self._memory = Peer(self._watch, SPATIAL_REASONING, MemoryStatus)
        self._reset = self._memory.client(ResetMemory, "reset")
        self._answer = self._memory.client(AnswerQuestion, "answer_question")
        self._get_status = self._memory.client(GetMemoryStatus, "get_status")
        self._get_parameters = self._memory.client(GetParameters, "get_parameters")
        self._watch.start()

    def connect(self) -> None:
        """Wait until both nodes are there, once each, and can be heard.

        Raises:
            SessionError: One is missing, or there are two of one kind on this ROS domain.
        """
        self._wait_until_complete(self._config.settle_s)

    def describe(self) -> Mapping[str, Any]:
        """The memory node's effective settings, as it says itself, and the transport."""
        names = [field.name for field in dataclasses.fields(ReasoningConfig)]
        response = self._call(self._memory, self._get_parameters, GetParameters.Request(names=names))
        if len(response.values) != len(names):
            raise SessionError(
                f"node {self._memory.name} lacks parameters that this evaluator knows",
                remedy="run nodes of one and the same version",
            )
        values = {
            name: parameter_value_to_python(value)
            for name, value in zip(names, response.values, strict=True)
            if value.type != ParameterType.PARAMETER_NOT_SET
        }
        return {
            "reasoning": ReasoningConfig.from_mapping(values, f"node {self._memory.name}").to_mapping(),
            "transport": "ros",
            "mode": self._config.mode,
            "rmw": get_rmw_implementation_identifier(),
            "ros_distro": os.environ.get("ROS_DISTRO", ""),
        }

    def play(self, video: Path, progress: ProgressCallback) -> Playback:
        """Reset the memory and play one video into it from start to end.

        Frames that were on the way while a node was suspended may be lost: then the video is played again.

        Raises:
            MediaError: The player cannot read the video.
            SessionError: A node died or did not answer, or was suspended in every playback.
        """
        for _ in range(_MOST_PLAYBACKS):
            returns = self._returns()
            try:
                playback = self._play_once(video, progress)
            except _InterruptedError:
                continue
            if self._returns() == returns or playback.lossless:
                return playback
        raise SessionError(
            f"a node was suspended in each of {_MOST_PLAYBACKS} playbacks",
            file=video,
            remedy="is the machine overloaded?",
        )

    def _returns(self) -> int:
        return self._player.returns + self._memory.returns

    def _play_once(self, video: Path, progress: ProgressCallback) -> Playback:
        started = time.monotonic()
        self._begin(video.name)
        loaded = self._call(
            self._player,
            self._load,
            LoadClip.Request(path=str(video), clip_id=self._clip_id, mode=self._config.mode, rate=self._config.rate),
        )
        if not loaded.success:
            raise _media_error(loaded.message or "the player cannot load it", video)
        duration_s = loaded.duration_s if math.isfinite(loaded.duration_s) else None
        played = self._call(self._player, self._play, Trigger.Request())
        if not played.success:
            raise SessionError(f"node {self._player.name} does not play: {played.message}", file=video)
        sent = self._await_end(video, duration_s, progress)
        received = self._settled_status(sent)
        return Playback(
            video=str(video),
            mode=sent.mode,
            frames_sent=sent.frames_sent,
            frames_received=received.frames_received,
            # What the player left out, and what it sent but the memory never took in.
            frames_dropped=sent.frames_dropped + max(0, sent.frames_sent - received.frames_received),
            frames_damaged=sent.frames_damaged,
            frames_refused=received.frames_duplicate + received.frames_out_of_order,
            first_stamp_ns=_stamp_ns(received.first_stamp) if received.frames_received else None,
            last_stamp_ns=_stamp_ns(received.last_stamp) if received.frames_received else None,
            sent_sha256=sent.stamps_sha256,
            received_sha256=received.stamps_sha256,
            seconds=time.monotonic() - started,
        )

    def forget(self) -> None:
        """Reset the memory for questions that have no video.

        Raises:
            SessionError: The memory died or did not answer.
        """
        self._begin("no-video")

    def ask(self, query: Query) -> Reply:
        """Ask one question about what was played last.

        Raises:
            SessionError: The memory died, did not answer, or has forgotten the video meanwhile.
        """
        self._memory_now()
        request = AnswerQuestion.Request(uid=query.uid, task=query.task, texts=list(query.texts))
        request.images = [_compressed(image) for image in query.images]
        started = time.monotonic()
        response = self._watch.call(self._memory, self._answer, request, self._config.answer_timeout_s)
        answered = response.status == AnswerQuestion.Response.ANSWERED
        return Reply(
            status="answered" if answered else "failed",
            text=response.answer if answered else "",
            confidence=None if math.isnan(response.confidence) else response.confidence,
            explanation=response.explanation,
            evidence=_evidence(response.evidence),
            seconds=response.seconds or time.monotonic() - started,
        )

    def close(self) -> None:
        """Stop spinning. May be called twice."""
        self._watch.close()

    def _wait_until_complete(self, stable_s: float) -> None:
        peers = (self._player, self._memory)
        self._watch.wait_until_complete(peers, IMAGE_TOPIC, self._config.start_timeout_s, stable_s)

    def _begin(self, label: str) -> None:
        # A second player that has appeared meanwhile would be told to load and play as well.
        self._wait_until_complete(0.0)
        # Unique, so that acknowledgements and frames of an earlier playback cannot be taken for this one's.
        self._clip_id = f"{label}#{uuid.uuid4().hex[:12]}"
        response = self._call(self._memory, self._reset, ResetMemory.Request(clip_id=self._clip_id))
        if not response.success:
            raise SessionError(f"node {self._memory.name} does not reset: {response.message}")

    def _await_end(self, video: Path, duration_s: float | None, progress: ProgressCallback) -> PlayerStatus:
        """Wait until the player has finished; report progress, and notice when nothing moves any more."""
        moved_at = time.monotonic()
        moved = (-1, -1)
        ours = False  # whether the player's status has named our clip yet
        taken_over = stalled = interrupted = False
        returns = self._returns()

        def ended() -> bool:
            nonlocal moved_at, moved, ours, taken_over, stalled, interrupted
            interrupted = self._returns() != returns
            if interrupted:
                return True
            player, memory = self._player.status, self._memory.status
            if player.clip_id != self._clip_id:
                # At first it may be older than our load, but not for long.
                taken_over = ours or time.monotonic() - moved_at > self._config.service_timeout_s
                return taken_over
            ours = True
            progress(player.position_s, duration_s)
            now = (player.frames_sent, memory.frames_received)
            waits = player.mode == "lockstep" and (player.frames_unacknowledged or not player.frames_sent)
            if now != moved or not waits:
                moved_at, moved = time.monotonic(), now
            stalled = time.monotonic() - moved_at > self._config.stall_timeout_s
            return stalled or player.state in (PlayerStatus.FINISHED, PlayerStatus.FAILED)

        self._watch.wait(ended, [self._player, self._memory], f"playing {video}")
        if interrupted:
            raise _InterruptedError
        status = self._player.status
        if taken_over:
            raise SessionError(
                f"node {self._player.name} plays another clip, '{status.clip_id}'",
                file=video,
                remedy="does another evaluator run on this ROS domain?",
            )
        if status.state == PlayerStatus.FAILED:
            raise _media_error(status.message or "the player cannot go on", video)
        if stalled:
            raise SessionError(
                f"playback stands still since {self._config.stall_timeout_s:g} s: {moved[0]} frames sent,"
                f" {moved[1]} taken in by node {self._memory.name}",
                file=video,
            )
        return status

    def _settled_status(self, sent: PlayerStatus) -> MemoryStatus:
        """The memory's status once the last frames are in. In real time some may never come."""
        deadline = time.monotonic() + _SETTLE_S
        received = -1
        while True:
            status = self._memory_now()
            if status.frames_received >= sent.frames_sent or time.monotonic() > deadline:
                return status
            if status.frames_received != received:
                received, deadline = status.frames_received, time.monotonic() + _SETTLE_S
            time.sleep(0.05)

    def _memory_now(self) -> MemoryStatus:
        """The memory's status, asked for.

        Raises:
            SessionError: It does not answer, or holds another clip than the one that we played.
        """
        status = self._call(self._memory, self._get_status, GetMemoryStatus.Request()).status
        if status.clip_id != self._clip_id:
            raise SessionError(
                f"node {self._memory.name} was reset behind our back (it holds clip '{status.clip_id}')",
                remedy="it was restarted, or another evaluator runs on this ROS domain",
            )
        return status

    def _call(self, peer: Peer, client: Any, request: Any) -> Any:
        return self._watch.call(peer, client, request, self._config.service_timeout_s)


def _media_error(message: str, video: Path) -> MediaError:
    return MediaError(message.removeprefix(f"{video}: "), file=video)


def _evidence(text: str) -> dict[str, Any]:
    """What a node says of its answer; one that says something else than it should has its answer taken all the same."""
    try:
        evidence = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {"unreadable": text[:200]}
    return evidence if isinstance(evidence, dict) and not nested_too_deeply(evidence) else {"unreadable": text[:200]}


def _stamp_ns(stamp: Any) -> int:
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def _compressed(image: bytes) -> CompressedImage:
    message = CompressedImage(format="png" if image.startswith(b"\x89PNG") else "jpeg")
    message.data.frombytes(image)
    return message
