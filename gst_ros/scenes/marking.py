"""Videos with a red rectangle round an object in every frame that shows it.

Most of a video does not show the object, so only the groups of pictures that do are decoded, drawn on and encoded
again; the others are copied as they are.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.codec.context import Flags
from numpy.typing import NDArray

from gst_ros.scenes.files import write_file
from gst_ros.scenes.footage import DEFAULT_CRF, encoder_options, read_frames, write_video
from gst_ros.scenes.instances import VISIBLE_PIXELS, Track

Image = NDArray[np.uint8]
Box = tuple[int, ...]

MARK_COLOUR = (255, 0, 0)
MARK_WIDTH_PX = 4
MARK_MARGIN_PX = 3


def mark_video(
    source: Path,
    file: Path,
    track: Track,
    *,
    fps: float,
    crf: int = DEFAULT_CRF,
    least_pixels: int = VISIBLE_PIXELS,
) -> None:
    """Make a video again with a red rectangle round an object, in every frame that shows it.

    Args:
        source: The video.
        file: Where to.
        track: Where the video shows the object.
        fps: Frames per second of the video.
        crf: See :class:`gst_ros.scenes.footage.VideoWriter`.
        least_pixels: Frames with fewer pixels of the object stay unmarked.

    Raises:
        SceneError: The file cannot be written.
    """
    shown = track.pixels >= least_pixels
    boxes = {int(f): tuple(int(v) for v in b) for f, b in zip(track.frames[shown], track.boxes[shown], strict=True)}
    data = _spliced(source, boxes, fps, crf)
    if data is None:
        write_video(_marked(read_frames(source), boxes), file, fps, crf)
        return
    write_file(file, data)


def draw_mark(rgb: Image, box: Box) -> None:
    """Draw a hollow red rectangle into an image.

    Its edges lie on even pixels and are four pixels wide, so that the half resolution of a video's colour keeps them
    pure. Where the box meets the border of the image, the rectangle is cut off by it.

    Args:
        rgb: H x W x 3 bytes, changed in place.
        box: First column, first row, last column, last row of the object's pixels.
    """
    height, width = rgb.shape[:2]
    margin, line = MARK_MARGIN_PX, MARK_WIDTH_PX
    left, top = (_even(v - margin - line) for v in box[:2])
    right, bottom = (_even(v + margin + line + 1) for v in box[2:])
    outer = (max(left, 0), max(top, 0), min(right, width), min(bottom, height))
    for x0, y0, x1, y1 in (
        (left, top, right, top + line),
        (left, bottom - line, right, bottom),
        (left, top, left + line, bottom),
        (right - line, top, right, bottom),
    ):
        rgb[max(y0, outer[1]) : max(0, min(y1, outer[3])), max(x0, outer[0]) : max(0, min(x1, outer[2]))] = MARK_COLOUR


def _even(value: int) -> int:
    return value - value % 2


def _marked(frames: Iterator[Image], boxes: Mapping[int, Box], first: int = 0) -> Iterator[Image]:
    for number, rgb in enumerate(frames, start=first):
        if number in boxes:
            draw_mark(rgb, boxes[number])
        yield rgb


def _spliced(source: Path, boxes: Mapping[int, Box], fps: float, crf: int) -> bytes | None:
    """The marked video, or None when the source comes from an encoder whose groups do not go with ours."""
    memory = io.BytesIO()
    with av.open(str(source)) as container:
        stream = container.streams.video[0]
        decoder = stream.codec_context
        decoder.thread_count = 1
        groups = _groups(container, stream)
        if not _goes_with(bytes(decoder.extradata or b""), _encoder(decoder, fps, crf)):
            return None
        with av.open(memory, "w", format="mp4", container_options={"fflags": "+bitexact"}) as output:
            copy = output.add_stream_from_template(stream)
            first = 0
            for packets in groups:
                numbers = range(first, first + len(packets))
                touched = any(number in boxes for number in numbers)
                frames = _marked(_decoded(decoder, packets), boxes, first)
                new = _encoded(frames, _encoder(decoder, fps, crf), numbers, stream.time_base) if touched else packets
                for packet in new:
                    packet.stream = copy
                    output.mux(packet)
                first = numbers.stop
    return memory.getvalue()


def _groups(container: Any, stream: Any) -> list[list[Any]]:
    """The packets of a video, cut before each key frame; our encoder's groups refer to nothing outside them."""
    groups: list[list[Any]] = []
    for packet in container.demux(stream):
        if packet.dts is None:  # the end
            continue
        if packet.is_keyframe or not groups:
            groups.append([])
        groups[-1].append(packet)
    return groups


def _encoder(decoder: Any, fps: float, crf: int) -> Any:
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = decoder.width, decoder.height, "yuv420p"
    encoder.framerate = Fraction(fps).limit_denominator(1000)
    encoder.time_base = 1 / encoder.framerate
    encoder.thread_count = 1
    encoder.flags |= Flags.global_header
    # Lengths before the units instead of start codes: what mp4 holds, as the packets do that are copied.
    encoder.options = {**encoder_options(fps, crf), "x264-params": "annexb=0"}
    encoder.open()
    return encoder


def _goes_with(record: bytes, encoder: Any) -> bool:
    """Whether a video's parameter sets (its avcC record, ISO/IEC 14496-15) are those of an encoder."""
    if len(record) < 8 or record[0] != 1 or record[5] & 31 != 1:
        return False
    length = int.from_bytes(record[6:8], "big")
    sequence, rest = record[8 : 8 + length], record[8 + length :]
    picture = rest[3 : 3 + int.from_bytes(rest[1:3], "big")]
    own = bytes(encoder.extradata or b"")
    return bool(sequence) and bool(picture) and sequence in own and picture in own


def _decoded(decoder: Any, packets: list[Any]) -> Iterator[Image]:
    for packet in (*packets, None):
        for frame in decoder.decode(packet):
            yield frame.to_ndarray(format="rgb24")
    decoder.flush_buffers()


def _encoded(frames: Iterator[Image], encoder: Any, numbers: range, time_base: Any) -> Iterator[Any]:
    """Packets of a group, at the times of its frames' numbers."""
    unit = encoder.time_base / time_base

    def timed(packets: list[Any]) -> Iterator[Any]:
        for packet in packets:
            packet.pts, packet.dts = (int((time + numbers.start) * unit) for time in (packet.pts, packet.dts))
            packet.time_base = time_base
            yield packet

    for number, rgb in enumerate(frames):
        frame = av.VideoFrame.from_ndarray(rgb, format="rgb24")
        frame.pts, frame.time_base = number, encoder.time_base
        yield from timed(encoder.encode(frame))
    yield from timed(encoder.encode(None))
