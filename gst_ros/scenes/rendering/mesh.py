"""Triangles with materials, and whole places made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Material:
    """How a surface looks.

    Attributes:
        colour: Diffuse r, g, b in sRGB, 0 to 1; multiplies the texture.
        texture: H x W x 3 sRGB bytes that repeat over the unit square of the texture coordinates (v up), or None.
        specular: Strength of the highlight, 0 to 1.
        shininess: Exponent of the highlight (Blinn-Phong).
        emissive: How much of its own colour shines regardless of light, 0 to 1.
        two_sided: Whether the back is lit like the front (leaves, cloth); all surfaces are drawn from both sides.
    """

    colour: tuple[float, float, float] = (0.8, 0.8, 0.8)
    texture: NDArray[np.uint8] | None = field(default=None, repr=False, compare=False)
    specular: float = 0.05
    shininess: float = 20.0
    emissive: float = 0.0
    two_sided: bool = True


@dataclass(frozen=True)
class MeshPart:
    """A run of faces that share a material."""

    first_face: int
    face_count: int
    material: Material


@dataclass(frozen=True)
class Mesh:
    """An indexed triangle mesh.

    Attributes:
        positions: N x 3, metres.
        normals: N x 3, unit length.
        uvs: N x 2 texture coordinates; one texture tile is one unit.
        faces: M x 3 vertex indices, counter-clockwise seen from outside.
        parts: Runs of faces with their materials; they cover all faces in order.
    """

    positions: Floats
    normals: Floats
    uvs: Floats
    faces: Ints
    parts: tuple[MeshPart, ...]

    def transformed(self, matrix: NDArray[np.float64], tint: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Mesh:
        """Moved by a 4 x 4 affine transform, with its colours multiplied by ``tint``."""
        linear = matrix[:3, :3]
        positions = self.positions @ linear.T.astype(np.float32) + matrix[:3, 3].astype(np.float32)
        normals = self.normals @ np.linalg.inv(linear).astype(np.float32)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-9)
        faces = self.faces if np.linalg.det(linear) > 0 else np.ascontiguousarray(self.faces[:, ::-1])
        parts = self.parts if tint == (1.0, 1.0, 1.0) else tuple(_tinted(part, tint) for part in self.parts)
        return Mesh(positions.astype(np.float32), normals.astype(np.float32), self.uvs, faces, parts)


def _tinted(part: MeshPart, tint: tuple[float, float, float]) -> MeshPart:
    material = part.material
    r, g, b = (min(1.0, c * t) for c, t in zip(material.colour, tint, strict=True))
    look = (material.specular, material.shininess, material.emissive, material.two_sided)
    return MeshPart(part.first_face, part.face_count, Material((r, g, b), material.texture, *look))


def merge(meshes: Sequence[Mesh]) -> Mesh:
    """Several meshes as one, in order."""
    if not meshes:
        empty = np.zeros((0, 3), np.float32)
        return Mesh(empty, empty, np.zeros((0, 2), np.float32), np.zeros((0, 3), np.int32), ())
    vertex_offsets = np.cumsum([0] + [len(m.positions) for m in meshes[:-1]])
    face_offsets = np.cumsum([0] + [len(m.faces) for m in meshes[:-1]])
    return Mesh(
        np.concatenate([m.positions for m in meshes]),
        np.concatenate([m.normals for m in meshes]),
        np.concatenate([m.uvs for m in meshes]),
        np.concatenate([m.faces + offset for m, offset in zip(meshes, vertex_offsets, strict=True)]).astype(np.int32),
        tuple(
            MeshPart(part.first_face + int(offset), part.face_count, part.material)
            for m, offset in zip(meshes, face_offsets, strict=True)
            for part in m.parts
        ),
    )


@dataclass(frozen=True)
class SceneMesh:
    """A whole place as triangles.

    Attributes:
        mesh: All triangles, frame ``map``.
        face_instance: M instance ids, one per face; 0 never occurs (it means sky or nothing in an id image).
        instances: Instance id -> object id; structure (walls, floors, frames) has names that start with ``structure/``.
        ceiling_faces: M booleans: faces that a top-down picture leaves out (ceilings and what hangs on them).
    """

    mesh: Mesh
    face_instance: NDArray[np.uint16]
    instances: dict[int, str]
    ceiling_faces: NDArray[np.bool_]
