"""The node spatial_reasoning, as its neighbours see it: topics, services, lifecycle, diagnostics."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed; scripts/setup.sh installs it")
pytest.importorskip("gst_interfaces", reason="gst_interfaces is not built; scripts/setup.sh builds it")

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.duration import Duration
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CompressedImage, Image

from gst_interfaces.msg import FrameAck, MemoryStatus
from gst_interfaces.srv import AnswerQuestion, GetMemoryStatus, ResetMemory
from gst_ros.bench.tasks import TASKS
from gst_ros.errors import ConfigError
from gst_ros.media.frames import StampDigest
from gst_ros.media.images import encode_jpeg
from gst_ros.nodes.image_messages import ns_to_stamp, rgb_to_compressed, rgb_to_image, stamp_to_ns
from gst_ros.nodes.spatial_reasoning import SpatialReasoningConfig, SpatialReasoningNode
from gst_ros.reasoning.answerer import Query
from gst_ros.reasoning.engine import ReasoningConfig, SpatialMemory

ROOT = Path(__file__).resolve().parents[1]
STEP_NS = 100_000_000
RELIABLE = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE)
BEST_EFFORT = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def picture(red: int = 200) -> np.ndarray:
    image = np.zeros((24, 32, 3), np.uint8)
    image[..., 0] = red
    return image


class Neighbour:
    """Everything around the node: a publisher of images, and clients and subscribers of all it offers."""

    def __init__(self, context: rclpy.Context) -> None:
        self.context = context
        self.executor = SingleThreadedExecutor(context=context)
        self.node = Node("neighbour", context=context)
        self.executor.add_node(self.node)
        self.acks: list[tuple[str, int, int]] = []
        self.statuses: list[MemoryStatus] = []
        self.diagnostics: dict[str, DiagnosticStatus] = {}
        self.node.create_subscription(FrameAck, "camera/ack", self._on_ack, RELIABLE)
        self.node.create_subscription(MemoryStatus, "spatial_reasoning/status", self.statuses.append, LATCHED)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)

    def _on_ack(self, ack: FrameAck) -> None:
        self.acks.append((ack.clip_id, stamp_to_ns(ack.stamp), ack.frames))

    def _on_diagnostics(self, array: DiagnosticArray) -> None:
        self.diagnostics.update({status.name: status for status in array.status})

    def wait(self, condition: Callable[[], bool], limit_s: float = 60.0, other: Executor | None = None) -> None:
        end = time.monotonic() + limit_s
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            if other is not None:
                other.spin_once(timeout_sec=0.1)
            self.executor.spin_once(timeout_sec=0.1)

    def publisher(self, topic: str = "camera/image_raw", kind=Image, qos: QoSProfile = RELIABLE, matched: bool = True):
        publisher = self.node.create_publisher(kind, topic, qos)
        if matched:
            self.wait(lambda: publisher.get_subscription_count() > 0)
        return publisher

    def call_async(self, kind, name: str, **fields):
        client = self.node.create_client(kind, name)
        self.wait(client.service_is_ready)
        return client.call_async(kind.Request(**fields))

    def call(self, kind, name: str, **fields):
        future = self.call_async(kind, name, **fields)
        self.wait(future.done)
        return future.result()

    def ask(self, uid: str = "a", task: str = "position", images: tuple[bytes, ...] = ()):
        return self.ask_async(uid, task, images, call=self.call)

    def ask_async(self, uid: str = "a", task: str = "position", images: tuple[bytes, ...] = (), call=None):
        messages = [CompressedImage(format="jpeg", data=list(image)) for image in images]
        call = call or self.call_async
        return call(AnswerQuestion, "spatial_reasoning/answer_question", uid=uid, task=task, images=messages)

    def reset(self, clip_id: str) -> None:
        assert self.call(ResetMemory, "spatial_reasoning/reset", clip_id=clip_id).success

    def status(self) -> MemoryStatus:
        return self.call(GetMemoryStatus, "spatial_reasoning/get_status").status

    def change_state(self, transition: int) -> bool:
        request = Transition(id=transition)
        return self.call(ChangeState, "spatial_reasoning/change_state", transition=request).success

    def state(self) -> str:
        return self.call(GetState, "spatial_reasoning/get_state").current_state.label

    @property
    def taken(self) -> int:
        """Frames taken in since the last reset, as the newest acknowledgement says."""
        return self.acks[-1][2] if self.acks else 0

    def value(self, key: str) -> str | None:
        """One value of the diagnostics about frames."""
        status = self.diagnostics.get("spatial_reasoning: frames", DiagnosticStatus())
        return next((pair.value for pair in status.values if pair.key == key), None)

    def trouble(self) -> str:
        """The present warning about frames, empty when there is none."""
        status = self.diagnostics.get("spatial_reasoning: frames")
        return status.message if status is not None and status.level == DiagnosticStatus.WARN else ""


@pytest.fixture
def ros(ros_domain):
    """Starts the node with given parameters, spinning in a thread of its own; gives its neighbour."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain)
    nodes, threads, ending = [], [], threading.Event()

    def start(**parameters):
        given = {"status_period_s": 0.1, "no_publisher_warning_s": 0.5, "keyframe_interval_s": 0.1, **parameters}
        overrides = [Parameter(name, value=value) for name, value in given.items()]
        node = SpatialReasoningNode(context=context, parameter_overrides=overrides)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)

        def spin():
            while not ending.is_set():
                executor.spin_once(timeout_sec=0.1)

        threads.append(threading.Thread(target=spin))
        threads[-1].start()
        nodes.append(node)
        return Neighbour(context)

    yield start
    ending.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    rclpy.try_shutdown(context=context)


