"""Cameras from settings and files; what is missing is asked of the video."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from mapping_rendering import rendered

from gst_ros.errors import ConfigError, GstError, MediaError
from gst_ros.mapping.calibration import CameraEstimate
from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.mapping.camera_files import CameraOfClip, CameraOptions, camera_for, map_frames, query_camera, rectifier
from gst_ros.mapping.constancy import Constancy
from gst_ros.mapping.mapper import Mapper, MapperConfig
from gst_ros.mapping.relocalise import RelocaliseConfig
from gst_ros.media.calibration import Calibration
from gst_ros.media.clip import Clip, open_clip
from gst_ros.media.frames import Frame
from gst_ros.memory.walks import facts_beside

QUICK = {"check_planar": False}


@pytest.fixture
def clip(tmp_path: Path) -> Clip:
    """A folder of four pictures of noise that stand still."""
    image = np.random.default_rng(0).integers(0, 255, (60, 80, 3)).astype(np.uint8)
    for number in range(4):
        cv2.imwrite(str(tmp_path / f"{number}.png"), image)
    return open_clip(tmp_path)


def write(folder: Path, **values: Any) -> Path:
    file = folder / "camera.json"
    file.write_text(json.dumps(values))
    return file


def test_file_beside_the_clip(clip: Clip, tmp_path: Path) -> None:
    write(tmp_path, width=160, height=120, fx=100.0, height_m=0.8, height_std_m=0.02, pitch_deg=12, roll_deg=-1)
    found = camera_for(clip, CameraOptions(**QUICK))
    assert found.camera == PinholeCamera(80, 60, 50.0, 50.0, 39.5, 29.5)
    assert found.mount == CameraMount(0.8, 12.0, -1.0, height_std_m=0.02)
    assert "camera.json" in found.source and found.rectify is None and found.estimate is None


def test_a_section_for_the_mount(clip: Clip, tmp_path: Path) -> None:
    write(tmp_path, width=80, height=60, fx=50, mount={"height_m": 0.5, "pitch_deg": 3})
    assert camera_for(clip, CameraOptions(**QUICK)).mount == CameraMount(0.5, 3.0)


def test_options_come_before_files(clip: Clip, tmp_path: Path) -> None:
    write(tmp_path, width=80, height=60, fx=50.0, height_m=0.8, pitch_deg=12)
    options = CameraOptions(horizontal_fov_deg=90, height_m=1.2, height_std_m=0.1, pitch_deg=0.0, **QUICK)
    found = camera_for(clip, options)
    assert found.camera.fx == pytest.approx(40)
    assert found.mount == CameraMount(1.2, 0.0, height_std_m=0.1)
    assert "field of view as given" in found.source and "pitch_deg as given" in found.source


def test_unknown_height_is_assumed_with_its_uncertainty(clip: Clip) -> None:
    found = camera_for(clip, CameraOptions(fx=50, pitch_deg=10, **QUICK))
    assert found.mount.height_m == 1.5 and found.mount.height_std_m == pytest.approx(0.15)
    assert "assumed" in found.source


def test_what_is_unknown_is_asked_of_the_video(clip: Clip, tmp_path: Path) -> None:
    write(tmp_path, width=80, height=60, fx=50.0)
    for options in (CameraOptions(), CameraOptions(ignore_files=True)):
        with pytest.raises(MapError, match="give the camera's focal length"):
            camera_for(clip, options)  # it stands still: nothing can be told


def test_what_is_known_need_not_be_checked(clip: Clip, tmp_path: Path) -> None:
    write(tmp_path, width=80, height=60, fx=50.0)
    found = camera_for(clip, CameraOptions(pitch_deg=3))
    assert found.mount.pitch_deg == 3 and found.estimate is None
    assert "not checked on the video" in found.source


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"pitch_deg": "35"}, "pitch_deg"),
        ({"pitch_deg": True}, "pitch_deg"),
        ({"pitch_deg": 200}, "pitch_deg"),
        ({"height_m": -1}, "height_m"),
        ({"height_m": 0}, "height_m"),
        ({"roll_std_deg": -1}, "roll_std_deg"),
        ({"mount": [1]}, "mount"),
    ],
)
def test_bad_values_name_their_field(clip: Clip, tmp_path: Path, values: dict[str, Any], field: str) -> None:
    write(tmp_path, width=80, height=60, fx=50.0, **values)
    with pytest.raises(MediaError) as error:
        camera_for(clip, CameraOptions(**QUICK))
    assert error.value.field == field and "camera.json" in str(error.value)


HUGE = 10**400
WILD: list[tuple[dict[str, Any], str]] = [
    ({"fx": 1e300}, "fx"),
    ({"fx": 1e-300}, "fx"),
    ({"fx": HUGE}, "fx"),
    ({"fx": math.inf}, "fx"),
    ({"fy": 4000}, "fy"),
    ({"cx": 1e300}, "cx"),
    ({"width": 10**30, "height": 10**30}, "width"),
    ({"width": HUGE}, "width"),
    ({"distortion": [1e300] * 5}, "distortion"),
    ({"distortion_model": ["x"]}, "distortion_model"),
    ({"distortion_model": {"a": 1}}, "distortion_model"),
    ({"height_m": HUGE}, "height_m"),
    ({"height_m": 1e9}, "height_m"),
    ({"height_m": 1e-9}, "height_m"),
    ({"height_std_m": 1e300}, "height_std_m"),
    ({"pitch_deg": math.nan}, "pitch_deg"),
    ({"pitch_deg": [35]}, "pitch_deg"),
]


@pytest.mark.parametrize(("values", "field"), WILD)
def test_wild_numbers_of_a_file_are_refused_by_whoever_reads_it(
    clip: Clip, tmp_path: Path, values: dict[str, Any], field: str
) -> None:
    file = write(tmp_path, **{"width": 80, "height": 60, "fx": 50.0, **values})
    section = {"width": 80, "height": 60, "fx": 50.0, **values}
    for read in (
        lambda: camera_for(clip, CameraOptions(**QUICK)),
        lambda: facts_beside(tmp_path / "clip.mp4"),
        lambda: query_camera(write(tmp_path, query_view=section), 80, 60),
    ):
        with pytest.raises(MediaError) as error:
            read()
        assert error.value.field in (field, f"query_view.{field}")
        assert str(file) in str(error.value) and len(str(error.value)) < 250 + len(str(file))


@pytest.mark.parametrize("values", [{"height_m": 1e300}, {"height_m": 1e-300}, {"fx": 1e300}, {"fx": 1e-300}])
def test_wild_numbers_of_options_are_refused(clip: Clip, values: dict[str, float]) -> None:
    with pytest.raises(GstError) as error:
        camera_for(clip, CameraOptions(**{"fx": 50.0, "pitch_deg": 3.0, **values}, **QUICK))
    assert error.value.field == next(iter(values))


def test_a_camera_with_wild_numbers_makes_no_map() -> None:
    good = PinholeCamera.centred(80, 60, 50.0)
    for camera, mount in ((replace(good, fx=1e-300), CameraMount()), (good, CameraMount(math.nan))):
        with pytest.raises(MapError) as error:
            Mapper(camera, mount, MapperConfig(relocalise=RelocaliseConfig(features="sift")))
        assert error.value.field in ("fx", "height_m")


def test_a_query_view_has_the_pictures_shape_and_the_usual_where_nothing_is_told(tmp_path: Path) -> None:
    usual = CameraMount(0.3, 0.0, height_std_m=0.003, pitch_std_deg=0.5, roll_std_deg=0.15)
    file = write(tmp_path, query_view={"width": 80, "height": 60, "fx": 50, "pitch_deg": 10})
    found = query_camera(file, 80, 60, usual)
    assert found is not None and found[1] == replace(usual, pitch_deg=10.0, pitch_std_deg=0.0)
    with pytest.raises(MediaError, match="80 x 60, the picture has 80 x 80"):
        query_camera(file, 80, 80)


def test_another_shape_of_picture_is_refused(clip: Clip, tmp_path: Path) -> None:
    write(tmp_path, width=1920, height=1080, fx=1000.0, pitch_deg=3)
    with pytest.raises(MediaError, match="1920 x 1080"):
        camera_for(clip, CameraOptions(**QUICK))


def test_options_are_checked() -> None:
    with pytest.raises(ConfigError):
        CameraOptions(pitch_deg=120.0)
    with pytest.raises(ConfigError):
        CameraOptions.from_mapping({"hight_m": 1.0})


def test_query_view(tmp_path: Path) -> None:
    section = {"width": 1920, "height": 1536, "fx": 1005.9, "pitch_deg": 0, "height_m": 1.5}
    file = write(tmp_path, width=640, height=512, fx=335.3, query_view=section)
    found = query_camera(file, 640, 512)
    assert found is not None
    assert found[0].fx == pytest.approx(335.3) and found[0].cx == pytest.approx(319.5)
    assert found[1] == CameraMount(1.5, 0.0)
    assert query_camera(write(tmp_path, width=640, height=512, fx=335.3), 640, 512) is None
    for broken in ("wide", {"width": 640}, {**section, "fx": 0}, {**section, "cy": "x"}):
        with pytest.raises(MediaError, match="query_view"):
            query_camera(write(tmp_path, width=640, height=512, fx=3, query_view=broken), 640, 512)


def test_frames_for_a_map_have_no_sway(tmp_path: Path) -> None:
    camera, mount = PinholeCamera.centred(160, 128, 85.0), CameraMount(1.5, 30.0)
    tilts = [CameraMount(1.5, 30 + 2 * math.sin(k), math.cos(k)).rotation_base_from_camera for k in range(8)]
    for frame in rendered(camera, np.array(tilts), np.array([[0.05 * k, 0, 1.5] for k in range(8)])):
        cv2.imwrite(str(tmp_path / f"{frame.stamp_ns:012d}.png"), frame.image_rgb)

    def frames(constant: bool) -> list[Frame]:
        told = Constancy(1.4, 0.7, 0.0, constant, ())
        estimate = CameraEstimate(camera, mount, 0.0, told, 8, 0.3, ())
        with open_clip(tmp_path) as clip:
            return list(map_frames(clip, CameraOfClip(camera, mount, "", None, estimate)))

    plain, steady = frames(True), frames(False)
    with open_clip(tmp_path) as clip:
        for own, frame in zip(plain, clip, strict=True):
            assert own.stamp_ns == frame.stamp_ns and (own.image_rgb == frame.image_rgb).all()
    assert [f.stamp_ns for f in steady] == [f.stamp_ns for f in plain]
    assert any((a.image_rgb != b.image_rgb).any() for a, b in zip(plain, steady, strict=True))


def test_distortion_is_taken_off() -> None:
    assert rectifier(Calibration(80, 60, 50, 50, 39.5, 29.5)) is None
    ideal = np.array([[(x - 320) / 300, (y - 240) / 300] for x, y in ((200, 150), (420, 330), (320, 240))])
    radius = (ideal**2).sum(axis=1, keepdims=True)
    angle = np.arctan(np.sqrt(radius))
    bent = {
        "plumb_bob": ideal * (1 - 0.2 * radius),
        "equidistant": ideal * angle / np.maximum(np.sqrt(radius), 1e-12) * (1 - 0.05 * angle**2),
    }
    for model, lens in (("plumb_bob", (-0.2, 0.0, 0.0, 0.0, 0.0)), ("equidistant", (-0.05, 0.0, 0.0, 0.0))):
        image = np.zeros((480, 640, 3), np.uint8)
        for x, y in bent[model] * 300 + [320, 240]:
            cv2.circle(image, (round(x * 16), round(y * 16)), 4 * 16, (255, 255, 255), -1, cv2.LINE_AA, 4)
        rectify = rectifier(Calibration(640, 480, 300, 300, 320, 240, model, lens))
        assert rectify is not None
        count, _, _, centres = cv2.connectedComponentsWithStats((rectify(image)[:, :, 0] > 127).astype(np.uint8))
        assert count == 4
        for x, y in ideal * 300 + [320, 240]:
            assert min(math.hypot(x - cx, y - cy) for cx, cy in centres[1:]) < 0.5
