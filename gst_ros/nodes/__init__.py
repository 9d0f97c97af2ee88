"""The ROS 2 shells: nothing here computes, a callback is message -> call -> message.

- ``camera_player``: plays a video or a folder of images as camera topics.
- ``spatial_reasoning``: takes frames in, answers questions through services.
- ``evaluator``: drives the two through a question set and keeps the score.
- ``parameters``: ROS parameters from settings classes.
- ``process``: the shared ``main()`` of every node.
- ``image_messages``: numpy arrays to and from ``sensor_msgs``.
"""