@pytest.fixture
def answers(tmp_path) -> str:
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"a": "<point>1 2</point>", "b": "B", "c": "C"}))
    return str(file)


@pytest.fixture
def gate(monkeypatch):
    """Holds the delay of the scripted answerer until it is opened, so that no test depends on the machine's speed."""
    opened = threading.Event()
    monkeypatch.setattr("gst_ros.reasoning.scripted.time", SimpleNamespace(sleep=lambda seconds: opened.wait(120)))
    yield opened
    opened.set()


def test_every_frame_is_taken_in_once_in_order_and_acknowledged(ros):
    n = ros()
    n.reset("clip-1")
    publisher, digest = n.publisher(), StampDigest()
    for i in range(60):
        publisher.publish(rgb_to_image(picture(), i * STEP_NS, "camera"))
        digest.add(i * STEP_NS)
        n.wait(lambda i=i: n.taken == i + 1)
    status = n.status()
    assert (status.clip_id, status.frames_received, status.keyframes, status.answerer) == ("clip-1", 60, 60, "random")
    assert status.stamps_sha256 == digest.sha256
    assert (stamp_to_ns(status.first_stamp), stamp_to_ns(status.last_stamp)) == (0, 59 * STEP_NS)
    assert (status.frames_out_of_order, status.frames_duplicate, status.frames_dropped) == (0, 0, 0)
    assert 0 < status.keyframe_bytes < status.keyframe_bytes_limit == 64_000_000
    acks = [ack for ack in n.acks if ack[0] == "clip-1"]
    assert acks == [("clip-1", 0, 0)] + [("clip-1", i * STEP_NS, i + 1) for i in range(60)]


def test_a_player_that_comes_late_still_sees_the_acknowledger(ros):
    n = ros()
    n.reset("clip-1")
    late = []
    n.node.create_subscription(FrameAck, "camera/ack", late.append, LATCHED)
    n.wait(lambda: bool(late) and late[-1].clip_id == "clip-1")
    assert late[-1].frames == 0


def test_frames_of_the_playback_before_do_not_count_after_a_reset(ros):
    n = ros()
    publisher = n.publisher()
    publisher.publish(rgb_to_image(picture(), 90 * STEP_NS, "camera"))
    n.wait(lambda: n.taken == 1)
    n.reset("next")
    publisher.publish(rgb_to_image(picture(), 0, "camera"))
    n.wait(lambda: n.acks[-1] == ("next", 0, 1))
    assert n.status().frames_received == 1


