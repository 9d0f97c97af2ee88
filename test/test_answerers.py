"""Random and scripted answerers, and their registry."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest

from gst_ros.bench.answers import parse_answer
from gst_ros.bench.tasks import TASKS, find_task
from gst_ros.errors import AnswererError, ConfigError
from gst_ros.memory.keyframes import KeyframeStore
from gst_ros.reasoning.answerer import Query
from gst_ros.reasoning.random_guess import RandomConfig, RandomGuess
from gst_ros.reasoning.registry import ANSWERERS, make_answerer
from gst_ros.reasoning.scripted import Scripted, ScriptedConfig, read_answers

EMPTY = KeyframeStore()
UIDS = [f"question-{i}" for i in range(4000)]


def guesses(task: str, seed: int = 0, images: int = 0, **config) -> list[str]:
    answerer = RandomGuess(RandomConfig(answerer_seed=seed, **config))
    return [answerer.answer(Query(uid, task, images=(b"",) * images), EMPTY).text for uid in UIDS]


def within_chance(count: int, p: float, n: int = len(UIDS)) -> bool:
    return abs(count - n * p) < 4.5 * math.sqrt(n * p * (1 - p))


@pytest.mark.parametrize("task", list(TASKS))
def test_every_guess_parses_within_the_answer_space(task):
    for text in guesses(task)[:300]:
        parsed = parse_answer(find_task(task), text)
        assert parsed.status == "parsed", text


def test_letters_are_uniform_over_as_many_options_as_there_are_images():
    four = Counter(guesses("tds_easy", images=4))
    assert set(four) == set("ABCD") and all(within_chance(count, 1 / 4) for count in four.values())
    assert set(guesses("trajectory", images=3)) == set("ABC")
    assert set(guesses("tds_hard", images=0)) == set("ABCD")


def test_angles_are_uniform_over_360_directions():
    angles = [int(text) for text in guesses("ed_v")]
    assert min(angles) >= -179 and max(angles) <= 180
    assert len(set(angles)) == 360
    for low in range(-180, 180, 45):
        assert within_chance(sum(low < a <= low + 45 for a in angles), 1 / 8)


def test_points_are_uniform_in_both_coordinates():
    points = [tuple(map(int, text[len("<point>") : -len("</point>")].split())) for text in guesses("gp_s")]
    for axis in (0, 1):
        assert min(p[axis] for p in points) >= 0 and max(p[axis] for p in points) <= 999
        for low in range(0, 1000, 250):
            assert within_chance(sum(low <= p[axis] < low + 250 for p in points), 1 / 4)
    # The coordinates are drawn apart: each quarter of the square holds a quarter of the points.
    assert within_chance(sum(x < 500 and y < 500 for x, y in points), 1 / 4)


def test_distances_are_uniform_in_the_set_range_with_one_decimal():
    texts = guesses("edist_v", random_range_low_m=2.0, random_range_high_m=4.9)
    assert all(len(text) == 3 and text[1] == "." for text in texts)
    values = Counter(texts)
    assert set(values) == {f"{dm / 10:.1f}" for dm in range(20, 50)}
    assert all(within_chance(count, 1 / 30) for count in values.values())


def test_guesses_depend_on_seed_and_uid_alone():
    answerer = RandomGuess(RandomConfig(answerer_seed=5))
    forward = {uid: answerer.answer(Query(uid, "position"), EMPTY).text for uid in UIDS[:50]}
    backward = {uid: answerer.answer(Query(uid, "position"), EMPTY).text for uid in reversed(UIDS[:50])}
    assert forward == backward
    assert guesses("position", seed=5)[:50] == list(forward.values()) != guesses("position", seed=6)[:50]


def test_guesses_are_the_same_in_another_process():
    code = (
        "from gst_ros.reasoning.registry import make_answerer\n"
        "from gst_ros.reasoning.answerer import Query\n"
        "from gst_ros.memory.keyframes import KeyframeStore\n"
        "a = make_answerer('random', {'answerer_seed': 3})\n"
        "print(*[a.answer(Query(u, t), KeyframeStore()).text for u in ('a', 'ü') for t in ('ed_v', 'edist_s', 'gp_v')],"
        " sep='|')"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60, env=environment
    )
    answerer = make_answerer("random", {"answerer_seed": 3})
    here = [answerer.answer(Query(u, t), EMPTY).text for u in ("a", "ü") for t in ("ed_v", "edist_s", "gp_v")]
    assert result.stdout.strip() == "|".join(here)


def test_a_range_upside_down_is_refused():
    with pytest.raises(ConfigError, match="random_range_low_m"):
        RandomConfig(random_range_low_m=5.0, random_range_high_m=1.0)


RECORDS = [{"uid": "a", "answer": "B"}, {"uid": "b", "pred": 13.2}]
FILES = {
    "map.json": json.dumps({"a": "B", "b": 13.2}),
    "list.json": json.dumps(RECORDS),
    "lines.jsonl": "\n".join(map(json.dumps, RECORDS)) + "\n\n",
    "map.yaml": "a: B\nb: 13.2\n",
    "list.yml": "- {uid: a, answer: B}\n- {uid: b, pred: 13.2}\n",
}


@pytest.mark.parametrize("name", FILES)
def test_every_form_of_file_reads_alike(tmp_path, name):
    (tmp_path / name).write_text(FILES[name])
    assert read_answers(tmp_path / name) == {"a": "B", "b": "13.2"}


def test_pred_wins_over_answer_as_official_results_carry_the_truth_as_answer(tmp_path):
    file = tmp_path / "results.json"
    file.write_text(json.dumps([{"uid": "a", "answer": "B", "pred": "C"}]))
    assert read_answers(file) == {"a": "C"}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", "{'a': 'B'}", "is not JSON"),
        ("a.json", "", "is not JSON"),
        ("a.json", '"text"', "neither a mapping"),
        ("a.json", '{"a": "B", "a": "C"}', "two different answers"),
        ("a.json", '[{"answer": "B"}]', "record 1 has no uid"),
        ("a.json", '[{"uid": "a"}]', "record 1 .'a'. has no answer"),
        ("a.json", '{"a": null}', "the answer is a null"),
        ("a.json", '{"a": {"text": "B"}}', "not a text or number"),
        ("a.jsonl", '{"uid": "a", "answer": "B"}\n{"uid": "b", "ans', r"a\.jsonl:2"),
        ("a.yaml", "a: y\nb: *c\n", "is not YAML"),
        ("a.yaml", "a: yes\n", "quote them"),
        ("a.yaml", "a: !!python/object/apply:os.getcwd []\n", "is not YAML"),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=says) as caught:
        read_answers(tmp_path / name)
    assert name in str(caught.value) and "\n" not in str(caught.value)


def test_binary_and_missing_files_are_named(tmp_path):
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"b\.json.*UTF-8"):
        read_answers(tmp_path / "b.json")
    with pytest.raises(ConfigError, match=r"none\.json.*No such file"):
        read_answers(tmp_path / "none.json")


def scripted(tmp_path, **config) -> Scripted:
    (tmp_path / "a.json").write_text('{"a": "B"}')
    return Scripted(ScriptedConfig(answers_file=str(tmp_path / "a.json"), **config))


def test_scripted_answers_and_names_the_missing_uid_and_the_file(tmp_path):
    answerer = scripted(tmp_path)
    assert answerer.answer(Query("a", "tds_easy"), EMPTY).text == "B"
    with pytest.raises(AnswererError, match=r"a\.json: no answer for uid 'zzz'"):
        answerer.answer(Query("zzz", "tds_easy"), EMPTY)


def test_failures_can_be_asked_for(tmp_path):
    with pytest.raises(AnswererError, match="answer_failures"):
        scripted(tmp_path, answer_failures=("a",)).answer(Query("a", "tds_easy"), EMPTY)
    with pytest.raises(AnswererError, match="answer_failures"):
        scripted(tmp_path, answer_failures=("*",)).answer(Query("a", "tds_easy"), EMPTY)
    assert scripted(tmp_path, answer_failures=("b",)).answer(Query("a", "tds_easy"), EMPTY).text == "B"


def test_the_delay_is_waited(tmp_path, monkeypatch):
    slept = []
    monkeypatch.setattr("gst_ros.reasoning.scripted.time", SimpleNamespace(sleep=slept.append))
    scripted(tmp_path, answer_delay_s=5.0).answer(Query("a", "tds_easy"), EMPTY)
    assert slept == [5.0]


def test_scripted_without_a_file_says_so():
    with pytest.raises(ConfigError, match="answers_file"):
        make_answerer("scripted", {})


def test_registry_names_the_nearest_and_refuses_unknown_options():
    with pytest.raises(ConfigError, match="did you mean 'scripted'"):
        make_answerer("script", {})
    with pytest.raises(ConfigError, match="known: memory, random, scripted"):
        make_answerer("xyzzy", {})
    with pytest.raises(ConfigError, match="did you mean 'answerer_seed'"):
        make_answerer("random", {"answerer_sed": 1})
    with pytest.raises(ConfigError, match="answerer_seed"):
        make_answerer("random", {"answerer_seed": -1})


def test_options_of_other_answerers_are_left_alone():
    assert make_answerer("random", {"answers_file": "none.json", "answerer_seed": 1}).name == "random"
    for name in set(ANSWERERS) - {"scripted"}:  # which needs its file
        assert make_answerer(name, {"answers_file": "none.json"}).name == name
