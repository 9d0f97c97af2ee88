"""Which rooms a place has, how large they want to be and how narrow they may get.

Sizes follow common practice for flats, offices and schools (areas to the walls' centre lines).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gst_ros.scenes.place import PlaceKind

Wish = tuple[str, float]
"""A room's kind and the area it wants, in m2."""


@dataclass(frozen=True)
class RoomRule:
    """Bounds of a kind of room.

    Attributes:
        wish_m2: Usual area.
        max_m2: Largest area; what is left over goes to other rooms.
        min_width_m: Shortest side between centre lines.
        max_aspect: Longest side over shortest side.
        core: Whether people pass through it to other rooms.
        window: Whether it needs an outer wall.
    """

    wish_m2: float
    max_m2: float
    min_width_m: float
    max_aspect: float
    core: bool = False
    window: bool = True


RULES: dict[str, RoomRule] = {
    "living": RoomRule(22, 48, 3.4, 2.1, core=True),
    "studio": RoomRule(28, 45, 4.2, 1.9, core=True),
    "kitchen": RoomRule(10, 19, 2.3, 2.3, core=True),
    "dining": RoomRule(13, 22, 2.9, 2.0, core=True),
    "hall": RoomRule(6.5, 13, 1.5, 9.0, core=True, window=False),
    "bedroom": RoomRule(13.5, 24, 2.9, 1.9),
    "study": RoomRule(10, 16, 2.5, 2.0),
    "bathroom": RoomRule(6, 10, 1.8, 2.4, window=False),
    "wc": RoomRule(2.8, 8, 1.2, 3.4, window=False),
    "storage": RoomRule(4, 9, 1.5, 3.2, window=False),
    "corridor": RoomRule(14, 60, 1.6, 20.0, core=True, window=False),
    "office": RoomRule(20, 80, 2.9, 2.6),
    "meeting": RoomRule(20, 40, 3.3, 2.2),
    "classroom": RoomRule(52, 75, 6.0, 1.7),
    "restaurant": RoomRule(60, 110, 5.5, 2.2, core=True),
}


def place_area_m2(kind: PlaceKind, random: np.random.Generator) -> float:
    """A usual total area for a kind of place."""
    low, high = {"home": (40, 160), "office": (110, 230), "classroom": (150, 290), "restaurant": (75, 150)}[kind]
    # More small places than large ones, as in towns.
    return float(low + (high - low) * random.beta(1.5, 2.0))


def home_programme(area_m2: float, random: np.random.Generator) -> list[Wish]:
    """The rooms of a home of 2 to 8 rooms."""
    count = int(np.clip(round(area_m2 / 15.0 + random.uniform(-0.7, 1.5)), 2, 8))
    if count == 2 or (area_m2 < 52.0 and random.random() < 0.3):
        kinds = ["studio", "bathroom"]
    elif count == 3:
        kinds = ["living", "bedroom", "bathroom"]
    else:
        kinds = ["living", "kitchen", "bedroom", "bathroom"]
        if count >= 5 and (count >= 7 or random.random() < 0.75):
            kinds.append("hall")
        extras = ["bedroom", "dining", "study", "bathroom", "wc", "bedroom", "storage"]
        weights = np.array([3.0, 2.0, 2.0, 1.0, 0.7, 1.2, 0.5])
        while len(kinds) < count:
            i = int(random.choice(len(extras), p=weights / weights.sum()))
            weights[i] = 0.0
            # A second bathroom is for homes with several bedrooms.
            if extras[i] in ("bathroom", "wc") and kinds.count("bedroom") < 2:
                continue
            kinds.append(extras[i])
    return fitted(kinds, area_m2, random)


def office_programme(area_m2: float, random: np.random.Generator) -> list[Wish]:
    """Offices along a corridor, with a meeting room, a tea kitchen and a toilet."""
    kinds = ["meeting", "kitchen", "wc"]
    kinds += ["office"] * int(np.clip(round(area_m2 / 38), 3, 5))
    if area_m2 > 170 and random.random() < 0.6:
        kinds.append("storage")
    return fitted(kinds, area_m2 * 0.86, random)


def school_programme(area_m2: float, random: np.random.Generator) -> list[Wish]:
    """Two to four classrooms along a corridor, with a staff room and toilets."""
    kinds = ["classroom"] * int(np.clip(round((area_m2 - 45) / 60), 2, 4))
    kinds += ["office"] + (["storage"] if random.random() < 0.5 else ["wc"])
    return fitted(kinds, area_m2 * 0.86, random)


def restaurant_programme(area_m2: float, random: np.random.Generator) -> list[Wish]:
    """A dining room, a kitchen, a toilet or two, and sometimes stores and a hall."""
    kinds = ["restaurant", "kitchen", "wc"]
    if area_m2 > 95:
        kinds.append("wc" if random.random() < 0.5 else "storage")
    if area_m2 > 110 and random.random() < 0.6:
        kinds.append("office")
    wishes = fitted(kinds, area_m2, random)
    return [(kind, max(area, 12.0) if kind == "kitchen" else area) for kind, area in wishes]


def fitted(kinds: list[str], area_m2: float, random: np.random.Generator) -> list[Wish]:
    """Share an area out among rooms by their usual sizes, within their bounds."""
    wish = np.array([RULES[kind].wish_m2 for kind in kinds]) * random.uniform(0.85, 1.2, len(kinds))
    limit = np.array([RULES[kind].max_m2 for kind in kinds])
    areas = wish.copy()
    for _ in range(8):
        free = areas < limit - 1e-9
        if not free.any():
            break
        rest = area_m2 - float(areas[~free].sum())
        areas[free] = np.minimum(limit[free], areas[free] * rest / max(1e-6, float(areas[free].sum())))
    return [(kind, float(area)) for kind, area in zip(kinds, areas, strict=True)]
