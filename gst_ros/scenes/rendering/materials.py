"""Surfaces of floors, walls and gardens, made from noise.

A material is named by what it is and a number, ``planks:7``: the number varies tone, plank width and grain, so that no
two homes need look alike, and the same name always gives the same picture. Textures tile seamlessly; ``tile_m`` is the
width that one tile covers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import SceneError
from gst_ros.scenes.rendering.mesh import Material
from gst_ros.scenes.rng import rng

PIXELS = 512
Image = NDArray[np.float64]


@dataclass(frozen=True)
class Surface:
    """A material with the size of its texture's tile."""

    material: Material
    tile_m: float


@lru_cache(maxsize=512)
def surface(name: str) -> Surface:
    """The surface of a name such as ``planks:7``.

    Raises:
        SceneError: The kind is unknown; it names the known ones.
    """
    kind, _, number = name.partition(":")
    if kind not in _KINDS or not (number or "0").isdecimal():
        raise SceneError(f"unknown surface '{name}'", field="material", remedy=f"one of: {', '.join(sorted(_KINDS))}")
    return _KINDS[kind](rng(int(number or 0), "surface", kind))


def kinds() -> list[str]:
    """All kinds of surface."""
    return sorted(_KINDS)


def noise(random: np.random.Generator, cells_y: int, cells_x: int, octaves: int = 4, gain: float = 0.5) -> Image:
    """Smooth noise that tiles, ``PIXELS`` square, zero mean and unit deviation.

    Args:
        random: Source of randomness.
        cells_y: Number of bumps from top to bottom in the first octave.
        cells_x: The same from left to right.
        octaves: How many times the frequency doubles.
        gain: Strength of each octave relative to the one before it.
    """
    total, weight = np.zeros((PIXELS, PIXELS)), 1.0
    for _ in range(octaves):
        cells_y, cells_x = min(cells_y, PIXELS), min(cells_x, PIXELS)
        total += weight * _value_noise(random, cells_y, cells_x)
        cells_y, cells_x, weight = cells_y * 2, cells_x * 2, weight * gain
    return np.asarray((total - total.mean()) / max(float(total.std()), 1e-9))


def _value_noise(random: np.random.Generator, cells_y: int, cells_x: int) -> Image:
    grid = random.random((cells_y, cells_x))
    y, x = np.arange(PIXELS) * cells_y / PIXELS, np.arange(PIXELS) * cells_x / PIXELS
    y0, x0 = y.astype(int), x.astype(int)
    fy, fx = _smooth(y - y0)[:, None], _smooth(x - x0)[None, :]
    y1, x1 = (y0 + 1) % cells_y, (x0 + 1) % cells_x
    top = grid[np.ix_(y0, x0)] * (1 - fx) + grid[np.ix_(y0, x1)] * fx
    bottom = grid[np.ix_(y1, x0)] * (1 - fx) + grid[np.ix_(y1, x1)] * fx
    return np.asarray(top * (1 - fy) + bottom * fy)


def _smooth(t: Image) -> Image:
    return np.asarray(t * t * (3 - 2 * t))


def _material(image: Image, specular: float = 0.05, shininess: float = 20.0) -> Material:
    texture = np.clip(np.round(image * 255), 0, 255).astype(np.uint8)
    return Material((1.0, 1.0, 1.0), np.ascontiguousarray(texture), specular, shininess)


def _tone(random: np.random.Generator, *choices: tuple[float, float, float], spread: float = 0.04) -> Image:
    base = np.array(choices[int(random.integers(len(choices)))])
    return np.asarray(np.clip(base + random.normal(0, spread, 3) * 0.4 + random.normal(0, spread), 0.03, 0.97))


