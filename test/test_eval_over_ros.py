"""The whole path over ROS: player, memory and evaluator as processes, as ``gst eval`` starts them."""

from __future__ import annotations

import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import pytest
from ros_runs import GstRun, wait_until
from tiny_set import make_question, make_set, make_video, presentation_times_ns, records_of, write_questions

from gst_ros.cli.main import run as gst
from gst_ros.environment import share_dir
from gst_ros.media.clip import open_clip
from gst_ros.media.frames import StampDigest

pytestmark = pytest.mark.usefixtures("ros_domain")

QUESTIONS = 40


def digest(stamps_ns: list[int]) -> str:
    result = StampDigest()
    for stamp_ns in stamps_ns:
        result.add(stamp_ns)
    return result.sha256


def answers_of(run: Path) -> dict[str, Any]:
    return {record["uid"]: record["pred"] for record in records_of(run, "answer")}


def scripted(folder: Path) -> Path:
    file = folder / "answers.json"
    file.write_text(json.dumps({f"question_{number:03d}": f"answer {number}" for number in range(QUESTIONS)}))
    return file


def test_every_frame_arrives_and_the_answers_are_those_of_one_process(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=1, questions=8, frames=3)
    stamps_ns = make_video(tmp_path / "set" / "film.mp4", frames=60)
    videos = ["film.mp4", "clip0"]
    records = [make_question(number, videos[number % 2]) for number in range(8)]
    (tmp_path / "set" / "torn.mp4").write_bytes(b"no video" * 1000)
    write_questions(file, [*records, make_question(8, "torn.mp4"), make_question(9, "gone.mp4")])

    with GstRun("eval", "--questions", file, "--output", tmp_path / "ros", "--seed", 5) as run:
        assert run.wait() == 0, run.errors()
        assert run.alive() == []
    film, clip = records_of(tmp_path / "ros", "video")
    assert (film["mode"], film["frames_sent"], film["frames_received"]) == ("lockstep", 60, 60)
    assert film["received_sha256"] == film["sent_sha256"] == digest(stamps_ns)
    assert (clip["frames_received"], clip["frames_refused"], clip["lossless"]) == (3, 0, True)
    header = json.loads((tmp_path / "ros" / "run.json").read_text())
    assert header["answerer"]["answerer_seed"] == 5 and header["info"]["transport"] == "ros"
    skipped = {skip["uid"]: skip["reason"] for skip in records_of(tmp_path / "ros", "skip")}
    assert "torn.mp4" in skipped["question_008"] and skipped["question_009"] == "video gone.mp4 missing"

    assert gst(["eval", "--no-ros", "--questions", str(file), "--output", str(tmp_path / "local"), "--seed", "5"]) == 0
    assert len(answers_of(tmp_path / "ros")) == 8
    assert answers_of(tmp_path / "ros") == answers_of(tmp_path / "local")
    local = {video["video"]: video["received_sha256"] for video in records_of(tmp_path / "local", "video")}
    assert {video["video"]: video["received_sha256"] for video in (film, clip)} == local


def test_maps_and_answers_over_ros_are_those_of_one_process(tmp_path: Path) -> None:
    """The camera is told on topics of its own, a little late; what is mapped and answered must not depend on that."""
    (place,) = (file.parent for file in (share_dir() / "demo").glob("*/questions.json"))
    record = next(r for r in json.loads((place / "questions.json").read_text()) if "Trajection" in r["task"])
    (tmp_path / "short").mkdir()
    with open_clip(place / record["copied_video_path"]) as clip:
        for k, frame in zip(range(40), clip, strict=False):
            if k % 2 == 0:
                cv2.imwrite(str(tmp_path / "short" / f"{k:03d}.png"), frame.image_rgb[:, :, ::-1])
    record["copied_video_path"] = "short"
    shutil.copy(place / "camera.json", tmp_path / "short")
    (tmp_path / "questions.json").write_text(json.dumps([record]))
    options = ["--questions", str(tmp_path / "questions.json"), "--data-root", str(place), "--answerer", "memory"]
    options += ["--set", "spatial_reasoning.map_features=sift"]
    with GstRun("eval", *options, "--output", tmp_path / "ros") as run:
        assert run.wait() == 0, run.errors()
    assert gst(["eval", "--no-ros", *options, "--output", str(tmp_path / "local")]) == 0
    (ros,), (local,) = (records_of(tmp_path / name, "answer") for name in ("ros", "local"))
    assert ros["pred"] == local["pred"]
    assert ros["evidence"] == local["evidence"] and ros["evidence"]["step"] == "map"
    assert ros["confidence"] == pytest.approx(local["confidence"]) and ros["explanation"] == local["explanation"]


