"""What a video file and a folder of images have in common."""

from __future__ import annotations

import math
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from gst_ros.errors import MediaError
from gst_ros.media.frames import Frame
from gst_ros.media.stamps import NS_PER_S

C = TypeVar("C", bound="Clip")

MOST_SECONDS = 2.0**31 - 1
"""Latest media time: what the seconds of a ROS stamp can hold (folders of images may have times since 1970)."""
_TIMES = f"give seconds between 0 and {MOST_SECONDS:.0f}"
_MOST_LETTERS_SHOWN = 200


class Clip(ABC):
    """Frames of one size in the order of strictly increasing stamps, read one at a time.

    Media time is the clip's own time in seconds; a frame's stamp is the same time in nanoseconds.
    A clip is for one thread at a time.

    Attributes:
        path: The file or folder.
        width: Pixels of every frame (display rotation applied).
        height: The same.
        start_s: Media time of the first frame to read.
        end_s: Media time at which to stop (exclusive), or None for the clip's end.
        duration_s: Media time of the clip's end as the container claims it, or None.
        nominal_fps: Frame rate as the container claims it, or None. Stamps never come from it where the
            frames have times of their own.
        frames_claimed: Number of frames as the container claims it, or None. Not to be trusted.
        damaged: Packets or images so far that could not be decoded, were repaired, or are missing from
            the file. After a seek backwards, damage that is met again counts again.
        estimated: Stamps so far that did not come from the frame's own time.
        resized: Frames so far that had another size than the first one and were scaled to it.
    """

    def __init__(self, path: Path, start_s: float, end_s: float | None) -> None:
        for name, value in (("start_s", start_s), ("end_s", end_s)):
            if value is not None and not 0 <= value <= MOST_SECONDS:
                raise MediaError(f"{value} is not a media time", file=path, field=name, remedy=_TIMES)
        if end_s is not None and end_s <= start_s:
            raise MediaError(f"{end_s} s is not after the start, {start_s} s", file=path, field="end_s")
        self.path = path
        self.start_s = start_s
        self.end_s = end_s
        self.width = 0
        self.height = 0
        self.duration_s: float | None = None
        self.nominal_fps: float | None = None
        self.frames_claimed: int | None = None
        self.damaged = 0
        self.estimated = 0
        self.resized = 0
        self._end_ns = None if end_s is None else round(end_s * NS_PER_S)

    def read(self) -> Frame | None:
        """Return the next frame, or None at the end.

        Raises:
            MediaError: The file cannot be read any more.
        """
        frame = self._read()
        if frame is not None and not 0 <= frame.stamp_ns <= MOST_SECONDS * NS_PER_S:
            raise MediaError(
                f"a frame has the time {frame.stamp_ns / NS_PER_S:g} s", file=self.path, remedy="convert the clip anew"
            )
        if frame is None or (self._end_ns is not None and frame.stamp_ns >= self._end_ns):
            return None
        return frame

    def __iter__(self) -> Iterator[Frame]:
        """Read on from the present position to the end."""
        while (frame := self.read()) is not None:
            yield frame

    def seek(self, position_s: float) -> None:
        """Move so that the next frame is the first one at or after a media time.

        Args:
            position_s: Media time in seconds; times before the clip's start mean its start. There may be
                no frame at or after it: then the clip is at its end.

        Raises:
            MediaError: ``position_s`` is not a media time.
        """
        check_position(position_s, self.path)
        self._seek(round(max(position_s, self.start_s) * NS_PER_S))

    @abstractmethod
    def _read(self) -> Frame | None:
        """Return the next frame regardless of ``end_s``, or None."""

    @abstractmethod
    def _seek(self, stamp_ns: int) -> None:
        """Make the first frame at or after ``stamp_ns`` the next one."""

    @abstractmethod
    def close(self) -> None:
        """Release the file. May be called twice."""

    def __enter__(self: C) -> C:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_clip(path: str | Path, start_s: float = 0.0, end_s: float | None = None, *, folder_fps: float = 10.0) -> Clip:
    """Open a video file or a folder of images.

    Args:
        path: The file or folder.
        start_s: Media time of the first frame to read.
        end_s: Media time at which to stop (exclusive); None for the clip's end.
        folder_fps: Frame rate of a folder of images that has no file of stamps.

    Raises:
        MediaError: It does not exist, is no video, or holds no frame in the range asked for.
    """
    path = _expanded(path)
    try:
        if _is_folder(path):
            from gst_ros.media.folder import FolderClip

            return FolderClip(path, start_s, end_s, fps=folder_fps)
        from gst_ros.media.video import VideoClip

        return VideoClip(path, start_s, end_s)
    except OSError as error:
        # Whatever a file system may say, it says it about this clip.
        raise MediaError(f"cannot be read: {error.strerror or error}", file=path, remedy="check the path") from error


def check_position(position_s: float, path: str | Path | None = None) -> None:
    """Refuse what no clip can be moved to; times before a clip's start are allowed.

    Raises:
        MediaError: It is not a number, or later than any clip.
    """
    if not (math.isfinite(position_s) and position_s <= MOST_SECONDS):
        raise MediaError(f"{position_s} is not a media time", file=path, field="position_s", remedy=_TIMES)


def _expanded(path: str | Path) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:  # ~nobody
        raise MediaError(str(error), file=_shown(path), remedy="write the path in full") from error


def _is_folder(path: Path) -> bool:
    """Whether a path is a folder; what is not there is not."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        # Too long, a NUL in it, no permission for a folder on the way, links in a circle, ...
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise MediaError(f"not a usable path: {why}", file=_shown(path), remedy="check the path") from error


def _shown(path: str | Path) -> str:
    text = str(path).encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    half = _MOST_LETTERS_SHOWN // 2
    return text if len(text) <= _MOST_LETTERS_SHOWN else f"{text[:half]}...{text[-half:]}"
