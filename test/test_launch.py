"""Launch files and runner start the same nodes; launch arguments, and what a node's end does to the launch.

Where ROS's ``launch`` is not installed, small recording stand-ins take its place. The real ``ros2 launch`` is in
test_ros2_launch.py.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import pytest
import yaml

import gst_ros
from gst_ros import runner
from gst_ros.cli import eval as eval_command
from gst_ros.cli import replay as replay_command
from gst_ros.deployment import Deployment, EvalOptions, ReplayOptions, describe_eval, describe_replay
from gst_ros.errors import ConfigError, GstError, MediaError, QuestionError, SessionError

LAUNCH_FOLDER = Path(__file__).resolve().parents[1] / "launch"
HAS_LAUNCH = importlib.util.find_spec("launch_ros") is not None


class Recorded:
    """Keeps the arguments that it was made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs


class StandInContext:
    def __init__(self, argv: list[str]) -> None:
        self.argv = argv
        self.launch_configurations: dict[str, str] = {}
        self.environment = os.environ


class StandInArgument:
    def __init__(self, name: str, *, default_value: str | None = None, description: str | None = None) -> None:
        self.name, self.default_value, self.description = name, default_value, description

    def execute(self, context: StandInContext) -> None:
        if self.name not in context.launch_configurations:
            if self.default_value is None:
                raise RuntimeError(f"Required launch argument '{self.name}' was not provided.")
            context.launch_configurations[self.name] = self.default_value


class StandInFunction:
    def __init__(self, *, function: Any) -> None:
        self.function = function

    def execute(self, context: StandInContext) -> Any:
        return self.function(context)


class StandInDescription:
    def __init__(self, entities: list[Any]) -> None:
        self.entities = entities


def stand_ins() -> dict[str, ModuleType]:
    """The part of ROS's launch that the project uses, in the form that it has from Humble on."""
    contents: dict[str, dict[str, Any]] = {
        "launch": {"LaunchContext": StandInContext, "LaunchDescription": StandInDescription},
        "launch.actions": {
            "DeclareLaunchArgument": StandInArgument,
            "OpaqueFunction": StandInFunction,
            "Shutdown": Recorded,
        },
        "launch.logging": {"launch_config": SimpleNamespace(log_dir=None)},
        "launch.substitutions": {"LaunchConfiguration": Recorded},
        "launch_ros": {},
        "launch_ros.actions": {"Node": Recorded},
    }
    modules = {name: ModuleType(name) for name in contents}
    for name, content in contents.items():
        vars(modules[name]).update(content)
    return modules


@pytest.fixture
def launching(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModuleType]:
    """``gst_ros.launching`` on the real launch where there is one; its nodes are recorded, not started."""
    if not HAS_LAUNCH:
        for name, module in stand_ins().items():
            monkeypatch.setitem(sys.modules, name, module)
    sys.modules.pop("gst_ros.launching", None)
    module = importlib.import_module("gst_ros.launching")
    real_node = module.Node

    def recording_node(**kwargs: Any) -> Recorded:
        real_node(**kwargs)  # the real one refuses what it does not know
        return Recorded(**kwargs)

    logs = tmp_path / "launch-logs"
    logs.mkdir()
    monkeypatch.setattr(module, "Node", recording_node)
    monkeypatch.setattr(module, "launch_config", SimpleNamespace(log_dir=str(logs)))
    yield module
    sys.modules.pop("gst_ros.launching", None)
    if hasattr(gst_ros, "launching"):
        del gst_ros.launching


