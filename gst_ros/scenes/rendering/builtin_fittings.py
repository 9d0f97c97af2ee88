"""More built-in models: fittings of a building, bathroom and kitchen things, plants and lamps.

Plain shapes at the size asked for, in the object frame; they let a place be made without any furniture catalogue, and
give every place its front door, mirrors, bars, partition screens and paving.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gst_ros.scenes.rendering.materials import surface
from gst_ros.scenes.rendering.mesh import Mesh, merge
from gst_ros.scenes.rendering.shapes import box, disc, plain, prism, quad

Size = tuple[float, float, float]
_METAL = plain(0.62, 0.62, 0.64, specular=0.6)
_CERAMIC = plain(0.92, 0.92, 0.91, specular=0.35)
_DARK = plain(0.06, 0.06, 0.07, specular=0.3)


def _round(x: float, y: float, radius: float, corners: int = 16) -> list[tuple[float, float]]:
    angles = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    return [(x + radius * float(np.cos(a)), y + radius * float(np.sin(a))) for a in angles]


def _entry_door(random: np.random.Generator, size: Size) -> Mesh:
    """A closed door with its casing; it looks into the room."""
    d, w, h = size
    tones = np.array(
        [[0.36, 0.22, 0.14], [0.16, 0.24, 0.20], [0.55, 0.12, 0.10], [0.80, 0.80, 0.78], [0.2, 0.25, 0.36]]
    )
    leaf, casing = plain(*random.choice(tones), specular=0.15), plain(0.9, 0.89, 0.87, specular=0.12)
    edge, back = 0.07, -d / 2
    parts = [
        box((back, -w / 2, 0), (d / 2, -w / 2 + edge, h), casing),
        box((back, w / 2 - edge, 0), (d / 2, w / 2, h), casing),
        box((back, -w / 2 + edge, h - edge), (d / 2, w / 2 - edge, h), casing),
        box((back, -w / 2 + edge, 0), (d / 2 - 0.025, w / 2 - edge, h - edge), leaf),
    ]
    for low, high in ((0.15, 0.9), (1.1, h - 0.25)):
        parts.append(box((d / 2 - 0.025, -w / 2 + 0.2, low), (d / 2 - 0.017, w / 2 - 0.2, high), leaf))
    parts.append(box((d / 2 - 0.025, w / 2 - 0.2, 1.02), (d / 2, w / 2 - 0.1, 1.05), _METAL))
    return merge(parts)


def _toilet(random: np.random.Generator, size: Size) -> Mesh:
    d, w, h = size
    seat = min(0.42, h * 0.55)
    bowl = [(x * 1.0, y) for x, y in _round(0.0, 0.0, 1.0)]
    centre = d * 0.14
    oval = [(centre + x * d * 0.36, y * w / 2) for x, y in bowl]
    foot = [(centre + x * d * 0.24, y * w * 0.3) for x, y in bowl]
    return merge(
        [
            prism(foot, 0.0, seat - 0.12, _CERAMIC),
            prism(oval, seat - 0.12, seat, _CERAMIC),
            box((-d / 2, -w / 2, seat - 0.1), (-d / 2 + d * 0.26, w / 2, h), _CERAMIC),
            box((-d / 2, -w * 0.3, 0), (centre, w * 0.3, seat - 0.12), _CERAMIC),
        ]
    )


def _basin(random: np.random.Generator, size: Size) -> Mesh:
    """A washbasin on a pedestal with its tap."""
    d, w, h = size
    rim = h - 0.1
    return merge(
        [
            box((-d / 2, -0.09, 0), (-d / 2 + 0.2, 0.09, rim - 0.15), _CERAMIC),
            box((-d / 2, -w / 2, rim - 0.15), (d / 2, w / 2, rim - 0.01), _CERAMIC),
            box((-d / 2 + 0.1, -w / 2 + 0.05, rim - 0.01), (d / 2 - 0.04, w / 2 - 0.05, rim), plain(0.75, 0.76, 0.77)),
            box((-d / 2 + 0.02, -0.02, rim - 0.01), (-d / 2 + 0.06, 0.02, h), _METAL),
            box((-d / 2 + 0.02, -0.015, h - 0.03), (-d / 2 + 0.16, 0.015, h), _METAL),
        ]
    )


def _bathtub(random: np.random.Generator, size: Size) -> Mesh:
    d, w, h = size
    rim = 0.07
    parts = [
        box((-d / 2, -w / 2, 0), (d / 2, -w / 2 + rim, h), _CERAMIC),
        box((-d / 2, w / 2 - rim, 0), (d / 2, w / 2, h), _CERAMIC),
        box((-d / 2, -w / 2 + rim, 0), (-d / 2 + rim, w / 2 - rim, h), _CERAMIC),
        box((d / 2 - rim, -w / 2 + rim, 0), (d / 2, w / 2 - rim, h), _CERAMIC),
        box((-d / 2 + rim, -w / 2 + rim, 0), (d / 2 - rim, w / 2 - rim, 0.15), _CERAMIC),
        box((-0.03, w / 2 - rim + 0.01, h - 0.02), (0.03, w / 2 - 0.01, h), _METAL),
    ]
    return merge(parts)


def _appliance(random: np.random.Generator, size: Size) -> Mesh:
    """A white or steel box with a door and a handle: refrigerator, washing machine, dishwasher."""
    d, w, h = size
    look = plain(0.90, 0.90, 0.90, specular=0.2) if random.random() < 0.6 else plain(0.55, 0.56, 0.58, specular=0.5)
    front = d / 2 - 0.02
    parts = [box((-d / 2, -w / 2, 0.03), (front - 0.01, w / 2, h), look)]
    doors = [(0.06, h - 0.01)] if h < 1.2 else [(0.06, h * 0.34), (h * 0.34 + 0.01, h - 0.01)]
    for low, high in doors:
        parts.append(box((front - 0.01, -w / 2 + 0.005, low), (front, w / 2 - 0.005, high), look))
        grip = min(high - 0.05, low + 0.75 * (high - low))
        parts.append(box((front, w / 2 - 0.08, max(low, grip - 0.25)), (d / 2, w / 2 - 0.05, grip), _METAL))
    if h < 1.2:
        round_door = [(y, z + h * 0.48) for y, z in _round(0.0, 0.0, min(w, h) * 0.28)]
        window = prism(round_door, 0.0, 0.012, _DARK)
        turn = np.array([[0, 0, 1, front], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]], np.float64)
        parts.append(window.transformed(turn))
    return merge(parts)


def _stove(random: np.random.Generator, size: Size) -> Mesh:
    d, w, h = size
    body = plain(*random.choice(np.array([[0.9, 0.9, 0.9], [0.25, 0.25, 0.27], [0.6, 0.6, 0.62]])), specular=0.25)
    parts = [
        box((-d / 2, -w / 2, 0), (d / 2 - 0.03, w / 2, h - 0.01), body),
        box((-d / 2, -w / 2, h - 0.01), (d / 2 - 0.03, w / 2, h), _DARK),
        box((d / 2 - 0.03, -w / 2 + 0.05, 0.15), (d / 2 - 0.02, w / 2 - 0.05, h - 0.2), _DARK),
        box((d / 2 - 0.03, -w / 2 + 0.05, h - 0.18), (d / 2, w / 2 - 0.05, h - 0.16), _METAL),
    ]
    for sx in (-0.22, 0.2):
        for sy in (-0.25, 0.25):
            parts.append(disc((sx * d, sy * w, h + 0.002), min(d, w) * 0.15, plain(0.2, 0.2, 0.21), up=True))
    return merge(parts)


def _kitchen_sink(random: np.random.Generator, size: Size) -> Mesh:
    """A sink unit: a counter's body with a steel basin and a tap."""
    d, w, h = size
    top = h - 0.22
    body = plain(*random.choice(np.array([[0.85, 0.84, 0.80], [0.55, 0.38, 0.24], [0.35, 0.42, 0.45]])), specular=0.1)
    return merge(
        [
            box((-d / 2 + 0.02, -w / 2, 0.08), (d / 2 - 0.03, w / 2, top - 0.03), body),
            box((-d / 2 + 0.02, -w / 2, 0), (d / 2 - 0.08, w / 2, 0.08), _DARK),
            box((-d / 2, -w / 2, top - 0.03), (d / 2, w / 2, top), _METAL),
            box((-d / 2 + 0.14, -w * 0.32, top), (d / 2 - 0.08, w * 0.32, top + 0.002), plain(0.35, 0.36, 0.37)),
            box((-d / 2 + 0.05, -0.02, top), (-d / 2 + 0.09, 0.02, h), _METAL),
            box((-d / 2 + 0.05, -0.015, h - 0.03), (0.0, 0.015, h), _METAL),
        ]
    )


