"""The floor from above, directions of walls in single pictures, and depths by the grid."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest

from gst_ros.mapping.camera import CameraMount, MapError, PinholeCamera
from gst_ros.mapping.features import Features
from gst_ros.mapping.floor_texture import FloorMosaic
from gst_ros.mapping.grid import OccupancyGrid
from gst_ros.mapping.grid_depths import with_grid
from gst_ros.mapping.landmarks import Depths, View
from gst_ros.mapping.level_lines import LEAST_STRENGTH, walls_of, walls_seen
from gst_ros.mapping.planar import wrap
from gst_ros.mapping.pose_confidence import confidence_of, worth_of

CAMERA = PinholeCamera.centred(320, 256, 168.0)
DOWN, LEVEL = CameraMount(1.5, 35.0), CameraMount(1.5)
PX_PER_M = 40


@pytest.fixture(scope="module")
def floor() -> np.ndarray:
    """16 m x 16 m of random planks, whose middle is the origin."""
    rng = np.random.default_rng(5)
    image = np.full((16 * PX_PER_M, 16 * PX_PER_M), 120, np.uint8)
    for row in range(0, len(image), 6):
        for column in range(0, len(image), 24):
            image[row : row + 6, column : column + 24] = rng.integers(60, 200)
    return image


def look(floor: np.ndarray, camera: PinholeCamera, mount: CameraMount, pose: np.ndarray) -> np.ndarray:
    columns, rows = np.meshgrid(np.arange(camera.width), np.arange(camera.height))
    places = mount.floor_points(np.stack([columns.ravel(), rows.ravel()], axis=1).astype(float), camera)
    cos, sin = math.cos(pose[2]), math.sin(pose[2])
    x = cos * places[:, 0] - sin * places[:, 1] + pose[0]
    y = sin * places[:, 0] + cos * places[:, 1] + pose[1]
    size = (camera.height, camera.width)
    u, v = (np.nan_to_num((part + 8) * PX_PER_M - 0.5, nan=-1e4).astype(np.float32).reshape(size) for part in (x, y))
    return np.asarray(cv2.remap(floor, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=120))


@pytest.fixture(scope="module")
def mosaic(floor: np.ndarray) -> FloorMosaic:
    made = FloorMosaic()
    for x in (-2.0, -1.5, -1.0, -0.5, 0.0):
        pose = np.array([x, 0.3, 0.1])
        made.add(look(floor, CAMERA, DOWN, pose), CAMERA, DOWN, pose)
    return made


def test_the_floor_tells_where_a_picture_was_taken_that_looks_the_other_way(
    mosaic: FloorMosaic, floor: np.ndarray
) -> None:
    truth = np.array([3.6, 0.6, 3.0])
    kept = FloorMosaic.restored(mosaic.arrays())
    assert kept is not None
    searcher = kept.searcher(None)
    assert searcher is not None
    yaws = wrap(truth[2] + np.pi / 2 * np.arange(4, dtype=np.float64))
    scores = searcher.fits(look(floor, CAMERA, LEVEL, truth), CAMERA, LEVEL, yaws)
    first, second = scores.best(2)
    assert np.hypot(*(first.pose[:2] - truth[:2])) < 0.06 and first.pose[2] == pytest.approx(truth[2])
    assert first.score > 2 * second.score > 0
    here = scores.at(truth)
    assert here is not None and here.score == pytest.approx(first.score)
    assert scores.at(np.array([*truth[:2], truth[2] + 0.4])) is None
    far = scores.at(np.array([500.0, 0.0, 3.0]))
    assert far is not None and far.score == 0


def test_only_what_the_grid_calls_free_is_floor(mosaic: FloorMosaic) -> None:
    nothing_free = OccupancyGrid(np.full((200, 200), 100, np.int8), 0.1, (-10.0, -10.0))
    assert mosaic.searcher(nothing_free) is None
    assert FloorMosaic().searcher(None) is None


def test_a_damaged_mosaic_is_refused(mosaic: FloorMosaic) -> None:
    arrays = mosaic.arrays()
    assert FloorMosaic.restored({}) is None
    for name, value in (("floor_gray", arrays["floor_gray"].astype(float)), ("floor_origin", np.zeros(3, np.int64))):
        with pytest.raises(MapError, match="floor"):
            FloorMosaic.restored({**arrays, name: value})


@pytest.mark.parametrize(("yaw", "mount"), [(0.3, LEVEL), (1.2, LEVEL), (-0.4, DOWN), (2.0, CameraMount(0.4, 12.0))])
def test_level_edges_tell_the_yaw_up_to_quarter_turns(yaw: float, mount: CameraMount) -> None:
    camera = CAMERA.scaled_to(640, 512)
    image = np.full((512, 640), 150, np.uint8)
    view = View(None, camera, mount, np.array([0.0, 0.0, yaw]))  # type: ignore[arg-type]
    # Boards on four walls: their level edges run along x or y.
    for k, across in enumerate(np.linspace(-3.5, 1.5, 3)):
        for corner, other in (((4, across), (4, across + 2.2)), ((across, 4), (across + 2.2, 4))):
            for sign in (1, -1):
                low, high = 0.1 + 0.2 * k, 0.9 + 0.5 * k
                (x, y), (p, q) = corner, other
                board = np.array([[x, y, low], [p, q, low], [p, q, high], [x, y, high]]) * [sign, sign, 1]
                seen = (board - view.centre_m) @ view.rotation_map_from_camera
                if (seen[:, 2] > 0.3).all():
                    corners = np.rint(camera.pixels(seen) * 16).astype(np.int32)
                    cv2.fillPoly(image, [corners], 40 + 30 * k, cv2.LINE_AA, shift=4)
    found = walls_seen(np.asarray(cv2.GaussianBlur(image, (0, 0), 0.8), np.uint8), camera, mount)
    assert found.strength > LEAST_STRENGTH
    off = (found.yaw_rad + yaw + math.pi / 4) % (math.pi / 2) - math.pi / 4
    assert abs(math.degrees(off)) < 0.6
    together = walls_of([found, found], np.array([yaw, yaw + math.pi / 2]))
    assert abs((together.yaw_rad + math.pi / 4) % (math.pi / 2) - math.pi / 4) < 0.01


def test_a_picture_without_edges_tells_no_direction() -> None:
    assert walls_seen(np.full((256, 320), 90, np.uint8), CAMERA, LEVEL).strength == 0
    assert walls_of([], np.zeros(0)).strength == 0


def test_rays_end_on_the_floor_or_at_the_first_wall() -> None:
    cells = np.zeros((80, 120), np.int8)
    cells[:, 70:72] = 100  # a wall at x = 3.5
    cells[:, 72:] = -1
    cells[60:, :] = -1  # never seen: y > 3
    grid = OccupancyGrid(cells, 0.05, (0.0, 0.0))
    view_pose = np.array([0.5, 2.0, 0.0])
    # At the wall; on the floor; known already; into what was never seen.
    targets = np.array([[3.5, 1.8, 1.2], [2.0, 2.3, 0.0], [3.5, 2.1, 1.0], [3.0, 3.9, 1.4]])
    view = View(None, CAMERA, LEVEL, view_pose)  # type: ignore[arg-type]
    seen = (targets - view.centre_m) @ view.rotation_map_from_camera
    pixels = CAMERA.pixels(seen).astype(np.float32)
    features = Features(pixels, np.zeros((4, 8), np.float32), np.ones(4, np.float32), CAMERA.width, CAMERA.height)
    view = View(features, CAMERA, LEVEL, view_pose)
    before = Depths(np.array([0.33, 0.33, 0.5, 0.33]), np.array([0.33, 0.33, 0.01, 0.33]))
    after = with_grid(view, before, grid)
    assert 1 / after.inverse_depth[:2] == pytest.approx(seen[:2, 2], abs=0.1)
    assert after.known.tolist() == [True, True, True, False]
    assert after.inverse_depth[2:].tolist() == [0.5, 0.33]


def test_confidence_grows_with_evidence_and_needs_a_place() -> None:
    evidence = {
        "first": 20.0,
        "support": 25.0,
        "spread": 0.1,
        "floor": 0.0,
        "floor_rival": 0.3,
        "rival": 0.3,
        "std_m": 0.02,
    }
    usual = confidence_of(evidence)
    better = {"first": 60.0, "support": 70.0, "spread": 0.15, "floor": 0.6, "rival": 0.0}
    for name, value in better.items():
        assert confidence_of({**evidence, name: value}) > usual
    for name, value in {"rival": 1.2, "std_m": 0.6}.items():
        assert confidence_of({**evidence, name: value}) < usual - 0.05
    assert worth_of(10.0, 0.5, 0.5) == worth_of(10.0, 0.0, 0.5) < worth_of(10.0, 0.6, 0.3)
