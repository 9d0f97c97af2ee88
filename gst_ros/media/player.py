"""Runs a playback in a thread: decoding ahead, stepping, sending, reporting."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from gst_ros.errors import MediaError
from gst_ros.media.clip import Clip, check_position
from gst_ros.media.frames import Frame
from gst_ros.media.playback import Peers, Playback, PlaybackConfig, Send, StampClock, State
from gst_ros.media.readahead import ReadAhead
from gst_ros.media.stamps import NS_PER_S

T = TypeVar("T")

# Shortest and longest time between two looks for acknowledgements. The window hides it: while one frame is being
# acknowledged, the consumer has others to work on.
_ACK_POLL_S = (0.001, 0.016)
_CLOSED = "the player was closed"


@dataclass(frozen=True)
class PlayerReport:
    """What the player is doing, as in gst_interfaces/PlayerStatus."""

    state: State = State.IDLE
    message: str = ""
    clip_id: str = ""
    path: str = ""
    mode: str = ""
    position_s: float = 0.0
    duration_s: float | None = None
    rate: float = 1.0
    frames_sent: int = 0
    frames_dropped: int = 0
    frames_damaged: int = 0
    frames_unacknowledged: int = 0
    loops: int = 0
    first_stamp_ns: int | None = None
    last_stamp_ns: int | None = None
    stamps_sha256: str = ""


class Outputs(Protocol):
    """Where frames and reports go. All of it is called from the player's thread."""

    def send(self, frame: Frame, stamp_ns: int) -> None:
        """Send one frame."""

    def report(self, report: PlayerReport) -> None:
        """Take note of a change of state, or of how far it has come."""

    def peers(self) -> Peers:
        """Who listens."""
        ...

    def acknowledgements(self) -> Iterable[tuple[str, int]]:
        """Clip and stamp of what was acknowledged since the last call; only called in lockstep."""
        ...

    def crashed(self, error: BaseException) -> None:
        """A defect ended the thread."""


