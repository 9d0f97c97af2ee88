"""Red rectangles: in a marked video, where the target is visible, and nowhere else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.check.report import Check
from gst_ros.scenes.check.truth import PlaceTruth

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
    for file in files:
        video, _, thing = file.stem.partition("_")
        if thing not in place.facts:
            problems.append(f"{file.name} marks something unknown")
            continue
        shown = _numbers(place.facts[thing]["visible_frames"].get(video, []))
        if not shown:
            problems.append(f"{file.name}: the video never shows it")
        best = place.facts[thing] if place.facts[thing]["best_video"] == video else None
        count = 0
        for number, mask in enumerate(_drawn_in(place.root / f"{video}.mp4", file)):
            count += 1
            marked = int(mask.sum())
            if number in shown and marked < LEAST_MARK_PX:
                problems.append(f"{file.name}: frame {number} has no rectangle")
            elif number not in shown and marked > MOST_STRAY_PX:
                problems.append(f"{file.name}: frame {number} is marked, but does not show it")
            if best is not None and number == best["best_frame"]:
                problems += _box_problem(file.name, number, best["largest_box"], mask)
        if best is not None and count <= best["best_frame"]:
            problems.append(f"{file.name}: has no frame {best['best_frame']}")
        frames += count
    measured = "; ".join(problems[:3]) + (f"; {len(problems) - 3} more" if len(problems) > 3 else "")
    if files or unmade:
        found = measured or f"{len(files)} videos, {frames} frames"
        yield Check("red rectangles", not problems, found, "where the target is visible and nowhere else", place.name)


def red(rgb: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """The pixels that are pure red, as in the official videos: R > 180, G and B < 70."""
    return np.asarray((rgb[..., 0] > 180) & (rgb[..., 1] < 70) & (rgb[..., 2] < 70))


def drawn(plain: NDArray[np.uint8], marked: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """The red pixels that were not so before: a red chair differs a little between two encodings, a rectangle much."""
    mask = red(marked)
    if mask.any():
        mask[mask] = np.abs(marked[mask].astype(np.int16) - plain[mask]).max(axis=1) > LEAST_CHANGE
    return mask


def _drawn_in(plain: Path, marked: Path) -> Iterator[NDArray[np.bool_]]:
    """Per frame, where the marked video is red and the plain one is not."""
    for a, b in itertools.zip_longest(_frames(plain), _frames(marked)):
        if a is None or b is None or a.shape != b.shape:
            return  # lengths and sizes are checked elsewhere
        yield drawn(a, b)


def _frames(file: Path) -> Iterator[NDArray[np.uint8]]:
    with av.open(str(file)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="rgb24")


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
