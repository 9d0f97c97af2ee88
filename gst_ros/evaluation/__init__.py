"""The evaluation loop.

It plays each video once, asks its questions, scores, records and resumes:

    plan.py       the settings of an evaluation, and what is still to be asked in which order
    loop.py       the loop itself, from question files to summary and table
    session.py    what the loop needs of the machinery below it
    local.py      that machinery in one process, without ROS (over ROS: gst_ros/nodes/ros_session.py)
    stopping.py   Ctrl-C and SIGTERM that never tear a record
"""
