"""The camera from the video itself: focal length, pitch and roll, and whether they and the height stay the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gst_ros.config import Settings, setting
from gst_ros.mapping.camera import Array, CameraMount, MapError, PinholeCamera
from gst_ros.mapping.constancy import Constancy, ConstancyConfig, check_constancy
from gst_ros.mapping.pairs import FramePair, PairConfig, collect_pairs
from gst_ros.mapping.planar_epipolar import Lens, Matches, scan
from gst_ros.mapping.planar_fit import FREE, PlanarFit, Prior, fit_planar, keep_better
from gst_ros.mapping.vanishing import find_vertical, line_segments
from gst_ros.media.frames import Frame

_F_BIAS = 0.002
_TILT_BIAS_DEG = 0.08
"""What followed points were seen to be off by beyond what they say themselves (shares of the focal length; degrees)."""


@dataclass(frozen=True)
class EstimateConfig(Settings):
    """How a camera is estimated."""

    pairs: PairConfig = field(default_factory=PairConfig)
    constancy: ConstancyConfig = field(default_factory=ConstancyConfig)
    edges_every: int = setting(24, "Straight edges are looked for in every so many-th frame.", low=1)
    least_pairs: int = setting(8, "With fewer pairs of frames nothing is estimated.", low=2)
    most_pairs: int = setting(80, "More pairs of frames are thinned out evenly.", low=4)
    most_points: int = setting(80, "More points of a pair are thinned out.", low=8)
    prior_fov_deg: float = setting(80.0, "Horizontal field of view that cameras have.", unit="deg", above=10, high=170)
    prior_f_std: float = setting(0.4, "Standard deviation of the logarithm of the focal length.", above=0.0)
    prior_pitch_deg: float = setting(20.0, "Pitch that mounts have.", unit="deg", low=-90, high=90)
    prior_pitch_std_deg: float = setting(25.0, "Its standard deviation.", unit="deg", above=0.0)
    prior_roll_std_deg: float = setting(2.0, "Standard deviation of the roll, about 0.", unit="deg", above=0.0)
    height_m: float = setting(1.5, "Height of the camera where nothing is known of it.", unit="m", above=0.0)
    height_std_share: float = setting(0.1, "Standard deviation of that height, as a share of it.", low=0.0)


@dataclass(frozen=True)
class CameraEstimate:
    """What a video tells about its camera.

    Attributes:
        camera: Intrinsics for the video's frames.
        mount: Height, pitch and roll with their standard deviations. The height is never estimated: the picture of a
            room and of one half its size are the same.
        f_std_px: Standard deviation of the focal length in pixels; 0 where it was known.
        constancy: How far pitch, roll and height change, and whether the planar assumption holds.
        pairs: How many pairs of frames were used.
        noise_px: Standard deviation of the distances from epipolar lines.
        notes: The same in words.
    """

    camera: PinholeCamera
    mount: CameraMount
    f_std_px: float
    constancy: Constancy
    pairs: int
    noise_px: float
    notes: tuple[str, ...]

    @property
    def constant(self) -> bool:
        """Whether pitch, roll and height stay the same, so that a pose has three degrees of freedom."""
        return self.constancy.constant


def estimate_camera(
    frames: Iterable[Frame],
    known: PinholeCamera | None = None,
    mount: CameraMount | None = None,
    config: EstimateConfig | None = None,
) -> CameraEstimate:
    """Estimate what is not known of a camera, and test whether it moves in the plane.

    Args:
        frames: The video, or as much of it as may be looked at.
        known: Intrinsics, if known (for any size of the same pictures); they are not changed.
        mount: The mount, if known. Its height is kept; its pitch and roll are kept where their standard deviations
            are 0, and are a prior otherwise.
        config: Priors and limits.

    Raises:
        MapError: The frames hold too little motion or texture to tell.
    """
    config = config or EstimateConfig()
    size: list[tuple[int, int]] = []
    edges: list[Array] = []
    pairs = list(collect_pairs(_measured(frames, size, edges, config.edges_every), config.pairs))
    if len(pairs) < config.least_pairs:
        raise MapError(
            f"only {len(pairs)} pairs of frames show the same points from two places, of {config.least_pairs} needed",
            remedy="give the camera's focal length and pitch (camera.json beside the video, or the options of"
            " 'gst map'), or a video that moves more",
        )
    width, height = size[0]
    known = None if known is None else known.scaled_to(width, height)
    return estimate_from_pairs(pairs, (width, height), known, mount, config, edges)


def estimate_from_pairs(
    pairs: Sequence[FramePair],
    size: tuple[int, int],
    known: PinholeCamera | None = None,
    mount: CameraMount | None = None,
    config: EstimateConfig | None = None,
    edges: Sequence[Array] = (),
) -> CameraEstimate:
    """:func:`estimate_camera` for pairs that were collected already.

    Args:
        pairs: At least ``config.least_pairs``.
        size: Width and height of the frames in pixels.
        known: As there, for this size.
        mount: As there.
        config: As there.
        edges: Line segments (N x 4 pixels) of some frames. The vertical ones tell the pitch and roll more exactly than
            pairs do, and also of a camera that sways.
    """
    config = config or EstimateConfig()
    width, height = size
    prior = _prior(width, known, mount, config)
    if known is not None and known.fy != known.fx:
        # Square pixels for the estimate: heights are stretched to the focal length of the widths.
        pairs = [_squared(pair, known) for pair in pairs]
    centre = ((width - 1) / 2, (height - 1) / 2) if known is None else (known.cx, known.cy)
    if len(pairs) > config.most_pairs:
        pairs = [pairs[k] for k in np.linspace(0, len(pairs) - 1, config.most_pairs).astype(int)]
    matches = Matches.of(pairs, centre, config.most_points)
    fit = _fit(matches, _start(pairs, centre, prior, width), prior)
    constancy = check_constancy(matches, fit, [pair.first_ns for pair in pairs], mount, config.constancy)
    if not constancy.constant:
        # With motions that tilt and climb about a mean mount, the lens is no longer bent to explain them.
        fit = fit_planar(matches, fit.lens, fit.motion, prior, columns=FREE, scales_px=(10.0, 3.0, None))
    camera = known or PinholeCamera.centred(width, height, fit.lens.f_px)
    f_std, *tilt_std = np.sqrt(np.diag(fit.covariance))
    tilt = np.degrees([fit.lens.pitch_rad, fit.lens.roll_rad])
    tilt_std_deg = np.where(np.array(prior.std[1:]) > 0, np.hypot(np.degrees(tilt_std), _TILT_BIAS_DEG), 0.0)
    upright = _constant_tilt(edges, camera, tilt) if constancy.constant else _mean_tilt(edges, camera)
    if upright is not None:
        better = np.array(prior.std[1:]) > 0
        tilt, tilt_std_deg = np.where(better, upright[0], tilt), np.where(better, upright[1], tilt_std_deg)
    if mount is None:
        mount = CameraMount(height_m=config.height_m, height_std_m=config.height_m * config.height_std_share)
    mount = replace(
        mount,
        pitch_deg=float(tilt[0]),
        roll_deg=float(tilt[1]),
        pitch_std_deg=float(tilt_std_deg[0]),
        roll_std_deg=float(tilt_std_deg[1]),
    )
    f_std_px = 0.0 if known else float(math.hypot(f_std, _F_BIAS) * fit.lens.f_px)
    notes = (
        f"focal length {camera.fx:.1f} px" + (" (given)" if known else f" +- {f_std_px:.1f} px"),
        _angle("pitch", mount.pitch_deg, mount.pitch_std_deg),
        _angle("roll", mount.roll_deg, mount.roll_std_deg),
        f"{len(pairs)} pairs of frames, {fit.noise_px:.2f} px",
        *constancy.notes,
    )
    return CameraEstimate(camera, mount, f_std_px, constancy, len(pairs), fit.noise_px, notes)


def _angle(name: str, angle_deg: float, std_deg: float) -> str:
    return f"{name} {angle_deg:.2f} deg (given)" if std_deg == 0 else f"{name} {angle_deg:.2f} +- {std_deg:.2f} deg"


def _measured(frames: Iterable[Frame], size: list[tuple[int, int]], edges: list[Array], every: int) -> Iterable[Frame]:
    """Pass frames on; keep the width and height of the first one, and the straight edges of some."""
    for number, frame in enumerate(frames):
        if not size:
            size.append((frame.image_rgb.shape[1], frame.image_rgb.shape[0]))
        if number % every == 0:
            edges.append(line_segments(frame.image_rgb))
        yield frame


def _constant_tilt(edges: Sequence[Array], camera: PinholeCamera, near_deg: Array) -> tuple[Array, Array] | None:
    """Pitch and roll (degrees) that all frames share, where many vertical edges confirm what the pairs say."""
    found = find_vertical(edges, camera)
    if found is None or found.segments < 40 or found.share < 0.25:
        return None
    tilt = np.array([found.pitch_deg, found.roll_deg])
    if np.abs(tilt - near_deg).max() > 1.0:
        return None
    # An error of the focal length of 0.2 % moves the pitch by up to 0.06 deg.
    return tilt, np.hypot([found.pitch_std_deg, found.roll_std_deg], 0.06)


def _mean_tilt(edges: Sequence[Array], camera: PinholeCamera) -> tuple[Array, Array] | None:
    """Mean pitch and roll (degrees) of frames that each have their own, and the standard deviations of the means."""
    found = [one for one in (find_vertical([lines], camera) for lines in edges) if one is not None]
    sure = [one for one in found if one.share > 0.3 and one.pitch_std_deg < 1.5]
    if len(sure) < 5:
        return None
    tilts = np.array([[one.pitch_deg, one.roll_deg] for one in sure])
    spread = 1.4826 * np.median(np.abs(tilts - np.median(tilts, axis=0)), axis=0)
    return np.median(tilts, axis=0), 1.25 * spread / math.sqrt(len(sure))


def _prior(width: int, known: PinholeCamera | None, mount: CameraMount | None, config: EstimateConfig) -> Prior:
    if known is not None:
        f_px, f_std = known.fx, 0.0
    else:
        f_px = width / 2 / math.tan(math.radians(config.prior_fov_deg) / 2)
        f_std = config.prior_f_std
    if mount is not None:
        tilt = (mount.pitch_deg, mount.roll_deg)
        tilt_std = (mount.pitch_std_deg, mount.roll_std_deg)
    else:
        tilt = (config.prior_pitch_deg, 0.0)
        tilt_std = (config.prior_pitch_std_deg, config.prior_roll_std_deg)
    return Prior(
        (math.log(f_px), math.radians(tilt[0]), math.radians(tilt[1])),
        (f_std, math.radians(tilt_std[0]), math.radians(tilt_std[1])),
    )


def _start(pairs: Sequence[FramePair], centre: tuple[float, float], prior: Prior, width: int) -> Lens:
    """The best of a grid of lenses, each refined a little on some of the pairs."""
    log_f, pitch, roll = prior.mean
    focal = [math.exp(log_f)] if prior.std[0] == 0 else [width * share for share in (0.38, 0.52, 0.72, 1.0)]
    near = prior.std[1] < math.radians(6)
    tilts = [pitch] if near else [math.radians(value) for value in (-10, 5, 20, 35, 50)]
    few = [pairs[k] for k in np.unique(np.linspace(0, len(pairs) - 1, 16).astype(int))]
    matches = Matches.of(few, centre, most=60)
    fits = []
    for f_px in focal:
        for tilt in tilts:
            lens = Lens(f_px, tilt, roll)
            fits.append(fit_planar(matches, lens, scan(matches, lens), prior, scales_px=(width / 128,), iterations=5))
    return min(fits, key=lambda fit: fit.cost).lens


def _fit(matches: Matches, lens: Lens, prior: Prior) -> PlanarFit:
    """All pairs; those that stay far from the rest (a moving thing, a blurred frame) are left to the robust weights."""
    fit = fit_planar(matches, lens, scan(matches, lens), prior)
    for _ in range(3):
        # The motion of a pair may be caught in a poor optimum that is due to the lens being wrong before.
        before = fit.lens.vector
        fit = keep_better(matches, fit, scan(matches, fit.lens), prior)
        if np.abs(fit.lens.vector - before).max() < 1e-3:
            break
    return fit


def _squared(pair: FramePair, camera: PinholeCamera) -> FramePair:
    def squared(points: Array) -> Array:
        return np.column_stack([points[:, 0], (points[:, 1] - camera.cy) * camera.fx / camera.fy + camera.cy])

    return replace(pair, first_px=squared(pair.first_px), second_px=squared(pair.second_px))
