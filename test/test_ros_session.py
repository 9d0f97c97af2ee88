"""The session over ROS against a player and a memory that misbehave on demand."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed; scripts/setup.sh installs it")

import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import Image
from std_srvs.srv import Trigger

from gst_interfaces.msg import EvaluationProgress, MemoryStatus, PlayerStatus
from gst_interfaces.srv import AnswerQuestion, GetMemoryStatus, LoadClip, ResetMemory
from gst_ros.config import setting
from gst_ros.errors import MediaError, SessionError
from gst_ros.evaluation.plan import EvaluationConfig
from gst_ros.evaluation.progress import Progress
from gst_ros.nodes.evaluator import ProgressPublisher
from gst_ros.nodes.parameters import declare
from gst_ros.nodes.ros_session import RosSession
from gst_ros.nodes.system_watch import STATUS_QOS
from gst_ros.reasoning.answerer import Query
from gst_ros.reasoning.engine import ReasoningConfig

VIDEO = Path("/videos/a.mp4")


class FakeSystem:
    """Both nodes, in a thread. Tests change its attributes."""

    def __init__(self, context: Context) -> None:
        self.player = Node("camera_player", context=context)
        self.memory = Node(
            "spatial_reasoning", context=context, parameter_overrides=[Parameter("answerer_seed", value=11)]
        )
        declare(self.memory, ReasoningConfig)
        self.load_message = ""
        self.after_play: Callable[[], None] = self.finish
        self.answer_after_s = 0.0
        self.answer = AnswerQuestion.Response(answer="C", confidence=math.nan, explanation="why", seconds=0.5)
        self.questions: list[AnswerQuestion.Request] = []
        self.silent: set[str] = set()
        self.player_status = PlayerStatus()
        self.memory_status = MemoryStatus(answerer="random")
        group = ReentrantCallbackGroup()
        self._status_of_player = self.player.create_publisher(PlayerStatus, "~/status", STATUS_QOS)
        self._status_of_memory = self.memory.create_publisher(MemoryStatus, "~/status", STATUS_QOS)
        self.player.create_publisher(Image, "camera/image_raw", 1)
        self.memory.create_subscription(Image, "camera/image_raw", lambda message: None, 1)
        self.player.create_service(LoadClip, "~/load", self._load, callback_group=group)
        self.player.create_service(Trigger, "~/play", self._play, callback_group=group)
        self.memory.create_service(ResetMemory, "~/reset", self._reset, callback_group=group)
        self.memory.create_service(GetMemoryStatus, "~/get_status", self._get_status, callback_group=group)
        self.memory.create_service(AnswerQuestion, "~/answer_question", self._answer, callback_group=group)
        self.player.create_timer(0.1, self.publish, callback_group=group)
        self.executor = MultiThreadedExecutor(num_threads=3, context=context)
        self.executor.add_node(self.player)
        self.executor.add_node(self.memory)
        self.spinner = threading.Thread(target=self._spin, daemon=True)
        self.spinner.start()

    def publish(self) -> None:
        if "camera_player" not in self.silent:
            self._status_of_player.publish(self.player_status)
        if "spatial_reasoning" not in self.silent:
            self._status_of_memory.publish(self.memory_status)

    def play(self, sent: int, received: int, state: int = PlayerStatus.FINISHED, **more: Any) -> None:
        """Become a system in which so many frames have gone through."""
        self.memory_status.frames_received = received
        self.memory_status.stamps_sha256 = f"sha{received}"
        status = self.player_status
        status.frames_sent, status.stamps_sha256, status.position_s = sent, f"sha{sent}", 1.5
        for name, value in more.items():
            setattr(status, name, value)
        status.state = state
        self.publish()

    def finish(self) -> None:
        self.play(sent=7, received=7)

    def _load(self, request: LoadClip.Request, response: LoadClip.Response) -> LoadClip.Response:
        if self.load_message:
            response.message = self.load_message
            return response
        self.player_status = PlayerStatus(clip_id=request.clip_id, mode=request.mode, state=PlayerStatus.READY)
        response.success, response.duration_s = True, 3.0
        return response

    def _play(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.player_status.state = PlayerStatus.PLAYING
        self.after_play()
        response.success = True
        return response

    def _reset(self, request: ResetMemory.Request, response: ResetMemory.Response) -> ResetMemory.Response:
        self.memory_status = MemoryStatus(answerer="random", clip_id=request.clip_id)
        response.success = True
        return response

    def _get_status(
        self, request: GetMemoryStatus.Request, response: GetMemoryStatus.Response
    ) -> GetMemoryStatus.Response:
        response.status = self.memory_status
        return response

    def _answer(self, request: AnswerQuestion.Request, response: AnswerQuestion.Response) -> AnswerQuestion.Response:
        self.questions.append(request)
        time.sleep(self.answer_after_s)
        return self.answer

    def _spin(self) -> None:
        try:
            self.executor.spin()
        except ExternalShutdownException:
            return


@pytest.fixture
def context(ros_domain: int) -> Iterator[Context]:
    context = Context()
    rclpy.init(context=context, domain_id=ros_domain)
    yield context
    rclpy.try_shutdown(context=context)


@pytest.fixture
def system(context: Context) -> Iterator[FakeSystem]:
    system = FakeSystem(context)
    yield system
    # A node that is left to the garbage collector would haunt the next test that gets this ROS domain.
    assert system.executor.shutdown(timeout_sec=10.0)
    system.spinner.join(timeout=10.0)
    for node in (system.player, system.memory):
        node.destroy_node()


@pytest.fixture
def connect(context: Context) -> Iterator[Callable[..., RosSession]]:
    nodes: list[Node] = []
    sessions: list[RosSession] = []

    def make(**settings: Any) -> RosSession:
        config = EvaluationConfig(**{"start_timeout_s": 20.0, **settings})
        nodes.append(Node("evaluator", context=context))
        session = RosSession(nodes[-1], config)
        sessions.append(session)
        session.connect()
        return session

    yield make
    for session in sessions:
        session.close()
    for node in nodes:
        node.destroy_node()


def ignore(position_s: float, duration_s: float | None) -> None:
    assert duration_s == 3.0


def test_a_playback_is_reported_as_both_ends_saw_it(system: FakeSystem, connect) -> None:
    playback = connect().play(VIDEO, ignore)
    assert (playback.frames_sent, playback.frames_received, playback.lossless) == (7, 7, True)
    assert (playback.mode, playback.video) == ("lockstep", str(VIDEO))


def test_frames_lost_or_refused_on_the_way_are_seen(system: FakeSystem, connect) -> None:
    session = connect(mode="realtime")
    system.after_play = lambda: system.play(sent=9, received=6, frames_dropped=2)
    lost = session.play(VIDEO, ignore)
    assert (lost.frames_sent, lost.frames_received, lost.frames_dropped, lost.lossless) == (9, 6, 5, False)

    def twice() -> None:
        system.memory_status.frames_duplicate, system.memory_status.frames_out_of_order = 1, 2
        system.play(sent=6, received=6)

    system.after_play = twice
    repeated = session.play(VIDEO, ignore)
    assert (repeated.frames_refused, repeated.lossless) == (3, False)


def test_damage_that_the_player_met_is_no_loss_on_the_way(system: FakeSystem, connect) -> None:
    system.after_play = lambda: system.play(sent=5, received=5, frames_damaged=3)
    damaged = connect().play(VIDEO, ignore)
    assert (damaged.frames_damaged, damaged.damaged, damaged.lossless) == (3, True, True)


def test_a_video_that_cannot_be_loaded_or_played_is_a_media_error(system: FakeSystem, connect) -> None:
    session = connect()
    system.after_play = lambda: system.play(sent=2, received=2, state=PlayerStatus.FAILED, message="disk is gone")
    with pytest.raises(MediaError, match=f"^{VIDEO}: disk is gone$"):
        session.play(VIDEO, ignore)
    system.load_message = f"{VIDEO}: holds no frame"
    with pytest.raises(MediaError, match=f"^{VIDEO}: holds no frame$"):
        session.play(VIDEO, ignore)


def test_the_memory_says_itself_how_it_is_set(system: FakeSystem, connect) -> None:
    described = connect().describe()
    assert described["reasoning"]["answerer_seed"] == 11 and described["transport"] == "ros"


def test_a_question_goes_through_whole_and_so_does_its_answer(system: FakeSystem, connect) -> None:
    session = connect()
    session.forget()
    png, jpeg = b"\x89PNG rest", b"\xff\xd8 rest"
    reply = session.ask(Query("uid ü", "ed_v", ("a", "–b"), (png, jpeg)))
    assert (reply.status, reply.text, reply.confidence, reply.explanation, reply.seconds) == (
        "answered", "C", None, "why", 0.5
    )  # fmt: skip
    (question,) = system.questions
    assert (question.uid, question.task, list(question.texts)) == ("uid ü", "ed_v", ["a", "–b"])
    assert [(image.format, image.data.tobytes()) for image in question.images] == [("png", png), ("jpeg", jpeg)]
    system.answer = AnswerQuestion.Response(status=AnswerQuestion.Response.FAILED, answer="x", explanation="no GPU")
    failed = session.ask(Query("u", "ed_v"))
    assert (failed.status, failed.text, failed.explanation) == ("failed", "", "no GPU")


def test_a_slow_answer_is_waited_for_while_the_node_is_heard(system: FakeSystem, connect) -> None:
    session = connect(silence_timeout_s=0.8, service_timeout_s=1.0)
    session.forget()
    system.answer_after_s = 2.5
    assert session.ask(Query("u", "ed_v")).text == "C"


def test_an_answer_that_takes_too_long_ends_the_run(system: FakeSystem, connect) -> None:
    session = connect(answer_timeout_s=0.6)
    session.forget()
    system.answer_after_s = 2.0
    with pytest.raises(SessionError, match=r"answer_question of node spatial_reasoning took more than 0\.6 s"):
        session.ask(Query("u", "ed_v"))


@pytest.mark.parametrize("name", ["camera_player", "spatial_reasoning"])
def test_a_node_that_falls_silent_during_playback_is_named(system: FakeSystem, connect, name: str) -> None:
    session = connect(silence_timeout_s=1.0)
    system.after_play = lambda: system.silent.add(name)
    with pytest.raises(SessionError, match=f"node {name} has been silent"):
        session.play(VIDEO, ignore)


def test_a_node_that_vanishes_is_named(system: FakeSystem, connect) -> None:
    session = connect(node_grace_s=0.0)
    session.forget()

    def vanish() -> None:
        system.executor.remove_node(system.memory)
        system.silent.add("spatial_reasoning")
        system.memory.destroy_node()

    system.after_play = vanish
    with pytest.raises(SessionError, match="node spatial_reasoning is gone"):
        session.play(VIDEO, ignore)


class Absence:
    """Makes services of a node look vanished, as those of a suspended process do, and counts the looks."""

    def __init__(self, session: RosSession, monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
        self.looks_left = looks
        client = session._memory.clients[0]
        there = client.service_is_ready

        def look() -> bool:
            self.looks_left -= 1
            return bool(self.looks_left < 0 and there())

        monkeypatch.setattr(client, "service_is_ready", look)


def test_a_node_that_comes_back_in_its_grace_period_is_asked_again(
    system: FakeSystem, connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = connect(node_grace_s=60.0)
    session.forget()
    absence = Absence(session, monkeypatch, looks=3)
    system.answer_after_s = 4.0
    assert session.ask(Query("u", "ed_v")).text == "C"
    assert absence.looks_left < 0
    assert [question.uid for question in system.questions] == ["u", "u"], "the first answer may have been lost"


def test_a_video_in_which_a_node_was_away_is_played_again(
    system: FakeSystem, connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = connect(node_grace_s=60.0)
    playbacks: list[str] = []

    def play() -> None:
        playbacks.append(system.player_status.clip_id)
        if len(playbacks) == 1:
            system.play(5, 3, state=PlayerStatus.PLAYING, frames_unacknowledged=2)
            Absence(session, monkeypatch, looks=2)
        else:
            system.finish()

    system.after_play = play
    assert session.play(VIDEO, ignore).lossless
    assert len(set(playbacks)) == 2


def test_a_camera_slower_than_every_time_out_is_not_taken_for_a_dead_one(system: FakeSystem, connect) -> None:
    session = connect(mode="realtime", silence_timeout_s=1.0, service_timeout_s=1.0, stall_timeout_s=1.0)
    system.after_play = lambda: threading.Timer(3.0, system.finish).start()
    assert session.play(VIDEO, ignore).frames_received == 7


def test_a_playback_that_stands_still_is_given_up(system: FakeSystem, connect) -> None:
    session = connect(stall_timeout_s=1.0)
    system.after_play = lambda: system.play(5, 3, state=PlayerStatus.PLAYING, frames_unacknowledged=2)
    with pytest.raises(SessionError, match=r"stands still since 1 s: 5 frames sent, 3 taken in by node spatial_reas"):
        session.play(VIDEO, ignore)


def test_another_evaluator_at_work_is_noticed(system: FakeSystem, connect) -> None:
    session = connect(service_timeout_s=2.0)  # from then on a status that never was about our clip counts, too
    system.after_play = lambda: setattr(system.player_status, "clip_id", "theirs")
    with pytest.raises(SessionError, match="plays another clip, 'theirs'"):
        session.play(VIDEO, ignore)
    session.forget()
    system.memory_status.clip_id = "theirs"
    with pytest.raises(SessionError, match="reset behind our back"):
        session.ask(Query("u", "ed_v"))


def test_a_second_publisher_of_images_is_an_error_before_anything_is_played(
    system: FakeSystem, connect, context: Context
) -> None:
    webcam = Node("webcam", namespace="/usb", context=context)
    webcam.create_publisher(Image, "/camera/image_raw", 1)
    with pytest.raises(SessionError, match=r"2 publishers instead of one \(/camera_player, /usb/webcam\).*domain"):
        connect(start_timeout_s=2.0)
    webcam.destroy_node()
    connect()


def test_progress_is_published_and_kept_for_late_subscribers(context: Context) -> None:
    node, listener = Node("evaluator", context=context), Node("listener", context=context)
    ProgressPublisher(node).update(Progress(videos_total=2, questions_total=9, questions_done=4, failed=1))
    heard: list[EvaluationProgress] = []
    listener.create_subscription(EvaluationProgress, "/evaluator/progress", heard.append, STATUS_QOS)
    executor = MultiThreadedExecutor(num_threads=2, context=context)
    executor.add_node(listener)
    deadline = time.monotonic() + 20
    while not heard and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    for made in (node, listener):
        made.destroy_node()
    assert (heard[0].questions_done, heard[0].questions_total, heard[0].failed) == (4, 9, 1)
    assert math.isnan(heard[0].average) and list(heard[0].tasks) == []


def test_a_memory_of_another_version_is_an_error(system: FakeSystem, connect, monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class NewerConfig(ReasoningConfig):
        invented_later: int = setting(1, "A setting that the node does not have yet.")

    monkeypatch.setattr("gst_ros.nodes.ros_session.ReasoningConfig", NewerConfig)
    with pytest.raises(SessionError, match="node spatial_reasoning lacks parameters"):
        connect().describe()
