"""What a place is: the description from which everything else is made, and its file ``scene.json``.

Frame of reference: ``map``, metres, x to the right (east) of the plan, y up (north), z up; the floor is z = 0 (REP
103). Angles are counter-clockwise degrees about z from +x. An object's own frame is x forward (its front), y left, z
up, with the origin at the centre of its footprint, at its lowest point.
"""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gst_ros.errors import GstError

FORMAT_VERSION = 1

PlaceKind = Literal["home", "office", "classroom", "restaurant"]
OpeningKind = Literal["door", "passage", "window", "french_window"]


class SceneError(GstError):
    """A place cannot be made, read or rendered as described."""


@dataclass(frozen=True)
class Room:
    """A room or an outdoor area.

    Attributes:
        id: Unique within the place, for example ``kitchen_0``.
        kind: ``living``, ``kitchen``, ``dining``, ``bedroom``, ``bathroom``, ``hall``, ``study``, ``office``,
            ``meeting``, ``corridor``, ``classroom``, ``restaurant``, ``wc``, ``storage``, ``garden``, ...
        outline: Corners (x_m, y_m) of the simple polygon inside the walls' faces, counter-clockwise.
        floor: Name of the floor material (:mod:`gst_ros.scenes.rendering.materials`).
        wall: Name of the wall material.
        ceiling_m: Height of the ceiling; 0 for the open sky.
    """

    id: str
    kind: str
    outline: tuple[tuple[float, float], ...]
    floor: str
    wall: str
    ceiling_m: float

    @property
    def outdoor(self) -> bool:
        """Whether there is sky above."""
        return self.ceiling_m <= 0.0


@dataclass(frozen=True)
class Opening:
    """A hole in a wall.

    Attributes:
        kind: ``door`` (with frame, standing open), ``passage`` (bare), ``window`` or ``french_window`` (glazed).
        start_m: Distance from the wall's first end to the opening.
        width_m: Width along the wall.
        sill_m: Height of its lower edge.
        head_m: Height of its upper edge.
        style: Free variation of look (number of panes, leaf swing), chosen by the layout.
    """

    kind: OpeningKind
    start_m: float
    width_m: float
    sill_m: float
    head_m: float
    style: int = 0


@dataclass(frozen=True)
class Wall:
    """A straight wall, described by its centre line.

    Attributes:
        id: Unique within the place.
        start: First end (x_m, y_m).
        end: Second end (x_m, y_m).
        thickness_m: Full thickness.
        height_m: Height; garden fences and half-height counters are low walls with their own material.
        material_left: Material on the side to the left of start -> end.
        material_right: Material on the other side.
        openings: Holes, ordered by ``start_m``, not overlapping.
    """

    id: str
    start: tuple[float, float]
    end: tuple[float, float]
    thickness_m: float
    height_m: float
    material_left: str
    material_right: str
    openings: tuple[Opening, ...] = ()

    @property
    def length_m(self) -> float:
        """Length of the centre line."""
        return math.dist(self.start, self.end)


