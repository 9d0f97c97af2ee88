"""The files of a set: written whole or not at all, and read with what is wrong named by file and field."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_places import tiny_place

from gst_ros.scenes.files import PART, SceneDiskError, disk_error, write_file, write_json
from gst_ros.scenes.make import _claimed
from gst_ros.scenes.place import Place, SceneError, load_place
from gst_ros.scenes.reading import Table, read_json
from gst_ros.scenes.settings import SetOptions
from gst_ros.scenes.shapes import Misfit, each, either, flag, number, one_of, record, shape_of, table, text, whole

# Shapes


@pytest.mark.parametrize(
    ("shape", "good", "bad"),
    [
        (number(), [0, -1.5, 1e9], [float("nan"), float("inf"), 10**400, -1e300, "1", None, True, [1]]),
        (number(1.0, 2.0), [1, 1.5, 2.0], [0.999, 2.001]),
        (whole(0), [0, 7], [0.5, 1.0, -1, False]),
        (text, ["", "a"], [1, None, ["a"]]),
        (flag, [True, False], [0, "true", None]),
        (one_of("a", "b"), ["a"], ["c", 1, None, ["a"]]),
        (either(number(), text), [1, "one"], [None, []]),
        (each(number(), count=2), [[1, 2]], [[1], [1, 2, 3], [1, "x"], "12", 3]),
        (each(text, least=1), [["a"]], [[], {}]),
        (table(flag), [{}, {"a": True}], [[], {"a": 1}]),
        (record({"a": text}, {"b": flag}), [{"a": "x"}, {"a": "x", "b": True, "c": 1}], [{}, {"a": "x", "b": 1}, 3]),
        (record({"a": text}, closed=True), [{"a": "x"}], [{"a": "x", "c": 1}]),
    ],
)
def test_a_shape_takes_what_fits_and_nothing_else(shape: Any, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        shape(value, "x")
    for value in bad:
        with pytest.raises(Misfit):
            shape(value, "x")


def test_what_does_not_fit_is_named_by_its_whole_path() -> None:
    shape = record({"rooms": each(record({"corners": each(number())}))})
    with pytest.raises(Misfit) as caught:
        shape({"rooms": [{"corners": []}, {"corners": [1, "x"]}]}, "")
    assert (caught.value.field, caught.value.problem) == ("rooms[1].corners[1]", "expected a number, found text")


# Reading


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b'{"a": [1, ', "is no JSON"),
        (b"\xff\xfe\x00", "is no UTF-8 text"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "number"),
        (b"[]", "expected a mapping, found a list"),
        (b"{}", "field 'a': is missing"),
        (b'{"a": NaN}', "field 'a': nan is out of range"),
        (b'{"a": 1e999}', "field 'a': inf is out of range"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong_and_what_to_do(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "truth.json"
    file.write_bytes(content)
    with pytest.raises(SceneError) as caught:
        read_json(file, record({"a": number()}))
    line = str(caught.value)
    assert line.startswith(str(file)) and words in line and line.endswith("(make the set again)") and len(line) < 300


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"nothing\.json: cannot be read: No such file"):
        read_json(tmp_path / "nothing.json")


def test_a_field_that_nobody_listed_is_missed_with_the_name_of_its_file(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"home": [{"rooms": {}}]})
    value = read_json(tmp_path / "a.json")
    assert value["home"][0].get("doors") is None and "doors" not in value["home"][0]
    with pytest.raises(SceneError, match=r"a\.json: field 'home\[0\]\.rooms\.hall': is missing"):
        _ = value["home"][0]["rooms"]["hall"]
    assert json.loads(json.dumps(value)) == {"home": [{"rooms": {}}]} and isinstance(value, Table)


def test_a_place_comes_back_as_it_was(tmp_path: Path) -> None:
    place = replace(tiny_place(), seed=2**31 - 1)
    place.save(tmp_path / "scene.json")
    assert load_place(tmp_path / "scene.json").to_json() == place.to_json()


@pytest.mark.parametrize(
    ("field", "spoil"),
    [
        ("version", lambda p: p.update(version=99)),
        ("rooms", lambda p: p.update(rooms="x")),
        ("rooms", lambda p: p.pop("rooms")),
        ("rooms[0].ceiling_m", lambda p: p["rooms"][0].update(ceiling_m=None)),
        ("objects[2].id", lambda p: p["objects"][2].pop("id")),
        ("objects[0].colour", lambda p: p["objects"][0].update(colour="red")),
        ("objects[0].position_m", lambda p: p["objects"][0].update(position_m=[1, 2])),
        ("objects[0].position_m[1]", lambda p: p["objects"][0].update(position_m=[1, float("nan"), 2])),
        ("objects[0].mount", lambda p: p["objects"][0].update(mount="sky")),
        ("walls[0].openings", lambda p: p["walls"][0].update(openings=3)),
        ("kind", lambda p: p.update(kind="castle")),
    ],
)
def test_a_damaged_place_names_its_field(tmp_path: Path, field: str, spoil: Callable[[Any], Any]) -> None:
    value = json.loads(tiny_place().to_json())
    spoil(value)
    (tmp_path / "scene.json").write_text(json.dumps(value))
    with pytest.raises(SceneError) as caught:
        load_place(tmp_path / "scene.json")
    assert caught.value.field == field and caught.value.file == str(tmp_path / "scene.json")
    assert "make the set again" in str(caught.value)


def test_every_type_of_a_place_has_a_shape() -> None:
    shape_of(Place)(json.loads(tiny_place().to_json()), "")
    with pytest.raises(TypeError, match="no shape"):
        shape_of(complex)


# Writing


def full_disk(patch: pytest.MonkeyPatch, name: str = "") -> None:
    """Let writes of files whose names hold a text write half and then find the disk full."""
    real = Path.write_bytes

    def half(self: Path, data: bytes) -> int:
        if name not in self.name:
            return real(self, data)
        real(self, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    patch.setattr(Path, "write_bytes", half)


def test_what_was_there_stays_when_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.json"
    write_json(file, {"old": True})
    with monkeypatch.context() as patch:
        full_disk(patch)
        with pytest.raises(SceneDiskError, match=r"a\.json: no space left on the disk \(free some") as caught:
            write_json(file, {"new": True})
    assert caught.value.exit_code == 3
    assert json.loads(file.read_text()) == {"old": True} and [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_link_stays_a_link_and_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "real" / "page.html")
    write_file(tmp_path / "link.html", b"x")
    assert (tmp_path / "link.html").is_symlink() and (tmp_path / "real" / "page.html").read_bytes() == b"x"
    with pytest.raises(SceneError, match="Is a directory") as caught:
        write_file(tmp_path / "real", b"x")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, 3),
        (errno.EDQUOT, 3),
        (errno.EIO, 3),
        (errno.ENOENT, 3),
        (errno.EROFS, 3),
        (errno.EACCES, 3),
        (errno.ENOTDIR, 2),
        (errno.EEXIST, 2),
        (errno.ENAMETOOLONG, 2),
    ],
)
def test_a_wrong_path_is_the_input_and_all_else_the_machine(number: int, code: int) -> None:
    assert disk_error(OSError(number, os.strerror(number)), Path("x")).exit_code == code


def test_a_disk_that_fills_while_a_folder_is_copied_is_full() -> None:
    error = shutil.Error([("a", "b", f"[Errno {errno.ENOSPC}] {os.strerror(errno.ENOSPC)}")])
    assert "no space left on the disk" in str(disk_error(error, Path("x")))


def test_a_full_disk_does_not_block_a_set_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options, out = SetOptions(builtin_only=True), tmp_path / "set"
    with monkeypatch.context() as patch:
        full_disk(patch)
        with pytest.raises(SceneDiskError, match=r"set\.json.*no space left"), _claimed(out, options):
            pass
    (out / ("set.json" + PART)).write_text("{")  # what a maker that was killed leaves
    with _claimed(out, options) as work:
        assert work.is_dir()
    assert json.loads((out / "set.json").read_text())["seed"] == 1 and not (out / ("set.json" + PART)).exists()


@pytest.mark.parametrize("content", [b"", b'{"a', b"[]", b"\xff", b"[" * 99999])
def test_damaged_settings_of_a_set_are_one_short_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "set.json").write_bytes(content)
    with (
        pytest.raises(SceneError, match=r"set\.json.*\(restore it, or give another folder\)") as caught,
        _claimed(tmp_path, SetOptions()),
    ):
        pass
    assert len(str(caught.value)) < 300


# Ends


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_signal_ends_all_processes_without_a_word(sent: signal.Signals, code: int) -> None:
    script = (
        "import os, time\nfrom gst_ros.scenes.workers import processes\n"
        "with processes(1, lambda share: None) as run:\n"
        "    list(run(os.system, [(None, ('echo ready',))]))\n"
        "    list(run(time.sleep, [(None, (60,))]))\n"
    )
    pipe = subprocess.PIPE
    maker = subprocess.Popen(
        [sys.executable, "-c", script], stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )
    try:
        assert maker.stdout is not None and maker.stdout.readline() == "ready\n"
        maker.send_signal(sent)
        _, error = maker.communicate(timeout=60)  # until all that hold its pipes are gone
        assert (maker.returncode, error) == (code, "")
        deadline = time.monotonic() + 20
        while _alive(maker.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not _alive(maker.pid)
    finally:
        if _alive(maker.pid):
            os.killpg(maker.pid, signal.SIGKILL)
        maker.wait()


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
