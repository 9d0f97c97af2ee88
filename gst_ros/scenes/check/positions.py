"""Where query views were taken: off the video's walk, on free floor, and away from what they ask for."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from gst_ros.bench.tasks import find_task
from gst_ros.scenes.check.geometry import box_centre, in_box_frame
from gst_ros.scenes.check.report import Check
from gst_ros.scenes.check.truth import PlaceTruth, Pose

NEAR_M = 0.3
ALIKE_DEG = 30.0
LEAST_RANGE_M = 0.5
WALKER_RADIUS_M = 0.15
"""Smaller than that of walkers: this check must not hang on a raster's rounding."""


def check_positions(place: PlaceTruth) -> Iterator[Check]:
    """Checks of the poses of query views and of the distances asked for."""
    followed, inside, close, asked = [], [], [], 0
    for file, view in place.views.items():
        obstacle = _obstacle(place, place.view_pose(view))
        if obstacle:
            inside.append(f"{file} stands in {obstacle}")
    for record in place.questions:
        truth = place.answers[record["uid"]]
        if "view" not in truth:
            continue
        asked += 1
        file = record["images"][0]["copied_path"]
        pose = place.view_pose(place.views[file])
        if "video" in truth and _follows(pose, place.poses(truth["video"])):
            followed.append(f"{file} is on the walk of {truth['video']}")
        if find_task(record["task"]).key.startswith(("ed_", "edist_")):
            away = math.hypot(*(box_centre(place.objects[truth["target"]]) - pose.position_m)[:2])
            if away < LEAST_RANGE_M:
                close.append(f"{record['uid']}: {away:.2f} m")
    if not asked:
        return
    problems = list(dict.fromkeys([*followed, *inside, *close]))
    measured = "; ".join(problems[:3]) or f"{len(place.views)} views, {asked} questions"
    limit = f"{NEAR_M} m or {ALIKE_DEG:g} deg off the walk, on free floor, targets >= {LEAST_RANGE_M} m away"
    yield Check("positions of query views", not problems, measured, limit, place.name)


def _follows(pose: Pose, walk: list[Pose]) -> bool:
    """Whether a walk has a frame from about the same position in about the same direction."""
    positions = np.array([step.position_m for step in walk])
    forward = np.array([step.map_from_camera[:2, 2] for step in walk])
    own = pose.map_from_camera[:2, 2]
    cosine = forward @ own / (np.linalg.norm(forward, axis=1) * np.linalg.norm(own))
    near = np.linalg.norm((positions - pose.position_m)[:, :2], axis=1) < NEAR_M - 1e-6
    return bool((near & (cosine > math.cos(math.radians(ALIKE_DEG - 0.01)))).any())


def _obstacle(place: PlaceTruth, pose: Pose) -> str:
    """What a walker at a pose would touch; empty for nothing."""
    point = pose.position_m[None]
    for thing in place.objects.values():
        if thing["blocks"] and thing["mount"] != "ceiling" and thing["position_m"][2] < 1.9:
            off = np.abs(in_box_frame(point, thing)[0, :2]) - np.array(thing["size_m"][:2]) / 2
            if float(np.linalg.norm(np.maximum(off, 0.0))) < WALKER_RADIUS_M:
                return str(thing["id"])
    for wall in place.scene["walls"]:
        start, end = np.array(wall["start"]), np.array(wall["end"])
        length = float(np.linalg.norm(end - start))
        along = float((point[0, :2] - start) @ (end - start)) / max(length, 1e-9)
        across = abs(float(np.cross(np.append(end - start, 0.0), np.append(point[0, :2] - start, 0.0))[2])) / max(
            length, 1e-9
        )
        doors = any(
            opening["kind"] in ("door", "passage")
            and opening["start_m"] <= along <= opening["start_m"] + opening["width_m"]
            for opening in wall["openings"]
        )
        if not doors and 0.0 <= along <= length and across < wall["thickness_m"] / 2 + WALKER_RADIUS_M:
            return str(wall["id"])
    return ""
