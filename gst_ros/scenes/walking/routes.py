"""Shortest ways on the free floor that keep clear of walls and furniture, smoothed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from gst_ros.scenes.freespace import FreeSpace
from gst_ros.scenes.place import SceneError

Array = NDArray[np.float64]
Cell = tuple[int, int]

COMFORT_M = 0.45
"""Clearance, beyond the walker's radius, below which a way costs more."""
CROWDING = 4.0
"""How many times more a way costs where there is no clearance at all."""
SHORTCUT_GAIN = 1.02
SMOOTHING_PASSES = 80


class RouteMap:
    """Ways between cells of a raster of free floor.

    Only the largest connected part of the floor is used: a walker cannot leave it.

    Args:
        space: Where a walker can be.

    Raises:
        SceneError: There is no free floor.
    """

    def __init__(self, space: FreeSpace) -> None:
        self.space = space
        self.free = space.largest()
        if not self.free.any():
            raise SceneError("there is no free floor to walk on", remedy="a smaller walker")
        self.step_m = space.resolution_m
        self.clearance_m = np.maximum(space.clearance_m - space.radius_m, 0.0)
        lack = np.clip(1.0 - self.clearance_m / COMFORT_M, 0.0, 1.0)
        self._price = 1.0 + CROWDING * lack**2
        self._graph = self._build_graph()
        self._trees: dict[Cell, tuple[NDArray[np.float64], NDArray[np.int32]]] = {}

    def cell(self, point_m: tuple[float, float]) -> Cell:
        """The free cell nearest to a point (x_m, y_m) in ``map``."""
        row, column = self.space.to_cell(point_m)
        rows, columns = np.nonzero(self.free)
        nearest = int(np.argmin((rows - row) ** 2 + (columns - column) ** 2))
        return int(rows[nearest]), int(columns[nearest])

    def point(self, cell: Cell) -> tuple[float, float]:
        """The centre of a cell, (x_m, y_m) in ``map``."""
        return self.space.to_point(cell)

    def cost(self, start: Cell, end: Cell) -> float:
        """Length of the best way in metres, with crowded stretches counted longer; infinite where there is none."""
        return float(self._tree(start)[0][self._number(end)])

    def costs(self, start: Cell) -> Array:
        """Rows x columns, :meth:`cost` of the way from a cell to every other."""
        return self._tree(start)[0].reshape(self.free.shape)

    def route(self, start: Cell, end: Cell) -> Array:
        """The best way between two cells, smoothed.

        Args:
            start: Its first cell.
            end: Its last cell.

        Returns:
            N x 2 points in ``map``, at most a cell's width apart; the cells' centres first and last.

        Raises:
            SceneError: There is no way.
        """
        distances, parents = self._tree(start)
        number = self._number(end)
        if not np.isfinite(distances[number]):
            raise SceneError(f"no way from {self.point(start)} to {self.point(end)}")
        numbers = [number]
        while numbers[-1] != self._number(start):
            numbers.append(int(parents[numbers[-1]]))
        columns = self.free.shape[1]
        cells = np.array([(n // columns, n % columns) for n in reversed(numbers)], np.float64)
        return self._points(self._smoothed(_resampled(cells[self._corners(cells)], 1.0)))

    def is_free(self, points_m: Array) -> NDArray[np.bool_]:
        """Whether a walker can be at each of N x 2 points in ``map``."""
        cells = np.array([self.space.to_cell((float(x), float(y))) for x, y in points_m])
        return self._free_at(cells)

    def _points(self, cells: Array) -> Array:
        """Centres of fractional cells, frame ``map``."""
        origin = np.array(self.space.to_point((0, 0)))
        row, column = (np.array(self.space.to_point(c)) - origin for c in ((1, 0), (0, 1)))
        return np.asarray(origin + cells[:, :1] * row + cells[:, 1:] * column)

    def _free_at(self, cells: Array | NDArray[np.int64]) -> NDArray[np.bool_]:
        whole = np.round(cells).astype(np.int64)
        inside = ((whole >= 0) & (whole < self.free.shape)).all(axis=1)
        result = np.zeros(len(whole), bool)
        result[inside] = self.free[whole[inside, 0], whole[inside, 1]]
        return result

    def _number(self, cell: Cell) -> int:
        return int(cell[0] * self.free.shape[1] + cell[1])

    def _build_graph(self) -> Any:
        rows, columns = self.free.shape
        numbers = np.arange(rows * columns).reshape(rows, columns)
        ends: list[tuple[NDArray[np.int64], NDArray[np.int64], Array]] = []
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            here = (slice(0, rows - down), slice(max(0, -right), columns - max(0, right)))
            there = (slice(down, rows), slice(max(0, right), columns - max(0, -right)))
            both = self.free[here] & self.free[there]
            if down and right:  # no squeezing between two blocked corners
                both &= self.free[here[0], there[1]] & self.free[there[0], here[1]]
            price = (self._price[here] + self._price[there])[both] / 2
            ends.append((numbers[here][both], numbers[there][both], price * np.hypot(down, right) * self.step_m))
        first, second, weight = (np.concatenate(parts) for parts in zip(*ends, strict=True))
        return csr_matrix((weight, (first, second)), shape=(numbers.size, numbers.size))

    def _tree(self, start: Cell) -> tuple[Array, NDArray[np.int32]]:
        if start not in self._trees:
            distances, parents = dijkstra(
                self._graph, directed=False, indices=[self._number(start)], return_predecessors=True
            )
            self._trees[start] = (distances[0], parents[0])
        return self._trees[start]

    def _corners(self, cells: Array) -> list[int]:
        """Indices of the cells where a way of straight lines, no dearer than the given one, turns."""
        prices = self._price[tuple(cells.astype(np.int64).T)]
        steps = np.linalg.norm(np.diff(cells, axis=0), axis=1)
        along = np.concatenate([[0.0], np.cumsum(steps * (prices[1:] + prices[:-1]) / 2)])
        kept = [0]
        while kept[-1] < len(cells) - 1:
            here = kept[-1]
            there = here + 1
            # Doubling, then halving, finds a far cell in few tests; seeing further than a hidden cell is not needed.
            stride = 2
            while stride >= 1:
                tried = min(len(cells) - 1, there + stride)
                if tried > there and self._is_as_good(cells[here], cells[tried], along[tried] - along[here]):
                    there, stride = tried, stride * 2
                else:
                    stride //= 2
            kept.append(there)
        return kept

    def _is_as_good(self, start: Array, end: Array, price: float) -> bool:
        count = max(2, int(np.ceil(np.linalg.norm(end - start) * 2)) + 1)
        line = start + np.linspace(0.0, 1.0, count)[:, None] * (end - start)
        if not self._free_at(line).all():
            return False
        prices = self._price[tuple(np.round(line).astype(np.int64).T)]
        own = float(np.linalg.norm(end - start) * (prices[1:] + prices[:-1]).mean() / 2)
        return own <= price * SHORTCUT_GAIN

    def _smoothed(self, cells: Array) -> Array:
        """Corners rounded as far as the floor is free; the ends stay."""
        cells = cells.copy()
        for _ in range(SMOOTHING_PASSES):
            moved = cells[1:-1] + 0.5 * ((cells[:-2] + cells[2:]) / 2 - cells[1:-1])
            allowed = self._free_at(moved)
            cells[1:-1][allowed] = moved[allowed]
        return cells


def _resampled(points: Array, step: float) -> Array:
    """A line of points at equal distances of at most ``step``; its ends stay."""
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    count = max(2, int(np.ceil(lengths[-1] / step)) + 1)
    wanted = np.linspace(0.0, lengths[-1], count)
    return np.stack([np.interp(wanted, lengths, points[:, i]) for i in range(2)], axis=1)
