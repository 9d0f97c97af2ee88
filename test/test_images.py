"""Single images by content, folders of images as clips, and calibrations beside them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml
from clip_makers import number_of, picture

from gst_ros.errors import MediaError
from gst_ros.media.calibration import Calibration, find_calibration, read_calibration
from gst_ros.media.clip import open_clip
from gst_ros.media.images import decode_image, encode_jpeg, read_image


def encoded(ending: str, image: np.ndarray) -> bytes:
    return cv2.imencode(ending, cv2.cvtColor(image, cv2.COLOR_RGB2BGR))[1].tobytes()


def refuses(path: Path, *words: str, **kwargs: float) -> None:
    with pytest.raises(MediaError) as caught:
        open_clip(path, **kwargs)
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line


def test_times_and_paths_that_no_clip_can_have_are_refused(tmp_path):
    for name, value in (("start_s", 1e300), ("start_s", math.nan), ("end_s", math.inf), ("end_s", 2.0**31)):
        refuses(tmp_path, name, "not a media time", **{name: value})
    for path in ("x" * 300, "x" * 100_000, "a\0b.mp4"):
        refuses(Path(path), "not a usable path")
    refuses(Path("~nobody-of-this-name/a.mp4"), "nobody-of-this-name")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    refuses(loop, "loop", "not a usable path")
    refuses(Path(__file__) / "below-a-file.mp4", "no such file")


def test_rates_that_give_no_usable_times_are_refused(tmp_path):
    for number in range(2):
        (tmp_path / f"{number}.png").write_bytes(encoded(".png", picture(number)))
    for fps in (1e-300, 1e300, math.inf, 0.0):
        refuses(tmp_path, "fps", folder_fps=fps)
    for stamp in ("9" * 5000, "2147483648", "-1", "\u0663"):
        (tmp_path / "timestamps.txt").write_text(f"0.5\n{stamp}\n", encoding="utf-8")
        refuses(tmp_path, "line 2", "is not a time")
    (tmp_path / "timestamps.txt").write_text("1700000000.25\n1700000001.5\n")
    with open_clip(tmp_path, start_s=1700000001.0) as clip:
        assert [frame.stamp_ns for frame in clip] == [1_700_000_001_500_000_000]


# Single images


@pytest.mark.parametrize("ending", [".png", ".jpg", ".webp", ".bmp", ".tiff"])
def test_images_are_decoded_by_content_and_red_comes_first(tmp_path, ending):
    misnamed = tmp_path / "image.png"  # some official .png files hold JPEG
    misnamed.write_bytes(encoded(ending, picture(3)))
    image = read_image(misnamed)
    assert image.shape == (48, 64, 3)
    assert image[5, 5, 0] > 180 > 90 > image[5, 5, 2]
    assert np.abs(image.astype(int) - picture(3)).mean() < 6


def test_greyscale_depth_and_transparency():
    grey = np.arange(48 * 64, dtype=np.uint16).reshape(48, 64) * 20
    assert decode_image(cv2.imencode(".png", grey)[1].tobytes()).dtype == np.uint8
    transparent = np.dstack([picture(1)[..., ::-1], np.zeros((48, 64), np.uint8)])
    assert np.array_equal(decode_image(cv2.imencode(".png", transparent)[1].tobytes()), picture(1))


@pytest.mark.parametrize("ending", [".png", ".jpg", ".webp"])
@pytest.mark.parametrize("part", [0.0, 0.02, 0.5, 0.9])
def test_a_cut_off_image_is_an_error_not_a_grey_picture(tmp_path, ending, part):
    noise = np.random.default_rng(0).integers(0, 255, (60, 80, 3), dtype=np.uint8)
    data = encoded(ending, noise)
    with pytest.raises(MediaError, match="half"):
        decode_image(data[: int(len(data) * part)], name=tmp_path / "half")


def test_no_image_at_all(tmp_path):
    with pytest.raises(MediaError, match=r"nothing\.png.*no such file"):
        read_image(tmp_path / "nothing.png")
    with pytest.raises(MediaError, match="directory"):
        read_image(tmp_path)
    with pytest.raises(MediaError, match=r"a\.png"):
        decode_image(b"<html>404</html>", "a.png")


def test_jpeg_round_trip_keeps_colours():
    data = encode_jpeg(picture(2), quality=95)
    assert data.startswith(b"\xff\xd8\xff")
    assert np.abs(decode_image(data).astype(int) - picture(2)).mean() < 6
    assert len(encode_jpeg(picture(2), quality=10)) < len(data)
    with pytest.raises(ValueError, match="uint8"):
        encode_jpeg(np.zeros((4, 4), np.uint8))


# Folders


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in (2, 10, 1, 33):
        (tmp_path / f"frame{number}.png").write_bytes(encoded(".png", picture(number)))
    return tmp_path


def test_names_are_in_natural_order_at_the_given_rate(folder):
    with open_clip(folder, folder_fps=4.0) as clip:
        frames = list(clip)
    assert [number_of(f.image_rgb) for f in frames] == [1, 2, 10, 33]
    assert [f.stamp_ns for f in frames] == [0, 250_000_000, 500_000_000, 750_000_000]
    assert (clip.frames_claimed, clip.nominal_fps, clip.duration_s) == (4, 4.0, 1.0)


def test_everything_else_in_the_folder_is_left_alone(folder):
    (folder / ".hidden.png").write_bytes(b"\x89PNG")
    (folder / "notes.md").write_text("x")
    (folder / "Thumbs.db").write_bytes(b"x")
    (folder / "sub.png").mkdir()
    with open_clip(folder) as clip:
        assert len(list(clip)) == 4
        assert clip.damaged == 0


def test_stamps_from_a_file(folder):
    (folder / "timestamps.txt").write_text("# s\n0.5\n0.75\n2\n1754000000.123456789\n")
    with open_clip(folder) as clip:
        assert [f.stamp_ns for f in clip] == [500_000_000, 750_000_000, 2_000_000_000, 1_754_000_000_123_456_789]
    (folder / "timestamps.txt").write_text("frame33.png 1.5\nframe1.png, 9.25\n")
    with open_clip(folder) as clip:
        assert [(f.stamp_ns, number_of(f.image_rgb)) for f in clip] == [(1_500_000_000, 33), (9_250_000_000, 1)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0\n1\n", ("2 stamps for 4 images",)),
        ("0\n1\n2\nsoon\n", ("line 4", "soon")),
        ("0\n1\n1\n2\n", ("two images have the stamp 1.0 s",)),
        ("0\n1\n2\n-3\n", ("line 4", "-3")),
        ("frame1.png 0\nother.png 1\n", ("line 2", "other.png")),
        ("", ("0 stamps for 4 images",)),
    ],
)
def test_wrong_stamps_are_refused_with_their_line(folder, text, words):
    (folder / "timestamps.txt").write_text(text)
    refuses(folder, "timestamps.txt", *words)


def test_damaged_and_odd_images(folder):
    (folder / "frame0.png").write_bytes(b"\x89PNG broken")
    (folder / "frame5.png").write_bytes(encoded(".jpg", picture(5, 128, 96)))
    with open_clip(folder) as clip:
        frames = list(clip)
    assert [f.stamp_ns for f in frames] == [100_000_000 * i for i in (1, 2, 3, 4, 5)], "the others keep their times"
    assert {f.image_rgb.shape for f in frames} == {(48, 64, 3)}
    assert number_of(frames[2].image_rgb) == 5
    assert (clip.damaged, clip.resized) == (1, 1)


def test_seek_start_and_end(folder):
    with open_clip(folder, 0.05, 0.25) as clip:
        assert [f.stamp_ns for f in clip] == [100_000_000, 200_000_000]
        clip.seek(0.15)
        assert [f.stamp_ns for f in clip] == [200_000_000]
        clip.seek(9.0)
        assert clip.read() is None
    refuses(folder, "no image between 5.0 s and its end", "0.300 s", start_s=5.0)
    refuses(folder, "no image between", start_s=0.11, end_s=0.15)
    refuses(folder, "frame rate", folder_fps=0.0)


def test_folders_without_images(tmp_path):
    refuses(tmp_path, "no images", ".png")
    (tmp_path / "a.png").write_bytes(b"nothing")
    refuses(tmp_path, "none of its 1 images")


# Calibrations


def test_a_field_of_view_is_a_focal_length():
    camera = Calibration.from_horizontal_fov(640, 512, 90.0)
    assert (camera.fx, camera.fy, camera.cx, camera.cy) == pytest.approx((320.0, 320.0, 319.5, 255.5))
    for angle in (0.0, 180.0, -5.0):
        with pytest.raises(MediaError, match="field of view"):
            Calibration.from_horizontal_fov(640, 512, angle)


def test_scaling_keeps_the_rays():
    camera = Calibration(640, 512, 500.0, 510.0, 319.5, 250.0).scaled_to(320, 256)
    assert (camera.fx, camera.fy, camera.cx) == pytest.approx((250.0, 255.0, 159.5))
    # The left edge of the picture lies at pixel -0.5 and is seen at the same angle.
    assert (-0.5 - camera.cx) / camera.fx == pytest.approx((-0.5 - 319.5) / 500.0)


@pytest.mark.parametrize(
    "document",
    [
        {"width": 640, "height": 512, "fx": 400.0, "fy": 410, "cx": 320.0, "cy": 256.0},
        {"width": 640, "height": 512, "K": [[400, 0, 320], [0, 410, 256], [0, 0, 1]]},
        {"camera": {"width": 640, "height": 512, "intrinsics": 1}, "k": [400, 0, 320, 0, 410, 256, 0, 0, 1]},
        {"width": 640, "height": 512, "intrinsics": {"fx": 400.0, "fy": 410, "cx": 320.0, "cy": 256.0}},
    ],
)
def test_calibrations_as_people_write_them(tmp_path, document):
    (tmp_path / "camera.json").write_text(json.dumps(document))
    camera = read_calibration(tmp_path / "camera.json")
    assert camera == Calibration(640, 512, 400.0, 410.0, 320.0, 256.0)


def test_ros_calibration_file(tmp_path):
    document = {
        "image_width": 640,
        "image_height": 512,
        "camera_name": "cam",
        "camera_matrix": {"rows": 3, "cols": 3, "data": [400.0, 0, 320.0, 0, 410.0, 256.0, 0, 0, 1]},
        "distortion_model": "plumb_bob",
        "distortion_coefficients": {"rows": 1, "cols": 5, "data": [0.1, -0.2, 0.001, 0.0, 0.3]},
    }
    (tmp_path / "cam.yaml").write_text(yaml.safe_dump(document))
    camera = read_calibration(tmp_path / "cam.yaml")
    assert (camera.fx, camera.cy, camera.distortion) == (400.0, 256.0, (0.1, -0.2, 0.001, 0.0, 0.3))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", ("cannot be read",)),
        ("[1]", ("mapping",)),
        ('{"width": 640, "height": 512}', ("'fx'", "missing")),
        ('{"height": 512, "fx": 5}', ("'width'", "missing")),
        ('{"width": 640, "height": 512, "fx": "400"}', ("'fx'", "not a number")),
        ('{"width": 640, "height": 512, "fx": NaN}', ("'fx'", "not a number")),
        ('{"width": 640, "height": 512, "fx": -4}', ("'fx'", "positive")),
        ('{"width": 6.5, "height": 512, "fx": 4}', ("'width'", "pixels")),
        ('{"width": 640, "height": 512, "K": [1, 2]}', ("'K'", "9 numbers")),
        ('{"width": 640, "height": 512, "fx": 4, "distortion_model": "fishy"}', ("'distortion_model'", "equidistant")),
        ('{"width": 640, "height": 512, "fx": 4, "distortion": [1,2,3,4,5,6]}', ("'distortion'", "5 coefficients")),
    ],
)
def test_wrong_calibrations_name_file_and_field(tmp_path, text, words):
    (tmp_path / "camera.json").write_text(text)
    with pytest.raises(MediaError) as caught:
        read_calibration(tmp_path / "camera.json")
    for word in ("camera.json", *words):
        assert word in str(caught.value)


def test_calibrations_are_found_beside_the_clip(tmp_path):
    video = tmp_path / "walk.mp4"
    assert find_calibration(video) is None
    (tmp_path / "camera.json").write_text("{}")
    assert find_calibration(video) == tmp_path / "camera.json"
    assert find_calibration(tmp_path) == tmp_path / "camera.json"
    (tmp_path / "walk.camera.json").write_text("{}")
    assert find_calibration(video) == tmp_path / "walk.camera.json"
    assert find_calibration(tmp_path / "marked" / "walk_chair.mp4") == tmp_path / "camera.json"


def test_fov_in_a_file(tmp_path):
    (tmp_path / "camera.json").write_text('{"width": 640, "height": 512, "horizontal_fov_deg": 60}')
    assert read_calibration(tmp_path / "camera.json").fx == pytest.approx(320 / math.tan(math.radians(30)))
