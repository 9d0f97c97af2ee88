"""A plain numpy ray caster for textured boxes, with an exact pinhole camera.

It is a drawing, not a simulator: flat light, no shadows, no physics. But every box has its exact place,
so what is asked about the pictures has a computed answer.

Frames: ``map`` (see ``furniture``). A camera looks along its yaw (counter-clockwise from +x, degrees),
its roll is level, its pitch is positive downwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from drawn_demo.furniture import Box
from drawn_demo.textures import TEXELS_PER_M, TILE

NEAR_M = 0.05


@dataclass(frozen=True)
class Pose:
    """A level-roll camera in ``map``: metres and degrees."""

    x_m: float
    y_m: float
    yaw_deg: float
    pitch_down_deg: float
    height_m: float = 1.5

    def axes(self) -> NDArray[np.float64]:
        """Rows: the optical frame's x (right), y (down) and z (forward) in ``map``."""
        yaw, pitch = np.radians(self.yaw_deg), np.radians(self.pitch_down_deg)
        forward = np.array([np.cos(pitch) * np.cos(yaw), np.cos(pitch) * np.sin(yaw), -np.sin(pitch)])
        right = np.array([np.sin(yaw), -np.cos(yaw), 0.0])
        return np.stack([right, np.cross(forward, right), forward])

    @property
    def position_m(self) -> NDArray[np.float64]:
        """The optical centre in ``map``."""
        return np.array([self.x_m, self.y_m, self.height_m])


@dataclass(frozen=True)
class Camera:
    """A pinhole without distortion; the principal point is the image centre."""

    width: int = 640
    height: int = 512
    focal_px: float = 335.0

    def scaled(self, factor: int) -> Camera:
        """The same view with ``factor`` times as many pixels a side."""
        return Camera(self.width * factor, self.height * factor, self.focal_px * factor)


_LIGHT = {(2, 1): 1.0, (2, -1): 0.93, (0, 1): 0.9, (0, -1): 0.82, (1, 1): 0.86, (1, -1): 0.76}  # (axis, side)


def render(
    boxes: list[Box], textures: dict[str, NDArray[np.uint8]], camera: Camera, pose: Pose, supersample: int = 2
) -> tuple[NDArray[np.uint8], NDArray[np.int16]]:
    """Draw one view.

    Returns:
        The image (height x width x 3, red first) and, per pixel, the index of the box in its centre (-1: none).
    """
    fine = camera.scaled(supersample)
    axes, centre = pose.axes().astype(np.float32), pose.position_m.astype(np.float32)
    u = (np.arange(fine.width, dtype=np.float32) + 0.5 - fine.width / 2) / np.float32(fine.focal_px)
    v = (np.arange(fine.height, dtype=np.float32) + 0.5 - fine.height / 2) / np.float32(fine.focal_px)
    rays = axes[2] + u[None, :, None] * axes[0] + v[:, None, None] * axes[1]
    depth = np.full(rays.shape[:2], np.inf, np.float32)
    nearest = np.full(rays.shape[:2], -1, np.int16)
    faces: list[tuple[int, int, int]] = []

    for number, box in enumerate(boxes):
        for axis in range(3):
            side = 1 if centre[axis] > box.high[axis] else -1 if centre[axis] < box.low[axis] else 0
            if side == 0:
                continue
            window = _window(box, axis, side, axes, centre, fine)
            if window is None:
                continue
            plane = box.high[axis] if side > 0 else box.low[axis]
            seen, b, c = rays[window], (axis + 1) % 3, (axis + 2) % 3
            with np.errstate(divide="ignore", invalid="ignore"):
                range_along_axis = (plane - centre[axis]) / seen[..., axis]
                at_b = centre[b] + range_along_axis * seen[..., b]
                at_c = centre[c] + range_along_axis * seen[..., c]
            hit = (range_along_axis > NEAR_M) & (range_along_axis < depth[window])
            hit &= (at_b >= box.low[b]) & (at_b <= box.high[b]) & (at_c >= box.low[c]) & (at_c <= box.high[c])
            depth[window][hit] = range_along_axis[hit]
            nearest[window][hit] = len(faces)
            faces.append((number, axis, side))

    image = np.zeros((*depth.shape, 3), np.uint8)
    for index in np.unique(nearest[nearest >= 0]):
        number, axis, side = faces[index]
        mask = nearest == index
        points = centre + depth[mask][:, None] * rays[mask]
        image[mask] = _shade(boxes[number], points, axis, side, textures)
    owner = np.array([face[0] for face in faces] + [-1], np.int16)[nearest]
    middle = supersample // 2
    small = cv2.resize(image, (camera.width, camera.height), interpolation=cv2.INTER_AREA)
    return small.astype(np.uint8), owner[middle::supersample, middle::supersample]


def _window(
    box: Box, axis: int, side: int, axes: NDArray[np.float32], centre: NDArray[np.float32], camera: Camera
) -> tuple[slice, slice] | None:
    """The image rows and columns that a face can touch, or None when it is out of view."""
    b, c = (axis + 1) % 3, (axis + 2) % 3
    corners = np.empty((4, 3))
    corners[:, axis] = box.high[axis] if side > 0 else box.low[axis]
    corners[:, b] = [box.low[b], box.high[b], box.high[b], box.low[b]]
    corners[:, c] = [box.low[c], box.low[c], box.high[c], box.high[c]]
    optical = (corners - centre) @ axes.T.astype(np.float64)
    outline = []
    for here, there in zip(optical, np.roll(optical, -1, axis=0), strict=True):
        if here[2] >= NEAR_M:
            outline.append(here)
        if (here[2] >= NEAR_M) != (there[2] >= NEAR_M):  # the edge crosses the near plane: cut it there
            part = (NEAR_M - here[2]) / (there[2] - here[2])
            outline.append(here + part * (there - here))
    if not outline:
        return None
    points = np.array(outline)
    column = points[:, 0] / points[:, 2] * camera.focal_px + camera.width / 2
    row = points[:, 1] / points[:, 2] * camera.focal_px + camera.height / 2
    left, right = max(0, int(column.min()) - 1), min(camera.width, int(column.max()) + 2)
    top, bottom = max(0, int(row.min()) - 1), min(camera.height, int(row.max()) + 2)
    return None if left >= right or top >= bottom else (slice(top, bottom), slice(left, right))


def _shade(
    box: Box, points: NDArray[np.float32], axis: int, side: int, textures: dict[str, NDArray[np.uint8]]
) -> NDArray[np.uint8]:
    """Colours of points (N x 3, ``map``) on one face."""
    across, along = {0: (1, 2), 1: (0, 2), 2: (0, 1)}[axis]
    # Furniture carries its texture with it, so that a mirrored or moved home does not swim.
    origin = np.zeros(3) if box.name in ("floor", "ceiling", "wall") else np.asarray(box.low)
    column = ((points[:, across] - origin[across]) * TEXELS_PER_M).astype(np.int64) % TILE
    row = (-(points[:, along] - origin[along]) * TEXELS_PER_M).astype(np.int64) % TILE
    return (textures[box.texture][row, column] * _LIGHT[axis, side]).astype(np.uint8)
