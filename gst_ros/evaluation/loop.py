"""The evaluation, from question files to the table.

:func:`run_evaluation` reads like the README: load the questions, open the run folder, play each video once, ask its
questions, score and record each answer, sum up.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gst_ros.bench.metrics import ScoringConfig
from gst_ros.bench.questions import Question, QuestionSet, Skipped, load_questions
from gst_ros.bench.records import LOCK_FILE, RunFolder, RunHeader
from gst_ros.bench.scoring import record_answer, score_run
from gst_ros.errors import ConfigError, GstError, MediaError, RunError, SessionError
from gst_ros.evaluation.plan import EvaluationConfig, VideoGroup, plan, read_scoring
from gst_ros.evaluation.progress import Observer, Observers, Progress
from gst_ros.evaluation.report import finish, print_start, print_stop
from gst_ros.evaluation.session import Playback, Session
from gst_ros.evaluation.stopping import Stopped, StopSignals
from gst_ros.reasoning.answerer import Query
from gst_ros.reasoning.registry import ANSWERERS

_SCORE_PERIOD_S = 1.0
_SCORE_SHARE = 20  # running scores may take a twentieth of the time


def run_evaluation(
    config: EvaluationConfig,
    open_session: Callable[[], Session],
    stop: StopSignals,
    observers: Sequence[Observer] = (),
    info: Mapping[str, Any] | None = None,
) -> int:
    """Evaluate from start to end, or go on with a run that was stopped.

    Args:
        config: What to ask and where to record it.
        open_session: Makes the session, once the questions are known to be there.
        stop: Signals that stop the run between two steps.
        observers: Who is told of the progress.
        info: More to keep in the run's header: versions, command.

    Returns:
        The exit code: 0.

    Raises:
        GstError: Bad input, failed machinery, or questions that failed; what was answered is kept.
        Stopped: A signal came; what was answered is kept.
    """
    scoring = read_scoring(config.scoring)
    questions = read_questions(config)
    observer = Observers(observers)
    refuse_output_in_use(config.output)
    with contextlib.closing(open_session()) as session:
        header = make_header(config, questions, scoring, session, info or {})
        with RunFolder.open(config.output, header, resume=not config.fresh) as run:
            print_start(questions, run)
            try:
                evaluate(questions, run, session, scoring, observer, stop)
            except (Stopped, GstError) as reason:
                observer.close()
                with stop.held():
                    run.append_event({"event": "stopped", "reason": str(reason)})
                    print_stop(reason, questions, run, scoring)
                raise
            observer.close()
            with stop.held():
                return finish(questions, run, scoring, report=config.report)


def read_questions(config: EvaluationConfig) -> QuestionSet:
    """Load the questions that the settings name, cut to the limit.

    Raises:
        ConfigError: No questions or no output are named.
        QuestionError: They cannot be read.
    """
    for name in ("questions", "output"):
        if not getattr(config, name):
            raise ConfigError("is not given", field=name)
    questions = load_questions(config.questions, config.data_root or None, config.tasks or None)
    if config.limit:
        questions = dataclasses.replace(questions, questions=questions.questions[: config.limit])
    return questions


def refuse_output_in_use(output: str) -> None:
    """Say at once that another evaluation writes there, before the two get into each other's way over ROS.

    It is an early look only: :meth:`RunFolder.open` takes the lock.

    Raises:
        RunError: Another process writes to this run.
    """
    try:
        handle = os.open(Path(output) / LOCK_FILE, os.O_RDONLY)
    except OSError:
        return  # not there yet; anything else is for RunFolder.open to say
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError as error:
        owner = os.pread(handle, 200, 0).decode("ascii", "replace").strip()
        raise RunError(
            f"another process writes to this run ({owner or 'unknown'})",
            file=output,
            remedy="wait for it, or choose another --output; beside it, also another ROS_DOMAIN_ID",
        ) from error
    except OSError:
        return  # a file system without locks
    finally:
        os.close(handle)


def make_header(
    config: EvaluationConfig,
    questions: QuestionSet,
    scoring: ScoringConfig,
    session: Session,
    info: Mapping[str, Any],
) -> RunHeader:
    """What the run is made with. Only what can change an answer or its score must stay the same."""
    described = dict(session.describe())
    reasoning = dict(described.pop("reasoning"))
    name = str(reasoning.pop("answerer"))
    options = {field.name: reasoning[field.name] for field in dataclasses.fields(ANSWERERS[name].settings)}
    of_answerers = {field.name for entry in ANSWERERS.values() for field in dataclasses.fields(entry.settings)}
    memory = {key: value for key, value in reasoning.items() if key not in of_answerers}
    realtime = described.get("mode") == "realtime"
    return RunHeader(
        answerer={"name": name, **options},
        config={"scoring": scoring.to_mapping(), "memory": memory},
        # Lockstep and in-process playback give the memory the same frames; real time may not.
        frames={"delivery": "real time", "rate": config.rate} if realtime else {"delivery": "every frame"},
        questions_sha256=questions.sha256,
        info={**described, **info, "evaluation": config.to_mapping()},
    )


def evaluate(
    questions: QuestionSet,
    run: RunFolder,
    session: Session,
    scoring: ScoringConfig,
    observer: Observer,
    stop: StopSignals,
) -> None:
    """Play each video that has unanswered questions once, and ask them.

    Raises:
        SessionError: The machinery failed, or frames were lost in lockstep.
        Stopped: A signal came.
    """
    with stop.held():
        for skip in questions.skipped:
            run.append_skip(skip)
    groups = plan(questions.questions, run.answered)
    tally = _Tally(questions, run, groups, scoring, observer)
    for group in groups:
        try:
            playback = play(group, run, session, tally, stop)
        except MediaError as error:
            with stop.held():
                for question in group.questions:
                    run.append_skip(_unplayable(question, error))
            tally.video_done(skipped=len(group.questions))
            continue
        for question in group.questions:
            ask(question, playback, run, session, scoring, tally, stop)
        tally.video_done()


def play(group: VideoGroup, run: RunFolder, session: Session, tally: _Tally, stop: StopSignals) -> Playback | None:
    """Play a group's video into a fresh memory and record how it went.

    Returns:
        How it went; None for questions without a video.

    Raises:
        MediaError: The video cannot be read.
        SessionError: The machinery failed, or frames were lost that must not be.
    """
    if group.video is None:
        session.forget()
        return None
    tally.video_begins(group.video)
    playback = session.play(group.video, tally.playing)
    with stop.held():
        run.append_video({**dataclasses.asdict(playback), "lossless": playback.lossless, "damaged": playback.damaged})
    if playback.mode != "realtime" and not playback.lossless:
        raise SessionError(
            f"frames were lost: {playback.frames_sent} sent, {playback.frames_received} taken in,"
            f" {playback.frames_refused} refused",
            file=group.video,
            remedy="its questions were not asked; run the same command again",
        )
    if not playback.frames_received:
        raise SessionError(
            f"none of {playback.frames_sent} frames arrived",
            file=group.video,
            remedy="check topics and QoS, or lower the rate",
        )
    return playback


def ask(
    question: Question,
    playback: Playback | None,
    run: RunFolder,
    session: Session,
    scoring: ScoringConfig,
    tally: _Tally,
    stop: StopSignals,
) -> None:
    """Ask one question, read and score the answer, and put it on the disk.

    Raises:
        SessionError: The machinery failed.
    """
    tally.question_begins(question)
    try:
        query = Query(
            uid=question.uid,
            task=question.task.key,
            texts=question.texts,
            images=tuple(path.read_bytes() for path in question.images),
        )
    except OSError as error:
        with stop.held():
            reason = f"image {Path(error.filename).name} cannot be read: {error.strerror}"
            run.append_skip(Skipped(question.uid, question.task.key, reason, str(question.file), "images"))
        tally.question_done()
        return
    reply = session.ask(query)
    record = record_answer(
        question,
        reply.text,
        scoring,
        status=reply.status,
        confidence=reply.confidence,
        explanation=reply.explanation,
        evidence=reply.evidence,
        seconds=reply.seconds,
        frames_received=None if playback is None else playback.frames_received,
        prompt_sha256=prompt_sha256(query),
    )
    with stop.held():
        run.append_answer(record)
    tally.question_done()


def prompt_sha256(query: Query) -> str:
    """Fingerprint of what an answerer is shown: task, texts, and the images' bytes, in order."""
    images = [hashlib.sha256(image).hexdigest() for image in query.images]
    text = json.dumps([query.task, query.texts, images])
    return hashlib.sha256(text.encode()).hexdigest()


