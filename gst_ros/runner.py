"""Runs a deployment as processes, for machines without ``ros2 launch``.

The same nodes with the same parameters as the launch files start. The runner names the node that dies,
stops the others, and leaves no process behind: nodes end by themselves when it is killed.
"""

from __future__ import annotations

import collections
import contextlib
import datetime
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

import yaml

from gst_ros.deployment import Deployment, NodeSpec, environment_for_nodes
from gst_ros.errors import ConfigError, SessionError
from gst_ros.ros_environment import can_log_at_home, check_ros_environment

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TAIL_LINES = 12
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_WORTH_SHOWING = re.compile(r"\[(WARN|ERROR|FATAL)\]|: error: |^Traceback ")


def run_deployment(deployment: Deployment, logs: Path, *, grace_s: float = 10.0) -> int:
    """Start all nodes, wait for the ending one, stop the others. Call it from the main thread.

    Args:
        deployment: What to run.
        logs: Folder for parameter files and logs; made if need be.
        grace_s: How long a node may take to end after SIGINT, and again after SIGTERM, before SIGKILL.

    Returns:
        The ending node's exit code; 128 + signal when we were told to stop before it ended.

    Raises:
        ConfigError: The log folder cannot be made, the environment is of no use to ROS, or a node does not accept
            its configuration.
        SessionError: A node died. Its name, exit code and last lines are in the error or were shown.
    """
    environment = environment_for_nodes(os.environ, os.getpid(), this_machine_only=deployment.this_machine_only)
    if not can_log_at_home(environment):
        environment["ROS_LOG_DIR"] = str(logs.absolute() / "ros")
    check_ros_environment(environment)
    try:
        logs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot be made: {error.strerror}", file=logs) from error
    events: SimpleQueue[_Process | int] = SimpleQueue()
    processes: list[_Process] = []
    with _signals_into(events):
        try:
            for spec in deployment.nodes:
                processes.append(_Process(spec, logs, environment, events, piped=spec.name != deployment.ending))
            return _wait(deployment, processes, events, grace_s)
        finally:
            _stop(processes, grace_s)


def new_log_folder(output: Path) -> Path:
    """Where one start of a run keeps its logs; a resumed run gets another one, so that nothing is overwritten."""
    base = output / "logs" / f"{datetime.datetime.now():%Y-%m-%d-%H%M%S}"
    folder, number = base, 2
    while folder.exists():
        folder = base.with_name(f"{base.name}-{number}")
        number += 1
    return folder


def node_command(spec: NodeSpec, parameter_file: Path) -> list[str]:
    """The command line that starts one node with this Python."""
    command = [sys.executable, "-m", f"gst_ros.nodes.{spec.executable}", "--ros-args"]
    command += ["-r", f"__node:={spec.name}"]
    if spec.namespace:
        command += ["-r", f"__ns:={spec.namespace}"]
    for old, new in spec.remappings:
        command += ["-r", f"{old}:={new}"]
    return [*command, "--params-file", str(parameter_file)]


def parameter_file_text(parameters: Mapping[str, Any]) -> str:
    """A ROS parameter file with these values, for a node of any name."""
    return yaml.dump({"/**": {"ros__parameters": dict(parameters)}}, Dumper=_RosDumper, sort_keys=True)


class _RosDumper(yaml.SafeDumper):
    """Quotes every text: ROS reads an unquoted 1e5, on or y as something else than text."""


_RosDumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


