"""What a camera's other topics tell of it: intrinsics on ``camera/camera_info``, height and tilt on ``camera/mount``.

``camera/mount`` is a geometry_msgs/PoseWithCovarianceStamped, sent with each frame: the pose of the camera's optical
frame over the robot's base on the floor (``base_footprint``). A quaternion of zeros says that it is not known, as a
``camera_info`` with a ``K`` of zeros does for the intrinsics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo

from gst_ros.mapping.camera import CameraMount
from gst_ros.media.calibration import Calibration
from gst_ros.memory.replays import CameraFacts
from gst_ros.nodes.image_messages import stamp_to_ns

BASE_FRAME = "base_footprint"
INFO_TOPIC, MOUNT_TOPIC = "camera/camera_info", "camera/mount"

_Z_VARIANCE = 14  # of the 6 x 6 covariance: row and column of z

_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=10,
    reliability=ReliabilityPolicy.BEST_EFFORT,  # matches publishers of either kind
    durability=DurabilityPolicy.VOLATILE,
)


class CameraFactsIntake:
    """Listens until intrinsics and mount of the camera are known, which is said once per playback.

    Args:
        node: The node to subscribe with.
        on_facts: Called with what is told; again when more is told.
    """

    def __init__(self, node: Any, on_facts: Callable[[CameraFacts], None]) -> None:
        self._node, self._on_facts = node, on_facts
        self._subscriptions = [
            node.create_subscription(CameraInfo, INFO_TOPIC, self._on_info, _QOS),
            node.create_subscription(PoseWithCovarianceStamped, MOUNT_TOPIC, self._on_mount, _QOS),
        ]
        self.reset()

    def reset(self) -> None:
        """A new playback begins: what was told before may not hold for it."""
        self._first_ns: int | None = None
        self._info: CameraInfo | None = None
        self._mount: PoseWithCovarianceStamped | None = None
        self._told = CameraFacts()

    def frame(self, stamp_ns: int) -> None:
        """Say that a frame came: what was told of earlier ones does not count."""
        if self._first_ns is None:
            self._first_ns = stamp_ns
            self._tell()

    def close(self) -> None:
        """Unsubscribe."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _on_info(self, message: CameraInfo) -> None:
        if self._told.calibration is None:
            self._info = message
            self._tell()

    def _on_mount(self, message: PoseWithCovarianceStamped) -> None:
        if self._told.pitch_deg is None:
            self._mount = message
            self._tell()

    def _tell(self) -> None:
        if self._first_ns is None:
            return
        info = self._info if self._info is not None and self._counts(self._info) else None
        mount = self._mount if self._mount is not None and self._counts(self._mount) else None
        facts = facts_of(info, mount)
        if facts != self._told:
            self._told = facts
            self._on_facts(facts)

    def _counts(self, message: Any) -> bool:
        return self._first_ns is not None and stamp_to_ns(message.header.stamp) >= self._first_ns


def facts_of(info: CameraInfo | None, mount: PoseWithCovarianceStamped | None) -> CameraFacts:
    """What two messages tell of a camera; nothing where they are missing or say that it is not known."""
    facts: dict[str, Any] = {}
    if info is not None and info.k[0] > 0 and info.k[4] > 0 and info.width and info.height:
        k, model = [float(v) for v in info.k], info.distortion_model or "plumb_bob"
        facts["calibration"] = Calibration(
            info.width, info.height, k[0], k[4], k[2], k[5], model, tuple(float(v) for v in info.d)
        )
    if mount is not None:
        q, height_m = mount.pose.pose.orientation, float(mount.pose.pose.position.z)
        quaternion = np.array([q.x, q.y, q.z, q.w])
        if abs(float(np.linalg.norm(quaternion)) - 1.0) < 0.01 and height_m > 0:
            pitch_deg, roll_deg = _tilt_deg(quaternion)
            std_m = math.sqrt(max(float(mount.pose.covariance[_Z_VARIANCE]), 0.0))
            facts.update(height_m=height_m, height_std_m=std_m, pitch_deg=pitch_deg, roll_deg=roll_deg)
    return CameraFacts(**facts)


def mount_message(facts: CameraFacts) -> PoseWithCovarianceStamped:
    """The message for a camera's height and tilt, without a stamp; zeros where they are not known."""
    message = PoseWithCovarianceStamped()
    message.header.frame_id = BASE_FRAME
    if facts.height_m is None or facts.pitch_deg is None:
        message.pose.pose.orientation.w = 0.0
        return message
    message.pose.pose.position.z = facts.height_m
    message.pose.covariance[_Z_VARIANCE] = facts.height_std_m**2
    rotation = CameraMount(facts.height_m, facts.pitch_deg, facts.roll_deg or 0.0).rotation_base_from_camera
    q = message.pose.pose.orientation
    q.x, q.y, q.z, q.w = _quaternion(rotation)
    return message


def _quaternion(rotation: np.ndarray) -> tuple[float, float, float, float]:
    """Unit quaternion (x, y, z, w) of a rotation matrix (Bar-Itzhack 2000, for exact rotations)."""
    m = rotation
    matrix = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], 0, 0, 0],
            [m[1, 0] + m[0, 1], m[1, 1] - m[0, 0] - m[2, 2], 0, 0],
            [m[2, 0] + m[0, 2], m[2, 1] + m[1, 2], m[2, 2] - m[0, 0] - m[1, 1], 0],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m.trace()],
        ]
    )
    _, vectors = np.linalg.eigh(matrix / 3)
    x, y, z, w = (float(v) for v in vectors[:, -1])
    return (x, y, z, w) if w >= 0 else (-x, -y, -z, -w)


def _tilt_deg(quaternion: np.ndarray) -> tuple[float, float]:
    """Pitch and roll, as :class:`CameraMount` has them, of a rotation from the optical frame to the base.

    Rounded to a millionth of a degree, so that a way through a quaternion gives the number that it began with.
    """
    x, y, z, w = quaternion / np.linalg.norm(quaternion)
    # Heights of the optical axes (columns of the rotation) over the base's plane.
    right_up, down_up, ahead_up = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
    pitch = math.degrees(math.asin(max(-1.0, min(1.0, -ahead_up))))
    roll = math.degrees(math.atan2(-right_up, -down_up))
    return round(pitch, 6), round(roll, 6)
