"""Seeded, periodic textures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TEXELS_PER_M = 160
TILE = 512  # size of a texture in texels; it repeats without a seam


def _noise(rng: np.random.Generator, sigma_x: float, sigma_y: float) -> NDArray[np.float64]:
    """Periodic Gaussian noise with zero mean and unit deviation, smoothed in the Fourier domain."""
    fy, fx = np.fft.fftfreq(TILE)[:, None], np.fft.fftfreq(TILE)[None, :]
    low_pass = np.exp(-2 * np.pi**2 * ((fx * sigma_x) ** 2 + (fy * sigma_y) ** 2))
    field = np.fft.ifft2(np.fft.fft2(rng.standard_normal((TILE, TILE))) * low_pass).real
    field -= field.mean()
    return field / field.std()


def _tinted(colour: tuple[int, int, int], brightness: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(colour, np.float64) * (1 + brightness[..., None])


def make_textures(seed: int = 7) -> dict[str, NDArray[np.uint8]]:
    """Every texture by name: TILE x TILE x 3, 8 bits, red first, periodic."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:TILE, 0:TILE]
    made: dict[str, NDArray[np.float64]] = {}
    for name, colour, strength in (
        ("plaster", (214, 208, 196), 0.02),
        ("stone", (150, 152, 156), 0.10),
        ("terracotta", (176, 96, 66), 0.08),
        ("fabric_blue", (62, 86, 128), 0.10),
        ("fabric_red", (150, 78, 84), 0.10),
    ):
        made[name] = _tinted(colour, strength * _noise(rng, 2, 2) + strength * _noise(rng, 12, 12))
    for name, colour in (("wood_light", (188, 148, 102)), ("wood_dark", (104, 70, 46))):
        made[name] = _tinted(colour, 0.12 * _noise(rng, 40, 2) + 0.06 * _noise(rng, 60, 6))
    made["leaves"] = _tinted((64, 112, 58), 0.35 * _noise(rng, 6, 6))
    made["screen"] = _tinted((34, 36, 42), 0.15 * _noise(rng, 30, 30))
    made["sky"] = _tinted((176, 206, 236), 0.08 * _noise(rng, 40, 16))
    made["sky"][(columns % 128 < 10) | (rows % 128 < 10)] = (240, 240, 236)

    plank = (rows // 32) % 16
    joint = (columns + (plank * 149) % TILE) % TILE // 128
    shade = rng.uniform(-0.16, 0.16, (16, 4))[plank, joint]
    made["parquet"] = _tinted((176, 132, 88), shade + 0.07 * _noise(rng, 30, 2))
    made["parquet"][(rows % 32 < 2) | ((columns + (plank * 149) % TILE) % 128 < 2)] *= 0.72
    made["tiles"] = _tinted((186, 190, 188), rng.uniform(-0.1, 0.1, (8, 8))[rows // 64, columns // 64])
    made["tiles"][(rows % 64 < 3) | (columns % 64 < 3)] = (120, 122, 124)

    check = ((rows // 32) % 2) + ((columns // 32) % 2)
    made["fabric_check"] = _tinted((196, 188, 170), -0.22 * check + 0.05 * _noise(rng, 2, 2))
    stripe = (np.hypot(rows - TILE / 2, columns - TILE / 2) // 24).astype(int) % 4
    palette = np.array([(150, 60, 52), (206, 180, 130), (70, 78, 106), (176, 108, 62)], np.float64)
    made["rug"] = palette[stripe] * (1 + 0.1 * _noise(rng, 2, 2))[..., None]

    spine = rng.integers(40, 210, (64, 16, 3)).astype(np.float64)
    made["books"] = spine[columns // 8, rows // 32] * (1 + 0.1 * _noise(rng, 3, 1))[..., None]
    made["books"][rows % 64 < 8] = (92, 62, 40)
    blobs = np.stack([_noise(rng, 30, 30) for _ in range(3)], axis=-1)
    made["painting"] = 128 + 70 * np.sign(blobs) * np.minimum(np.abs(blobs), 1.2)
    return {name: np.clip(values, 0, 255).astype(np.uint8) for name, values in made.items()}
