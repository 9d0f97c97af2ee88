"""Walks as they are remembered: what is told of the camera, early or late, and marks on the way."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from gst_ros.environment import share_dir
from gst_ros.errors import MediaError
from gst_ros.mapping.camera import MapError
from gst_ros.mapping.features import open_features
from gst_ros.media.clip import open_clip
from gst_ros.media.frames import Frame
from gst_ros.media.images import decode_image, encode_jpeg
from gst_ros.memory.replays import CameraFacts, PastWalks
from gst_ros.memory.walk_settings import WalkConfig
from gst_ros.memory.walks import Walk, WalkRecorder, facts_beside

FRAMES = 16
SIFT = WalkConfig(map_features="sift")


@pytest.fixture(scope="module")
def clip() -> Path:
    (place,) = (share_dir() / "demo").glob("*/clips")
    return min(place.glob("*.mp4"))


@pytest.fixture(scope="module")
def frames(clip: Path) -> list[Frame]:
    with open_clip(clip) as opened:
        return [frame for _, frame in zip(range(FRAMES), opened, strict=False)]


@pytest.fixture(scope="module")
def facts(clip: Path) -> CameraFacts:
    return facts_beside(clip.parent.parent / "video1.mp4")


def recorded(frames: list[Frame], told: dict[int, CameraFacts], config: WalkConfig = SIFT) -> WalkRecorder:
    recorder = WalkRecorder(config, open_features("sift"))
    for k, frame in enumerate(frames):
        if k in told:
            recorder.tell(told[k])
        recorder.add(frame)
    return recorder


def test_what_is_told_late_counts_as_if_it_had_been_told_early(frames: list[Frame], facts: CameraFacts) -> None:
    early = recorded(frames, {0: facts}).finish()
    late = recorded(frames, {11: facts}).finish()
    assert early.camera_source == late.camera_source == "as told"
    assert np.array_equal(early.place.trajectory.poses, late.place.trajectory.poses)
    assert np.linalg.norm(early.place.trajectory.poses[-1, :2]) > 0.2


def test_the_map_is_made_once_until_a_frame_comes(frames: list[Frame], facts: CameraFacts) -> None:
    recorder = recorded(frames[:6], {0: facts})
    first = recorder.finish()
    assert recorder.finish() is first
    recorder.add(frames[6])
    assert len(recorder.finish().place.trajectory.stamps_ns) == 7


def test_marks_are_kept_with_what_they_enclose(frames: list[Frame], facts: CameraFacts) -> None:
    marked = []
    for k, frame in enumerate(frames[:6]):
        image = frame.image_rgb.copy()
        if k in (2, 4):
            cv2.rectangle(image, (200, 150), (330, 260), (255, 0, 0), 3)
        marked.append(replace(frame, image_rgb=image))
    marks = recorded(marked, {0: facts}).finish().marks
    assert [mark.stamp_ns for mark in marks] == [frames[2].stamp_ns, frames[4].stamp_ns]
    assert np.allclose(marks[0].box_px, (204, 154, 326, 256), atol=3)


def test_a_short_clip_of_an_unknown_camera_is_taken_for_the_usual_one(frames: list[Frame], facts: CameraFacts) -> None:
    unknown = recorded(frames[:3], {}).finish()
    assert unknown.camera_source.startswith("assumed (")
    assert unknown.place.mount.height_m == 1.5 and unknown.place.mount.height_std_m > 0
    known = recorded(frames[:3], {0: facts}).finish().place
    usual = WalkRecorder(SIFT, open_features("sift"), {(640, 512): (known.camera, known.mount)})
    for frame in frames[:3]:
        usual.add(frame)
    walk = usual.finish()
    assert walk.camera_source.startswith("of an earlier video") and walk.place.mount == known.mount


def test_settings_count_more_than_what_is_told(frames: list[Frame], facts: CameraFacts) -> None:
    set_by_hand = replace(SIFT, camera_height_m=0.5, camera_pitch_deg=20.0)
    mount = recorded(frames[:3], {0: facts}, set_by_hand).finish().place.mount
    assert (mount.height_m, mount.pitch_deg) == (0.5, 20.0)
    ignored = recorded(frames[:3], {0: facts}, replace(SIFT, camera_ignore_told=True)).finish()
    assert ignored.camera_source.startswith("assumed (")


def test_what_cannot_be_mapped_is_said_when_asked(frames: list[Frame], facts: CameraFacts) -> None:
    with pytest.raises(MapError, match="no frame"):
        WalkRecorder(SIFT, open_features("sift")).finish()
    other = replace(frames[3], image_rgb=frames[3].image_rgb[:256])
    recorder = recorded([*frames[:3], other], {0: facts})
    recorder.add(frames[4])
    with pytest.raises(MapError, match="not mapped: a frame has 640 x 256 pixels"):
        recorder.finish()
    assert facts.calibration is not None
    wide = replace(facts, calibration=replace(facts.calibration, width=1280))
    with pytest.raises(MapError, match="1280 x 512"):
        recorded(frames[:2], {0: wide}).finish()


def test_facts_are_read_from_beside_the_clip(clip: Path, facts: CameraFacts, tmp_path: Path) -> None:
    assert facts.calibration is not None and facts.height_m == 1.5 and facts.pitch_deg == 35.0
    assert facts_beside(tmp_path / "video1.mp4") == CameraFacts()
    told = {"width": 640, "height": 512, "fx": 335.3, "pitch_deg": "steep"}
    (tmp_path / "camera.json").write_text(json.dumps(told))
    with pytest.raises(MediaError, match="not a number"):
        facts_beside(tmp_path / "video1.mp4")


def test_a_copy_with_marks_needs_no_map_of_its_own(frames: list[Frame], facts: CameraFacts) -> None:
    past, kind = PastWalks(), open_features("sift")

    def walk_of(shown: list[Frame], told: CameraFacts = facts) -> Walk:
        recorder = WalkRecorder(SIFT, kind, past=past)
        recorder.tell(told)
        for frame in shown:
            recorder.add(frame)
        return recorder.finish()

    first = walk_of(frames[:8])
    marked = []
    for k, frame in enumerate(frames[:8]):
        image = frame.image_rgb.copy()
        if k in (3, 5):
            cv2.rectangle(image, (100, 50), (530, 460), (255, 0, 0), 4)
        # Encoded anew and played later.
        marked.append(Frame(decode_image(encode_jpeg(image, 92)), frame.stamp_ns + 5_000_000_000))
    copy = walk_of(marked)
    assert copy.place is first.place
    assert [mark.stamp_ns for mark in copy.marks] == [frames[3].stamp_ns, frames[5].stamp_ns]
    assert walk_of(frames[:7]).place is not first.place, "a part of it is another walk"
    assert walk_of(frames[:8], replace(facts, pitch_deg=30.0)).place is not first.place, "another camera"
    other = walk_of([*marked[:6], *(replace(f, stamp_ns=f.stamp_ns + 5_000_000_000) for f in frames[14:16])])
    assert other.place is not first.place and len(other.place.trajectory.stamps_ns) == 8
    assert len(other.marks) == 2


def test_a_walk_that_shows_nothing_is_no_map_and_no_crash(facts: CameraFacts) -> None:
    black = [Frame(np.zeros((512, 640, 3), np.uint8), k * 100_000_000) for k in range(3)]
    for told in (facts, CameraFacts()):
        with pytest.raises(MapError, match="shows too little to map"):
            recorded(black, {0: told}).finish()


def test_a_camera_of_which_nonsense_is_told_is_no_crash(frames: list[Frame], facts: CameraFacts) -> None:
    assert facts.calibration is not None
    for wrong in (
        replace(facts, height_m=1e300),
        replace(facts, pitch_deg=math.nan),
        replace(facts, calibration=replace(facts.calibration, fx=1e300)),
        replace(facts, calibration=replace(facts.calibration, distortion_model="foo", distortion=(0.1,) * 14)),
    ):
        with pytest.raises(MapError, match=r"number|out of range|lens model"):
            recorded(frames[:2], {0: wrong}).finish()


def test_a_plain_video_is_mapped_even_after_its_marked_copy(frames: list[Frame], facts: CameraFacts) -> None:
    past, kind = PastWalks(), open_features("sift")
    marked = []
    for frame in frames[:6]:
        image = cv2.rectangle(frame.image_rgb.copy(), (200, 150), (330, 260), (255, 0, 0), 3)
        marked.append(replace(frame, image_rgb=image))
    places = []
    for shown in (marked, frames[:6], marked, frames[:6]):
        recorder = WalkRecorder(SIFT, kind, past=past)
        recorder.tell(facts)
        for frame in shown:
            recorder.add(frame)
        places.append(recorder.finish().place)
    assert places[1] is not places[0]
    assert places[2] is places[1] and places[3] is places[1]
