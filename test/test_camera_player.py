"""The node camera_player, as its neighbours and its user see it."""

from __future__ import annotations

import array
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clip_makers import number_of, write_video

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed; scripts/setup.sh installs it")
pytest.importorskip("gst_interfaces", reason="gst_interfaces is not built; scripts/setup.sh builds it")

import rclpy
import yaml
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from std_srvs.srv import Trigger

from gst_interfaces.msg import FrameAck, PlayerStatus
from gst_interfaces.srv import LoadClip, Seek
from gst_ros.errors import ConfigError, MediaError
from gst_ros.media.frames import StampDigest
from gst_ros.nodes import camera_player, camera_topics
from gst_ros.nodes.camera_player import CameraPlayerNode
from gst_ros.nodes.camera_settings import CameraPlayerConfig
from gst_ros.nodes.image_messages import compressed_to_rgb, image_to_rgb, stamp_to_ns

ROOT = Path(__file__).resolve().parents[1]
TENTH = 100_000_000
RELIABLE = QoSProfile(depth=64, reliability=ReliabilityPolicy.RELIABLE)
BEST_EFFORT = QoSProfile(depth=64, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_video(tmp_path_factory.mktemp("clips") / "clip.mp4", 30, codec_options={"g": "10"})


class World:
    """A player in this process, and a node around it; one thread spins both."""

    def __init__(self, context: rclpy.Context) -> None:
        self.context = context
        self.executor = SingleThreadedExecutor(context=context)
        self.node = Node("consumer", context=context)
        self.executor.add_node(self.node)
        self.images: list[Any] = []
        self.statuses: list[PlayerStatus] = []
        self.player: CameraPlayerNode | None = None
        self.node.create_subscription(PlayerStatus, "camera_player/status", self.statuses.append, LATCHED)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        while not self._closing.is_set():
            self.executor.spin_once(timeout_sec=0.1)

    def start(self, **parameters: Any) -> CameraPlayerNode:
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        self.player = CameraPlayerNode(context=self.context, parameter_overrides=overrides)
        self.executor.add_node(self.player)
        return self.player

    def consume(
        self,
        qos: QoSProfile = RELIABLE,
        *,
        kind: Any = Image,
        topic: str = "camera/image_raw",
        acknowledge: bool = True,
        ack_qos: QoSProfile = LATCHED,
        clip_id: str = "",
        delay_s: float = 0.0,
    ) -> None:
        publisher = self.node.create_publisher(FrameAck, "camera/ack", ack_qos) if acknowledge else None

        def take(message: Any) -> None:
            self.images.append(message)
            if publisher is not None:
                time.sleep(delay_s)
                publisher.publish(FrameAck(clip_id=clip_id, stamp=message.header.stamp, frames=len(self.images)))

        self.node.create_subscription(kind, topic, take, qos)

    def wait(self, condition: Callable[[], bool], limit_s: float = 60.0) -> None:
        end = time.monotonic() + limit_s
        while not condition():
            assert time.monotonic() < end, self.statuses[-1:]
            time.sleep(0.01)

    def wait_for(self, state: int) -> PlayerStatus:
        self.wait(lambda: bool(self.statuses) and self.statuses[-1].state == state)
        return self.statuses[-1]

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        client = self.node.create_client(kind, f"camera_player/{name}")
        self.wait(client.service_is_ready)
        future = client.call_async(kind.Request(**fields))
        self.wait(future.done)
        return future.result()

    def stamps(self) -> list[int]:
        return [stamp_to_ns(message.header.stamp) for message in self.images]

    def close(self) -> None:
        self._closing.set()
        self._thread.join(10)
        self.executor.shutdown(timeout_sec=5.0)
        if self.player is not None:
            self.player.destroy_node()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)


@pytest.fixture
def world(ros_domain: int) -> Iterator[World]:
    context = rclpy.Context()
    rclpy.init(context=context)
    made = World(context)
    yield made
    made.close()


# Lockstep


