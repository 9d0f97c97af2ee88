from __future__ import annotations

import dataclasses
import functools
import io
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_makers import record as question_fields
from bench_makers import synthetic_questions
from click.testing import CliRunner
from rich.console import Console

from gst_ros.bench.leaderboard import load_leaderboard
from gst_ros.bench.metrics import ScoringConfig, angle_score, mra_score, point_score
from gst_ros.bench.questions import Question, Skipped
from gst_ros.bench.records import AnswerRecord, RunFolder, RunHeader
from gst_ros.bench.run_score import RunScore, TaskScore
from gst_ros.bench.score_table import print_score_table
from gst_ros.bench.scoring import record_answer, score_records, score_table, skip_reasons, summary
from gst_ros.bench.tasks import TASKS
from gst_ros.cli import score as score_command
from gst_ros.errors import GstError
from gst_ros.memory.keyframes import KeyframeStore
from gst_ros.reasoning.answerer import Query
from gst_ros.reasoning.random_guess import RandomConfig, RandomGuess

GT = {"angle": "-134", "mra": 13.2, "point": "<point>323 292</point>", "acc": "C"}
RIGHT = {"angle": "-134", "mra": "13.2", "point": "<point>323 292</point>", "acc": "C"}


def answer(task: str, uid: str, pred: str, **fields: Any) -> AnswerRecord:
    gt = fields.pop("gt", GT[TASKS[task].metric])
    return AnswerRecord(uid=uid, task=task, gt=gt, pred=pred, **{"question": question_fields(task, uid), **fields})


def question(task: str = "ed_v", uid: str = "q") -> Question:
    return next(dataclasses.replace(q, uid=uid) for q in synthetic_questions() if q.task.key == task)


# --- counting ---


def test_twelve_right_answers_are_one_hundred() -> None:
    score = score_records([answer(key, f"{key}{i}", RIGHT[TASKS[key].metric]) for key in TASKS for i in range(3)])
    assert score.average == 100.0 and score.tasks_scored == 12 and score.standard_error == 0.0
    assert list(score.tasks) == list(TASKS)
    assert {(t.score, t.standard_error, t.answered, t.unparsed) for t in score.tasks.values()} == {(100.0, 0.0, 3, 0)}


def test_the_average_is_the_mean_of_tasks_and_not_of_questions() -> None:
    records = [answer("ed_v", f"r{i}", "-134") for i in range(9)] + [answer("tds_easy", "w", "A")]
    score = score_records(records)
    assert (score.tasks["ed_v"].score, score.tasks["tds_easy"].score) == (100.0, 0.0)
    assert score.average == 50.0 and score.tasks_scored == 2


def test_unparsed_scores_zero_and_failed_and_skipped_do_not_score() -> None:
    records = [
        answer("ed_v", "right", "-134"),
        answer("ed_v", "empty", ""),
        answer("ed_v", "refusal", "I can't tell"),
        answer("ed_v", "failed", "", status="failed"),
        answer("gp_s", "refused point", "I can't tell"),
    ]
    skips = [Skipped("s1", "ed_v", "video a.mp4 missing"), Skipped("s2", None, "unknown task 'x'")]
    score = score_records(records, skips)
    task = score.tasks["ed_v"]
    assert task.score == pytest.approx(100 / 3)
    assert (task.answered, task.unparsed, task.failed, task.skipped) == (3, 2, 1, 1)
    assert score.tasks["gp_s"].score == 0.0 and score.tasks["gp_s"].unparsed == 1
    assert (score.answered, score.unparsed, score.failed, len(score.skipped)) == (4, 3, 1, 2)


def test_nothing_answered_is_not_zero() -> None:
    score = score_records([answer("ed_v", "f", "", status="failed")], [Skipped("s", "gp_v", "x")])
    assert score.average is None and score.standard_error is None and score.tasks_scored == 0
    assert score.tasks["ed_v"].score is None
    assert json.loads(json.dumps(summary(score)))["tasks"]["ed_v"]["score"] is None


def test_a_record_whose_truth_cannot_be_read_is_skipped_and_counted() -> None:
    records = [
        answer("edist_v", "zero", "3", gt=0),
        answer("tds_easy", "none", "A", gt=None),
        answer("ed_v", "ok", "-134"),
    ]
    score = score_records(records)
    assert score.average == 100.0 and score.answered == 1
    assert {(s.uid, s.field) for s in score.skipped} == {("zero", "gt"), ("none", "gt")}
    assert score.tasks["edist_v"].skipped == 1


