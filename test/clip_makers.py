"""Small clips for tests. Every frame carries its number as a grey level, so that it can be told from the others."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

MS = Fraction(1, 1000)


def picture(number: int, width: int = 64, height: int = 48) -> NDArray[np.uint8]:
    """Grey level 4 x number (mod 200), with a red corner at the top left and a green one at the top right."""
    image = np.full((height, width, 3), (number * 4) % 200, np.uint8)
    image[: height // 4, : width // 4] = (230, 20, 20)
    image[: height // 4, -(width // 4) :] = (20, 230, 20)
    return image


def number_of(image: NDArray[np.uint8]) -> int:
    """The number that a picture of :func:`picture` carries (below 50)."""
    height, width, _ = image.shape
    return round(float(image[height // 2 :, width // 3 : -(width // 3)].mean()) / 4)


def write_video(
    path: Path,
    frames: int = 20,
    *,
    times_ms: Sequence[int] | None = None,
    width: int = 64,
    height: int = 48,
    codec: str = "libx264",
    pixel_format: str = "yuv420p",
    fps: int = 10,
    rotation: int = 0,
    mirrored: bool = False,
    audio: bool = False,
    codec_options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
) -> Path:
    """Write a clip; stamps are ``times_ms``, or ``fps`` apart."""
    with av.open(str(path), "w", options=container_options or {}) as container:
        stream: Any = container.add_stream(codec, rate=fps)
        stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
        stream.options = codec_options or {}
        if codec == "mpeg4":
            stream.bit_rate = 4_000_000  # its default smears the grey levels
        if times_ms is not None:
            stream.codec_context.time_base = MS
        if rotation or mirrored:
            stream.set_display_rotation(rotation, hflip=mirrored)
        sound: Any = container.add_stream("aac", rate=8000, layout="mono") if audio else None
        for number in range(len(times_ms) if times_ms is not None else frames):
            frame = av.VideoFrame.from_ndarray(picture(number, width, height), format="rgb24")
            frame.pts = number if times_ms is None else times_ms[number]
            frame.time_base = Fraction(1, fps) if times_ms is None else MS
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        if sound is not None:
            for block in range(20):
                tone = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
                tone.rate, tone.pts = 8000, block * 1024
                container.mux(sound.encode(tone))
            container.mux(sound.encode(None))
    return path


def cut(source: Path, target: Path, part: float) -> Path:
    """Copy the first part (0 to 1) of a file."""
    data = source.read_bytes()
    target.write_bytes(data[: int(len(data) * part)])
    return target


def corrupt(source: Path, target: Path, bytes_hit: int, seed: int = 1) -> Path:
    """Copy an MP4 with its index in front and flip single bytes in its pictures, not in the first ones."""
    data = bytearray(source.read_bytes())
    start = data.find(b"mdat") + 2000
    draw = random.Random(seed)
    for _ in range(bytes_hit):
        data[draw.randrange(start, len(data))] ^= 0xFF
    target.write_bytes(data)
    return target
