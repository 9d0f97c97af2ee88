"""The node ``camera_player``: plays a video file or a folder of images as the topics of a camera.

Topics: publishes ``camera/image_raw``, ``camera/image_raw/compressed``, ``camera/camera_info``, ``camera/mount``,
``~/status`` and, by parameter, ``/clock``; takes ``camera/ack``.
Services: ``~/load``, ``~/play``, ``~/pause``, ``~/stop``, ``~/seek``.

Playing happens in the player's own thread, and opening a file in another, so the executor is always free.
"""

from __future__ import annotations

import math
import threading
import traceback
import uuid
from collections.abc import Callable
from concurrent.futures import Future as Promise
from dataclasses import replace
from typing import Any

import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.duration import Duration
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from std_srvs.srv import Trigger

from gst_interfaces.msg import PlayerStatus as StatusMessage
from gst_interfaces.srv import LoadClip, Seek
from gst_ros.errors import GstError, MediaError
from gst_ros.media.clip import Clip, open_clip
from gst_ros.media.frames import Frame
from gst_ros.media.playback import Peers, PlaybackConfig, StampClock, State
from gst_ros.media.player import Player, PlayerReport
from gst_ros.memory.replays import CameraFacts
from gst_ros.nodes.ack_intake import AckIntake
from gst_ros.nodes.camera_settings import CameraPlayerConfig, check, facts_of
from gst_ros.nodes.camera_topics import CameraTopics
from gst_ros.nodes.image_messages import ns_to_stamp
from gst_ros.nodes.parameters import declare
from gst_ros.nodes.play_bar import PlayBar
from gst_ros.nodes.process import finish, run_node

