"""A set as one HTML page with all its pictures inside, a PNG image for each place, and an overview of all."""

from __future__ import annotations

import base64
import importlib.resources
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np

from gst_ros.scenes.check.truth import find_places, read_settings
from gst_ros.scenes.files import disk_error, write_image, write_text
from gst_ros.scenes.place import SceneError
from gst_ros.scenes.show.drawing import Image, tile
from gst_ros.scenes.show.questions import Picture
from gst_ros.scenes.show.sheet import Sheet, draw_overview_row, draw_sheet, make_sheet

TEMPLATE = "sheet.html"
JPEG_QUALITY = 82

Progress = Callable[[str], None]


@dataclass
class Shown:
    """What ``show_set`` wrote.

    Attributes:
        page: The page.
        overview: A picture with a row for each place.
        images: The sheet of each place.
        warnings: What is wrong with the set, as far as its sheets can be drawn all the same.
    """

    page: Path
    overview: Path
    images: list[Path] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def show_set(
    folder: Path, page: Path, *, frames: int = 6, per_task: int = 2, progress: Progress = lambda _: None
) -> Shown:
    """Draw the contact sheet of a set.

    Args:
        folder: The set's folder, or that of one place.
        page: The HTML file to write. Beside it come the places' sheets, ``<name of the page>_<place>.png``, and an
            overview of one name with it, ``.jpg``.
        frames: Frames shown of each video.
        per_task: Questions shown of each task and place; 0 for all.
        progress: Told the name of each place as its sheet begins.

    Raises:
        SceneError: There is no set, a file of it is missing or damaged, or the sheet cannot be written.
    """
    render = _template()
    places, settings = find_places(folder), read_settings(folder)
    shown = Shown(page, page.with_suffix(".jpg"))
    sheets, rows = [], []
    wanted = len(places) if settings is None or places[0].root == folder else settings.get("count", len(places))
    if wanted != len(places):
        shown.warnings.append(f"{folder}: {len(places)} of {wanted} places are there (run 'gst scenes make' again)")
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, Path(error.filename or page)) from error
    for place in places:
        progress(place.name)
        sheet = make_sheet(place, frames=frames, per_task=per_task)
        image = page.with_name(f"{page.stem}_{place.name}.png")
        write_image(image, draw_sheet(sheet))
        shown.images.append(image)
        shown.warnings += sheet.warnings
        sheets.append(_for_page(sheet, image.name))
        rows.append(draw_overview_row(sheet))
    write_image(shown.overview, np.concatenate(rows))
    write_text(page, render(folder.absolute().name, sheets))
    return shown


def _template() -> Callable[[str, Sequence[object]], str]:
    """What fills the page's template; everything that it is given is text, and is escaped."""
    try:
        import jinja2
    except ImportError as error:
        raise SceneError("the package jinja2 is not installed", remedy="pip install 'gst_ros[scenes]'") from error
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    text = (importlib.resources.files("gst_ros.scenes") / "data" / TEMPLATE).read_text(encoding="utf-8")
    template = environment.from_string(text)
    return lambda name, sheets: template.render(name=name, sheets=sheets)


def _for_page(sheet: Sheet, image: str) -> dict[str, object]:
    """A sheet as the template takes it: pictures are shrunk and become text, so that many places fit into memory.

    Args:
        sheet: The sheet.
        image: Name of the file beside the page that shows it.
    """

    def pictures(found: Sequence[Picture]) -> list[dict[str, str]]:
        return [{"caption": p.caption, "data": _data_uri(p.image)} for p in found]

    return {
        "name": sheet.name,
        "facts": sheet.facts,
        "image": image,
        "image_link": "./" + urllib.parse.quote(image),
        "pictures": pictures(sheet.pictures),
        "questions": sheet.questions,
        "cards": [
            {
                "task": card.task,
                "title": card.title,
                "answer": card.answer,
                "uid": card.uid,
                "texts": card.texts,
                "pictures": pictures(card.pictures),
            }
            for card in sheet.cards
        ],
    }


def _data_uri(image: Image) -> str:
    done, data = cv2.imencode(".jpg", tile(image)[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    if not done:
        raise ValueError(f"cannot encode an image of shape {image.shape}")
    return "data:image/jpeg;base64," + base64.b64encode(data.tobytes()).decode("ascii")
