"""Random numbers that depend on the seed and on what they are for, and on nothing else."""

from __future__ import annotations

import hashlib

import numpy as np


def rng(seed: int, *purpose: str) -> np.random.Generator:
    """A generator of its own for each purpose, so that changing one part of a place leaves the others as they were.

    Args:
        seed: The place's seed.
        purpose: What the numbers are for, for example ``("furnish", "kitchen_0")``.
    """
    text = "\x1f".join((str(int(seed)), *purpose))
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")))
