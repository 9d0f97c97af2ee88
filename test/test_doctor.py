"""gst doctor: findings with remedies, on whole and on broken machines, without ever breaking itself."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from gst_ros import environment
from gst_ros.cli import doctor as command_module
from gst_ros.doctor import libraries, machine, ros
from gst_ros.doctor.probes import Finding, Probe, run_probes, try_import
from gst_ros.environment import share_dir

SUBJECTS = {
    *("Python", "gst_ros", "disk", "shared memory", "EGL"),
    *("ROS 2", "middleware", "gst_interfaces", "Fast DDS profile", "ros2 launch"),
    *("numpy", "OpenCV", "PyAV", "torch", "transformers", "scenes extra", "furniture", "models"),
}


def finding(probes: tuple[Probe, ...], subject: str) -> Finding:
    (found,) = run_probes([probe for probe in probes if probe.subject == subject])
    assert found.subject == subject
    return found


def run_doctor(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command_module.command, list(arguments), standalone_mode=False)
    assert result.exception is None, result.exception
    return result.return_value, result.output


def test_the_report_covers_everything_and_its_exit_code_follows_the_required() -> None:
    code, output = run_doctor("--json")
    report = json.loads(output)
    assert {found["subject"] for found in report["findings"]} == SUBJECTS
    blocked = [found for found in report["findings"] if found["required"] and found["state"] in ("missing", "error")]
    assert report["ready"] == (not blocked)
    assert code == (3 if blocked else 0)
    for found in report["findings"]:
        assert found["detail"], found
        assert found["state"] == "ok" or found["remedy"], found


def test_the_table_names_what_is_missing_and_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    probes = (Probe("PyAV", lambda: Finding("PyAV", "missing", "No module [av]", True, "pip install av")),)
    for module in (machine, ros):
        monkeypatch.setattr(module, "PROBES", ())
    monkeypatch.setattr(libraries, "PROBES", probes)
    code, output = run_doctor()
    assert code == 3
    assert "No module [av]" in output
    assert "-> pip install av" in output
    assert "cannot run over ROS yet: PyAV" in output


def test_a_probe_that_breaks_is_reported_and_stops_no_other() -> None:
    def broken() -> Finding:
        raise RuntimeError("no such\nthing")

    def fine() -> Finding:
        return Finding("fine", "ok", "here")

    first, second = run_probes([Probe("broken", broken, required=True), Probe("fine", fine)])
    assert first.state == "error"
    assert "RuntimeError: no such thing" in first.detail
    assert first.blocks
    assert second == fine()


def test_missing_optional_things_do_not_block() -> None:
    assert not Finding("torch", "missing", "not installed").blocks
    assert not Finding("disk", "warning", "little", required=True).blocks
    assert Finding("ROS 2", "missing", "not installed", required=True).blocks


@pytest.fixture
def module_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    return tmp_path


def test_a_module_that_kills_its_process_is_a_finding(module_folder: Path) -> None:
    (module_folder / "deadly.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert try_import("deadly") == (None, "Python ended with -9")


def test_a_module_that_fails_says_why(module_folder: Path) -> None:
    (module_folder / "old_abi.py").write_text(
        "raise ImportError('A module compiled using NumPy 1.x cannot be run in NumPy 2')"
    )
    text, problem = try_import("old_abi")
    assert text is None
    assert problem == "ImportError: A module compiled using NumPy 1.x cannot be run in NumPy 2"


def test_a_module_of_the_same_name_in_the_current_folder_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("raise RuntimeError('not the real one')")
    monkeypatch.chdir(tmp_path)
    assert finding(libraries.PROBES, "numpy").state == "ok"


def test_without_ros_the_report_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ros, "ros_source", lambda: None)
    for subject in ("ROS 2", "middleware"):
        found = finding(ros.PROBES, subject)
        assert found.blocks
        assert "scripts/setup.sh" in found.remedy
        assert "--no-ros" in found.remedy


def test_a_middleware_that_is_not_installed_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_of_nobody_cpp")
    found = finding(ros.PROBES, "middleware")
    assert found.blocks
    assert "rmw_of_nobody_cpp" in found.detail
    assert found.remedy == "unset RMW_IMPLEMENTATION"


@pytest.fixture
def own_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("RMW_IMPLEMENTATION", raising=False)
    monkeypatch.delenv("FASTRTPS_DEFAULT_PROFILES_FILE", raising=False)
    path = tmp_path / "profile.xml"
    monkeypatch.setenv("FASTDDS_DEFAULT_PROFILES_FILE", str(path))
    return path


def test_the_projects_profile_has_room_for_images(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*ros.PROFILE_VARIABLES, "RMW_IMPLEMENTATION"):
        monkeypatch.delenv(variable, raising=False)
    assert ros.largest_segment_bytes(share_dir() / "config" / "fastdds.xml") == 32 * 2**20
    found = finding(ros.PROBES, "Fast DDS profile")
    assert found.state == "ok"
    assert "32 MB" in found.detail


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        (None, "missing", "is not there"),
        ("<dds>", "missing", "is not XML"),
        ("<dds/>", "warning", "no segment size"),
        ("<dds><segment_size>524288</segment_size></dds>", "warning", "0.5 MB"),
        ("<dds xmlns='urn:x'><segment_size> 33554432 </segment_size></dds>", "ok", "32 MB"),
        ("<dds><segment_size>much</segment_size></dds>", "warning", "no segment size"),
    ],
)
def test_a_profile_of_the_users_is_read(own_profile: Path, text: str | None, state: str, words: str) -> None:
    if text is not None:
        own_profile.write_text(text)
    found = finding(ros.PROBES, "Fast DDS profile")
    assert found.state == state
    assert words in found.detail
    assert "FASTDDS_DEFAULT_PROFILES_FILE" in (found.remedy or found.detail)


def test_another_middleware_needs_no_profile(own_profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp")
    assert finding(ros.PROBES, "Fast DDS profile").state == "ok"


def test_interfaces_built_from_other_sources_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("checkout/gst_interfaces/msg", "share/msg"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "Same.msg").write_text("uint8 a\n")
    (tmp_path / "checkout/gst_interfaces/msg/New.msg").write_text("uint8 a\n")
    (tmp_path / "checkout/gst_interfaces/msg/Edited.msg").write_text("uint8 a\n")
    (tmp_path / "share/msg/Edited.msg").write_text("uint8 b\n")
    monkeypatch.setattr(ros, "checkout_dir", lambda: tmp_path / "checkout")
    assert ros.stale_interfaces(tmp_path / "share") == ["Edited.msg", "New.msg"]
    monkeypatch.setattr(ros, "checkout_dir", lambda: None)
    assert ros.stale_interfaces(tmp_path / "share") == []


@pytest.mark.parametrize(
    ("version", "gpu", "state", "words"),
    [
        (None, False, "missing", "not installed"),
        ("2.13.0+cpu", False, "ok", "CPU build, no NVIDIA GPU"),
        ("2.13.0+cpu", True, "warning", "although there is an NVIDIA GPU"),
        ("2.13.0+cu130", True, "ok", "CUDA build, NVIDIA GPU found"),
    ],
)
def test_torch_and_the_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, gpu: bool, state: str, words: str
) -> None:
    monkeypatch.setattr(libraries, "distribution_version", lambda *names: version if names == ("torch",) else None)
    monkeypatch.setattr(libraries, "_GPU_SIGNS", (tmp_path,) if gpu else (tmp_path / "nothing",))
    found = finding(libraries.PROBES, "torch")
    assert found.state == state
    assert words in found.detail
    assert not found.blocks


def test_furniture_is_looked_for_where_the_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GST_FURNITURE_DIR", str(tmp_path))
    missing = finding(libraries.PROBES, "furniture")
    assert missing.state == "missing"
    assert str(tmp_path) in missing.detail
    (tmp_path / "some.sh3f").write_bytes(bytes(2_000_000))
    there = finding(libraries.PROBES, "furniture")
    assert there.state == "ok"
    assert "catalogues: 1, 2 MB" in there.detail


def test_models_are_looked_for_where_the_hub_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert libraries.hub_cache_dir() == tmp_path / "home/.cache/huggingface/hub"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert libraries.hub_cache_dir() == tmp_path / "xdg/huggingface/hub"
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    assert libraries.hub_cache_dir() == tmp_path / "hf/hub"
    assert finding(libraries.PROBES, "models").state == "missing"
    for name in ("models--a--One", "models--b--Two", "models--c--Three", "models--d--Four", "datasets--e--Five"):
        (tmp_path / "hf/hub" / name).mkdir(parents=True)
    found = finding(libraries.PROBES, "models")
    assert found.detail.startswith("a/One, b/Two, c/Three and 1 more in ")


def test_little_shared_memory_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_ENOUGH_SHARED_MEMORY_MB", 10**12)
    monkeypatch.setattr(machine, "SHARED_MEMORY", tmp_path)
    found = finding(machine.PROBES, "shared memory")
    assert found.state == "warning"
    assert "--shm-size" in found.remedy
    monkeypatch.setattr(machine, "SHARED_MEMORY", tmp_path / "nowhere")
    assert "go over UDP" in finding(machine.PROBES, "shared memory").detail


def test_little_disk_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_ENOUGH_DISK_GB", 1e12)
    assert finding(machine.PROBES, "disk").state == "warning"


def test_a_missing_system_library_names_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(machine.ctypes, "CDLL", missing)
    found = finding(machine.PROBES, "EGL")
    assert found.state == "missing"
    assert "libegl1" in found.remedy


def test_an_incomplete_installation_is_required_and_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise environment.ConfigError("the shared files are not installed", remedy="install them")

    monkeypatch.setattr(machine, "share_dir", nowhere)
    found = finding(machine.PROBES, "gst_ros")
    assert found.blocks
    assert found.remedy == "install them"


def test_the_scenes_extra_is_what_setup_installs(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = (Path(__file__).resolve().parents[1] / "setup.py").read_text(encoding="utf-8")
    (block,) = re.findall(r'"scenes": \[(.*?)\]', setup, re.DOTALL)
    assert set(re.findall(r'"([\w-]+)', block)) == set(libraries.SCENES_PACKAGES)
    monkeypatch.setattr(libraries, "distribution_version", lambda *names: None if "embreex" in names else "1.0")
    found = finding(libraries.PROBES, "scenes extra")
    assert (found.state, found.detail, found.blocks) == ("missing", "not installed: embreex", False)
    assert "gst_ros[scenes]" in found.remedy


def test_a_library_without_a_driver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.ctypes, "CDLL", lambda name: name)
    monkeypatch.setattr(machine, "distribution_version", lambda *names: "5.0")
    monkeypatch.setattr(machine, "try_import", lambda *words: (None, "no OpenGL 3.3 context"))
    found = finding(machine.PROBES, "EGL")
    assert (found.state, found.blocks) == ("missing", False)
    assert "no OpenGL 3.3 context" in found.detail and "libgl1-mesa-dri" in found.remedy
    monkeypatch.setattr(machine, "try_import", lambda *words: ("a driver, OpenGL 4.5", ""))
    assert finding(machine.PROBES, "EGL").detail == "renders without a screen: a driver, OpenGL 4.5"
