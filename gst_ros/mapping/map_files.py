"""Maps on disk: a folder of its own for each.

    MAP/map.json         format, version, camera, mount, grid's place, notes
        arrays.npz       poses, grid, features and their depths
        keyframes/*.jpg  the pictures
        map.png          the map with the walk, for people
        trajectory.tum   the camera's poses, for other tools

A map is written whole or not at all: into a folder beside it that is renamed at the end. Files are read as data only;
nothing in them is executed or unpickled, and all of it is checked (:mod:`gst_ros.mapping.map_schema`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.errors import ConfigError, DiskError, MediaError
from gst_ros.mapping.backend import Trajectory
from gst_ros.mapping.camera import MapError
from gst_ros.mapping.features import FeatureKind, Features, Matches, open_features
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.map_schema import (
    FEATURES,
    GRID,
    STATES,
    Arrays,
    MapValues,
    check_arrays,
    checked_values,
    read_arrays,
    typed,
)
from gst_ros.mapping.picture import draw_map
from gst_ros.mapping.relocalise import Relocaliser
from gst_ros.mapping.spatial_map import MapKeyframe, SpatialMap
from gst_ros.mapping.trajectory_files import write_tum

FORMAT = "gst_ros map"
VERSION = 1

_FILES = ("map.json", "arrays.npz", "map.png", "trajectory.tum")
_PICTURES = "keyframes"
_MOST_JSON_BYTES = 1 << 24
_MOST_JPEG_BYTES = 1 << 26
_REMEDY = "make the map anew with 'gst map'"


def save_map(place: SpatialMap, folder: Path) -> None:
    """Write a map; one that is there already is replaced.

    Args:
        place: The map.
        folder: Its folder.

    Raises:
        MapError: The folder cannot become the map's: see :func:`check_target`.
        DiskError: The disk is full or fails; a map that was there before is kept.
    """
    folder = check_target(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
            new, old = Path(scratch) / "new", Path(scratch) / "old"
            _write(place, new)
            if not folder.exists():
                os.replace(new, folder)
                return
            os.replace(folder, old)
            try:
                os.replace(new, folder)
            except OSError:
                os.replace(old, folder)
                raise
    except OSError as error:
        raise _disk_error(error, folder) from error


def check_target(folder: Path) -> Path:
    """Make sure that a map can be written to a folder, before the work of making it.

    Args:
        folder: Where the map shall be: nothing, an empty folder, or a map, of which nothing but a map's own files
            would be replaced.

    Returns:
        The same folder, without links on the way.

    Raises:
        MapError: Something else is there.
        DiskError: Nothing can be written there.
    """
    try:
        target = folder.resolve()
        if target == Path.cwd():
            raise MapError("is the folder you are in", file=folder, remedy="give a new folder")
        if target.exists():
            _check_replaceable(target, folder)
        above = next(parent for parent in target.parents if parent.exists())
        if not above.is_dir():
            raise MapError(f"'{above.name}' is a file, not a folder", file=folder, remedy="give another folder")
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=above):
            pass
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise _disk_error(error, folder) from error
    return target


def _check_replaceable(target: Path, folder: Path) -> None:
    if not target.is_dir():
        raise MapError("is something else than a folder", file=folder, remedy="give another name")
    there = sorted(os.listdir(target))
    if there and "map.json" not in there:
        raise MapError("holds something else than a map", file=folder, remedy="give another folder")
    foreign = [
        name for name in there if name not in (*_FILES, _PICTURES) or (target / name).is_dir() != (name == _PICTURES)
    ]
    if _PICTURES in there and not foreign:
        foreign = [
            f"{_PICTURES}/{name}" for name in os.listdir(target / _PICTURES) if not re.fullmatch(r"\d{6,}\.jpg", name)
        ]
    if foreign:
        raise MapError(
            f"holds something else than a map too: '{foreign[0]}'",
            file=folder,
            remedy="move that away, or give another folder",
        )


def _disk_error(error: Exception, folder: Path) -> DiskError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return DiskError(
        f"the map cannot be written: {reason}", file=folder, remedy="make room there, or give another folder"
    )


def load_map(folder: Path) -> SpatialMap:
    """Read a map.

    Args:
        folder: What :func:`save_map` wrote.

    Raises:
        MapError: It is no map, one of another version, or damaged.
    """
    if folder.is_file():
        raise MapError("is a file", file=folder, remedy="give the folder that 'gst map' wrote")
    file = folder / "map.json"
    with _damage(file):
        text = _bytes(file, _MOST_JSON_BYTES).decode("utf-8")
        try:
            values = json.loads(text)
        except RecursionError as error:
            raise MapError("lists in lists without end") from error
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise MapError("is no map", file=file, remedy=_REMEDY)
    if values.get("version") != VERSION or isinstance(values["version"], bool):
        problem = f"has version {repr(values.get('version'))[:20]}, this program reads {VERSION}"
        raise MapError(problem, file=file, field="version", remedy=_REMEDY)
    with _damage(file):
        checked = checked_values(values)
    with _damage(folder / "arrays.npz"):
        data = _bytes(folder / "arrays.npz")
        if checked.arrays_sha256 not in (None, hashlib.sha256(data).hexdigest()):
            raise MapError("belongs to another map, or was changed")
        arrays = read_arrays(data)
        check_arrays(arrays, checked)
        relocaliser = _relocaliser(checked, arrays, folder)
    return _read(checked, arrays, relocaliser, folder)


@contextlib.contextmanager
def _damage(file: Path) -> Iterator[None]:
    """Whatever is wrong with a file is one error that names it."""
    try:
        yield
    except FileNotFoundError as error:
        raise MapError("is not there", file=file, remedy="give a folder that 'gst map' wrote") from error
    except (MapError, MediaError) as error:
        raise MapError(f"the map is damaged: {error.problem}", file=file, field=error.field, remedy=_REMEDY) from error
    except OSError as error:
        raise MapError(f"cannot be read: {error.strerror or error}", file=file, remedy="check the path") from error
    except json.JSONDecodeError as error:
        problem = f"the map is damaged: no JSON (line {error.lineno}: {error.msg})"
        raise MapError(problem, file=file, remedy=_REMEDY) from error
    except UnicodeDecodeError as error:
        raise MapError("the map is damaged: no text", file=file, remedy=_REMEDY) from error
    except (ValueError, ArithmeticError, LookupError, MemoryError, cv2.error) as error:
        raise MapError("the map is damaged: its parts do not fit together", file=file, remedy=_REMEDY) from error


def _bytes(file: Path, most: int | None = None) -> bytes:
    """A whole file; only a regular one, which has an end."""
    if file.exists() and not file.is_file():
        raise MapError("no regular file")
    with file.open("rb") as stream:
        data = stream.read(-1 if most is None else most + 1)
    if most is not None and len(data) > most:
        raise MapError("too large")
    return data


def _write(place: SpatialMap, folder: Path) -> None:
    (folder / _PICTURES).mkdir(parents=True)
    for number, keyframe in enumerate(place.keyframes):
        (folder / _PICTURES / f"{number:06d}.jpg").write_bytes(keyframe.jpeg)
    np.savez(folder / "arrays.npz", **_arrays(place))  # type: ignore[arg-type]
    kind = place.relocaliser.kind
    values: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "camera": asdict(place.camera),
        "mount": asdict(place.mount),
        "main_part": place.main_part,
        "notes": list(place.notes),
        "features": {
            "kind": kind.name,
            "dimensions": kind.dimensions,
            "likeness": kind.likeness,
            "scales": list(kind.scales),
        },
        "arrays_sha256": hashlib.sha256((folder / "arrays.npz").read_bytes()).hexdigest(),
    }
    if place.grid is not None:
        values["grid"] = {"resolution_m": place.grid.resolution_m, "origin_m": list(place.grid.origin_m)}
    (folder / "map.json").write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    write_tum(place, folder / "trajectory.tum")
    done, png = cv2.imencode(".png", cv2.cvtColor(draw_map(place), cv2.COLOR_RGB2BGR))
    if not done:
        raise OSError("map.png cannot be made")
    (folder / "map.png").write_bytes(png.tobytes())


def _arrays(place: SpatialMap) -> Arrays:
    trajectory, keyframes = place.trajectory, place.keyframes
    arrays: Arrays = {
        "stamps_ns": trajectory.stamps_ns,
        "poses": trajectory.poses,
        "states": np.array([STATES.index(state) for state in trajectory.states], np.uint8),
        "parts": trajectory.parts,
        "keyframe_stamps_ns": np.array([keyframe.stamp_ns for keyframe in keyframes], np.int64),
        "keyframe_poses": np.array([keyframe.pose for keyframe in keyframes]).reshape(-1, 3),
        "keyframe_parts": np.array([keyframe.part for keyframe in keyframes], np.int64),
    }
    arrays |= {f"{FEATURES}{name}": array for name, array in place.relocaliser.arrays().items()}
    if place.grid is not None:
        arrays |= {name: getattr(place.grid, name) for name in GRID}
    return typed(arrays)


def _read(values: MapValues, arrays: Arrays, relocaliser: Relocaliser, folder: Path) -> SpatialMap:
    states = tuple(STATES[state] for state in arrays["states"])
    trajectory = Trajectory(arrays["stamps_ns"], arrays["poses"], states, arrays["parts"])
    stamps, poses, parts = (arrays[f"keyframe_{name}"] for name in ("stamps_ns", "poses", "parts"))
    with _damage(folder / _PICTURES):
        pictures = sum(name.endswith(".jpg") for name in os.listdir(folder / _PICTURES))
        if pictures != len(stamps):
            raise MapError(f"holds {pictures} pictures for {len(stamps)} keyframes")
    keyframes = tuple(
        MapKeyframe(int(stamps[k]), poses[k], int(parts[k]), _jpeg(folder / _PICTURES / f"{k:06d}.jpg"))
        for k in range(len(stamps))
    )
    grid = None
    if values.resolution_m is not None:
        cells, evidence, colour, tall = (arrays[name] for name in GRID)
        grid = OccupancyGrid(cells, values.resolution_m, values.origin_m, evidence, colour, tall)
    return SpatialMap(
        values.camera, values.mount, trajectory, keyframes, grid, relocaliser, values.main_part, values.notes
    )


def _jpeg(file: Path) -> bytes:
    with _damage(file):
        data = _bytes(file, _MOST_JPEG_BYTES)
        if not data.startswith(b"\xff\xd8\xff") or b"\xff\xd9" not in data[-64:]:
            raise MapError("no JPEG picture, or cut off")
    return data


def _relocaliser(values: MapValues, arrays: Arrays, folder: Path) -> Relocaliser:
    kind = _Deferred(values.kind, values.dimensions, values.likeness, values.scales, folder)
    relocaliser = Relocaliser(values.camera, values.mount, kind=kind)
    own = {name[len(FEATURES) :]: array for name, array in arrays.items() if name.startswith(FEATURES)}
    relocaliser.restore(own)
    return relocaliser


class _Deferred:
    """Features of a kind that is opened when it is first needed: a map can be looked at where it is not installed."""

    def __init__(self, name: str, dimensions: int, likeness: float, scales: tuple[float, ...], folder: Path) -> None:
        self.name, self.dimensions, self.likeness, self.scales = name, dimensions, likeness, scales
        self._folder = folder
        self._opened: FeatureKind | None = None

    def extract(self, image: NDArray[np.uint8], most: int, mask: NDArray[np.uint8] | None = None) -> Features:
        return self._kind().extract(image, most, mask)

    def match(self, query: Features, others: Sequence[Features], quick: bool = False) -> list[Matches]:
        return self._kind().match(query, others, quick)

    def _kind(self) -> FeatureKind:
        if self._opened is None:
            try:
                opened = open_features(self.name)
            except ConfigError as error:
                problem = f"the map's features are of the kind {self.name}: {error.problem}"
                raise MapError(problem, file=self._folder, remedy=error.remedy) from error
            if opened.dimensions != self.dimensions:
                problem = f"{self.name} has {opened.dimensions} numbers, not {self.dimensions}"
                raise MapError(problem, file=self._folder, field="features.dimensions", remedy=_REMEDY)
            self._opened = opened
        return self._opened
