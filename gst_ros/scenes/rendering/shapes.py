"""Boxes, quads, polygons and discs as meshes, with texture coordinates in metres divided by the tile's width."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.rendering.materials import Surface
from gst_ros.scenes.rendering.mesh import Material, Mesh, MeshPart, merge

Points = NDArray[np.float64]


def plain(r: float, g: float, b: float, *, specular: float = 0.05, emissive: float = 0.0) -> Surface:
    """A surface of one colour."""
    return Surface(Material((r, g, b), None, specular, 30.0, emissive), 1.0)


def quad(corners: Sequence[Sequence[float]], surface: Surface, uv_m: Sequence[Sequence[float]] | None = None) -> Mesh:
    """A flat four-sided face, corners counter-clockwise seen from its front.

    Args:
        corners: 4 points, frame ``map``.
        surface: Its look.
        uv_m: 4 texture positions in metres; by default measured along its first and last edges.
    """
    points = np.array(corners, np.float64)
    (ux, uy, uz), (vx, vy, vz) = (points[1] - points[0]).tolist(), (points[3] - points[0]).tolist()
    # Written out: numpy's cross product of two vectors takes longer than all the rest.
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    length = max(math.sqrt(nx * nx + ny * ny + nz * nz), 1e-12)
    nx, ny, nz = nx / length, ny / length, nz / length
    if uv_m is None:
        length = max(math.sqrt(ux * ux + uy * uy + uz * uz), 1e-12)
        ux, uy, uz = ux / length, uy / length, uz / length
        axes = np.array([(ux, ny * uz - nz * uy), (uy, nz * ux - nx * uz), (uz, nx * uy - ny * ux)])
        uv = (points - points[0]) @ axes
    else:
        uv = np.array(uv_m, np.float64)
    return _mesh(points, np.array([(nx, ny, nz)] * 4), uv / surface.tile_m, _QUAD_FACES, surface)


def box(low: Sequence[float], high: Sequence[float], surface: Surface, *, bottom: bool = True) -> Mesh:
    """An axis-aligned box.

    Args:
        low: Lower corner.
        high: Upper corner.
        surface: Its look on all sides.
        bottom: Whether the lower face is there.
    """
    sides = 6 if bottom else 5
    start = np.array(low, np.float64)
    size = np.array(high, np.float64) - start
    points = start + _BOX_CORNERS[: 4 * sides] * size
    uvs = _QUAD_UVS[None] * size[_BOX_EDGES[:sides]][:, None]
    uvs = uvs.reshape(-1, 2) / surface.tile_m
    return _mesh(points, _BOX_NORMALS[: 4 * sides], uvs, _BOX_FACES[: 2 * sides], surface)


def polygon(outline: Sequence[Sequence[float]], z_m: float, surface: Surface, *, up: bool = True) -> Mesh:
    """A horizontal polygon.

    Args:
        outline: Corners (x_m, y_m) of a simple polygon.
        z_m: Its height.
        surface: Its look; the texture lies along the axes of ``map``.
        up: Whether its front looks up.
    """
    import shapely

    triangles = shapely.constrained_delaunay_triangles(shapely.Polygon(outline))
    points: list[tuple[float, float, float]] = []
    faces: list[list[int]] = []
    for triangle in triangles.geoms:
        corners = shapely.get_coordinates(triangle)[:3]
        (ax, ay), (bx, by), (cx, cy) = corners
        if ((bx - ax) * (cy - ay) - (by - ay) * (cx - ax) > 0) != up:
            corners = corners[::-1]
        faces.append([len(points), len(points) + 1, len(points) + 2])
        points += [(float(x), float(y), z_m) for x, y in corners]
    array = np.array(points, np.float64).reshape(-1, 3)
    normal = np.tile([0.0, 0.0, 1.0 if up else -1.0], (len(array), 1))
    return _mesh(array, normal, array[:, :2] / surface.tile_m, faces, surface)


def prism(outline: Sequence[Sequence[float]], low_m: float, high_m: float, surface: Surface) -> Mesh:
    """A vertical prism over a simple polygon, with its top and without its bottom."""
    import shapely

    ring = list(shapely.geometry.polygon.orient(shapely.Polygon(outline)).exterior.coords)
    sides = [quad([(*a, low_m), (*b, low_m), (*b, high_m), (*a, high_m)], surface) for a, b in itertools.pairwise(ring)]
    return merge([*sides, polygon(ring[:-1], high_m, surface)])


def disc(centre: Sequence[float], radius_m: float, surface: Surface, *, up: bool, corners: int = 20) -> Mesh:
    """A horizontal disc."""
    angles = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    rim = [(centre[0] + radius_m * np.cos(a), centre[1] + radius_m * np.sin(a)) for a in angles]
    return polygon(rim, float(centre[2]), surface, up=up)


def ball(centre: Sequence[float], radii_m: Sequence[float], surface: Surface) -> Mesh:
    """An ellipsoid of 80 triangles.

    Args:
        centre: Its centre.
        radii_m: Half its size along x, y and z.
        surface: Its look.
    """
    points = _BALL * np.array(radii_m) + np.array(centre)
    uv = np.stack([points[:, 0] + 0.6 * points[:, 1], points[:, 2] + 0.4 * points[:, 1]], axis=1) / surface.tile_m
    return _mesh(points, _BALL.copy(), uv, _BALL_FACES, surface)


def _icosphere() -> tuple[Points, list[list[int]]]:
    """An icosahedron with every face cut in four, on the unit sphere."""
    g = (1 + 5**0.5) / 2
    corners = [np.array(p) for a in (-1.0, 1.0) for b in (-g, g) for p in ([0, a, b], [a, b, 0], [b, 0, a])]
    faces = [
        [i, j, k]
        for i, j, k in itertools.combinations(range(12), 3)
        if all(abs(float(np.linalg.norm(corners[p] - corners[q])) - 2) < 1e-6 for p, q in ((i, j), (j, k), (i, k)))
    ]
    points = [p / np.linalg.norm(p) for p in corners]
    result: list[list[int]] = []
    for i, j, k in faces:
        if np.dot(np.cross(points[j] - points[i], points[k] - points[i]), points[i]) < 0:
            j, k = k, j
        middle = []
        for a, b in ((i, j), (j, k), (k, i)):
            half = points[a] + points[b]
            middle.append(len(points))
            points.append(half / np.linalg.norm(half))
        ij, jk, ki = middle
        result += [[i, ij, ki], [ij, j, jk], [ki, jk, k], [ij, jk, ki]]
    return np.array(points), result


def _mesh(
    points: Points, normals: Points, uvs: Points, faces: Sequence[Sequence[int]] | NDArray[np.int32], surface: Surface
) -> Mesh:
    triangles = np.array(faces, np.int32).reshape(-1, 3)
    return Mesh(
        points.astype(np.float32),
        normals.astype(np.float32),
        uvs.astype(np.float32),
        triangles,
        (MeshPart(0, len(triangles), surface.material),),
    )


_BALL, _BALL_FACES = _icosphere()
_QUAD_FACES = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
_QUAD_UVS = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], np.float64)

# The sides of a box: +x, -x, +y, -y, top, bottom. Corners as multiples of its size, counter-clockwise from outside.
_BOX_CORNERS = np.array(
    [
        *((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)),
        *((0, 1, 0), (0, 0, 0), (0, 0, 1), (0, 1, 1)),
        *((1, 1, 0), (0, 1, 0), (0, 1, 1), (1, 1, 1)),
        *((0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)),
        *((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)),
        *((0, 1, 0), (1, 1, 0), (1, 0, 0), (0, 0, 0)),
    ],
    np.float64,
)
_BOX_NORMALS = np.repeat([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], 4, axis=0).astype(float)
_BOX_EDGES = np.array([(1, 2), (1, 2), (0, 2), (0, 2), (0, 1), (0, 1)])
"""Per side, the axes along its first and its last edge."""
_BOX_FACES = np.concatenate([_QUAD_FACES + 4 * side for side in range(6)])
