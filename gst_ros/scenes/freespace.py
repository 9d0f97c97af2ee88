"""Where a walker can be: a raster of the free floor of a place."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
import shapely
from numpy.typing import NDArray

from gst_ros.scenes.place import Place, PlacedObject, SceneError, Wall
from gst_ros.scenes.rendering.structure import door_leaf, wall_frame

WALKER_HEIGHT_M = 1.9
"""What begins higher than this is walked under."""
THRESHOLD_M = 0.02
"""An opening whose sill is not higher than this is walked through, unless it is glazed."""
MARGIN_M = 0.5


class FreeSpace:
    """The floor where the centre of a round walker can be.

    Row 0 is the smallest y; a cell is free when the disc about its centre touches no wall, door leaf or object that
    stands in the way. Small differences are those of a raster: about half a cell.

    Args:
        place: The place.
        radius_m: Radius of the walker.
        resolution_m: Width of a cell.

    Attributes:
        free: Rows x columns, whether the walker's centre can be there.
        floor: Rows x columns, floor that nothing stands on, whatever the walker's radius.
        labels: Rows x columns, number of the connected part, 0 where it is not free.
    """

    def __init__(self, place: Place, radius_m: float = 0.25, resolution_m: float = 0.05) -> None:
        if radius_m < 0 or resolution_m <= 0:
            raise SceneError("radius and resolution must be positive", field="radius_m")
        points = np.array([corner for room in place.rooms for corner in room.outline])
        self.resolution_m = resolution_m
        self.radius_m = radius_m
        self._x0, self._y0 = (float(v) for v in points.min(axis=0) - MARGIN_M)
        x1, y1 = points.max(axis=0) + MARGIN_M
        self.columns = math.ceil((float(x1) - self._x0) / resolution_m)
        self.rows = math.ceil((float(y1) - self._y0) / resolution_m)
        self.floor = self._floor(place)
        padded = np.pad(self.floor.astype(np.uint8), 1)
        distance = cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)[1:-1, 1:-1]
        # The nearest obstacle begins half a cell before its cell's centre.
        self.clearance_m: NDArray[np.float64] = np.maximum(0.0, distance.astype(np.float64) - 0.5) * resolution_m
        self.free: NDArray[np.bool_] = self.floor & (self.clearance_m >= radius_m)
        count, labels = cv2.connectedComponents(self.free.astype(np.uint8), connectivity=4)
        self.labels: NDArray[np.int32] = labels.astype(np.int32)
        self.components = count - 1

    def to_cell(self, point: tuple[float, float]) -> tuple[int, int]:
        """Row and column of a point (x_m, y_m); it may lie outside the raster."""
        row = math.floor((point[1] - self._y0) / self.resolution_m)
        return row, math.floor((point[0] - self._x0) / self.resolution_m)

    def to_point(self, cell: tuple[int, int]) -> tuple[float, float]:
        """Centre (x_m, y_m) of a cell given by row and column."""
        x = self._x0 + (cell[1] + 0.5) * self.resolution_m
        return x, self._y0 + (cell[0] + 0.5) * self.resolution_m

    def contains(self, point: tuple[float, float]) -> bool:
        """Whether the walker's centre can be at a point."""
        return self.component_of(point) > 0

    def component_of(self, point: tuple[float, float]) -> int:
        """Number of the connected part that a point lies in; 0 where it is not free."""
        row, column = self.to_cell(point)
        if not (0 <= row < self.rows and 0 <= column < self.columns):
            return 0
        return int(self.labels[row, column])

    def largest(self) -> NDArray[np.bool_]:
        """The cells of the largest connected part."""
        if self.components == 0:
            return np.zeros_like(self.free)
        sizes = np.bincount(self.labels.ravel())
        sizes[0] = 0
        return np.asarray(self.labels == int(sizes.argmax()))

    def nearest(self, point: tuple[float, float], component: int | None = None) -> tuple[float, float]:
        """The free point nearest to a point, of one connected part or of all.

        Raises:
            SceneError: Nothing is free.
        """
        mask = self.free if component is None else self.labels == component
        rows, columns = np.nonzero(mask)
        if not len(rows):
            raise SceneError("no free floor", field="place", remedy="a smaller radius")
        row, column = self.to_cell(point)
        best = int(np.argmin((rows - row) ** 2 + (columns - column) ** 2))
        return self.to_point((int(rows[best]), int(columns[best])))

    def distances_from(self, point: tuple[float, float]) -> NDArray[np.float64]:
        """Length in metres of the shortest way from a point to every cell, infinite where there is none.

        Steps go to the eight neighbours, so lengths exceed the straight way by up to 8 %.
        """
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import dijkstra

        index = np.full(self.free.shape, -1)
        index[self.free] = np.arange(int(self.free.sum()))
        result = np.full(self.free.shape, np.inf)
        row, column = self.to_cell(point)
        if not self.contains(point):
            return result
        starts, ends, lengths = [], [], []
        for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
            a = index[: self.rows - dr, max(0, -dc) : self.columns - max(0, dc)]
            b = index[dr:, max(0, dc) : self.columns + min(0, dc)]
            both = (a >= 0) & (b >= 0)
            starts.append(a[both])
            ends.append(b[both])
            lengths.append(np.full(int(both.sum()), math.hypot(dr, dc) * self.resolution_m))
        size = int(self.free.sum())
        graph = coo_matrix((np.concatenate(lengths), (np.concatenate(starts), np.concatenate(ends))), (size, size))
        result[self.free] = dijkstra(graph.tocsr(), directed=False, indices=[int(index[row, column])])[0]
        return result

    def _floor(self, place: Place) -> NDArray[np.bool_]:
        xs = self._x0 + (np.arange(self.columns) + 0.5) * self.resolution_m
        ys = self._y0 + (np.arange(self.rows) + 0.5) * self.resolution_m
        floor = np.zeros((self.rows, self.columns), bool)
        for room in place.rooms:
            self._paint(floor, shapely.Polygon(room.outline), xs, ys, True)
        for wall in place.walls:
            self._paint(floor, shapely.Polygon(_strip(wall, 0.0, wall.length_m, 0.0)), xs, ys, False)
        for wall in place.walls:
            for opening in wall.openings:
                if opening.kind in ("door", "passage") and opening.sill_m <= THRESHOLD_M:
                    strip = _strip(wall, opening.start_m, opening.start_m + opening.width_m, self.resolution_m)
                    self._paint(floor, shapely.Polygon(strip), xs, ys, True)
        for wall in place.walls:
            for opening in wall.openings:
                leaf = door_leaf(wall, opening)
                if leaf:
                    self._paint(floor, shapely.Polygon(leaf).buffer(self.resolution_m / 2), xs, ys, False)
        for thing in place.objects:
            if in_the_way(thing):
                self._paint(floor, shapely.Polygon(thing.footprint()), xs, ys, False)
        return floor

    def _paint(
        self,
        floor: NDArray[np.bool_],
        shape: shapely.Polygon,
        xs: NDArray[np.floating[Any]],
        ys: NDArray[np.floating[Any]],
        value: bool,
    ) -> None:
        """Set the cells whose centres lie in a shape."""
        x0, y0, x1, y1 = shape.bounds
        columns = slice(*(int(v) for v in np.searchsorted(xs, (x0, x1))))
        rows = slice(*(int(v) for v in np.searchsorted(ys, (y0, y1))))
        if columns.start == columns.stop or rows.start == rows.stop:
            return
        inside = shapely.contains_xy(shape, *np.meshgrid(xs[columns], ys[rows]))
        floor[rows, columns][inside] = value


def in_the_way(thing: PlacedObject) -> bool:
    """Whether a walker must go round an object."""
    return thing.blocks and not thing.on and thing.mount != "ceiling" and thing.position_m[2] < WALKER_HEIGHT_M


def _strip(wall: Wall, low_m: float, high_m: float, beyond_m: float) -> list[tuple[float, float]]:
    """Corners of a stretch of wall, a little thicker than it is."""
    half = wall.thickness_m / 2 + beyond_m
    corners = np.array([[low_m, -half], [high_m, -half], [high_m, half], [low_m, half]])
    frame = wall_frame(wall)
    return [(float(x), float(y)) for x, y in corners @ frame[:2, :2].T + frame[:2, 3]]
