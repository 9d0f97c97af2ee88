"""``gst scenes make``: whole small sets of built-in things, their bytes, interruptions, and bad input."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_places import need_opengl, tiny_camera, tiny_place

from gst_ros.cli.main import run
from gst_ros.errors import ConfigError
from gst_ros.media.calibration import find_calibration, read_calibration
from gst_ros.scenes.cameras import PRESETS, CameraPose, Intrinsics
from gst_ros.scenes.files import disk_error
from gst_ros.scenes.footage import VideoWriter, cut_video, read_frames
from gst_ros.scenes.instances import Track, TrackRecorder, runs
from gst_ros.scenes.make import make_set, neighbours
from gst_ros.scenes.marking import draw_mark, mark_video
from gst_ros.scenes.place import SceneError
from gst_ros.scenes.questions.options import QuestionOptions
from gst_ros.scenes.rendering.sensor import Sensor
from gst_ros.scenes.settings import SetOptions
from gst_ros.scenes.trajectory import Trajectory, read_tum
from gst_ros.scenes.walking.walk import WalkOptions
from gst_ros.scenes.workers import Progress

PRESETS["tiny"] = tiny_camera()  # for this module's tests; taken away by the fixture below

SMALL = SetOptions(
    count=2,
    kinds=("restaurant", "home"),
    camera="tiny",
    area_m2=45.0,
    builtin_only=True,
    walk=WalkOptions(seconds=5.0, speed_mps=2.5, turn_dps=180.0),
    questions=QuestionOptions(per_task=1, positions=6, tasks=("position", "gp_v", "tds_medium")),
)


@pytest.fixture(scope="module", autouse=True)
def tiny_preset() -> Iterator[None]:
    PRESETS["tiny"] = tiny_camera()
    yield
    del PRESETS["tiny"]


# Videos


def noise_frames(count: int, width: int = 64, height: int = 48) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    coarse = random.integers(0, 256, (count, height // 8, width // 8, 3), dtype=np.uint8)
    return [np.kron(c, np.ones((8, 8, 1), np.uint8)) for c in coarse]


def write(file: Path, frames: list[np.ndarray], crf: int = 20) -> Path:
    with VideoWriter(file, frames[0].shape[1], frames[0].shape[0], 10.0, crf) as writer:
        for frame in frames:
            writer.write(frame)
    return file


def test_a_video_holds_the_frames_in_order_and_is_the_same_every_time(tmp_path):
    import av

    frames = noise_frames(30)
    first, again = write(tmp_path / "a.mp4", frames), write(tmp_path / "b.mp4", frames)
    assert first.read_bytes() == again.read_bytes()
    read = list(read_frames(first))
    assert len(read) == 30
    for number, frame in enumerate(read):
        errors = [np.abs(frame.astype(int) - other).mean() for other in frames]
        assert int(np.argmin(errors)) == number and errors[number] < 12
    with av.open(str(first)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert stream.average_rate == 10 and stream.duration * stream.time_base == 3
        assert "creation_time" not in container.metadata


def test_odd_sizes_are_refused(tmp_path):
    with pytest.raises(SceneError, match="odd"):
        VideoWriter(tmp_path / "a.mp4", 63, 48, 10.0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_one_clear_line():
    with (
        pytest.raises(SceneError, match=r"no space left on the disk.*run the same command again"),
        VideoWriter(Path("/dev/full"), 640, 512, 10.0, crf=0) as writer,
    ):
        for frame in noise_frames(60, 640, 512):
            writer.write(frame)


def test_other_write_errors_keep_their_reason():
    error = disk_error(PermissionError(errno.EACCES, "Permission denied"), Path("x.mp4"))
    assert str(error) == "x.mp4: cannot be written: Permission denied"


@pytest.mark.parametrize("box", [(100, 60, 180, 140), (101, 61, 183, 139), (0, 0, 50, 40), (250, 190, 319, 255)])
def test_a_mark_is_hollow_and_pure_red_after_compression(tmp_path, box):
    grey = np.full((256, 320, 3), 140, np.uint8)
    grey[::2, ::2] = (90, 160, 120)
    track = Track(np.array([1, 2]), np.array([900, 10]), np.array([box, box]))
    source = write(tmp_path / "video.mp4", [grey] * 4)
    mark_video(source, tmp_path / "marked.mp4", track, fps=10.0, least_pixels=40)
    frames = list(read_frames(tmp_path / "marked.mp4"))
    red = [(f[..., 0] > 180) & (f[..., 1] < 70) & (f[..., 2] < 70) for f in frames]
    assert [bool(r.any()) for r in red] == [False, True, False, False], "the frame with ten pixels stays unmarked"
    rows, columns = np.nonzero(red[1])
    x0, y0, x1, y1 = box
    for found, wanted, edge in (
        (columns.min(), x0, x0 == 0),
        (rows.min(), y0, y0 == 0),
        (columns.max(), x1, x1 == 319),
        (rows.max(), y1, y1 == 255),
    ):
        assert edge or abs(int(found) - wanted) <= 10
    assert not red[1][y0 + 2 : y1 - 1, x0 + 2 : x1 - 1].any(), "hollow, and off the object itself"
    middle_row = red[1][(y0 + y1) // 2]
    assert middle_row.sum() >= (4 if x0 == 0 or x1 == 319 else 7), "lines are three pixels or more"


def test_a_mark_that_the_border_cuts_has_no_line_there():
    image = np.zeros((256, 320, 3), np.uint8)
    draw_mark(image, (0, 100, 60, 255))
    assert (image[90:96, :66, 0] == 255).any() and not image[-1, 5:50].any() and not image[150:200, :2].any()


@pytest.mark.parametrize("shown", [range(47, 53), [0], [129], range(130)], ids=["across", "first", "last", "all"])
def test_only_groups_of_pictures_that_show_the_object_are_made_anew(tmp_path, shown):
    source = write(tmp_path / "video.mp4", noise_frames(130, 160, 128))
    numbers = np.array(shown)
    track = Track(numbers, np.full(len(numbers), 500), np.tile([40, 40, 100, 90], (len(numbers), 1)))
    mark_video(source, tmp_path / "marked.mp4", track, fps=10.0)
    before, after = list(read_frames(source)), list(read_frames(tmp_path / "marked.mp4"))
    assert len(after) == 130
    lines = [frame[34:36, 50:90].astype(int) for frame in after]
    red = [bool((x[..., 0] > 180).all() and (x[..., 1:] < 70).all()) for x in lines]
    assert [k for k in range(130) if red[k]] == list(shown)
    touched = {k // 50 for k in shown}
    for k in range(130):
        if k // 50 not in touched:
            assert (before[k] == after[k]).all(), "copied as it was"
        elif k not in shown:
            assert np.abs(before[k].astype(int) - after[k]).mean() < 12
    again = tmp_path / "again.mp4"
    mark_video(source, again, track, fps=10.0)
    assert again.read_bytes() == (tmp_path / "marked.mp4").read_bytes()


def test_a_video_of_another_encoder_is_marked_as_well(tmp_path):
    import av

    frames = noise_frames(20, 160, 128)
    source = tmp_path / "video.mp4"
    with av.open(str(source), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = 160, 128, "yuv420p", 2_000_000
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode(None))
    track = Track(np.array([4, 5]), np.array([500, 500]), np.array([[40, 40, 100, 90]] * 2))
    mark_video(source, tmp_path / "marked.mp4", track, fps=10.0)
    after = list(read_frames(tmp_path / "marked.mp4"))
    red = [bool((f[34:36, 50:90, 0] > 180).all() and (f[34:36, 50:90, 1:] < 70).all()) for f in after]
    assert len(after) == 20 and [k for k in range(20) if red[k]] == [4, 5]


def test_a_cutting_is_that_stretch(tmp_path):
    frames = noise_frames(30)
    source = write(tmp_path / "a.mp4", frames)
    cut_video(source, tmp_path / "b.mp4", 10, 19, fps=10.0)
    cut = list(read_frames(tmp_path / "b.mp4"))
    assert len(cut) == 10
    assert all(np.abs(a.astype(int) - b).mean() < 14 for a, b in zip(cut, frames[10:20], strict=True))


# Tracks and sensor


def test_tracks_hold_pixels_and_boxes_of_objects_alone():
    place = tiny_place()
    tracks = TrackRecorder(place, {1: "structure/floor/living/0", 2: "sofa", 3: "bed"})
    ids = np.ones((20, 30), np.uint16)
    ids[3:7, 10:15] = 2
    tracks.add(0, ids)
    ids[5, 12] = 3
    tracks.add(4, ids)
    found = tracks.tracks()
    assert list(found) == ["bed", "sofa"]
    assert found["sofa"].frames.tolist() == [0, 4] and found["sofa"].pixels.tolist() == [20, 19]
    assert found["sofa"].boxes.tolist() == [[10, 3, 14, 6]] * 2 and found["bed"].boxes.tolist() == [[12, 5, 12, 5]]
    assert runs([1, 2, 3, 7, 9, 10]) == [[1, 3], [7, 7], [9, 10]]


def test_the_sensor_is_noisy_blurs_turns_and_hunts_for_exposure():
    camera = Intrinsics(160, 120, 100.0)
    poses = tuple(CameraPose(0.0, 0.0, 1.5, 6.0 * max(0, k - 20), 0.0) for k in range(40))
    way = Trajectory(tuple(k / 10 for k in range(40)), poses)
    stripes = np.zeros((120, 160, 3), np.uint8)
    stripes[:, ::8] = stripes[:, 1::8] = 60
    first, again = Sensor(camera, way, 1, "video1"), Sensor(camera, way, 1, "video1")
    pictures = [first.expose(k, stripes) for k in range(40)]
    assert (pictures[5] == again.expose(0, stripes)).mean() < 1.0
    assert all((again.expose(k, stripes) == pictures[k]).all() for k in range(1, 5))
    still, turning = pictures[15].astype(float), pictures[35].astype(float)
    assert still.std() > 1.5 * turning[:, 20:-20].std(), "vertical stripes fade when the camera turns"
    assert 0 < np.abs(pictures[15].astype(int) - pictures[16]).mean() < 8
    bright = [
        first_sensor.expose(k, np.full_like(stripes, 250))
        for first_sensor in [Sensor(camera, way, 1, "x")]
        for k in range(12)
    ]
    dark = Sensor(camera, way, 1, "x")
    after = [dark.expose(k, stripes if k < 3 else np.full_like(stripes, 120)) for k in range(12)]
    assert bright[-1].mean() < 230 and after[3].mean() > after[11].mean() + 5


# Whole sets


def digest(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Told(Progress):
    """What ``make_set`` told of its progress."""

    def __init__(self) -> None:
        self.begun: list[float] = []
        self.stages: list[str] = []
        self.shares: list[float] = []

    def begin(self, done: float) -> None:
        self.begun.append(done)

    def stage(self, words: str) -> None:
        self.stages.append(words)

    def add(self, share: float) -> None:
        self.shares.append(share)


TOLD = Told()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_opengl()
    patch = pytest.MonkeyPatch()
    out = tmp_path_factory.mktemp("made") / "set"
    try:
        _in_this_process(patch)
        result = make_set(SMALL, out, jobs=1, progress=TOLD)
    finally:
        patch.undo()
    assert result.made == 2 and sum(result.questions.values()) >= 3
    return out


def _in_this_process(patch: pytest.MonkeyPatch) -> None:
    """Run the workers' functions here: spawned processes would not know the tests' camera."""
    from contextlib import contextmanager

    import gst_ros.scenes.make as module

    @contextmanager
    def processes(jobs: int, report: Any):
        patch.setattr(module, "tell", report)
        yield lambda function, tasks: [(spec, function(*arguments)) for spec, arguments in tasks]

    patch.setattr(module, "processes", processes)
    patch.setattr(module, "NEIGHBOURS", 3)  # enough for one question, and quicker


def test_a_place_has_all_its_files_and_truth_lies_in_gt(made):
    names = [SMALL.place(k).name for k in range(2)]
    assert sorted(path.name for path in made.iterdir()) == sorted([*names, "set.json", "ATTRIBUTION.txt"])
    for name in names:
        files = set(digest(made / name))
        assert {"video1.mp4", "camera.json", "questions.json", "plans/render.jpg", "plans/furniture.png"} <= files
        assert {
            "gt/scene.json",
            "gt/instances.json",
            "gt/plan.json",
            "gt/views.json",
            "gt/trajectory_video1.tum",
        } <= files
        outside = " ".join(path.read_text() for path in (made / name).rglob("*.json") if path.parent.name != "gt")
        assert not {"position_m", "yaw_deg", "translation_m", "m_per_px"} & set(outside.replace('"', " ").split())


def test_video_trajectory_and_facts_tell_the_same_story(made):
    folder = made / SMALL.place(1).name
    frames = list(read_frames(folder / "video1.mp4"))
    way = read_tum(folder / "gt" / "trajectory_video1.tum")
    camera = tiny_camera()
    assert len(frames) == len(way) and frames[0].shape == (camera.video.height, camera.video.width, 3)
    assert np.allclose(np.diff(way.stamps_s), 1 / camera.fps)
    facts = json.loads((folder / "gt" / "instances.json").read_text())
    seen = [f for f in facts if f["largest_pixels"]]
    assert len(seen) >= 5
    for fact in seen:
        x0, y0, x1, y1 = fact["largest_box"]
        assert 0 <= fact["best_frame"] < len(way) and fact["largest_pixels"] <= (x1 - x0 + 1) * (y1 - y0 + 1)
        assert 0 < fact["complete"] <= fact["unoccluded"] <= 1
        assert all(0 <= a <= b < len(way) for stretch in fact["visible_frames"].values() for a, b in stretch)


def test_the_player_reads_the_camera_beside_the_video(made):
    video = made / SMALL.place(0).name / "video1.mp4"
    file = find_calibration(video)
    assert file is not None
    calibration, wanted = read_calibration(file), tiny_camera()
    assert (calibration.width, calibration.height) == (wanted.video.width, wanted.video.height)
    assert calibration.fx == calibration.fy == pytest.approx(wanted.video.f_px)
    assert (calibration.cx, calibration.cy) == (wanted.video.cx, wanted.video.cy)
    told = json.loads(file.read_text())
    assert (told["height_m"], told["pitch_deg"]) == (1.5, 35.0)


def test_the_same_seed_gives_the_same_bytes_also_after_an_interruption(made, tmp_path, monkeypatch):
    import gst_ros.scenes.filming as filming

    _in_this_process(monkeypatch)
    real, calls = filming.make_questions, []

    def interrupted(*arguments: Any, **keywords: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **keywords)

    monkeypatch.setattr(filming, "make_questions", interrupted)
    out = tmp_path / "set"
    with pytest.raises(KeyboardInterrupt):
        make_set(SMALL, out, jobs=1)
    left = {path.name for path in out.iterdir()}
    assert left == {"set.json", ".making", SMALL.place(0).name}, "whole places only"
    result = make_set(SMALL, out, jobs=1)
    assert result.made == 1
    assert digest(out) == digest(made)
    assert make_set(SMALL, out, jobs=1).made == 0


def test_progress_counts_drafts_too_and_ends_at_the_number_of_places(made):
    assert TOLD.begun == [0.0]
    assert TOLD.stages[0] == "drafting 4 places" and TOLD.stages[-1] == "filming 2 places"
    assert min(TOLD.shares) > 0 and sum(TOLD.shares) == pytest.approx(2.0, abs=0.05)
    again = Told()
    assert make_set(SMALL, made, jobs=1, progress=again).made == 0
    assert again.begun == again.shares == [], "a set that is complete shows no bar"


@pytest.mark.parametrize(
    ("name", "problem", "spoil"),
    [
        ("video1.mp4", "is missing", Path.unlink),
        ("questions.json", "is empty", lambda file: file.write_bytes(b"")),
        ("questions.json", "expected a list", lambda file: file.write_bytes(b"{}")),
        ("gt/trajectory_video1.tum", "is missing", Path.unlink),
        ("plans/options", "is missing", lambda folder: next(folder.iterdir()).unlink()),
    ],
)
def test_a_place_that_lost_a_file_is_not_called_complete(made, tmp_path, name, problem, spoil):
    out = tmp_path / "set"
    shutil.copytree(made, out)
    place = out / SMALL.place(1).name
    spoil(place / name)
    left = digest(out)
    with pytest.raises(SceneError, match=rf"{name}.*{problem}.*remove {place} and run the same command again"):
        make_set(SMALL, out, jobs=1)
    assert digest(out) == left


def test_a_gutted_attribution_is_written_again(made, tmp_path):
    out = tmp_path / "set"
    shutil.copytree(made, out)
    (out / "ATTRIBUTION.txt").write_text("")
    assert make_set(SMALL, out, jobs=1).made == 0
    assert digest(out) == digest(made)


def test_another_set_in_the_folder_is_not_touched(made, tmp_path):
    before = digest(made)
    for change, name in (({"seed": 9}, "seed"), ({"count": 3}, "count"), ({"crf": 30}, "crf")):
        with pytest.raises(SceneError, match=f"set.json.*'{name}'.*was made with"):
            make_set(replace(SMALL, **change), made)
    with pytest.raises(SceneError, match=r"questions\.per_task"):
        make_set(replace(SMALL, questions=replace(SMALL.questions, per_task=2)), made)
    assert digest(made) == before
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SceneError, match=r"not empty \('notes.txt'\)"):
        make_set(SMALL, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_places_of_other_seeds_and_splits_are_other_places():
    seeds = {
        (split, seed, k): replace(SMALL, split=split, seed=seed).place(k).seed
        for split in ("bench", "train", "local")
        for seed in (0, 1)
        for k in range(20)
    }
    assert len(set(seeds.values())) == len(seeds)
    assert replace(SMALL, count=50).place(7) == SMALL.place(7), "a longer set begins like a shorter one"


def test_neighbours_are_other_places_of_the_set():
    pool = [SMALL.place(k) for k in range(7)]
    assert [n.number for n in neighbours(pool[5], pool)] == [6, 0, 1, 2, 3, 4]
    assert [n.number for n in neighbours(pool[0], pool[:3])] == [1, 2]


# The command


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--count", "0"], "--count: 0 is out of range"),
        (["--camera", "gopro"], "--camera: unknown camera preset 'gopro' (one of: official, handheld"),
        (["--kinds", "castle"], "unknown kind of place 'castle'"),
        (["--split", "benhc"], "did you mean 'bench'?"),
        (["--licences", "gpl"], "unknown licence 'gpl'"),
        (["--tasks", "tds_heavy"], "tds_heavy"),
        (["--seconds", "0"], "--seconds: 0.0 is out of range"),
        (["--speed", "0"], "--speed: 0.0 is out of range"),
        (["--turn-rate", "1e300"], "--turn-rate: 1e+300 is out of range"),
        (["--area", "0.001"], "--area: 0.001 is out of range (allowed: >= 20.0 and <= 1000.0)"),
        (["--area", "1e9"], "--area: 1000000000.0 is out of range"),
        (["--view-width", "10"], "--view-width: 10 pixels is too small"),
        (["--seed", "9" * 400], "--seed: "),
        (["--kinds", ","], "'--kinds': expected words separated by commas"),
        (["--tasks", "position,"], "'--tasks': expected words"),
        (["--licences", ""], "'--licences': expected words"),
        (["--out="], "'--out': the path is empty"),
        (["--jobs", "0"], "--jobs"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(words, message, tmp_path, capsys):
    out = tmp_path / "set"
    code = run(["scenes", "make", "--out", str(out), "--builtin-only", *words])
    error = capsys.readouterr().err
    assert code == 2 and message in error and error.count("gst: error") == 1 and "Traceback" not in error
    assert "places" not in error and len(error.splitlines()[-1]) < 500, "no bar, and no wall of digits"
    assert not out.exists()


def test_missing_furniture_names_the_package(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GST_FURNITURE_DIR", str(tmp_path / "nowhere"))
    assert run(["scenes", "make", "--out", str(tmp_path / "set")]) == 2
    assert "apt-get install sweethome3d-furniture" in capsys.readouterr().err
    assert not (tmp_path / "set").exists()


def test_missing_opengl_names_the_packages(tmp_path, monkeypatch, capsys):
    moderngl = pytest.importorskip("moderngl")

    def fails(**_: Any) -> None:
        raise RuntimeError("libEGL.so not loaded")

    monkeypatch.setattr(moderngl, "create_context", fails)
    assert run(["scenes", "make", "--out", str(tmp_path / "set"), "--builtin-only"]) == 2
    error = capsys.readouterr().err
    assert "libegl1" in error and "libEGL.so not loaded" in error
    assert not (tmp_path / "set").exists()


def test_two_makers_do_not_share_a_folder_and_killed_ones_leave_no_process(tmp_path):
    need_opengl()
    out = tmp_path / "set"
    words = [sys.executable, "-m", "gst_ros.cli.main", "scenes", "make", "--out", str(out), "--builtin-only"]
    words += ["--kinds", "restaurant", "--jobs", "1", "--seconds", "30"]
    first = subprocess.Popen(words, start_new_session=True, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not (out / ".making" / "drafts").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        second = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert second.returncode == 2 and "another gst scenes make is at work here" in second.stderr
        first.send_signal(signal.SIGINT)
        _, error = first.communicate(timeout=60)
        assert first.returncode == 130 and "Traceback" not in error
        assert _gone(first.pid, 10.0), "processes of it are left"
    finally:
        if first.poll() is None:
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()


def _gone(group: int, seconds: float) -> bool:
    """Whether no process of a group is left, or none is after some time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_authors_are_named_with_their_licences():
    from gst_ros.scenes.attribution import attribution
    from gst_ros.scenes.catalogue import Catalogue, FurnitureModel

    def model(number: int, licence: str) -> FurnitureModel:
        place = {"archive": Path("x"), "member": "x", "rotation": ()}
        size = (1.0, 1.0, 1.0)
        return FurnitureModel(
            f"Shop/{number}", "sofa", f"Sofa {number}", size, 0.0, None, licence, "A. Maker", "both", **place
        )

    catalogue = Catalogue([model(1, "CC0-1.0"), model(2, "CC-BY-3.0"), model(3, "CC-BY-3.0")], [])
    place = tiny_place()
    sofa = replace(place.objects[0], model="Shop/2")
    text = attribution([replace(place, objects=(sofa, sofa, *place.objects))], catalogue)
    assert text.count("Sofa 2, by A. Maker (Shop/2)") == 1 and "creativecommons.org/licenses/by/3.0/" in text
    assert "Sofa 1" not in text and "CC0" not in text
    assert "nothing else" in attribution([place], catalogue)


def test_settings_survive_their_file():
    assert SetOptions.from_mapping(json.loads(json.dumps(SMALL.to_mapping()))) == SMALL
    with pytest.raises(ConfigError, match="did you mean 'videos'"):
        SetOptions.from_mapping({"video": 1})
