"""Questions for which of four paths on the plan a clip shows.

The wrong paths are stretches of other walks of the same length. Half of the questions double a true and a foreign
stretch instead: each also walked the other way round, mirrored, or moved elsewhere. The true path then has a twin, but
so has the foreign one: twins give nothing away.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from gst_ros.media.images import read_image
from gst_ros.scenes.place import SceneError
from gst_ros.scenes.plans import draw_path
from gst_ros.scenes.questions import wording
from gst_ros.scenes.questions.asking import FURNITURE_PLAN, Asker
from gst_ros.scenes.questions.paths import Stretch, extent_m, is_free, mirrored, moved, path_distance_m, stretches
from gst_ros.scenes.questions.records import Item
from gst_ros.scenes.questions.structure import place_options
from gst_ros.scenes.recording import Video
from gst_ros.scenes.rng import rng
from gst_ros.scenes.trajectory import Trajectory
from gst_ros.scenes.walking.walk import WalkOptions, walk

Array = NDArray[np.float64]
Paths = list[tuple[str, Array]]

TASK = "trajectory"
DESIGNS = ("others", "reversed", "others", "mirrored", "others", "moved")
FOREIGN_WALKS = 2
LENGTH_TOLERANCE = 0.12
LEAST_EXTENT = 0.4
"""Extent of a clip's path, as a share of its length: less is walking to and fro."""
MOST_SHARED = 0.5
"""Share of its frames that a clip may have in common with an earlier one."""
LEAST_APART_PX = 22.0
"""Mean distance of two paths on the plan, in its pixels: no less than twice the width of the line."""
TRIES = 80


def ask_trajectories(asker: Asker) -> None:
    """Questions of the task ``trajectory``."""
    maker = _PathMaker(asker)
    clips: list[tuple[str, Stretch]] = []
    used = set()
    for k in range(asker.options.per_task):
        found = maker.question(DESIGNS[(asker.first_number + k) % len(DESIGNS)], clips)
        if found is None:
            continue
        video, stretch, paths = found
        clips.append((video.name, stretch))
        name = f"traject_{stretch.first}_{stretch.last}"
        if (video.name, name) in used:
            continue
        used.add((video.name, name))
        images = [(maker.picture(path), ".png", {"path": kind}) for kind, path in paths]
        letter, files, facts = place_options(asker, TASK, images, maker.random)
        clip = asker.recording.clip(video, stretch.first, stretch.last, f"{video.name}_clip_{k}")
        asker.sheet.add(
            Item(
                TASK,
                f"{name}_{video.name.replace('video', 'video_')}",
                letter,
                (wording.CLIP, *wording.path_selection()),
                clip,
                files,
                {"video": video.name, "frames": [stretch.first, stretch.last], "options": facts},
            )
        )
    asker.note_if_short(TASK, "no more clips with four different paths")


