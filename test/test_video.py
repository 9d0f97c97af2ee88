"""Video files: the container's own times, any pixel format, and damage that is counted, never a hang."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from clip_makers import corrupt, cut, number_of, picture, write_video

from gst_ros.errors import MediaError
from gst_ros.media.clip import Clip, open_clip

FRONT_INDEX = {"movflags": "faststart"}


def stamps_ms(clip: Clip) -> list[float]:
    return [frame.stamp_ns / 1e6 for frame in clip]


def refuses(path: Path, *words: str, start_s: float = 0.0, end_s: float | None = None) -> None:
    with pytest.raises(MediaError) as caught:
        open_clip(path, start_s, end_s)
    line = str(caught.value)
    assert "\n" not in line
    for word in (path.name, *words):
        assert word in line


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    return write_video(folder / "plain.mp4", 40, codec_options={"g": "10", "bf": "2"}, container_options=FRONT_INDEX)


# Times


def test_frames_come_once_in_order_with_the_containers_times(plain):
    with open_clip(plain) as clip:
        frames = list(clip)
    assert [f.stamp_ns for f in frames] == [i * 100_000_000 for i in range(40)]
    assert [number_of(f.image_rgb) for f in frames] == list(range(40))
    assert (clip.width, clip.height, clip.duration_s, clip.nominal_fps) == (64, 48, 4.0, 10.0)
    assert (clip.frames_claimed, clip.damaged, clip.estimated, clip.resized) == (40, 0, 0, 0)


@pytest.mark.parametrize("ending", ["mkv", "mp4", "mov"])
def test_variable_frame_rate_keeps_its_times(tmp_path, ending):
    times = [0, 10, 15, 500, 533, 2000, 2001]
    with open_clip(write_video(tmp_path / f"vfr.{ending}", times_ms=times)) as clip:
        assert stamps_ms(clip) == times


def test_a_late_start_is_kept_and_an_early_one_shifted(tmp_path):
    with open_clip(write_video(tmp_path / "late.mkv", times_ms=[700, 800, 900])) as clip:
        assert stamps_ms(clip) == [700, 800, 900]
    early = write_video(
        tmp_path / "early.mkv", times_ms=[-200, -100, 0, 100], container_options={"avoid_negative_ts": "disabled"}
    )
    with open_clip(early) as clip:
        assert stamps_ms(clip) == [0, 100, 200, 300]


@pytest.mark.parametrize(
    ("name", "codec"), [("b.avi", "libx264"), ("b.h264", "libx264"), ("p.avi", "mpeg4"), ("b.ts", "libx264")]
)
def test_containers_without_good_times_lose_no_frame(tmp_path, name, codec):
    with open_clip(write_video(tmp_path / name, 30, codec=codec, codec_options={"bf": "2"})) as clip:
        frames = list(clip)
    stamps = [f.stamp_ns for f in frames]
    assert [number_of(f.image_rgb) for f in frames] == list(range(30))
    assert all(b > a for a, b in itertools.pairwise(stamps))


def test_frames_are_found_by_stamp_where_decoders_disagree_on_indices(tmp_path):
    """Index / fps, as OpenCV takes it, points at another frame; the stamp names the same picture for everybody."""
    video = write_video(tmp_path / "disagree.mkv", times_ms=[0, 40, 1000, 1040, 1080, 5000])
    capture = cv2.VideoCapture(str(video))
    assert round(1.040 * capture.get(cv2.CAP_PROP_FPS)) != 3
    capture.release()
    with open_clip(video) as clip:
        for stamp_ns, number in ((1_040_000_000, 3), (5_000_000_000, 5), (40_000_000, 1)):
            clip.seek(stamp_ns / 1e9)
            frame = clip.read()
            assert frame is not None
            assert (frame.stamp_ns, number_of(frame.image_rgb)) == (stamp_ns, number)


# Pictures


@pytest.mark.parametrize(
    ("codec", "pixel_format", "ending"),
    [
        ("libx264", "yuv420p", "mp4"),
        ("libx264", "yuv444p", "mp4"),
        ("libx264", "yuv420p10le", "mp4"),
        ("libx264", "gray", "mp4"),
        ("png", "rgba", "mov"),
        ("png", "rgb24", "mov"),
        ("png", "gray16be", "mov"),
        ("ffv1", "bgra", "mkv"),
        ("ffv1", "yuva420p", "mkv"),
        ("gif", "pal8", "gif"),
        ("mjpeg", "yuvj420p", "avi"),
        ("libvpx-vp9", "yuv420p", "webm"),
    ],
)
def test_every_pixel_format_becomes_rgb(tmp_path, codec, pixel_format, ending):
    if pixel_format == "pal8":
        video = tmp_path / "pal.gif"
        with av.open(str(video), "w") as container:
            stream = container.add_stream("gif", rate=10)
            stream.width, stream.height, stream.pix_fmt = 64, 48, "rgb8"
            for number in range(3):
                rgb = av.VideoFrame.from_ndarray(picture(number), format="rgb24")
                container.mux(stream.encode(rgb.reformat(format="rgb8")))
            container.mux(stream.encode(None))
    else:
        video = write_video(tmp_path / f"clip.{ending}", 3, codec=codec, pixel_format=pixel_format)
    with open_clip(video) as clip:
        frames = list(clip)
    assert len(frames) == 3
    image = frames[0].image_rgb
    assert image.shape == (48, 64, 3)
    assert image.dtype == np.uint8
    assert image.flags.c_contiguous
    red, green = image[3:9, 4:12].mean(axis=(0, 1)), image[3:9, -12:-4].mean(axis=(0, 1))
    if not pixel_format.startswith("gray"):
        assert red[0] > 180 > 90 > red[2], "red first"
        assert green[1] > 180 > 90 > green[0]
    else:
        assert abs(red[0] - red[1]) < 3 > abs(red[1] - red[2])


def test_odd_sizes_have_no_padding(tmp_path):
    video = write_video(tmp_path / "odd.mkv", 2, width=37, height=29, codec="ffv1", pixel_format="bgr0")
    with open_clip(video) as clip:
        frame = next(iter(clip))
    assert (clip.width, clip.height) == (37, 29)
    assert np.array_equal(frame.image_rgb, picture(0, 37, 29))


@pytest.mark.parametrize(("rotation", "mirrored"), [(0, True), (90, False), (180, False), (270, False), (90, True)])
def test_display_rotation_is_applied(tmp_path, rotation, mirrored):
    video = write_video(tmp_path / "turned.mp4", 3, rotation=rotation, mirrored=mirrored)
    # The container says: rotate counter-clockwise, then mirror.
    expected = np.rot90(picture(0), rotation // 90)
    expected = expected[:, ::-1] if mirrored else expected
    with open_clip(video) as clip:
        image = next(iter(clip)).image_rgb
        assert (clip.height, clip.width) == expected.shape[:2] == image.shape[:2]
    assert np.abs(image.astype(int) - expected).mean() < 6


def test_a_size_that_changes_in_mid_stream_is_scaled_to_the_first(tmp_path):
    small = write_video(tmp_path / "a.h264", 5, width=64, height=48)
    large = write_video(tmp_path / "b.h264", 5, width=128, height=96)
    both = tmp_path / "both.h264"
    both.write_bytes(small.read_bytes() + large.read_bytes())
    with open_clip(both) as clip:
        frames = list(clip)
    assert len(frames) == 10
    assert {f.image_rgb.shape for f in frames} == {(48, 64, 3)}
    assert clip.resized == 5
    assert number_of(frames[7].image_rgb) == 2


def test_audio_is_ignored(tmp_path):
    with open_clip(write_video(tmp_path / "sound.mp4", 10, audio=True)) as clip:
        assert len(list(clip)) == 10
    with av.open(str(tmp_path / "only.m4a"), "w", format="mp4") as container:
        sound = container.add_stream("aac", rate=8000, layout="mono")
        tone = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        tone.rate = 8000
        container.mux(sound.encode(tone))
        container.mux(sound.encode(None))
    refuses(tmp_path / "only.m4a", "no video stream")


# Damage


def test_a_cut_off_tail_is_counted_and_the_rest_is_read(plain, tmp_path):
    with open_clip(cut(plain, tmp_path / "cut.mp4", 0.85)) as clip:
        frames = list(clip)
    assert clip.frames_claimed == 40, "what the container claims"
    assert 5 < len(frames) < 40
    assert clip.damaged >= 40 - len(frames)
    assert [number_of(f.image_rgb) for f in frames[:5]] == [0, 1, 2, 3, 4]


def test_a_cut_off_tail_is_noticed_without_an_index(tmp_path):
    whole = write_video(tmp_path / "whole.mkv", 60)
    with open_clip(whole) as clip:
        assert (len(list(clip)), clip.damaged) == (60, 0)
    with open_clip(cut(whole, tmp_path / "cut.mkv", 0.6)) as clip:
        read = len(list(clip))
        assert 0 < read < 50
        assert read + clip.damaged == pytest.approx(60, abs=2)


def test_a_wrong_frame_count_is_not_believed(tmp_path):
    """The container claims 300 frames and holds 24."""
    video = write_video(tmp_path / "claims.avi", 24, codec="mpeg4")
    data = bytearray(video.read_bytes())
    for tag, offset in ((b"avih", 8 + 16), (b"strh", 8 + 32)):
        at = data.find(tag) + offset
        assert int.from_bytes(data[at : at + 4], "little") == 24
        data[at : at + 4] = (300).to_bytes(4, "little")
    video.write_bytes(data)
    with open_clip(video) as clip:
        assert clip.frames_claimed == 300
        assert [number_of(f.image_rgb) for f in clip] == list(range(24))


@pytest.mark.parametrize("seed", range(4))
def test_corrupt_packets_are_counted_and_reading_goes_on(tmp_path, seed):
    good = write_video(
        tmp_path / "good.mp4", 40, width=128, height=96, codec_options={"g": "5"}, container_options=FRONT_INDEX
    )
    with open_clip(corrupt(good, tmp_path / "bad.mp4", bytes_hit=12, seed=seed)) as clip:
        stamps = [f.stamp_ns for f in clip]
    assert clip.damaged > 0
    assert len(stamps) > 25
    assert all(b > a for a, b in itertools.pairwise(stamps))


@pytest.mark.parametrize("seed", range(25))
def test_no_damage_hangs_or_crashes(plain, tmp_path, seed):
    """Random bytes anywhere, index included: a clip or one line, and an end."""
    draw = random.Random(seed)
    data = bytearray(plain.read_bytes())
    for _ in range(draw.choice([1, 5, 50])):
        data[draw.randrange(len(data))] = draw.randrange(256)
    del data[draw.randrange(len(data) // 2, len(data)) :]
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(data)
    try:
        with open_clip(bad) as clip:
            stamps = [f.stamp_ns for f in clip]
    except MediaError as error:
        assert "bad.mp4" in str(error)
    else:
        assert all(b > a for a, b in itertools.pairwise(stamps))
        assert len(stamps) <= 41


def test_files_that_cannot_be_played_are_named_in_one_line(plain, tmp_path):
    refuses(tmp_path / "none.mp4", "no such file")
    (tmp_path / "empty.mp4").touch()
    refuses(tmp_path / "empty.mp4", "empty")
    (tmp_path / "text.mp4").write_text("hello\n" * 200)
    refuses(tmp_path / "text.mp4", "not a video")
    (tmp_path / "text.txt").write_text("hello\n" * 200)  # FFmpeg would "play" it
    refuses(tmp_path / "text.txt", "not a video")
    (tmp_path / "noise.mp4").write_bytes(random.Random(0).randbytes(20_000))
    refuses(tmp_path / "noise.mp4", "not a video")
    cv2.imwrite(str(tmp_path / "still.png"), picture(0))
    refuses(tmp_path / "still.png", "not a video", "folder of images")
    playlist = tmp_path / "list.m3u8"
    playlist.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n{plain}\n#EXT-X-ENDLIST\n")
    refuses(playlist, "not a video")
    no_index = cut(write_video(tmp_path / "back.mp4", 30), tmp_path / "noindex.mp4", 0.5)
    refuses(no_index, "moov", "cut off")
    os.mkfifo(tmp_path / "pipe.mp4")
    refuses(tmp_path / "pipe.mp4", "not a regular file")


def test_a_video_without_a_single_good_frame_is_refused(plain, tmp_path):
    data = bytearray(plain.read_bytes())
    start = data.find(b"mdat") + 4
    data[start:] = bytes(len(data) - start)
    (tmp_path / "zeros.mp4").write_bytes(data)
    refuses(tmp_path / "zeros.mp4", "no frame", "damaged")


# Range and seeking


@pytest.mark.parametrize("name", ["s.mp4", "s.mkv", "s.avi", "s.ts", "s.h264"])
def test_seek_gives_the_first_frame_at_or_after_the_time(tmp_path, name):
    video = write_video(tmp_path / name, 45, codec_options={"g": "12", "bf": "2"})
    with open_clip(video) as clip:
        frames = {f.stamp_ns: number_of(f.image_rgb) for f in clip}
        stamps = sorted(frames)
        for position_s in (0.0, 3.05, 0.5, 0.25, stamps[7] / 1e9, stamps[-1] / 1e9, 1.1999):
            if position_s > stamps[-1] / 1e9:
                continue  # the raw stream has another rate
            clip.seek(position_s)
            frame = clip.read()
            expected = next(s for s in stamps if s >= round(position_s * 1e9))
            assert frame is not None
            assert (frame.stamp_ns, number_of(frame.image_rgb)) == (expected, frames[expected])
            rest = [f.stamp_ns for f in clip]
            assert rest == [s for s in stamps if s > expected]
        clip.seek(1000.0)
        assert clip.read() is None
        clip.seek(0.0)
        assert clip.read() is not None, "one can come back from the end"
        with pytest.raises(MediaError, match="position_s"):
            clip.seek(float("nan"))


def test_start_and_end(plain):
    with open_clip(plain, 1.05, 1.4) as clip:
        assert stamps_ms(clip) == [1100, 1200, 1300]
        clip.seek(0.0)
        assert stamps_ms(clip) == [1100, 1200, 1300], "the start is the start for seeking as well"
    refuses(plain, "no frame at or after 99", "4.000 s", start_s=99.0)
    refuses(plain, "no frame between", start_s=1.01, end_s=1.05)
    refuses(plain, "start_s", start_s=-1.0)
    refuses(plain, "end_s", start_s=2.0, end_s=1.0)


def test_damage_counts_once_however_one_seeks_forward(plain, tmp_path):
    with open_clip(cut(plain, tmp_path / "cut.mp4", 0.85)) as clip:
        list(clip)
        straight = clip.damaged
    with open_clip(tmp_path / "cut.mp4") as clip:
        clip.seek(0.5)
        clip.seek(1.0)
        list(clip)
        assert clip.damaged == straight


def test_closing_twice_is_fine(plain):
    clip = open_clip(plain)
    clip.close()
    clip.close()
    assert clip.read() is None


def test_memory_does_not_grow_with_the_length(tmp_path):
    """Peak memory of reading 8,000 frames is that of reading 400, within 20 MB."""
    script = (
        "import resource, sys\n"
        "from gst_ros.media.clip import open_clip\n"
        "n = sum(1 for _ in open_clip(sys.argv[1]))\n"
        "print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    peaks = {}
    for frames in (400, 8000):
        video = write_video(tmp_path / f"{frames}.mp4", frames, codec="mpeg4", codec_options={"g": "50"})
        out = subprocess.run(
            [sys.executable, "-c", script, str(video)],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[1],
        ).stdout.split()
        assert int(out[0]) == frames
        peaks[frames] = int(out[1]) / 1024
    assert peaks[8000] - peaks[400] < 20


def test_the_official_video_is_read_whole(shared_dir):
    with open_clip(shared_dir / "gst_bench/samples/tds_medium_scene16/video1.mp4") as clip:
        stamps = [f.stamp_ns for f in clip]
    assert stamps == [i * 100_000_000 for i in range(535)]
    assert (clip.width, clip.height, clip.damaged) == (640, 512, 0)
