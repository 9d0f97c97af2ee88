"""One question of each of the twelve tasks about the drawn home, with its true answer from the geometry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from drawn_demo.drawing import Camera, Pose, render
from drawn_demo.furniture import Box, Layout, build
from drawn_demo.homes import HOME, OTHER_HOMES
from drawn_demo.plans import PlanView, draw_plan, draw_render, draw_trajectory
from drawn_demo.walk import smooth_curve, walk_poses

Textures = dict[str, NDArray[np.uint8]]
SCENE = "drawn_home"
MARKED_OBJECT = "armchair"
SECTION = slice(45, 125)  # frames of the walk that the trajectory question shows
MIN_TARGET_PX = 400  # a target counts as seen in a frame from this many pixels on

# Where the query views are taken: off the walk, looking level, turned away from what is asked about.
QUERY_VIEWS = {
    "view_study": Pose(7.5, 2.6, 205.0, 0.0),
    "view_living_room": Pose(2.0, 4.9, 250.0, 0.0),
    "view_dining_corner": Pose(4.3, 5.4, 190.0, 0.0),
    "view_bedroom": Pose(6.2, 5.8, -35.0, 0.0),
}

EXPLORED = "This is the video that you recorded earlier, while you explored the entire scene:"
SECTION_EXPLORED = "This is the video that you recorded earlier in one section of the scene:"
VIEW = "This is what you see now:"
PLAN = "This is the top-down image of the scene:"
DIRECTION = (
    "In which direction from you is {target}? Your viewing direction is 0° and turns to the left are positive. "
    "Give only the angle, as an integer from –180 to 180, without the degree symbol."
)
DISTANCE = (
    "How many meters away from you is {target}? Give only the number, rounded to one decimal place, without a unit."
)
POINT = (
    "Where on the top-down image is {target}? The coordinates run from 0 to 999, x to the right of the image and y to "
    "its bottom. Give only the point, in the format <point>x y</point>."
)
ORIENTATION = (
    "In which direction on the top-down image are you looking? Straight up on the image is 0° and turns to the left "
    "are positive. Give only the angle, as an integer from –180 to 180, without the degree symbol."
)
SELECT_PLAN = (
    "Which of these four images is the best top-down view of the entire scene? Answer only with the letter.\nA."
)
SELECT_PATH = (
    "On which of these four top-down maps is the red line the path that the video shows? The blue dot is where it "
    "starts. Answer only with the letter.\nA."
)
LETTERS = "ABCD"


def make_questions(media: Path, textures: Textures) -> list[dict[str, Any]]:
    """Draw all images into ``media`` and return the questions in the benchmark's own format."""
    boxes, view = build(HOME), PlanView(HOME)
    for name, pose in QUERY_VIEWS.items():
        image, _ = render(boxes, textures, Camera(), pose)
        write_image(media / f"{name}.jpg", image)
    write_image(media / "plan.png", draw_plan(HOME))
    study, living_room = QUERY_VIEWS["view_study"], QUERY_VIEWS["view_living_room"]
    marked = "the object marked with a red box in the video"
    marked_video = f"walk_marked_{MARKED_OBJECT}.mp4"

    questions = [
        _question("ed_v", marked_video, [EXPLORED, VIEW, DIRECTION.format(target=marked)], ["view_study.jpg"],
                  str(bearing_deg(study, MARKED_OBJECT))),
        _question("edist_v", marked_video, [EXPLORED, VIEW, DISTANCE.format(target=marked)], ["view_study.jpg"],
                  distance_m(study, MARKED_OBJECT)),
        _question("gp_v", marked_video, [EXPLORED, PLAN, POINT.format(target=marked)], ["plan.png"],
                  point_text(view, *centre_m(MARKED_OBJECT))),
        _question("ed_s", "walk.mp4", [EXPLORED, VIEW, DIRECTION.format(target="the bookcase")],
                  ["view_living_room.jpg"], str(bearing_deg(living_room, "bookcase"))),
        _question("edist_s", "walk.mp4", [EXPLORED, VIEW, DISTANCE.format(target="the bed")],
                  ["view_living_room.jpg"], distance_m(living_room, "bed")),
        _question("gp_s", "walk.mp4", [EXPLORED, PLAN, POINT.format(target="the chest")], ["plan.png"],
                  point_text(view, *centre_m("chest"))),
        _question("position", "walk.mp4", [EXPLORED, VIEW, PLAN, POINT.format(target="the place where you are")],
                  ["view_dining_corner.jpg", "plan.png"],
                  point_text(view, QUERY_VIEWS["view_dining_corner"].x_m, QUERY_VIEWS["view_dining_corner"].y_m)),
        _question("orientation", "walk.mp4", [EXPLORED, VIEW, PLAN, ORIENTATION], ["view_bedroom.jpg", "plan.png"],
                  str(round(wrapped_deg(QUERY_VIEWS["view_bedroom"].yaw_deg - 90)))),
    ]  # fmt: skip
    choices = {
        "tds_easy": ([draw_render(home, textures) for home in (HOME, *OTHER_HOMES)], "B"),
        "tds_medium": ([draw_plan(home) for home in (HOME, *OTHER_HOMES)], "D"),
        "tds_hard": ([draw_plan(home) for home in (HOME, *_look_alikes())], "A"),
        "trajectory": ([draw_trajectory(HOME, path) for path in _paths()], "C"),
    }
    for task, (images, letter) in choices.items():
        ending = "jpg" if task == "tds_easy" else "png"
        names = [f"{task}_{option}.{ending}" for option in LETTERS]
        for name, image in zip(names, _with_right_one_at(images, letter), strict=True):
            write_image(media / name, image)
        text = [SECTION_EXPLORED, SELECT_PATH] if task == "trajectory" else [EXPLORED, SELECT_PLAN]
        video = "section.mp4" if task == "trajectory" else "walk.mp4"
        questions.append(_question(task, video, [*text, "\nB.", "\nC.", "\nD."], names, letter))
    return questions


