"""Paths drawn on plans, read back and ranked for a walk."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import cv2
import numpy as np
import pytest

from gst_ros.errors import MediaError
from gst_ros.mapping.planar import transform
from gst_ros.media.images import read_image
from gst_ros.reasoning.drawn_paths import read_drawn_path, thinned
from gst_ros.reasoning.paths import PathFit, rank_paths
from gst_ros.scenes.plans import draw_path

M_PER_PX = 0.04


def plan() -> np.ndarray:
    image = np.zeros((512, 640), np.uint8)
    image[60:450, 80:560] = 255
    image[60:300, 300:308] = 0
    image[200:208, 308:480] = 0
    return image


def smooth(corners: list[tuple[float, float]], per_px: float = 3.0) -> np.ndarray:
    """Corners joined by points a few pixels apart."""
    points = [np.array(corners[0], float)]
    for a, b in itertools.pairwise(corners):
        count = max(2, int(math.dist(a, b) / per_px))
        points += [np.array(a) + (np.array(b) - a) * t for t in np.linspace(0, 1, count)[1:]]
    return np.array(points)


def circle(centre: tuple[float, float], radius: float, start_deg: float, end_deg: float) -> np.ndarray:
    angles = np.radians(np.linspace(start_deg, end_deg, 60))
    return np.column_stack([centre[0] + radius * np.cos(angles), centre[1] - radius * np.sin(angles)])


ELL = smooth([(150, 400), (150, 150), (270, 150)])
ZIG = smooth([(120, 400), (220, 400), (220, 260), (330, 340), (450, 250)])
EIGHT = np.concatenate([circle((250, 200), 70, -90, 270), circle((250, 340), 70, 90, -200)])
TEE = smooth([(200, 420), (200, 250), (110, 250), (290, 250)])
LOOP = np.concatenate(
    [smooth([(120, 380), (250, 380)]), circle((250, 300), 80, -90, 270), smooth([(250, 380), (420, 380)])]
)


def in_metres(path_px: np.ndarray, yaw: float = 0.7, scale: float = 1.0) -> np.ndarray:
    """The walk that a drawing shows, in a map that is turned against the image by ``yaw``."""
    upright = path_px * [1, -1] * M_PER_PX * scale
    return transform(np.array([3.0, -2.0, -yaw]), upright)


def drawing(path_px: np.ndarray, quality: int | None = None) -> np.ndarray:
    image = draw_path(plan(), path_px)
    if quality is None:
        return image
    return cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_COLOR)


def mean_gap(a: np.ndarray, b: np.ndarray) -> float:
    """Mean distance along two paths, both resampled by arc length."""

    def even(path: np.ndarray) -> np.ndarray:
        travelled = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
        return np.column_stack([np.interp(np.linspace(0, travelled[-1], 80), travelled, path[:, k]) for k in (0, 1)])

    return float(np.linalg.norm(even(a) - even(b), axis=1).mean())


@pytest.mark.parametrize("quality", [None, 60])
@pytest.mark.parametrize("path", [ELL, ZIG], ids=["ell", "zigzag"])
def test_reads_a_path_in_its_order(path: np.ndarray, quality: int | None) -> None:
    image = drawing(path)[:, :, ::-1] if quality is None else drawing(path, quality)
    drawn = read_drawn_path(np.ascontiguousarray(image[:, :, ::-1]) if quality is None else image)
    assert np.hypot(*np.subtract(drawn.start_px, path[0])) < 2
    assert mean_gap(drawn.points_px, path) < 6
    assert drawn.width_px == pytest.approx(10, abs=6)


def test_goes_straight_on_where_it_crosses_itself() -> None:
    path = np.concatenate(
        [smooth([(120, 250), (420, 250)]), circle((420, 190), 60, -90, 180), smooth([(360, 190), (360, 400)])]
    )
    drawn = read_drawn_path(drawing(path))
    assert mean_gap(drawn.points_px, path) < 8


def test_a_drawing_walked_to_and_fro_gives_both_orders() -> None:
    drawn = read_drawn_path(drawing(TEE))
    assert len(drawn.ways_px) >= 2
    gaps = [mean_gap(way, TEE) for way in drawn.ways_px]
    other_way = smooth([(200, 420), (200, 250), (290, 250), (110, 250)])
    assert min(gaps) < 10
    assert min(mean_gap(way, other_way) for way in drawn.ways_px) < 10


def test_refuses_images_without_a_path() -> None:
    with pytest.raises(MediaError, match="no blue dot"):
        read_drawn_path(np.repeat(plan()[:, :, None], 3, axis=2))
    only_dot = np.repeat(plan()[:, :, None], 3, axis=2)
    cv2.circle(only_dot, (200, 200), 10, (0, 0, 255), -1)
    with pytest.raises(MediaError, match="no red path"):
        read_drawn_path(only_dot)
    with pytest.raises(MediaError, match="no colour image"):
        read_drawn_path(plan())


def test_thinning_leaves_a_line_of_one_pixel() -> None:
    mask = np.zeros((40, 60), bool)
    mask[15:23, 5:55] = True
    thin = thinned(mask)
    assert thin.sum(axis=0).max() == 1
    assert 40 <= thin.sum() <= 50
    assert abs(np.nonzero(thin)[0].mean() - 18.5) < 1


@pytest.mark.parametrize("path", [ELL, ZIG, LOOP, TEE, EIGHT], ids=["ell", "zigzag", "loop", "tee", "eight"])
def test_finds_the_walk_among_others_at_any_scale_and_turn(path: np.ndarray) -> None:
    others = [p for p in (ELL, ZIG, LOOP, TEE, EIGHT) if p is not path][:3]
    candidates = [read_drawn_path(drawing(p)) for p in (*others, path)]
    ranking = rank_paths(in_metres(path, yaw=2.1, scale=1.1), candidates)
    assert ranking.best == 3
    assert ranking.margin > 0.3
    fit = ranking.fits[3]
    assert fit is not None
    assert fit.error_m < 0.15
    assert fit.m_per_px == pytest.approx(M_PER_PX * 1.1, rel=0.05)


def test_reversed_and_mirrored_drawings_are_others() -> None:
    mirrored = ZIG * [-1, 1] + [600, 0]
    candidates = [read_drawn_path(drawing(p)) for p in (ZIG[::-1], mirrored, ZIG, mirrored[::-1])]
    ranking = rank_paths(in_metres(ZIG), candidates)
    assert ranking.best == 2
    assert ranking.margin > 0.5


def test_rotations_can_be_limited() -> None:
    turned = (ZIG - [300, 250]) @ np.array([[0.0, -1.0], [1.0, 0.0]]) + [300, 250]
    candidates = [read_drawn_path(drawing(turned)), read_drawn_path(drawing(ZIG))]
    free = rank_paths(in_metres(ZIG, yaw=0.7), candidates)
    assert free.margin < 0.5
    known = rank_paths(in_metres(ZIG, yaw=0.7), candidates, yaws_rad=[0.7], m_per_px=M_PER_PX)
    assert known.best == 1
    assert known.margin > 0.8
    quarter = rank_paths(in_metres(ZIG, yaw=0.7), candidates[:1], yaws_rad=[0.7 + k * math.pi / 2 for k in range(4)])
    fit = quarter.fits[0]
    assert fit is not None
    assert fit.error_m < 0.15


def test_a_fit_says_where_the_map_lies_on_the_image() -> None:
    walk = in_metres(ZIG, yaw=0.7)
    fit = rank_paths(walk, [read_drawn_path(drawing(ZIG))]).fits[0]
    assert fit is not None
    cos, sin = math.cos(fit.yaw_rad), math.sin(fit.yaw_rad)
    x = (cos * walk[:, 0] - sin * walk[:, 1] + fit.shift_m[0]) / fit.m_per_px - 0.5
    y = (-sin * walk[:, 0] - cos * walk[:, 1] - fit.shift_m[1]) / fit.m_per_px - 0.5
    assert np.hypot(x - ZIG[:, 0], y - ZIG[:, 1]).mean() < 3


def test_noise_of_the_walk_is_borne() -> None:
    random = np.random.default_rng(3)
    candidates = [read_drawn_path(drawing(p)) for p in (ELL, ZIG, LOOP, TEE)]
    for k, path in enumerate((ELL, ZIG, LOOP, TEE)):
        walk = in_metres(path, yaw=float(random.uniform(-3, 3)), scale=float(random.uniform(0.9, 1.1)))
        ranking = rank_paths(walk + random.normal(0, 0.05, walk.shape), candidates)
        assert ranking.best == k


def test_nothing_to_rank_is_an_error() -> None:
    with pytest.raises(ValueError, match="no drawn path"):
        rank_paths(in_metres(ELL), [None, None])
    with pytest.raises(ValueError, match="length"):
        rank_paths(np.zeros((5, 2)), [read_drawn_path(drawing(ELL))])
    ranking = rank_paths(in_metres(ELL), [None, read_drawn_path(drawing(ELL))])
    assert (ranking.best, ranking.margin) == (1, 1.0)
    assert isinstance(ranking.fits[1], PathFit)


def test_reads_the_official_drawings(shared_dir: Path) -> None:
    folder = shared_dir / "gst_bench" / "samples" / "trajectory_scene1"
    starts, lengths = [], []
    for file in sorted(folder.glob("image_*.png")):
        drawn = read_drawn_path(read_image(file))
        starts.append(drawn.start_px)
        lengths.append(drawn.length_px)
    assert starts[0] == pytest.approx((207, 487), abs=3)
    assert 290 < lengths[0] < 330
    assert len(starts) == 4
    assert min(lengths) > 80
