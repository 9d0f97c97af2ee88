"""The node ``evaluator``: drives player and memory through a question set and ends the whole system.

Its process ends with the run's exit code; launch files and the runner stop the other nodes when it does.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

from gst_interfaces.msg import EvaluationProgress, TaskScore
from gst_ros.deployment import EVALUATOR
from gst_ros.environment import software_versions
from gst_ros.errors import GstError
from gst_ros.evaluation.loop import run_evaluation
from gst_ros.evaluation.plan import EvaluationConfig
from gst_ros.evaluation.progress import Progress, terminal_progress
from gst_ros.evaluation.stopping import Stopped, StopSignals
from gst_ros.nodes.parameters import declare
from gst_ros.nodes.process import end_with_runner, init_ros, make
from gst_ros.nodes.ros_session import RosSession
from gst_ros.nodes.startup import take_signals

_PLAYING_PERIOD_S = 1.0


class ProgressPublisher:
    """Publishes the progress on ``~/progress``; late subscribers get the newest."""

    def __init__(self, node: Node) -> None:
        qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._node = node
        self._publisher = node.create_publisher(EvaluationProgress, "~/progress", qos)
        self._next_s = 0.0

    def update(self, progress: Progress) -> None:
        """Publish."""
        self._publisher.publish(self._message(progress))

    def playing(self, progress: Progress, position_s: float, duration_s: float | None) -> None:
        """Publish as a sign of life, once a second."""
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _PLAYING_PERIOD_S
            self.update(progress)

    def close(self) -> None:
        """The last message stays for late subscribers until the node ends."""

    def _message(self, progress: Progress) -> EvaluationProgress:
        message = EvaluationProgress(
            videos_done=progress.videos_done,
            videos_total=progress.videos_total,
            questions_done=progress.questions_done,
            questions_total=progress.questions_total,
            skipped=progress.skipped,
            unparsed=progress.unparsed,
            failed=progress.failed,
            average=math.nan,
            current_video=progress.current_video,
            current_uid=progress.current_uid,
        )
        message.header.stamp = self._node.get_clock().now().to_msg()
        if progress.score is not None:
            message.average = _or_nan(progress.score.average)
            message.tasks = [
                TaskScore(
                    task=task.task,
                    score=_or_nan(task.score),
                    standard_error=_or_nan(task.standard_error),
                    answered=task.answered,
                    unparsed=task.unparsed,
                    failed=task.failed,
                    skipped=task.skipped,
                )
                for task in progress.score.tasks.values()
            ]
        return message


def evaluate_over_ros(args: list[str] | None, stop: StopSignals) -> int:
    """Make the node, run the evaluation in this thread while another one spins, and return the exit code."""
    # Signals are ours: they must stop the loop between two records, not pull ROS away under it.
    init_ros(args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = make(lambda: Node(EVALUATOR))
    except BaseException:
        rclpy.try_shutdown()
        raise
    try:
        config = make(lambda: declare(node, EvaluationConfig))

        def open_session() -> RosSession:
            session = RosSession(node, config)
            try:
                session.connect()
            except BaseException:
                session.close()
                raise
            return session

        return run_evaluation(
            config,
            open_session,
            stop,
            observers=[terminal_progress(), ProgressPublisher(node)],
            info={"software": software_versions()},
        )
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def main(args: list[str] | None = None) -> int:
    """Entry point; returns 0, 2 for bad input, 3 for failed machinery or questions, 128 + signal when stopped."""
    try:
        with StopSignals() as stop:
            take_signals()
            end_with_runner()
            return evaluate_over_ros(args, stop)
    except GstError as error:
        print(f"{EVALUATOR}: error: {error}", file=sys.stderr, flush=True)
        return error.exit_code
    except Stopped as stopped:
        return stopped.exit_code


def _or_nan(value: Any) -> float:
    return math.nan if value is None else float(value)


if __name__ == "__main__":
    sys.exit(main())
