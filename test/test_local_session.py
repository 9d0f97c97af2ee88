"""The session in one process: the real clip reader, memory and answerers."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import pytest
from tiny_set import make_clip, make_video

from gst_ros.errors import ConfigError, MediaError
from gst_ros.evaluation.local import LocalSession, reasoning_config
from gst_ros.reasoning.answerer import Query
from gst_ros.reasoning.engine import ReasoningConfig


def ignore(position_s: float, duration_s: float | None) -> None:
    assert position_s >= 0.0


def sha256_of_stamps(stamps_ns: list[int]) -> str:
    return hashlib.sha256(b"".join(struct.pack("<q", stamp) for stamp in stamps_ns)).hexdigest()


def test_every_frame_arrives_with_the_videos_own_stamp(tmp_path: Path) -> None:
    stamps_ns = make_video(tmp_path / "clip.mp4", frames=25)
    assert len(stamps_ns) == 25
    playback = LocalSession(ReasoningConfig()).play(tmp_path / "clip.mp4", ignore)
    assert playback.lossless and playback.frames_received == 25
    assert playback.received_sha256 == sha256_of_stamps(stamps_ns)
    assert (playback.first_stamp_ns, playback.last_stamp_ns) == (stamps_ns[0], stamps_ns[-1])


def test_official_video_arrives_whole(shared_dir: Path) -> None:
    import av

    file = shared_dir / "gst_bench" / "samples" / "tds_medium_scene16" / "video1.mp4"
    with av.open(str(file)) as container:
        stamps_ns = [round(frame.pts * frame.time_base * 1_000_000_000) for frame in container.decode(video=0)]
    playback = LocalSession(ReasoningConfig()).play(file, ignore)
    assert (playback.frames_sent, playback.frames_received, playback.frames_refused) == (535, 535, 0)
    assert playback.received_sha256 == sha256_of_stamps(stamps_ns)


def test_playing_again_begins_anew(tmp_path: Path) -> None:
    session = LocalSession(ReasoningConfig())
    clip = make_clip(tmp_path / "clip", frames=7)
    first, second = session.play(clip, ignore), session.play(clip, ignore)
    assert first.received_sha256 == second.received_sha256
    assert second.lossless and second.frames_refused == 0


def test_progress_rises_to_the_end(tmp_path: Path) -> None:
    positions: list[float] = []
    make_video(tmp_path / "clip.mp4", frames=10)
    LocalSession(ReasoningConfig()).play(tmp_path / "clip.mp4", lambda position_s, _: positions.append(position_s))
    assert positions == sorted(positions) and positions[-1] == pytest.approx(0.9)


def test_a_broken_video_is_a_media_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "broken.mp4").write_bytes(b"not a video at all" * 100)
    with pytest.raises(MediaError, match=r"broken\.mp4"):
        LocalSession(ReasoningConfig()).play(tmp_path / "broken.mp4", ignore)


def test_an_answerers_error_is_a_failed_reply_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text('{"known": "B"}')
    session = LocalSession(ReasoningConfig(answerer="scripted", answers_file=str(tmp_path / "answers.json")))
    session.forget()
    known, unknown = session.ask(Query("known", "tds_easy")), session.ask(Query("unknown", "tds_easy"))
    assert (known.status, known.text) == ("answered", "B")
    assert (unknown.status, unknown.text) == ("failed", "") and "unknown" in unknown.explanation


def test_settings_of_the_node_alone_are_told_apart_and_values_checked() -> None:
    config, unused = reasoning_config({"answerer_seed": 3, "image_transport": "raw", "autostart": True})
    assert config.answerer_seed == 3 and unused == ["autostart", "image_transport"]
    with pytest.raises(ConfigError, match="answerer_seed"):
        reasoning_config({"answerer_seed": "three"})
    with pytest.raises(ConfigError, match="did you mean 'random'"):
        LocalSession(ReasoningConfig(answerer="randon"))