class _PathMaker:
    """Finds clips and wrong paths for them."""

    def __init__(self, asker: Asker) -> None:
        recording = asker.recording
        self._asker = asker
        self.random = rng(recording.place.seed, "questions", TASK)
        self._plan = read_image(recording.files.plan_image(FURNITURE_PLAN))
        self._walks: list[tuple[str, Trajectory]] = [(v.name, v.trajectory) for v in recording.videos]
        for k in range(FOREIGN_WALKS):
            name = f"foreign{k + 1}"
            try:
                way = walk(recording.place, recording.space, recording.preset, WalkOptions(), name)
            except SceneError:
                break
            self._walks.append((name, way))
        everywhere = np.concatenate([way.path_m for _, way in self._walks])
        self._low, self._high = everywhere.min(axis=0), everywhere.max(axis=0)

    def question(self, design: str, clips: Sequence[tuple[str, Stretch]]) -> tuple[Video, Stretch, Paths] | None:
        """A clip with four paths, the true one first; None when none can be found."""
        options = self._asker.options
        for design_now in (design, "others", "reversed"):
            for _ in range(TRIES):
                video = self._asker.recording.videos[int(self.random.integers(len(self._asker.recording.videos)))]
                length = float(self.random.uniform(options.clip_length_m[0], options.clip_length_m[1]))
                own = [
                    s
                    for s in stretches(video.name, video.trajectory, length, options.clip_seconds, every_m=0.25)
                    if extent_m(s.path_m) >= LEAST_EXTENT * length and not _known(video.name, s, clips)
                ]
                if not own:
                    continue
                clip = own[int(self.random.integers(len(own)))]
                paths = self._paths(design_now, clip)
                if paths is not None:
                    return video, clip, paths
        return None

    def picture(self, path: Array) -> bytes:
        """The plan with a path, as PNG."""
        image = draw_path(self._plan, self._asker.recording.plan.pixel(path))
        done, data = cv2.imencode(".png", np.ascontiguousarray(image[:, :, ::-1]), [cv2.IMWRITE_PNG_COMPRESSION, 6])
        if not done:
            raise ValueError(f"cannot encode an image of shape {image.shape}")
        return data.tobytes()

    def _paths(self, design: str, clip: Stretch) -> Paths | None:
        pool = self._foreign(clip)
        if design == "others":
            paths: Paths = [("walked", clip.path_m)]
            for other in pool:
                if self._apart(other.path_m, paths):
                    paths.append(("another stretch", other.path_m))
                if len(paths) == 4:
                    return paths
            return None
        for other in itertools.islice((o for o in pool if self._apart(o.path_m, [("walked", clip.path_m)])), 6):
            paths = [("walked", clip.path_m), ("another stretch", other.path_m)]
            for name, path in list(paths):
                twin = self._twin(design, path, paths)
                if twin is None:
                    break
                paths.append((f"{name}, {design}", twin))
            if len(paths) == 4:
                return paths
        return None

    def _twin(self, design: str, path: Array, others: Paths) -> Array | None:
        space = self._asker.recording.space
        if design == "reversed":
            candidates = [path[::-1]]
        elif design == "mirrored":
            middle = (self._low + self._high) / 2
            own = (path.min(axis=0) + path.max(axis=0)) / 2
            candidates = [mirrored(path, axis, float(at[axis])) for at in (middle, own) for axis in (0, 1)]
            for _ in range(TRIES // 4):
                axis = int(self.random.integers(2))
                candidates.append(mirrored(path, axis, float(self.random.uniform(self._low[axis], self._high[axis]))))
        else:
            span = self._high - self._low
            candidates = [
                moved(path, int(self.random.integers(4)), self.random.uniform(-span, span)) for _ in range(TRIES)
            ]
        for candidate in candidates:
            if self._apart(candidate, others) and is_free(candidate, space):
                return candidate
        return None

    def _foreign(self, clip: Stretch) -> list[Stretch]:
        """Stretches of all walks of about the clip's length, in a random order; first those of other walks."""
        longest = 2 * self._asker.options.clip_seconds
        found = [s for name, way in self._walks for s in stretches(name, way, clip.length_m, longest)]
        fitting = [
            s
            for s in found
            if abs(s.length_m - clip.length_m) <= LENGTH_TOLERANCE * clip.length_m
            and extent_m(s.path_m) >= LEAST_EXTENT * s.length_m
        ]
        mixed = [fitting[int(i)] for i in self.random.permutation(len(fitting))]
        return sorted(mixed, key=lambda s: s.walk == clip.walk)

    def _apart(self, path: Array, others: Paths) -> bool:
        least = max(self._asker.options.least_path_distance_m, LEAST_APART_PX * self._asker.recording.plan.m_per_px)
        return all(path_distance_m(path, other) >= least for _, other in others)


def _known(video: str, stretch: Stretch, clips: Sequence[tuple[str, Stretch]]) -> bool:
    """Whether an earlier clip shows much of a stretch."""
    for name, clip in clips:
        shared = min(stretch.last, clip.last) - max(stretch.first, clip.first) + 1
        shorter = min(stretch.last - stretch.first, clip.last - clip.first) + 1
        if name == video and shared > MOST_SHARED * shorter:
            return True
    return False
