"""What every answerer takes and gives.

An answerer is one way of answering a question from what the memory holds. It sees the query (texts and
images, exactly as the question has them) and the memory; never a question's true answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from gst_ros.memory.keyframes import KeyframeStore

if TYPE_CHECKING:
    from gst_ros.memory.walks import Walk


@dataclass(frozen=True)
class Query:
    """One question as an answerer sees it.

    Attributes:
        uid: The question's identifier.
        task: Task key, for example ``ed_v`` (see :mod:`gst_ros.bench.tasks`).
        texts: The prompt's parts; they interleave with the media: first text, the video, next text, an image, ...
        images: The images in the question's order, encoded as on disk (JPEG or PNG; decode by content).
    """

    uid: str
    task: str
    texts: tuple[str, ...] = ()
    images: tuple[bytes, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Answer:
    """What came back.

    Attributes:
        text: The answer in the form the question asks for, as a model would write it.
        confidence: 0 to 1, or None when the answerer has none.
        explanation: A sentence for people on how it was found.
        details: Anything else worth recording (JSON types only).
    """

    text: str
    confidence: float | None = None
    explanation: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recall:
    """What the memory holds when a question is asked.

    Attributes:
        keyframes: Pictures of the whole clip.
        walk: Gives the map of the walk and the marks seen on it; it is made at the first call after a new frame, which
            takes seconds, and it raises MapError where there is nothing to make it of. Only for answerers that say
            :attr:`Answerer.needs_walk`.
    """

    keyframes: KeyframeStore
    walk: Callable[[], Walk]


class Answerer(Protocol):
    """One way of answering. Implementations must be usable from one worker thread at a time.

    Attributes:
        name: Its key among the answerers.
        needs_walk: Whether walks must be mapped for it.
    """

    name: str
    needs_walk: bool

    def answer(self, query: Query, memory: Recall) -> Answer:
        """Answer one question.

        Raises:
            AnswererError: When this question cannot be answered; the run goes on with the next one.
        """
        ...
