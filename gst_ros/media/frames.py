"""A time-stamped frame, and the running fingerprint of a sequence of stamps."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Frame:
    """One image of a clip or a camera.

    Attributes:
        image_rgb: Height x width x 3, 8 bits, red first.
        stamp_ns: Its time in nanoseconds. Frames are addressed by this, never by an index: containers
            claim wrong frame counts and decoders disagree on indices.
    """

    image_rgb: NDArray[np.uint8]
    stamp_ns: int


class StampDigest:
    """SHA-256 over a sequence of stamps, with its count and ends, in constant memory.

    Two ends of a transport that agree on it have handled the same frames, in the same order, once each.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.count = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None

    def add(self, stamp_ns: int) -> None:
        """Append one stamp (int64 nanoseconds, hashed little endian)."""
        self._hash.update(struct.pack("<q", stamp_ns))
        self.count += 1
        if self.first_ns is None:
            self.first_ns = stamp_ns
        self.last_ns = stamp_ns

    @property
    def sha256(self) -> str:
        """Hexadecimal digest of what was added so far."""
        return self._hash.hexdigest()
