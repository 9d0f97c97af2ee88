"""Frames in, map out: planar monocular SLAM that knows when it is lost.

A robot on wheels, like GST-Bench's camera, moves in the plane with a fixed camera mount. So a pose has three degrees of
freedom (x, y, yaw), and the floor at a known height below the camera gives metric scale.

Frames (REP 103, REP 105): ``map`` is x right, y left of it, z up, with z = 0 on the floor; the first tracked frame
stands at its origin with yaw 0. ``base`` is the point on the floor below the camera, x ahead, y left, z up. The camera
is ``camera_optical_frame``: x right, y down, z ahead.

No ROS here, and torch only where a learned feature needs it.
"""
