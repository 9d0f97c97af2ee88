"""Pictures of a textured room along a walk, for tests of mapping."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from gst_ros.mapping.camera import Array, PinholeCamera
from gst_ros.media.frames import Frame


def rendered(camera: PinholeCamera, rotations: Array, positions: Array) -> Iterator[Frame]:
    """A textured floor and four textured walls, seen along a walk."""
    random = np.random.default_rng(5)
    planes = []  # corner, the two edges, texture
    low, high = np.array([-4.0, -4.0]), np.array([4.0, 4.0])
    corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
    planes.append((np.array([*low, 0.0]), np.array([8.0, 0, 0]), np.array([0, 8.0, 0])))
    for one, two in zip(corners, corners[1:] + corners[:1], strict=True):
        planes.append((np.array([*one, 0.0]), np.array([two[0] - one[0], two[1] - one[1], 0]), np.array([0, 0, 2.5])))
    textures = []
    for _, along, across in planes:
        size = (round(np.linalg.norm(along) * 60), round(np.linalg.norm(across) * 60))
        coarse = random.integers(0, 255, (size[1] // 8, size[0] // 8, 3)).astype(np.uint8)
        textures.append(cv2.resize(coarse, size, interpolation=cv2.INTER_CUBIC))
    v, u = np.mgrid[0 : camera.height, 0 : camera.width]
    rays = camera.rays(np.column_stack([u.ravel(), v.ravel()]).astype(float))
    for number, (rotation, position) in enumerate(zip(rotations, positions, strict=True)):
        towards = rays @ rotation.T
        image, nearest = np.zeros((len(rays), 3), np.uint8), np.full(len(rays), np.inf)
        for (corner, along, across), texture in zip(planes, textures, strict=True):
            normal = np.cross(along, across)
            with np.errstate(divide="ignore", invalid="ignore"):
                distance = ((corner - position) @ normal) / (towards @ normal)
            hit = position + towards * distance[:, None] - corner
            s, t = hit @ along / (along @ along), hit @ across / (across @ across)
            inside = (distance > 0) & (distance < nearest) & (s >= 0) & (s < 1) & (t >= 0) & (t < 1)
            nearest[inside] = distance[inside]
            rows, columns = (t[inside] * texture.shape[0]).astype(int), (s[inside] * texture.shape[1]).astype(int)
            image[inside] = texture[rows, columns]
        yield Frame(image.reshape(camera.height, camera.width, 3), number * 10**8)
