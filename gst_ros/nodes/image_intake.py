"""A subscription to an image topic that never fails in silence.

It says, once each, with the topic and the remedy: nobody publishes (a misspelt topic?), the publisher's QoS does
not match, messages were lost, images cannot be read.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CompressedImage, Image

from gst_ros.config import Settings, setting

try:
    from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks, UnsupportedEventTypeError

_BATCH = 16

IMAGE_TYPES = {"sensor_msgs/msg/Image": "raw", "sensor_msgs/msg/CompressedImage": "compressed"}


@dataclass(frozen=True)
class IntakeConfig(Settings):
    """Settings of the image subscription."""

    image_transport: str = setting("raw", "Which of the camera's topics to take.", choices=("raw", "compressed"))
    image_reliability: str = setting(
        "auto",
        "QoS reliability to ask for; auto asks for reliable and gives way to a publisher that has only best effort.",
        choices=("auto", "reliable", "best_effort"),
    )
    image_depth: int = setting(
        32, "Images kept for the node while it is busy; lockstep needs at least the player's window.", low=1, high=10000
    )
    no_publisher_warning_s: float = setting(5.0, "Warn when nobody has published for so long.", unit="s", low=0.5)


class ImageIntake:
    """Subscribes to ``camera/image_raw``, or to ``camera/image_raw/compressed``, and watches over it.

    Args:
        node: The node to subscribe with.
        config: Transport, QoS and time-out.
        on_image: Called with every message.
        on_lost: Called with the number of messages that the middleware lost.
    """

    def __init__(
        self, node: Any, config: IntakeConfig, on_image: Callable[[Any], None], on_lost: Callable[[int], None]
    ) -> None:
        self._node = node
        self._config = config
        self._on_image = on_image
        self._on_lost = on_lost
        self._compressed = config.image_transport == "compressed"
        self._reliable = config.image_reliability != "best_effort"
        self._alone_since_s: float | None = time.monotonic()
        self.troubles: dict[str, str] = {}
        self._logged: set[str] = set()
        self._subscription = self._subscribe()

    @property
    def topic(self) -> str:
        """The topic's full name, after remapping."""
        return self._subscription.topic_name

    @property
    def reliability(self) -> str:
        """What is asked for at present: ``reliable`` or ``best_effort``."""
        return "reliable" if self._reliable else "best_effort"

    def look(self) -> None:
        """Look after the topic; to be called about once a second."""
        publishers = self._node.get_publishers_info_by_topic(self.topic)
        ours = [p for p in publishers if IMAGE_TYPES.get(p.topic_type) == self._config.image_transport]
        self._look_for_publishers(bool(ours), {p.topic_type for p in publishers})
        best_effort_only = bool(ours) and all(p.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT for p in ours)
        if self._reliable and best_effort_only:
            if self._config.image_reliability == "auto":
                self._node.get_logger().warning(
                    f"{self.topic}: its publisher offers best effort only; taking that, so frames may be lost"
                )
                self._reliable = False
                self._resubscribe()
            else:
                self._warn_of_qos()
        elif self._reliable and not any(p.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT for p in ours):
            self.settle("qos")

    def drain(self) -> int:
        """Throw away what has arrived but was not handled yet; returns how many messages that were."""
        count = 0
        while self._take() is not None:
            count += 1
        return count

    def close(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)

    def trouble(self, kind: str, text: str) -> None:
        """Warn of something; it is logged once until it is settled."""
        if kind not in self._logged:
            self._node.get_logger().warning(text)
        self._logged.add(kind)
        self.troubles[kind] = text

    def settle(self, kind: str, *, for_good: bool = True) -> None:
        """Take a warning back; unless ``for_good`` it may come again, but is not logged again."""
        self.troubles.pop(kind, None)
        if for_good:
            self._logged.discard(kind)

    def _subscribe(self) -> Any:
        qos = QoSProfile(
            history=HistoryPolicy.KEEP_LAST,
            depth=self._config.image_depth,
            reliability=ReliabilityPolicy.RELIABLE if self._reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.VOLATILE,
        )
        topic = "camera/image_raw"
        if self._compressed:
            # As in image_transport, the suffix belongs to the remapped name of the base topic.
            topic = self._node.resolve_topic_name(topic) + "/compressed"
        kind = CompressedImage if self._compressed else Image
        try:
            events = SubscriptionEventCallbacks(
                incompatible_qos=self._on_incompatible, message_lost=self._on_message_lost
            )
            return self._node.create_subscription(kind, topic, self._on_message, qos, event_callbacks=events)
        except UnsupportedEventTypeError:
            # This middleware cannot tell of lost messages; the graph is looked at all the same.
            return self._node.create_subscription(kind, topic, self._on_message, qos)

    def _on_message(self, message: Any) -> None:
        self._on_image(message)
        # An executor spends about as long on handing a message over as the node on taking it in, so the ones
        # that wait already come along; a bound leaves timers and services their turn.
        for _ in range(_BATCH):
            further = self._take()
            if further is None:
                return
            self._on_image(further)

    def _take(self) -> Any:
        """The next message that has arrived, None when there is none: what an executor does, without it."""
        subscription = self._subscription
        with subscription.handle:
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        return None if taken is None else taken[0]

    def _resubscribe(self) -> None:
        self._node.destroy_subscription(self._subscription)
        self._subscription = self._subscribe()

    def _on_incompatible(self, event: Any) -> None:
        if event.total_count_change > 0:
            self.look()

    def _on_message_lost(self, event: Any) -> None:
        if event.total_count_change > 0:
            self._on_lost(event.total_count_change)
            self.trouble(
                "lost",
                f"{self.topic}: messages are being lost (use lockstep mode, a lower rate, a larger image_depth, or a "
                "Fast DDS profile with more shared memory: config/fastdds.xml)",
            )

    def _warn_of_qos(self) -> None:
        self.trouble(
            "qos",
            f"{self.topic}: its publisher offers best effort and this node asks for reliable, so nothing arrives "
            "(set image_reliability to auto or best_effort, or make the publisher reliable)",
        )

    def _look_for_publishers(self, found: bool, types: set[str]) -> None:
        if found:
            self._alone_since_s = None
            self.settle("publisher")
            return
        now_s = time.monotonic()
        if self._alone_since_s is None:
            self._alone_since_s = now_s
        if now_s - self._alone_since_s < self._config.no_publisher_warning_s:
            return
        if types:
            other = ", ".join(sorted(types))
            text = f"{self.topic}: carries {other}, not what image_transport '{self._config.image_transport}' takes"
            self.trouble("publisher", text)
            return
        self.trouble(
            "publisher",
            f"{self.topic}: nobody has published for {self._config.no_publisher_warning_s:g} s ({self._advice()})",
        )

    def _advice(self) -> str:
        others = [
            (topic, IMAGE_TYPES[kind])
            for topic, kinds in self._node.get_topic_names_and_types()
            for kind in kinds
            if kind in IMAGE_TYPES and topic != self.topic and self._node.count_publishers(topic)
        ]
        if not others:
            return "there is no image topic at all: start the camera, and give both the same ROS_DOMAIN_ID"
        names = sorted({topic for topic, _ in others})
        near = difflib.get_close_matches(self.topic, names, n=1, cutoff=0.0)[0]
        transport = dict(others)[near]
        base = near.removesuffix("/compressed") if transport == "compressed" else near
        advice = f"image topics there are: {', '.join(names)}; to take {near}: --ros-args -r camera/image_raw:={base}"
        if transport != self._config.image_transport:
            advice += f" -p image_transport:={transport}"
        return advice
