"""When which frame of a clip is sent, and with which stamp.

Pure bookkeeping: no thread, no ROS and no clock of its own. Whoever runs it calls :meth:`Playback.step`
with the time and does what it says; :class:`gst_ros.media.player.Player` is that runner.

- *Real time*: a frame is due when its media time has come; one that comes too late is dropped and counted.
- *Lockstep*: never more than ``window`` frames ahead of the stamp that the consumer has acknowledged, so
  that no queue between the two can overflow; every frame is sent exactly once and in order.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gst_ros.config import Settings, setting
from gst_ros.media.frames import Frame, StampDigest
from gst_ros.media.stamps import NS_PER_S

_PEER_POLL_S = 0.02
_SLIP_S = 1.0


class State(enum.IntEnum):
    """What the player is doing; the numbers are those of gst_interfaces/PlayerStatus."""

    IDLE = 0
    READY = 1
    PLAYING = 2
    PAUSED = 3
    FINISHED = 4
    FAILED = 5


@dataclass(frozen=True)
class PlaybackConfig(Settings):
    """How a clip is played."""

    mode: str = setting(
        "realtime",
        "realtime: frames are sent when they are due, late ones are dropped; lockstep: the consumer sets the pace and "
        "gets every frame.",
        choices=("realtime", "lockstep"),
    )
    rate: float = setting(1.0, "Speed of playback in real-time mode.", unit="media s per s", above=0.0, high=1000.0)
    loop: bool = setting(False, "Start again at the end; stamps go on.")
    window: int = setting(8, "Lockstep: most frames sent and not acknowledged.", unit="frames", low=1, high=1000)
    ack_timeout_s: float = setting(
        30.0, "Lockstep: longest wait for a consumer, and for its next acknowledgement.", unit="s", above=0.0
    )
    start_wait_s: float = setting(
        2.0, "Real time: longest wait for a first subscriber before the first frame.", unit="s", low=0.0
    )
    max_lateness_s: float = setting(0.2, "Real time: a frame later than this is dropped.", unit="s", low=0.0)
    stamp_origin: str = setting(
        "auto",
        "media: the clip's own times, as they are until a loop or a jump back; continuous: never backwards, not over "
        "several clips either; now: time of sending; auto: continuous with publish_clock, else media.",
        choices=("auto", "media", "continuous", "now"),
    )


class Source(Protocol):
    """Where the frames come from; see :class:`gst_ros.media.readahead.ReadAhead`."""

    @property
    def ended(self) -> bool: ...  # noqa: D102
    @property
    def damaged(self) -> int: ...  # noqa: D102
    def peek(self) -> Frame | None: ...  # noqa: D102
    def take(self) -> None: ...  # noqa: D102
    def seek(self, position_s: float) -> None: ...  # noqa: D102


@dataclass(frozen=True)
class Peers:
    """Who is there at the other end.

    Attributes:
        subscribers: Subscriptions matched with the image topics.
        acknowledgers: Publishers on the topic of acknowledgements.
        image_topic: Its full name, for messages.
        ack_topic: Its full name, for messages.
    """

    subscribers: int = 1
    acknowledgers: int = 1
    image_topic: str = "camera/image_raw"
    ack_topic: str = "camera/ack"


@dataclass(frozen=True)
class Send:
    """Send this frame now."""

    frame: Frame
    stamp_ns: int


@dataclass(frozen=True)
class Wait:
    """Nothing to do until something happens, or for this long (None: any time)."""

    seconds: float | None


class StampClock:
    """Turns media times into stamps that never go back.

    Args:
        origin: ``media``, ``continuous`` or ``now``; see :class:`PlaybackConfig`.
        wall_ns: Time of day in nanoseconds since the epoch, for ``now``.
    """

    def __init__(self, origin: str, wall_ns: Callable[[], int]) -> None:
        self.origin = origin
        self._wall_ns = wall_ns
        self._offset_ns = 0
        self._last_ns: int | None = None

    def begin_clip(self) -> None:
        """The next stamp belongs to another clip."""
        self._offset_ns = 0
        if self.origin == "media":
            self._last_ns = None

    def stamp(self, media_ns: int, interval_ns: int) -> int:
        """Return the stamp of the frame that is sent now.

        Args:
            media_ns: Its time in the clip.
            interval_ns: Usual time between two frames, kept between the frames on both sides of a jump back.
        """
        last_ns = self._last_ns
        stamp_ns = self._wall_ns() if self.origin == "now" else media_ns + self._offset_ns
        if last_ns is not None and stamp_ns <= last_ns:
            stamp_ns = last_ns + (1 if self.origin == "now" else interval_ns)
            self._offset_ns = stamp_ns - media_ns
        self._last_ns = stamp_ns
        return stamp_ns


class Playback:
    """The playback of one clip, from loading to its end.

    All times ``now_s`` are seconds of one monotonic clock.

    Attributes:
        state: What it is doing.
        message: Why it failed, or what it is waiting for.
        position_s: Media time of the newest frame sent.
        loops: How often the clip started again.
        dropped: Frames that were decoded too late to be worth sending.
        digest: Count, ends and fingerprint of the stamps sent.
    """

    def __init__(
        self,
        source: Source,
        config: PlaybackConfig,
        clock: StampClock,
        peers: Callable[[], Peers],
        *,
        clip_id: str = "",
        start_s: float = 0.0,
        nominal_fps: float | None = None,
    ) -> None:
        self.config = config
        self.state = State.READY
        self.message = ""
        self.clip_id = clip_id
        self.position_s = start_s
        self.loops = 0
        self.dropped = 0
        self.digest = StampDigest()
        self._source = source
        self._clock = clock
        self._peers = peers
        self._start_s = start_s
        self._interval_ns = round(NS_PER_S / nominal_fps) if nominal_fps else NS_PER_S // 10
        self._last_media_ns: int | None = None
        self._anchor: tuple[float, int] | None = None  # wall time and media time of one frame on schedule
        self._loop_at_s = 0.0  # when the first frame after a loop is due
        self._unacknowledged: deque[int] = deque()
        self._progress_s = 0.0  # when the consumer last did what we wait for
        self._greeted = False
        self._foreign_clip_id: str | None = None
        self._sent_in_pass = 0
        self._sent_at_s = 0.0

    @property
    def unacknowledged(self) -> int:
        """Frames sent and not acknowledged (lockstep)."""
        return len(self._unacknowledged)

    # Commands

    def play(self, now_s: float) -> None:
        """Begin, go on, or, after the end, start again."""
        if self.state == State.PLAYING:
            return
        if self.state == State.FINISHED:
            self._rewind(self._start_s)
        self.state = State.PLAYING
        self._anchor = None
        self._progress_s = now_s

    def pause(self) -> None:
        """Stop sending and stay here. Does nothing unless playing."""
        if self.state == State.PLAYING:
            self.state = State.PAUSED
            self.message = ""

    def stop(self) -> None:
        """Stop sending and go back to the start."""
        self._rewind(self._start_s)
        self.state = State.READY
        self.message = ""

    def seek(self, position_s: float) -> None:
        """Go on at a media time; a finished clip becomes a paused one."""
        self._rewind(max(position_s, self._start_s))
        if self.state == State.FINISHED:
            self.state = State.PAUSED

    def set_rate(self, rate: float, loop: bool) -> None:
        """Change speed and looping while playing."""
        values = {**self.config.to_mapping(), "rate": rate, "loop": loop}
        self.config = type(self.config).from_mapping(values)
        self._anchor = None

    def acknowledge(self, clip_id: str, stamp_ns: int, now_s: float) -> None:
        """The consumer has taken in everything up to a stamp.

        Args:
            clip_id: The playback that it speaks of; empty when it was never told of one.
            stamp_ns: Stamp of its newest frame.
            now_s: The time.
        """
        if clip_id and clip_id != self.clip_id:
            self._foreign_clip_id = clip_id
            return
        last_ns = self.digest.last_ns
        if last_ns is None or stamp_ns > last_ns:
            return  # speaks of an earlier playback
        waiting = self._unacknowledged
        while waiting and waiting[0] <= stamp_ns:
            waiting.popleft()
            self._progress_s = now_s

    def fail(self, message: str) -> None:
        """End with an error."""
        self.state = State.FAILED
        self.message = message

    # One step

    def step(self, now_s: float) -> Send | Wait:
        """Say what to do now.

        Raises:
            MediaError: The clip cannot be read any more.
        """
        if self.state != State.PLAYING:
            return Wait(None)
        lockstep = self.config.mode == "lockstep"
        if not self._greeted and (wait := self._greet(now_s, lockstep)) is not None:
            return wait
        if lockstep and len(self._unacknowledged) >= self.config.window:
            return self._await_ack(now_s)
        frame = self._source.peek()
        if frame is None:
            return self._at_end(now_s) if self._source.ended else Wait(None)
        if not lockstep and (wait := self._pace(frame, now_s)) is not None:
            return wait
        self._source.take()
        return self._send(frame, now_s)

    def _send(self, frame: Frame, now_s: float) -> Send:
        if self._last_media_ns is not None and frame.stamp_ns > self._last_media_ns:
            self._interval_ns = frame.stamp_ns - self._last_media_ns
        self._last_media_ns = frame.stamp_ns
        stamp_ns = self._clock.stamp(frame.stamp_ns, self._interval_ns)
        self.digest.add(stamp_ns)
        self.position_s = frame.stamp_ns / NS_PER_S
        self._sent_in_pass += 1
        self._sent_at_s = now_s
        if self.config.mode == "lockstep":
            if not self._unacknowledged:
                self._progress_s = now_s
            self._unacknowledged.append(stamp_ns)
        return Send(frame, stamp_ns)

    def _pace(self, frame: Frame, now_s: float) -> Wait | None:
        """Real time: wait until the frame is due; drop it when it is late."""
        if self._anchor is None:
            self._anchor = (max(now_s, self._loop_at_s), frame.stamp_ns)
        anchor_s, anchor_ns = self._anchor
        due_s = anchor_s + (frame.stamp_ns - anchor_ns) / NS_PER_S / self.config.rate
        late_s = now_s - due_s
        if late_s < 0:
            return Wait(-late_s)
        if late_s > _SLIP_S + self.config.max_lateness_s:
            # Hopelessly behind (a suspended machine, a rate beyond its powers): dropping everything would
            # show nothing at all, so the schedule starts again from here.
            self._anchor = (now_s, frame.stamp_ns)
        elif late_s > self.config.max_lateness_s:
            self._source.take()
            self.dropped += 1
            return Wait(0.0)
        return None

    def _greet(self, now_s: float, lockstep: bool) -> Wait | None:
        """Wait for the other end before the first frame."""
        peers = self._peers()
        waited_s = now_s - self._progress_s
        if not lockstep:
            if peers.subscribers or waited_s >= self.config.start_wait_s:
                self._greeted = True
                self.message = "" if peers.subscribers else f"nobody subscribes to {peers.image_topic}"
            return None if self._greeted else Wait(_PEER_POLL_S)
        problem = None
        if not peers.subscribers:
            problem = f"nobody subscribes to {peers.image_topic}"
        elif not peers.acknowledgers:
            problem = f"nobody acknowledges on {peers.ack_topic}"
        if problem is None:
            self._greeted = True
            self._progress_s = now_s
            self.message = ""
        elif waited_s >= self.config.ack_timeout_s:
            self.fail(
                f"{problem} after {waited_s:.1f} s: start the consumer, check topic names and namespaces, or play with "
                "mode 'realtime'"
            )
        else:
            self.message = f"waiting: {problem}"
        return None if self._greeted else Wait(_PEER_POLL_S)

    def _await_ack(self, now_s: float) -> Wait:
        left_s = self._progress_s + self.config.ack_timeout_s - now_s
        if left_s > 0:
            return Wait(left_s)
        peers = self._peers()
        why = "is the consumer still alive and its time per frame below ack_timeout_s?"
        if not peers.subscribers:
            why = f"nobody subscribes to {peers.image_topic} any more"
        elif not peers.acknowledgers:
            why = f"nobody acknowledges on {peers.ack_topic} any more"
        elif self._foreign_clip_id is not None:
            why = f"they come for clip '{self._foreign_clip_id}': reset the consumer with clip_id '{self.clip_id}'"
        self.fail(
            f"no acknowledgement on {peers.ack_topic} for {self.config.ack_timeout_s:g} s, "
            f"{self.unacknowledged} frames wait for one: {why}"
        )
        return Wait(None)

    def _at_end(self, now_s: float) -> Wait:
        if self._unacknowledged:
            return self._await_ack(now_s)
        if self.config.loop and self._sent_in_pass:
            loop_at_s = self._sent_at_s + self._interval_ns / NS_PER_S / self.config.rate
            self._rewind(self._start_s)
            self._loop_at_s = loop_at_s
            self.loops += 1
            return Wait(0.0)
        self.state = State.FINISHED
        return Wait(None)

    def _rewind(self, position_s: float) -> None:
        self._source.seek(position_s)
        self._anchor = None
        self._loop_at_s = 0.0
        self._last_media_ns = None
        self._sent_in_pass = 0
