"""All checks of a set, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gst_ros.scenes.check.baselines import check_oracle, check_random, check_text_only, collect
from gst_ros.scenes.check.fairness import check_fairness
from gst_ros.scenes.check.files import QUESTIONS_LOAD, check_files
from gst_ros.scenes.check.marks import check_marks
from gst_ros.scenes.check.positions import check_positions
from gst_ros.scenes.check.report import Check, Report
from gst_ros.scenes.check.truth import PlaceTruth, find_places, read_settings

Progress = Callable[[str], None]


def check_set(
    folder: Path, *, frames: int = 50, quick: bool = False, seed: int = 0, progress: Progress = lambda _: None
) -> Report:
    """Check a set, or one place of it.

    Args:
        folder: The set's folder, or a place's.
        frames: Frames that are rendered again and cast rays into, spread at random over the set.
        quick: Leave out what renders.
        seed: Seed of the choice of frames and points.
        progress: Told the name of each place as its checks begin.

    Raises:
        SceneError: There is no set, its truth cannot be read, or OpenGL or the furniture is missing.
    """
    places = find_places(folder)
    settings = read_settings(folder)
    report = Report()
    if settings is not None:
        report.checks += _check_complete(folder, places, settings)
    random = np.random.Generator(np.random.PCG64(seed))
    chosen = _choose_frames(places, frames, random)
    sound = []
    for place in places:
        progress(place.name)
        found = list(check_files(place))
        report.checks += found
        if any(check.name == QUESTIONS_LOAD and not check.passed for check in found):
            continue  # what its questions mean cannot be checked
        sound.append(place)
        report.checks += check_marks(place)
        report.checks += check_positions(place)
        if not quick:
            report.checks += _check_rendered(place, settings or {}, chosen[place.name], random)
    if not sound:
        return report
    progress("questions")
    report.checks += check_fairness(sound)
    report.checks += check_oracle(sound)
    asked = collect(sound)
    report.checks += check_random(asked)
    report.checks += check_text_only(asked)
    return report


def _check_rendered(
    place: PlaceTruth, settings: Mapping[str, Any], frames: Sequence[tuple[str, int]], random: np.random.Generator
) -> Iterator[Check]:
    from gst_ros.scenes.check.pictures import check_pictures
    from gst_ros.scenes.check.ranges import check_ranges
    from gst_ros.scenes.check.rays import check_rays
    from gst_ros.scenes.check.studio import open_studio

    with open_studio(place, settings) as studio:
        yield from check_pictures(studio, frames, random)
        yield from check_ranges(studio)
        yield from check_rays(studio, frames)


def _choose_frames(
    places: Sequence[PlaceTruth], count: int, random: np.random.Generator
) -> dict[str, list[tuple[str, int]]]:
    """Frames drawn at random, as many from each place; at least one."""
    result = {}
    for k, place in enumerate(places):
        every = [(video, number) for video in place.videos for number in range(len(place.poses(video)))]
        share = max(1, count * (k + 1) // len(places) - count * k // len(places))
        picks = random.permutation(len(every))[:share]
        result[place.name] = [every[int(i)] for i in np.sort(picks)]
    return result


def _check_complete(folder: Path, places: Sequence[PlaceTruth], settings: Mapping[str, Any]) -> Iterator[Check]:
    if not (folder / "set.json").is_file() or not isinstance(settings.get("count"), int):
        return
    wanted, allowed = settings["count"], {"set.json", "ATTRIBUTION.txt", *(place.name for place in places)}
    strangers = sorted(path.name for path in folder.iterdir() if path.name not in allowed)
    measured = f"{len(places)} of {wanted}" + (f", and '{strangers[0]}'" if strangers else "")
    yield Check("places of the set", len(places) == wanted and not strangers, measured, "all, and nothing else")
