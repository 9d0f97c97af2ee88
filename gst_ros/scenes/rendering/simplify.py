"""Fewer triangles for heavy furniture models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.rendering.mesh import Floats, Ints, Material, Mesh, MeshPart

WELD_M = 1e-4
"""Vertices nearer than this are one: the files repeat them, and a simplifier would tear the seams open."""
LEAST_LEAVES = 150
LEAF_FACES = 60
"""A part of so many pieces with so few triangles each, or fewer, is foliage."""
MOST_LEAF_GROWTH = 2.2
CREASE_DEG = 40.0


def leaves(positions: Floats, faces: Ints) -> NDArray[np.int64] | None:
    """Which loose piece each triangle belongs to, when a mesh is foliage; None when it is not.

    Args:
        positions: N x 3 metres.
        faces: M x 3 vertex indices.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    if len(faces) < LEAST_LEAVES:
        return None
    joined = _welded(positions)[1][faces]
    ends = np.concatenate([joined[:, :2], joined[:, 1:]])
    size = int(joined.max()) + 1
    graph = coo_matrix((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape=(size, size))
    labels = connected_components(graph, directed=False)[1]
    _, piece = np.unique(labels[joined[:, 0]], return_inverse=True)
    count = int(piece.max()) + 1
    if count < LEAST_LEAVES or len(faces) > LEAF_FACES * count:
        return None
    return np.asarray(piece.ravel(), np.int64)


def thinned(mesh: Mesh, piece: NDArray[np.int64], keep: float) -> Mesh:
    """Fewer and larger leaves, which cover about the same.

    Args:
        mesh: Of one material.
        piece: Per triangle, its leaf.
        keep: Share of the leaves to keep.
    """
    count = int(piece.max()) + 1
    order = np.arange(count)
    chosen = np.floor((order + 1) * keep) > np.floor(order * keep)
    kept = chosen[piece]
    growth = np.float32(min(MOST_LEAF_GROWTH, keep**-0.5))
    corners = mesh.faces[kept].ravel()
    owner = np.repeat(piece[kept], 3)
    first, faces = unique_rows(np.stack([owner, corners], axis=1))
    leaf, vertex = owner[first], corners[first]
    positions = mesh.positions[vertex]
    total = np.bincount(leaf, minlength=count)
    centres = np.stack([np.bincount(leaf, positions[:, i], count) for i in range(3)], axis=1)
    centres = (centres / np.maximum(total, 1)[:, None]).astype(np.float32)[leaf]
    grown = centres + growth * (positions - centres)
    # The whole keeps its size: leaves at its rim may be gone, and others have grown beyond it.
    low, extent = grown.min(axis=0), np.maximum(np.ptp(grown, axis=0), 1e-6)
    grown = mesh.positions.min(axis=0) + (grown - low) / extent * np.ptp(mesh.positions, axis=0)
    triangles = np.asarray(faces.reshape(-1, 3), np.int32)
    part = MeshPart(0, len(triangles), mesh.parts[0].material)
    return Mesh(np.asarray(grown, np.float32), mesh.normals[vertex], mesh.uvs[vertex], triangles, (part,))


def simplified(positions: Floats, faces: Ints, material: Material, keep: float) -> Mesh:
    """Fewer triangles without texture coordinates, flat shaded where the model bends sharply.

    Args:
        positions: N x 3 metres.
        faces: M x 3 vertex indices.
        material: What they are made of.
        keep: Share of the triangles to keep.
    """
    vertices, joined = _welded(positions)
    reduced, triangles, _ = _reduced(vertices, joined[faces], keep)
    return creased(reduced, triangles, material)


def simplified_textured(mesh: Mesh, keep: float) -> Mesh:
    """Fewer triangles that keep texture coordinates; normals are smooth within a crease angle.

    Args:
        mesh: Of one material.
        keep: Share of the triangles to keep.
    """
    # Where the texture has a seam, the two sides stay apart.
    rows = np.concatenate([np.round(mesh.positions / WELD_M), np.round(mesh.uvs * 4096)], axis=1).astype(np.int64)
    first, joined = unique_rows(rows)
    vertices, uvs = mesh.positions[first], mesh.uvs[first]
    reduced, triangles, origin = _reduced(vertices, joined[mesh.faces].astype(np.int32), keep)
    flat = creased(reduced, triangles, mesh.parts[0].material)
    return Mesh(flat.positions, flat.normals, uvs[origin][triangles.ravel()], flat.faces, flat.parts)


def creased(vertices: Floats, faces: Ints, material: Material) -> Mesh:
    """Smooth normals within a crease angle, separate vertices across it.

    Args:
        vertices: N x 3 metres.
        faces: M x 3 vertex indices.
        material: What they are made of.
    """
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    face_normals = np.cross(b - a, c - a)
    area = np.linalg.norm(face_normals, axis=1, keepdims=True)
    unit = face_normals / np.maximum(area, 1e-12)
    corner_vertex = faces.ravel()
    corner_normal = np.repeat(unit, 3, axis=0)
    smooth = _summed(corner_vertex, np.repeat(face_normals, 3, axis=0), len(vertices))
    smooth /= np.maximum(np.linalg.norm(smooth, axis=1, keepdims=True), 1e-12)
    blended = smooth[corner_vertex]
    sharp = (blended * corner_normal).sum(axis=1) < np.cos(np.radians(CREASE_DEG))
    normals = np.where(sharp[:, None], corner_normal, blended).astype(np.float32)
    positions = vertices[corner_vertex].astype(np.float32)
    flat_faces = np.arange(len(positions), dtype=np.int32).reshape(-1, 3)
    uvs = np.zeros((len(positions), 2), np.float32)
    return Mesh(positions, normals, uvs, flat_faces, (MeshPart(0, len(flat_faces), material),))


def vertex_normals(positions: Floats, faces: Ints) -> Floats:
    """Unit normals of vertices, weighted by the areas of their triangles.

    Args:
        positions: N x 3 metres.
        faces: M x 3 vertex indices.
    """
    a, b, c = (positions[faces[:, i]] for i in range(3))
    normals = _summed(faces.ravel(), np.repeat(np.cross(b - a, c - a), 3, axis=0), len(positions))
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    up = np.array([[0.0, 0.0, 1.0]])
    return np.asarray(np.where(length > 1e-12, normals / np.maximum(length, 1e-12), up), np.float32)


def unique_rows(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different rows of a table of whole numbers, many times faster than ``np.unique`` along an axis.

    Args:
        rows: N x K.

    Returns:
        The index of each different row's first occurrence, in lexicographic order; and for all rows which it is.
    """
    key = np.zeros(len(rows), np.int64)
    span = 1
    for column in rows.T:
        shifted = column - column.min()
        width = int(shifted.max()) + 1
        if span > (1 << 62) // width:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            span = len(rows)
        key = key * width + shifted
        span *= width
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first.astype(np.int64), inverse.ravel().astype(np.int64)


def _summed(index: NDArray[np.int32], values: Floats, count: int) -> NDArray[np.float64]:
    return np.stack([np.bincount(index, values[:, i], count) for i in range(values.shape[1])], axis=1)


def _welded(positions: Floats) -> tuple[Floats, Ints]:
    """Different positions, and for each vertex which it is."""
    first, joined = unique_rows(np.round(positions / WELD_M).astype(np.int64))
    return np.asarray(positions[first], np.float32), joined.astype(np.int32)


def _reduced(vertices: Floats, faces: Ints, keep: float) -> tuple[Floats, Ints, NDArray[np.int64]]:
    """Fewer triangles, and for each vertex that is left the nearest of those that it came from."""
    import fast_simplification  # type: ignore[import-untyped]

    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])]
    if len(faces) <= 60:
        return vertices, faces, np.arange(len(vertices))
    faces = np.ascontiguousarray(faces)
    reduction = float(np.clip(1.0 - keep, 0.0, 0.97))
    _, _, collapses = fast_simplification.simplify(vertices, faces, target_reduction=reduction, return_collapses=True)
    points, triangles, target = fast_simplification.replay_simplification(vertices, faces, collapses)
    points, target = np.asarray(points, np.float32), np.asarray(target, np.int64)
    source = np.flatnonzero((target >= 0) & (target < len(points)))
    gap = np.linalg.norm(vertices[source] - points[target[source]], axis=1)
    order = source[np.lexsort((gap, target[source]))][::-1]
    origin = np.zeros(len(points), np.int64)
    origin[target[order]] = order  # farthest first: the nearest overwrites the others
    return points, np.asarray(triangles, np.int32), origin
