"""sensor_msgs to numpy and back: every encoding, padding, byte order, and messages that lie."""

from __future__ import annotations

import array

import cv2
import numpy as np
import pytest
from clip_makers import picture

pytest.importorskip("sensor_msgs.msg", reason="ROS 2 (sensor_msgs) is not installed; scripts/setup.sh installs it")

from sensor_msgs.msg import CompressedImage, Image

from gst_ros.errors import MediaError
from gst_ros.media.calibration import Calibration
from gst_ros.nodes.image_messages import (
    ImageWriter,
    camera_info,
    compressed_to_rgb,
    image_to_rgb,
    ns_to_stamp,
    rgb_to_compressed,
    rgb_to_image,
    stamp_to_ns,
)

STAMP_NS = 1_754_000_000_123_456_789
RGB = picture(7, 61, 47)
GREY = cv2.cvtColor(RGB, cv2.COLOR_RGB2GRAY)


def message(encoding: str, pixels: np.ndarray, *, padding: int = 0, big_endian: bool = False) -> Image:
    height, width = pixels.shape[:2]
    if pixels.dtype == np.uint16:
        pixels = pixels.astype(">u2" if big_endian else "<u2")
    rows = np.ascontiguousarray(pixels).view(np.uint8).reshape(height, -1)
    rows = np.pad(rows, ((0, 0), (0, padding)), constant_values=255)
    made = Image(height=height, width=width, encoding=encoding, step=rows.shape[1], is_bigendian=int(big_endian))
    made.data = array.array("B", rows.tobytes())
    return made


@pytest.mark.parametrize("padding", [0, 5])
@pytest.mark.parametrize(
    ("encoding", "pixels"),
    [
        ("rgb8", RGB),
        ("bgr8", RGB[..., ::-1]),
        ("8UC3", RGB[..., ::-1]),
        ("rgba8", np.dstack([RGB, np.zeros_like(GREY)])),
        ("bgra8", np.dstack([RGB[..., ::-1], np.zeros_like(GREY)])),
        ("rgb16", RGB.astype(np.uint16) * 256 + 99),
        ("bgr16", RGB[..., ::-1].astype(np.uint16) * 256 + 99),
    ],
)
def test_colour_encodings(encoding, pixels, padding):
    assert np.array_equal(image_to_rgb(message(encoding, pixels, padding=padding)), RGB)


@pytest.mark.parametrize(
    ("encoding", "pixels"), [("mono8", GREY), ("8UC1", GREY), ("mono16", GREY.astype(np.uint16) * 256 + 7)]
)
def test_grey_encodings(encoding, pixels):
    assert np.array_equal(image_to_rgb(message(encoding, pixels)), np.dstack([GREY] * 3))


def test_byte_order_is_heeded():
    pixels = GREY.astype(np.uint16) * 256 + 7
    little, big = (image_to_rgb(message("mono16", pixels, big_endian=order)) for order in (False, True))
    assert np.array_equal(little, big)


@pytest.mark.parametrize(("encoding", "red_at"), [("bayer_rggb8", (0, 0)), ("bayer_bggr8", (1, 1))])
def test_bayer_patterns_have_red_where_their_name_says(encoding, red_at):
    mosaic = np.zeros((20, 20), np.uint8)
    mosaic[red_at[0] :: 2, red_at[1] :: 2] = 200
    image = image_to_rgb(message(encoding, mosaic))
    assert image[8:12, 8:12, 0].mean() > 100
    assert image[8:12, 8:12, 2].max() == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"encoding": "16UC1"}, ("16UC1", "known")),
        ({"encoding": "rgb"}, ("'rgb'",)),
        ({"encoding": ""}, ("''",)),
        ({"step": 100}, ("step 100", "at least 183")),
        ({"height": 48}, ("does not fit",)),
        ({"height": 0}, ("empty",)),
        ({"width": 0}, ("empty",)),
    ],
)
def test_messages_that_do_not_hold_what_they_say_are_refused(change, words):
    wrong = message("rgb8", RGB)
    for name, value in change.items():
        setattr(wrong, name, value)
    with pytest.raises(MediaError) as caught:
        image_to_rgb(wrong)
    for word in words:
        assert word in str(caught.value)


def test_writing_and_reading_give_the_same_picture_and_stamp():
    made = rgb_to_image(RGB, STAMP_NS, "camera_optical_frame")
    assert (made.encoding, made.step, made.header.frame_id) == ("rgb8", 61 * 3, "camera_optical_frame")
    assert len(made.data) == RGB.size
    assert stamp_to_ns(made.header.stamp) == STAMP_NS == stamp_to_ns(ns_to_stamp(STAMP_NS))
    assert np.array_equal(image_to_rgb(made), RGB)


def test_the_writer_follows_changes_of_size_and_odd_memory():
    writer = ImageWriter("camera")
    for image in (RGB, picture(1), picture(2)[:, ::-1], np.flipud(RGB), picture(3, 8, 4)):
        assert np.array_equal(image_to_rgb(writer.fill(image, 5)), image)


def test_the_writer_reuses_its_memory():
    writer = ImageWriter("camera")
    first = writer.fill(RGB, 1).data.buffer_info()
    assert writer.fill(RGB[::-1], 2).data.buffer_info() == first


def test_compressed_images_are_read_by_content():
    made = rgb_to_compressed(RGB, STAMP_NS, "camera", 95)
    assert made.format == "rgb8; jpeg compressed bgr8"
    assert stamp_to_ns(made.header.stamp) == STAMP_NS
    assert np.abs(compressed_to_rgb(made).astype(int) - RGB).mean() < 6
    png = CompressedImage(format="jpeg")
    png.data.frombytes(cv2.imencode(".png", RGB[..., ::-1])[1].tobytes())
    assert np.array_equal(compressed_to_rgb(png), RGB)
    with pytest.raises(MediaError, match="jpeg"):
        compressed_to_rgb(CompressedImage(format="jpeg"))


def test_camera_info():
    unknown = camera_info(None, 640, 512, "camera")
    assert not np.any(unknown.k), "all zero: uncalibrated"
    assert (unknown.width, unknown.height, unknown.distortion_model) == (640, 512, "")
    info = camera_info(Calibration(640, 512, 400.0, 410.0, 320.0, 256.0), 640, 512, "camera")
    assert list(info.k) == [400, 0, 320, 0, 410, 256, 0, 0, 1]
    assert list(info.p) == [400, 0, 320, 0, 0, 410, 256, 0, 0, 0, 1, 0]
    assert list(info.r) == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert (info.distortion_model, list(info.d)) == ("plumb_bob", [0.0] * 5)
