"""From what single views show to one grid: votes for floor and for obstacles in the cells of the map."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.mapping.grid import FREE, OCCUPIED, UNKNOWN, Evidence, OccupancyGrid, reached
from gst_ros.mapping.planar import transform, wrap
from gst_ros.mapping.sweep import Heights, PlaneSweep, SweepConfig, View
from gst_ros.mapping.visibility import Horizon

Array = NDArray[np.float64]

_BATCH = 8
_THREADS = 2


@dataclass(frozen=True)
class GridConfig(Settings):
    """How votes become cells. Heights and ranges are shares of the camera's height, so that small robots work alike."""

    resolution_m: float = setting(0.05, "Side of a cell.", unit="m", low=0.01, high=0.5)
    range: float = setting(3.4, "Farthest floor that votes, as a share of the camera's height.", above=0.5)
    near: float = setting(1.0, "Range within which a vote counts fully, as a share of the camera's height.", above=0.0)
    falloff: float = setting(2.0, "Power of the distance with which votes fall off beyond.", low=0.0)
    slack_m: float = setting(0.03, "Floor may seem to lie this far behind where it is.", unit="m", above=0.0)
    floor_top: float = setting(0.05, "Up to this height it is floor for sure.", above=0.0)
    obstacle_bottom: float = setting(0.14, "From this height on it is an obstacle for sure.", above=0.0)
    hiding_top: float = setting(0.33, "Up to this height a thing hides the cells just behind it.", above=0.0)
    hidden_weight: float = setting(
        0.3, "Votes for floor that one vote for being hidden by a low thing outweighs.", low=0.0
    )
    obstacle_weight: float = setting(0.3, "Votes for floor that a vote for an obstacle outweighs.", above=0.0)
    least_votes: float = setting(0.08, "Votes that a cell needs to be known.", above=0.0)
    blocking: float = setting(0.5, "Share of a small upright surface that hides the floor behind it.", above=0.0)
    blocking_slack_m: float = setting(0.03, "Such a surface may seem so much nearer than it is.", unit="m", low=0.0)
    sureness: int = setting(3, "Power of the certainty with which obstacles vote.", low=1)
    least_evidence: float = setting(0.3, "Cells with less evidence either way stay unknown.", low=0.0, high=1.0)
    tall: float = setting(0.65, "What reaches above this height is a wall, or like one.", above=0.0)
    tall_share: float = setting(0.25, "Share of an obstacle's votes above it that proves a wall.", above=0.0, high=1.0)
    few_views: int = setting(24, "So many views are all swept; of more, those that ...", low=0)
    apart: float = setting(0.3, "... stand so far from all others, as a share of the camera's height ...", low=0.0)
    apart_deg: float = setting(22.0, "... or are turned so far.", unit="deg", above=0.0)
    walked_m: float = setting(0.12, "Around its path the robot's body proves the floor free.", unit="m", low=0.0)


@dataclass(frozen=True)
class _Standing:
    """N pixels that show something standing up.

    Attributes:
        camera: Of the picture.
        rows: N.
        columns: N.
        points: N x 2, where, in ``base``.
        heights: N, metres.
        certainty: N, 0 to 1, how surely they have that height.
        share: N, 0 (as low as floor) to 1 (an obstacle).
    """

    camera: PinholeCamera
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    points: Array
    heights: NDArray[np.float32]
    certainty: NDArray[np.float32]
    share: NDArray[np.float32]


