"""Colour, depth and instance ids of a place in one pass, with OpenGL on a GPU or, through EGL, without one.

The place does not move, so its shadow maps are drawn once: one cube of distances for each lamp and one map for the sun.
A frame is then two passes over the instances that the camera can see, nearest first: ids with depths, and colours of
what the ids show to be visible at all.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.cameras import CameraPose, Intrinsics
from gst_ros.scenes.place import Place, SceneError
from gst_ros.scenes.rendering import shaders
from gst_ros.scenes.rendering.lighting import SKIES, lamps_for_boxes, sun_direction
from gst_ros.scenes.rendering.mesh import SceneMesh
from gst_ros.scenes.rendering.upload import Geometry, upload_materials, upload_textures

EGL_PACKAGES = "libegl1 libgl1-mesa-dri libgles2 libopengl0 libglx-mesa0 libegl-mesa0"
NEAR_M = 0.03
FAR_M = 300.0
LAMP_SHADOW_PIXELS = 384
LAMP_FACE_FOV_DEG = 91.5  # a little over 90, so that the taps at a seam find their neighbours
SUN_SHADOW_PIXELS = 3072
EXPOSURE = 1.0
INDOOR_AMBIENT_UP = (0.36, 0.36, 0.37)
INDOOR_AMBIENT_DOWN = (0.30, 0.28, 0.26)


@dataclass(frozen=True)
class Rendered:
    """One picture with its ground truth.

    Attributes:
        rgb: H x W x 3 bytes.
        depth_m: H x W, along the optical axis; infinite where the sky is.
        ids: H x W instance ids (:class:`SceneMesh`); 0 where the sky is.
    """

    rgb: NDArray[np.uint8]
    depth_m: NDArray[np.float32]
    ids: NDArray[np.uint16]


def create_context() -> Any:
    """An OpenGL context without a window.

    Raises:
        SceneError: When moderngl or EGL is missing; it names the packages.
    """
    try:
        import moderngl
    except ImportError as error:
        raise SceneError("moderngl is not installed", remedy="pip install 'gst_ros[scenes]'") from error
    try:
        return moderngl.create_context(require=330, standalone=True, backend="egl")  # type: ignore[arg-type]
    except Exception as error:  # moderngl and glcontext raise bare exceptions of several kinds here
        remedy = f"on Debian and Ubuntu: apt-get install {EGL_PACKAGES}"
        raise SceneError(f"no OpenGL 3.3 context through EGL: {error}", remedy=remedy) from error


class Renderer:
    """Draws one place. Not thread-safe; make one in each process.

    Args:
        scene: The place's triangles.
        place: Its description, for lamps, sun and sky.
        context: A context of :func:`create_context` to share; by default the renderer makes and owns one.
    """

    def __init__(self, scene: SceneMesh, place: Place, *, context: Any = None) -> None:
        self._owns_context = context is None
        self._gl = create_context() if context is None else context
        self._place = place
        self._geometry = Geometry(self._gl, scene)
        self._textures = upload_textures(self._gl, self._geometry.materials)
        self._materials = upload_materials(self._gl, self._geometry.materials)
        self._scene = self._gl.program(shaders.SCENE_VERTEX, shaders.SCENE_FRAGMENT)
        self._sky = self._gl.program(shaders.SKY_VERTEX, shaders.SKY_FRAGMENT)
        self._ids = self._gl.program(shaders.IDS_VERTEX, shaders.IDS_FRAGMENT)
        self._scene_vao = self._geometry.vertex_array(self._scene)
        self._ids_vao = self._geometry.vertex_array(self._ids, positions_only=True)
        self._sky_vao = self._gl.vertex_array(self._sky, [])
        self._targets: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._gl.enable(self._gl.DEPTH_TEST)
        self._sun = sun_direction(place)
        self._lamps_of = lamps_for_boxes(place, self._geometry.low, self._geometry.high)
        self._lamp_shadows = self._draw_lamp_shadows()
        self._sun_shadow, self._sun_from_map, self._sun_texel_m = self._draw_sun_shadow()
        self._set_constants()

    def __enter__(self) -> Renderer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the context, if it is the renderer's own."""
        if self._owns_context and self._gl is not None:
            self._gl.release()
        self._gl = None

    def render(self, camera: Intrinsics, pose: CameraPose) -> Rendered:
        """Draw what a pinhole camera sees.

        Args:
            camera: Its intrinsics.
            pose: Its pose in ``map``.
        """
        camera_from_map = pose.matrix_camera_from_map
        clip = _perspective(camera) @ camera_from_map
        rotation = pose.rotation_map_from_camera
        from_ndc = rotation @ np.diag([camera.width / 2 / camera.f_px, camera.height / 2 / camera.f_px, 1.0])
        eye = np.array([pose.x_m, pose.y_m, pose.z_m])
        return self._draw((camera.width, camera.height), clip, camera_from_map[2], eye, np.zeros(3), from_ndc, None)

    def render_ids(
        self, camera: Intrinsics, pose: CameraPose, only: Collection[int] | None = None
    ) -> NDArray[np.uint16]:
        """Draw the instance ids that a camera sees, without colours: many times faster.

        Args:
            camera: Its intrinsics.
            pose: Its pose in ``map``.
            only: The instances to draw, as if nothing else were there; None for all.

        Returns:
            H x W instance ids; 0 where there is nothing.
        """
        hidden = None if only is None else ~np.isin(self._geometry.instance, list(only))
        clip = _perspective(camera) @ pose.matrix_camera_from_map
        eye = np.array([pose.x_m, pose.y_m, pose.z_m])
        visible = self._geometry.visible(clip, eye, hidden)
        return self._draw_ids((camera.width, camera.height), clip, visible)

    def render_topdown(self, width: int, height: int, centre_m: tuple[float, float], m_per_px: float) -> Rendered:
        """Draw the place from straight above, without ceilings; north is up.

        Args:
            width: Image width in pixels.
            height: Image height in pixels.
            centre_m: What the image's centre shows, frame ``map``.
            m_per_px: Metres per pixel.
        """
        top = float(self._geometry.high[:, 2].max()) + 5.0
        half = np.array([width, height]) * m_per_px / 2
        depth = top + 5.0
        clip = np.array(
            [
                [1 / half[0], 0, 0, -centre_m[0] / half[0]],
                [0, -1 / half[1], 0, centre_m[1] / half[1]],
                [0, 0, -2 / depth, 2 * top / depth - 1],
                [0, 0, 0, 1],
            ]
        )
        axis = np.array([0.0, 0.0, -1.0, top])
        eye = np.array([*centre_m, top])
        return self._draw((width, height), clip, axis, eye, np.array([0.0, 0.0, -1.0]), None, self._geometry.is_ceiling)

    def _draw(
        self,
        size: tuple[int, int],
        clip: NDArray[np.float64],
        axis: NDArray[np.float64],
        eye: NDArray[np.float64],
        view_direction: NDArray[np.float64],
        map_from_ndc: NDArray[np.float64] | None,
        hidden: NDArray[np.bool_] | None,
    ) -> Rendered:
        visible = self._geometry.visible(clip, eye, hidden)
        ids = self._draw_ids(size, clip, visible)
        seen = np.bincount(ids.ravel(), minlength=int(self._geometry.instance.max()) + 1) > 0
        target = self._target(size)[1]
        target.use()
        target.depth_mask = False  # the depths stay: what is drawn now is what the ids show
        target.clear(1.0, 1.0, 1.0, 1.0)
        target.color_attachments[1].write(np.full(size[::-1], np.inf, np.float32).tobytes())
        self._gl.depth_func = "<="
        program = self._scene
        program["clip_from_map"].write(_column_major(clip))
        program["axis"].value = tuple(axis)
        program["eye"].value = tuple(eye)
        program["view_direction"].value = tuple(view_direction)
        self._textures.use(0)
        self._materials.use(1)
        self._lamp_shadows.use(2)
        self._sun_shadow.use(3)
        for k in visible[seen[self._geometry.instance[visible]]]:
            self._draw_instance(k)
        self._gl.depth_func = "<"
        if map_from_ndc is not None:
            self._sky["map_from_ndc"].write(_column_major(map_from_ndc))
            self._sky_vao.render(self._gl.TRIANGLES, vertices=3)
        shape = size[::-1]
        rgb = np.frombuffer(target.read(components=3, alignment=1), np.uint8).reshape(*shape, 3)
        data = target.read(components=1, attachment=1, dtype="f4", alignment=1)
        return Rendered(rgb, np.frombuffer(data, np.float32).reshape(shape), ids)

    def _draw_ids(
        self, size: tuple[int, int], clip: NDArray[np.float64], visible: NDArray[np.int64]
    ) -> NDArray[np.uint16]:
        """Draw ids, and depths into the buffer that the colours use."""
        target = self._target(size)[0]
        target.use()
        target.clear(depth=1.0)
        target.color_attachments[0].write(np.zeros(size[::-1], np.uint16).tobytes())
        self._gl.depth_func = "<"
        self._ids["clip_from_map"].write(_column_major(clip))
        for k in visible:
            self._ids["instance"].value = int(self._geometry.instance[k])
            self._ids_vao.render(
                self._gl.TRIANGLES, vertices=int(self._geometry.count[k]), first=int(self._geometry.first[k])
            )
        data = target.read(components=1, dtype="u2", alignment=1)
        return np.frombuffer(data, np.uint16).reshape(size[::-1])

    def _draw_instance(self, k: int) -> None:
        program, lights = self._scene, self._place.lights
        lamps = self._lamps_of[k]
        padding = [0] * (shaders.MAX_LAMPS - len(lamps))
        program["lamp_count"].value = len(lamps)
        if lamps:
            chosen = [lights[i] for i in lamps + padding]
            program["lamp_rows"].value = lamps + padding
            program["lamp_positions"].value = [light.position_m for light in chosen]
            program["lamp_colours"].value = [tuple(c * light.intensity * 2.6 for c in light.colour) for light in chosen]
        self._scene_vao.render(
            self._gl.TRIANGLES, vertices=int(self._geometry.count[k]), first=int(self._geometry.first[k])
        )

    def _target(self, size: tuple[int, int]) -> tuple[Any, Any]:
        """Framebuffers for ids and for colours of one size, which share their depths."""
        if size not in self._targets:
            nearest = self._gl.depth_renderbuffer(size)
            ids = self._gl.texture(size, 1, dtype="u2")
            colour, depth = self._gl.renderbuffer(size, 4), self._gl.texture(size, 1, dtype="f4")
            self._targets[size] = (
                self._gl.framebuffer([ids], nearest),
                self._gl.framebuffer([colour, depth], nearest),
            )
        return self._targets[size]

    def _draw_lamp_shadows(self) -> Any:
        """One row of six faces of distances for each lamp."""
        lights = self._place.lights
        pixels, rows = LAMP_SHADOW_PIXELS, max(1, len(lights))
        atlas = self._gl.texture((6 * pixels, rows * pixels), 1, dtype="f4")
        atlas.filter = (self._gl.NEAREST, self._gl.NEAREST)
        target = self._gl.framebuffer([atlas], self._gl.depth_renderbuffer(atlas.size))
        target.use()
        target.clear(1e6, 0.0, 0.0, 0.0, depth=1.0)
        program = self._gl.program(shaders.SHADOW_VERTEX, shaders.LAMP_SHADOW_FRAGMENT)
        vao = self._geometry.vertex_array(program, positions_only=True)
        for row, light in enumerate(lights):
            program["lamp"].value = light.position_m
            for face in range(6):
                target.viewport = (face * pixels, row * pixels, pixels, pixels)
                clip = _cube_face(np.array(light.position_m), face)
                program["clip_from_map"].write(_column_major(clip))
                for k in self._geometry.visible(clip, np.array(light.position_m), self._geometry.is_lamp_body):
                    vao.render(
                        self._gl.TRIANGLES, vertices=int(self._geometry.count[k]), first=int(self._geometry.first[k])
                    )
        return atlas

    def _draw_sun_shadow(self) -> tuple[Any, NDArray[np.float64], float]:
        """A map of depths along the sun's rays that covers the whole place."""
        place = ~self._geometry.is_outer_ground  # which only catches shadows, and would waste the map's pixels
        low, high = self._geometry.low[place].min(axis=0), self._geometry.high[place].max(axis=0)
        corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
        forward = -self._sun
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        up = np.cross(right, forward)
        seen = corners @ np.stack([right, up, forward], axis=1)
        middle, half = (seen.max(axis=0) + seen.min(axis=0)) / 2, (seen.max(axis=0) - seen.min(axis=0)) / 2 + 0.5
        sun_from_map = np.eye(4)
        for row, (direction, m, h) in enumerate(zip((right, up, forward), middle, half, strict=True)):
            sun_from_map[row, :3] = direction / h
            sun_from_map[row, 3] = -m / h
        pixels = SUN_SHADOW_PIXELS
        shadow = self._gl.texture((pixels, pixels), 1, dtype="f4")
        shadow.filter = (self._gl.NEAREST, self._gl.NEAREST)
        target = self._gl.framebuffer([shadow], self._gl.depth_renderbuffer(shadow.size))
        target.use()
        target.clear(1e6, 0.0, 0.0, 0.0, depth=1.0)
        program = self._gl.program(shaders.SHADOW_VERTEX, shaders.SUN_SHADOW_FRAGMENT)
        program["clip_from_map"].write(_column_major(sun_from_map))
        program["sun_direction"].value = tuple(self._sun)
        vao = self._geometry.vertex_array(program, positions_only=True)
        vao.render(self._gl.TRIANGLES)
        return shadow, sun_from_map, float(2 * max(half[0], half[1]) / pixels)

    def _set_constants(self) -> None:
        sky = SKIES[self._place.sky]
        program = self._scene
        for unit, name in enumerate(("textures", "materials", "lamp_shadows", "sun_shadow")):
            program[name].value = unit
        program["atlas_rows"].value = float(max(1, len(self._place.lights)))
        program["face_scale"].value = math.tan(math.radians(LAMP_FACE_FOV_DEG / 2))
        program["sun_from_map"].write(_column_major(self._sun_from_map))
        program["sun_direction"].value = tuple(self._sun)
        program["sun_colour"].value = tuple(sky.sun_strength * c for c in (1.0, 0.96, 0.88))
        program["sun_texel_m"].value = self._sun_texel_m
        program["ambient_up"].value = INDOOR_AMBIENT_UP
        program["ambient_down"].value = INDOOR_AMBIENT_DOWN
        program["exposure"].value = EXPOSURE
        self._sky["zenith"].value = sky.zenith
        self._sky["horizon"].value = sky.horizon
        self._sky["ground"].value = sky.ground
        self._sky["clouds"].value = sky.clouds


