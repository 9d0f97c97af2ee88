"""The tilt of every frame of a camera that sways, and frames with the sway taken off.

Where pitch and roll are not constant, three things together tell them frame by frame: how the camera turned since the
frame before (from points that were followed), the vertical edges of some frames, and the mean mount. They are fused by
a Kalman filter on the direction of gravity in ``camera_optical_frame``, forwards and backwards in time. A turn of the
camera about its centre moves pixels by a homography, so frames can then be drawn as a steady camera would have taken
them, and mapped in the plane. What remains is the camera's bobbing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import Array, CameraMount, MapError, PinholeCamera
from gst_ros.mapping.pairs import FramePair, PairConfig, collect_pairs
from gst_ros.mapping.planar_epipolar import Lens, Matches, relative_rotations, scan
from gst_ros.mapping.planar_fit import FREE, Prior, fit_planar
from gst_ros.mapping.vanishing import down_direction, find_vertical, line_segments
from gst_ros.media.frames import Frame

Sighting = tuple[Array, float]
"""The downward direction as one frame's edges have it, and its variance (rad^2)."""

_CHAIN = PairConfig(stride_share=0.03, still_share=1e-9, longest=2, burst=2**31, rest=0, max_frames=2**31)
_AT_ONCE = 60  # pairs of one fit
_RETURN_FRAMES = 10.0


@dataclass(frozen=True)
class SwayConfig(Settings):
    """How sway is estimated. Standard deviations are of each of pitch and roll."""

    pairs: PairConfig = field(default_factory=lambda: _CHAIN)
    edges_every: int = setting(3, "Vertical edges are looked for in every so many-th frame.", low=1)
    turn_std_deg: float = setting(0.06, "Of a turn between two frames.", unit="deg", above=0.0)
    lost_std_deg: float = setting(1.0, "Of a turn that was not seen, for each frame.", unit="deg", above=0.0)
    edges_std_deg: float = setting(0.2, "Of the vertical of one frame's edges, at least.", unit="deg", above=0.0)
    mount_std_deg: float = setting(3.0, "Of a frame's tilt against the mean mount.", unit="deg", above=0.0)
    most_points: int = setting(80, "Points of a pair of frames.", low=8)


@dataclass(frozen=True)
class Sway:
    """Gravity as seen by the camera, frame by frame.

    Attributes:
        stamps_ns: N stamps, ascending.
        down: N x 3, the downward direction in ``camera_optical_frame``.
        std_deg: N, standard deviations of pitch and of roll.
    """

    stamps_ns: NDArray[np.int64]
    down: Array
    std_deg: Array

    @property
    def tilts_deg(self) -> Array:
        """N x 2: pitch (positive looks down) and roll (positive tilts the right side down)."""
        pitch = np.degrees(np.arcsin(np.clip(self.down[:, 2], -1, 1)))
        return np.column_stack([pitch, np.degrees(np.arctan2(self.down[:, 0], self.down[:, 1]))])

    def steady(self, frame: Frame, camera: PinholeCamera, mount: CameraMount) -> Frame:
        """A frame as a camera on a steady mount would have taken it from the same place.

        Args:
            frame: One of the video's; the tilt of the nearest stamp is taken.
            camera: Intrinsics.
            mount: Pitch and roll of the steady mount.
        """
        row = int(np.argmin(np.abs(self.stamps_ns - frame.stamp_ns)))
        pitch, roll = self.tilts_deg[row]
        own = replace(mount, pitch_deg=float(pitch), roll_deg=float(roll))
        turn = mount.rotation_base_from_camera.T @ own.rotation_base_from_camera
        homography = camera.matrix @ turn @ np.linalg.inv(camera.matrix)
        size = (frame.image_rgb.shape[1], frame.image_rgb.shape[0])
        # Repeated edges, since a black border would have corners that sway.
        image = cv2.warpPerspective(frame.image_rgb, homography, size, borderMode=cv2.BORDER_REPLICATE)
        return replace(frame, image_rgb=np.asarray(image, dtype=np.uint8))


def estimate_sway(
    frames: Iterable[Frame], camera: PinholeCamera, mount: CameraMount, config: SwayConfig | None = None
) -> Sway:
    """Estimate every frame's tilt.

    Args:
        frames: The whole video.
        camera: Intrinsics of its frames, without distortion.
        mount: Its mean tilt.
        config: Standard deviations.

    Raises:
        MapError: There is no frame.
    """
    config = config or SwayConfig()
    stamps: list[int] = []
    seen: list[Sighting | None] = []
    pairs = list(collect_pairs(_watched(frames, camera, stamps, seen, config), config.pairs))
    if not stamps:
        raise MapError("there is no frame")
    turns = _turns(pairs, camera, mount, config)
    rotations = np.tile(np.eye(3), (len(stamps), 1, 1))  # [k]: from frame k to k - 1
    growth = np.full(len(stamps), math.radians(config.lost_std_deg) ** 2)
    row = {stamp: number for number, stamp in enumerate(stamps)}
    for pair, (turn, own) in zip(pairs, turns, strict=True):
        first, second = row[pair.first_ns], row[pair.second_ns]
        share = cv2.Rodrigues(cv2.Rodrigues(turn)[0] / (second - first))[0]
        rotations[first + 1 : second + 1] = share
        growth[first + 1 : second + 1] = own / (second - first)
    mean = mount.rotation_base_from_camera.T @ np.array([0.0, 0.0, -1.0])
    down, variance = _smoothed(rotations, growth, seen, mean, math.radians(config.mount_std_deg) ** 2)
    return Sway(np.array(stamps, dtype=np.int64), down, np.degrees(np.sqrt(variance)))


