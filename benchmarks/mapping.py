"""How good and how fast maps are, on places that `gst scenes make` made: RGB in, compared with their truth.

    gst scenes make --seed S --count 20 --kinds home --tasks position,tds_hard --out DIR
    python benchmarks/mapping.py --data DIR

Each place is mapped in a process of its own, so that memory is counted for each. Only video, pictures and (unless
--ignore-camera) camera.json go into the map. The last line printed is JSON.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from gst_ros.errors import GstError

MISASSEMBLED_M = 0.5  # an error of this size that no note reports


@dataclass(frozen=True)
class Options:
    ignore_camera: bool
    features: str
    fault: str
    views: int


def frames_of(clip: Any, fault: str) -> Any:
    """The clip's frames, with a fault of the camera if one is wanted."""
    random = np.random.default_rng(0)
    stamps: list[int] = []
    for number, frame in enumerate(clip):
        stamps.append(frame.stamp_ns)
        if (fault == "blank" and random.random() < 0.2 and number) or (fault == "blackout" and 150 <= number < 180):
            frame = replace(frame, image_rgb=np.zeros_like(frame.image_rgb))
        if fault == "kidnap" and 150 <= number < 250:
            continue  # carried away with the lens covered; the clip goes on elsewhere
        yield frame


def measure(root: Path, options: Options) -> dict[str, Any]:
    """Map one place and compare."""
    from mapping_truth import PlaceTruth

    from gst_ros.mapping.camera_files import CameraOptions, camera_for, map_frames
    from gst_ros.mapping.mapper import Mapper, MapperConfig
    from gst_ros.mapping.planar import align, trajectory_rmse_m
    from gst_ros.mapping.relocalise import RelocaliseConfig
    from gst_ros.media.clip import open_clip

    truth = PlaceTruth(root)
    true_camera, true_mount = truth.camera
    with open_clip(root / "video1.mp4") as clip:
        known = camera_for(clip, CameraOptions(ignore_files=options.ignore_camera, check_planar=options.ignore_camera))
        mapper = Mapper(known.camera, known.mount, MapperConfig(relocalise=RelocaliseConfig(features=options.features)))
        online_s, frames = 0.0, 0
        for frame in frames_of(map_frames(clip, known), options.fault):
            begun = time.perf_counter()
            mapper.add(frame)
            online_s += time.perf_counter() - begun
            frames += 1
    begun = time.perf_counter()
    place = mapper.finish()
    final_s = time.perf_counter() - begun
    main = place.trajectory.parts == place.main_part
    estimate = place.trajectory.poses[main]
    true_poses = truth.poses_at(place.trajectory.stamps_ns[main])
    offset = align(estimate[:, :2], true_poses[:, :2])
    ate_m = trajectory_rmse_m(estimate, true_poses)
    return {
        "place": root.name,
        "frames": frames,
        "ate_m": ate_m,
        "in_main": float(main.sum() / frames),
        "noted": bool(place.notes),
        "pitch_error_deg": known.mount.pitch_deg - true_mount.pitch_deg,
        "focal_error": known.camera.fx / true_camera.fx - 1,
        "fps": frames / online_s,
        "final_s_per_min": final_s / (frames / 600),
        "grid_iou": 0.0 if place.grid is None else truth.grid_iou(place.grid, offset),
        "plans": [check_plan(place, truth, name, offset) for name in ("furniture.png", "walls.png", "render.jpg")],
        "views": check_views(place, truth, offset, options),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
    }


def check_plan(place: Any, truth: Any, name: str, offset: Any) -> dict[str, float]:
    """How far the walk lies from its true place on a top-down image, metres, and by how much it is turned."""
    from gst_ros.mapping.planar import transform, wrap

    image, m_per_px, left_m, top_m = truth.plan(name)
    try:
        found = place.register_plan(image)
    except GstError as error:
        return {"error_m": float("inf"), "turn_deg": 180.0, "margin": 0.0, "problem": str(error)}  # type: ignore[dict-item]
    walk = place.trajectory.poses[place.trajectory.parts == place.main_part][:, :2]
    on_plan = found.pixels_of(walk) + 0.5
    placed = np.column_stack([left_m + on_plan[:, 0] * m_per_px, top_m - on_plan[:, 1] * m_per_px])
    error = np.linalg.norm(placed - transform(offset, walk), axis=1)
    turn = float(np.degrees(np.abs(wrap(found.yaw_rad - offset[2]))))
    return {"error_m": float(error.mean()), "turn_deg": turn, "margin": found.margin}


def check_views(place: Any, truth: Any, offset: Any, options: Options) -> list[dict[str, float]]:
    """Errors of the query views after the map was laid on the truth by its trajectory."""
    from gst_ros.mapping.camera import CameraMount, PinholeCamera
    from gst_ros.mapping.planar import compose, wrap
    from gst_ros.mapping.relocalise import Located
    from gst_ros.media.images import read_image

    found = []
    place.locate(np.full((512, 640, 3), 128, np.uint8))  # loads what is loaded at first use
    for view in truth.views[: options.views or None]:
        image = read_image(truth.root / view["file"])
        camera, prior = None, None
        if not options.ignore_camera:
            camera = PinholeCamera.centred(view["width"], view["height"], view["f_px"])
            prior = CameraMount(view["position_m"][2], view["pitch_deg"], height_std_m=0.02, pitch_std_deg=0.5)
        begun = time.perf_counter()
        where = place.locate(image, camera, prior)
        seconds = time.perf_counter() - begun
        if not isinstance(where, Located):
            found.append({"seconds": seconds, "located": 0.0, "error_m": float("inf"), "error_deg": 180.0})
            continue
        pose = compose(offset, where.pose)
        error_m = float(np.hypot(*(pose[:2] - view["position_m"][:2])))
        error_deg = float(np.degrees(abs(wrap(pose[2] - np.radians(view["yaw_deg"])))))
        found.append({"seconds": seconds, "located": 1.0, "error_m": error_m, "error_deg": error_deg})
    return found


