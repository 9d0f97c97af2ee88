"""A place's triangles and renderer, for checks that need pictures again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av
import av.error
import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.cameras import CameraPose, Intrinsics
from gst_ros.scenes.check.truth import PlaceTruth
from gst_ros.scenes.place import SceneError, load_place
from gst_ros.scenes.reading import MAKE_AGAIN

if TYPE_CHECKING:
    from gst_ros.scenes.rendering.mesh import SceneMesh
    from gst_ros.scenes.rendering.renderer import Rendered, Renderer

Image = NDArray[np.uint8]


@dataclass
class Studio:
    """What is under test, beside the truth that it is tested with.

    Attributes:
        truth: The place's truth.
        mesh: Its triangles.
        renderer: Draws them.
        sensor_effects: Whether the videos were spoilt on purpose.
    """

    truth: PlaceTruth
    mesh: SceneMesh
    renderer: Renderer
    sensor_effects: bool = False

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Instance id of each object."""
        return {name: number for number, name in self.mesh.instances.items()}

    def frame(self, video: str, number: int) -> Rendered:
        """A frame of a video, rendered again."""
        return self.renderer.render(self._intrinsics(self.truth.camera), self._walk(video)[number])

    def view(self, view: Mapping[str, Any]) -> Rendered:
        """A query view, rendered again."""
        x, y, z = view["position_m"]
        pose = CameraPose(x, y, z, view["yaw_deg"], view["pitch_deg"], view["roll_deg"])
        return self.renderer.render(self._intrinsics(self.truth.camera["query_view"]), pose)

    def _walk(self, video: str) -> tuple[CameraPose, ...]:
        from gst_ros.scenes.trajectory import read_tum

        return read_tum(self.truth.root / "gt" / f"trajectory_{video}.tum").poses

    @staticmethod
    def _intrinsics(values: Mapping[str, Any]) -> Intrinsics:
        return Intrinsics(int(values["width"]), int(values["height"]), float(values["fx"]))


@contextmanager
def open_studio(truth: PlaceTruth, settings: Mapping[str, Any]) -> Iterator[Studio]:
    """Build a place's triangles and a renderer for them.

    Args:
        truth: The place.
        settings: ``set.json``; empty when there is none.

    Raises:
        SceneError: The furniture or OpenGL is missing.
    """
    from gst_ros.scenes.catalogue import Catalogue
    from gst_ros.scenes.rendering.build import build_scene_mesh
    from gst_ros.scenes.rendering.renderer import Renderer

    place = load_place(truth.root / "gt" / "scene.json")
    needs_furniture = any(not thing.model.startswith("builtin/") for thing in place.objects)
    mesh = build_scene_mesh(place, Catalogue.open() if needs_furniture else None)
    with Renderer(mesh, place) as renderer:
        yield Studio(truth, mesh, renderer, bool(settings.get("sensor_effects")))


def frames_of(file: Path) -> Iterator[av.VideoFrame]:
    """All frames of a video; :func:`rgb` makes images of them.

    Raises:
        SceneError: It is missing or cannot be decoded, from the start or from some frame on.
    """
    try:
        with av.open(str(file)) as container:
            yield from container.decode(video=0)
    except (OSError, av.error.FFmpegError, IndexError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SceneError(f"cannot be decoded: {reason}", file=file, remedy=MAKE_AGAIN) from error


def rgb(frame: av.VideoFrame) -> Image:
    """A frame as H x W x 3 bytes."""
    return np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)


def read_frames(file: Path, wanted: Iterable[int]) -> dict[int, Image]:
    """Some frames of a video by number, H x W x 3 bytes each.

    Raises:
        SceneError: It is missing or cannot be decoded.
    """
    left = set(wanted)
    result: dict[int, Image] = {}
    for number, frame in enumerate(frames_of(file)):
        if number in left:
            result[number] = rgb(frame)
            left.discard(number)
        if not left:
            break
    return result


def psnr_db(a: Image, b: Image) -> float:
    """Peak signal-to-noise ratio of two images; 0 when their sizes differ."""
    if a.shape != b.shape:
        return 0.0
    error = float(((a.astype(np.float64) - b.astype(np.float64)) ** 2).mean())
    return float("inf") if error == 0.0 else 10.0 * float(np.log10(255.0**2 / error))


def inner_pixels(ids: NDArray[np.uint16]) -> NDArray[np.bool_]:
    """Pixels whose eight neighbours are all of their own instance.

    At the edge of an instance half a pixel decides: there a projected point or a ray and a rasterised triangle may
    fall on different sides without either being wrong.
    """
    import cv2

    image = ids.astype(np.float32)  # exact for 16 bits
    kernel = np.ones((3, 3), np.uint8)
    return np.asarray(cv2.erode(image, kernel) == cv2.dilate(image, kernel))