def test_frames_that_wait_while_the_memory_is_reset_are_thrown_away(ros_domain):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain)
    try:
        node, executor = SpatialReasoningNode(context=context), SingleThreadedExecutor(context=context)
        executor.add_node(node)
        n = Neighbour(context)
        publisher = n.publisher()
        for i in range(5):
            publisher.publish(rgb_to_image(picture(), i * STEP_NS, "camera"))
        assert publisher.wait_for_all_acked(Duration(seconds=30))  # the node's middleware has them, the node not yet
        reset = n.call_async(ResetMemory, "spatial_reasoning/reset", clip_id="next")
        n.executor.spin_once(timeout_sec=0.3)
        n.wait(reset.done, other=executor)
        assert reset.result().success
        publisher.publish(rgb_to_image(picture(), 0, "camera"))
        n.wait(lambda: ("next", 0, 1) in n.acks, other=executor)
        assert [ack for ack in n.acks if ack[0] == "next"] == [("next", 0, 0), ("next", 0, 1)]
    finally:
        rclpy.try_shutdown(context=context)


def test_answers_are_those_of_the_engine_without_ros(ros):
    n = ros(answerer_seed=4)
    engine = SpatialMemory(ReasoningConfig(answerer_seed=4))
    for i, task in enumerate(TASKS.values()):
        reply = n.ask(f"uid-{i}", task.official_name)
        assert reply.status == reply.ANSWERED and np.isnan(reply.confidence) and reply.seconds >= 0
        assert reply.answer == engine.answer(Query(f"uid-{i}", task.key)).text
        assert "random guess" in reply.explanation
    assert n.status().questions_answered == len(TASKS)


def test_a_slow_answer_delays_neither_frames_nor_timers_nor_services(ros, answers, gate):
    n = ros(answerer="scripted", answers_file=answers, answer_delay_s=5.0)
    n.reset("clip")
    publisher = n.publisher()
    answer = n.ask_async("a")
    n.wait(lambda: bool(n.statuses) and n.statuses[-1].questions_pending == 1)
    for i in range(50):
        publisher.publish(rgb_to_image(picture(), i * STEP_NS, "camera"))
        n.wait(lambda i=i: n.taken == i + 1)
        assert n.status().frames_received == i + 1
    before = len(n.statuses)
    n.wait(lambda: len(n.statuses) >= before + 10)
    assert all(status.questions_pending == 1 for status in n.statuses[before:]) and not answer.done()
    gate.set()
    n.wait(answer.done)
    assert answer.result().answer == "<point>1 2</point>"


def test_questions_queue_up_to_a_limit_and_are_answered_in_turn(ros, answers, gate):
    n = ros(answerer="scripted", answers_file=answers, answer_delay_s=1.0, question_limit=2)
    first, second = n.ask_async("a"), n.ask_async("b", "tds_easy")
    n.wait(lambda: bool(n.statuses) and n.statuses[-1].questions_pending == 2)
    refused = n.ask("c", "tds_easy")
    assert refused.status == refused.FAILED and "2 questions are waiting" in refused.explanation
    assert "question_limit" in refused.explanation and not first.done() and not second.done()
    gate.set()
    n.wait(lambda: first.done() and second.done())
    assert (first.result().answer, second.result().answer) == ("<point>1 2</point>", "B")


def test_a_reset_fails_open_questions_at_once(ros, answers, gate):
    n = ros(answerer="scripted", answers_file=answers, answer_delay_s=3.0)
    under_way, waiting = n.ask_async("a"), n.ask_async("b", "tds_easy")
    n.wait(lambda: bool(n.statuses) and n.statuses[-1].questions_pending == 2)
    n.reset("next")
    n.wait(lambda: under_way.done() and waiting.done())
    for reply in (under_way.result(), waiting.result()):
        assert reply.status == reply.FAILED and "reset" in reply.explanation and reply.answer == ""
    assert n.status().questions_pending == 0
    gate.set()
    later = n.ask("c", "tds_easy")
    assert (later.status, later.answer) == (later.ANSWERED, "C")
    assert (n.status().questions_failed, n.status().questions_answered) == (2, 1)


def test_failures_are_explained(ros, answers):
    n = ros(answerer="scripted", answers_file=answers)
    good = encode_jpeg(picture())
    for reply, says in (
        (n.ask("zzz"), "no answer for uid 'zzz'"),
        (n.ask("a", "positoin"), "position"),
        (n.ask("a", "position", (good, b"no image")), "image 2 of 2 does not decode"),
        (n.ask("a", "position", (good[:-9], good)), "image 1 of 2 does not decode"),
    ):
        assert reply.status == reply.FAILED and reply.answer == "" and says in reply.explanation
    assert n.ask("a", "position", (good, good)).status == AnswerQuestion.Response.ANSWERED
    n.wait(lambda: n.diagnostics.get("spatial_reasoning: answers") is not None)
    n.wait(lambda: "1 answered, 4 failed" in n.diagnostics["spatial_reasoning: answers"].message)
    assert n.diagnostics["spatial_reasoning: answers"].level == DiagnosticStatus.WARN


