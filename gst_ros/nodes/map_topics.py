"""What the memory has mapped, as robots and RViz want it: ``map`` (an OccupancyGrid) and ``path`` (a Path).

Both are latched and come anew when a map was made of further frames, as when a question is answered.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid, Path
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from gst_ros.nodes.image_messages import ns_to_stamp

if TYPE_CHECKING:
    from gst_ros.mapping.grid import OccupancyGrid as Grid
    from gst_ros.mapping.spatial_map import SpatialMap
    from gst_ros.memory.walks import Walk

MAP_FRAME = "map"
_MOST_POSES = 2000
_LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class MapTopics:
    """Publishes maps.

    Args:
        node: The node to publish with.
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._map = node.create_publisher(OccupancyGrid, "map", _LATCHED)
        self._path = node.create_publisher(Path, "path", _LATCHED)
        self._published: Walk | None = None

    def show(self, walk: Walk | None) -> None:
        """Publish a walk's map and path, unless that was the last that was published."""
        if walk is None or walk is self._published:
            return
        self._published = walk
        if walk.place.grid is not None:
            self._map.publish(grid_message(walk.place.grid, _last_stamp_ns(walk.place)))
        self._path.publish(path_message(walk.place))

    def close(self) -> None:
        """Withdraw the topics."""
        for publisher in (self._map, self._path):
            self._node.destroy_publisher(publisher)


def grid_message(grid: Grid, stamp_ns: int) -> OccupancyGrid:
    """The grid as a message: the same cells (-1 unknown, 0 free, 100 occupied), rows from the lowest y."""
    message = OccupancyGrid()
    message.header.frame_id = MAP_FRAME
    message.header.stamp = message.info.map_load_time = ns_to_stamp(stamp_ns)
    message.info.resolution = float(grid.resolution_m)
    message.info.height, message.info.width = (int(n) for n in grid.cells.shape)
    message.info.origin.position.x, message.info.origin.position.y = (float(v) for v in grid.origin_m)
    message.info.origin.orientation.w = 1.0
    message.data.frombytes(grid.cells.astype("int8").tobytes())
    return message


def path_message(place: SpatialMap) -> Path:
    """Where ``base`` went, as far as it is connected with the map; at most 2000 poses."""
    trajectory = place.trajectory
    rows = [k for k, part in enumerate(trajectory.parts) if part == place.main_part]
    message = Path()
    message.header.frame_id = MAP_FRAME
    message.header.stamp = ns_to_stamp(_last_stamp_ns(place))
    for k in rows[:: max(1, math.ceil(len(rows) / _MOST_POSES))]:
        pose = PoseStamped()
        pose.header.frame_id = MAP_FRAME
        pose.header.stamp = ns_to_stamp(int(trajectory.stamps_ns[k]))
        x_m, y_m, yaw_rad = (float(v) for v in trajectory.poses[k])
        pose.pose.position.x, pose.pose.position.y = x_m, y_m
        pose.pose.orientation.z, pose.pose.orientation.w = math.sin(yaw_rad / 2), math.cos(yaw_rad / 2)
        message.poses.append(pose)
    return message


def _last_stamp_ns(place: SpatialMap) -> int:
    stamps = place.trajectory.stamps_ns
    return int(stamps[-1]) if len(stamps) else 0