NODE_NAME = "camera_player"
_LOOK_PERIOD_S = 0.5
_MOST_CLIP_ID = 1000
_STATUS_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class CameraPlayerNode(Node):
    """Shell around :class:`gst_ros.media.player.Player`.

    Raises:
        ConfigError: A parameter is unknown or wrong.
        MediaError: The clip of parameter ``path`` cannot be played.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **kwargs)
        self._player: Player | None = None
        self.config = declare(
            self, CameraPlayerConfig, changeable=("rate", "loop", "jpeg_quality"), on_change=self._on_change
        )
        check(self.config)
        self._status_publisher = self.create_publisher(StatusMessage, "~/status", _STATUS_QOS)
        self._topics = CameraTopics(self, self.config)
        self._topics.offer(lockstep=self.config.mode == "lockstep", window=self.config.window)
        self._acks = AckIntake(self)
        self._report = PlayerReport()
        self._bar = PlayBar() if self.config.progress else None
        self._noticed = self._warned = ""
        self.create_timer(_LOOK_PERIOD_S, self._look)
        origin = self.config.stamp_origin
        if origin == "auto":
            origin = "continuous" if self.config.publish_clock else "media"
        # Opened before the thread starts, so that an error here leaves nothing running.
        end_s = self.config.end_s or None
        clip = self._open(self.config.path, self.config.start_s, end_s) if self.config.path else None
        self._player = Player(
            self, StampClock(origin, lambda: self._now_ns()), report_period_s=self.config.status_period_s
        )
        if clip is not None:
            self._install(clip, self.config, clip[0].path.name, self.config.autoplay).result()
        self._offer_services()

    def destroy_node(self) -> None:
        """Stop playing, then take the node down."""
        if self._player is not None:
            self._player.close()
        super().destroy_node()

    # Outputs of the player, called from its thread

    def send(self, frame: Frame, stamp_ns: int) -> None:
        """Publish one frame."""
        self._topics.send(frame, stamp_ns)

    def peers(self) -> Peers:
        """Who listens to the images, and who acknowledges."""
        return Peers(
            subscribers=self._topics.subscribers(),
            acknowledgers=self._acks.acknowledgers(),
            image_topic=self._topics.image_topic,
            ack_topic=self._acks.topic,
        )

    def acknowledgements(self) -> list[tuple[str, int]]:
        """What consumers have acknowledged since the last call."""
        return self._acks.take()

    def report(self, report: PlayerReport) -> None:
        """Publish the status; log the ends; end the node where that is asked for."""
        self._status_publisher.publish(_status_message(report, self._now_ns()))
        before, self._report = self._report, report
        if self._bar is not None:
            self._bar.update(report)
        if report.state == before.state:
            return
        if report.state == State.FAILED:
            self.get_logger().error(f"{report.path}: {report.message.removeprefix(f'{report.path}: ')}")
        elif report.state == State.FINISHED:
            self.get_logger().info(
                f"{report.path}: finished, {report.frames_sent} frames sent, {report.frames_dropped} dropped, "
                f"{report.frames_damaged} damaged"
            )
        if self.config.exit_when_finished and report.state in (State.FINISHED, State.FAILED):
            self._topics.flush()
            self._status_publisher.wait_for_all_acked(Duration(seconds=1))
            finish(self, 0 if report.state == State.FINISHED else 3)

    def crashed(self, error: BaseException) -> None:
        """A defect, unless the middleware went down under a frame that was just being sent."""
        if rclpy.ok(context=self.context):
            self.get_logger().fatal("".join(traceback.format_exception(error)))
            finish(self, 1)

    # Services

    def _offer_services(self) -> None:
        # Reentrant: while one call waits (for a slow disk, say), the others are served.
        group = ReentrantCallbackGroup()
        player = self._player
        assert player is not None
        self.create_service(LoadClip, "~/load", self._on_load, callback_group=group)
        self.create_service(Trigger, "~/play", self._trigger(player.play), callback_group=group)
        self.create_service(Trigger, "~/pause", self._trigger(player.pause), callback_group=group)
        self.create_service(Trigger, "~/stop", self._trigger(player.stop), callback_group=group)
        self.create_service(Seek, "~/seek", self._on_seek, callback_group=group)

    async def _on_load(self, request: LoadClip.Request, response: LoadClip.Response) -> LoadClip.Response:
        try:
            config = _requested(self.config, request)
            opened = await self._bridge(
                _in_thread(lambda: self._open(request.path, request.start_s, request.end_s or None))
            )
            assert self._player is not None
            await self._bridge(self._player.unload())
            response.clip_id = request.clip_id or f"{opened[0].path.name}#{uuid.uuid4().hex[:8]}"
            await self._bridge(self._install(opened, config, response.clip_id, request.autoplay))
        except Exception as error:
            response.success, response.message = False, self._reason(error, "load")
            return response
        clip = opened[0]
        response.success = True
        response.width, response.height = clip.width, clip.height
        response.duration_s = math.nan if clip.duration_s is None else clip.duration_s
        response.nominal_fps = math.nan if clip.nominal_fps is None else clip.nominal_fps
        response.frames_claimed = clip.frames_claimed or 0
        return response

    async def _on_seek(self, request: Seek.Request, response: Seek.Response) -> Seek.Response:
        assert self._player is not None
        try:
            response.position_s = await self._bridge(self._player.seek(request.position_s))
            response.success = True
        except Exception as error:
            response.success, response.message, response.position_s = False, self._reason(error, "seek"), math.nan
        return response

    def _trigger(self, command: Callable[[], Promise[None]]) -> Any:
        async def serve(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            try:
                await self._bridge(command())
                response.success = True
            except Exception as error:
                response.success, response.message = False, self._reason(error, command.__name__)
            return response

        return serve

    def _reason(self, error: Exception, service: str) -> str:
        """What a caller is told. A defect goes to the log in full, and the node serves the next call."""
        if isinstance(error, GstError):
            return str(error)
        self.get_logger().error(f"~/{service}: {''.join(traceback.format_exception(error))}")
        return f"{type(error).__name__}: {error}; a defect of this node, its log tells more"

    def _bridge(self, promise: Promise[Any]) -> Any:
        """A future of the player's as one that a service coroutine can wait for."""
        executor: Any = self.executor
        future: Any = Future(executor=executor)

        def resolve(done: Promise[Any]) -> None:
            error = done.exception()
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(done.result())
            try:
                # Setting a result does not wake every version's executor, and it may be asleep.
                executor.wake()
            except InvalidHandle:
                return  # the executor is gone, and with it everybody who waited

        promise.add_done_callback(resolve)
        return future

    # Clips

    def _open(self, path: str, start_s: float, end_s: float | None) -> tuple[Clip, CameraFacts]:
        clip = open_clip(path, start_s, end_s, folder_fps=self.config.folder_fps)
        try:
            return clip, facts_of(self.config, clip)
        except BaseException:
            clip.close()
            raise

    def _install(
        self, opened: tuple[Clip, CameraFacts], config: PlaybackConfig, clip_id: str, autoplay: bool
    ) -> Promise[None]:
        clip, facts = opened
        assert self._player is not None
        self._topics.offer(lockstep=config.mode == "lockstep", window=config.window)
        self._topics.describe(facts, clip.width, clip.height)
        self.get_logger().info(
            f"{clip.path}: {clip.width} x {clip.height}, {config.mode}"
            + (", uncalibrated" if facts.calibration is None else f", fx {facts.calibration.fx:.1f}")
        )
        return self._player.load(clip, clip_id, config, autoplay=autoplay)

    def _look(self) -> None:
        self._acks.look()
        if self._report.state == State.PLAYING:
            self._warn_if_it_lasts(self._report.message)

    def _warn_if_it_lasts(self, message: str) -> None:
        # Discovery takes a moment: only what is still so at the second look deserves a warning.
        if message and message == self._noticed and message != self._warned:
            self.get_logger().warning(f"{message} (check topic names, namespaces and ROS_DOMAIN_ID)")
            self._warned = message
        self._noticed = message

    def _on_change(self, config: CameraPlayerConfig) -> None:
        self.config = config
        self._topics.config = config
        if self._player is not None:
            self._player.set_rate(config.rate, config.loop)

    def _now_ns(self) -> int:
        return self.get_clock().now().nanoseconds


