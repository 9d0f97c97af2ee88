"""The yardstick of transport.py: a bare rclpy publisher and subscriber of 640x512 rgb8 images.

It does the least that a lossless stream needs. Nothing is decoded or looked at: one prepared message is
sent again and again, with a new stamp. An unthrottled publisher overruns keep-last even when reliable,
so the pair has the simplest flow control there is: the subscriber answers every image with a tiny
message, and the publisher keeps at most ``window`` images under way.

    python benchmarks/bare_pair.py subscriber --frames 2000
    python benchmarks/bare_pair.py publisher --frames 2000 --window 8      (in another shell)

The subscriber prints one line of JSON: frames, lost, out_of_order, seconds (first to last image).
"""

from __future__ import annotations

import argparse
import json
import time

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image
from std_msgs.msg import UInt64

WIDTH, HEIGHT = 640, 512
GIVE_UP_S = 20.0  # without any message


def _qos(depth: int) -> QoSProfile:
    return QoSProfile(depth=depth, reliability=ReliabilityPolicy.RELIABLE)


class Publisher(Node):
    """Sends ``frames`` images, at most ``window`` ahead of what was taken in."""

    def __init__(self, frames: int, window: int) -> None:
        super().__init__("bare_publisher")
        self._frames, self._window, self._sent, self.taken_in = frames, window, 0, 0
        self.last_news = time.monotonic()
        self._message = Image(width=WIDTH, height=HEIGHT, step=3 * WIDTH, encoding="rgb8")
        self._message.header.frame_id = "camera_optical_frame"
        self._message.data.frombytes(bytes(3 * WIDTH * HEIGHT))
        self._publisher = self.create_publisher(Image, "bare/image", _qos(window))
        self.create_subscription(UInt64, "bare/taken_in", self._on_taken_in, _qos(2 * window))
        self._start = self.create_timer(0.05, self._begin)

    @property
    def done(self) -> bool:
        return self.taken_in >= self._frames

    def _begin(self) -> None:
        # Both directions must be connected: a publisher does not repeat what nobody was there to hear.
        if self._publisher.get_subscription_count() and self.count_publishers("bare/taken_in"):
            self._start.cancel()
            self.create_timer(0.3, self._first).reset()

    def _first(self) -> None:
        if self._sent == 0:
            self._send()

    def _on_taken_in(self, message: UInt64) -> None:
        self.taken_in = message.data
        self.last_news = time.monotonic()
        self._send()

    def _send(self) -> None:
        while self._sent < self._frames and self._sent - self.taken_in < self._window:
            self._message.header.stamp.sec, tenth = divmod(self._sent, 10)
            self._message.header.stamp.nanosec = tenth * 100_000_000
            self._publisher.publish(self._message)
            self._sent += 1


class Subscriber(Node):
    """Counts images and answers each one."""

    def __init__(self, frames: int, window: int) -> None:
        super().__init__("bare_subscriber")
        self._frames, self._stamp_ns = frames, -1
        self.count = self.out_of_order = 0
        self.first_at = self.last_news = time.monotonic()
        self._taken_in = self.create_publisher(UInt64, "bare/taken_in", _qos(2 * window))
        self.create_subscription(Image, "bare/image", self._on_image, _qos(window))

    @property
    def done(self) -> bool:
        return self.count >= self._frames

    def _on_image(self, message: Image) -> None:
        self.last_news = time.monotonic()
        if self.count == 0:
            self.first_at = self.last_news
        self.count += 1
        stamp_ns = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        self.out_of_order += stamp_ns <= self._stamp_ns
        self._stamp_ns = stamp_ns
        self._taken_in.publish(UInt64(data=self.count))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("role", choices=["publisher", "subscriber"])
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--window", type=int, default=8)
    options = parser.parse_args()
    rclpy.init(args=[])
    node: Publisher | Subscriber
    node = (Publisher if options.role == "publisher" else Subscriber)(options.frames, options.window)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while not node.done and time.monotonic() - node.last_news < GIVE_UP_S:
            executor.spin_once(timeout_sec=0.5)
        if isinstance(node, Subscriber):
            seconds = node.last_news - node.first_at
            lost = options.frames - node.count
            result = {"frames": node.count, "lost": lost, "out_of_order": node.out_of_order, "seconds": seconds}
            print(json.dumps(result), flush=True)
            until = time.monotonic() + 0.3  # let the last answer go out
            while time.monotonic() < until:
                executor.spin_once(timeout_sec=0.05)
        return 0 if node.done else 3
    except (KeyboardInterrupt, ExternalShutdownException):
        return 130
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    raise SystemExit(main())
