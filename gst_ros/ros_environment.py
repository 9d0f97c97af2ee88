"""Environment variables with which ROS would not start, found out before it is loaded.

ROS itself says so with a traceback, from inside C code with an exit code of its own, or not at all.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from gst_ros.errors import ConfigError

HIGHEST_DOMAIN_ID = 232
"""Above it the UDP ports of DDS would exceed 65535."""
_LOG_VARIABLES = ("ROS_LOG_DIR", "ROS_HOME")
_PATIENCE_S = 60.0


def check_ros_environment(environment: Mapping[str, str], *, middleware: bool = True) -> None:
    """Refuse what no node could start with.

    Args:
        environment: As the nodes will see it.
        middleware: Also try whether the middleware named in it can be loaded (a second, where one is named).

    Raises:
        ConfigError: It names the variable, its value and the remedy.
    """
    _check_domain(environment.get("ROS_DOMAIN_ID", ""))
    _check_logging(environment)
    if middleware and environment.get("RMW_IMPLEMENTATION"):
        _check_middleware(environment)


def can_log_at_home(environment: Mapping[str, str]) -> bool:
    """Whether ROS finds a place for its logs, or can make one in the home folder."""
    if any(environment.get(name) for name in _LOG_VARIABLES):
        return True
    home = environment.get("HOME", "")
    # The part of ~/.ros/log that exists decides whether the rest can be made.
    place = Path(home) / ".ros" / "log"
    while home and place != Path(home).parent:
        if os.path.lexists(place):
            return place.is_dir() and os.access(place, os.W_OK | os.X_OK)
        place = place.parent
    return False


def _check_domain(text: str) -> None:
    # As long as it is empty ROS takes 0.
    if text and not (re.fullmatch("0*[0-9]{1,3}", text) and int(text) <= HIGHEST_DOMAIN_ID):
        raise ConfigError(
            f"'{text:.40}' is not a ROS domain",
            file="environment",
            field="ROS_DOMAIN_ID",
            remedy=f"a whole number from 0 to {HIGHEST_DOMAIN_ID}, or unset it for 0",
        )


def _check_logging(environment: Mapping[str, str]) -> None:
    if not can_log_at_home(environment):
        home = environment.get("HOME", "")
        raise ConfigError(
            f"'{home:.200}' is no folder that ROS can keep its logs in"
            if home
            else "is not set, so ROS has no place for its logs",
            file="environment",
            field="HOME",
            remedy="set HOME, or set ROS_LOG_DIR to a folder",
        )


def _check_middleware(environment: Mapping[str, str]) -> None:
    """Load the middleware in a process of its own: a wrong one ends the process that loads it."""
    name = environment["RMW_IMPLEMENTATION"]
    program = "import rclpy; rclpy.get_rmw_implementation_identifier()"
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return  # slow, not wrong
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").split()
        raise ConfigError(
            f"ROS cannot load the middleware '{name:.80}'",
            file="environment",
            field="RMW_IMPLEMENTATION",
            remedy=f"install it, or unset the variable; ROS says: {' '.join(words)[-200:]}",
        )
