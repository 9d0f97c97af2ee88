"""A small furnished place of our own making, without any furniture catalogue, and its recording."""

from __future__ import annotations

import fcntl
import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gst_ros.scenes.place import Light, Opening, Place, PlacedObject, Room, SceneError, Wall
from gst_ros.scenes.questions.options import QuestionOptions

H = 2.6
TINY_OPTIONS = QuestionOptions(per_task=2, positions=14, clip_length_m=(1.5, 3.0), least_path_distance_m=0.5)
HALF = 0.05  # half of an inner wall
DOOR = 0.9


def tiny_place(seed: int = 7, split: str = "bench", stretch: float = 0.0) -> Place:
    """Three rooms: a living room, a bedroom beside it, and a hall along both.

    Args:
        seed: For its name and for what is drawn at random from it.
        split: Its split.
        stretch: Makes the place wider, so that places of different stretches look different from above.
    """
    w = 9.0 + stretch
    rooms = (
        room("living", 0.0 + HALF, 0.0 + HALF, 5.0 - HALF, 4.0 - HALF, "planks:1"),
        room("bedroom", 5.0 + HALF, 0.0 + HALF, w - HALF, 4.0 - HALF, "carpet:2"),
        room("hall", 0.0 + HALF, 4.0 + HALF, w - HALF, 6.4 - HALF, "tiles:3"),
    )
    walls = (
        wall("south", (0.0, 0.0), (w, 0.0), Opening("window", 1.5, 1.6, 0.9, 2.1)),
        wall("east", (w, 0.0), (w, 6.4)),
        wall("north", (w, 6.4), (0.0, 6.4), Opening("window", 2.0, 1.2, 0.9, 2.1)),
        wall("west", (0.0, 6.4), (0.0, 0.0)),
        wall("between", (5.0, 0.0), (5.0, 4.0)),
        wall(
            "along",
            (0.0, 4.0),
            (w, 4.0),
            Opening("door", 2.0, DOOR, 0.0, 2.0, 1),
            Opening("passage", 6.4, DOOR, 0.0, 2.0),
        ),
    )
    things = (
        thing("sofa", "sofa", "living", 1.4, 0.55, 90.0, (0.85, 1.8, 0.8)),
        thing("dining_table", "table", "living", 3.6, 1.9, 0.0, (1.2, 0.8, 0.75), label="dining table"),
        thing("chair_0", "chair", "living", 3.6, 2.65, -90.0, (0.45, 0.45, 0.9), label="chair"),
        thing("chair_1", "chair", "living", 3.6, 1.15, 90.0, (0.45, 0.45, 0.9), label="chair"),
        thing("bookcase", "shelf", "living", 0.25, 2.6, 0.0, (0.35, 1.1, 1.9)),
        thing(
            "picture_0", "picture", "living", 4.93, 2.2, 180.0, (0.04, 0.8, 0.6), z=1.3, mount="wall", label="picture"
        ),
        thing("bed", "bed", "bedroom", 7.0 + stretch / 2, 1.1, 90.0, (2.0, 1.5, 0.6)),
        thing("wardrobe", "cabinet", "bedroom", w - 0.4, 3.2, 180.0, (0.6, 1.2, 2.0)),
        thing(
            "picture_1", "picture", "bedroom", 5.07, 1.4, 0.0, (0.04, 0.6, 0.8), z=1.3, mount="wall", label="picture"
        ),
        thing("bench", "table", "hall", 0.4, 5.2, 0.0, (0.4, 1.3, 0.45)),
        thing("whiteboard", "board", "hall", 4.6, 6.33, -90.0, (0.05, 1.6, 1.0), z=0.9, mount="wall"),
        thing("counter", "counter", "hall", w - 0.35, 5.4, 180.0, (0.6, 1.5, 0.9)),
    )
    lights = tuple(
        Light((x, y, H - 0.05), (1.0, 0.95, 0.9), 1.0, r)
        for x, y, r in ((2.5, 2.0, "living"), (7.0, 2.0, "bedroom"), (4.5, 5.2, "hall"))
    )
    return Place(f"tiny_{seed}", "home", seed, split, rooms, walls, things, lights)


def room(name: str, x0: float, y0: float, x1: float, y1: float, floor: str) -> Room:
    return Room(name, name, ((x0, y0), (x1, y0), (x1, y1), (x0, y1)), floor, "plaster:1", H)


def wall(name: str, start: tuple[float, float], end: tuple[float, float], *openings: Opening) -> Wall:
    return Wall(name, start, end, 2 * HALF, H, "plaster:1", "plaster:1", tuple(openings))


def thing(
    name: str,
    kind: str,
    where: str,
    x: float,
    y: float,
    yaw: float,
    size: tuple[float, float, float],
    z: float = 0.0,
    mount: Any = "floor",
    label: str = "",
) -> PlacedObject:
    return PlacedObject(
        name,
        label or name,
        f"builtin/{kind}:{len(name)}",
        where,
        (x, y, z),
        yaw,
        size,
        mount=mount,
        blocks=mount == "floor",
    )


def tiny_camera() -> Any:
    """The official camera at a quarter of its size."""
    from gst_ros.scenes.cameras import find_preset

    preset = find_preset("official")
    return replace(preset, name="tiny", video=preset.video.scaled(0.5), query=preset.query.scaled(0.25), fps=5.0)