def test_lockstep_brings_every_frame_exactly_once_and_in_order(world, video):
    world.consume()
    world.start(path=str(video), mode="lockstep")
    status = world.wait_for(PlayerStatus.FINISHED)
    digest = StampDigest()
    for stamp_ns in world.stamps():
        digest.add(stamp_ns)
    assert world.stamps() == [i * TENTH for i in range(30)]
    assert [number_of(image_to_rgb(message)) for message in world.images] == list(range(30))
    assert (status.frames_sent, status.stamps_sha256) == (30, digest.sha256)
    assert (status.mode, status.path, status.duration_s) == ("lockstep", str(video), 3.0)
    assert stamp_to_ns(status.last_stamp) == 29 * TENTH
    first = world.images[0]
    assert (first.encoding, first.width, first.height, first.step) == ("rgb8", 64, 48, 192)
    assert first.header.frame_id == "camera_optical_frame"
    assert isinstance(first.data, array.array)


def test_lockstep_waits_for_a_slow_consumer_and_counts_what_is_open(world, video):
    world.consume(delay_s=0.02)
    world.start(path=str(video), mode="lockstep", window=3, status_period_s=0.02)
    world.wait_for(PlayerStatus.FINISHED)
    assert len(world.images) == 30
    assert max(status.frames_unacknowledged for status in world.statuses) <= 3


def test_lockstep_begins_when_the_consumer_comes(world, video):
    world.start(path=str(video), mode="lockstep")
    world.wait(lambda: any("nobody subscribes to /camera/image_raw" in s.message for s in world.statuses))
    assert world.statuses[-1].state == PlayerStatus.PLAYING
    world.consume()
    assert world.wait_for(PlayerStatus.FINISHED).frames_sent == 30
    assert len(world.images) == 30


def test_lockstep_with_a_consumer_of_compressed_images(world, video):
    world.consume(kind=CompressedImage, topic="camera/image_raw/compressed")
    world.start(path=str(video), mode="lockstep")
    world.wait_for(PlayerStatus.FINISHED)
    assert world.stamps() == [i * TENTH for i in range(30)]
    assert abs(number_of(compressed_to_rgb(world.images[20])) - 20) <= 1


def test_acknowledgements_that_are_not_latched_are_accepted(world, video):
    world.consume(ack_qos=RELIABLE)
    world.start(path=str(video), mode="lockstep")
    assert world.wait_for(PlayerStatus.FINISHED).frames_sent == 30


@pytest.mark.parametrize(
    ("consumer", "words"),
    [
        (None, ("nobody subscribes to /camera/image_raw",)),
        ({"acknowledge": False}, ("nobody acknowledges on /camera/ack",)),
        ({"clip_id": "another"}, ("no acknowledgement on /camera/ack", "clip 'another'", "clip_id 'clip.mp4'")),
    ],
)
def test_lockstep_without_a_consumer_fails_and_says_what_is_missing(world, video, consumer, words):
    if consumer is not None:
        world.consume(**consumer)
    world.start(path=str(video), mode="lockstep", ack_timeout_s=1.5)
    message = world.wait_for(PlayerStatus.FAILED).message
    for word in words:
        assert word in message


# Services


def test_services_answer_in_every_state(world, video):
    world.consume(BEST_EFFORT, acknowledge=False)
    world.start(start_wait_s=0.0)
    for name in ("play", "pause", "stop"):
        response = world.call(Trigger, name)
        assert (response.success, "no clip is loaded" in response.message) == (False, True)
    assert not world.call(Seek, "seek", position_s=1.0).success
    loaded = world.call(LoadClip, "load", path=str(video), clip_id="mine", mode="realtime", rate=0.5)
    assert (loaded.success, loaded.clip_id, loaded.width, loaded.height) == (True, "mine", 64, 48)
    assert (loaded.duration_s, loaded.nominal_fps, loaded.frames_claimed) == (3.0, 10.0, 30)
    assert world.wait_for(PlayerStatus.READY).clip_id == "mine"
    assert world.call(Trigger, "play").success
    assert world.wait_for(PlayerStatus.PLAYING).rate == 0.5
    world.wait(lambda: len(world.images) >= 2)
    assert world.call(Trigger, "pause").success
    world.wait_for(PlayerStatus.PAUSED)
    moved = world.call(Seek, "seek", position_s=2.85)
    assert (moved.success, moved.position_s) == (True, 2.9)
    beyond = world.call(Seek, "seek", position_s=99.0)
    assert (beyond.success, "no frame" in beyond.message, math.isnan(beyond.position_s)) == (False, True, True)
    assert world.call(Seek, "seek", position_s=2.85).success
    assert world.call(Trigger, "play").success
    world.wait_for(PlayerStatus.FINISHED)
    assert world.call(Trigger, "stop").success
    world.wait_for(PlayerStatus.READY)


