"""Is a place that was made still whole?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gst_ros.scenes.place import SceneError
from gst_ros.scenes.reading import read_json
from gst_ros.scenes.settings import SetOptions
from gst_ros.scenes.shapes import each, record, text

_ALWAYS = (
    "camera.json",
    *(f"gt/{name}.json" for name in ("scene", "instances", "views", "plan", "questions")),
    *(f"plans/{name}" for name in ("render.jpg", "furniture.png", "walls.png")),
)
_SHOWN = each(record({"images": each(record({"copied_path": text}))}, {"copied_video_path": text}))


def check_whole(folder: Path, options: SetOptions) -> None:
    """Refuse a place that lacks a file, or has an empty one; what is in the files is ``gst scenes check``'s to see.

    Args:
        folder: The place's folder.
        options: The set's settings.

    Raises:
        SceneError: It names the file.
    """
    remedy = f"remove {folder} and run the same command again: it makes the place anew"
    if not folder.is_dir():
        raise SceneError("is not a folder", file=folder, remedy=remedy)
    for name in _expected(folder, options, remedy):
        file = folder / name
        if not file.is_file() or not file.stat().st_size:
            raise SceneError("is empty" if file.is_file() else "is missing", file=file, remedy=remedy)


def _expected(folder: Path, options: SetOptions, remedy: str) -> Iterator[str]:
    yield from _ALWAYS
    for k in range(1, options.videos + 1):
        yield f"video{k}.mp4"
        yield f"gt/trajectory_video{k}.tum"
        if options.depth:
            yield f"gt/depth/video{k}/{0:06d}.png"
    for question in read_json(folder / "questions.json", _SHOWN, remedy=remedy):
        if "copied_video_path" in question:
            yield question["copied_video_path"]
        yield from (image["copied_path"] for image in question["images"])
