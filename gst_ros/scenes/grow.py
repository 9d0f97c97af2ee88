"""A place from a seed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import get_args

from gst_ros.scenes.catalogue import Catalogue
from gst_ros.scenes.furnishing.furnish import furnish
from gst_ros.scenes.furnishing.models import ModelPool
from gst_ros.scenes.layout.looks import draw_daylight
from gst_ros.scenes.layout.plan import draw_plan
from gst_ros.scenes.place import Place, PlaceKind, SceneError
from gst_ros.scenes.rng import rng
from gst_ros.scenes.validity import check_place

ATTEMPTS = 24


@dataclass(frozen=True)
class GrowOptions:
    """What may be asked of a place; None leaves it to the seed.

    Attributes:
        area_m2: Total floor area.
        garden: Whether a home has a garden.
        licences: SPDX identifiers of the furniture that may be used; None for all.
        builtin_only: Use no furniture catalogue, only what the data engine makes itself.
        clutter: How full the rooms are; 1 is usual.
    """

    area_m2: float | None = None
    garden: bool | None = None
    licences: Collection[str] | None = None
    builtin_only: bool = False
    clutter: float | None = None


def grow_place(
    kind: PlaceKind,
    seed: int,
    split: str = "bench",
    catalogue: Catalogue | None = None,
    options: GrowOptions | None = None,
) -> Place:
    """The place of a seed: the same arguments always give the same place.

    A plan that cannot be furnished without a problem is dropped for the seed's next one.

    Args:
        kind: ``home``, ``office``, ``classroom`` or ``restaurant``.
        seed: Any whole number from 0.
        split: ``train`` uses other furniture than the others.
        catalogue: The furniture; None for built-in models only.
        options: Wishes.

    Raises:
        SceneError: The kind is unknown, furniture is missing, or the wishes cannot be met.
    """
    options = options or GrowOptions()
    if kind not in get_args(PlaceKind):
        known = ", ".join(get_args(PlaceKind))
        raise SceneError(f"unknown kind of place '{kind}'", field="kind", remedy=f"one of: {known}")
    if catalogue is None and not options.builtin_only:
        raise SceneError("no furniture catalogue", field="catalogue", remedy="give one, or allow built-in models only")
    source = None if options.builtin_only else catalogue
    random = rng(seed, "daylight")
    azimuth, elevation, sky = draw_daylight(random)
    clutter = options.clutter if options.clutter is not None else float(random.uniform(0.75, 1.25))
    reason = ""
    for attempt in range(ATTEMPTS):
        try:
            plan = draw_plan(kind, seed, area_m2=options.area_m2, garden=options.garden, attempt=attempt)
        except SceneError as error:
            reason = error.problem
            continue
        place = Place(
            name=f"{kind}_{seed:04d}",
            kind=kind,
            seed=seed,
            split=split,
            rooms=plan.rooms,
            walls=plan.walls,
            objects=furnish(plan, ModelPool(source, split, options.licences), seed, clutter=clutter),
            lights=plan.lights,
            sun_azimuth_deg=azimuth,
            sun_elevation_deg=elevation,
            sky=sky,
        )
        problems = check_place(place, catalogue)
        if not problems:
            return place
        reason = problems[0]
    raise SceneError(f"no {kind} for seed {seed}: {reason}", field="seed", remedy="take another seed or another area")
