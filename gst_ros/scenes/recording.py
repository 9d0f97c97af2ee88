"""A place with everything that was filmed of it: what questions are made from.

``make_questions`` gets one :class:`Recording`. It may ask for more pictures: marked videos, clips, query views and
plans are made when a question wants them, and lie in the place's folder from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.cameras import CameraPose, CameraPreset, Intrinsics
from gst_ros.scenes.catalogue import Catalogue
from gst_ros.scenes.files import PlaceFiles, write_image, write_json
from gst_ros.scenes.footage import cut_video
from gst_ros.scenes.freespace import FreeSpace
from gst_ros.scenes.instances import InstanceFacts, Track
from gst_ros.scenes.marking import mark_video
from gst_ros.scenes.place import Place
from gst_ros.scenes.plans import PlanFrame, draw_path
from gst_ros.scenes.rendering.mesh import SceneMesh
from gst_ros.scenes.rendering.renderer import Renderer
from gst_ros.scenes.trajectory import Trajectory

Image = NDArray[np.uint8]


@dataclass(frozen=True)
class Video:
    """An exploration video.

    Attributes:
        name: For example ``video1``.
        trajectory: The camera's poses, one a frame.
        tracks: Per object id that it shows at all, where.
    """

    name: str
    trajectory: Trajectory
    tracks: Mapping[str, Track]


@dataclass(frozen=True)
class View:
    """A query view that was taken.

    Attributes:
        name: File name without extension.
        file: Path relative to the place's folder.
        pose: The camera's pose.
        camera: Its intrinsics.
        pixels: Per object id, how many pixels of it the view shows.
        scale: Its pixels per pixel of a 640 pixels wide view: divide areas by its square to compare with videos.
    """

    name: str
    file: str
    pose: CameraPose
    camera: Intrinsics
    pixels: Mapping[str, int]

    @property
    def scale(self) -> float:
        """Its size compared with an image 640 pixels wide."""
        return self.camera.width / 640.0

    def to_mapping(self) -> dict[str, Any]:
        """For ``gt/views.json``."""
        pose = self.pose
        return {
            "file": self.file,
            "position_m": [pose.x_m, pose.y_m, pose.z_m],
            "yaw_deg": pose.yaw_deg,
            "pitch_deg": pose.pitch_deg,
            "roll_deg": pose.roll_deg,
            "width": self.camera.width,
            "height": self.camera.height,
            "f_px": self.camera.f_px,
            "pixels": dict(self.pixels),
        }


@dataclass
class Recording:
    """Everything that is there when questions are made.

    Attributes:
        place: The place.
        files: Where its files go.
        preset: The camera.
        query_camera: Intrinsics of query views, at the size asked for.
        catalogue: The furniture, or None for a place of built-in things.
        scene: The place's triangles.
        renderer: Draws it.
        space: Where a walker can be.
        plan: Where the plans lie in ``map``.
        render_plan: Where the coloured render lies.
        videos: The exploration videos.
        facts: Per object id, what they show of it; all objects, in the place's order.
        crf: Quality of videos.
        views: The query views taken so far, by name.
    """

    place: Place
    files: PlaceFiles
    preset: CameraPreset
    query_camera: Intrinsics
    catalogue: Catalogue | None
    scene: SceneMesh
    renderer: Renderer
    space: FreeSpace
    plan: PlanFrame
    render_plan: PlanFrame
    videos: tuple[Video, ...]
    facts: Mapping[str, InstanceFacts]
    crf: int
    views: dict[str, View] = field(default_factory=dict)

    def video_file(self, video: Video) -> str:
        """A video's path relative to the place's folder."""
        return self.files.relative(self.files.video(video.name))

    def marked_video(self, video: Video, object_id: str) -> str:
        """The video with a red rectangle round an object; made at the first call.

        Returns:
            Its path relative to the place's folder.
        """
        file = self.files.marked(video.name, object_id)
        if not file.exists():
            track = video.tracks[object_id]
            mark_video(self.files.video(video.name), file, track, fps=self.preset.fps, crf=self.crf)
        return self.files.relative(file)

    def clip(self, video: Video, first: int, last: int, name: str) -> str:
        """The frames ``first`` to ``last`` (included) of a video as a video of their own.

        Returns:
            Its path relative to the place's folder.
        """
        file = self.files.clip(name)
        cut_video(self.files.video(video.name), file, first, last, fps=self.preset.fps, crf=self.crf)
        return self.files.relative(file)

    def plan_image(self, name: str, image: Image) -> str:
        """Keep a top-down image, for example an option of a question.

        Args:
            name: File name with extension.
            image: H x W or H x W x 3 bytes.

        Returns:
            Its path relative to the place's folder.
        """
        file = self.files.plan_image(name)
        write_image(file, image)
        return self.files.relative(file)

    def path_image(self, name: str, plan: Image, path_m: NDArray[np.float64]) -> str:
        """Keep a plan with a red path and a blue dot at its start.

        Args:
            name: File name with extension.
            plan: The plan, as :attr:`plan` says where it lies.
            path_m: N x 2, frame ``map``.

        Returns:
            Its path relative to the place's folder.
        """
        return self.plan_image(name, draw_path(plan, self.plan.pixel(path_m)))

    def take_view(self, name: str, pose: CameraPose) -> View:
        """Render a query view at its full size and keep it.

        Args:
            name: File name without extension.
            pose: The camera's pose.
        """
        picture = self.renderer.render(self.query_camera, pose)
        file = self.files.view(name)
        write_image(file, picture.rgb)
        counts = np.bincount(picture.ids.ravel())
        things = {thing.id for thing in self.place.objects}
        names = self.scene.instances
        pixels = {names[i]: int(counts[i]) for i in map(int, np.flatnonzero(counts)) if names.get(i) in things}
        view = View(name, self.files.relative(file), pose, self.query_camera, pixels)
        self.views[name] = view
        return view

    def save_views(self) -> None:
        """Write ``gt/views.json``: the poses of all views taken."""
        write_json(self.files.views, {name: view.to_mapping() for name, view in self.views.items()})