def _column_major(matrix: NDArray[np.float64]) -> bytes:
    return np.ascontiguousarray(matrix.T, np.float32).tobytes()


def _perspective(camera: Intrinsics) -> NDArray[np.float64]:
    """Clip from ``camera_optical_frame``; image rows come out top first, so no flip is needed after reading."""
    return np.array(
        [
            [2 * camera.f_px / camera.width, 0, 0, 0],
            [0, 2 * camera.f_px / camera.height, 0, 0],
            [0, 0, (FAR_M + NEAR_M) / (FAR_M - NEAR_M), -2 * FAR_M * NEAR_M / (FAR_M - NEAR_M)],
            [0, 0, 1, 0],
        ]
    )


def _cube_face(lamp: NDArray[np.float64], face: int) -> NDArray[np.float64]:
    """Clip from ``map`` for one face of a lamp's cube, in the layout that the shader's ``face_of`` reads."""
    axis = (2, 2, 0, 0, 1, 1)[face]
    sign = -1.0 if face % 2 == 0 else 1.0
    first, second = {2: (0, 1), 0: (1, 2), 1: (0, 2)}[axis]
    scale = 1.0 / math.tan(math.radians(LAMP_FACE_FOV_DEG / 2))
    near, far = 0.02, 200.0
    rows = np.zeros((4, 4))
    rows[0, first], rows[1, second], rows[3, axis] = scale, scale, sign
    rows[2, axis], rows[2, 3] = sign * (far + near) / (far - near), -2 * far * near / (far - near)
    shift = np.eye(4)
    shift[:3, 3] = -lamp
    return rows @ shift