@pytest.mark.parametrize(
    ("request_fields", "words"),
    [
        ({"path": ""}, ("no path",)),
        ({"path": "/no/such.mp4"}, ("/no/such.mp4", "no such file")),
        ({"mode": "lockstp"}, ("mode", "lockstep")),
        ({"rate": -1.0}, ("rate",)),
        ({"start_s": 50.0}, ("no frame at or after 50",)),
        ({"start_s": -1.0}, ("start_s",)),
        ({"start_s": 2.0, "end_s": 1.0}, ("end_s",)),
        ({"start_s": 1e300}, ("start_s", "1e+300 is not a media time")),
        ({"start_s": math.nan}, ("start_s",)),
        ({"end_s": math.inf}, ("end_s", "inf is not a media time")),
        ({"end_s": math.nan}, ("end_s",)),
        ({"rate": math.inf}, ("rate", "out of range")),
        ({"rate": math.nan}, ("rate", "out of range")),
        ({"path": "n" * 300}, ("nnn", "too long")),
        ({"path": "n" * 100_000}, ("nnn...nnn", "too long")),
        ({"path": "/dev/zero"}, ("not a regular file",)),
        ({"path": "~nobody-of-this-name/a.mp4"}, ("nobody-of-this-name", "in full")),
        ({"mode": "m" * 1_000_000}, ("mode", "is not a choice")),
        ({"clip_id": "c" * 1_000_000}, ("clip_id", "1000000 letters")),
    ],
)
def test_a_load_that_fails_says_why_and_leaves_the_old_clip(world, video, request_fields, words):
    world.start(path=str(video), autoplay=False)
    world.wait_for(PlayerStatus.READY)
    response = world.call(LoadClip, "load", **{"path": str(video), **request_fields})
    assert not response.success
    assert "\n" not in response.message and len(response.message) < 1000
    for word in words:
        assert word in response.message
    assert world.statuses[-1].path == str(video)
    assert world.call(Trigger, "play").success


def test_a_seek_that_cannot_be_is_refused_and_the_next_one_works(world, video):
    world.start(path=str(video), autoplay=False)
    world.wait_for(PlayerStatus.READY)
    for position_s in (math.nan, math.inf, 1e300, 1e12):
        refused = world.call(Seek, "seek", position_s=position_s)
        assert not refused.success and "not a media time" in refused.message
    assert world.call(Seek, "seek", position_s=-1.0).position_s == 0.0
    assert world.call(Seek, "seek", position_s=1.0).position_s == 1.0


def test_a_defect_in_one_call_is_told_and_logged_and_the_node_lives_on(world, video, monkeypatch, capfd):
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError("a defect")

    node = world.start(path=str(video), autoplay=False)
    world.wait_for(PlayerStatus.READY)
    with monkeypatch.context() as patch:
        patch.setattr(camera_player, "open_clip", broken)
        told = [world.call(LoadClip, "load", path=str(video))]
        for name, call in (("play", "_play"), ("pause", "_pause"), ("seek", "_seek")):
            patch.setattr(node._player, call, broken)
            kind = Seek if name == "seek" else Trigger
            told.append(world.call(kind, name))
    for response in told:
        assert (response.success, "ZeroDivisionError: a defect" in response.message) == (False, True)
    assert getattr(node, "exit_code", None) is None
    assert capfd.readouterr().err.count("Traceback (most recent call last)") == 4
    assert world.call(LoadClip, "load", path=str(video)).success


