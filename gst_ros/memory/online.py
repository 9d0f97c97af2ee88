"""A walk that is mapped while frames come in and questions are asked, in threads of their own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gst_ros.media.frames import Frame
from gst_ros.memory.replays import CameraFacts
from gst_ros.memory.waiting import WaitingFrames

if TYPE_CHECKING:
    from gst_ros.memory.walks import Walk, WalkRecorder

_AT_ONCE = 2
"""So many waiting frames are mapped with each new one: more would hold up the camera."""


class OnlineWalk:
    """A recorder that never keeps the camera waiting: frames queue up while a map is being finished. Thread-safe.

    Args:
        recorder: What maps the frames.
    """

    def __init__(self, recorder: WalkRecorder) -> None:
        self._recorder = recorder
        self._working, self._queueing = threading.Lock(), threading.Lock()
        self._queue = WaitingFrames()
        self._facts: CameraFacts | None = None

    def tell(self, facts: CameraFacts) -> None:
        """Say what is known of the camera, before the first frame or soon after it."""
        with self._queueing:
            self._facts = facts

    def add(self, frame: Frame) -> bool:
        """Take in the next frame.

        Returns:
            False if it had to be dropped: a map has been in the making for so long that too many frames wait.
        """
        with self._queueing:
            if self._queue.full:
                return False
            self._queue.add(frame, exactly=False)
        if self._working.acquire(blocking=False):
            try:
                self._work(_AT_ONCE)
            finally:
                self._working.release()
        return True

    def finish(self) -> Walk:
        """The map of all frames so far.

        Raises:
            MapError: There is nothing to make a map of.
        """
        with self._working:
            self._work(max(1, len(self._queue)))
            return self._recorder.finish()

    def _work(self, most: int) -> None:
        for _ in range(most):
            with self._queueing:
                facts, self._facts = self._facts, None
                frame = self._queue.pop() if len(self._queue) else None
            if facts is not None:
                self._recorder.tell(facts)
            if frame is None:
                return
            self._recorder.add(frame)
