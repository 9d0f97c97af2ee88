"""Every command that the README and the benchmarks' README show is exercised, and what they name exists.

``HOW`` lists each shown command with the way in which it is exercised here. A command without an entry fails, so
none is added untested; an entry without a command fails, so none goes stale.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import cv2
import numpy as np
import pytest

from gst_ros.bench.questions import load_questions
from gst_ros.bench.tasks import TASKS
from gst_ros.cli.main import run as in_process
from gst_ros.errors import ConfigError
from gst_ros.media.clip import open_clip

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "benchmarks/README.md", "docs/scenes.md", "docs/report.md")
LINKED = (
    *PAGES,
    "CONTRIBUTING.md",
    "docs/README.md",
    "docs/questions.md",
    "docs/scene_statistics.md",
    "docs/decisions/README.md",
)


def shown_commands(page: str) -> list[str]:
    """The lines of a page's bash blocks, without comments and with continued lines joined."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:bash|sh|shell|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    commands = [" ".join(shlex.split(line, comments=True)) for line in lines]
    return [command for command in commands if command]


SHOWN = sorted({command for page in PAGES for command in shown_commands(page)})


# --- a place to try them in -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with QUESTIONS (the README's own question.json and media for it), VIDEO and SET (the demo)."""
    folder = tmp_path_factory.mktemp("readme")
    question = shown_question()
    (folder / "QUESTIONS").mkdir()
    (folder / "QUESTIONS" / "question.json").write_text(json.dumps(question), encoding="utf-8")
    write_video(folder / "QUESTIONS" / question["copied_video_path"])
    for image in question["images"]:
        cv2.imwrite(str(folder / "QUESTIONS" / image["copied_path"]), np.full((64, 80, 3), 90, np.uint8))
    shutil.copy(folder / "QUESTIONS" / question["copied_video_path"], folder / "VIDEO")
    (folder / "SET").symlink_to(ROOT / "demo")
    (folder / "ANSWERS.json").write_text(shown_answers(), encoding="utf-8")
    return folder


def shown_question() -> dict:
    """The question.json that the README shows."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```json\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return json.loads(block)


def shown_answers() -> str:
    """The answer file that the page on question sets shows."""
    text = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```json\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return block


def write_video(path: Path, frames: int = 12) -> None:
    import av

    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 640, 512, "yuv420p"
        for number in range(frames):
            image = np.full((512, 640, 3), 10 * number, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())


def run(command: list[str], folder: Path, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done


def gst(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "gst_ros.cli.main", *shlex.split(command)[1:]], folder)


# --- the ways to exercise a command ---------------------------------------------------------------


def our_script(command: str, place: Path, _: pytest.FixtureRequest) -> None:
    """Too long for a test (it is what runs the tests): it is there, its syntax is right, its set-up is called."""
    script = ROOT / shlex.split(command)[1]
    run(["bash", "-n", str(script)], place)
    assert "scripts/setup.sh" in script.read_text(encoding="utf-8")


def evaluated(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    """Run it: the one question is answered, and as in the runs before."""
    if "--no-ros" not in command:
        request.getfixturevalue("ros_domain")
        pytest.importorskip("gst_interfaces")
    done = gst(command, place)
    folder = place / shlex.split(command)[shlex.split(command).index("--output") + 1]
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert (summary["answered"], summary["failed"]) == (1, 0)
    assert summary["frames_sent"] == summary["frames_received"] == 12
    assert "Egocentric direction (semantic)" in done.stdout
    if "scripted" in command:
        assert answer_of(folder) == "-120"
        return
    if "random" not in command:
        assert answer_of(folder) is not None
        return
    drawn = {answer_of(place / "runs" / name) for name in ("first", "second") if (place / "runs" / name).is_dir()}
    assert len(drawn) == 1 and None not in drawn


def answer_of(run_folder: Path) -> str | None:
    lines = (run_folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return next((json.loads(line)["pred"] for line in lines if "pred" in json.loads(line)), None)


def on_a_run(command: str, place: Path, _: pytest.FixtureRequest) -> None:
    """Run it on a run folder made without ROS."""
    folder = place / shlex.split(command)[2]
    if not folder.is_dir():
        gst(f"gst eval --questions QUESTIONS --answerer random --output {folder} --no-ros", place)
    assert "Average" in gst(command, place).stdout


def reported(command: str, place: Path, _: pytest.FixtureRequest) -> None:
    """Run it on a run folder made without ROS: the page has the question."""
    folder = place / shlex.split(command)[2]
    if not folder.is_dir():
        gst(f"gst eval --questions QUESTIONS --answerer random --output {folder} --no-ros", place)
    words = shlex.split(command)
    page = place / words[words.index("--output") + 1] if "--output" in words else folder / "report.html"
    page.unlink(missing_ok=True)
    assert "1 questions, 1 pictures" in gst(command, place).stdout
    assert "flat1_direction_sofa" in page.read_text(encoding="utf-8")


def curve_drawn(command: str, place: Path, _: pytest.FixtureRequest) -> None:
    """It knows the option; random answers have no confidence (test_report.py draws a curve)."""
    from gst_ros.cli.report import command as report

    with report.make_context("report", shlex.split(command)[2:]) as context:
        assert context.params["curve"] == Path("curve.svg")


def replayed(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    """Run it: the clip of 1.2 s plays to its end."""
    request.getfixturevalue("ros_domain")
    gst(command, place)


def says_what_is_there(command: str, place: Path, _: pytest.FixtureRequest) -> None:
    """Run it; whether all is there depends on the machine."""
    done = subprocess.run(
        [sys.executable, "-m", "gst_ros.cli.main", "doctor"], cwd=place, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert "rclpy" in done.stdout or "ROS" in done.stdout


def activated(command: str, place: Path, _: pytest.FixtureRequest) -> None:
    """The set-up makes it: the scripts call the same folder .venv."""
    assert ".venv" in (ROOT / "scripts" / "common.sh").read_text(encoding="utf-8")
    assert shlex.split(command)[1] == ".venv/bin/activate"


def standard_ros(command: str, place: Path, _: pytest.FixtureRequest) -> None:
    """ROS's own; what it works on is there."""
    for word in shlex.split(command):
        if word in (".", "gst_interfaces"):
            assert (ROOT / word / "package.xml").is_file()


