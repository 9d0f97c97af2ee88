"""kill -9 at random moments of a run, then the same command again: every question is answered exactly once.

Here in one process, where kills are cheap; test_eval_over_ros.py kills nodes.
"""

from __future__ import annotations

import collections
import json
import signal
import subprocess
import sys
from pathlib import Path

from tiny_set import make_set, records_of

KILLS = 10
QUESTIONS = 120

# Importing takes longer than a question, so a process that has imported everything forks one that is killed.
KILLER = """
import json, os, random, signal, sys, time
import cv2, gst_ros.evaluation.loop, gst_ros.evaluation.local
from gst_ros.cli.main import run
arguments, records, kills, seed = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
moments = random.Random(seed)
codes = []
size = lambda: os.path.getsize(records) if os.path.exists(records) else 0
for number in range(kills):
    before = size()
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(run(arguments))
        finally:
            os._exit(99)
    while number % 3 and size() == before:  # two of three kills come after the run has begun to write
        time.sleep(0.001)
    time.sleep(moments.uniform(0.0, 0.15))
    os.kill(pid, signal.SIGKILL)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(json.dumps({"codes": codes, "last": run(arguments)}))
"""


def scripted(folder: Path, questions: int) -> Path:
    file = folder / "answers.json"
    file.write_text(json.dumps({f"question_{number:03d}": f"answer {number}" for number in range(questions)}))
    return file


def assert_each_answered_once(run: Path, questions: int) -> None:
    answers = [(record["uid"], record["pred"]) for record in records_of(run, "answer")]
    counts = collections.Counter(answers)
    assert counts == {(f"question_{number:03d}", f"answer {number}"): 1 for number in range(questions)}
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["answered"], summary["complete"]) == (questions, True)


def test_ten_kills_in_one_process(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=4, questions=QUESTIONS, frames=3)
    arguments = ["eval", "--no-ros", "--questions", str(file), "--output", str(tmp_path / "run")]
    arguments += ["--answerer", "scripted", "--answers", str(scripted(tmp_path, QUESTIONS))]
    arguments += ["--set", "spatial_reasoning.answer_delay_s=0.02"]
    command = [sys.executable, "-c", KILLER, json.dumps(arguments)]
    command += [str(tmp_path / "run" / "records.jsonl"), str(KILLS), "2026"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result == {"codes": [-signal.SIGKILL] * KILLS, "last": 0}
    assert_each_answered_once(tmp_path / "run", QUESTIONS)
    # The kills came in the middle of the work, not before or after it.
    events = [event["event"] for event in records_of(tmp_path / "run", "event")]
    assert events.count("resumed") >= KILLS * 2 // 3 - 1
