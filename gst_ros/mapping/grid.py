"""The map that a robot drives by: free, occupied and unknown cells, as ``nav_msgs/OccupancyGrid`` has them."""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import MapError

Array = NDArray[np.float64]
Cells = NDArray[np.int8]
Evidence = NDArray[np.float32]
Image = NDArray[np.uint8]

UNKNOWN, FREE, OCCUPIED = -1, 0, 100
_GREY = {UNKNOWN: 128, FREE: 255, OCCUPIED: 0}


@dataclass(frozen=True)
class OccupancyGrid:
    """Square cells on the floor, aligned with the axes of ``map``.

    Attributes:
        cells: H x W, -1 unknown, 0 free, 100 occupied. Row 0 has the lowest y, column 0 the lowest x.
        resolution_m: Side of a cell.
        origin_m: (x, y) in ``map`` of the lower left corner of cell (0, 0).
        evidence: H x W, how sure a cell is, from -1 (occupied) over 0 (nothing known) to 1 (free); what plans are
            matched with, so that a doubtful cell counts less than one seen often.
        tall: H x W, 0 to 1, share of an obstacle's votes that come from high up: walls, not tables. 1 where nothing is
            known of it.
        colour: H x W x 3, mean RGB of what was seen in a cell from above; meaningless where it is unknown.
    """

    cells: Cells
    resolution_m: float
    origin_m: tuple[float, float]
    evidence: Evidence = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    colour: Image = field(default_factory=lambda: np.zeros((0, 0, 3), np.uint8))
    tall: Evidence = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def __post_init__(self) -> None:
        if self.cells.ndim != 2 or self.resolution_m <= 0:
            raise MapError("a grid has rows and columns of cells and a positive resolution")
        if self.evidence.shape != self.cells.shape:
            sure = np.select([self.cells == FREE, self.cells == OCCUPIED], [1.0, -1.0], 0.0)
            object.__setattr__(self, "evidence", sure.astype(np.float32))
        if self.tall.shape != self.cells.shape:
            object.__setattr__(self, "tall", np.ones(self.cells.shape, np.float32))
        if self.colour.shape[:2] != self.cells.shape:
            object.__setattr__(self, "colour", np.zeros((*self.cells.shape, 3), np.uint8))

    @property
    def free(self) -> NDArray[np.bool_]:
        """H x W, where one can stand."""
        return np.asarray(self.cells == FREE)

    @property
    def occupied(self) -> NDArray[np.bool_]:
        """H x W, where something stands."""
        return np.asarray(self.cells == OCCUPIED)

    @property
    def known(self) -> NDArray[np.bool_]:
        """H x W, what is free or occupied."""
        return np.asarray(self.cells != UNKNOWN)

    def cell_of(self, points_m: Array) -> NDArray[np.int64]:
        """Row and column of points; they may lie outside the grid.

        Args:
            points_m: ... x 2 points (x, y) in ``map``.

        Returns:
            ... x 2 (row, column).
        """
        columns_rows = np.floor((np.asarray(points_m) - self.origin_m) / self.resolution_m)
        return np.asarray(columns_rows[..., ::-1], dtype=np.int64)

    def point_of(self, cells: NDArray[np.int64]) -> Array:
        """The middle of cells in ``map``.

        Args:
            cells: ... x 2 (row, column).
        """
        return np.asarray((np.asarray(cells)[..., ::-1] + 0.5) * self.resolution_m + self.origin_m)

    def values_at(self, points_m: Array) -> Cells:
        """The cell values at N x 2 points; unknown outside the grid."""
        rows, columns = self.cell_of(points_m).T
        height, width = self.cells.shape
        inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        result = np.full(len(rows), UNKNOWN, np.int8)
        result[inside] = self.cells[rows[inside], columns[inside]]
        return result

    def image(self) -> Image:
        """H x W picture, north (+y) up: white free, black occupied, grey unknown."""
        grey = np.full(self.cells.shape, _GREY[UNKNOWN], np.uint8)
        grey[self.free], grey[self.occupied] = _GREY[FREE], _GREY[OCCUPIED]
        return np.ascontiguousarray(grey[::-1])

    def cropped(self, margin_m: float = 0.5) -> OccupancyGrid:
        """The part that is known, and a margin."""
        rows, columns = np.nonzero(self.known)
        if not len(rows):
            return self
        margin = int(np.ceil(margin_m / self.resolution_m))
        height, width = self.cells.shape
        top, bottom = max(rows.min() - margin, 0), min(rows.max() + margin + 1, height)
        left, right = max(columns.min() - margin, 0), min(columns.max() + margin + 1, width)
        part = np.s_[top:bottom, left:right]
        origin = (self.origin_m[0] + left * self.resolution_m, self.origin_m[1] + top * self.resolution_m)
        rest = (each[part].copy() for each in (self.evidence, self.colour, self.tall))
        return OccupancyGrid(self.cells[part].copy(), self.resolution_m, origin, *rest)


def reached(free: NDArray[np.bool_], seeds: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Those free cells that hang together with a seed (over an edge or a corner)."""
    count, labels = cv2.connectedComponents((free | seeds).astype(np.uint8), connectivity=8)
    keep = np.zeros(count, bool)
    keep[np.unique(labels[seeds])] = True
    keep[0] = False
    return np.asarray(keep[labels] & free)
