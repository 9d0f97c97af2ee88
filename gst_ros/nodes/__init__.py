"""The ROS 2 shells: nothing here computes, a callback is message -> call -> message.

Nodes, each a console script of the same name:

- ``camera_player``: plays a video or a folder of images (``camera_topics``, ``camera_settings``, ``ack_intake``).
- ``spatial_reasoning``: takes frames in, answers questions (``image_intake``, ``camera_facts``, ``answer_desk``,
  ``memory_messages``, ``map_topics``).
- ``evaluator``: drives the two through a question set (``ros_session``, ``system_watch``).

Shared by them:

- ``parameters``: ROS parameters from settings classes.
- ``process``: the ``main()`` of every node; ``startup``: what comes before it.
- ``image_messages``: numpy arrays to and from ``sensor_msgs``.
"""

from gst_ros.environment import load_interfaces
from gst_ros.nodes.startup import prepare_process

prepare_process()
# Before any node makes a publisher: beside a ROS installation, the interfaces built by scripts/setup.sh lie in a
# Python environment, on no library path.
load_interfaces()
