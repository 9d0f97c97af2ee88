"""How upright boxes and cylinders are framed in pictures from known places."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import CameraMount, PinholeCamera

Array = NDArray[np.float64]

BOX, CYLINDER = "box", "cylinder"
_OUTLINES = {
    BOX: np.array([[0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]]),
    CYLINDER: np.array([[0.5 * math.cos(a), 0.5 * math.sin(a)] for a in np.arange(10) * (math.pi / 5)]),
}
_NEAREST_M = 0.05


def _edges(corners: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First and second points of a prism's edges: lower outline, upper outline, uprights."""
    low = np.arange(corners)
    following = (low + 1) % corners
    return np.concatenate([low, low + corners, low]), np.concatenate([following, following + corners, low + corners])


_EDGES = {shape: _edges(len(outline)) for shape, outline in _OUTLINES.items()}


class Silhouettes:
    """The boxes that frame one thing in several pictures.

    Args:
        boxes: N x 4, first column, first row, last column, last row, pixels.
        poses: N x 3 poses of ``base`` in ``map``.
        camera: The camera of the pictures.
        mount: How it is mounted.
        border_px: Boxes that come so near to the image's border are cut off there.
    """

    def __init__(self, boxes: Array, poses: Array, camera: PinholeCamera, mount: CameraMount, border_px: float) -> None:
        self.camera = camera
        self._boxes, self._poses, self._mount = boxes, poses, mount
        last = np.array([camera.width - 1.0, camera.height - 1.0])
        self._free = np.concatenate([boxes[:, :2] > border_px, boxes[:, 2:] < last - border_px], axis=1)
        self._limits = np.array([0.0, 0.0, *last])
        self._seen = np.where(self._free, boxes, self._limits).T
        cos, sin = np.cos(poses[:, 2]), np.sin(poses[:, 2])
        to_base = np.zeros((len(poses), 3, 3))
        to_base[:, 0, 0], to_base[:, 0, 1], to_base[:, 1, 0], to_base[:, 1, 1] = cos, sin, -sin, cos
        to_base[:, 2, 2] = 1.0
        self._rotations = mount.rotation_base_from_camera.T @ to_base
        self._centres = np.column_stack([poses[:, :2], np.full(len(poses), mount.height_m)])

    def __len__(self) -> int:
        return len(self._poses)

    def ranges_m(self, place: Array) -> Array:
        """N horizontal distances of a place (x, y) from the camera."""
        return np.asarray(np.linalg.norm(self._poses[:, :2] - place, axis=1))

    def excess_px(self, centre: Array, size: Array, low: float, height: float, yaw: float, shape: str) -> Array:
        """By how much the frame of a projected shape exceeds the seen frame.

        Args:
            centre: (x, y) in ``map``, metres.
            size: Along ``yaw`` and across it, metres.
            low: Height of its lower side above the floor, metres.
            height: From the lower side to the upper one, metres.
            yaw: Its turn, radians.
            shape: :data:`BOX` or :data:`CYLINDER`.

        Returns:
            4 x N pixels (left, top, right, bottom), positive outwards, of the part within the image.
        """
        cos, sin = math.cos(yaw), math.sin(yaw)
        ground = (_OUTLINES[shape] * size) @ np.array([[cos, sin], [-sin, cos]]) + centre
        points = np.empty((2 * len(ground), 3))
        points[: len(ground), :2] = points[len(ground) :, :2] = ground
        points[: len(ground), 2], points[len(ground) :, 2] = low, low + height
        seen = np.einsum("nij,nkj->nki", self._rotations, points[None] - self._centres[:, None])
        first, second = _EDGES[shape]
        frame = self._framed(seen[:, first], seen[:, second])
        excess = (frame - self._seen) * np.array([-1.0, -1.0, 1.0, 1.0])[:, None]
        return np.asarray(np.where(self._free.T, excess, np.minimum(excess, 0.0)))

    def _framed(self, starts: Array, ends: Array) -> Array:
        """The frames (4 x N) of what the image shows of shapes whose edges go from N x M x 3 to N x M x 3 points.

        A shape that the image does not show at all is framed where it would be.
        """
        # What lies behind the camera is cut off first.
        before, after = starts[:, :, 2] < _NEAREST_M, ends[:, :, 2] < _NEAREST_M
        depth = ends[:, :, 2] - starts[:, :, 2]
        share = (_NEAREST_M - starts[:, :, 2]) / np.where(np.abs(depth) < 1e-12, 1e-12, depth)
        crossing = starts + np.clip(share, 0.0, 1.0)[:, :, None] * (ends - starts)
        starts = np.where((before & ~after)[:, :, None], crossing, starts)
        ends = np.where((after & ~before)[:, :, None], crossing, ends)
        a, b = self._pixels(starts), self._pixels(ends)
        # Then what lies beyond the image's border (Liang and Barsky 1984).
        step = b - a
        flat = np.abs(step) < 1e-9
        safe = np.where(flat, 1e-9, step)
        at_low, at_high = (self._limits[:2] - a) / safe, (self._limits[2:] - a) / safe
        enter = np.maximum(np.minimum(at_low, at_high).max(axis=2), 0.0)
        leave = np.minimum(np.maximum(at_low, at_high).min(axis=2), 1.0)
        shown = (enter <= leave) & ~(before & after)
        from_, to = a + enter[:, :, None] * step, a + leave[:, :, None] * step
        low = np.where(shown[:, :, None], np.minimum(from_, to), np.inf).min(axis=1)
        high = np.where(shown[:, :, None], np.maximum(from_, to), -np.inf).max(axis=1)
        away = ~shown.any(axis=1)
        if away.any():
            low[away] = np.minimum(a, b)[away].min(axis=1)
            high[away] = np.maximum(a, b)[away].max(axis=1)
        return np.asarray(np.concatenate([low, high], axis=1).T)

    def _pixels(self, points: Array) -> Array:
        z = np.maximum(points[:, :, 2], _NEAREST_M)
        u = self.camera.fx * points[:, :, 0] / z + self.camera.cx
        v = self.camera.fy * points[:, :, 1] / z + self.camera.cy
        return np.stack([u, v], axis=2)

    def triangulated(self) -> Array | None:
        """Where the rays through the frames' middles meet best (x, y, z in ``map``); None if they are parallel.

        Of a frame that is cut off, the middle is none: it counts little.
        """
        middle = np.column_stack([self._boxes[:, [0, 2]].mean(axis=1), self._boxes[:, [1, 3]].mean(axis=1)])
        rays = np.einsum("nij,ni->nj", self._rotations, self.camera.rays(middle))
        rays /= np.linalg.norm(rays, axis=1, keepdims=True)
        weight = np.where(self._free.all(axis=1), 1.0, 0.05)
        across = np.eye(3) - rays[:, :, None] * rays[:, None, :]
        total = (across * weight[:, None, None]).sum(axis=0)
        values = np.linalg.eigvalsh(total)
        if values[0] < 0.002 * values[-1]:
            return None
        point = np.linalg.solve(total, np.einsum("n,nij,nj->i", weight, across, self._centres))
        ahead = ((point - self._centres) * rays).sum(axis=1) > 0.1
        return np.asarray(point) if np.average(ahead, weights=weight) > 0.6 else None

    def floor_contact(self, behind_m: float) -> Array | None:
        """Where the thing is if it stands on the floor (x, y in ``map``); None if no view shows its lower side.

        Args:
            behind_m: How far its middle lies behind its lower edge.
        """
        pixels = np.column_stack([self._boxes[:, [0, 2]].mean(axis=1), self._boxes[:, 3]])
        ground = self._mount.floor_points(pixels, self.camera)
        range_m = np.linalg.norm(ground, axis=1)
        good = np.isfinite(range_m) & (range_m < 12.0) & self._free[:, [0, 2, 3]].all(axis=1)
        if not good.any():
            return None
        ground, poses = ground[good] * (1 + behind_m / range_m[good])[:, None], self._poses[good]
        cos, sin = np.cos(poses[:, 2]), np.sin(poses[:, 2])
        x = poses[:, 0] + cos * ground[:, 0] - sin * ground[:, 1]
        y = poses[:, 1] + sin * ground[:, 0] + cos * ground[:, 1]
        return np.array([np.median(x), np.median(y)])

    def along_view(self, range_m: float) -> Array:
        """A place (x, y, z in ``map``) so far away along the ray of the view with the largest frame."""
        areas = (self._boxes[:, 2] - self._boxes[:, 0]) * (self._boxes[:, 3] - self._boxes[:, 1])
        best = int(np.argmax(areas * (1 + self._free.sum(axis=1))))
        middle = np.array([[self._boxes[best, [0, 2]].mean(), self._boxes[best, [1, 3]].mean()]])
        ray = self._rotations[best].T @ self.camera.rays(middle)[0]
        return np.asarray(self._centres[best] + ray * (range_m / max(float(np.hypot(ray[0], ray[1])), 0.2)))
