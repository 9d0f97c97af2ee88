"""``gst scenes show``: marks point where they should, answers are the files' own, and the page needs nothing else."""

from __future__ import annotations

import errno
import json
import re
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from tiny_places import tiny_set

pytest.importorskip("jinja2", reason="the extra 'scenes' is not installed")

from gst_ros.bench.tasks import TASKS
from gst_ros.cli.main import run
from gst_ros.scenes.check.truth import PlaceTruth
from gst_ros.scenes.place import SceneError
from gst_ros.scenes.show import drawing, page
from gst_ros.scenes.show.drawing import ANSWER, CAMERA, OBJECT
from gst_ros.scenes.show.material import Material
from gst_ros.scenes.show.page import show_set
from gst_ros.scenes.show.questions import Card, choose, make_cards, task_name
from gst_ros.scenes.show.sheet import draw_sheet, make_sheet


def paper(width: int = 640, height: int = 512) -> np.ndarray:
    return np.full((height, width, 3), 255, np.uint8)


def centre(image: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    """Mean column and row of the pixels of exactly a colour."""
    rows, columns = np.nonzero((image == colour).all(axis=2))
    assert len(rows), f"nothing of {colour}"
    return np.array([columns.mean(), rows.mean()])


# Marks


@pytest.mark.parametrize("angle, way", [(0, (0, -1)), (90, (-1, 0)), (180, (0, 1)), (-90, (1, 0)), (45, (-1, -1))])
def test_rays_have_up_as_zero_and_left_as_positive(angle: float, way: tuple[int, int]) -> None:
    image = paper()
    drawing.draw_ray(image, (320, 256), angle, 60)
    offset = centre(image, ANSWER) - (320, 256)
    assert np.allclose(offset / np.abs(offset).max(), way, atol=0.1)


def test_marks_grow_with_the_image() -> None:
    small, large = paper(320, 256), paper(1920, 1536)
    for image in (small, large):
        drawing.draw_point(image, (image.shape[1] / 2, image.shape[0] / 2))
        drawing.draw_dial(image, 30.0)
    shrunk = drawing.tile(large).astype(int)
    assert np.abs(shrunk - small).mean() < 3


def test_a_tile_keeps_the_shape_of_what_it_shows() -> None:
    wide = np.zeros((1080, 1920, 3), np.uint8)
    rows, columns = np.nonzero((drawing.tile(wide) == 0).all(axis=2))
    assert (np.ptp(columns) + 1, np.ptp(rows) + 1) == (320, 180)
    assert abs(rows.mean() - 127.5) < 1


def test_text_that_the_font_lacks_does_no_harm() -> None:
    image = paper(300, 30)
    drawing.draw_text(image, "–134° überall", (5, 20))
    assert (image != 255).any()


# A whole place


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recording, _, _ = tiny_set(tmp_path_factory)
    root: Path = recording.files.root
    return root


@pytest.fixture(scope="module")
def material(made: Path) -> Material:
    return Material(PlaceTruth(made))


@pytest.fixture(scope="module")
def cards(material: Material) -> list[Card]:
    return make_cards(material, material.questions)


def card(cards: list[Card], task: str) -> Card:
    return next(c for c in cards if c.task == task)


def test_every_question_has_a_card_with_the_answer_of_its_file(made: Path, cards: list[Card]) -> None:
    records = {record["uid"]: record for record in json.loads((made / "questions.json").read_text())}
    assert [c.uid for c in cards] == list(records)
    for shown in cards:
        words = re.sub(r" m$|°$", "", shown.answer)
        wanted = records[shown.uid]["answer"]
        assert float(words) == wanted if isinstance(wanted, float) else words == wanted
        assert list(shown.texts) == records[shown.uid]["texts"]


@pytest.mark.parametrize("task", ["ed_v", "ed_s"])
def test_the_arrow_of_a_direction_ends_at_the_object(cards: list[Card], task: str) -> None:
    for shown in (c for c in cards if c.task == task):
        plan = shown.pictures[-1].image
        green = np.argwhere((plan == ANSWER).all(axis=2))
        red = np.argwhere((plan == OBJECT).all(axis=2))
        apart = np.linalg.norm(green[:, None] - red[None].mean(axis=1), axis=2).min()
        assert apart < 12, shown.uid
        eye = centre(plan, CAMERA)[::-1]
        assert np.linalg.norm(green - eye, axis=1).min() < 40, "the arrow begins at the camera"


def test_a_wrong_answer_misses_its_object(made: Path, tmp_path: Path) -> None:
    root = tmp_path / made.name
    shutil.copytree(made, root)
    records = json.loads((root / "questions.json").read_text())
    for record in records:
        if record["task"] == TASKS["ed_s"].official_name:
            record["answer"] = str(int(record["answer"]) + (100 if int(record["answer"]) < 0 else -100))
    (root / "questions.json").write_text(json.dumps(records))
    material = Material(PlaceTruth(root))
    for shown in make_cards(material, (q for q in material.questions if q.task.key == "ed_s")):
        plan = shown.pictures[-1].image
        green, red = (np.argwhere((plan == colour).all(axis=2)) for colour in (ANSWER, OBJECT))
        assert np.linalg.norm(green[:, None] - red[None].mean(axis=1), axis=2).min() > 12, shown.uid


def test_the_circle_of_a_distance_goes_through_the_object(cards: list[Card]) -> None:
    for task in ("edist_v", "edist_s"):
        for shown in (c for c in cards if c.task == task):
            plan = shown.pictures[-1].image
            green = np.argwhere((plan == ANSWER).all(axis=2))
            middle = np.argwhere((plan == OBJECT).all(axis=2)).mean(axis=0)
            assert np.linalg.norm(green - middle, axis=1).min() < 25, shown.uid


def test_the_right_letter_is_framed_and_no_other(cards: list[Card]) -> None:
    for task in ("tds_easy", "tds_medium", "tds_hard", "trajectory"):
        for shown in (c for c in cards if c.task == task):
            options = shown.pictures[-4:]
            framed = [bool((p.image[-2:] == ANSWER).all()) for p in options]
            assert [letter for letter, here in zip("ABCD", framed, strict=True) if here] == [shown.answer]


def test_a_position_is_drawn_where_the_camera_is(cards: list[Card]) -> None:
    for shown in (c for c in cards if c.task == "position"):
        plan = shown.pictures[-1].image
        assert np.linalg.norm(centre(plan, ANSWER) - centre(plan, CAMERA)) < 60


def test_marked_objects_are_shown_in_the_marked_video(material: Material, cards: list[Card]) -> None:
    shown = card(cards, "gp_v").pictures[0].image
    red = (shown[..., 0] > 180) & (shown[..., 1] < 70) & (shown[..., 2] < 70)
    assert red.sum() > 100


def test_as_many_questions_of_each_task_as_wanted(material: Material) -> None:
    counts: dict[str, int] = {}
    for question in choose(material.questions, 1):
        counts[task_name(question)] = counts.get(task_name(question), 0) + 1
    assert set(counts.values()) == {1}
    assert choose(material.questions, 0) == material.questions


def test_the_sheet_shows_walk_and_views_and_says_what_the_place_is(made: Path) -> None:
    sheet = make_sheet(PlaceTruth(made), frames=4, per_task=1)
    captions = [picture.caption for picture in sheet.pictures]
    assert sum(caption.startswith("video1, frame") for caption in captions) == 4
    assert {"walk of video1", "query views", "coloured render"} <= set(captions)
    assert "3 rooms" in sheet.facts and "12 objects" in sheet.facts
    image = draw_sheet(sheet)
    assert image.shape[1] == 6 * 328 + 8 and image.shape[0] > 4 * 256
    walk = sheet.pictures[captions.index("walk of video1")].image
    # Every pose of the walk lies on what was drawn, which nothing else of a plan has the colour of.
    truth = PlaceTruth(made)
    plan = truth.plans["furniture.png"]
    coloured = walk.max(axis=2).astype(int) - walk.min(axis=2) > 60
    for pose in truth.poses("video1"):
        x, y = pose.position_m[:2]
        column, row = int((x - plan["left_m"]) / plan["m_per_px"]), int((plan["top_m"] - y) / plan["m_per_px"])
        assert coloured[row - 2 : row + 3, column - 2 : column + 3].any()
    assert coloured.mean() < 0.05


def test_the_page_holds_all_it_needs_and_escapes_the_rest(made: Path, tmp_path: Path) -> None:
    root = tmp_path / "set" / made.name
    shutil.copytree(made, root)
    records = json.loads((root / "questions.json").read_text())
    records[0]["texts"][0] = "<script>alert('x')</script> & more"
    (root / "questions.json").write_text(json.dumps(records))
    shown = show_set(tmp_path / "set", tmp_path / "out" / "look.html", frames=2, per_task=1)
    html = shown.page.read_text("utf-8")
    assert "<script" not in html and "&lt;script&gt;" in html
    sources = re.findall(r'(?:src|href)="([^"]*)"', html)
    assert f"./look_{made.name}.png" in sources
    assert {source.split(",")[0] for source in sources if source[0] not in "#."} == {"data:image/jpeg;base64"}
    assert shown.warnings == []
    assert html.count("<article>") == len({r["task"] for r in records})
    (image,) = shown.images
    assert image == tmp_path / "out" / f"look_{made.name}.png"
    assert cv2.imread(str(image)).shape[1] == 6 * 328 + 8


def test_the_command_names_what_it_wrote(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["scenes", "show", str(made), "--frames", "1", "--per-task", "1"]) == 0
    assert (tmp_path / f"{made.name}_sheet.html").is_file()
    assert f"{made.name}_sheet.html" in capsys.readouterr().out
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".html", ".jpg", ".png"]
    assert cv2.imread(str(tmp_path / f"{made.name}_sheet.jpg")).shape == (304, 6 * 328 + 8, 3)


