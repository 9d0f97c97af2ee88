"""The camera of a clip: from settings, from a file beside it, or to be estimated from its pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gst_ros.config import Settings, setting
from gst_ros.errors import MediaError
from gst_ros.mapping.calibration import CameraEstimate, EstimateConfig, estimate_camera
from gst_ros.mapping.camera import LEAST_HEIGHT_M, MOST_HEIGHT_M, CameraMount, MapError, PinholeCamera
from gst_ros.mapping.sway import Sway, estimate_sway
from gst_ros.media.calibration import (
    Calibration,
    find_calibration,
    number_in,
    parse_calibration,
    read_calibration,
    read_document,
)
from gst_ros.media.clip import Clip, open_clip
from gst_ros.media.frames import Frame

Picture = NDArray[np.uint8]

_MOUNT = ("height_m", "pitch_deg", "roll_deg")
_STD = {"height_m": "height_std_m", "pitch_deg": "pitch_std_deg", "roll_deg": "roll_std_deg"}
_BOUNDS = {
    "height_m": (LEAST_HEIGHT_M, MOST_HEIGHT_M),
    "height_std_m": (0.0, MOST_HEIGHT_M),
    "pitch_deg": (-89.0, 89.0),
    "pitch_std_deg": (0.0, 180.0),
    "roll_deg": (-180.0, 180.0),
    "roll_std_deg": (0.0, 180.0),
}
_SHAPE = 0.02  # by how much a picture's ratio of sides may differ from its calibration's: sizes are whole pixels
_QUERY = "query_view"


@dataclass(frozen=True)
class CameraOptions(Settings):
    """What is known of a camera. What is not is read from a file beside the clip, else estimated from the video."""

    calibration_file: str = setting(
        "", "JSON, or YAML as of ROS camera calibration; empty: camera.json beside the clip, if there is one."
    )
    ignore_files: bool = setting(False, "Estimate even where there is a calibration file.")
    fx: float = setting(0.0, "Focal length; 0: from horizontal_fov_deg, a file, or the video.", unit="px", low=0.0)
    horizontal_fov_deg: float = setting(0.0, "Field of view of an ideal camera; 0: unknown.", low=0.0, high=177.0)
    height_m: float = setting(
        0.0, "Height of the camera above the floor; 0: from a file, else 1.5.", unit="m", low=0.0, high=MOST_HEIGHT_M
    )
    height_std_m: float = setting(
        0.0, "Standard deviation of that height, where it is given.", unit="m", low=0.0, high=MOST_HEIGHT_M
    )
    pitch_deg: float | None = setting(None, "Downward tilt; none: from a file, or the video.", low=-89.0, high=89.0)
    roll_deg: float | None = setting(
        None, "Tilt to the right; none: from a file, or the video.", low=-180.0, high=180.0
    )
    unknown_height_m: float = setting(
        1.5, "Height that is assumed where nothing is known.", unit="m", low=LEAST_HEIGHT_M, high=MOST_HEIGHT_M
    )
    check_planar: bool = setting(
        True, "Test on the video that pitch, roll and height stay the same, even if all are known."
    )
    unknown_height_std: float = setting(0.1, "Its standard deviation, as a share of it.", low=0.0, high=1.0)


class CameraOfClip(NamedTuple):
    """A clip's camera, and where that knowledge is from.

    Attributes:
        camera: Intrinsics of the clip's frames, once :attr:`rectify` has taken any distortion off.
        mount: Height, pitch and roll, with standard deviations.
        source: Where intrinsics and mount are from, in words; what the video told is in ``estimate.notes``.
        rectify: Takes the lens's distortion off a frame; None where it has none.
        estimate: What the video told, where it was asked.
    """

    camera: PinholeCamera
    mount: CameraMount
    source: str
    rectify: Callable[[Picture], Picture] | None
    estimate: CameraEstimate | None


def camera_for(clip: Clip, options: CameraOptions | None = None, config: EstimateConfig | None = None) -> CameraOfClip:
    """What camera a clip was taken with.

    Args:
        clip: The clip. It is not read from: where the video must be looked at, it is opened a second time.
        options: What is known.
        config: How to estimate the rest.

    Raises:
        MediaError: A calibration file cannot be used.
        MapError: The video shows too little to estimate from.
    """
    options = options or CameraOptions()
    file = _file(clip, options)
    document = {} if file is None else _document(file)
    calibration, words = _intrinsics(clip, options, file, document)
    mount, known_tilt, mount_words = _mount(options, file, document)
    words += mount_words
    known = None if calibration is None else _pinhole(calibration)
    rectify = None if calibration is None else rectifier(calibration)
    if known is not None and known_tilt and not options.check_planar:
        return CameraOfClip(known, mount, ", ".join(words), rectify, None)
    with open_clip(clip.path, clip.start_s, clip.end_s) as again:
        frames = again if rectify is None else (replace(f, image_rgb=rectify(f.image_rgb)) for f in again)
        config = config or EstimateConfig()
        prior = _tilt_prior(mount, options, document, config)
        try:
            estimate = estimate_camera(frames, known, prior, config)
        except MapError as error:
            if known is None or not known_tilt:
                raise MapError(error.problem, file=clip.path, remedy=error.remedy) from error
            words.append(f"not checked on the video: {error.problem}")
            return CameraOfClip(known, mount, ", ".join(words), rectify, None)
    words.append("checked on the video" if known is not None and known_tilt else "the rest from the video")
    return CameraOfClip(estimate.camera, estimate.mount, ", ".join(words), rectify, estimate)


def map_frames(clip: Clip, known: CameraOfClip) -> Iterator[Frame]:
    """A clip's frames as a map needs them: without distortion, and without the sway of a camera that is carried.

    Where the video showed that pitch and roll are not constant, it is read a second time before, for the tilt of every
    frame (:mod:`gst_ros.mapping.sway`).

    Args:
        clip: The clip, which is read from where it stands.
        known: What :func:`camera_for` said of it.
    """
    sway: Sway | None = None
    if known.estimate is not None and not known.estimate.constant:
        with open_clip(clip.path, clip.start_s, clip.end_s) as again:
            sway = estimate_sway(_rectified(again, known.rectify), known.camera, known.mount)
    for frame in _rectified(clip, known.rectify):
        yield frame if sway is None else sway.steady(frame, known.camera, known.mount)


def _rectified(frames: Iterable[Frame], rectify: Callable[[Picture], Picture] | None) -> Iterator[Frame]:
    for frame in frames:
        yield frame if rectify is None else replace(frame, image_rgb=rectify(frame.image_rgb))


def query_camera(
    file: Path, width: int, height: int, usual: CameraMount | None = None
) -> tuple[PinholeCamera, CameraMount] | None:
    """Camera and mount of query views, where a camera file tells of them.

    Args:
        file: A ``camera.json`` with a section ``query_view``.
        width: Size of the view in pixels, which the answer is for.
        height: The same.
        usual: Height and tilt, with their standard deviations, where the section does not tell them.

    Returns:
        None where the file has no such section.

    Raises:
        MediaError: The file or the section cannot be used.
    """
    section = _document(file).get(_QUERY)
    if section is None:
        return None
    if not isinstance(section, Mapping):
        raise MediaError("expected a mapping", file=file, field=_QUERY)
    try:
        calibration = parse_calibration(section, file)
    except MediaError as error:
        raise MediaError(error.problem, file=file, field=f"{_QUERY}.{error.field}", remedy=error.remedy) from error
    _check_shape(calibration, width, height, "the picture", file)
    given = _mount_values(section, file, f"{_QUERY}.")
    # What is told is exact, unless its standard deviation is told too.
    exact = {_STD[name]: 0.0 for name in _MOUNT if name in given}
    return _pinhole(calibration.scaled_to(width, height)), replace(usual or CameraMount(), **{**exact, **given})


def mount_told(file: Path) -> dict[str, float]:
    """What a calibration file tells of the mount: ``height_m``, ``pitch_deg``, ``roll_deg``, ``height_std_m``, ...

    Raises:
        MediaError: It cannot be read, or a value is no number or out of range.
    """
    return _mount_values(_document(file), file)


def rectifier(calibration: Calibration) -> Callable[[Picture], Picture] | None:
    """What takes a lens's distortion off frames, keeping focal length and principal point; None for an ideal lens."""
    if not any(calibration.distortion):
        return None
    import cv2

    camera = _pinhole(calibration)
    size, lens = (calibration.width, calibration.height), np.array(calibration.distortion)
    if calibration.distortion_model == "equidistant":
        maps = cv2.fisheye.initUndistortRectifyMap(camera.matrix, lens, np.eye(3), camera.matrix, size, cv2.CV_16SC2)
    else:
        maps = cv2.initUndistortRectifyMap(camera.matrix, lens, np.eye(3), camera.matrix, size, cv2.CV_16SC2)

    def rectify(image: Picture) -> Picture:
        return np.asarray(cv2.remap(image, maps[0], maps[1], cv2.INTER_LINEAR), dtype=np.uint8)

    return rectify


