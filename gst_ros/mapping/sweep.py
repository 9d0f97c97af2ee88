"""How high above the floor the things in a picture are: a sweep of horizontal planes over neighbouring views.

For every height, neighbouring views are warped onto the reference view as if all that they show lay in the plane of
that height (the homography of a plane: Hartley & Zisserman, "Multiple View Geometry", 13.1). Where things really lie
in it, the pictures agree. Costs are smoothed over the picture by semi-global matching (Hirschmueller 2008), with
heights in the place of disparities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.mapping.planar import between

Array = NDArray[np.float64]
Image = NDArray[np.uint8]
Costs = NDArray[np.int16]

_OUTSIDE, _SEEN = 255, 170
"""Cost where a neighbour does not see the point, and the least cost that means so."""
_NEUTRAL = 80
_WEIGHTS = (0.5, 2.7, 1.2)
"""Of brightness, fine structure and tint in the cost."""
_CAPS = (30, 54, 36)
"""No channel adds more to the cost."""


@dataclass(frozen=True)
class SweepConfig(Settings):
    """How heights are found. Heights are given as shares of the camera's height."""

    width_px: int = setting(320, "Pictures are swept at this width.", unit="px", low=64, high=1920)
    planes: int = setting(15, "Planes from the floor upwards.", low=4, high=64)
    top: float = setting(0.88, "The highest plane, as a share of the camera's height.", above=0.1, high=0.97)
    neighbours: int = setting(3, "Views that a view is compared with.", low=2, high=8)
    baseline: float = setting(0.25, "Best distance of two views, as a share of the camera's height.", above=0.0)
    least_worth: float = setting(0.04, "Neighbours that share less, or stand too near or far, are not used.", above=0.0)
    edge: float = setting(12.0, "Change of colour that makes a change of height nearly free.", above=0.0)
    window_px: int = setting(3, "Costs are averaged over a square of this side before smoothing.", unit="px", low=1)
    step_cost: int = setting(12, "Cost of a small change of height between neighbouring pixels.", low=0)
    below_cost: int = setting(6, "Extra cost of the plane below the floor.", low=0)
    jump_cost: int = setting(80, "Cost of any change of height between neighbouring pixels.", low=0)


@dataclass(frozen=True)
class View:
    """A picture with its place.

    Attributes:
        pose: (x_m, y_m, yaw_rad) of ``base`` in ``map``.
        image: H x W x 3, RGB.
    """

    pose: Array
    image: Image


@dataclass(frozen=True)
class Heights:
    """What one picture shows, by height above the floor.

    Attributes:
        height: h x w, metres, float32.
        certainty: h x w, 0 (any height fits as well) to 1.
        colour: h x w x 3, RGB.
        camera: The pinhole of pictures of this size.
    """

    height: NDArray[np.float32]
    certainty: NDArray[np.float32]
    colour: Image
    camera: PinholeCamera