# What may be wrong


def test_a_folder_that_is_no_set_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scenes", "show", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "no place" in error


def broken(change: Any) -> Any:
    """Reads a JSON file, changes its value in place or for what is returned, and writes it back."""

    def spoil(file: Path) -> None:
        value = json.loads(file.read_text())
        found = change(value)
        file.write_text(json.dumps(value if found is None else found))

    return spoil


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("camera.json", broken(lambda v: {})),
        ("gt/scene.json", broken(lambda v: v.update(objects=[]))),
        ("gt/scene.json", broken(lambda v: v["rooms"][0].update(outline="x"))),
        ("gt/questions.json", broken(lambda v: {})),
        ("gt/questions.json", broken(lambda v: dict.fromkeys(v, 1))),
        (
            "gt/questions.json",
            broken(lambda v: next(a for a in v.values() if "options" in a)["options"].pop() and None),
        ),
        ("gt/instances.json", broken(lambda v: [1])),
        ("gt/views.json", broken(lambda v: {})),
        ("gt/plan.json", broken(lambda v: v.pop("furniture.png") and None)),
        ("questions.json", broken(lambda v: [1, 2])),
        ("questions.json", broken(lambda v: v[0].pop("uid") and None)),
        ("gt/trajectory_video1.tum", lambda file: file.write_text("0 1 1 1 0 0 0 0\n")),
        ("video1.mp4", lambda file: file.write_bytes(file.read_bytes()[:2000])),
        ("plans/walls.png", lambda file: file.write_bytes(b"no picture")),
    ],
)
def test_damaged_truth_is_one_line_with_file_and_remedy(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, spoil: Any
) -> None:
    root = tmp_path / made.name
    shutil.copytree(made, root)
    spoil(root / name)
    assert (
        run(["scenes", "show", str(root), "--out", str(tmp_path / "p.html"), "--frames", "1", "--per-task", "2"]) == 2
    )
    error = capsys.readouterr().err.strip()
    assert len(error.splitlines()) == 1 and str(root / name) in error and error.endswith("(make the set again)")
    assert list(tmp_path.iterdir()) == [root]


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"[" * 99999, b'{"count": "x"}'])
def test_damaged_settings_are_named(made: Path, tmp_path: Path, content: bytes) -> None:
    shutil.copytree(made, tmp_path / "set" / made.name)
    (tmp_path / "set" / "set.json").write_bytes(content)
    with pytest.raises(SceneError, match=r"set\.json.*make the set again"):
        show_set(tmp_path / "set", tmp_path / "page.html", frames=1, per_task=1)


