"""Which keyframes may show the same as a picture: retrieval by votes of local descriptors.

Descriptors of the keyframes' landmarks are kept in one matrix. Each feature of the picture votes, in each keyframe, for
the landmark most like it; votes count by how much better that is than what an unrelated keyframe offers, so that what
is found everywhere (corners of door frames, tiles) says little. It is exact, needs no vocabulary, and grows with the
keyframes, of which a bounded number is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import Array


class Retrieval:
    """Finds candidates among keyframes.

    Args:
        descriptors: One N x D array per keyframe, of unit length; may be empty.
        most_each: Descriptors used of each keyframe, from the first on.
    """

    def __init__(self, descriptors: Sequence[NDArray[np.float32]], most_each: int = 300) -> None:
        kept = [part[:most_each] for part in descriptors]
        sizes = np.array([len(part) for part in kept], np.int64)
        self._keyframes = len(kept)
        self._filled = np.flatnonzero(sizes)
        self._starts = (np.cumsum(sizes) - sizes)[self._filled]
        self._matrix = np.concatenate(kept) if len(self._filled) else np.zeros((0, 1), np.float32)

    def votes(self, query: NDArray[np.float32]) -> Array:
        """K votes, one for each keyframe, of N x D descriptors."""
        votes = np.zeros(self._keyframes)
        if not len(query) or not len(self._filled):
            return votes
        alike = self._matrix @ query.T
        best = np.maximum.reduceat(alike, self._starts, axis=0)  # keyframes x N
        usual = np.median(best, axis=0) if len(best) > 4 else np.full(len(query), 0.5, np.float32)
        spread = np.maximum(best - usual, 0)
        votes[self._filled] = (spread**2).sum(axis=1)
        return votes

    def candidates(self, query: NDArray[np.float32], most: int, allowed: NDArray[np.bool_] | None = None) -> list[int]:
        """Indices of keyframes, the likeliest first.

        Args:
            query: N x D descriptors of the picture.
            most: How many at most.
            allowed: K, False for keyframes that must not be given.
        """
        votes = self.votes(query)
        if allowed is not None:
            votes = np.where(allowed, votes, 0)
        return [int(k) for k in np.argsort(-votes, kind="stable")[:most] if votes[k] > 0]