@dataclass(frozen=True)
class PlacedObject:
    """A piece of furniture or another thing that has an identity.

    Attributes:
        id: Unique within the place, for example ``armchair_2``.
        label: Its English name as questions use it, for example ``armchair``.
        model: Catalogue model, for example ``BlendSwap-CC-0/armchair``, or ``builtin/...`` for a generated one.
        room: Id of the room that it is in.
        position_m: Centre of the footprint at its lowest point (x, y, z), frame ``map``.
        yaw_deg: Direction of its front, counter-clockwise from +x.
        size_m: Depth (along its front axis), width (along its left axis), height.
        on: Id of the object that it stands on, empty on the floor, wall or ceiling.
        mount: ``floor``, ``object``, ``wall`` or ``ceiling``.
        blocks: Whether a walker must go round it and a plan with furniture shows it (a rug does not).
        tint: Multiplies the model's colours (r, g, b; 1 = as modelled).
        askable: Whether questions may ask about it (switches, skirting and the like are scenery).
    """

    id: str
    label: str
    model: str
    room: str
    position_m: tuple[float, float, float]
    yaw_deg: float
    size_m: tuple[float, float, float]
    on: str = ""
    mount: Literal["floor", "object", "wall", "ceiling"] = "floor"
    blocks: bool = True
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0)
    askable: bool = True

    @property
    def centre_m(self) -> tuple[float, float, float]:
        """Centre of its box, frame ``map``."""
        x, y, z = self.position_m
        return (x, y, z + self.size_m[2] / 2)

    def footprint(self, margin_m: float = 0.0) -> tuple[tuple[float, float], ...]:
        """Corners (x_m, y_m) of its rectangle on the floor, counter-clockwise, grown by ``margin_m`` on all sides."""
        half_depth, half_width = self.size_m[0] / 2 + margin_m, self.size_m[1] / 2 + margin_m
        c, s = math.cos(math.radians(self.yaw_deg)), math.sin(math.radians(self.yaw_deg))
        corners = (
            (half_depth, half_width),
            (-half_depth, half_width),
            (-half_depth, -half_width),
            (half_depth, -half_width),
        )
        x, y, _ = self.position_m
        return tuple((x + c * f - s * w, y + s * f + c * w) for f, w in corners)


@dataclass(frozen=True)
class Light:
    """A lamp that lights its surroundings (its body, if it has one, is an object).

    Attributes:
        position_m: (x, y, z), frame ``map``.
        colour: Linear r, g, b at full strength.
        intensity: Relative strength; 1 lights a room of 15 m2 well.
        room: Id of the room it lights.
    """

    position_m: tuple[float, float, float]
    colour: tuple[float, float, float]
    intensity: float
    room: str


@dataclass(frozen=True)
class Place:
    """A whole place. The same seed, kind and split always give the same description, byte for byte.

    Attributes:
        name: For example ``home_0042``.
        kind: What sort of place it is.
        seed: The seed that it was grown from.
        split: ``bench``, ``train`` or ``local``: other splits use other furniture instances.
        rooms: Rooms and outdoor areas; no two overlap.
        walls: All walls; rooms' outlines touch their faces.
        objects: Everything with an identity.
        lights: Lamps; daylight is separate.
        sun_azimuth_deg: Direction the sun stands in, counter-clockwise from +x.
        sun_elevation_deg: Its height above the horizon.
        sky: Name of the sky seen through windows.
    """

    name: str
    kind: PlaceKind
    seed: int
    split: str
    rooms: tuple[Room, ...]
    walls: tuple[Wall, ...]
    objects: tuple[PlacedObject, ...]
    lights: tuple[Light, ...] = ()
    sun_azimuth_deg: float = 225.0
    sun_elevation_deg: float = 40.0
    sky: str = "clear"
    version: int = field(default=FORMAT_VERSION)

    def to_json(self) -> str:
        """The description as JSON text: sorted keys, lengths rounded to 0.1 mm, one trailing newline."""
        return json.dumps(_rounded(dataclasses.asdict(self)), indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def save(self, file: Path) -> None:
        """Write ``scene.json``."""
        from gst_ros.scenes.files import write_text

        write_text(file, self.to_json())


def load_place(file: Path) -> Place:
    """Read ``scene.json``.

    Raises:
        SceneError: It names the file and the field that is missing, unknown, of a wrong kind or out of range.
    """
    # Here, because what reads raises the SceneError of this module.
    from gst_ros.scenes.reading import read_json
    from gst_ros.scenes.shapes import Misfit, built, shape_of

    def shape(value: Any, name: str) -> None:
        found = value.get("version") if isinstance(value, dict) else None
        if found != FORMAT_VERSION:
            raise Misfit("version", f"expected version {FORMAT_VERSION}, found {str(found)[:40]}")
        shape_of(Place)(value, name)

    return built(Place, read_json(file, shape, remedy="make the set again with this version of gst"))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4) + 0.0
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value
