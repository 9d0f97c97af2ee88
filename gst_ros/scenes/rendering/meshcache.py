"""Furniture meshes kept on disk: reading a model's text takes a hundred times longer than reading its arrays.

The files lie in the user's cache folder (``$XDG_CACHE_HOME/gst_ros/meshes``, else ``~/.cache/...``). They may be
deleted at any time, and who cannot write there still gets the meshes. A file belongs to one state of the catalogue and
of the code that reads it: its name is a hash of both.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gst_ros.scenes.rendering import mesh as mesh_module
from gst_ros.scenes.rendering import obj, simplify
from gst_ros.scenes.rendering.mesh import Material, Mesh, MeshPart

_ARRAYS = ("positions", "normals", "uvs", "faces")


def cached_mesh(
    arguments: tuple[Path, str, tuple[float, ...], tuple[float, float, float]], make: Callable[[], Mesh]
) -> Mesh:
    """A model's mesh from the cache, or made and put there.

    Args:
        arguments: Archive, member, rotation and size: all that the mesh depends on, besides the code.
        make: Makes it.

    Raises:
        SceneError: What ``make`` raises.
    """
    file = cache_folder() / f"{_key(arguments)}.npz"
    found = _read(file)
    if found is not None:
        return found
    mesh = make()
    _write(file, mesh)
    return mesh


def cache_folder() -> Path:
    """Where the meshes lie."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gst_ros" / "meshes"


def _key(arguments: tuple[Path, str, tuple[float, ...], tuple[float, float, float]]) -> str:
    archive, member, rotation, size_m = arguments
    state = archive.stat()
    text = "\x1f".join(map(repr, (archive.name, state.st_size, state.st_mtime_ns, member, rotation, size_m, _code())))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@lru_cache(maxsize=1)
def _code() -> str:
    """A hash of the code that makes meshes, and of the library that simplifies them."""
    import fast_simplification  # type: ignore[import-untyped]

    digest = hashlib.sha256(str(fast_simplification.__version__).encode())
    for module in (obj, simplify, mesh_module):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()


def _read(file: Path) -> Mesh | None:
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in _ARRAYS}
            parts = []
            for row in stored["parts"]:
                first, count, texture = (int(v) for v in row[:3])
                red, green, blue, specular, shininess, emissive, two_sided = (float(v) for v in row[3:])
                image = stored[f"texture{texture}"] if texture >= 0 else None
                look = (specular, shininess, emissive, bool(two_sided))
                parts.append(MeshPart(first, count, Material((red, green, blue), image, *look)))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None  # torn or foreign: it is made again and replaced
    return Mesh(**arrays, parts=tuple(parts))


def _write(file: Path, mesh: Mesh) -> None:
    rows, textures = [], dict[str, Any]()
    for part in mesh.parts:
        look = part.material
        number = -1
        if look.texture is not None:
            number = len(textures)
            textures[f"texture{number}"] = look.texture
        shine = (look.specular, look.shininess, look.emissive, float(look.two_sided))
        rows.append((part.first_face, part.face_count, number, *look.colour, *shine))
    arrays = {name: getattr(mesh, name) for name in _ARRAYS}
    part_file = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(part_file, "wb") as out:
            np.savez_compressed(out, parts=np.array(rows, np.float64).reshape(-1, 10), **arrays, **textures)
        part_file.replace(file)
    except OSError:
        part_file.unlink(missing_ok=True)  # no room or no right to write: go on without
