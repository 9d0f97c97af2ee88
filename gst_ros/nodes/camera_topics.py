"""The publishers of a camera: raw images, JPEG, camera_info, mount and clock, each made only for those who listen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.duration import Duration
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
    qos_policy_name_from_kind,
)
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from gst_ros.config import Settings, setting
from gst_ros.media.frames import Frame
from gst_ros.memory.replays import CameraFacts
from gst_ros.nodes.camera_facts import INFO_TOPIC, MOUNT_TOPIC, mount_message
from gst_ros.nodes.image_messages import ImageWriter, camera_info, ns_to_stamp, rgb_to_compressed

try:
    from rclpy.event_handler import PublisherEventCallbacks, UnsupportedEventTypeError
except ImportError:  # Humble
    from rclpy.qos_event import PublisherEventCallbacks, UnsupportedEventTypeError


@dataclass(frozen=True)
class TopicsConfig(Settings):
    """Settings of the camera's topics."""

    frame_id: str = setting("camera_optical_frame", "Frame of the images (z forward, x right, y down).")
    qos_reliability: str = setting(
        "auto",
        "auto: reliable in lockstep, best effort (as cameras do) in real time.",
        choices=("auto", "reliable", "best_effort"),
    )
    qos_durability: str = setting(
        "volatile", "transient_local: late subscribers get the last frames.", choices=("volatile", "transient_local")
    )
    qos_depth: int = setting(10, "Frames kept per subscriber; lockstep keeps its window at least.", low=1, high=1000)
    jpeg_quality: int = setting(90, "Quality of camera/image_raw/compressed.", low=1, high=100)
    publish_clock: bool = setting(
        False, "Publish /clock with every frame, for nodes with use_sim_time; it never goes back."
    )


class CameraTopics:
    """Publishes ``camera/image_raw``, its ``/compressed``, ``camera/camera_info``, ``camera/mount`` and ``/clock``.

    A message is only made when somebody subscribes to it (or may do so later, with transient-local durability).

    Args:
        node: The node to publish with.
        config: Names and QoS.
    """

    def __init__(self, node: Any, config: TopicsConfig) -> None:
        self._node = node
        self.config = config
        self.image_topic: str = node.resolve_topic_name("camera/image_raw")
        self._writer = ImageWriter(config.frame_id)
        self._info = CameraInfo()
        self._mount = mount_message(CameraFacts())
        self._qos: QoSProfile | None = None
        self._publishers: list[Any] = []
        self._warned: set[str] = set()
        self._clock = node.create_publisher(Clock, "/clock", 10) if config.publish_clock else None

    def offer(self, *, lockstep: bool, window: int) -> None:
        """Make the publishers with the QoS of a mode; those that have it already stay.

        Args:
            lockstep: Whether every frame has to arrive.
            window: Most frames in flight in lockstep.
        """
        reliable = lockstep if self.config.qos_reliability == "auto" else self.config.qos_reliability == "reliable"
        latched = self.config.qos_durability == "transient_local"
        qos = QoSProfile(
            history=HistoryPolicy.KEEP_LAST,
            depth=max(self.config.qos_depth, window + 2) if lockstep else self.config.qos_depth,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )
        if qos == self._qos:
            return
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)
        self._qos, self._latched = qos, latched
        # As in image_transport, the suffix belongs to the remapped name of the base topic.
        self._image = self._publisher(Image, "camera/image_raw")
        self._jpeg = self._publisher(CompressedImage, f"{self.image_topic}/compressed")
        self._camera_info = self._publisher(CameraInfo, INFO_TOPIC)
        self._camera_mount = self._publisher(PoseWithCovarianceStamped, MOUNT_TOPIC)
        self._publishers = [self._image, self._jpeg, self._camera_info, self._camera_mount]

    def describe(self, facts: CameraFacts, width: int, height: int) -> None:
        """Set what camera_info and mount say from now on."""
        self._info = camera_info(facts.calibration, width, height, self.config.frame_id)
        self._mount = mount_message(facts)

    def subscribers(self) -> int:
        """How many subscriptions match with the raw or the compressed images."""
        return self._image.get_subscription_count() + self._jpeg.get_subscription_count()

    def send(self, frame: Frame, stamp_ns: int) -> None:
        """Publish one frame on all topics that somebody wants."""
        if self._clock is not None:
            self._clock.publish(Clock(clock=ns_to_stamp(stamp_ns)))
        if self._wanted(self._camera_info):
            self._info.header.stamp = ns_to_stamp(stamp_ns)
            self._camera_info.publish(self._info)
        if self._wanted(self._camera_mount):
            self._mount.header.stamp = ns_to_stamp(stamp_ns)
            self._camera_mount.publish(self._mount)
        if self._wanted(self._image):
            self._image.publish(self._writer.fill(frame.image_rgb, stamp_ns))
        if self._wanted(self._jpeg):
            self._jpeg.publish(
                rgb_to_compressed(frame.image_rgb, stamp_ns, self.config.frame_id, self.config.jpeg_quality)
            )

    def flush(self, timeout_s: float = 1.0) -> None:
        """Wait until reliable subscribers have what was sent; best effort never waits."""
        for publisher in self._publishers:
            publisher.wait_for_all_acked(Duration(seconds=timeout_s))

    def _wanted(self, publisher: Any) -> bool:
        return self._latched or publisher.get_subscription_count() > 0

    def _publisher(self, kind: Any, topic: str) -> Any:
        try:
            events = PublisherEventCallbacks(incompatible_qos=self._incompatible(self._node.resolve_topic_name(topic)))
            return self._node.create_publisher(kind, topic, self._qos, event_callbacks=events)
        except UnsupportedEventTypeError:
            return self._node.create_publisher(kind, topic, self._qos)

    def _incompatible(self, topic: str) -> Callable[[Any], None]:
        def warn(event: Any) -> None:
            policy = qos_policy_name_from_kind(event.last_policy_kind)
            text = f"{topic}: a subscriber gets nothing, its QoS does not match ours in {policy}"
            if event.last_policy_kind == QoSPolicyKind.RELIABILITY:
                text = (
                    f"{topic}: a subscriber asks for reliable and gets nothing, we offer best effort (set "
                    "qos_reliability to reliable, or let it ask for best effort)"
                )
            elif event.last_policy_kind == QoSPolicyKind.DURABILITY:
                text = (
                    f"{topic}: a subscriber asks for transient-local durability and gets nothing, we offer volatile "
                    "(set qos_durability to transient_local, or let it ask for volatile)"
                )
            if event.total_count_change > 0 and text not in self._warned:
                self._warned.add(text)
                self._node.get_logger().warning(text)

        return warn
