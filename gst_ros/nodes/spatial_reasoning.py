"""The node ``spatial_reasoning``: frames in through a topic, answers out through services.

Topics: takes ``camera/image_raw`` (or its ``/compressed``); publishes ``camera/ack``, ``~/status`` and
``/diagnostics``. With an answerer that maps the walk it also takes ``camera/camera_info`` and ``camera/mount``, and
publishes ``map`` and ``path``. Services: ``~/answer_question``, ``~/reset``, ``~/get_status``.

A lifecycle node that configures and activates itself unless ``autostart`` is false. One executor thread does all
the intake, timers and services; answers come from a thread of their own and their service calls wait for them as
coroutines, so that a slow answerer delays nothing.
"""

from __future__ import annotations

import json
import math
import traceback
from dataclasses import dataclass, replace
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]  # where every version has it
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from gst_interfaces.msg import FrameAck, MemoryStatus
from gst_interfaces.srv import AnswerQuestion, GetMemoryStatus, ResetMemory
from gst_ros.config import setting
from gst_ros.errors import GstError, MediaError
from gst_ros.evaluation.session import Reply
from gst_ros.nodes.answer_desk import AnswerDesk
from gst_ros.nodes.camera_facts import CameraFactsIntake
from gst_ros.nodes.image_intake import ImageIntake, IntakeConfig
from gst_ros.nodes.image_messages import compressed_to_rgb, image_to_rgb, stamp_to_ns
from gst_ros.nodes.map_topics import MapTopics
from gst_ros.nodes.memory_messages import diagnostics_message, status_message
from gst_ros.nodes.parameters import declare
from gst_ros.nodes.process import run_node
from gst_ros.reasoning.answerer import Query
from gst_ros.reasoning.engine import MemoryState, ReasoningConfig, SpatialMemory

NODE_NAME = "spatial_reasoning"

_ACK_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_STATUS_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@dataclass(frozen=True)
class SpatialReasoningConfig(ReasoningConfig, IntakeConfig):
    """Parameters of the node: those of memory, answerers and image intake, and its own."""

    autostart: bool = setting(True, "Configure and activate at start; false leaves that to a lifecycle manager.")
    status_period_s: float = setting(1.0, "Time between status messages.", unit="s", low=0.01, high=60.0)
    question_limit: int = setting(16, "Questions that may wait or be under way; more are refused.", low=1)
    backward_jump_s: float = setting(
        1.0, "Warn when a frame is older than the newest by more than this.", unit="s", low=0.0
    )


