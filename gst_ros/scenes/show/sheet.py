"""The sheet of one place: what it is, what its videos show, its plans with the walk, and cards of its questions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gst_ros.scenes.check.truth import PlaceTruth
from gst_ros.scenes.plans import draw_path
from gst_ros.scenes.show import drawing
from gst_ros.scenes.show.drawing import Image
from gst_ros.scenes.show.material import Material
from gst_ros.scenes.show.questions import OVERVIEW_PLAN, Card, Picture, choose, make_cards

COLUMNS = 6
GAP_PX = 8
LINE_PX = 20
PAPER = 255
_CAPTION_LETTERS = 38


@dataclass(frozen=True)
class Sheet:
    """What is shown of one place.

    Attributes:
        name: Name of the place.
        facts: What it is, in a line.
        pictures: Frames, plans with the walk and the query views, and query views.
        cards: Its questions.
        questions: How many questions it has in all.
        overview: The six pictures that stand for it in the overview of a set.
        warnings: What a person should know before they believe the sheet.
    """

    name: str
    facts: str
    pictures: tuple[Picture, ...]
    cards: tuple[Card, ...]
    questions: int
    overview: tuple[Picture, ...]
    warnings: tuple[str, ...] = ()


def make_sheet(place: PlaceTruth, *, frames: int = 6, per_task: int = 2) -> Sheet:
    """Draw everything that is shown of a place.

    Args:
        place: The place.
        frames: Frames shown of each video.
        per_task: Questions shown of each task; 0 for all.

    Raises:
        SceneError: A file of the place is missing or cannot be read.
    """
    material = Material(place)
    shots = [picture for video in place.videos for picture in _frames(material, video, frames)]
    walks = [_walk_plan(material, video, frames) for video in place.videos]
    render = Picture("coloured render", material.image("plans/render.jpg"))
    plans = [*walks, _view_plan(material), render, Picture("walls alone", material.image("plans/walls.png"))]
    cards = make_cards(material, choose(material.questions, per_task))
    views = [Picture("query view", material.image(file)) for file in list(place.views)[:1]]
    overview = [*shots[:: max(1, len(shots) // 3)][: 4 - len(views)], *views, *walks[:1], render]
    return Sheet(
        place.name,
        describe(material),
        (*shots, *plans),
        tuple(cards),
        len(material.questions),
        tuple(overview[:COLUMNS]),
        tuple(material.warnings()),
    )


def describe(material: Material) -> str:
    """What a place is and what was filmed of it, in a line."""
    scene = material.truth.scene
    indoor = [room for room in scene["rooms"] if room["ceiling_m"] > 0]
    area = sum(_area_m2(room["outline"]) for room in indoor)
    parts = [
        f"{scene['kind']}{' with a garden' if len(indoor) < len(scene['rooms']) else ''}",
        f"{len(indoor)} rooms, {area:.0f} m2",
        f"{len(scene['objects'])} objects, {len({thing['label'] for thing in scene['objects']})} names",
        *(_video_facts(material, video) for video in material.truth.videos),
        f"{len(material.truth.views)} query views",
        f"{len(material.questions)} questions",
    ]
    if material.skipped:
        first = material.skipped[0]
        parts.append(f"{len(material.skipped)} questions cannot be asked ({first.uid}: {first.reason})")
    return "; ".join(parts)


def draw_sheet(sheet: Sheet) -> Image:
    """The sheet as one image: pictures six to a row, then the cards, as many side by side as fit.

    Args:
        sheet: The sheet.
    """
    width = COLUMNS * (drawing.TILE_SIZE[0] + GAP_PX) + GAP_PX
    rows = [_heading(width, [sheet.name, sheet.facts])]
    rows += [_row(width, [(picture.caption, "", [picture]) for picture in part]) for part in _parts(sheet.pictures)]
    line: list[tuple[str, str, Sequence[Picture]]] = []
    for card in sheet.cards:
        if sum(len(pictures) for *_, pictures in line) + len(card.pictures) > COLUMNS:
            rows.append(_row(width, line))
            line = []
        line.append((f"{card.task}: {card.answer}", card.uid.removeprefix(f"{sheet.name}_"), card.pictures))
    if line:
        rows.append(_row(width, line))
    return np.concatenate(rows)


def draw_overview_row(sheet: Sheet) -> Image:
    """A row of six pictures that stands for a place in the overview of a set.

    Args:
        sheet: The place's sheet.
    """
    width = COLUMNS * (drawing.TILE_SIZE[0] + GAP_PX) + GAP_PX
    row = _row(width, [("", "", [picture]) for picture in sheet.overview])
    drawing.draw_text(row, f"{sheet.name}: {sheet.facts}", (GAP_PX, 2 * LINE_PX - 8), 0.55)
    return row


def _frames(material: Material, video: str, count: int) -> list[Picture]:
    numbers = _spread(material, video, count)
    file = f"{video}.mp4"
    material.read({file: numbers})
    pictures = []
    for k, number in enumerate(numbers, start=1):
        image = material.frame(file, number)
        drawing.draw_badge(image, str(k), drawing.CAMERA)
        pictures.append(Picture(f"{video}, frame {number}", image))
    return pictures


def _spread(material: Material, video: str, count: int) -> list[int]:
    last = len(material.truth.poses(video)) - 1
    return sorted({round((k + 0.5) * last / count) for k in range(count)})


def _walk_plan(material: Material, video: str, count: int) -> Picture:
    """The plan with the walk, and the numbers of the frames where they were taken."""
    frame = material.plan_frame(OVERVIEW_PLAN)
    path = frame.pixel(material.path_m(video))
    plan = draw_path(material.image(f"plans/{OVERVIEW_PLAN}"), path, width_px=4)
    for k, number in enumerate(_spread(material, video, count), start=1):
        forward = material.truth.poses(video)[number].map_from_camera[:2, 2]
        drawing.draw_ray(plan, path[number], math.degrees(math.atan2(-forward[0], forward[1])), 24, drawing.CAMERA)
        drawing.draw_point(plan, path[number], drawing.CAMERA, 3)
        at = (round(path[number][0]) + 6, round(path[number][1]) - 6)
        drawing.draw_text(plan, str(k), at, 0.9, drawing.CAMERA)
    return Picture(f"walk of {video}", plan)


def _view_plan(material: Material) -> Picture:
    """The plan with the query views."""
    frame = material.plan_frame(OVERVIEW_PLAN)
    plan = material.image(f"plans/{OVERVIEW_PLAN}")
    for view in material.truth.views.values():
        eye = frame.pixel(np.array(view["position_m"][:2]))
        drawing.draw_ray(plan, eye, view["yaw_deg"] - 90.0, 20, drawing.ANSWER)
        drawing.draw_point(plan, eye, drawing.ANSWER, 3)
    return Picture("query views", plan)


def _video_facts(material: Material, video: str) -> str:
    path = material.path_m(video)
    length = float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
    return f"{video}: {len(path)} frames, {length:.1f} m"


def _area_m2(outline: Sequence[Sequence[float]]) -> float:
    """Area of a simple polygon (the shoelace formula)."""
    x, y = np.array(outline).T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def _parts(pictures: Sequence[Picture]) -> list[Sequence[Picture]]:
    return [pictures[k : k + COLUMNS] for k in range(0, len(pictures), COLUMNS)]


def _heading(width: int, lines: Sequence[str]) -> Image:
    image = np.full((LINE_PX * len(lines) + 2 * GAP_PX, width, 3), PAPER, np.uint8)
    for k, line in enumerate(lines):
        drawing.draw_text(image, line, (GAP_PX, GAP_PX + LINE_PX * (k + 1) - 5), 0.6)
    return image


def _row(width: int, groups: Sequence[tuple[str, str, Sequence[Picture]]]) -> Image:
    """Groups of pictures side by side, each under its two lines of text."""
    tile_width, tile_height = drawing.TILE_SIZE
    image = np.full((2 * LINE_PX + tile_height + GAP_PX, width, 3), PAPER, np.uint8)
    left = GAP_PX
    for title, below, pictures in groups:
        letters = _CAPTION_LETTERS * len(pictures)
        drawing.draw_text(image, title[:letters], (left, LINE_PX - 4), 0.5, drawing.ANSWER if below else drawing.INK)
        drawing.draw_text(image, below[:letters], (left, 2 * LINE_PX - 6), 0.4)
        for picture in pictures:
            image[2 * LINE_PX : 2 * LINE_PX + tile_height, left : left + tile_width] = drawing.tile(picture.image)
            left += tile_width + GAP_PX
    return image
