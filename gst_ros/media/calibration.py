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
            MediaError: The angle is not between 0 and 180 degrees.
        """
        if not 0 < fov_deg < 180:
            raise MediaError(f"{fov_deg} degrees is no horizontal field of view", remedy="between 0 and 180")
        focal = width / 2 / math.tan(math.radians(fov_deg) / 2)
        return cls(width, height, focal, focal, (width - 1) / 2, (height - 1) / 2)

    def scaled_to(self, width: int, height: int) -> Calibration:
        """The same camera with its pictures scaled to another size (pixel edges, not centres, are kept)."""
        if (width, height) == (self.width, self.height):
            return self
        x, y = width / self.width, height / self.height
        cx, cy = (self.cx + 0.5) * x - 0.5, (self.cy + 0.5) * y - 0.5
        return Calibration(width, height, self.fx * x, self.fy * y, cx, cy, self.distortion_model, self.distortion)


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
        text = file.read_text(encoding="utf-8-sig")
        document = json.loads(text) if file.suffix.lower() == ".json" else parse_yaml(text)
    except ConfigError as error:
        raise MediaError(f"cannot be read as a calibration: {error.problem}", file=file) from error
    except (OSError, ValueError, RecursionError) as error:
        raise MediaError(f"cannot be read as a calibration: {error}", file=file) from error
    if not isinstance(document, Mapping):
        raise MediaError("a calibration must be a mapping of names to values", file=file)
    values = {str(key): value for key, value in document.items()}
    return values


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
    values = read_document(file)
    for inner in ("camera", "intrinsics"):
        if isinstance(values.get(inner), Mapping):
            values = {**values, **values[inner]}
    width = _size(values, ("width", "image_width"), file)
    height = _size(values, ("height", "image_height"), file)
    lens = _lens(values, file)
    fov = values.get("horizontal_fov_deg")
    if fov is not None and "fx" not in values:
        ideal = Calibration.from_horizontal_fov(width, height, _number(fov, "horizontal_fov_deg", file))
        fx, fy, cx, cy = ideal.fx, ideal.fy, ideal.cx, ideal.cy
    else:
        fx, fy, cx, cy = _pinhole(values, width, height, file)
    if fx <= 0 or fy <= 0:
        raise MediaError("a focal length must be positive", file=file, field="fx" if fx <= 0 else "fy")
    return Calibration(width, height, fx, fy, cx, cy, *lens)


def _pinhole(values: Mapping[str, Any], width: int, height: int, file: Path) -> tuple[float, float, float, float]:
    for name in ("K", "k", "camera_matrix"):
        if name in values:
            matrix = _numbers(values[name], name, file)
            if len(matrix) != 9:
                raise MediaError(f"expected 9 numbers, got {len(matrix)}", file=file, field=name)
            return matrix[0], matrix[4], matrix[2], matrix[5]
    if "fx" not in values:
        raise MediaError("missing", file=file, field="fx", remedy="give fx (pixels), K or horizontal_fov_deg")
    fx = _number(values["fx"], "fx", file)
    defaults = {"fy": fx, "cx": (width - 1) / 2, "cy": (height - 1) / 2}
    fy, cx, cy = (_number(values.get(name, default), name, file) for name, default in defaults.items())
    return fx, fy, cx, cy


def _lens(values: Mapping[str, Any], file: Path) -> tuple[str, tuple[float, ...]]:
    model = values.get("distortion_model") or "plumb_bob"
    if model not in _COEFFICIENTS:
        known = ", ".join(_COEFFICIENTS)
        raise MediaError(
            f"'{model}' is not a lens model", file=file, field="distortion_model", remedy=f"known: {known}"
        )
    name = next((n for n in ("distortion_coefficients", "distortion", "D", "d") if values.get(n) is not None), None)
    given = [] if name is None else _numbers(values[name], name, file)
    count = _COEFFICIENTS[model]
    if len(given) > count:
        raise MediaError(f"{model} has {count} coefficients, got {len(given)}", file=file, field=name)
    return model, tuple(given + [0.0] * (count - len(given)))


def _size(values: Mapping[str, Any], names: tuple[str, ...], file: Path) -> int:
    name = next((n for n in names if n in values), None)
    if name is None:
        raise MediaError("missing", file=file, field=names[0], remedy="give the size in pixels that fx belongs to")
    size = _number(values[name], name, file)
    if size < 1 or size != int(size):
        raise MediaError(f"{values[name]!r} is not a number of pixels", file=file, field=name)
    return int(size)


def _numbers(value: Any, name: str, file: Path) -> list[float]:
    if isinstance(value, Mapping):
        value = value.get("data")
    if not isinstance(value, list):
        raise MediaError("expected a list of numbers", file=file, field=name)
    flat = [item for row in value for item in (row if isinstance(row, list) else [row])]
    return [_number(item, name, file) for item in flat]


def _number(value: Any, name: str, file: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise MediaError(f"{value!r} is not a number", file=file, field=name)
    return float(value)
