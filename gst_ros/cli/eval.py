"""``gst eval``: a question set in, a score table out."""

from __future__ import annotations

import datetime
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gst_ros.deployment import Deployment
    from gst_ros.evaluation.plan import EvaluationConfig


@click.command("eval", short_help="Evaluate an answerer on a question set.")
@click.option(
    "--questions", type=click.Path(path_type=Path), help="Question file or folder. Default: the bundled demo."
)
@click.option(
    "--data-root",
    type=click.Path(path_type=Path),
    help="Folder to look for media in, if they are not beside the question file.",
)
@click.option("--answerer", help="random, scripted, ... Default: as in config/eval.yaml.")
@click.option("--seed", type=int, help="Seed of answerers that draw.")
@click.option(
    "--answers", type=click.Path(path_type=Path), help="Answers of the scripted answerer: JSON or YAML, uid to answer."
)
@click.option("--mode", type=click.Choice(["lockstep", "realtime"]), help="Lose no frame, or play as a camera would.")
@click.option("--rate", type=float, help="Speed in realtime mode, in media seconds per second.")
@click.option("--tasks", default="", help="Only these tasks: keys (ed_v, tds_easy, ...) or official names, by commas.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many questions.")
@click.option("--output", type=click.Path(path_type=Path), help="Folder of the run. Default: runs/<date>-<answerer>.")
@click.option(
    "--fresh/--resume", default=False, help="--output must hold no run yet, or a run in it goes on (default)."
)
@click.option("--params", type=click.Path(path_type=Path), multiple=True, help="ROS parameter file; may be repeated.")
@click.option("--set", "settings", multiple=True, metavar="NODE.NAME=VALUE", help="One parameter; may be repeated.")
@click.option("--no-ros", is_flag=True, help="In one process, without ROS: the same frames and the same answers.")
def command(
    questions: Path | None,
    data_root: Path | None,
    answerer: str | None,
    seed: int | None,
    answers: Path | None,
    mode: str | None,
    rate: float | None,
    tasks: str,
    limit: int | None,
    output: Path | None,
    fresh: bool,
    params: tuple[Path, ...],
    settings: tuple[str, ...],
    no_ros: bool,
) -> int:
    """Play each video of a question set into the memory, ask the questions, score the answers.

    The run folder keeps every answer as it comes: after a crash or Ctrl-C the same command with the same
    --output goes on where it stopped.
    """
    from gst_ros.deployment import parse_override

    deployment = describe_with_defaults(
        questions=questions,
        output=output,
        data_root=data_root,
        answerer=answerer,
        seed=seed,
        answers=answers,
        mode=mode,
        rate=rate,
        tasks=tuple(task.strip() for task in tasks.split(",") if task.strip()),
        limit=limit,
        fresh=fresh,
        parameter_files=params,
        overrides=dict(parse_override(text) for text in settings),
    )
    return evaluate_in_process(deployment) if no_ros else evaluate_over_ros(deployment)


def describe_with_defaults(*, questions: Path | None = None, output: Path | None = None, **options: Any) -> Deployment:
    """The deployment of an evaluation; also what ``eval.launch.py`` starts.

    Args:
        questions: Question file or folder; the bundled demo by default.
        output: Folder of the run; a new one, ``runs/<date>-<answerer>``, by default.
        options: The other fields of :class:`gst_ros.deployment.EvalOptions`.

    Raises:
        ConfigError: As for :func:`gst_ros.deployment.describe_eval`.
    """
    from gst_ros.deployment import SPATIAL_REASONING, EvalOptions, describe_eval
    from gst_ros.environment import share_dir

    questions = questions or share_dir() / "demo"
    deployment = describe_eval(EvalOptions(questions=questions, output=output or Path("."), **options))
    _refuse_what_has_no_effect(deployment, options)
    if output is None:
        name = str(deployment.node(SPATIAL_REASONING).parameters.get("answerer", "run"))
        deployment = deployment.with_output(_new_run_folder(name))
    return deployment


