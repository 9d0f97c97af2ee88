"""Top-down images of a home at the benchmark's levels: coloured, plan with furniture, plan with a path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from drawn_demo.furniture import FLAT_KINDS, WALL_THICKNESS_M, Layout, build
from drawn_demo.textures import TEXELS_PER_M, TILE

PLAN_SIZE = (640, 512)  # width, height
PLAN_MARGIN_PX = 16


@dataclass(frozen=True)
class PlanView:
    """Where a layout lies on its top-down image: one scale, centred."""

    layout: Layout

    @property
    def pixels_per_m(self) -> float:
        """The scale."""
        usable = [size - 2 * PLAN_MARGIN_PX for size in PLAN_SIZE]
        return min(usable[k] / self.layout.size_m[k] for k in (0, 1))

    def pixel(self, x_m: float, y_m: float) -> tuple[float, float]:
        """A place in ``map`` as image column (to the right) and row (down)."""
        scale, (width_m, depth_m) = self.pixels_per_m, self.layout.size_m
        return (PLAN_SIZE[0] / 2 + (x_m - width_m / 2) * scale, PLAN_SIZE[1] / 2 - (y_m - depth_m / 2) * scale)

    def point_999(self, x_m: float, y_m: float) -> tuple[int, int]:
        """The same on the benchmark's grid of 0 to 999."""
        column, row = self.pixel(x_m, y_m)
        return round(999 * column / PLAN_SIZE[0]), round(999 * row / PLAN_SIZE[1])

    def rectangle(self, footprint: tuple[float, float, float, float]) -> tuple[slice, slice]:
        """Rows and columns of a footprint."""
        left, bottom = self.pixel(footprint[0], footprint[1])
        right, top = self.pixel(footprint[2], footprint[3])
        return slice(round(top), max(round(top) + 1, round(bottom))), slice(
            round(left), max(round(left) + 1, round(right))
        )


def draw_plan(layout: Layout) -> NDArray[np.uint8]:
    """Binary plan with furniture: white is free floor, black is obstacle or outside (height x width x 3)."""
    view, t = PlanView(layout), WALL_THICKNESS_M
    image = np.zeros((PLAN_SIZE[1], PLAN_SIZE[0], 3), np.uint8)
    image[view.rectangle((t, t, layout.size_m[0] - t, layout.size_m[1] - t))] = 255
    solid = [item.footprint for item in layout.items if item.kind not in FLAT_KINDS]
    for footprint in (*layout.walls, *solid):
        image[view.rectangle(footprint)] = 0
    return image


def draw_render(layout: Layout, textures: dict[str, NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Coloured top-down view without the ceiling (height x width x 3, red first)."""
    view = PlanView(layout)
    image = np.full((PLAN_SIZE[1], PLAN_SIZE[0], 3), 24, np.uint8)
    for box in sorted(build(layout), key=lambda box: box.high[2]):
        if box.name == "ceiling":
            continue
        rows, columns = view.rectangle((*box.low[:2], *box.high[:2]))
        height, width = rows.stop - rows.start, columns.stop - columns.start
        step = TEXELS_PER_M / view.pixels_per_m  # texels per pixel
        row = (np.arange(height) * step).astype(int) % TILE
        column = (np.arange(width) * step).astype(int) % TILE
        image[rows, columns] = textures[box.texture][row[:, None], column[None, :]]
    return image


def draw_trajectory(layout: Layout, places: Iterable[tuple[float, float]]) -> NDArray[np.uint8]:
    """A plan with a red path and a blue dot at its start."""
    image = np.ascontiguousarray(draw_plan(layout))
    path = np.array([PlanView(layout).pixel(x, y) for x, y in places]).round().astype(np.int32)
    cv2.polylines(image, [path], False, (255, 60, 60), 6, cv2.LINE_AA)
    cv2.circle(image, tuple(int(k) for k in path[0]), 9, (60, 60, 255), -1, cv2.LINE_AA)
    return image
