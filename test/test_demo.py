"""The bundled demo: it loads, its media are what they claim, its answers are true, and it can be made again."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import av
import pytest

from gst_ros.bench.questions import load_questions
from gst_ros.bench.tasks import TASKS
from gst_ros.cli.main import run
from gst_ros.errors import ConfigError

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "demo"
PLACE = next(DEMO.glob("*/questions.json")).parent
MOST_BYTES, MOST_FRAMES = 8_000_000, 4000


def test_two_questions_of_each_task_and_none_is_skipped() -> None:
    found = load_questions(DEMO)
    assert found.skipped == []
    assert Counter(question.task.key for question in found.questions) == dict.fromkeys(TASKS, 2)
    assert len({question.uid for question in found.questions}) == len(found.questions)


def test_it_is_small_and_every_medium_is_used() -> None:
    found = load_questions(DEMO)
    used = {path.resolve() for q in found.questions for path in (q.video, *q.images) if path is not None}
    media = {path for path in PLACE.rglob("*") if path.suffix in (".mp4", ".jpg", ".png")}
    assert used <= media
    # Its own top-down images lie there for people, whether or not a question shows them.
    assert {path.relative_to(PLACE).as_posix() for path in media - used} <= {
        "plans/render.jpg",
        "plans/furniture.png",
        "plans/walls.png",
    }
    assert sum(path.stat().st_size for path in DEMO.rglob("*")) <= MOST_BYTES


def test_videos_are_as_the_benchmarks_and_not_too_long_for_a_try() -> None:
    lengths = {}
    for video in sorted(PLACE.rglob("*.mp4")):
        with av.open(str(video)) as container:
            stream = container.streams.video[0]
            times = [float(frame.pts * stream.time_base) for frame in container.decode(stream)]
            assert (stream.width, stream.height) == (640, 512)
        assert times == pytest.approx([k / 10 for k in range(len(times))]), video.name
        lengths[video.relative_to(PLACE).as_posix()] = len(times)
    assert 400 <= lengths["video1.mp4"] <= 600
    assert sum(lengths.values()) < MOST_FRAMES


def test_evaluations_do_not_look_into_its_truth(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With nonsense in gt/ that no reader could pass over, the same questions are found."""
    copy = tmp_path / "demo"
    shutil.copytree(DEMO, copy)
    for file in (copy / PLACE.name / "gt").glob("*.json"):
        file.write_text("[{", encoding="utf-8")
    assert [q.uid for q in load_questions(copy).questions] == [q.uid for q in load_questions(DEMO).questions]
    assert caplog.text == ""


def test_gt_is_an_ordinary_name_where_no_place_is(tmp_path: Path) -> None:
    shutil.copytree(PLACE, tmp_path / "gt", ignore=shutil.ignore_patterns("gt"))
    assert len(load_questions(tmp_path).questions) == 2 * len(TASKS)


def test_its_furniture_is_free_of_conditions() -> None:
    text = (DEMO / "ATTRIBUTION.txt").read_text(encoding="utf-8")
    assert re.findall(r"^(\S+): ", text, re.MULTILINE) == ["CC0-1.0"]
    scene = json.loads((PLACE / "gt" / "scene.json").read_text(encoding="utf-8"))
    models = {thing["model"] for thing in scene["objects"] if not thing["model"].startswith("builtin/")}
    assert models == set(re.findall(r"\((\S+/\S+)\)$", text, re.MULTILINE))


def test_it_passes_the_checks_that_need_no_rendering() -> None:
    pytest.importorskip("shapely", reason="the extra 'scenes' is not installed")
    from gst_ros.scenes.check.run import check_set

    report = check_set(DEMO, quick=True)
    assert [check.line for check in report.failed] == []
    assert {"media decode", "truth outside gt/", "red rectangles", "oracle"} <= {check.name for check in report.checks}


def test_it_passes_the_checks_that_render() -> None:
    need_furniture()
    from gst_ros.scenes.check.run import check_set

    report = check_set(DEMO, frames=4)
    assert [check.line for check in report.failed] == []


def test_the_documented_command_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings are those of the command in the documentation (a run of it takes minutes)."""
    options, out = documented_settings(monkeypatch)
    assert out == Path("demo")
    stated = json.loads((DEMO / "set.json").read_text(encoding="utf-8"))
    stated.pop("version")
    assert stated == json.loads(json.dumps(options.to_mapping()))
    assert [options.place(k).name for k in range(options.count)] == [PLACE.name]


def test_the_documented_command_grows_the_same_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not depend on a graphics driver or an encoder is the same: place and walk."""
    need_furniture()
    from gst_ros.scenes.filming import grow, open_catalogue
    from gst_ros.scenes.freespace import FreeSpace
    from gst_ros.scenes.trajectory import read_tum
    from gst_ros.scenes.walking.walk import walk

    options, _ = documented_settings(monkeypatch)
    place = grow(options.place(0), options, open_catalogue(options))
    assert place.to_json() == (PLACE / "gt" / "scene.json").read_text(encoding="utf-8")
    path_m = walk(place, FreeSpace(place), options.preset, options.walk, "video1").path_m
    assert path_m == pytest.approx(read_tum(PLACE / "gt" / "trajectory_video1.tum").path_m, abs=1e-4)


def documented_settings(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Path]:
    """What the command in docs/scenes.md would make, and where."""
    text = (ROOT / "docs" / "scenes.md").read_text(encoding="utf-8").split("## The bundled demo")[1]
    (block,) = re.findall(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    asked: list[Any] = []

    def record(options: Any, out: Path, **_: Any) -> None:
        asked.extend((options, out))
        raise ConfigError("far enough")

    monkeypatch.setattr("gst_ros.scenes.make.make_set", record)
    assert run(shlex.split(block.replace("\\\n", " "))[1:]) == ConfigError("").exit_code
    return asked[0], asked[1]


def need_furniture() -> None:
    """Skip the test where there is no OpenGL or no furniture package."""
    pytest.importorskip("moderngl", reason="the extra 'scenes' is not installed")
    from gst_ros.scenes.catalogue import Catalogue
    from gst_ros.scenes.place import SceneError
    from gst_ros.scenes.rendering.renderer import create_context

    try:
        Catalogue.open()
        create_context().release()
    except SceneError as error:
        pytest.skip(str(error))
