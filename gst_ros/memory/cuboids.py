"""Where a thing is and how large, from the boxes that frame it in pictures from known places.

An upright cuboid (or an upright cylinder, whichever agrees better) is fitted so that its projections are framed as the
thing was. What is hidden or beyond the image's border makes a box smaller, never larger: a projection that exceeds a
box costs less and less the more it does, a box that exceeds the projection costs more and more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import CameraMount, PinholeCamera
from gst_ros.memory.silhouettes import BOX, CYLINDER, Silhouettes

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CuboidConfig(Settings):
    """How cuboids are fitted."""

    most_views: int = setting(24, "Views that a fit uses; others are left out where views are many.", low=2)
    border_px: float = setting(2.5, "A box that comes so near to the image's border is cut off.", unit="px", low=0.0)
    pixel_std: float = setting(2.5, "Standard deviation of a box's edge.", unit="px", above=0.0)
    position_std_m: float = setting(0.03, "Standard deviation of a pose's position.", unit="m", low=0.0)
    yaw_std_deg: float = setting(0.5, "Standard deviation of a pose's yaw.", unit="deg", low=0.0)
    hidden_scale: float = setting(1.5, "Standard deviations from which on an edge may be hidden.", above=0.0)
    least_size_m: float = setting(0.05, "Least size.", unit="m", above=0.0)
    most_size_m: float = setting(4.0, "Greatest size.", unit="m", above=0.0)
    usual_size_m: float = setting(0.6, "Usual size, where the views do not tell.", unit="m", above=0.0)
    size_spread: float = setting(0.8, "Standard deviation of the logarithm of a size.", above=0.0)
    floor_share: float = setting(0.75, "Share of things that stand on the floor.", above=0.0, high=0.99)


@dataclass(frozen=True)
class Cuboid:
    """An upright box in ``map``.

    Attributes:
        centre_m: (x, y).
        size_m: Along ``yaw_rad`` and across it.
        z_low_m: Height of its lower side above the floor.
        z_high_m: Height of its upper side.
        yaw_rad: Direction of its first size; it means nothing where ``round`` is true and both sizes are alike.
        covariance_m2: 2 x 2 covariance of the centre.
        on_floor: Probability that it stands on the floor.
        round: Whether a cylinder agrees better.
        residual: Root mean square of the edges' errors, in standard deviations; far above 1 is a bad fit.
        views: Number of views that were used.
    """

    centre_m: tuple[float, float]
    size_m: tuple[float, float]
    z_low_m: float
    z_high_m: float
    yaw_rad: float
    covariance_m2: Array
    on_floor: float
    round: bool
    residual: float
    views: int

    @property
    def std_m(self) -> float:
        """Standard deviation of the centre along its less certain direction."""
        return float(math.sqrt(max(np.linalg.eigvalsh(self.covariance_m2)[-1], 0.0)))

    @property
    def footprint_m(self) -> Array:
        """4 x 2 corners in ``map``, counter-clockwise."""
        halves = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * np.array(self.size_m) / 2
        cos, sin = math.cos(self.yaw_rad), math.sin(self.yaw_rad)
        return np.asarray(halves @ np.array([[cos, sin], [-sin, cos]]) + np.array(self.centre_m))


_MOST_STARTS = 2
_ON_FLOOR_STD_M = 0.015
_RAISED_M, _RAISED_STD_M = 0.8, 0.6
_SAME_ERRORS = 3.0
"""Views near each other err alike: so much larger is the covariance than that of independent ones."""
_MODEL_STD = 0.07
"""Error of the centre that comes from things that are no boxes, as a share of their size."""
_DEFAULT = CuboidConfig()


@dataclass(frozen=True)
class _Fit:
    values: Array
    cost: float
    covariance: Array
    shape: str
    on_floor: bool
    residual: float


def fit_cuboid(
    boxes: Array,
    poses: Array,
    camera: PinholeCamera,
    mount: CameraMount,
    yaw_hint_rad: float | None = None,
    config: CuboidConfig | None = None,
) -> Cuboid | None:
    """Fit an upright box to the boxes that frame it in several pictures.

    Args:
        boxes: N x 4, first column, first row, last column, last row of what is to be seen of the thing, pixels. Edges
            at the image's border are taken to be cut off there.
        poses: N x 3 poses of ``base`` in ``map``.
        camera: The camera of the pictures.
        mount: How it is mounted.
        yaw_hint_rad: A Manhattan direction of the place in ``map``: the box is laid along it. Without, its yaw is
            free.
        config: See :class:`CuboidConfig`.

    Returns:
        The box, or None where no view tells anything.

    Raises:
        ValueError: Boxes and poses do not fit together.
    """
    config = config or _DEFAULT
    boxes, poses = np.asarray(boxes, np.float64).reshape(-1, 4), np.asarray(poses, np.float64).reshape(-1, 3)
    if len(boxes) != len(poses):
        raise ValueError(f"{len(boxes)} boxes, but {len(poses)} poses")
    telling = _telling(boxes, poses, camera, config.border_px)
    boxes, poses = boxes[telling], poses[telling]
    if not len(boxes):
        return None
    chosen = _spread(boxes, poses, camera, config)
    views = Silhouettes(boxes[chosen], poses[chosen], camera, mount, config.border_px)
    starts = list(_starts(views, config))
    if not starts:
        return None
    fits = [fit for on_floor in (True, False) for fit in _fits(views, starts, on_floor, yaw_hint_rad, config)]
    return _merged(fits, len(chosen))


def _telling(boxes: Array, poses: Array, camera: PinholeCamera, border_px: float) -> NDArray[np.bool_]:
    """Views with two free sides or more, of which one is upright, and a box that is no speck."""
    limits = np.array([border_px, border_px, camera.width - 1 - border_px, camera.height - 1 - border_px])
    free = np.concatenate([boxes[:, :2] > limits[:2], boxes[:, 2:] < limits[2:]], axis=1)
    sized = (boxes[:, 2] - boxes[:, 0] >= 3) & (boxes[:, 3] - boxes[:, 1] >= 3)
    finite = np.isfinite(boxes).all(axis=1) & np.isfinite(poses).all(axis=1)
    return np.asarray(sized & finite & (free.sum(axis=1) >= 2) & (free[:, 0] | free[:, 2]))


def _spread(boxes: Array, poses: Array, camera: PinholeCamera, config: CuboidConfig) -> NDArray[np.intp]:
    """The views to use: far from each other, beginning with the largest box that is not cut off."""
    if len(boxes) <= config.most_views:
        return np.arange(len(boxes))
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    border = config.border_px
    free = (boxes[:, :2] > border).sum(axis=1) + (
        boxes[:, 2:] < (camera.width - 1 - border, camera.height - 1 - border)
    ).sum(axis=1)
    chosen = [int(np.argmax(area * (free == 4) + 1e-3 * area))]
    penalty = np.array([0.0, 0.0, 0.4, 0.2, 0.0])[free]
    features = np.column_stack([poses[:, :2], 0.3 * np.cos(poses[:, 2]), 0.3 * np.sin(poses[:, 2])])
    distance = np.full(len(boxes), np.inf)
    while len(chosen) < config.most_views:
        distance = np.minimum(distance, np.linalg.norm(features - features[chosen[-1]], axis=1))
        distance[chosen[-1]] = -np.inf
        chosen.append(int(np.argmax(distance - penalty * (distance > 0))))
    return np.array(sorted(set(chosen)))


def _starts(views: Silhouettes, config: CuboidConfig) -> Iterator[tuple[float, float, float]]:
    """Places (x, y, z of the middle) to begin at."""
    point = views.triangulated()
    if point is not None:
        yield float(point[0]), float(point[1]), float(np.clip(point[2], 0.05, 2.5))
    contact = views.floor_contact(config.usual_size_m / 2)
    if contact is not None:
        yield float(contact[0]), float(contact[1]), config.usual_size_m / 2
    for range_m in (1.5, 3.0, 5.5):
        ahead = views.along_view(range_m)
        yield float(ahead[0]), float(ahead[1]), float(np.clip(ahead[2], 0.1, 2.2))


def _fits(
    views: Silhouettes,
    starts: list[tuple[float, float, float]],
    on_floor: bool,
    yaw_hint_rad: float | None,
    config: CuboidConfig,
) -> Iterator[_Fit]:
    """The best box, and the cylinder near to it."""
    box = _Problem(views, BOX, on_floor, yaw_hint_rad, config)
    begun = sorted((box.begin(start, yaw) for start in starts for yaw in box.yaws), key=box.cost)
    found = min((box.solved(values) for values in begun[:_MOST_STARTS]), key=lambda result: result[1])[0]
    yield box.sharpened(found)
    yield _Problem(views, CYLINDER, on_floor, yaw_hint_rad, config).sharpened(found[:6])


class _Problem:
    """Least squares over (x, y, log size along, log size across, z low, log height[, yaw])."""

    def __init__(
        self, views: Silhouettes, shape: str, on_floor: bool, yaw_hint_rad: float | None, config: CuboidConfig
    ) -> None:
        self._views, self._shape, self._on_floor, self._config = views, shape, on_floor, config
        self._hint = yaw_hint_rad
        self.yaws = [0.0] if yaw_hint_rad is not None else ([0.0] if shape == CYLINDER else [0.0, math.pi / 4])
        self._free_yaw = yaw_hint_rad is None and shape == BOX
        self._deviation: Array | None = None
        self._saturated = False

    def begin(self, start: tuple[float, float, float], yaw: float) -> Array:
        size = math.log(self._config.usual_size_m)
        low = 0.0 if self._on_floor else max(start[2] - self._config.usual_size_m / 2, 0.02)
        values = [start[0], start[1], size, size, low, size]
        return np.array([*values, yaw] if self._free_yaw else values)

    def cost(self, values: Array) -> float:
        self._deviation = None
        return 0.5 * float((self._residuals(values) ** 2).sum())

    def solved(self, values: Array) -> tuple[Array, float]:
        """From a beginning to the nearest minimum, and its cost, with a loss that draws from far away."""
        self._deviation, self._saturated = self._deviations(values), False
        found = self._search(values, 15)
        return np.asarray(found.x), float(found.cost)

    def sharpened(self, values: Array) -> _Fit:
        """The minimum near by that views in which the thing is partly hidden do not pull at."""
        self._deviation, self._saturated = self._deviations(values), True
        found = self._search(values, 25)
        return self._fit(found)

    def _search(self, values: Array, evaluations: int) -> Any:
        config = self._config
        small, large = math.log(config.least_size_m), math.log(config.most_size_m)
        low = np.array([-np.inf, -np.inf, small, small, -0.05, small] + [-np.inf] * self._free_yaw)
        high = np.array([np.inf, np.inf, large, large, 2.8, large] + [np.inf] * self._free_yaw)
        scale = np.array([0.3, 0.3, 0.4, 0.4, 0.2, 0.4] + [0.5] * self._free_yaw)
        return least_squares(
            self._residuals,
            np.clip(values, low + 1e-6, high - 1e-6),
            bounds=(low, high),
            x_scale=scale,
            max_nfev=evaluations,
            ftol=1e-4,
            xtol=1e-4,
        )

    def _fit(self, found: Any) -> _Fit:
        config, values = self._config, np.asarray(found.x, np.float64)
        jacobian = np.asarray(found.jac, np.float64)
        information = jacobian.T @ jacobian + 1e-6 * np.eye(len(values))
        edges = found.fun[: 4 * len(self._views)]
        spread = max(1.0, float((edges**2).mean()))
        covariance = np.linalg.inv(information)[:2, :2] * spread * _SAME_ERRORS
        size = float(np.exp(values[2:4]).max())
        covariance += np.eye(2) * (config.position_std_m**2 / 2 + (_MODEL_STD * size) ** 2)
        odds = config.floor_share if self._on_floor else 1 - config.floor_share
        return _Fit(
            np.append(values, [] if self._free_yaw else [0.0 if self._hint is None else self._hint]),
            float(found.cost) - math.log(odds),
            covariance,
            self._shape,
            self._on_floor,
            float(np.sqrt((edges**2).mean())),
        )

    def _deviations(self, values: Array) -> Array:
        """4 x N standard deviations of the edges."""
        config, camera = self._config, self._views.camera
        range_m = np.maximum(self._views.ranges_m(values[:2]), 0.4)
        shifted = camera.fx * config.position_std_m / range_m
        turned = camera.fx * math.radians(config.yaw_std_deg)
        beside = np.sqrt(config.pixel_std**2 + shifted**2 + turned**2)
        above = np.sqrt(config.pixel_std**2 + (0.7 * shifted) ** 2)
        return np.stack([beside, above, beside, above])

    def _residuals(self, values: Array) -> Array:
        config = self._config
        yaw = values[6] if self._free_yaw else (self._hint or 0.0)
        excess = self._views.excess_px(
            values[:2], np.exp(values[2:4]), values[4], math.exp(values[5]), yaw, self._shape
        )
        deviation = self._deviations(values) if self._deviation is None else self._deviation
        edges = _asymmetric(
            excess / deviation, config.hidden_scale, self._deviation is not None and self._saturated
        ).T.ravel()
        sizes = (values[[2, 3, 5]] - math.log(config.usual_size_m)) / config.size_spread
        shape = (values[2] - values[3]) / 0.7
        height = values[4] / _ON_FLOOR_STD_M if self._on_floor else (values[4] - _RAISED_M) / _RAISED_STD_M
        return np.concatenate([edges, sizes, [shape, height]])


def _asymmetric(excess: Array, scale: float, saturated: bool) -> Array:
    """Residuals whose square grows like a line where the box exceeds the projection.

    Where the projection exceeds the box, it grows like a logarithm or, ``saturated``, towards a bound (Geman, McClure).
    """
    beyond = np.maximum(excess, 0.0)
    hidden = (
        beyond / np.sqrt(1.0 + (beyond / scale) ** 2) if saturated else scale * np.sqrt(np.log1p((beyond / scale) ** 2))
    )
    short = np.maximum(-excess, 0.0)
    missing = np.where(short <= 2.0, short, np.sqrt(np.maximum(4.0 * short - 4.0, 0.0)))
    return np.where(excess >= 0, hidden, -missing)


def _merged(fits: list[_Fit], views: int) -> Cuboid:
    """The best fit, with the spread of the others that are nearly as good in its covariance."""
    best = min(fits, key=lambda fit: fit.cost)
    weights = np.exp(np.array([best.cost - fit.cost for fit in fits]))
    weights /= weights.sum()
    covariance = np.zeros((2, 2))
    for weight, fit in zip(weights, fits, strict=True):
        away = fit.values[:2] - best.values[:2]
        covariance += weight * (fit.covariance + np.outer(away, away))
    values = best.values
    low = max(float(values[4]), 0.0)
    return Cuboid(
        centre_m=(float(values[0]), float(values[1])),
        size_m=(float(np.exp(values[2])), float(np.exp(values[3]))),
        z_low_m=low,
        z_high_m=low + float(np.exp(values[5])),
        yaw_rad=float(values[-1]),
        covariance_m2=covariance,
        on_floor=float(sum(w for w, fit in zip(weights, fits, strict=True) if fit.on_floor)),
        round=best.shape == CYLINDER,
        residual=best.residual,
        views=views,
    )
