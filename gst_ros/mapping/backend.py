"""The back end: keeps keyframes, closes loops, joins sub-maps, and finds the poses that explain everything best."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.mapping.bundle import adjust, linearise
from gst_ros.mapping.features import Features
from gst_ros.mapping.keyframes import Keyframe
from gst_ros.mapping.links import Link, Note, Trajectory, rehung
from gst_ros.mapping.loops import Loop, LoopVerifier
from gst_ros.mapping.motion import Rig
from gst_ros.mapping.observations import gather
from gst_ros.mapping.planar import Array, between, compose, inverse, transform, wrap
from gst_ros.mapping.posegraph import WRONG, Ties, optimise
from gst_ros.mapping.retrieval import Retrieval
from gst_ros.mapping.tracking import Track

__all__ = ["Backend", "BackendConfig", "Trajectory"]

_LATEST_KEPT = 10  # these keyframes are never thinned out: tracking still hangs on them
_NEAR_FLOOR_M = 0.05  # what is so low probably lies on the floor; the weights sort out what does not
_DRIFT_M, _DRIFT_DEG = 0.08, 1.5  # what a loop may differ from tracking by, beside three standard deviations
_SHARED_TRACKS = 15  # keyframes that share more corners need no loop


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
    join_distance_m: float = setting(0.25, "How far two loops that join sub-maps may disagree.", unit="m")
    join_yaw_deg: float = setting(6.0, "How much turn two loops that join sub-maps may disagree by.", unit="deg")
    final_iterations: int = setting(8, "Steps of each of the two final bundle adjustments.", low=1)


class Backend:
    """Poses of all frames by those of a bounded number of keyframes.

    Args:
        rig: Camera and mount of the tracker.
        extract: Finds the features of a keyframe's picture, for loops; it and the verifier run in a thread.
        verifier: Turns pairs of keyframes into loops; None closes none.
        config: Settings.
    """

    def __init__(
        self,
        rig: Rig,
        extract: Callable[[NDArray[np.uint8]], Features],
        verifier: LoopVerifier | None,
        config: BackendConfig | None = None,
    ) -> None:
        self.config = config or BackendConfig()
        self.rig = rig
        self.keyframes: list[Keyframe] = []
        self.poses = np.empty((0, 3))
        self.loops: list[Loop] = []
        self._extract, self._verifier = extract, verifier
        self._places: dict[int, Features] = {}
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="features")
        self._coming: tuple[Keyframe, Future[Features]] | None = None
        self._compared: list[tuple[int, int, Future[Loop | None]]] = []
        self._links: dict[int, Link] = {}
        self._notes: dict[int, list[Note]] = defaultdict(list)
        self._part_of: dict[int, int] = {}  # sub-map -> part
        self._pending: list[Loop] = []  # between parts, not yet believed
        self._tried: set[tuple[int, int]] = set()
        self._rows: dict[int, int] = {}

    def add(self, track: Track) -> Array:
        """Take in a tracked frame, and its keyframe if it is one.

        Returns:
            (3,) its pose in ``map``, as far as is known now.
        """
        if track.keyframe is not None:
            self._add_keyframe(track.keyframe)
        self._notes[track.reference].append(Note(track.stamp_ns, track.relative, track.state))
        return compose(self.poses[self._rows[track.reference]], track.relative)

    def optimise(self, final: bool = False) -> None:
        """Improve all poses: by the pose graph; in the final pass also by more loops and bundle adjustment."""
        if not self.keyframes:
            return
        self._take_place()
        self._take_loops()
        if final and self._verifier is not None:
            while self._compare_all():
                pass
        self._optimise_graph()
        if final:
            self._adjust()

    def trajectory(self) -> Trajectory:
        """Poses of all frames, by those of the keyframes before and after them."""
        stamps: list[int] = []
        states: list[str] = []
        poses, parts = [np.empty((0, 3))], []
        following = {link.before: index for index, link in self._links.items()}
        for keyframe in self.keyframes:
            notes = self._notes.get(keyframe.index, [])
            if not notes:
                continue
            here = self.poses[self._rows[keyframe.index]]
            relative = np.array([note.relative for note in notes])
            times = np.array([note.stamp_ns for note in notes])
            placed = compose(here, relative)
            if (after := following.get(keyframe.index)) is not None:
                # Spread what tracking and optimisation disagree by over the frames in between.
                there = self.keyframes[self._rows[after]]
                error = between(compose(here, self._links[after].motion), self.poses[self._rows[after]])
                share = (times - keyframe.stamp_ns) / max(there.stamp_ns - keyframe.stamp_ns, 1)
                placed = compose(placed, np.clip(share, 0.0, 1.0)[:, None] * error)
            poses.append(placed)
            stamps += [note.stamp_ns for note in notes]
            states += [note.state for note in notes]
            parts += [self._part_of[keyframe.submap]] * len(notes)
        order = np.argsort(np.array(stamps, dtype=np.int64), kind="stable")
        return Trajectory(
            np.array(stamps, dtype=np.int64)[order],
            np.concatenate(poses)[order],
            tuple(states[k] for k in order),
            np.array(parts, dtype=np.int64)[order],
        )

    # Keyframes

    def _add_keyframe(self, keyframe: Keyframe) -> None:
        pose = keyframe.pose
        self._part_of.setdefault(keyframe.submap, keyframe.submap)
        if self.keyframes:
            last = self.keyframes[-1]
            motion = between(last.pose, keyframe.pose)
            pose = compose(self.poses[-1], motion)
            if last.submap == keyframe.submap:
                self._links[keyframe.index] = Link(last.index, motion, keyframe.motion_covariance, True)
        self._rows[keyframe.index] = len(self.keyframes)
        self.keyframes.append(keyframe)
        self.poses = np.concatenate([self.poses, pose[None]])
        if self._verifier is not None and self._is_place(keyframe, pose):
            self._take_place()
            self._coming = keyframe, self._worker.submit(self._features_of, keyframe)
        if len(self.keyframes) > self.config.most_keyframes:
            self._thin()

    def _thin(self) -> None:
        """Leave out those keyframes that others stand nearest to, a tenth at a time."""
        size = len(self.keyframes)
        scale = np.array([self.config.place_distance_m, self.config.place_distance_m])
        position = self.poses[:, :2] / scale
        apart = np.linalg.norm(position[:, None] - position[None], axis=2)
        apart += np.abs(wrap(self.poses[:, None, 2] - self.poses[None, :, 2])) / np.radians(self.config.place_yaw_deg)
        parts = np.array([self._part_of[k.submap] for k in self.keyframes])
        apart[parts[:, None] != parts[None]] = np.inf
        np.fill_diagonal(apart, np.inf)
        may_go = np.array([k.index in self._links for k in self.keyframes])
        may_go[-_LATEST_KEPT:] = False
        for _ in range(size // 10):
            nearest = np.where(may_go, apart.min(axis=1), np.inf)
            row = int(nearest.argmin())
            if not np.isfinite(nearest[row]):
                break
            may_go[row] = False
            apart[row], apart[:, row] = np.inf, np.inf
            self._forget(self.keyframes[row].index)
        kept = [row for row, k in enumerate(self.keyframes) if k.index in self._rows]
        self.poses = self.poses[kept]
        self.keyframes = [self.keyframes[row] for row in kept]
        self._rows = {k.index: row for row, k in enumerate(self.keyframes)}
        self.loops = [c for c in self.loops if c.first in self._rows and c.second in self._rows]
        self._pending = [c for c in self._pending if c.first in self._rows and c.second in self._rows]
        self._tried = {pair for pair in self._tried if pair[0] in self._rows and pair[1] in self._rows}

    def _forget(self, index: int) -> None:
        """Hand the frames and links of a keyframe to the one before it, as it stands now."""
        link = self._links.pop(index)
        step = between(self.poses[self._rows[link.before]], self.poses[self._rows[index]])
        for note in self._notes.pop(index, []):
            self._notes[link.before].append(Note(note.stamp_ns, compose(step, note.relative), note.state))
        for after, other in list(self._links.items()):
            if other.before == index:
                motion = compose(step, other.motion)
                self._links[after] = Link(link.before, motion, link.covariance + other.covariance, False)
        loops = [rehung(c, index, link, step) for c in self.loops]
        # Of several between the same two the surest is enough; so there are never many more than keyframes.
        loops.sort(key=lambda c: float(np.trace(c.covariance)))
        self.loops = list({(c.first, c.second): c for c in reversed(loops) if c.first != c.second}.values())
        self._places.pop(index, None)
        del self._rows[index]

    # Loops

    def _take_place(self) -> None:
        """Compare the last place with earlier ones, once its features are there.

        They are extracted and compared beside the tracking, and each step is waited for when the next place comes. So
        what is found depends on the frames alone, never on the speed of the machine.
        """
        self._take_loops()
        if self._coming is None:
            return
        keyframe, features = self._coming
        self._coming = None
        if keyframe.index in self._rows:
            self._places[keyframe.index] = features.result()
            self._compare(keyframe.index)

    def _compare_all(self) -> bool:
        """Compare all places with those that may show the same; whether parts were joined, so that more may."""
        parts = len(set(self._part_of.values()))
        for index in sorted(self._places):
            self._compare(index)
        compared, self._compared = self._compared, []
        for first, second, loop in compared:
            self._accept(first, second, loop.result())
        return len(set(self._part_of.values())) < parts

    def _take_loops(self) -> None:
        """Take in what comparing the place before has found."""
        compared, self._compared = self._compared, []
        found = sum(self._accept(first, second, loop.result()) for first, second, loop in compared)
        if found and self._ties().squared(self.poses)[-found:].max() > 2.0:
            self._optimise_graph()

    def _features_of(self, keyframe: Keyframe) -> Features:
        return self._extract(keyframe.image_rgb)

    @property
    def features(self) -> dict[int, Features]:
        """Features of those keyframes that were compared with others, by their times."""
        return {self.keyframes[self._rows[index]].stamp_ns: found for index, found in self._places.items()}

    def _is_place(self, keyframe: Keyframe, pose: Array) -> bool:
        if self._coming is not None and self._coming[0].index in self._rows:
            last = self._coming[0].index
        elif self._places:
            last = max(self._places)
        else:
            return True
        step = between(self.poses[self._rows[last]], pose)
        return bool(
            self.keyframes[self._rows[last]].submap != keyframe.submap
            or np.hypot(step[0], step[1]) > self.config.place_distance_m
            or abs(step[2]) > np.radians(self.config.place_yaw_deg)
        )

    def _part(self, index: int) -> int:
        return self._part_of[self.keyframes[self._rows[index]].submap]

    def _compare(self, index: int) -> None:
        """Begin to compare a keyframe with earlier ones that may show the same place."""
        assert self._verifier is not None
        new = self.keyframes[self._rows[index]]
        for other in self._near(index) + self._alike(index):
            if (other, index) in self._tried:
                continue
            self._tried.add((other, index))
            old = self.keyframes[self._rows[other]]
            found = self._worker.submit(self._verifier.verify, old, new, self._places[other], self._places[index])
            self._compared.append((other, index, found))

    def _accept(self, first: int, second: int, loop: Loop | None) -> int:
        """Take in what comparing two keyframes gave; how many loops are new."""
        if loop is None or first not in self._rows or second not in self._rows:
            return 0
        if self._part(first) != self._part(second):
            self._pending.append(loop)
            return self._join(loop)
        if not self._credible(loop):
            return 0
        self.loops.append(loop)
        return 1

    def _credible(self, loop: Loop) -> bool:
        """Whether tracking between two keyframes can have drifted as far as a loop says.

        Floors repeat: tiles and planks match well, one period off. Tracking over the same stretch knows better.
        """
        first, second = sorted((self._rows[loop.first], self._rows[loop.second]))
        between_them = [k.index for k in self.keyframes[first + 1 : second + 1]]
        if any(index not in self._links for index in between_them):
            return True
        spread = np.sum([np.diag(self._links[index].covariance) for index in between_them], axis=0)
        hops = np.diff(self.poses[first : second + 1, :2], axis=0)
        path_m = float(np.linalg.norm(hops, axis=1).sum())
        # A turn that is off early on moves all that follows; on average half of it.
        std_m = float(np.sqrt(spread[0] + spread[1] + spread[2] * (path_m / 2) ** 2))
        error = between(between(self.poses[self._rows[loop.first]], self.poses[self._rows[loop.second]]), loop.motion)
        return bool(
            np.hypot(error[0], error[1]) < _DRIFT_M + 3.0 * std_m
            and abs(error[2]) < np.radians(_DRIFT_DEG) + 3.0 * float(np.sqrt(spread[2]))
        )

    def _near(self, index: int) -> list[int]:
        """Earlier keyframes of the same part that look at about the same, nearest first."""
        part = self._part(index)
        others = [i for i in self._places if i < index and (i, index) not in self._tried and self._part(i) == part]
        if not others:
            return []
        poses, here = self.poses[[self._rows[i] for i in others]], self.poses[self._rows[index]]
        ahead = self.config.view_m * np.stack([np.cos(poses[:, 2]), np.sin(poses[:, 2])], axis=1)
        target = transform(here, np.array([[self.config.view_m, 0.0]]))[0]
        distance = np.linalg.norm(poses[:, :2] + ahead - target, axis=1)
        turned = np.abs(wrap(poses[:, 2] - here[2]))
        good = (distance < self.config.loop_distance_m) & (turned < np.radians(self.config.loop_yaw_deg))
        own = self.keyframes[self._rows[index]].track_ids
        chosen: list[int] = []
        for k in np.argsort(distance + turned, kind="stable"):
            if not good[k] or len(chosen) == self.config.loops_each:
                continue
            ids = self.keyframes[self._rows[others[k]]].track_ids
            if np.isin(ids, own, assume_unique=True).sum() < _SHARED_TRACKS:
                chosen.append(others[k])
        return chosen

    def _alike(self, index: int) -> list[int]:
        """Keyframes of other parts that look alike."""
        part = self._part(index)
        others = [i for i in self._places if i < index and self._part(i) != part]
        if not others:
            return []
        retrieval = Retrieval([self._places[i].descriptors for i in others])
        chosen = retrieval.candidates(self._places[index].descriptors, self.config.loops_each)
        return [others[k] for k in chosen]

    def _join(self, loop: Loop) -> int:
        """Join two parts when two loops agree how; how many loops came into force."""
        old, new = self._part(loop.first), self._part(loop.second)
        between_them = [c for c in self._pending if {self._part(c.first), self._part(c.second)} == {old, new}]
        implied = [self._implied(c, new) for c in between_them]
        own = self._implied(loop, new)
        errors = between(np.array(implied), np.broadcast_to(own, (len(implied), 3)))
        # Measured where the loop is: a turn about a far origin would look like a shift.
        agree = (np.hypot(errors[:, 0], errors[:, 1]) < self.config.join_distance_m) & (
            np.abs(errors[:, 2]) < np.radians(self.config.join_yaw_deg)
        )
        if agree.sum() < 2:
            return 0
        target = self.poses[self._rows[loop.first]]
        move = compose(compose(target, loop.motion), inverse(self.poses[self._rows[loop.second]]))
        if old > new:
            old, new, move = new, old, inverse(move)
        for row, keyframe in enumerate(self.keyframes):
            if self._part_of[keyframe.submap] == new:
                self.poses[row] = compose(move, self.poses[row])
        for submap, part in self._part_of.items():
            if part == new:
                self._part_of[submap] = old
        believed = [c for c, good in zip(between_them, agree, strict=True) if good]
        self.loops += believed
        self._pending = [c for c in self._pending if c not in between_them]
        return len(believed)

    def _implied(self, loop: Loop, new: int) -> Array:
        """Where a loop between parts puts the latest keyframe of the new part, in the map of the old one."""
        first, second = self.poses[self._rows[loop.first]], self.poses[self._rows[loop.second]]
        latest = next(k for k in reversed(self.keyframes) if self._part_of[k.submap] == new)
        last = self.poses[self._rows[latest.index]]
        if self._part(loop.second) == new:
            return compose(compose(first, loop.motion), between(second, last))
        return compose(compose(second, inverse(loop.motion)), between(first, last))

    # Optimisation

    def _ties(self, bridges_only: bool = False) -> Ties:
        """Links and loops; for bundle adjustment, where corners tie neighbours, links count for little."""
        rows = []
        for index, link in self._links.items():
            factor = 25.0 if bridges_only and link.whole else 1.0
            rows.append((self._rows[link.before], self._rows[index], link.motion, factor * link.covariance, False))
        if not bridges_only:
            rows += [(self._rows[c.first], self._rows[c.second], c.motion, c.covariance, True) for c in self.loops]
        return Ties.of(rows)

    def _fixed(self) -> NDArray[np.bool_]:
        """One pose of each part stays where it is."""
        parts = np.array([self._part_of[k.submap] for k in self.keyframes])
        fixed = np.zeros(len(parts), dtype=bool)
        fixed[np.unique(parts, return_index=True)[1]] = True
        return fixed

    def _optimise_graph(self) -> None:
        """Bring the poses into agreement with loops, and drop loops that all others speak against."""
        ties = self._ties()
        if not len(ties):
            return
        self.poses = optimise(self.poses, ties, self._fixed())
        squared = ties.squared(self.poses)[len(self._links) :]
        self.loops = [loop for loop, s in zip(self.loops, squared, strict=True) if s < WRONG]

    def _adjust(self) -> None:
        bundle = gather(self.keyframes, self.poses, self.loops, self._rows, self._ties(True), self._fixed())
        bundle.on_floor |= np.abs(bundle.points[:, 2]) < _NEAR_FLOOR_M
        adjust(self.rig, bundle, self.config.final_iterations)
        found = linearise(self.rig, bundle)
        good = found.usable & ((found.errors**2).sum(axis=1) < 16.0)
        bundle.pose_of, bundle.point_of = bundle.pose_of[good], bundle.point_of[good]
        bundle.pixels = bundle.pixels[good]
        bundle.on_floor = np.abs(bundle.points[:, 2]) < _NEAR_FLOOR_M
        adjust(self.rig, bundle, self.config.final_iterations)
        self.poses = bundle.poses
