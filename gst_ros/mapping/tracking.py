"""The front end: follows the camera frame by frame, and says when it cannot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import CameraMount, PinholeCamera
from gst_ros.mapping.corners import Gray, as_gray, detect, follow
from gst_ros.mapping.keyframes import Keyframe, encode
from gst_ros.mapping.motion import Landmarks, Motion, Rig, estimate, relative_covariance, residuals
from gst_ros.mapping.planar import Array, between, compose, inverse, wrap
from gst_ros.mapping.tracks import Tracks
from gst_ros.mapping.turning import align_turn
from gst_ros.media.frames import Frame

_NS_PER_S = 1e9
_USUAL_DEPTH_M = 2.0  # at which a way looks like a turn
_WAY_STD_M, _WAY_PER_UNLIKENESS_M = 0.01, 0.35  # two pictures that agree to 0.95 are about 3 cm apart


@dataclass(frozen=True)
class TrackingConfig(Settings):
    """Settings of the front end."""

    work_width: int = setting(640, "Wider frames are scaled down to this width.", unit="px", low=160)
    corners: int = setting(350, "Corners to follow.", low=50)
    hypotheses: int = setting(60, "Motions tried per frame.", low=8)
    pixel_std: float = setting(0.8, "Standard deviation of a corner's coordinate.", unit="px", above=0.0)
    least_inliers: int = setting(12, "Fewer agreeing corners are no motion.", low=3)
    sure_inliers: int = setting(30, "With fewer agreeing corners the motion is weak.", low=3)
    keyframe_distance_m: float = setting(0.3, "A keyframe at least every so far.", unit="m", above=0.0)
    keyframe_yaw_deg: float = setting(15.0, "A keyframe at least every so much turn.", unit="deg", above=0.0)
    keyframe_left: float = setting(0.3, "A keyframe when fewer of the last one's corners are left.", low=0.0, high=1.0)
    refill: float = setting(0.75, "New corners are sought when fewer of them are left.", low=0.0, high=1.0)
    bridge_s: float = setting(1.2, "Longest gap that expected motion may bridge.", unit="s", low=0.0)
    tries: int = setting(3, "Textured frames that must fail before tracking begins anew.", low=1)
    turn_likeness: float = setting(0.75, "Whole pictures tell a turn when they agree so well.", low=0.0, high=1.0)
    turn_margin: float = setting(0.1, "And so much better than at any other turn.", low=0.0, high=1.0)
    velocity_std_m_per_s: float = setting(1.0, "How much the speed may change.", unit="m/s", above=0.0)
    yaw_rate_std_deg_per_s: float = setting(60.0, "How much the yaw rate may change.", unit="deg/s", above=0.0)
    odometry_std: float = setting(0.05, "Relative standard deviation of odometry, where it is given.", above=0.0)


@dataclass(frozen=True)
class Track:
    """What is known of one frame.

    Attributes:
        stamp_ns: Its time.
        pose: (3,) in the frame of the sub-map, which begins at the pose expected when it was begun.
        covariance: 3 x 3 of x, y, yaw since the sub-map began; grows quickly where nothing is seen.
        n_inliers: How many corners agree with the pose.
        state: 'tracking', 'weak' (few corners, or the pose is only what is expected) or 'lost'.
        submap: Number of the stretch without loss.
        keyframe: The keyframe that this frame became, or None.
        reference: Index of the keyframe before it, or its own; -1 before the first.
        relative: (3,) pose in the reference's ``base``.
    """

    stamp_ns: int
    pose: Array
    covariance: Array
    n_inliers: int
    state: str
    submap: int
    keyframe: Keyframe | None
    reference: int
    relative: Array

    @property
    def is_keyframe(self) -> bool:
        """Whether it became one."""
        return self.keyframe is not None


class Tracker:
    """Follows corners from frame to frame and the camera's pose by them; online, in constant memory.

    The picture last tracked well stays the reference until another one is. So blank or torn frames are stepped over,
    and only a gap that nothing bridges begins a new sub-map.
    """

    def __init__(self, camera: PinholeCamera, mount: CameraMount, config: TrackingConfig | None = None) -> None:
        self.config = config or TrackingConfig()
        scale = min(1.0, self.config.work_width / camera.width)
        self.rig = Rig(camera.scaled_to(round(camera.width * scale), round(camera.height * scale)), mount)
        self._random = np.random.default_rng(0)
        self._tracks = Tracks(self.rig)
        self._gray: Gray | None = None
        self._stamp_ns = 0
        self._pose = np.zeros(3)
        self._covariance = np.zeros((3, 3))
        self._velocity = np.zeros(3)  # per second, in base
        self._odometry: Array | None = None
        self._failed = 0
        self._submap = 0
        self._keyframes = 0
        self._last: Keyframe | None = None
        self._since_keyframe = np.zeros((3, 3))

    def track(self, frame: Frame, odometry: Array | None = None) -> Track:
        """Take in the next frame.

        Args:
            frame: Later than all before.
            odometry: (3,) pose of the wheels in a frame of their own, at this frame's time, where there is one.
        """
        gray = as_gray(frame.image_rgb, self.rig.camera.width, self.rig.camera.height)
        if self._gray is None:
            return self._begin(frame, gray, np.zeros(3), odometry, "tracking")
        expected, information = self._expect(frame.stamp_ns, odometry)
        found = self._find(gray, expected, information)
        turned = None
        if found is None and (turned := self._turned(gray, expected)) is not None:
            found = self._find(gray, *turned)
        if found is not None:
            motion, pixels = found
            return self._accept(frame, gray, motion, pixels, odometry)
        if turned is not None:
            return self._bridge(frame, gray, *turned, odometry)
        return self._miss(frame, gray, expected, information, odometry)

    # Motion

    def _expect(self, stamp_ns: int, odometry: Array | None) -> tuple[Array, Array]:
        """The pose by odometry, or by motion that goes on, and the inverse of its covariance in the sub-map's axes."""
        gap_s = (stamp_ns - self._stamp_ns) / _NS_PER_S
        if odometry is not None and self._odometry is not None:
            step = between(self._odometry, odometry)
            relative = self.config.odometry_std
            stds = np.array([relative * np.hypot(*step[:2]) + 0.003] * 2 + [relative * abs(step[2]) + 0.003])
        else:
            step = self._velocity * gap_s * np.exp(-gap_s / self.config.bridge_s)
            spread = self.config.velocity_std_m_per_s * gap_s
            stds = np.array([spread, spread, np.radians(self.config.yaw_rate_std_deg_per_s) * gap_s])
        expected = compose(self._pose, step)
        covariance = relative_covariance(inverse(expected), np.diag(stds**2))
        return expected, np.asarray(np.linalg.inv(covariance), dtype=np.float64)

    def _find(self, gray: Gray, expected: Array, information: Array) -> tuple[Motion, Array] | None:
        """The motion from the reference picture, with N x 2 pixels of the tracks that were followed."""
        if len(self._tracks) < self.config.least_inliers:
            return None
        assert self._gray is not None
        landmarks, trusted = self._tracks.best_landmarks()
        before = self._project(landmarks, self._pose)
        now = self._project(landmarks, expected)
        size = max(self.rig.camera.width, self.rig.camera.height)
        shift = np.where(np.isfinite(now - before), now - before, 0.0).clip(-size, size)
        pixels, found = follow(self._gray, gray, self._tracks.pixels, self._tracks.pixels + shift)
        if found.sum() < self.config.least_inliers:
            return None
        landmarks, trusted, seen = landmarks[found], trusted[found], pixels[found]
        motion = estimate(
            self.rig, landmarks, seen, trusted, self._random,
            guesses=np.stack([expected, self._pose]), count=self.config.hypotheses, pixel_std=self.config.pixel_std,
            prior=expected, prior_information=information, otherwise=self._tracks.landmarks[found],
        )  # fmt: skip
        if motion is None or motion.n_inliers < max(self.config.least_inliers, 0.3 * len(seen)):
            return None
        if not self._possible(motion.pose):
            return None
        self._tracks.keep(found)
        return motion, seen

    def _turned(self, gray: Gray, expected: Array) -> tuple[Array, Array] | None:
        """The pose by whole pictures, where corners do not tell it, and the inverse of its covariance.

        Whole pictures tell the turn; of the way they tell, by how well they agree, that it was short.
        """
        assert self._gray is not None
        step = between(self._pose, expected)
        turn = align_turn(self._gray, gray, self.rig, float(step[2]))
        if turn is None or turn.likeness < self.config.turn_likeness or turn.margin < self.config.turn_margin:
            return None
        way_std = _WAY_STD_M + _WAY_PER_UNLIKENESS_M * (1.0 - turn.likeness)
        stds = np.array([way_std, way_std, np.hypot(turn.std_rad, way_std / _USUAL_DEPTH_M)])
        pose = compose(self._pose, np.array([step[0], step[1], turn.yaw_rad]))
        covariance = relative_covariance(inverse(pose), np.diag(stds**2))
        return pose, np.asarray(np.linalg.inv(covariance), dtype=np.float64)

    def _project(self, landmarks: Landmarks, pose: Array) -> Array:
        zero = np.zeros((len(landmarks), 2))
        found = residuals(self.rig, landmarks, zero, pose, 1.0)
        return -np.stack([found.u, found.v], axis=1)

    def _possible(self, pose: Array) -> bool:
        step = between(self._pose, pose)
        return bool(np.hypot(step[0], step[1]) < 1.0 and abs(step[2]) < np.radians(60))

    # What follows from it

    def _accept(self, frame: Frame, gray: Gray, motion: Motion, pixels: Array, odometry: Array | None) -> Track:
        step = between(self._pose, motion.pose)
        gap_s = max((frame.stamp_ns - self._stamp_ns) / _NS_PER_S, 1e-3)
        self._velocity = step / gap_s
        own = relative_covariance(motion.pose, motion.covariance)
        along, turned = 0.002 + 0.01 * float(np.hypot(step[0], step[1])), 0.0005 + 0.005 * abs(float(step[2]))
        self._grow(step, own + np.diag([along**2, along**2, turned**2]))
        self._pose, self._stamp_ns, self._gray, self._odometry = motion.pose, frame.stamp_ns, gray, odometry
        self._failed = 0
        self._tracks.see(pixels, motion.pose, motion.inliers)
        state = "tracking" if motion.n_inliers >= self.config.sure_inliers else "weak"
        due = self._is_due()
        if due or len(self._tracks) < self.config.refill * self.config.corners:
            self._tracks.add(self._pose, detect(gray, self._tracks.pixels, self.config.corners))
        keyframe = self._make_keyframe(frame) if due else None
        return self._report(frame, motion.pose, self._covariance, motion.n_inliers, state, keyframe)

    def _bridge(self, frame: Frame, gray: Gray, pose: Array, information: Array, odometry: Array | None) -> Track:
        """Go on from a pose that whole pictures gave, with the corners that this one has."""
        step = between(self._pose, pose)
        self._velocity = step / max((frame.stamp_ns - self._stamp_ns) / _NS_PER_S, 1e-3)
        spread = np.asarray(np.linalg.inv(information), dtype=np.float64)
        self._grow(step, relative_covariance(pose, spread))
        self._pose, self._stamp_ns, self._gray, self._odometry = pose, frame.stamp_ns, gray, odometry
        self._failed = 0
        self._tracks.keep(np.zeros(len(self._tracks), dtype=bool))
        self._tracks.add(pose, detect(gray, self._tracks.pixels, self.config.corners))
        keyframe = self._make_keyframe(frame) if self._is_due() else None
        return self._report(frame, pose, self._covariance, 0, "weak", keyframe)

    def _grow(self, step: Array, covariance: Array) -> None:
        """Add the uncertainty of a step to what has gathered since the sub-map's and the keyframe's beginning."""
        self._covariance = _after(self._pose, self._covariance, step, covariance)
        start = np.zeros(3) if self._last is None else between(self._last.pose, self._pose)
        self._since_keyframe = _after(start, self._since_keyframe, step, covariance)

    def _miss(self, frame: Frame, gray: Gray, expected: Array, information: Array, odometry: Array | None) -> Track:
        """No motion was found: step over the frame, bridge the gap, or begin anew."""
        gap_s = (frame.stamp_ns - self._stamp_ns) / _NS_PER_S
        textured = len(detect(gray, np.empty((0, 2)), self.config.corners)) >= 3 * self.config.least_inliers
        self._failed += textured
        had = len(self._tracks)
        spread = np.asarray(np.linalg.inv(information), dtype=np.float64)
        covariance = _after(self._pose, self._covariance, between(self._pose, expected), spread)
        long = gap_s > self.config.bridge_s and odometry is None
        if textured and (self._failed >= self.config.tries or long):
            if odometry is not None or (had < self.config.sure_inliers and not long):
                # The wheels know, or the picture emptied before (a blank wall) and fills again: expected motion is
                # better than none.
                self._grow(between(self._pose, expected), relative_covariance(expected, spread))
                return self._begin(frame, gray, expected, odometry, "weak")
            self._submap += 1
            self._covariance = np.zeros((3, 3))
            self._since_keyframe = np.zeros((3, 3))
            return self._begin(frame, gray, expected, odometry, "lost")
        # A picture with things in it that do not fit: perhaps the camera was carried away.
        return self._report(frame, expected, covariance, 0, "lost" if long or textured else "weak", None)

    def _begin(self, frame: Frame, gray: Gray, pose: Array, odometry: Array | None, state: str) -> Track:
        """Start following the corners of this frame, from a pose."""
        self._tracks.keep(np.zeros(len(self._tracks), dtype=bool))
        self._pose, self._stamp_ns, self._gray, self._odometry = pose, frame.stamp_ns, gray, odometry
        self._velocity = np.zeros(3)
        self._failed = 0
        self._tracks.add(pose, detect(gray, self._tracks.pixels, self.config.corners))
        keyframe = self._make_keyframe(frame)
        return self._report(frame, pose, self._covariance, 0, state, keyframe)

    def _report(
        self, frame: Frame, pose: Array, covariance: Array, n_inliers: int, state: str, keyframe: Keyframe | None
    ) -> Track:
        assert self._last is not None
        relative = between(self._last.pose, pose)
        return Track(
            frame.stamp_ns, pose.copy(), covariance.copy(), n_inliers, state, self._submap, keyframe,
            self._last.index, relative,
        )  # fmt: skip

    # Keyframes

    def _is_due(self) -> bool:
        assert self._last is not None
        step = between(self._last.pose, self._pose)
        far = np.hypot(step[0], step[1]) > self.config.keyframe_distance_m
        turned = abs(step[2]) > np.radians(self.config.keyframe_yaw_deg)
        left = self._tracks.left_of(self._last.track_ids) < self.config.keyframe_left * len(self._last.track_ids)
        return bool(far or turned or (left and np.abs(step).max() > 1e-3))

    def _make_keyframe(self, frame: Frame) -> Keyframe:
        tracks = self._tracks
        best, _ = tracks.best_landmarks()
        points = best.points(self.rig.mount.height_m)
        base = np.column_stack([_into(self._pose, points[:, :2]), points[:, 2]])
        stds = best.stds / best.inverse_depths
        keyframe = Keyframe(
            self._keyframes, frame.stamp_ns, self._submap, self._pose.copy(), self._since_keyframe,
            tracks.ids.copy(), tracks.pixels.copy(), base, stds, tracks.on_floor(), encode(frame.image_rgb),
        )  # fmt: skip
        self._keyframes += 1
        self._last = keyframe
        self._since_keyframe = np.zeros((3, 3))
        return keyframe


def _after(pose: Array, covariance: Array, step: Array, step_covariance: Array) -> Array:
    """Covariance of ``compose(pose, step)``: the first in the frame of both, the second in the axes after the step."""
    end = compose(pose, step)
    lever = np.array([[1.0, 0.0, pose[1] - end[1]], [0.0, 1.0, end[0] - pose[0]], [0.0, 0.0, 1.0]])
    turned = relative_covariance(np.array([0.0, 0.0, float(wrap(-end[2]))]), step_covariance)
    return np.asarray(lever @ covariance @ lever.T + turned)


def _into(pose: Array, points: Array) -> Array:
    """N x 2 points of the frame that a pose is given in, in the frame that it describes."""
    cos, sin = np.cos(pose[2]), np.sin(pose[2])
    return np.asarray((points - pose[:2]) @ np.array([[cos, -sin], [sin, cos]]))
