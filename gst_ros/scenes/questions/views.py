"""Where query views can be taken, and what they show.

Candidates are rendered small and a little wider than the view itself, so that one picture tells what the view shows
and what it only just misses.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
import shapely
from numpy.typing import NDArray

from gst_ros.bench.metrics import circular_error_deg
from gst_ros.scenes.cameras import CameraPose, Intrinsics, project
from gst_ros.scenes.instances import VISIBLE_PIXELS
from gst_ros.scenes.place import PlacedObject
from gst_ros.scenes.questions.options import QuestionOptions
from gst_ros.scenes.questions.screens import WallScreen, box_points
from gst_ros.scenes.recording import Recording, Video, View
from gst_ros.scenes.rng import rng

Array = NDArray[np.float64]

SKETCH_WIDTH_PX = 224
EDGE_STRENGTH = 60.0
"""Gradient (Sobel, of 0 to 255) from which a pixel lies on an edge."""
LEAST_SHARE = 0.002
"""Objects that cover less of a view do not count as shown."""
EYE_MARGIN_M = 0.25
OUTDOOR_WEIGHT = 0.5
"""How often views are tried in a garden, compared with a room of its size."""


@dataclass(frozen=True)
class Candidate:
    """A query view that could be taken.

    Attributes:
        name: Position and number of the direction there, as in official names: ``pos_3_orient_1``.
        position: Number of the position.
        pose: The camera's pose.
        shares: Per object id, the share of the view that it covers.
        near: Ids of the objects of which the view, with its margin, shows anything.
    """

    name: str
    position: int
    pose: CameraPose
    shares: Mapping[str, float]
    near: frozenset[str]


class ViewFinder:
    """Finds query views of a place, and takes them.

    Args:
        recording: The place and what was filmed of it.
        options: The thresholds.
    """

    def __init__(self, recording: Recording, options: QuestionOptions) -> None:
        self._recording, self._options = recording, options
        self._screen = WallScreen(recording.place)
        self._names = recording.scene.instances
        self._things = {thing.id: thing for thing in recording.place.objects}
        self._wide = grown(recording.query_camera, options.margin, options.margin_deg)
        self._sketch = self._wide.scaled(SKETCH_WIDTH_PX / self._wide.width)
        self._taken: dict[str, View] = {}

    def candidates(self) -> list[Candidate]:
        """Views that show enough of a place to tell where they were taken, in a random order."""
        recording, options = self._recording, self._options
        random = rng(recording.place.seed, "questions", "views")
        found = []
        for position, point in enumerate(self._positions(random)):
            first = random.uniform(-180.0, 180.0)
            for k in range(options.yaws_per_position):
                jitter = random.uniform(-0.35, 0.35)
                yaw = first + (k + jitter) * 360.0 / options.yaws_per_position
                yaw = round(math.remainder(yaw, 360.0), 3)
                height, pitch = recording.preset.height_m, recording.preset.query_pitch_deg
                pose = CameraPose(point[0], point[1], height, yaw, pitch)
                candidate = self._look(f"pos_{position}_orient_{k}", position, pose)
                if candidate is not None:
                    found.append(candidate)
        return [found[i] for i in random.permutation(len(found))]

    def suits(self, candidate: Candidate, video: Video) -> bool:
        """Whether a view is off the walk of a video, and of surroundings that the video shows."""
        return self._off_trajectory(candidate.pose, video) and self._known(candidate, video)

    def misses(self, candidate: Candidate, thing: PlacedObject) -> bool:
        """Whether a view shows nothing of an object, not even within its margin.

        An object whose box reaches into the view and its margin must be behind a wall with all of it that does. One
        that only furniture hides is no fair target.
        """
        if thing.id in candidate.near:
            return False
        points = box_points(thing)
        pixels, depth = project(points, candidate.pose, self._wide)
        size = (self._wide.width - 1, self._wide.height - 1)
        inside = (depth > 0.0) & ((pixels >= 0.0) & (pixels <= size)).all(axis=1)
        if not inside.any():
            return True
        eye = (candidate.pose.x_m, candidate.pose.y_m)
        return bool(self._screen.hides(eye, points[inside]).all())

    def cost(self, candidate: Candidate) -> float:
        """0 for a view that is taken; more for another one, and much more when there are enough."""
        if candidate.name in self._taken:
            return 0.0
        return 0.5 if len(self._taken) < self._options.views else 4.0

    def take(self, candidate: Candidate) -> View:
        """The view at its full size; rendered at the first call."""
        if candidate.name not in self._taken:
            self._taken[candidate.name] = self._recording.take_view(candidate.name, candidate.pose)
        return self._taken[candidate.name]

    def drop_unused(self, used: Collection[str]) -> None:
        """Delete the views that no question shows after all.

        Args:
            used: Paths of the images that questions show.
        """
        for name, view in list(self._taken.items()):
            if view.file not in used:
                (self._recording.files.root / view.file).unlink()
                del self._taken[name], self._recording.views[name]

    def _positions(self, random: np.random.Generator) -> list[tuple[float, float]]:
        """Free positions in all rooms, spread out: each new one is far from those before in its room.

        A room gets positions by the square root of its area, so that a hall or a garden does not take most of them.
        """
        space, rooms = self._recording.space, self._recording.place.rooms
        cells = np.argwhere(space.largest())
        if not len(cells):
            return []
        cells = cells[random.permutation(len(cells))[: 80 * self._options.positions]]
        points = np.array([space.to_point((int(r), int(c))) for r, c in cells])
        points = points + random.uniform(-0.4, 0.4, points.shape) * space.resolution_m
        outlines = [shapely.Polygon(room.outline) for room in rooms]
        members = [np.flatnonzero(shapely.contains_xy(outline, points)) for outline in outlines]
        weights = np.array(
            [
                math.sqrt(outline.area) * (OUTDOOR_WEIGHT if room.outdoor else 1.0) * (len(found) > 0)
                for room, outline, found in zip(rooms, outlines, members, strict=True)
            ]
        )
        if not weights.any():
            return []
        result: list[tuple[float, float]] = []
        gap = np.full(len(points), np.inf)
        for k in random.choice(len(rooms), self._options.positions, p=weights / weights.sum()):
            # The largest gap among a few: farthest points alone would all stand in corners.
            few = random.choice(members[k], min(len(members[k]), 8), replace=False)
            best = int(few[int(np.argmax(gap[few]))])
            if gap[best] <= 0.0:
                continue
            result.append((round(float(points[best, 0]), 3), round(float(points[best, 1]), 3)))
            gap = np.minimum(gap, np.linalg.norm(points - points[best], axis=1))
        return result

    def _look(self, name: str, position: int, pose: CameraPose) -> Candidate | None:
        """Render a candidate; None when it shows too little."""
        query, renderer = self._recording.query_camera, self._recording.renderer
        width, height = (round(v * self._sketch.width / self._wide.width) for v in (query.width, query.height))
        left, top = (self._sketch.width - width) // 2, (self._sketch.height - height) // 2
        window = (slice(top, top + height), slice(left, left + width))
        ids = renderer.render_ids(self._sketch, pose)
        counts = self._count(ids[window])
        shares = {name: count / (width * height) for name, count in counts.items()}
        if objects_problem(shares, self._options):
            return None
        picture = renderer.render(self._sketch, pose)
        if view_problem(picture.rgb[window], picture.depth_m[window], self._options):
            return None
        return Candidate(name, position, pose, shares, frozenset(self._count(ids)))

    def _count(self, ids: NDArray[np.uint16]) -> dict[str, int]:
        counts = np.bincount(ids.ravel())
        names = ((self._names.get(int(i), ""), int(counts[i])) for i in np.flatnonzero(counts))
        return {name: count for name, count in names if name in self._things}

    def _off_trajectory(self, pose: CameraPose, video: Video) -> bool:
        options = self._options
        return all(
            math.hypot(pose.x_m - p.x_m, pose.y_m - p.y_m) >= options.off_trajectory_m
            or circular_error_deg(pose.yaw_deg, p.yaw_deg) >= options.off_trajectory_deg
            for p in video.trajectory.poses
        )

    def _known(self, candidate: Candidate, video: Video) -> bool:
        """Whether the video shows what the view shows."""
        shown = {name: share for name, share in candidate.shares.items() if share >= LEAST_SHARE}
        known = {
            name: share
            for name, share in shown.items()
            if name in video.tracks and len(video.tracks[name].visible_frames(VISIBLE_PIXELS)) >= 5
        }
        return len(known) >= 2 and sum(known.values()) >= self._options.least_known * sum(shown.values())


def objects_problem(shares: Mapping[str, float], options: QuestionOptions) -> str:
    """Why a view shows too few objects; empty when it shows enough.

    Args:
        shares: Per object id, the share of the view that it covers.
        options: The thresholds.
    """
    shown = [share for share in shares.values() if share >= LEAST_SHARE]
    few = len(shown) < options.least_objects or sum(shown) < options.least_objects_share
    return "few objects" if few else ""


def view_problem(rgb: NDArray[np.uint8], depth_m: NDArray[np.float32], options: QuestionOptions) -> str:
    """Why a view holds too little information; empty when it holds enough.

    Args:
        rgb: H x W x 3 bytes.
        depth_m: H x W; infinite where the sky is.
        options: The thresholds.
    """
    depth = depth_m[np.isfinite(depth_m)]
    if not len(depth) or float(np.percentile(depth, 1)) < options.nearest_m:
        return "too near something"
    near, far = np.percentile(depth, [10, 90])
    if float(far - near) < options.least_depth_spread_m:
        return "flat"
    return "few edges" if edge_share(rgb) < options.least_edges else ""


def edge_share(rgb: NDArray[np.uint8]) -> float:
    """Share of an image's pixels that lie on edges."""
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    gradient = np.hypot(cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1))
    return float((gradient > EDGE_STRENGTH).mean())


