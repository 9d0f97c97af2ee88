"""A walk beside a camera: frames keep coming while a map is being finished, in order, within a bound."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from gst_ros.media.frames import Frame
from gst_ros.memory import waiting
from gst_ros.memory.online import OnlineWalk
from gst_ros.memory.replays import CameraFacts
from gst_ros.memory.waiting import WaitingFrames


def frame(number: int) -> Frame:
    return Frame(np.full((48, 64, 3), number, np.uint8), number)


class SlowRecorder:
    """Finishes when it is let go."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.began, self.go = threading.Event(), threading.Event()

    def tell(self, facts: CameraFacts) -> None:
        self.seen.append(facts)

    def add(self, frame: Frame) -> None:
        self.seen.append((frame.stamp_ns, round(float(frame.image_rgb.mean()))))

    def finish(self) -> int:
        self.began.set()
        assert self.go.wait(30)
        return len(self.seen)


def test_frames_come_in_while_a_map_is_finished_and_keep_their_order() -> None:
    recorder = SlowRecorder()
    walk = OnlineWalk(recorder)  # type: ignore[arg-type]
    for k in range(5):
        assert walk.add(frame(k))
    assert recorder.seen == [(k, k) for k in range(5)], "with nothing else to do, each is mapped at once"
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(walk.finish()))
    thread.start()
    assert recorder.began.wait(30)
    for k in range(5, 60):  # more than are kept as they are
        assert walk.add(frame(k))
    assert len(recorder.seen) == 5
    recorder.go.set()
    thread.join(30)
    assert results == [5]
    walk.add(frame(60))
    assert len(recorder.seen) == 7, "what waits is made up for little by little"
    walk.finish()
    assert [stamp for stamp, _ in recorder.seen] == list(range(61))
    assert all(abs(value - stamp) <= 1 for stamp, value in recorder.seen)


def test_what_is_told_reaches_the_recorder_before_the_frames_after_it() -> None:
    recorder, facts = SlowRecorder(), CameraFacts(height_m=1.0)
    walk = OnlineWalk(recorder)  # type: ignore[arg-type]
    walk.add(frame(1))
    walk.tell(facts)
    walk.add(frame(2))
    late = CameraFacts(height_m=2.0)
    walk.tell(late)
    recorder.go.set()
    walk.finish()
    assert recorder.seen == [(1, 1), facts, (2, 2), late]


def test_frames_beyond_the_bound_are_dropped_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_BYTES", 3 * frame(0).image_rgb.nbytes)
    recorder = SlowRecorder()
    walk = OnlineWalk(recorder)  # type: ignore[arg-type]
    thread = threading.Thread(target=walk.finish)
    thread.start()
    assert recorder.began.wait(30)
    assert [walk.add(frame(k)) for k in range(6)] == [True] * 4 + [False] * 2
    recorder.go.set()
    thread.join(30)


@pytest.mark.parametrize("exactly", [True, False])
def test_waiting_frames_come_out_as_they_went_in(exactly: bool) -> None:
    random, queue = np.random.default_rng(1), WaitingFrames()
    images = [random.integers(0, 256, (32, 40, 3), np.uint8) for _ in range(40)]
    for k, image in enumerate(images):
        queue.add(Frame(image, k), exactly=exactly)
    for seen in (list(queue), [queue.pop() for _ in range(40)]):
        assert [f.stamp_ns for f in seen] == list(range(40))
        errors = [np.abs(f.image_rgb.astype(int) - i.astype(int)).mean() for f, i in zip(seen, images, strict=True)]
        assert max(errors[:32]) == 0 and max(errors) <= (0 if exactly else 12)
    assert len(queue) == 0
    with pytest.raises(IndexError):
        queue.pop()
