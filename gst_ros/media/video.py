"""Video files of any length in constant memory, with the container's own times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import av.error
import cv2
import numpy as np
from av.sidedata.sidedata import Type as SideDataType
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from gst_ros.errors import MediaError
from gst_ros.media.clip import Clip
from gst_ros.media.frames import Frame
from gst_ros.media.stamps import NS_PER_S, StampSequence, pts_to_ns

# Only real video containers, and only from disk: FFmpeg also "plays" text files, playlists that name other
# files or servers, and single images.
_CONTAINERS = (
    "mov,mp4,matroska,webm,avi,mpegts,mpeg,mpegvideo,m4v,flv,asf,ogg,gif,apng,h264,hevc,av1,obu,ivf,"
    "mjpeg,yuv4mpegpipe,nut,mxf,dv,rm,wtv"
)
_OPEN_OPTIONS = {"format_whitelist": _CONTAINERS, "protocol_whitelist": "file"}
_MOST_READ_ERRORS = 64
_TOLERATED_SHORTFALL_S = 1.0
_SEEK_MARGINS_S = (0.0, 2.0, 10.0)

# With several threads FFmpeg reports damage at the wrong frame and may lose good frames at the end of the
# file, so what is decoded would depend on the machine. One thread decodes 640x512 at over 400 frames/s.
_DECODER_THREADS = 1


class VideoClip(Clip):
    """A video file. See :class:`gst_ros.media.clip.Clip` for what every clip has.

    Stamps are the container's presentation times, made strictly increasing by
    :class:`gst_ros.media.stamps.StampSequence`. Display rotation and mirroring (multiples of 90 degrees)
    are applied. Every pixel format becomes 8-bit RGB; transparency is dropped. A frame whose size differs
    from the first one's is scaled to it and counted. Audio and cover pictures are ignored. A packet that
    cannot be decoded is counted as damaged and the next one is read.

    Args:
        path: The video file.
        start_s: Media time of the first frame to read.
        end_s: Media time at which to stop (exclusive), or None.

    Raises:
        MediaError: The file is missing, no video, or has no frame in the range asked for.
    """

    def __init__(self, path: Path, start_s: float = 0.0, end_s: float | None = None) -> None:
        super().__init__(path, start_s, end_s)
        self._reformatter = VideoReformatter()
        self._orient: Callable[[NDArray[np.uint8]], NDArray[np.uint8]] | None = None
        self._coded_size: tuple[int, int] | None = None
        self._clock_restarts = False
        self._shift_ns: int | None = None
        self._pending: list[tuple[int, Any]] = []
        self._open()
        try:
            self._describe()
            self._check_range()
        except MediaError:
            self.close()
            raise

    def close(self) -> None:
        """Release the file. May be called twice."""
        self._pending = []
        self._frames: Iterator[tuple[int, Any]] = iter(())
        self._container.close()

    # Opening

    def _open(self) -> None:
        """Open the file at its start."""
        _check_file(self.path)
        try:
            self._container = av.open(f"file:{self.path}", container_options=_OPEN_OPTIONS, metadata_errors="replace")
        except (av.error.FFmpegError, OSError, ValueError) as error:
            raise _open_error(self.path, error) from error
        try:
            self._stream = self._pick_stream()
        except MediaError:
            self._container.close()
            raise
        self._stream.codec_context.thread_count = _DECODER_THREADS
        self._stream.thread_type = "NONE"
        self._time_base = Fraction(self._stream.time_base or Fraction(1, 1000))
        fps = self._stream.average_rate or self._stream.guessed_rate
        self.nominal_fps = float(fps) if fps else None
        self._interval_ns = max(1, round(NS_PER_S / fps)) if fps else NS_PER_S // 25
        self._restart_reading()

    def _pick_stream(self) -> Any:
        streams = [s for s in self._container.streams.video if not s.disposition & s.disposition.attached_pic]
        if not streams:
            raise MediaError("the file has no video stream", file=self.path, remedy="give a video file")
        if streams[0].codec_context is None:
            raise MediaError("its video codec is not supported", file=self.path, remedy="convert it to H.264 in MP4")
        return streams[0]

    def _describe(self) -> None:
        """Read up to the first frame: only that is certain about size, rotation and start."""
        self._pending = [first] if (first := next(self._frames, None)) else []
        if not self._pending:
            raise MediaError(
                f"no frame could be decoded ({self.damaged} damaged)", file=self.path, remedy="fetch the file again"
            )
        self._shift_ns = self._stamps.shift_ns
        frame = self._pending[0][1]
        self._coded_size = (frame.width, frame.height)
        self._orient, swapped = _orientation(frame)
        self.width, self.height = self._coded_size[::-1] if swapped else self._coded_size
        self.frames_claimed = self._stream.frames or None
        start, duration = self._stream.start_time, self._stream.duration
        if duration is not None:
            end_ns = pts_to_ns((start or 0) + duration, self._time_base) + (self._shift_ns or 0)
            self.duration_s = end_ns / NS_PER_S
        elif self._container.duration is not None:
            end_us = (self._container.start_time or 0) + self._container.duration
            self.duration_s = (end_us * 1000 + (self._shift_ns or 0)) / NS_PER_S

    def _check_range(self) -> None:
        first_ns = self._pending[0][0]
        if self.start_s > 0:
            self._seek(round(self.start_s * NS_PER_S))
        problem = None
        if not self._pending:
            problem = f"no frame at or after {self.start_s} s"
        elif self._end_ns is not None and self._pending[0][0] >= self._end_ns:
            problem = f"no frame between {self.start_s} s and {self.end_s} s"
        if problem:
            end = "unknown" if self.duration_s is None else f"{self.duration_s:.3f} s"
            remedy = f"the clip starts at {first_ns / NS_PER_S:.3f} s, its claimed end is {end}"
            raise MediaError(problem, file=self.path, remedy=remedy)

    # Reading

    def _read(self) -> Frame | None:
        stamp_ns, frame = self._pending.pop() if self._pending else next(self._frames, (0, None))
        if frame is None:
            return None
        return Frame(self._to_rgb(frame), stamp_ns)

    def _to_rgb(self, frame: Any) -> NDArray[np.uint8]:
        assert self._coded_size is not None
        width, height = self._coded_size
        if (frame.width, frame.height) != self._coded_size:
            self.resized += 1
        rgb: Any = self._reformatter.reformat(frame, width=width, height=height, format="rgb24", threads=1)
        plane = rgb.planes[0]
        rows = np.frombuffer(plane, np.uint8).reshape(height, plane.line_size)
        image = np.ascontiguousarray(rows[:, : width * 3]).reshape(height, width, 3)
        return image if self._orient is None else self._orient(image)

    def _restart_reading(self) -> None:
        self._stamps: StampSequence[Any] = StampSequence(self._interval_ns, self._shift_ns)
        self._frames = self._stamped()

    def _stamped(self) -> Iterator[tuple[int, Any]]:
        """Yield (stamp_ns, decoded frame) from the present position on."""
        stamps = self._stamps
        for frame in self._decoded():
            pts_ns = None if frame.pts is None else pts_to_ns(frame.pts, self._time_base)
            before = stamps.estimated
            ready = stamps.push(pts_ns, frame)
            self.estimated += stamps.estimated - before
            yield from ready
        before = stamps.estimated
        ready = stamps.flush()
        self.estimated += stamps.estimated - before
        yield from ready

    def _decoded(self) -> Iterator[Any]:
        """Yield decoded frames in presentation order; count what is damaged and go on."""
        decoder = self._stream.codec_context
        for packet in self._packets():
            try:
                frames = decoder.decode(packet)
            except av.error.EOFError:
                return
            except av.error.FFmpegError:
                self.damaged += 1
                continue
            damaged_packet = packet is not None and packet.is_corrupt
            # A damaged packet usually gives a frame that is marked as well: that is one damage, not two.
            self.damaged += max(int(damaged_packet), sum(frame.is_corrupt for frame in frames))
            self._clock_restarts |= self._stamps.restarted
            yield from frames

    def _packets(self) -> Iterator[Any]:
        """Yield the stream's packets, then None to drain the decoder."""
        last_dts: int | None = None
        last_end: int | None = None
        errors = 0
        demuxer = self._container.demux(self._stream)
        while errors < _MOST_READ_ERRORS:
            try:
                packet = next(demuxer, None)
            except av.error.FFmpegError:
                # The generator ends with its error; a new one reads on behind the damage.
                self.damaged += 1
                errors += 1
                demuxer = self._container.demux(self._stream)
                continue
            if packet is None or (packet.size == 0 and packet.dts is None and packet.pts is None):
                break
            errors = 0
            if packet.dts is not None:
                last_dts = packet.dts if last_dts is None else max(last_dts, packet.dts)
            if packet.pts is not None:
                last_end = max(last_end or 0, packet.pts + (packet.duration or 0))
            if packet.size:  # an empty packet would put the decoder into its final state
                yield packet
        self.damaged += self._missing_after(last_dts) or self._missing_before_claimed_end(last_end)
        yield None

    def _missing_after(self, last_dts: int | None) -> int:
        """Count the frames in the container's index behind the last one read: the tail is cut off."""
        index = self._stream.index_entries
        missing = 0
        for position in range(len(index) - 1, -1, -1):
            if last_dts is not None and index[position].timestamp <= last_dts:
                break
            missing += 1
        return missing

    def _missing_before_claimed_end(self, last_end: int | None) -> int:
        """Estimate the missing frames of a file without a full index that ends over a second before its claimed end."""
        claimed_us = self._container.duration
        if last_end is None or claimed_us is None or len(self._container.streams) > 1:
            return 0  # with several streams another one may be the longer one
        end_s = claimed_us / 1_000_000 + (self._container.start_time or 0) / 1_000_000
        shortfall_s = end_s - float(last_end * self._time_base)
        return max(1, round(shortfall_s * NS_PER_S / self._interval_ns)) if shortfall_s > _TOLERATED_SHORTFALL_S else 0

    # Seeking

    def _seek(self, stamp_ns: int) -> None:
        self._pending = []
        known = (self.damaged, self.estimated)
        if not (self._seek_by_index(stamp_ns) or self._seek_from_start(stamp_ns)):
            self._frames = iter(())
        self.damaged, self.estimated = known  # counted when the frames are read, not when they are passed by

    def _seek_by_index(self, stamp_ns: int) -> bool:
        """Jump to a key frame at or before the time and decode forward; False when that is not possible."""
        if self._clock_restarts:
            return False  # times in the index are ambiguous
        for margin_s in _SEEK_MARGINS_S:
            aim = Fraction(stamp_ns - (self._shift_ns or 0), NS_PER_S) - Fraction(margin_s)
            try:
                self._container.seek(int(aim / self._time_base), stream=self._stream, backward=True)
            except av.error.FFmpegError:
                return False
            self._restart_reading()
            # Frames shown before the key frame may need others that were not read.
            key = next((pair for pair in self._frames if pair[1].key_frame), None)
            if key is not None and key[1].pts is not None and key[0] <= stamp_ns:
                return self._forward_to(stamp_ns, key)
        return False

    def _seek_from_start(self, stamp_ns: int) -> bool:
        self._container.close()
        self._open()
        return self._forward_to(stamp_ns, next(self._frames, None))

    def _forward_to(self, stamp_ns: int, pair: tuple[int, Any] | None) -> bool:
        while pair is not None and pair[0] < stamp_ns:
            pair = next(self._frames, None)
        self._pending = [] if pair is None else [pair]
        return pair is not None


