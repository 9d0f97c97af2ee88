"""Distances measured in depth images, against the answers.

The target's surface is collected from the depth images of several frames and of a look from above. The middle of what
was seen must lie where the answer says, up to what was not seen: if only 80 % of a wardrobe's width came into view, its
middle is known to a tenth of its width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.bench.tasks import find_task
from gst_ros.scenes.check.geometry import bearing_deg, box_centre, in_box_frame, rays
from gst_ros.scenes.check.report import Check
from gst_ros.scenes.check.studio import Studio

Array = NDArray[np.float64]

FRAMES_PER_TARGET = 5
ROUNDING_M = 0.05
TOLERANCE_M = 0.04
OUTSIDE_M = 0.03
"""A surface may stick out of its box by so much (the width of a pixel at a distance)."""


def check_ranges(studio: Studio) -> Iterator[Check]:
    """Answers for distance and direction against what depth images show of the target."""
    truth = studio.truth
    problems, outside, worst, asked = [], [], 0.0, 0
    clouds: dict[str, Array] = {}
    above = _above(studio)
    for record in truth.questions:
        key = find_task(record["task"]).key
        if not key.startswith(("edist_", "ed_")):
            continue
        answer = truth.answers[record["uid"]]
        target = answer["target"]
        if target not in clouds:
            clouds[target] = _cloud(studio, target, above)
            sticking = _sticks_out(clouds[target], truth.objects[target])
            if sticking > OUTSIDE_M:
                outside.append(f"{target} by {sticking:.2f} m")
        cloud = clouds[target]
        if not len(cloud):
            problems.append(f"{record['uid']}: no frame shows the target")
            continue
        asked += 1
        pose = truth.view_pose(truth.views[record["images"][0]["copied_path"]])
        middle, slack = _middle(cloud, truth.objects[target])
        distance = math.hypot(*(middle - pose.position_m)[:2])
        allowed = TOLERANCE_M + slack
        if key.startswith("edist_"):
            error = abs(distance - float(record["answer"])) - ROUNDING_M
        else:
            # The error as a distance across the line of sight; half a degree is the answer's rounding.
            turn = abs(math.remainder(bearing_deg(pose, middle) - float(record["answer"]), 360.0))
            error = math.radians(max(0.0, turn - 0.5)) * distance
        worst = max(worst, error - slack)
        if error > allowed:
            problems.append(f"{record['uid']}: off by {error:.2f} m where {allowed:.2f} m are allowed")
    if not asked and not problems:
        return
    measured = f"{len(problems)} of {asked} wrong" + (f" ({problems[0]})" if problems else "")
    limit = f"within {TOLERANCE_M} m, rounding, and half of what no frame shows of the target"
    values = {"questions": asked, "worst_beyond_unseen_m": round(worst, 4)}
    yield Check("distances and directions in depth images", not problems, measured, limit, truth.name, values)
    text = f"{len(outside)} of {len(clouds)} targets" + (f" ({outside[0]})" if outside else "")
    yield Check("targets fill their boxes", not outside, text, f"nothing beyond {OUTSIDE_M} m outside", truth.name)


def _above(studio: Studio) -> tuple[Array, NDArray[np.uint16]]:
    """A look from above: points in ``map`` (only x and y are meant) and instance ids, one a pixel."""
    frame: Mapping[str, Any] = studio.truth.plans["render.jpg"]
    width, height, scale = int(frame["width"]), int(frame["height"]), float(frame["m_per_px"])
    centre = (frame["left_m"] + width * scale / 2, frame["top_m"] - height * scale / 2)
    picture = studio.renderer.render_topdown(width, height, centre, scale)
    columns, rows = np.meshgrid(np.arange(width), np.arange(height))
    x = frame["left_m"] + (columns + 0.5) * scale
    y = frame["top_m"] - (rows + 0.5) * scale
    return np.stack([x, y, np.full(x.shape, np.nan)], axis=-1).reshape(-1, 3), picture.ids.ravel()


def _cloud(studio: Studio, target: str, above: tuple[Array, NDArray[np.uint16]]) -> Array:
    """Points on the target's surface, N x 3; the height of those seen from above is not known (NaN)."""
    number = studio.number_of.get(target)
    if number is None:
        return np.zeros((0, 3))
    points, ids = above
    camera = studio.truth.video_camera
    parts = [points[ids == number]]
    for video, shown in studio.truth.facts[target]["visible_frames"].items():
        numbers = [n for first, last in shown for n in range(first, last + 1)]
        best = studio.truth.facts[target]
        chosen = {numbers[int(i)] for i in np.linspace(0, len(numbers) - 1, min(FRAMES_PER_TARGET, len(numbers)))}
        chosen |= {best["best_frame"]} if best["best_video"] == video else set()
        poses = studio.truth.poses(video)
        for frame in sorted(chosen):
            picture = studio.frame(video, frame)
            rows, columns = np.nonzero(picture.ids == number)
            depth = picture.depth_m[rows, columns].astype(np.float64)
            directions = rays(columns.astype(np.float64), rows.astype(np.float64), poses[frame], camera)
            parts.append(poses[frame].position_m + depth[:, None] * directions)
    return np.concatenate(parts)


def _middle(cloud: Array, thing: Mapping[str, Any]) -> tuple[Array, float]:
    """Middle of what was seen, and how far the true middle may be from it because of what was not."""
    local = in_box_frame(cloud, thing)[:, :2]
    low, high = local.min(axis=0), local.max(axis=0)
    middle = (low + high) / 2
    missing = np.maximum(0.0, np.array(thing["size_m"][:2]) - (high - low)) / 2
    yaw = math.radians(thing["yaw_deg"])
    x = middle[0] * math.cos(yaw) - middle[1] * math.sin(yaw)
    y = middle[0] * math.sin(yaw) + middle[1] * math.cos(yaw)
    return box_centre(thing) + np.array([x, y, 0.0]), float(np.linalg.norm(missing))


def _sticks_out(cloud: Array, thing: Mapping[str, Any]) -> float:
    """How far the surface reaches out of its box."""
    if not len(cloud):
        return 0.0
    beyond = np.abs(in_box_frame(cloud, thing)) - np.array(thing["size_m"]) / 2
    return float(np.nanmax(beyond))
