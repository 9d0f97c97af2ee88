"""``gst ask``: one question about a place, without ROS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gst_ros.memory.walks import Walk


@click.command("ask", short_help="Ask one question about a video or a map.")
@click.argument("place", type=click.Path(path_type=Path))
@click.argument("question")
@click.option("--image", type=click.Path(path_type=Path), help="What you see now: a level picture, nothing drawn in.")
@click.option(
    "--plan", "plans", type=click.Path(path_type=Path), multiple=True, help="Top-down image; may be repeated."
)
@click.option("--features", type=click.Choice(["auto", "xfeat", "sift"]), default="auto", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    place: Path, question: str, image: Path | None, plans: tuple[Path, ...], features: str, as_json: bool
) -> int:
    """Answer QUESTION about PLACE: a video (an object in it may be marked by a red box), or a map of 'gst map'.

    \b
    gst ask VIDEO --image VIEW "where is the marked object?"
    gst ask VIDEO --image VIEW "how far is the marked object?"
    gst ask VIDEO --plan PLAN "where on the plan is the marked object?"
    gst ask MAP --image VIEW --plan PLAN "where am I?"
    gst ask MAP --plan A.png --plan B.png "which plan is this?"
    """
    from gst_ros.errors import AnswererError, ConfigError
    from gst_ros.media.images import read_image
    from gst_ros.memory.keyframes import KeyframeStore
    from gst_ros.reasoning import free_questions as free
    from gst_ros.reasoning.answerer import Query, Recall
    from gst_ros.reasoning.memory_answers import MemoryAnswerer
    from gst_ros.reasoning.memory_settings import MemoryAnswererConfig

    meaning = free.understand(question)
    needs_view = meaning not in (free.PLACE, free.WHICH_PLAN)
    if needs_view and image is None:
        raise ConfigError("is not given", field="--image", remedy="say what you see now")
    least_plans = {free.HEADING: 1, free.PLACE: 1, free.WHICH_PLAN: 2, free.WHERE_AM_I: 0}.get(meaning, 0)
    if len(plans) < least_plans:
        raise ConfigError(f"'{meaning}' needs {least_plans} of them", field="--plan")
    files = [*([image] if needs_view and image is not None else []), *plans]
    for file in files:
        read_image(file)  # says which file is none
    walk = _walk(place, features)
    query = Query("ask", free.TASKS[meaning], (question,), tuple(file.read_bytes() for file in files))
    if meaning == free.WHERE_AM_I and not plans:
        answer = MemoryAnswerer(MemoryAnswererConfig()).pose(query, Recall(KeyframeStore(), lambda: walk))
    else:
        answer = MemoryAnswerer(MemoryAnswererConfig()).answer(query, Recall(KeyframeStore(), lambda: walk))
    if answer.details["step"] == "guess":
        raise AnswererError(f"cannot be answered: {answer.explanation.removeprefix('guess: ')}")
    if as_json:
        values = {"question": meaning, "answer": answer.text, "confidence": answer.confidence, **answer.details}
        click.echo(json.dumps(values))
        return 0
    click.echo(_said(meaning, answer.text))
    click.echo(f"confidence {answer.confidence}; {answer.explanation}")
    return 0


def _said(meaning: str, text: str) -> str:
    from gst_ros.reasoning import free_questions as free

    if meaning == free.DIRECTION:
        return f"{text} deg (left is positive): {free.spoken_direction(float(text))}"
    if meaning == free.DISTANCE:
        return f"{text} m"
    if meaning == free.HEADING:
        return f"{text} deg from the plan's upper side (left is positive)"
    return text


def _walk(place: Path, features: str) -> Walk:
    """The walk of a video, or a map as one."""
    from tqdm import tqdm

    from gst_ros.mapping.map_files import load_map
    from gst_ros.media.clip import open_clip
    from gst_ros.memory.walk_settings import WalkConfig
    from gst_ros.memory.walks import Walk, WalkRecorder, facts_beside

    if (place / "map.json").is_file():
        return Walk(load_map(place), (), f"of {place.name}")
    recorder = WalkRecorder(WalkConfig(map_features=features))
    recorder.tell(facts_beside(place))
    with open_clip(place) as clip:
        for frame in tqdm(clip, desc="mapping", unit="frame", total=clip.frames_claimed):
            recorder.add(frame)
    return recorder.finish()
