"""Ray casting (trimesh with Embree) against the renderer's depth and instance ids.

Tolerances: depth within 5 mm + 0.5 %; pixels at the edge of an instance are left out, because a ray and a rasterised
triangle may fall on different sides of an edge; where two surfaces lie within 3 mm of each other either id counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.check.geometry import rays
from gst_ros.scenes.check.report import Check
from gst_ros.scenes.check.studio import Studio, inner_pixels
from gst_ros.scenes.place import SceneError

STEP_PX = 5
DEPTH_M = 0.005
DEPTH_SHARE = 0.005
COINCIDENT_M = 0.003
NEAR_M = 0.03
LEAST_IDS = 0.995
LEAST_DEPTH = 0.99


def check_rays(studio: Studio, frames: Sequence[tuple[str, int]]) -> Iterator[Check]:
    """Cast rays through a grid of pixels of some frames.

    Args:
        studio: The place.
        frames: Video and number of the frames.

    Raises:
        SceneError: trimesh or embreex is not installed.
    """
    try:
        import embreex  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: F401
        import trimesh
        from trimesh.ray.ray_pyembree import RayMeshIntersector
    except ImportError as error:
        raise SceneError(f"{error.name} is not installed", remedy="pip install 'gst_ros[scenes]'") from error
    mesh = studio.mesh.mesh
    caster = RayMeshIntersector(trimesh.Trimesh(mesh.positions, mesh.faces, process=False))
    owner = studio.mesh.face_instance
    camera = studio.truth.video_camera
    grid = np.mgrid[2 : camera.height - 2 : STEP_PX, 2 : camera.width - 2 : STEP_PX]
    rows, columns = grid[0].ravel(), grid[1].ravel()
    same_id = same_depth = tested = edges = edges_same = 0
    for video, number in frames:
        picture = studio.frame(video, number)
        pose = studio.truth.poses(video)[number]
        directions = rays(columns.astype(np.float64), rows.astype(np.float64), pose, camera)
        ids, depth = _cast(caster, owner, pose.position_m, directions)
        drawn_ids, drawn_depth = picture.ids[rows, columns], picture.depth_m[rows, columns].astype(np.float64)
        sky = np.isinf(depth) & np.isinf(drawn_depth)
        off_m = np.abs(np.where(sky, 0.0, depth) - np.where(sky, 0.0, drawn_depth))
        close = off_m <= DEPTH_M + DEPTH_SHARE * np.where(np.isfinite(depth), depth, 0.0)
        equal = ids == drawn_ids
        # Of two surfaces in one place the ray and the rasteriser may each take another: look a little deeper.
        doubtful = np.flatnonzero(~equal & close & np.isfinite(depth))
        if len(doubtful):
            start = pose.position_m + directions[doubtful] * (depth[doubtful] - COINCIDENT_M)[:, None]
            equal[doubtful] = _within(caster, owner, start, directions[doubtful], drawn_ids[doubtful])
        inner = inner_pixels(picture.ids)[rows, columns]
        tested += int(inner.sum())
        same_id += int((equal & inner).sum())
        same_depth += int((close & inner).sum())
        edges += int((~inner).sum())
        edges_same += int((equal & ~inner).sum())
    name, count = studio.truth.name, f"{tested} pixels of {len(frames)} frames"
    values = {"pixels": tested, "frames": len(frames), "edge_pixels": edges, "edge_ids_equal": edges_same}
    share = same_id / tested if tested else 0.0
    yield Check("ray casting: ids", share >= LEAST_IDS, f"{share:.2%} of {count}", f">= {LEAST_IDS:.1%}", name, values)
    share = same_depth / tested if tested else 0.0
    limit = f">= {LEAST_DEPTH:.0%} within {DEPTH_M * 1000:.0f} mm + {DEPTH_SHARE:.1%}"
    yield Check("ray casting: depth", share >= LEAST_DEPTH, f"{share:.2%} of {count}", limit, name, values)


def _cast(
    caster: object, owner: NDArray[np.uint16], eye: NDArray[np.float64], directions: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Instance and depth along the optical axis of what each ray meets first; 0 and infinity for the sky."""
    length = np.linalg.norm(directions, axis=1)
    unit = directions / length[:, None]
    # Rays begin at the near plane, as the picture does.
    origins = eye + directions * NEAR_M
    faces, which, where = caster.intersects_id(  # type: ignore[attr-defined]
        origins, unit, multiple_hits=False, return_locations=True
    )
    ids, depth = np.zeros(len(directions), np.int64), np.full(len(directions), np.inf)
    ids[which] = owner[faces]
    depth[which] = NEAR_M + np.linalg.norm(where - origins[which], axis=1) / length[which]
    return ids, depth


def _within(
    caster: object,
    owner: NDArray[np.uint16],
    start: NDArray[np.float64],
    directions: NDArray[np.float64],
    wanted: NDArray[np.uint16],
) -> NDArray[np.bool_]:
    """Whether a ray meets the wanted instance within twice the distance that counts as coincident."""
    unit = directions / np.linalg.norm(directions, axis=1)[:, None]
    faces, which, where = caster.intersects_id(  # type: ignore[attr-defined]
        start, unit, multiple_hits=True, max_hits=8, return_locations=True
    )
    near = np.linalg.norm(where - start[which], axis=1) <= 3 * COINCIDENT_M
    found = np.zeros(len(start), bool)
    found[which[near & (owner[faces] == wanted[which])]] = True
    return found
