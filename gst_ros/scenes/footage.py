"""Videos: written from rendered frames, read again, and cut.

Frames go to H.264 (libx264, yuv420p) in mp4, as the official videos do. One encoder thread and no time of day in the
file: the same frames give the same bytes.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType

import av
import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.files import write_file
from gst_ros.scenes.place import SceneError

Image = NDArray[np.uint8]

DEFAULT_CRF = 20
GROUP_SECONDS = 5


class VideoWriter:
    """Writes frames to an mp4 file; a context manager.

    The file appears, complete, when the writer is closed; not at all when the ``with`` block fails. Until then it is
    kept in memory, because FFmpeg's muxer crashes when it runs out of disk.

    Args:
        file: Where to.
        width: Pixels, even.
        height: Pixels, even.
        fps: Frames per second.
        crf: Constant rate factor of x264: 0 is lossless, 20 is good, 30 is small.

    Raises:
        SceneError: The size is odd; or, when it is closed, the file cannot be written (no space, no permission).
    """

    def __init__(self, file: Path, width: int, height: int, fps: float, crf: int = DEFAULT_CRF) -> None:
        if width % 2 or height % 2:
            raise SceneError(f"{width}x{height} is odd; H.264 wants even numbers of pixels", field="video size")
        self._file = file
        self._memory = io.BytesIO()
        self._output = av.open(self._memory, "w", format="mp4", container_options={"fflags": "+bitexact"})
        rate = Fraction(fps).limit_denominator(1000)
        self._stream = self._output.add_stream("libx264", rate=rate)
        self._stream.width, self._stream.height = width, height
        self._stream.pix_fmt = "yuv420p"
        self._stream.codec_context.time_base = 1 / rate
        self._stream.codec_context.thread_count = 1
        self._stream.options = dict(encoder_options(fps, crf))
        self._count = 0
        self._closed = False

    def write(self, rgb: Image) -> None:
        """Append a frame.

        Args:
            rgb: H x W x 3 bytes.
        """
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24")
        frame.pts = self._count
        self._count += 1
        self._output.mux(self._stream.encode(frame))

    def close(self) -> None:
        """Finish the file. May be called twice."""
        self._finish()
        write_file(self._file, self._memory.getvalue())

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._finish()

    def _finish(self) -> None:
        if not self._closed:
            self._closed = True
            if self._count:
                self._output.mux(self._stream.encode(None))
            self._output.close()


def encoder_options(fps: float, crf: int) -> dict[str, str]:
    """Options of libx264: one thread, and groups of pictures that can be decoded each on its own.

    Args:
        fps: Frames per second.
        crf: See :class:`VideoWriter`.
    """
    group = str(max(1, round(GROUP_SECONDS * fps)))
    return {"crf": str(crf), "preset": "veryfast", "threads": "1", "g": group, "flags": "+cgop"}


def read_frames(file: Path) -> Iterator[Image]:
    """All frames of a video that this module wrote.

    Yields:
        H x W x 3 bytes.
    """
    with av.open(str(file)) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        for frame in container.decode(stream):
            yield frame.to_ndarray(format="rgb24")


def cut_video(source: Path, file: Path, first: int, last: int, *, fps: float, crf: int = DEFAULT_CRF) -> None:
    """Make a stretch of a video a video of its own.

    Args:
        source: The video.
        file: Where to.
        first: Number of the first frame.
        last: Number of the last frame, included.
        fps: Frames per second.
        crf: See :class:`VideoWriter`.
    """
    write_video(itertools.islice(read_frames(source), first, last + 1), file, fps, crf)


def write_video(frames: Iterator[Image], file: Path, fps: float, crf: int = DEFAULT_CRF) -> None:
    """Write frames to an mp4 file.

    Args:
        frames: At least one H x W x 3 picture; all of one size.
        file: Where to.
        fps: Frames per second.
        crf: See :class:`VideoWriter`.
    """
    start = next(frames)
    with VideoWriter(file, start.shape[1], start.shape[0], fps, crf) as writer:
        writer.write(start)
        for rgb in frames:
            writer.write(rgb)
