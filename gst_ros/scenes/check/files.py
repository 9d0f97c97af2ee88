"""Is everything of a place there, whole, of the right size and in the right folder?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import av.error

from gst_ros.bench.questions import load_questions
from gst_ros.errors import GstError
from gst_ros.scenes.check.report import Check
from gst_ros.scenes.check.truth import PlaceTruth

QUESTIONS_LOAD = "questions load"
RECORD_FIELDS = {"task", "uid", "scene", "answer", "texts", "copied_video_path", "images", "setting"}
CAMERA_FIELDS = {"width", "height", "fx", "fy", "cx", "cy", "height_m", "pitch_deg", "query_view"}
PUBLIC = re.compile(
    r"questions\.json|camera\.json|video\d+\.mp4|marked/video\d+_[\w-]+\.mp4|clips/[\w-]+\.mp4|views/[\w-]+\.jpg"
    r"|plans/(furniture\.png|walls\.png|render\.jpg)|plans/options/[0-9a-f]{10}\.(png|jpg)"
)
PLAN_SIZES = {"render": (1920, 1080), "plan": (640, 512)}
USUAL_TAGS = {"major_brand", "minor_version", "compatible_brands", "encoder", "language", "handler_name", "vendor_id"}
HEIGHT_TOLERANCE_M = 0.12
ANGLE_TOLERANCE_DEG = 8.0


def check_files(place: PlaceTruth) -> Iterator[Check]:
    """All checks that read files without rendering.

    Args:
        place: The place.
    """
    yield _questions_load(place)
    yield _media(place)
    yield _no_truth_outside(place)
    yield _camera(place)


def _questions_load(place: PlaceTruth) -> Check:
    file = place.root / "questions.json"
    try:
        found = load_questions(file)
    except GstError as error:
        return Check(QUESTIONS_LOAD, False, str(error), "no question skipped", place.name)
    reasons = sorted({f"{skip.reason}" for skip in found.skipped})
    without = [q.uid for q in found.questions if q.uid not in place.answers]
    spare = set(place.answers) - {q.uid for q in found.questions} - {s.uid for s in found.skipped}
    measured = f"{len(found.questions)} questions, {len(found.skipped)} skipped"
    if reasons:
        measured += f" ({'; '.join(reasons[:3])})"
    if without or spare:
        measured += f", {len(without)} without truth, {len(spare)} truths without question"
    passed = bool(found.questions) and not found.skipped and not without and not spare
    return Check(QUESTIONS_LOAD, passed, measured, "all readable by gst eval, each with its truth", place.name)


def _media(place: PlaceTruth) -> Check:
    """Every file decodes to the size and length that it should have."""
    problems: list[str] = []
    camera, view_camera = place.video_camera, place.view_camera
    expected = {f"{name}.mp4": len(place.poses(name)) for name in place.videos}
    for uid, truth in place.answers.items():
        if "frames" in truth:
            record = next((r for r in place.questions if r["uid"] == uid), None)
            if record is not None:
                expected[record["copied_video_path"]] = truth["frames"][1] - truth["frames"][0] + 1
    for file in sorted((place.root / "marked").glob("*.mp4")):
        expected[f"marked/{file.name}"] = expected.get(f"{file.name.split('_')[0]}.mp4", -1)
    if not place.videos:
        problems.append("no video has a trajectory")
    for name, frames in expected.items():
        problems += _video_problem(place.root, name, (camera.width, camera.height), frames)
    for file in sorted(place.root.glob("views/*.jpg")):
        problems += _image_problem(place.root, file, (view_camera.width, view_camera.height))
    for name in ("furniture.png", "walls.png", "render.jpg"):
        if not (place.root / "plans" / name).is_file():
            problems.append(f"plans/{name} missing")
    for file in sorted(place.root.glob("plans/**/*.*")):
        size = PLAN_SIZES["render" if file.suffix == ".jpg" else "plan"]
        problems += _image_problem(place.root, file, size)
    count = len(expected) + len(list(place.root.glob("views/*"))) + len(list(place.root.glob("plans/**/*.*")))
    measured = "; ".join(problems[:3]) + (f"; {len(problems) - 3} more" if len(problems) > 3 else "")
    return Check("media decode", not problems, measured or f"{count} files", "right size and length", place.name)


def _video_problem(root: Path, name: str, size: tuple[int, int], frames: int) -> list[str]:
    count = 0
    try:
        with av.open(str(root / name)) as container:
            for frame in container.decode(video=0):
                count += 1
                if (frame.width, frame.height) != size:
                    return [f"{name} is {frame.width}x{frame.height}, not {size[0]}x{size[1]}"]
    except (OSError, av.error.FFmpegError) as error:
        return [f"{name}: {getattr(error, 'strerror', None) or error}"]
    return [] if count == frames else [f"{name} has {count} frames, not {frames}"]


def _image_problem(root: Path, file: Path, size: tuple[int, int]) -> list[str]:
    import cv2

    image = cv2.imread(str(file))
    name = file.relative_to(root).as_posix()
    if image is None:
        return [f"{name} cannot be decoded"]
    found = (image.shape[1], image.shape[0])
    return [] if found == size else [f"{name} is {found[0]}x{found[1]}, not {size[0]}x{size[1]}"]


def _no_truth_outside(place: PlaceTruth) -> Check:
    problems = []
    for file in sorted(place.root.rglob("*")):
        name = file.relative_to(place.root).as_posix()
        if file.is_file() and not name.startswith("gt/"):
            if not PUBLIC.fullmatch(name):
                problems.append(f"unexpected file {name}")
            elif file.suffix == ".mp4":
                problems += [f"{name} carries the tag '{tag}'" for tag in _tags(file)]
    for record in place.questions:
        strange = set(record) - RECORD_FIELDS
        paths = [image.get("copied_path", "") for image in record.get("images", [])] + [
            record.get("copied_video_path", "")
        ]
        if strange:
            problems.append(f"a question has the field '{min(strange)}'")
        problems += [f"a question shows {path}" for path in paths if path.startswith("gt") or ".." in path]
    strange = set(place.camera) - CAMERA_FIELDS
    strange |= set(place.camera.get("query_view", {})) - CAMERA_FIELDS
    if strange:
        problems.append(f"camera.json has the field '{min(strange)}'")
    measured = "; ".join(dict.fromkeys(problems[:3])) or "none"
    return Check("truth outside gt/", not problems, measured, "none", place.name)


def _tags(file: Path) -> list[str]:
    try:
        with av.open(str(file)) as container:
            tags = {**container.metadata, **container.streams.video[0].metadata}
    except (OSError, av.error.FFmpegError, IndexError):
        return []  # counted by the check of the media
    return sorted(set(tags) - USUAL_TAGS)


def _camera(place: PlaceTruth) -> Check:
    """``camera.json`` against the poses and the views."""
    import numpy as np

    problems: list[str] = []
    camera = place.camera
    for name in place.videos:
        poses = place.poses(name)
        heights = np.array([pose.position_m[2] for pose in poses])
        pitches = np.degrees(-np.arcsin(np.clip([pose.map_from_camera[2, 2] for pose in poses], -1, 1)))
        problems += _off(f"{name}: height", float(np.median(heights)), camera["height_m"], HEIGHT_TOLERANCE_M / 4)
        problems += _off(f"{name}: pitch", float(np.median(pitches)), camera["pitch_deg"], ANGLE_TOLERANCE_DEG / 4)
        if np.abs(heights - camera["height_m"]).max() > HEIGHT_TOLERANCE_M:
            problems.append(f"{name}: the height varies by more than {HEIGHT_TOLERANCE_M} m")
        if np.abs(pitches - camera["pitch_deg"]).max() > ANGLE_TOLERANCE_DEG:
            problems.append(f"{name}: the pitch varies by more than {ANGLE_TOLERANCE_DEG} deg")
    query: dict[str, Any] = camera["query_view"]
    for file, view in place.views.items():
        problems += _off(f"{file}: focal length", view["f_px"], query["fx"], 0.01)
        problems += _off(f"{file}: height", view["position_m"][2], query["height_m"], 1e-6)
        problems += _off(f"{file}: pitch", view["pitch_deg"], query["pitch_deg"], 1e-6)
    measured = "; ".join(problems[:3]) or f"{len(place.videos)} videos, {len(place.views)} views"
    return Check("camera.json", not problems, measured, "agrees with the poses", place.name)


def _off(what: str, found: float, stated: float, tolerance: float) -> list[str]:
    return [] if abs(found - stated) <= tolerance else [f"{what} {found:g}, stated {stated:g}"]
