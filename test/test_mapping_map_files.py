"""Maps on disk: the same again after loading, refused with one clear line when damaged, never half written."""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from gst_ros.errors import ConfigError, DiskError
from gst_ros.mapping import map_files
from gst_ros.mapping.backend import Trajectory
from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.mapping.features import SiftFeatures
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.map_files import check_target, load_map, save_map
from gst_ros.mapping.picture import draw_map
from gst_ros.mapping.relocalise import Relocaliser
from gst_ros.mapping.spatial_map import MapKeyframe, SpatialMap
from gst_ros.mapping.trajectory_files import write_tum

CAMERA, MOUNT = PinholeCamera.centred(320, 256, 167.6), CameraMount(1.5, 35.0, height_std_m=0.03)
STEP_NS = 100_000_000


def small_map() -> SpatialMap:
    """Ten frames ahead with a turn at the end, two keyframes, of which a second part is one."""
    random = np.random.default_rng(3)
    poses = np.column_stack([np.linspace(0, 0.9, 10), np.zeros(10), np.r_[np.zeros(8), 3.1, -3.1]])
    stamps = np.arange(10, dtype=np.int64) * STEP_NS
    parts = np.array([0] * 9 + [1])
    trajectory = Trajectory(stamps, poses, ("tracking",) * 7 + ("weak", "lost", "tracking"), parts)
    texture = cv2.GaussianBlur(random.integers(0, 255, (256, 320, 3), np.uint8), (0, 0), 2)
    jpeg = cv2.imencode(".jpg", texture)[1].tobytes()
    keyframes = (MapKeyframe(0, poses[0], 0, jpeg), MapKeyframe(4 * STEP_NS, poses[4], 0, jpeg))
    relocaliser = Relocaliser(CAMERA, MOUNT, kind=SiftFeatures())
    for keyframe in keyframes:
        relocaliser.add(texture, keyframe.pose, keyframe.stamp_ns)
    relocaliser.prepare()
    cells = random.choice([-1, 0, 100], (30, 40)).astype(np.int8)
    grid = OccupancyGrid(cells, 0.05, (-0.5, -0.7), tall=random.random((30, 40)).astype(np.float32))
    return SpatialMap(CAMERA, MOUNT, trajectory, keyframes, grid, relocaliser, 0, ("one frame was lost",))


def test_a_map_is_the_same_after_loading(tmp_path: Path) -> None:
    place = small_map()
    save_map(place, tmp_path / "map")
    again = load_map(tmp_path / "map")
    assert (again.camera, again.mount, again.notes, again.main_part) == (CAMERA, MOUNT, place.notes, 0)
    assert np.array_equal(again.trajectory.poses, place.trajectory.poses)
    assert again.trajectory.states == place.trajectory.states
    assert [k.jpeg for k in again.keyframes] == [k.jpeg for k in place.keyframes]
    assert again.grid is not None and place.grid is not None
    assert again.grid.origin_m == place.grid.origin_m and again.grid.resolution_m == place.grid.resolution_m
    for name in ("cells", "evidence", "colour", "tall"):
        assert np.array_equal(getattr(again.grid, name), getattr(place.grid, name))
    assert again.relocaliser.stamps_ns == place.relocaliser.stamps_ns
    for one, other in zip(again.relocaliser.views, place.relocaliser.views, strict=True):
        assert np.array_equal(one.features.keypoints, other.features.keypoints)
        assert np.allclose(one.features.descriptors, other.features.descriptors, atol=1e-3)
        assert one.mount == other.mount and one.camera == other.camera
    for one_depths, other_depths in zip(again.relocaliser.depths, place.relocaliser.depths, strict=True):
        assert np.allclose(one_depths.inverse_depth, other_depths.inverse_depth, equal_nan=True, rtol=1e-5)
    assert type(again.locate(np.full((256, 320, 3), 90, np.uint8))).__name__ == "Lost"