def _in_thread(work: Callable[[], Any]) -> Promise[Any]:
    promise: Promise[Any] = Promise()

    def run() -> None:
        try:
            promise.set_result(work())
        except BaseException as error:  # belongs to whoever waits for the promise
            promise.set_exception(error)

    # A daemon: the process must be able to end while a file system hangs.
    threading.Thread(target=run, name="open-clip", daemon=True).start()
    return promise


def _requested(config: CameraPlayerConfig, request: LoadClip.Request) -> CameraPlayerConfig:
    """The node's settings with what a request asks for.

    Raises:
        ConfigError: Mode or rate is wrong.
        MediaError: No path is given, or a clip_id that is too long.
    """
    if not request.path:
        raise MediaError("no path is given", remedy="name a video file or a folder of images")
    if len(request.clip_id) > _MOST_CLIP_ID:
        # It is repeated in every status message.
        raise MediaError(f"has {len(request.clip_id)} letters", field="clip_id", remedy=f"at most {_MOST_CLIP_ID}")
    return replace(config, mode=request.mode or config.mode, rate=request.rate or config.rate, loop=request.loop)


def _status_message(report: PlayerReport, now_ns: int) -> StatusMessage:
    message = StatusMessage(
        state=int(report.state),
        message=report.message,
        clip_id=report.clip_id,
        path=report.path,
        mode=report.mode,
        position_s=report.position_s,
        duration_s=math.nan if report.duration_s is None else report.duration_s,
        rate=report.rate,
        frames_sent=report.frames_sent,
        frames_dropped=report.frames_dropped,
        frames_damaged=report.frames_damaged,
        frames_unacknowledged=report.frames_unacknowledged,
        loops=report.loops,
        stamps_sha256=report.stamps_sha256,
    )
    message.header.stamp = ns_to_stamp(now_ns)
    if report.first_stamp_ns is not None and report.last_stamp_ns is not None:
        message.first_stamp = ns_to_stamp(report.first_stamp_ns)
        message.last_stamp = ns_to_stamp(report.last_stamp_ns)
    return message


def main(args: list[str] | None = None) -> int:
    """Run the node (console script ``camera_player``)."""
    return run_node(CameraPlayerNode, args, name=NODE_NAME)


if __name__ == "__main__":
    raise SystemExit(main())
