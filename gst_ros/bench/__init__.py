"""What a question is and how an answer is scored. Pure Python and numpy; no ROS, no torch, no I/O at import.

- ``tasks``: the twelve tasks, their official names and spelling variants.
- ``answers``: from what a model wrote to a value, with the matched text and a status.
- ``metrics``: Acc, mAcc for angles and points, MRA, and the settings they take.
- ``questions``: question files of several layouts, with what was skipped and why; built on ``question_files`` (which
  files), ``jsonfiles`` (untrusted JSON), ``media_files`` (where video and images are) and ``images`` (whole or not).
- ``records``: writing a run folder, append-only; ``run_data``: what is in one, and reading it.
- ``scoring``: per-task scores, their mean and their standard errors; ``run_score``: these as values;
  ``score_table``: as a table.
- ``official``: the official runner's per-task result files, out and in.
- ``leaderboard``: a run among the published models (numbers in ``data/``); ``leaderboard_tables``: as tables.
"""
