"""The truth of a place, read from ``gt/`` without the code that wrote it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import SceneError
from gst_ros.scenes.reading import MAKE_AGAIN, Table, read_json
from gst_ros.scenes.shapes import LARGEST, Shape, each, either, flag, number, record, table, text, whole

Array = NDArray[np.float64]

SHORTEST_QUATERNION = 1e-3

# What the files hold, as far as anything reads it. A field that is not listed here but asked for later is missed with
# the name of its file all the same.
_LENGTH = number(0.0, 1e5)
_POINT = each(number(-1e5, 1e5), count=2)
_POINT_3D = each(number(-1e5, 1e5), count=3)
_ANGLE = number(-1e4, 1e4)
_PIXELS = whole(1, 1 << 15)
_FRAME = whole(-1, 1 << 24)
_OPENING = {"kind": text, "start_m": number(-1e5, 1e5), "width_m": _LENGTH}
_ROOM = {"id": text, "outline": each(_POINT, least=3), "ceiling_m": _LENGTH}
_WALL = {"id": text, "start": _POINT, "end": _POINT, "thickness_m": _LENGTH, "openings": each(record(_OPENING))}
_OBJECT = {
    "id": text,
    "label": text,
    "position_m": _POINT_3D,
    "yaw_deg": _ANGLE,
    "size_m": each(_LENGTH, count=3),
    "mount": text,
    "blocks": flag,
}
SCENE = record(
    {
        "kind": text,
        "rooms": each(record(_ROOM), least=1),
        "walls": each(record(_WALL)),
        "objects": each(record(_OBJECT)),
    }
)
INSTANCES = each(
    record(
        {
            "id": text,
            "best_video": text,
            "best_frame": _FRAME,
            "largest_box": each(whole(0, 1 << 15), count=4),
            "visible_frames": table(each(each(_FRAME, count=2))),
        }
    )
)
VIEWS = table(
    record(
        {
            "file": text,
            "position_m": _POINT_3D,
            **dict.fromkeys(("yaw_deg", "pitch_deg", "roll_deg"), _ANGLE),
            "f_px": number(1.0, 1e6),
        }
    )
)
PLANS = table(
    record(
        {
            **dict.fromkeys(("width", "height"), _PIXELS),
            "m_per_px": number(1e-6, 1e3),
            **dict.fromkeys(("left_m", "top_m"), number(-1e5, 1e5)),
        }
    )
)
QUESTIONS = each(
    record(
        {
            **dict.fromkeys(("task", "uid", "scene"), text),
            "answer": either(number(), text),
            "texts": each(text, least=1),
            "images": each(record({"copied_path": text})),
        },
        {"copied_video_path": text, "setting": text},
    )
)
_OPTION = record({}, {"path": text, "place": text, "edits": each(text)})
ANSWERS = table(
    record(
        {"task": text},
        {
            **dict.fromkeys(("target", "view", "plan", "video"), text),
            "frames": each(_FRAME, count=2),
            "options": each(_OPTION),
        },
    )
)
_INTRINSICS = {
    **dict.fromkeys(("width", "height"), _PIXELS),
    **dict.fromkeys(("fx", "fy"), number(1.0, 1e6)),
    **dict.fromkeys(("cx", "cy"), number(-1e5, 1e5)),
    "height_m": _LENGTH,
    "pitch_deg": _ANGLE,
}
CAMERA = record({**_INTRINSICS, "query_view": record(_INTRINSICS)})
SETTINGS = record(
    {},
    {
        **dict.fromkeys(("count", "videos"), whole(1)),
        **dict.fromkeys(("split", "camera"), text),
        "kinds": each(text),
        "sensor_effects": flag,
    },
)


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
        found: dict[str, Any] = self._read("gt/scene.json", SCENE)
        return found

    @cached_property
    def objects(self) -> dict[str, dict[str, Any]]:
        """Objects of the scene by id."""
        found = {thing["id"]: thing for thing in self.scene["objects"]}
        return Table(found, self.root / "gt" / "scene.json", "objects")

    @cached_property
    def facts(self) -> dict[str, dict[str, Any]]:
        """What videos show of each object, by id."""
        name = "gt/instances.json"
        found = {entry["id"]: entry for entry in self._read(name, INSTANCES)}
        return Table(found, self.root / name)

    @cached_property
    def views(self) -> dict[str, dict[str, Any]]:
        """Query views by the path of their file."""
        name = "gt/views.json"
        found = {view["file"]: view for view in self._read(name, VIEWS).values()}
        return Table(found, self.root / name)

    @cached_property
    def plans(self) -> dict[str, dict[str, Any]]:
        """Where top-down images lie, by file name."""
        found: dict[str, dict[str, Any]] = self._read("gt/plan.json", PLANS)
        return found

    @cached_property
    def questions(self) -> list[dict[str, Any]]:
        """The records of ``questions.json``."""
        found: list[dict[str, Any]] = self._read("questions.json", QUESTIONS)
        return found

    @cached_property
    def answers(self) -> dict[str, dict[str, Any]]:
        """The truth behind the questions, by uid."""
        found: dict[str, dict[str, Any]] = self._read("gt/questions.json", ANSWERS)
        return found

    def _read(self, name: str, shape: Shape) -> Any:
        return read_json(self.root / name, shape)

    @cached_property
    def videos(self) -> list[str]:
        """Names of the exploration videos."""
        return sorted(
            path.name[len("trajectory_") : -len(".tum")] for path in (self.root / "gt").glob("trajectory_*.tum")
        )

    def poses(self, video: str) -> list[Pose]:
        """The camera's poses in a video, one a frame."""
        if video not in self._poses:
            self._poses[video] = _read_poses(self.root / "gt" / f"trajectory_{video}.tum")
        return self._poses[video]

    @cached_property
    def _poses(self) -> dict[str, list[Pose]]:
        return {}

    def view_pose(self, view: Mapping[str, Any]) -> Pose:
        """The pose of a query view."""
        angles = (view[name] for name in ("yaw_deg", "pitch_deg", "roll_deg"))
        return Pose(np.array(view["position_m"], np.float64), rotation(*angles))

    @cached_property
    def camera(self) -> dict[str, Any]:
        """``camera.json``."""
        found: dict[str, Any] = self._read("camera.json", CAMERA)
        return found

    @property
    def video_camera(self) -> Pinhole:
        """The camera of the videos."""
        return _pinhole(self.camera)

    @property
    def view_camera(self) -> Pinhole:
        """The camera of the query views."""
        return _pinhole(self.camera["query_view"])


