"""Relocalisation in a room that is drawn ray by ray: walls, floor and boxes with random blotches."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest

from gst_ros.errors import ConfigError
from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.mapping.features import SiftFeatures
from gst_ros.mapping.landmarks import View
from gst_ros.mapping.relocalise import Located, Lost, RelocaliseConfig, Relocaliser

CAMERA = PinholeCamera.centred(320, 256, 168.0)
MOUNT = CameraMount(1.5, 35.0)
SIZE_M = (5.0, 4.0, 2.5)
PX_PER_M = 80


def texture(seed: int, width_m: float, height_m: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    image = np.full((round(height_m * PX_PER_M), round(width_m * PX_PER_M), 3), 140, np.uint8)
    for _ in range(round(40 * width_m * height_m)):
        x, y = (int(v) for v in rng.integers(0, [image.shape[1], image.shape[0]]))
        colour = tuple(int(v) for v in rng.integers(0, 255, 3))
        cv2.rectangle(image, (x, y), (x + int(rng.integers(3, 16)), y + int(rng.integers(3, 16))), colour, -1)
    return cv2.GaussianBlur(image, (0, 0), 0.8)


@pytest.fixture(scope="module")
def sides() -> list[np.ndarray]:
    """Textures of the planes x = 0, x = 5, y = 0, y = 4, z = 0, z = 2.5."""
    x, y, z = SIZE_M
    shapes = [(y, z), (y, z), (x, z), (x, z), (x, y), (x, y)]
    return [texture(k, *shape) for k, shape in enumerate(shapes)]


def draw(sides: list[np.ndarray], camera: PinholeCamera, mount: CameraMount, pose: np.ndarray) -> np.ndarray:
    """The room from inside, as a camera at a pose sees it."""
    view = View(None, camera, mount, pose)  # type: ignore[arg-type]
    columns, rows = np.meshgrid(np.arange(camera.width), np.arange(camera.height))
    pixels = np.stack([columns.ravel(), rows.ravel()], axis=1).astype(float)
    rays = camera.rays(pixels) @ view.rotation_map_from_camera.T
    centre = view.centre_m
    with np.errstate(divide="ignore"):
        walls = np.stack([(side * SIZE_M[axis] - centre[axis]) / rays[:, axis] for axis in range(3) for side in (0, 1)])
    walls[walls <= 1e-6] = np.inf
    hit = walls.argmin(axis=0)
    points = centre + rays * walls.min(axis=0)[:, None]
    size = (camera.height, camera.width)
    image = np.zeros((*size, 3), np.uint8)
    for k, side in enumerate(sides):
        u, v = ((points[:, axis] * PX_PER_M).astype(np.float32).reshape(size) for axis in range(3) if axis != k // 2)
        mapped = cv2.remap(side, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        here = (hit == k).reshape(size)
        image[here] = mapped[here]
    return image


@pytest.fixture(scope="module")
def relocaliser(sides: list[np.ndarray]) -> Relocaliser:
    """A map of a walk round the room."""
    made = Relocaliser(CAMERA, MOUNT, kind=SiftFeatures())
    for k in range(24):
        turn = 2 * math.pi * k / 24
        pose = np.array([2.5 + 1.1 * math.sin(turn), 2.0 - 0.8 * math.cos(turn), turn])
        made.add(draw(sides, CAMERA, MOUNT, pose), pose, k)
    made.prepare()
    return made


@pytest.mark.parametrize("pose", [[2.1, 1.6, 0.4], [3.0, 2.4, 2.2], [2.4, 2.2, -1.4]])
def test_a_level_picture_from_a_new_place_is_located(
    relocaliser: Relocaliser, sides: list[np.ndarray], pose: list[float]
) -> None:
    truth = np.array(pose)
    found = relocaliser.locate(draw(sides, CAMERA, CameraMount(1.5), truth))
    assert isinstance(found, Located)
    assert np.hypot(*(found.pose[:2] - truth[:2])) < 0.1
    assert abs(math.degrees(found.pose[2] - truth[2])) < 1.5
    assert abs(found.pitch_deg) < 1.0 and abs(found.height_m - 1.5) < 0.06
    assert found.confidence > 0.9 and found.n_inliers > 20
    assert np.linalg.eigvalsh(found.covariance).min() > 0


def test_a_larger_picture_of_the_same_lens_needs_no_camera(relocaliser: Relocaliser, sides: list[np.ndarray]) -> None:
    truth = np.array([2.2, 2.1, 0.8])
    large = draw(sides, CAMERA.scaled_to(960, 768), CameraMount(1.5), truth)
    found = relocaliser.locate(large)
    assert isinstance(found, Located)
    assert np.hypot(*(found.pose[:2] - truth[:2])) < 0.1


def test_a_tilted_camera_at_another_height_is_found_by_its_prior(
    relocaliser: Relocaliser, sides: list[np.ndarray]
) -> None:
    truth = np.array([2.0, 2.0, 3.0])
    image = draw(sides, CAMERA, CameraMount(1.2, 20.0), truth)
    found = relocaliser.locate(image, CAMERA, CameraMount(1.25, 18.0, height_std_m=0.1, pitch_std_deg=3.0))
    assert isinstance(found, Located)
    assert np.hypot(*(found.pose[:2] - truth[:2])) < 0.12
    assert abs(found.pitch_deg - 20.0) < 1.0 and abs(found.height_m - 1.2) < 0.05


def test_other_places_and_blank_pictures_are_lost(relocaliser: Relocaliser) -> None:
    elsewhere = [
        texture(100 + k, *shape) for k, shape in enumerate([(4.0, 2.5)] * 2 + [(5.0, 2.5)] * 2 + [(5.0, 4.0)] * 2)
    ]
    for k in range(3):
        found = relocaliser.locate(draw(elsewhere, CAMERA, CameraMount(1.5), np.array([2.0, 2.0, 1.5 * k])))
        assert isinstance(found, Lost), found
        assert found.reason
    assert isinstance(relocaliser.locate(np.full((256, 320, 3), 200, np.uint8)), Lost)


def test_a_map_without_keyframes_locates_nothing() -> None:
    empty = Relocaliser(CAMERA, MOUNT, kind=SiftFeatures())
    assert isinstance(empty.locate(np.zeros((256, 320, 3), np.uint8)), Lost)
    with pytest.raises(MapError, match="64 x 32 pixels"):
        empty.add(np.zeros((32, 64, 3), np.uint8), np.zeros(3), 0)


def test_settings_fit_the_kind_of_features() -> None:
    with pytest.raises(ConfigError, match="candidates"):
        Relocaliser(CAMERA, MOUNT, RelocaliseConfig(candidates=()), SiftFeatures())


def test_poses_that_are_corrected_take_the_landmarks_along(relocaliser: Relocaliser, sides: list[np.ndarray]) -> None:
    before = np.array([view.pose for view in relocaliser.views])
    truth = np.array([2.1, 1.6, 0.4])
    relocaliser.move(before + np.array([10.0, 0.0, 0.0]))
    found = relocaliser.locate(draw(sides, CAMERA, CameraMount(1.5), truth))
    relocaliser.move(before)
    assert isinstance(found, Located)
    assert abs(found.pose[0] - 12.1) < 0.1


def test_saved_arrays_locate_as_before_and_broken_ones_are_refused(
    relocaliser: Relocaliser, sides: list[np.ndarray]
) -> None:
    arrays = relocaliser.arrays()
    again = Relocaliser(CAMERA, MOUNT, kind=SiftFeatures())
    again.restore(arrays)
    truth = np.array([2.1, 1.6, 0.4])
    found = again.locate(draw(sides, CAMERA, CameraMount(1.5), truth))
    assert isinstance(found, Located)
    assert np.hypot(*(found.pose[:2] - truth[:2])) < 0.1
    assert again.stamps_ns == relocaliser.stamps_ns
    breaks = {
        "counts": arrays["counts"] + 1,
        "poses": arrays["poses"][:, :2],
        "descriptors": arrays["descriptors"][:, :64],
        "inverse_std": -arrays["inverse_std"],
        "keypoints": arrays["keypoints"] * np.nan,
        "stamps_ns": arrays["stamps_ns"].astype(float),
    }
    for name, broken in breaks.items():
        with pytest.raises(MapError, match="make the map anew"):
            again.restore({**arrays, name: broken})
    with pytest.raises(MapError, match="lacks poses"):
        again.restore({name: array for name, array in arrays.items() if name != "poses"})
