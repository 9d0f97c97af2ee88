"""Whether an image file is whole, told from its content and in the time that a glance takes.

File names lie (official ``.png`` files hold JPEG data), and decoders hide damage: OpenCV fills the missing
part of a truncated JPEG with grey and says nothing. So PNG and JPEG are walked through by their own
structure, without decoding a pixel; any other format is decoded once.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

MAX_PIXELS = 200_000_000
"""Largest image that is accepted (a 3 kB file can claim to be a gigapixel image)."""

MAX_OTHER_BYTES = 256 * 1024 * 1024

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_LFS = b"version https://git-lfs"
# Start-of-frame markers, which carry the size: all of 0xC0-0xCF but DHT (C4), JPG (C8) and DAC (CC).
_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def image_problem(path: Path) -> str | None:
    """Say what is wrong with an image file.

    Args:
        path: An existing file.

    Returns:
        None for a whole image, else the problem in a few words (``is empty``, ``is truncated``, ...).
    """
    try:
        with path.open("rb") as stream:
            if stream.seek(0, 2) == 0:
                return "is empty"
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _content_problem(data)
    except (OSError, ValueError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"


def pointer_problem(path: Path) -> str | None:
    """Say whether a media file is empty, unreadable, or a Git LFS pointer in its place; None when it is not."""
    try:
        with path.open("rb") as stream:
            head = stream.read(len(_LFS))
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    if not head:
        return "is empty"
    return "is a Git LFS pointer (run 'git lfs pull')" if head == _LFS else None


def _content_problem(data: mmap.mmap) -> str | None:
    if data[: len(_PNG)] == _PNG:
        return _png_problem(data)
    if data[: len(_JPEG)] == _JPEG:
        return _jpeg_problem(data)
    head = bytes(data[:64])
    if head.startswith(_LFS):
        return "is a Git LFS pointer (run 'git lfs pull')"
    if head.lstrip()[:1] == b"<" and b"svg" not in head.lower():
        return "is a web page, not an image (download it again)"
    return _other_problem(data)


def _size_problem(width: int, height: int) -> str | None:
    if width < 1 or height < 1:
        return f"claims to be {width}x{height} pixels"
    if width * height > MAX_PIXELS:
        return f"claims to be {width}x{height} pixels; the limit is {MAX_PIXELS // 1_000_000} megapixels"
    return None


def _png_problem(data: mmap.mmap) -> str | None:
    """Walk the chunks of a PNG: length, type, data, checksum; the first is IHDR, the last IEND."""
    position, pixels_seen = len(_PNG), False
    while position + 12 <= len(data):
        length, kind = struct.unpack(">I4s", data[position : position + 8])
        if position == len(_PNG):
            if kind != b"IHDR" or length != 13 or position + 25 > len(data):
                return "is damaged (a PNG without a header)"
            problem = _size_problem(*struct.unpack(">II", data[position + 8 : position + 16]))
            if problem:
                return problem
        if position + 12 + length > len(data):
            return "is truncated"
        if kind == b"IEND":
            return None if pixels_seen else "is damaged (a PNG without pixels)"
        pixels_seen = pixels_seen or (kind == b"IDAT" and length > 0)
        position += 12 + length
    return "is truncated"


def _jpeg_problem(data: mmap.mmap) -> str | None:
    """Walk the segments of a JPEG up to its first scan, then look for the end marker behind it."""
    position, sized = 2, False
    while position + 4 <= len(data):
        if data[position] != 0xFF:
            return "is damaged (a JPEG with a broken segment)"
        marker = data[position + 1]
        if marker == 0xFF:  # fill byte
            position += 1
            continue
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:  # markers without a length
            position += 2
            continue
        if marker == 0xD9:
            return "is damaged (a JPEG without pixels)"
        (length,) = struct.unpack(">H", data[position + 2 : position + 4])
        if marker in _SOF and position + 9 <= len(data):
            height, width = struct.unpack(">HH", data[position + 5 : position + 9])
            # Height 0 is legal (a later DNL segment gives it) but nothing of this field writes it.
            problem = _size_problem(width, height)
            if problem:
                return problem
            sized = True
        if marker == 0xDA:
            if not sized:
                return "is damaged (a JPEG without a size)"
            # Inside a scan 0xFF is always followed by 0x00 or a restart marker, so this is the end itself.
            return None if data.rfind(b"\xff\xd9", position + 2 + length) >= 0 else "is truncated"
        position += 2 + length
    return "is truncated"


def _other_problem(data: mmap.mmap) -> str | None:
    if len(data) > MAX_OTHER_BYTES:
        return f"is not a PNG or JPEG, and with {len(data) / 1e6:.0f} MB too large to try other formats"
    import cv2  # only here: neither PNG nor JPEG is rare, and OpenCV takes a while to load
    import numpy as np

    try:
        image = cv2.imdecode(np.frombuffer(bytes(data), np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        image = None
    return None if image is not None else "is not an image that can be decoded"
