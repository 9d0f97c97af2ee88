"""Things that the data engine makes itself: pictures, rugs, counters, boards, hedges, columns and simple furniture.

A model is named ``builtin/<kind>:<number>``; the number varies its look. Meshes are in the object frame, at the size
asked for, so that a place can be made from these alone, without any furniture catalogue.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import SceneError
from gst_ros.scenes.rendering import builtin_fittings
from gst_ros.scenes.rendering.materials import PIXELS, Surface, noise, surface
from gst_ros.scenes.rendering.mesh import Material, Mesh, merge
from gst_ros.scenes.rendering.shapes import ball, box, plain, polygon, quad
from gst_ros.scenes.rng import rng

PREFIX = "builtin/"
Size = tuple[float, float, float]


def builtin_mesh(model: str, size_m: Size) -> Mesh:
    """The mesh of a built-in model.

    Args:
        model: For example ``builtin/picture:12``.
        size_m: Depth, width, height.

    Raises:
        SceneError: The kind is unknown; it names the known ones.
    """
    kind, _, number = model.removeprefix(PREFIX).partition(":")
    if kind not in _KINDS or not (number or "0").isdecimal():
        raise SceneError(f"unknown model '{model}'", field="model", remedy=f"one of: {', '.join(sorted(_KINDS))}")
    return _KINDS[kind](rng(int(number or 0), "builtin", kind), size_m)


def kinds() -> list[str]:
    """All built-in kinds."""
    return sorted(_KINDS)


def _image(pixels: NDArray[np.float64]) -> Surface:
    texture = np.clip(np.round(pixels * 255), 0, 255).astype(np.uint8)
    return Surface(Material((1.0, 1.0, 1.0), np.ascontiguousarray(texture), 0.05, 20.0), 1.0)


def _painting(random: np.random.Generator) -> Surface:
    """A landscape, a still life of discs, or colour fields."""
    y, x = np.mgrid[0:PIXELS, 0:PIXELS] / PIXELS
    style = int(random.integers(3))
    colours = random.uniform(0.1, 0.9, (8, 3))
    if style == 0:
        canvas = np.ones((PIXELS, PIXELS, 3)) * colours[0] * 0.4 + 0.55
        for layer in range(1, 5):
            ridge = 0.25 + 0.15 * layer + 0.06 * noise(random, 1, 3, octaves=4)[0]
            canvas = np.where((y > ridge[None, :])[..., None], colours[layer] * (0.9 - 0.12 * layer), canvas)
    elif style == 1:
        canvas = np.ones((PIXELS, PIXELS, 3)) * colours[0] * 0.5 + 0.2
        for i in range(12):
            cx, cy, radius = random.uniform(0.1, 0.9), random.uniform(0.2, 0.9), random.uniform(0.05, 0.2)
            canvas[(x - cx) ** 2 + (y - cy) ** 2 < radius**2] = colours[i % 8]
    else:
        canvas = np.ones((PIXELS, PIXELS, 3)) * 0.9
        for i in range(10):
            x0, y0 = random.uniform(0, 0.8, 2)
            w, h = random.uniform(0.1, 0.5, 2)
            canvas[(x > x0) & (x < x0 + w) & (y > y0) & (y < y0 + h)] = colours[i % 8]
    brush = noise(random, 64, 64, octaves=3)[..., None] * 0.03
    return _image(canvas + brush)


def _facing(size: Size, look: Surface, depth: float, inset: float) -> Mesh:
    """The front face of a thing on a wall: it looks along +x and shows the whole texture once."""
    half, height = size[1] / 2 - inset, size[2]
    corners = [
        (depth, -half, inset),
        (depth, half, inset),
        (depth, half, height - inset),
        (depth, -half, height - inset),
    ]
    return quad(corners, look, [(0, 0), (1, 0), (1, 1), (0, 1)])


def _picture(random: np.random.Generator, size: Size) -> Mesh:
    tone = random.uniform(0.08, 0.7)
    frame = plain(tone, tone * 0.85, tone * 0.7, specular=0.1)
    d, w, h = size
    body = box((-d / 2, -w / 2, 0), (d / 2 - 0.004, w / 2, h), frame)
    return merge([body, _facing((d, w, h), _painting(random), d / 2, 0.03)])


def _rug(random: np.random.Generator, size: Size) -> Mesh:
    d, w, h = size
    y, x = np.mgrid[0:PIXELS, 0:PIXELS] / PIXELS
    colours = random.uniform(0.15, 0.85, (4, 3))
    edge = np.minimum(np.minimum(x, 1 - x), np.minimum(y, 1 - y))
    field = np.ones((PIXELS, PIXELS, 3)) * colours[0]
    count = int(random.choice([5, 7, 9]))
    figure = np.sin(np.pi * count * x) * np.sin(np.pi * count * y)
    field = np.where((np.abs(figure) > random.uniform(0.55, 0.85))[..., None], colours[1], field)
    field = np.where((edge < 0.10)[..., None], colours[2], field)
    field = np.where(((edge > 0.045) & (edge < 0.06))[..., None], colours[3], field)
    woven = random.normal(0, 0.05, (PIXELS, PIXELS, 1))
    top = _image(field * (1 + woven))
    corners = [(-d / 2, -w / 2, h), (d / 2, -w / 2, h), (d / 2, w / 2, h), (-d / 2, w / 2, h)]
    face = quad(corners, top, [(0, 0), (1, 0), (1, 1), (0, 1)])
    return merge([face, box((-d / 2, -w / 2, 0), (d / 2, w / 2, h * 0.98), plain(*(0.8 * colours[2])), bottom=False)])


def _board(random: np.random.Generator, size: Size) -> Mesh:
    """A whiteboard or blackboard on a wall."""
    d, w, h = size
    white = random.random() < 0.6
    tone = np.array([0.93, 0.94, 0.94] if white else [0.10, 0.20, 0.15])
    face = np.ones((PIXELS, PIXELS, 3)) * tone + noise(random, 6, 10)[..., None] * (0.006 if white else 0.02)
    ink = random.uniform(0.0, 0.5, 3) if white else np.array([0.85, 0.85, 0.8])
    for _ in range(int(random.integers(2, 7))):
        row, start = int(random.integers(60, 420)), int(random.integers(20, 300))
        length = int(random.integers(60, 190))
        columns = np.arange(start, start + length)
        rows = (row + 6 * np.sin(columns * random.uniform(0.2, 0.5))).astype(int)
        for thick in range(3):
            face[rows + thick, columns] = ink
    body = box((-d / 2, -w / 2, 0), (d / 2 - 0.004, w / 2, h), plain(0.6, 0.6, 0.62, specular=0.3))
    return merge([body, _facing(size, _image(face), d / 2, 0.02)])


def _counter(random: np.random.Generator, size: Size) -> Mesh:
    """Kitchen units with a worktop, doors and handles."""
    d, w, h = size
    tone = random.choice(np.array([[0.85, 0.84, 0.80], [0.55, 0.38, 0.24], [0.35, 0.42, 0.45], [0.72, 0.56, 0.38]]))
    body_look, top_look = plain(*tone, specular=0.1), surface(f"concrete:{int(random.integers(1000))}")
    parts = [
        box((-d / 2 + 0.02, -w / 2, 0.08), (d / 2 - 0.03, w / 2, h - 0.04), body_look),
        box((-d / 2 + 0.02, -w / 2, 0.0), (d / 2 - 0.08, w / 2, 0.08), plain(0.15, 0.15, 0.15)),
        box((-d / 2, -w / 2, h - 0.04), (d / 2, w / 2, h), top_look),
    ]
    doors = max(1, round(w / 0.5))
    for i in range(doors):
        y0, y1 = -w / 2 + w * i / doors + 0.006, -w / 2 + w * (i + 1) / doors - 0.006
        parts.append(box((d / 2 - 0.03, y0, 0.10), (d / 2 - 0.012, y1, h - 0.06), body_look))
        parts.append(
            box((d / 2 - 0.012, y1 - 0.06, h - 0.25), (d / 2, y1 - 0.04, h - 0.12), plain(0.6, 0.6, 0.6, specular=0.5))
        )
    return merge(parts)


def _cabinet(random: np.random.Generator, size: Size) -> Mesh:
    """A closed cupboard with doors."""
    d, w, h = size
    tone = random.choice(np.array([[0.80, 0.78, 0.74], [0.45, 0.30, 0.19], [0.62, 0.46, 0.30], [0.30, 0.33, 0.38]]))
    look = plain(*tone, specular=0.08)
    parts = [box((-d / 2, -w / 2, 0), (d / 2 - 0.02, w / 2, h), look)]
    doors = max(1, round(w / 0.5))
    for i in range(doors):
        y0, y1 = -w / 2 + w * i / doors + 0.008, -w / 2 + w * (i + 1) / doors - 0.008
        parts.append(box((d / 2 - 0.02, y0, 0.05), (d / 2 - 0.005, y1, h - 0.03), look))
        parts.append(
            box((d / 2 - 0.005, y1 - 0.05, h * 0.45), (d / 2, y1 - 0.03, h * 0.55), plain(0.7, 0.7, 0.7, specular=0.5))
        )
    return merge(parts)


def _shelf(random: np.random.Generator, size: Size) -> Mesh:
    """An open shelf with books."""
    d, w, h = size
    tone = random.choice(np.array([[0.60, 0.42, 0.26], [0.85, 0.84, 0.82], [0.32, 0.22, 0.15]]))
    wood = plain(*tone, specular=0.08)
    t = 0.025
    parts = [
        box((-d / 2, -w / 2, 0), (d / 2, -w / 2 + t, h), wood),
        box((-d / 2, w / 2 - t, 0), (d / 2, w / 2, h), wood),
        box((-d / 2, -w / 2 + t, 0), (-d / 2 + 0.01, w / 2 - t, h), wood),
    ]
    shelves = max(2, round(h / 0.38))
    for i in range(shelves + 1):
        z = min(h - t, i * h / shelves)
        parts.append(box((-d / 2, -w / 2 + t, z), (d / 2, w / 2 - t, z + t), wood))
        if i == shelves:
            break
        y = -w / 2 + t + 0.01
        while y < w / 2 - t - 0.06 and random.random() < 0.93:
            thick = random.uniform(0.02, 0.05)
            tall = random.uniform(0.55, 0.85) * (h / shelves - t)
            cover = plain(*random.uniform(0.1, 0.8, 3))
            parts.append(
                box((-d / 2 + 0.02, y, z + t), (d / 2 - random.uniform(0.02, 0.08), y + thick, z + t + tall), cover)
            )
            y += thick + 0.002
    return merge(parts)


def _table(random: np.random.Generator, size: Size) -> Mesh:
    """A table on four legs."""
    d, w, h = size
    tone = random.choice(np.array([[0.62, 0.44, 0.28], [0.82, 0.78, 0.72], [0.30, 0.22, 0.16]]))
    wood = plain(*tone, specular=0.12)
    parts = [box((-d / 2, -w / 2, h - 0.04), (d / 2, w / 2, h), wood)]
    for sx in (-1, 1):
        for sy in (-1, 1):
            x, y = sx * (d / 2 - 0.06), sy * (w / 2 - 0.06)
            parts.append(box((x - 0.025, y - 0.025, 0), (x + 0.025, y + 0.025, h - 0.04), wood))
    return merge(parts)


def _chair(random: np.random.Generator, size: Size) -> Mesh:
    """A chair; the back is at the far side from its front."""
    d, w, h = size
    look = plain(*random.uniform(0.15, 0.75, 3), specular=0.08)
    seat = min(0.46, h * 0.5)
    parts = [
        box((-d / 2, -w / 2, seat - 0.04), (d / 2, w / 2, seat), look),
        box((-d / 2, -w / 2, seat + 0.15), (-d / 2 + 0.03, w / 2, h), look),
    ]
    for sx in (-1, 1):
        for sy in (-1, 1):
            x, y = sx * (d / 2 - 0.025), sy * (w / 2 - 0.025)
            parts.append(box((x - 0.02, y - 0.02, 0), (x + 0.02, y + 0.02, h if sx < 0 else seat - 0.04), look))
    return merge(parts)


def _sofa(random: np.random.Generator, size: Size) -> Mesh:
    d, w, h = size
    look = surface(f"carpet:{int(random.integers(1000))}")
    seat = min(0.45, h * 0.55)
    arm = min(0.2, w * 0.12)
    parts = [
        box((-d / 2, -w / 2, 0.06), (d / 2, w / 2, seat - 0.12), look),
        box((-d / 2, -w / 2, seat - 0.12), (-d / 2 + 0.22, w / 2, h), look),
        box((-d / 2, -w / 2, seat - 0.12), (d / 2, -w / 2 + arm, seat + 0.18), look),
        box((-d / 2, w / 2 - arm, seat - 0.12), (d / 2, w / 2, seat + 0.18), look),
    ]
    cushions = max(1, round((w - 2 * arm) / 0.65))
    for i in range(cushions):
        y0 = -w / 2 + arm + (w - 2 * arm) * i / cushions
        y1 = -w / 2 + arm + (w - 2 * arm) * (i + 1) / cushions
        parts.append(box((-d / 2 + 0.22, y0 + 0.008, seat - 0.12), (d / 2 - 0.02, y1 - 0.008, seat), look))
    return merge(parts)


def _bed(random: np.random.Generator, size: Size) -> Mesh:
    d, w, h = size
    wood = plain(*random.choice(np.array([[0.50, 0.34, 0.22], [0.80, 0.78, 0.75]])), specular=0.1)
    sheet = surface(f"carpet:{int(random.integers(1000))}")
    parts = [
        box((-d / 2, -w / 2, 0.1), (d / 2, w / 2, 0.3), wood),
        box((-d / 2, -w / 2, 0), (-d / 2 + 0.05, w / 2, h), wood),
        box((-d / 2 + 0.06, -w / 2 + 0.03, 0.3), (d / 2 - 0.02, w / 2 - 0.03, 0.52), sheet),
    ]
    for i in range(1 if w < 1.2 else 2):
        middle = 0.0 if w < 1.2 else (-w / 4 if i == 0 else w / 4)
        pillow = plain(0.9, 0.9, 0.88)
        parts.append(box((-d / 2 + 0.1, middle - 0.3, 0.52), (-d / 2 + 0.5, middle + 0.3, 0.62), pillow))
    return merge(parts)


def _column(random: np.random.Generator, size: Size) -> Mesh:
    d, w, h = size
    return box((-d / 2, -w / 2, 0), (d / 2, w / 2, h), surface(f"plaster:{int(random.integers(1000))}"))


def _hedge(random: np.random.Generator, size: Size) -> Mesh:
    """A clipped hedge with an uneven face."""
    d, w, h = size
    look = surface(f"leaves:{int(random.integers(1000))}")
    rounded = [(-d / 2, -w / 2), (d / 2, -w / 2), (d / 2, w / 2), (-d / 2, w / 2)]
    parts = [box((-d / 2, -w / 2, 0), (d / 2, w / 2, h * 0.96), look, bottom=False), polygon(rounded, h * 0.96, look)]
    for _ in range(max(3, int(w / 0.3))):
        x, y = random.uniform(-d / 2 + 0.1, d / 2 - 0.1), random.uniform(-w / 2 + 0.1, w / 2 - 0.1)
        r = min(float(random.uniform(0.10, 0.2)), d / 2 - abs(x), w / 2 - abs(y))
        parts.append(ball((x, y, h * 0.95), (r, r, h * 0.05), look))
    return merge(parts)


def _tree(random: np.random.Generator, size: Size) -> Mesh:
    """A trunk with a crown of leaf clusters."""
    d, w, h = size
    bark, leaves = plain(0.28, 0.21, 0.15), surface(f"leaves:{int(random.integers(1000))}")
    trunk = max(0.06, h * 0.02)
    parts = [box((-trunk, -trunk, 0), (trunk, trunk, h * 0.6), bark)]
    for _ in range(26):
        direction = random.normal(0, 1, 3)
        direction /= np.linalg.norm(direction)
        reach = random.uniform(0.3, 0.85)
        x, y = direction[0] * reach * d / 2, direction[1] * reach * w / 2
        z = h * 0.66 + direction[2] * reach * h * 0.26
        r = random.uniform(0.12, 0.2) * min(d, w)
        # Clusters stay inside the size asked for.
        x, y = np.clip(x, r - d / 2, d / 2 - r), np.clip(y, r - w / 2, w / 2 - r)
        z = min(z, h - 0.8 * r)
        parts.append(ball((x, y, z), (r, r, 0.8 * r), leaves))
    return merge(parts)


_KINDS: dict[str, Callable[[np.random.Generator, Size], Mesh]] = {
    "bed": _bed,
    "board": _board,
    "cabinet": _cabinet,
    "chair": _chair,
    "column": _column,
    "counter": _counter,
    "hedge": _hedge,
    "picture": _picture,
    "rug": _rug,
    "shelf": _shelf,
    "sofa": _sofa,
    "table": _table,
    "tree": _tree,
    **builtin_fittings.KINDS,
}
