"""The files of a set: where they lie, and how they are written so that the same data gives the same bytes.

    OUT/set.json               the settings that the set was made with
    OUT/<place>/video1.mp4     exploration videos; marked/video1_<object>.mp4 with a red rectangle round an object
                clips/         videos of the trajectory questions
                views/         query views
                plans/         top-down images
                camera.json    what a robot knows of its own camera
                questions.json
                gt/            the truth

Nothing outside scoring, checks and benchmarks opens ``gt/``.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gst_ros.errors import DiskError
from gst_ros.scenes.place import SceneError

Image = NDArray[np.uint8]

SET_FILE = "set.json"
JPEG_QUALITY = 92
PART = ".part"
"""What a file is called, after its own name, until it is whole."""

_WRONG_PATH = (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP)


@dataclass(frozen=True)
class PlaceFiles:
    """The folder of one place. Its properties are absolute; :meth:`relative` gives what question files hold."""

    root: Path

    @property
    def camera(self) -> Path:
        """Intrinsics, height and pitch of the camera."""
        return self.root / "camera.json"

    @property
    def questions(self) -> Path:
        """The questions, in the official record format."""
        return self.root / "questions.json"

    @property
    def scene(self) -> Path:
        """The description of the place."""
        return self.truth("scene.json")

    @property
    def instances(self) -> Path:
        """Facts of every object."""
        return self.truth("instances.json")

    @property
    def views(self) -> Path:
        """Poses of the query views."""
        return self.truth("views.json")

    @property
    def plan(self) -> Path:
        """Scale and origin of the top-down images."""
        return self.truth("plan.json")

    def video(self, name: str) -> Path:
        """An exploration video, for example of the name ``video1``."""
        return self.root / f"{name}.mp4"

    def marked(self, video: str, object_id: str) -> Path:
        """A video with a red rectangle round one object."""
        return self._below("marked", f"{video}_{object_id}.mp4")

    def clip(self, name: str) -> Path:
        """A video of a trajectory question."""
        return self._below("clips", f"{name}.mp4")

    def view(self, name: str) -> Path:
        """A query view."""
        return self._below("views", f"{name}.jpg")

    def plan_image(self, name: str) -> Path:
        """A top-down image, by its file name."""
        return self._below("plans", name)

    def trajectory(self, video: str) -> Path:
        """The camera's poses during a video, in the TUM format."""
        return self.truth(f"trajectory_{video}.tum")

    def depth(self, video: str, frame: int) -> Path:
        """A depth image, 16 bits, millimetres; 0 where the sky is or beyond 65.5 m."""
        return self._below("gt", "depth", video, f"{frame:06d}.png")

    def truth(self, name: str) -> Path:
        """A file of the ground truth."""
        return self._below("gt", name)

    def relative(self, file: Path) -> str:
        """The path of one of the place's files as question files state it."""
        return file.relative_to(self.root).as_posix()

    def _below(self, *parts: str) -> Path:
        path = self.root.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


class SceneDiskError(SceneError, DiskError):
    """A file of a set cannot be written, because the disk is full or fails (exit code 3)."""


def disk_error(error: OSError, file: Path) -> SceneError:
    """The error to show when a file cannot be written.

    Args:
        error: What the system said.
        file: The file.

    Returns:
        One of the input (exit code 2) where the path itself cannot be; else a :class:`SceneDiskError`.
    """
    # shutil collects what went wrong with each file of a folder, as text.
    reason = str(error.args[0][0][2]) if isinstance(error, shutil.Error) else error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT) or os.strerror(errno.ENOSPC) in reason:
        remedy = "free some and run the same command again"
        return SceneDiskError("no space left on the disk", file=file, remedy=remedy)
    if error.errno in _WRONG_PATH:
        return SceneError(f"cannot be written: {reason}", file=file, remedy="give another path")
    return SceneDiskError(f"cannot be written: {reason}", file=file)


def write_file(file: Path, data: bytes) -> None:
    """Write a file whole or not at all: what was there before stays until the new one is complete.

    Args:
        file: Where to.
        data: What.

    Raises:
        SceneError: It cannot be written; nothing half-written is left.
    """
    target = Path(os.path.realpath(file))  # a link stays a link
    part = target.with_name(target.name + PART)
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a pipe or a device, which must not be replaced; a folder is refused
            return
        try:
            part.write_bytes(data)
            part.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise disk_error(error, file) from error


def write_text(file: Path, text: str) -> None:
    """Write a text file, as UTF-8, whole or not at all.

    Args:
        file: Where to.
        text: What.

    Raises:
        SceneError: It cannot be written.
    """
    write_file(file, text.encode("utf-8"))


def write_json(file: Path, value: Any, *, sort_keys: bool = True) -> None:
    """Write JSON; numpy's numbers and arrays become plain ones, and numbers are rounded to six digits.

    Args:
        file: Where to.
        value: What.
        sort_keys: Whether mappings are sorted; question records keep their own order.
    """
    text = json.dumps(_plain(value), indent=1, sort_keys=sort_keys, ensure_ascii=False)
    write_text(file, text + "\n")


def write_image(file: Path, image: Image | NDArray[np.uint16], kind: Literal["png", "jpg"] | None = None) -> None:
    """Write an image.

    Args:
        file: Where to; its extension tells the format.
        image: H x W or H x W x 3 (r, g, b) bytes, or H x W 16-bit numbers.
        kind: The format, if not that of the extension.
    """
    import cv2

    pixels: Any = np.ascontiguousarray(image[:, :, ::-1]) if image.ndim == 3 else image
    kind = kind or ("jpg" if file.suffix == ".jpg" else "png")
    options = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY] if kind == "jpg" else [cv2.IMWRITE_PNG_COMPRESSION, 6]
    done, data = cv2.imencode(f".{kind}", pixels, options)
    if not done:
        raise ValueError(f"cannot encode an array of shape {image.shape} and type {image.dtype} as {kind}")
    write_file(file, data.tobytes())


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return round(value, 6) + 0.0
    return value
