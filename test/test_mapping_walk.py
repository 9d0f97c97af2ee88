"""End to end: a part of the bundled demo's walk, from pictures to a map, against the demo's truth."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from gst_ros.environment import share_dir
from gst_ros.mapping.camera_files import CameraOptions, camera_for
from gst_ros.mapping.map_files import load_map, save_map
from gst_ros.mapping.mapper import Mapper, MapperConfig
from gst_ros.mapping.planar import align, compose, trajectory_rmse_m, wrap
from gst_ros.mapping.relocalise import Located, RelocaliseConfig
from gst_ros.mapping.spatial_map import SpatialMap
from gst_ros.media.clip import open_clip
from gst_ros.media.images import read_image

FROM_S, TO_S = 7.0, 25.0


def demo_place() -> Path:
    (video,) = (share_dir() / "demo").glob("*/video1.mp4")
    return video.parent


def true_poses() -> np.ndarray:
    """N x 4: stamp in seconds, x, y, yaw."""
    rows = np.loadtxt(demo_place() / "gt" / "trajectory_video1.tum")
    x, y, z, w = rows[:, 4:8].T
    return np.column_stack([rows[:, :3], np.arctan2(2 * (y * z - w * x), 2 * (x * z + w * y))])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> SpatialMap:
    """The map, after it has been on the disk."""
    config = MapperConfig(relocalise=RelocaliseConfig(features="sift"))
    with open_clip(demo_place() / "video1.mp4", FROM_S, TO_S) as clip:
        known = camera_for(clip, CameraOptions(check_planar=False))
        mapper = Mapper(known.camera, known.mount, config)
        for frame in clip:
            mapper.add(frame)
    folder = tmp_path_factory.mktemp("walk") / "map"
    save_map(mapper.finish(), folder)
    return load_map(folder)


def paired(place: SpatialMap) -> tuple[np.ndarray, np.ndarray]:
    truth = true_poses()
    nearest = np.abs(truth[None, :, 0] - place.trajectory.stamps_ns[:, None] * 1e-9).argmin(axis=1)
    return place.trajectory.poses, truth[nearest, 1:]


def test_the_walk_is_where_it_was(place: SpatialMap) -> None:
    estimate, truth = paired(place)
    assert len(estimate) == 180
    assert (place.trajectory.parts == 0).all() and place.notes == ()
    assert np.linalg.norm(np.diff(truth[:, :2], axis=0), axis=1).sum() > 5
    assert trajectory_rmse_m(estimate, truth) < 0.06
    turned = wrap(estimate[:, 2] + align(estimate[:, :2], truth[:, :2])[2] - truth[:, 2])
    assert np.degrees(np.abs(turned)).max() < 3
    assert np.allclose(place.pose_at(int(place.trajectory.stamps_ns[77])), estimate[77])


def test_where_the_walk_went_is_free_and_most_of_what_is_claimed_free_is(place: SpatialMap) -> None:
    assert place.grid is not None
    estimate, truth = paired(place)
    assert (place.grid.values_at(estimate[:, :2]) == 0).mean() > 0.95
    offset = align(estimate[:, :2], truth[:, :2])
    facts = json.loads((demo_place() / "gt" / "plan.json").read_text())["furniture.png"]
    plan = read_image(demo_place() / "plans" / "furniture.png")[:, :, 0] > 127
    rows, columns = np.nonzero(place.grid.free)
    cells = place.grid.point_of(np.stack([rows, columns], axis=1))
    cos, sin = np.cos(offset[2]), np.sin(offset[2])
    moved = cells @ np.array([[cos, sin], [-sin, cos]]) + offset[:2]
    column = ((moved[:, 0] - facts["left_m"]) / facts["m_per_px"]).astype(int)
    row = ((facts["top_m"] - moved[:, 1]) / facts["m_per_px"]).astype(int)
    inside = (row >= 0) & (column >= 0) & (row < plan.shape[0]) & (column < plan.shape[1])
    assert plan[row[inside], column[inside]].sum() / len(cells) > 0.75


def test_its_own_pictures_are_located_and_a_stranger_is_lost(place: SpatialMap) -> None:
    with open_clip(demo_place() / "video1.mp4", 10.05, 10.2) as clip:
        frame = next(iter(clip))
    found = place.locate(frame.image_rgb, place.camera, place.mount)
    assert isinstance(found, Located)
    expected = place.pose_at(frame.stamp_ns)
    assert np.hypot(*(found.pose[:2] - expected[:2])) < 0.1
    assert np.degrees(abs(wrap(found.pose[2] - expected[2]))) < 2
    noise = np.random.default_rng(0).integers(0, 255, (512, 640, 3), np.uint8)
    assert not isinstance(place.locate(cv2.GaussianBlur(noise, (0, 0), 3)), Located)


def test_a_step_relative_to_the_map_is_the_same_seen_from_the_truth(place: SpatialMap) -> None:
    """Poses compose: the offset of the two frames carries any pose of the one to the other."""
    estimate, truth = paired(place)
    offset = align(estimate[:, :2], truth[:, :2])
    moved = compose(np.broadcast_to(offset, estimate.shape), estimate)
    assert np.hypot(*(moved[:, :2] - truth[:, :2]).T).max() < 0.15


def test_the_commands_make_a_map_and_locate_in_it(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    cut(demo_place() / "video1.mp4", clip, frames=60)
    (tmp_path / "camera.json").write_text((demo_place() / "camera.json").read_text())
    gst = [sys.executable, "-m", "gst_ros.cli.main"]
    made = subprocess.run(
        [*gst, "map", str(clip), "--out", str(tmp_path / "map"), "--features", "sift"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert re.search(r"^60 frames, \d+ keyframes -> ", made.stdout, re.M)
    assert len(np.loadtxt(tmp_path / "map" / "trajectory.tum")) == 60
    assert cv2.imread(str(tmp_path / "map" / "map.png")) is not None
    picture = sorted((tmp_path / "map" / "keyframes").glob("*.jpg"))[1]
    lost = subprocess.run(
        [*gst, "locate", str(tmp_path / "map"), str(tmp_path / "camera.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert lost.returncode == 2 and "camera.json" in lost.stderr and lost.stderr.count("\n") == 1
    found = subprocess.run(
        [*gst, "locate", str(tmp_path / "map"), str(picture), "--json"], capture_output=True, text=True, check=False
    )
    assert found.returncode in (0, 3), found.stderr
    assert set(json.loads(found.stdout)) >= ({"x_m", "yaw_deg", "confidence"} if found.returncode == 0 else {"lost"})


def cut(source: Path, target: Path, frames: int) -> None:
    import av

    with open_clip(source, FROM_S) as clip, av.open(str(target), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = clip.width, clip.height, "yuv420p", 4_000_000
        for number, frame in enumerate(clip):
            if number >= frames:
                break
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame.image_rgb, format="rgb24")))
        container.mux(stream.encode())
