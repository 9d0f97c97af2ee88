"""The shared ``main()`` of every node process: start, spin, end with the right exit code.

A node module ends with:

    def main(args: list[str] | None = None) -> int:
        return run_node(CameraPlayer, args)
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import rclpy
from rclpy.exceptions import (
    InvalidNamespaceException,
    InvalidNodeNameException,
    InvalidParameterException,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    InvalidServiceNameException,
    InvalidTopicNameException,
    NotInitializedException,
)
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor

from gst_ros.errors import ConfigError, GstError
from gst_ros.nodes.startup import take_signals
from gst_ros.ros_environment import check_ros_environment

RUNNER_PID_VARIABLE = "GST_RUNNER_PID"
"""Environment variable in which a runner names its process; nodes end when that process dies."""

_BAD_NAMES = (
    InvalidNamespaceException,
    InvalidNodeNameException,
    InvalidServiceNameException,
    InvalidTopicNameException,
)
_BAD_PARAMETERS = (InvalidParameterException, InvalidParameterTypeException, InvalidParameterValueException)
_WATCH_PERIOD_S = 0.5
_GRACE_S = 5.0
_PR_SET_PDEATHSIG = 1


def run_node(
    make_node: Callable[[], Any],
    args: list[str] | None = None,
    *,
    name: str | None = None,
    executor: Literal["single", "multi"] = "single",
    threads: int | None = None,
    interrupted_code: int = 0,
) -> int:
    """Run one node until it is done, interrupted or its context is shut down.

    A node ends its own process through :func:`finish`. Expected errors (:class:`GstError`, from the node's
    constructor or any callback) are shown as one line on stderr, ``<name>: error: ...``; anything else is
    a defect of ours and keeps its traceback.

    Args:
        make_node: Makes the node after ``rclpy.init``; usually the node's class.
        args: Command line, by default that of the process (``--ros-args`` and so on).
        name: Who speaks in error lines; by default the console script's name.
        executor: ``single`` is the faster one; ``multi`` runs callback groups in threads.
        threads: Number of threads of ``multi``.
        interrupted_code: Exit code after Ctrl-C or SIGTERM. 0 is what ``ros2 launch`` expects of a node
            that it stops; a node with unfinished work passes another.

    Returns:
        The exit code for the process.
    """
    name = name or Path(sys.argv[0]).stem
    node = None
    spinner = None
    try:
        take_signals()
        end_with_runner()
        init_ros(args)
        # First of all: an executor whose making is cut short by a signal complains on stderr.
        spinner = SingleThreadedExecutor() if executor == "single" else MultiThreadedExecutor(num_threads=threads)
        node = make(make_node)
        spinner.add_node(node)
        while rclpy.ok() and getattr(node, "exit_code", None) is None:
            spinner.spin_once()
        code = getattr(node, "exit_code", None)
        return interrupted_code if code is None else int(code)
    except GstError as error:
        print(f"{name}: error: {error}", file=sys.stderr, flush=True)
        return error.exit_code
    except (KeyboardInterrupt, ExternalShutdownException):
        return interrupted_code
    except (RuntimeError, NotInitializedException):
        # SIGTERM invalidates the context under a callback (or constructor) that is just using it.
        if rclpy.ok():
            raise
        return interrupted_code
    finally:
        _clean_up(node, spinner)


def finish(node: Any, exit_code: int) -> None:
    """End the process of ``node`` with ``exit_code``, from any thread; the first call wins."""
    if getattr(node, "exit_code", None) is None:
        node.exit_code = exit_code
    spinner = node.executor
    if spinner is not None:
        # Only a task makes spin_once() return; waking the executor merely rebuilds its wait set.
        spinner.create_task(lambda: None)


def end_with_runner() -> None:
    """See to it that this process ends when the runner named in ``GST_RUNNER_PID`` dies, even by kill -9.

    Linux is asked to send SIGTERM at once (runners must therefore start nodes from a thread that lives as
    long as they do: Linux watches the thread). A watching thread covers what that cannot: a shell in
    between, other systems, and a node that hangs on its way out.

    Raises:
        ConfigError: The variable does not hold a process id.
    """
    text = os.environ.get(RUNNER_PID_VARIABLE)
    if not text:
        return
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(
            f"'{text}' is not a process id", file="environment", field=RUNNER_PID_VARIABLE, remedy="unset it"
        )
    runner = int(text)
    if sys.platform == "linux" and os.getppid() == runner:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    threading.Thread(target=_watch, args=(runner, _start_time(runner)), name="runner-watch", daemon=True).start()


def _watch(runner: int, started: str | None) -> None:
    while _alive(runner, started):
        time.sleep(_WATCH_PERIOD_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os._exit(3)


def _alive(pid: int, started: str | None) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # The number may have been given to another process since, or belong to a zombie.
    now = _start_time(pid)
    return now == started and (now is not None or sys.platform != "linux")


def _start_time(pid: int) -> str | None:
    """When a process was started, in clock ticks since boot; None if it is gone, a zombie, or not on Linux."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the command's name before it may hold spaces and brackets
    return None if fields[0] in "ZX" else fields[19]


def init_ros(args: list[str] | None, **options: Any) -> None:
    """``rclpy.init`` with errors for people.

    Args:
        args: As for :func:`run_node`.
        options: More arguments of ``rclpy.init``.

    Raises:
        ConfigError: ROS arguments, a parameter file or the environment are not usable.
    """
    check_ros_environment(os.environ, middleware=False)
    try:
        rclpy.init(args=args, **options)
    except (RuntimeError, ValueError) as error:
        # rclpy has no public class for this: the ROS arguments, or a parameter file named in them, are malformed.
        raise ConfigError(
            _first_sentence(error),
            file="ROS arguments",
            remedy="check --ros-args and the parameter files it names; a list holds values of one type",
        ) from error


def make(make_node: Callable[[], Any]) -> Any:
    """Make a node; what ROS itself refuses of its names and parameters is an error for people.

    Raises:
        ConfigError: A name or parameter that ROS does not accept.
    """
    try:
        return make_node()
    except _BAD_PARAMETERS as error:
        raise ConfigError(_first_sentence(error), file="ROS parameters", remedy="check -p and --params-file") from error
    except _BAD_NAMES as error:
        raise ConfigError(" ".join(str(error).replace("^", "").split()), file="ROS names") from error


def _first_sentence(error: BaseException) -> str:
    return " ".join(str(error).split()).split(", at ")[0]


def _clean_up(node: Any, spinner: Any) -> None:
    try:
        if spinner is not None:
            spinner.shutdown(timeout_sec=1.0)
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    except KeyboardInterrupt:
        # A second Ctrl-C while we are leaving already.
        rclpy.try_shutdown()
