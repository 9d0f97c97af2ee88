"""The description of which nodes run with which parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from gst_ros.deployment import (
    EvalOptions,
    ReplayOptions,
    describe_eval,
    describe_replay,
    environment_for_nodes,
    parse_override,
    read_parameter_file,
)
from gst_ros.environment import share_dir
from gst_ros.errors import ConfigError


def write(folder: Path, text: str, name: str = "params.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_an_evaluation_has_three_nodes_and_ends_with_the_evaluator(tmp_path: Path) -> None:
    deployment = describe_eval(EvalOptions(questions=tmp_path / "q.json", output=tmp_path / "run"))
    assert [node.name for node in deployment.nodes] == ["camera_player", "spatial_reasoning", "evaluator"]
    assert deployment.ending == "evaluator" and deployment.output == tmp_path / "run"
    assert deployment.node("evaluator").parameters["questions"] == str(tmp_path / "q.json")


def test_options_reach_the_node_that_they_concern(tmp_path: Path) -> None:
    options = EvalOptions(
        questions=tmp_path / "q.json",
        output=tmp_path,
        data_root=tmp_path / "data",
        answerer="scripted",
        seed=7,
        answers=tmp_path / "a.json",
        mode="realtime",
        rate=2.0,
        tasks=("ed_v", "position"),
        limit=3,
        fresh=True,
    )
    deployment = describe_eval(options)
    memory, evaluator = deployment.node("spatial_reasoning").parameters, deployment.node("evaluator").parameters
    assert (memory["answerer"], memory["answerer_seed"]) == ("scripted", 7)
    assert memory["answers_file"] == str(tmp_path / "a.json")
    expected = {"mode": "realtime", "rate": 2.0, "tasks": ["ed_v", "position"], "limit": 3, "fresh": True}
    assert {name: evaluator[name] for name in expected} == expected


def test_both_ends_of_the_image_topic_are_set_to_the_mode(tmp_path: Path) -> None:
    base = EvalOptions(questions=tmp_path, output=tmp_path)
    assert describe_eval(base).node("camera_player").parameters["mode"] == "lockstep"
    realtime = describe_eval(EvalOptions(**{**vars(base), "mode": "realtime"}))
    assert realtime.node("camera_player").parameters["mode"] == "realtime"
    assert realtime.node("spatial_reasoning").parameters["image_reliability"] == "best_effort"


def test_later_sources_win(tmp_path: Path) -> None:
    first = write(tmp_path, "/**:\n  ros__parameters: {answerer_seed: 1, answerer: a}\n", "1.yaml")
    second = write(tmp_path, "spatial_reasoning:\n  ros__parameters: {answerer_seed: 2, answerer: b}\n", "2.yaml")
    base = EvalOptions(questions=tmp_path, output=tmp_path, parameter_files=(first, second), answerer="c")

    def memory(options: EvalOptions) -> tuple[object, object]:
        parameters = describe_eval(options).node("spatial_reasoning").parameters
        return parameters["answerer_seed"], parameters["answerer"]

    assert memory(base) == (2, "c")
    overridden = EvalOptions(**{**vars(base), "overrides": {"spatial_reasoning.answerer": "d"}})
    assert memory(overridden) == (2, "d")
    swapped = EvalOptions(**{**vars(base), "parameter_files": (second, first), "answerer": None})
    assert memory(swapped) == (1, "a")


def test_a_nodes_own_section_beats_the_one_for_all_whatever_their_order(tmp_path: Path) -> None:
    own, every = "{limit: 5}", "{limit: 9, use_sim_time: true}"
    file = write(tmp_path, f"evaluator:\n  ros__parameters: {own}\n'/**':\n  ros__parameters: {every}\n")
    deployment = describe_eval(EvalOptions(questions=tmp_path, output=tmp_path, parameter_files=(file,)))
    assert deployment.node("evaluator").parameters["limit"] == 5
    assert deployment.node("camera_player").parameters["use_sim_time"] is True


@pytest.mark.parametrize("key", ["evaluator", "/evaluator", "/**/evaluator"])
def test_all_spellings_of_a_nodes_name_mean_it_and_nested_names_get_dots(tmp_path: Path, key: str) -> None:
    file = write(tmp_path, f"{key}:\n  ros__parameters:\n    qos_overrides:\n      /x:\n        depth: 3\n")
    assert read_parameter_file(file) == {"evaluator": {"qos_overrides./x.depth": 3}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("evalutor:\n  ros__parameters: {limit: 1}\n", "did you mean 'evaluator'"),
        ("talker:\n  ros__parameters: {a: 1}\n", "known: camera_player"),
        ("evaluator:\n  limit: 1\n", "ros__parameters"),
        ("evaluator:\n  ros__parameters: [1]\n", "evaluator.ros__parameters"),
        ("evaluator:\n  ros__parameters: {limit: }\n", "has no value"),
        ("limit: 1\n", "no such node"),
        ("- a\n", "not a parameter file"),
        ("evaluator: [\n", "is not YAML"),
        ("camera_player:\n  ros__parameters: &x\n    path: *x\n", "refers to itself"),
        ("[" * 5000, "64 levels"),
        ("evaluator: !!python/object/apply:os.system ['true']\n", "is not YAML"),
    ],
)
def test_bad_parameter_files_are_one_clear_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=r"params\.yaml") as error:
        read_parameter_file(write(tmp_path, text))
    assert problem in str(error.value) and "\n" not in str(error.value)


def test_a_missing_parameter_file_is_named_and_an_empty_one_is_fine(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        read_parameter_file(tmp_path / "nowhere.yaml")
    assert read_parameter_file(write(tmp_path, "")) == {}


def test_overrides_are_read_as_yaml() -> None:
    assert parse_override("evaluator.limit=3") == ("evaluator.limit", 3)
    assert parse_override("evaluator.tasks=[ed_v, gp_s]") == ("evaluator.tasks", ["ed_v", "gp_s"])
    assert parse_override("camera_player.path=a=b") == ("camera_player.path", "a=b")
    assert parse_override("evaluator.data_root=") == ("evaluator.data_root", "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("limit=3", "not node.parameter=value"),
        ("evaluator.limit", "not node.parameter=value"),
        ("evalator.limit=3", "did you mean 'evaluator'"),
        ("evaluator.limit=[", "is not YAML"),
    ],
)
def test_bad_overrides_say_why(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_override(text)


def test_the_shipped_parameter_file_names_only_what_the_settings_know() -> None:
    from gst_ros.evaluation.local import reasoning_config
    from gst_ros.evaluation.plan import EvaluationConfig

    sections = read_parameter_file(share_dir() / "config" / "eval.yaml")
    EvaluationConfig.from_mapping(sections["evaluator"])
    assert reasoning_config(sections["spatial_reasoning"])[1] == []


def test_a_replay_is_the_player_alone(tmp_path: Path) -> None:
    options = ReplayOptions(path=tmp_path / "a.mp4", rate=2.0, overrides={"camera_player.loop": True})
    deployment = describe_replay(options)
    (player,) = deployment.nodes
    assert deployment.ending == player.name == "camera_player"
    assert (player.parameters["rate"], player.parameters["loop"]) == (2.0, True)
    # A replayed camera is for anyone, a run's nodes are for each other.
    assert not deployment.this_machine_only
    assert "ROS_AUTOMATIC_DISCOVERY_RANGE" not in environment_for_nodes({}, 42, this_machine_only=False)


def test_the_environment_leaves_alone_what_the_user_has_set() -> None:
    given = {
        "FASTDDS_DEFAULT_PROFILES_FILE": "mine.xml",
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
        "PATH": "/bin",
        "PYTHONUNBUFFERED": "0",
    }
    assert environment_for_nodes(given, 42) == {**given, "GST_RUNNER_PID": "42"}


def test_the_environment_has_what_the_nodes_need() -> None:
    environment = environment_for_nodes({"_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1"}, 42)
    humble = environment_for_nodes({"ROS_DISTRO": "humble"}, 42)
    assert "33554432" in Path(environment["FASTDDS_DEFAULT_PROFILES_FILE"]).read_text()
    assert humble["FASTRTPS_DEFAULT_PROFILES_FILE"] == environment["FASTDDS_DEFAULT_PROFILES_FILE"]
    assert environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    # A flag that is inherited without the library path that goes with it would keep ROS from loading.
    assert "_ROS_WHEELS_BOOTSTRAP_COMPLETE" not in environment
    # In Humble it would hide the nodes from this machine's own ros2 commands.
    assert "ROS_LOCALHOST_ONLY" not in humble