def _file(clip: Clip, options: CameraOptions) -> Path | None:
    if options.calibration_file:
        return Path(options.calibration_file).expanduser()
    return None if options.ignore_files else find_calibration(clip.path)


def _intrinsics(
    clip: Clip, options: CameraOptions, file: Path | None, document: Mapping[str, Any]
) -> tuple[Calibration | None, list[str]]:
    width, height = clip.width, clip.height
    if options.fx > 0:
        centre = ((width - 1) / 2, (height - 1) / 2)
        calibration = Calibration(width, height, options.fx, options.fx, *centre)
        calibration.check()
        return calibration, ["focal length as given"]
    if options.horizontal_fov_deg > 0:
        return Calibration.from_horizontal_fov(width, height, options.horizontal_fov_deg), ["field of view as given"]
    if file is None:
        return None, []
    calibration = read_calibration(file)
    _check_shape(calibration, width, height, "the clip", file)
    return calibration.scaled_to(width, height), [f"intrinsics of {file.name}"]


def _check_shape(calibration: Calibration, width: int, height: int, what: str, file: Path) -> None:
    if abs(calibration.width * height - calibration.height * width) > _SHAPE * calibration.height * width:
        raise MediaError(
            f"it is for pictures of {calibration.width} x {calibration.height}, {what} has {width} x {height}",
            file=file,
            remedy="give a calibration of the same shape of picture",
        )


