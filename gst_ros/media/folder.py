"""A folder of images as a clip."""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left
from pathlib import Path

import cv2
import numpy as np

from gst_ros.errors import MediaError
from gst_ros.media.clip import MOST_SECONDS, Clip
from gst_ros.media.frames import Frame
from gst_ros.media.images import read_image
from gst_ros.media.stamps import NS_PER_S

STAMPS_FILE = "timestamps.txt"
_SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".ppm", ".pgm"}


class FolderClip(Clip):
    """The images of one folder, in natural order of their names (``2.png`` before ``10.png``).

    Stamps come from ``timestamps.txt`` in the folder, where there is one: a line per image, either
    ``seconds`` (in the order of the images) or ``name seconds``; lines that start with ``#`` are comments.
    Without it the images are ``fps`` apart. Images are decoded by content; one that cannot be decoded is
    counted as damaged and left out. The first image sets the size; others are scaled to it and counted.
    Hidden files, sub-folders and files that are not called like images are ignored.

    Args:
        path: The folder.
        start_s: Media time of the first frame to read.
        end_s: Media time at which to stop (exclusive), or None.
        fps: Frames per second where there is no file of stamps.

    Raises:
        MediaError: The folder has no image that can be decoded, its stamps do not fit, or no image lies in
            the range asked for.
    """

    def __init__(self, path: Path, start_s: float = 0.0, end_s: float | None = None, *, fps: float = 10.0) -> None:
        super().__init__(path, start_s, end_s)
        if not (math.isfinite(fps) and 0 < fps <= NS_PER_S):
            raise MediaError(f"{fps} is not a frame rate", file=path, field="fps", remedy="give frames per second > 0")
        try:
            names = [entry.name for entry in path.iterdir() if _is_image(entry)]
        except OSError as error:
            raise MediaError(f"cannot be read: {error.strerror}", file=path) from error
        if not names:
            known = " ".join(sorted(_SUFFIXES))
            raise MediaError("the folder has no images", file=path, remedy=f"known endings: {known}")
        names.sort(key=_natural)
        self._pairs = _read_stamps(path / STAMPS_FILE, names) or _spaced(names, fps, path)
        self._next = 0
        self._first: tuple[int, Frame] | None = None
        self.frames_claimed = len(self._pairs)
        self.nominal_fps, self.duration_s = self._rate(fps)
        self._find_size()
        self._check_range()

    def close(self) -> None:
        """Nothing stays open between two images; only the place is given up."""
        self._next = len(self._pairs)
        self._first = None

    def _rate(self, fps: float) -> tuple[float, float]:
        stamps = np.array([stamp for stamp, _ in self._pairs], dtype=np.int64)
        interval_s = float(np.median(np.diff(stamps))) / NS_PER_S if len(stamps) > 1 else 1.0 / fps
        return 1.0 / interval_s, int(stamps[-1]) / NS_PER_S + interval_s

    def _find_size(self) -> None:
        while self._next < len(self._pairs):
            index = self._next
            frame = self._read_next()
            if frame is not None:
                self.height, self.width = frame.image_rgb.shape[:2]
                self._first = (index, frame)
                self._next = index
                return
        raise MediaError(
            f"none of its {len(self._pairs)} images can be decoded", file=self.path, remedy="fetch them again"
        )

    def _check_range(self) -> None:
        first_ns, last_ns = self._pairs[0][0], self._pairs[-1][0]
        if self.start_s > 0:
            self._seek(round(self.start_s * NS_PER_S))
        at_end = self._next >= len(self._pairs)
        if at_end or (self._end_ns is not None and self._pairs[self._next][0] >= self._end_ns):
            end = "its end" if self.end_s is None else f"{self.end_s} s"
            raise MediaError(
                f"no image between {self.start_s} s and {end}",
                file=self.path,
                remedy=f"the images lie between {first_ns / NS_PER_S:.3f} s and {last_ns / NS_PER_S:.3f} s",
            )

    def _read(self) -> Frame | None:
        while self._next < len(self._pairs):
            if self._first is not None and self._first[0] == self._next:
                frame: Frame | None = self._first[1]
                self._next += 1
            else:
                frame = self._read_next()
            self._first = None
            if frame is not None:
                return frame
        return None

    def _read_next(self) -> Frame | None:
        stamp_ns, name = self._pairs[self._next]
        self._next += 1
        try:
            image = read_image(self.path / name)
        except MediaError:
            self.damaged += 1
            return None
        if self.width and image.shape[:2] != (self.height, self.width):
            self.resized += 1
            scaled = cv2.resize(image, (self.width, self.height), interpolation=cv2.INTER_AREA)
            image = np.asarray(scaled, dtype=np.uint8)
        return Frame(image, stamp_ns)

    def _seek(self, stamp_ns: int) -> None:
        self._first = None
        self._next = bisect_left(self._pairs, stamp_ns, key=lambda pair: pair[0])


def _is_image(entry: Path) -> bool:
    return not entry.name.startswith(".") and entry.suffix.lower() in _SUFFIXES and entry.is_file()


def _spaced(names: list[str], fps: float, path: Path) -> list[tuple[int, str]]:
    """(stamp_ns, name) of images that are 1/fps apart."""
    if (len(names) - 1) / fps > MOST_SECONDS:
        raise MediaError(
            f"{len(names)} images at {fps} per second take too long", file=path, field="fps", remedy="raise fps"
        )
    return [(round(index * NS_PER_S / fps), name) for index, name in enumerate(names)]


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key in which runs of digits count as numbers."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(0, int(part), part) if part[0] in "0123456789" else (1, 0, part) for part in parts]


def _read_stamps(file: Path, names: list[str]) -> list[tuple[int, str]] | None:
    """Read (stamp_ns, name) from a file of stamps; None where there is none."""
    if not file.is_file():
        return None
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise MediaError(f"cannot be read: {error}", file=file, remedy="remove it or write it as UTF-8") from error
    rows = [(n, line.strip()) for n, line in enumerate(text.splitlines(), start=1)]
    rows = [(n, line) for n, line in rows if line and not line.startswith("#")]
    named = any(len(line.split()) > 1 for _, line in rows)
    if not named and len(rows) != len(names):
        raise MediaError(
            f"it has {len(rows)} stamps for {len(names)} images", file=file, remedy="give one line per image"
        )
    pairs = []
    known = set(names)
    for position, (number, line) in enumerate(rows):
        name, seconds = line.rsplit(maxsplit=1) if named else (names[position], line)
        name = name.rstrip(", ")
        if name not in known:
            raise MediaError(f"there is no image '{name}'", file=file, field=f"line {number}")
        pairs.append((_stamp_ns(seconds, file, number), name))
    pairs.sort()
    if not pairs:
        raise MediaError("it names no image", file=file, remedy="remove it, or give 'name seconds' lines")
    for (before, _), (after, name) in itertools.pairwise(pairs):
        if after == before:
            raise MediaError(f"two images have the stamp {after / NS_PER_S} s", file=file, field=name)
    return pairs


def _stamp_ns(seconds: str, file: Path, number: int) -> int:
    # Decimal digits, not a float: epoch seconds with nanoseconds do not fit into one.
    match = re.fullmatch(r"0*([0-9]{1,10})(?:\.([0-9]*))?", seconds)
    if match is None or int(match[1]) > MOST_SECONDS - 1:
        raise MediaError(f"'{seconds}' is not a time in seconds", file=file, field=f"line {number}")
    whole, fraction = match[1], (match[2] or "")
    return int(whole) * NS_PER_S + int((fraction + "0" * 9)[:9])
