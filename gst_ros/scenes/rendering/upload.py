"""A place's triangles, textures and materials in graphics memory, and which of its instances a camera can see."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.rendering.mesh import Material, SceneMesh

TEXTURE_PIXELS = 512
LAMP_BODY_PREFIX = "structure/lamp"
"""Instances so named cast no lamp shadow: a lamp does not shade itself."""
OUTER_GROUND = "structure/ground"


class Geometry:
    """Vertex and index buffers, sorted by instance so that one instance is one run of indices.

    Attributes:
        materials: All different materials, in the order that vertices refer to.
        instance: K instance ids.
        first: K positions of the instances' first index.
        count: K numbers of indices.
        low: K x 3 lower corners of the instances' boxes, frame ``map``.
        high: K x 3 upper corners.
        is_ceiling: K booleans, instances that a top-down picture leaves out.
        is_lamp_body: K booleans, instances that cast no lamp shadow.
        is_outer_ground: K booleans, the ground beyond the place.
    """

    def __init__(self, gl: Any, scene: SceneMesh) -> None:
        mesh = scene.mesh
        self._gl = gl
        self.materials: list[Material] = []
        # Materials are told apart by identity, not by value: comparing textures pixel by pixel would cost more.
        rank: dict[int, int] = {}
        face_material = np.zeros(len(mesh.faces), np.int64)
        for part in mesh.parts:
            if id(part.material) not in rank:
                rank[id(part.material)] = len(self.materials)
                self.materials.append(part.material)
            face_material[part.first_face : part.first_face + part.face_count] = rank[id(part.material)]

        order = np.lexsort((face_material, scene.face_instance))
        faces, face_material = mesh.faces[order], face_material[order]
        instance = scene.face_instance[order]
        # A vertex that two materials share becomes two.
        keys = faces.astype(np.int64) * len(self.materials) + face_material[:, None]
        unique, indices = np.unique(keys.ravel(), return_inverse=True)
        source, material = unique // len(self.materials), unique % len(self.materials)
        vertices = np.concatenate(
            [
                mesh.positions[source],
                mesh.normals[source],
                mesh.uvs[source],
                material[:, None].astype(np.float32),
            ],
            axis=1,
        ).astype(np.float32)
        self._vertices = gl.buffer(np.ascontiguousarray(vertices).tobytes())
        self._indices = gl.buffer(indices.astype(np.int32).tobytes())

        self.instance, start = np.unique(instance, return_index=True)
        ends = np.append(start[1:], len(faces))
        self.first, self.count = start * 3, (ends - start) * 3
        corners = mesh.positions[faces.ravel()]
        self.low = np.minimum.reduceat(corners, self.first, axis=0)
        self.high = np.maximum.reduceat(corners, self.first, axis=0)
        self.is_ceiling = np.logical_or.reduceat(scene.ceiling_faces[order], start)
        names = [scene.instances.get(int(i), "") for i in self.instance]
        self.is_lamp_body = np.array([name.startswith(LAMP_BODY_PREFIX) for name in names])
        self.is_outer_ground = np.array([name == OUTER_GROUND for name in names])

    def vertex_array(self, program: Any, *, positions_only: bool = False) -> Any:
        """Bind the buffers to a program."""
        layout = (
            ("3f 24x", "in_position")
            if positions_only
            else ("3f 3f 2f 1f", "in_position", "in_normal", "in_uv", "in_material")
        )
        return self._gl.vertex_array(program, [(self._vertices, *layout)], self._indices)

    def visible(
        self, clip: NDArray[np.float64], eye: NDArray[np.float64], hidden: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        """Instances whose box meets the view volume, nearest first.

        Args:
            clip: 4 x 4 clip-from-map matrix.
            eye: Where the camera is, frame ``map``.
            hidden: K booleans, instances to leave out, or None.
        """
        planes = np.concatenate([clip[3] + clip[:3], clip[3] - clip[:3]])  # 6 x 4, inside is positive
        reach = np.where(planes[:, None, :3] > 0, self.high[None], self.low[None])
        inside = ((reach * planes[:, None, :3]).sum(axis=2) + planes[:, None, 3] > 0).all(axis=0)
        if hidden is not None:
            inside &= ~hidden
        chosen = np.flatnonzero(inside)
        gap = np.linalg.norm(np.clip(eye, self.low[chosen], self.high[chosen]) - eye, axis=1)
        return chosen[np.argsort(gap, kind="stable")]


def upload_textures(gl: Any, materials: list[Material]) -> Any:
    """All textures in one mipmapped array; materials without one do not use it."""
    layers = [_fitted(texture) for texture in _textures(materials)]
    data = np.stack(layers) if layers else np.full((1, TEXTURE_PIXELS, TEXTURE_PIXELS, 3), 255, np.uint8)
    array = gl.texture_array((TEXTURE_PIXELS, TEXTURE_PIXELS, len(data)), 3, data.tobytes(), alignment=1)
    array.build_mipmaps()
    array.filter = (gl.LINEAR_MIPMAP_LINEAR, gl.LINEAR)
    # No anisotropy of OpenGL's own: Mesa's software renderer can loop for ever in it; the shader takes taps instead.
    array.repeat_x = array.repeat_y = True
    return array


def _textures(materials: list[Material]) -> list[NDArray[np.uint8]]:
    """The different textures, told apart by identity; tinted materials share theirs."""
    return list({id(m.texture): m.texture for m in materials if m.texture is not None}.values())


def _fitted(texture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A texture at the array's size, first row at v = 0."""
    import cv2

    if texture.shape[:2] != (TEXTURE_PIXELS, TEXTURE_PIXELS):
        shrinking = min(texture.shape[:2]) > TEXTURE_PIXELS
        how = cv2.INTER_AREA if shrinking else cv2.INTER_LINEAR
        texture = np.asarray(cv2.resize(texture, (TEXTURE_PIXELS, TEXTURE_PIXELS), interpolation=how), np.uint8)
    return np.ascontiguousarray(texture[::-1])


def upload_materials(gl: Any, materials: list[Material]) -> Any:
    """The table that the shader reads: two texels a material, linear colour and layer, then its look."""
    table = np.zeros((max(1, len(materials)), 2, 4), np.float32)
    layer_of = {id(texture): layer for layer, texture in enumerate(_textures(materials))}
    for row, material in enumerate(materials):
        linear = [c**2.2 for c in material.colour]
        table[row, 0] = [*linear, layer_of.get(id(material.texture), -1.0)]
        table[row, 1] = [material.specular, material.shininess, material.emissive, 0.0]
    texture = gl.texture((2, len(table)), 4, table.tobytes(), dtype="f4")
    texture.filter = (gl.NEAREST, gl.NEAREST)
    return texture