def _plant(random: np.random.Generator, size: Size) -> Mesh:
    """A pot with long bent leaves."""
    d, w, h = size
    pot_tone = random.choice(np.array([[0.55, 0.30, 0.20], [0.85, 0.84, 0.82], [0.25, 0.27, 0.30]]))
    radius, pot = min(d, w) * 0.28, min(0.3, h * 0.35)
    leaves = surface(f"leaves:{int(random.integers(1000))}")
    parts = [prism(_round(0, 0, radius), 0.0, pot, plain(*pot_tone, specular=0.1))]
    for i in range(22):
        angle = float(i * 2.39996 + random.uniform(-0.3, 0.3))
        reach, tip = float(random.uniform(0.55, 0.98)), float(random.uniform(0.55, 1.0))
        c, s = np.cos(angle), np.sin(angle)
        wide = 0.035 + 0.05 * min(d, w)
        x1, y1, z1 = c * reach * d / 2 * 0.6, s * reach * w / 2 * 0.6, pot + (h - pot) * tip
        x2, y2, z2 = c * reach * d / 2, s * reach * w / 2, pot + (h - pot) * tip * random.uniform(0.55, 0.9)
        ax, ay = -s * wide, c * wide
        for a, b, narrow in (((0.0, 0.0, pot), (x1, y1, z1), 1.0), ((x1, y1, z1), (x2, y2, z2), 0.25)):
            near = 1.0 if narrow < 1.0 else 0.4
            corners = [
                (a[0] - ax * near, a[1] - ay * near, a[2]),
                (a[0] + ax * near, a[1] + ay * near, a[2]),
                (b[0] + ax * narrow, b[1] + ay * narrow, b[2]),
                (b[0] - ax * narrow, b[1] - ay * narrow, b[2]),
            ]
            parts += [quad(corners, leaves), quad(corners[::-1], leaves)]
    return merge(parts)


