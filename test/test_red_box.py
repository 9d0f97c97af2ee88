"""The red-box finder: marks of several sizes and looks, cut off by the border, and red things that are no mark."""

from __future__ import annotations

import io

import av
import cv2
import numpy as np
import pytest

from gst_ros.perception.red_box import find_red_box
from gst_ros.scenes.marking import draw_mark

SIZE = (512, 640)


def room(seed: int = 0) -> np.ndarray:
    """A picture with wood-brown, grey and white areas and texture."""
    random = np.random.default_rng(seed)
    image = np.empty((*SIZE, 3), np.uint8)
    image[:200] = (190, 186, 178)
    image[200:] = (165, 110, 66)
    image[60:160, 250:400] = (250, 250, 250)
    image[300:420, 60:200] = (70, 60, 140)
    noise = random.normal(0, 8, SIZE)[:, :, None]
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def jpeg(image: np.ndarray, quality: int = 75) -> np.ndarray:
    data = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return cv2.imdecode(data, cv2.IMREAD_COLOR)[:, :, ::-1].copy()


def h264(images: list[np.ndarray], crf: int) -> list[np.ndarray]:
    memory = io.BytesIO()
    with av.open(memory, "w", format="mp4") as output:
        stream = output.add_stream("libx264", rate=10, options={"crf": str(crf)})
        stream.width, stream.height, stream.pix_fmt = SIZE[1], SIZE[0], "yuv420p"
        for image in images:
            output.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        output.mux(stream.encode(None))
    memory.seek(0)
    with av.open(memory) as source:
        return [frame.to_ndarray(format="rgb24") for frame in source.decode(video=0)]


def box_of(found: object) -> tuple[int, int, int, int]:
    return found.x0, found.y0, found.x1, found.y1  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("shift", [0, 1])
def test_finds_rectangles_of_every_line_width_in_jpeg(width: int, shift: int) -> None:
    image = room(width)
    cv2.rectangle(image, (201 + shift, 120 + shift), (330, 260), (255, 0, 0), width)
    found = find_red_box(jpeg(image))
    assert found is not None
    half = width // 2
    truth = (201 + shift - half, 120 + shift - half, 330 + half, 260 + half)
    assert np.abs(np.subtract(box_of(found), truth)).max() <= 2
    assert abs(found.line_px - width) <= 3  # of 5, OpenCV makes 7
    assert not (found.cut_left or found.cut_top or found.cut_right or found.cut_bottom)


@pytest.mark.parametrize("size", [6, 10, 60, 300])
def test_finds_small_and_large_marks_in_compressed_video(size: int) -> None:
    images = [room(k) for k in range(4)]
    for k, image in enumerate(images):
        draw_mark(image, (150 + 20 * k, 100, 150 + 20 * k + size, 100 + size))
    for k, image in enumerate(h264(images, crf=26)):
        found = find_red_box(image)
        assert found is not None
        inside = found.inside(margin_px=3)
        assert np.abs(np.subtract(inside, (150 + 20 * k, 100, 150 + 20 * k + size, 100 + size))).max() <= 3


@pytest.mark.parametrize(
    ("box", "cut"),
    [
        ((0, 200, 80, 300), "left"),
        ((560, 200, 639, 300), "right"),
        ((200, 0, 300, 90), "top"),
        ((200, 400, 300, 511), "bottom"),
        ((0, 0, 100, 90), "left top"),
        ((500, 400, 639, 511), "right bottom"),
        ((0, 350, 639, 511), "left right bottom"),
        ((300, 0, 420, 511), "top bottom"),
        ((0, 0, 420, 511), "left top bottom"),
    ],
)
def test_says_which_sides_are_cut_off(box: tuple[int, ...], cut: str) -> None:
    image = room()
    draw_mark(image, box)
    found = find_red_box(jpeg(image, 85))
    assert found is not None
    sides = {"left": found.cut_left, "top": found.cut_top, "right": found.cut_right, "bottom": found.cut_bottom}
    assert {name for name, value in sides.items() if value} == set(cut.split())
    assert np.abs(np.subtract(found.inside(3), box)).max() <= 3


def test_a_mark_round_a_red_object_is_found() -> None:
    image = room()
    image[204:300, 304:420] = (200, 20, 20)
    draw_mark(image, (304, 204, 419, 299))
    found = find_red_box(jpeg(image, 85))
    assert found is not None
    assert np.abs(np.subtract(found.inside(3), (304, 204, 419, 299))).max() <= 3


def no_marks() -> list[tuple[str, np.ndarray]]:
    sofa, tilted, text, picture, dark, plus = (room(k) for k in range(6))
    cv2.fillPoly(sofa, [np.array([[100, 300], [300, 290], [320, 400], [90, 410]])], (220, 20, 20))
    tilted_corners = np.array([[200, 100], [400, 130], [395, 330], [205, 300]])
    cv2.polylines(tilted, [tilted_corners], True, (255, 0, 0), 4)
    cv2.putText(text, "EXIT HOF 80", (100, 300), cv2.FONT_HERSHEY_SIMPLEX, 3, (255, 0, 0), 5)
    picture[80:180, 300:380] = (230, 10, 10)
    cv2.rectangle(dark, (200, 120), (330, 260), (150, 20, 20), 4)
    plus[250:254, 100:500] = plus[100:400, 300:304] = (255, 0, 0)
    names = ("sofa", "tilted frame", "text", "picture", "dark frame", "cross")
    return list(zip(names, (sofa, tilted, text, picture, dark, plus), strict=True))


@pytest.mark.parametrize(("name", "image"), no_marks(), ids=lambda v: v if isinstance(v, str) else "")
def test_other_red_things_are_no_mark(name: str, image: np.ndarray) -> None:
    assert find_red_box(image) is None, name
    assert find_red_box(jpeg(image)) is None, name


def test_plain_pictures_have_no_mark() -> None:
    for seed in range(5):
        assert find_red_box(room(seed)) is None
        noise = np.random.default_rng(seed).integers(0, 256, (*SIZE, 3), np.uint8)
        assert find_red_box(noise) is None


def test_refuses_what_is_no_rgb_image() -> None:
    with pytest.raises(ValueError, match="RGB"):
        find_red_box(np.zeros((10, 10), np.uint8))


def test_a_red_thing_behind_a_side_does_not_hide_it() -> None:
    image = np.full((512, 640, 3), 130, np.uint8)
    image[380:, 260:330] = (190, 40, 60)  # a rug
    cv2.rectangle(image, (100, 50), (530, 460), (255, 0, 0), 4)
    found = find_red_box(image)
    assert found is not None
    assert (found.x0, found.y0, found.x1, found.y1) == pytest.approx((98, 48, 532, 462), abs=2)
