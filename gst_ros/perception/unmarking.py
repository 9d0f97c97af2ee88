"""Frames without the mark that was drawn into them: a rectangle that follows an object is a false landmark."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gst_ros.perception.red_box import RedBox

Image = NDArray[np.uint8]

_RIM_PX = 3
"""Compression colours so many pixels beside the line."""


def without_mark(image_rgb: Image, box: RedBox) -> Image:
    """The frame with the rectangle's lines filled in from both sides of them.

    Args:
        image_rgb: H x W x 3 bytes.
        box: The rectangle that was found in it.

    Returns:
        A copy; the frame stays.
    """
    image = image_rgb.copy()
    level = (slice(box.x0, box.x1 + 1), box.line_px)
    upright = (slice(box.y0, box.y1 + 1), box.line_px)
    if not box.cut_top:
        _fill(image, box.y0, *level)
    if not box.cut_bottom:
        _fill(image, box.y1 - box.line_px + 1, *level)
    turned = image.transpose(1, 0, 2)
    if not box.cut_left:
        _fill(turned, box.x0, *upright)
    if not box.cut_right:
        _fill(turned, box.x1 - box.line_px + 1, *upright)
    return np.asarray(image)


def _fill(image: Image, first: int, along: slice, width: int) -> None:
    """Fill rows by going from the row before them to the row after them, in place."""
    before, after = first - _RIM_PX - 1, first + width + _RIM_PX
    reach = slice(max(along.start - _RIM_PX, 0), along.stop + _RIM_PX)
    last = len(image) - 1
    upper = image[before if before >= 0 else min(after, last), reach].astype(np.float32)
    lower = image[after if after <= last else max(before, 0), reach].astype(np.float32)
    for row in range(max(before + 1, 0), min(after, last + 1)):
        share = (row - before) / (after - before)
        image[row, reach] = np.round((1 - share) * upper + share * lower).astype(np.uint8)