OFFICIAL_NAMES = {
    "ed_v": "Object_Localization_Egocentric_Direction_visual",
    "edist_v": "Object_Localization_Egocentric_Distance_visual",
    "gp_v": "Object_Localization_Global_Position_visual",
    "ed_s": "Object_Localization_Egocentric_Direction_semantic",
    "edist_s": "Object_Localization_Egocentric_Distance_semantic",
    "gp_s": "Object_Localization_Global_Position_semantic",
    "position": "Self_Localization_Global_Position",
    "orientation": "Self_Localization_Global_Orientation",
    "tds_easy": "Global_Structure_Understanding_Topdown_Selection_Easy",
    "tds_medium": "Global_Structure_Understanding_Topdown_Selection_Medium",
    "tds_hard": "Global_Structure_Understanding_Topdown_Selection_Hard",
    "trajectory": "Global_Structure_Understanding_Trajection_Selection",
}


def _question(key: str, video: str, texts: Sequence[str], images: Sequence[str], answer: str | float) -> dict[str, Any]:
    return {
        "task": OFFICIAL_NAMES[key],
        "uid": f"{SCENE}_{OFFICIAL_NAMES[key]}_0",
        "scene": SCENE,
        "answer": answer,
        "texts": list(texts),
        "copied_video_path": f"media/{video}",
        "images": [{"index": k, "copied_path": f"media/{name}"} for k, name in enumerate(images, start=1)],
    }


# --- true answers ---------------------------------------------------------------------------------


def centre_m(name: str) -> tuple[float, float]:
    """The middle of an object's footprint in ``map``."""
    x0, y0, x1, y1 = HOME.item(name).footprint
    return (x0 + x1) / 2, (y0 + y1) / 2


def wrapped_deg(angle_deg: float) -> float:
    """The same angle in [-180, 180)."""
    return (angle_deg + 180) % 360 - 180