def _check_file(path: Path) -> None:
    if not path.exists():
        raise MediaError("no such file", file=path, remedy="check the path")
    if not path.is_file():
        raise MediaError("not a regular file", file=path, remedy="give a video file or a folder of images")
    if path.stat().st_size == 0:
        raise MediaError("the file is empty (0 bytes)", file=path, remedy="fetch it again")


def _open_error(path: Path, error: Exception) -> MediaError:
    if isinstance(error, PermissionError):
        return MediaError("permission denied", file=path, remedy="make the file readable")
    try:
        with path.open("rb") as file:
            head = file.read(12)
    except OSError as unreadable:
        return MediaError(f"cannot be read: {unreadable.strerror}", file=path)
    if head[4:8] in (b"ftyp", b"mdat", b"wide", b"free") and isinstance(error, av.error.InvalidDataError):
        return MediaError(
            "the index (moov) is missing or damaged: the recording or download was cut off",
            file=path,
            remedy="fetch the file again",
        )
    return MediaError("not a video file", file=path, remedy="give a video such as MP4, or a folder of images")


def _orientation(frame: Any) -> tuple[Callable[[NDArray[np.uint8]], NDArray[np.uint8]] | None, bool]:
    """Find how to turn decoded pictures upright, and whether that swaps width and height.

    The display matrix [[a, b], [c, d]] (16.16 fixed point, row vectors, y down) sends (x, y) to
    (a x + c y, b x + d y); see libavutil/display.h. It is rounded to the nearest multiple of 90 degrees.
    """
    data = frame.side_data.get(SideDataType.DISPLAYMATRIX)
    if data is None:
        return None, False
    matrix = np.frombuffer(data, np.int32).astype(np.int64)
    a, b, c, d = (int(matrix[i]) for i in (0, 1, 3, 4))
    swap = abs(b) + abs(c) > abs(a) + abs(d)
    flip_x, flip_y = (c < 0, b < 0) if swap else (a < 0, d < 0)
    if not (swap or flip_x or flip_y):
        return None, False
    flip_code = {(True, True): -1, (True, False): 1, (False, True): 0}.get((flip_x, flip_y))

    def orient(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        turned: Any = cv2.transpose(image) if swap else image
        turned = turned if flip_code is None else cv2.flip(turned, flip_code)
        return np.asarray(turned, dtype=np.uint8)

    return orient, swap