def _unplayable(question: Question, error: MediaError) -> Skipped:
    name = question.video.name if question.video else ""
    why = str(error).removeprefix(f"{question.video}: ")
    return Skipped(question.uid, question.task.key, f"video {name} unreadable: {why}", str(question.file), "video")


class _Tally:
    """Keeps the progress and tells the observer, with running scores now and then."""

    def __init__(
        self,
        questions: QuestionSet,
        run: RunFolder,
        groups: Sequence[VideoGroup],
        scoring: ScoringConfig,
        observer: Observer,
    ) -> None:
        self._run = run
        self._scoring = scoring
        self._observer = observer
        self._next_score_s = 0.0
        self._progress = Progress(
            videos_total=sum(group.video is not None for group in groups),
            questions_total=len(questions.questions),
            questions_done=len(questions.questions) - sum(len(group.questions) for group in groups),
        )
        self._tell()

    def video_begins(self, video: Path) -> None:
        self._progress.current_video = video.name
        self._tell()

    def playing(self, position_s: float, duration_s: float | None) -> None:
        self._observer.playing(self._progress, position_s, duration_s)

    def question_begins(self, question: Question) -> None:
        self._progress.current_uid = question.uid

    def question_done(self) -> None:
        self._progress.current_uid = ""
        self._progress.questions_done += 1
        self._tell()

    def video_done(self, skipped: int = 0) -> None:
        self._progress.questions_done += skipped
        self._progress.videos_done += bool(self._progress.current_video)
        self._progress.current_video = ""
        self._tell()

    def _tell(self) -> None:
        started_s = time.monotonic()
        progress = self._progress
        if started_s >= self._next_score_s:
            progress.score = score_run(self._run.data, self._scoring)
            now_s = time.monotonic()
            self._next_score_s = now_s + max(_SCORE_PERIOD_S, _SCORE_SHARE * (now_s - started_s))
            progress.unparsed, progress.failed = progress.score.unparsed, progress.score.failed
            progress.skipped = len(progress.score.skipped)
        self._observer.update(progress)
