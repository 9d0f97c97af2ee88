"""What a question is and how an answer is scored. Pure Python and numpy; no ROS, no torch, no I/O at import.

- ``tasks``: the twelve tasks, their official names and spelling variants.
- ``answers``: from what a model wrote to a value, with the matched text and a status.
- ``metrics``: Acc, mAcc for angles and points, MRA, and the settings they take.
- ``questions``: question files of several layouts, with what was skipped and why.
- ``records``: the append-only record of a run.
- ``scoring``: per-task scores, their mean and their standard errors.
- ``official``: the official runner's per-task result files, out and in.
- ``leaderboard``: a run among the published models (numbers in ``data/``).
"""