class _Process:
    """One node's process, with a thread that waits for its end and one that reads what it writes."""

    def __init__(
        self,
        spec: NodeSpec,
        logs: Path,
        environment: Mapping[str, str],
        events: SimpleQueue[_Process | int],
        *,
        piped: bool,
    ) -> None:
        self.name = spec.name
        self.log = logs / f"{spec.name}.log"
        self._stopping = False
        self.tail: collections.deque[str] = collections.deque(maxlen=_TAIL_LINES)  # but for what was shown already
        parameter_file = logs / f"{spec.name}.yaml"
        parameter_file.write_text(parameter_file_text(spec.parameters), encoding="utf-8")
        with _interrupts_blocked():
            self.popen = subprocess.Popen(
                node_command(spec, parameter_file),
                env={**environment, **({"RCUTILS_COLORIZED_OUTPUT": "0"} if piped else {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else None,
                stderr=subprocess.STDOUT if piped else None,
                # Ctrl-C in a terminal goes to a whole process group; the nodes are to be stopped in order, by us.
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, name=f"{spec.name}-output", daemon=True) if piped else None
        if self._reader:
            self._reader.start()
        threading.Thread(target=self._await_end, args=(events,), name=f"{spec.name}-end", daemon=True).start()

    def _await_end(self, events: SimpleQueue[_Process | int]) -> None:
        self.popen.wait()
        events.put(self)

    def _read(self) -> None:
        assert self.popen.stdout is not None
        with self.popen.stdout as stream, self.log.open("ab", buffering=0) as log:
            for raw in stream:
                log.write(raw)
                line = _ANSI.sub("", raw.decode("utf-8", "replace")).rstrip()
                if not self._stopping and _WORTH_SHOWING.search(line):
                    _show(f"[{self.name}] {line}")
                else:
                    self.tail.append(line)

    def finish_reading(self) -> None:
        """Wait for the last lines of a process that has ended."""
        if self._reader:
            # A grandchild may hold the pipe open for longer; its words are not worth waiting for.
            self._reader.join(timeout=1.0)

    def running(self) -> bool:
        return self.popen.poll() is None

    def stop(self, signum: int) -> None:
        """Ask it to end; what it still says is for its log alone."""
        self._stopping = True
        with contextlib.suppress(ProcessLookupError):
            self.popen.send_signal(signum)

    def wait(self, seconds: float) -> bool:
        """Wait for the end; False when it did not come in time."""
        try:
            self.popen.wait(timeout=max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill_group(self) -> None:
        """End it and whatever it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()

    def how_it_ended(self) -> str:
        code = self.popen.returncode
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"


def _wait(
    deployment: Deployment, processes: list[_Process], events: SimpleQueue[_Process | int], grace_s: float
) -> int:
    ending = next(process for process in processes if process.name == deployment.ending)
    event = events.get()
    if isinstance(event, int):
        # The ending node knows best how to stop: it finishes what it is at while the others still answer.
        ending.stop(signal.SIGINT)
        ending.wait(grace_s)
        return 128 + event
    if event is ending and ending.popen.returncode >= 0:
        return ending.popen.returncode
    event.finish_reading()
    lines = [f"[{event.name}] {line}" for line in event.tail]
    if lines:
        _show("\n".join([f"last lines of {event.log}:", *lines]))
    if event is not ending:
        ending.stop(signal.SIGINT)
        ending.wait(grace_s)
    if event.popen.returncode == ConfigError.exit_code:
        raise ConfigError(f"node {event.name} does not accept its configuration", remedy="see its lines above")
    raise SessionError(
        f"node {event.name} {event.how_it_ended()}",
        remedy="what was answered is kept; the same command goes on from there" if deployment.output else None,
    )


def _stop(processes: list[_Process], grace_s: float) -> None:
    """End every process: asked first, told then, killed last; the ones started last go first."""
    for signum in (signal.SIGINT, signal.SIGTERM):
        remaining = [process for process in reversed(processes) if process.running()]
        for process in remaining:
            process.stop(signum)
        deadline = time.monotonic() + grace_s
        for process in remaining:
            process.wait(deadline - time.monotonic())
    for process in processes:
        if process.running():
            _show(f"gst: node {process.name} does not end; killing it")
        process.kill_group()
        process.finish_reading()


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Processes that start meanwhile take SIGINT when they are ready for it; see ``gst_ros.nodes.startup``."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _signals_into(events: SimpleQueue[_Process | int]) -> Iterator[None]:
    """Put stop signals into the queue instead of raising them anywhere."""

    def handle(signum: int, frame: FrameType | None) -> None:
        events.put(signum)  # SimpleQueue.put is reentrant, so safe in a handler

    # nohup's wish is respected. Scripts start background jobs with SIGINT ignored, and yet `kill -INT` of such a job
    # is meant: ROS's own tools obey it, too.
    wanted = [s for s in _STOP_SIGNALS if s != signal.SIGHUP or signal.getsignal(s) is not signal.SIG_IGN]
    before = {s: signal.signal(s, handle) for s in wanted}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
        with contextlib.suppress(Empty):
            while True:
                events.get_nowait()


def _show(text: str) -> None:
    # Start on a line of its own: the evaluator may be in the middle of a progress bar.
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(f"{clear}{text}", file=sys.stderr, flush=True)
