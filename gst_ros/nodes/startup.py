"""The first moments of a node's process: before ROS is loaded, and until its ``main()`` takes over.

Loading takes seconds. A Ctrl-C in them must end the process without a traceback, and a middleware that is not
there must be named before it ends the process from inside C code.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

from gst_ros.deployment import NODE_NAMES
from gst_ros.errors import ConfigError
from gst_ros.ros_environment import check_ros_environment

_PACKAGE = "gst_ros.nodes"


def node_of_process() -> str | None:
    """Name of the node that this process was started for: a console script, or ``python -m gst_ros.nodes.<node>``."""
    if sys.argv[0] == "-m":  # so while Python imports the packages around the module
        modules = [word.removeprefix(f"{_PACKAGE}.") for word in sys.orig_argv if word.startswith(f"{_PACKAGE}.")]
        name = modules[0] if modules else ""
    else:
        name = Path(sys.argv[0]).name
    return name if name in NODE_NAMES else None


def prepare_process() -> None:
    """Do nothing but in a node's own process; there, be quiet on Ctrl-C and check the environment."""
    name = node_of_process()
    if name is None:
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    if "GST_RUNNER_PID" in os.environ:
        return  # the runner has looked before it started us
    try:
        check_ros_environment({k: v for k, v in os.environ.items() if k != "_ROS_WHEELS_BOOTSTRAP_COMPLETE"})
    except ConfigError as error:
        print(f"{name}: error: {error}", file=sys.stderr, flush=True)
        sys.exit(error.exit_code)


def take_signals() -> None:
    """``main()`` is reached and can deal with signals; one that came meanwhile is delivered now.

    Raises:
        KeyboardInterrupt: There was a Ctrl-C (or whatever the handler in force raises).
    """
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # The runner starts nodes with it blocked: not even the start of Python itself is interrupted.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _leave(signum: int, frame: FrameType | None) -> None:
    # Nothing has begun, so nothing has to be put in order.
    os._exit(128 + signum)
