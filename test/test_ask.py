"""``gst ask``: what is understood, what is needed, and an answer from the demo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gst_ros.cli.main import run
from gst_ros.environment import share_dir
from gst_ros.errors import AnswererError
from gst_ros.reasoning import free_questions as free


@pytest.mark.parametrize(
    ("question", "meaning"),
    [
        ("Where am I?", free.WHERE_AM_I),
        ("what is my position on the plan", free.WHERE_AM_I),
        ("Which way am I looking?", free.HEADING),
        ("What is my heading on this map?", free.HEADING),
        ("where is the marked object?", free.DIRECTION),
        ("In which direction from you is the object that is marked with a red box in the video?", free.DIRECTION),
        ("How far is the marked object?", free.DISTANCE),
        ("How many meters away is the object in the red box?", free.DISTANCE),
        ("Where on this map is the object with the red box?", free.PLACE),
        ("Which of these plans? Which plan is this?", free.WHICH_PLAN),
    ],
)
def test_questions_are_understood(question: str, meaning: str) -> None:
    assert free.understand(question) == meaning


@pytest.mark.parametrize("question", ["", "where is the sofa?", "how far is it to Rome", "9" * 5000])
def test_what_the_map_cannot_know_is_said(question: str) -> None:
    with pytest.raises(AnswererError, match="ask one of: where am I;"):
        free.understand(question)


@pytest.mark.parametrize(
    ("angle_deg", "words"),
    [
        (0, "straight ahead"),
        (30, "ahead on the left"),
        (-90, "on the right"),
        (150, "behind on the left"),
        (-180, "behind"),
    ],
)
def test_directions_in_words(angle_deg: float, words: str) -> None:
    assert free.spoken_direction(angle_deg) == words


def test_a_path_question_of_the_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which plan is this: a short part of the walk is enough to tell the place from others of the demo's options."""
    (place,) = (file.parent for file in (share_dir() / "demo").glob("*/questions.json"))
    clip = str(max((place / "clips").glob("*.mp4")))
    record = next(r for r in json.loads((place / "questions.json").read_text()) if "Selection_Medium" in r["task"])
    words = [word for image in record["images"] for word in ("--plan", str(place / image["copied_path"]))]
    assert run(["ask", clip, "which plan is this?", *words, "--features", "sift", "--json"]) == 0
    values = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert values["question"] == "which plan is this" and values["answer"] in "ABCD"
    assert values["step"] == "map" and len(values["scores"]) == 4 and 0 < values["confidence"] <= 1
    view = str(next((place / "views").glob("*.jpg")))
    assert run(["ask", clip, "where is the marked object?", "--image", view, "--features", "sift"]) == 2
    assert "no mark was seen" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["where am I?"], "--image"),
        (["which plan is this?", "--plan", "{image}"], "--plan"),
        (["where am I?", "--image", "gone.jpg"], "gone.jpg"),
        (["where am I?", "--image", "{image}"], "nothing.mp4"),
        (["who am I?"], "not understood"),
    ],
)
def test_bad_input_is_one_line(words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = next((share_dir() / "demo").glob("*/plans/walls.png"))
    assert run(["ask", str(tmp_path / "nothing.mp4"), *(word.format(image=image) for word in words)]) == 2
    err = capsys.readouterr().err
    assert says in err and err.count("\n") == 1
