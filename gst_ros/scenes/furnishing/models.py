"""Which models a label may be: from the furniture catalogue, or made by the data engine itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gst_ros.scenes.catalogue import Catalogue
from gst_ros.scenes.furnishing.rules import rules

Mount = Literal["floor", "object", "wall", "ceiling"]
BUILTIN_VARIANTS = 1000
FLAT_TOP = 0.9
"""Things can be put on a model whose surface is this share of its height or more; lower ones have a back or a lid."""


@dataclass(frozen=True)
class Piece:
    """A model that may be placed.

    Attributes:
        model: Catalogue id, or ``builtin/...``.
        label: What questions call it.
        size_m: Depth, width, height.
        top_m: Height of its flat top, or None where nothing can stand on it.
        elevation_m: Height of its lower edge where it hangs.
    """

    model: str
    label: str
    size_m: tuple[float, float, float]
    top_m: float | None
    elevation_m: float = 0.0


class ModelPool:
    """The models that one place may use.

    Args:
        catalogue: The furniture; None leaves only what the data engine makes.
        split: ``bench``, ``train`` or ``local``.
        licences: Allowed SPDX identifiers; None for all.
    """

    def __init__(self, catalogue: Catalogue | None, split: str, licences: Collection[str] | None = None) -> None:
        self._catalogue = catalogue
        self._split = split
        self._licences = licences
        self._known: dict[str, list[Piece]] = {}
        self._spent: set[str] = set()
        self._scenery = frozenset(rules().scenery) | (catalogue.scenery if catalogue else frozenset())

    def askable(self, label: str) -> bool:
        """Whether questions may ask about things of this name."""
        return label not in self._scenery

    def options(self, label: str) -> list[Piece]:
        """All models of a label in a fixed order; built-in ones where the catalogue has none."""
        if label not in self._known:
            found = [] if label in rules().own else self._from_catalogue(label)
            self._known[label] = (found + _built_in(label)) if label in rules().mixed else (found or _built_in(label))
        return self._known[label]

    def shuffled(self, labels: Collection[str], random: np.random.Generator) -> list[Piece]:
        """The models of several labels in random order: first a label, then its models."""
        names = [label for label in labels if self.options(label)]
        result: list[Piece] = []
        for i in random.permutation(len(names)):
            pieces = self.options(names[int(i)])
            result += [pieces[int(k)] for k in random.permutation(len(pieces))]
        return [self.varied(piece, random) for piece in result if piece.model not in self._spent]

    def note(self, model: str) -> None:
        """Remember that a model is in the place: heavy ones are not offered again."""
        if model in rules().heavy:
            self._spent.add(model)

    def varied(self, piece: Piece, random: np.random.Generator) -> Piece:
        """A built-in model gets a look of its own; a catalogue model stays as it is."""
        if not piece.model.startswith("builtin/") or ":" in piece.model:
            return piece
        number = int(random.integers(BUILTIN_VARIANTS))
        return Piece(f"{piece.model}:{number}", piece.label, piece.size_m, piece.top_m, piece.elevation_m)

    def _from_catalogue(self, label: str) -> list[Piece]:
        if self._catalogue is None:
            return []
        excluded = rules().unsuited.get(label, ())
        return [
            Piece(m.model_id, label, m.size_m, _flat_top(m.top_m, m.size_m[2], label), m.elevation_m)
            for m in self._catalogue.models(label, split=self._split, licences=self._licences)
            if m.model_id not in excluded
        ]


def _flat_top(top_m: float | None, height_m: float, label: str) -> float | None:
    if top_m is None or label in rules().no_top:
        return None
    return top_m if top_m >= FLAT_TOP * height_m or label in rules().niche else None


def _built_in(label: str) -> list[Piece]:
    rule = rules().builtin.get(label)
    if rule is None:
        return []
    return [
        Piece(
            f"builtin/{rule.kind}",
            label,
            size,
            size[2] if rule.flat else None,
            rule.elevation_m,
        )
        for size in rule.sizes
    ]
