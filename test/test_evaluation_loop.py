"""The evaluation loop with a session that the test scripts."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from clip_makers import write_video
from tiny_set import make_clip, make_question, make_set, records_of, write_questions

from gst_ros.bench.metrics import ScoringConfig
from gst_ros.errors import ConfigError, MediaError, QuestionError, RunError, SessionError
from gst_ros.evaluation.local import LocalSession
from gst_ros.evaluation.loop import make_header, prompt_sha256, read_questions, run_evaluation
from gst_ros.evaluation.plan import EvaluationConfig, plan, read_scoring
from gst_ros.evaluation.progress import Progress, ProgressLines
from gst_ros.evaluation.session import Playback, ProgressCallback, Reply
from gst_ros.evaluation.stopping import Stopped, StopSignals
from gst_ros.reasoning.answerer import Query
from gst_ros.reasoning.engine import ReasoningConfig


class ScriptedSession:
    """Does what the test says and writes down what it was asked to do."""

    def __init__(
        self,
        answer: Callable[[Query], Reply] | None = None,
        play: Callable[[Path], Playback] | None = None,
        mode: str = "in-process",
    ) -> None:
        self.played: list[str] = []
        self.asked: list[str] = []
        self.forgot = 0
        self.closed = 0
        self._answer = answer or (lambda query: reply("C"))
        self._play = play or (lambda video: playback(video, mode=mode))
        self._mode = mode

    def describe(self) -> Mapping[str, Any]:
        return {"reasoning": ReasoningConfig().to_mapping(), "transport": "test", "mode": self._mode}

    def play(self, video: Path, progress: ProgressCallback) -> Playback:
        self.played.append(video.name)
        progress(0.5, 1.0)
        return self._play(video)

    def forget(self) -> None:
        self.forgot += 1

    def ask(self, query: Query) -> Reply:
        self.asked.append(query.uid)
        return self._answer(query)

    def close(self) -> None:
        self.closed += 1


def reply(text: str) -> Reply:
    return Reply("answered", text, 0.5, "because", 0.01)


def failure(reason: str) -> Reply:
    return Reply("failed", "", None, reason, 0.01)


def playback(video: Path, sent: int = 6, received: int = 6, mode: str = "in-process", refused: int = 0) -> Playback:
    dropped = sent - received
    return Playback(str(video), mode, sent, received, dropped, 0, refused, 0, 1, f"s{sent}", f"s{received}", 0.1)


def run_loop(questions: Path, output: Path, session: ScriptedSession, **settings: Any) -> int:
    config = EvaluationConfig(questions=str(questions), output=str(output), **settings)
    with StopSignals() as stop:
        return run_evaluation(config, lambda: session, stop)


def summary_of(run: Path) -> dict[str, Any]:
    return json.loads((run / "summary.json").read_text())


def test_each_video_is_played_once_and_all_its_questions_asked(tmp_path: Path) -> None:
    session = ScriptedSession()
    assert run_loop(make_set(tmp_path / "set", videos=3, questions=8), tmp_path / "run", session) == 0
    assert session.played == ["clip0", "clip1", "clip2"]
    assert session.asked == [f"question_{n:03d}" for n in (0, 3, 6, 1, 4, 7, 2, 5)]
    assert session.closed >= 1
    assert [r["uid"] for r in records_of(tmp_path / "run", "answer")] == session.asked
    assert summary_of(tmp_path / "run")["complete"] is True


def test_links_to_one_video_are_one_video(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=1, questions=1)
    (file.parent / "link").symlink_to(file.parent / "clip0")
    write_questions(file, [make_question(0, "clip0"), make_question(1, "link")])
    session = ScriptedSession()
    run_loop(file, tmp_path / "run", session)
    assert session.played == ["clip0"]


def test_resume_asks_only_what_is_missing_in_the_same_order_of_videos(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=2, questions=6)

    def die_at_the_third(query: Query) -> Reply:
        if len(first.asked) == 3:
            raise SessionError("node spatial_reasoning is gone")
        return reply("C")

    first = ScriptedSession(die_at_the_third)
    with pytest.raises(SessionError, match="spatial_reasoning"):
        run_loop(file, tmp_path / "run", first)
    kept = summary_of(tmp_path / "run")
    assert (kept["answered"], kept["complete"]) == (2, False)

    second = ScriptedSession()
    assert run_loop(file, tmp_path / "run", second) == 0
    assert second.played == ["clip0", "clip1"]
    assert second.asked == ["question_004", "question_001", "question_003", "question_005"]

    third = ScriptedSession()
    assert run_loop(file, tmp_path / "run", third) == 0
    assert (third.played, third.asked) == ([], [])


def test_failed_answers_are_recorded_reported_and_asked_again(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", questions=4)
    broken = ScriptedSession(lambda query: failure("no GPU") if query.uid == "question_001" else reply("C"))
    with pytest.raises(SessionError, match=r"that failed: 1; run the same command again .*question_001: no GPU"):
        run_loop(file, tmp_path / "run", broken)
    summary = summary_of(tmp_path / "run")
    assert (summary["answered"], summary["failed"], summary["unparsed"]) == (3, 1, 2)

    mended = ScriptedSession()
    assert run_loop(file, tmp_path / "run", mended) == 0
    assert mended.asked == ["question_001"]
    assert summary_of(tmp_path / "run")["failed"] == 0


@pytest.mark.parametrize("text", ["", "  C \n", "I can't tell", "–134 \u200b deg", "<think>B</think>\r\nC", "\ud800"])
def test_answers_are_kept_as_they_came(tmp_path: Path, text: str) -> None:
    run_loop(make_set(tmp_path / "set", questions=1), tmp_path / "run", ScriptedSession(lambda query: reply(text)))
    assert [r["pred"] for r in records_of(tmp_path / "run", "answer")] == [text]


def test_an_unreadable_video_skips_its_questions_and_no_others(tmp_path: Path) -> None:
    def play(video: Path) -> Playback:
        if video.name == "clip0":
            raise MediaError("holds no frame", file=video)
        return playback(video)

    session = ScriptedSession(play=play)
    assert run_loop(make_set(tmp_path / "set", videos=2, questions=4), tmp_path / "run", session) == 0
    assert session.asked == ["question_001", "question_003"]
    summary = summary_of(tmp_path / "run")
    assert [skip["uid"] for skip in summary["skipped"]] == ["question_000", "question_002"]
    assert all("clip0" in skip["reason"] and "holds no frame" in skip["reason"] for skip in summary["skipped"])
    assert summary["complete"] is True


def test_an_image_that_vanishes_meanwhile_skips_one_question(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=1, questions=3)

    def play(video: Path) -> Playback:
        (file.parent / "view1.png").unlink()  # only question_002 has two views
        return playback(video)

    session = ScriptedSession(play=play)
    assert run_loop(file, tmp_path / "run", session) == 0
    assert session.asked == ["question_000", "question_001"]
    (skip,) = summary_of(tmp_path / "run")["skipped"]
    assert skip["uid"] == "question_002" and "view1.png" in skip["reason"]


@pytest.mark.parametrize(("received", "refused"), [(5, 0), (6, 1), (0, 0)])
def test_lost_or_repeated_frames_in_lockstep_end_the_run_before_any_question(
    tmp_path: Path, received: int, refused: int
) -> None:
    session = ScriptedSession(
        play=lambda video: playback(video, received=received, refused=refused, mode="lockstep"), mode="lockstep"
    )
    with pytest.raises(SessionError, match=f"6 sent, {received} taken in, {refused} refused"):
        run_loop(make_set(tmp_path / "set"), tmp_path / "run", session)
    assert session.asked == []
    (video,) = records_of(tmp_path / "run", "video")
    assert (video["frames_received"], video["lossless"]) == (received, False)


def test_real_time_may_lose_frames_and_says_so_but_not_all(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=1, questions=1)
    some = ScriptedSession(play=lambda video: playback(video, received=4, mode="realtime"), mode="realtime")
    assert run_loop(file, tmp_path / "some", some, mode="realtime") == 0
    assert records_of(tmp_path / "some", "answer")[0]["frames_received"] == 4
    summary = summary_of(tmp_path / "some")
    assert (summary["frames_sent"], summary["frames_received"], summary["frames_dropped"]) == (6, 4, 2)
    none = ScriptedSession(play=lambda video: playback(video, received=0, mode="realtime"), mode="realtime")
    with pytest.raises(SessionError, match="none of 6 frames arrived"):
        run_loop(file, tmp_path / "none", none, mode="realtime")
    assert none.asked == []


def test_a_damaged_video_is_named_and_counted_wherever_one_looks(tmp_path: Path, capfd) -> None:
    file = make_set(tmp_path / "set", videos=2, questions=3)
    whole = write_video(tmp_path / "whole.mp4", 40, container_options={"movflags": "faststart"})
    content = whole.read_bytes()
    (file.parent / "walk.mp4").write_bytes(content[: len(content) * 3 // 4])
    write_questions(file, [make_question(0, "clip0"), make_question(1, "walk.mp4"), make_question(2, "walk.mp4")])
    config = EvaluationConfig(questions=str(file), output=str(tmp_path / "run"))
    with StopSignals() as stop:
        assert run_evaluation(config, lambda: LocalSession(ReasoningConfig()), stop) == 0
    clip, walk = records_of(tmp_path / "run", "video")
    damaged = walk["frames_damaged"]
    assert (clip["damaged"], clip["frames_damaged"], clip["lossless"]) == (False, 0, True)
    assert (walk["damaged"], walk["frames_sent"] + damaged, walk["lossless"]) == (True, 40, True)
    assert 0 < damaged < 40
    summary = summary_of(tmp_path / "run")
    assert summary["frames_damaged"] == damaged
    assert [(Path(video).name, count) for video, count in summary["videos_damaged"].items()] == [("walk.mp4", damaged)]
    out, err = capfd.readouterr()
    assert f"frames: {6 + 40 - damaged} sent, {6 + 40 - damaged} received, 0 dropped, {damaged} damaged" in out
    warnings = [line for line in err.splitlines() if line.startswith("warning: ")]
    assert warnings == [
        f"warning: walk.mp4: {damaged} of about 40 frames could not be decoded; its questions were asked about the rest"
    ]


def test_a_run_that_another_evaluation_writes_to_is_refused_before_any_session(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=1, questions=1)
    sessions: list[ScriptedSession] = []

    def second(video: Path) -> Playback:
        config = EvaluationConfig(questions=str(file), output=str(tmp_path / "run"))
        with pytest.raises(RunError, match=rf"another process writes to this run \(pid {os.getpid()} .*ROS_DOMAIN_ID"):
            run_evaluation(config, lambda: sessions.append(ScriptedSession()) or sessions[-1], StopSignals())
        return playback(video)

    assert run_loop(file, tmp_path / "run", ScriptedSession(play=second)) == 0
    assert sessions == [] and summary_of(tmp_path / "run")["answered"] == 1


def test_limit_may_grow_but_other_settings_may_not_change(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", questions=4)
    run_loop(file, tmp_path / "run", ScriptedSession(), limit=1)
    more = ScriptedSession()
    run_loop(file, tmp_path / "run", more)
    assert len(more.asked) == 3
    with pytest.raises(RunError, match="delivery"):
        run_loop(file, tmp_path / "run", ScriptedSession(mode="realtime"), mode="realtime")
    with pytest.raises(RunError, match="holds a run already"):
        run_loop(file, tmp_path / "run", ScriptedSession(), fresh=True)


def test_a_run_without_any_askable_question_keeps_the_reasons_and_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    file = write_questions(tmp_path / "set" / "questions.json", [make_question(0, "nowhere.mp4")])
    with pytest.raises(QuestionError, match="none of 1 questions"):
        run_loop(file, tmp_path / "run", ScriptedSession())
    (skip,) = summary_of(tmp_path / "run")["skipped"]
    assert "video nowhere.mp4 missing" in skip["reason"]


@pytest.mark.parametrize("name", ["questions", "output"])
def test_what_must_be_given_is_named(tmp_path: Path, name: str) -> None:
    config = EvaluationConfig(**{"questions": "q.json", "output": str(tmp_path), name: ""})
    with pytest.raises(ConfigError, match=name):
        read_questions(config)


def test_official_result_files_are_written_beside_the_records(tmp_path: Path) -> None:
    run_loop(make_set(tmp_path / "set", questions=4), tmp_path / "run", ScriptedSession())
    files = sorted((tmp_path / "run" / "official").glob("*/results/*.json"))
    preds = [record["pred"] for file in files for record in json.loads(file.read_text())]
    assert preds == ["C"] * 4


def test_a_signal_stops_between_two_records_and_the_run_goes_on_later(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=1, questions=4)

    def interrupted(query: Query) -> Reply:
        if query.uid == "question_002":
            os.kill(os.getpid(), signal.SIGTERM)
        return reply("C")

    with pytest.raises(Stopped) as stopped:
        run_loop(file, tmp_path / "run", ScriptedSession(interrupted))
    assert stopped.value.exit_code == 128 + signal.SIGTERM
    assert summary_of(tmp_path / "run")["complete"] is False
    later = ScriptedSession()
    run_loop(file, tmp_path / "run", later)
    uids = [r["uid"] for r in records_of(tmp_path / "run", "answer")]
    assert sorted(uids) == [f"question_{n:03d}" for n in range(4)]


def test_signals_are_put_off_while_held_and_ignored_ones_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    done: list[str] = []
    try:
        with StopSignals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            with pytest.raises(Stopped) as stopped, stop.held(), stop.held():
                os.kill(os.getpid(), signal.SIGINT)
                done.append("the record is whole")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert done == ["the record is whole"]
    assert stopped.value.exit_code == 130
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_plan_keeps_the_order_of_videos_when_some_are_done(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=3, questions=6)
    questions = read_questions(EvaluationConfig(questions=str(file), output="x")).questions
    groups = plan(questions, {"question_000", "question_001", "question_004"})
    assert [group.video.name for group in groups if group.video] == ["clip0", "clip2"]
    uids = [[question.uid for question in group.questions] for group in groups]
    assert uids == [["question_003"], ["question_002", "question_005"]]


def test_the_prompt_hash_tells_texts_images_and_their_order_apart() -> None:
    queries = [
        Query("u", "ed_v", ("a", "b"), (b"1", b"2")),
        Query("u", "ed_v", ("a", "b"), (b"2", b"1")),
        Query("u", "ed_v", ("ab",), (b"1", b"2")),
        Query("u", "ed_s", ("a", "b"), (b"1", b"2")),
        Query("u", "ed_v", ("a", "b"), (b"12",)),
    ]
    assert len({prompt_sha256(query) for query in queries}) == len(queries)
    assert prompt_sha256(queries[0]) == prompt_sha256(Query("other", "ed_v", ("a", "b"), (b"1", b"2")))


def test_headers_differ_by_delivery_and_not_by_transport(tmp_path: Path) -> None:
    config = EvaluationConfig(questions=str(make_set(tmp_path / "set")), output="x")
    questions = read_questions(config)
    headers = {
        mode: make_header(config, questions, ScoringConfig(), ScriptedSession(mode=mode), {})
        for mode in ("in-process", "lockstep", "realtime")
    }
    assert headers["in-process"].differences(headers["lockstep"]) == []
    assert "delivery" in headers["lockstep"].differences(headers["realtime"])[0]
    assert headers["lockstep"].answerer["answerer_seed"] == 0


def test_the_scoring_file_of_the_package_holds_the_defaults() -> None:
    assert read_scoring() == ScoringConfig()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("angle_threshold_deg: [15]", "did you mean 'angle_thresholds_deg'"),
        ("- 1", "is not a scoring file"),
        ("a: [", "is not YAML"),
        ("bootstrap_samples: y", "expected int"),
    ],
)
def test_bad_scoring_files_are_one_clear_line(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "scoring.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"scoring\.yaml") as error:
        read_scoring(file)
    assert problem in str(error.value) and "\n" not in str(error.value)


def test_progress_counts_everything_once(tmp_path: Path) -> None:
    seen: list[tuple[int, int, int]] = []

    class Watcher:
        def update(self, progress: Progress) -> None:
            seen.append((progress.questions_done, progress.questions_total, progress.videos_done))

        def playing(self, progress: Progress, position_s: float, duration_s: float | None) -> None:
            assert (position_s, duration_s) == (0.5, 1.0) and progress.current_video

        def close(self) -> None:
            seen.append((-1, -1, -1))

    config = EvaluationConfig(questions=str(make_set(tmp_path / "set", questions=4)), output=str(tmp_path / "run"))
    with StopSignals() as stop:
        run_evaluation(config, ScriptedSession, stop, observers=[Watcher()])
    assert seen[0] == (0, 4, 0) and seen[-2:] == [(4, 4, 2), (-1, -1, -1)]
    assert [done for done, _, _ in seen[:-1]] == sorted(done for done, _, _ in seen[:-1])


def test_progress_lines_are_few(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as stream:
        often, seldom = ProgressLines(stream, period_s=0.0), ProgressLines(stream, period_s=3600.0)
        progress = Progress(videos_total=2, questions_total=9, questions_done=3, failed=1, current_video="a.mp4")
        seldom.playing(progress, 1.0, None)
        often.playing(progress, 1.0, 30.0)
    text = (tmp_path / "out").read_text()
    assert text == "questions 3/9, videos 0/2, 1 failed; playing a.mp4, 1 of 30 s\n"


def test_clips_of_one_frame_work(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set", videos=1, questions=1)
    make_clip(tmp_path / "set" / "one", frames=1)
    write_questions(file, [make_question(0, "one")])
    assert run_loop(file, tmp_path / "run", ScriptedSession()) == 0
