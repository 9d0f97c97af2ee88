"""A camera's intrinsics: from numbers, from a field of view, or from a file beside the clip."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gst_ros.errors import ConfigError, MediaError
from gst_ros.yaml_files import parse_yaml

CALIBRATION_FILE = "camera.json"
MOST_PIXELS = 100_000
"""Longest side of a picture that a calibration can be of."""
FOCAL_SHARES = (0.01, 100.0)
"""Bounds of a focal length, in widths of the picture: fields of view of 178 and of half a degree."""
_FOV_DEG = (1.0, 177.0)
_FOCAL_RATIO = 5.0  # of fx and fy, either way
_CENTRE_SIDES = 10.0  # how many widths or heights beside the picture its principal point may lie (parts of pictures)
_MOST_DISTORTION = 1e4
_MOST_BYTES = 1 << 20
_SHOWN_LETTERS = 40
_COEFFICIENTS = {"plumb_bob": 5, "rational_polynomial": 8, "equidistant": 4}


@dataclass(frozen=True)
class Calibration:
    """Pinhole intrinsics of pictures of one size.

    Attributes:
        width: Pixels of the pictures that the numbers are for.
        height: The same.
        fx: Focal length in pixels, along x (right).
        fy: The same along y (down).
        cx: Principal point in pixels; the centre of the first pixel is (0, 0).
        cy: The same along y.
        distortion_model: ROS name of the lens model.
        distortion: Its coefficients, in the order of sensor_msgs/CameraInfo.
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float
    distortion_model: str = "plumb_bob"
    distortion: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0)

    @classmethod
    def from_horizontal_fov(cls, width: int, height: int, fov_deg: float) -> Calibration:
        """An ideal camera with square pixels and its principal point in the middle.

        Args:
            width: Pixels.
            height: Pixels.
            fov_deg: Horizontal field of view, edge to edge.

        Raises:
            MediaError: The angle is not between 1 and 177 degrees.
        """
        low, high = _FOV_DEG
        if not low <= fov_deg <= high:
            raise MediaError(
                f"{fov_deg:g} degrees is no horizontal field of view", remedy=f"allowed: {low:g} to {high:g}"
            )
        focal = width / 2 / math.tan(math.radians(fov_deg) / 2)
        return cls(width, height, focal, focal, (width - 1) / 2, (height - 1) / 2)

    def scaled_to(self, width: int, height: int) -> Calibration:
        """The same camera with its pictures scaled to another size (pixel edges, not centres, are kept)."""
        if (width, height) == (self.width, self.height):
            return self
        x, y = width / self.width, height / self.height
        cx, cy = (self.cx + 0.5) * x - 0.5, (self.cy + 0.5) * y - 0.5
        return Calibration(width, height, self.fx * x, self.fy * y, cx, cy, self.distortion_model, self.distortion)

    def check(self, file: Path | None = None) -> None:
        """Refuse numbers that no camera has, wherever they come from: a file, settings or a topic.

        Args:
            file: What they were read from, for the error text.

        Raises:
            MediaError: It names the field and what is allowed.
        """
        for name, side in (("width", self.width), ("height", self.height)):
            number_in(side, name, file, 1, MOST_PIXELS)
        low, high = FOCAL_SHARES
        for name, focal in (("fx", self.fx), ("fy", self.fy)):
            if focal <= 0:
                raise MediaError("a focal length must be positive", file=file, field=name)
            number_in(focal, name, file, low * self.width, high * self.width)
        number_in(self.fy, "fy", file, self.fx / _FOCAL_RATIO, self.fx * _FOCAL_RATIO)
        for name, centre, side in (("cx", self.cx, self.width), ("cy", self.cy, self.height)):
            number_in(centre, name, file, -_CENTRE_SIDES * side, (1 + _CENTRE_SIDES) * side)
        _check_model(self.distortion_model, file)
        count = len(self.distortion)
        if count not in ((0, 4) if self.distortion_model == "equidistant" else (0, 4, 5, 8, 12, 14)):
            problem = f"{self.distortion_model} has no {count} coefficients"
            raise MediaError(problem, file=file, field="distortion")
        for coefficient in self.distortion:
            number_in(coefficient, "distortion", file, -_MOST_DISTORTION, _MOST_DISTORTION)


def find_calibration(clip: Path) -> Path | None:
    """The calibration beside a clip: ``<name>.camera.json``, ``camera.json``, or in a folder of images.

    Parts and marked copies of a video lie in folders of their own beside it, so the folder above is looked into too.

    Args:
        clip: The video file or folder of images.
    """
    if clip.is_dir():
        places = [clip / CALIBRATION_FILE]
    else:
        above = clip.absolute().parent.parent / CALIBRATION_FILE
        places = [clip.with_suffix(".camera.json"), clip.with_name(CALIBRATION_FILE), above]
    return next((place for place in places if place.is_file()), None)


def read_document(file: Path) -> dict[str, Any]:
    """All that a calibration file holds, names to values, not checked further.

    Args:
        file: JSON, or YAML.

    Raises:
        MediaError: It cannot be read, or is no mapping.
    """
    try:
        with file.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise MediaError("too large for a calibration", file=file, remedy="check the path")
        text = data.decode("utf-8-sig")
        document = json.loads(text) if file.suffix.lower() == ".json" else parse_yaml(text)
    except ConfigError as error:
        raise MediaError(f"cannot be read as a calibration: {error.problem}", file=file) from error
    except (OSError, ValueError, RecursionError) as error:
        raise MediaError(f"cannot be read as a calibration: {error}", file=file) from error
    if not isinstance(document, Mapping):
        raise MediaError("a calibration must be a mapping of names to values", file=file)
    return {str(key): value for key, value in document.items()}


