"""What a plan is made of: floors, walls, lamps, sun and sky."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import shapely

from gst_ros.scenes.place import Light, Room
from gst_ros.scenes.rendering.lighting import SKIES

LAMP_BELOW_CEILING_M = 0.05
LAMP_AREA_M2 = 15.0
CORRIDOR_PITCH_M = 4.0

_WET = ("bathroom", "wc", "kitchen", "storage")
_WORK = ("office", "meeting", "corridor", "classroom")
# Linear colours of lamps, warm to neutral.
_LAMPS = ((1.0, 0.87, 0.72), (1.0, 0.92, 0.82), (1.0, 0.96, 0.91), (0.98, 0.99, 1.0))


@dataclass(frozen=True)
class Style:
    """The taste of one place, drawn once so that its rooms go together."""

    wood: str
    wet_floor: str
    work_floor: str
    carpet: str
    wall: str
    facade: str
    fence: str
    lawn: str
    lamp: tuple[float, float, float]
    one_wall: bool

    def floor(self, kind: str, random: np.random.Generator) -> str:
        """Floor material of a room."""
        if kind == "garden":
            return self.lawn
        if kind in _WET:
            return self.wet_floor if random.random() < 0.7 else f"tiles:{int(random.integers(500))}"
        if kind in _WORK:
            return self.work_floor
        if kind in ("bedroom", "study") and random.random() < 0.35:
            return self.carpet
        if kind == "restaurant" and random.random() < 0.4:
            return self.wet_floor
        return self.wood

    def plaster(self, kind: str, random: np.random.Generator) -> str:
        """Wall material of a room: mostly the same plain plaster all through the place."""
        if kind == "garden":
            return self.fence
        if kind in ("bathroom", "wc") and random.random() < 0.4:
            return f"small_tiles:{int(random.integers(500))}"
        chance = 0.25 if kind in ("bedroom", "dining", "living") else 0.0
        if random.random() < chance * 0.5:
            return f"wallpaper:{int(random.integers(500))}"
        if not self.one_wall and random.random() < 0.5:
            return f"plaster:{int(random.integers(500))}"
        return self.wall


def draw_style(random: np.random.Generator) -> Style:
    """A taste."""

    def one(*kinds: str) -> str:
        return f"{kinds[int(random.integers(len(kinds)))]}:{int(random.integers(500))}"

    return Style(
        wood=one("planks", "planks", "herringbone", "planks", "linoleum"),
        wet_floor=one("tiles", "tiles", "linoleum"),
        work_floor=one("carpet", "linoleum", "linoleum", "planks"),
        carpet=one("carpet"),
        wall=one("plaster"),
        facade=one("brick", "plaster", "concrete"),
        fence=one("fence"),
        lawn=one("grass"),
        lamp=_LAMPS[int(random.integers(len(_LAMPS)))],
        one_wall=bool(random.random() < 0.6),
    )


def draw_daylight(random: np.random.Generator) -> tuple[float, float, str]:
    """The sun's azimuth and elevation in degrees, and the name of the sky."""
    names = sorted(SKIES)
    sky = str(random.choice(names, p=np.array([3.0 if n == "clear" else 2.0 for n in names]) / (2 * len(names) + 1)))
    elevation = random.uniform(12, 24) if sky == "evening" else random.uniform(28, 58)
    return round(float(random.uniform(-180, 180)), 1), round(float(elevation), 1), sky


def lamps(room: Room, colour: tuple[float, float, float], random: np.random.Generator) -> list[Light]:
    """Lamps under a room's ceiling: about one for each 15 m2, one for each 4 m of a corridor."""
    if room.outdoor:
        return []
    shape = shapely.Polygon(room.outline)
    x0, y0, x1, y1 = shape.bounds
    width, height = x1 - x0, y1 - y0
    if room.kind in ("hall", "corridor") and max(width, height) > 2.2 * min(width, height):
        across, along = (
            (1, math.ceil(height / CORRIDOR_PITCH_M))
            if height > width
            else (
                math.ceil(width / CORRIDOR_PITCH_M),
                1,
            )
        )
    else:
        count = max(1, round(shape.area / LAMP_AREA_M2))
        across = max(1, round(math.sqrt(count * width / height)))
        along = max(1, math.ceil(count / across))
    points = []
    for i in range(across):
        for k in range(along):
            cell = shapely.box(
                x0 + width * i / across,
                y0 + height * k / along,
                x0 + width * (i + 1) / across,
                y0 + height * (k + 1) / along,
            )
            part = shape.intersection(cell)
            if part.area > 0.4 * cell.area:
                centre = part.centroid if part.contains(part.centroid) else part.representative_point()
                points.append((centre.x, centre.y))
    if not points:
        centre = shape.representative_point()
        points = [(centre.x, centre.y)]
    # Each lamp lights its share of the room.
    share = shape.area / len(points) / LAMP_AREA_M2
    strength = float(np.clip(share, 0.35, 1.3) * random.uniform(0.85, 1.15))
    z = room.ceiling_m - LAMP_BELOW_CEILING_M
    return [Light((round(x, 3), round(y, 3), round(z, 3)), colour, round(strength, 3), room.id) for x, y in points]
