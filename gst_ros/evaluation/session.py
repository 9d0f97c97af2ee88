"""What the evaluation loop needs of the machinery below it, be that ROS nodes or one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from gst_ros.reasoning.answerer import Answer, Query

ProgressCallback = Callable[[float, float | None], None]
"""Called during playback with the media time reached and the clip's duration (None when unknown), in seconds."""


@dataclass(frozen=True)
class Playback:
    """How one video went through. Goes into the run record as it is.

    Attributes:
        video: The file that was played.
        mode: ``lockstep``, ``realtime`` or ``in-process``.
        frames_sent: Frames that left the player.
        frames_received: Frames that the memory took in.
        frames_dropped: Real time only: sent too late or lost on the way.
        frames_damaged: Packets or images that could not be decoded, or are missing from the file.
        frames_refused: Frames that reached the memory twice, or after a newer one.
        first_stamp_ns: Stamp of the first frame received, None without frames.
        last_stamp_ns: Stamp of the last frame received, None without frames.
        sent_sha256: Fingerprint of the stamps sent (:class:`gst_ros.media.frames.StampDigest`).
        received_sha256: The same of the stamps received.
        seconds: Wall time.
    """

    video: str
    mode: str
    frames_sent: int
    frames_received: int
    frames_dropped: int
    frames_damaged: int
    frames_refused: int
    first_stamp_ns: int | None
    last_stamp_ns: int | None
    sent_sha256: str
    received_sha256: str
    seconds: float

    @property
    def lossless(self) -> bool:
        """Whether every frame that the player could decode arrived exactly once and in order."""
        same = self.frames_sent == self.frames_received and self.sent_sha256 == self.received_sha256
        return same and self.frames_refused == 0 and self.frames_dropped == 0

    @property
    def damaged(self) -> bool:
        """Whether frames of the video could not be decoded or are missing from the file."""
        return self.frames_damaged > 0


@dataclass(frozen=True)
class Reply:
    """The answer to one question, or why there is none.

    Attributes:
        status: ``answered``, or ``failed`` when the answerer gave an error (``explanation`` says which).
        text: The answer as the answerer wrote it; empty when failed.
        confidence: 0 to 1, or None.
        explanation: A sentence for people.
        seconds: Wall time of the answer.
        evidence: Which step answered, and the figures behind the answer (JSON types).
    """

    status: Literal["answered", "failed"]
    text: str
    confidence: float | None
    explanation: str
    seconds: float
    evidence: Mapping[str, Any] = field(default_factory=dict)


def reply_of(answer: Answer, seconds: float) -> Reply:
    """What an answerer said, as a reply."""
    return Reply("answered", answer.text, answer.confidence, answer.explanation, seconds, answer.details)


class Session(Protocol):
    """Plays videos into a memory and asks it questions."""

    def describe(self) -> Mapping[str, Any]:
        """What a reader of the record must know (JSON types).

        ``reasoning`` holds the effective settings of memory and answerer: a run is resumed only with the same
        ones. The rest (transport, mode, versions) is for information.
        """
        ...

    def play(self, video: Path, progress: ProgressCallback) -> Playback:
        """Reset the memory and play one video into it from start to end.

        Raises:
            MediaError: The video cannot be read; its questions are skipped with this reason.
            SessionError: A node died or did not answer; the run ends here and keeps what it has.
        """
        ...

    def forget(self) -> None:
        """Reset the memory for questions that have no video.

        Raises:
            SessionError: As for :meth:`play`.
        """
        ...

    def ask(self, query: Query) -> Reply:
        """Ask one question about what was played last.

        Raises:
            SessionError: As for :meth:`play`.
        """
        ...

    def close(self) -> None:
        """Release everything. May be called twice."""
        ...