def test_a_defect_in_decoding_ends_the_playback_not_the_node(world, video, monkeypatch):
    def broken(*args: Any) -> Any:
        raise OverflowError("a defect")

    world.consume(BEST_EFFORT, acknowledge=False)
    world.start(path=str(video), autoplay=False)
    world.wait_for(PlayerStatus.READY)
    with monkeypatch.context() as patch:
        patch.setattr("gst_ros.media.video.VideoClip._seek", broken)
        refused = world.call(Seek, "seek", position_s=1.0)
    assert not refused.success and "OverflowError" in refused.message
    assert world.call(LoadClip, "load", path=str(video)).success


def test_one_clip_after_another(world, video):
    world.consume()
    world.start(mode="lockstep")
    for number in range(3):
        loaded = world.call(LoadClip, "load", path=str(video), autoplay=True, start_s=0.5 * number)
        world.wait(lambda at=loaded.clip_id: world.statuses[-1].clip_id == at)
        status = world.wait_for(PlayerStatus.FINISHED)
        assert (status.clip_id, status.frames_sent) == (loaded.clip_id, 30 - 5 * number)
        assert stamp_to_ns(status.first_stamp) == 5 * number * TENTH
    assert len(world.images) == 30 + 25 + 20


def test_a_slow_disk_delays_nobody(world, video, monkeypatch):
    """Opening takes long; meanwhile the old clip plays, status comes and services answer."""
    world.consume(BEST_EFFORT, acknowledge=False)
    world.start(path=str(video), loop=True, status_period_s=0.05)
    world.wait(lambda: len(world.images) > 2)
    gate, really_open = threading.Event(), camera_player.open_clip

    def slow(*args: Any, **kwargs: Any) -> Any:
        gate.wait(20)
        return really_open(*args, **kwargs)

    monkeypatch.setattr(camera_player, "open_clip", slow)
    client = world.node.create_client(LoadClip, "camera_player/load")
    world.wait(client.service_is_ready)
    loading = client.call_async(LoadClip.Request(path=str(video), clip_id="new"))
    images, statuses = len(world.images), len(world.statuses)
    world.wait(lambda: len(world.images) > images + 2 and len(world.statuses) > statuses + 2)
    assert world.call(Trigger, "pause").success
    assert not loading.done()
    gate.set()
    world.wait(loading.done)
    assert loading.result().success
    assert world.wait_for(PlayerStatus.READY).clip_id == "new"


# Topics


def test_real_time_offers_best_effort_and_lockstep_reliable(world, video):
    def offered() -> set[ReliabilityPolicy]:
        return {p.qos_profile.reliability for p in world.node.get_publishers_info_by_topic("/camera/image_raw")}

    world.start()
    world.wait(lambda: offered() == {ReliabilityPolicy.BEST_EFFORT})
    world.call(LoadClip, "load", path=str(video), mode="lockstep")
    world.wait(lambda: offered() == {ReliabilityPolicy.RELIABLE})


def test_incompatible_qos_is_said_with_topic_and_remedy(world, video, capfd):
    world.consume(RELIABLE, acknowledge=False)
    player = world.start(path=str(video), loop=True)  # real time: best effort
    heard = ""

    def warned() -> bool:
        nonlocal heard
        heard += capfd.readouterr().err
        return "/camera/image_raw: a subscriber asks for reliable" in heard and "qos_reliability" in heard

    world.wait(warned)
    assert player.config.qos_reliability == "auto"
    assert world.images == []


@pytest.mark.parametrize("mode", ["realtime", "lockstep"])
def test_playing_to_nobody_is_said_with_the_topic(world, video, capfd, mode):
    """A misspelt topic must not look like an empty result."""
    world.consume(BEST_EFFORT, topic="camera/imgae_raw")
    world.start(path=str(video), mode=mode, loop=True, start_wait_s=0.2)
    heard = ""

    def warned() -> bool:
        nonlocal heard
        heard += capfd.readouterr().err
        return "nobody subscribes to /camera/image_raw (check topic names" in heard

    world.wait(warned)