class VoteGrid:
    """Votes in the cells of a map of fixed extent.

    Args:
        low_m: Lower corner (x, y) in ``map`` of what the grid must cover.
        high_m: Its upper corner.
        mount: How the camera is mounted.
        config: See :class:`GridConfig`.
    """

    def __init__(self, low_m: Array, high_m: Array, mount: CameraMount, config: GridConfig) -> None:
        self._config, self._mount = config, mount
        step = config.resolution_m
        first = np.floor(low_m / step)
        columns, rows = (int(n) for n in np.ceil(high_m / step) - first)
        if rows * columns > 40_000_000:
            raise MapError(f"a grid of {rows} x {columns} cells is too large", remedy="choose a coarser resolution")
        self._origin = (float(first[0] * step), float(first[1] * step))
        self.floor: Evidence = np.zeros((rows, columns), np.float32)
        self.obstacle: Evidence = np.zeros((rows, columns), np.float32)
        self.hidden: Evidence = np.zeros((rows, columns), np.float32)
        self._tall: Evidence = np.zeros((rows, columns), np.float32)
        self._colour: NDArray[np.float32] = np.zeros((rows, columns, 3), np.float32)
        self._seen: Evidence = np.zeros((rows, columns), np.float32)
        self._walked = np.zeros((rows, columns), bool)
        self._views: dict[PinholeCamera, tuple[NDArray[np.float32], Array]] = {}
        self._floors: dict[PinholeCamera, Array] = {}

    def add(self, pose: Array, seen: Heights) -> None:
        """Let one view vote: each cell at most once for floor and once for an obstacle."""
        config, height_m = self._config, self._mount.height_m
        farthest = config.range * height_m
        top, bottom = config.floor_top * height_m, config.obstacle_bottom * height_m
        height = seen.height - self._slope(seen)
        # A thing of a small height seems to lie on the floor behind it: farther behind, the farther it is away.
        slack = np.clip(config.slack_m * height_m / np.maximum(self._view(seen.camera)[0], 1e-3), 0.2 * top, top)
        floor = np.clip(2 - height / slack, 0, 1) * (height > -bottom)
        window, x, y = self._window(pose, farthest)
        distance = np.hypot(x, y)
        weight = (1 / (1 + (distance / (config.near * height_m)) ** config.falloff)).astype(np.float32)
        size = (x.shape[1], x.shape[0])
        matrix = self._cell_to_pixel(pose, window, seen.camera)
        standing = self._standing(seen, height)
        horizon = Horizon(
            standing.points, standing.certainty * standing.share, standing.camera.fx, farthest,
            config.resolution_m, config.blocking,
        )  # fmt: skip
        visible = (distance < farthest) & (x > 0.05 * height_m) & horizon.clear(x, y, config.blocking_slack_m)

        def warped(image: NDArray[np.float32]) -> NDArray[np.float32]:
            flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
            return np.asarray(cv2.warpPerspective(image, matrix, size, flags=flags), dtype=np.float32)

        vote = warped((floor * seen.certainty).astype(np.float32)) * visible * weight
        # What hides a floor cell from just before it is most often a wall that the cell lies behind, or in.
        low = np.clip(height / slack - 1, 0, 1) * (height < config.hiding_top * height_m)
        self.floor[window] += vote
        self.hidden[window] += warped((low * seen.certainty).astype(np.float32)) * visible * weight
        self._colour[window] += warped(seen.colour.astype(np.float32)) * vote[:, :, None]
        self._seen[window] += vote
        self._add_obstacles(pose, seen, standing, window, farthest)

    def _view(self, camera: PinholeCamera) -> tuple[NDArray[np.float32], Array]:
        """What is the same in all pictures of a camera.

        Returns:
            How far away the floor is that a pixel would show, h x w metres, infinite at and above the horizon; and
            for every pixel 1 and its place in the picture, (h w) x 3.
        """
        if camera not in self._views:
            columns, rows = np.meshgrid(np.arange(camera.width), np.arange(camera.height))
            pixels = np.stack([columns.ravel(), rows.ravel()], axis=1).astype(np.float64)
            points = self._rays(camera).reshape(len(pixels), -1)
            reach = np.nan_to_num(np.hypot(points[:, 0], points[:, 1]), nan=np.inf).astype(np.float32)
            basis = np.column_stack([np.ones(len(pixels)), pixels / (camera.width, camera.height)])
            self._views[camera] = reach.reshape(camera.height, camera.width), basis
        return self._views[camera]

    def _slope(self, seen: Heights) -> NDArray[np.float32]:
        """How high the floor itself seems to lie, h x w metres: a small error of the pose or the mount tilts it.

        A plane over the picture through what is nearly as high as the floor, fitted twice.
        """
        reach, basis = self._view(seen.camera)
        limit = self._config.floor_top * self._mount.height_m
        certain = np.flatnonzero((seen.certainty > 0.2) & (reach < 2.5 * self._mount.height_m))[::7]
        values, few = seen.height.ravel()[certain].astype(np.float64), basis[certain]
        solution: Array = np.zeros(3, dtype=np.float64)
        for _ in range(2):
            use = np.abs(values - np.clip(few @ solution, -limit, limit)) < limit
            if use.sum() < 50:
                return np.zeros(seen.height.shape, np.float32)
            solution = np.asarray(np.linalg.lstsq(few[use], values[use], rcond=None)[0], dtype=np.float64)
        return np.asarray(np.clip(basis @ solution, -limit, limit).reshape(seen.height.shape), dtype=np.float32)

    def grid(self) -> OccupancyGrid:
        """The cells, cleaned: free is what hangs together with the walked path."""
        config = self._config
        floor, obstacle, hidden = (
            cv2.GaussianBlur(votes, (0, 0), 0.7) for votes in (self.floor, self.obstacle, self.hidden)
        )
        floor = np.maximum(floor - config.hidden_weight * hidden, 0)
        against = config.obstacle_weight * obstacle
        evidence = (floor - against) / (floor + against + config.least_votes)
        evidence[self._walked] = 1.0
        enough = floor + against > config.least_votes
        free = reached(enough & (evidence > 0) | self._walked, self._walked)
        # What floor hangs together by doubtful cells is floor, but they themselves stay unknown.
        free &= evidence >= config.least_evidence
        occupied = enough & (evidence <= -config.least_evidence)
        cells = np.full(free.shape, UNKNOWN, np.int8)
        cells[occupied], cells[free] = OCCUPIED, FREE
        sure = np.where(cells == UNKNOWN, 0, evidence).astype(np.float32)
        colour = np.clip(self._colour / np.maximum(self._seen, 1e-6)[:, :, None], 0, 255).astype(np.uint8)
        share = cv2.GaussianBlur(self._tall, (0, 0), 0.7) / np.maximum(obstacle, 1e-6)
        tall = np.clip(share / config.tall_share, 0, 1).astype(np.float32)
        return OccupancyGrid(cells, config.resolution_m, self._origin, sure, colour, tall)

    def _window(self, pose: Array, farthest: float) -> tuple[tuple[slice, slice], Array, Array]:
        """The cells within reach, and where their middles lie in ``base``."""
        step = self._config.resolution_m
        column, row = ((pose[i] - self._origin[i]) / step for i in (0, 1))
        reach = farthest / step
        rows, columns = self.floor.shape
        top, bottom = max(int(row - reach), 0), min(int(row + reach) + 2, rows)
        left, right = max(int(column - reach), 0), min(int(column + reach) + 2, columns)
        dx = (np.arange(left, right) + 0.5 - column) * step
        dy = (np.arange(top, bottom)[:, None] + 0.5 - row) * step
        cos, sin = np.cos(pose[2]), np.sin(pose[2])
        return (slice(top, bottom), slice(left, right)), cos * dx + sin * dy, -sin * dx + cos * dy

    def _cell_to_pixel(self, pose: Array, window: tuple[slice, slice], camera: PinholeCamera) -> Array:
        """3 x 3 matrix from (column, row) in the window to pixels, for points on the floor."""
        step = self._config.resolution_m
        left = self._origin[0] + (window[1].start + 0.5) * step
        low = self._origin[1] + (window[0].start + 0.5) * step
        cell_to_map = np.array([[step, 0, left], [0, step, low], [0, 0, 1]])
        cos, sin = np.cos(pose[2]), np.sin(pose[2])
        turn = np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
        map_to_base = turn @ np.array([[1, 0, -pose[0]], [0, 1, -pose[1]], [0, 0, 1]])
        rotation = self._mount.rotation_base_from_camera.T
        floor_to_camera = np.column_stack([rotation[:, 0], rotation[:, 1], -rotation[:, 2] * self._mount.height_m])
        return np.asarray(camera.matrix @ floor_to_camera @ map_to_base @ cell_to_map)

    def _standing(self, seen: Heights, height: NDArray[np.float32]) -> _Standing:
        """What stands up, at twice the resolution of the heights: a cell shall have several pixels."""
        config, height_m = self._config, self._mount.height_m
        twice = (2 * seen.camera.width, 2 * seen.camera.height)
        camera = seen.camera.scaled_to(*twice)
        height = np.asarray(cv2.resize(height, twice, interpolation=cv2.INTER_LINEAR), dtype=np.float32)
        certainty = np.asarray(cv2.resize(seen.certainty, twice, interpolation=cv2.INTER_LINEAR), dtype=np.float32)
        top, bottom = config.floor_top * height_m, config.obstacle_bottom * height_m
        share = np.clip((height - top) / (bottom - top), 0, 1)
        rows, columns = np.nonzero(certainty * share > 0.1)
        heights = height[rows, columns]
        points = self._rays(camera)[rows, columns] * (1 - heights / height_m)[:, None]
        with np.errstate(invalid="ignore"):
            near = (points**2).sum(axis=1) < (config.range * height_m) ** 2
        rows, columns = rows[near], columns[near]
        return _Standing(
            camera, rows, columns, points[near], heights[near], certainty[rows, columns], share[rows, columns]
        )

    def _rays(self, camera: PinholeCamera) -> Array:
        """Where on the floor every pixel's ray ends, h x w x 2 metres in ``base``; NaN at and above the horizon."""
        if camera not in self._floors:
            columns, rows = np.meshgrid(np.arange(camera.width), np.arange(camera.height))
            pixels = np.stack([columns.ravel(), rows.ravel()], axis=1).astype(np.float64)
            self._floors[camera] = self._mount.floor_points(pixels, camera).reshape(camera.height, camera.width, -1)
        return self._floors[camera]

    def _add_obstacles(
        self, pose: Array, seen: Heights, standing: _Standing, window: tuple[slice, slice], farthest: float
    ) -> None:
        config, height_m = self._config, self._mount.height_m
        camera, rows, columns, points = standing.camera, standing.rows, standing.columns, standing.points
        certainty = standing.certainty**config.sureness * standing.share
        distance = np.hypot(points[:, 0], points[:, 1])
        step = config.resolution_m
        cells = np.floor((transform(pose, points) - self._origin) / step).astype(np.int64)
        cells -= (window[1].start, window[0].start)
        shape = (window[0].stop - window[0].start, window[1].stop - window[1].start)
        inside = (cells >= 0).all(axis=1) & (cells[:, 1] < shape[0]) & (cells[:, 0] < shape[1])
        flat = cells[inside, 1] * shape[1] + cells[inside, 0]
        # A vertical surface one cell wide and ten high covers about so many pixels at this distance.
        expected = 10 * (step * camera.fx / np.maximum(distance[inside], 0.1)) ** 2
        weight = certainty[inside] / np.maximum(expected, 1.0) * 4
        votes = np.bincount(flat, weight, shape[0] * shape[1]).reshape(shape)
        far = 1 / (1 + (distance[inside] / (config.near * height_m)) ** config.falloff)
        falloff = np.ones(shape[0] * shape[1])
        falloff[flat] = far
        vote = (np.minimum(votes, 1) * falloff.reshape(shape)).astype(np.float32)
        self.obstacle[window] += vote
        high = weight * (standing.heights[inside] > config.tall * height_m)
        share_high = np.bincount(flat, high, shape[0] * shape[1]).reshape(shape) / np.maximum(votes, 1e-9)
        self._tall[window] += (vote * share_high).astype(np.float32)
        small = seen.colour[np.minimum(rows[inside] // 2, seen.colour.shape[0] - 1), columns[inside] // 2]
        share = weight * far
        for channel in range(3):
            sums = np.bincount(flat, share * small[:, channel], shape[0] * shape[1]).reshape(shape)
            self._colour[window][:, :, channel] += sums
        self._seen[window] += np.bincount(flat, share, shape[0] * shape[1]).reshape(shape)

    def mark_walked(self, pose: Array) -> None:
        """The robot stood at this pose (3,), so the floor is free there."""
        step = self._config.resolution_m
        column, row = ((pose[i] - self._origin[i]) / step for i in (0, 1))
        radius = self._config.walked_m / step
        mask = self._walked.view(np.uint8)
        cv2.circle(mask, (int(column), int(row)), int(radius), 1, -1)


def spread_out(poses: Array, distance_m: float, turn_rad: float) -> list[int]:
    """Those views that do not show what another one shows from nearly the same place.

    Args:
        poses: N x 3.
        distance_m: How far apart two views of one direction should be.
        turn_rad: How far turned two views from one place should be.
    """
    kept: list[int] = []
    for k, pose in enumerate(poses):
        others = poses[kept]
        apart = np.hypot(*(others[:, :2] - pose[:2]).T) / distance_m
        apart += np.abs(wrap(others[:, 2] - pose[2])) / turn_rad
        if not (apart < 1).any():
            kept.append(k)
    return kept


def build_grid(
    views: Sequence[View],
    camera: PinholeCamera,
    mount: CameraMount,
    config: GridConfig | None = None,
    sweep_config: SweepConfig | None = None,
) -> OccupancyGrid:
    """The grid of a walk.

    Args:
        views: Pictures along it, some hundredths to some tenths of the camera's height apart.
        camera: Of the pictures.
        mount: How it is mounted.
        config: How votes become cells.
        sweep_config: How heights are found.

    Raises:
        MapError: There are fewer than two views.
    """
    config = config or GridConfig()
    if len(views) < 2:
        raise MapError("a grid needs at least two views from different places")
    sweep = PlaneSweep(camera, mount, sweep_config)
    poses = np.stack([view.pose for view in views])
    margin = config.range * mount.height_m + config.resolution_m
    votes = VoteGrid(poses[:, :2].min(axis=0) - margin, poses[:, :2].max(axis=0) + margin, mount, config)
    for pose in poses:
        votes.mark_walked(pose)
    with ThreadPoolExecutor(_THREADS) as pool:
        prepared = list(pool.map(sweep.prepared, [view.image for view in views]))
        chosen = [sweep.neighbours(poses, k) for k in range(len(views))]
        usable = [k for k in range(len(views)) if chosen[k]]
        if len(usable) > config.few_views:
            distance_m = max(config.apart * mount.height_m, 1e-6)
            usable = [usable[k] for k in spread_out(poses[usable], distance_m, np.radians(config.apart_deg))]

        def costs_of(k: int) -> NDArray[np.int16]:
            return sweep.costs(prepared[k], poses[k], [(prepared[n], poses[n]) for n in chosen[k]])

        batches = [usable[start : start + _BATCH] for start in range(0, len(usable), _BATCH)]
        # While one batch is smoothed and votes, the pool already compares the next one.
        ahead = [[pool.submit(costs_of, k) for k in batch] for batch in batches[:1]]
        for number, batch in enumerate(batches):
            if number + 1 < len(batches):
                ahead.append([pool.submit(costs_of, k) for k in batches[number + 1]])
            costs = [future.result() for future in ahead.pop(0)]
            for k, seen in zip(batch, sweep.heights(costs, [views[k].image for k in batch]), strict=True):
                votes.add(poses[k], seen)
    return votes.grid().cropped()