def test_a_pose_between_two_frames_lies_between_them_the_short_way_round() -> None:
    place = small_map()
    assert np.allclose(place.pose_at(2 * STEP_NS), [0.2, 0, 0])
    assert np.allclose(place.pose_at(2 * STEP_NS + STEP_NS // 2), [0.25, 0, 0])
    joined = replace(place, trajectory=replace(place.trajectory, parts=np.zeros(10, int)))
    assert abs(joined.pose_at(8 * STEP_NS + STEP_NS // 2)[2]) == pytest.approx(np.pi, abs=0.01)


@pytest.mark.parametrize("stamp_ns", [-1, 10 * STEP_NS, 9 * STEP_NS, 8 * STEP_NS + 5])
def test_a_time_outside_or_in_a_part_apart_is_refused(stamp_ns: int) -> None:
    with pytest.raises(MapError):
        small_map().pose_at(stamp_ns)


def test_the_scale_is_as_uncertain_as_the_height() -> None:
    assert small_map().relative_scale_std == pytest.approx(0.02)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "map"
    save_map(small_map(), folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy of a map, to be damaged."""
    return Path(shutil.copytree(saved, tmp_path / "map"))


def refused(folder: Path, *words: str) -> None:
    with pytest.raises(MapError) as caught:
        load_map(folder)
    line = str(caught.value)
    assert "\n" not in line and str(folder) in line
    for word in words:
        assert word in line


def change(folder: Path, where: str, value: Any) -> None:
    """Set a value of map.json, named by its path; None takes it out."""
    values = json.loads((folder / "map.json").read_text())
    *path, last = where.split(".")
    inner = values
    for name in path:
        inner = inner[name]
    if value is None:
        inner.pop(last, None)
    else:
        inner[last] = value
    (folder / "map.json").write_text(json.dumps(values))


def store(folder: Path, save: Callable[..., None] = np.savez, **changed: Any) -> None:
    """Replace arrays, and let nothing but themselves tell it."""
    change(folder, "arrays_sha256", None)
    with np.load(folder / "arrays.npz") as stored:
        arrays = {**stored, **changed}
    save(folder / "arrays.npz", **{name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("main_part", math.inf),
        ("main_part", 9),
        ("camera", []),
        ("camera.fx", 0),
        ("camera.fx", math.nan),
        ("camera.fx", "a"),
        ("camera.fx", 1e300),
        ("camera.fx", 10**400),
        ("camera.fx", None),
        ("camera.fy", 1e4),
        ("camera.cx", 1e300),
        ("camera.width", 10**9),
        ("camera.width", -5),
        ("camera.width", 320.5),
        ("camera.shutter", 1),
        ("mount", None),
        ("mount.height_m", math.nan),
        ("mount.height_m", 0),
        ("mount.pitch_deg", 1e300),
        ("features", 3),
        ("features.kind", "zzz"),
        ("features.kind", ["sift"]),
        ("features.dimensions", math.inf),
        ("features.dimensions", 10**12),
        ("features.dimensions", 64),
        ("features.likeness", math.nan),
        ("features.scales", []),
        ("features.scales", [1] * 50),
        ("features.scales", [math.nan]),
        ("grid", [1]),
        ("grid.resolution_m", math.nan),
        ("grid.origin_m", [1]),
        ("notes", 3),
    ],
)
def test_a_value_that_no_map_has_is_refused_by_its_name(folder: Path, where: str, value: Any) -> None:
    change(folder, where, value)
    named = {"features.dimensions": "features"}.get(where, where) if value != 64 else "features_descriptors"
    refused(folder, "damaged", named)


NAN = math.nan


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("poses", lambda a: a[:-1]),
        ("poses", lambda a: a[:, :2]),
        ("poses", lambda a: a * NAN),
        ("poses", lambda a: a + 1e300),
        ("poses", lambda a: a + 1j),
        ("poses", lambda a: None),
        ("keyframe_poses", lambda a: a * NAN),
        ("stamps_ns", lambda a: a.astype(str)),
        ("stamps_ns", lambda a: a[::-1]),
        ("stamps_ns", lambda a: np.int64(3)),
        ("keyframe_stamps_ns", lambda a: a + 1),
        ("states", lambda a: a + 200),
        ("states", lambda a: a.astype(float)),
        ("parts", lambda a: np.array([{"a": 1}] * len(a), dtype=object)),
        ("cells", lambda a: a.astype(str)),
        ("cells", lambda a: a + 3),
        ("cells", lambda a: a[:0]),
        ("tall", lambda a: a[1:]),
        ("evidence", lambda a: a * np.float32(NAN)),
        ("features_counts", lambda a: a * 0),
        ("features_counts", lambda a: a + 10**18),
        ("features_keypoints", lambda a: a[1:]),
        ("features_inverse_depth", lambda a: -a),
        ("extra", lambda a: np.zeros(3)),
    ],
)
def test_an_array_that_no_map_has_is_refused_by_its_name(
    folder: Path, name: str, changed: Callable[[Any], Any]
) -> None:
    with np.load(folder / "arrays.npz") as stored:
        before = stored.get(name)
    store(folder, **{name: changed(before)})
    field = {"features_inverse_depth": "inverse_depth", "features_keypoints": "features_", "cells": ""}.get(name, name)
    refused(folder, "damaged", "arrays.npz", field)


def test_arrays_may_lie_by_columns(folder: Path, saved: Path) -> None:
    with np.load(folder / "arrays.npz") as stored:
        store(folder, **{name: np.asfortranarray(stored[name]) for name in ("poses", "features_descriptors", "colour")})
    again, before = load_map(folder), load_map(saved)
    assert np.array_equal(again.trajectory.poses, before.trajectory.poses)
    for one, other in zip(again.relocaliser.views, before.relocaliser.views, strict=True):
        assert np.array_equal(one.features.descriptors, other.features.descriptors)


def test_arrays_of_a_grid_need_its_values(folder: Path) -> None:
    change(folder, "grid", None)
    refused(folder, "damaged", "but no grid")


def test_no_grid_of_no_cells_is_taken(folder: Path) -> None:
    nothing = np.zeros((0, 0), np.float32)
    store(folder, cells=np.zeros((0, 0), np.int8), evidence=nothing, tall=nothing, colour=np.zeros((0, 0, 3), np.uint8))
    refused(folder, "damaged", "cells")


def zipped(folder: Path, how: str) -> None:
    """Damage the file of arrays as a file."""
    file = folder / "arrays.npz"
    change(folder, "arrays_sha256", None)
    data = bytearray(file.read_bytes())
    central = data.find(b"PK\x01\x02")
    if how == "cut off":
        del data[len(data) // 2 :]
    elif how == "a bit":
        data[len(data) // 3] ^= 255
    elif how == "unknown compression":
        data[8] = data[central + 10] = 99
    elif how == "encrypted":
        data[6] |= 1
        data[central + 8] |= 1
    elif how == "no zip":
        data = bytearray(b"\x93NUMPY" + bytes(200))
    file.write_bytes(data)
    if how == "bomb":
        store(folder, np.savez_compressed, poses=np.zeros((3_000_000, 3)))
    elif how == "a lying head":
        with zipfile.ZipFile(file) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)})
        with zipfile.ZipFile(file, "w") as archive:
            for name, member in members.items():
                archive.writestr(name, head.getvalue() if name == "poses.npy" else member)


@pytest.mark.parametrize(
    "how", ["cut off", "a bit", "unknown compression", "encrypted", "no zip", "bomb", "a lying head"]
)
def test_a_damaged_file_of_arrays_is_refused(folder: Path, how: str) -> None:
    zipped(folder, how)
    refused(folder, "damaged", "arrays.npz")


def test_arrays_and_pictures_of_another_map_are_refused(folder: Path) -> None:
    with np.load(folder / "arrays.npz") as stored:
        arrays = dict(stored)
    np.savez(folder / "arrays.npz", **{**arrays, "poses": arrays["poses"] + 0.5})
    refused(folder, "another map", "arrays.npz")
    change(folder, "arrays_sha256", None)  # as in maps of before it was written
    assert np.allclose(load_map(folder).trajectory.poses, arrays["poses"] + 0.5)
    (folder / "keyframes" / "000001.jpg").write_bytes(b"\xff\xd8\xff" + bytes(100))
    refused(folder, "000001.jpg", "cut off")
    (folder / "keyframes" / "000001.jpg").rename(folder / "keyframes" / "000002.jpg")
    refused(folder, "000001.jpg", "not there")
    (folder / "keyframes" / "000002.jpg").unlink()
    refused(folder, "1 pictures for 2 keyframes")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", ("no JSON",)),
        (b"[1]", ("is no map",)),
        (b'{"format": "another"}', ("is no map",)),
        (b'{"format": "gst_ros map", "version": 99}', ("version 99",)),
        (b'{"format": "gst_ros map", "version": true}', ("version True",)),
        (b'{"format": "gst_ros map", "version": "1"}', ("version '1'",)),
        (b"[" * 100_000, ("damaged",)),
        (b"\xff\xfe\x00\xd8", ("no text",)),
        (b'{"format": "gst_ros map", "version": 1, "main_part": ' + b"9" * 5000 + b"}", ("damaged",)),
    ],
)
def test_a_damaged_text_is_refused(folder: Path, text: bytes, words: tuple[str, ...]) -> None:
    (folder / "map.json").write_bytes(text)
    refused(folder, "map.json", *words)


def test_the_file_in_a_map_is_not_its_folder(folder: Path) -> None:
    with pytest.raises(MapError, match="give the folder"):
        load_map(folder / "map.json")
    (folder / "map.json").unlink()
    (folder / "map.json").mkdir()
    refused(folder, "map.json", "no regular file")


def test_features_that_are_not_installed_are_told_with_their_map(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = load_map(folder)

    def missing(name: str) -> None:
        raise ConfigError(f"torch for {name} is not installed", field="features", remedy="setup")

    monkeypatch.setattr(map_files, "open_features", missing)
    with pytest.raises(MapError, match="torch for sift") as caught:
        place.relocaliser.kind.extract(np.full((256, 320, 3), 90, np.uint8), 10)
    assert str(folder) in str(caught.value)


def test_nothing_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MapError, match="is not there"):
        load_map(tmp_path / "nothing")


def test_what_is_no_map_is_not_overwritten_and_a_map_is(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    with pytest.raises(MapError, match="something else"):
        save_map(small_map(), tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"
    save_map(small_map(), tmp_path / "map")
    save_map(replace(small_map(), notes=("second",)), tmp_path / "map")
    assert load_map(tmp_path / "map").notes == ("second",)
    assert sorted(os.listdir(tmp_path)) == ["map", "thesis"]
    assert {"map.png", "trajectory.tum"} <= set(os.listdir(tmp_path / "map"))


@pytest.mark.parametrize("foreign", ["thesis.txt", "keyframes/thesis.txt", "notes/thesis.txt"])
def test_other_files_in_a_map_are_kept(folder: Path, foreign: str) -> None:
    (folder / foreign).parent.mkdir(exist_ok=True)
    (folder / foreign).write_text("years of work")
    with pytest.raises(MapError, match=foreign.split("/")[0]):
        save_map(small_map(), folder)
    assert (folder / foreign).read_text() == "years of work" and len(load_map(folder).keyframes) == 2


def test_where_no_map_can_be_is_told_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for place in ("file", "file/below", "file/far/below"):
        with pytest.raises(MapError, match="file"):
            check_target(tmp_path / place)
    monkeypatch.chdir(tmp_path)
    for place in ("", ".", str(tmp_path)):
        with pytest.raises(MapError, match="you are in"):
            check_target(Path(place))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "link").symlink_to("new")
    with pytest.raises(DiskError):
        check_target(tmp_path / "loop")
    assert check_target(Path("link")) == tmp_path / "new" == check_target(Path("new"))
    assert sorted(os.listdir(tmp_path)) == ["file", "link", "loop"]
    if Path("/proc/self").exists():
        with pytest.raises(DiskError, match="/proc/map"):
            check_target(Path("/proc/map"))


@pytest.mark.parametrize("where", ["np.savez", "write_tum", "draw_map"])
def test_a_full_disk_keeps_the_map_that_was_there(folder: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    before = (folder / "map.png").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    owner = map_files.np if where == "np.savez" else map_files
    monkeypatch.setattr(owner, where.removeprefix("np."), full)
    with pytest.raises(DiskError, match="No space left"):
        save_map(replace(small_map(), notes=("second",)), folder)
    assert load_map(folder).notes == small_map().notes
    assert (folder / "map.png").read_bytes() == before and os.listdir(folder.parent) == ["map"]


def test_the_trajectory_file_has_the_camera_and_only_what_is_connected(tmp_path: Path) -> None:
    write_tum(small_map(), tmp_path / "walk.tum")
    rows = np.loadtxt(tmp_path / "walk.tum")
    assert rows.shape == (9, 8)
    assert np.allclose(rows[:, 0], np.arange(9) / 10)
    assert np.allclose(rows[:, 3], 1.5)
    x, y, z, w = rows[0, 4:]
    ahead = [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    assert np.allclose(ahead, [np.cos(np.radians(35)), 0, -np.sin(np.radians(35))], atol=1e-6)


def test_the_picture_shows_walk_and_start() -> None:
    picture = draw_map(small_map())
    assert max(picture.shape) == 1000
    assert (picture == (214, 39, 40)).all(axis=2).any() and (picture == (31, 70, 220)).all(axis=2).any()
