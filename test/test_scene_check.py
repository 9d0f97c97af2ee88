"""The independent checks: a right set passes, and each thing that can go wrong in one is found."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_places import tiny_place, tiny_set

from gst_ros.bench.metrics import angle_score, mra_score, point_score
from gst_ros.bench.tasks import TASKS
from gst_ros.cli.main import run
from gst_ros.scenes.cameras import CameraPose, Intrinsics
from gst_ros.scenes.cameras import project as project_by_renderer
from gst_ros.scenes.check.baselines import Asked, check_oracle, check_random, check_text_only, expected_score
from gst_ros.scenes.check.fairness import check_fairness
from gst_ros.scenes.check.files import check_files
from gst_ros.scenes.check.geometry import bearing_deg, in_box_frame, plan_point_999, project, rays
from gst_ros.scenes.check.marks import check_marks, drawn, red
from gst_ros.scenes.check.oracle import Oracle
from gst_ros.scenes.check.pictures import check_pictures
from gst_ros.scenes.check.positions import check_positions
from gst_ros.scenes.check.ranges import check_ranges
from gst_ros.scenes.check.rasters import draw_plan
from gst_ros.scenes.check.rays import check_rays
from gst_ros.scenes.check.report import Check, Report, report_table, task_table
from gst_ros.scenes.check.run import check_set
from gst_ros.scenes.check.studio import open_studio
from gst_ros.scenes.check.truth import Pinhole, PlaceTruth, Pose, rotation
from gst_ros.scenes.place import SceneError


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recording, _, _ = tiny_set(tmp_path_factory)
    root: Path = recording.files.root
    return root


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """A copy of the tiny place to spoil."""
    root = tmp_path / "set" / made.name
    shutil.copytree(made, root)
    return root


def failed(checks: Any) -> list[str]:
    return [check.name for check in checks if check.passed is False]


def change(file: Path, what: Callable[[Any], Any]) -> None:
    """Load a JSON file, change it in place or by what is returned, and write it back."""
    value = json.loads(file.read_text())
    result = what(value)
    file.write_text(json.dumps(value if result is None else result))


# Geometry worked out anew


@pytest.mark.parametrize("angles", [(0, 0, 0), (30, 35, 0), (-170, 12, 7), (90, -20, -15)])
def test_two_derivations_of_projection_agree(angles: tuple[float, float, float]):
    pose = CameraPose(1.0, -2.0, 1.5, *angles)
    camera = Intrinsics(640, 512, 335.3)
    points = np.random.default_rng(1).uniform(-5, 5, (200, 3))
    pixels, depth = project_by_renderer(points, pose, camera)
    mine = Pose(np.array([1.0, -2.0, 1.5]), rotation(*angles))
    columns, rows, own_depth = project(points, mine, Pinhole(640, 512, 335.3, camera.cx, camera.cy))
    front = depth > 0.1
    assert np.allclose(own_depth, depth)
    assert np.allclose(np.stack([columns, rows], 1)[front], pixels[front])


def test_rays_go_where_projection_comes_from():
    camera = Pinhole(640, 512, 335.3, 319.5, 255.5)
    pose = Pose(np.array([1.0, 2.0, 1.5]), rotation(40.0, 35.0, 3.0))
    columns, rows = np.array([0.0, 320.0, 600.0]), np.array([0.0, 100.0, 500.0])
    points = pose.position_m + 2.5 * rays(columns, rows, pose, camera)
    back = project(points, pose, camera)
    assert np.allclose(back, [columns, rows, np.full(3, 2.5)])


def test_bearings_boxes_and_plan_points():
    pose = Pose(np.array([1.0, 1.0, 1.5]), rotation(90.0, 0.0, 0.0))
    assert bearing_deg(pose, np.array([0.0, 1.0, 0.0])) == pytest.approx(90.0)
    box = {"position_m": [1.0, 1.0, 0.0], "yaw_deg": 90.0, "size_m": [2.0, 1.0, 1.0]}
    assert np.allclose(in_box_frame(np.array([[1.0, 2.0, 0.5]]), box), [[1.0, 0.0, 0.0]])
    frame = {"left_m": 0.0, "top_m": 10.0, "width": 640, "height": 512, "m_per_px": 0.025}
    assert plan_point_999(frame, 8.0, 10.0 - 6.4) == pytest.approx((499.5, 499.5))


def test_the_oracle_draws_the_plan_that_the_data_engine_draws(made: Path):
    from gst_ros.media.images import read_image

    truth = PlaceTruth(made)
    for name in ("furniture.png", "walls.png"):
        drawn = read_image(made / "plans" / name)[..., 0] > 127
        expected = draw_plan(truth.scene, truth.plans[name], furniture=name.startswith("furniture"))
        assert (drawn & expected).sum() / (drawn | expected).sum() > 0.97


# A right set


def test_a_right_set_passes_every_check(made: Path):
    report = check_set(made, frames=4)
    assert [check.line for check in report.failed] == []
    names = {check.name for check in report.checks if check.passed}
    assert {
        "questions load",
        "media decode",
        "truth outside gt/",
        "camera.json",
        "red rectangles",
        "positions of query views",
        "object points lie on their instance",
        "video shows what the poses see",
        "recorded visibility",
        "views show what their poses see",
        "targets in query views",
        "distances and directions in depth images",
        "targets fill their boxes",
        "ray casting: ids",
        "ray casting: depth",
        "no question twice",
        "letters balanced",
        "oracle",
        "random",
    } <= names
    tasks = next(check for check in report.checks if check.name == "oracle").values["tasks"]
    assert {key: values["score"] for key, values in tasks.items()} == {key: 100.0 for key in TASKS}
    assert report_table(report, "x").row_count == len(report.checks)
    assert task_table(report).row_count == 12


# Spoilt sets


def test_a_wrong_answer_is_found_by_the_oracle_and_in_depth_images(place: Path):
    def spoil(records: list[dict[str, Any]]) -> None:
        for record in records:
            if "Egocentric_Distance" in record["task"]:
                record["answer"] = round(record["answer"] * 1.4 + 0.5, 1)

    change(place / "questions.json", spoil)
    assert failed(check_oracle([PlaceTruth(place)])) == ["oracle"]
    with open_studio(PlaceTruth(place), {}) as studio:
        assert failed(check_ranges(studio)) == ["distances and directions in depth images"]


@pytest.mark.parametrize("part", ["Direction", "Global_Position", "Global_Orientation", "Topdown", "Trajection"])
def test_any_kind_of_wrong_answer_is_found_by_the_oracle(place: Path, part: str):
    def wrong(answer: str) -> str:
        if answer in "ABCD":
            return "ABCD"["ABCD".index(answer) - 1]
        if "point" in answer:
            return "<point>1 1</point>"
        return str(round(math.remainder(float(answer) + 90.0, 360.0)))

    def spoil(records: list[dict[str, Any]]) -> None:
        for record in records:
            if part in record["task"]:
                record["answer"] = wrong(record["answer"])

    truth = PlaceTruth(place)
    right = {record["uid"]: record["answer"] for record in truth.questions}
    change(place / "questions.json", spoil)
    changed = PlaceTruth(place).questions
    assert any(record["answer"] != right[record["uid"]] for record in changed)
    assert failed(check_oracle([PlaceTruth(place)])) == ["oracle"]


def test_the_oracle_does_not_look_at_the_answers(place: Path):
    oracle = Oracle(PlaceTruth(place))
    for record in PlaceTruth(place).questions:
        assert oracle.answer({**record, "answer": None}) == oracle.answer(record)


def test_a_question_about_nothing_in_the_place_is_wrong(place: Path):
    def spoil(records: list[dict[str, Any]]) -> None:
        record = next(r for r in records if r["task"].endswith("Direction_semantic"))
        record["texts"][-1] = "In which direction is the submarine?"

    change(place / "questions.json", spoil)
    (check,) = check_oracle([PlaceTruth(place)])
    assert check.passed is False
    assert "names no object" in check.measured


def test_poses_of_another_walk_are_found(place: Path):
    file = place / "gt" / "trajectory_video1.tum"
    lines = file.read_text().splitlines()
    file.write_text(
        "\n".join(
            [lines[0], *(f"{a.split()[0]} {b.split(' ', 1)[1]}" for a, b in zip(lines[1:], lines[:0:-1], strict=True))]
        )
    )
    with open_studio(PlaceTruth(place), {}) as studio:
        names = failed(check_pictures(studio, [("video1", 3), ("video1", 9)], np.random.default_rng(0)))
    assert "video shows what the poses see" in names
    assert "recorded visibility" in names


def test_a_renderer_that_is_off_is_found(place: Path, monkeypatch: pytest.MonkeyPatch):
    from gst_ros.scenes.rendering.renderer import Rendered

    frames = [("video1", 5), ("video1", 20)]
    with open_studio(PlaceTruth(place), {}) as studio:
        render = studio.renderer.render

        def shifted(camera: Any, pose: Any) -> Rendered:
            right = render(camera, pose)
            return Rendered(*(np.roll(image, 6, axis=1) for image in (right.rgb, right.depth_m, right.ids)))

        monkeypatch.setattr(studio.renderer, "render", shifted)
        assert {"ray casting: ids", "ray casting: depth"} == set(failed(check_rays(studio, frames)))
        assert "object points lie on their instance" in failed(check_pictures(studio, frames, np.random.default_rng(0)))


def test_a_target_that_its_view_shows_is_found(place: Path):
    views = json.loads((place / "gt" / "views.json").read_text())

    def spoil(truths: dict[str, dict[str, Any]]) -> None:
        for truth in truths.values():
            if truth["task"] == "ed_v":
                truth["target"] = next(iter(views[truth["view"]]["pixels"]))

    change(place / "gt" / "questions.json", spoil)
    with open_studio(PlaceTruth(place), {}) as studio:
        assert "targets in query views" in failed(check_pictures(studio, [("video1", 0)], np.random.default_rng(0)))


def test_a_thing_elsewhere_than_its_box_says_is_found(place: Path):
    target = next(t["target"] for t in PlaceTruth(place).answers.values() if t["task"] == "edist_v")
    truth = PlaceTruth(place)
    with open_studio(truth, {}) as studio:
        truth.objects[target]["position_m"][0] += 0.6
        names = failed(check_ranges(studio))
    assert "targets fill their boxes" in names


def test_a_red_chair_is_no_rectangle_and_a_rectangle_on_it_is():
    chair = np.full((20, 20, 3), (178, 40, 40), np.uint8)
    encoded_again = np.full((20, 20, 3), (184, 42, 38), np.uint8)
    assert not red(chair).any() and red(encoded_again).all()
    assert not drawn(chair, encoded_again).any()
    marked = chair.copy()
    marked[4:8] = (255, 0, 0)
    assert int(drawn(chair, marked).sum()) == 80


def test_unmarked_and_wrongly_marked_videos_are_found(place: Path):
    marked = sorted((place / "marked").iterdir())
    assert len(marked) >= 2
    shutil.copy(place / "video1.mp4", marked[0])
    (problem,) = check_marks(PlaceTruth(place))
    assert problem.passed is False
    assert "no rectangle" in problem.measured
    shutil.copy(marked[1], marked[0])  # another object's rectangle
    (problem,) = check_marks(PlaceTruth(place))
    assert problem.passed is False
    marked[0].unlink()
    (problem,) = check_marks(PlaceTruth(place))
    assert problem.passed is False
    assert "missing" in problem.measured


@pytest.mark.parametrize("where", ["on the walk", "stands in bed", "stands in between", " m"])
def test_query_views_in_wrong_places_are_found(place: Path, where: str):
    truth = PlaceTruth(place)
    assert failed(check_positions(truth)) == []
    step = truth.poses("video1")[30]
    forward = step.map_from_camera[:, 2]
    yaw = math.degrees(math.atan2(forward[1], forward[0]))
    targets = {a["view"]: a["target"] for a in truth.answers.values() if "target" in a and "view" in a}

    def spoil(views: dict[str, dict[str, Any]]) -> None:
        for name, view in views.items():
            x, y = {
                "on the walk": step.position_m[:2] + 0.1,
                "stands in bed": (7.0, 1.1),
                "stands in between": (5.1, 3.9),
                " m": np.array(truth.objects[targets.get(name, "sofa")]["position_m"][:2]) + 0.2,
            }[where]
            view["position_m"][:2] = [float(x), float(y)]
            view["yaw_deg"] = yaw

    change(place / "gt" / "views.json", spoil)
    (check,) = check_positions(PlaceTruth(place))
    assert check.passed is False
    assert where in check.measured


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("truth outside gt/", lambda p: shutil.copy(p / "gt" / "views.json", p / "views.json")),
        ("truth outside gt/", lambda p: change(p / "questions.json", lambda r: r[0].update(target="bed"))),
        ("truth outside gt/", lambda p: change(p / "camera.json", lambda c: c.update(m_per_px=0.02))),
        ("camera.json", lambda p: change(p / "camera.json", lambda c: c.update(height_m=1.2))),
        ("camera.json", lambda p: change(p / "camera.json", lambda c: c.update(pitch_deg=10.0))),
        ("camera.json", lambda p: change(p / "camera.json", lambda c: c["query_view"].update(fx=400.0))),
        ("media decode", lambda p: (p / "video1.mp4").write_bytes((p / "video1.mp4").read_bytes()[:5000])),
        ("media decode", lambda p: next((p / "views").iterdir()).write_bytes(b"no image")),
        ("media decode", lambda p: (p / "plans" / "render.jpg").unlink()),
        ("media decode", lambda p: shutil.copy(p / "plans" / "walls.png", next((p / "plans/options").glob("*.jpg")))),
        ("questions load", lambda p: change(p / "questions.json", lambda r: r[0].update(answer="north"))),
        ("questions load", lambda p: change(p / "gt" / "questions.json", lambda t: t.popitem() and None)),
    ],
)
def test_files_that_are_wrong_are_found(place: Path, name: str, spoil: Callable[[Path], Any]):
    assert failed(check_files(PlaceTruth(place))) == []
    spoil(place)
    assert name in failed(check_files(PlaceTruth(place)))


def test_a_tag_in_a_video_is_found(place: Path):
    import av

    with av.open(str(place / "video1.mp4")) as source:
        rgb = next(source.decode(video=0)).to_ndarray(format="rgb24")
    clip = next((place / "clips").iterdir())
    with av.open(str(clip), "w", format="mp4") as output:
        output.metadata["title"] = "x=1.2 y=3.4"
        stream = output.add_stream("libx264", rate=5)
        stream.width, stream.height, stream.pix_fmt = rgb.shape[1], rgb.shape[0], "yuv420p"
        output.mux(stream.encode(av.VideoFrame.from_ndarray(rgb, format="rgb24")))
        output.mux(stream.encode(None))
    assert "truth outside gt/" in failed(check_files(PlaceTruth(place)))


# Fairness and baselines


def records(count: int, letter: Callable[[int], str]) -> list[dict[str, Any]]:
    return [
        {
            "task": TASKS["tds_hard"].official_name,
            "uid": f"q{k}",
            "scene": "s",
            "answer": letter(k),
            "texts": ["a", f"b{k}"],
            "copied_video_path": "v.mp4",
            "images": [],
        }
        for k in range(count)
    ]


class FakePlace:
    """A place with questions and nothing else."""

    def __init__(self, questions: list[dict[str, Any]]) -> None:
        self.questions = questions
        self.name = "fake"


def fairness(questions: list[dict[str, Any]]) -> list[str]:
    return failed(check_fairness([FakePlace(questions)]))  # type: ignore[list-item]


def test_one_sided_letters_and_questions_asked_twice_are_found():
    assert fairness(records(40, lambda k: "ABCD"[k % 4])) == []
    assert fairness(records(40, lambda k: "AAAB"[k % 4])) == ["letters balanced"]
    twice = records(8, lambda k: "ABCD"[k % 4])
    assert fairness([*twice, {**twice[0], "uid": "other"}]) == ["no question twice"]
    assert fairness([*twice, {**twice[0], "texts": ["c"]}]) == ["no question twice"]


def test_directions_that_are_mostly_behind_are_found():
    def directions(angles: list[int]) -> list[dict[str, Any]]:
        name = TASKS["ed_s"].official_name
        return [
            {**record, "task": name, "answer": str(a)}
            for record, a in zip(records(len(angles), lambda k: "A"), angles, strict=True)
        ]

    assert fairness(directions([k * 12 - 180 for k in range(30)])) == []
    assert fairness(directions([170 + k if k < 10 else -179 + k for k in range(30)])) == [
        "directions ahead/left/behind/right"
    ]


def asked(task: str, truths: list[Any], place: str = "p") -> list[Asked]:
    texts = ("a", "b")
    return [Asked(place, TASKS[task], "", f"{task}{k}", texts, 4, truth) for k, truth in enumerate(truths)]


@pytest.mark.parametrize(
    ("task", "truth"),
    [("ed_v", -134.0), ("gp_s", (20.0, 970.0)), ("gp_s", (500.0, 321.0)), ("edist_v", 0.6), ("edist_s", 4.4)],
)
def test_expected_scores_of_random_guesses_are_those_of_the_metrics(task: str, truth: Any):
    """Counted out once more, with the code that scores."""
    if task == "ed_v":
        scores = [angle_score(guess, truth, (15.0, 30.0, 45.0)) for guess in range(-179, 181)]
    elif task == "gp_s":
        grid = [(float(x), float(y)) for x in range(0, 1000, 4) for y in range(0, 1000, 4)]
        scores = [point_score(guess, truth, (100.0, 150.0, 200.0, 250.0, 300.0)) for guess in grid]
    else:
        scores = [mra_score(guess / 10, truth) for guess in range(5, 151)]
    mean, variance = expected_score(asked(task, [truth])[0], 0.5, 15.0)
    tolerance = 0.003 if task == "gp_s" else 1e-9  # every fourth point of the grid stands for all
    assert mean == pytest.approx(np.mean(scores), abs=tolerance)
    assert variance == pytest.approx(np.var(scores), abs=tolerance)


def test_random_guesses_score_what_theory_says_and_others_do_not(monkeypatch: pytest.MonkeyPatch):
    questions = asked("ed_v", [float(v) for v in range(-170, 180, 15)]) + asked("tds_hard", list("ABCDABCD"))
    assert failed(check_random(questions)) == []
    from gst_ros.reasoning import random_guess

    monkeypatch.setattr(random_guess, "LETTERS", "AAAB" + random_guess.LETTERS[4:])
    assert failed(check_random(asked("tds_hard", ["A"] * 20))) == ["random"]


def test_answers_that_the_text_gives_away_are_found():
    fair = asked("tds_hard", list("ABCD") * 10)
    assert failed(check_text_only(fair)) == []
    assert failed(check_text_only(asked("tds_hard", list("AAAB") * 10))) == ["text alone"]
    angles = asked("ed_v", [float(v) for v in range(-180, 180, 9)])
    assert failed(check_text_only(angles)) == []
    assert failed(check_text_only(asked("ed_v", [175.0, -178.0, 160.0, -60.0] * 8))) == ["text alone"]
    assert [check.passed for check in check_text_only(fair[:6])] == [None]


# The command


def test_the_command_exits_with_3_and_one_line_per_failed_check(place: Path, capsys: pytest.CaptureFixture[str]):
    change(place / "camera.json", lambda camera: camera.update(height_m=0.7))
    (place.parent / "set.json").write_text(json.dumps({"count": 2}))
    (place.parent / "notes.txt").write_text("x")
    assert run(["scenes", "check", str(place.parent), "--quick"]) == 3
    captured = capsys.readouterr()
    lines = [line for line in captured.err.splitlines() if line.startswith("gst: check failed:")]
    assert len(lines) == 2
    assert "1 of 2, and 'notes.txt'" in lines[0]
    assert "camera.json" in lines[1] and "0.7" in lines[1] and place.name in lines[1]
    assert "FAILED" in captured.out


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("gt/questions.json", lambda truths: dict.fromkeys(truths, 1)),
        (
            "gt/questions.json",
            lambda truths: next(t for t in truths.values() if "view" in t).update(view="x", video="y"),
        ),
        ("gt/instances.json", lambda facts: [1]),
        ("gt/scene.json", lambda scene: scene.update(objects=[])),
        ("camera.json", lambda camera: {}),
    ],
)
def test_damaged_truth_is_one_line_with_file_and_remedy(
    place: Path, capsys: pytest.CaptureFixture[str], name: str, spoil: Callable[[Any], Any]
):
    change(place / name, spoil)
    assert run(["scenes", "check", str(place), "--quick"]) == 2
    error = capsys.readouterr().err.strip()
    assert len(error.splitlines()) == 1 and str(place / "gt" if "gt/" in name else place / name) in error
    assert error.endswith("(make the set again)")


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("questions load", lambda p: change(p / "questions.json", lambda r: r[0].update(answer="zzz"))),
        ("questions load", lambda p: change(p / "questions.json", lambda r: r[0].update(task="nothing of the kind"))),
        ("questions load", lambda p: change(p / "gt" / "questions.json", lambda t: {})),
    ],
)
def test_what_can_be_read_but_is_wrong_fails_a_check(place: Path, name: str, spoil: Callable[[Path], Any]):
    spoil(place)
    assert name in [check.name for check in check_set(place, quick=True).failed]


def test_a_video_that_cannot_be_decoded_fails_a_check(place: Path):
    (place / "video1.mp4").write_bytes((place / "video1.mp4").read_bytes()[:2000])
    (check,) = check_marks(PlaceTruth(place))
    assert check.passed is False and "video1.mp4: cannot be decoded" in check.measured


def test_the_command_prints_json(made: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["scenes", "check", str(made), "--quick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] is True and found["failed"] == 0
    assert {"name", "place", "passed", "measured", "limit", "values"} == set(found["checks"][0])


@pytest.mark.parametrize("content", [None, "empty", "broken"])
def test_a_folder_that_is_no_set_is_one_line(content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "set"
    if content is not None:
        folder.mkdir()
    if content == "broken":
        (folder / "home" / "gt").mkdir(parents=True)
        (folder / "home" / "questions.json").write_text("[")
    assert run(["scenes", "check", str(folder), "--quick"]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("gst: error:") and len(error.splitlines()) == 1
    assert str(folder) in error


def test_a_truth_that_cannot_be_read_names_its_file(place: Path):
    (place / "gt" / "trajectory_video1.tum").write_text("1 2 3\n")
    with pytest.raises(SceneError, match=r"trajectory_video1\.tum"):
        PlaceTruth(place).poses("video1")
    (place / "gt" / "plan.json").write_text("[]")
    with pytest.raises(SceneError, match=r"plan\.json"):
        _ = PlaceTruth(place).plans


def test_reports_count_what_could_not_be_done():
    report = Report([Check("a", True, "x", "y"), Check("b", None, "x", "y"), Check("c", False, "5", "6", "home")])
    found = report.to_json()
    assert (found["passed"], found["failed"], found["skipped"]) == (False, 1, 1)
    assert report.failed[0].line == "home: c: 5 (must be: 6)"
    assert tiny_place().objects  # the place that all of this is about is not empty