class PlaneSweep:
    """Finds heights in views of one camera.

    Args:
        camera: Of the views' pictures, at any size of the same shape.
        mount: How it is mounted.
        config: See :class:`SweepConfig`.
    """

    def __init__(self, camera: PinholeCamera, mount: CameraMount, config: SweepConfig | None = None) -> None:
        self.config = config or SweepConfig()
        width = min(self.config.width_px, camera.width) // 2 * 2
        height = max(round(camera.height * width / camera.width) // 2 * 2, 2)
        self._camera = camera.scaled_to(width, height)
        self._small = camera.scaled_to(width // 2, height // 2)
        self._mount = mount
        # One plane below the floor makes the floor a minimum with two sides, and takes reflections in it.
        step = self.config.top / (self.config.planes - 1)
        self.heights_m: Array = np.arange(-1, self.config.planes, dtype=np.float64) * (step * mount.height_m)

    def prepared(self, image: Image) -> Image:
        """A picture as it is compared: brightness, fine structure and colour, h x w x 4 bytes.

        The fine structure does not depend on the exposure, nor on how the view is turned.

        Args:
            image: H x W x 3, RGB, at the camera's size or another of the same shape.
        """
        size = (self._camera.width, self._camera.height)
        small = cv2.resize(image, size, interpolation=cv2.INTER_AREA) if image.shape[1::-1] != size else image
        lab = cv2.cvtColor(small, cv2.COLOR_RGB2LAB)
        light = lab[:, :, 0].astype(np.float32)
        fine = cv2.GaussianBlur(light, (0, 0), 0.8) - cv2.GaussianBlur(light, (0, 0), 2.0)
        tint = lab[:, :, 1].astype(np.float32) + lab[:, :, 2] - 256
        # Weighted here, once, so that differences need only be added up.
        parts = [light * _WEIGHTS[0], 128 + fine * _WEIGHTS[1], 128 + tint * _WEIGHTS[2], np.full_like(light, _OUTSIDE)]
        return np.asarray(cv2.merge([np.clip(part, 0, 255).astype(np.uint8) for part in parts]), np.uint8)

    def costs(self, reference: Image, pose: Array, others: Sequence[tuple[Image, Array]]) -> Costs:
        """Disagreement of a view with its neighbours for every height.

        Args:
            reference: A prepared picture.
            pose: Its pose.
            others: Prepared pictures of neighbours, and their poses; at least one.

        Returns:
            planes x h/2 x w/2, larger where the pictures disagree.
        """
        if not others:
            raise MapError("a plane sweep needs neighbouring views")
        size = (self._camera.width, self._camera.height)
        window = (self.config.window_px, self.config.window_px)
        maps = [self._homographies(between(pose, other)) for _, other in others]
        result = np.empty((len(self.heights_m), size[1] // 2, size[0] // 2), np.int16)
        for k in range(len(self.heights_m)):
            pair: list[Image] = []
            for (image, _), homographies in zip(others, maps, strict=True):
                flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
                warped = np.asarray(cv2.warpPerspective(image, homographies[k], size, flags=flags), np.uint8)
                pair.append(np.asarray(cv2.boxFilter(_difference(warped, reference), -1, window), dtype=np.uint8))
            result[k] = cv2.resize(_two_best(pair), (size[0] // 2, size[1] // 2), interpolation=cv2.INTER_AREA)
        result[0] += self.config.below_cost
        return result

    def neighbours(self, poses: Array, index: int) -> list[int]:
        """The views that a view is best compared with: not too near, not too far, turned alike, on different sides.

        Args:
            poses: N x 3 poses of all views.
            index: Of the reference among them.
        """
        relative = between(poses[index], poses)
        distance = np.hypot(relative[:, 0], relative[:, 1]) / (self.config.baseline * self._mount.height_m)
        worth = np.exp(-0.5 * np.log(np.maximum(distance, 1e-3)) ** 2) * self._overlap(relative) ** 2
        worth[index] = 0.0
        chosen: list[int] = []
        for _ in range(min(self.config.neighbours, len(poses) - 1)):
            best = int(np.argmax(worth))
            if worth[best] < self.config.least_worth:
                break
            chosen.append(best)
            apart = np.hypot(*(relative[:, :2] - relative[best, :2]).T) / (self.config.baseline * self._mount.height_m)
            worth = worth * np.clip(0.35 + 0.65 * apart, 0, 1)
            worth[best] = 0.0
        return chosen

    def _overlap(self, relative: Array) -> Array:
        """Share of what a view shows, if it lies near the floor, that other views show too.

        Args:
            relative: N x 3 poses of the others as seen from the view.
        """
        camera, height_m = self._camera, self._mount.height_m
        columns, rows = np.meshgrid(np.linspace(0.05, 0.95, 7), np.linspace(0.2, 0.95, 6))
        pixels = np.stack([columns.ravel() * camera.width, rows.ravel() * camera.height], axis=1)
        level = 0.2 * height_m
        points = self._mount.floor_points(pixels, camera) * (1 - level / height_m)
        points = points[np.nan_to_num(np.hypot(points[:, 0], points[:, 1]), nan=np.inf) < 3 * height_m]
        if not len(points):
            return np.zeros(len(relative))
        cos, sin = np.cos(relative[:, 2:]), np.sin(relative[:, 2:])
        dx, dy = points[:, 0] - relative[:, :1], points[:, 1] - relative[:, 1:2]
        base = np.stack([cos * dx + sin * dy, -sin * dx + cos * dy, np.full_like(dx, level)], axis=-1)
        seen = self._mount.points_in_camera(base.reshape(-1, 3))
        u, v = camera.pixels(seen).T
        inside = (seen[:, 2] > 0.05) & (u >= 0) & (u < camera.width) & (v >= 0) & (v < camera.height)
        return np.asarray(inside.reshape(len(relative), -1).mean(axis=1))

    def heights(self, costs: Sequence[Costs], images: Sequence[Image]) -> list[Heights]:
        """The heights of several views; together is quicker than one by one.

        Args:
            costs: From :meth:`costs`.
            images: Their pictures, RGB at any size.
        """
        step = self.heights_m[1] - self.heights_m[0]
        size = (self._small.width, self._small.height)
        small = [np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8) for image in images]
        ease = [_edges(image, self.config.edge) for image in small]
        jumps = tuple(
            np.stack([self.config.jump_cost * each[axis] for each in ease]).astype(np.int16) for axis in (0, 1)
        )
        smooth = semi_global(np.stack(costs), self.config.step_cost, (jumps[0], jumps[1]))
        result = []
        for raw, total, colour in zip(costs, smooth, small, strict=True):
            best, offset = _minimum(total)
            certainty = _certainty(raw, best)
            height = (self.heights_m[0] + (best + offset) * step).astype(np.float32)
            result.append(Heights(height, certainty, colour, self._small))
        return result

    def _homographies(self, relative: Array) -> list[Array]:
        """For every height the 3 x 3 matrix from pixels of the reference to pixels of a neighbour.

        Args:
            relative: Pose of the neighbour as seen from the reference.
        """
        cos, sin = np.cos(relative[2]), np.sin(relative[2])
        turn = np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
        mount = self._mount.rotation_base_from_camera
        rotation = mount.T @ turn @ mount
        shift = -mount.T @ turn @ np.array([relative[0], relative[1], 0.0])
        down = -mount[2]  # the floor's normal, seen from the camera
        matrix = self._camera.matrix
        inverse = np.linalg.inv(matrix)
        return [
            matrix @ (rotation + np.outer(shift, down) / (self._mount.height_m - z)) @ inverse for z in self.heights_m
        ]


def _difference(warped: Image, reference: Image) -> Image:
    """Weighted sum of the channels' differences, each limited; 255 where the neighbour sees nothing."""
    *parts, unseen = cv2.split(cv2.absdiff(warped, reference))
    total = unseen
    for part, most in zip(parts, _CAPS, strict=True):
        total = cv2.add(total, cv2.threshold(part, most, 0, cv2.THRESH_TRUNC)[1])
    return np.asarray(total, np.uint8)


def _two_best(costs: Sequence[Image]) -> Image:
    """Mean of the two smallest costs, so that what half of the neighbours do not see costs nothing.

    Where one neighbour alone sees a point its cost counts, and where none does a neutral one.
    """
    least, second = costs[0], np.full_like(costs[0], _OUTSIDE)
    for cost in costs[1:]:
        second = np.minimum(second, np.maximum(least, cost))
        least = np.minimum(least, cost)
    both = np.asarray(cv2.addWeighted(least, 0.5, second, 0.5, 0), dtype=np.uint8)
    result = np.where(second < _SEEN, both, least)
    result[least >= _SEEN] = _NEUTRAL
    return result


def _edges(image: Image, scale: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How little a picture changes from a pixel to the next one down, and to the right: 1 not at all, to 0.15.

    Args:
        image: h x w x 3, RGB.
        scale: Change (in the CIELAB steps of 8 bits) at which it is 1/e.
    """
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB).astype(np.float32)
    down, right = np.ones(lab.shape[:2], np.float32), np.ones(lab.shape[:2], np.float32)
    down[1:] = np.exp(-np.abs(lab[1:] - lab[:-1]).sum(axis=2) / scale)
    right[:, 1:] = np.exp(-np.abs(lab[:, 1:] - lab[:, :-1]).sum(axis=2) / scale)
    return np.maximum(down, 0.15), np.maximum(right, 0.15)


def semi_global(costs: Costs, step_cost: int, jump_costs: tuple[Costs, Costs]) -> Costs:
    """Costs summed along four directions through the picture.

    Args:
        costs: views x labels x h x w.
        step_cost: For a change by one label.
        jump_costs: For any change between a pixel and the one above it, and between it and the one left of it; each
            views x h x w.

    Returns:
        Array like ``costs``.
    """
    total = np.zeros_like(costs)
    for axis, jumps in zip((2, 3), jump_costs, strict=True):
        line_first = np.ascontiguousarray(np.moveaxis(costs, axis, 0))  # lines x views x labels x pixels
        jump_first = np.ascontiguousarray(np.moveaxis(jumps[:, None], axis, 0))
        summed = np.zeros_like(line_first)
        last = len(line_first) - 1
        for order, ahead in ((range(last + 1), 0), (range(last, -1, -1), 1)):
            before: Costs | None = None
            for line in order:
                if before is None:
                    here = line_first[line].copy()
                else:
                    here = _passed_on(before, step_cost, jump_first[line + ahead])
                    here += line_first[line]
                summed[line] += here
                before = here
        total += np.moveaxis(summed, 0, axis)
    return total


def _passed_on(before: Costs, step_cost: int, jump_cost: Costs) -> Costs:
    least = before.min(axis=1, keepdims=True)
    result = np.minimum(before, least + jump_cost)
    stepped = before + np.int16(step_cost)
    np.minimum(result[:, 1:], stepped[:, :-1], out=result[:, 1:])
    np.minimum(result[:, :-1], stepped[:, 1:], out=result[:, :-1])
    return np.asarray(np.subtract(result, least, out=result))


def _minimum(costs: Costs) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Label of the least cost, and where between its neighbours a parabola has its least value (-0.5 to 0.5)."""
    best = np.argmin(costs, axis=0)
    inner = np.clip(best, 1, len(costs) - 2)[None]
    low, middle, high = (np.take_along_axis(costs, inner + d, 0)[0].astype(np.float32) for d in (-1, 0, 1))
    bend = low - 2 * middle + high
    offset = np.where(bend > 0, (low - high) / (2 * np.maximum(bend, 1e-3)), 0.0)
    return best, np.where(inner[0] == best, np.clip(offset, -0.5, 0.5), 0.0).astype(np.float32)


def _certainty(raw: Costs, best: NDArray[np.int64]) -> NDArray[np.float32]:
    """How much worse the labels further away fit than the best one, in the costs before smoothing."""
    labels = np.arange(len(raw))[:, None, None]
    far = (np.abs(labels - best) > 1) & (raw != _NEUTRAL)
    near = [np.take_along_axis(raw, np.clip(best + d, 0, len(raw) - 1)[None], 0)[0] for d in (-1, 0, 1)]
    here = np.minimum.reduce(near).astype(np.float32)
    count = far.sum(axis=0)
    others = np.where(far, raw, 0).sum(axis=0) / np.maximum(count, 1)
    certainty = np.clip((others - here - 2.0) / (here + 12.0), 0, 1)
    unseen = (count < 0.4 * len(raw)) | (near[1] == _NEUTRAL)
    return np.asarray(np.where(unseen, 0, np.sqrt(certainty)), dtype=np.float32)
