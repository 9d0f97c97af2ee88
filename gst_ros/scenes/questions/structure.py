"""Questions for which of four top-down images shows the scene.

Easy: coloured renders of four places. Medium: black and white plans of four places. Hard: a plan and three that
resemble it.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.files import PlaceFiles, write_file
from gst_ros.scenes.place import SceneError
from gst_ros.scenes.questions import wording
from gst_ros.scenes.questions.asking import PLANS, RENDER, Asker
from gst_ros.scenes.questions.lookalikes import LookAlikes
from gst_ros.scenes.questions.records import Item
from gst_ros.scenes.rng import rng

Image = NDArray[np.uint8]
OPTIONS_FOLDER = "options"


def ask_other_places(asker: Asker, task: str, neighbours: Sequence[PlaceFiles]) -> None:
    """Questions of the tasks ``tds_easy`` and ``tds_medium``: the wrong images are those of other places.

    Args:
        asker: Where the questions go.
        task: Task key.
        neighbours: Folders of other places; their top-down images must be there.
    """
    random = rng(asker.recording.place.seed, "questions", task)
    levels = (RENDER,) if task == "tds_easy" else PLANS
    usable = {level: _distinct(asker, level, neighbours) for level in levels}
    used: set[tuple[Any, ...]] = set()
    for k in range(asker.options.per_task):
        level = levels[k % len(levels)]
        trios = _trios(len(usable[level]), random)
        trio = next((t for t in trios if (level, *sorted(t)) not in used), None)
        if trio is None:
            break
        used.add((level, *sorted(trio)))
        wrong = [(usable[level][i], {"place": usable[level][i].parents[1].name}) for i in trio]
        video = asker.recording.videos[k % len(asker.recording.videos)]
        truth = asker.recording.files.plan_image(level)
        _ask(
            asker,
            task,
            video.name,
            [(truth.read_bytes(), truth.suffix, {"place": asker.recording.place.name})]
            + [(file.read_bytes(), file.suffix, facts) for file, facts in wrong],
            random,
            {"plan": level},
        )
    asker.note_if_short(task, f"{len(neighbours)} other places")


def ask_look_alikes(asker: Asker) -> None:
    """Questions of the task ``tds_hard``."""
    task = "tds_hard"
    look_alikes = LookAlikes(asker.recording, asker.options)
    random = rng(asker.recording.place.seed, "questions", task)
    for k, four in enumerate(itertools.islice(look_alikes.fours(), asker.options.per_task)):
        video = asker.recording.videos[k % len(asker.recording.videos)]
        images = [(_png(plan), ".png", {"edits": list(edits)}) for edits, plan in four]
        _ask(asker, task, video.name, images, random, {"plan": PLANS[0]})
    asker.note_if_short(task, f"{look_alikes.tried} pairs of changes tried")


def place_options(
    asker: Asker, task: str, images: Sequence[tuple[bytes, str, Mapping[str, Any]]], random: np.random.Generator
) -> tuple[str, list[str], list[dict[str, Any]]]:
    """Put the options of a question into an order, and write their images.

    Args:
        asker: Knows the letter that is due.
        task: Task key.
        images: Encoded image, extension and facts of each option, the true one first.
        random: For the order of the wrong ones.

    Returns:
        The correct letter, the images' paths in order, and the options' facts in order.
    """
    letter = asker.letter(task)
    order = [1 + int(i) for i in random.permutation(len(images) - 1)]
    order.insert(wording.LETTERS.index(letter), 0)
    paths = [_keep(asker.recording.files, *images[i][:2]) for i in order]
    return letter, paths, [dict(images[i][2]) for i in order]


def _ask(
    asker: Asker,
    task: str,
    video: str,
    images: Sequence[tuple[bytes, str, Mapping[str, Any]]],
    random: np.random.Generator,
    truth: Mapping[str, Any],
) -> None:
    letter, paths, facts = place_options(asker, task, images, random)
    files = asker.recording.files
    asker.sheet.add(
        Item(
            task,
            f"{video.replace('video', 'video_')}_choice_{asker.sheet.count(task)}",
            letter,
            (wording.VIDEO, *wording.selection()),
            files.relative(files.video(video)),
            paths,
            {**truth, "video": video, "options": facts},
        )
    )


def _keep(files: PlaceFiles, data: bytes, suffix: str) -> str:
    """Write an option's image under a name that follows from its content alone: a name must not tell the truth."""
    name = hashlib.sha256(data).hexdigest()[:10]
    file = files.plan_image(f"{OPTIONS_FOLDER}/{name}{suffix}")
    if not file.exists():
        write_file(file, data)
    return files.relative(file)


def _png(image: Image) -> bytes:
    done, data = cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 6])
    if not done:
        raise ValueError(f"cannot encode an image of shape {image.shape}")
    return data.tobytes()


def _distinct(asker: Asker, level: str, neighbours: Sequence[PlaceFiles]) -> list[Path]:
    """Images of other places that are not equal to the place's own, nor to each other."""
    seen = {asker.recording.files.plan_image(level).read_bytes()}
    result = []
    for files in neighbours:
        file = files.root / "plans" / level
        try:
            data = file.read_bytes()
        except OSError as error:
            remedy = "draw the other places' plans first"
            raise SceneError(f"cannot be read: {error.strerror}", file=file, remedy=remedy) from error
        if data not in seen:
            seen.add(data)
            result.append(file)
    return result


def _trios(count: int, random: np.random.Generator) -> list[tuple[int, int, int]]:
    """Some sets of three of ``count`` items, in a random order; all of them when there are few."""
    if count < 3:
        return []
    if count <= 12:
        every = list(itertools.combinations(range(count), 3))
        return [every[int(i)] for i in random.permutation(len(every))]
    picks = [random.choice(count, 3, replace=False) for _ in range(100)]
    return [(int(a), int(b), int(c)) for a, b, c in picks]
