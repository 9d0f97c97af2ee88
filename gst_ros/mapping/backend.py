"""The back end: keeps keyframes, closes loops, and finds the poses that explain everything best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gst_ros.config import Settings, setting
from gst_ros.mapping.bundle import Bundle, adjust, linearise
from gst_ros.mapping.features import FeatureKind, Features
from gst_ros.mapping.keyframes import Keyframe
from gst_ros.mapping.loops import Loop, LoopConfig, LoopVerifier
from gst_ros.mapping.motion import Rig
from gst_ros.mapping.planar import Array, between, compose, transform, wrap
from gst_ros.mapping.posegraph import WRONG, Ties, optimise
from gst_ros.mapping.tracking import Track


@dataclass(frozen=True)
class BackendConfig(Settings):
    """Settings of the back end."""

    most_keyframes: int = setting(600, "More keyframes are thinned out.", low=20)
    place_distance_m: float = setting(0.4, "Keyframes are compared with others at least every so far.", unit="m")
    place_yaw_deg: float = setting(30.0, "Keyframes are compared with others at least every so much turn.", unit="deg")
    view_m: float = setting(2.0, "What is looked at lies so far ahead.", unit="m", above=0.0)
    loop_distance_m: float = setting(2.0, "Largest distance of what two keyframes of a loop look at.", unit="m")
    loop_yaw_deg: float = setting(60.0, "Largest turn between two keyframes of a loop.", unit="deg")
    loops_each: int = setting(3, "Pairs tried for a keyframe.", low=0)
    final_iterations: int = setting(8, "Steps of each of the two final bundle adjustments.", low=1)


@dataclass(frozen=True)
class Trajectory:
    """Where the camera was.

    Attributes:
        stamps_ns: F times of all frames.
        poses: F x 3 in ``map``.
        states: F words of the tracker: tracking, weak, lost.
        parts: F numbers: frames with the same number are connected to each other; 0 is the first frame's part.
    """

    stamps_ns: np.typing.NDArray[np.int64]
    poses: Array
    states: tuple[str, ...]
    parts: np.typing.NDArray[np.int64]


class Backend:
    """Poses of all frames by those of a bounded number of keyframes.

    Args:
        rig: Camera and mount of the tracker.
        features: For loops; None closes none.
        config: Settings.
        loop_config: Settings of loop closure.
    """

    def __init__(
        self,
        rig: Rig,
        features: FeatureKind | None,
        config: BackendConfig | None = None,
        loop_config: LoopConfig | None = None,
    ) -> None:
        self.config = config or BackendConfig()
        self.rig = rig
        self.keyframes: list[Keyframe] = []
        self.poses = np.empty((0, 3))
        self.loops: list[Loop] = []
        self._verifier = None if features is None else LoopVerifier(rig, features, loop_config)
        self._seen: dict[int, Features] = {}
        self._chain: dict[int, tuple[int, Array, Array]] = {}  # keyframe -> keyframe before, motion, covariance
        self._frames: list[tuple[int, int, Array, str, int]] = []
        self._tried: set[tuple[int, int]] = set()

    def add(self, track: Track) -> None:
        """Take in a tracked frame, and its keyframe if it is one."""
        if track.keyframe is not None:
            self._add_keyframe(track.keyframe)
        self._frames.append((track.stamp_ns, track.reference, track.relative, track.state, track.submap))

    def _add_keyframe(self, keyframe: Keyframe) -> None:
        pose = keyframe.pose
        if self.keyframes:
            last = self.keyframes[-1]
            motion = between(last.pose, keyframe.pose)
            pose = compose(self.poses[-1], motion)
            if last.submap == keyframe.submap:
                self._chain[keyframe.index] = (last.index, motion, keyframe.motion_covariance)
        self.keyframes.append(keyframe)
        self.poses = np.concatenate([self.poses, pose[None]])
        if self._verifier is not None and self._is_place(pose):
            self._seen[keyframe.index] = self._verifier.extract(keyframe)
            if self._close_loops(keyframe.index):
                self._optimise_graph()

    # Loops

    def _rows(self) -> dict[int, int]:
        return {keyframe.index: row for row, keyframe in enumerate(self.keyframes)}

    def _is_place(self, pose: Array) -> bool:
        if not self._seen:
            return True
        last = self.poses[self._rows()[max(self._seen)]]
        step = between(last, pose)
        return bool(
            np.hypot(step[0], step[1]) > self.config.place_distance_m
            or abs(step[2]) > np.radians(self.config.place_yaw_deg)
        )

    def _close_loops(self, index: int) -> bool:
        """Compare a keyframe with earlier ones that look at the same place; whether there is a new loop."""
        assert self._verifier is not None
        rows = self._rows()
        new = self.keyframes[rows[index]]
        found = False
        for other in self._candidates(index, rows)[: self.config.loops_each]:
            self._tried.add((other, index))
            old = self.keyframes[rows[other]]
            loop = self._verifier.verify(old, new, self._seen[other], self._seen[index])
            if loop is not None:
                self.loops.append(loop)
                found = True
        return found

    def _candidates(self, index: int, rows: dict[int, int]) -> list[int]:
        new = self.keyframes[rows[index]]
        others = [i for i in self._seen if i < index and i in rows and (i, index) not in self._tried]
        if not others:
            return []
        poses = self.poses[[rows[i] for i in others]]
        here = self.poses[rows[index]]
        ahead = np.array([[self.config.view_m, 0.0]])
        looked_at = np.array([transform(p, ahead)[0] for p in poses])
        distance = np.linalg.norm(looked_at - transform(here, ahead)[0], axis=1)
        turned = np.abs(wrap(poses[:, 2] - here[2]))
        good = (distance < self.config.loop_distance_m) & (turned < np.radians(self.config.loop_yaw_deg))
        for k in np.flatnonzero(good):
            shared = np.isin(self.keyframes[rows[others[k]]].track_ids, new.track_ids).sum()
            good[k] = shared < 15
        order = np.argsort(distance + turned, kind="stable")
        return [others[k] for k in order if good[k]]

    # Optimisation

    def _ties(self, rows: dict[int, int], loops: bool = True) -> Ties:
        ties = [(rows[a], rows[b], motion, cov, False) for b, (a, motion, cov) in self._chain.items()]
        if loops:
            ties += [(rows[c.first], rows[c.second], c.motion, c.covariance, True) for c in self.loops]
        return Ties.of(ties)

    def _optimise_graph(self) -> None:
        """Bring the poses into agreement with loops, and drop loops that nothing agrees with."""
        rows = self._rows()
        ties = self._ties(rows)
        fixed = np.zeros(len(self.poses), dtype=bool)
        fixed[0] = True
        submaps = [k.submap for k in self.keyframes]
        for row in range(1, len(submaps)):
            if submaps[row] != submaps[row - 1]:
                fixed[row] = True
        self.poses = optimise(self.poses, ties, fixed)
        squared = ties.squared(self.poses)[len(self._chain) :]
        self.loops = [loop for loop, s in zip(self.loops, squared, strict=True) if s < WRONG]

    def optimise(self, final: bool = False) -> None:
        """Improve all poses: by the pose graph, and in the final pass by bundle adjustment."""
        if not self.keyframes:
            return
        if final and self._verifier is not None:
            for index in sorted(self._seen):
                self._close_loops(index)
        self._optimise_graph()
        if final:
            self._adjust()

    def _adjust(self) -> None:
        bundle = self._bundle()
        adjust(self.rig, bundle, self.config.final_iterations)
        found = linearise(self.rig, bundle)
        good = found.usable & ((found.errors**2).sum(axis=1) < 16.0)
        bundle.pose_of, bundle.point_of = bundle.pose_of[good], bundle.point_of[good]
        bundle.pixels = bundle.pixels[good]
        bundle.on_floor &= np.abs(bundle.points[:, 2]) < 0.03
        adjust(self.rig, bundle, self.config.final_iterations)
        self.poses = bundle.poses

    def _bundle(self) -> Bundle:
        rows = self._rows()
        ids = np.concatenate([k.track_ids for k in self.keyframes])
        pose_of = np.repeat(np.arange(len(self.keyframes)), [len(k.track_ids) for k in self.keyframes])
        pixels = np.concatenate([k.pixels for k in self.keyframes])
        floor = np.concatenate([k.on_floor for k in self.keyframes])
        points = np.concatenate(
            [
                np.column_stack([transform(p, k.points[:, :2]), k.points[:, 2]])
                for p, k in zip(self.poses, self.keyframes, strict=True)
            ]
        )
        _, point_of, counts = np.unique(ids, return_inverse=True, return_counts=True)
        keep = counts[point_of] >= 2
        used, point_of = np.unique(point_of[keep], return_inverse=True)
        pose_of, pixels, floor, points = pose_of[keep], pixels[keep], floor[keep], points[keep]
        latest = np.zeros(len(used), dtype=np.int64)
        np.maximum.at(latest, point_of, np.arange(len(point_of)))
        point_sets, floor_sets = [points[latest]], [floor[latest]]
        pose_sets, index_sets, pixel_sets = [pose_of], [point_of], [pixels]
        count = len(used)
        for loop in self.loops:
            n = len(loop.points)
            at = self.poses[rows[loop.first]]
            point_sets.append(np.column_stack([transform(at, loop.points[:, :2]), loop.points[:, 2]]))
            floor_sets.append(loop.on_floor)
            pose_sets += [np.full(n, rows[loop.first]), np.full(n, rows[loop.second])]
            index_sets += [np.arange(count, count + n)] * 2
            pixel_sets += [loop.pixels_first, loop.pixels_second]
            count += n
        fixed = np.zeros(len(self.poses), dtype=bool)
        fixed[0] = True
        weak = [(rows[a], rows[b], m, 25.0 * c, False) for b, (a, m, c) in self._chain.items()]
        return Bundle(
            self.poses.copy(), np.concatenate(point_sets), np.concatenate(pose_sets), np.concatenate(index_sets),
            np.concatenate(pixel_sets), np.concatenate(floor_sets), fixed, Ties.of(weak),
        )  # fmt: skip

    # What is asked

    def trajectory(self) -> Trajectory:
        """Poses of all frames, by those of the keyframes before and after them."""
        rows = self._rows()
        reference = np.array([rows[f[1]] for f in self._frames])
        relative = np.array([f[2] for f in self._frames])
        stamps = np.array([f[0] for f in self._frames], dtype=np.int64)
        parts = np.array([f[4] for f in self._frames], dtype=np.int64)
        poses = compose(self.poses[reference], relative)

        for row in np.unique(reference):
            after = int(row) + 1
            if after >= len(self.keyframes) or self.keyframes[after].index not in self._chain:
                continue
            # Spread what tracking and optimisation disagree by over the frames in between.
            error = between(compose(self.poses[row], self._chain[self.keyframes[after].index][1]), self.poses[after])
            inside = reference == row
            start, end = self.keyframes[row].stamp_ns, self.keyframes[after].stamp_ns
            share = np.clip((stamps[inside] - start) / max(end - start, 1), 0.0, 1.0)
            poses[inside] = compose(poses[inside], share[:, None] * error)

        return Trajectory(stamps, poses, tuple(f[3] for f in self._frames), parts)