def bearing_deg(pose: Pose, name: str) -> int:
    """Direction of an object from a camera; view direction 0, left positive."""
    x_m, y_m = centre_m(name)
    return round(wrapped_deg(math.degrees(math.atan2(y_m - pose.y_m, x_m - pose.x_m)) - pose.yaw_deg))


def distance_m(pose: Pose, name: str) -> float:
    """Horizontal distance of an object from a camera, one decimal."""
    x_m, y_m = centre_m(name)
    return round(math.hypot(x_m - pose.x_m, y_m - pose.y_m), 1)


def point_text(view: PlanView, x_m: float, y_m: float) -> str:
    """A place in the benchmark's notation."""
    return "<point>{} {}</point>".format(*view.point_999(x_m, y_m))


# --- wrong choices --------------------------------------------------------------------------------


def _look_alikes() -> list[Layout]:
    """The home mirrored, with two rooms exchanged, and with some furniture moved."""
    moved = {"bed": (5.35, 4.2, 7.3, 5.8), "sofa": (0.25, 4.4, 1.15, 6.4), "desk": (5.3, 0.25, 6.8, 0.95)}
    refurnished = tuple(replace(i, footprint=moved.get(i.name, i.footprint)) for i in HOME.items)
    depth = HOME.size_m[1]

    def upside_down(f: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
        return (f[0], depth - f[3], f[2], depth - f[1])

    # Only what lies right of the living room's wall is turned over: bedroom and study change places.
    exchanged = replace(
        HOME,
        walls=tuple(upside_down(w) if w[0] > 5.1 else w for w in HOME.walls),
        items=tuple(replace(i, footprint=upside_down(i.footprint)) if i.footprint[0] > 5.1 else i for i in HOME.items),
    )
    return [HOME.mirrored(), exchanged, replace(HOME, items=refurnished)]


def _paths() -> list[list[tuple[float, float]]]:
    """The section's path, the same one backwards, an earlier section, and one that was never walked."""
    walked = [(pose.x_m, pose.y_m) for pose in walk_poses()]
    never = smooth_curve(np.array([(3.2, 1.2), (1.6, 1.5), (1.46, 2.6), (1.46, 4.2), (2.6, 4.75), (4.2, 4.0)]))
    return [walked[SECTION], walked[SECTION][::-1], walked[: SECTION.start + 38], [(x, y) for x, y in never.tolist()]]


def _with_right_one_at(images: list[NDArray[np.uint8]], letter: str) -> list[NDArray[np.uint8]]:
    """Move the first image, the right one, to its letter; the others keep their order."""
    others = images[1:]
    others.insert(LETTERS.index(letter), images[0])
    return others


# --- pictures -------------------------------------------------------------------------------------


def visible_px(owner: NDArray[np.int16], boxes: list[Box], name: str) -> NDArray[np.bool_]:
    """Where an object is seen, from the box numbers that :func:`drawn_demo.drawing.render` returns."""
    return np.isin(owner, [k for k, box in enumerate(boxes) if box.name == name])


def draw_mark(image: NDArray[np.uint8], owner: NDArray[np.int16], boxes: list[Box]) -> NDArray[np.uint8]:
    """The frame with a red rectangle round what is visible of the marked object, if that is enough to be seen."""
    rows, columns = np.nonzero(visible_px(owner, boxes, MARKED_OBJECT))
    if rows.size < MIN_TARGET_PX:
        return image
    marked = image.copy()
    cv2.rectangle(marked, (int(columns.min()), int(rows.min())), (int(columns.max()), int(rows.max())), (255, 0, 0), 4)
    return marked


def write_image(path: Path, image_rgb: NDArray[np.uint8]) -> None:
    """Write PNG or JPEG by the name's ending."""
    options = [cv2.IMWRITE_JPEG_QUALITY, 85] if path.suffix == ".jpg" else [cv2.IMWRITE_PNG_COMPRESSION, 9]
    if not cv2.imwrite(str(path), image_rgb[..., ::-1], options):
        raise OSError(f"cannot write {path}")