def _mount(
    options: CameraOptions, file: Path | None, document: Mapping[str, Any]
) -> tuple[CameraMount, bool, list[str]]:
    """The mount as far as known, whether pitch is, and from where."""
    values: dict[str, float] = {}
    words = []
    if file is not None:
        values = _mount_values(document, file)
        if values:
            words.append(f"{', '.join(name for name in _MOUNT if name in values)} of {file.name}")
    for name in _MOUNT:
        given = getattr(options, name)
        if given is not None and not (name == "height_m" and given == 0):
            values[name] = number_in(given, name, None, *_BOUNDS[name])
            values[_STD[name]] = options.height_std_m if name == "height_m" else 0.0
            words.append(f"{name} as given")
    known_tilt = "pitch_deg" in values  # a mount without a roll is level
    if "height_m" not in values:
        values["height_m"] = options.unknown_height_m
        values["height_std_m"] = options.unknown_height_m * options.unknown_height_std
        words.append(f"height {options.unknown_height_m:g} m assumed")
    return CameraMount(**values), known_tilt, words


def _tilt_prior(
    mount: CameraMount, options: CameraOptions, document: Mapping[str, Any], config: EstimateConfig
) -> CameraMount:
    """The mount with standard deviations for what the video has to tell."""
    pitch_known = options.pitch_deg is not None or "pitch_deg" in document
    roll_known = options.roll_deg is not None or "roll_deg" in document or pitch_known
    if not pitch_known:
        mount = replace(mount, pitch_deg=config.prior_pitch_deg, pitch_std_deg=config.prior_pitch_std_deg)
    if not roll_known:
        mount = replace(mount, roll_std_deg=config.prior_roll_std_deg)
    return mount


def _mount_values(document: Mapping[str, Any], file: Path, prefix: str = "") -> dict[str, float]:
    values = {}
    for name in (*_MOUNT, *_STD.values()):
        if document.get(name) is None:
            continue
        values[name] = number_in(document[name], prefix + name, file, *_BOUNDS[name])
    return values


def _document(file: Path) -> dict[str, Any]:
    values = read_document(file)
    inner = values.get("mount")
    if inner is not None and not isinstance(inner, Mapping):
        raise MediaError("expected a mapping", file=file, field="mount", remedy="height_m, pitch_deg and roll_deg")
    return {**values, **inner} if isinstance(inner, Mapping) else values


def _pinhole(calibration: Calibration) -> PinholeCamera:
    c = calibration
    return PinholeCamera(c.width, c.height, c.fx, c.fy, c.cx, c.cy)
