"""What camera topics tell of a camera: there and back, what says nothing, and what came before the first frame."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed; scripts/setup.sh installs it")

from gst_ros.media.calibration import Calibration
from gst_ros.memory.replays import CameraFacts
from gst_ros.nodes.camera_facts import CameraFactsIntake, facts_of, mount_message
from gst_ros.nodes.image_messages import camera_info, ns_to_stamp

CALIBRATION = Calibration(640, 512, 335.3, 336.1, 319.5, 255.5, distortion=(0.1, -0.02, 0.0, 0.001, 0.0))


@pytest.mark.parametrize(
    ("height_m", "std_m", "pitch_deg", "roll_deg"),
    [(1.5, 0.0, 35.0, 0.0), (0.4, 0.02, -10.0, 3.25), (1.0, 0.0, 0.0, -170.0), (1.0, 0.1, 80.0, 12.0)],
)
def test_there_and_back(height_m: float, std_m: float, pitch_deg: float, roll_deg: float) -> None:
    facts = CameraFacts(CALIBRATION, height_m, std_m, pitch_deg, roll_deg)
    assert facts_of(camera_info(CALIBRATION, 640, 512, "camera"), mount_message(facts)) == facts


def test_zeros_say_that_it_is_not_known() -> None:
    assert facts_of(camera_info(None, 640, 512, "camera"), mount_message(CameraFacts())) == CameraFacts()
    assert facts_of(None, mount_message(CameraFacts(height_m=1.0))) == CameraFacts()
    assert facts_of(None, None) == CameraFacts()


class FakeNode:
    """Holds callbacks by topic."""

    def __init__(self) -> None:
        self.callbacks: dict[str, Any] = {}

    def create_subscription(self, kind: Any, topic: str, callback: Any, qos: Any) -> str:
        self.callbacks[topic] = callback
        return topic

    def destroy_subscription(self, topic: str) -> None:
        del self.callbacks[topic]


def test_each_playback_is_told_of_its_own_camera() -> None:
    node, told = FakeNode(), []
    intake = CameraFactsIntake(node, told.append)

    def send(stamp_ns: int, calibration: Calibration | None, pitch_deg: float | None) -> None:
        info = camera_info(calibration, 640, 512, "camera")
        mount = mount_message(CameraFacts(height_m=1.5, pitch_deg=pitch_deg))
        info.header.stamp = mount.header.stamp = ns_to_stamp(stamp_ns)
        node.callbacks["camera/camera_info"](info)
        node.callbacks["camera/mount"](mount)

    send(100, CALIBRATION, 10.0)
    assert told == [], "no frame has come"
    intake.frame(200)
    assert told == [], "that was said of an earlier frame"
    send(200, CALIBRATION, 35.0)
    assert told[-1].calibration == CALIBRATION and told[-1].pitch_deg == 35.0
    count = len(told)
    send(300, CALIBRATION, 35.0)
    intake.frame(300)
    assert len(told) == count, "said once"
    intake.reset()
    intake.frame(400)
    send(400, None, None)
    assert len(told) == count, "an uncalibrated camera on an unknown mount tells nothing"
    intake.close()
    assert node.callbacks == {}