def test_auto_reliability_gives_way_to_a_best_effort_camera(ros):
    n = ros()
    publisher, sent = n.publisher(qos=BEST_EFFORT, matched=False), 0

    def one_arrived() -> bool:
        nonlocal sent
        publisher.publish(rgb_to_image(picture(), sent * STEP_NS, "camera"))
        sent += 1
        return n.taken > 0

    n.wait(one_arrived)
    n.wait(lambda: n.value("reliability") == "best_effort")


def test_a_reliability_that_cannot_match_is_told_with_topic_and_remedy(ros):
    n = ros(image_reliability="reliable")
    n.publisher(qos=BEST_EFFORT, matched=False)
    n.wait(lambda: "best effort" in n.trouble())
    assert n.trouble().startswith("/camera/image_raw: ") and "image_reliability" in n.trouble()


def test_a_misspelt_topic_is_told_with_the_topics_there_are(ros):
    n = ros()
    n.wait(lambda: "no image topic at all" in n.trouble())
    n.publisher("camra/image_raw", matched=False)
    n.wait(lambda: "/camra/image_raw" in n.trouble())
    assert n.trouble().startswith("/camera/image_raw: nobody has published for 0.5 s")
    assert "-r camera/image_raw:=/camra/image_raw" in n.trouble()
    n.publisher()
    n.wait(lambda: n.trouble() == "")


def test_the_wrong_transport_is_told(ros):
    n = ros(image_transport="compressed")
    n.publisher(matched=False)
    n.wait(lambda: "to take /camera/image_raw" in n.trouble())
    assert "-p image_transport:=raw" in n.trouble()


def test_an_encoding_that_cannot_be_read_is_told_and_its_frames_are_not_counted(ros):
    n = ros()
    publisher = n.publisher()
    depth = Image(encoding="32FC1", height=2, width=2, step=8, data=bytes(16))
    publisher.publish(depth)
    n.wait(lambda: "32FC1" in n.trouble())
    assert n.trouble().startswith("/camera/image_raw: ") and "rgb8" in n.trouble()
    assert n.status().frames_received == 0
    publisher.publish(rgb_to_image(picture(), STEP_NS, "camera"))
    n.wait(lambda: n.taken == 1 and n.trouble() == "")


@pytest.mark.parametrize("transport", ["raw", "compressed"])
def test_both_transports_are_taken(ros, transport):
    n = ros(image_transport=transport)
    if transport == "raw":
        n.publisher().publish(rgb_to_image(picture(), STEP_NS, "camera"))
    else:
        publisher = n.publisher("camera/image_raw/compressed", CompressedImage)
        publisher.publish(CompressedImage(format="jpeg", data=b"broken"))
        n.wait(lambda: "/camera/image_raw/compressed: " in n.trouble())
        publisher.publish(rgb_to_compressed(picture(), STEP_NS, "camera"))
    n.wait(lambda: bool(n.acks) and n.acks[-1][1:] == (STEP_NS, 1))
    assert n.status().keyframes == 1


def test_time_that_goes_back_is_counted_and_told(ros):
    n = ros()
    publisher = n.publisher()
    for stamp_ns in (50 * STEP_NS, 50 * STEP_NS, 49 * STEP_NS, 0):
        publisher.publish(rgb_to_image(picture(), stamp_ns, "camera"))
    n.wait(lambda: "time went back by 5.000 s" in n.trouble())
    assert "/spatial_reasoning/reset" in n.trouble()
    status = n.status()
    assert (status.frames_received, status.frames_duplicate, status.frames_out_of_order) == (1, 1, 2)
    # Refused frames are acknowledged too, with the newest stamp: a player must not wait for ever.
    n.wait(lambda: [ack[1:] for ack in n.acks].count((50 * STEP_NS, 1)) == 4)
    n.reset("next")
    n.wait(lambda: n.trouble() == "")
    publisher.publish(rgb_to_image(picture(), 0, "camera"))
    n.wait(lambda: n.acks[-1] == ("next", 0, 1))


