"""YAML of unknown origin: read, or refused with one line; never a traceback, never without end."""

from __future__ import annotations

from pathlib import Path

import pytest

from gst_ros import yaml_files
from gst_ros.errors import ConfigError
from gst_ros.yaml_files import parse_yaml, read_yaml


def bomb(levels: int) -> str:
    """Lists of nine references each: ``levels`` lines stand for 9 to the power of ``levels`` values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


def tower(levels: int) -> str:
    """Every line is one level deeper than the line before it, without a bracket in a bracket."""
    return "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, levels))])


def test_ordinary_documents() -> None:
    assert parse_yaml("a: 1\nb: [x, 2.5, null]\nc: {d: 'e'}") == {"a": 1, "b": ["x", 2.5, None], "c": {"d": "e"}}
    assert parse_yaml("") is None and parse_yaml("3") == 3
    shared = parse_yaml("base: &b {x: 1}\nother: {<<: *b, y: 2}\nagain: *b")
    assert shared == {"base": {"x": 1}, "other": {"x": 1, "y": 2}, "again": {"x": 1}}
    assert parse_yaml("[" * 64 + "]" * 64)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 5000, "64 levels"),
        ("{a: " * 5000, "64 levels"),
        ("\n".join(" " * n + "a:" for n in range(70)), "64 levels"),
        (tower(200), "64 levels"),
        ("a: &x [*x]", "refers to itself (*x)"),
        ("a: &x\n  b: *x", "refers to itself (*x)"),
        ("&x {a: {b: [*x]}}", "refers to itself (*x)"),
        (bomb(9), "references"),
        (bomb(30), "references"),
        ("a: *nothing", "is not YAML"),
        ("a: [1, 2", "is not YAML"),
        ("{a: 1}: 2\n[b]: {[1]: 3}", "is not YAML"),
        ("x\x00y: 1", "is not YAML"),
        ("a: 1\n---\nb: 2", "is not YAML"),
        ("!!python/object/apply:os.system [echo]", "is not YAML"),
        ("a: 2026-99-99", "cannot read"),
        ("a: !!bool x", "cannot read"),
        ("a: !!int x", "cannot read"),
        ("a: !!timestamp x", "cannot read"),
        ("a: " + "9" * 5000, "cannot read"),
    ],
)
def test_hostile_documents_are_one_line(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, file="x.yaml", field="f")
    line = str(caught.value)
    assert problem in line and line.startswith("x.yaml: field 'f':") and "\n" not in line and len(line) < 400


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes("\ufeffa: ü".encode())
    assert read_yaml(file) == {"a": "ü"}
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"a\.yaml"):
        read_yaml(file)
    file.write_bytes(b"a: \xff")
    with pytest.raises(ConfigError, match=r"a\.yaml: is not"):
        read_yaml(file)
    for path in (tmp_path, tmp_path / "missing.yaml"):
        with pytest.raises(ConfigError, match="cannot be read"):
            read_yaml(path)
    monkeypatch.setattr(yaml_files, "MAX_BYTES", 10)
    file.write_text("a: 'more than ten bytes'")
    with pytest.raises(ConfigError, match="too large"):
        read_yaml(file)
