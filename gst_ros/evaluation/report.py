"""What an evaluation tells at its start, its stop and its end, and the files that it leaves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from gst_ros.bench.metrics import ScoringConfig
from gst_ros.bench.official import export_official
from gst_ros.bench.questions import QuestionSet
from gst_ros.bench.records import RunFolder
from gst_ros.bench.run_score import RunScore, summary
from gst_ros.bench.score_table import print_score_table, skip_reasons
from gst_ros.bench.scoring import score_run
from gst_ros.errors import GstError, QuestionError, SessionError


def print_start(questions: QuestionSet, run: RunFolder) -> None:
    """Say what is going to be done."""
    uids = {question.uid for question in questions.questions}
    done = len(uids & run.answered.keys())
    resumed = f", {done} of them answered before" if done else ""
    total = len(questions.questions) + len(questions.skipped)
    counts = f"{total} questions: {len(uids)} to ask{resumed}, {len(questions.skipped)} skipped"
    print(f"{counts} -> {run.path}", file=sys.stderr, flush=True)


def print_stop(reason: BaseException, questions: QuestionSet, run: RunFolder, scoring: ScoringConfig) -> None:
    """Leave a summary of what is there, and say what is kept and how to go on."""
    write_summary(questions, run, scoring)
    warn_of_damage(run)
    done = sum(question.uid in run.answered for question in questions.questions)
    why = f"stopped by {reason}: " if isinstance(reason, KeyboardInterrupt) else ""
    print(
        f"{why}{done} of {len(questions.questions)} questions are answered and kept in {run.path};"
        " the same command goes on from there",
        file=sys.stderr,
        flush=True,
    )


def finish(questions: QuestionSet, run: RunFolder, scoring: ScoringConfig, report: bool = True) -> int:
    """Write the summary, the official result files and the page, print the table, and judge the run.

    Args:
        questions: What was to be asked.
        run: The run.
        scoring: How it is scored.
        report: Whether to write the page, ``report.html``.

    Returns:
        The exit code: 0.

    Raises:
        SessionError: Questions failed.
        QuestionError: No question could be asked at all.
    """
    score = write_summary(questions, run, scoring)
    if score.answered:
        export_official(run.data, run.path / "official", run.header.answerer["name"], overwrite=True)
    page = write_page(questions, run) if report and score.answered else None
    print_score(score, run)
    if page is not None:
        print(f"to look at, question by question: {page}", flush=True)
    warn_of_damage(run)
    failed = [record for record in run.data.answers.values() if record.status == "failed"]
    if failed:
        raise SessionError(
            f"questions that failed: {len(failed)}; run the same command again to ask them",
            remedy=f"the first, {failed[0].uid}: {failed[0].explanation}",
        )
    if not score.answered:
        raise QuestionError(
            f"none of {len(score.skipped)} questions could be asked", remedy="see the reasons above, and --data-root"
        )
    return 0


def write_page(questions: QuestionSet, run: RunFolder) -> Path | None:
    """Write ``report.html``; a page that cannot be written is told, and never makes a run fail.

    Returns:
        The page, or None.
    """
    file = run.path / "report.html"
    try:
        from gst_ros.report.page import write_report

        write_report(run.data, file, questions=questions.path, data_root=questions.data_root)
    except Exception as error:  # whatever is wrong with the page, the run and its answers are fine
        why = str(error) if isinstance(error, GstError) else f"{type(error).__name__}: {error}"
        print(
            f"warning: the page could not be written ({why}); all else is there, and 'gst report' tries again",
            file=sys.stderr,
            flush=True,
        )
        return None
    return file


def write_summary(questions: QuestionSet, run: RunFolder, scoring: ScoringConfig) -> RunScore:
    """Write ``summary.json`` from the records on the disk."""
    data = run.data
    score = score_run(data, scoring)
    missing = sum(question.uid not in data.answered for question in questions.questions)
    skipped_late = sum(skip.uid in {q.uid for q in questions.questions} for skip in score.skipped)
    run.write_summary(
        {
            **summary(score, data.videos),
            "frames_dropped": _total(run, "frames_dropped"),
            "frames_damaged": _total(run, "frames_damaged"),
            "videos_damaged": {video: int(playback["frames_damaged"]) for video, playback in _damaged(run).items()},
            "complete": missing <= skipped_late,
            "answerer": dict(run.header.answerer),
        }
    )
    return score


def print_score(score: RunScore, run: RunFolder) -> None:
    """Print the table, what was skipped and why, and how the frames went through."""
    from rich.console import Console

    console = Console(highlight=False)
    print_score_table(console, score)
    videos = summary(score, run.data.videos)
    lines = [
        *skip_reasons(score),
        f"frames: {videos['frames_sent']} sent, {videos['frames_received']} received,"
        f" {_total(run, 'frames_dropped')} dropped, {_total(run, 'frames_damaged')} damaged",
        f"records, summary and official result files: {run.path}",
    ]
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def warn_of_damage(run: RunFolder) -> None:
    """Name each video of which only a part could be shown: its answers are about that part."""
    for video, playback in _damaged(run).items():
        damaged = int(playback["frames_damaged"])
        print(
            f"warning: {Path(video).name}: {damaged} of about {damaged + int(playback['frames_sent'])} frames could not"
            " be decoded; its questions were asked about the rest",
            file=sys.stderr,
            flush=True,
        )


def _damaged(run: RunFolder) -> dict[str, dict[str, Any]]:
    """The last playback of each damaged video."""
    return {video: playback for video, playback in _last(run).items() if playback.get("frames_damaged")}


def _total(run: RunFolder, count: str) -> int:
    """A count over the last playback of each video."""
    return sum(int(playback.get(count) or 0) for playback in _last(run).values())


def _last(run: RunFolder) -> dict[str, dict[str, Any]]:
    return {str(playback["video"]): playback for playback in run.data.videos}