def _refuse_what_has_no_effect(deployment: Deployment, options: Mapping[str, Any]) -> None:
    """Options that would be passed over in silence, and so leave their user in a wrong belief.

    Raises:
        ConfigError: It names the option, and the one that it needs.
    """
    from gst_ros.deployment import EVALUATOR, SPATIAL_REASONING
    from gst_ros.errors import ConfigError

    answerer = deployment.node(SPATIAL_REASONING).parameters.get("answerer")
    if options.get("answers") and answerer != "scripted":
        remedy = "add --answerer scripted"
        raise ConfigError(f"the answerer '{answerer}' reads no answers from a file", field="answers", remedy=remedy)
    if options.get("rate") and deployment.node(EVALUATOR).parameters.get("mode", "lockstep") != "realtime":
        remedy = "add --mode realtime"
        raise ConfigError("in lockstep the video plays as fast as it is taken in", field="rate", remedy=remedy)


def evaluate_over_ros(deployment: Deployment) -> int:
    """Start the nodes as processes and wait for the evaluator.

    Raises:
        GstError: There is no ROS, the configuration is wrong, or a node died.
    """
    from gst_ros.errors import ConfigError
    from gst_ros.runner import new_log_folder, run_deployment

    for module in ("rclpy", "gst_interfaces"):
        if importlib.util.find_spec(module) is None:
            raise ConfigError(
                f"ROS 2 is not complete here: no Python module {module}",
                remedy="run scripts/setup.sh, source a ROS installation, or pass --no-ros; gst doctor tells more",
            )
    evaluation_config(deployment)
    assert deployment.output is not None
    return run_deployment(deployment, new_log_folder(deployment.output))


def evaluate_in_process(deployment: Deployment) -> int:
    """Run the same evaluation in this process.

    Raises:
        GstError: The configuration or input is wrong, or questions failed.
    """
    from gst_ros.config import check_names
    from gst_ros.deployment import SPATIAL_REASONING, read_parameter_file
    from gst_ros.environment import share_dir, software_versions
    from gst_ros.errors import ConfigError
    from gst_ros.evaluation.local import LocalSession, reasoning_config
    from gst_ros.evaluation.loop import run_evaluation
    from gst_ros.evaluation.progress import terminal_progress
    from gst_ros.evaluation.stopping import Stopped, StopSignals

    config = evaluation_config(deployment)
    if config.mode == "realtime":
        raise ConfigError("frames are lost in real time over ROS only", field="mode", remedy="leave out --no-ros")
    reasoning, unused = reasoning_config(deployment.node(SPATIAL_REASONING).parameters)
    known = read_parameter_file(share_dir() / "config" / "memory.yaml")[SPATIAL_REASONING].keys()
    every_nodes = [name for name in unused if name == "use_sim_time" or name.startswith("qos_overrides.")]
    check_names(unused, [*known, *every_nodes], "parameters of spatial_reasoning")
    if unused:
        click.echo(f"gst: without ROS these parameters mean nothing: {', '.join(unused)}", err=True)
    try:
        with StopSignals() as stop:
            return run_evaluation(
                config,
                lambda: LocalSession(reasoning),
                stop,
                observers=[terminal_progress()],
                info={"software": software_versions(), "command": sys.argv},
            )
    except Stopped as stopped:
        return stopped.exit_code


def evaluation_config(deployment: Deployment) -> EvaluationConfig:
    """The evaluator's settings; what is wrong with them is said before any node is started.

    Raises:
        ConfigError: A parameter is unknown or out of range.
        QuestionError: The question path does not exist.
    """
    from gst_ros.deployment import EVALUATOR
    from gst_ros.errors import QuestionError
    from gst_ros.evaluation.plan import EvaluationConfig

    parameters = dict(deployment.node(EVALUATOR).parameters)
    parameters.pop("use_sim_time", None)  # every ROS node has it
    config = EvaluationConfig.from_mapping(parameters, f"parameters of {EVALUATOR}")
    if not Path(config.questions).exists():
        raise QuestionError("does not exist", file=config.questions, remedy="give a question file or a folder of them")
    return config


def _new_run_folder(answerer: str) -> Path:
    """A folder that does not exist yet, also when two runs begin in the same second."""
    name = f"{datetime.datetime.now():%Y-%m-%d-%H%M%S}-{answerer}"
    folder = Path("runs") / name
    number = 2
    while folder.exists():
        folder = Path("runs") / f"{name}-{number}"
        number += 1
    return folder
