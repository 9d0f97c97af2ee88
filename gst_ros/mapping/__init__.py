"""Frames in, map out: planar monocular SLAM that knows when it is lost.

A robot on wheels, like GST-Bench's camera, moves in the plane with a fixed camera mount. So a pose has three degrees of
freedom (x, y, yaw), and the floor at a known height below the camera gives metric scale.

Frames (REP 103, REP 105): ``map`` is x right, y left of it, z up, with z = 0 on the floor; the first tracked frame
stands at its origin with yaw 0. ``base`` is the point on the floor below the camera, x ahead, y left, z up. The camera
is ``camera_optical_frame``: x right, y down, z ahead.

What is in this folder:

- the way in: ``mapper`` (frames in), ``spatial_map`` (what comes out), ``map_files`` (checked by
  ``map_schema``), ``trajectory_files``, ``picture``
- the camera: ``camera``, ``camera_files``, ``calibration`` (with ``pairs``, ``planar_epipolar``, ``planar_fit``,
  ``vanishing``, ``constancy``), ``sway``
- tracking: ``tracking``, ``corners``, ``tracks``, ``motion``, ``turning``, ``planar``
- the back end: ``backend``, ``keyframes``, ``loops``, ``posegraph``, ``bundle``, ``observations``
- the grid: ``sweep``, ``fusion``, ``grid``, ``manhattan``; on a plan: ``plan_match``, ``plan_images``, ``plan_search``,
  ``plan_refine``
- single pictures: ``relocalise``, ``features`` (``xfeat``, ``lighterglue``), ``retrieval``, ``landmarks``,
  ``landmark_index``, ``query_picture``, ``tilted``, ``level_lines``, ``floor_texture``, ``grid_depths``,
  ``upright_hypotheses``, ``upright_pnp``, ``pose_confidence``, ``keyframe_arrays``
- six degrees of freedom, not used by ``mapper``: ``six_dof``, ``sfm_process``, and its gate ``spread``

No ROS here, and torch only where a learned feature needs it.
"""
