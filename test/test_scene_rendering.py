"""Furniture files into meshes, and meshes into colours, depths and ids, against geometry worked out here."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("moderngl", reason="needs the scenes extra")

from tiny_places import tiny_place

from gst_ros.scenes.cameras import CameraPose, Intrinsics, project
from gst_ros.scenes.place import SceneError
from gst_ros.scenes.rendering.build import build_scene_mesh
from gst_ros.scenes.rendering.obj import load_obj
from gst_ros.scenes.rendering.renderer import Renderer

UPRIGHT = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
CAMERA = Intrinsics(320, 256, 167.6)
BOX = """
v 0 0 0
v 2 0 0
v 2 4 0
v 0 4 0
v 0 0 1
vt 0 0
vt {big} 1
vt nan 1
f 1/1 2/2 3/3 4/1
f 1/1 4/2 5/3
"""


def archive(folder: Path, text: str) -> Path:
    file = folder / "furniture.zip"
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("models/thing.obj", text)
    return file


def test_a_model_gets_its_real_size_and_stands_on_the_floor(tmp_path: Path) -> None:
    mesh = load_obj(archive(tmp_path, BOX.format(big=1)), "models/thing.obj", UPRIGHT, (0.5, 1.0, 0.8))
    low, high = mesh.positions.min(axis=0), mesh.positions.max(axis=0)
    assert np.allclose(high - low, (0.5, 1.0, 0.8), atol=1e-6)
    assert low[2] == pytest.approx(0, abs=1e-6)
    assert np.allclose((low + high)[:2], 0, atol=1e-6)


def test_texture_coordinates_that_cannot_be_meant_are_left_out(tmp_path: Path) -> None:
    mesh = load_obj(archive(tmp_path, BOX.format(big="3.4e9")), "models/thing.obj", UPRIGHT, (0.5, 1.0, 0.8))
    assert np.abs(mesh.uvs).max() <= 1


def test_leaves_that_are_made_larger_stay_in_the_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gst_ros.scenes.rendering.obj.MAX_FACES", 50)
    random = np.random.default_rng(0)
    centres = random.uniform(0.1, 0.9, (600, 3))
    corners = centres[:, None] + random.uniform(-0.1, 0.1, (600, 3, 3))
    text = "".join(f"v {x:.4f} {y:.4f} {z:.4f}\n" for x, y, z in corners.reshape(-1, 3))
    text += "".join(f"f {3 * k + 1} {3 * k + 2} {3 * k + 3}\n" for k in range(600))
    mesh = load_obj(archive(tmp_path, text), "models/thing.obj", UPRIGHT, (0.8, 0.6, 0.9))
    assert len(mesh.faces) < 600
    assert (np.abs(mesh.positions[:, :2]).max(axis=0) <= np.array([0.405, 0.305]) + 1e-6).all()
    assert mesh.positions[:, 2].min() >= -0.0051 and mesh.positions[:, 2].max() <= 0.9051


@pytest.mark.parametrize("text", ["v 0 0\nf 1 2 3\n", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "v a b c\n", ""])
def test_a_damaged_model_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(SceneError, match=r"furniture\.zip:models/thing\.obj"):
        load_obj(archive(tmp_path, text), "models/thing.obj", UPRIGHT, (1.0, 1.0, 1.0))


def test_a_pixel_has_the_depth_of_the_floor_that_its_ray_meets() -> None:
    place = tiny_place()
    pose = CameraPose(2.5, 5.0, 1.5, 0.0, 50.0)
    try:
        renderer = Renderer(build_scene_mesh(place), place)
    except SceneError as error:
        pytest.skip(str(error))
    with renderer:
        picture = renderer.render(CAMERA, pose)
        ids = renderer.render_ids(CAMERA, pose)
    v = int(CAMERA.cy) + 60
    ray = pose.rotation_map_from_camera @ [0.0, (v - CAMERA.cy) / CAMERA.f_px, 1.0]
    assert picture.depth_m[v, round(CAMERA.cx)] == pytest.approx(-pose.z_m / ray[2], rel=0.01)
    assert np.array_equal(ids, picture.ids)
    assert picture.rgb.std() > 5


def test_objects_appear_where_projection_puts_their_centres() -> None:
    place = tiny_place()
    scene = build_scene_mesh(place)
    bed = next(thing for thing in place.objects if thing.id == "bed")
    pose = CameraPose(7.0, 3.6, 1.5, -90.0, 35.0)
    pixels, depth = project(np.array([bed.centre_m]), pose, CAMERA)
    try:
        renderer = Renderer(scene, place)
    except SceneError as error:
        pytest.skip(str(error))
    with renderer:
        picture = renderer.render(CAMERA, pose)
        number = next(number for number, name in scene.instances.items() if name == "bed")
        alone = renderer.render_ids(CAMERA, pose, [number])
    u, v = np.round(pixels[0]).astype(int)
    assert scene.instances[int(picture.ids[v, u])] == "bed"
    assert 0 < picture.depth_m[v, u] <= depth[0]
    assert set(np.unique(alone)) == {0, number}
    assert ((picture.ids == number) <= (alone == number)).all()
