"""What a map's files may hold: every number and array is checked here before anything is reckoned with it.

Nothing about a file is trusted: sizes are compared with the file's own before anything is read, so that a small file
cannot fill the memory, and what does not fit is refused by its name.
"""

from __future__ import annotations

import dataclasses
import io
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera, check_camera
from gst_ros.mapping.features import KINDS
from gst_ros.media.calibration import MOST_PIXELS, number_in

STATES = ("tracking", "weak", "lost")
FEATURES = "features_"
"""What the arrays of the relocaliser begin with."""
GRID = ("cells", "evidence", "colour", "tall")

_FAR_M = 1e6
_MOST_PIXELS = 100_000_000
_MOST_NOTES = 1000
_CELLS = (-1, 0, 100)

Arrays = dict[str, NDArray[Any]]


class _Kind(NamedTuple):
    """What an array must be: a type, and a length along each axis, by a word where arrays share it."""

    dtype: str
    shape: tuple[str | int, ...]


_ALWAYS = {
    "stamps_ns": _Kind("int64", ("frames",)),
    "poses": _Kind("float64", ("frames", 3)),
    "states": _Kind("uint8", ("frames",)),
    "parts": _Kind("int64", ("frames",)),
    "keyframe_stamps_ns": _Kind("int64", ("keyframes",)),
    "keyframe_poses": _Kind("float64", ("keyframes", 3)),
    "keyframe_parts": _Kind("int64", ("keyframes",)),
    "features_counts": _Kind("int64", ("views",)),
    "features_poses": _Kind("float64", ("views", 3)),
    "features_stamps_ns": _Kind("int64", ("views",)),
    "features_keypoints": _Kind("float32", ("features", 2)),
    "features_descriptors": _Kind("float16", ("features", "dimensions")),
    "features_scores": _Kind("float32", ("features",)),
    "features_inverse_depth": _Kind("float32", ("features",)),
    "features_inverse_std": _Kind("float32", ("features",)),
}
_WITH_GRID = {
    "cells": _Kind("int8", ("rows", "columns")),
    "evidence": _Kind("float32", ("rows", "columns")),
    "colour": _Kind("uint8", ("rows", "columns", 3)),
    "tall": _Kind("float32", ("rows", "columns")),
}
_AT_WILL = {
    "features_walls": _Kind("float64", (2,)),
    "features_floor_gray": _Kind("uint8", ("floor rows", "floor columns")),
    "features_floor_origin": _Kind("int64", (2,)),
}
_ALL = {**_ALWAYS, **_WITH_GRID, **_AT_WILL}


class MapValues(NamedTuple):
    """The checked values of a ``map.json``.

    Attributes:
        camera: Of the video.
        mount: How it was mounted.
        main_part: Number of the part that grid and features are of.
        notes: For people.
        kind: Name of the kind of features.
        dimensions: Length of a descriptor.
        likeness: From which dot product on descriptors may show the same.
        scales: Sizes at which pictures are looked at.
        resolution_m: Side of a cell; None where there is no grid.
        origin_m: Corner of the grid.
        arrays_sha256: Digest of the file of arrays; None in older maps.
    """

    camera: PinholeCamera
    mount: CameraMount
    main_part: int
    notes: tuple[str, ...]
    kind: str
    dimensions: int
    likeness: float
    scales: tuple[float, ...]
    resolution_m: float | None
    origin_m: tuple[float, float]
    arrays_sha256: str | None


