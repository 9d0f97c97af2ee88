"""Decode the next few frames of a clip in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from gst_ros.errors import GstError, MediaError
from gst_ros.media.clip import Clip
from gst_ros.media.frames import Frame

log = logging.getLogger(__name__)

_MOST_BYTES = 96_000_000


class ReadAhead:
    """A bounded queue of decoded frames, filled by a thread that owns the clip.

    Decoding and sending overlap (PyAV and OpenCV release Python's lock while they work), and a slow
    picture is absorbed by the queue. Memory is bounded by the depth and by 96 MB, whichever is less
    (but two frames at least).
    """

    def __init__(self, clip: Clip, depth: int = 6, on_ready: Callable[[], None] = lambda: None) -> None:
        """Start reading.

        Args:
            clip: Is used and closed by the thread alone from now on.
            depth: Most frames to hold.
            on_ready: Called from the thread when there is something to poll.
        """
        self._clip = clip
        self._depth = max(2, min(depth, _MOST_BYTES // max(1, clip.width * clip.height * 3)))
        self._on_ready = on_ready
        self._changed = threading.Condition()
        self._queue: deque[Frame] = deque()
        self._ended = False
        self._error: Exception | None = None
        self._seek_s: float | None = None
        self._generation = 0
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="read-ahead", daemon=True)
        self._thread.start()

    @property
    def damaged(self) -> int:
        """Damage counted by the clip so far (it may be some frames ahead of what was polled)."""
        return self._clip.damaged

    @property
    def ended(self) -> bool:
        """Whether the queue is empty because the clip is at its end."""
        return self._ended and not self._queue

    def peek(self) -> Frame | None:
        """Return the next frame without taking it; None while it is being decoded, or at the end.

        Raises:
            MediaError: The clip cannot be read any more.
        """
        queue = self._queue
        if queue:
            return queue[0]
        if self._error is not None:
            raise self._error
        return None

    def take(self) -> None:
        """Remove the frame that :meth:`peek` returned."""
        with self._changed:
            self._queue.popleft()
            self._changed.notify()

    def seek(self, position_s: float) -> None:
        """Drop what was read and go on at a media time; returns at once."""
        with self._changed:
            self._queue.clear()
            self._ended = False
            self._error = None
            self._seek_s = position_s
            self._generation += 1
            self._changed.notify()

    def close(self) -> None:
        """Stop the thread and close the clip. May be called twice."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._queue.clear()

    def _idle(self) -> bool:
        full = len(self._queue) >= self._depth or self._ended or self._error is not None
        return full and self._seek_s is None and not self._closing

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._idle():
                    self._changed.wait()
                if self._closing:
                    break
                seek_s, self._seek_s = self._seek_s, None
                generation = self._generation
            frame, error = None, None
            try:
                if seek_s is not None:
                    self._clip.seek(seek_s)
                frame = self._clip.read()
            except GstError as raised:  # raised again where the frame is asked for
                error = raised
            except Exception as raised:
                # A defect met in one clip must not take down who plays others as well.
                log.exception("%s cannot be read on", self._clip.path)
                error = MediaError(f"cannot be read on: {type(raised).__name__}: {raised}", file=self._clip.path)
            with self._changed:
                if generation != self._generation:
                    continue
                if frame is not None:
                    self._queue.append(frame)
                else:
                    self._error, self._ended = error, error is None
            self._on_ready()
        self._clip.close()