def test_late_subscribers_get_the_status_and_latched_frames(world, video):
    world.start(path=str(video), rate=10.0, qos_durability="transient_local", qos_reliability="reliable", qos_depth=3)
    finished = world.wait_for(PlayerStatus.FINISHED)
    world.consume(LATCHED, acknowledge=False)
    world.wait(lambda: len(world.images) == 3)
    late = finished.frames_dropped  # a busy machine; which ones is not said
    every = [number * TENTH for number in range(27 - late, 30)]
    assert world.stamps() == [stamp for stamp in every if stamp in world.stamps()]


def test_jpeg_is_made_only_for_subscribers(world, video, monkeypatch):
    made: list[int] = []
    really = camera_topics.rgb_to_compressed

    def counting(image: Any, stamp_ns: int, *rest: Any) -> Any:
        made.append(stamp_ns)
        return really(image, stamp_ns, *rest)

    monkeypatch.setattr(camera_topics, "rgb_to_compressed", counting)
    world.consume()
    world.start(path=str(video), mode="lockstep")
    world.wait_for(PlayerStatus.FINISHED)
    assert made == []
    compressed: list[CompressedImage] = []
    world.node.create_subscription(CompressedImage, "camera/image_raw/compressed", compressed.append, RELIABLE)
    world.wait(lambda: world.player._topics._jpeg.get_subscription_count() == 1)
    world.call(Trigger, "play")
    world.wait(lambda: len(compressed) == 30)
    assert len(made) == 30


def test_camera_info_from_parameters_from_a_file_and_unknown(world, video, tmp_path):
    infos: list[CameraInfo] = []
    world.node.create_subscription(CameraInfo, "camera/camera_info", infos.append, RELIABLE)
    world.consume()
    world.start(mode="lockstep", horizontal_fov_deg=90.0, distortion=[0.5])
    world.wait(lambda: world.player._topics._camera_info.get_subscription_count() == 1)
    world.call(LoadClip, "load", path=str(video), autoplay=True)
    world.wait_for(PlayerStatus.FINISHED)
    world.wait(lambda: len(infos) == 30)
    assert list(infos[0].k) == pytest.approx([32.0, 0, 31.5, 0, 32.0, 23.5, 0, 0, 1])
    assert list(infos[0].d) == [0.5, 0, 0, 0, 0]
    assert [stamp_to_ns(info.header.stamp) for info in infos] == world.stamps()


def test_calibration_beside_the_clip_is_scaled_and_a_wrong_one_refused(world, tmp_path):
    video = write_video(tmp_path / "clip.mp4", 3)
    beside = tmp_path / "camera.json"
    beside.write_text(json.dumps({"width": 128, "height": 96, "fx": 100.0}))
    world.start(path=str(video), autoplay=False)
    assert list(world.player._topics._info.k) == pytest.approx([50.0, 0, 31.5, 0, 50.0, 23.5, 0, 0, 1])
    beside.write_text("{}")
    response = world.call(LoadClip, "load", path=str(video))
    assert not response.success
    assert "camera.json" in response.message
    beside.unlink()
    assert world.call(LoadClip, "load", path=str(video)).success
    assert not any(world.player._topics._info.k), "unknown means uncalibrated"


def test_the_clock_never_goes_back(world, video):
    """Over loops, a seek back and another clip."""
    clocks: list[int] = []
    world.node.create_subscription(Clock, "/clock", lambda message: clocks.append(stamp_to_ns(message.clock)), RELIABLE)
    world.consume(BEST_EFFORT, acknowledge=False)
    world.start(path=str(video), publish_clock=True, loop=True, rate=30.0)
    world.wait(lambda: world.statuses[-1:] != [] and world.statuses[-1].loops >= 2)
    assert world.call(Seek, "seek", position_s=0.0).success
    count = len(clocks)
    world.wait(lambda: len(clocks) > count + 5)
    assert world.call(LoadClip, "load", path=str(video), autoplay=True, rate=30.0).success
    world.wait_for(PlayerStatus.FINISHED)
    assert len(clocks) > 90
    assert all(b > a for a, b in itertools.pairwise(clocks))