def _lamp(random: np.random.Generator, size: Size) -> Mesh:
    """A lamp with a foot, a stem and a shade."""
    d, w, h = size
    foot = plain(*random.uniform(0.2, 0.75, 3), specular=0.3)
    shade = plain(0.93, 0.90, 0.82, emissive=0.25)
    radius, cap = min(d, w) / 2, h * 0.36 if h < 1.0 else 0.3
    return merge(
        [
            prism(_round(0, 0, radius * 0.6), 0.0, 0.03, foot),
            prism(_round(0, 0, max(0.012, radius * 0.1), 8), 0.03, h - cap, foot),
            prism(_round(0, 0, radius), h - cap, h, shade),
        ]
    )


def _screen(random: np.random.Generator, size: Size) -> Mesh:
    """A television or monitor on its foot; flat ones hang on a wall and have none."""
    d, w, h = size
    foot = 0.08 * h / 0.5 if d > 0.1 else 0.0
    parts = [
        box((-0.02, -w / 2, foot), (0.02, w / 2, h), _DARK),
        quad(
            [
                (0.021, -w / 2 + 0.02, foot + 0.02),
                (0.021, w / 2 - 0.02, foot + 0.02),
                (0.021, w / 2 - 0.02, h - 0.02),
                (0.021, -w / 2 + 0.02, h - 0.02),
            ],
            plain(0.02, 0.02, 0.025, specular=0.6),
        ),
    ]
    if foot:
        parts += [
            box((-d / 2, -w * 0.2, 0), (d / 2, w * 0.2, 0.015), _DARK),
            box((-0.02, -0.03, 0), (0.02, 0.03, foot), _DARK),
        ]
    return merge(parts)


