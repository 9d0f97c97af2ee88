"""The images of a run's questions: found where the question set is, shrunk, and bounded in total.

A run folder records the official fields of a question, not where its images were found. They are found again by
looking the very same record up in the question files, and its images beside them or in the data root: never
elsewhere, whatever a run says.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2

from gst_ros.bench.jsonfiles import plain_json
from gst_ros.bench.media_files import MediaFolders, MediaProblem, find_images
from gst_ros.bench.question_files import question_entries
from gst_ros.errors import GstError, MediaError
from gst_ros.media.images import decode_image, encode_jpeg

JPEG_QUALITY = 78
MAX_FILE_BYTES = 256 * 1024 * 1024

LEFT_OUT = "left out: the pictures of this page have reached their bound"


class NoPictureError(Exception):
    """An image cannot be shown; the text says why, for people."""


@dataclass(frozen=True)
class Picture:
    """A shrunk image.

    Attributes:
        key: Its name on the page.
        width: Pixels.
        height: Pixels.
        data: Data URI of a JPEG image.
    """

    key: str
    width: int
    height: int
    data: str


class QuestionImages:
    """Finds the images of questions.

    Args:
        questions: The question file or folder; None where it is unknown.
        data_root: Where media are looked for besides the question files' own folders; by default ``questions``
            itself, or the folder of the file.
    """

    def __init__(self, questions: Path | None, data_root: Path | None = None) -> None:
        self._folders: dict[str, MediaFolders] = {}
        self._problem = ""
        if questions is None:
            self._problem = "the run does not say where its questions were"
            return
        questions = Path(os.path.abspath(questions))
        if not questions.exists():
            self._problem = "the question set is not where it was (see gst report --questions)"
            return
        root = data_root or (questions if questions.is_dir() else questions.parent)
        root = Path(os.path.abspath(root))
        try:
            for entry in question_entries(questions):
                if entry.value is not None:
                    folders = MediaFolders(entry.file.parent, root)
                    self._folders.setdefault(_fingerprint(entry.value), folders)
        except GstError as error:
            self._problem = f"the question set cannot be read: {error.problem}"

    def find(self, question: Mapping[str, Any]) -> tuple[Path, ...]:
        """The image files of a question, in its order.

        Args:
            question: The official fields, as the record has them.

        Raises:
            NoPictureError: They are not there any more.
        """
        folders = self._folders.get(_fingerprint(question))
        if folders is None:
            raise NoPictureError(self._problem or "the question set no longer has this question as it was asked")
        try:
            return find_images(question, folders)
        except MediaProblem as error:
            raise NoPictureError(error.reason) from error


class PictureStore:
    """Shrunk images, each held once, up to a bound.

    Args:
        limit_bytes: Bound on all data URIs together.

    Attributes:
        pictures: What is held, in the order in which it came.
        total_bytes: Length of their data URIs.
        full: Whether the bound is reached; nothing more is taken then.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.pictures: list[Picture] = []
        self.total_bytes = 0
        self.full = False
        self._limit_bytes = limit_bytes
        self._known: dict[tuple[bytes, int], Picture] = {}

    def take(self, path: Path, side_px: int) -> Picture:
        """Read and shrink an image; one that is held already is not held twice, wherever its copies are.

        Args:
            path: The image file.
            side_px: Its longer side becomes at most so long.

        Raises:
            NoPictureError: It cannot be read, or does not fit any more.
        """
        if self.full:
            raise NoPictureError(LEFT_OUT)
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise NoPictureError(f"image {path.name} is too large")
            content = path.read_bytes()
        except OSError as error:
            raise NoPictureError(f"image {path.name} cannot be read: {error.strerror}") from error
        name = (hashlib.sha256(content).digest(), side_px)
        known = self._known.get(name)
        if known is None:
            picture = self._shrunk(content, path, side_px)
            if self.total_bytes + len(picture.data) > self._limit_bytes:
                self.full = True
                raise NoPictureError(LEFT_OUT)
            self.total_bytes += len(picture.data)
            self.pictures.append(picture)
            self._known[name] = known = picture
        return known

    def _shrunk(self, content: bytes, path: Path, side_px: int) -> Picture:
        try:
            image = decode_image(content, path)
        except MediaError as error:
            raise NoPictureError(f"image {path.name}: {error.problem}") from error
        height, width = image.shape[:2]
        scale = min(1.0, side_px / max(width, height))
        width, height = max(1, round(width * scale)), max(1, round(height * scale))
        if scale < 1.0:
            image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA).astype(image.dtype, copy=False)
        encoded = base64.b64encode(encode_jpeg(image, JPEG_QUALITY)).decode("ascii")
        return Picture(f"p{len(self.pictures)}", width, height, f"data:image/jpeg;base64,{encoded}")


def _fingerprint(question: Mapping[str, Any]) -> str:
    return hashlib.sha256(plain_json(question).encode("ascii", "replace")).hexdigest()