@pytest.mark.parametrize(("images", "options"), [(None, 4), (5, 4), ([], 4), (["a"] * 26, 26), (["a"] * 6, 6)])
def test_the_letters_of_a_record_are_its_images(images: object, options: int) -> None:
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[options - 1]
    fields = {"question": {} if images is None else {"images": images}}
    score = score_records([answer("tds_easy", "a", last, gt=last, **fields)])
    assert score.tasks["tds_easy"].score == 100.0


def test_more_images_than_letters_cost_that_record_alone() -> None:
    many = {"question": {"images": ["a"] * 27}}
    records = [answer("tds_easy", "many", "A", gt="A", **many), answer("tds_easy", "good", "A", gt="A")]
    score = score_records([*records, answer("ed_v", "degrees", "10", gt="10", **many)])
    assert (score.tasks["tds_easy"].answered, score.tasks["ed_v"].answered) == (1, 1)
    assert [(skip.uid, skip.task, skip.field) for skip in score.skipped] == [("many", "tds_easy", "images")]
    assert "27 images" in score.skipped[0].reason


def test_what_was_read_before_is_not_mixed_up() -> None:
    """True answers and answers that are equal in Python, but not the same."""
    truths = [1, 1.0, True, "1"]
    for order in (truths, truths[::-1]):
        score = score_records([answer("ed_v", f"{gt!r}", "1", gt=gt) for gt in order])
        assert [skip.uid for skip in score.skipped] == ["True"] and score.tasks["ed_v"].score == 100.0
    pairs = [("A", "A"), ("B", "A"), ("A", "B"), ("A", "A")]
    score = score_records([answer("tds_easy", str(n), pred, gt=gt) for n, (pred, gt) in enumerate(pairs)])
    assert score.tasks["tds_easy"].score == 50.0


def test_the_error_of_a_large_set_is_the_formulas() -> None:
    """Far more answers than the benchmark has are resampled in another way, from the same distribution."""
    truths = [f"{n % 4 * 45}" for n in range(20_000)]
    score = score_records([answer("ed_v", str(n), "0", gt=gt) for n, gt in enumerate(truths)])
    points = np.repeat(
        [score_records([answer("ed_v", "x", "0", gt=gt)]).tasks["ed_v"].score for gt in truths[:4]], 5000
    )
    assert score.tasks["ed_v"].score == pytest.approx(points.mean())
    assert score.tasks["ed_v"].standard_error == pytest.approx(points.std() / math.sqrt(len(points)), rel=0.15)


def test_an_unknown_task_is_not_called_a_true_answer() -> None:
    score = score_records([answer("ed_v", "a", "1", gt="1"), dataclasses.replace(answer("ed_v", "b", "1"), task="zzz")])
    assert [skip.reason for skip in score.skipped] == ["cannot be scored: unknown task 'zzz'"]
    assert score.answered == 1 and score.skipped[0].task is None and score.skipped[0].field == "task"


def test_one_scale_everywhere() -> None:
    record = record_answer(question("tds_easy"), "A", ScoringConfig())
    right = dataclasses.replace(record, pred=str(record.gt))
    assert record_answer(question("tds_easy"), str(record.gt), ScoringConfig()).score == 1.0  # one answer: 0 to 1
    document = summary(score_records([right]))
    assert (
        document["scale"] == "0-100"
        and document["average"] == 100.0
        and document["tasks"]["tds_easy"]["score"] == 100.0
    )


def test_thresholds_and_conventions_come_from_the_settings() -> None:
    records = [answer("ed_v", "a", "-124")]  # 10 degrees off
    assert score_records(records).average == 100.0
    assert score_records(records, config=ScoringConfig(angle_thresholds_deg=(5.0, 15.0))).average == 50.0


# --- making records ---


def test_record_of_an_answer() -> None:
    asked = question("gp_v", "uid7")
    truth = asked.truth
    assert isinstance(truth, tuple)
    pred = f"It is at <point>{truth[0]:.0f} {truth[1]:.0f}</point>."
    record = record_answer(
        asked, pred, ScoringConfig(), confidence=math.nan, explanation="why", seconds=2.0, frames_received=16,
        prompt_sha256="ab",
    )  # fmt: skip
    assert record.uid == "uid7" and record.task == "gp_v" and record.pred == pred
    assert record.value == truth and record.parse_status == "parsed" and record.score == 1.0
    assert record.confidence is None and record.frames_received == 16 and record.prompt_sha256 == "ab"
    assert record.gt == asked.raw["answer"] and record.question == asked.raw and record.video == "video1.mp4"