def read_settings(folder: Path) -> dict[str, Any] | None:
    """``set.json`` of a set, or of the set that a place is part of; None when there is none.

    Args:
        folder: The set's folder, or a place's.

    Raises:
        SceneError: It is damaged.
    """
    file = next((f for f in (folder / "set.json", folder.parent / "set.json") if f.is_file()), None)
    found: dict[str, Any] | None = None if file is None else read_json(file, SETTINGS)
    return found


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


def _read_poses(file: Path) -> list[Pose]:
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "is no UTF-8 text"
        raise SceneError(f"cannot be read: {reason}", file=file, remedy=MAKE_AGAIN) from error
    poses = []
    for k, line in enumerate(lines, start=1):
        if not line or line[0] == "#":
            continue
        try:
            poses.append(_tum_pose([float(word) for word in line.split()]))
        except ValueError as error:
            raise SceneError(str(error), file=file, field=f"line {k}", remedy=MAKE_AGAIN) from error
    if not poses:
        raise SceneError("holds no pose", file=file, remedy=MAKE_AGAIN)
    return poses


def _tum_pose(row: list[float]) -> Pose:
    if len(row) != 8:
        raise ValueError(f"expected 8 numbers in a line, found {len(row)}")
    if not all(abs(value) <= LARGEST for value in row):
        raise ValueError("a number is out of range")
    length = np.linalg.norm(row[4:8])
    if length < SHORTEST_QUATERNION:
        raise ValueError("the quaternion is zero")
    x, y, z, w = np.array(row[4:8]) / length
    vector, cross = np.array([x, y, z]), np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    # Rodrigues' formula for a unit quaternion.
    matrix = (w * w - vector @ vector) * np.eye(3) + 2 * np.outer(vector, vector) + 2 * w * cross
    return Pose(np.array(row[1:4]), matrix)


def _pinhole(values: dict[str, Any]) -> Pinhole:
    return Pinhole(
        int(values["width"]), int(values["height"]), float(values["fx"]), float(values["cx"]), float(values["cy"])
    )
