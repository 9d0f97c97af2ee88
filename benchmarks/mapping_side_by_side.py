"""Planar mapping beside COLMAP's incremental mapping, on the same videos: error, speed, misassembled maps.

    python benchmarks/mapping_side_by_side.py --data DIR [--count 5]

Both get the video and camera.json. The error is that of positions after alignment in the plane without scale, over the
frames (ours) or registered keyframes (COLMAP's) of the largest piece; COLMAP's map is put upright and scaled by its
floor, and its error with the best scale is shown beside. A map counts as misassembled if that error, with the best
scale, is above half a metre; the gate is what tells without truth (spread of pitch, roll and height, depth of the
floor along the walk). The last line printed is JSON. Needs pycolmap: pip install 'gst_ros[six-dof]'.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

MISASSEMBLED_M = 0.5


def scaled_error_m(estimate: Any, truth: Any) -> float:
    """Error after alignment in the plane with the best scale."""
    from gst_ros.mapping.planar import trajectory_rmse_m

    a, b = estimate[:, :2] - estimate[:, :2].mean(axis=0), truth[:, :2] - truth[:, :2].mean(axis=0)
    # Rotation and scale are those of the complex number that takes one to the other.
    turn = np.vdot(a[:, 0] + 1j * a[:, 1], b[:, 0] + 1j * b[:, 1]) / max(float((a**2).sum()), 1e-12)
    return trajectory_rmse_m(a * abs(turn), b)


def planar(root: Path, features: str) -> dict[str, Any]:
    """Our map of one place."""
    from mapping_truth import PlaceTruth

    from gst_ros.mapping.camera_files import CameraOptions, camera_for
    from gst_ros.mapping.mapper import Mapper, MapperConfig
    from gst_ros.mapping.planar import trajectory_rmse_m
    from gst_ros.mapping.relocalise import RelocaliseConfig
    from gst_ros.media.clip import open_clip

    begun = time.perf_counter()
    with open_clip(root / "video1.mp4") as clip:
        known = camera_for(clip, CameraOptions(check_planar=False))
        mapper = Mapper(known.camera, known.mount, MapperConfig(relocalise=RelocaliseConfig(features=features)))
        frames = [mapper.add(frame) for frame in clip]
    place = mapper.finish()
    seconds = time.perf_counter() - begun
    main = place.trajectory.parts == place.main_part
    poses, true = place.trajectory.poses[main], PlaceTruth(root).poses_at(place.trajectory.stamps_ns[main])
    return {
        "error_m": trajectory_rmse_m(poses, true),
        "scaled_error_m": scaled_error_m(poses, true),
        "seconds": seconds,
        "frames": len(frames),
        "share": float(main.mean()),
        "pieces": len(np.unique(place.trajectory.parts)),
        "reported": bool(place.notes),
    }


def colmap(root: Path, features: str) -> dict[str, Any]:
    """COLMAP's map of the same place."""
    from mapping_truth import PlaceTruth

    from gst_ros.mapping.camera import MapError
    from gst_ros.mapping.planar import trajectory_rmse_m
    from gst_ros.mapping.six_dof import SixDofConfig, six_dof_trajectory
    from gst_ros.media.clip import open_clip

    truth = PlaceTruth(root)
    begun = time.perf_counter()
    try:
        with open_clip(root / "video1.mp4") as clip:
            found = six_dof_trajectory(clip, *truth.camera, SixDofConfig())
    except MapError as error:
        nothing = {"error_m": float("inf"), "scaled_error_m": float("inf"), "frames": 0, "share": 0.0, "pieces": 0}
        return {**nothing, "seconds": time.perf_counter() - begun, "reported": True, "faults": [str(error)]}
    true = truth.poses_at(found.stamps_ns)
    return {
        "error_m": trajectory_rmse_m(found.planar(), true),
        "scaled_error_m": scaled_error_m(found.planar(), true),
        "seconds": time.perf_counter() - begun,
        "frames": found.keyframes,
        "share": len(found.stamps_ns) / found.keyframes,
        "pieces": found.models,
        "pitch_std_deg": found.spread.pitch_std_deg,
        "height_std_m": found.spread.height_std_m,
        "reported": not found.believed,
        "faults": list(found.faults),
    }


def summarised(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of one of the two over all places."""
    wrong = [row["scaled_error_m"] > MISASSEMBLED_M for row in rows]
    return {
        "ate_median_m": round(float(np.median([row["error_m"] for row in rows])), 4),
        "ate_max_m": round(float(np.max([row["error_m"] for row in rows])), 4),
        "ate_scaled_median_m": round(float(np.median([row["scaled_error_m"] for row in rows])), 4),
        "seconds": round(float(np.sum([row["seconds"] for row in rows])), 1),
        "share_in_largest_piece": round(float(np.mean([row["share"] for row in rows])), 3),
        "misassembled": int(np.sum(wrong)),
        "misassembled_unreported": sum(bad and not row["reported"] for bad, row in zip(wrong, rows, strict=True)),
    }


@click.command(help=__doc__)
@click.option("--data", required=True, multiple=True, type=click.Path(path_type=Path), help="A set, or one place.")
@click.option("--count", default=5, show_default=True, type=click.IntRange(1), help="Places, at most.")
@click.option("--features", default="auto", type=click.Choice(["auto", "xfeat", "sift"]), show_default=True)
@click.option("--cores", default=2, show_default=True, type=click.IntRange(1), help="Processor cores to use.")
def main(data: tuple[Path, ...], count: int, features: str, cores: int) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    places = sorted(file.parent.parent for root in data for file in root.glob("**/gt/trajectory_video1.tum"))
    places = [place for place in places if ".making" not in place.parts][:count]
    if not places:
        raise SystemExit("mapping_side_by_side: error: no place with gt/trajectory_video1.tum below --data")
    context = multiprocessing.get_context("spawn")
    found: dict[str, list[dict[str, Any]]] = {"planar": [], "colmap": []}
    table = Table("place", "by", "ATE m", "with scale m", "seconds", "in largest piece", "pieces", "reported")
    for place in tqdm(places, unit="place"):
        for name, work in (("planar", planar), ("colmap", colmap)):
            with context.Pool(1) as pool:
                row = pool.apply(work, (place, features))
            found[name].append(row)
            figures = [f"{row['error_m']:.3f}", f"{row['scaled_error_m']:.3f}", f"{row['seconds']:.0f}"]
            said = "; ".join(row.get("faults", [])) or str(row["reported"])
            table.add_row(place.name, name, *figures, f"{row['share']:.0%}", str(row["pieces"]), said)
    Console(width=140).print(table)
    print(json.dumps({"places": len(places), "cores": cores, **{k: summarised(rows) for k, rows in found.items()}}))


if __name__ == "__main__":
    main()