def summarised(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures over all places."""
    ate = np.array([row["ate_m"] for row in rows])
    views = [view for row in rows for view in row["views"]]
    plans = [plan for row in rows for plan in row["plans"]]

    def share(cases: list[Any], wanted: Any) -> float:
        return round(float(np.mean([bool(wanted(case)) for case in cases])), 4) if cases else float("nan")

    def within(metres: float, degrees: float) -> Any:
        return lambda v: v["error_m"] <= metres and v["error_deg"] <= degrees

    def wrong(v: dict[str, float]) -> bool:
        return v["located"] > 0 and (v["error_m"] > 1.0 or v["error_deg"] > 15.0)

    return {
        "places": len(rows),
        "ate_median_m": round(float(np.median(ate)), 4),
        "ate_max_m": round(float(ate.max()), 4),
        "ate_within_0_15": int((ate <= 0.15).sum()),
        "misassembled_unreported": int(sum(r["ate_m"] > MISASSEMBLED_M and not r["noted"] for r in rows)),
        "views": len(views),
        "reloc_fine": share(views, within(0.15, 2.0)),
        "reloc_ok": share(views, within(0.30, 4.0)),
        "reloc_wrong": share(views, wrong),
        "reloc_p50_s": round(float(np.percentile([v["seconds"] for v in views], 50)), 3) if views else None,
        "reloc_p95_s": round(float(np.percentile([v["seconds"] for v in views], 95)), 3) if views else None,
        "grid_iou": round(float(np.mean([row["grid_iou"] for row in rows])), 4),
        "plan_ok": share(plans, lambda p: p["error_m"] <= 0.2 and p["turn_deg"] <= 10),
        "pitch_error_deg": round(float(np.max(np.abs([row["pitch_error_deg"] for row in rows]))), 3),
        "focal_error": round(float(np.max(np.abs([row["focal_error"] for row in rows]))), 4),
        "fps": round(float(np.median([row["fps"] for row in rows])), 1),
        "final_s_per_min": round(float(np.median([row["final_s_per_min"] for row in rows])), 1),
        "peak_mb": round(float(np.max([row["peak_mb"] for row in rows]))),
    }


def table_of(rows: list[dict[str, Any]]) -> Table:
    names = ("ATE m", "in map", "frames/s", "final s/min", "IoU", "plans m", "views ok", "wrong", "peak MB")
    table = Table("place", *names)
    for row in rows:
        views = row["views"]
        ok = sum(v["error_m"] <= 0.3 and v["error_deg"] <= 4 for v in views)
        wrong = sum(v["located"] > 0 and (v["error_m"] > 1 or v["error_deg"] > 15) for v in views)
        table.add_row(
            row["place"],
            f"{row['ate_m']:.3f}",
            f"{row['in_main']:.0%}",
            f"{row['fps']:.0f}",
            f"{row['final_s_per_min']:.1f}",
            f"{row['grid_iou']:.2f}",
            " ".join(f"{plan['error_m']:.2f}" for plan in row["plans"]),
            f"{ok}/{len(views)}",
            str(wrong),
            f"{row['peak_mb']:.0f}",
        )
    return table


@click.command(help=__doc__)
@click.option("--data", required=True, multiple=True, type=click.Path(path_type=Path), help="A set, or one place.")
@click.option("--ignore-camera", is_flag=True, help="Intrinsics, height and pitch unknown.")
@click.option("--features", default="auto", type=click.Choice(["auto", "xfeat", "sift"]), show_default=True)
@click.option("--fault", default="none", type=click.Choice(["none", "blank", "blackout", "kidnap"]), show_default=True)
@click.option("--views", default=0, help="Query views of each place; 0 for all.")
@click.option("--json-out", type=click.Path(path_type=Path), help="Also write every place's figures here.")
@click.option("--cores", default=2, show_default=True, type=click.IntRange(1), help="Processor cores to use.")
def main(
    data: tuple[Path, ...],
    ignore_camera: bool,
    features: str,
    fault: str,
    views: int,
    json_out: Path | None,
    cores: int,
) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    places = sorted(file.parent.parent for root in data for file in root.glob("**/gt/trajectory_video1.tum"))
    places = [place for place in places if ".making" not in place.parts]
    if not places:
        raise SystemExit("mapping: error: no place with gt/trajectory_video1.tum below --data ('gst scenes make')")
    options = Options(ignore_camera, features, fault, views)
    context = multiprocessing.get_context("spawn")
    rows = []
    for place in tqdm(places, unit="place"):
        with context.Pool(1) as pool:
            rows.append(pool.apply(measure, (place, options)))
    Console(width=120).print(table_of(rows))
    if json_out:
        json_out.write_text(json.dumps(rows, indent=1))
    print(json.dumps({**summarised(rows), "cores": cores, "fault": fault, "camera_known": not ignore_camera}))


if __name__ == "__main__":
    main()
