"""A finished map: where the camera was, what is free, where a new picture was taken, which plan it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.backend import Trajectory
from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.plan_match import PlanConfig, PlanRanking, PlanRegistration, rank_plans, register_plan
from gst_ros.mapping.planar import Array, between, compose
from gst_ros.mapping.relocalise import Located, Lost, Relocaliser

Image = NDArray[np.uint8]


@dataclass(frozen=True)
class MapKeyframe:
    """A picture of the map.

    Attributes:
        stamp_ns: Its time.
        pose: (3,) of ``base`` in ``map``.
        part: Which part of the map it belongs to.
        jpeg: The picture.
    """

    stamp_ns: int
    pose: Array
    part: int
    jpeg: bytes = field(repr=False)


@dataclass(frozen=True)
class SpatialMap:
    """What a walk gave.

    All positions are in ``map``, metres; they are as good as the camera's height is known (``mount.height_std_m``).

    Attributes:
        camera: Of the video.
        mount: How it was mounted.
        trajectory: Poses of all frames.
        keyframes: In the order of time.
        grid: Free floor and obstacles; None if the walk was too short for one.
        relocaliser: The features of the keyframes of the main part.
        main_part: The part that grid and relocaliser are of: the one with most frames. Other parts could not be
            connected with it; where they lie is not known.
        notes: What a user should know, in words: losses, parts that could not be joined, how the camera is known.
    """

    camera: PinholeCamera
    mount: CameraMount
    trajectory: Trajectory
    keyframes: tuple[MapKeyframe, ...]
    grid: OccupancyGrid | None
    relocaliser: Relocaliser = field(repr=False)
    main_part: int = 0
    notes: tuple[str, ...] = ()

    @property
    def relative_scale_std(self) -> float:
        """Standard deviation of every distance, as a share of it: the camera's height gives the scale."""
        return self.mount.height_std_m / self.mount.height_m

    def pose_at(self, stamp_ns: int) -> Array:
        """(3,) pose of ``base`` in ``map`` at a time, between frames by steady motion.

        Raises:
            MapError: The time lies outside the video, or in a part that is not connected with the main one.
        """
        stamps = self.trajectory.stamps_ns
        if not len(stamps) or not stamps[0] <= stamp_ns <= stamps[-1]:
            raise MapError(f"the map knows nothing of the time {stamp_ns} ns", remedy=self._span())
        after = int(np.searchsorted(stamps, stamp_ns))
        before = max(after - 1, 0)
        if stamps[after] == stamp_ns:
            before = after
        if {self.trajectory.parts[before], self.trajectory.parts[after]} != {self.main_part}:
            raise MapError(f"at the time {stamp_ns} ns the camera was lost", remedy="see the map's notes")
        first, second = self.trajectory.poses[before], self.trajectory.poses[after]
        share = 0.0 if before == after else (stamp_ns - stamps[before]) / (stamps[after] - stamps[before])
        return compose(first, between(first, second) * share)

    def locate(
        self, image: Image, camera: PinholeCamera | None = None, prior: CameraMount | None = None
    ) -> Located | Lost:
        """Where a picture was taken; see :meth:`gst_ros.mapping.relocalise.Relocaliser.locate`."""
        return self.relocaliser.locate(image, camera, prior, self.grid)

    def register_plan(self, image: Image, config: PlanConfig | None = None) -> PlanRegistration:
        """Lay the map on a top-down image; see :func:`gst_ros.mapping.plan_match.register_plan`."""
        return register_plan(self._grid(), image, config)

    def rank_plans(self, images: Sequence[Image], config: PlanConfig | None = None) -> PlanRanking:
        """Which of several top-down images shows this place; see :func:`gst_ros.mapping.plan_match.rank_plans`."""
        return rank_plans(self._grid(), images, config)

    def _grid(self) -> OccupancyGrid:
        if self.grid is None:
            raise MapError("the walk was too short for a grid")
        return self.grid

    def _span(self) -> str:
        stamps = self.trajectory.stamps_ns
        return f"it covers {stamps[0]} to {stamps[-1]} ns" if len(stamps) else "no frame was tracked"