def test_the_official_video_arrives_whole(tmp_path: Path, shared_dir: Path) -> None:
    samples = shared_dir / "gst_bench" / "samples"
    with GstRun("eval", "--questions", samples, "--answerer", "random", "--output", tmp_path / "run") as run:
        assert run.wait() == 0, run.errors()
    (video,) = records_of(tmp_path / "run", "video")
    assert (video["frames_sent"], video["frames_received"], video["frames_refused"]) == (535, 535, 0)
    assert video["received_sha256"] == digest(presentation_times_ns(samples / "tds_medium_scene16" / "video1.mp4"))
    assert list(answers_of(tmp_path / "run")) == ["scene16_Topdown_Selection_Medium_video_1"]
    skips = records_of(tmp_path / "run", "skip")
    assert len(skips) == 7
    assert all(skip["reason"].startswith("video ") and skip["reason"].endswith(" missing") for skip in skips)


@pytest.mark.parametrize(
    "victims",
    [("evaluator", "camera_player", "spatial_reasoning"), ("evaluator", "runner", "SIGTERM")],
    ids=lambda victims: "-".join(victims),
)
def test_a_run_goes_on_after_every_way_to_die(tmp_path: Path, victims: tuple[str, ...]) -> None:
    file = make_set(tmp_path / "set", videos=2, questions=QUESTIONS, frames=3)
    options = ["--questions", file, "--output", tmp_path / "run", "--answerer", "scripted"]
    options += ["--answers", scripted(tmp_path), "--set", "spatial_reasoning.answer_delay_s=0.1"]
    moments = random.Random("-".join(victims))
    kept = 0
    for victim in victims:
        # Each time at once after the last, while the middleware may still believe that a dead node is there.
        with GstRun("eval", *options) as run:
            run.wait_for_answers(tmp_path / "run", kept + moments.randrange(1, 5))
            END[victim](run, victim)
        kept = len(records_of(tmp_path / "run", "answer"))
        assert kept < QUESTIONS
    with GstRun("eval", *options) as run:
        assert run.wait() == 0, run.errors()
        assert f"{kept} of them answered before" in run.errors()
    answers = collections.Counter((record["uid"], record["pred"]) for record in records_of(tmp_path / "run", "answer"))
    assert answers == {(f"question_{number:03d}", f"answer {number}"): 1 for number in range(QUESTIONS)}


def kill_node(run: GstRun, name: str) -> None:
    os.kill(run.node(name).pid, signal.SIGKILL)
    assert run.wait() == 3
    assert f"node {name} was killed by SIGKILL" in run.errors()
    assert run.alive() == []


def kill_runner(run: GstRun, name: str) -> None:
    assert set(run.nodes()) == {"camera_player", "spatial_reasoning", "evaluator"}
    run.popen.kill()
    run.popen.wait()
    wait_until(lambda: run.alive() == [], "the end of all nodes", seconds=30)


def terminate(run: GstRun, name: str) -> None:
    run.popen.send_signal(signal.SIGTERM)
    assert run.wait() == 128 + signal.SIGTERM
    assert f"of {QUESTIONS} questions are answered and kept" in run.errors() and "Traceback" not in run.errors()
    assert run.alive() == []


END = {
    "evaluator": kill_node,
    "camera_player": kill_node,
    "spatial_reasoning": kill_node,
    "runner": kill_runner,
    "SIGTERM": terminate,
}


def test_two_systems_on_one_domain_are_an_error_and_a_missing_node_is_named(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=1, questions=1, frames=3)
    alone = [sys.executable, "-m", "gst_ros.nodes.evaluator", "--ros-args", "-p", f"questions:={file}"]
    alone += ["-p", f"output:={tmp_path / 'alone'}", "-p", "start_timeout_s:=1.0"]
    done = subprocess.run(alone, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert "service /camera_player/load of node camera_player is not there" in done.stderr
    assert not (tmp_path / "alone" / "records.jsonl").exists()

    other = subprocess.Popen(
        [sys.executable, "-m", "gst_ros.nodes.camera_player", "--ros-args", "-p", f"path:={file.parent / 'clip0'}"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert other.stderr is not None and "clip0" in other.stderr.readline()
        options = ["--questions", file, "--output", tmp_path / "run", "--set", "evaluator.start_timeout_s=4.0"]
        options += ["--set", "evaluator.settle_s=60"]  # on a busy machine discovery may take some
        with GstRun("eval", *options) as run:
            assert run.wait() == 3
            assert "there are 2 nodes named /camera_player" in run.errors()
    finally:
        other.kill()
        other.wait()
    assert not (tmp_path / "run" / "records.jsonl").exists()


def test_a_wrong_setting_of_a_node_is_shown_and_gives_exit_code_2(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=1, questions=1, frames=3)
    with GstRun("eval", "--questions", file, "--output", tmp_path / "run", "--answerer", "randon") as run:
        assert run.wait() == 2
        assert "did you mean 'random'?" in run.errors() and "Traceback" not in run.errors()
        assert run.alive() == []
