"""Keyframes of relocalisation as plain arrays, to be saved with a map and read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.mapping.features import Features
from gst_ros.mapping.landmarks import Depths, View

_COLUMNS = {
    "keypoints": (np.float32, 2),
    "descriptors": (np.float16, None),
    "scores": (np.float32, 0),
    "inverse_depth": (np.float32, 0),
    "inverse_std": (np.float32, 0),
}


def pack(views: Sequence[View], depths: Sequence[Depths], stamps_ns: Sequence[int]) -> dict[str, NDArray[Any]]:
    """Arrays of keyframes: ``counts``, ``poses``, ``stamps_ns``, and one row per feature in the others."""
    parts: dict[str, list[NDArray[Any]]] = {
        "keypoints": [view.features.keypoints for view in views],
        "descriptors": [view.features.descriptors for view in views],
        "scores": [view.features.scores for view in views],
        "inverse_depth": [part.inverse_depth for part in depths],
        "inverse_std": [part.inverse_std for part in depths],
    }
    packed: dict[str, NDArray[Any]] = {
        "counts": np.array([len(view.features) for view in views], np.int64),
        "poses": np.array([view.pose for view in views], np.float64).reshape(-1, 3),
        "stamps_ns": np.array(stamps_ns, np.int64),
    }
    for name, (kind, width) in _COLUMNS.items():
        empty = np.zeros((0, width) if width else (0, 0) if width is None else 0)
        packed[name] = (np.concatenate(parts[name]) if views else empty).astype(kind)
    return packed


def unpack(
    arrays: Mapping[str, NDArray[Any]], camera: PinholeCamera, mount: CameraMount, dimensions: int
) -> tuple[list[View], list[Depths], list[int]]:
    """Views, depths and stamps of arrays that :func:`pack` has made.

    Args:
        arrays: From a file; nothing about them is trusted.
        camera: The camera of the keyframes' pictures, as they were turned.
        mount: Its height and tilt.
        dimensions: Length of a descriptor.

    Raises:
        MapError: They are not what ``pack`` makes.
    """
    names = ("counts", "poses", "stamps_ns", *_COLUMNS)
    missing = [name for name in names if name not in arrays]
    if missing:
        raise MapError(f"the map lacks {', '.join(missing)}", remedy="make the map anew")
    counts = _checked(arrays["counts"], "counts", "iu", (None,))
    rows = int(counts.sum())
    if (counts < 0).any():
        raise MapError("a keyframe has a negative number of features", field="counts", remedy="make the map anew")
    poses = _checked(arrays["poses"], "poses", "f", (len(counts), 3)).astype(np.float64)
    stamps = _checked(arrays["stamps_ns"], "stamps_ns", "iu", (len(counts),))
    wide = {"keypoints": (rows, 2), "descriptors": (rows, dimensions) if rows else (0, None)}
    found = {name: _checked(arrays[name], name, "f", wide.get(name, (rows,))) for name in _COLUMNS}
    if (found["inverse_std"] <= 0).any() or (found["inverse_depth"] <= 0).any():
        raise MapError("a depth is not positive", field="inverse_depth", remedy="make the map anew")
    ends = np.cumsum(counts)
    views, depths = [], []
    for pose, end, count in zip(poses, ends, counts, strict=True):
        part = slice(int(end - count), int(end))
        looks = found["descriptors"][part].astype(np.float32).reshape(-1, dimensions)
        features = Features(
            found["keypoints"][part].astype(np.float32),
            looks,
            found["scores"][part].astype(np.float32),
            camera.width,
            camera.height,
        )
        views.append(View(features, camera, mount, pose))
        depths.append(
            Depths(found["inverse_depth"][part].astype(np.float64), found["inverse_std"][part].astype(np.float64))
        )
    return views, depths, [int(stamp) for stamp in stamps]


def _checked(array: NDArray[Any], name: str, kinds: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    fits = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=False))
    if array.dtype.kind not in kinds or not fits or (array.dtype.kind == "f" and not np.isfinite(array).all()):
        raise MapError(f"shape {array.shape} or type {array.dtype} is wrong", field=name, remedy="make the map anew")
    return array