def launched(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    """Launch file and arguments exist (test_launch.py runs `ros2 launch` itself where it is installed)."""
    _, _, package, file, *arguments = shlex.split(command)
    assert package == "gst_ros"
    source = (ROOT / "launch" / file).read_text(encoding="utf-8")
    declared = re.findall(r"Argument\(\"(\w+)\"", source)
    assert {argument.partition(":=")[0] for argument in arguments} <= set(declared)


def node_run(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    """The console script is installed where `ros2 run` looks, and its node has these parameters."""
    _, _, package, node, *arguments = shlex.split(command)
    assert package == "gst_ros"
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    assert f'"{node}"' in setup
    pytest.importorskip("rclpy")
    module = importlib.import_module(f"gst_ros.nodes.{node}")
    config = getattr(module, "".join(part.title() for part in node.split("_")) + "Config")
    given = [word.partition(":=")[0] for flag, word in itertools.pairwise(arguments) if flag == "-p"]
    assert given and set(given) <= {field.name for field in fields(config)}


def service_called(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    """The service's type is ours, and its node offers it by this name."""
    *_, service, kind = shlex.split(command)
    package, folder, name = kind.split("/")
    assert (ROOT / package / folder / f"{name}.srv").is_file()
    _, node, short = service.split("/")
    source = (ROOT / "gst_ros" / "nodes" / f"{node}.py").read_text(encoding="utf-8")
    assert f'{name}, "~/{short}"' in source


def benchmarked(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    """Its options are known. One short run, of the first way of calling it, is below."""
    _, script, *words = shlex.split(command)
    monkeypatch = request.getfixturevalue("monkeypatch")
    monkeypatch.syspath_prepend(str((ROOT / script).parent))  # as Python does for a script
    spec = importlib.util.spec_from_file_location(Path(script).stem, ROOT / script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    monkeypatch.chdir(place)
    with module.main.make_context("benchmark", words) as context:
        assert set(context.params) >= {"cores"}


def sets_made(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    """All but the making, which takes minutes: its options are known and its settings right (test_scene_make.py)."""
    asked: list[tuple[object, Path]] = []

    def record(options: object, out: Path, **_: object) -> None:
        asked.append((options, out))
        raise ConfigError("far enough")

    request.getfixturevalue("monkeypatch").setattr("gst_ros.scenes.make.make_set", record)
    assert in_process(shlex.split(command)[1:]) == 2
    ((_, out),) = asked
    assert out in (Path("SET"), Path("demo"))


def sets_shown(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    """Run it on the demo."""
    pytest.importorskip("jinja2", reason="the extra 'scenes' is not installed")
    gst(command, place)
    assert (place / "SET_sheet.html").is_file() and (place / "SET_sheet.jpg").is_file()


def sets_checked(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    """It knows its options; test_demo.py checks the demo, as a whole where there is furniture."""
    from gst_ros.cli.scenes.check import command as check

    with check.make_context("check", shlex.split(command)[3:]) as context:
        assert context.params["folder"] == Path("SET")


def sets_evaluated(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    """Run it for one question, without ROS."""
    gst(f"{command} --no-ros --limit 1", place)
    folder = place / shlex.split(command)[shlex.split(command).index("--output") + 1]
    assert json.loads((folder / "summary.json").read_text(encoding="utf-8"))["answered"] == 1


def packages_named(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    """All that the error messages name, and nothing else."""
    from gst_ros.scenes.rendering.renderer import EGL_PACKAGES

    named = set(command.split("install ")[1].split())
    assert named == {"sweethome3d-furniture", *EGL_PACKAGES.split()}


EGL = "libegl1 libegl-mesa0 libgl1-mesa-dri libgles2 libglx-mesa0 libopengl0"
DEMO = "--seed 14 --kinds home --area 65 --licences cc0 --per-task 2 --view-width 960 --crf 33"


def mapped(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    """Its arguments and options are known (test_mapping_walk.py runs the commands on a real walk)."""
    _, name, *words = shlex.split(command)
    module = importlib.import_module(f"gst_ros.cli.{name}")
    with module.command.make_context(name, words) as context:
        assert not context.args


HOW: dict[str, Callable[[str, Path, pytest.FixtureRequest], None]] = {
    "bash scripts/eval.sh": our_script,
    "bash scripts/test.sh": our_script,
    "source .venv/bin/activate": activated,
    "gst eval --questions QUESTIONS --answerer random --output runs/first": evaluated,
    "gst eval --questions QUESTIONS --answerer random --output runs/second --no-ros": evaluated,
    "gst eval --questions QUESTIONS --answerer memory --output runs/maps": evaluated,
    "gst eval --questions QUESTIONS --answerer scripted --answers ANSWERS.json --output runs/mine": evaluated,
    "gst score runs/first": on_a_run,
    "gst leaderboard runs/first": on_a_run,
    "gst report runs/first": reported,
    "gst report runs/first --curve curve.svg": curve_drawn,
    "gst report runs/first --questions QUESTIONS --output first.html": reported,
    "gst replay VIDEO": replayed,
    "gst doctor": says_what_is_there,
    "source /opt/ros/$ROS_DISTRO/setup.bash": standard_ros,
    "rosdep install --from-paths . gst_interfaces --ignore-src -y": standard_ros,
    "pip install av>=10": standard_ros,
    "colcon build --base-paths . gst_interfaces": standard_ros,
    "source install/setup.bash": standard_ros,
    "ros2 launch gst_ros eval.launch.py questions:=QUESTIONS answerer:=random output:=runs/third": launched,
    "ros2 launch gst_ros replay.launch.py path:=VIDEO mode:=realtime": launched,
    "ros2 run gst_ros camera_player --ros-args -p path:=VIDEO -p rate:=2.0": node_run,
    "ros2 run gst_ros spatial_reasoning --ros-args -p answerer:=random": node_run,
    "ros2 service call /spatial_reasoning/get_status gst_interfaces/srv/GetMemoryStatus": service_called,
    "gst map VIDEO --out MAP": mapped,
    "gst locate MAP VIEW": mapped,
    "gst locate MAP FRAME --pitch 35": mapped,
    "gst scenes make --seed 1 --count 20 --kinds home --tasks position,tds_hard --out SET": sets_made,
    "python benchmarks/mapping.py --data SET": benchmarked,
    "python benchmarks/mapping.py --data SET --ignore-camera": benchmarked,
    "python benchmarks/mapping.py --data SET --fault blackout": benchmarked,
    "python benchmarks/mapping_side_by_side.py --data SET": benchmarked,
    "python benchmarks/transport.py": benchmarked,
    "python benchmarks/transport.py --frames 2000 --baseline-frames 1000": benchmarked,
    "python benchmarks/transport.py --video VIDEO": benchmarked,
    "python benchmarks/scenes.py": benchmarked,
    "python benchmarks/scenes.py --places 0": benchmarked,
    "python benchmarks/scene_statistics.py": benchmarked,
    "python benchmarks/scene_statistics.py --set SET --figure FIGURE.svg": benchmarked,
    "pip install gst_ros[scenes]": standard_ros,
    f"sudo apt-get install sweethome3d-furniture {EGL}": packages_named,
    "gst scenes make --seed 1 --count 10 --out SET": sets_made,
    "gst scenes show SET": sets_shown,
    "gst scenes check SET": sets_checked,
    "gst eval --questions SET --answerer random --output runs/made": sets_evaluated,
    f"gst scenes make --out demo {DEMO}": sets_made,
}


def test_every_shown_command_has_a_way_and_every_way_a_command() -> None:
    assert set(SHOWN) == set(HOW)


@pytest.mark.parametrize("command", sorted(HOW))
def test_command(command: str, place: Path, request: pytest.FixtureRequest) -> None:
    HOW[command](command, place, request)


def test_the_short_benchmark_prints_its_line(ros_domain: int, tmp_path: Path) -> None:
    pytest.importorskip("gst_interfaces")
    script = str(ROOT / "benchmarks" / "transport.py")
    done = run([sys.executable, script, "--frames", "40", "--baseline-frames", "30"], tmp_path, timeout_s=120)
    line = json.loads(done.stdout.splitlines()[-1])
    assert (line["frames"], line["lost"], line["baseline_lost"], line["lossless"]) == (40, 0, 0, True)
    assert documented_keys("transport.py") == set(line)
    assert min(line["fps"], line["baseline_fps"], line["decode_fps"], line["player_peak_mb"]) > 0


def test_the_short_statistics_print_their_line_and_draw_their_figure(place: Path, tmp_path: Path) -> None:
    pytest.importorskip("shapely", reason="the extra 'scenes' is not installed")
    script = str(ROOT / "benchmarks" / "scene_statistics.py")
    words = ["--places", "2", "--builtin-only", "--jobs", "1", "--set", str(place / "SET"), "--figure", "figure.svg"]
    done = run([sys.executable, script, *words], tmp_path, timeout_s=180)
    line = json.loads(done.stdout.splitlines()[-1])
    assert documented_keys("scene_statistics.py") == set(line)
    assert (line["places"], line["built"], line["problems"], line["rooms_not_entered"]) == (2, 2, 0, 0)
    assert line["questions"] == dict.fromkeys(TASKS, 2)
    assert 1 <= line["rooms"][0] <= line["rooms"][-1] and line["walk_m"][0] > 5
    figure = xml.etree.ElementTree.parse(tmp_path / "figure.svg")
    titles = {element.text for element in figure.iter() if element.get("font-weight") == "bold"}
    assert {"objects", "ed_v, degrees", "edist_s, m", "tds_hard, letter", "position, x of 999"} <= titles


def test_the_mapping_benchmark_counts_as_its_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = importlib.import_module("mapping")
    view = {"seconds": 0.2, "located": 1.0, "error_m": 0.2, "error_deg": 3.0}
    astray = {**view, "error_m": 1.2, "error_deg": 1.0}
    lost = {**view, "located": 0.0, "error_m": float("inf"), "error_deg": 180.0}
    row = {"ate_m": 0.6, "noted": False, "grid_iou": 0.9, "fps": 50.0, "final_s_per_min": 9.0, "peak_mb": 400.0}
    row |= {"pitch_error_deg": -0.2, "focal_error": 0.01, "views": [view, view, astray, lost]}
    row |= {"plans": [{"error_m": 0.1, "turn_deg": 1.0}, {"error_m": 0.1, "turn_deg": 90.0}]}
    found = module.summarised([row, {**row, "ate_m": 0.1, "noted": True}])
    assert documented_keys("mapping.py") == set(found) | {"cores", "fault", "camera_known"}
    assert (found["ate_median_m"], found["ate_within_0_15"], found["misassembled_unreported"]) == (0.35, 1, 1)
    assert (found["reloc_fine"], found["reloc_ok"], found["reloc_wrong"]) == (0, 0.5, 0.25)
    assert (found["plan_ok"], found["pitch_error_deg"]) == (0.5, 0.2)


def documented_keys(script: str) -> set[str]:
    """The JSON keys that the benchmarks' page lists in a script's section."""
    section = (ROOT / PAGES[1]).read_text(encoding="utf-8").split(f"\n## {script}\n")[1].split("\n## ")[0]
    return set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", section, re.M))))


# --- what the pages say ---------------------------------------------------------------------------


def test_the_shown_question_is_one(place: Path) -> None:
    found = load_questions(place / "QUESTIONS")
    assert not found.skipped
    (question,) = found.questions
    assert (question.task.key, question.truth) == ("ed_s", -134)
    with open_clip(place / "VIDEO") as clip:
        assert sum(1 for _ in clip) == 12


@pytest.mark.parametrize("page", LINKED)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)", text) if "://" not in target]
    missing = [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()]
    assert not missing


def test_every_decision_is_in_the_index() -> None:
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs" / "decisions").glob("*.md")} - {"README.md"}
    assert not [page for page in sorted(pages) if f"({page})" not in index]


def test_the_layout_names_what_exists_and_leaves_out_nothing() -> None:
    layout = (ROOT / "README.md").read_text(encoding="utf-8").split("## What is where")[1]
    named = set(re.findall(r"`([\w/]+)`", "".join(re.findall(r"^\| (`.*?) \|", layout, re.M))))
    assert all((ROOT / name).is_dir() for name in named)
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    if not tracked:
        pytest.skip("not a git checkout")
    folders = {path.split("/")[0] for path in tracked.splitlines() if "/" in path}
    assert {folder for folder in folders if folder[0] != "."} <= {name.split("/")[0] for name in named} | {"resource"}


def test_the_pages_name_topics_and_services_that_exist() -> None:
    """Names in the README's node table and in the picture are found in the nodes' code."""
    code = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "gst_ros" / "nodes").glob("*.py")))
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("| Node |")[1].split("\n\n")[0]
    picture = xml.etree.ElementTree.parse(ROOT / "docs" / "dataflow.svg")
    drawn = " ".join("".join(element.itertext()) for element in picture.iter() if element.tag.endswith("}text"))
    names = re.findall(r"(?:~/|camera/)\w+|/clock|/diagnostics", table + drawn)
    assert len(set(names)) >= 15
    assert not [name for name in sorted(set(names)) if name not in code]


def test_the_page_on_question_sets_has_every_task_by_its_names() -> None:
    text = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| .*? \| (.*?) \| .*\|$", text, re.MULTILINE)
    assert [(key, name) for key, name, _ in rows] == [(task.key, task.official_name) for task in TASKS.values()]
    for key, _, images in rows:
        words = {"four": 4}.get(images.split()[0], len(images.split(", ")))
        assert words == TASKS[key].images, key


def test_the_watcher_sees_the_camera(place: Path, ros_domain: int) -> None:
    pytest.importorskip("gst_interfaces")
    watcher = subprocess.Popen(
        [sys.executable, str(ROOT / "docs" / "watch_camera.py")], stdout=subprocess.PIPE, text=True
    )
    try:
        gst("gst replay VIDEO", place)
        printed, _ = watcher.communicate(timeout=60)
    finally:
        watcher.kill()
    assert "640 x 512 rgb8 in camera_optical_frame" in printed
    assert watcher.returncode == 0


def test_the_shown_table_is_what_the_demo_gives(tmp_path: Path) -> None:
    """The random answerer is seeded: the table in the README can be reproduced line by line."""
    environment = {**os.environ, "COLUMNS": "120"}
    command = [sys.executable, "-m", "gst_ros.cli.main", "eval", "--no-ros", "--output", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    printed = [line.strip() for line in done.stdout.splitlines()]
    assert not [line for line in shown.splitlines() if line.strip() not in printed]
