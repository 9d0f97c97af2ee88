"""Object points against instance images, and videos and views against a new rendering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gst_ros.bench.tasks import find_task
from gst_ros.scenes.check.geometry import project
from gst_ros.scenes.check.report import Check
from gst_ros.scenes.check.studio import Studio, inner_pixels, psnr_db, read_frames
from gst_ros.scenes.check.truth import Pinhole, Pose

if TYPE_CHECKING:
    from gst_ros.scenes.rendering.renderer import Rendered

Array = NDArray[np.float64]

POINTS_PER_OBJECT = 300
DEPTH_TOLERANCE_M = 0.004
DEPTH_TOLERANCE = 0.003
LEAST_AGREEMENT = 0.995
LEAST_PSNR_DB = 26.0
LEAST_SPOILT_PSNR_DB = 14.0
"""With sensor effects: another frame of the walk is still much farther off."""
VISIBLE_PIXELS = 40


def check_pictures(studio: Studio, frames: Sequence[tuple[str, int]], random: np.random.Generator) -> Iterator[Check]:
    """Checks of frames and views.

    Args:
        studio: The place.
        frames: Video and number of the frames to look at.
        random: For the points.
    """
    truth, name = studio.truth, studio.truth.name
    points = _object_points(studio, random)
    agreed = tested = 0
    worst_db, wrong_facts, looked = float("inf"), [], 0
    pictures = {v: read_frames(truth.root / f"{v}.mp4", (n for w, n in frames if w == v)) for v in truth.videos}
    poses = {video: truth.poses(video) for video in truth.videos}
    for video, number in frames:
        again = studio.frame(video, number)
        good, all_points = _agreement(again, points, poses[video][number], truth.video_camera)
        agreed, tested = agreed + good, tested + all_points
        if number in pictures[video]:
            worst_db = min(worst_db, psnr_db(pictures[video][number], again.rgb))
        counts = np.bincount(again.ids.ravel(), minlength=max(studio.mesh.instances) + 1)
        for thing, facts in truth.facts.items():
            looked += 1
            recorded = any(a <= number <= b for a, b in facts["visible_frames"].get(video, []))
            found = studio.number_of.get(thing) is not None and counts[studio.number_of[thing]] >= VISIBLE_PIXELS
            if recorded != bool(found):
                wrong_facts.append(f"{thing} in frame {number} of {video}")
    share = agreed / tested if tested else 0.0
    yield Check(
        "object points lie on their instance",
        tested > 0 and share >= LEAST_AGREEMENT,
        f"{share:.2%} of {tested} points in {len(frames)} frames",
        f">= {LEAST_AGREEMENT:.1%}, edges of instances left out",
        name,
        {"agreeing": agreed, "points": tested},
    )
    limit = LEAST_SPOILT_PSNR_DB if studio.sensor_effects else LEAST_PSNR_DB
    yield Check(
        "video shows what the poses see",
        worst_db >= limit,
        f"worst of {len(frames)} frames {worst_db:.1f} dB",
        f">= {limit:g} dB",
        name,
    )
    text = f"{len(wrong_facts)} of {looked} wrong" + (f" ({wrong_facts[0]})" if wrong_facts else "")
    yield Check("recorded visibility", not wrong_facts, text, "as rendered again", name)
    yield from _check_views(studio)


def _check_views(studio: Studio) -> Iterator[Check]:
    """Views look as their poses say; targets are not in them, or are, as their question needs."""
    truth, name = studio.truth, studio.truth.name
    seen: dict[str, NDArray[np.int64]] = {}
    worst_db = float("inf")
    for file, view in truth.views.items():
        again = studio.view(view)
        seen[file] = np.bincount(again.ids.ravel(), minlength=max(studio.mesh.instances) + 1)
        worst_db = min(worst_db, psnr_db(_jpeg(truth.root / file), again.rgb))
    if truth.views:
        measured = f"worst of {len(truth.views)} views {worst_db:.1f} dB"
        yield Check(
            "views show what their poses see", worst_db >= LEAST_PSNR_DB, measured, f">= {LEAST_PSNR_DB:g} dB", name
        )
    problems, asked = [], 0
    for record in truth.questions:
        if not find_task(record["task"]).key.startswith(("ed_", "edist_")):
            continue
        asked += 1
        target = truth.answers[record["uid"]]["target"]
        counts = seen.get(record["images"][0]["copied_path"])
        pixels = -1 if counts is None or target not in studio.number_of else int(counts[studio.number_of[target]])
        wants_it = record.get("setting", "global") != "global"
        if pixels < 0 or (pixels > 0) != wants_it:
            problems.append(f"{record['uid']}: {pixels} pixels")
    if asked:
        measured = f"{len(problems)} of {asked} wrong" + (f" ({problems[0]})" if problems else "")
        yield Check(
            "targets in query views", not problems, measured, "not one pixel (some in the Local settings)", name
        )


def _object_points(studio: Studio, random: np.random.Generator) -> dict[int, Array]:
    """Points on the surfaces of all objects, by instance id."""
    mesh, owner = studio.mesh.mesh, studio.mesh.face_instance
    result = {}
    for thing in studio.truth.objects:
        number = studio.number_of.get(thing)
        if number is None:
            continue
        corners = mesh.positions[mesh.faces[owner == number]].astype(np.float64)
        area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
        if area.sum() <= 0.0:
            continue
        chosen = corners[random.choice(len(corners), POINTS_PER_OBJECT, p=area / area.sum())]
        # Uniform on a triangle: the square root keeps points from crowding at the first corner.
        u, v = np.sqrt(random.random(POINTS_PER_OBJECT)), random.random(POINTS_PER_OBJECT)
        weights = np.stack([1 - u, u * (1 - v), u * v], axis=1)
        result[number] = np.einsum("nk,nkd->nd", weights, chosen)
    return result


def _agreement(again: Rendered, points: dict[int, Array], pose: Pose, camera: Pinhole) -> tuple[int, int]:
    """Of the object points that nothing hides, how many fall on a pixel of their own instance (edges left out)."""
    ids, depth_m, inner = again.ids, again.depth_m, inner_pixels(again.ids)
    agreed = tested = 0
    for number, cloud in points.items():
        columns, rows, depth = project(cloud, pose, camera)
        inside = depth > 0.05
        column, row = (np.round(np.where(inside, v, -1)).astype(np.int64) for v in (columns, rows))
        inside &= (column >= 0) & (column < camera.width) & (row >= 0) & (row < camera.height)
        column, row, depth = column[inside], row[inside], depth[inside]
        visible = np.abs(depth_m[row, column] - depth) <= DEPTH_TOLERANCE_M + DEPTH_TOLERANCE * depth
        visible &= inner[row, column]
        agreed += int((ids[row, column][visible] == number).sum())
        tested += int(visible.sum())
    return agreed, tested


def _jpeg(file: Path) -> NDArray[np.uint8]:
    import cv2

    image = cv2.imread(str(file), cv2.IMREAD_COLOR)
    return np.zeros((1, 1, 3), np.uint8) if image is None else np.asarray(image[:, :, ::-1], np.uint8)
