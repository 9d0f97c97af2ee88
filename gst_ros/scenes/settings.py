"""The settings of a set of places, as ``set.json`` states them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import cast, get_args

from gst_ros.config import Settings, setting
from gst_ros.errors import ConfigError
from gst_ros.scenes.cameras import CameraPreset, Intrinsics, find_preset
from gst_ros.scenes.place import PlaceKind
from gst_ros.scenes.questions.options import QuestionOptions
from gst_ros.scenes.walking.walk import WalkOptions

LICENCES = {"cc0": ("CC0-1.0",), "cc-by": ("CC-BY-3.0", "CC-BY-3.0-US")}
DEFAULT_KINDS = ("home", "home", "office", "home", "home", "classroom", "home", "home", "restaurant", "home")


@dataclass(frozen=True)
class PlaceSpec:
    """Which place of a set.

    Attributes:
        number: Its number, from 0.
        name: Its name, also that of its folder.
        kind: What sort of place it is.
        seed: The seed that it grows from.
    """

    number: int
    name: str
    kind: PlaceKind
    seed: int


@dataclass(frozen=True)
class SetOptions(Settings):
    """Everything that decides what a set contains, byte for byte."""

    seed: int = setting(1, "Seed of the set.", low=0, high=2**63 - 1)
    count: int = setting(1, "Number of places.", low=1, high=100000)
    split: str = setting(
        "bench", "Other splits have other places; train also has other furniture.", choices=("bench", "train", "local")
    )
    kinds: tuple[str, ...] = setting(DEFAULT_KINDS, "Kinds of the places, in turn.")
    camera: str = setting("official", "Camera preset.")
    videos: int = setting(1, "Exploration videos per place, each of a walk of its own.", low=1, high=20)
    walk: WalkOptions = field(default_factory=WalkOptions, metadata={"doc": "How the walks go."})
    view_width: int = setting(0, "Width of the query views in pixels; 0 for that of the preset.", low=0, high=8192)
    crf: int = setting(20, "Quality of the videos: x264's constant rate factor.", low=0, high=51)
    sensor_effects: bool = setting(False, "Whether videos have noise, motion blur and changes of exposure.")
    depth: bool = setting(False, "Whether depth images are kept in gt/.")
    licences: tuple[str, ...] = setting((), "Licences of the furniture: cc0, cc-by; empty for all.")
    builtin_only: bool = setting(False, "Whether to use no furniture catalogue, only simple built-in furniture.")
    area_m2: float | None = setting(
        None, "Floor area of the places; free when not given.", unit="m2", low=20.0, high=1000.0
    )
    questions: QuestionOptions = field(default_factory=QuestionOptions, metadata={"doc": "What is asked."})

    def __post_init__(self) -> None:
        super().__post_init__()
        known = get_args(PlaceKind)
        for name in self.kinds:
            if name not in known:
                raise ConfigError(f"unknown kind of place '{name}'", field="kinds", remedy=f"known: {', '.join(known)}")
        if not self.kinds:
            raise ConfigError("no kind of place", field="kinds", remedy=f"known: {', '.join(known)}")
        for name in self.licences:
            if name not in LICENCES:
                remedy = f"known: {', '.join(LICENCES)}"
                raise ConfigError(f"unknown licence '{name}'", field="licences", remedy=remedy)
        if self.query_camera.width < 64:
            raise ConfigError(f"{self.view_width} pixels is too small", field="view_width", remedy="64 or more")

    @property
    def preset(self) -> CameraPreset:
        """The camera.

        Raises:
            SceneError: There is none of this name.
        """
        return find_preset(self.camera)

    @property
    def query_camera(self) -> Intrinsics:
        """Intrinsics of the query views, at the size asked for."""
        camera = self.preset.query
        return camera if not self.view_width else camera.scaled(self.view_width / camera.width)

    @property
    def licence_ids(self) -> tuple[str, ...] | None:
        """SPDX identifiers of the licences that furniture may have; None for all."""
        return tuple(i for name in self.licences for i in LICENCES[name]) or None

    def place(self, number: int) -> PlaceSpec:
        """The specification of a place.

        Args:
            number: Its number; those from ``count`` on are not part of the set, but lend their plans as wrong options.
        """
        kind = self.kinds[number % len(self.kinds)]
        text = f"{self.split}\x1f{self.seed}\x1f{number}"
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
        name = f"{self.split}{self.seed}_{number:03d}_{kind}"
        return PlaceSpec(number, name, cast(PlaceKind, kind), seed)
