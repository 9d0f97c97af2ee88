"""The spatial memory and its answerer behind one door.

The ROS node and the in-process evaluation both use this class, so they give the same answers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.bench.tasks import find_task
from gst_ros.config import setting
from gst_ros.errors import AnswererError, GstError, MediaError
from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.media.frames import Frame, StampDigest
from gst_ros.media.images import decode_image
from gst_ros.memory.keyframes import KeyframeConfig, KeyframeStore
from gst_ros.memory.online import OnlineWalk
from gst_ros.memory.replays import CameraFacts, PastWalks
from gst_ros.memory.walk_settings import WalkConfig
from gst_ros.reasoning.answerer import Answer, Answerer, Query, Recall
from gst_ros.reasoning.memory_settings import MemoryAnswererConfig
from gst_ros.reasoning.registry import ANSWERERS, make_answerer, option_names
from gst_ros.reasoning.scripted import ScriptedConfig

if TYPE_CHECKING:
    from gst_ros.mapping.features import FeatureKind
    from gst_ros.memory.walks import Walk


@dataclass(frozen=True)
class ReasoningConfig(ScriptedConfig, MemoryAnswererConfig, KeyframeConfig, WalkConfig):
    """What is remembered, which answerer answers, and the settings of every answerer; all names are flat."""

    answerer: str = setting("random", f"Which answerer answers: {', '.join(ANSWERERS)}.")

    def answerer_options(self) -> dict[str, Any]:
        """The settings of answerers, for :func:`gst_ros.reasoning.registry.make_answerer`."""
        return {name: getattr(self, name) for name in option_names()}


@dataclass(frozen=True)
class MemoryState:
    """What the memory has taken in and remembers; the fields of ``MemoryStatus.msg``.

    Attributes:
        answerer: Name of the answerer.
        clip_id: The playback that the frames belong to; empty before the first reset.
        frames_received: Frames taken in since the last reset.
        frames_out_of_order: Refused: older than the newest frame.
        frames_duplicate: Refused: same stamp as the newest frame.
        frames_dropped: Lost before they came here (see :meth:`SpatialMemory.count_dropped`).
        first_stamp_ns: Stamp of the first frame taken in, None without frames.
        last_stamp_ns: Stamp of the newest frame taken in, None without frames.
        stamps_sha256: Fingerprint of the stamps taken in.
        keyframes: Number of keyframes.
        keyframe_bytes: Bytes of all keyframes.
        keyframe_bytes_limit: The bound on them.
        questions_answered: Since the start, over all clips.
        questions_failed: Likewise.
        questions_pending: Questions that wait or are being answered.
    """

    answerer: str
    clip_id: str
    frames_received: int
    frames_out_of_order: int
    frames_duplicate: int
    frames_dropped: int
    first_stamp_ns: int | None
    last_stamp_ns: int | None
    stamps_sha256: str
    keyframes: int
    keyframe_bytes: int
    keyframe_bytes_limit: int
    questions_answered: int
    questions_failed: int
    questions_pending: int


class SpatialMemory:
    """Frames in, answers out. Thread-safe: frames may come in while an answer is being computed.

    An answer is computed on a snapshot of the memory, taken when its turn comes. Answers are computed one
    after another.

    Args:
        config: What to remember and which answerer to use.
        answerer: An answerer to use instead of the one that ``config`` names.

    Raises:
        ConfigError: The answerer's name or one of its settings is wrong.
    """

    def __init__(self, config: ReasoningConfig, answerer: Answerer | None = None) -> None:
        self.config = config
        self._answerer = answerer or make_answerer(config.answerer, config.answerer_options())
        self._memory_lock = threading.Lock()
        self._features: FeatureKind | None = None
        self._usual_cameras: dict[tuple[int, int], tuple[PinholeCamera, CameraMount]] = {}
        self._answer_lock = threading.Lock()
        self._answered = self._failed = self._pending = 0
        self._past_walks = PastWalks()
        self._playback = 0
        self._newest_walk: Walk | None = None
        self._clear("")

    @property
    def answerer_name(self) -> str:
        """Name of the answerer in use."""
        return self._answerer.name

    @property
    def needs_walk(self) -> bool:
        """Whether walks are mapped, so that it helps to tell of the camera."""
        return self._answerer.needs_walk

    @property
    def newest_walk(self) -> Walk | None:
        """The map that was made last of this playback; None before one was made."""
        with self._memory_lock:
            return self._newest_walk

    def reset(self, clip_id: str) -> None:
        """Forget everything and begin a new playback. An answer that is under way fails."""
        with self._memory_lock:
            self._playback += 1
            self._clear(clip_id)

    def observe(self, frame: Frame) -> bool:
        """Take one frame in.

        Returns:
            False if it was refused: older than the newest frame, or with the same stamp.
        """
        return self.observe_lazily(frame.stamp_ns, lambda: frame.image_rgb)

    def observe_lazily(self, stamp_ns: int, image_rgb: Callable[[], NDArray[np.uint8]]) -> bool:
        """As :meth:`observe`, decoding the image only if it is needed.

        Raises:
            MediaError: The image was needed and does not decode; the frame is not taken in.
        """
        with self._memory_lock:
            newest = self._digest.last_ns
            if newest is not None and stamp_ns <= newest:
                if stamp_ns == newest:
                    self._duplicate += 1
                else:
                    self._out_of_order += 1
                return False
            recorder = self._recorder
            image = None if recorder is None else image_rgb()
            self._keyframes.offer(stamp_ns, image_rgb if image is None else lambda: image)
            self._digest.add(stamp_ns)
        if recorder is not None and image is not None and not recorder.add(Frame(image, stamp_ns)):
            self.count_dropped(1)
        return True

    def tell_camera(self, facts: CameraFacts) -> None:
        """Say what is known of the camera of this playback's frames; frames wait until that is enough to map them."""
        with self._memory_lock:
            recorder = self._recorder
        if recorder is not None:
            recorder.tell(facts)

    def count_dropped(self, frames: int) -> None:
        """Count frames that were lost on the way here."""
        with self._memory_lock:
            self._dropped += frames

    def count_unanswered(self) -> None:
        """Count a question as failed that was given up before it came here."""
        with self._memory_lock:
            self._failed += 1

    def answer(self, query: Query) -> Answer:
        """Answer one question from what is remembered.

        Args:
            query: Its task may be the key or any official spelling.

        Raises:
            AnswererError: It could not be answered: unknown task, undecodable image, the answerer's own
                reason, or a reset that came in between.
        """
        with self._memory_lock:
            self._pending += 1
            playback = self._playback
        try:
            query = _checked(query)
            with self._answer_lock:
                with self._memory_lock:
                    self._refuse_if_reset(playback)
                    recall = Recall(self._keyframes.copy(), partial(self._walk, self._recorder))
                answer = self._answerer.answer(query, recall)
            with self._memory_lock:
                self._refuse_if_reset(playback)
                self._answered += 1
            return answer
        except GstError as error:
            with self._memory_lock:
                self._failed += 1
            if isinstance(error, AnswererError):
                raise
            raise AnswererError(str(error)) from error
        finally:
            with self._memory_lock:
                self._pending -= 1

    def status(self) -> MemoryState:
        """A consistent picture of the present."""
        with self._memory_lock:
            return MemoryState(
                answerer=self._answerer.name,
                clip_id=self._clip_id,
                frames_received=self._digest.count,
                frames_out_of_order=self._out_of_order,
                frames_duplicate=self._duplicate,
                frames_dropped=self._dropped,
                first_stamp_ns=self._digest.first_ns,
                last_stamp_ns=self._digest.last_ns,
                stamps_sha256=self._digest.sha256,
                keyframes=len(self._keyframes),
                keyframe_bytes=self._keyframes.bytes_used,
                keyframe_bytes_limit=self._keyframes.bytes_limit,
                questions_answered=self._answered,
                questions_failed=self._failed,
                questions_pending=self._pending,
            )

    def _clear(self, clip_id: str) -> None:
        self._clip_id = clip_id
        self._digest = StampDigest()
        self._keyframes = KeyframeStore(self.config)
        self._out_of_order = self._duplicate = self._dropped = 0
        self._newest_walk = None
        self._recorder = self._new_recorder() if self._answerer.needs_walk else None

    def _new_recorder(self) -> OnlineWalk:
        # At the point of use: most answerers need no maps, and these take a second to load.
        from gst_ros.mapping.features import open_features
        from gst_ros.memory.walks import WalkRecorder

        if self._features is None:
            self._features = open_features(self.config.map_features)
        return OnlineWalk(WalkRecorder(self.config, self._features, self._usual_cameras, self._past_walks))

    def _walk(self, recorder: OnlineWalk | None) -> Walk:
        if recorder is None:
            raise MapError(f"the answerer '{self._answerer.name}' has no walks mapped")
        walk = recorder.finish()
        with self._memory_lock:
            if recorder is self._recorder:
                self._newest_walk = walk
        return walk

    def _refuse_if_reset(self, playback: int) -> None:
        if self._playback != playback:
            raise AnswererError("the memory was reset before the answer was ready", remedy="ask again")


def _checked(query: Query) -> Query:
    """The query with its task key, once every image is known to decode."""
    task = find_task(query.task).key
    for number, image in enumerate(query.images, start=1):
        try:
            decode_image(image)
        except MediaError as error:
            raise AnswererError(
                f"image {number} of {len(query.images)} does not decode: {error.problem}", file=f"question {query.uid}"
            ) from error
    return replace(query, task=task)
