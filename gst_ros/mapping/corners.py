"""Corners, and where they went: the image part of tracking."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.planar import Array

Gray = NDArray[np.uint8]
Mask = NDArray[np.bool_]

_BORDER_PX = 10
_WINDOW = (15, 15)
_LEVELS = 3
_CRITERIA = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 12, 0.03)
_LEAST_EIGENVALUE = 1e-5  # of the gradient matrix; carpets and plain walls have corners too, only faint ones


def as_gray(image_rgb: NDArray[np.uint8], width: int, height: int) -> Gray:
    """One channel, of the size asked for.

    Local contrast is left as it is: equalised by tiles (CLAHE), a corner changes its looks as it moves from tile to
    tile, and was lost more often and found less exactly wherever this was measured.
    """
    gray = cv2.cvtColor(image_rgb, cv2.COLOR_RGB2GRAY)
    if gray.shape != (height, width):
        gray = cv2.resize(gray, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(gray, dtype=np.uint8)


def detect(gray: Gray, occupied: Array, total: int, *, cell_px: int = 40, spacing_px: int = 10) -> Array:
    """Find corners where there are none yet, evenly over the picture (Shi and Tomasi 1994).

    Args:
        gray: Height x width.
        occupied: N x 2 pixels that are followed already.
        total: How many there should be in all; the new ones are shared out over the cells of a grid.
        cell_px: Size of a cell.
        spacing_px: Least distance of two corners.

    Returns:
        M x 2 pixels, strongest of their cells.
    """
    height, width = gray.shape
    # At half the resolution: a quarter of the work, and noise is no corner.
    half = cv2.resize(gray, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    strength = cv2.cornerMinEigenVal(half, 3, ksize=3)
    reach = spacing_px // 2
    strongest = cv2.dilate(strength, np.ones((reach, reach), np.uint8))
    free = (strength >= strongest) & (strength > _LEAST_EIGENVALUE)
    border = _BORDER_PX // 2 + 1
    inside = np.zeros_like(free)
    inside[border:-border, border:-border] = True
    taken_by = np.zeros(free.shape, np.uint8)
    taken_by[
        np.clip(occupied[:, 1] // 2, 0, height // 2 - 1).astype(int),
        np.clip(occupied[:, 0] // 2, 0, width // 2 - 1).astype(int),
    ] = 1
    near = cv2.dilate(taken_by, np.ones((2 * reach + 1, 2 * reach + 1), np.uint8))
    rows, across = np.nonzero(free & inside & (near == 0))
    found = strength[rows, across]
    x, y = 2 * across, 2 * rows
    columns = -(-width // cell_px)
    cells = -(-height // cell_px) * columns
    taken = np.bincount(
        (
            np.clip(occupied[:, 1], 0, height - 1) // cell_px * columns
            + np.clip(occupied[:, 0], 0, width - 1) // cell_px
        ).astype(int),
        minlength=cells,
    )
    cell = y // cell_px * columns + x // cell_px
    order = np.lexsort((-found, cell))
    x, y, cell = x[order], y[order], cell[order]
    # Rank of a corner in its cell, counting what the cell holds already: take all first ranks, then the second, ...
    first = np.searchsorted(cell, np.arange(cells))
    rank = np.arange(len(cell)) - first[cell] + taken[cell]
    chosen = np.argsort(rank, kind="stable")[: max(0, total - len(occupied))]
    return np.stack([x[chosen], y[chosen]], axis=1).astype(np.float64)


def follow(old: Gray, new: Gray, pixels: Array, guesses: Array, tolerance_px: float = 0.7) -> tuple[Array, Mask]:
    """Follow corners by pyramidal Lucas-Kanade, and back again as a check.

    Args:
        old: Picture in which the corners are known.
        new: Picture in which to find them.
        pixels: N x 2 in ``old``.
        guesses: N x 2, about where they are in ``new``.
        tolerance_px: How far from its start a corner may come out when followed back.

    Returns:
        N x 2 pixels in ``new``, and which of them were found.
    """
    if not len(pixels):
        return np.empty((0, 2)), np.empty(0, dtype=bool)
    start = pixels.astype(np.float32).reshape(-1, 1, 2)
    guess = guesses.astype(np.float32).reshape(-1, 1, 2)
    flags = cv2.OPTFLOW_USE_INITIAL_FLOW
    there, found, _ = cv2.calcOpticalFlowPyrLK(
        old, new, start, guess.copy(), None, None, _WINDOW, _LEVELS, _CRITERIA, flags, _LEAST_EIGENVALUE
    )
    back, returned, _ = cv2.calcOpticalFlowPyrLK(
        new, old, there, start.copy(), None, None, _WINDOW, 0, _CRITERIA, flags, _LEAST_EIGENVALUE
    )
    height, width = new.shape
    x, y = there[:, 0, 0], there[:, 0, 1]
    inside = (x > _BORDER_PX) & (y > _BORDER_PX) & (x < width - 1 - _BORDER_PX) & (y < height - 1 - _BORDER_PX)
    error = np.linalg.norm(back - start, axis=2)[:, 0]
    good = (found[:, 0] == 1) & (returned[:, 0] == 1) & inside & (error < tolerance_px)
    return there[:, 0].astype(np.float64), good
