"""Uniform guesses within each task's answer space: the floor that any answerer must beat."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from gst_ros.bench.tasks import find_task
from gst_ros.config import Settings, setting
from gst_ros.errors import AnswererError, ConfigError
from gst_ros.reasoning.answerer import Answer, Query, Recall

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
OPTIONS_DEFAULT = 4


@dataclass(frozen=True)
class RandomConfig(Settings):
    """Settings of :class:`RandomGuess`."""

    answerer_seed: int = setting(0, "Seed; together with a question's uid it decides the guess.", low=0)
    random_range_low_m: float = setting(0.5, "Smallest distance guessed.", unit="m", above=0.0)
    random_range_high_m: float = setting(15.0, "Largest distance guessed.", unit="m", above=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.random_range_low_m > self.random_range_high_m:
            raise ConfigError(
                f"{self.random_range_low_m} m is more than random_range_high_m, {self.random_range_high_m} m",
                field="random_range_low_m",
            )


class RandomGuess:
    """Draws letters, whole degrees, points and distances (one decimal), all equally likely.

    A guess depends on (seed, uid) alone: not on the order of questions, the process or the Python version.

    Args:
        config: Seed and range of distances.
    """

    name = "random"
    needs_walk = False

    def __init__(self, config: RandomConfig) -> None:
        self._config = config

    def answer(self, query: Query, memory: Recall) -> Answer:
        """Guess; the memory is not looked at.

        Raises:
            AnswererError: The task's metric has no answer space here.
        """
        metric = find_task(query.task).metric
        if metric == "acc":
            # Selection tasks show one image per option and no other image.
            options = len(query.images) if 2 <= len(query.images) <= len(LETTERS) else OPTIONS_DEFAULT
            return _guess(LETTERS[self._draw(query.uid, "letter", options)], f"one of {options} letters")
        if metric == "angle":
            # -180 and 180 are one direction, so the 360 whole degrees are -179 ... 180.
            return _guess(str(self._draw(query.uid, "angle", 360) - 179), "one of 360 whole degrees")
        if metric == "point":
            x, y = (self._draw(query.uid, axis, 1000) for axis in "xy")
            return _guess(f"<point>{x} {y}</point>", "one of 1000 x 1000 points")
        if metric == "mra":
            low_dm = round(self._config.random_range_low_m * 10)
            high_dm = max(low_dm, round(self._config.random_range_high_m * 10))
            range_dm = low_dm + self._draw(query.uid, "range", high_dm - low_dm + 1)
            return _guess(f"{range_dm / 10:.1f}", f"a distance from {low_dm / 10:.1f} to {high_dm / 10:.1f} m")
        raise AnswererError(f"no random guess is defined for the metric '{metric}'", file=f"question {query.uid}")

    def _draw(self, uid: str, what: str, count: int) -> int:
        """A whole number from 0 to ``count`` - 1, from a hash that is the same everywhere (``hash()`` is not)."""
        text = f"{self._config.answerer_seed}\n{what}\n{uid}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big") % count


def _guess(text: str, space: str) -> Answer:
    return Answer(text, explanation=f"random guess: {space}, all equally likely")
