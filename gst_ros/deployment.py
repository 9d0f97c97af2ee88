"""Which nodes run, with which parameters: the one description that runner and launch files share.

Pure data. Values come from four places; a later one wins:

1. the parameter file that the package brings, ``config/eval.yaml``;
2. the user's parameter files, in ROS's format (``node: ros__parameters: ...``, ``/**`` for all nodes);
3. the command line's own options (questions, answerer, mode, ...);
4. single values, ``node.parameter=value``.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gst_ros.errors import ConfigError
from gst_ros.yaml_files import parse_yaml, read_yaml

Parameters = dict[str, Any]

CAMERA_PLAYER = "camera_player"
SPATIAL_REASONING = "spatial_reasoning"
EVALUATOR = "evaluator"
NODE_NAMES = (CAMERA_PLAYER, SPATIAL_REASONING, EVALUATOR)

_FAST_DDS_2 = ("humble", "iron", "jazzy")
_BOOTSTRAP_FLAG = "_ROS_WHEELS_BOOTSTRAP_COMPLETE"


@dataclass(frozen=True)
class NodeSpec:
    """One node: a console script of this package and module of ``gst_ros.nodes`` of the same name.

    Attributes:
        executable: Console script and module name.
        name: Node name.
        namespace: Node namespace; empty for the root.
        parameters: Every parameter that differs from the node's own defaults, names flattened with dots.
        remappings: Pairs of names, from and to.
    """

    executable: str
    name: str
    namespace: str = ""
    parameters: Parameters = field(default_factory=dict)
    remappings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Deployment:
    """A set of nodes that live and die together.

    Attributes:
        nodes: In the order in which they start.
        ending: Name of the node whose end ends the others; its exit code is the deployment's.
        output: Folder of the run, None when nothing is kept.
        this_machine_only: Whether other machines shall neither see the nodes nor disturb them.
    """

    nodes: tuple[NodeSpec, ...]
    ending: str
    output: Path | None = None
    this_machine_only: bool = True

    def node(self, name: str) -> NodeSpec:
        """The node of this name (KeyError when there is none)."""
        for spec in self.nodes:
            if spec.name == name:
                return spec
        raise KeyError(name)

    def with_output(self, output: Path) -> Deployment:
        """The same with another run folder."""
        folder = _absolute(output) or ""
        nodes = tuple(
            replace(spec, parameters={**spec.parameters, "output": folder}) if spec.name == EVALUATOR else spec
            for spec in self.nodes
        )
        return replace(self, nodes=nodes, output=Path(folder))


@dataclass(frozen=True)
class EvalOptions:
    """What a user may ask of an evaluation. None and empty mean: as the parameter files have it.

    Attributes:
        questions: A question file or a folder of them.
        output: Folder of the run; one that holds a run is resumed.
        data_root: Where media named in the questions are looked for besides the question file's folder.
        answerer: Name of the answerer.
        seed: Seed of the answerers that draw.
        answers: Answer file of the scripted answerer.
        mode: ``lockstep`` or ``realtime``.
        rate: Media seconds per second, in real time.
        tasks: Task keys or official names; empty for all.
        limit: Ask the first so many questions; None for all.
        fresh: Refuse an output folder that already holds a run.
        parameter_files: ROS parameter files.
        overrides: ``node.parameter`` to value.
    """

    questions: Path
    output: Path
    data_root: Path | None = None
    answerer: str | None = None
    seed: int | None = None
    answers: Path | None = None
    mode: str | None = None
    rate: float | None = None
    tasks: tuple[str, ...] = ()
    limit: int | None = None
    fresh: bool = False
    parameter_files: tuple[Path, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReplayOptions:
    """What a user may ask of a replay.

    Attributes:
        path: A video file or a folder of images.
        mode: ``lockstep`` or ``realtime``; None as the parameter files have it.
        rate: Media seconds per second; None as the parameter files have it.
        loop: Begin again at the end.
        start_s: Media time of the first frame.
        end_s: Media time at which to stop; None for the clip's end.
        parameter_files: ROS parameter files.
        overrides: ``node.parameter`` to value.
    """

    path: Path
    mode: str | None = None
    rate: float | None = None
    loop: bool = False
    start_s: float | None = None
    end_s: float | None = None
    parameter_files: tuple[Path, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)


def describe_eval(options: EvalOptions) -> Deployment:
    """Player, memory and evaluator of one evaluation.

    Raises:
        ConfigError: A parameter file cannot be read, or names a node that is not ours.
    """
    evaluator = _given(
        questions=_absolute(options.questions),
        output=_absolute(options.output),
        data_root=_absolute(options.data_root),
        mode=options.mode,
        rate=options.rate,
        tasks=list(options.tasks) or None,
        limit=options.limit,
        fresh=options.fresh or None,
    )
    memory = _given(answerer=options.answerer, answerer_seed=options.seed, answers_file=_absolute(options.answers))
    from_options = {EVALUATOR: evaluator, SPATIAL_REASONING: memory}
    parameters = _merge(options.parameter_files, from_options, options.overrides)
    if "mode" in parameters[EVALUATOR]:
        # Both ends have the QoS of the mode from the start, so that nobody has to match twice.
        mode = parameters[EVALUATOR]["mode"]
        parameters[CAMERA_PLAYER].setdefault("mode", mode)
        if mode == "realtime":
            parameters[SPATIAL_REASONING].setdefault("image_reliability", "best_effort")
    nodes = tuple(NodeSpec(executable=name, name=name, parameters=parameters[name]) for name in NODE_NAMES)
    return Deployment(nodes=nodes, ending=EVALUATOR, output=Path(_absolute(options.output) or "."))


def describe_replay(options: ReplayOptions) -> Deployment:
    """The camera player alone, playing one clip and ending with it.

    Raises:
        ConfigError: As for :func:`describe_eval`.
    """
    player = _given(
        path=_absolute(options.path),
        mode=options.mode,
        rate=options.rate,
        loop=options.loop or None,
        start_s=options.start_s,
        end_s=options.end_s,
        autoplay=True,
        exit_when_finished=True,
        progress=True,
    )
    parameters = _merge(options.parameter_files, {CAMERA_PLAYER: player}, options.overrides)
    spec = NodeSpec(executable=CAMERA_PLAYER, name=CAMERA_PLAYER, parameters=parameters[CAMERA_PLAYER])
    return Deployment(nodes=(spec,), ending=CAMERA_PLAYER, this_machine_only=False)


def read_parameter_file(path: Path) -> dict[str, Parameters]:
    """Read a ROS parameter file: node names (or ``/**``) to parameters, flattened with dots.

    Raises:
        ConfigError: Not readable, not in ROS's format, or about a node that is not ours.
    """
    document = read_yaml(path)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError("is not a parameter file", file=path, remedy="begin it with 'node_name: ros__parameters:'")
    found: dict[str, Parameters] = {}
    for key, section in document.items():
        node = _node_of_key(key, path)
        if not isinstance(section, dict) or set(section) != {"ros__parameters"}:
            raise ConfigError("expected 'ros__parameters:' and nothing else below it", file=path, field=str(key))
        values = section["ros__parameters"]
        if values is not None and not isinstance(values, dict):
            raise ConfigError("expected parameters by name", file=path, field=f"{key}.ros__parameters")
        found.setdefault(node, {}).update(_flatten(values or {}, path))
    return found


def parse_override(text: str) -> tuple[str, Any]:
    """Split ``node.parameter=value``; the value is read as YAML.

    Raises:
        ConfigError: There is no ``=``, the value is not YAML or the node is not ours.
    """
    name, equals, raw = text.partition("=")
    if not equals or "." not in name:
        raise ConfigError(f"'{text}' is not node.parameter=value", field="--set")
    _known_node(name.partition(".")[0], "--set")
    return name, parse_yaml(raw, field=f"--set {name}") if raw else ""


def environment_for_nodes(
    base: Mapping[str, str], supervisor_pid: int, *, this_machine_only: bool = True
) -> dict[str, str]:
    """The environment of the nodes' processes; what the user has set is left alone.

    Args:
        base: The environment of the process that starts them.
        supervisor_pid: The process without which they must not go on.
        this_machine_only: As :attr:`Deployment.this_machine_only`. Humble cannot do that without hiding the nodes
            from ``ros2 topic list`` on this machine too, so there it has no effect.

    Returns:
        A complete environment.
    """
    from gst_ros.environment import share_dir

    result = dict(base)
    # Wheels of ROS set LD_LIBRARY_PATH in a re-executed Python and mark that by this flag. A child that
    # inherits the flag without the path could not load ROS, so let every child do it for itself.
    result.pop(_BOOTSTRAP_FLAG, None)
    profile = str(share_dir() / "config" / "fastdds.xml")
    if not {"FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE"} & set(base) and os.path.isfile(profile):
        # Fast DDS 3 (Kilted and newer) warns of the older name.
        older = base.get("ROS_DISTRO") in _FAST_DDS_2
        result["FASTRTPS_DEFAULT_PROFILES_FILE" if older else "FASTDDS_DEFAULT_PROFILES_FILE"] = profile
    if this_machine_only and not {"ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY"} & set(base):
        result["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    result["GST_RUNNER_PID"] = str(supervisor_pid)
    result.setdefault("PYTHONUNBUFFERED", "1")
    return result


def _merge(
    files: Sequence[Path], from_options: Mapping[str, Parameters], overrides: Mapping[str, Any]
) -> dict[str, Parameters]:
    from gst_ros.environment import share_dir

    merged: dict[str, Parameters] = {name: {} for name in NODE_NAMES}
    for path in (share_dir() / "config" / "eval.yaml", *files):
        sections = read_parameter_file(path)
        # Within one file the section of a node is more particular than the one of all nodes.
        for name in NODE_NAMES:
            merged[name].update(sections.get("/**", {}))
            merged[name].update(sections.get(name, {}))
    for name, values in from_options.items():
        merged[name].update(values)
    for dotted, value in overrides.items():
        name, _, parameter = dotted.partition(".")
        merged[_known_node(name, "--set")][parameter] = value
    return merged


def _node_of_key(key: object, path: Path) -> str:
    text = str(key)
    if text == "/**":
        return text
    return _known_node(text.removeprefix("/**").removeprefix("/"), path)


def _known_node(name: str, source: str | Path) -> str:
    if name not in NODE_NAMES:
        near = difflib.get_close_matches(name, NODE_NAMES, n=1, cutoff=0.5)
        remedy = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(NODE_NAMES)}"
        raise ConfigError("no such node", file=source, field=name, remedy=remedy)
    return name


def _flatten(values: Mapping[Any, Any], path: Path, prefix: str = "") -> Parameters:
    flat: Parameters = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            flat.update(_flatten(value, path, f"{name}."))
        elif value is None:
            raise ConfigError("has no value", file=path, field=name, remedy="write '' for an empty text")
        else:
            flat[name] = value
    return flat


def _given(**values: Any) -> Parameters:
    return {name: value for name, value in values.items() if value is not None}


def _absolute(path: Path | None) -> str | None:
    # Nodes may run in another folder than the user's shell.
    return None if path is None else os.path.abspath(os.path.expanduser(path))
