"""How long it takes to score a whole run: 2,762 answers, with parsing and bootstrap standard errors.

    python benchmarks/scoring.py [--repeat N]

Makes a run folder with the published number of questions of each task and answers as models write them, then reads
it back, scores it, and builds summary and table. Prints a table of the steps (best of N) and, last, one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from gst_ros.bench.leaderboard import compare, load_leaderboard
from gst_ros.bench.metrics import ScoringConfig
from gst_ros.bench.records import AnswerRecord, read_run
from gst_ros.bench.run_data import FORMAT
from gst_ros.bench.scoring import score_run, score_table, summary
from gst_ros.bench.tasks import TASKS

PHRASES = (
    "{}",
    "The answer is {}.",
    "Answer: {}",
    "<think>It was behind me, or so.</think>\n{}",
    "**{}**",
    "I can't tell",
)


def truth_and_answer(metric: str, rng: random.Random) -> tuple[Any, str]:
    if metric == "angle":
        return str(rng.randint(-180, 180)), str(rng.randint(-180, 180)).replace("-", rng.choice("-\u2013\u2212"))
    if metric == "mra":
        return round(rng.uniform(0.5, 15.0), 1), f"{rng.uniform(0.5, 15.0):.1f}{rng.choice(['', ' m', ' meters'])}"
    if metric == "point":
        truth, pred = ([rng.randint(0, 999) for _ in "xy"] for _ in range(2))
        return f"<point>{truth[0]} {truth[1]}</point>", f"<point>{pred[0]} {pred[1]}</point>"
    return rng.choice("ABCD"), rng.choice("ABCD") + rng.choice(["", ".", ")"])


def write_run(folder: Path) -> int:
    """A run folder written in one go (a real run flushes every answer to the disk)."""
    rng = random.Random(0)
    lines = []
    for key, count in load_leaderboard().question_counts.items():
        for number in range(count):
            gt, text = truth_and_answer(TASKS[key].metric, rng)
            uid = f"scene{number % 50}_{TASKS[key].official_name}_{number}"
            fields = {"uid": uid, "task": TASKS[key].official_name, "answer": gt, "texts": ["x" * 100] * 4}
            record = AnswerRecord(uid, key, gt=gt, pred=rng.choice(PHRASES).format(text), question=fields)
            lines.append(json.dumps({"kind": "answer", **vars(record)}))
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "run.json").write_text(json.dumps({"format": FORMAT, "answerer": {"name": "phrases"}}))
    return len(lines)


def best_of(repeat: int, step: Callable[[], Any]) -> tuple[float, Any]:
    best, result = float("inf"), None
    for _ in range(repeat):
        start = time.perf_counter()
        result = step()
        best = min(best, time.perf_counter() - start)
    return best, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=1, help="take the best of so many rounds")
    repeat = max(1, parser.parse_args().repeat)
    config = ScoringConfig()
    with tempfile.TemporaryDirectory() as folder:
        answers = write_run(Path(folder))
        steps = {}
        steps["read the run folder"], run = best_of(repeat, lambda: read_run(folder))
        steps[f"parse, score, {config.bootstrap_samples} bootstrap samples"], score = best_of(
            repeat, lambda: score_run(run, config)
        )
        steps["summary.json"], _ = best_of(repeat, lambda: json.dumps(summary(score)))
        steps["table and leaderboard"], _ = best_of(repeat, lambda: (score_table(score), compare(score, "this")))
    if score.answered != answers:
        raise SystemExit(f"{answers} answers were written, {score.answered} scored")
    table = Table(title=f"Scoring {answers} answers", title_justify="left")
    table.add_column("Step")
    table.add_column("Seconds", justify="right")
    for name, seconds in steps.items():
        table.add_row(name, f"{seconds:.3f}")
    total = sum(steps.values())
    table.add_section()
    table.add_row("all", f"{total:.3f}", style="bold")
    Console().print(table)
    print(json.dumps({"answers": answers, "seconds": round(total, 3)}))


if __name__ == "__main__":
    main()