class SpatialReasoningNode(LifecycleNode):
    """Shell around :class:`gst_ros.reasoning.engine.SpatialMemory`.

    Raises:
        ConfigError: A parameter is unknown or wrong, or the answerer cannot be made.
    """

    # Of the class, because rclpy also destroys a node whose making has failed.
    _desk: AnswerDesk | None = None
    _intake: ImageIntake | None = None
    _camera: CameraFactsIntake | None = None
    _maps: MapTopics | None = None

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **kwargs)
        self.config = declare(self, SpatialReasoningConfig)
        self._memory: SpatialMemory | None = None
        self._entities: list[tuple[Any, Any]] = []
        if self.config.autostart:
            self._start()

    def destroy_node(self) -> None:
        """Stop, then take the node down."""
        # An answering thread that went on would keep the node, and with it 35 MB of shared memory on disk, for good.
        self._stop()
        super().destroy_node()

    # Lifecycle

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make the memory and the answerer, and offer the services."""
        try:
            self._configure()
        except GstError as error:
            self._failure: Exception = error
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        except Exception as error:
            # rclpy would turn this into a bare ERROR and lose what happened.
            self._failure = error
            self.get_logger().error(traceback.format_exc())
            return TransitionCallbackReturn.ERROR
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to take frames in and to answer."""
        assert self._memory is not None
        # Not self: a thread that is still answering when the process ends would keep the whole node.
        logger = self.get_logger()
        self._desk = AnswerDesk(
            self._memory.answer,
            self.config.question_limit,
            log_defect=lambda text: logger.error(text),
            on_unanswered=self._memory.count_unanswered,
        )
        if self._memory.needs_walk:
            self._camera = CameraFactsIntake(self, self._memory.tell_camera)
        self._intake = ImageIntake(self, self.config, self._take_in(), self._memory.count_dropped)
        self._publish_ack()
        self.get_logger().info(
            f"taking frames from {self._intake.topic} ({self._intake.reliability}), answering with "
            f"'{self._memory.answerer_name}'"
        )
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop taking frames in and fail open questions; what is remembered stays."""
        self._stop()
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget everything and withdraw the services."""
        self._tear_down()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """As deactivate and cleanup."""
        self._stop()
        self._tear_down()
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Leave nothing half made, so that configuring can be tried again."""
        self._stop()
        self._tear_down()
        return TransitionCallbackReturn.SUCCESS

    def _start(self) -> None:
        if self.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            raise self._failure
        if self.trigger_activate() != TransitionCallbackReturn.SUCCESS:
            raise RuntimeError(f"{NODE_NAME} could not be activated")

    def _configure(self) -> None:
        self._memory = SpatialMemory(self.config)
        self._ack = FrameAck()
        self._undecodable = 0
        self._ack_publisher = self._own(self.create_publisher(FrameAck, "camera/ack", _ACK_QOS), self.destroy_publisher)
        self._status_publisher = self._own(
            self.create_publisher(MemoryStatus, "~/status", _STATUS_QOS), self.destroy_publisher
        )
        self._diagnostics_publisher = self._own(
            self.create_publisher(DiagnosticArray, "/diagnostics", 10), self.destroy_publisher
        )
        self._maps = MapTopics(self) if self._memory.needs_walk else None
        # A question stays "in execution" until its answer is there, so it must not hold up its group.
        group = ReentrantCallbackGroup()
        for kind, name, callback, group_or_none in (
            (AnswerQuestion, "~/answer_question", self._on_question, group),
            (ResetMemory, "~/reset", self._on_reset, None),
            (GetMemoryStatus, "~/get_status", self._on_get_status, None),
        ):
            self._own(self.create_service(kind, name, callback, callback_group=group_or_none), self.destroy_service)
        # Steady time: status goes on while a simulated clock stands still.
        self._own(
            self.create_timer(
                self.config.status_period_s, self._on_status_timer, clock=Clock(clock_type=ClockType.STEADY_TIME)
            ),
            self.destroy_timer,
        )

    def _own(self, entity: Any, destroy: Any) -> Any:
        self._entities.append((destroy, entity))
        return entity

    def _stop(self) -> None:
        if self._intake is not None:
            self._intake.close()
            self._intake = None
        if self._camera is not None:
            self._camera.close()
            self._camera = None
        if self._desk is not None:
            self._desk.close()
            self._desk = None

    def _tear_down(self) -> None:
        for destroy, entity in self._entities:
            destroy(entity)
        self._entities.clear()
        if self._maps is not None:
            self._maps.close()
            self._maps = None
        self._memory = None

    # Frames

    def _take_in(self) -> Any:
        """The callback for the configured transport; it runs for every frame, so it is kept lean."""
        to_rgb = compressed_to_rgb if self.config.image_transport == "compressed" else image_to_rgb
        memory = self._memory
        assert memory is not None

        def take_in(message: Any) -> None:
            stamp_ns = stamp_to_ns(message.header.stamp)
            try:
                taken = memory.observe_lazily(stamp_ns, lambda: to_rgb(message))
            except MediaError as error:
                self._on_undecodable(error)
                return
            if taken:
                if self._camera is not None:
                    self._camera.frame(stamp_ns)
                self._ack.stamp = message.header.stamp
                self._ack.frames += 1
                if self._intake is not None and self._intake.troubles:
                    self._intake.settle("image", for_good=False)
                    self._intake.settle("jump", for_good=False)
            else:
                self._on_refused(stamp_ns)
            self._publish_ack()

        return take_in

    def _publish_ack(self) -> None:
        self._ack_publisher.publish(self._ack)

    def _on_undecodable(self, error: MediaError) -> None:
        self._undecodable += 1
        if self._intake is not None:
            self._intake.trouble("image", f"{self._intake.topic}: {error}; such frames are not taken in")

    def _on_refused(self, stamp_ns: int) -> None:
        newest_ns = stamp_to_ns(self._ack.stamp)
        back_s = (newest_ns - stamp_ns) / 1e9
        if back_s > self.config.backward_jump_s and self._intake is not None:
            self._intake.trouble(
                "jump",
                f"{self._intake.topic}: time went back by {back_s:.3f} s, to {stamp_ns / 1e9:.3f} s; frames are "
                f"refused until they are newer than {newest_ns / 1e9:.3f} s "
                f"(call {self.get_fully_qualified_name()}/reset when a new clip begins)",
            )

    # Services

    async def _on_question(
        self, request: AnswerQuestion.Request, response: AnswerQuestion.Response
    ) -> AnswerQuestion.Response:
        query = Query(
            uid=request.uid,
            task=request.task,
            texts=tuple(request.texts),
            images=tuple(image.data.tobytes() for image in request.images),
        )
        if self._desk is None:
            reply: Any = Reply(
                "failed", "", None, f"{self.get_fully_qualified_name()} is not active (activate it)", 0.0
            )
        else:
            reply = await self._desk.submit(query, self.executor)
            self._show_map()
        response.status = response.ANSWERED if reply.status == "answered" else response.FAILED
        response.answer = reply.text
        response.confidence = math.nan if reply.confidence is None else float(reply.confidence)
        response.explanation = reply.explanation
        response.evidence = json.dumps(reply.evidence)
        response.seconds = reply.seconds
        return response

    def _on_reset(self, request: ResetMemory.Request, response: ResetMemory.Response) -> ResetMemory.Response:
        assert self._memory is not None
        if self._desk is not None:
            self._desk.cancel_all("the memory was reset before the answer was ready (ask again)")
        stale = 0
        if self._intake is not None:
            # Frames of the playback before must not count for the new one.
            stale = self._intake.drain()
            for kind in ("image", "jump", "lost"):
                self._intake.settle(kind)
        if self._camera is not None:
            self._camera.reset()
        self._memory.reset(request.clip_id)
        self._undecodable = 0
        self._ack = FrameAck(clip_id=request.clip_id)
        self._publish_ack()
        self._publish_status()
        response.success = True
        response.message = f"{stale} frames that had not been handled were thrown away" if stale else ""
        return response

    def _on_get_status(
        self, request: GetMemoryStatus.Request, response: GetMemoryStatus.Response
    ) -> GetMemoryStatus.Response:
        response.status = status_message(self._state(), self.get_clock().now().to_msg())
        return response

    # Status

    def _on_status_timer(self) -> None:
        if self._intake is not None:
            self._intake.look()
        self._publish_status()
        self._show_map()

    def _show_map(self) -> None:
        if self._maps is not None and self._memory is not None:
            self._maps.show(self._memory.newest_walk)

    def _publish_status(self) -> None:
        state, now = self._state(), self.get_clock().now().to_msg()
        self._status_publisher.publish(status_message(state, now))
        intake: dict[str, Any] = {"active": self._intake is not None, "frames undecodable": self._undecodable}
        troubles: list[str] = []
        if self._intake is not None:
            intake.update({"topic": self._intake.topic, "reliability": self._intake.reliability})
            troubles = list(self._intake.troubles.values())
        self._diagnostics_publisher.publish(diagnostics_message(self.get_name(), state, intake, troubles, now))

    def _state(self) -> MemoryState:
        assert self._memory is not None
        state = self._memory.status()
        if self._desk is None:
            return state
        return replace(state, questions_pending=self._desk.pending)


def main(args: list[str] | None = None) -> int:
    """Run the node (console script ``spatial_reasoning``)."""
    return run_node(SpatialReasoningNode, args, name=NODE_NAME)


if __name__ == "__main__":
    raise SystemExit(main())