def test_record_of_a_failure_is_neither_read_nor_scored() -> None:
    record = record_answer(question(), "12", ScoringConfig(), status="failed", explanation="HTTP 503")
    assert record.score is None and record.value is None and record.parse_status == ""


def test_frame_counts_tell_runs_apart() -> None:
    kinds = {record_answer(question(), "12", ScoringConfig(), frames_received=n).frames_received for n in (16, 64)}
    assert kinds == {16, 64}


# --- standard errors ---


def test_bootstrap_agrees_with_the_formula() -> None:
    rng = random.Random(3)
    records = [answer("tds_easy", str(i), rng.choice("ABC"), gt=rng.choice("ABC")) for i in range(400)]
    task = score_records(records, config=ScoringConfig(bootstrap_samples=4000)).tasks["tds_easy"]
    assert task.score is not None and task.standard_error is not None
    share = task.score / 100
    assert task.standard_error == pytest.approx(100 * math.sqrt(share * (1 - share) / 400), rel=0.06)


def test_error_of_the_average_is_that_of_independent_tasks() -> None:
    rng = random.Random(4)
    records = [answer(key, f"{key}{i}", rng.choice("ABCD")) for key in ("tds_easy", "tds_hard") for i in range(200)]
    score = score_records(records, config=ScoringConfig(bootstrap_samples=4000))
    errors = [score.tasks[key].standard_error or math.nan for key in ("tds_easy", "tds_hard")]
    assert score.standard_error == pytest.approx(math.hypot(*errors) / 2, rel=0.06)


def test_one_answer_has_no_standard_error() -> None:
    score = score_records([answer("tds_easy", "a", "A"), answer("ed_v", "b", "0"), answer("ed_v", "c", "-134")])
    assert score.tasks["tds_easy"].standard_error is None and score.standard_error is None
    assert score.tasks["ed_v"].standard_error is not None


def test_scores_do_not_depend_on_the_order_of_questions_nor_on_other_tasks() -> None:
    rng = random.Random(5)
    records = [answer(key, f"{key}{i}", rng.choice("ABCD")) for key in ("tds_easy", "tds_hard") for i in range(50)]
    shuffled = rng.sample(records, len(records))
    assert score_records(records) == score_records(shuffled)
    alone = score_records([r for r in records if r.task == "tds_hard"])
    assert alone.tasks["tds_hard"] == score_records(records).tasks["tds_hard"]
    assert score_records(records, config=ScoringConfig(bootstrap_seed=1)) != score_records(records)


# --- the random answerer against theory ---

Chance = Callable[[Any], tuple[float, float]]


def chances(config: RandomConfig, scoring: ScoringConfig) -> dict[str, Chance]:
    """For each metric, mean and variance of the score of a uniform guess, by counting all guesses for one truth."""

    def of(scores: list[float]) -> tuple[float, float]:
        return float(np.mean(scores)), float(np.var(scores))

    @functools.cache
    def angle(truth: float) -> tuple[float, float]:
        return of([angle_score(guess, truth, scoring.angle_thresholds_deg) for guess in range(-179, 181)])

    @functools.cache
    def distance(truth: float) -> tuple[float, float]:
        low, high = round(config.random_range_low_m * 10), round(config.random_range_high_m * 10)
        return of([mra_score(guess / 10, truth, scoring.mra_thetas) for guess in range(low, high + 1)])

    def point(truth: tuple[float, float]) -> tuple[float, float]:
        thresholds = sorted(scoring.point_thresholds_999)
        grid = np.arange(1000.0)
        mean = square = 0.0
        for index, threshold in enumerate(thresholds):
            # Whole numbers y of each column x that are strictly inside the circle and on the grid.
            half = np.sqrt(np.maximum(threshold**2 - (grid - truth[0]) ** 2, 0.0))
            low = np.maximum(np.floor(truth[1] - half) + 1, 0.0)
            high = np.minimum(np.ceil(truth[1] + half) - 1, 999.0)
            share = float(np.maximum(high - low + 1, 0.0).sum()) / 1000**2
            # The circles are nested: k hits out of n are the k largest, and k*k = 1 + 3 + ... + (2k-1).
            mean += share / len(thresholds)
            square += share * (2 * (len(thresholds) - index) - 1) / len(thresholds) ** 2
        return mean, square - mean * mean

    assert point_score((100.0, 250.0), (100.0, 100.0), (100.0, 150.0, 200.0)) == pytest.approx(1 / 3)
    return {"angle": angle, "mra": distance, "point": point, "acc": lambda truth: (0.25, 0.1875)}


