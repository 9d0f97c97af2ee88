"""The pictures and the truth of one place, read from its folder as they are wanted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.bench.questions import Question, QuestionSet, Skipped, load_questions
from gst_ros.errors import MediaError
from gst_ros.media.images import read_image
from gst_ros.scenes.check.studio import read_frames
from gst_ros.scenes.check.truth import PlaceTruth
from gst_ros.scenes.files import PlaceFiles
from gst_ros.scenes.place import SceneError
from gst_ros.scenes.plans import PlanFrame
from gst_ros.scenes.reading import MAKE_AGAIN
from gst_ros.scenes.show.drawing import Image, coloured

Array = NDArray[np.float64]


@dataclass
class Material:
    """What the sheet of a place is made of.

    Attributes:
        truth: The place's truth.
    """

    truth: PlaceTruth
    _frames: dict[tuple[str, int], Image] = field(default_factory=dict)

    @property
    def files(self) -> PlaceFiles:
        """Where things lie."""
        return PlaceFiles(self.truth.root)

    @property
    def questions(self) -> list[Question]:
        """The questions that can be asked, in the order of their file."""
        return self._found.questions

    @property
    def skipped(self) -> list[Skipped]:
        """The questions that cannot be asked, with their reasons."""
        return self._found.skipped

    def warnings(self) -> list[str]:
        """What a person should know of the place before they believe its sheet.

        Raises:
            SceneError: A file that the sheet does not need is damaged.
        """
        _ = self.truth.camera
        if not self.skipped:
            return []
        first = self.skipped[0]
        field = f"field '{first.field}': " if first.field else ""
        problem = f"{len(self.skipped)} questions cannot be asked, the first is {first.uid}: {field}{first.reason}"
        return [f"{self.files.questions}: {problem} ({MAKE_AGAIN})"]

    @cached_property
    def _found(self) -> QuestionSet:
        _ = self.truth.questions  # names what is no record; load_questions would pass over it
        return load_questions(self.files.questions)

    def image(self, path: str | Path) -> Image:
        """A picture of the place, as a copy to draw on.

        Args:
            path: Relative to the place's folder, or absolute.

        Raises:
            SceneError: It is missing or no picture.
        """
        file = self.truth.root / path
        if not file.is_file():
            raise SceneError("missing", file=file, remedy=MAKE_AGAIN)
        try:
            return coloured(read_image(file))
        except MediaError as error:
            raise SceneError(error.problem, file=file, remedy=MAKE_AGAIN) from error

    def read(self, wanted: Mapping[str, Sequence[int]]) -> None:
        """Decode frames, each video once; :meth:`frame` hands them out.

        Args:
            wanted: Path of a video relative to the place's folder -> numbers of frames.
        """
        for video, numbers in wanted.items():
            found = read_frames(self.truth.root / video, (n for n in numbers if (video, n) not in self._frames))
            self._frames.update({(video, number): image for number, image in found.items()})

    def frame(self, video: str, number: int) -> Image:
        """A frame of a video, as a copy to draw on.

        Args:
            video: Path relative to the place's folder.
            number: Its number.

        Raises:
            SceneError: The video does not have it.
        """
        if (video, number) not in self._frames:
            self.read({video: [number]})
        if (video, number) not in self._frames:
            raise SceneError(f"has no frame {number}", file=self.truth.root / video, remedy=MAKE_AGAIN)
        return coloured(self._frames[video, number])

    def plan_frame(self, name: str) -> PlanFrame:
        """Where a top-down image lies.

        Args:
            name: Its file name.
        """
        return PlanFrame.from_mapping(self.truth.plans[name])

    def path_m(self, video: str) -> Array:
        """N x 2 positions of the camera on the floor during a video."""
        return np.array([pose.position_m[:2] for pose in self.truth.poses(video)])

    def footprint_m(self, object_id: str) -> Array:
        """4 x 2 corners of an object's rectangle on the floor, frame ``map``."""
        thing = self.truth.objects[object_id]
        depth, width = thing["size_m"][:2]
        yaw = math.radians(thing["yaw_deg"])
        corners = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)]) * (depth / 2, width / 2)
        turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
        return np.asarray(corners @ turn.T + thing["position_m"][:2])

    def view(self, name: str) -> dict[str, Any]:
        """Pose and camera of a query view, by its name."""
        return self.truth.views[f"views/{name}.jpg"]
