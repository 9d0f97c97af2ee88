"""Furniture models by the name that questions call them, with real dimensions and licences.

Reads the catalogues of Debian's ``sweethome3d-furniture`` (zip files with a properties list, OBJ models and textures).
Nothing of it is part of this project; each placed model keeps the name of its licence and author.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml

from gst_ros.scenes.place import SceneError
from gst_ros.scenes.rendering.mesh import Mesh

FURNITURE_DIR_VARIABLE = "GST_FURNITURE_DIR"
DEFAULT_FURNITURE_DIR = Path("/usr/share/sweethome3d/furniture")
REMEDY = (
    f"on Debian and Ubuntu: apt-get install sweethome3d-furniture; elsewhere unpack that package and set "
    f"{FURNITURE_DIR_VARIABLE} to the folder with its .sh3f files"
)
Mount = Literal["floor", "object", "wall", "ceiling"]

# The catalogues that these files hold; the file's name decides the licence.
_LICENCES = {
    "BlendSwap-CC-0": "CC0-1.0",
    "BlendSwap-CC-BY": "CC-BY-3.0",
    "KatorLegaz": "CC-BY-3.0-US",
    "Scopia": "CC-BY-3.0",
}


@dataclass(frozen=True)
class FurnitureModel:
    """One model of a catalogue.

    Attributes:
        model_id: Catalogue and model, for example ``BlendSwap-CC-0/armchair``.
        label: The name that questions call it.
        name: The catalogue's own English name.
        size_m: Depth (along its front axis), width, height, as the catalogue states them.
        elevation_m: Height of its lower edge above the floor where it hangs; 0 for what stands.
        top_m: Height of the surface that things can stand on, above its lower edge; None where there is none.
        licence: SPDX identifier.
        creator: Author.
        split: ``bench`` or ``train``: which data may show it.
    """

    model_id: str
    label: str
    name: str
    size_m: tuple[float, float, float]
    elevation_m: float
    top_m: float | None
    licence: str
    creator: str
    split: str
    archive: Path = field(repr=False, compare=False)
    member: str = field(repr=False, compare=False)
    rotation: tuple[float, ...] = field(repr=False, compare=False)


class Catalogue:
    """The models that the data engine uses.

    Args:
        models: All models, ordered by id.
        scenery: Labels that questions never ask for.
    """

    def __init__(self, models: Collection[FurnitureModel], scenery: Collection[str]) -> None:
        self._models = {model.model_id: model for model in sorted(models, key=lambda m: m.model_id)}
        self.scenery = frozenset(scenery)

    @classmethod
    def open(cls, folder: Path | None = None) -> Catalogue:
        """Read the catalogues.

        Args:
            folder: Where the ``.sh3f`` files lie; by default ``$GST_FURNITURE_DIR``, else where Debian puts them.

        Raises:
            SceneError: When they are missing or damaged; it names the Debian package.
        """
        if folder is None:
            folder = Path(os.environ.get(FURNITURE_DIR_VARIABLE) or DEFAULT_FURNITURE_DIR)
        archives = [folder / f"{name}.sh3f" for name in _LICENCES]
        missing = [archive.name for archive in archives if not archive.is_file()]
        if missing:
            raise SceneError(f"no furniture: {', '.join(missing)} missing", file=folder, remedy=REMEDY)
        curated = _curated()
        label_of = {name: label for label, names in curated["labels"].items() for name in names}
        relabelled = curated["relabelled"]
        rejected = set(curated["rejected"])
        models = []
        for archive in archives:
            found = [m for m in _read_archive(archive, label_of) if m.model_id not in rejected]
            models += [replace(m, label=relabelled.get(m.model_id, m.label)) for m in found]
        return cls(_with_splits(models), curated["scenery"])

    def models(
        self,
        label: str | None = None,
        *,
        split: str | None = None,
        licences: Collection[str] | None = None,
    ) -> list[FurnitureModel]:
        """The models of a label, in the order of their ids.

        Args:
            label: A label, or None for all.
            split: ``train`` takes the training instances; any other split the benchmark's; None takes both.
            licences: Allowed SPDX identifiers, or None for all.
        """
        side = None if split is None else ("train" if split == "train" else "bench")
        return [
            m
            for m in self._models.values()
            if (label is None or m.label == label)
            and (side is None or m.split in (side, "both"))
            and (licences is None or m.licence in licences)
        ]

    def labels(self) -> list[str]:
        """All labels that have a model."""
        return sorted({model.label for model in self._models.values()})

    def model(self, model_id: str) -> FurnitureModel:
        """Look one model up.

        Raises:
            SceneError: When the catalogue does not hold it.
        """
        try:
            return self._models[model_id]
        except KeyError:
            raise SceneError(f"unknown furniture model '{model_id}'", field="model", remedy=REMEDY) from None

    def mesh(self, model_id: str) -> Mesh:
        """The model's triangles in the object frame (x forward, y left, z up), at its real size.

        The origin is the centre of the footprint at the lowest point.

        Raises:
            SceneError: When the model is unknown or its files are damaged.
        """
        return _load_mesh(self.model(model_id))


@lru_cache(maxsize=1)
def _curated() -> dict[str, Any]:
    text = resources.files("gst_ros.scenes").joinpath("data/furniture.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return data


@lru_cache(maxsize=256)
def _load_mesh(model: FurnitureModel) -> Mesh:
    from gst_ros.scenes.rendering.meshcache import cached_mesh
    from gst_ros.scenes.rendering.obj import load_obj

    arguments = (model.archive, model.member, model.rotation, model.size_m)
    return cached_mesh(arguments, lambda: load_obj(*arguments))


def _read_archive(archive: Path, label_of: dict[str, str]) -> list[FurnitureModel]:
    import javaproperties

    try:
        with zipfile.ZipFile(archive) as zipped:
            # Java's property files are Latin-1 by definition.
            values = javaproperties.loads(zipped.read("PluginFurnitureCatalog.properties").decode("latin-1"))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise SceneError(f"damaged furniture catalogue: {error}", file=archive, remedy=REMEDY) from error
    models = []
    number = 1
    while f"name#{number}" in values:
        models += _read_model(archive, values, number, label_of)
        number += 1
    return models


def _read_model(archive: Path, values: dict[str, str], number: int, label_of: dict[str, str]) -> list[FurnitureModel]:
    def get(key: str, default: str = "") -> str:
        return values.get(f"{key}#{number}", default)

    name, member = get("name"), get("model").lstrip("/")
    label = label_of.get(name.lower())
    if label is None or get("category") in ("Characters", "Vehicles"):
        return []
    width, depth, height = (float(get(key)) / 100 for key in ("width", "depth", "height"))
    top = float(get("dropOnTopElevation", str(height * 100)))
    rotation = tuple(float(v) for v in get("modelRotation", "1 0 0 0 1 0 0 0 1").split())
    return [
        FurnitureModel(
            model_id=f"{archive.stem}/{Path(member).stem}",
            label=label,
            name=name,
            size_m=(depth, width, height),
            elevation_m=float(get("elevation", "0")) / 100,
            top_m=None if top < 0 else top / 100,
            licence=_LICENCES[archive.stem],
            creator=get("creator"),
            split="both",
            archive=archive,
            member=member,
            rotation=rotation,
        )
    ]


def _with_splits(models: list[FurnitureModel]) -> list[FurnitureModel]:
    """Share each label's models out between training and benchmark; a label with one model serves both.

    The order is a hash of the model's id, so that adding a model moves few others.
    """
    by_label: dict[str, list[FurnitureModel]] = {}
    for model in models:
        by_label.setdefault(model.label, []).append(model)
    result = []
    for group in by_label.values():
        if len(group) == 1:
            result += group
            continue
        ranked = sorted(group, key=lambda m: hashlib.sha256(m.model_id.encode()).digest())
        # The benchmark gets the smaller half of an odd number: training gains more from variety.
        half = len(ranked) // 2
        result += [replace(m, split="bench" if i < half else "train") for i, m in enumerate(ranked)]
    return result
