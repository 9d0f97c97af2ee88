"""The spatial memory: order of frames, counts, snapshots, resets, threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from gst_ros.errors import AnswererError, ConfigError, MediaError
from gst_ros.media.frames import Frame, StampDigest
from gst_ros.media.images import encode_jpeg
from gst_ros.reasoning.answerer import Answer, Query
from gst_ros.reasoning.engine import ReasoningConfig, SpatialMemory

SECOND = 1_000_000_000


def frame(stamp_ns: int) -> Frame:
    return Frame(np.full((48, 64, 3), stamp_ns % 251, np.uint8), stamp_ns)


def jpeg() -> bytes:
    return encode_jpeg(np.zeros((8, 8, 3), np.uint8))


class Counting:
    """Answers with the number of keyframes it sees."""

    name = "counting"
    needs_walk = False

    def answer(self, query, memory):
        return Answer(str(len(memory.keyframes)))


class Waiting:
    """Answers when it is let go."""

    name = "waiting"
    needs_walk = False

    def __init__(self):
        self.began, self.go = threading.Event(), threading.Event()

    def answer(self, query, memory):
        self.began.set()
        assert self.go.wait(30)
        return Answer(str(len(memory.keyframes)))


def memory(answerer=None, **settings) -> SpatialMemory:
    return SpatialMemory(ReasoningConfig(keyframe_interval_s=0.1, **settings), answerer)


def test_frames_are_counted_and_fingerprinted_in_order():
    m, expected = memory(), StampDigest()
    m.reset("clip-1")
    for i in range(20):
        assert m.observe(frame(i * SECOND))
        expected.add(i * SECOND)
    state = m.status()
    assert (state.clip_id, state.frames_received, state.keyframes) == ("clip-1", 20, 20)
    assert (state.first_stamp_ns, state.last_stamp_ns) == (0, 19 * SECOND)
    assert state.stamps_sha256 == expected.sha256
    assert 0 < state.keyframe_bytes <= state.keyframe_bytes_limit


def test_duplicates_and_older_frames_are_refused_and_counted_apart():
    m = memory()
    assert m.observe(frame(2 * SECOND))
    assert not m.observe(frame(2 * SECOND))
    assert not m.observe(frame(1 * SECOND))
    assert m.observe(frame(3 * SECOND))
    state = m.status()
    assert (state.frames_received, state.frames_duplicate, state.frames_out_of_order) == (2, 1, 1)
    assert state.last_stamp_ns == 3 * SECOND


def test_an_undecodable_frame_is_not_taken_in():
    m = memory()

    def broken():
        raise MediaError("cut off")

    with pytest.raises(MediaError):
        m.observe_lazily(0, broken)
    assert m.status().frames_received == 0
    assert m.observe(frame(0)) and m.status().frames_received == 1


def test_reset_forgets_frames_but_not_the_question_counts():
    m = memory(Counting())
    m.observe(frame(5 * SECOND))
    m.observe(frame(1))
    m.count_dropped(3)
    assert m.status().frames_dropped == 3
    assert m.answer(Query("u", "position")).text == "1"
    m.reset("next")
    state = m.status()
    assert (state.frames_received, state.frames_out_of_order, state.frames_dropped, state.keyframes) == (0, 0, 0, 0)
    assert (state.first_stamp_ns, state.last_stamp_ns, state.clip_id) == (None, None, "next")
    assert state.questions_answered == 1
    assert m.observe(frame(0))  # earlier than anything before the reset


def test_answers_come_from_a_snapshot_while_frames_go_on():
    waiting = Waiting()
    m = memory(waiting)
    m.observe(frame(0))
    answers = []
    thread = threading.Thread(target=lambda: answers.append(m.answer(Query("u", "position")).text))
    thread.start()
    assert waiting.began.wait(30)
    for i in range(1, 50):
        assert m.observe(frame(i * SECOND))  # would hang here if answering held the memory
    assert m.status().questions_pending == 1
    waiting.go.set()
    thread.join(30)
    assert answers == ["1"]
    assert (m.status().questions_answered, m.status().questions_pending) == (1, 0)


def test_an_answer_under_way_fails_when_the_memory_is_reset():
    waiting = Waiting()
    m = memory(waiting)
    errors = []

    def ask():
        try:
            m.answer(Query("u", "position"))
        except AnswererError as error:
            errors.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    assert waiting.began.wait(30)
    m.reset("next")
    waiting.go.set()
    thread.join(30)
    assert len(errors) == 1 and "reset" in errors[0]
    assert (m.status().questions_answered, m.status().questions_failed) == (0, 1)


def test_an_unknown_task_fails_and_names_the_nearest():
    m = memory(Counting())
    with pytest.raises(AnswererError, match="orientation"):
        m.answer(Query("u", "orientatoin"))
    assert m.status().questions_failed == 1


def test_official_task_names_reach_the_answerer_as_keys():
    seen = []

    class Recording(Counting):
        def answer(self, query, memory):
            seen.append(query.task)
            return Answer("A")

    memory(Recording()).answer(Query("u", "Global_Structure_Understanding_Trajectory_Selection"))
    assert seen == ["trajectory"]


@pytest.mark.parametrize("bad", [b"", b"not an image", jpeg()[:-20]])
def test_an_undecodable_query_image_fails_and_is_named(bad):
    with pytest.raises(AnswererError, match="image 2 of 3 does not decode"):
        memory(Counting()).answer(Query("u7", "position", images=(jpeg(), bad, jpeg())))


def test_other_expected_errors_of_an_answerer_become_failures():
    class Looking(Counting):
        def answer(self, query, memory):
            return Answer(str(memory.keyframes.at(0, 1).stamp_ns))

    m = memory(Looking())
    with pytest.raises(AnswererError, match="holds none"):
        m.answer(Query("u", "position"))
    assert m.status().questions_failed == 1


def test_many_threads_lose_no_count():
    m = memory(Counting())
    threads = [
        threading.Thread(target=lambda: [m.answer(Query(str(i), "position")) for i in range(50)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for i in range(500):
        m.observe(frame(i * SECOND))
    for thread in threads:
        thread.join(30)
    state = m.status()
    assert (state.questions_answered, state.questions_pending, state.frames_received) == (400, 0, 500)


def test_a_wrong_answerer_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match="did you mean 'random'"):
        SpatialMemory(ReasoningConfig(answerer="randon"))


def test_the_config_reaches_the_answerer():
    a = SpatialMemory(ReasoningConfig(answerer_seed=1)).answer(Query("u", "position"))
    b = SpatialMemory(ReasoningConfig(answerer_seed=2)).answer(Query("u", "position"))
    assert a.text != b.text
