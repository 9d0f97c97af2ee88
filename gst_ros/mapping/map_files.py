"""Maps on disk: a folder of its own for each.

    MAP/map.json         format, version, camera, mount, grid's place, notes
        arrays.npz       poses, grid, features and their depths
        keyframes/*.jpg  the pictures

A map is written whole or not at all: into a folder beside it that is renamed at the end. Files are read as data only;
nothing in them is executed or unpickled.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.errors import DiskError
from gst_ros.mapping.backend import Trajectory
from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.mapping.features import FeatureKind, Features, Matches, open_features
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.relocalise import Relocaliser
from gst_ros.mapping.spatial_map import MapKeyframe, SpatialMap

FORMAT = "gst_ros map"
VERSION = 1
STATES = ("tracking", "weak", "lost")

_GRID = ("cells", "evidence", "colour", "tall")
_FEATURES = "features_"  # what the arrays of the relocaliser begin with
_REMEDY = "make the map anew with 'gst map'"
_Arrays = Mapping[str, NDArray[Any]]


def save_map(place: SpatialMap, folder: Path) -> None:
    """Write a map; one that is there already is replaced.

    Args:
        place: The map.
        folder: Its folder.

    Raises:
        MapError: The folder holds something else than a map.
        DiskError: The disk is full or fails; a map that was there before is kept.
    """
    if folder.exists() and not (folder / "map.json").is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise MapError("holds something else than a map", file=folder, remedy="give another folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
            new, old = Path(scratch) / "new", Path(scratch) / "old"
            _write(place, new)
            if folder.exists():
                os.replace(folder, old)
            os.replace(new, folder)
    except OSError as error:
        raise DiskError(f"the map cannot be written: {error.strerror or error}", file=folder) from error


def load_map(folder: Path) -> SpatialMap:
    """Read a map.

    Args:
        folder: What :func:`save_map` wrote.

    Raises:
        MapError: It is no map, one of another version, or damaged.
    """
    file = folder / "map.json"
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise MapError("is no map", file=file, remedy=_REMEDY)
        if values.get("version") != VERSION:
            problem = f"has version {values.get('version')!r}, this program reads {VERSION}"
            raise MapError(problem, file=file, field="version", remedy=_REMEDY)
        with np.load(folder / "arrays.npz", allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        return _read(values, arrays, folder)
    except FileNotFoundError as error:
        name = Path(error.filename or file)
        raise MapError("is not there", file=name, remedy="give a folder that 'gst map' wrote") from error
    except MapError as error:
        if error.file:
            raise
        raise MapError(error.problem, file=folder, field=error.field, remedy=_REMEDY) from error
    except KeyError as error:
        raise MapError("is missing", file=folder, field=str(error.args[0]), remedy=_REMEDY) from error
    except (OSError, ValueError, TypeError, IndexError, EOFError, RecursionError, zipfile.BadZipFile) as error:
        raise MapError(f"the map is damaged: {error}", file=folder, remedy=_REMEDY) from error


def _write(place: SpatialMap, folder: Path) -> None:
    (folder / "keyframes").mkdir(parents=True)
    for number, keyframe in enumerate(place.keyframes):
        (folder / "keyframes" / f"{number:06d}.jpg").write_bytes(keyframe.jpeg)
    arrays = _arrays(place)
    np.savez(folder / "arrays.npz", **arrays)  # type: ignore[arg-type]
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
    }
    if place.grid is not None:
        values["grid"] = {"resolution_m": place.grid.resolution_m, "origin_m": list(place.grid.origin_m)}
    (folder / "map.json").write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def _arrays(place: SpatialMap) -> dict[str, NDArray[Any]]:
    trajectory, keyframes = place.trajectory, place.keyframes
    arrays: dict[str, NDArray[Any]] = {
        "stamps_ns": trajectory.stamps_ns,
        "poses": trajectory.poses,
        "states": np.array([STATES.index(state) for state in trajectory.states], np.uint8),
        "parts": trajectory.parts,
        "keyframe_stamps_ns": np.array([keyframe.stamp_ns for keyframe in keyframes], np.int64),
        "keyframe_poses": np.array([keyframe.pose for keyframe in keyframes]).reshape(-1, 3),
        "keyframe_parts": np.array([keyframe.part for keyframe in keyframes], np.int64),
    }
    arrays |= {f"{_FEATURES}{name}": array for name, array in place.relocaliser.arrays().items()}
    if place.grid is not None:
        arrays |= {name: getattr(place.grid, name) for name in _GRID}
    return arrays


def _read(values: dict[str, Any], arrays: _Arrays, folder: Path) -> SpatialMap:
    camera, mount = PinholeCamera(**values["camera"]), CameraMount(**values["mount"])
    frames = len(arrays["stamps_ns"])
    trajectory = Trajectory(
        _checked(arrays, "stamps_ns", (frames,)),
        _checked(arrays, "poses", (frames, 3)),
        tuple(STATES[state] for state in _checked(arrays, "states", (frames,))),
        _checked(arrays, "parts", (frames,)),
    )
    stamps = arrays["keyframe_stamps_ns"]
    poses = _checked(arrays, "keyframe_poses", (len(stamps), 3))
    parts = _checked(arrays, "keyframe_parts", (len(stamps),))
    keyframes = tuple(
        MapKeyframe(int(stamps[k]), poses[k], int(parts[k]), (folder / "keyframes" / f"{k:06d}.jpg").read_bytes())
        for k in range(len(stamps))
    )
    grid = None
    if "grid" in values:
        x, y = (float(v) for v in values["grid"]["origin_m"])
        resolution = float(values["grid"]["resolution_m"])
        cells, evidence, colour, tall = (arrays[name] for name in _GRID)
        if not cells.shape == evidence.shape == tall.shape == colour.shape[:2] or colour.ndim != 3:
            raise ValueError("the grid's arrays differ in size")
        grid = OccupancyGrid(cells, resolution, (x, y), evidence, colour, tall)
    relocaliser = _relocaliser(values, arrays, camera, mount)
    notes = tuple(str(note) for note in values["notes"])
    return SpatialMap(camera, mount, trajectory, keyframes, grid, relocaliser, int(values["main_part"]), notes)


def _relocaliser(values: dict[str, Any], arrays: _Arrays, camera: PinholeCamera, mount: CameraMount) -> Relocaliser:
    known = values["features"]
    scales = tuple(float(scale) for scale in known["scales"])
    kind = _Deferred(str(known["kind"]), int(known["dimensions"]), float(known["likeness"]), scales)
    relocaliser = Relocaliser(camera, mount, kind=kind)
    own = {name[len(_FEATURES) :]: array for name, array in arrays.items() if name.startswith(_FEATURES)}
    relocaliser.restore(own)
    return relocaliser


def _checked(arrays: _Arrays, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of the expected shape, without anything that is no number.

    Raises:
        ValueError: It is of another shape.
    """
    array = arrays[name]
    if array.shape != shape:
        raise ValueError(f"'{name}' has shape {array.shape}, not {shape}")
    return array


class _Deferred:
    """Features of a kind that is opened when it is first needed: a map can be looked at where it is not installed."""

    def __init__(self, name: str, dimensions: int, likeness: float, scales: tuple[float, ...]) -> None:
        self.name, self.dimensions, self.likeness, self.scales = name, dimensions, likeness, scales
        self._opened: FeatureKind | None = None

    def extract(self, image: NDArray[np.uint8], most: int, mask: NDArray[np.uint8] | None = None) -> Features:
        return self._kind().extract(image, most, mask)

    def match(self, query: Features, others: Sequence[Features], quick: bool = False) -> list[Matches]:
        return self._kind().match(query, others, quick)

    def _kind(self) -> FeatureKind:
        if self._opened is None:
            self._opened = open_features(self.name)
        return self._opened
