"""A walk as it is remembered: frames in, then a map of where it went and where a marked object was seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gst_ros.errors import GstError, MediaError
from gst_ros.mapping.calibration import EstimateConfig, estimate_camera
from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera, check_mount
from gst_ros.mapping.camera_files import mount_told, rectifier
from gst_ros.mapping.features import FeatureKind
from gst_ros.mapping.mapper import Mapper, MapperConfig
from gst_ros.mapping.relocalise import RelocaliseConfig
from gst_ros.mapping.spatial_map import SpatialMap
from gst_ros.media.calibration import find_calibration, read_calibration
from gst_ros.media.frames import Frame
from gst_ros.memory.replays import CameraFacts, PastWalk, PastWalks, Replay
from gst_ros.memory.waiting import WaitingFrames
from gst_ros.memory.walk_settings import WalkConfig
from gst_ros.perception.red_box import RedBox, find_red_box
from gst_ros.perception.unmarking import without_mark

Image = NDArray[np.uint8]

MARK_MARGIN_PX = 3.0
"""Usual distance between a red rectangle's line and what it marks."""


def facts_beside(clip: Path) -> CameraFacts:
    """What the calibration file beside a clip tells of its camera; nothing where there is none.

    Raises:
        MediaError: The file cannot be used.
    """
    file = find_calibration(clip)
    if file is None:
        return CameraFacts()
    told = mount_told(file)
    return CameraFacts(
        read_calibration(file),
        told.get("height_m"),
        told.get("height_std_m", 0.0),
        told.get("pitch_deg"),
        told.get("roll_deg"),
    )


@dataclass(frozen=True)
class Mark:
    """A red rectangle in a frame.

    Attributes:
        stamp_ns: The frame's time.
        box_px: What it encloses: first column, first row, last column, last row.
        score: 0 to 1: how surely it is one.
    """

    stamp_ns: int
    box_px: tuple[float, float, float, float]
    score: float


@dataclass(frozen=True)
class Walk:
    """What a walk gave.

    Attributes:
        place: The map.
        marks: Red rectangles that the frames showed, in the order of time.
        camera_source: Where the knowledge of the camera is from, in words.
    """

    place: SpatialMap
    marks: tuple[Mark, ...]
    camera_source: str


@dataclass
class _Known:
    camera: PinholeCamera
    mount: CameraMount
    source: str


