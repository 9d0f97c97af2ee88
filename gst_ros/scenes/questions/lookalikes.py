"""Plans that resemble a place's own.

A question's four plans are the truth, the truth with one change, the truth with another change, and the truth with
both. So each of the four differs from the others in the same way, and the truth cannot be told from the pictures alone
as the one that all others resemble.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.place import Place, PlacedObject
from gst_ros.scenes.plans import OVERHEAD_M, draw_plan, silhouette
from gst_ros.scenes.questions.edits import Edit, door_moved, furniture_moved, room_turned, rooms_swapped
from gst_ros.scenes.questions.options import QuestionOptions
from gst_ros.scenes.questions.warps import wall_moved
from gst_ros.scenes.recording import Recording
from gst_ros.scenes.rng import rng

Image = NDArray[np.uint8]
Array = NDArray[np.float64]
Four = list[tuple[tuple[str, ...], Image]]

MIRROR = "mirrored"
LEAST_DIFFERENT_PX = 700
PASSAGE_RADIUS_M = 0.2
LEAST_ROOM_FREE_M2 = 0.3
MOST_TRIES = 120

# The kinds of the two changes of a question, one after the other; a kind that a place does not allow is passed over.
_PAIRS = (
    ("furniture moved", MIRROR),
    ("wall moved", "room turned"),
    ("furniture moved", "door moved"),
    ("rooms swapped", MIRROR),
    ("furniture moved", "room turned"),
    ("door moved", "wall moved"),
    ("furniture moved", "furniture moved"),
    ("room turned", MIRROR),
    ("furniture moved", "wall moved"),
    ("rooms swapped", "wall moved"),
    ("door moved", "room turned"),
    ("wall moved", MIRROR),
)
_MAKERS = {
    "furniture moved": furniture_moved,
    "wall moved": wall_moved,
    "room turned": room_turned,
    "rooms swapped": rooms_swapped,
    "door moved": door_moved,
}


class LookAlikes:
    """Makes plans that resemble a place's own.

    Args:
        recording: The place; its plan's frame and catalogue are used.
        options: How much plans must and may differ.

    Attributes:
        tried: How many pairs of changes were tried so far.
    """

    def __init__(self, recording: Recording, options: QuestionOptions) -> None:
        self._place, self._frame, self._catalogue = recording.place, recording.plan, recording.catalogue
        self._options = options
        self._silhouettes = {
            t.id: silhouette(t, self._frame, self._catalogue) for t in self._place.objects if _shows(t)
        }
        self._things = {t.id: t for t in self._place.objects}
        self._random = rng(recording.place.seed, "questions", "look-alikes")
        self.tried = 0

    def fours(self) -> Iterator[Four]:
        """Sets of four plans with the changes that made them, the true one first; as many as can be found."""
        seen: set[bytes] = set()
        for first, second in itertools.islice(itertools.cycle(_PAIRS), MOST_TRIES):
            self.tried += 1
            four = self._four(first, second)
            if four is None:
                continue
            key = b"".join(sorted(image.tobytes() for _, image in four))
            if key not in seen:
                seen.add(key)
                yield four

    def draw(self, place: Place) -> Image:
        """The plan of a changed place, H x W bytes; the same as ``draw_plan`` would draw, but much faster."""
        image = draw_plan(place, self._frame, self._catalogue, furniture=False)
        for thing in place.objects:
            if _shows(thing):
                image[self._silhouette(thing)] = 0
        return image

    def _four(self, first: str, second: str) -> Four | None:
        a = self._edit(first)
        b = self._edit(second)
        if a is None or b is None or (not isinstance(a, str) and not isinstance(b, str) and a.touches & b.touches):
            return None
        place_edits = [edit for edit in (a, b) if not isinstance(edit, str)]
        try:
            plans = [self._changed(edits) for edits in _subsets(place_edits)]
        except ValueError:  # openings that do not fit once both changes are made
            return None
        if any(plan is None for _, plan in plans):
            return None
        four: Four = [(kinds, plan) for kinds, plan in plans if plan is not None]
        if len(place_edits) == 1:
            flipped = self._random.random() < 0.5
            four += [((*kinds, MIRROR), plan[:, ::-1] if flipped else plan[::-1]) for kinds, plan in four]
        area = float(self._rooms_px())
        for (kinds_a, plan_a), (kinds_b, plan_b) in itertools.combinations(four, 2):
            difference = turned_difference(plan_a, plan_b)
            if difference < max(self._options.least_difference * area, LEAST_DIFFERENT_PX):
                return None
            mirrored = (MIRROR in kinds_a) != (MIRROR in kinds_b)
            if not mirrored and int((plan_a != plan_b).sum()) > self._options.most_difference * area:
                return None
        return four

    def _edit(self, kind: str) -> Edit | str | None:
        return MIRROR if kind == MIRROR else _MAKERS[kind](self._place, self._random)

    def _changed(self, edits: Sequence[Edit]) -> tuple[tuple[str, ...], Image | None]:
        """The plan with some changes; None when a room cannot be entered any more."""
        place = self._place
        for edit in sorted(edits, key=lambda e: e.whole):
            place = edit.apply(place)
        plan = self.draw(place)
        fine = not edits or rooms_reached(place, plan, self._frame.m_per_px, self._frame.pixel)
        return tuple(edit.kind for edit in edits), plan if fine else None

    def _rooms_px(self) -> int:
        image = np.zeros((self._frame.height, self._frame.width), np.uint8)
        for room in self._place.rooms:
            if not room.outdoor:
                corners = np.round(self._frame.pixel(np.array(room.outline))).astype(np.int32)
                cv2.fillPoly(image, [corners.reshape(-1, 1, 2)], 1)
        return int(image.sum())

    def _silhouette(self, thing: PlacedObject) -> NDArray[np.bool_]:
        """The pixels that a moved thing covers: those of the unmoved one, turned and shifted."""
        old, mask = self._things[thing.id], self._silhouettes[thing.id]
        if (old.position_m, old.yaw_deg) == (thing.position_m, thing.yaw_deg):
            return mask
        start, end = (self._frame.pixel(np.array(t.position_m[:2])) for t in (old, thing))
        turn = math.radians(thing.yaw_deg - old.yaw_deg)
        c, s = math.cos(turn), math.sin(turn)
        linear = np.array([[c, s], [-s, c]])  # counter-clockwise with rows running down
        matrix = np.column_stack([linear, end - linear @ start])
        size = (self._frame.width, self._frame.height)
        return np.asarray(cv2.warpAffine(mask.astype(np.uint8), matrix, size, flags=cv2.INTER_NEAREST) > 0)


def turned_difference(a: Image, b: Image) -> int:
    """In how many pixels two plans differ, when one of them is turned by quarters to fit the other best.

    Args:
        a: H x W bytes.
        b: H x W bytes.
    """
    side = max(a.shape)
    square_a, square_b = (np.zeros((side, side), bool) for _ in range(2))
    for square, image in ((square_a, a), (square_b, b)):
        top, left = (side - image.shape[0]) // 2, (side - image.shape[1]) // 2
        square[top : top + image.shape[0], left : left + image.shape[1]] = image > 127
    return min(int((square_a != np.rot90(square_b, k)).sum()) for k in range(4))


def rooms_reached(place: Place, plan: Image, m_per_px: float, to_pixel: Callable[[Array], Array]) -> bool:
    """Whether one can walk into every room of a plan.

    Args:
        place: The place that the plan shows.
        plan: H x W bytes, white where free.
        m_per_px: Metres per pixel.
        to_pixel: Takes N x 2 points in ``map`` to pixels (column, row).
    """
    distance = cv2.distanceTransform((plan > 127).astype(np.uint8), cv2.DIST_L2, 5)
    wide = (distance * m_per_px > PASSAGE_RADIUS_M).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(wide, connectivity=4)
    if len(stats) < 2:
        return False
    largest = labels == 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
    for room in place.rooms:
        mask = np.zeros(plan.shape, np.uint8)
        corners = np.round(to_pixel(np.array(room.outline))).astype(np.int32)
        cv2.fillPoly(mask, [corners.reshape(-1, 1, 2)], 1)
        free = int((wide & mask).sum()) * m_per_px**2
        reached = int((largest & (mask > 0)).sum()) * m_per_px**2
        if free > LEAST_ROOM_FREE_M2 and reached < 0.5 * free:
            return False
    return True


def _subsets(edits: Sequence[Edit]) -> list[Sequence[Edit]]:
    """None, each, and all of one or two changes."""
    return [[], *([edit] for edit in edits), *([list(edits)] if len(edits) > 1 else [])]


def _shows(thing: PlacedObject) -> bool:
    return thing.blocks and thing.mount != "ceiling" and thing.position_m[2] < OVERHEAD_M
