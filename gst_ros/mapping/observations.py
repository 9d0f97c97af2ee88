"""From keyframes and loops to the arrays of a bundle adjustment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.bundle import Bundle
from gst_ros.mapping.keyframes import Keyframe
from gst_ros.mapping.loops import Loop
from gst_ros.mapping.planar import Array, transform
from gst_ros.mapping.posegraph import Ties


def gather(
    keyframes: Sequence[Keyframe],
    poses: Array,
    loops: Sequence[Loop],
    rows: Mapping[int, int],
    ties: Ties,
    fixed: NDArray[np.bool_],
) -> Bundle:
    """All corners that two keyframes or more have seen, and all matches of loops.

    Args:
        keyframes: K of them.
        poses: K x 3 in ``map``, to begin with.
        loops: Between keyframes.
        rows: Row of a keyframe by its index.
        ties: Motions between poses (by rows).
        fixed: K, which poses stay as they are.
    """
    corners = [len(k.track_ids) for k in keyframes]
    ids = np.concatenate([k.track_ids for k in keyframes])
    pose_of = np.repeat(np.arange(len(keyframes)), corners)
    pixels = np.concatenate([k.pixels for k in keyframes])
    on_floor = np.concatenate([k.on_floor for k in keyframes])
    points = np.concatenate([_placed(pose, k.points) for pose, k in zip(poses, keyframes, strict=True)])
    _, number, counts = np.unique(ids, return_inverse=True, return_counts=True)
    keep = counts[number] >= 2
    used, point_of = np.unique(number[keep], return_inverse=True)
    pose_of, pixels, on_floor, points = pose_of[keep], pixels[keep], on_floor[keep], points[keep]
    # What the latest keyframe thought of a landmark is best: it has seen most of it.
    latest = np.zeros(len(used), dtype=np.int64)
    np.maximum.at(latest, point_of, np.arange(len(point_of)))

    all_points, all_floor = [points[latest]], [on_floor[latest]]
    all_poses, all_numbers, all_pixels = [pose_of], [point_of], [pixels]
    count = len(used)
    for loop in loops:
        n = len(loop.points)
        first, second = rows[loop.first], rows[loop.second]
        all_points.append(_placed(poses[first], loop.points))
        all_floor.append(loop.on_floor)
        all_poses += [np.full(n, first), np.full(n, second)]
        all_numbers += [np.arange(count, count + n)] * 2
        all_pixels += [loop.pixels_first, loop.pixels_second]
        count += n
    return Bundle(
        poses.copy(),
        np.concatenate(all_points),
        np.concatenate(all_poses),
        np.concatenate(all_numbers),
        np.concatenate(all_pixels),
        np.concatenate(all_floor),
        fixed,
        ties,
    )


def _placed(pose: Array, points_base: Array) -> Array:
    return np.column_stack([transform(pose, points_base[:, :2]), points_base[:, 2]])
