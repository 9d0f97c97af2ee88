"""Red rectangles: in a marked video, where the target is visible, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.check.report import Check
from gst_ros.scenes.check.studio import frames_of, rgb
from gst_ros.scenes.check.truth import PlaceTruth
from gst_ros.scenes.place import SceneError

LEAST_MARK_PX = 60
"""Red pixels that the plain video has not: from so many on, a frame is marked."""
MOST_STRAY_PX = 12
LEAST_CHANGE = 40
"""By how much of 255 a drawn pixel differs from what it covers, in its most different channel."""
AROUND_PX = 12
"""How far outside the largest recorded box its rectangle may reach."""


def check_marks(place: PlaceTruth) -> Iterator[Check]:
    """One check for all marked videos of a place."""
    files = sorted((place.root / "marked").glob("*.mp4"))
    used = {record["copied_video_path"] for record in place.questions if "copied_video_path" in record}
    unmade = sorted(path for path in used if path.startswith("marked/") and not (place.root / path).is_file())
    problems = [f"{path} missing" for path in unmade]
    frames = 0
    marks: dict[str, list[_Marks]] = {}
    for file in files:
        video, _, thing = file.stem.partition("_")
        if thing in place.facts:
            marks.setdefault(video, []).append(_Marks(file, place.facts[thing], video))
        else:
            problems.append(f"{file.name} marks something unknown")
    for video, marked in marks.items():
        try:
            frames += _compare(place.root / f"{video}.mp4", marked)
        except SceneError as error:
            problems.append(str(error))
        problems += [problem for each in marked for problem in each.problems()]
    measured = "; ".join(problems[:3]) + (f"; {len(problems) - 3} more" if len(problems) > 3 else "")
    if files or unmade:
        found = measured or f"{len(files)} videos, {frames} frames"
        yield Check("red rectangles", not problems, found, "where the target is visible and nowhere else", place.name)


class _Marks:
    """What is found in one marked video, frame by frame."""

    def __init__(self, file: Path, fact: Mapping[str, Any], video: str) -> None:
        self.file = file
        self._shown = _numbers(fact["visible_frames"].get(video, []))
        self._best = fact if fact["best_video"] == video else None
        self._count = 0
        self._problems = [] if self._shown else [f"{file.name}: the video never shows it"]

    def add(self, mask: NDArray[np.bool_]) -> None:
        """The next frame, as :func:`drawn` shows it."""
        number, marked = self._count, int(mask.sum())
        self._count += 1
        if number in self._shown and marked < LEAST_MARK_PX:
            self._problems.append(f"{self.file.name}: frame {number} has no rectangle")
        elif number not in self._shown and marked > MOST_STRAY_PX:
            self._problems.append(f"{self.file.name}: frame {number} is marked, but does not show it")
        if self._best is not None and number == self._best["best_frame"]:
            self._problems += _box_problem(self.file.name, number, self._best["largest_box"], mask)

    def problems(self) -> list[str]:
        """All that is wrong, once the video has been read."""
        if self._best is not None and self._count <= self._best["best_frame"]:
            return [*self._problems, f"{self.file.name}: has no frame {self._best['best_frame']}"]
        return self._problems


def _compare(plain: Path, marked: list[_Marks]) -> int:
    """Read a video once, beside all its marked copies.

    Returns:
        The frames of marked videos that were looked at; a copy of another length or size ends early (lengths and
        sizes are checked elsewhere).
    """
    count = 0
    copies = [(each, map(rgb, frames_of(each.file))) for each in marked]
    for a in map(rgb, frames_of(plain)):
        pairs = [(each, frames, next(frames, None)) for each, frames in copies]
        copies = []
        for each, frames, b in pairs:
            if b is not None and a.shape == b.shape:
                each.add(drawn(a, b))
                copies.append((each, frames))
                count += 1
        if not copies:
            break
    return count


def red(rgb: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """The pixels that are pure red, as in the official videos: R > 180, G and B < 70."""
    return np.asarray(cv2.inRange(rgb, (181, 0, 0), (255, 69, 69)), dtype=bool)


def drawn(plain: NDArray[np.uint8], marked: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """The red pixels that were not so before: a red chair differs a little between two encodings, a rectangle much."""
    mask = red(marked)
    if mask.any():
        mask[mask] = np.abs(marked[mask].astype(np.int16) - plain[mask]).max(axis=1) > LEAST_CHANGE
    return mask


def _box_problem(name: str, number: int, box: list[int], mask: NDArray[np.bool_]) -> list[str]:
    """The rectangle of the best frame must enclose the target's box, and lie close to it."""
    rows, columns = np.nonzero(mask)
    if not len(rows):
        return [f"{name}: no rectangle in the best frame {number}"]
    height, width = mask.shape
    found = (int(columns.min()), int(rows.min()), int(columns.max()), int(rows.max()))
    limits = (width - 1, height - 1, width - 1, height - 1)
    for side, (edge, wanted, last) in enumerate(zip(found, box, limits, strict=True)):
        outwards = wanted - edge if side < 2 else edge - wanted
        at_border = wanted <= AROUND_PX if side < 2 else wanted >= last - AROUND_PX
        if not (-1 <= outwards <= AROUND_PX) and not at_border:
            return [f"{name}: the rectangle {found} of frame {number} does not fit the target's box {tuple(box)}"]
    return []


def _numbers(runs: list[list[int]]) -> set[int]:
    return {number for first, last in runs for number in range(first, last + 1)}
