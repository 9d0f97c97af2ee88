"""Homes as footprints, and the boxes that they are made of.

Frame: ``map`` has x to the right and y to the top of the plan, z up, metres.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

WALL_HEIGHT_M = 2.6
WALL_THICKNESS_M = 0.14


@dataclass(frozen=True)
class Box:
    """An axis-aligned box: the object it belongs to, its texture, and its two corners in ``map``, metres."""

    name: str
    texture: str
    low: tuple[float, float, float]
    high: tuple[float, float, float]


@dataclass(frozen=True)
class Item:
    """A piece of furniture by its footprint (x0, y0, x1, y1) in ``map``, metres."""

    name: str
    kind: str
    footprint: tuple[float, float, float, float]


@dataclass(frozen=True)
class Layout:
    """A home: outer size, inner walls as footprints, furniture."""

    size_m: tuple[float, float]
    walls: tuple[tuple[float, float, float, float], ...]
    items: tuple[Item, ...]
    floor: str = "parquet"

    def item(self, name: str) -> Item:
        """The piece of furniture with this name."""
        return next(item for item in self.items if item.name == name)

    def mirrored(self) -> Layout:
        """The same home with left and right exchanged."""
        width = self.size_m[0]

        def flip(f: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
            return (width - f[2], f[1], width - f[0], f[3])

        items = tuple(replace(item, footprint=flip(item.footprint)) for item in self.items)
        return replace(self, walls=tuple(flip(wall) for wall in self.walls), items=items)


# kind -> parts: texture, and the low and high corner as fractions of the footprint with heights in metres
_BLOCKS: dict[str, list[tuple[str, tuple[float, float, float], tuple[float, float, float]]]] = {
    "sofa": [
        ("fabric_blue", (0, 0, 0.08), (1, 1, 0.42)),
        ("fabric_blue", (0, 0, 0.42), (0.3, 1, 0.85)),
        ("fabric_blue", (0.3, 0, 0.42), (1, 0.1, 0.6)),
        ("fabric_blue", (0.3, 0.9, 0.42), (1, 1, 0.6)),
    ],
    "armchair": [
        ("fabric_red", (0, 0, 0.08), (1, 1, 0.42)),
        ("fabric_red", (0, 0, 0.42), (1, 0.25, 0.9)),
        ("fabric_red", (0, 0.25, 0.42), (0.18, 1, 0.62)),
        ("fabric_red", (0.82, 0.25, 0.42), (1, 1, 0.62)),
    ],
    "bed": [
        ("wood_dark", (0, 0, 0.1), (1, 1, 0.3)),
        ("fabric_check", (0, 0, 0.3), (1, 1, 0.52)),
        ("wood_dark", (0.96, 0, 0.3), (1, 1, 1.0)),
        ("plaster", (0.76, 0.12, 0.52), (0.94, 0.45, 0.64)),
        ("plaster", (0.76, 0.55, 0.52), (0.94, 0.88, 0.64)),
    ],
    "bookcase": [("books", (0, 0, 0.08), (1, 1, 1.9)), ("wood_dark", (0, 0, 1.9), (1, 1, 1.95))],
    "wardrobe": [("wood_light", (0, 0, 0), (1, 1, 2.1))],
    "cabinet": [("wood_light", (0, 0, 0.05), (1, 1, 0.8)), ("wood_dark", (0, 0, 0.8), (1, 1, 0.84))],
    "television": [
        ("wood_dark", (0, 0, 0.05), (1, 1, 0.45)),
        ("screen", (0.1, 0.4, 0.5), (0.9, 0.55, 1.1)),
    ],
    "plant": [("terracotta", (0.25, 0.25, 0), (0.75, 0.75, 0.4)), ("leaves", (0, 0, 0.4), (1, 1, 1.25))],
    "chest": [("wood_dark", (0, 0, 0), (1, 1, 0.45)), ("terracotta", (0, 0, 0.45), (1, 1, 0.55))],
    "counter": [("wood_light", (0, 0, 0), (1, 1, 0.88)), ("stone", (0, 0, 0.88), (1, 1, 0.92))],
    "picture": [("painting", (0, 0, 1.2), (1, 1, 2.0))],
    "window": [("sky", (0, 0, 0.9), (1, 1, 2.1))],
    "rug": [("rug", (0, 0, 0), (1, 1, 0.012))],
    "table": [("wood_light", (0, 0, 0.7), (1, 1, 0.75))],
    "chair": [("wood_dark", (0, 0, 0.42), (1, 1, 0.47)), ("wood_dark", (0, 0.88, 0.47), (1, 1, 0.9))],
}
_LEG_HEIGHT_M = {"table": 0.7, "chair": 0.42}
FLAT_KINDS = ("rug", "picture", "window")  # no obstacle on a plan


def build(layout: Layout) -> list[Box]:
    """All boxes of a home: floor, ceiling, walls, furniture."""
    width, depth = layout.size_m
    t = WALL_THICKNESS_M
    outer = [(0, 0, width, t), (0, depth - t, width, depth), (0, t, t, depth - t), (width - t, t, width, depth - t)]
    boxes = [
        Box("floor", layout.floor, (0, 0, -0.1), (width, depth, 0)),
        Box("ceiling", "plaster", (0, 0, WALL_HEIGHT_M), (width, depth, WALL_HEIGHT_M + 0.1)),
    ]
    for x0, y0, x1, y1 in (*outer, *layout.walls):
        boxes.append(Box("wall", "plaster", (x0, y0, 0.1), (x1, y1, WALL_HEIGHT_M)))
        boxes.append(Box("wall", "wood_light", (x0 - 0.012, y0 - 0.012, 0), (x1 + 0.012, y1 + 0.012, 0.1)))
    for item in layout.items:
        x0, y0, x1, y1 = item.footprint
        for texture, low, high in _BLOCKS[item.kind]:
            a = (x0 + low[0] * (x1 - x0), y0 + low[1] * (y1 - y0), low[2])
            b = (x0 + high[0] * (x1 - x0), y0 + high[1] * (y1 - y0), high[2])
            boxes.append(Box(item.name, texture, a, b))
        if item.kind in _LEG_HEIGHT_M:
            for cx, cy in ((x0, y0), (x1 - 0.06, y0), (x0, y1 - 0.06), (x1 - 0.06, y1 - 0.06)):
                top = (cx + 0.06, cy + 0.06, _LEG_HEIGHT_M[item.kind])
                boxes.append(Box(item.name, "wood_dark", (cx, cy, 0), top))
    return boxes