def _stool(random: np.random.Generator, size: Size) -> Mesh:
    d, w, h = size
    look = plain(*random.uniform(0.15, 0.75, 3), specular=0.1)
    parts = [prism(_round(0, 0, min(d, w) / 2), h - 0.05, h, look)]
    for angle in np.arange(4) * np.pi / 2 + np.pi / 4:
        x, y = float(np.cos(angle)) * d * 0.34, float(np.sin(angle)) * w * 0.34
        parts.append(box((x - 0.015, y - 0.015, 0), (x + 0.015, y + 0.015, h - 0.05), _METAL))
    return merge(parts)


def _cushion(random: np.random.Generator, size: Size) -> Mesh:
    """An upholstered block: an ottoman."""
    d, w, h = size
    look = surface(f"carpet:{int(random.integers(1000))}")
    return merge(
        [
            box((-d / 2, -w / 2, 0.04), (d / 2, w / 2, h), look),
            box((-d / 2 + 0.05, -w / 2 + 0.05, 0), (d / 2 - 0.05, w / 2 - 0.05, 0.04), _DARK),
        ]
    )


def _crate(random: np.random.Generator, size: Size) -> Mesh:
    """A box of cardboard or boards."""
    d, w, h = size
    look = plain(0.62, 0.48, 0.33) if random.random() < 0.6 else surface(f"fence:{int(random.integers(1000))}")
    tape = plain(0.75, 0.66, 0.5, specular=0.2)
    return merge(
        [
            box((-d / 2, -w / 2, 0), (d / 2, w / 2, h - 0.002), look),
            box((-0.03, -w / 2, h - 0.002), (0.03, w / 2, h), tape),
        ]
    )


def _bin(random: np.random.Generator, size: Size) -> Mesh:
    d, w, h = size
    look = plain(*random.choice(np.array([[0.3, 0.3, 0.32], [0.7, 0.7, 0.72], [0.2, 0.35, 0.25]])), specular=0.3)
    return merge(
        [
            prism(_round(0, 0, min(d, w) / 2), 0, h - 0.03, look),
            prism(_round(0, 0, min(d, w) * 0.46), h - 0.03, h, _DARK),
        ]
    )


def _bar(random: np.random.Generator, size: Size) -> Mesh:
    """A bar: a panelled front with an overhanging top."""
    d, w, h = size
    wood = surface(f"fence:{int(random.integers(1000))}")
    parts = [
        box((-d / 2, -w / 2, 0), (d / 2 - 0.12, w / 2, h - 0.05), wood),
        box((-d / 2, -w / 2, h - 0.05), (d / 2, w / 2, h), plain(0.28, 0.18, 0.11, specular=0.3)),
        box((d / 2 - 0.12, -w / 2, 0.18), (d / 2 - 0.06, w / 2, 0.22), _METAL),
    ]
    return merge(parts)


def _partition(random: np.random.Generator, size: Size) -> Mesh:
    """A free-standing screen between workplaces."""
    d, w, h = size
    cloth = surface(f"carpet:{int(random.integers(1000))}")
    parts = [box((-0.02, -w / 2, 0.12), (0.02, w / 2, h), cloth)]
    for y in (-w / 2 + 0.1, w / 2 - 0.1):
        parts.append(box((-d / 2, y - 0.03, 0), (d / 2, y + 0.03, 0.03), _METAL))
        parts.append(box((-0.015, y - 0.015, 0.03), (0.015, y + 0.015, 0.12), _METAL))
    return merge(parts)


