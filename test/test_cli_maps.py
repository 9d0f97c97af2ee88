"""``gst map`` and ``gst locate``: what they refuse, in which order, and what they say of a small map."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from test_mapping_map_files import small_map

from gst_ros.cli.main import run
from gst_ros.cli.map import _notes
from gst_ros.mapping.map_files import save_map
from gst_ros.media.clip import open_clip

FACTS = {"width": 80, "height": 64, "fx": 42.0, "height_m": 1.5, "pitch_deg": 35.0}


def pictures(folder: Path, kind: str, count: int) -> Path:
    """A folder of pictures as a clip: black, or one picture of noise again and again."""
    folder.mkdir()
    noise = np.random.default_rng(1).integers(0, 255, (64, 80, 3)).astype(np.uint8)
    for number in range(count):
        cv2.imwrite(str(folder / f"{number}.png"), noise if kind == "still" else 0 * noise)
    (folder / "camera.json").write_text(json.dumps(FACTS))
    return folder


@pytest.mark.parametrize(("kind", "count"), [("black", 1), ("black", 3), ("still", 1), ("still", 3)])
def test_a_video_that_shows_too_little_is_named_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, count: int
) -> None:
    clip = pictures(tmp_path / "clip", kind, count)
    assert run(["map", str(clip), "--out", str(tmp_path / "map"), "--features", "sift"]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert str(clip) in line and "shows too little to map" in line
    assert not (tmp_path / "map").exists()


def test_the_target_is_looked_at_before_the_video(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    missing = str(tmp_path / "missing.mp4")
    for target, code in (("file", 2), ("file/below", 2), ("/proc/map", 3)):
        assert run(["map", missing, "--out", str(tmp_path / target)]) == code
        assert target in capsys.readouterr().err
    assert run(["map", missing, "--out", str(tmp_path / "map")]) == 2
    assert "missing.mp4" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--height=1e300", "--height=0", "--pitch=nan", "--pitch=120", "--fov=0.1"])
def test_options_out_of_range_are_refused_by_their_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    clip = pictures(tmp_path / "clip", "still", 1)
    assert run(["map", str(clip), "--out", str(tmp_path / "map"), option]) == 2
    assert option[2:].split("=")[0] in capsys.readouterr().err


def test_what_a_user_should_know_of_a_clip_is_said(tmp_path: Path) -> None:
    clip = pictures(tmp_path / "clip", "still", 3)
    cv2.imwrite(str(clip / "3.png"), np.zeros((48, 60, 3), np.uint8))
    with open_clip(clip) as opened:
        assert len(list(opened)) == 4
        notes = " ".join(_notes(small_map(), opened))
    assert "1 frames had another size than the first, 80 x 64" in notes and "no landmarks" in notes


def test_what_is_assumed_of_a_picture_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_map(small_map(), tmp_path / "map")
    image, camera = tmp_path / "view.png", tmp_path / "camera.json"
    cv2.imwrite(str(image), np.zeros((256, 320, 3), np.uint8))
    locate = ["locate", str(tmp_path / "map"), str(image)]
    assert run([*locate, "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert "lost" in found and "level" in " ".join(found["assumed"])
    assert run([*locate, "--pitch", "35"]) == 3
    said = capsys.readouterr().out
    assert "assumed: the lens of the map's camera" in said and "level" not in said
    camera.write_text(json.dumps({**FACTS, "query_view": {"width": 320, "height": 256, "fx": 160}}))
    assert run([*locate, "--camera", str(camera)]) == 3
    assert "assumed" not in capsys.readouterr().out


def test_what_a_picture_cannot_be_located_with_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_map(small_map(), tmp_path / "map")
    image, camera = tmp_path / "view.png", tmp_path / "camera.json"
    cv2.imwrite(str(image), np.zeros((256, 320, 3), np.uint8))
    assert run(["locate", str(tmp_path / "map" / "map.json"), str(image)]) == 2
    assert "give the folder" in capsys.readouterr().err
    for section, words in (
        (None, "query_view"),
        ({"width": 320, "height": 256, "fx": 1e300}, "query_view.fx"),
        ({"width": 320, "height": 256, "fx": 3.3}, "shows nothing alike"),
        ({"width": 320, "height": 256, "fx": 31000}, "shows nothing alike"),
    ):
        camera.write_text(json.dumps({**FACTS, "query_view": section}))
        assert run(["locate", str(tmp_path / "map"), str(image), "--camera", str(camera)]) == 2
        error = capsys.readouterr().err
        assert words in error and str(camera) in error and error.count("\n") == 1