def typed(arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Arrays as they are written: each with its type."""
    return {name: np.asarray(array, dtype=_ALL[name].dtype, order="C") for name, array in arrays.items()}


def checked_values(values: Mapping[str, Any]) -> MapValues:
    """The values of a ``map.json`` of the right format and version.

    Raises:
        MapError: One is missing, of a wrong type or out of range; it names the field.
        MediaError: The same.
    """
    numbers = _numbers(values, "camera", PinholeCamera)
    width, height = (_whole(numbers.pop(name), f"camera.{name}", 1, MOST_PIXELS) for name in ("width", "height"))
    camera = PinholeCamera(width, height, **numbers)
    mount = CameraMount(**_numbers(values, "mount", CameraMount))
    try:
        check_camera(camera, mount)
    except MapError as error:
        section = "mount" if error.field in values["mount"] else "camera"
        raise MapError(error.problem, field=f"{section}.{error.field}") from error
    if camera.width * camera.height > _MOST_PIXELS:
        raise MapError(f"pictures of {camera.width} x {camera.height} are too large", field="camera.width")
    kind = _mapping(values, "features")
    name = kind.get("kind")
    if not isinstance(name, str) or name not in KINDS or name == "auto":
        raise MapError("is no known kind of features", field="features.kind")
    scales = _list(kind.get("scales"), "features.scales", (1, 2))
    resolution_m: float | None = None
    origin_m = (0.0, 0.0)
    if "grid" in values:
        grid = _mapping(values, "grid")
        resolution_m = number_in(grid.get("resolution_m"), "grid.resolution_m", None, 0.001, 10.0)
        x, y = _list(grid.get("origin_m"), "grid.origin_m", (2, 2))
        origin_m = (
            number_in(x, "grid.origin_m", None, -_FAR_M, _FAR_M),
            number_in(y, "grid.origin_m", None, -_FAR_M, _FAR_M),
        )
    notes = _list(values.get("notes"), "notes", (0, _MOST_NOTES))
    digest = values.get("arrays_sha256")
    return MapValues(
        camera,
        mount,
        _whole(values.get("main_part"), "main_part", 0, 2**53),
        tuple(str(note) for note in notes),
        name,
        _whole(kind.get("dimensions"), "features.dimensions", 1, 4096),
        number_in(kind.get("likeness"), "features.likeness", None, 0.0, 1.0),
        tuple(number_in(scale, "features.scales", None, 0.05, 4.0) for scale in scales),
        resolution_m,
        origin_m,
        None if digest is None else str(digest),
    )


def read_arrays(data: bytes) -> Arrays:
    """Arrays of a ``.npz`` file, as plain data.

    A file of ours is not compressed. So no array can be larger than the file, whatever is written in its head.

    Args:
        data: The file.

    Raises:
        MapError: It is no such file, or damaged.
    """
    arrays: Arrays = {}
    name = ""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > len(data):
                raise MapError("the arrays are larger than the file that they are in")
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name not in _ALL:
                    raise MapError("is an array that no map has", field=name[:40])
                if name in arrays or member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
                    raise MapError("is there twice, compressed or encrypted", field=name)
                arrays[name] = _array(archive.read(member), name)
    except (OSError, ValueError, EOFError, RuntimeError, LookupError, struct.error, zipfile.BadZipFile) as error:
        raise MapError("the file of arrays is damaged, or none", field=name or None) from error
    except (ArithmeticError, MemoryError, zlib.error) as error:  # heads that lie about sizes
        raise MapError("the file of arrays is damaged", field=name or None) from error
    return arrays


def _array(data: bytes, name: str) -> NDArray[Any]:
    """One array of a ``.npy`` file whose head says what the rest is; only numbers are read."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise MapError("is of a format that no map has", field=name)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    expected = _ALL[name].dtype
    if dtype != np.dtype(expected):
        raise MapError(f"has type {dtype}, not {expected}", field=name)
    rest = memoryview(data)[stream.tell() :]
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize != len(rest):
        raise MapError("has another size than its head says", field=name)
    found: NDArray[Any] = np.frombuffer(rest, dtype).reshape(shape, order="F" if fortran else "C")
    return np.array(found, order="C")  # a copy: what lies on bytes cannot be changed


def check_arrays(arrays: Arrays, values: MapValues) -> None:
    """Refuse arrays that do not fit each other, the values beside them, or what such arrays may hold.

    Raises:
        MapError: It names the array.
    """
    kinds = {**_ALWAYS, **({} if values.resolution_m is None else _WITH_GRID)}
    kinds |= {name: kind for name, kind in _AT_WILL.items() if name in arrays}
    for name in kinds:
        if name not in arrays:
            raise MapError("is missing", field=name)
    for name, array in arrays.items():
        if name not in kinds:
            raise MapError("is there, but no grid", field=name)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise MapError("holds something that is no number", field=name)
    lengths: dict[str, int] = {"dimensions": values.dimensions}
    for name, kind in kinds.items():
        array = arrays[name]
        known = tuple(lengths.get(n, n) if isinstance(n, str) else n for n in kind.shape)
        fits = array.ndim == len(known) and all(
            isinstance(n, str) or n == m for n, m in zip(known, array.shape, strict=True)
        )
        if not fits and not (array.size == 0 and not array.shape[0] and "dimensions" in kind.shape):
            shape, wanted = (", ".join(str(n) for n in lengths_of) for lengths_of in (array.shape, known))
            raise MapError(f"has shape ({shape}), not ({wanted})", field=name)
        for word, length in zip(kind.shape, array.shape, strict=True):
            if isinstance(word, str):
                lengths.setdefault(word, length)
    for word, name in (("frames", "stamps_ns"), ("keyframes", "keyframe_stamps_ns"), ("rows", "cells")):
        if lengths.get(word) == 0 or (word == "rows" and lengths.get("columns") == 0):
            raise MapError("is empty", field=name)
    for name in ("poses", "keyframe_poses", "features_poses"):
        _within(arrays, name, -_FAR_M, _FAR_M)
    for name, low, high in (("features_walls", 0.0, 7.0), ("features_floor_origin", -_FAR_M, _FAR_M)):
        if name in arrays:
            _within(arrays, name, low, high)
    _within(arrays, "states", 0, len(STATES) - 1)
    for name in ("parts", "keyframe_parts"):
        _within(arrays, name, 0, 2**53)
    _within(arrays, "features_counts", 0, lengths["features"])
    if arrays["features_counts"].sum() != lengths["features"]:
        raise MapError("does not sum up to the number of features", field="features_counts")
    for name in ("stamps_ns", "keyframe_stamps_ns"):
        if (np.diff(arrays[name]) <= 0).any() or arrays[name][0] < 0:
            raise MapError("does not go forward", field=name)
    for name, those in (("keyframe_stamps_ns", "stamps_ns"), ("features_stamps_ns", "keyframe_stamps_ns")):
        if not np.isin(arrays[name], arrays[those]).all():
            raise MapError(f"has times that are not in {those}", field=name)
    if values.main_part not in arrays["parts"]:
        raise MapError(f"no frame is in part {values.main_part}", field="main_part")
    if values.resolution_m is not None and not np.isin(arrays["cells"], _CELLS).all():
        raise MapError("holds other values than -1, 0 and 100", field="cells")


def _within(arrays: Arrays, name: str, low: float, high: float) -> None:
    array = arrays[name]
    if ((array < low) | (array > high)).any():
        raise MapError(f"holds values that are not between {low:g} and {high:g}", field=name)


def _numbers(values: Mapping[str, Any], section: str, kind: type) -> dict[str, float]:
    """The fields of a dataclass of numbers."""
    given, names = _mapping(values, section), [field.name for field in dataclasses.fields(kind)]
    for name in (*names, *given):
        if name not in given or name not in names:
            raise MapError("is missing" if name not in given else "is not known", field=f"{section}.{name}")
    return {name: number_in(given[name], f"{section}.{name}") for name in names}


def _mapping(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = values.get(name)
    if not isinstance(found, Mapping):
        raise MapError("is missing, or no mapping of names to values", field=name)
    return found


def _list(found: Any, name: str, lengths: tuple[int, int]) -> list[Any]:
    if not isinstance(found, list) or not lengths[0] <= len(found) <= lengths[1]:
        raise MapError("is missing, or no list of as many values as it takes", field=name)
    return found


def _whole(found: Any, name: str, low: int, high: int) -> int:
    number = number_in(found, name, None, low, high)
    if number != int(number):
        raise MapError(f"{number:g} is no whole number", field=name)
    return int(number)