def test_random_guesses_score_what_theory_says() -> None:
    scoring, guesses = ScoringConfig(), RandomConfig()
    questions = synthetic_questions()
    assert len(questions) == 2762
    answerer, memory = RandomGuess(guesses), KeyframeStore()
    records = []
    for asked in questions:
        query = Query(asked.uid, asked.task.key, asked.texts, (b"",) * len(asked.images))
        records.append(record_answer(asked, answerer.answer(query, memory).text, scoring))
    score = score_records(records, config=scoring)
    assert (score.answered, score.unparsed, score.tasks_scored) == (2762, 0, 12)
    chance = chances(guesses, scoring)
    for key, task in TASKS.items():
        expected = [chance[task.metric](asked.truth) for asked in questions if asked.task.key == key]
        mean = 100 * float(np.mean([e[0] for e in expected]))
        error = 100 * math.sqrt(sum(e[1] for e in expected)) / len(expected)
        found = score.tasks[key]
        assert found.score is not None and found.standard_error is not None
        assert found.answered == load_leaderboard().question_counts[key] == len(expected)
        assert abs(found.score - mean) < 4 * error, (key, found.score, mean, error)
        if task.metric in ("angle", "acc"):
            # Continuous angles give 16.67; whole degrees and strict thresholds 16.39.
            assert mean == pytest.approx({"angle": 16.39, "acc": 25.0}[task.metric], abs=0.01)
            assert abs(found.score - {"angle": 16.7, "acc": 25.0}[task.metric]) < 4 * error
        # The bootstrap's error also holds the spread of difficulty over questions, so it is somewhat larger.
        assert 0.8 * error < found.standard_error < 1.5 * error
    published = next(row for row in load_leaderboard().rows if row.kind == "random").average
    assert score.average is not None and abs(score.average - published) < 5.0


# --- what people see ---


def test_table_and_reasons() -> None:
    records = [answer("ed_v", "a", "-134"), answer("tds_easy", "b", ""), answer("tds_easy", "c", "C")]
    skips = [Skipped(str(i), "gp_v", f"video v{i % 12}.mp4 missing") for i in range(15)]
    score = score_records(records, skips)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(score_table(score, "run [b]1"))
    text = console.export_text()
    assert "run [b]1" in text
    assert "Average of 2 of 12 tasks" in text and "75.00" in text and "Not the benchmark's score" in text
    assert "Egocentric direction (visual)" in text and "Self orientation" not in text
    reasons = skip_reasons(score, limit=10)
    assert reasons[0] == "2 skipped: video v0.mp4 missing" and len(reasons) == 12
    assert "1 skipped: video v3.mp4 missing (3)" in reasons  # a single one is named
    assert reasons[-2] == "2 skipped for 2 more reasons (all are in summary.json)"
    assert "--data-root" in reasons[-1]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 140])
@pytest.mark.parametrize("answered", [1, 300_000])
def test_no_number_is_cut_in_a_narrow_terminal(width: int, answered: int) -> None:
    tasks = {key: TaskScore(key, 100.0, 10.25, answered, answered, 3, answered) for key in TASKS}
    skipped = (Skipped("u", None, "gone"),) * 12
    console = Console(width=width, record=True, file=io.StringIO())
    print_score_table(console, RunScore(tasks, 100.0, 10.25, 12, skipped))
    text = console.export_text()
    assert "…" not in text
    rows = [line.split() for line in text.splitlines() if "100.00" in line]
    assert len(rows) == 13
    counts = ["100.00", "10.25", *map(str, (answered, answered, 3, answered))]
    assert all(row[-6:] == counts for row in rows[:-1]) and rows[-1][-1] == "12"


def test_columns_of_nothing_but_zeros_give_way_in_a_narrow_terminal() -> None:
    score = score_records([answer("ed_v", "a", "?"), answer("ed_v", "b", "0")])
    console = Console(width=40, record=True, file=io.StringIO())
    print_score_table(console, score)
    head = next(line for line in console.export_text().splitlines() if line.startswith("Task"))
    assert head.split() == ["Task", "Score", "±", "n", "bad"]


