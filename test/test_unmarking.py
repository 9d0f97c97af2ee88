"""Marks are taken out of frames: what is left looks as the frame did before."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from gst_ros.media.images import decode_image, encode_jpeg
from gst_ros.perception.red_box import find_red_box
from gst_ros.perception.unmarking import without_mark

HEIGHT, WIDTH = 256, 320
ROWS, COLUMNS = np.mgrid[:HEIGHT, :WIDTH]
PLAIN = np.stack([60 + ROWS // 3, 80 + COLUMNS // 4, 90 + (ROWS + COLUMNS) // 6], axis=-1).astype(np.uint8)


@pytest.mark.parametrize(
    ("corners", "quality"),
    [
        (((60, 50), (200, 180)), None),
        (((60, 50), (200, 180)), 90),
        (((-9, 50), (120, 180)), 90),
        (((60, 90), (400, 300)), 90),
    ],
    ids=["sharp", "compressed", "cut off on the left", "cut off on two sides"],
)
def test_the_frame_looks_as_before(corners: tuple[tuple[int, int], ...], quality: int | None) -> None:
    marked = cv2.rectangle(PLAIN.copy(), *corners, (255, 0, 0), 3)
    if quality is not None:
        marked = decode_image(encode_jpeg(marked, quality))
    box = find_red_box(marked)
    assert box is not None
    given = marked.copy()
    cleaned = without_mark(marked, box)
    assert np.array_equal(marked, given), "the frame itself stays"
    assert find_red_box(cleaned) is None
    assert np.abs(cleaned.astype(int) - PLAIN).max() <= (6 if quality is None else 24)
    assert np.abs(marked.astype(int) - PLAIN).max() > 120
    far = np.ones((HEIGHT, WIDTH), bool)
    far[max(box.y0 - 8, 0) : box.y1 + 9, max(box.x0 - 8, 0) : box.x1 + 9] = False
    assert np.array_equal(cleaned[far], marked[far])
