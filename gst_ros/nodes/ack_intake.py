"""Acknowledgements of frames, taken straight from the middleware by the thread that waits for them.

An executor needs 0.5 ms and more of Python's lock for every message that it hands to a callback, which in
lockstep would be paid for every frame. Here the player's thread takes all that has arrived in a few
microseconds, when it wants to know.
"""

from __future__ import annotations

import threading
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from gst_interfaces.msg import FrameAck
from gst_ros.nodes.image_messages import stamp_to_ns


class _LeftAlone(CallbackGroup):
    """A group whose members no executor handles."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        return None


class AckIntake:
    """Subscribes to ``camera/ack``.

    Args:
        node: The node to subscribe with.
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._group = _LeftAlone()
        self._lock = threading.Lock()
        self._warned = False
        # Transient local fetches what was acknowledged before the two ends had found each other.
        self._durability = DurabilityPolicy.TRANSIENT_LOCAL
        self._subscription = self._subscribe()

    @property
    def topic(self) -> str:
        """The topic's full name, after remapping."""
        return self._subscription.topic_name

    def acknowledgers(self) -> int:
        """How many publishers on the topic can be heard."""
        with self._lock:
            if hasattr(self._subscription, "get_publisher_count"):
                return self._subscription.get_publisher_count()
        return sum(self._heard(qos) for qos in self._offered())  # Humble to Jazzy cannot tell who is matched

    def take(self) -> list[tuple[str, int]]:
        """Return (clip_id, stamp_ns) of what has arrived since the last call, oldest first. From any thread."""
        taken = []
        with self._lock, self._subscription.handle:
            handle = self._subscription.handle
            while (message_and_info := handle.take_message(FrameAck, False)) is not None:
                message = message_and_info[0]
                taken.append((message.clip_id, stamp_to_ns(message.stamp)))
        return taken

    def look(self) -> None:
        """Give way to acknowledgers that keep nothing for late subscribers; to be called twice a second or so."""
        offered = self._offered()
        if any(qos.reliability == ReliabilityPolicy.BEST_EFFORT for qos in offered) and not self._warned:
            self._warned = True
            self._node.get_logger().warning(
                f"{self.topic}: acknowledgements are sent best effort and do not arrive (make their publisher reliable)"
            )
        if self._durability == DurabilityPolicy.TRANSIENT_LOCAL and any(
            qos.durability == DurabilityPolicy.VOLATILE for qos in offered
        ):
            self._durability = DurabilityPolicy.VOLATILE
            with self._lock:
                self._node.destroy_subscription(self._subscription)
                self._subscription = self._subscribe()

    def _offered(self) -> list[QoSProfile]:
        return [p.qos_profile for p in self._node.get_publishers_info_by_topic(self.topic)]

    def _heard(self, qos: QoSProfile) -> bool:
        latched = qos.durability != DurabilityPolicy.VOLATILE or self._durability == DurabilityPolicy.VOLATILE
        return latched and qos.reliability != ReliabilityPolicy.BEST_EFFORT

    def _subscribe(self) -> Any:
        qos = QoSProfile(
            history=HistoryPolicy.KEEP_LAST,
            depth=64,
            reliability=ReliabilityPolicy.RELIABLE,
            durability=self._durability,
        )
        return self._node.create_subscription(FrameAck, "camera/ack", lambda _: None, qos, callback_group=self._group)
