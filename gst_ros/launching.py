"""A deployment as `ros2 launch` runs it: launch arguments in, launch actions out, and an exit code.

The launch files hold their arguments and nothing else; what runs is described in :mod:`gst_ros.deployment`,
which the runner of machines without ``launch`` shares. Needs ROS's ``launch`` and ``launch_ros``; only API
that is the same from Humble on is used. How the exit code gets out: ``docs/decisions/launch_exit_code.md``.
"""

from __future__ import annotations

import difflib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.logging import launch_config
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from gst_ros.deployment import Deployment, NodeSpec, environment_for_nodes
from gst_ros.errors import ConfigError, GstError, SessionError
from gst_ros.runner import parameter_file_text

PACKAGE = "gst_ros"
GRACE_S = "10"
"""How long a node may take to end after SIGINT, in seconds; ``sigterm_timeout:=`` changes it."""

_SOURCE = "launch arguments"
# Configurations that launch and launch_ros themselves read; they may be given to any launch file.
_LAUNCHS_OWN = (
    "emulate_tty",
    "launch-prefix",
    "launch-prefix-filter",
    "log_level",
    "ros_namespace",
    "sigkill_timeout",
    "sigterm_timeout",
)

_exit_code: int | None = None


@dataclass(frozen=True)
class Argument:
    """One ``name:=value`` of a launch file.

    Attributes:
        name: Its name; also the name of the option that it fills.
        doc: What it means, for ``ros2 launch --show-args``.
        read: Turns the text into the option's value; it raises ValueError with what was expected.
        required: Whether it must be given. All others are empty by default, which means not given.
        choices: The allowed words; empty for any.
    """

    name: str
    doc: str
    read: Callable[[str], Any] = str
    required: bool = False
    choices: tuple[str, ...] = ()


def whole_number(text: str) -> int:
    """Read an integer."""
    try:
        return int(text)
    except ValueError:
        raise ValueError("a whole number") from None


def number(text: str) -> float:
    """Read a float."""
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number") from None


def switch(text: str) -> bool:
    """Read ``true`` or ``false``, as launch itself does."""
    words = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in words:
        raise ValueError("true or false")
    return words[text.lower()]


