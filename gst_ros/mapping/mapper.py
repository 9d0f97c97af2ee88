"""The way into mapping: frames in, a map out.

mapper = Mapper(camera, mount)
for frame in clip:
mapper.add(frame)
place = mapper.finish()
place.pose_at(stamp_ns), place.locate(image_rgb), place.grid, place.register_plan(plan_rgb)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from gst_ros.mapping.backend import Backend, BackendConfig
from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera, check_camera
from gst_ros.mapping.features import FeatureKind, Features, open_features
from gst_ros.mapping.fusion import GridConfig, build_grid
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.keyframes import Keyframe, decode
from gst_ros.mapping.links import Trajectory
from gst_ros.mapping.loops import LoopConfig, LoopVerifier
from gst_ros.mapping.planar import Array
from gst_ros.mapping.relocalise import RelocaliseConfig, Relocaliser
from gst_ros.mapping.spatial_map import MapKeyframe, SpatialMap
from gst_ros.mapping.sweep import SweepConfig, View
from gst_ros.mapping.tracking import Track, Tracker, TrackingConfig
from gst_ros.media.frames import Frame


@dataclass(frozen=True)
class MapperConfig:
    """Settings of all parts of a mapper."""

    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    backend: BackendConfig = field(default_factory=BackendConfig)
    loops: LoopConfig = field(default_factory=LoopConfig)
    sweep: SweepConfig = field(default_factory=SweepConfig)
    grid: GridConfig = field(default_factory=GridConfig)
    relocalise: RelocaliseConfig = field(default_factory=RelocaliseConfig)


class Mapper:
    """Online SLAM of a camera that moves in the plane. Not thread-safe.

    Args:
        camera: Intrinsics of the frames; distortion has been taken off them.
        mount: How the camera is mounted.
        config: Settings.
        kind: Features that are ready already; those that the configuration names without it.
    """

    def __init__(
        self,
        camera: PinholeCamera,
        mount: CameraMount,
        config: MapperConfig | None = None,
        kind: FeatureKind | None = None,
    ) -> None:
        self.config = config or MapperConfig()
        check_camera(camera, mount)
        self.camera, self.mount = camera, mount
        self.kind = kind or open_features(self.config.relocalise.features)
        self._tracker = Tracker(camera, mount, self.config.tracking)
        self._relocaliser = self._new_relocaliser()
        rig = self._tracker.rig
        # Loops are sought with the features that pictures are located by: they are extracted once.
        scale = np.array([rig.camera.width / camera.width, rig.camera.height / camera.height])
        middle = 0.5 * scale - 0.5
        to_rig = np.array([[scale[0], 0.0, middle[0]], [0.0, scale[1], middle[1]], [0.0, 0.0, 1.0]])
        verifier = LoopVerifier(rig, self.kind, self.config.loops, to_rig @ self._relocaliser.picture_from_features)
        self._backend = Backend(rig, self._relocaliser.extract, verifier, self.config.backend)

    def add(self, frame: Frame, odometry: Array | None = None) -> Track:
        """Take in the next frame.

        Args:
            frame: Later than all before.
            odometry: (3,) pose of the wheels in a frame of their own, at this frame's time, where there is one.
        """
        if (frame.image_rgb.shape[1], frame.image_rgb.shape[0]) != (self.camera.width, self.camera.height):
            raise MapError(
                f"a frame has {frame.image_rgb.shape[1]} x {frame.image_rgb.shape[0]} pixels, the camera"
                f" {self.camera.width} x {self.camera.height}",
                remedy="give the calibration of this video's size",
            )
        track = self._tracker.track(frame, odometry)
        self._backend.add(track)
        return track

    @property
    def trajectory(self) -> Trajectory:
        """Poses of all frames, as far as they are known now."""
        return self._backend.trajectory()

    def finish(self) -> SpatialMap:
        """Make the map of all frames so far; more may follow, and another map be made then.

        Raises:
            MapError: No frame came in, or none shows anything to follow.
        """
        if not self._backend.keyframes:
            raise MapError("there is no frame to make a map of")
        if not any(len(keyframe.track_ids) for keyframe in self._backend.keyframes):
            raise MapError("shows too little to map: nothing in the pictures can be followed")
        self._backend.optimise(final=True)
        trajectory = self._backend.trajectory()
        numbers, counts = np.unique(trajectory.parts, return_counts=True)
        main = int(numbers[np.argmax(counts)])
        keyframes = tuple(_placed(self._backend.keyframes, trajectory))
        chosen = [keyframe for keyframe in keyframes if keyframe.part == main]
        relocaliser = self._new_relocaliser()
        with ThreadPoolExecutor(1) as pool:
            filled = pool.submit(_fill, relocaliser, chosen, self._backend.features)
            grid = self._grid(chosen)
            filled.result()
        notes = tuple(_notes(trajectory, main))
        return SpatialMap(self.camera, self.mount, trajectory, keyframes, grid, relocaliser, main, notes)

    def _new_relocaliser(self) -> Relocaliser:
        return Relocaliser(self.camera, self.mount, self.config.relocalise, self.kind)

    def _grid(self, keyframes: Sequence[MapKeyframe]) -> OccupancyGrid | None:
        """The grid; None where there are no two views to compare."""
        # No larger than they are swept: all of them are in memory together.
        views = [View(keyframe.pose, decode(keyframe.jpeg, self.config.sweep.width_px)) for keyframe in keyframes]
        if len(views) < 2:
            return None
        height, width = views[0].image.shape[:2]
        camera = self.camera.scaled_to(width, height)
        return build_grid(views, camera, self.mount, self.config.grid, self.config.sweep)


def _placed(keyframes: Iterable[Keyframe], trajectory: Trajectory) -> Iterator[MapKeyframe]:
    """Keyframes with their poses; each is a frame of the trajectory."""
    for keyframe in keyframes:
        row = int(np.searchsorted(trajectory.stamps_ns, keyframe.stamp_ns))
        yield MapKeyframe(keyframe.stamp_ns, trajectory.poses[row], int(trajectory.parts[row]), keyframe.jpeg)


def _fill(relocaliser: Relocaliser, keyframes: Sequence[MapKeyframe], known: Mapping[int, Features]) -> None:
    """Give all keyframes to a relocaliser, with the features that are known by their times."""
    for keyframe in keyframes:
        relocaliser.add(decode(keyframe.jpeg), keyframe.pose, keyframe.stamp_ns, known.get(keyframe.stamp_ns))
    relocaliser.prepare()


def _notes(trajectory: Trajectory, main: int) -> Iterator[str]:
    """What went wrong, in words."""
    lost = sum(state == "lost" for state in trajectory.states)
    if lost:
        yield f"the camera was lost in {lost} of {len(trajectory.states)} frames"
    outside = int((trajectory.parts != main).sum())
    if outside:
        parts = len(np.unique(trajectory.parts)) - 1
        yield f"{outside} frames lie in {parts} part(s) that could not be connected with the map"
