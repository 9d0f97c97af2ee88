"""The truth of a made place, as the mapping benchmark compares with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gst_ros.mapping.camera import CameraMount, PinholeCamera
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.planar import transform

Array = NDArray[np.float64]
FARTHEST_M = 4.5  # floor beyond this is not expected in a map


@dataclass(frozen=True)
class PlaceTruth:
    """One place of a set, with its ``gt/`` folder."""

    root: Path

    @cached_property
    def camera(self) -> tuple[PinholeCamera, CameraMount]:
        values = json.loads((self.root / "camera.json").read_text())
        names = ("width", "height", "fx", "fy", "cx", "cy")
        return PinholeCamera(*(values[name] for name in names)), CameraMount(values["height_m"], values["pitch_deg"])

    @cached_property
    def stamps_and_poses(self) -> tuple[Array, Array]:
        """N times in seconds and N x 3 poses of ``base`` (x, y, yaw)."""
        rows = np.loadtxt(self.root / "gt" / "trajectory_video1.tum")
        ahead = Rotation.from_quat(rows[:, 4:8]).apply([0.0, 0.0, 1.0])
        return rows[:, 0], np.column_stack([rows[:, 1:3], np.arctan2(ahead[:, 1], ahead[:, 0])])

    def poses_at(self, stamps_ns: NDArray[np.int64]) -> Array:
        """The true poses of frames, by their nearest stamps."""
        stamps_s, poses = self.stamps_and_poses
        nearest = np.abs(stamps_s[None] - stamps_ns[:, None] * 1e-9).argmin(axis=1)
        return np.asarray(poses[nearest])

    @cached_property
    def views(self) -> list[dict[str, Any]]:
        """Facts of the query views."""
        return list(json.loads((self.root / "gt" / "views.json").read_text()).values())

    def plan(self, name: str) -> tuple[NDArray[np.uint8], float, float, float]:
        """A top-down image (RGB), metres per pixel, and left and top edge in metres."""
        facts = json.loads((self.root / "gt" / "plan.json").read_text())[name]
        image = cv2.imread(str(self.root / "plans" / name), cv2.IMREAD_COLOR)
        if image is None:
            raise SystemExit(f"mapping: error: {self.root / 'plans' / name}: cannot be read")
        rgb = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8)
        return rgb, facts["m_per_px"], facts["left_m"], facts["top_m"]

    def grid_iou(self, grid: OccupancyGrid, true_from_map: Array) -> float:
        """Overlap of free floor in the map and in truth, over the cells that the map claims to know or could have seen.

        Args:
            grid: The map's.
            true_from_map: (3,) where the map's frame lies in the true one.
        """
        image, m_per_px, left_m, top_m = self.plan("furniture.png")
        free_px = image[:, :, 0] > 127
        seen_px = self._seen(free_px, m_per_px, left_m, top_m)
        rows, columns = np.indices(grid.cells.shape).reshape(2, -1)
        points = transform(true_from_map, grid.point_of(np.stack([rows, columns], axis=1)))
        free, seen = (
            _look_up(mask, points, m_per_px, left_m, top_m).reshape(grid.cells.shape) for mask in (free_px, seen_px)
        )
        part = grid.known | seen
        both = (grid.free & free & part).sum()
        return float(both / max(1, ((grid.free | free) & part).sum()))

    def _seen(self, free_px: NDArray[np.bool_], m_per_px: float, left_m: float, top_m: float) -> NDArray[np.bool_]:
        """Pixels of the plan that the camera saw: in view, near, nothing in between; also what bounds the floor."""
        camera, mount = self.camera
        half = np.arctan(camera.width / 2 / camera.fx)
        ranges, angles = np.meshgrid(np.arange(0.0, FARTHEST_M, m_per_px), np.linspace(-half, half, 181))
        fan = np.stack([ranges * np.cos(angles), ranges * np.sin(angles)], axis=-1)
        flat = fan.reshape(-1, 2)
        in_camera = mount.points_in_camera(np.column_stack([flat, np.zeros(len(flat))]))
        pixels = camera.pixels(in_camera)
        inside = (
            (in_camera[:, 2] > 0) & (pixels >= 0).all(axis=1) & (pixels < [camera.width, camera.height]).all(axis=1)
        )
        seen = np.zeros(free_px.shape, bool)
        for pose in self.stamps_and_poses[1][::5]:
            points = transform(pose, flat)
            clear = _look_up(free_px, points, m_per_px, left_m, top_m).reshape(ranges.shape)
            reached = np.cumprod(clear, axis=1).astype(bool)
            reached = np.concatenate(
                [np.ones((len(reached), 1), bool), reached[:, :-1]], axis=1
            )  # and the first blocked
            rows, columns, on_plan = _pixels(free_px.shape, points, m_per_px, left_m, top_m)
            chosen = reached.ravel() & inside & on_plan
            seen[rows[chosen], columns[chosen]] = True
        return seen


def _pixels(
    shape: tuple[int, ...], points: Array, m_per_px: float, left_m: float, top_m: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    columns = np.floor((points[:, 0] - left_m) / m_per_px).astype(np.int64)
    rows = np.floor((top_m - points[:, 1]) / m_per_px).astype(np.int64)
    inside = (rows >= 0) & (columns >= 0) & (rows < shape[0]) & (columns < shape[1])
    return np.where(inside, rows, 0), np.where(inside, columns, 0), inside


def _look_up(mask: NDArray[np.bool_], points: Array, m_per_px: float, left_m: float, top_m: float) -> NDArray[np.bool_]:
    rows, columns, inside = _pixels(mask.shape, points, m_per_px, left_m, top_m)
    return np.asarray(mask[rows, columns] & inside)
