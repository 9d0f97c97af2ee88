"""The search for a map on a plan over all translations, scales and quarter turns, by correlation in Fourier space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import scipy.fft
from numpy.typing import NDArray

from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.plan_images import COLOURED, PlanImage, standardised

Array = NDArray[np.float64]
Field = NDArray[np.float32]

_PEAK = 6
WALLS_SHARE = 0.7
"""On a plan of walls alone, obstacles weigh so much less than on one with furniture: few of them are walls."""
WALLS_DEPTH_M = 0.1
"""There an obstacle counts as far as it lies no deeper than about this behind free floor: walls are thin."""
BORDER_M = 0.025
"""By so much the free area of a swept grid reaches too far into walls."""
COLOUR_WEIGHT = 0.5
"""Weight of the colours of a render, against its outline."""


@dataclass(frozen=True)
class Candidate:
    """A map on a plan; see ``PlanRegistration`` for the fields' meaning."""

    m_per_px: float
    yaw_rad: float
    x_m: float
    y_m: float
    score: float


@dataclass(frozen=True)
class Template:
    """A turned map in coarse cells, rows downwards.

    Attributes:
        fields: K x h x w, what is correlated with the plan's K fields; their weights sum to 1.
        free: h x w, share of free floor.
        left_m: x of the left edge on the turned map.
        top_m: y of its upper edge.
    """

    fields: Field
    free: Field
    left_m: float
    top_m: float


def weighted_fields(grid: OccupancyGrid, plan: PlanImage, occupied_weight: float, border_m: float = BORDER_M) -> Field:
    """What is correlated with a plan, for every cell of the grid: H x W x K; see :func:`plan_fields`.

    The sum over cells of these times the plan's fields is the agreement: 1 when all agrees, less where it does not.
    """
    if plan.kind == COLOURED:
        weight = grid.known.astype(np.float32)
        lab = cv2.cvtColor(grid.colour, cv2.COLOR_RGB2LAB).astype(np.float32)
        colour = standardised(lab, weight) * weight[:, :, None]
        outline = weight * (1 - COLOUR_WEIGHT)
        fields = np.concatenate([outline[:, :, None], colour * (COLOUR_WEIGHT / 2)], axis=2)
        return np.asarray(fields / max(float(weight.sum()), 1.0), dtype=np.float32)
    evidence = _peeled(grid, border_m)
    free, occupied = np.maximum(evidence, 0), np.minimum(evidence, 0)
    if not plan.furnished:
        depth_m = cv2.distanceTransform((~grid.free).astype(np.uint8), cv2.DIST_L2, 5) * grid.resolution_m
        near = np.exp(-np.maximum(depth_m - grid.resolution_m, 0) / WALLS_DEPTH_M)
        occupied = occupied * grid.tall * near
        occupied_weight *= WALLS_SHARE
    fields = (1 - occupied_weight) * free / max(float(free.sum()), 1e-6)
    fields += occupied_weight * occupied / max(-float(occupied.sum()), 1e-6)
    return np.asarray(fields[:, :, None], dtype=np.float32)


def _peeled(grid: OccupancyGrid, border_m: float) -> Field:
    """The evidence with free areas smaller by ``border_m`` on all sides."""
    cells = border_m / grid.resolution_m
    size = 2 * int(np.ceil(cells)) + 1
    if size < 3:
        return grid.evidence
    whole = np.asarray(cv2.erode(grid.evidence, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))), np.float32)
    share = np.float32(cells / np.ceil(cells))
    return np.asarray(share * whole + (1 - share) * grid.evidence, dtype=np.float32)


def plan_fields(plan: PlanImage) -> Field:
    """H x W x K: 1 where the plan is free and -1 where it is not; of a render, also its colours."""
    sign = 2 * plan.free - 1
    if plan.kind == COLOURED:
        return np.concatenate([sign[:, :, None], plan.colour], axis=2)
    return np.asarray(sign[:, :, None])


