"""The truth of a place, read from ``gt/`` without the code that wrote it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import SceneError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pose:
    """A camera's pose in ``map``.

    Attributes:
        position_m: 3 numbers.
        map_from_camera: 3 x 3 rotation: columns are the camera's right, down and forward.
    """

    position_m: Array
    map_from_camera: Array


@dataclass(frozen=True)
class Pinhole:
    """A camera: width and height in pixels, focal length, and principal point."""

    width: int
    height: int
    f_px: float
    cx: float
    cy: float


@dataclass(frozen=True)
class PlaceTruth:
    """One place of a set.

    Attributes:
        root: Its folder.
    """

    root: Path

    @property
    def name(self) -> str:
        """Name of the place."""
        return self.root.name

    @cached_property
    def scene(self) -> dict[str, Any]:
        """``gt/scene.json``."""
        return _mapping(self.root / "gt" / "scene.json")

    @cached_property
    def objects(self) -> dict[str, dict[str, Any]]:
        """Objects of the scene by id."""
        return {thing["id"]: thing for thing in self.scene["objects"]}

    @cached_property
    def facts(self) -> dict[str, dict[str, Any]]:
        """What videos show of each object, by id."""
        found = _read(self.root / "gt" / "instances.json")
        return {entry["id"]: entry for entry in found}

    @cached_property
    def views(self) -> dict[str, dict[str, Any]]:
        """Query views by the path of their file."""
        return {view["file"]: view for view in _mapping(self.root / "gt" / "views.json").values()}

    @cached_property
    def plans(self) -> dict[str, dict[str, Any]]:
        """Where top-down images lie, by file name."""
        return _mapping(self.root / "gt" / "plan.json")

    @cached_property
    def questions(self) -> list[dict[str, Any]]:
        """The records of ``questions.json``."""
        found = _read(self.root / "questions.json")
        if not isinstance(found, list):
            raise SceneError("is not a list of questions", file=self.root / "questions.json")
        return found

    @cached_property
    def answers(self) -> dict[str, dict[str, Any]]:
        """The truth behind the questions, by uid."""
        return _mapping(self.root / "gt" / "questions.json")

    @cached_property
    def videos(self) -> list[str]:
        """Names of the exploration videos."""
        return sorted(
            path.name[len("trajectory_") : -len(".tum")] for path in (self.root / "gt").glob("trajectory_*.tum")
        )

    def poses(self, video: str) -> list[Pose]:
        """The camera's poses in a video, one a frame."""
        if video not in self._poses:
            self._poses[video] = self._read_poses(video)
        return self._poses[video]

    @cached_property
    def _poses(self) -> dict[str, list[Pose]]:
        return {}

    def _read_poses(self, video: str) -> list[Pose]:
        file = self.root / "gt" / f"trajectory_{video}.tum"
        try:
            rows = [line.split() for line in file.read_text("utf-8").splitlines() if line and line[0] != "#"]
            return [_tum_pose([float(word) for word in row]) for row in rows]
        except (OSError, ValueError) as error:
            raise SceneError(f"cannot be read: {error}", file=file) from error

    def view_pose(self, view: Mapping[str, Any]) -> Pose:
        """The pose of a query view."""
        angles = (view[name] for name in ("yaw_deg", "pitch_deg", "roll_deg"))
        return Pose(np.array(view["position_m"], np.float64), rotation(*angles))

    @cached_property
    def camera(self) -> dict[str, Any]:
        """``camera.json``."""
        return _mapping(self.root / "camera.json")

    @property
    def video_camera(self) -> Pinhole:
        """The camera of the videos."""
        return _pinhole(self.camera)

    @property
    def view_camera(self) -> Pinhole:
        """The camera of the query views."""
        return _pinhole(self.camera["query_view"])


def find_places(folder: Path) -> list[PlaceTruth]:
    """The places of a set.

    Args:
        folder: The set's folder, or that of a single place.

    Raises:
        SceneError: There is none.
    """
    if (folder / "questions.json").is_file() and (folder / "gt").is_dir():
        return [PlaceTruth(folder)]
    if not folder.is_dir():
        raise SceneError("is not a folder", file=folder, remedy="give the folder that 'gst scenes make --out' wrote")
    places = [PlaceTruth(path) for path in sorted(folder.iterdir()) if path.is_dir() and path.name[0] != "."]
    found = [place for place in places if (place.root / "gt").is_dir()]
    if not found:
        remedy = "give the folder that 'gst scenes make --out' wrote"
        raise SceneError("holds no place with a gt folder", file=folder, remedy=remedy)
    return found


def rotation(yaw_deg: float, pitch_deg: float, roll_deg: float) -> Array:
    """Rotation to ``map`` from a camera: yaw to the left, then pitch down, then roll with the right side down.

    Built from elementary rotations of a body (x forward, y left, z up), unlike the renderer's.
    """
    yaw, pitch, roll = (math.radians(v) for v in (yaw_deg, pitch_deg, roll_deg))
    about_z = np.array([[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]])
    about_y = np.array([[math.cos(pitch), 0, math.sin(pitch)], [0, 1, 0], [-math.sin(pitch), 0, math.cos(pitch)]])
    about_x = np.array([[1, 0, 0], [0, math.cos(roll), -math.sin(roll)], [0, math.sin(roll), math.cos(roll)]])
    body_from_optical = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    return np.asarray(about_z @ about_y @ about_x @ body_from_optical)


def _tum_pose(row: list[float]) -> Pose:
    if len(row) != 8:
        raise ValueError(f"expected 8 numbers in a line, found {len(row)}")
    x, y, z, w = np.array(row[4:8]) / np.linalg.norm(row[4:8])
    vector, cross = np.array([x, y, z]), np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    # Rodrigues' formula for a unit quaternion.
    matrix = (w * w - vector @ vector) * np.eye(3) + 2 * np.outer(vector, vector) + 2 * w * cross
    return Pose(np.array(row[1:4]), matrix)


def _pinhole(values: dict[str, Any]) -> Pinhole:
    return Pinhole(
        int(values["width"]), int(values["height"]), float(values["fx"]), float(values["cx"]), float(values["cy"])
    )


def _mapping(file: Path) -> dict[str, Any]:
    found = _read(file)
    if not isinstance(found, dict):
        raise SceneError("is not a JSON object", file=file)
    return found


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SceneError(f"cannot be read: {error}", file=file, remedy="make the set again") from error
