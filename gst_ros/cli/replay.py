"""``gst replay``: a video or a folder of images as a ROS camera."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

import click


@click.command("replay", short_help="Play a video as ROS camera topics.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--mode", type=click.Choice(["lockstep", "realtime"]), help="Default: realtime, as a camera would.")
@click.option("--rate", type=float, help="Media seconds per second.")
@click.option("--loop", is_flag=True, help="Begin again at the end.")
@click.option("--start", "start_s", type=float, help="Media time of the first frame, in seconds.")
@click.option("--end", "end_s", type=float, help="Media time at which to stop, in seconds.")
@click.option("--params", type=click.Path(path_type=Path), multiple=True, help="ROS parameter file; may be repeated.")
@click.option("--set", "settings", multiple=True, metavar="NODE.NAME=VALUE", help="One parameter; may be repeated.")
def command(
    path: Path,
    mode: str | None,
    rate: float | None,
    loop: bool,
    start_s: float | None,
    end_s: float | None,
    params: tuple[Path, ...],
    settings: tuple[str, ...],
) -> int:
    """Play PATH, a video file or a folder of images, on camera/image_raw and its companions."""
    from gst_ros.deployment import ReplayOptions, describe_replay, parse_override
    from gst_ros.errors import ConfigError, MediaError
    from gst_ros.runner import run_deployment

    if importlib.util.find_spec("rclpy") is None:
        raise ConfigError("ROS 2 is not here: no Python module rclpy", remedy="run scripts/setup.sh or source ROS")
    if not os.path.exists(path):  # also of a name that is too long to be one
        raise MediaError("does not exist", file=path, remedy="give a video file or a folder of images")
    options = ReplayOptions(
        path=path,
        mode=mode,
        rate=rate,
        loop=loop,
        start_s=start_s,
        end_s=end_s,
        parameter_files=params,
        overrides=dict(parse_override(text) for text in settings),
    )
    with tempfile.TemporaryDirectory(prefix="gst-replay-") as folder:
        return run_deployment(describe_replay(options), Path(folder))
