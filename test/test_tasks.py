from __future__ import annotations

import json
from pathlib import Path

import pytest

from gst_ros.bench.tasks import GROUPS, TASKS, find_task
from gst_ros.errors import QuestionError


def test_twelve_tasks_in_official_order_and_groups() -> None:
    assert list(TASKS) == [
        "ed_v", "edist_v", "gp_v", "ed_s", "edist_s", "gp_s",
        "position", "orientation", "tds_easy", "tds_medium", "tds_hard", "trajectory",
    ]  # fmt: skip
    groups = [task.group for task in TASKS.values()]
    assert groups == ["object_localization"] * 6 + ["self_localization"] * 2 + ["scene_structure"] * 4
    assert set(groups) == set(GROUPS)
    assert [task.metric for task in TASKS.values()] == (
        ["angle", "mra", "point"] * 2 + ["point", "angle"] + ["acc"] * 4
    )
    assert [task.answer_kind for task in TASKS.values()] == (
        ["angle_deg", "distance_m", "point_999"] * 2 + ["point_999", "angle_deg"] + ["letter"] * 4
    )
    assert all(task.needs_video for task in TASKS.values())


@pytest.mark.parametrize("key", list(TASKS))
def test_every_name_of_a_task_finds_it(key: str) -> None:
    task = TASKS[key]
    for name in (key, task.official_name, task.title, *task.spellings):
        for spelt in (name, name.lower(), name.upper(), name.replace("_", " "), name.replace("_", "-"), f" {name}\n"):
            assert find_task(spelt) is task, spelt


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Global_Structure_Understanding_Trajection_Selection", "trajectory"),
        ("Global_Structure_Understanding_Trajectory_Selection", "trajectory"),
        ("Trajection_Selection", "trajectory"),
        ("..._Topdown_Selection_Medium", "tds_medium"),
        ("…_Topdown_Selection_Hard", "tds_hard"),
        ("Topdown_Selection_Easy", "tds_easy"),
        ("top-down selection easy", "tds_easy"),
        ("TopDown_Selection_Easy", "tds_easy"),
        ("Egocentric_Localization_Global_Position", "position"),
        ("Global_Position", "position"),
        ("Global_Position_visual", "gp_v"),
        ("Egocentric_Direction_semantic", "ed_s"),
        ("Egocentric_Distance_Visual", "edist_v"),
        ("Global_Orientation", "orientation"),
        ("ED-V", "ed_v"),
    ],
)
def test_variants_and_shortened_names(name: str, key: str) -> None:
    assert find_task(name).key == key


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "Object_Localization_Egocentric_Directon_visual",
            "did you mean 'Object_Localization_Egocentric_Direction_visual'",
        ),
        ("tds_medum", "(tds_medium)"),
        ("nonsense", "known: ed_v, edist_v"),
        ("", "known: ed_v"),
        ("x" * 100_000, "known: ed_v"),
    ],
)
def test_unknown_names_are_one_line_with_the_nearest(name: str, said: str) -> None:
    with pytest.raises(QuestionError) as caught:
        find_task(name)
    line = str(caught.value)
    assert said in line
    assert "\n" not in line and len(line) < 400
    assert caught.value.field == "task"


def test_a_name_that_fits_several_tasks_is_refused() -> None:
    # One word alone, such as "visual", is no name.
    with pytest.raises(QuestionError, match="unknown task"):
        find_task("visual")
    with pytest.raises(QuestionError, match="must be text"):
        find_task(3)  # type: ignore[arg-type]


def test_official_samples_name_known_tasks(shared_dir: Path) -> None:
    names = {
        json.loads(file.read_text(encoding="utf-8"))["task"]
        for file in (shared_dir / "gst_bench" / "samples").glob("*/question.json")
    }
    assert {find_task(name).key for name in names} == {
        "ed_v", "edist_v", "position", "tds_easy", "tds_medium", "trajectory"
    }  # fmt: skip
    assert all(find_task(name).official_name == name for name in names)