def coarse_search(
    grid: OccupancyGrid,
    plan: PlanImage,
    yaws_rad: Sequence[float],
    *,
    cells: int,
    scale_step: float,
    most_scale: float,
    coverage_weight: float,
    occupied_weight: float,
    most: int,
) -> list[Candidate]:
    """The best places of a map on a plan.

    Args:
        grid: The map.
        plan: The plan.
        yaws_rad: Rotations to try.
        cells: Coarse cells along the map's longer side.
        scale_step: Relative step between scales.
        most_scale: Greatest scale, relative to the least at which the map's free floor fits on the plan's.
        coverage_weight: Weight of the share of the plan's free area that is covered.
        occupied_weight: Weight of obstacles.
        most: At most so many candidates are returned, and at least the best of each rotation.
    """
    resolution = grid.resolution_m
    cell_m = max(resolution * max(grid.cells.shape) / cells, resolution)
    fields = weighted_fields(grid, plan, occupied_weight)
    templates = [_template(grid, fields, yaw, cell_m) for yaw in yaws_rad]
    free_m2 = float(grid.free.sum()) * resolution**2
    rows, columns = np.nonzero(plan.free > 0.5)
    plan_box = (np.ptp(columns) + 1.0, np.ptp(rows) + 1.0)
    side = max(max(t.free.shape) for t in templates)
    found: list[Candidate] = []
    least_scales: dict[float, float] = {}
    for template, yaw in zip(templates, yaws_rad, strict=True):
        rows_seen, columns_seen = np.nonzero(template.free > 0.5)
        if not len(rows_seen):
            continue
        box_m = ((np.ptp(columns_seen) + 1) * cell_m, (np.ptp(rows_seen) + 1) * cell_m)
        fitting = max(metres / pixels for metres, pixels in zip(box_m, plan_box, strict=True))
        least_scales[yaw] = max(np.sqrt(0.75 * free_m2 / len(rows)), 0.93 * fitting)
    if not least_scales:
        return []
    least = min(least_scales.values())
    peaks: dict[float, list[Candidate]] = {yaw: [] for yaw in least_scales}
    for scale in least * (1 + scale_step) ** np.arange(int(np.log(most_scale) / np.log1p(scale_step)) + 1):
        spectrum = _Spectrum(plan, float(scale), cell_m, side)
        for template, yaw in zip(templates, yaws_rad, strict=True):
            if scale >= least_scales.get(yaw, np.inf) * (1 - scale_step):
                peaks[yaw] += spectrum.peaks(template, yaw, coverage_weight)
    for each in peaks.values():
        found += _distinct(each, cell_m)[:2]
    best_each: dict[float, Candidate] = {}
    for candidate in sorted(found, key=lambda c: -c.score):
        best_each.setdefault(candidate.yaw_rad, candidate)
    rest = sorted((c for c in found if c not in best_each.values()), key=lambda c: -c.score)
    return [*best_each.values(), *rest[: max(most - len(best_each), 0)]]


