"""The floor from above, as keyframes saw it, and where in it a picture's floor fits.

Planks, tiles, rugs and patches of sunlight look the same from above whichever way they were looked at, so that a
picture taken towards a keyframe still shows the same floor, where local features have nothing in common. With yaw known
up to quarter turns, and height and tilt known, only the place is unknown: all places are tried at once by Fourier
transforms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import scipy.fft
from numpy.typing import NDArray

from gst_ros.mapping.camera import Array, CameraMount, MapError, PinholeCamera
from gst_ros.mapping.features import as_gray
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.planar import wrap

RESOLUTION_M = 0.05
_FINER = 2  # cells are means of so many samples along each side
_KEYFRAME_REACH_M = 3.5
_PICTURE_REACH_M = 4.5
_BLUR_M = 0.2
_DULL = 3.0  # gray levels: floor that varies less has no texture
_LEAST_AREA_M2 = 0.8
_GROWTH = 64

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class FloorFit:
    """Where a picture's floor fits.

    Attributes:
        pose: (3,): x_m, y_m, yaw_rad of ``base`` in ``map``.
        score: Mean agreement of floor seen twice, times the root of its area in metres; 0.5 is seldom chance.
    """

    pose: Array
    score: float


class FloorMosaic:
    """The floor from above, in cells of :data:`RESOLUTION_M`; row 0 has the lowest y, column 0 the lowest x."""

    def __init__(self) -> None:
        self._origin = np.zeros(2, np.int64)  # in cells
        self._sum: Floats = np.zeros((0, 0), np.float32)
        self._weight: Floats = np.zeros((0, 0), np.float32)

    def add(self, image: NDArray[np.uint8], camera: PinholeCamera, mount: CameraMount, pose: Array) -> None:
        """Lay the floor of one picture down.

        Args:
            image: H x W x 3 (RGB) or H x W.
            camera: The camera that took it.
            mount: Its height and tilt.
            pose: (3,) of ``base`` in ``map``.
        """
        corner = np.floor((pose[:2] - _KEYFRAME_REACH_M) / RESOLUTION_M).astype(np.int64)
        patch, seen, far_m = _from_above(image, camera, mount, pose, corner, _KEYFRAME_REACH_M)
        # What is near was seen sharply, and what stands on the floor does not lean far over it there.
        weight = seen / np.maximum(far_m, 0.7) ** 3
        self._make_room(corner, corner + patch.shape[0])
        x, y = corner - self._origin
        part = (slice(y, y + patch.shape[0]), slice(x, x + patch.shape[1]))
        self._sum[part] += weight * patch
        self._weight[part] += weight

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The mosaic, to be saved."""
        mean = self._sum / np.maximum(self._weight, 1e-9)
        return {
            "floor_gray": np.where(self._weight > 0, np.clip(np.rint(mean), 1, 255), 0).astype(np.uint8),
            "floor_origin": self._origin.copy(),
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]]) -> FloorMosaic | None:
        """What :meth:`arrays` gave; None where the map has none.

        Raises:
            MapError: The arrays are not what it gives.
        """
        if "floor_gray" not in arrays and "floor_origin" not in arrays:
            return None
        gray, origin = (arrays.get(name, np.zeros(0)) for name in ("floor_gray", "floor_origin"))
        if gray.dtype != np.uint8 or gray.ndim != 2 or origin.shape != (2,) or origin.dtype.kind != "i":
            raise MapError("the floor seen from above is damaged", field="floor_gray", remedy="make the map anew")
        mosaic = cls()
        mosaic._origin = origin.astype(np.int64)
        mosaic._sum = gray.astype(np.float32)
        mosaic._weight = (gray > 0).astype(np.float32)
        return mosaic

    def searcher(self, grid: OccupancyGrid | None) -> FloorSearcher | None:
        """Make ready to look for floors; None where there is too little of it.

        Args:
            grid: Tells what is floor; all that was seen counts as floor without it.
        """
        mean = np.asarray(self._sum / np.maximum(self._weight, np.float32(1e-9)), np.float32)
        is_floor = self._weight > 0
        if grid is not None:
            rows, columns = np.indices(mean.shape).reshape(2, -1)
            cells = np.stack([columns, rows], axis=1).astype(np.float64) + self._origin
            is_floor &= (grid.values_at((cells + 0.5) * RESOLUTION_M) == 0).reshape(mean.shape)
        rows, columns = np.nonzero(is_floor)
        if len(rows) * RESOLUTION_M**2 < 2 * _LEAST_AREA_M2:
            return None
        part = (slice(rows.min(), rows.max() + 1), slice(columns.min(), columns.max() + 1))
        corner = self._origin + np.array([columns.min(), rows.min()])
        return FloorSearcher(np.asarray(mean[part], np.float32), is_floor[part].astype(np.float32), corner)

    def _make_room(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        """Grow until cells from ``low`` to ``high`` (x, y) are inside."""
        if not self._sum.size:
            self._origin = low - _GROWTH
        before = np.maximum(self._origin - low, 0)
        size = np.array(self._sum.shape[::-1])
        after = np.maximum(high - self._origin - size, 0)
        if not before.any() and not after.any():
            return
        before, after = (np.where(by > 0, by + _GROWTH, 0) for by in (before, after))
        self._origin = self._origin - before
        margins = ((before[1], after[1]), (before[0], after[0]))
        self._sum, self._weight = (np.pad(part, margins) for part in (self._sum, self._weight))


class FloorSearcher:
    """Finds where in a mosaic pictures were taken.

    Args:
        gray: H x W means of cells.
        is_floor: H x W, 1 where a cell is floor, 0 elsewhere.
        corner: (2,) cell (x, y) of the first column and row.
    """

    def __init__(self, gray: Floats, is_floor: Floats, corner: NDArray[np.int64]) -> None:
        self._corner = corner
        self._shape = gray.shape
        side = 2 * round(_PICTURE_REACH_M / RESOLUTION_M)
        self._padded = tuple(int(scipy.fft.next_fast_len(n + side, real=True)) for n in gray.shape)
        self._texture = scipy.fft.rfft2(_textured(gray, is_floor), self._padded)
        self._floor = scipy.fft.rfft2(is_floor, self._padded)

    def fits(self, image: NDArray[np.uint8], camera: PinholeCamera, mount: CameraMount, yaws_rad: Array) -> FloorScores:
        """Try all places with each of several yaws.

        Args:
            image: H x W x 3 (RGB) or H x W.
            camera: The camera that took it.
            mount: Its height and tilt.
            yaws_rad: K yaws of ``base`` in ``map``.
        """
        gray = as_gray(image)
        maps = []
        start = -round(_PICTURE_REACH_M / RESOLUTION_M)
        corner = np.array([start, start], np.int64)
        for yaw in yaws_rad:
            pose = np.array([0.0, 0.0, yaw])
            patch, seen, _ = _from_above(gray, camera, mount, pose, corner, _PICTURE_REACH_M)
            texture = scipy.fft.rfft2(_textured(patch, seen), self._padded)
            floor = scipy.fft.rfft2(seen, self._padded)
            alike = scipy.fft.irfft2(self._texture * texture.conj(), self._padded) * RESOLUTION_M**2
            area = scipy.fft.irfft2(self._floor * floor.conj(), self._padded) * RESOLUTION_M**2
            enough = area > _LEAST_AREA_M2
            maps.append(np.where(enough, alike / np.sqrt(np.maximum(area, _LEAST_AREA_M2)), 0.0).astype(np.float32))
        return FloorScores(np.stack(maps), np.asarray(yaws_rad), self._corner - corner, self._shape)


class FloorScores:
    """How well a picture's floor fits at all places.

    Args:
        scores: K x H x W, one layer for each yaw; places before the first row or column come last.
        yaws_rad: K.
        first: (2,) cell (x, y) of the camera's place that belongs to index 0.
        shape: Rows and columns of the mosaic.
    """

    def __init__(self, scores: Floats, yaws_rad: Array, first: NDArray[np.int64], shape: tuple[int, ...]) -> None:
        self._scores = scores
        self._yaws = yaws_rad
        self._first = first
        self._shape = shape

    def best(self, most: int, apart_m: float = 0.4) -> list[FloorFit]:
        """The places that fit best, each so far from the others."""
        left = self._scores.copy()
        reach = round(apart_m / RESOLUTION_M)
        found = []
        for _ in range(most):
            layer, row, column = (int(i) for i in np.unravel_index(left.argmax(), left.shape))
            score = float(left[layer, row, column])
            if score <= 0:
                break
            rows, columns = (np.arange(-reach, reach + 1) + i for i in (row, column))
            left[layer, (rows % left.shape[1])[:, None], columns % left.shape[2]] = 0
            found.append(FloorFit(self._pose(layer, row, column), score))
        return found

    def at(self, pose: Array, reach_m: float = 0.12, most_turn_rad: float = 0.05) -> FloorFit | None:
        """The best place near a pose; None where its yaw is none of those that were tried."""
        off = np.abs(wrap(self._yaws - pose[2]))
        layer = int(off.argmin())
        if off[layer] > most_turn_rad:
            return None
        _, height, width = self._scores.shape
        column, row = np.rint(pose[:2] / RESOLUTION_M - self._first).astype(np.int64)
        if not (-height < row < height and -width < column < width):
            return FloorFit(np.asarray(pose[:3]), 0.0)
        reach = round(reach_m / RESOLUTION_M)
        rows, columns = ((np.arange(-reach, reach + 1) + i) for i in (row, column))
        near = self._scores[layer, (rows % height)[:, None], columns % width]
        i, j = np.unravel_index(near.argmax(), near.shape)
        return FloorFit(self._pose(layer, int(rows[i] % height), int(columns[j] % width)), float(near[i, j]))

    def _pose(self, layer: int, row: int, column: int) -> Array:
        _, height, width = self._scores.shape
        down, up = (float(self._scores[layer, (row + d) % height, column]) for d in (-1, 1))
        left, right = (float(self._scores[layer, row, (column + d) % width]) for d in (-1, 1))
        here = float(self._scores[layer, row, column])
        y = (row if row < self._shape[0] else row - height) + _peak(down, here, up)
        x = (column if column < self._shape[1] else column - width) + _peak(left, here, right)
        return np.array([*((np.array([x, y]) + self._first) * RESOLUTION_M), self._yaws[layer]])


def _peak(before: float, here: float, after: float) -> float:
    """Where between its neighbours a parabola through three values has its top."""
    bend = before - 2 * here + after
    return float(np.clip(0.5 * (before - after) / bend, -0.5, 0.5)) if bend < 0 else 0.0


def _from_above(
    image: NDArray[np.uint8],
    camera: PinholeCamera,
    mount: CameraMount,
    pose: Array,
    corner: NDArray[np.int64],
    reach_m: float,
) -> tuple[Floats, Floats, Floats]:
    """The floor around a pose from above.

    Returns:
        N x N gray values, 1 or 0 for whether they were seen, and how far they are, metres; the first cell is
        ``corner``.
    """
    side = 2 * round(reach_m / RESOLUTION_M)
    steps = (np.arange(side * _FINER) + 0.5) / _FINER * RESOLUTION_M
    x, y = (steps + corner[0] * RESOLUTION_M - pose[0]), (steps + corner[1] * RESOLUTION_M - pose[1])
    cos, sin = np.cos(pose[2]), np.sin(pose[2])
    down = -mount.height_m * mount.rotation_base_from_camera[2]
    # Camera coordinates are linear in the place on the floor.
    by_x = mount.rotation_base_from_camera.T @ np.array([cos, -sin, 0.0])
    by_y = mount.rotation_base_from_camera.T @ np.array([sin, cos, 0.0])
    depth = (down[2] + by_x[2] * x[None, :] + by_y[2] * y[:, None]).astype(np.float32)
    inverse = 1 / np.where(depth > 0.1, depth, np.float32(1e3))
    u = (down[0] + by_x[0] * x[None, :] + by_y[0] * y[:, None]).astype(np.float32) * inverse
    v = (down[1] + by_x[1] * x[None, :] + by_y[1] * y[:, None]).astype(np.float32) * inverse
    u, v = u * np.float32(camera.fx) + np.float32(camera.cx), v * np.float32(camera.fy) + np.float32(camera.cy)
    far_m = np.hypot(x[None, :], y[:, None]).astype(np.float32)
    inside = (depth > 0.1) & (u > 2) & (v > 2) & (u < camera.width - 3) & (v < camera.height - 3) & (far_m < reach_m)
    found = cv2.remap(as_gray(image), u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    size = (side, side)
    share = cv2.resize(inside.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    mean = cv2.resize(found * inside.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    seen = (share > 0.5).astype(np.float32)
    far = cv2.resize(far_m, size, interpolation=cv2.INTER_AREA)
    return (
        np.asarray(mean / np.maximum(share, 1e-6), np.float32),
        np.asarray(seen, np.float32),
        np.asarray(far, np.float32),
    )


def _textured(gray: Floats, part: Floats) -> Floats:
    """How gray values differ from those around, in standard deviations of those around; 0 outside of ``part``."""

    def blurred(values: Floats) -> Floats:
        return np.asarray(cv2.GaussianBlur(values, (0, 0), _BLUR_M / RESOLUTION_M), np.float32)

    share = blurred(part) + np.float32(1e-6)
    differing = gray - blurred(gray * part) / share
    spread = np.sqrt(np.maximum(blurred(differing**2 * part) / share, 0))
    return np.asarray(np.clip(differing / (spread + _DULL), -3, 3) * part, np.float32)
