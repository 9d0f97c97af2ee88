"""Local features and their matches: both kinds find a shifted picture again, and refuse what is no picture."""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from gst_ros.errors import ConfigError
from gst_ros.mapping import features as features_module
from gst_ros.mapping.camera import MapError
from gst_ros.mapping.features import (
    FeatureKind,
    Features,
    SiftFeatures,
    as_gray,
    mutual_matches,
    open_features,
    xfeat_missing,
)

LACKS_XFEAT = xfeat_missing()
needs_xfeat = pytest.mark.skipif(LACKS_XFEAT is not None, reason=f"{LACKS_XFEAT} is not installed")
KINDS = ["sift", pytest.param("xfeat", marks=needs_xfeat)]
NO_PICTURES = [np.zeros((5, 5), np.float32), np.zeros((5, 5, 4), np.uint8), np.zeros((0, 5), np.uint8)]


def picture(seed: int, height: int = 256, width: int = 320) -> np.ndarray:
    """Blocks, discs and lines of random colours."""
    rng = np.random.default_rng(seed)
    image = np.full((height, width, 3), 120, np.uint8)
    for _ in range(60):
        x, y = (int(v) for v in rng.integers(0, [width, height]))
        colour = tuple(int(v) for v in rng.integers(0, 255, 3))
        if rng.random() < 0.5:
            cv2.rectangle(image, (x, y), (x + int(rng.integers(8, 50)), y + int(rng.integers(8, 50))), colour, -1)
        else:
            cv2.circle(image, (x, y), int(rng.integers(4, 20)), colour, -1)
    return image


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> FeatureKind:
    return open_features(request.param)


def test_a_shifted_picture_matches_by_its_shift(kind: FeatureKind) -> None:
    big = picture(0, 320, 384)
    first, second = big[:256, :320], big[20:276, 32:352]
    a, b, other = kind.extract(first, 400), kind.extract(second, 400), kind.extract(picture(9), 400)
    assert 40 < len(a) <= 400
    assert a.descriptors.shape == (len(a), kind.dimensions) and a.descriptors.dtype == np.float32
    assert np.allclose(np.linalg.norm(a.descriptors, axis=1), 1, atol=1e-4)
    assert (np.diff(a.scores) <= 1e-6).all()
    matched, unlike = kind.match(a, [b, other])
    shift = a.keypoints[matched.first] - b.keypoints[matched.second]
    right = np.abs(shift - [32, 20]).max(axis=1) < 1.5
    assert right.sum() > 40 and right.mean() > 0.7
    assert len(unlike) < 0.4 * right.sum()
    assert len(set(matched.second.tolist())) == len(matched)


def test_nothing_is_found_outside_the_mask(kind: FeatureKind) -> None:
    mask = np.zeros((256, 320), np.uint8)
    mask[:, :160] = 255
    found = kind.extract(picture(1), 300, mask)
    assert len(found) > 10
    assert found.keypoints[:, 0].max() <= 160.5


def test_blank_and_odd_sized_pictures(kind: FeatureKind) -> None:
    blank = kind.extract(np.full((130, 170, 3), 90, np.uint8), 100)
    assert len(blank) < 5
    gray = kind.extract(as_gray(picture(2))[:250, :301], 300)
    assert (gray.width, gray.height) == (301, 250)
    assert (gray.keypoints >= -0.5).all() and (gray.keypoints <= [300.5, 249.5]).all()
    assert [len(m) for m in kind.match(blank.take(slice(0, 0)), [gray])] == [0]
    assert [len(m) for m in kind.match(gray, [blank.take(slice(0, 0))])] == [0]


def test_mutual_matches_take_each_feature_once() -> None:
    looks = np.eye(4, dtype=np.float32)
    places = np.zeros((4, 2), np.float32)
    a = Features(places, looks, np.ones(4, np.float32), 10, 10)
    b = a.take(np.array([2, 1]))
    found = mutual_matches(a, b, 0.9)
    assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == [(1, 1), (2, 0)]
    assert len(mutual_matches(a, b.take(slice(0, 0)), 0.9)) == 0
    twins = b.take(np.array([0, 0]))
    assert len(mutual_matches(a, twins, 0.9, ratio=0.8)) == 0


@pytest.mark.parametrize("bad", NO_PICTURES)
def test_what_is_no_picture_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(MapError, match="no picture"):
        SiftFeatures().extract(bad, 10)


def test_kinds_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="one of: auto, xfeat, sift"):
        open_features("orb")
    monkeypatch.setattr(features_module, "xfeat_missing", lambda: "torch")
    assert open_features("auto").name == "sift"
    with pytest.raises(ConfigError, match="torch is not installed"):
        open_features("xfeat")
    assert "kornia" not in sys.modules


@needs_xfeat
def test_weights_are_read_as_tensors_and_nothing_else(tmp_path: Path) -> None:
    import torch

    from gst_ros.mapping.xfeat import read_weights

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return print, ("this must not run",)

    for name, content in (("evil.pt", {"a": Evil()}), ("list.pt", [1, 2]), ("words.pt", {"a": "b"})):
        torch.save(content, tmp_path / name)
        with pytest.raises(MapError, match=name):
            read_weights(tmp_path / name)
    (tmp_path / "torn.pt").write_bytes(b"PK\x03\x04 torn")
    with pytest.raises(MapError, match=r"torn\.pt"):
        read_weights(tmp_path / "torn.pt")
    with pytest.raises(MapError, match="missing"):
        read_weights(tmp_path / "missing.pt")
