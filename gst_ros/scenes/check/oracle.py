"""Answers from poses and boxes alone: what a perfect answerer would say.

It reads ``gt/``, so it is no answerer that evaluations could be given; it exists to prove question files right.
Selections are answered by comparing each option's picture with one drawn anew from walls, boxes and poses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.bench.tasks import find_task
from gst_ros.scenes.check.geometry import bearing_deg, box_centre, plan_pixels, plan_point_999
from gst_ros.scenes.check.rasters import draw_plan, draw_rooms, draw_walls
from gst_ros.scenes.check.truth import PlaceTruth
from gst_ros.scenes.place import SceneError

Array = NDArray[np.float64]
Image = NDArray[np.uint8]
LETTERS = "ABCDEFGH"


class Oracle:
    """Answers the questions of one place.

    Args:
        place: The place, with its truth.
    """

    def __init__(self, place: PlaceTruth) -> None:
        self._place = place

    def answer(self, record: Mapping[str, Any]) -> str:
        """Answer a question.

        Args:
            record: The record; its own answer is not looked at.

        Returns:
            The answer in the form that the prompt asks for.

        Raises:
            SceneError: The question cannot be traced back to the truth.
        """
        task = find_task(record["task"]).key
        images = [image["copied_path"] for image in record["images"]]
        if task.startswith(("ed_", "edist_")):
            pose = self._place.view_pose(self._place.views[images[0]])
            centre = box_centre(self._target(record))
            if task.startswith("ed_"):
                return str(round(bearing_deg(pose, centre)))
            return f"{math.hypot(*(centre - pose.position_m)[:2]):.1f}"
        if task.startswith("gp_"):
            x, y, _ = box_centre(self._target(record))
            return self._point(images[0], float(x), float(y))
        if task in ("position", "orientation"):
            pose = self._place.view_pose(self._place.views[images[0]])
            if task == "position":
                return self._point(images[1], float(pose.position_m[0]), float(pose.position_m[1]))
            forward = pose.map_from_camera[:, 2]
            # Up on the plan is +y of the map; a turn to the left is positive.
            return str(round(math.degrees(math.atan2(-forward[0], forward[1]))))
        if task == "trajectory":
            return self._path(record, images)
        return self._selection(images)

    def _target(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """The object that a question is about: by the marked video's name, or by its own."""
        video = record.get("copied_video_path", "")
        if video.startswith("marked/"):
            thing = Path(video).stem.partition("_")[2]
            if thing in self._place.objects:
                return self._place.objects[thing]
            raise SceneError(f"marks '{thing}', which is not there", file=self._place.root / video)
        text = record["texts"][-1].lower()
        named = [
            t for t in self._place.objects.values() if re.search(rf"\bthe {re.escape(t['label'].lower())}\b", text)
        ]
        # "the coffee table" holds no other label unless that is a beginning of it: the longest one counts.
        longest = max((len(thing["label"]) for thing in named), default=0)
        found = [thing for thing in named if len(thing["label"]) == longest]
        if len(found) != 1:
            what = "no object" if not found else f"{len(found)} objects"
            raise SceneError(f"names {what} of the place", file=record["uid"], field="texts")
        return found[0]

    def _point(self, plan: str, x_m: float, y_m: float) -> str:
        frame = self._place.plans[Path(plan).name]
        x, y = plan_point_999(frame, x_m, y_m)
        return f"<point>{round(x)} {round(y)}</point>"

    def _selection(self, files: list[str]) -> str:
        scores = [self._likeness(_load(self._place.root / file)) for file in files]
        return LETTERS[int(np.argmax(scores))]

    def _likeness(self, image: Image) -> float:
        """How much a picture resembles the place's own, 1 at most."""
        height, width = image.shape[:2]
        frames = {name: f for name, f in self._place.plans.items() if (f["width"], f["height"]) == (width, height)}
        best = -math.inf
        for name in frames:
            if name.startswith("render"):
                best = max(best, self._render_likeness(image, name))
            else:
                expected = _expected_plan(self._place, name)
                free = image.min(axis=2) > 127
                best = max(best, float((expected & free).sum() / max(1, (expected | free).sum())))
        return best

    def _render_likeness(self, image: Image, name: str) -> float:
        """Outline and walls: walls are seen from above as dark lines."""
        inside, walls = _expected_render(self._place, name)
        shown = image.min(axis=2) < 246
        outline = float((inside & shown).sum() / max(1, (inside | shown).sum()))
        dark = 255.0 - image.max(axis=2)[inside].astype(np.float64)
        line = walls[inside].astype(np.float64)
        if dark.std() == 0.0 or line.std() == 0.0:
            return outline
        return (outline + float(np.corrcoef(dark, line)[0, 1])) / 2

    def _path(self, record: Mapping[str, Any], files: list[str]) -> str:
        truth = self._place.answers[record["uid"]]
        first, last = truth["frames"]
        poses = self._place.poses(truth["video"])[first : last + 1]
        points = np.array([pose.position_m for pose in poses])
        pixels = plan_pixels(self._place.plans["furniture.png"], points)
        errors = [_path_error(_load(self._place.root / file), pixels) for file in files]
        return LETTERS[int(np.argmin(errors))]


def _path_error(image: Image, pixels: Array) -> float:
    """How badly the red path and the blue dot of a picture fit a path, in pixels."""
    red, green, blue = (image[..., k].astype(np.int16) for k in range(3))
    path = np.argwhere((red > green + 60) & (red > blue + 60))[:, ::-1].astype(np.float64)
    dot = np.argwhere((blue > red + 60) & (blue > green + 60))[:, ::-1].astype(np.float64)
    if not len(path) or not len(dot):
        return math.inf
    step = np.linalg.norm(pixels[:, None] - path[None, :: max(1, len(path) // 2000)], axis=2)
    start = float(np.linalg.norm(dot.mean(axis=0) - pixels[0]))
    return float(step.min(axis=1).mean() + step.min(axis=0).mean()) + start


@lru_cache(maxsize=8)
def _expected_plan(place: PlaceTruth, name: str) -> NDArray[np.bool_]:
    return draw_plan(place.scene, place.plans[name], furniture=name.startswith("furniture"))


@lru_cache(maxsize=2)
def _expected_render(place: PlaceTruth, name: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    rooms, walls = (draw(place.scene, place.plans[name]) for draw in (draw_rooms, draw_walls))
    return rooms | walls, walls


def _load(file: Path) -> Image:
    image = cv2.imread(str(file), cv2.IMREAD_COLOR)
    if image is None:
        raise SceneError("is not an image that can be decoded", file=file)
    return np.asarray(image[:, :, ::-1], np.uint8)