def _mirror(random: np.random.Generator, size: Size) -> Mesh:
    d, w, h = size
    frame = plain(*random.choice(np.array([[0.7, 0.7, 0.72], [0.35, 0.24, 0.16], [0.9, 0.9, 0.88]])), specular=0.3)
    glass = plain(0.72, 0.77, 0.80, specular=0.9)
    face = [
        (d / 2, -w / 2 + 0.03, 0.03),
        (d / 2, w / 2 - 0.03, 0.03),
        (d / 2, w / 2 - 0.03, h - 0.03),
        (d / 2, -w / 2 + 0.03, h - 0.03),
    ]
    return merge([box((-d / 2, -w / 2, 0), (d / 2 - 0.002, w / 2, h), frame), quad(face, glass)])


def _clock(random: np.random.Generator, size: Size) -> Mesh:
    """A round clock that looks along +x."""
    d, w, h = size
    radius = min(w, h) / 2
    rim = plain(*random.choice(np.array([[0.1, 0.1, 0.1], [0.7, 0.7, 0.72], [0.45, 0.28, 0.16]])), specular=0.3)
    upright = np.array([[0, 0, 1, -d / 2], [1, 0, 0, 0], [0, 1, 0, h / 2], [0, 0, 0, 1]], np.float64)
    parts = [
        prism(_round(0, 0, radius, 28), 0.0, d - 0.006, rim),
        prism(_round(0, 0, radius * 0.9, 28), d - 0.006, d - 0.004, plain(0.95, 0.95, 0.93)),
    ]
    for length, wide, angle in ((0.5, 0.03, random.uniform(0, 6.28)), (0.75, 0.02, random.uniform(0, 6.28))):
        c, s = float(np.cos(angle)), float(np.sin(angle))
        hand = [(-s * wide, c * wide), (s * wide, -c * wide), (c * length + s * wide, s * length - c * wide)]
        hand.append((c * length - s * wide, s * length + c * wide))
        parts.append(prism([(x * radius, y * radius) for x, y in hand], d - 0.004, d, _DARK))
    return merge(parts).transformed(upright)


def _paving(random: np.random.Generator, size: Size) -> Mesh:
    """A flat slab of paving: terraces and garden paths."""
    d, w, h = size
    look = surface(f"paving:{int(random.integers(1000))}")
    return box((-d / 2, -w / 2, 0), (d / 2, w / 2, h), look, bottom=False)


def _flowerbed(random: np.random.Generator, size: Size) -> Mesh:
    """Earth with tufts of leaves and dots of blossom."""
    d, w, h = size
    earth, leaves = plain(0.20, 0.14, 0.09), surface(f"leaves:{int(random.integers(1000))}")
    parts = [box((-d / 2, -w / 2, 0), (d / 2, w / 2, 0.06), earth)]
    blossom = plain(
        *random.choice(np.array([[0.85, 0.2, 0.25], [0.95, 0.8, 0.2], [0.7, 0.4, 0.8], [0.95, 0.95, 0.95]]))
    )
    for _ in range(max(6, int(d * w * 22))):
        r = float(random.uniform(0.04, 0.09))
        x, y = float(random.uniform(-d / 2 + r, d / 2 - r)), float(random.uniform(-w / 2 + r, w / 2 - r))
        top = float(random.uniform(0.5, 1.0)) * h
        parts.append(box((x - r, y - r, 0.06), (x + r, y + r, top - 0.03), leaves, bottom=False))
        parts.append(box((x - 0.03, y - 0.03, top - 0.03), (x + 0.03, y + 0.03, top), blossom, bottom=False))
    return merge(parts)


KINDS: dict[str, Callable[[np.random.Generator, Size], Mesh]] = {
    "appliance": _appliance,
    "bar": _bar,
    "basin": _basin,
    "bathtub": _bathtub,
    "bin": _bin,
    "clock": _clock,
    "crate": _crate,
    "cushion": _cushion,
    "entry_door": _entry_door,
    "flowerbed": _flowerbed,
    "kitchen_sink": _kitchen_sink,
    "lamp": _lamp,
    "mirror": _mirror,
    "partition": _partition,
    "paving": _paving,
    "plant": _plant,
    "screen": _screen,
    "stool": _stool,
    "stove": _stove,
    "toilet": _toilet,
}
