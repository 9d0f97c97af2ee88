"""Are questions different from each other, letters balanced, and directions spread?"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from gst_ros.bench.tasks import find_task
from gst_ros.scenes.check.report import Check
from gst_ros.scenes.check.truth import PlaceTruth

ENOUGH = 24
"""Fewer answers of a task prove nothing about how they are spread."""
MOST_BEHIND = 0.5
MOST_IN_QUADRANT = 0.55


def check_fairness(places: Sequence[PlaceTruth]) -> Iterator[Check]:
    """Checks over the questions of a whole set."""
    records = [record for place in places for record in place.questions]
    yield _duplicates(records)
    answers: dict[str, list[Any]] = defaultdict(list)
    for record in records:
        setting = record.get("setting", "global")
        if setting == "global":
            answers[find_task(record["task"]).key].append(record["answer"])
    letters = {key: found for key, found in answers.items() if find_task(key).metric == "acc"}
    if letters:
        yield _letters(letters)
    angles = {key: [float(a) for a in found] for key, found in answers.items() if find_task(key).metric == "angle"}
    if angles:
        yield _directions(angles)


def _duplicates(records: Sequence[dict[str, Any]]) -> Check:
    uids = Counter(record["uid"] for record in records)
    contents = Counter(
        (
            record["scene"],
            record["task"],
            record.get("setting", ""),
            tuple(record["texts"]),
            record.get("copied_video_path", ""),
            tuple(image["copied_path"] for image in record["images"]),
        )
        for record in records
    )
    twice = [uid for uid, count in uids.items() if count > 1]
    same = sum(count - 1 for count in contents.values())
    measured = f"{len(records)} questions, {len(twice)} uids twice, {same} questions twice"
    return Check("no question twice", not twice and not same, measured, "0 and 0")


def _letters(letters: dict[str, list[str]]) -> Check:
    """Letters come in shuffled blocks of four, so each is off by little more than the number of blocks cut short."""
    problems, texts = [], []
    for key, found in letters.items():
        counts = [Counter(found)[letter] for letter in "ABCD"]
        # Places that fall short of questions leave holes in the sequence, as chance would.
        allowed = max(2.0, 3.5 * math.sqrt(len(found) * 3 / 16))
        texts.append(f"{key} {'/'.join(map(str, counts))}")
        if max(abs(count - len(found) / 4) for count in counts) > allowed:
            problems.append(key)
    return Check("letters balanced", not problems, ", ".join(texts), "A/B/C/D about equal")


def _directions(angles: dict[str, list[float]]) -> Check:
    problems, texts, judged = [], [], False
    for key, found in angles.items():
        quadrants = [0, 0, 0, 0]  # ahead, left, behind, right
        for angle in found:
            quadrants[int(((angle + 45.0) % 360.0) // 90.0)] += 1
        texts.append(f"{key} {'/'.join(map(str, quadrants))}")
        if len(found) >= ENOUGH:
            judged = True
            if quadrants[2] > MOST_BEHIND * len(found) or max(quadrants) > MOST_IN_QUADRANT * len(found):
                problems.append(key)
    limit = f"behind <= {MOST_BEHIND:.0%}, no quadrant > {MOST_IN_QUADRANT:.0%}"
    passed = None if not judged else not problems
    return Check("directions ahead/left/behind/right", passed, ", ".join(texts), limit)