def read_calibration(file: Path) -> Calibration:
    """Read intrinsics from JSON or YAML.

    Understood are ``width height fx fy cx cy`` (also inside ``intrinsics`` or ``camera``), a 3x3 matrix
    ``K`` or ``camera_matrix`` (nested, flat, or with ``data``), ``horizontal_fov_deg``, and ROS calibration
    files (``image_width``, ``camera_matrix.data``, ``distortion_model``, ``distortion_coefficients.data``).

    Args:
        file: The file.

    Raises:
        MediaError: It cannot be read, a number is missing or no number, or the lens model is unknown.
    """
    return parse_calibration(read_document(file), file)


def parse_calibration(values: Mapping[str, Any], file: Path) -> Calibration:
    """:func:`read_calibration` of what a file, or a part of one, was found to hold.

    Args:
        values: Names to values, not checked.
        file: The file, for error texts.

    Raises:
        MediaError: As there.
    """
    for inner in ("camera", "intrinsics"):
        if isinstance(values.get(inner), Mapping):
            values = {**values, **values[inner]}
    width = _size(values, ("width", "image_width"), file)
    height = _size(values, ("height", "image_height"), file)
    lens = _lens(values, file)
    fov = values.get("horizontal_fov_deg")
    if fov is not None and "fx" not in values:
        fov_deg = number_in(fov, "horizontal_fov_deg", file, *_FOV_DEG)
        ideal = Calibration.from_horizontal_fov(width, height, fov_deg)
        fx, fy, cx, cy = ideal.fx, ideal.fy, ideal.cx, ideal.cy
    else:
        fx, fy, cx, cy = _pinhole(values, width, height, file)
    calibration = Calibration(width, height, fx, fy, cx, cy, *lens)
    calibration.check(file)
    return calibration


def number_in(
    value: Any, field: str, file: Path | None = None, low: float = -math.inf, high: float = math.inf
) -> float:
    """A number of a file, checked.

    Args:
        value: What the file has there.
        field: Its name.
        file: The file.
        low: Smallest allowed number, inclusive.
        high: Largest allowed number, inclusive.

    Raises:
        MediaError: It is no finite number, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MediaError(f"{_shown(value)} is not a number", file=file, field=field)
    try:
        number = float(value)
    except OverflowError:  # whole numbers have no limit
        raise MediaError("the number is too large", file=file, field=field) from None
    if not math.isfinite(number):
        raise MediaError(f"{value!r} is not a number", file=file, field=field)
    if not low <= number <= high:
        bounds = [f"{word} {bound:g}" for word, bound in (("from", low), ("up to", high)) if math.isfinite(bound)]
        remedy = f"allowed: {' '.join(bounds)}" if bounds else None
        raise MediaError(f"{number:g} is out of range", file=file, field=field, remedy=remedy)
    return number


def _shown(value: Any) -> str:
    """A wrong value for an error text, which is one short line."""
    if isinstance(value, (Mapping, list)):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    text = repr(value)
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}..."


def _pinhole(values: Mapping[str, Any], width: int, height: int, file: Path) -> tuple[float, float, float, float]:
    for name in ("K", "k", "camera_matrix"):
        if name in values:
            matrix = _numbers(values[name], name, file)
            if len(matrix) != 9:
                raise MediaError(f"expected 9 numbers, got {len(matrix)}", file=file, field=name)
            return matrix[0], matrix[4], matrix[2], matrix[5]
    if "fx" not in values:
        raise MediaError("missing", file=file, field="fx", remedy="give fx (pixels), K or horizontal_fov_deg")
    fx = number_in(values["fx"], "fx", file)
    defaults = {"fy": fx, "cx": (width - 1) / 2, "cy": (height - 1) / 2}
    fy, cx, cy = (number_in(values.get(name, default), name, file) for name, default in defaults.items())
    return fx, fy, cx, cy


def _lens(values: Mapping[str, Any], file: Path) -> tuple[str, tuple[float, ...]]:
    model = values.get("distortion_model") or "plumb_bob"
    _check_model(model, file)
    name = next((n for n in ("distortion_coefficients", "distortion", "D", "d") if values.get(n) is not None), None)
    given = [] if name is None else _numbers(values[name], name, file)
    count = _COEFFICIENTS[model]
    if len(given) > count:
        raise MediaError(f"{model} has {count} coefficients, got {len(given)}", file=file, field=name)
    return model, tuple(given + [0.0] * (count - len(given)))


def _check_model(model: Any, file: Path | None) -> None:
    if not isinstance(model, str) or model not in _COEFFICIENTS:
        known = ", ".join(_COEFFICIENTS)
        raise MediaError(
            f"{_shown(model)} is not a lens model", file=file, field="distortion_model", remedy=f"known: {known}"
        )


def _size(values: Mapping[str, Any], names: tuple[str, ...], file: Path) -> int:
    name = next((n for n in names if n in values), None)
    if name is None:
        raise MediaError("missing", file=file, field=names[0], remedy="give the size in pixels that fx belongs to")
    size = number_in(values[name], name, file, high=MOST_PIXELS)
    if size < 1 or size != int(size):
        raise MediaError(f"{values[name]!r} is not a number of pixels", file=file, field=name)
    return int(size)


def _numbers(value: Any, name: str, file: Path) -> list[float]:
    if isinstance(value, Mapping):
        value = value.get("data")
    if not isinstance(value, list):
        raise MediaError("expected a list of numbers", file=file, field=name)
    flat = [item for row in value for item in (row if isinstance(row, list) else [row])]
    return [number_in(item, name, file) for item in flat]
