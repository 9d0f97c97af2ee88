"""Maps on disk: the same again after loading, refused with one clear line when damaged, never half written."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from gst_ros.errors import DiskError
from gst_ros.mapping import map_files
from gst_ros.mapping.backend import Trajectory
from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.mapping.features import SiftFeatures
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.map_files import load_map, save_map
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


def damage(folder: Path, how: str) -> None:
    values = json.loads((folder / "map.json").read_text())
    if how == "version":
        values["version"] = 99
    elif how == "format":
        values["format"] = "another program's"
    elif how == "field":
        del values["mount"]
    elif how == "unknown":
        values["camera"]["shutter"] = 1
    elif how == "text":
        (folder / "map.json").write_text("{")
        return
    elif how == "arrays":
        data = (folder / "arrays.npz").read_bytes()
        (folder / "arrays.npz").write_bytes(data[: len(data) // 2])
    elif how == "pickle":
        np.savez(folder / "arrays.npz", stamps_ns=np.array([{"a": 1}], dtype=object))
    elif how == "shape":
        with np.load(folder / "arrays.npz") as stored:
            arrays = dict(stored)
        np.savez(folder / "arrays.npz", **{**arrays, "poses": arrays["poses"][:-1]})
    elif how == "grid":
        with np.load(folder / "arrays.npz") as stored:
            arrays = dict(stored)
        np.savez(folder / "arrays.npz", **{**arrays, "tall": arrays["tall"][1:]})
    elif how == "picture":
        (folder / "keyframes" / "000001.jpg").unlink()
    (folder / "map.json").write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("version", "version 99"),
        ("format", "is no map"),
        ("field", "'mount'"),
        ("unknown", "damaged"),
        ("text", "damaged"),
        ("arrays", "damaged"),
        ("pickle", "damaged"),
        ("shape", "'poses' has shape"),
        ("grid", "differ in size"),
        ("picture", "000001.jpg"),
    ],
)
def test_a_damaged_map_is_refused_in_one_line(tmp_path: Path, how: str, words: str) -> None:
    save_map(small_map(), tmp_path / "map")
    damage(tmp_path / "map", how)
    with pytest.raises(MapError, match=words) as caught:
        load_map(tmp_path / "map")
    assert "\n" not in str(caught.value) and str(tmp_path) in str(caught.value)


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


def test_a_full_disk_keeps_the_map_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_map(small_map(), tmp_path / "map")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(map_files.np, "savez", full)
    with pytest.raises(DiskError, match="No space left"):
        save_map(replace(small_map(), notes=("second",)), tmp_path / "map")
    assert load_map(tmp_path / "map").notes == small_map().notes
    assert os.listdir(tmp_path) == ["map"]


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