def _smoothed(
    rotations: Array, growth: Array, seen: Sequence[Sighting | None], mean: Array, prior: float, rounds: int = 8
) -> tuple[Array, Array]:
    """Gravity in each frame and its variance; sightings and turns that the rest contradicts lose weight (Cauchy)."""
    sights: list[Sighting | None] = [
        None if one is None else (one[0], one[1] * (1 + float(((one[0] - mean) ** 2).sum()) / prior)) for one in seen
    ]
    loose = growth
    for _ in range(rounds):
        ahead = _filtered(rotations, loose, sights, mean, prior)
        back_turns = np.concatenate([np.eye(3)[None], np.swapaxes(rotations[:0:-1], 1, 2)])
        back = _filtered(back_turns, np.concatenate([loose[:1], loose[:0:-1]]), sights[::-1], mean, prior)
        # A frame's own sighting is in the forward result (after it) and left out of the backward one (before it).
        g1, v1, g2, v2 = ahead[0], ahead[2], back[1][::-1], back[3][::-1]
        down = g1 / v1[:, None] + g2 / v2[:, None]
        down /= np.linalg.norm(down, axis=1, keepdims=True)
        sights = [
            None if one is None else (one[0], one[1] + float(((one[0] - own) ** 2).sum()) / 4)
            for one, own in zip(seen, down, strict=True)
        ]
        turned = np.einsum("kji,kj->ki", rotations[1:], down[:-1])
        loose = growth + np.concatenate([[0.0], ((down[1:] - turned) ** 2).sum(axis=1) / 4])
    return down, np.asarray(1 / (1 / v1 + 1 / v2))


def _watched(
    frames: Iterable[Frame],
    camera: PinholeCamera,
    stamps: list[int],
    seen: list[Sighting | None],
    config: SwayConfig,
) -> Iterator[Frame]:
    """Pass frames on, and note their stamps and the vertical of some."""
    for number, frame in enumerate(frames):
        stamps.append(frame.stamp_ns)
        found = None
        if number % config.edges_every == 0:
            # Fewer than a dozen edges agree by chance, in one place for many frames on end.
            found = find_vertical([line_segments(frame.image_rgb)], camera, least_segments=12)
        if found is not None and found.share > 0.2 and found.pitch_std_deg < 1.0:
            std = math.hypot(math.radians(config.edges_std_deg), math.radians(found.pitch_std_deg))
            seen.append((down_direction(math.radians(found.pitch_deg), math.radians(found.roll_deg)), std**2))
        else:
            seen.append(None)
        yield frame


def _turns(
    pairs: Sequence[FramePair], camera: PinholeCamera, mount: CameraMount, config: SwayConfig
) -> list[tuple[Array, float]]:
    """3 x 3 rotations, from the second ``camera_optical_frame`` to the first one, of each pair; and variances."""
    lens = Lens(camera.fx, math.radians(mount.pitch_deg), math.radians(mount.roll_deg))
    known = Prior((math.log(camera.fx), lens.pitch_rad, lens.roll_rad), (0.0, 0.0, 0.0))
    turns: list[tuple[Array, float]] = []
    for start in range(0, len(pairs), _AT_ONCE):
        matches = Matches.of(pairs[start : start + _AT_ONCE], (camera.cx, camera.cy), config.most_points)
        begin = scan(matches, lens, math.radians(12), 13)
        fit = fit_planar(matches, lens, begin, known, columns=FREE, scales_px=(6.0, 2.0, None))
        std = np.hypot(2 * fit.motion_std[:, 3:].max(axis=1), math.radians(config.turn_std_deg))
        turns.extend(zip(relative_rotations(lens, fit.motion), (std**2).tolist(), strict=True))
    return turns


def _filtered(
    rotations: Array, growth: Array, seen: Sequence[Sighting | None], mean: Array, prior: float
) -> tuple[Array, Array, Array, Array]:
    """Gravity and variance after and before each frame's own sighting: after, before, variance after, before."""
    after, before = np.zeros((len(growth), 3)), np.zeros((len(growth), 3))
    v_after, v_before = np.zeros(len(growth)), np.zeros(len(growth))
    down, variance = mean, prior
    for k in range(len(growth)):
        down, variance = rotations[k].T @ down, variance + growth[k]
        # Sway comes back to its mean, within about a second.
        gain = variance / (variance + _RETURN_FRAMES * prior)
        down, variance = _unit(down + gain * (mean - down)), variance * (1 - gain)
        before[k], v_before[k] = down, variance
        sight = seen[k]
        if sight is not None:
            gain = variance / (variance + sight[1])
            down, variance = _unit(down + gain * (sight[0] - down)), variance * (1 - gain)
        after[k], v_after[k] = down, variance
    return after, before, v_after, v_before


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))