def test_rate_loop_and_quality_can_be_changed_while_playing(world, video):
    world.start(path=str(video), rate=0.01, loop=True, start_wait_s=0.0, status_period_s=0.05)
    world.wait_for(PlayerStatus.PLAYING)
    results = world.player.set_parameters([Parameter("rate", value=50.0), Parameter("loop", value=False)])
    assert all(result.successful for result in results)
    assert world.wait_for(PlayerStatus.FINISHED).rate == 50.0
    wrong = world.player.set_parameters([Parameter("rate", value=-1.0), Parameter("mode", value="lockstep")])
    assert not any(result.successful for result in wrong)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"mode": "lockstp"}, ("mode", "did you mean 'lockstep'")),
        ({"pth": "x"}, ("pth", "did you mean 'path'")),
        ({"rate": 0.0}, ("rate",)),
        ({"rate": math.inf}, ("rate", "inf is out of range")),
        ({"end_s": math.inf}, ("end_s", "inf is out of range")),
        ({"start_s": 1e300, "path": "."}, ("start_s", "not a media time")),
        ({"window": 0}, ("window",)),
        ({"publish_clock": True, "stamp_origin": "media"}, ("stamp_origin", "continuous")),
        ({"distortion": [1.0] * 6}, ("distortion",)),
        ({"path": "/no/such.mp4"}, ("/no/such.mp4", "no such file")),
    ],
)
def test_wrong_parameters_are_named(world, parameters, words):
    with pytest.raises((ConfigError, MediaError)) as caught:
        world.start(**parameters)
    for word in words:
        assert word in str(caught.value)


# The process


def command(*parameters: str) -> list[str]:
    words = [sys.executable, "-m", "gst_ros.nodes.camera_player", "--ros-args"]
    for parameter in parameters:
        words += ["-p", parameter]
    return words


def environment() -> dict[str, str]:
    # See design of the ROS wheels: children must find their libraries for themselves.
    return {k: v for k, v in os.environ.items() if k != "_ROS_WHEELS_BOOTSTRAP_COMPLETE"}


def run(*parameters: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*parameters), cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )


def test_one_command_plays_a_file_and_ends(ros_domain, video):
    done = run(f"path:={video}", "exit_when_finished:=true", "rate:=20.0", "start_wait_s:=0.0")
    assert done.returncode == 0, done.stderr
    assert "finished, 30 frames sent, 0 dropped, 0 damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_failures_are_one_line_and_an_exit_code(ros_domain, video):
    for parameters, word in ((("path:=/no/such.mp4",), "no such file"), (("rat:=2.0",), "did you mean 'rate'")):
        done = run(*parameters)
        assert done.returncode == 2
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith("camera_player: error: ")
        assert word in lines[0]
    failed = run(f"path:={video}", "mode:=lockstep", "ack_timeout_s:=0.5", "exit_when_finished:=true")
    assert failed.returncode == 3, failed.stderr
    assert "nobody subscribes to /camera/image_raw" in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_cleanly_while_it_plays(world, video, sent):
    process = subprocess.Popen(
        command(f"path:={video}", "loop:=true", "rate:=20.0"),
        cwd=ROOT,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        world.consume(BEST_EFFORT, acknowledge=False)
        world.wait(lambda: len(world.images) > 5)
        process.send_signal(sent)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert "fatal" not in errors.lower()


def test_the_parameter_file_holds_every_parameter_with_its_default():
    document = yaml.safe_load((ROOT / "config" / "player.yaml").read_text(encoding="utf-8"))
    values = document["camera_player"]["ros__parameters"]
    defaults = CameraPlayerConfig().to_mapping()
    assert set(values) == set(defaults)
    # ROS cannot tell the type of an empty list in a file.
    assert CameraPlayerConfig.from_mapping({**values, "distortion": []}) == CameraPlayerConfig()
    assert values["distortion"] == [0.0]


def test_the_parameter_file_is_taken_by_the_node(ros_domain, video):
    words = [sys.executable, "-m", "gst_ros.nodes.camera_player", "--ros-args"]
    words += ["--params-file", str(ROOT / "config" / "player.yaml"), "-p", f"path:={video}"]
    words += ["-p", "exit_when_finished:=true", "-p", "rate:=50.0", "-p", "start_wait_s:=0.0"]
    done = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert "error" not in done.stderr.lower(), done.stderr
    assert done.returncode == 0
