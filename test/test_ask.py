"""``gst ask``: what is understood, what is needed, and an answer from the demo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_memory_answers import FakeMap, located, registration

from gst_ros.cli.main import run
from gst_ros.environment import share_dir
from gst_ros.errors import AnswererError
from gst_ros.mapping.relocalise import Lost
from gst_ros.memory.walks import Walk
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


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> FakeMap:
    """A place whose map says what it is told to."""
    place = FakeMap(located(1.0, 1.0, 90.0), registration(), best=1)
    monkeypatch.setattr(
        "gst_ros.cli.ask._walk",
        lambda _, features: Walk(place, place.marks(), "as told"),  # type: ignore[arg-type]
    )
    return place


def test_answers_are_said_in_words_or_as_json(known: FakeMap, capsys: pytest.CaptureFixture[str]) -> None:
    image, plan = (str(next((share_dir() / "demo").glob(f"*/{name}"))) for name in ("views/*.jpg", "plans/walls.png"))

    def said(*words: str) -> list[str]:
        assert run(["ask", "VIDEO", *words]) == 0
        return capsys.readouterr().out.splitlines()

    assert said("where is the marked object?", "--image", image)[0] == "-90 deg (left is positive): on the right"
    assert said("how far is the marked object?", "--image", image)[0] == "2.0 m"
    assert said("where am I?", "--image", image)[0].startswith("x 1.00 m, y 1.00 m, yaw 90 deg, give or take")
    assert said("where am I?", "--image", image, "--plan", plan)[0] == "<point>599 400</point>"
    assert said("which plan is this?", "--plan", plan, "--plan", plan)[0] == "B"
    values = json.loads(said("which way am I looking?", "--image", image, "--plan", plan, "--json")[0])
    assert (values["answer"], values["step"], values["view_features"]) == ("0", "map", 80)


def test_what_the_map_does_not_tell_is_an_error(known: FakeMap, capsys: pytest.CaptureFixture[str]) -> None:
    image = str(next((share_dir() / "demo").glob("*/views/*.jpg")))
    known._view = Lost("nothing alike")
    for question in ("where is the marked object?", "where am I?"):
        assert run(["ask", "VIDEO", question, "--image", image]) == 2
        assert "not recognised" in capsys.readouterr().err


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
