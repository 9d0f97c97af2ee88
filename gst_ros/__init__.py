"""Global spatial awareness for ROS 2: replay, remember, answer, score.

The rooms, each of which knows only the ones before it:

    bench/       what a question is and how an answer is scored (no ROS, no torch)
    media/       videos, image folders and single images as time-stamped frames
    memory/      what is remembered of the frames
    reasoning/   the answerers: a question and a memory in, an answer out
    evaluation/  the evaluation loop: play each video once, ask, record, resume
    nodes/       the ROS 2 shells around all of that
    cli/         the ``gst`` command: the same things without ROS
"""

__version__ = "0.1.0"
