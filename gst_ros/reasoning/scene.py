"""One walk's map as questions need it: views located, plans laid, the marked object found, each once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gst_ros.errors import GstError
from gst_ros.mapping.camera import MapError
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.manhattan import ManhattanDirections, directions_of_grid
from gst_ros.mapping.plan_match import PlanRanking, PlanRegistration
from gst_ros.mapping.relocalise import Located, Lost
from gst_ros.media.images import decode_image
from gst_ros.memory.cuboids import Cuboid, fit_cuboid
from gst_ros.memory.walks import Mark, Walk

Array = NDArray[np.float64]
T = TypeVar("T")

LEAST_MARK_SCORE = 0.7
"""Marks of which one side alone is seen (0.6 at most) are used only where there are no others."""
_LEAST_FREE_CELLS = 50
_LEAST_RUN, _MOST_GAP = 3, 3
"""Frames that a mark lasts, at least, and steps between frames of one run, at most."""


def _lasting(seen: list[tuple[Mark, int]]) -> list[tuple[Mark, int]]:
    """The marks that last for some frames, if any do: a red thing looks like a mark for a moment only.

    Args:
        seen: Marks with the numbers of their frames, in order.
    """
    numbers = np.array([number for _, number in seen])
    runs = np.split(np.arange(len(seen)), np.flatnonzero(np.diff(numbers) > _MOST_GAP) + 1)
    lasting = [k for run in runs if len(run) >= _LEAST_RUN for k in run]
    return [seen[k] for k in lasting] or seen


class Scene:
    """What was found out about one walk. Everything is worked out when it is first asked for, and kept.

    Args:
        walk: The walk.
        before: The scene of the walk before: if that has the same map, what was found in it holds here too.
    """

    def __init__(self, walk: Walk, before: Scene | None = None) -> None:
        self.walk = walk
        same = before is not None and before.walk.place is walk.place
        self._found: dict[tuple[str, str], object] = before._found if before is not None and same else {}

    def view(self, image: bytes) -> Located | Lost:
        """Where a query view was taken."""
        return self._once("view", [image], lambda: self.walk.place.locate(decode_image(image)))

    def plan(self, image: bytes) -> PlanRegistration:
        """Where the map lies on a top-down image.

        Raises:
            MapError: There is no map to lay there, or the image is no plan.
        """
        return self._once("plan", [image], lambda: self.walk.place.register_plan(decode_image(image)))

    def ranking(self, images: Sequence[bytes]) -> PlanRanking:
        """Which of several top-down images shows the map.

        Raises:
            MapError: There is no map, or none of the images is a plan.
        """
        return self._once("plans", images, lambda: self.walk.place.rank_plans([decode_image(i) for i in images]))

    @cached_property
    def marked(self) -> Cuboid | None:
        """The marked object; None where no frame with a known pose shows a mark."""
        place = self.walk.place
        rows = {int(stamp): k for k, stamp in enumerate(place.trajectory.stamps_ns)}
        seen = [
            (mark, rows[mark.stamp_ns])
            for mark in self.walk.marks
            if mark.stamp_ns in rows and place.trajectory.parts[rows[mark.stamp_ns]] == place.main_part
        ]
        sure = [pair for pair in seen if pair[0].score >= LEAST_MARK_SCORE] or seen
        if not sure:
            return None
        sure = _lasting(sure)
        boxes = np.array([mark.box_px for mark, _ in sure], np.float64)
        poses = place.trajectory.poses[[row for _, row in sure]]
        walls = self.walls
        return fit_cuboid(boxes, poses, place.camera, place.mount, None if walls is None else walls.yaw_rad)

    @cached_property
    def grid(self) -> OccupancyGrid | None:
        """The map's grid, if enough of it is free to say anything."""
        grid = self.walk.place.grid
        return None if grid is None or int(grid.free.sum()) < _LEAST_FREE_CELLS else grid

    @cached_property
    def walls(self) -> ManhattanDirections | None:
        """The directions of the walls, if there are any that stand out."""
        found = None if self.grid is None else directions_of_grid(self.grid)
        return None if found is None or found.strength < 0.15 else found

    @cached_property
    def free_points_m(self) -> Array:
        """N x 2 points of ``map`` on free floor; those of the walk itself where there is no grid."""
        if self.grid is None:
            return np.asarray(self.path_m)
        rows, columns = np.nonzero(self.grid.free)
        return np.asarray(self.grid.point_of(np.stack([rows, columns], axis=1)))

    @cached_property
    def path_m(self) -> Array:
        """N x 2 points of ``map``: where the camera went, as far as it is known in the main part."""
        trajectory = self.walk.place.trajectory
        return np.asarray(trajectory.poses[trajectory.parts == self.walk.place.main_part, :2])

    def _once(self, what: str, images: Sequence[bytes], find: Callable[[], T]) -> T:
        key = what, hashlib.sha256(b"\0".join(hashlib.sha256(image).digest() for image in images)).hexdigest()
        if key not in self._found:
            try:
                self._found[key] = find()
            except GstError as error:
                self._found[key] = error
        found = self._found[key]
        if isinstance(found, GstError):
            raise found if isinstance(found, MapError) else MapError(found.problem)
        return found  # type: ignore[return-value]  # what this key's `find` returned
