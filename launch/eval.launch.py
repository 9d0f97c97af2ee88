"""Evaluate an answerer over ROS: camera player, spatial memory and evaluator.

    ros2 launch gst_ros eval.launch.py questions:=FOLDER answerer:=random output:=RUN

Without questions it takes those of the bundled demo. It ends by itself with the evaluator, and with its exit
code. ``gst eval`` is the same without ``launch``.
"""

from pathlib import Path
from typing import Any

from launch import LaunchDescription

from gst_ros.cli.eval import describe_with_defaults, evaluation_config
from gst_ros.deployment import Deployment
from gst_ros.launching import Argument, launch_description, number, paths, switch, whole_number, words

ARGUMENTS = (
    Argument("questions", "Question file, or folder of them; empty: the bundled demo.", Path),
    Argument("output", "Folder of the run, resumed if it holds one; empty: runs/<date>-<answerer>.", Path),
    Argument("answerer", "Name of the answerer; empty: as in the parameter files."),
    Argument("mode", "How videos are played; empty: as in the parameter files.", choices=("lockstep", "realtime")),
    Argument("params", "Parameter files in ROS's format, separated by commas, after the package's own.", paths),
    Argument("data_root", "Where media are looked for besides the question file's folder.", Path),
    Argument("seed", "Seed of the answerers that draw.", whole_number),
    Argument("answers", "Answer file of the scripted answerer.", Path),
    Argument("rate", "Media seconds per second, in real time.", number),
    Argument("tasks", "Task keys or official names, separated by commas; empty for all.", words),
    Argument("limit", "Ask the first so many questions; empty for all.", whole_number),
    Argument("fresh", "Refuse an output folder that holds a run already: true or false.", switch),
)


def describe(values: dict[str, Any]) -> Deployment:
    values["parameter_files"] = values.pop("params", ())
    deployment = describe_with_defaults(**values)
    evaluation_config(deployment)  # says what is wrong with it before any node is started
    return deployment


def generate_launch_description() -> LaunchDescription:
    return launch_description(ARGUMENTS, describe, __file__)