def _template(grid: OccupancyGrid, fields: Field, yaw_rad: float, cell_m: float) -> Template:
    height, width = grid.cells.shape
    resolution = grid.resolution_m
    cos, sin = np.cos(yaw_rad), np.sin(yaw_rad)
    turn = np.array([[cos, -sin], [sin, cos]])
    corners = np.array([(0, 0), (width, 0), (0, height), (width, height)]) * resolution + grid.origin_m
    turned = corners @ turn.T
    left, top = float(turned[:, 0].min()), float(turned[:, 1].max())
    size = np.ceil((turned.max(axis=0) - turned.min(axis=0)) / cell_m).astype(int)
    # Destination (column, row) -> turned map -> map -> source (column, row).
    to_turned = np.array([[cell_m, 0, left + cell_m / 2], [0, -cell_m, top - cell_m / 2], [0, 0, 1]])
    to_map = np.block([[turn.T, np.zeros((2, 1))], [np.zeros((1, 2)), np.ones((1, 1))]])
    to_cell = np.array(
        [
            [1 / resolution, 0, -grid.origin_m[0] / resolution - 0.5],
            [0, 1 / resolution, -grid.origin_m[1] / resolution - 0.5],
            [0, 0, 1],
        ]
    )
    matrix = (to_cell @ to_map @ to_turned)[:2]
    sigma = 0.4 * cell_m / resolution

    def warped(image: Field) -> Field:
        smooth = cv2.GaussianBlur(image, (0, 0), sigma) if sigma > 0.5 else image
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return np.asarray(cv2.warpAffine(smooth, matrix, (int(size[0]), int(size[1])), flags=flags), dtype=np.float32)

    per_cell = np.float32((cell_m / resolution) ** 2)
    stack = np.stack([warped(np.ascontiguousarray(fields[:, :, k])) * per_cell for k in range(fields.shape[2])])
    return Template(stack, warped(grid.free.astype(np.float32)), left, top)


class _Spectrum:
    """A plan at one scale, in Fourier space."""

    def __init__(self, plan: PlanImage, m_per_px: float, cell_m: float, side: int) -> None:
        self._m_per_px, self._cell_m = m_per_px, cell_m
        self._width = max(round(plan.width * m_per_px / cell_m), 2)
        self._height = max(round(plan.height * m_per_px / cell_m), 2)
        size = (self._width, self._height)
        fields = cv2.resize(plan_fields(plan), size, interpolation=cv2.INTER_AREA).reshape(
            self._height, self._width, -1
        )
        outside = np.zeros(fields.shape[2], np.float32)
        outside[0] = -1.0
        fields = fields - outside  # so that zero padding means outside
        self._free_cells = max(float(fields[:, :, 0].sum()) / 2, 1.0)
        self._shape = tuple(scipy.fft.next_fast_len(n + side, real=True) for n in (self._height, self._width))
        self._spectra = [scipy.fft.rfft2(fields[:, :, k], self._shape) for k in range(fields.shape[2])]

    def peaks(self, template: Template, yaw: float, coverage_weight: float, count: int = 2) -> list[Candidate]:
        """The best few translations of a turned map."""
        kernel = template.fields.copy()
        kernel[0] += template.free * np.float32(coverage_weight / self._free_cells / 2)
        parts = [scipy.fft.rfft2(part, self._shape) for part in kernel]
        total = np.sum([s * np.conj(p) for s, p in zip(self._spectra, parts, strict=True)], axis=0)
        score = scipy.fft.irfft2(total, self._shape)
        offset = float(template.fields[0].sum())
        result = []
        for _ in range(count):
            row, column = (int(n) for n in np.unravel_index(int(np.argmax(score)), score.shape))
            down = row - self._shape[0] if row > self._height else row
            right = column - self._shape[1] if column > self._width else column
            x = right * self._cell_m - template.left_m
            y = -down * self._cell_m - template.top_m
            result.append(Candidate(self._m_per_px, yaw, x, y, float(score[row, column]) - offset))
            rows = np.arange(row - _PEAK, row + _PEAK + 1) % self._shape[0]
            columns = np.arange(column - _PEAK, column + _PEAK + 1) % self._shape[1]
            score[np.ix_(rows, columns)] = -np.inf
        return result


def _distinct(peaks: Sequence[Candidate], cell_m: float) -> list[Candidate]:
    """Peaks in falling order, without those beside a better one."""
    kept: list[Candidate] = []
    for peak in sorted(peaks, key=lambda c: -c.score):
        near = (
            abs(np.log(peak.m_per_px / k.m_per_px)) < 0.1 and np.hypot(peak.x_m - k.x_m, peak.y_m - k.y_m) < 10 * cell_m
            for k in kept
        )
        if not any(near):
            kept.append(peak)
    return kept