def _planks(random: np.random.Generator) -> Surface:
    """Boards with grain, joints and a tone of their own."""
    tone = _tone(
        random, (0.72, 0.52, 0.33), (0.60, 0.41, 0.25), (0.80, 0.66, 0.48), (0.45, 0.30, 0.19), (0.66, 0.60, 0.53)
    )
    rows = int(random.choice([8, 10, 12, 16]))
    row = np.arange(PIXELS) * rows // PIXELS
    shade, joint = np.zeros((PIXELS, PIXELS)), np.ones((PIXELS, PIXELS))
    for r in range(rows):
        cuts = np.sort(random.choice(PIXELS // 16, size=int(random.integers(2, 4)), replace=False)) * 16
        board = np.searchsorted(cuts, np.arange(PIXELS), side="right") % len(cuts)
        shade[row == r] = random.normal(0, 0.09, len(cuts))[board]
        joint[np.ix_(row == r, cuts)] = 0.62
    starts = np.searchsorted(row, np.arange(rows))
    joint[starts] = np.minimum(joint[starts], 0.66)
    grain = noise(random, 96, 5, octaves=3) * 0.045 + noise(random, 24, 3, octaves=2) * 0.03
    value = (1 + shade + grain) * joint
    warm = np.array([0.0, -0.012, -0.03])
    return Surface(_material(tone * value[..., None] + warm * shade[..., None] * 3, 0.16, 40.0), 2.0)


def _herringbone(random: np.random.Generator) -> Surface:
    tone = _tone(random, (0.70, 0.50, 0.32), (0.55, 0.37, 0.23), (0.78, 0.62, 0.43))
    blocks, length = 32, 4  # a board is one block wide and `length` long, in a grid that repeats
    y, x = np.mgrid[0:PIXELS, 0:PIXELS] * blocks / PIXELS
    row, column = np.floor(y).astype(int), np.floor(x).astype(int)
    phase = (column - row) % (2 * length)
    lying = phase < length
    start_x = np.where(lying, column - phase, column)
    start_y = np.where(lying, row, row - (2 * length - 1 - phase))
    key = (start_x % blocks) * blocks + start_y % blocks
    shade = random.normal(0, 0.10, blocks * blocks)[key]
    along, across = np.where(lying, x - start_x, y - start_y), np.where(lying, y - row, x - column)
    edge = np.minimum(np.minimum(across, 1 - across), np.minimum(along, length - along))
    joint = np.where(edge < 0.045, 0.66, 1.0)
    streak = np.where(lying, noise(random, 128, 8, octaves=2), noise(random, 8, 128, octaves=2)) * 0.05
    return Surface(_material(tone * ((1 + shade + streak) * joint)[..., None], 0.16, 40.0), 2.4)


def _tiles(random: np.random.Generator) -> Surface:
    tone = _tone(
        random, (0.82, 0.80, 0.76), (0.70, 0.64, 0.56), (0.58, 0.58, 0.60), (0.88, 0.87, 0.85), (0.62, 0.45, 0.36)
    )
    per_side = int(random.choice([4, 6]))
    cell = PIXELS / per_side
    y, x = np.mgrid[0:PIXELS, 0:PIXELS]
    key = (y // cell).astype(int) * per_side + (x // cell).astype(int)
    shade = random.normal(0, 0.035, per_side * per_side)[key]
    if random.random() < 0.25:  # chequered
        shade = shade - 0.22 * (((y // cell) + (x // cell)).astype(int) % 2)
    marble = noise(random, 4, 4, octaves=5, gain=0.6) * 0.035
    grout = np.minimum(y % cell, x % cell) < 3
    value = np.where(grout, 0.72, 1 + shade + marble)
    return Surface(_material(tone * value[..., None], 0.28, 60.0), 0.4 * per_side)


def _small_tiles(random: np.random.Generator) -> Surface:
    """Wall tiles of bathrooms and kitchens."""
    tone = _tone(random, (0.92, 0.92, 0.91), (0.80, 0.86, 0.88), (0.86, 0.82, 0.74), (0.72, 0.79, 0.76))
    rows = 8
    cell = PIXELS / rows
    y, x = np.mgrid[0:PIXELS, 0:PIXELS]
    row = (y // cell).astype(int)
    shifted = (x + (row % 2) * cell) % PIXELS
    grout = (y % cell < 2) | (shifted % (2 * cell) < 2)
    key = row * rows + (shifted // (2 * cell)).astype(int)
    shade = random.normal(0, 0.02, rows * rows)[key]
    return Surface(_material(tone * np.where(grout, 0.78, 1 + shade)[..., None], 0.3, 70.0), 1.2)


def _carpet(random: np.random.Generator) -> Surface:
    tone = _tone(
        random, (0.72, 0.68, 0.60), (0.50, 0.52, 0.56), (0.60, 0.50, 0.42), (0.42, 0.48, 0.46), (0.78, 0.75, 0.70)
    )
    pile = random.normal(0, 1, (PIXELS, PIXELS)) * 0.06 + noise(random, 128, 128, octaves=2) * 0.04
    worn = noise(random, 4, 4, octaves=3) * 0.02
    return Surface(_material(tone * (1 + pile + worn)[..., None], 0.0), 1.6)


def _plaster(random: np.random.Generator) -> Surface:
    tone = _tone(
        random,
        (0.84, 0.82, 0.79),
        (0.86, 0.85, 0.84),
        (0.80, 0.76, 0.68),
        (0.74, 0.78, 0.80),
        (0.78, 0.80, 0.74),
        (0.66, 0.56, 0.44),
        spread=0.02,
    )
    rough = random.normal(0, 1, (PIXELS, PIXELS)) * 0.008 + noise(random, 48, 48, octaves=3) * 0.007
    stains = noise(random, 3, 3, octaves=3) * 0.006
    return Surface(_material(tone * (1 + rough + stains)[..., None], 0.02), 2.5)


def _wallpaper(random: np.random.Generator) -> Surface:
    tone = _tone(random, (0.82, 0.78, 0.70), (0.72, 0.76, 0.80), (0.80, 0.72, 0.70), (0.74, 0.78, 0.70))
    y, x = np.mgrid[0:PIXELS, 0:PIXELS] / PIXELS
    count = int(random.choice([6, 8, 12]))
    if random.random() < 0.5:
        pattern = np.sign(np.sin(2 * np.pi * count * x)) * 0.035
    else:
        wave = np.sin(2 * np.pi * count * x) * np.sin(2 * np.pi * count * y + np.pi * np.floor(x * count))
        pattern = np.where(wave > 0.75, -0.10, 0.0)
    paper = random.normal(0, 0.010, (PIXELS, PIXELS))
    return Surface(_material(tone * (1 + pattern + paper)[..., None], 0.02), 1.4)


def _brick(random: np.random.Generator) -> Surface:
    tone = _tone(random, (0.60, 0.34, 0.26), (0.70, 0.55, 0.42), (0.80, 0.78, 0.74))
    rows = 16
    y, x = np.mgrid[0:PIXELS, 0:PIXELS]
    cell_y, cell_x = PIXELS / rows, PIXELS / 4
    row = (y // cell_y).astype(int)
    shifted = (x + (row % 2) * cell_x / 2) % PIXELS
    mortar = (y % cell_y < 4) | (shifted % cell_x < 4)
    shade = random.normal(0, 0.10, rows * 4)[row * 4 + (shifted // cell_x).astype(int)]
    grain = noise(random, 64, 64, octaves=2) * 0.04
    colour = np.where(mortar[..., None], 0.68, tone * (1 + shade + grain)[..., None])
    return Surface(_material(colour, 0.02), 1.0)


def _concrete(random: np.random.Generator) -> Surface:
    tone = _tone(random, (0.62, 0.61, 0.59), (0.52, 0.52, 0.52))
    value = 1 + noise(random, 5, 5, octaves=6, gain=0.6) * 0.05 + random.normal(0, 0.02, (PIXELS, PIXELS))
    return Surface(_material(tone * value[..., None], 0.06), 3.0)


def _grass(random: np.random.Generator) -> Surface:
    blades = random.normal(0, 1, (PIXELS, PIXELS)) * 0.16 + noise(random, 96, 96, octaves=3) * 0.12
    patches = noise(random, 4, 4, octaves=4)[..., None] * np.array([0.05, 0.03, 0.01])
    tone = _tone(random, (0.26, 0.36, 0.13), (0.30, 0.38, 0.18), spread=0.02)
    return Surface(_material(tone * (1 + blades)[..., None] + patches, 0.0), 3.0)


def _paving(random: np.random.Generator) -> Surface:
    tone = _tone(random, (0.62, 0.58, 0.52), (0.55, 0.55, 0.55), (0.68, 0.60, 0.50))
    rows = 6
    cell = PIXELS / rows
    y, x = np.mgrid[0:PIXELS, 0:PIXELS]
    row = (y // cell).astype(int)
    shifted = (x + (row % 2) * cell / 2) % PIXELS
    gap = (y % cell < 4) | (shifted % cell < 4)
    shade = random.normal(0, 0.07, rows * rows)[row * rows + (shifted // cell).astype(int)]
    grain = noise(random, 48, 48, octaves=3) * 0.05
    return Surface(_material(tone * np.where(gap, 0.55, 1 + shade + grain)[..., None], 0.02), 2.4)


def _fence(random: np.random.Generator) -> Surface:
    tone = _tone(random, (0.52, 0.38, 0.26), (0.62, 0.52, 0.42), (0.42, 0.36, 0.31))
    boards = 12
    x = np.arange(PIXELS)
    board = x * boards // PIXELS
    shade = random.normal(0, 0.10, boards)[board][None, :]
    gap = np.where(x % (PIXELS / boards) < 3, 0.45, 1.0)[None, :]
    grain = noise(random, 4, 96, octaves=3) * 0.06
    return Surface(_material(tone * ((1 + shade + grain) * gap)[..., None], 0.02), 1.6)


def _leaves(random: np.random.Generator) -> Surface:
    tone = _tone(random, (0.16, 0.27, 0.10), (0.20, 0.30, 0.14), spread=0.02)
    value = 1 + noise(random, 40, 40, octaves=4, gain=0.8) * 0.45
    return Surface(_material(tone * np.clip(value, 0.15, 2.2)[..., None], 0.0), 1.0)


def _ceiling(random: np.random.Generator) -> Surface:
    value = 0.93 + random.normal(0, 0.006, (PIXELS, PIXELS, 1)) * np.ones(3)
    return Surface(_material(value, 0.0), 2.0)


def _panel_ceiling(random: np.random.Generator) -> Surface:
    """Suspended ceilings of offices and schools: 60 cm panels with pin holes."""
    y, x = np.mgrid[0:PIXELS, 0:PIXELS]
    frame = np.minimum(y % (PIXELS / 4), x % (PIXELS / 4)) < 4
    holes = random.random((PIXELS, PIXELS)) < 0.03
    value = np.where(frame, 0.80, np.where(holes, 0.74, 0.90))
    return Surface(_material(value[..., None] * np.ones(3), 0.0), 2.4)


def _linoleum(random: np.random.Generator) -> Surface:
    tone = _tone(random, (0.62, 0.62, 0.60), (0.56, 0.62, 0.64), (0.66, 0.60, 0.50), (0.50, 0.56, 0.50))
    chips = random.random((PIXELS, PIXELS))
    fleck = np.where(chips < 0.06, -0.14, np.where(chips > 0.95, 0.12, 0.0))
    return Surface(_material(tone * (1 + fleck + noise(random, 6, 6) * 0.012)[..., None], 0.2, 50.0), 1.5)


_KINDS: dict[str, Callable[[np.random.Generator], Surface]] = {
    "planks": _planks,
    "herringbone": _herringbone,
    "tiles": _tiles,
    "small_tiles": _small_tiles,
    "carpet": _carpet,
    "plaster": _plaster,
    "wallpaper": _wallpaper,
    "brick": _brick,
    "concrete": _concrete,
    "grass": _grass,
    "paving": _paving,
    "fence": _fence,
    "leaves": _leaves,
    "ceiling": _ceiling,
    "panel_ceiling": _panel_ceiling,
    "linoleum": _linoleum,
}