def load_launch_file(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name.replace(".", "_"), LAUNCH_FOLDER / name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def evaluate(name: str, given: dict[str, str], argv: list[str] | None = None) -> list[Recorded]:
    """The actions of a launch file for these arguments."""
    description = load_launch_file(name).generate_launch_description()
    context = sys.modules["launch"].LaunchContext(argv=argv or [])
    context.launch_configurations.update(given)
    actions: list[Recorded] = []
    for entity in description.entities:
        actions += entity.execute(context) or []
    return actions


def ros_arguments(words: list[str]) -> dict[str, Any]:
    """What the ROS arguments of a command line say; the parameter file's content instead of its path."""
    words = list(words)
    said: dict[str, Any] = {"remappings": [], "parameters": {}, "name": None, "namespace": ""}
    assert words.pop(0) == "--ros-args"
    while words:
        flag, value = words.pop(0), words.pop(0)
        if flag == "--params-file":
            said["parameters"].update(yaml.safe_load(Path(value).read_text())["/**"]["ros__parameters"])
        else:
            assert flag == "-r"
            old, _, new = value.partition(":=")
            key = {"__node": "name", "__ns": "namespace"}.get(old)
            if key:
                said[key] = new
            else:
                said["remappings"].append((old, new))
    return said


def nodes_of_launch(actions: list[Recorded]) -> dict[str, dict[str, Any]]:
    """What the launch file starts, by executable."""
    started = {}
    for action in actions:
        kwargs = action.kwargs
        assert kwargs["package"] == "gst_ros"
        parameters: dict[str, Any] = {}
        for file in kwargs["parameters"]:
            parameters.update(yaml.safe_load(Path(file).read_text())["/**"]["ros__parameters"])
        started[kwargs["executable"]] = {
            "name": kwargs["name"],
            "namespace": kwargs["namespace"] or "",
            "remappings": kwargs["remappings"],
            "parameters": parameters,
            "environment": kwargs["env"],
        }
    return started


def nodes_of_runner(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, logs: Path
) -> tuple[int, dict[str, dict[str, Any]]]:
    """What the runner starts, by executable; the processes themselves do nothing, and the ending one ends with 0."""
    started: dict[str, dict[str, Any]] = {}
    real_popen = subprocess.Popen

    def recording_popen(command: list[str], **kwargs: Any) -> subprocess.Popen[bytes]:
        assert command[:2] == [sys.executable, "-m"]
        executable = command[2].removeprefix("gst_ros.nodes.")
        environment = {k: v for k, v in kwargs["env"].items() if k != "RCUTILS_COLORIZED_OUTPUT"}
        started[executable] = {**ros_arguments(command[3:]), "environment": environment}
        is_ending = started[executable]["name"] == deployment.ending
        return real_popen(["sleep", "0.2" if is_ending else "60"], **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(runner.subprocess, "Popen", recording_popen)
        code = runner.run_deployment(deployment, logs)
    return code, started


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions"
    path.mkdir()
    return path


@pytest.fixture
def parameter_file(tmp_path: Path) -> Path:
    """Texts that YAML readers like to take for something else, and a list without a type."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        "/**:\n  ros__parameters:\n    use_sim_time: false\n"
        'spatial_reasoning:\n  ros__parameters: {answerer: scripted, word: "y", note: "1e5", empty: []}\n'
        "camera_player:\n  ros__parameters: {qos: {depth: 7}, rates: [1.0, 2.5]}\n"
    )
    return path


def test_launch_and_runner_start_the_same_evaluation(
    launching: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, questions: Path, parameter_file: Path
) -> None:
    given = {
        "questions": str(questions),
        "output": str(tmp_path / "run"),
        "mode": "realtime",
        "rate": "2",
        "seed": "7",
        "tasks": "ed_v, position",
        "limit": "5",
        "fresh": "true",
        "data_root": str(tmp_path),
        "answers": str(tmp_path / "answers.json"),
        "params": str(parameter_file),
    }
    options = EvalOptions(
        questions=questions,
        output=tmp_path / "run",
        mode="realtime",
        rate=2.0,
        seed=7,
        tasks=("ed_v", "position"),
        limit=5,
        fresh=True,
        data_root=tmp_path,
        answers=tmp_path / "answers.json",
        parameter_files=(parameter_file,),
    )
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    launched = nodes_of_launch(evaluate("eval.launch.py", given))
    code, ran = nodes_of_runner(describe_eval(options), monkeypatch, tmp_path / "logs")
    assert code == 0
    assert list(launched) == list(ran) == ["camera_player", "spatial_reasoning", "evaluator"]
    assert launched == ran
    assert launched["spatial_reasoning"]["parameters"]["word"] == "y"
    assert launched["spatial_reasoning"]["parameters"]["note"] == "1e5"
    assert launched["spatial_reasoning"]["parameters"]["empty"] == []
    assert launched["camera_player"]["parameters"]["qos.depth"] == 7
    assert launched["evaluator"]["parameters"]["rate"] == 2.0
    assert launched["evaluator"]["environment"]["GST_RUNNER_PID"].isdecimal()


def test_launch_and_runner_start_the_same_replay(
    launching: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clip = tmp_path / "clip.mp4"
    clip.touch()
    given = {"path": str(clip), "mode": "realtime", "rate": "0.5", "loop": "true", "start_s": "1", "end_s": "2.5"}
    options = ReplayOptions(path=clip, mode="realtime", rate=0.5, loop=True, start_s=1.0, end_s=2.5)
    launched = nodes_of_launch(evaluate("replay.launch.py", given))
    code, ran = nodes_of_runner(describe_replay(options), monkeypatch, tmp_path / "logs")
    assert code == 0
    assert list(launched) == ["camera_player"]
    assert launched == ran
    assert launched["camera_player"]["parameters"]["loop"] is True


def test_arguments_left_out_are_left_to_the_parameter_files(
    launching: ModuleType, tmp_path: Path, questions: Path, parameter_file: Path
) -> None:
    given = {"questions": str(questions), "output": str(tmp_path / "run"), "params": str(parameter_file)}
    launched = nodes_of_launch(evaluate("eval.launch.py", given))
    expected = describe_eval(EvalOptions(questions, tmp_path / "run", parameter_files=(parameter_file,)))
    assert {name: node["parameters"] for name, node in launched.items()} == {
        spec.executable: spec.parameters for spec in expected.nodes
    }


def test_output_is_a_new_folder_by_default(
    launching: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, questions: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    launched = nodes_of_launch(evaluate("eval.launch.py", {"questions": str(questions), "answerer": "random"}))
    output = Path(launched["evaluator"]["parameters"]["output"])
    assert output.parent == tmp_path / "runs"
    assert output.name.endswith("-random")


@pytest.mark.parametrize(
    ("file", "command"), [("eval.launch.py", eval_command.command), ("replay.launch.py", replay_command.command)]
)
def test_declared_arguments_are_the_commands_options(launching: ModuleType, file: str, command: click.Command) -> None:
    declared = [entity.name for entity in load_launch_file(file).generate_launch_description().entities[:-1]]
    # --no-ros means nothing to ROS; single parameters (--set) are what a parameter file is for.
    offered = {option.name for option in command.params} - {"no_ros", "settings"}
    assert set(declared) == offered
    assert len(declared) == len(set(declared))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mode": "lokstep"}, ["'lokstep' is not a choice", "'mode'", "did you mean 'lockstep'"]),
        ({"mode": "fast"}, ["'fast' is not a choice", "lockstep, realtime"]),
        ({"seed": "1.5"}, ["'seed'", "expected a whole number", "1.5"]),
        ({"limit": "ten"}, ["'limit'", "expected a whole number", "ten"]),
        ({"rate": "quick"}, ["'rate'", "expected a number", "quick"]),
        ({"fresh": "maybe"}, ["'fresh'", "expected true or false", "maybe"]),
        ({"limit": "-3"}, ["limit", "-3"]),
        ({"params": "nowhere.yaml"}, ["nowhere.yaml", "cannot be read"]),
    ],
)
def test_bad_arguments_give_one_clear_line(
    launching: ModuleType, tmp_path: Path, questions: Path, given: dict[str, str], words: list[str]
) -> None:
    with pytest.raises(GstError) as caught:
        evaluate("eval.launch.py", {"questions": str(questions), "output": str(tmp_path / "run"), **given})
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line
    assert launching.exit_code() == 2


def test_questions_that_do_not_exist_are_named_before_any_node_starts(launching: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match=r"nowhere: does not exist"):
        evaluate("eval.launch.py", {"questions": str(tmp_path / "nowhere"), "output": str(tmp_path / "run")})
    assert launching.exit_code() == 2


def test_a_clip_that_does_not_exist_is_named_before_any_node_starts(launching: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(MediaError, match=r"nowhere\.mp4: does not exist"):
        evaluate("replay.launch.py", {"path": str(tmp_path / "nowhere.mp4")})
    assert launching.exit_code() == 2


def test_a_misspelt_argument_is_refused(
    launching: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, questions: Path
) -> None:
    argv = [f"questions:={questions}", "answere:=random", "sigterm_timeout:=9"]
    given = {"questions": str(questions), "output": str(tmp_path / "run"), "answere": "random"}
    monkeypatch.setattr(sys, "argv", ["ros2", "launch", "gst_ros", "eval.launch.py", *argv])
    with pytest.raises(ConfigError, match=r"'answere': unknown argument .did you mean 'answerer'"):
        evaluate("eval.launch.py", given, argv)
    # Included by another launch file, the command line holds that one's arguments.
    monkeypatch.setattr(sys, "argv", ["ros2", "launch", "robot", "robot.launch.py", *argv])
    assert len(evaluate("eval.launch.py", given, argv)) == 3


@pytest.fixture
def on_exit(launching: ModuleType, tmp_path: Path, questions: Path) -> dict[str, Any]:
    """What each node's end does, by node name."""
    actions = evaluate("eval.launch.py", {"questions": str(questions), "output": str(tmp_path / "run")})
    return {action.kwargs["name"]: action.kwargs["on_exit"] for action in actions}


def ended(returncode: int) -> SimpleNamespace:
    return SimpleNamespace(returncode=returncode)


RUNNING = SimpleNamespace(is_shutdown=False)
STOPPING = SimpleNamespace(is_shutdown=True)


def test_the_evaluators_success_ends_the_launch(launching: ModuleType, on_exit: dict[str, Any]) -> None:
    assert launching.exit_code() is None
    actions = on_exit["evaluator"](ended(0), RUNNING)
    assert [type(action) for action in actions] == [launching.Shutdown]
    # The others are then stopped by launch; how they end says nothing.
    assert on_exit["camera_player"](ended(-2), STOPPING) is None
    assert launching.exit_code() == 0


@pytest.mark.parametrize("returncode", [1, 2, 3])
def test_the_evaluators_failure_is_the_launchs(launching: ModuleType, on_exit: dict[str, Any], returncode: int) -> None:
    with pytest.raises(GstError, match=f"evaluator ended with exit code {returncode}"):
        on_exit["evaluator"](ended(returncode), RUNNING)
    assert launching.exit_code() == returncode


@pytest.mark.parametrize(
    ("node", "returncode", "words", "code"),
    [
        ("spatial_reasoning", -9, "node spatial_reasoning was killed by SIGKILL", 3),
        ("camera_player", -11, "node camera_player was killed by SIGSEGV", 3),
        ("camera_player", 0, "node camera_player ended with exit code 0", 3),
        ("camera_player", 1, "node camera_player ended with exit code 1", 3),
        ("camera_player", 2, "node camera_player does not accept its configuration", 2),
        ("evaluator", -9, "node evaluator was killed by SIGKILL", 3),
    ],
)
def test_a_dead_node_is_named_and_fails_the_launch(
    launching: ModuleType, on_exit: dict[str, Any], node: str, returncode: int, words: str, code: int
) -> None:
    with pytest.raises((SessionError, ConfigError), match=words):
        on_exit[node](ended(returncode), RUNNING)
    # The evaluator is stopped for it; its code does not hide the reason.
    if node != "evaluator":
        assert on_exit["evaluator"](ended(130), STOPPING) is None
    assert launching.exit_code() == code


def test_after_ctrl_c_the_code_is_the_evaluators(launching: ModuleType, on_exit: dict[str, Any]) -> None:
    assert on_exit["camera_player"](ended(0), STOPPING) is None
    assert launching.exit_code() is None
    assert on_exit["evaluator"](ended(130), STOPPING) is None
    assert launching.exit_code() == 130


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The extension of ``ros2 launch``, on a stand-in of its base where that is not installed."""
    if importlib.util.find_spec("ros2launch") is None:
        option = ModuleType("ros2launch.option")
        option.OptionExtension = object  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "ros2launch", ModuleType("ros2launch"))
        monkeypatch.setitem(sys.modules, "ros2launch.option", option)
    yield importlib.import_module("gst_ros.launch_exit_code").ExitCode()
    del sys.modules["gst_ros.launch_exit_code"]


def exit_code_of_ros2_launch(extension: Any, launch_return_code: int) -> int:
    """As ``ros2 launch`` does: it returns launch's code unless an extension exits."""
    try:
        extension.postlaunch(launch_return_code, None)
    except SystemExit as end:
        assert isinstance(end.code, int)
        return end.code
    return launch_return_code


@pytest.mark.parametrize(
    ("ours", "launchs", "expected"), [(3, 1, 3), (130, 0, 130), (0, 0, 0), (0, 1, 1), (None, 1, 1)]
)
def test_ros2_launch_exits_with_our_code(
    launching: ModuleType,
    extension: Any,
    monkeypatch: pytest.MonkeyPatch,
    ours: int | None,
    launchs: int,
    expected: int,
) -> None:
    monkeypatch.setattr(launching, "_exit_code", ours)
    assert exit_code_of_ros2_launch(extension, launchs) == expected


def test_launch_files_of_other_packages_keep_their_exit_code(extension: Any) -> None:
    assert "gst_ros.launching" not in sys.modules
    assert exit_code_of_ros2_launch(extension, 1) == 1
    assert exit_code_of_ros2_launch(extension, 0) == 0
    assert "gst_ros.launching" not in sys.modules