class Player:
    """One clip after another. Commands come from any thread and are carried out between two frames.

    Args:
        outputs: Where frames and reports go.
        clock: Makes the stamps; it goes on over all clips.
        report_period_s: Time between reports while nothing changes.
        now_s: Monotonic clock in seconds.
    """

    def __init__(
        self,
        outputs: Outputs,
        clock: StampClock,
        *,
        report_period_s: float = 0.2,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._outputs = outputs
        self._clock = clock
        self._report_period_s = report_period_s
        self._now_s = now_s
        self._wake = threading.Event()
        self._commands: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._ack_poll_s = _ACK_POLL_S[0]
        self._seeking: Future[float] | None = None
        self._clip: Clip | None = None
        self._source: ReadAhead | None = None
        self._playback: Playback | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="player", daemon=True)
        self._thread.start()

    # Commands

    def load(self, clip: Clip, clip_id: str, config: PlaybackConfig, *, autoplay: bool = False) -> Future[None]:
        """Replace what is loaded. The player owns and closes the clip from now on.

        Args:
            clip: An open clip at its start.
            clip_id: Names this playback in acknowledgements.
            config: How to play it.
            autoplay: Start at once.
        """
        return self._submit(lambda: self._load(clip, clip_id, config, autoplay))

    def unload(self) -> Future[None]:
        """Stop and close what is loaded."""
        return self._submit(self._unload)

    def play(self) -> Future[None]:
        """Begin, go on, or start again after the end. Fails with MediaError when there is nothing to play."""
        return self._submit(self._play)

    def pause(self) -> Future[None]:
        """Stay at the present frame. Fails with MediaError when nothing plays."""
        return self._submit(self._pause)

    def stop(self) -> Future[None]:
        """Go back to the start and wait. Fails with MediaError when nothing is loaded."""
        return self._submit(lambda: self._loaded().stop())

    def seek(self, position_s: float) -> Future[float]:
        """Move to a media time.

        Returns:
            A future of the media time of the frame that comes next. It fails with MediaError when nothing is
            loaded or there is no frame at or after that time.
        """
        moved: Future[float] = Future()
        started = self._submit(lambda: self._seek(position_s, moved))
        started.add_done_callback(lambda done: _pass_on_error(done, moved))
        return moved

    def set_rate(self, rate: float, loop: bool) -> Future[None]:
        """Change speed and looping of what plays, if anything does."""
        return self._submit(lambda: None if self._playback is None else self._playback.set_rate(rate, loop))

    def close(self) -> None:
        """End the thread and close the clip. May be called twice."""
        self._closing = True
        self._wake.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    # The thread

    def _run(self) -> None:
        try:
            while not self._closing:
                self._turn()
        except BaseException as error:
            self._outputs.crashed(error)
        finally:
            self._unload()
            self._closing = True
            while self._commands:
                self._commands.popleft()[1].set_exception(MediaError(_CLOSED))

    def _turn(self) -> None:
        """Report, then do what can be done until something has to be waited for."""
        report = self._make_report()
        self._outputs.report(report)
        report_at_s = self._now_s() + self._report_period_s
        told = (report.state, report.message, report.clip_id, report.loops)
        while not self._closing and self._now_s() < report_at_s:
            self._wake.clear()
            self._take_in()
            # A seek is answered with the next frame's time, so that frame must still be there.
            wait_s = None if self._seeking is not None else self._step()
            playback = self._playback
            if playback is not None and (playback.state, playback.message, playback.clip_id, playback.loops) != told:
                return
            if playback is None and told[0] != State.IDLE:
                return
            if wait_s is None or wait_s > 0:
                waits_s = [max(0.0, report_at_s - self._now_s())]
                if wait_s is not None:
                    waits_s.append(wait_s)
                if playback is not None and playback.unacknowledged:
                    waits_s.append(self._ack_poll_s)
                self._wake.wait(min(waits_s))

    def _take_in(self) -> None:
        playback = self._playback
        if playback is not None and playback.unacknowledged:
            waiting = playback.unacknowledged
            for clip_id, stamp_ns in self._outputs.acknowledgements():
                playback.acknowledge(clip_id, stamp_ns, self._now_s())
            moved = playback.unacknowledged < waiting
            self._ack_poll_s = _ACK_POLL_S[0] if moved else min(2 * self._ack_poll_s, _ACK_POLL_S[1])
        while self._commands:
            command, future = self._commands.popleft()
            try:
                future.set_result(command())
            except Exception as error:  # belongs to whoever gave the command; the player goes on
                future.set_exception(error)
            except BaseException as error:
                future.set_exception(error)
                raise
        if self._seeking is not None:
            self._finish_seek()

    def _step(self) -> float | None:
        """Do one step; return how long to wait, None for until something happens."""
        playback = self._playback
        if playback is None:
            return None
        try:
            step = playback.step(self._now_s())
        except MediaError as error:
            playback.fail(str(error))
            return 0.0
        if isinstance(step, Send):
            self._outputs.send(step.frame, step.stamp_ns)
            return 0.0
        return step.seconds

    def _submit(self, command: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        self._commands.append((command, future))
        self._wake.set()
        if self._closing and not self._thread.is_alive() and not future.done():
            future.set_exception(MediaError(_CLOSED))
        return future

    # Commands, in the thread

    def _load(self, clip: Clip, clip_id: str, config: PlaybackConfig, autoplay: bool) -> None:
        try:
            self._begin(clip, clip_id, config, autoplay)
        except BaseException:
            self._unload()
            clip.close()
            raise

    def _begin(self, clip: Clip, clip_id: str, config: PlaybackConfig, autoplay: bool) -> None:
        self._unload()
        self._clock.begin_clip()
        self._clip = clip
        self._source = ReadAhead(clip, on_ready=self._wake.set)
        self._playback = Playback(
            self._source,
            config,
            self._clock,
            self._outputs.peers,
            clip_id=clip_id,
            start_s=clip.start_s,
            nominal_fps=clip.nominal_fps,
        )
        if autoplay:
            self._playback.play(self._now_s())

    def _unload(self) -> None:
        if self._seeking is not None:
            self._seeking.set_exception(MediaError("the clip was unloaded"))
            self._seeking = None
        if self._source is not None:
            self._source.close()
        self._source = self._playback = self._clip = None

    def _loaded(self) -> Playback:
        if self._playback is None:
            raise MediaError("no clip is loaded", remedy="load one first")
        if self._playback.state == State.FAILED:
            raise MediaError(f"the playback has failed: {self._playback.message}", remedy="load the clip again")
        return self._playback

    def _play(self) -> None:
        self._loaded().play(self._now_s())

    def _pause(self) -> None:
        playback = self._loaded()
        if playback.state not in (State.PLAYING, State.PAUSED):
            raise MediaError("nothing is playing", remedy="call play first")
        playback.pause()

    def _seek(self, position_s: float, moved: Future[float]) -> None:
        playback = self._loaded()
        check_position(position_s)
        if self._seeking is not None:
            self._seeking.set_exception(MediaError("another seek came before this one was done"))
        playback.seek(position_s)
        self._seeking = moved

    def _finish_seek(self) -> None:
        """Answer the seek under way as soon as the next frame is known."""
        source, moved = self._source, self._seeking
        assert source is not None and moved is not None
        try:
            # The order matters: the thread may put a last frame into the queue in between.
            ended, frame = source.ended, source.peek()
        except MediaError as error:
            self._seeking = None
            moved.set_exception(error)
            return
        if frame is not None:
            self._seeking = None
            moved.set_result(frame.stamp_ns / NS_PER_S)
        elif ended:
            self._seeking = None
            moved.set_exception(MediaError("there is no frame at or after that time; the clip is at its end"))

    def _make_report(self) -> PlayerReport:
        playback, clip, source = self._playback, self._clip, self._source
        if playback is None or clip is None or source is None:
            return PlayerReport()
        digest = playback.digest
        return PlayerReport(
            state=playback.state,
            message=playback.message,
            clip_id=playback.clip_id,
            path=str(clip.path),
            mode=playback.config.mode,
            position_s=playback.position_s,
            duration_s=clip.duration_s if clip.end_s is None else clip.end_s,
            rate=playback.config.rate,
            frames_sent=digest.count,
            frames_dropped=playback.dropped,
            frames_damaged=source.damaged,
            frames_unacknowledged=playback.unacknowledged,
            loops=playback.loops,
            first_stamp_ns=digest.first_ns,
            last_stamp_ns=digest.last_ns,
            stamps_sha256=digest.sha256,
        )


def _pass_on_error(done: Future[None], to: Future[float]) -> None:
    error = done.exception()
    if error is not None and not to.done():
        to.set_exception(error)
