"""Top-down images as the map is compared with them: black and white plans, and coloured renders."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import MapError

Field = NDArray[np.float32]

BINARY, COLOURED = "binary", "coloured"
_LEAST_EXTREME = 0.9
"""Share of pixels near black or white from which on an image is a plan in black and white."""
_EXTREME = 60
_SATURATED = 50


@dataclass(frozen=True)
class PlanImage:
    """A top-down image.

    Attributes:
        kind: ``binary`` (white is free floor, black an obstacle or outside) or ``coloured`` (a render).
        free: H x W, 0 to 1: free floor; of a render, what belongs to the place.
        furnished: Whether it shows what stands in the rooms, and not the walls alone.
        colour: H x W x 3 of a render: CIELAB colours with mean 0 and variance 1 inside the place, 0 outside it.
    """

    kind: str
    free: Field
    colour: Field
    furnished: bool = True

    def shrunk(self, factor: int) -> PlanImage:
        """The image at a whole fraction of its size; what is left over at the right and lower edges is cut off."""
        if factor == 1:
            return self
        size = (self.width // factor, self.height // factor)

        def small(field: Field) -> Field:
            part = field[: size[1] * factor, : size[0] * factor]
            return np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_AREA), dtype=np.float32)

        colour = small(self.colour) if self.colour.size else self.colour
        return PlanImage(self.kind, small(self.free), colour, self.furnished)

    @property
    def width(self) -> int:
        """Pixels."""
        return int(self.free.shape[1])

    @property
    def height(self) -> int:
        """Pixels."""
        return int(self.free.shape[0])


def read_plan(image: NDArray[np.uint8]) -> PlanImage:
    """Find out what kind of top-down image this is, and what it says.

    Paths drawn in colour on a plan count as free floor: they are drawn where somebody walked.

    Args:
        image: H x W or H x W x 3, RGB.

    Raises:
        MapError: It is no image, or shows nothing.
    """
    if image.ndim == 2:
        image = np.repeat(image[:, :, None], 3, axis=2)
    if image.ndim != 3 or image.shape[2] != 3 or min(image.shape[:2]) < 16:
        raise MapError(f"an array of shape {image.shape} is no top-down image")
    high, low = image.max(axis=2), image.min(axis=2)
    saturated = high.astype(np.int16) - low > _SATURATED
    extreme = (low > 255 - _EXTREME) | (high < _EXTREME)
    plain = ~saturated
    if plain.any() and extreme[plain].mean() >= _LEAST_EXTREME and saturated.mean() < 0.1 and not _is_render(image):
        free = np.where(saturated, 255, image.mean(axis=2)) > 127
        if free.all() or not free.any():
            tone = "white" if free.all() else "black"
            raise MapError(f"the plan shows nothing: it is {tone} all over", remedy="white must be free floor")
        return PlanImage(BINARY, free.astype(np.float32), np.zeros((0, 0, 3), np.float32), _islands(free) > 0)
    inside = _inside(image)
    if not inside.any():
        raise MapError("the top-down image shows nothing but its background")
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB).astype(np.float32)
    colour = standardised(lab, inside.astype(np.float32))
    return PlanImage(COLOURED, inside.astype(np.float32), colour)


def standardised(lab: Field, weight: Field) -> Field:
    """Colours with mean 0 and a common variance of 1, 0 where there is no weight.

    Lightness and tint are scaled apart, so that an exposure does not drown the tints; the two tints together, so that
    a tint that hardly varies stays small.

    Args:
        lab: H x W x 3, CIELAB.
        weight: H x W.
    """
    total = max(float(weight.sum()), 1e-6)
    mean = (lab * weight[:, :, None]).sum(axis=(0, 1)) / total
    centred = (lab - mean) * (weight[:, :, None] > 0)
    variance = (centred**2 * weight[:, :, None]).sum(axis=(0, 1)) / total
    scale = np.array([variance[0], variance[1:].sum(), variance[1:].sum()])
    return np.asarray(np.clip(centred / np.sqrt(scale + 4.0), -3, 3), dtype=np.float32)


def _islands(free: NDArray[np.bool_]) -> int:
    """How many black things stand free in the white: furniture, but no lines such as walls and the leaves of doors."""
    # What is as thin as a line goes away, unless it is large.
    thick = max(round(max(free.shape) / 100), 3)
    solid = cv2.morphologyEx((~free).astype(np.uint8), cv2.MORPH_OPEN, np.ones((thick, thick), np.uint8))
    padded = np.pad(solid, 1, constant_values=1)
    count, labels = cv2.connectedComponents(padded, connectivity=8)
    return int(count - 1 - len(np.setdiff1d(np.unique(np.concatenate([labels[0], labels[-1]])), [0])))


def _is_render(image: NDArray[np.uint8]) -> bool:
    """Whether the bright border is a render's background: in a plan, what lies outside is black."""
    border = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]]).min(axis=1)
    tints = image.max(axis=2).astype(np.int16) - image.min(axis=2)
    return bool((border > 240).mean() > 0.5 and (tints > 12).mean() > 0.02)


def _inside(image: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """What is no background: background is white or black and hangs together with the image's border."""
    result = np.ones(image.shape[:2], bool)
    for plain in ((image > 245).all(axis=2), (image < 10).all(axis=2)):
        padded = np.pad(plain, 1, constant_values=True)
        _, labels = cv2.connectedComponents(padded.astype(np.uint8), connectivity=4)
        outside = (labels == labels[0, 0])[1:-1, 1:-1]
        if outside.mean() > 0.02:
            result &= ~outside
    mask = cv2.morphologyEx(result.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    return np.asarray(mask > 0)
