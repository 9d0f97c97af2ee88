"""Wavefront OBJ and MTL files of a furniture catalogue into meshes at their real size.

Only what these catalogues use is read: triangles and polygons, normals, texture coordinates, groups by material, and of
materials the colours, the diffuse texture and the opacity. Files are untrusted: they are parsed as text and decoded as
images, and a number out of range is an error, not a crash.
"""

from __future__ import annotations

import math
import posixpath
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import SceneError
from gst_ros.scenes.rendering.mesh import Material, Mesh, MeshPart, merge
from gst_ros.scenes.rendering.simplify import (
    leaves,
    simplified,
    simplified_textured,
    thinned,
    unique_rows,
    vertex_normals,
)

GLASS_OPACITY = 0.35
"""Parts more transparent than this are left out of colour, depth and ids alike: a camera looks through them."""

MAX_FACES = 6000
"""Models are reduced to about this many triangles."""
BEYOND_BOX_M = 0.005
"""So far may a simplified surface lie outside its model's box."""
FOLIAGE_FACTOR = 4.0
"""Leaves may be so many times more than that."""
TEXTURED_FACTOR = 2.0
"""Textured parts may be so many times more, because seams cost looks."""
MAX_TEXTURE_PIXELS = 512
"""Larger textures are shrunk: the renderer keeps them at this size."""
MOST_REPEATS = 1e4
"""Texture coordinates beyond this are taken for damage."""

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
    """The contents of one OBJ file as arrays."""

    def __init__(self, zipped: zipfile.ZipFile, member: str) -> None:
        self._zip = zipped
        self._folder = posixpath.dirname(member)
        self._member = member
        self.materials: dict[str, Material] = {}
        self.transparent: set[str] = set()
        self.positions = np.zeros((0, 3))
        self.uvs = np.zeros((0, 2))
        self.normals = np.zeros((0, 3))
        self.corners: dict[str, NDArray[np.int64]] = {}
        """Per material, three rows (indices of position, texture coordinate and normal) for each triangle."""

    def read(self) -> None:
        numbers: dict[str, list[str]] = {"v": [], "vt": [], "vn": []}
        faces: dict[str, list[str]] = {}
        run = faces.setdefault("", [])
        for line in _plain_lines(self._zip.read(self._member)):
            word, _, rest = line.partition(" ")
            if word in numbers:
                numbers[word].append(rest)
            elif word == "f":
                if "-" in rest:  # counted back from the last one so far
                    rest = _absolute(rest, [len(numbers[kind]) for kind in ("v", "vt", "vn")])
                run.append(rest)
            elif word == "usemtl":
                run = faces.setdefault(rest.strip(), [])
            elif word == "mtllib":
                self._read_materials(posixpath.join(self._folder, rest.strip()))
        self.positions = _table(numbers["v"], 3)
        self.uvs = _table(numbers["vt"], 2)
        # Some models hold numbers of 10^9 here, whose differences from pixel to pixel overflow in a renderer.
        self.uvs[~(np.abs(self.uvs) < MOST_REPEATS)] = 0.0
        self.normals = _table(numbers["vn"], 3)
        counts = (len(self.positions), len(self.uvs), len(self.normals))
        self.corners = {name: _triangles(lines, counts) for name, lines in faces.items() if lines}

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
        if image is None:
            return None
        height, width = image.shape[:2]
        if max(height, width) > MAX_TEXTURE_PIXELS:
            size = (min(width, MAX_TEXTURE_PIXELS), min(height, MAX_TEXTURE_PIXELS))
            image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        return np.ascontiguousarray(image[:, :, ::-1]).astype(np.uint8)


def _plain_lines(data: bytes) -> Iterator[str]:
    for line in data.decode("latin-1").replace("\\\n", " ").replace("\t", " ").splitlines():
        line = line.strip()
        if line and line[0] != "#":
            yield line


def _lines(data: bytes) -> Iterator[list[str]]:
    return (line.split() for line in _plain_lines(data))


