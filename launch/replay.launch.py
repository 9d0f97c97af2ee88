"""Play a video file or a folder of images as camera topics: the camera player alone.

    ros2 launch gst_ros replay.launch.py path:=VIDEO loop:=true

Ends by itself with the clip, unless it loops.
"""

from pathlib import Path
from typing import Any

from launch import LaunchDescription

from gst_ros.deployment import Deployment, ReplayOptions, describe_replay
from gst_ros.errors import MediaError
from gst_ros.launching import Argument, launch_description, number, paths, switch

ARGUMENTS = (
    Argument("path", "Video file, or folder of images.", Path, required=True),
    Argument("mode", "Real time, or no further ahead than a consumer acknowledges.", choices=("realtime", "lockstep")),
    Argument("rate", "Media seconds per second.", number),
    Argument("loop", "Begin again at the end: true or false.", switch),
    Argument("start_s", "Media time of the first frame, in seconds.", number),
    Argument("end_s", "Media time at which to stop, in seconds.", number),
    Argument("params", "Parameter files in ROS's format, separated by commas, after the package's own.", paths),
)


def describe(values: dict[str, Any]) -> Deployment:
    values["parameter_files"] = values.pop("params", ())
    if not values["path"].exists():
        raise MediaError("does not exist", file=values["path"], remedy="give a video file or a folder of images")
    return describe_replay(ReplayOptions(**values))


def generate_launch_description() -> LaunchDescription:
    return launch_description(ARGUMENTS, describe, __file__)
