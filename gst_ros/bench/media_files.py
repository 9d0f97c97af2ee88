"""Where the video and the images of a question are, and whether they are there.

A question file is untrusted text. The names in it are looked up beside the file and in the data root, and
nowhere else: a name that leads out of both (absolute, or through ``..``) is refused, so that a question set
from the internet cannot make the bench read, play or send to a model any other file of the machine. The
check is on the name as written; links that the user has made inside the data root are followed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gst_ros.bench.images import image_problem, pointer_problem
from gst_ros.bench.jsonfiles import kind_of

VIDEO_FIELDS = ("copied_video_path", "video", "video_path")
IMAGE_FIELDS = ("copied_path", "path", "image", "image_path", "file")
IMAGE_LIST_FIELDS = ("images", "image")


class MediaProblem(Exception):
    """One media file cannot be used.

    Args:
        reason: The whole reason, for example ``video video1.mp4 missing``.
        field: The field of the question that names the file.
    """

    def __init__(self, reason: str, field: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field


@dataclass(frozen=True)
class MediaFolders:
    """The folders that a question's media may be in.

    Attributes:
        beside: The folder of the question file; looked at first.
        data_root: The data set's root; looked at next.
    """

    beside: Path
    data_root: Path

    def find(self, kind: str, name: str, field: str) -> Path:
        """Find one file.

        Args:
            kind: ``video`` or ``image``, for the reason.
            name: The name as the question has it.
            field: The field that it stands in.

        Raises:
            MediaProblem: The file is missing, or its name leads out of both folders.
        """
        if "://" in name:
            raise MediaProblem(f"{kind} {name} is a web address; download it first", field)
        shown = PurePosixPath(name).name or name
        leads_out = False
        # Names written on Windows have backslashes; a name that really holds one is tried first.
        for spelling in dict.fromkeys((name, name.replace("\\", "/"))):
            places = [Path(os.path.normpath(folder / spelling)) for folder in (self.beside, self.data_root)]
            allowed = [place for place in places if self._is_inside(place)]
            leads_out = leads_out or not allowed
            for place in allowed:
                try:
                    if place.exists():
                        return place
                except (OSError, ValueError):  # too long a name, a zero byte, no permission
                    continue
        if leads_out:
            raise MediaProblem(f"{kind} {name} lies outside the data root {self.data_root} (see --data-root)", field)
        raise MediaProblem(f"{kind} {shown} missing", field)

    def _is_inside(self, path: Path) -> bool:
        return any(path != folder and path.is_relative_to(folder) for folder in (self.beside, self.data_root))


def find_video(record: Mapping[str, Any], folders: MediaFolders) -> Path | None:
    """Find the video of a question.

    Args:
        record: The question's fields.
        folders: Where to look.

    Returns:
        A file or a folder of images; None when no field names a video.

    Raises:
        MediaProblem: It is named but missing, empty or not a file name.
    """
    problem: MediaProblem | None = None
    for field in VIDEO_FIELDS:
        value = record.get(field)
        if value is None or value == "":
            continue
        if not isinstance(value, str):
            problem = problem or MediaProblem(f"video is {kind_of(value)}, not a file name", field)
            continue
        try:
            path = folders.find("video", value, field)
        except MediaProblem as missing:
            # The same video may be named twice, by its place in the release and by its place at the makers'.
            problem = problem or missing
            continue
        _check_video(path, field)
        return path
    if problem:
        raise problem
    return None


def find_images(record: Mapping[str, Any], folders: MediaFolders) -> tuple[Path, ...]:
    """Find the images of a question, in its order (by ``index`` where every entry has one).

    Raises:
        MediaProblem: One is missing, empty, truncated, not an image, or badly named.
    """
    for list_field in IMAGE_LIST_FIELDS:
        entries = record.get(list_field)
        if entries is not None:
            break
    else:
        return ()
    if isinstance(entries, (str, Mapping)):
        entries = [entries]
    if not isinstance(entries, Sequence):
        raise MediaProblem(f"images is {kind_of(entries)}, not a list", list_field)
    named = [_image_name(entry, list_field, position) for position, entry in enumerate(entries)]
    paths = []
    for name, field in _in_order(entries, named, list_field):
        path = folders.find("image", name, field)
        problem = _kind_problem(path) or image_problem(path)
        if problem:
            raise MediaProblem(f"image {path.name} {problem}", field)
        paths.append(path)
    return tuple(paths)


def _check_video(path: Path, field: str) -> None:
    if path.is_dir():
        try:
            empty = next(path.iterdir(), None) is None
        except OSError as error:
            raise MediaProblem(f"video {path.name} cannot be read: {error.strerror}", field) from error
        problem = "is an empty folder" if empty else None
    elif path.is_file():
        problem = pointer_problem(path)
    else:
        problem = "is neither a file nor a folder"
    if problem:
        raise MediaProblem(f"video {path.name} {problem}", field)


def _image_name(entry: Any, list_field: str, position: int) -> tuple[str, str]:
    """The file name of one entry of ``images``, and the dotted name of the field that holds it."""
    place = f"{list_field}.{position}"
    if isinstance(entry, str) and entry:
        return entry, place
    if isinstance(entry, Mapping):
        for field in IMAGE_FIELDS:
            value = entry.get(field)
            if isinstance(value, str) and value:
                return value, f"{place}.{field}"
        raise MediaProblem(f"image without a file name (looked for {', '.join(IMAGE_FIELDS[:2])})", place)
    raise MediaProblem(f"image is {entry!r:.40}, not a file name", place)


def _in_order(entries: Sequence[Any], named: list[tuple[str, str]], list_field: str) -> list[tuple[str, str]]:
    indices = [_index(entry) for entry in entries]
    if None in indices:
        return named
    if len(set(indices)) != len(indices):
        # Two images with one number: which of them is option B is anybody's guess.
        raise MediaProblem(f"two images have the same index ({indices})", f"{list_field}.index")
    return [item for _, item in sorted(zip(indices, named, strict=True), key=lambda pair: pair[0] or 0)]


def _index(entry: Any) -> float | None:
    value = entry.get("index") if isinstance(entry, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _kind_problem(path: Path) -> str | None:
    if path.is_dir():
        return "is a folder"
    return None if path.is_file() else "is not a file"  # a pipe would be waited on for ever
