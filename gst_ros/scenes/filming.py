"""One place from its seed to its folder: the plans, the videos, the facts, and the questions."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from gst_ros.scenes.cameras import CameraPreset, Intrinsics
from gst_ros.scenes.catalogue import FURNITURE_DIR_VARIABLE, Catalogue
from gst_ros.scenes.files import PlaceFiles, write_image, write_json
from gst_ros.scenes.footage import VideoWriter
from gst_ros.scenes.freespace import FreeSpace
from gst_ros.scenes.grow import GrowOptions, grow_place
from gst_ros.scenes.instances import InstanceFacts, Track, TrackRecorder
from gst_ros.scenes.place import Place
from gst_ros.scenes.plans import RENDER_SIZE, PlanFrame, draw_plan
from gst_ros.scenes.questions.make import Outcome, make_questions
from gst_ros.scenes.recording import Recording, Video
from gst_ros.scenes.rendering.build import build_scene_mesh
from gst_ros.scenes.rendering.mesh import SceneMesh
from gst_ros.scenes.rendering.renderer import Renderer
from gst_ros.scenes.rendering.sensor import Sensor
from gst_ros.scenes.settings import PlaceSpec, SetOptions
from gst_ros.scenes.walking.walk import walk

Progress = Callable[[float], None]
"""Takes the share of a place's work that was just done; the shares of a place add up to 1."""

DRAFT_SHARE, VIDEO_SHARE, FACTS_SHARE = 0.05, 0.55, 0.05
DEPTH_SCALE = 1000.0


def open_catalogue(options: SetOptions) -> Catalogue | None:
    """The furniture that a set uses; None when it is made of built-in things.

    Raises:
        SceneError: It is missing.
    """
    return None if options.builtin_only else _catalogue(os.environ.get(FURNITURE_DIR_VARIABLE))


@lru_cache(maxsize=1)
def _catalogue(folder: str | None) -> Catalogue:
    return Catalogue.open(Path(folder) if folder else None)


def grow(spec: PlaceSpec, options: SetOptions, catalogue: Catalogue | None) -> Place:
    """The place of a specification, under the name that it has in the set."""
    wishes = GrowOptions(
        area_m2=options.area_m2,
        licences=options.licence_ids,
        builtin_only=options.builtin_only,
    )
    return replace(grow_place(spec.kind, spec.seed, options.split, catalogue, wishes), name=spec.name)


def draft_place(spec: PlaceSpec, options: SetOptions, folder: Path) -> None:
    """Grow a place and draw its top-down images: what other places' questions need of it.

    Args:
        spec: Which place.
        options: The set's settings.
        folder: Where the place's folder is put when it is complete; not there yet.

    Raises:
        SceneError: It cannot be grown or rendered.
    """
    catalogue = open_catalogue(options)
    files = PlaceFiles(folder.with_name(folder.name + ".part"))
    shutil.rmtree(files.root, ignore_errors=True)
    files.root.mkdir(parents=True)
    place = grow(spec, options, catalogue)
    with Renderer(build_scene_mesh(place, catalogue), place) as renderer:
        _draw_plans(place, files, catalogue, renderer)
    files.root.rename(folder)


def film_place(
    spec: PlaceSpec, options: SetOptions, draft: Path, neighbours: Sequence[Path], folder: Path, progress: Progress
) -> Outcome:
    """Make a whole place.

    Args:
        spec: Which place.
        options: The set's settings.
        draft: What :func:`draft_place` made of it.
        neighbours: Drafts of other places.
        folder: Where the place's folder is put when it is complete; not there yet.
        progress: Told what was done.

    Returns:
        How many questions there are, and why there are no more.

    Raises:
        SceneError: It cannot be made.
    """
    files = PlaceFiles(draft.parent.parent / f"{spec.name}.part")
    shutil.rmtree(files.root, ignore_errors=True)
    shutil.copytree(draft, files.root)
    catalogue = open_catalogue(options)
    place = grow(spec, options, catalogue)
    scene = build_scene_mesh(place, catalogue)
    space = FreeSpace(place)
    preset = options.preset
    _write_camera(files, preset, options.query_camera)
    with Renderer(scene, place) as renderer:
        progress(DRAFT_SHARE)
        videos = tuple(
            _film(f"video{k + 1}", place, scene, renderer, space, options, files, progress)
            for k in range(options.videos)
        )
        facts = gather_facts(place, scene, renderer, preset.video, videos)
        write_json(files.instances, [facts[thing.id].to_mapping() for thing in place.objects])
        progress(FACTS_SHARE)
        recording = Recording(
            place=place,
            files=files,
            preset=preset,
            query_camera=options.query_camera,
            catalogue=catalogue,
            scene=scene,
            renderer=renderer,
            space=space,
            plan=PlanFrame.around(place),
            render_plan=PlanFrame.around(place, RENDER_SIZE),
            videos=videos,
            facts=facts,
            crf=options.crf,
        )
        others = [PlaceFiles(path) for path in neighbours]
        outcome = make_questions(recording, others, options.questions, set_seed=options.seed, number=spec.number)
    files.root.rename(folder)
    progress(1.0 - DRAFT_SHARE - VIDEO_SHARE - FACTS_SHARE)
    return outcome


