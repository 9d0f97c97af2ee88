"""Presentation times of a container, made into strictly increasing nanoseconds.

Containers and decoders give presentation times (pts) that are missing, equal, out of order, negative, or
that start again in the middle of a file. Frames are addressed by their stamps, so every frame must have
one of its own, later than the one before. A pts that can be kept is kept exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Generic, TypeVar

T = TypeVar("T")

NS_PER_S = 1_000_000_000
_MOST_HELD = 8


def pts_to_ns(pts: int, time_base: Fraction) -> int:
    """Convert a time in units of ``time_base`` seconds to nanoseconds, exactly or rounded half up.

    Args:
        pts: Presentation time in units of ``time_base``.
        time_base: Seconds per unit.
    """
    twice = 2 * pts * time_base.numerator * NS_PER_S
    return (twice + time_base.denominator) // (2 * time_base.denominator)


class StampSequence(Generic[T]):
    """Gives frames, which come in presentation order, strictly increasing stamps.

    - A pts later than everything before is the stamp, unchanged.
    - A sequence that starts before zero is shifted as a whole to start at zero.
    - A frame without a pts, or with one that is not later than its predecessor's, is held until the next
      usable pts (at most eight frames) and placed evenly between its neighbours.
    - When none of eight frames has a usable pts, the frames go on at the nominal interval; if they do have
      pts, the clock has started again (spliced recordings, wrap-around) and later pts continue from there.

    Attributes:
        estimated: Number of stamps that did not come from the frame's own pts.
        shift_ns: What is added to the container's own times.
        restarted: Whether the container's clock was seen to start again.
    """

    def __init__(self, interval_ns: int, shift_ns: int | None = None) -> None:
        """Begin a sequence.

        Args:
            interval_ns: Nominal time between frames, used only where the container says nothing.
            shift_ns: The shift found by an earlier pass over the same file; None finds it from the first pts.
        """
        if interval_ns < 1:
            raise ValueError(f"interval_ns must be positive, got {interval_ns}")
        self._interval_ns = interval_ns
        self._last_ns: int | None = None
        self._held: list[tuple[int | None, T]] = []
        self.shift_ns = shift_ns
        self.estimated = 0
        self.restarted = False

    def push(self, pts_ns: int | None, item: T) -> list[tuple[int, T]]:
        """Take the next frame and return those whose stamps are now certain, in order.

        Args:
            pts_ns: The frame's own time in nanoseconds, or None.
            item: The frame.
        """
        if pts_ns is not None:
            if self.shift_ns is None:
                # Frames without a pts may come first; they need room before this one.
                self.shift_ns = max(0, len(self._held) * self._interval_ns - pts_ns)
            stamp_ns = pts_ns + self.shift_ns
            low_ns = self._low(stamp_ns)
            if stamp_ns - low_ns > len(self._held):
                placed = self._place_held(low_ns, stamp_ns)
                self._last_ns = stamp_ns
                return [*placed, (stamp_ns, item)]
        self._held.append((pts_ns, item))
        if len(self._held) < _MOST_HELD:
            return []
        placed = self.flush()
        if pts_ns is not None:
            self.shift_ns = placed[-1][0] - pts_ns
            self.restarted = True
        return placed

    def flush(self) -> list[tuple[int, T]]:
        """Return the frames still held, at the nominal interval (used at the end of the stream)."""
        if not self._held:
            return []
        low_ns = -self._interval_ns if self._last_ns is None else self._last_ns
        placed = self._place_held(low_ns, low_ns + (len(self._held) + 1) * self._interval_ns)
        self._last_ns = placed[-1][0]
        return placed

    def _low(self, stamp_ns: int) -> int:
        """The time after which the held frames must lie."""
        if self._last_ns is not None:
            return self._last_ns
        held = len(self._held)
        # At the start of the clip: the nominal interval apart, the first one not before zero.
        return max(stamp_ns - (held + 1) * self._interval_ns, -(stamp_ns // held) if held else -1)

    def _place_held(self, low_ns: int, high_ns: int) -> list[tuple[int, T]]:
        """Spread the held frames evenly strictly between two times."""
        gaps = len(self._held) + 1
        placed = [(low_ns + (high_ns - low_ns) * j // gaps, item) for j, (_, item) in enumerate(self._held, start=1)]
        self.estimated += len(placed)
        self._held = []
        return placed
