"""Walls with their openings, skirting, doors and windows as meshes.

Everything is built in the wall's own frame (x along the wall from its start, y to its left, z up) and turned into
``map`` at the end. Long walls are cut into pieces, because a piece of geometry is lit by only a few lamps.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import Opening, Wall
from gst_ros.scenes.rendering.materials import Surface, surface
from gst_ros.scenes.rendering.mesh import Mesh, merge
from gst_ros.scenes.rendering.shapes import box, plain, quad

PIECE_M = 5.0
SKIRTING_HEIGHT_M = 0.08
SKIRTING_DEPTH_M = 0.012
CASING_M = 0.07
LEAF_THICKNESS_M = 0.04
LEAF_ANGLE_DEG = 96.0
FULL_HEIGHT_M = 2.0
"""Walls lower than this are fences and counters: no skirting."""

_WHITE = plain(0.90, 0.89, 0.87, specular=0.12)
_DOORS = (
    plain(0.86, 0.85, 0.82, specular=0.12),
    plain(0.50, 0.33, 0.20, specular=0.12),
    plain(0.70, 0.52, 0.34, specular=0.12),
    plain(0.38, 0.40, 0.42, specular=0.12),
)
_TOP = plain(0.30, 0.30, 0.31)
_HANDLE = plain(0.65, 0.65, 0.66, specular=0.6)


def wall_frame(wall: Wall) -> NDArray[np.float64]:
    """4 x 4 transform from the wall's frame to ``map``."""
    (x0, y0), (x1, y1) = wall.start, wall.end
    length = max(wall.length_m, 1e-9)
    c, s = (x1 - x0) / length, (y1 - y0) / length
    return np.array([[c, -s, 0.0, x0], [s, c, 0.0, y0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])


def door_leaf(wall: Wall, opening: Opening) -> tuple[tuple[float, float], ...] | None:
    """Footprint of a door's leaf as it stands open, corners (x_m, y_m) in ``map``; None when there is no leaf.

    A door's ``style`` is 0 for none, else 1 + hinge (0 start, 1 end) + 2 x side (0 left, 1 right) + 4 x colour.
    """
    if opening.kind != "door" or opening.style == 0:
        return None
    corners = _leaf_corners(wall, opening)
    frame = wall_frame(wall)
    return tuple((float(x), float(y)) for x, y in (corners @ frame[:2, :2].T + frame[:2, 3]))


def _leaf_corners(wall: Wall, opening: Opening) -> NDArray[np.float64]:
    """Corners of the leaf in the wall's frame: hinge edge first, then round."""
    code = opening.style - 1
    at_end, to_right = bool(code & 1), bool(code & 2)
    width = opening.width_m - 2 * 0.01
    hinge = opening.start_m + (opening.width_m - 0.01 if at_end else 0.01)
    side = -1.0 if to_right else 1.0
    angle = math.radians(LEAF_ANGLE_DEG)
    along = np.array([math.cos(angle) * (-1.0 if at_end else 1.0), side * math.sin(angle)])
    # The leaf turns about the corner of the wall's face, clear of the casing.
    origin = np.array([hinge, side * (wall.thickness_m / 2 + 0.012)])
    across = np.array([along[1], -along[0]]) * LEAF_THICKNESS_M
    if across @ np.array([-1.0 if at_end else 1.0, 0.0]) > 0:
        across = -across
    return np.array([origin, origin + width * along, origin + width * along + across, origin + across])


def wall_pieces(wall: Wall) -> Iterator[tuple[str, Mesh]]:
    """A wall's meshes in ``map``, each with a name for its instance.

    Yields:
        Name within the wall (``left/0``, ``right/0``, ``top``, ``fittings``) and mesh.
    """
    frame = wall_frame(wall)
    cuts = _cuts(wall)
    for side, material in (("left", wall.material_left), ("right", wall.material_right)):
        for number, (start, end) in enumerate(itertools.pairwise(cuts)):
            faces = list(_face(wall, side == "left", start, end, surface(material)))
            if faces:
                yield f"{side}/{number}", merge(faces).transformed(frame)
    half = wall.thickness_m / 2
    length, height = wall.length_m, wall.height_m
    left = surface(wall.material_left)
    ends = [
        quad([(0, half, 0), (0, -half, 0), (0, -half, height), (0, half, height)], left),
        quad([(length, -half, 0), (length, half, 0), (length, half, height), (length, -half, height)], left),
    ]
    top_surface = _TOP if height >= FULL_HEIGHT_M else left
    top = quad([(0, -half, height), (length, -half, height), (length, half, height), (0, half, height)], top_surface)
    yield "top", merge([top, *ends]).transformed(frame)
    for number, opening in enumerate(wall.openings):
        yield f"opening/{number}", merge(list(_opening(wall, opening))).transformed(frame)


def _cuts(wall: Wall) -> list[float]:
    count = max(1, math.ceil(wall.length_m / PIECE_M))
    return [float(v) for v in np.linspace(0.0, wall.length_m, count + 1)]


def _face(wall: Wall, left: bool, start: float, end: float, look: Surface) -> Iterator[Mesh]:
    """One side of a wall between two stations, around its openings, with skirting."""
    y = wall.thickness_m / 2 * (1 if left else -1)
    stations = {start, end}
    for opening in wall.openings:
        stations |= {v for v in (opening.start_m, opening.start_m + opening.width_m) if start < v < end}
    edges = sorted(stations)
    skirting = wall.height_m >= FULL_HEIGHT_M
    for a, b in itertools.pairwise(edges):
        hole = next((o for o in wall.openings if o.start_m - 1e-9 <= a and b <= o.start_m + o.width_m + 1e-9), None)
        spans = [(0.0, wall.height_m)] if hole is None else [(0.0, hole.sill_m), (hole.head_m, wall.height_m)]
        for low, high in spans:
            if high - low > 1e-6:
                yield _panel(a, b, low, high, y, left, look)
        if skirting and (hole is None or hole.sill_m > SKIRTING_HEIGHT_M):
            depth = SKIRTING_DEPTH_M * (1 if left else -1)
            y0, y1 = sorted((y, y + depth))
            yield box((a, y0, 0.0), (b, y1, SKIRTING_HEIGHT_M), _WHITE, bottom=False)


def _panel(a: float, b: float, low: float, high: float, y: float, left: bool, look: Surface) -> Mesh:
    uv = [(a, low), (b, low), (b, high), (a, high)]
    corners = [(a, y, low), (b, y, low), (b, y, high), (a, y, high)]
    if left:  # seen from the left, the wall runs from right to left
        corners, uv = corners[::-1], uv[::-1]
    return quad(corners, look, uv)


def _opening(wall: Wall, opening: Opening) -> Iterator[Mesh]:
    half = wall.thickness_m / 2
    a, b, low, high = opening.start_m, opening.start_m + opening.width_m, opening.sill_m, opening.head_m
    reveal = _WHITE if opening.kind != "passage" else surface(wall.material_left)
    yield quad([(a, half, low), (a, half, high), (a, -half, high), (a, -half, low)], reveal)
    yield quad([(b, -half, low), (b, -half, high), (b, half, high), (b, half, low)], reveal)
    yield quad([(a, half, high), (b, half, high), (b, -half, high), (a, -half, high)], reveal)
    if low > 1e-6:
        yield quad([(a, -half, low), (b, -half, low), (b, half, low), (a, half, low)], reveal)
    if opening.kind == "door":
        yield from _casing(half, a, b, high)
        if opening.style:
            yield from _leaf(wall, opening)
    elif opening.kind in ("window", "french_window"):
        yield from _casing(half, a, b, high, low)
        yield from _window(opening, a, b, low, high)


def _casing(half: float, a: float, b: float, high: float, low: float = 0.0) -> Iterator[Mesh]:
    """The boards round an opening, on both faces of the wall."""
    for y0, y1 in ((half, half + 0.015), (-half - 0.015, -half)):
        yield box((a - CASING_M, y0, low), (a, y1, high + CASING_M), _WHITE)
        yield box((b, y0, low), (b + CASING_M, y1, high + CASING_M), _WHITE)
        yield box((a, y0, high), (b, y1, high + CASING_M), _WHITE)
        if low > 1e-6:
            yield box((a - CASING_M, y0 * 1.25, low - 0.04), (b + CASING_M, y1 * 1.25, low), _WHITE)


def _leaf(wall: Wall, opening: Opening) -> Iterator[Mesh]:
    corners = _leaf_corners(wall, opening)
    look = _DOORS[((opening.style - 1) // 4) % len(_DOORS)]
    along, across = corners[1] - corners[0], corners[3] - corners[0]
    width, thickness = float(np.linalg.norm(along)), float(np.linalg.norm(across))
    along, across = along / width, across / thickness
    frame = np.eye(4)
    frame[:2, 0], frame[:2, 1], frame[:2, 3] = along, across, corners[0]
    parts = [box((0, 0, 0.01), (width, thickness, opening.head_m - 0.01), look)]
    panels = [(0.12, 0.95), (1.10, opening.head_m - 0.15)]
    for low, high in panels:
        for y0, y1 in ((-0.006, 0.0), (thickness, thickness + 0.006)):
            parts.append(box((0.12, y0, low), (width - 0.12, y1, high), look))
    for y0, y1 in ((-0.05, 0.0), (thickness, thickness + 0.05)):
        parts.append(box((width - 0.09, y0, 1.02), (width - 0.05, y1, 1.06), _HANDLE))
    yield merge(parts).transformed(frame)


def _window(opening: Opening, a: float, b: float, low: float, high: float) -> Iterator[Mesh]:
    """Frame and glazing bars; the panes themselves are left out, as a camera sees through them."""
    bar, depth = 0.05, 0.025
    yield box((a, -depth, low), (a + bar, depth, high), _WHITE)
    yield box((b - bar, -depth, low), (b, depth, high), _WHITE)
    yield box((a, -depth, low), (b, depth, low + bar), _WHITE)
    yield box((a, -depth, high - bar), (b, depth, high), _WHITE)
    wings = max(1, round((b - a) / 0.8))
    for i in range(1, wings):
        x = a + (b - a) * i / wings
        yield box((x - bar * 0.8, -depth, low), (x + bar * 0.8, depth, high), _WHITE)
    rows, columns = ((1, 1), (2, 1), (3, 2), (4, 2))[opening.style % 4]
    thin, shallow = 0.012, 0.012
    for i in range(wings):
        x0, x1 = a + (b - a) * i / wings, a + (b - a) * (i + 1) / wings
        for k in range(1, columns):
            x = x0 + (x1 - x0) * k / columns
            yield box((x - thin, -shallow, low), (x + thin, shallow, high), _WHITE)
    for k in range(1, rows):
        z = low + (high - low) * k / rows
        yield box((a, -shallow, z - thin), (b, shallow, z + thin), _WHITE)
