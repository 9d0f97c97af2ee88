"""``gst doctor``: what this machine has for the bench, what is missing, and the remedy of each.

probes.py     what a finding is, and how probes run so that none of them can stop the others
machine.py    Python, disk, shared memory, EGL
ros.py        ROS and its source, middleware, Fast DDS profile, interfaces, ros2 launch
libraries.py  numpy, OpenCV, PyAV, torch, transformers, extra scenes, furniture, models
"""