def _table(lines: list[str], columns: int) -> NDArray[np.float64]:
    """The first numbers of each line; all lines at once when they are equally long, as nearly always."""
    if not lines:
        return np.zeros((0, columns))
    numbers = np.array(" ".join(lines).split(), np.float64)
    width, rest = divmod(len(numbers), len(lines))
    if rest or width < columns or any(len(line.split()) != width for line in lines[:: max(1, len(lines) // 64)]):
        return np.array([[float(v) for v in line.split()[:columns]] for line in lines])
    return np.ascontiguousarray(numbers.reshape(len(lines), width)[:, :columns])


def _absolute(rest: str, counts: list[int]) -> str:
    """A face's corners with indices that are counted from the end replaced by plain ones."""
    words = []
    for word in rest.split():
        parts = word.split("/")
        plain = [
            str(count + 1 + int(part)) if part.startswith("-") else part
            for part, count in zip(parts, counts, strict=False)
        ]
        words.append("/".join(plain))
    return " ".join(words)


def _triangles(lines: list[str], counts: tuple[int, int, int]) -> NDArray[np.int64]:
    """Corners of triangles, three rows each, from faces of any number of corners.

    Raises:
        ValueError: An index is out of range or no number.
    """
    words = " ".join(lines).split()
    sizes = np.array([len(line.split()) for line in lines])
    slashes = np.array([line.count("/") for line in lines])
    text = " ".join(words).replace("//", "/0/")
    columns = 1 + int(slashes[0]) // int(max(1, sizes[0]))
    if columns > 3 or (slashes != (columns - 1) * sizes).any():
        padded = ("/".join((word.replace("//", "/0/") + "/0/0").split("/")[:3]) for word in words)
        text, columns = " ".join(padded), 3
    indices = np.zeros((len(words), 3), np.int64)
    indices[:, :columns] = np.array(text.replace("/", " ").split(), np.int64).reshape(len(words), columns)
    indices -= 1
    if len(indices) and ((indices[:, 0] < 0).any() or (indices < -1).any() or (indices >= counts).any()):
        raise ValueError("an index of a face is out of range")
    first = np.cumsum(sizes) - sizes
    each = np.maximum(sizes - 2, 0)  # triangles of a fan
    start = np.repeat(first, each)
    step = np.arange(len(start)) - np.repeat(np.cumsum(each) - each, each)
    fan = np.stack([start, start + step + 1, start + step + 2], axis=1)
    return np.asarray(indices[fan.ravel()])


def _assemble(reader: _Reader, rotation: NDArray[np.float64], size_m: tuple[float, float, float]) -> Mesh:
    positions = reader.positions @ rotation.T @ OBJECT_FROM_OBJ.T
    turn = OBJECT_FROM_OBJ @ rotation
    if not any(len(run) for run in reader.corners.values()):
        raise ValueError("it has no faces")
    used = np.unique(np.concatenate([run[:, 0] for run in reader.corners.values()]))
    # The catalogue's size is that of the whole model, glass included.
    low, high = positions[used].min(axis=0), positions[used].max(axis=0)
    extent = np.maximum(high - low, 1e-6)
    scale = np.array(size_m) / extent
    origin = np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]])
    points = (positions - origin) * scale

    solid = {name: run for name, run in reader.corners.items() if name not in reader.transparent}
    if not solid:
        solid = reader.corners  # a model of glass alone is better shown than lost
    total = sum(len(run) for run in solid.values()) / 3
    share = min(1.0, MAX_FACES / max(total, 1))
    pieces = []
    for name, run in solid.items():
        if len(run):
            material = reader.materials.get(name, Material())
            budget = math.ceil(share * len(run) / 3)
            pieces.append(_piece(points, reader, run, turn, scale, material, budget))
    mesh = merge(pieces)
    # Fewer triangles and larger leaves may reach out of the box that the catalogue, and all that is asked, goes by.
    half = np.array(size_m) / 2
    low, high = np.array([-half[0], -half[1], 0.0]), np.array([half[0], half[1], size_m[2]])
    inside = np.clip(mesh.positions, low - BEYOND_BOX_M, high + BEYOND_BOX_M)
    return replace(mesh, positions=inside.astype(np.float32))


def _piece(
    points: NDArray[np.float64],
    reader: _Reader,
    corners: NDArray[np.int64],
    turn: NDArray[np.float64],
    scale: NDArray[np.float64],
    material: Material,
    budget: int,
) -> Mesh:
    """The faces of one material, no more than about ``budget``."""
    mesh = _exact(points, reader, corners, turn, scale, material)
    if len(mesh.faces) <= max(budget, 200):
        return mesh
    keep = budget / len(mesh.faces)
    piece = leaves(mesh.positions, mesh.faces)
    if piece is not None:
        return thinned(mesh, piece, min(1.0, FOLIAGE_FACTOR * keep))
    if material.texture is None:
        return simplified(mesh.positions, mesh.faces, material, keep)
    return simplified_textured(mesh, min(1.0, TEXTURED_FACTOR * keep))


def _exact(
    points: NDArray[np.float64],
    reader: _Reader,
    corners: NDArray[np.int64],
    turn: NDArray[np.float64],
    scale: NDArray[np.float64],
    material: Material,
) -> Mesh:
    first, indices = unique_rows(corners)
    unique = corners[first]
    faces = indices.reshape(-1, 3).astype(np.int32)
    positions = points[unique[:, 0]].astype(np.float32)
    if len(reader.uvs) and (unique[:, 1] >= 0).any():
        uvs = reader.uvs[np.maximum(unique[:, 1], 0)].astype(np.float32)
    else:
        uvs = np.zeros((len(unique), 2), np.float32)
    if len(reader.normals) and (unique[:, 2] >= 0).all():
        normals = reader.normals[unique[:, 2]] @ turn.T / scale
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        flat = vertex_normals(positions, faces)
        normals = np.where(length > 1e-9, normals / np.maximum(length, 1e-9), flat).astype(np.float32)
    else:
        positions, uvs = positions[faces.ravel()], uvs[faces.ravel()]
        faces = np.arange(len(positions), dtype=np.int32).reshape(-1, 3)
        normals = vertex_normals(positions, faces)
    return Mesh(positions, normals, uvs, faces, (MeshPart(0, len(faces), material),))