def test_status_goes_on_while_a_simulated_clock_stands_still(ros):
    n = ros(use_sim_time=True)
    n.wait(lambda: len(n.statuses) >= 3)
    assert n.statuses[-1].header.stamp == ns_to_stamp(0)


def test_a_lifecycle_manager_can_take_over(ros):
    n = ros(autostart=False)
    assert n.state() == "unconfigured"
    assert n.change_state(Transition.TRANSITION_CONFIGURE) and n.state() == "inactive"
    refused = n.ask()
    assert refused.status == refused.FAILED and "/spatial_reasoning is not active" in refused.explanation
    assert n.change_state(Transition.TRANSITION_ACTIVATE)
    publisher = n.publisher()
    publisher.publish(rgb_to_image(picture(), STEP_NS, "camera"))
    n.wait(lambda: n.taken == 1)
    assert n.ask().status == AnswerQuestion.Response.ANSWERED
    assert n.change_state(Transition.TRANSITION_DEACTIVATE)
    n.wait(lambda: publisher.get_subscription_count() == 0)
    assert n.status().keyframes == 1  # what was seen is kept
    assert n.change_state(Transition.TRANSITION_ACTIVATE)
    n.wait(lambda: publisher.get_subscription_count() == 1)
    publisher.publish(rgb_to_image(picture(), 2 * STEP_NS, "camera"))
    n.wait(lambda: n.taken == 2)
    assert n.change_state(Transition.TRANSITION_DEACTIVATE) and n.change_state(Transition.TRANSITION_CLEANUP)
    assert n.state() == "unconfigured"
    n.wait(lambda: n.node.count_publishers("spatial_reasoning/status") == 0)
    assert n.change_state(Transition.TRANSITION_CONFIGURE) and n.status().frames_received == 0
    assert n.change_state(Transition.TRANSITION_INACTIVE_SHUTDOWN) and n.state() == "finalized"


def test_a_configuration_that_fails_leaves_the_node_unconfigured(ros):
    n = ros(autostart=False, answerer="scripted", answers_file="/nowhere/none.json")
    assert not n.change_state(Transition.TRANSITION_CONFIGURE)
    assert n.state() == "unconfigured"


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"answerer": "randon"}, "did you mean 'random'"),
        ({"answerer": "scripted"}, "answers_file"),
        ({"image_transport": "theora"}, "image_transport"),
        ({"keyframe_limit_mb": 0.0}, "keyframe_limit_mb"),
        ({"keyframe_limit": 3.0}, "did you mean 'keyframe_limit_mb'"),
    ],
)
def test_wrong_parameters_end_the_node_with_one_line(ros, parameters, says):
    with pytest.raises(ConfigError, match=says):
        ros(**parameters)


def test_the_parameter_file_shows_every_parameter_with_its_default():
    document = yaml.safe_load((ROOT / "config" / "memory.yaml").read_text())
    given = document["spatial_reasoning"]["ros__parameters"]
    assert given == {
        name: "" if value is None else list(value) if isinstance(value, tuple) else value
        for name, value in SpatialReasoningConfig().to_mapping().items()
    }


@pytest.fixture
def process(ros_domain):
    started = []

    def start(*arguments: str) -> subprocess.Popen:
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "gst_ros.nodes.spatial_reasoning", "--ros-args", *arguments],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        )  # fmt: skip
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_the_process_refuses_a_wrong_parameter_with_exit_code_2(process):
    refusing = process("-p", "answerer:=randon")
    out, _ = refusing.communicate(timeout=60)
    assert refusing.returncode == 2
    errors = [line for line in out.splitlines() if line.startswith("spatial_reasoning: error: ")]
    assert len(errors) == 1 and "did you mean 'random'" in errors[0] and "Traceback" not in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_process_ends_cleanly_even_while_an_answer_is_under_way(process, ros_domain, answers, number):
    p = process("-p", "answerer:=scripted", "-p", f"answers_file:={answers}", "-p", "answer_delay_s:=300.0")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain)
    try:
        n = Neighbour(context)
        n.ask_async("a")
        n.wait(lambda: bool(n.statuses) and n.statuses[-1].questions_pending == 1)
        p.send_signal(number)
        out, _ = p.communicate(timeout=60)
    finally:
        rclpy.try_shutdown(context=context)
    assert p.returncode == 0 and "Traceback" not in out
