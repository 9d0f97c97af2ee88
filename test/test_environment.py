"""The shared files, versions and source of ROS that an installation has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gst_ros import environment
from gst_ros.environment import checkout_dir, git_state, load_interfaces, ros_distro, share_dir, software_versions

ROOT = Path(__file__).resolve().parents[1]


def run_installed_copy(prefix: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code against a copy of the package as if it were installed below ``prefix``, outside any checkout."""
    packages = prefix / "lib" / "python3" / "site-packages"
    for name in ("__init__.py", "environment.py", "errors.py"):
        (packages / "gst_ros").mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "gst_ros" / name, packages / "gst_ros" / name)
    env = {**os.environ, "PYTHONPATH": str(packages), "AMENT_PREFIX_PATH": "", **variables}
    # -S: no site-packages, so no editable installation that leads back to the checkout.
    return subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=prefix, env=env, capture_output=True, text=True, timeout=60
    )


def make_share(prefix: Path) -> Path:
    share = prefix / "share" / "gst_ros"
    share.mkdir(parents=True)
    shutil.copy(ROOT / "package.xml", share)
    return share


SHOW_SHARE = "from gst_ros.environment import share_dir; print(share_dir())"


def test_a_checkout_uses_its_own_files() -> None:
    if checkout_dir() is None:
        pytest.skip("gst_ros is not used from this checkout (installed without --editable)")
    assert share_dir() == ROOT
    assert (share_dir() / "config" / "fastdds.xml").is_file()
    assert (share_dir() / "launch" / "eval.launch.py").is_file()


def test_an_installed_package_uses_the_files_of_its_prefix(tmp_path: Path) -> None:
    share = make_share(tmp_path / "prefix")
    done = run_installed_copy(tmp_path / "prefix", SHOW_SHARE)
    assert done.stdout.strip() == str(share), done.stderr


def test_shared_files_are_found_where_ament_knows_them(tmp_path: Path) -> None:
    share = make_share(tmp_path / "overlay")
    done = run_installed_copy(
        tmp_path / "prefix", SHOW_SHARE, AMENT_PREFIX_PATH=f"{tmp_path}/nowhere:{tmp_path}/overlay"
    )
    assert done.stdout.strip() == str(share), done.stderr


def test_missing_shared_files_are_an_error_with_a_remedy(tmp_path: Path) -> None:
    code = (
        "import sys; sys.prefix = '/nonexistent'\n"
        "from gst_ros.environment import share_dir\n"
        "from gst_ros.errors import ConfigError\n"
        "try: share_dir()\n"
        "except ConfigError as error: print(error)"
    )
    done = run_installed_copy(tmp_path / "prefix", code)
    assert "shared files of gst_ros" in done.stdout, done.stderr
    assert "scripts/setup.sh" in done.stdout


def test_versions_are_ready_for_json_and_name_what_matters() -> None:
    versions = json.loads(json.dumps(software_versions()))
    assert versions["python"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")
    for name in ("gst_ros", "numpy", "opencv", "av"):
        assert versions[name], name
    assert {"torch", "transformers", "ros_source", "ros_distro", "rmw", "git_commit", "git_modified"} <= set(versions)


def test_asking_for_versions_imports_nothing_heavy() -> None:
    code = (
        "import sys; from gst_ros.environment import software_versions; software_versions()\n"
        "print(sorted({'cv2', 'av', 'torch', 'rclpy', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_ros_is_from_wheels_or_an_installation_and_has_a_name() -> None:
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    assert environment.ros_source() in ("wheels", "installation")
    assert ros_distro()


def test_without_rclpy_there_is_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_module_dir", lambda name: None)
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    assert environment.ros_source() is None
    assert ros_distro() is None
    assert software_versions()["rmw"] is None


def test_rclpy_outside_the_python_environment_is_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "_module_dir", lambda name: tmp_path / "opt/ros/humble/rclpy")
    monkeypatch.setenv("ROS_DISTRO", "humble")
    assert environment.ros_source() == "installation"
    assert ros_distro() == "humble"


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def test_a_commit_and_changes_to_it_are_told_apart(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "one")
    state = git_state(tmp_path)
    assert state is not None
    assert len(state[0]) == 40
    assert state[1] is False
    (tmp_path / "untracked").write_text("does not count")
    assert git_state(tmp_path) == state
    (tmp_path / "file").write_text("two")
    assert git_state(tmp_path) == (state[0], True)


def test_no_git_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert git_state(tmp_path) is None
    (tmp_path / ".git").mkdir()  # looks like a checkout, is none
    assert git_state(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert git_state(tmp_path) is None


def test_interface_libraries_are_loaded_beside_a_ros_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(sys.prefix) / "lib"
    libraries = list(folder.glob("libgst_interfaces__*.so"))
    if not libraries:
        pytest.skip("gst_interfaces is not installed into this Python environment")
    monkeypatch.setattr(environment, "ros_source", lambda: "installation")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/ros/somewhere/lib")
    assert load_interfaces() == len(libraries)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/opt/ros/somewhere/lib:{folder}")
    assert load_interfaces() == 0


def test_the_wheels_need_no_help_to_load_interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "ros_source", lambda: "wheels")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert load_interfaces() == 0
