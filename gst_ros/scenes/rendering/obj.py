"""Wavefront OBJ and MTL files of a furniture catalogue into meshes at their real size.

Only what these catalogues use is read: triangles and polygons, normals, texture coordinates, groups by material, and of
materials the colours, the diffuse texture and the opacity. Files are untrusted: they are parsed as text and decoded as
images, and a number out of range is an error, not a crash.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import SceneError
from gst_ros.scenes.rendering.mesh import Floats, Material, Mesh, MeshPart

GLASS_OPACITY = 0.35
"""Parts more transparent than this are left out of colour, depth and ids alike: a camera looks through them."""

MAX_FACES = 6000
"""Models without textures are simplified to about this many triangles."""

# OBJ has Y up and the front at +Z; the object frame has x forward, y left, z up.
OBJECT_FROM_OBJ = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def load_obj(archive: Path, member: str, rotation: tuple[float, ...], size_m: tuple[float, float, float]) -> Mesh:
    """Read one model.

    Args:
        archive: The catalogue, a zip file.
        member: The OBJ file in it.
        rotation: Row-major 3 x 3 rotation that the catalogue applies first.
        size_m: Depth, width and height that the model's box is scaled to.

    Returns:
        The mesh in the object frame, origin at the centre of the footprint, lowest point at z = 0.

    Raises:
        SceneError: When a file is missing or damaged.
    """
    try:
        with zipfile.ZipFile(archive) as zipped:
            reader = _Reader(zipped, member)
            reader.read()
            return _assemble(reader, np.array(rotation).reshape(3, 3), size_m)
    except (OSError, KeyError, ValueError, IndexError, zipfile.BadZipFile) as error:
        raise SceneError(f"damaged furniture model: {error!r}", file=f"{archive}:{member}") from error


class _Reader:
    """Tokens of one OBJ file as arrays."""

    def __init__(self, zipped: zipfile.ZipFile, member: str) -> None:
        self._zip = zipped
        self._folder = posixpath.dirname(member)
        self._member = member
        self.materials: dict[str, Material] = {}
        self.transparent: set[str] = set()
        self.positions: list[list[float]] = []
        self.uvs: list[list[float]] = []
        self.normals: list[list[float]] = []
        self.corners: dict[str, list[tuple[int, int, int]]] = {}  # material -> flat list of triangle corners

    def read(self) -> None:
        material = ""
        for words in _lines(self._zip.read(self._member)):
            match words[0]:
                case "v":
                    self.positions.append([float(v) for v in words[1:4]])
                case "vt":
                    self.uvs.append([float(v) for v in words[1:3]])
                case "vn":
                    self.normals.append([float(v) for v in words[1:4]])
                case "usemtl":
                    material = " ".join(words[1:])
                case "mtllib":
                    self._read_materials(posixpath.join(self._folder, " ".join(words[1:])))
                case "f":
                    corners = [self._corner(word) for word in words[1:]]
                    run = self.corners.setdefault(material, [])
                    for i in range(1, len(corners) - 1):
                        run += (corners[0], corners[i], corners[i + 1])
                case _:
                    pass

    def _corner(self, word: str) -> tuple[int, int, int]:
        parts = [*word.split("/"), "", ""][:3]
        counts = (len(self.positions), len(self.uvs), len(self.normals))
        result = []
        for part, count in zip(parts, counts, strict=True):
            index = int(part) if part else 0
            index = index - 1 if index > 0 else count + index if index < 0 else -1
            if not -1 <= index < count:
                raise ValueError(f"index {part} of a face is out of range")
            result.append(index)
        return result[0], result[1], result[2]

    def _read_materials(self, member: str) -> None:
        if member not in self._zip.namelist():
            return
        name, values = "", dict[str, list[str]]()
        for words in [*_lines(self._zip.read(member)), ["newmtl", ""]]:
            if words[0] == "newmtl":
                if values:
                    self._add_material(name, values)
                name, values = " ".join(words[1:]), {}
            else:
                values[words[0]] = words[1:]

    def _add_material(self, name: str, values: dict[str, list[str]]) -> None:
        opacity = float(values["d"][-1]) if values.get("d") else 1.0
        if opacity < GLASS_OPACITY:
            self.transparent.add(name)
        diffuse = [float(v) for v in values.get("Kd", ["0.8"] * 3)[:3]]
        specular = [float(v) for v in values.get("Ks", ["0"] * 3)[:3]]
        shininess = float(values.get("Ns", ["20"])[0])
        texture = self._texture(values["map_Kd"][-1]) if values.get("map_Kd") else None
        if texture is not None:
            diffuse = [1.0, 1.0, 1.0]  # the viewers of these catalogues show the texture unmodulated
        red, green, blue = (min(1.0, max(0.0, v)) for v in diffuse)
        gloss = 0.5 * min(1.0, sum(specular) / 3)
        self.materials[name] = Material((red, green, blue), texture, gloss, min(200.0, max(4.0, shininess)))

    def _texture(self, name: str) -> NDArray[np.uint8] | None:
        import cv2

        member = posixpath.join(self._folder, name.replace("\\", "/"))
        if member not in self._zip.namelist():
            return None
        image = cv2.imdecode(np.frombuffer(self._zip.read(member), np.uint8), cv2.IMREAD_COLOR)
        return None if image is None else np.ascontiguousarray(image[:, :, ::-1]).astype(np.uint8)


def _lines(data: bytes) -> Iterator[list[str]]:
    for line in data.decode("latin-1").replace("\\\n", " ").splitlines():
        words = line.split()
        if words and not words[0].startswith("#"):
            yield words


def _assemble(reader: _Reader, rotation: NDArray[np.float64], size_m: tuple[float, float, float]) -> Mesh:
    positions = np.array(reader.positions, np.float64).reshape(-1, 3) @ rotation.T @ OBJECT_FROM_OBJ.T
    turn = OBJECT_FROM_OBJ @ rotation
    used = np.unique([c[0] for run in reader.corners.values() for c in run])
    if len(used) == 0:
        raise ValueError("it has no faces")
    # The catalogue's size is that of the whole model, glass included.
    low, high = positions[used].min(axis=0), positions[used].max(axis=0)
    extent = np.maximum(high - low, 1e-6)
    scale = np.array(size_m) / extent
    origin = np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]])
    points = (positions - origin) * scale

    solid = {name: run for name, run in reader.corners.items() if name not in reader.transparent}
    if not solid:
        solid = reader.corners  # a model of glass alone is better shown than lost
    total = sum(len(run) for run in solid.values()) // 3
    keep = min(1.0, MAX_FACES / max(total, 1))
    pieces = []
    for name, run in solid.items():
        corners = np.array(run, np.int64)
        material = reader.materials.get(name, Material())
        pieces.append(_piece(points, reader, corners, turn, scale, material, keep))
    from gst_ros.scenes.rendering.mesh import merge

    return merge(pieces)


def _piece(
    points: NDArray[np.float64],
    reader: _Reader,
    corners: NDArray[np.int64],
    turn: NDArray[np.float64],
    scale: NDArray[np.float64],
    material: Material,
    keep: float,
) -> Mesh:
    """The faces of one material."""
    if keep < 1.0 and material.texture is None and len(corners) > 3 * 200:
        return _simplified(points, corners, material, keep)
    unique, indices = np.unique(corners, axis=0, return_inverse=True)
    faces = indices.reshape(-1, 3).astype(np.int32)
    positions = points[unique[:, 0]].astype(np.float32)
    if reader.uvs and (unique[:, 1] >= 0).any():
        uvs = np.array(reader.uvs, np.float32)[np.maximum(unique[:, 1], 0)]
    else:
        uvs = np.zeros((len(unique), 2), np.float32)
    if reader.normals and (unique[:, 2] >= 0).all():
        normals = np.array(reader.normals, np.float64)[unique[:, 2]] @ turn.T / scale
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        flat = _vertex_normals(positions, faces)
        normals = np.where(length > 1e-9, normals / np.maximum(length, 1e-9), flat).astype(np.float32)
    else:
        positions, uvs = positions[faces.ravel()], uvs[faces.ravel()]
        faces = np.arange(len(positions), dtype=np.int32).reshape(-1, 3)
        normals = _vertex_normals(positions, faces)
    return Mesh(positions, normals, uvs, faces, (MeshPart(0, len(faces), material),))


def _simplified(points: NDArray[np.float64], corners: NDArray[np.int64], material: Material, keep: float) -> Mesh:
    """Fewer triangles, flat shaded where the model bends sharply.

    Vertices that meet are joined first: the files repeat them, and a simplifier would tear the seams open.
    """
    import fast_simplification  # type: ignore[import-untyped]

    used, indices = np.unique(corners[:, 0], return_inverse=True)
    grid = np.round(points[used] / 1e-4).astype(np.int64)
    _, first, joined = np.unique(grid, axis=0, return_index=True, return_inverse=True)
    faces = joined.ravel()[indices].reshape(-1, 3)
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])]
    vertices = points[used][first]
    if len(faces) > 60:
        reduction = float(np.clip(1.0 - keep, 0.0, 0.97))
        vertices, faces = fast_simplification.simplify(
            vertices.astype(np.float32), faces.astype(np.int32), target_reduction=reduction
        )
    return _creased(np.asarray(vertices, np.float32), np.asarray(faces, np.int32), material)


def _creased(vertices: Floats, faces: NDArray[np.int32], material: Material, crease_deg: float = 40.0) -> Mesh:
    """Smooth normals within a crease angle, separate vertices across it."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    face_normals = np.cross(b - a, c - a)
    area = np.linalg.norm(face_normals, axis=1, keepdims=True)
    unit = face_normals / np.maximum(area, 1e-12)
    corner_vertex = faces.ravel()
    corner_normal = np.repeat(unit, 3, axis=0)
    smooth = np.zeros_like(vertices)
    np.add.at(smooth, corner_vertex, np.repeat(face_normals, 3, axis=0))
    smooth /= np.maximum(np.linalg.norm(smooth, axis=1, keepdims=True), 1e-12)
    blended = smooth[corner_vertex]
    sharp = (blended * corner_normal).sum(axis=1) < np.cos(np.radians(crease_deg))
    normals = np.where(sharp[:, None], corner_normal, blended).astype(np.float32)
    positions = vertices[corner_vertex].astype(np.float32)
    flat_faces = np.arange(len(positions), dtype=np.int32).reshape(-1, 3)
    uvs = np.zeros((len(positions), 2), np.float32)
    return Mesh(positions, normals, uvs, flat_faces, (MeshPart(0, len(flat_faces), material),))


def _vertex_normals(positions: Floats, faces: NDArray[np.int32]) -> Floats:
    a, b, c = (positions[faces[:, i]] for i in range(3))
    face_normals = np.cross(b - a, c - a)
    normals = np.zeros_like(positions)
    for i in range(3):
        np.add.at(normals, faces[:, i], face_normals)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    up = np.array([[0.0, 0.0, 1.0]], np.float32)
    return np.where(length > 1e-12, normals / np.maximum(length, 1e-12), up).astype(np.float32)
