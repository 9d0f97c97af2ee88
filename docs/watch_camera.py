"""Look at the camera that ``gst replay VIDEO`` plays: size, encoding, frame, rate.

    python docs/watch_camera.py

Ends with Ctrl-C, or by itself when no image has come for five seconds.
"""

from __future__ import annotations

import time

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image


class CameraWatcher(Node):
    """Prints a line about every tenth image."""

    def __init__(self) -> None:
        super().__init__("camera_watcher")
        self.images = 0
        self.last_s = time.monotonic()
        # Sensor data, as cameras publish it: best effort. A reliable subscriber would get nothing.
        self.create_subscription(Image, "camera/image_raw", self._on_image, qos_profile_sensor_data)

    def _on_image(self, message: Image) -> None:
        self.images += 1
        self.last_s = time.monotonic()
        if self.images % 10 == 1:
            pixels = np.frombuffer(message.data, np.uint8).reshape(message.height, message.step)
            stamp_s = message.header.stamp.sec + message.header.stamp.nanosec / 1e9
            print(
                f"{stamp_s:8.2f} s: {message.width} x {message.height} {message.encoding} in "
                f"{message.header.frame_id}, mean {pixels.mean():.0f}",
                flush=True,
            )


def main() -> None:
    """Watch until nothing comes any more."""
    rclpy.init()
    watcher = CameraWatcher()
    try:
        while time.monotonic() - watcher.last_s < 5.0:
            rclpy.spin_once(watcher, timeout_sec=0.5)
    except KeyboardInterrupt:
        pass
    print(f"{watcher.images} images")
    watcher.destroy_node()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