def test_what_a_sheet_can_be_drawn_without_is_a_warning(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "set" / made.name
    shutil.copytree(made, root)
    (root.parent / "set.json").write_text(json.dumps({"count": 3}))
    broken(lambda v: v[0].update(answer="zzz") or v.append(v[1]))(root / "questions.json")
    page = str(tmp_path / "p.html")
    assert run(["scenes", "show", str(root.parent), "--out", page, "--frames", "1", "--per-task", "1"]) == 0
    first, second = capsys.readouterr().err.strip().splitlines()
    assert first.startswith("gst: warning:") and "1 of 3 places are there" in first
    assert "2 questions cannot be asked" in second and "field 'answer'" in second and str(root) in second


def test_a_full_disk_leaves_no_half_picture(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_bytes

    def half(file: Path, data: bytes) -> int:
        write(file, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device", str(file))

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(SceneError, match=r"p_.*\.png: no space left on the disk") as caught:
        show_set(made, tmp_path / "p.html", frames=1, per_task=1)
    assert caught.value.exit_code == 3 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["plans/walls.png", "plans/render.jpg", "gt/instances.json"])
def test_missing_files_are_named(made: Path, tmp_path: Path, name: str) -> None:
    root = tmp_path / made.name
    shutil.copytree(made, root)
    (root / name).unlink()
    with pytest.raises(SceneError, match=name):
        show_set(root, tmp_path / "page.html", frames=1, per_task=0)


def test_questions_that_cannot_be_asked_are_told(made: Path, tmp_path: Path) -> None:
    root = tmp_path / made.name
    shutil.copytree(made, root)
    next((root / "clips").iterdir()).unlink()
    sheet = make_sheet(PlaceTruth(root), frames=1, per_task=0)
    assert "1 questions cannot be asked" in sheet.facts and "clip" in sheet.facts


def test_a_page_that_cannot_be_written_is_one_line(made: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SceneError, match="cannot be written"):
        show_set(made, tmp_path / "file" / "page.html")


def test_without_jinja2_the_extra_is_named(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    missing: Any = None
    monkeypatch.setitem(sys.modules, "jinja2", missing)
    with pytest.raises(SceneError, match=r"gst_ros\[scenes\]"):
        page.show_set(made, tmp_path / "page.html")
