"""Settings of the answerer ``memory``; apart from it, because it takes a second to load."""

from __future__ import annotations

from dataclasses import dataclass

from gst_ros.config import setting
from gst_ros.reasoning.random_guess import RandomConfig


@dataclass(frozen=True)
class MemoryAnswererConfig(RandomConfig):
    """Settings of the answerer; those of guesses are for questions that the map cannot answer."""

    distance: str = setting(
        "horizontal",
        "What distances to objects mean: on the floor, or from the camera to the middle of the object.",
        choices=("horizontal", "straight"),
    )