def words(text: str) -> tuple[str, ...]:
    """Read a comma-separated list."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def paths(text: str) -> tuple[Path, ...]:
    """Read a comma-separated list of paths."""
    return tuple(Path(word) for word in words(text))


def launch_description(
    arguments: Sequence[Argument], describe: Callable[[dict[str, Any]], Deployment], file: str
) -> LaunchDescription:
    """What a launch file's ``generate_launch_description`` returns.

    Args:
        arguments: The arguments to declare.
        describe: Makes the deployment from the values of those arguments that were given, by name.
        file: The launch file itself (``__file__``).
    """

    def start(context: LaunchContext) -> list[Any]:
        _set_exit_code(None)
        try:
            if _is_launched_itself(file):
                refuse_unknown(context.argv, arguments)
            deployment = describe(read_values(context.launch_configurations, arguments))
            environment = environment_for_nodes(
                context.environment, os.getpid(), this_machine_only=deployment.this_machine_only
            )
            return node_actions(deployment, environment, Path(launch_config.log_dir))
        except GstError as error:
            _set_exit_code(error.exit_code)
            raise  # launch shows it as one line, starts nothing and exits with 1

    declared = [
        DeclareLaunchArgument(a.name, description=_description(a))
        if a.required
        else DeclareLaunchArgument(a.name, default_value="", description=_description(a))
        for a in arguments
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def read_values(configurations: Mapping[str, str], arguments: Iterable[Argument]) -> dict[str, Any]:
    """The values of the arguments that are not empty, by name.

    Raises:
        ConfigError: A value is not what its argument takes.
    """
    values: dict[str, Any] = {}
    for argument in arguments:
        text = configurations.get(argument.name, "")
        if not text:
            if argument.required:
                raise ConfigError("is empty", file=_SOURCE, field=argument.name, remedy=argument.doc)
            continue
        if argument.choices and text not in argument.choices:
            near = difflib.get_close_matches(text, argument.choices, n=1)
            remedy = f"did you mean '{near[0]}'?" if near else f"one of: {', '.join(argument.choices)}"
            raise ConfigError(f"'{text}' is not a choice", file=_SOURCE, field=argument.name, remedy=remedy)
        try:
            values[argument.name] = argument.read(text)
        except ValueError as error:
            raise ConfigError(f"expected {error}, got '{text}'", file=_SOURCE, field=argument.name) from error
    return values


def refuse_unknown(argv: Iterable[str], arguments: Iterable[Argument]) -> None:
    """Refuse a misspelt argument, which launch itself would ignore without a word.

    Args:
        argv: The ``name:=value`` words of the command line.
        arguments: The declared ones.

    Raises:
        ConfigError: It names the nearest declared argument.
    """
    known = [argument.name for argument in arguments]
    for word in argv:
        name = word.partition(":=")[0]
        if name not in known and name not in _LAUNCHS_OWN:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            remedy = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(sorted(known))}"
            raise ConfigError("unknown argument", file=_SOURCE, field=name, remedy=remedy)


def node_actions(deployment: Deployment, environment: Mapping[str, str], folder: Path) -> list[Any]:
    """One ``launch_ros.actions.Node`` for each node; the first one to end ends them all.

    Args:
        deployment: What to run.
        environment: The nodes' environment, complete.
        folder: Where the nodes' parameter files go.
    """
    return [_node_action(spec, deployment, environment, folder) for spec in deployment.nodes]


def exit_code() -> int | None:
    """The exit code of the deployment launched last in this process; None while there is none."""
    return _exit_code


def _set_exit_code(code: int | None) -> None:
    global _exit_code
    _exit_code = code


def _description(argument: Argument) -> str:
    choices = f" {' or '.join(argument.choices).capitalize()}." if argument.choices else ""
    return f"{argument.doc}{choices}"


def _is_launched_itself(file: str) -> bool:
    # An including launch file has arguments of its own, which are none of our business.
    return Path(file).name in {Path(word).name for word in sys.argv}


def _node_action(spec: NodeSpec, deployment: Deployment, environment: Mapping[str, str], folder: Path) -> Any:
    # The runner's own parameter files: given a dict, launch_ros would write 'y' and '1e5' without quotes,
    # which ROS then reads as something else than text, and it knows no empty list.
    parameter_file = folder / f"{spec.name}.yaml"
    parameter_file.write_text(parameter_file_text(spec.parameters), encoding="utf-8")

    def on_exit(event: Any, context: LaunchContext) -> list[Any] | None:
        return _on_exit(spec, deployment, event.returncode, stopping=context.is_shutdown)

    return Node(
        package=PACKAGE,
        executable=spec.executable,
        name=spec.name,
        namespace=spec.namespace or None,
        parameters=[str(parameter_file)],
        remappings=list(spec.remappings),
        env=dict(environment),
        output="screen",
        # As long as the runner gives: a busy machine, or an evaluator that writes its last record.
        sigterm_timeout=LaunchConfiguration("sigterm_timeout", default=GRACE_S),
        on_exit=on_exit,
    )


def _on_exit(spec: NodeSpec, deployment: Deployment, returncode: int, *, stopping: bool) -> list[Any] | None:
    """What follows from the end of one node.

    Raises:
        GstError: The run has failed. Launch shows it as one line, stops the other nodes and exits with 1.
    """
    is_ending = spec.name == deployment.ending
    if stopping:  # after Ctrl-C, or because another node ended first, whose code then stands
        if is_ending and exit_code() is None:
            _set_exit_code(returncode if returncode >= 0 else SessionError.exit_code)
        return None
    if is_ending and returncode == 0:
        _set_exit_code(0)
        return [Shutdown(reason=f"{spec.name} is done")]
    if is_ending and returncode > 0:
        _set_exit_code(returncode)
        raise GstError(f"{spec.name} ended with exit code {returncode}", remedy="see its lines above")
    error: GstError
    if returncode == ConfigError.exit_code:
        error = ConfigError(f"node {spec.name} does not accept its configuration", remedy="see its lines above")
    else:
        killed = returncode < 0
        how = f"was killed by {signal.Signals(-returncode).name}" if killed else f"ended with exit code {returncode}"
        kept = "what was answered is kept; the same command goes on from there" if deployment.output else None
        error = SessionError(f"node {spec.name} {how}", remedy=kept)
    _set_exit_code(error.exit_code)
    raise error