def test_summary_has_the_agreed_shape() -> None:
    skip = Skipped("s", "gp_v", "video v.mp4 missing", "q.json", "copied_video_path")
    score = score_records([answer("ed_v", "a", "-134"), answer("ed_v", "b", "")], [skip])
    videos = [
        {"video": "a.mp4", "frames_sent": 100, "frames_received": 60},  # played again after a resume
        {"video": "a.mp4", "frames_sent": 535, "frames_received": 535},
        {"video": "b.mp4", "frames_sent": 10, "frames_received": 9},
    ]
    document = json.loads(json.dumps(summary(score, videos)))
    assert document["average"] == 50.0 and document["tasks_scored"] == 1
    assert document["tasks"]["ed_v"]["score"] == 50.0 and document["tasks"]["ed_v"]["answered"] == 2
    assert document["skipped"] == [skip.to_json()]
    assert document["unparsed"] == 1 and document["failed"] == 0
    assert (document["frames_sent"], document["frames_received"], document["playbacks"]) == (545, 544, 3)


# --- gst score ---


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    header = RunHeader({"name": "scripted"}, config={"scoring": {"angle_thresholds_deg": [5.0, 15.0]}})
    with RunFolder.open(tmp_path / "run", header) as run:
        run.append_skip(Skipped("s", "gp_v", "video v.mp4 missing", "q.json", "copied_video_path"))
        run.append_video({"video": "a.mp4", "frames_sent": 5, "frames_received": 5})
        run.append_answer(answer("ed_v", "a", "-124"))
        run.append_answer(answer("ed_v", "b", "", status="failed", explanation="HTTP 503"))
    return tmp_path / "run"


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(score_command.command, [str(word) for word in arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert result.return_value == 0
    return result.output


def test_score_a_run_with_its_own_and_with_other_settings(run_folder: Path, tmp_path: Path) -> None:
    document = json.loads(invoke(run_folder, "--json"))
    assert document["average"] == 50.0 and document["failed"] == 1 and document["frames_sent"] == 5
    assert document["skipped"][0]["reason"] == "video v.mp4 missing"
    assert json.loads(invoke(run_folder / "records.jsonl", "--json")) == document
    settings = tmp_path / "bench.yaml"
    settings.write_text("angle_thresholds_deg: [11, 12, 13]\n")
    assert json.loads(invoke(run_folder, "--json", "--config", settings))["average"] == 100.0
    for text in ("[3, 4]", "3,4"):
        other = json.loads(invoke(run_folder, "--json", "--config", settings, "--set", f"angle_thresholds_deg={text}"))
        assert other["average"] == 0.0 and other["scoring"]["angle_thresholds_deg"] == [3.0, 4.0]


def test_score_prints_a_table_and_the_reasons(run_folder: Path) -> None:
    text = invoke(run_folder)
    assert "Egocentric direction (visual)" in text and "50.00" in text
    assert "1 skipped: video v.mp4 missing" in text


def test_score_a_run_that_goes_on(run_folder: Path) -> None:
    with (run_folder / "records.jsonl").open("ab") as stream:
        stream.write(b'{"kind": "answer", "uid": "half')
        stream.flush()
        assert json.loads(invoke(run_folder, "--json"))["answered"] == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--set", "angle_threshold_deg=5"], "did you mean 'angle_thresholds_deg'"),
        (["--set", "bootstrap_samples"], "is not name=value"),
        (["--set", "bootstrap_samples=many"], "expected int"),
        (["--set", "bootstrap_samples=["], "is not YAML"),
        (["--set", "angle_thresholds_deg=1,["], "is not YAML"),
        (["--set", "bootstrap_samples=" + "[" * 5000], "64 levels"),
        (["--config", "{cycle}"], "refers to itself"),
        (["--config", "gone.yaml"], "gone.yaml: cannot be read"),
        (["--config", "{broken}"], "is not YAML"),
        (["--config", "{list}"], "is not a mapping"),
    ],
)
def test_wrong_settings_are_one_line(run_folder: Path, tmp_path: Path, arguments: list[str], problem: str) -> None:
    for name, text in (("broken", "a: [1,\n b: }"), ("list", "- 1"), ("cycle", "a: &a [*a]")):
        (tmp_path / f"{name}.yaml").write_text(text)
        arguments = [word.replace(f"{{{name}}}", str(tmp_path / f"{name}.yaml")) for word in arguments]
    with pytest.raises(GstError) as caught:
        invoke(run_folder, *arguments)
    assert problem in str(caught.value) and "\n" not in str(caught.value)


def test_score_of_nothing(tmp_path: Path) -> None:
    for path, problem in (
        (tmp_path, "holds neither a run nor official results"),
        (tmp_path / "gone", "does not exist"),
    ):
        with pytest.raises(GstError, match=problem):
            invoke(path)