def need_opengl() -> None:
    """Skip the test where there is no OpenGL."""
    from gst_ros.scenes.rendering.renderer import create_context

    try:
        create_context().release()
    except SceneError as error:
        pytest.skip(f"no OpenGL: {error}")


def record(place: Place, root: Path, renderer: Any, scene: Any, seconds: float) -> Any:
    """Film a place the way the pipeline does, small and short."""
    from gst_ros.scenes.files import PlaceFiles, write_json
    from gst_ros.scenes.filming import gather_facts
    from gst_ros.scenes.footage import VideoWriter
    from gst_ros.scenes.freespace import FreeSpace
    from gst_ros.scenes.instances import TrackRecorder
    from gst_ros.scenes.plans import RENDER_SIZE, PlanFrame
    from gst_ros.scenes.recording import Recording, Video
    from gst_ros.scenes.walking.walk import WalkOptions, walk

    files, preset, space = PlaceFiles(root), tiny_camera(), FreeSpace(place)
    root.mkdir(parents=True)
    draw_from_above(place, files, renderer)
    place.save(files.scene)
    trajectory = walk(place, space, preset, WalkOptions(seconds=seconds), "video1")
    trajectory.save_tum(files.trajectory("video1"))
    tracks = TrackRecorder(place, scene.instances)
    with VideoWriter(files.video("video1"), preset.video.width, preset.video.height, preset.fps) as writer:
        for number, pose in enumerate(trajectory.poses):
            picture = renderer.render(preset.video, pose)
            tracks.add(number, picture.ids)
            writer.write(picture.rgb)
    videos = (Video("video1", trajectory, tracks.tracks()),)
    facts = gather_facts(place, scene, renderer, preset.video, videos)
    write_json(files.instances, [facts[t.id].to_mapping() for t in place.objects])
    write_camera(files.camera, preset)
    return Recording(
        place, files, preset, preset.query, None, scene, renderer, space, PlanFrame.around(place),
        PlanFrame.around(place, RENDER_SIZE), videos, facts, 20,
    )  # fmt: skip


def write_camera(file: Path, preset: Any) -> None:
    from gst_ros.scenes.files import write_json

    def intrinsics(camera: Any) -> dict[str, float]:
        f, cx, cy = camera.f_px, camera.cx, camera.cy
        return {"width": camera.width, "height": camera.height, "fx": f, "fy": f, "cx": cx, "cy": cy}

    heights = {"height_m": preset.height_m}
    query = {**intrinsics(preset.query), **heights, "pitch_deg": preset.query_pitch_deg}
    write_json(file, {**intrinsics(preset.video), **heights, "pitch_deg": preset.pitch_deg, "query_view": query})


def draw_from_above(place: Place, files: Any, renderer: Any) -> None:
    from gst_ros.scenes.files import write_image, write_json
    from gst_ros.scenes.plans import RENDER_SIZE, PlanFrame, draw_plan

    frame, wide = PlanFrame.around(place), PlanFrame.around(place, RENDER_SIZE)
    picture = renderer.render_topdown(wide.width, wide.height, wide.centre_m, wide.m_per_px)
    write_image(files.plan_image("render.jpg"), picture.rgb)
    write_image(files.plan_image("furniture.png"), draw_plan(place, frame))
    write_image(files.plan_image("walls.png"), draw_plan(place, frame, furniture=False))
    frames = {"furniture.png": frame, "walls.png": frame, "render.jpg": wide}
    write_json(files.plan, {name: f.to_mapping() for name, f in frames.items()})


def tiny_set(factory: pytest.TempPathFactory) -> tuple[Any, list[Any], Any]:
    """The tiny place with its questions, made once for all tests of a run; they copy it before they change it.

    The processes of a run (pytest-xdist) share it: the first that asks makes it, the others wait.

    Returns:
        Its recording (without a renderer), the folders of three other places, and what came of asking.
    """
    need_opengl()
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    kept = shared / "tiny_set.pickle"
    with open(shared / "tiny_set.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            made = pickle.dumps(_make_tiny_set(shared / "tiny_set"))
            kept.write_bytes(made)
    # Written above, by a process of this run, into the run's own folder: nobody else's bytes are unpickled.
    recording, others, outcome = pickle.loads(kept.read_bytes())
    return recording, others, outcome


def _make_tiny_set(folder: Path) -> tuple[Any, list[Any], Any]:
    from gst_ros.scenes.files import PlaceFiles
    from gst_ros.scenes.questions.make import make_questions
    from gst_ros.scenes.rendering.build import build_scene_mesh
    from gst_ros.scenes.rendering.renderer import Renderer

    others = []
    for k in range(3):
        place = tiny_place(100 + k, stretch=1.0 + 0.8 * k)
        files = PlaceFiles(folder / "others" / place.name)
        with Renderer(build_scene_mesh(place), place) as renderer:
            draw_from_above(place, files, renderer)
        others.append(files)
    place = tiny_place()
    scene = build_scene_mesh(place)
    with Renderer(scene, place) as renderer:
        recording = record(place, folder / "set" / place.name, renderer, scene, 16.0)
        outcome = make_questions(recording, others, TINY_OPTIONS, set_seed=3, number=0)
    return replace(recording, renderer=None), others, outcome