class WalkRecorder:
    """Maps a walk while it comes in. Not thread-safe.

    Args:
        config: Settings.
        kind: Features that are ready already.
        usual: A camera that an earlier video of the same camera was found to have, by size of its frames: for clips
            that are too short to tell.
        past: Walks that were mapped before; this one is put among them.
    """

    def __init__(
        self,
        config: WalkConfig,
        kind: FeatureKind | None = None,
        usual: dict[tuple[int, int], tuple[PinholeCamera, CameraMount]] | None = None,
        past: PastWalks | None = None,
    ) -> None:
        self._config = config
        self._facts = CameraFacts()
        self._kind = kind
        self._usual = {} if usual is None else usual
        self._past = PastWalks() if past is None else past
        self._replay = Replay(self._past)
        self._filed: PastWalk | None = None
        self._waiting = WaitingFrames()
        self._known: _Known | None = None
        self._mapper: Mapper | None = None
        self._rectify: Callable[[Image], Image] | None = None
        self._found_marks: list[Mark] = []
        self._finished: Walk | None = None
        self._problem: GstError | None = None

    def tell(self, facts: CameraFacts) -> None:
        """Say what is known of the camera, before the first frame or soon after it."""
        if self._mapper is None and not self._config.camera_ignore_told:
            self._facts = facts

    def add(self, frame: Frame) -> None:
        """Take in the next frame, later than all before.

        A frame that cannot be mapped, as of another size, ends the map; :meth:`finish` says why.
        """
        if self._problem is None:
            self._finished = None
            try:
                self._add(frame)
            except GstError as error:
                self._problem = error

    def _add(self, frame: Frame) -> None:
        self._replay.add(frame)
        if self._mapper is not None:
            self._track(frame)
            return
        # Whether the camera is told a little earlier or later must not change what is mapped.
        self._waiting.add(frame, exactly=not self._replay.goes_on)
        if self._waiting.full:
            self._replay.give_up()
        if self._replay.goes_on:
            return
        enough = self._waiting.full or len(self._waiting) >= self._config.camera_wait_frames
        if enough or self._told(frame) is not None:
            self._begin()

    def finish(self) -> Walk:
        """The map of all frames so far; more may follow.

        Raises:
            MapError: There is nothing to make a map of.
        """
        if self._problem is not None:
            raise MapError(f"the walk was not mapped: {self._problem.problem}", remedy=self._problem.remedy)
        if self._finished is None:
            self._finished = self._replayed() or self._mapped()
        return self._finished

    def _replayed(self) -> Walk | None:
        """The map of an earlier walk, if this video shows that walk once more."""
        past = None if self._mapper is not None else self._replay.found(self._facts)
        if past is None or not len(self._waiting):
            return None
        marks = [
            _mark(stamp_ns, box)  # the time of the frame that the map was made of
            for frame, stamp_ns in zip(self._waiting, past.stamps_ns, strict=True)
            if (box := find_red_box(self._rectified(frame).image_rgb)) is not None
        ]
        if past.marked and not marks:
            return None  # without marks it gives the better map, also for copies that are still to come
        return Walk(past.place, tuple(marks), past.camera_source)

    def _mapped(self) -> Walk:
        if self._mapper is None:
            self._begin()
        assert self._mapper is not None and self._known is not None
        place, known = self._mapper.finish(), self._known
        if not self._replay.too_long:
            past = PastWalk(
                tuple(self._replay.thumbnails),
                tuple(self._replay.stamps_ns),
                self._facts,
                place,
                known.source,
                bool(self._found_marks),
            )
            self._past.add(past, instead_of=self._filed)
            self._filed = past
        return Walk(place, tuple(self._found_marks), known.source)

    def _begin(self) -> None:
        """Start to map, with what is known of the camera now, all frames that waited."""
        first = next(iter(self._waiting), None)
        if first is None:
            raise MapError("there is no frame to make a map of")
        self._replay.give_up()
        self._known = self._told(first) or self._estimated(first)
        config = MapperConfig(relocalise=RelocaliseConfig(features=self._config.map_features))
        self._mapper = Mapper(self._known.camera, self._known.mount, config, self._kind)
        waiting, self._waiting = self._waiting, WaitingFrames()
        for frame in waiting:
            self._track(frame)

    def _track(self, frame: Frame) -> None:
        assert self._mapper is not None
        frame = self._rectified(frame)
        box = find_red_box(frame.image_rgb)
        if box is not None:
            self._found_marks.append(_mark(frame.stamp_ns, box))
            frame = replace(frame, image_rgb=without_mark(frame.image_rgb, box))
        self._mapper.add(frame)

    def _rectified(self, frame: Frame) -> Frame:
        """The frame without the lens's distortion, where that is told."""
        calibration = self._facts.calibration
        if calibration is None or not any(calibration.distortion):
            return frame
        if self._rectify is None:
            self._rectify = rectifier(calibration.scaled_to(frame.image_rgb.shape[1], frame.image_rgb.shape[0]))
        return frame if self._rectify is None else replace(frame, image_rgb=self._rectify(frame.image_rgb))

    def _told(self, frame: Frame) -> _Known | None:
        """The camera, where intrinsics and tilt are told."""
        camera, pitch_deg = self._intrinsics(frame), self._pitch_deg()
        return None if camera is None or pitch_deg is None else _Known(camera, self._mount(pitch_deg), "as told")

    def _intrinsics(self, frame: Frame) -> PinholeCamera | None:
        """The told ones, for this size of frames."""
        calibration = self._facts.calibration
        if calibration is None:
            return None
        try:
            calibration.check()
        except MediaError as error:
            raise MapError(f"its calibration has {error.field}: {error.problem}", remedy=error.remedy) from error
        height, width = frame.image_rgb.shape[:2]
        if abs(calibration.width * height - calibration.height * width) > 0.02 * calibration.height * width:
            raise MapError(
                f"the calibration is for pictures of {calibration.width} x {calibration.height}, the frames have"
                f" {width} x {height}",
                remedy="give a calibration of the same shape of picture",
            )
        c = calibration.scaled_to(width, height)
        return PinholeCamera(width, height, c.fx, c.fy, c.cx, c.cy)

    def _estimated(self, frame: Frame) -> _Known:
        """The camera as the frames show it; else as an earlier video showed it; else as most are."""
        height, width = frame.image_rgb.shape[:2]
        intrinsics, pitch_deg, config = self._intrinsics(frame), self._pitch_deg(), EstimateConfig()
        prior = self._mount(config.prior_pitch_deg if pitch_deg is None else pitch_deg)
        if pitch_deg is None:
            prior = replace(prior, pitch_std_deg=config.prior_pitch_std_deg, roll_std_deg=config.prior_roll_std_deg)
        try:
            found = estimate_camera(map(self._rectified, self._waiting), intrinsics, prior, config)
        except MapError as error:
            if (width, height) in self._usual:
                camera, mount = self._usual[width, height]
                return _Known(camera, mount, f"of an earlier video ({error.problem})")
            focal = width / 2 / math.tan(math.radians(config.prior_fov_deg) / 2)
            camera = intrinsics or PinholeCamera.centred(width, height, focal)
            return _Known(camera, prior, f"assumed ({error.problem})")
        self._usual[width, height] = found.camera, found.mount
        return _Known(found.camera, found.mount, "from the video: " + "; ".join(found.notes))

    def _pitch_deg(self) -> float | None:
        return self._facts.pitch_deg if self._config.camera_pitch_deg is None else self._config.camera_pitch_deg

    def _mount(self, pitch_deg: float) -> CameraMount:
        facts, assumed = self._facts, EstimateConfig()
        roll_deg = facts.roll_deg or 0.0
        if self._config.camera_height_m > 0:
            mount = CameraMount(self._config.camera_height_m, pitch_deg, roll_deg)
        elif facts.height_m is not None:
            mount = CameraMount(facts.height_m, pitch_deg, roll_deg, facts.height_std_m)
        else:
            mount = CameraMount(assumed.height_m, pitch_deg, roll_deg, assumed.height_m * assumed.height_std_share)
        check_mount(mount)
        return mount


def _mark(stamp_ns: int, box: RedBox) -> Mark:
    return Mark(stamp_ns, box.inside(MARK_MARGIN_PX), box.score)