def grown(camera: Intrinsics, share: float, angle_deg: float) -> Intrinsics:
    """A camera that sees more on every side: a share of the half width, or an angle, whichever is more.

    Args:
        camera: The camera.
        share: Share of half its width and height.
        angle_deg: Angle beyond its border, degrees.
    """

    def wider(size: int) -> int:
        half = size / 2
        by_angle = camera.f_px * math.tan(math.atan(half / camera.f_px) + math.radians(angle_deg))
        return 2 * math.ceil(max(half * (1 + share), by_angle))

    return replace(camera, width=wider(camera.width), height=wider(camera.height))


def bearing_deg(pose: CameraPose, point_m: Sequence[float]) -> float:
    """Direction of a point relative to the view direction, left positive, in [-180, 180]."""
    absolute = math.degrees(math.atan2(point_m[1] - pose.y_m, point_m[0] - pose.x_m))
    return math.remainder(absolute - pose.yaw_deg, 360.0)


def range_m(pose: CameraPose, point_m: Sequence[float]) -> float:
    """Horizontal distance of a point from a camera."""
    return math.hypot(point_m[0] - pose.x_m, point_m[1] - pose.y_m)


def outside(thing: PlacedObject, pose: CameraPose) -> bool:
    """Whether a camera is not over an object's footprint, nor right beside it."""
    c, s = math.cos(math.radians(thing.yaw_deg)), math.sin(math.radians(thing.yaw_deg))
    x, y = pose.x_m - thing.position_m[0], pose.y_m - thing.position_m[1]
    forward, left = c * x + s * y, c * y - s * x
    return abs(forward) > thing.size_m[0] / 2 + EYE_MARGIN_M or abs(left) > thing.size_m[1] / 2 + EYE_MARGIN_M


def shows_whole(pose: CameraPose, camera: Intrinsics, thing: PlacedObject) -> bool:
    """Whether an object's whole box lies within a view (something may hide it)."""
    pixels, depth = project(box_points(thing, 2), pose, camera)
    size = (camera.width - 1, camera.height - 1)
    return bool((depth > 0.1).all() and ((pixels >= 0.0) & (pixels <= size)).all())
