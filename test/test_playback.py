"""When which frame is sent: with a fake clock and a fake source, then with the real thread."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clip_makers import cut, write_video

from gst_ros.errors import ConfigError, MediaError
from gst_ros.media.clip import Clip, open_clip
from gst_ros.media.frames import Frame, StampDigest
from gst_ros.media.playback import Peers, Playback, PlaybackConfig, Send, StampClock, State, Wait
from gst_ros.media.player import Player, PlayerReport
from gst_ros.media.readahead import ReadAhead

PIXEL = np.zeros((1, 1, 3), np.uint8)
TENTH = 100_000_000


class FakeSource:
    """Frames at known times; ``slow`` makes them take time to decode."""

    def __init__(self, times_ns: list[int]) -> None:
        self.times_ns = times_ns
        self.at = 0
        self.damaged = 0
        self.pending = False
        self.error: MediaError | None = None

    @property
    def ended(self) -> bool:
        return self.at >= len(self.times_ns)

    def peek(self) -> Frame | None:
        if self.error:
            raise self.error
        return None if self.pending or self.ended else Frame(PIXEL, self.times_ns[self.at])

    def take(self) -> None:
        self.at += 1

    def seek(self, position_s: float) -> None:
        self.at = next((i for i, t in enumerate(self.times_ns) if t >= round(position_s * 1e9)), len(self.times_ns))


class Stage:
    """A playback with its fake surroundings."""

    def __init__(self, frames: int = 5, origin: str = "media", **settings: Any) -> None:
        self.source = FakeSource([i * TENTH for i in range(frames)])
        self.peers = Peers()
        self.now_s = 100.0
        self.wall_ns = 5_000_000_000
        self.clock = StampClock(origin, lambda: self.wall_ns)
        self.playback = self.new(**settings)

    def new(self, clip_id: str = "clip", **settings: Any) -> Playback:
        self.clock.begin_clip()
        config = PlaybackConfig(**settings)
        return Playback(self.source, config, self.clock, lambda: self.peers, clip_id=clip_id, nominal_fps=10.0)

    def run(self, until_s: float = 1e9, decode_s: float = 0.0) -> list[tuple[float, int]]:
        """Step until nothing more happens by itself; return (time, stamp) of what was sent."""
        sent = []
        while self.now_s < until_s:
            step = self.playback.step(self.now_s)
            if isinstance(step, Send):
                sent.append((round(self.now_s - 100, 6), step.stamp_ns))
                self.now_s += decode_s
            elif step.seconds is None:
                break
            else:
                self.now_s = min(until_s, self.now_s + step.seconds)
        return sent

    def send_all(self) -> list[int]:
        """Send what may be sent without waiting for anything."""
        sent = []
        while isinstance(step := self.playback.step(self.now_s), Send):
            sent.append(step.stamp_ns)
        return sent


# Real time


def test_frames_are_sent_when_they_are_due():
    stage = Stage()
    stage.playback.play(stage.now_s)
    assert stage.run() == [(0.0, 0), (0.1, TENTH), (0.2, 2 * TENTH), (0.3, 3 * TENTH), (0.4, 4 * TENTH)]
    assert stage.playback.state == State.FINISHED
    assert stage.playback.digest.count == 5
    assert stage.playback.position_s == 0.4


def test_variable_frame_rate_and_rate_factor():
    stage = Stage(rate=2.0)
    stage.source.times_ns = [0, 40_000_000, 1_000_000_000, 1_010_000_000]
    stage.playback.play(stage.now_s)
    assert [t for t, _ in stage.run()] == [0.0, 0.02, 0.5, 0.505]


def test_late_frames_are_dropped_and_counted():
    stage = Stage(frames=20)
    stage.playback.play(stage.now_s)
    stage.run(until_s=100.35)
    stage.now_s += 0.6  # nothing was possible for 0.6 s
    stage.run()
    assert stage.playback.dropped == 4
    assert stage.playback.digest.count == 16


def test_a_rate_beyond_the_machine_still_shows_pictures():
    stage = Stage(frames=2000, rate=1000.0)
    stage.playback.play(stage.now_s)
    sent = stage.run(decode_s=0.02)
    assert len(sent) >= 10
    assert stage.playback.dropped + len(sent) == 2000
    assert stage.playback.state == State.FINISHED


def test_a_suspended_machine_drops_nothing_but_goes_on_from_there():
    stage = Stage(frames=10)
    stage.playback.play(stage.now_s)
    stage.run(until_s=100.35)
    stage.now_s += 3600
    assert len(stage.run()) == 6
    assert stage.playback.dropped == 0


def test_pause_holds_the_place_and_the_pace():
    stage = Stage()
    stage.playback.play(stage.now_s)
    stage.run(until_s=100.15)
    stage.playback.pause()
    assert stage.playback.state == State.PAUSED
    assert stage.playback.step(stage.now_s) == Wait(None)
    stage.now_s = 200.0
    stage.playback.play(stage.now_s)
    assert stage.run() == [(100.0, 2 * TENTH), (100.1, 3 * TENTH), (100.2, 4 * TENTH)]
    assert stage.playback.dropped == 0


def test_rate_can_change_while_playing():
    stage = Stage(frames=6)
    stage.playback.play(stage.now_s)
    stage.run(until_s=100.15)
    stage.playback.set_rate(10.0, loop=False)
    times = [t for t, _ in stage.run()]
    assert times == pytest.approx([0.15, 0.16, 0.17, 0.18])
    with pytest.raises(ConfigError, match="rate"):
        stage.playback.set_rate(0.0, loop=False)


def test_real_time_gives_a_first_subscriber_a_moment():
    stage = Stage(start_wait_s=1.0)
    stage.peers = Peers(subscribers=0)
    stage.playback.play(stage.now_s)
    assert stage.run(until_s=100.5) == []
    stage.peers = Peers(subscribers=1)
    assert len(stage.run()) == 5
    alone = Stage(start_wait_s=1.0)
    alone.peers = Peers(subscribers=0)
    alone.playback.play(alone.now_s)
    assert alone.run()[0] == (pytest.approx(1.0, abs=0.03), 0)
    assert alone.playback.message == "nobody subscribes to camera/image_raw"


# Lockstep


def test_lockstep_never_runs_further_ahead_than_its_window():
    stage = Stage(frames=30, mode="lockstep", window=4)
    playback = stage.playback
    playback.play(stage.now_s)
    sent = stage.send_all()
    assert sent == [0, TENTH, 2 * TENTH, 3 * TENTH]
    received = 0
    while playback.state == State.PLAYING:
        playback.acknowledge("clip", sent[received], stage.now_s)
        received += 1
        sent += stage.send_all()
        assert len(sent) - received <= 4
        assert playback.unacknowledged == len(sent) - received
    assert sent == [i * TENTH for i in range(30)]
    assert playback.state == State.FINISHED


def test_one_acknowledgement_may_cover_many_frames():
    stage = Stage(frames=30, mode="lockstep", window=4)
    stage.playback.play(stage.now_s)
    stage.send_all()
    stage.playback.acknowledge("clip", 2 * TENTH, stage.now_s)
    assert len(stage.send_all()) == 3


def test_finished_means_that_the_last_frame_is_acknowledged():
    stage = Stage(frames=3, mode="lockstep")
    stage.playback.play(stage.now_s)
    assert len(stage.send_all()) == 3
    assert stage.playback.state == State.PLAYING
    stage.playback.acknowledge("clip", TENTH, stage.now_s)
    stage.send_all()
    assert stage.playback.state == State.PLAYING
    stage.playback.acknowledge("clip", 2 * TENTH, stage.now_s)
    stage.send_all()
    assert stage.playback.state == State.FINISHED


def test_acknowledgements_of_other_playbacks_do_not_count():
    stage = Stage(frames=30, mode="lockstep", window=2)
    stage.playback.play(stage.now_s)
    stage.playback.acknowledge("", 0, stage.now_s)  # what a fresh consumer says before the first frame
    stage.send_all()
    stage.playback.acknowledge("another", TENTH, stage.now_s)
    stage.playback.acknowledge("clip", 99 * TENTH, stage.now_s)
    assert stage.send_all() == []
    stage.playback.acknowledge("", TENTH, stage.now_s)  # a consumer that was never told of a clip
    assert len(stage.send_all()) == 2


def test_a_slow_consumer_sets_the_pace_and_is_not_a_failure():
    stage = Stage(frames=6, mode="lockstep", window=2, ack_timeout_s=10.0)
    playback = stage.playback
    playback.play(stage.now_s)
    stage.send_all()
    for number in range(6):
        stage.now_s += 9.0
        assert isinstance(playback.step(stage.now_s), Wait)
        playback.acknowledge("clip", number * TENTH, stage.now_s)
        stage.send_all()
    assert playback.state == State.FINISHED


def test_a_slow_camera_is_not_a_failure():
    stage = Stage(frames=6, mode="lockstep", window=2, ack_timeout_s=10.0)
    stage.playback.play(stage.now_s)
    stage.send_all()
    stage.playback.acknowledge("clip", TENTH, stage.now_s)
    stage.source.pending = True
    stage.now_s += 3600.0
    assert stage.playback.step(stage.now_s) == Wait(None)
    stage.source.pending = False
    assert len(stage.send_all()) == 2


@pytest.mark.parametrize(
    ("peers", "words"),
    [
        (Peers(0, 0, "/a/image", "/a/ack"), ("nobody subscribes to /a/image", "realtime")),
        (Peers(1, 0, "/a/image", "/a/ack"), ("nobody acknowledges on /a/ack", "realtime")),
    ],
)
def test_lockstep_waits_for_its_consumer_before_the_first_frame(peers, words):
    stage = Stage(mode="lockstep", ack_timeout_s=5.0)
    stage.peers = peers
    stage.playback.play(stage.now_s)
    assert stage.run(until_s=104.9) == []
    assert stage.playback.state == State.PLAYING
    assert stage.playback.message.startswith("waiting: nobody")
    stage.run()
    assert stage.playback.state == State.FAILED
    for word in words:
        assert word in stage.playback.message
    late = Stage(mode="lockstep", ack_timeout_s=5.0)
    late.peers = peers
    late.playback.play(late.now_s)
    late.run(until_s=104.0)
    late.peers = Peers()
    assert len(late.send_all()) == 5
    assert late.playback.message == ""


def test_a_silent_consumer_ends_the_playback_with_the_reason():
    def fail(**change: Any) -> str:
        stage = Stage(frames=30, mode="lockstep", window=3, ack_timeout_s=5.0)
        stage.playback.play(stage.now_s)
        stage.send_all()
        if "clip_id" in change:
            stage.playback.acknowledge(change["clip_id"], TENTH, stage.now_s)
        stage.peers = change.get("peers", stage.peers)
        stage.run()
        assert stage.playback.state == State.FAILED
        assert stage.now_s == 105.0
        return stage.playback.message

    assert "no acknowledgement on camera/ack for 5 s, 3 frames wait" in fail()
    assert "still alive" in fail()
    assert "nobody subscribes" in fail(peers=Peers(subscribers=0))
    assert "nobody acknowledges" in fail(peers=Peers(acknowledgers=0))
    assert "for clip 'other': reset the consumer with clip_id 'clip'" in fail(clip_id="other")


def test_a_pause_does_not_count_as_silence():
    stage = Stage(frames=30, mode="lockstep", window=3, ack_timeout_s=5.0)
    stage.playback.play(stage.now_s)
    stage.send_all()
    stage.playback.pause()
    stage.now_s += 3600
    stage.playback.play(stage.now_s)
    assert stage.playback.step(stage.now_s) == Wait(5.0)


# Stamps


def test_stamps_go_on_over_loops():
    stage = Stage(frames=3, loop=True)
    stage.playback.play(stage.now_s)
    sent = stage.run(until_s=100.75)
    assert sent == [(pytest.approx(i / 10), i * TENTH) for i in range(8)]
    assert stage.playback.loops == 2
    assert stage.playback.position_s == 0.1, "media time starts again"


def test_stamps_never_go_back_on_seek_stop_and_replay():
    stage = Stage(frames=10, mode="lockstep", window=100)
    playback = stage.playback
    playback.play(stage.now_s)
    sent = stage.send_all()
    for command in (lambda: playback.seek(0.5), playback.stop, lambda: playback.seek(0.0)):
        command()
        playback.play(stage.now_s)
        sent += stage.send_all()
    assert all(b > a for a, b in itertools.pairwise(sent))
    assert len(sent) == 10 + 5 + 10 + 10
    playback.acknowledge("clip", sent[-1], stage.now_s)
    stage.send_all()
    assert playback.state == State.FINISHED
    playback.play(stage.now_s)
    assert stage.send_all()[0] > sent[-1]


def test_a_seek_forward_keeps_the_clips_own_times():
    stage = Stage(frames=10, mode="lockstep", window=100)
    stage.playback.play(stage.now_s)
    stage.playback.seek(0.5)
    assert stage.send_all() == [i * TENTH for i in range(5, 10)]


def test_the_next_clip():
    for origin, expected in (("media", 0), ("continuous", 5 * TENTH), ("now", 5_000_000_005)):
        stage = Stage(frames=5, origin=origin, mode="lockstep")
        stage.playback.play(stage.now_s)
        stage.send_all()
        stage.source.seek(0.0)
        stage.playback = stage.new("second", mode="lockstep")
        stage.playback.play(stage.now_s)
        sent = stage.send_all()
        assert sent[0] == expected
        assert all(b > a for a, b in itertools.pairwise(sent))


# States


def test_commands_in_every_state():
    stage = Stage()
    playback = stage.playback
    assert (playback.state, playback.step(0.0)) == (State.READY, Wait(None))
    playback.pause()
    assert playback.state == State.READY
    playback.seek(0.3)
    assert playback.state == State.READY
    playback.play(stage.now_s)
    assert [stamp for _, stamp in stage.run()] == [3 * TENTH, 4 * TENTH]
    assert playback.state == State.FINISHED
    playback.seek(0.2)
    assert playback.state == State.PAUSED
    playback.stop()
    assert playback.state == State.READY


def test_a_clip_that_cannot_be_read_on_is_an_error():
    stage = Stage()
    stage.source.error = MediaError("gone", file="x.mp4")
    stage.playback.play(stage.now_s)
    with pytest.raises(MediaError, match="gone"):
        stage.playback.step(stage.now_s)


@pytest.mark.parametrize(
    "wrong",
    [{"mode": "realtme"}, {"rate": 0.0}, {"rate": float("nan")}, {"window": 0}, {"ack_timeout_s": 0.0}, {"loop": 1}],
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        PlaybackConfig(**wrong)


# The threads


class Recorder:
    """Outputs that remember, and acknowledge after a delay where asked to."""

    def __init__(self, acknowledge_s: float | None = None) -> None:
        self.stamps: list[int] = []
        self.reports: list[PlayerReport] = []
        self.crash: BaseException | None = None
        self.changed = threading.Condition()
        self._acknowledge_s = acknowledge_s
        self._acks: list[tuple[float, int]] = []

    def send(self, frame: Frame, stamp_ns: int) -> None:
        with self.changed:
            self.stamps.append(stamp_ns)
            self._acks.append((time.monotonic() + (self._acknowledge_s or 0.0), stamp_ns))
            self.changed.notify_all()

    def acknowledgements(self) -> list[tuple[str, int]]:
        if self._acknowledge_s is None:
            return []
        ready = [stamp for at, stamp in self._acks if at <= time.monotonic()]
        self._acks = [(at, stamp) for at, stamp in self._acks if stamp not in ready]
        return [("", stamp) for stamp in ready]

    def report(self, report: PlayerReport) -> None:
        with self.changed:
            self.reports.append(report)
            self.changed.notify_all()

    def peers(self) -> Peers:
        return Peers()

    def crashed(self, error: BaseException) -> None:
        self.crash = error

    def wait(self, done: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(done, timeout=30), self.reports[-1]

    def wait_for(self, *states: State) -> PlayerReport:
        self.wait(lambda: bool(self.reports) and self.reports[-1].state in states)
        return self.reports[-1]


@pytest.fixture
def video(tmp_path: Path) -> Path:
    return write_video(
        tmp_path / "clip.mp4", 30, codec_options={"g": "10"}, container_options={"movflags": "faststart"}
    )


@pytest.fixture
def make_player(request: pytest.FixtureRequest) -> Callable[[Recorder], Player]:
    def make(recorder: Recorder) -> Player:
        player = Player(recorder, StampClock("media", time.time_ns), report_period_s=0.05)
        request.addfinalizer(player.close)
        return player

    return make


def test_every_frame_exactly_once_in_lockstep(make_player, video):
    recorder = Recorder(acknowledge_s=0.0)
    player = make_player(recorder)
    player.load(open_clip(video), "id", PlaybackConfig(mode="lockstep"), autoplay=True).result(10)
    report = recorder.wait_for(State.FINISHED)
    digest = StampDigest()
    for stamp in recorder.stamps:
        digest.add(stamp)
    assert recorder.stamps == [i * TENTH for i in range(30)]
    assert (report.frames_sent, report.stamps_sha256) == (30, digest.sha256)
    assert (report.clip_id, report.frames_unacknowledged, report.duration_s) == ("id", 0, 3.0)
    assert recorder.crash is None


def test_the_whole_life_of_a_player(make_player, video):
    recorder = Recorder()
    player = make_player(recorder)
    assert recorder.wait_for(State.IDLE).clip_id == ""
    for command in (player.play, player.pause, player.stop, lambda: player.seek(1.0)):
        with pytest.raises(MediaError, match="no clip is loaded"):
            command().result(10)
    config = PlaybackConfig(rate=50.0, start_wait_s=0.0)
    player.load(open_clip(video), "one", config).result(10)
    recorder.wait_for(State.READY)
    with pytest.raises(MediaError, match="nothing is playing"):
        player.pause().result(10)
    assert player.seek(1.95).result(10) == 2.0
    player.play().result(10)
    assert recorder.wait_for(State.FINISHED).frames_sent == 10
    with pytest.raises(MediaError, match="no frame at or after"):
        player.seek(77.0).result(10)
    assert player.seek(-5.0).result(10) == 0.0
    with pytest.raises(MediaError, match="not a media time"):
        player.seek(float("nan")).result(10)
    player.load(open_clip(video, 1.0), "two", PlaybackConfig(rate=50.0, loop=True), autoplay=True).result(10)
    recorder.wait(lambda: recorder.reports[-1].loops >= 2)
    player.set_rate(50.0, False).result(10)
    assert recorder.wait_for(State.FINISHED).frames_sent >= 60
    player.unload().result(10)
    recorder.wait_for(State.IDLE)
    player.close()
    with pytest.raises(MediaError, match="closed"):
        player.play().result(10)


def test_a_failed_playback_says_why_and_wants_a_new_load(make_player, video):
    recorder = Recorder()  # never acknowledges
    player = make_player(recorder)
    player.load(open_clip(video), "x", PlaybackConfig(mode="lockstep", ack_timeout_s=0.2), autoplay=True).result(10)
    report = recorder.wait_for(State.FAILED)
    assert "no acknowledgement" in report.message
    assert report.frames_unacknowledged == 8
    with pytest.raises(MediaError, match="load the clip again"):
        player.play().result(10)


def test_damage_is_in_the_report(make_player, video, tmp_path):
    recorder = Recorder()
    player = make_player(recorder)
    player.load(open_clip(cut(video, tmp_path / "cut.mp4", 0.8)), "x", PlaybackConfig(rate=100.0), autoplay=True)
    report = recorder.wait_for(State.FINISHED)
    assert report.frames_damaged >= 30 - report.frames_sent > 0


def test_a_defect_ends_the_thread_and_is_told(make_player, video):
    recorder = Recorder()
    player = make_player(recorder)

    def broken(frame: Frame, stamp_ns: int) -> None:
        raise ZeroDivisionError

    recorder.send = broken  # type: ignore[method-assign]
    player.load(open_clip(video), "x", PlaybackConfig(start_wait_s=0.0), autoplay=True).result(10)
    player._thread.join(10)
    assert isinstance(recorder.crash, ZeroDivisionError)


class SlowClip(Clip):
    """A clip in memory that counts what was read."""

    def __init__(self, frames: int) -> None:
        super().__init__(Path("memory"), 0.0, None)
        self.width = self.height = 1
        self.frames, self.at, self.closed = frames, 0, False

    def _read(self) -> Frame | None:
        if self.at >= self.frames:
            return None
        self.at += 1
        return Frame(PIXEL, (self.at - 1) * TENTH)

    def _seek(self, stamp_ns: int) -> None:
        self.at = stamp_ns // TENTH

    def close(self) -> None:
        self.closed = True


def poll(reader: ReadAhead) -> Frame | None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        frame = reader.peek()
        if frame is not None:
            reader.take()
            return frame
        if reader.ended:
            return None
        time.sleep(0.001)
    raise AssertionError("nothing came")


def test_read_ahead_is_bounded_ordered_and_closes_its_clip():
    clip = SlowClip(50)
    reader = ReadAhead(clip, depth=4)
    first = poll(reader)
    assert first is not None
    assert first.stamp_ns == 0
    assert clip.at <= 1 + 4 + 1
    rest = [f.stamp_ns for f in iter(lambda: poll(reader), None)]
    assert rest == [i * TENTH for i in range(1, 50)]
    reader.seek(4.7)
    assert [f.stamp_ns for f in iter(lambda: poll(reader), None)] == [47 * TENTH, 48 * TENTH, 49 * TENTH]
    reader.close()
    reader.close()
    assert clip.closed


def test_read_ahead_hands_errors_over():
    class Broken(SlowClip):
        def _read(self) -> Frame | None:
            raise MediaError("the disk is gone", file="x")

    reader = ReadAhead(Broken(5))
    with pytest.raises(MediaError, match="disk"):
        poll(reader)
    reader.close()