def gather_facts(
    place: Place, scene: SceneMesh, renderer: Renderer, camera: Intrinsics, videos: Sequence[Video]
) -> dict[str, InstanceFacts]:
    """What the videos show of each object.

    How much of an object is hidden or cut off in its best frame comes from drawing it alone: once within the image,
    and once in an image twice as wide and high.

    Args:
        place: The place.
        scene: Its triangles.
        renderer: Draws it.
        camera: Intrinsics of the videos.
        videos: The videos.

    Returns:
        Object id -> facts, for all objects in the place's order.
    """
    numbers = {name: number for number, name in scene.instances.items()}
    wide = Intrinsics(2 * camera.width, 2 * camera.height, camera.f_px)
    result = {}
    for thing in place.objects:
        shown = [(video, video.tracks[thing.id]) for video in videos if thing.id in video.tracks]
        if not shown:
            result[thing.id] = InstanceFacts(thing)
            continue
        video, track = max(shown, key=lambda pair: _rank(pair[1], camera))
        best = track.best(camera.width, camera.height)
        pose = video.trajectory.poses[int(track.frames[best])]
        pixels = int(track.pixels[best])
        only = [numbers[thing.id]]
        alone = int(np.count_nonzero(renderer.render_ids(camera, pose, only)))
        whole = int(np.count_nonzero(renderer.render_ids(wide, pose, only)))
        x0, y0, x1, y1 = (int(v) for v in track.boxes[best])
        result[thing.id] = InstanceFacts(
            thing,
            pixels,
            video.name,
            int(track.frames[best]),
            (x0, y0, x1, y1),
            x0 == 0 or y0 == 0 or x1 == camera.width - 1 or y1 == camera.height - 1,
            pixels / max(alone, pixels),
            pixels / max(whole, pixels),
            {video.name: track.visible_frames() for video, track in shown},
        )
    return result


def _rank(track: Track, camera: Intrinsics) -> tuple[bool, int]:
    """How well a video shows an object: whole rather than cut off, and large."""
    best = track.best(camera.width, camera.height)
    x0, y0, x1, y1 = track.boxes[best]
    return bool(x0 > 0 and y0 > 0 and x1 < camera.width - 1 and y1 < camera.height - 1), int(track.pixels[best])


def _draw_plans(place: Place, files: PlaceFiles, catalogue: Catalogue | None, renderer: Renderer) -> None:
    frame, wide = PlanFrame.around(place), PlanFrame.around(place, RENDER_SIZE)
    picture = renderer.render_topdown(wide.width, wide.height, wide.centre_m, wide.m_per_px)
    write_image(files.plan_image("render.jpg"), picture.rgb)
    write_image(files.plan_image("furniture.png"), draw_plan(place, frame, catalogue))
    write_image(files.plan_image("walls.png"), draw_plan(place, frame, furniture=False))
    place.save(files.scene)
    plans = {"furniture.png": frame, "walls.png": frame, "render.jpg": wide}
    write_json(files.plan, {name: f.to_mapping() for name, f in plans.items()})


def _write_camera(files: PlaceFiles, preset: CameraPreset, query: Intrinsics) -> None:
    def intrinsics(camera: Intrinsics) -> dict[str, float]:
        return {
            "width": camera.width,
            "height": camera.height,
            "fx": camera.f_px,
            "fy": camera.f_px,
            "cx": camera.cx,
            "cy": camera.cy,
        }

    own = {**intrinsics(preset.video), "height_m": preset.height_m, "pitch_deg": preset.pitch_deg}
    view = {**intrinsics(query), "height_m": preset.height_m, "pitch_deg": preset.query_pitch_deg}
    write_json(files.camera, {**own, "query_view": view}, sort_keys=False)


def _film(
    name: str,
    place: Place,
    scene: SceneMesh,
    renderer: Renderer,
    space: FreeSpace,
    options: SetOptions,
    files: PlaceFiles,
    progress: Progress,
) -> Video:
    """Walk through a place and film it."""
    preset, camera = options.preset, options.preset.video
    trajectory = walk(place, space, preset, options.walk, name)
    trajectory.save_tum(files.trajectory(name))
    tracks = TrackRecorder(place, scene.instances)
    sensor = Sensor(camera, trajectory, place.seed, name) if options.sensor_effects else None
    share = VIDEO_SHARE / options.videos / len(trajectory)
    with VideoWriter(files.video(name), camera.width, camera.height, preset.fps, options.crf) as writer:
        for number, pose in enumerate(trajectory.poses):
            picture = renderer.render(camera, pose)
            tracks.add(number, picture.ids)
            writer.write(picture.rgb if sensor is None else sensor.expose(number, picture.rgb))
            if options.depth:
                write_image(files.depth(name, number), depth_image(picture.depth_m))
            progress(share)
    return Video(name, trajectory, tracks.tracks())


def depth_image(
    depth_m: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint16]]:
    """Depth as 16-bit millimetres; 0 where there is none or beyond 65.535 m.

    Args:
        depth_m: H x W, metres along the optical axis.
    """
    millimetres = np.where(np.isfinite(depth_m), depth_m, 0.0) * DEPTH_SCALE
    return np.where(millimetres < 65535.5, np.round(millimetres), 0).astype(np.uint16)
