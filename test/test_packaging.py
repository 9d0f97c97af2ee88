"""The package as pip and colcon see it: declared dependencies, versions, installed files, console scripts."""

from __future__ import annotations

import ast
import configparser
import functools
import importlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest

import gst_ros

ROOT = Path(__file__).resolve().parents[1]
NODES = ("camera_player", "evaluator", "spatial_reasoning")

# Import names whose distribution is called otherwise.
DISTRIBUTIONS = {"cv2": "opencv-python-headless", "yaml": "pyyaml", "PIL": "pillow"}
ROSDEP_KEYS = {
    "click": "python3-click",
    "cv2": "python3-opencv",
    "jinja2": "python3-jinja2",
    "numpy": "python3-numpy",
    "rich": "python3-rich",
    "tqdm": "python3-tqdm",
    "yaml": "python3-yaml",
}
ROS_PACKAGES = re.compile(r"^(rclpy|launch|launch_ros|ros2launch|.*_(msgs|srvs|interfaces))$|^rosidl_")

if not (ROOT / "setup.py").is_file():
    pytest.skip("these tests look at a source checkout", allow_module_level=True)


def imports(folder: Path) -> Iterator[tuple[Path, str]]:
    """Top-level names that the Python files below a folder import, wherever in the file."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name.partition(".")[0]) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield path, node.module.partition(".")[0]


@functools.cache
def foreign_imports() -> dict[str, Path]:
    """What the package and its launch files import beyond Python itself, with one file that does."""
    found: dict[str, Path] = {}
    for folder in (ROOT / "gst_ros", ROOT / "launch"):
        for path, name in imports(folder):
            if name not in sys.stdlib_module_names and name != "gst_ros":
                found.setdefault(name, path.relative_to(ROOT))
    return found


def package_xml(path: Path = ROOT / "package.xml") -> ElementTree.Element:
    return ElementTree.parse(path).getroot()


def declared(*kinds: str) -> set[str]:
    return {element.text or "" for kind in kinds for element in package_xml().findall(kind)}


def test_every_ros_package_that_is_imported_is_declared() -> None:
    imported = {name: path for name, path in foreign_imports().items() if ROS_PACKAGES.match(name)}
    assert "rclpy" in imported
    missing = {name: path for name, path in imported.items() if name not in declared("exec_depend", "depend")}
    assert not missing


def test_what_a_ros_user_expects_is_declared() -> None:
    expected = {"sensor_msgs_py", "cv_bridge", "nav_msgs", "geometry_msgs", "tf2_ros", "tf_transformations"}
    expected |= {"launch", "launch_ros", "python3-numpy", "python3-opencv", "python3-yaml", "gst_interfaces"}
    assert expected <= declared("exec_depend")


def test_every_python_package_that_is_imported_is_declared_to_rosdep() -> None:
    keys = {key for name, key in ROSDEP_KEYS.items() if name in foreign_imports()}
    assert keys <= declared("exec_depend")


def test_every_python_package_that_is_imported_is_a_requirement(wheel: zipfile.ZipFile) -> None:
    requirements = [line.lower() for line in metadata(wheel).get_all("Requires-Dist", [])]
    names = {re.split(r"[^a-z0-9-]", line)[0] for line in requirements}
    missing = {
        name: path
        for name, path in foreign_imports().items()
        if not ROS_PACKAGES.match(name) and DISTRIBUTIONS.get(name, name).replace("_", "-").lower() not in names
    }
    assert not missing


def test_ros_stays_in_its_rooms() -> None:
    allowed = {"nodes", "launching.py", "launch_exit_code.py"}
    outside = {
        (str(path.relative_to(ROOT)), name)
        for path, name in imports(ROOT / "gst_ros")
        if ROS_PACKAGES.match(name) and path.relative_to(ROOT / "gst_ros").parts[0] not in allowed
    }
    assert not outside


def test_the_version_is_one() -> None:
    stated = {
        "gst_ros": gst_ros.__version__,
        "package.xml": package_xml().findtext("version"),
        "gst_interfaces/package.xml": package_xml(ROOT / "gst_interfaces/package.xml").findtext("version"),
    }
    text = (ROOT / "gst_interfaces/pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    stated["gst_interfaces/pyproject.toml"] = found and found.group(1)
    assert len(set(stated.values())) == 1, stated


@pytest.mark.parametrize("path", ["package.xml", "gst_interfaces/package.xml"])
def test_package_files_are_valid_for_ros(path: str) -> None:
    catkin_pkg = pytest.importorskip("catkin_pkg.package", reason="catkin_pkg is not installed")
    package = catkin_pkg.parse_package(str(ROOT / path))
    warnings: list[str] = []
    package.validate(warnings)
    assert not warnings
    assert package.package_format == 3
    assert package.licenses == ["Apache-2.0"]


def test_interfaces_name_the_packages_of_their_fields() -> None:
    root = ROOT / "gst_interfaces"
    used = {
        found.group(1)
        for path in [*root.glob("msg/*.msg"), *root.glob("srv/*.srv")]
        for found in re.finditer(r"^([a-z_0-9]+)/\w+(?:\[.*?\])? ", path.read_text(encoding="utf-8"), re.MULTILINE)
    } - {"gst_interfaces"}
    depends = {element.text for element in package_xml(root / "package.xml").findall("depend")}
    assert used == depends - ({"std_msgs"} - used)
    cmake = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    for name in depends:
        assert f"find_package({name} REQUIRED)" in cmake


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package's sources: builds leave files behind."""
    root = tmp_path_factory.mktemp("source") / "gst_ros"
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("gst_ros", "launch", "config", "resource", "demo"):
        shutil.copytree(ROOT / name, root / name, ignore=ignore)
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "package.xml", "LICENSE"):
        shutil.copy(ROOT / name, root)
    return root


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The package's wheel."""
    pytest.importorskip("setuptools", reason="setuptools is not installed in this Python environment")
    out = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "wheel", "-q"]
    done = subprocess.run(
        [*pip, "--no-deps", "--no-build-isolation", "--no-index", "-w", str(out), str(source)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (path,) = out.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def metadata(wheel: zipfile.ZipFile):  # type: ignore[no-untyped-def]
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def in_data(wheel: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """What the wheel installs below the prefix, by relative path."""
    return {
        info.filename.partition(".data/data/")[2]: info for info in wheel.infolist() if ".data/data/" in info.filename
    }


def test_the_wheel_has_every_module_and_data_file(wheel: zipfile.ZipFile, source: Path) -> None:
    expected = {
        str(path.relative_to(source))
        for path in (source / "gst_ros").rglob("*")
        if path.suffix == ".py" or (path.is_file() and path.parent.name == "data")
    }
    assert "gst_ros/bench/data/leaderboard.yaml" in expected
    assert sorted(expected - set(wheel.namelist())) == []


def test_the_wheel_has_what_ros_looks_for(wheel: zipfile.ZipFile, source: Path) -> None:
    data = in_data(wheel)
    for folder in ("launch", "config", "demo"):
        expected = {
            f"share/gst_ros/{path.relative_to(source)}" for path in (source / folder).rglob("*") if path.is_file()
        }
        assert expected
        assert sorted(expected - set(data)) == []
    assert {"share/ament_index/resource_index/packages/gst_ros", "share/gst_ros/package.xml"} <= set(data)
    for name in (*NODES, "gst"):
        assert data[f"lib/gst_ros/{name}"].external_attr >> 16 & 0o111, f"{name} is not executable"


def test_pip_puts_gst_where_a_shell_finds_it_and_nodes_where_ros_does(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "-q"]
    subprocess.run(
        [*pip, "--no-deps", "--no-index", "--ignore-installed", "--prefix", str(tmp_path), str(wheel.filename)],
        check=True,
        timeout=120,
    )
    (packages,) = tmp_path.glob("lib*/python3*/site-packages")
    for gst in (tmp_path / "bin/gst", tmp_path / "lib/gst_ros/gst"):
        done = subprocess.run(
            [gst, "--version"],
            env={"PYTHONPATH": str(packages), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )
        assert done.stdout.strip() == f"gst {gst_ros.__version__}", done.stderr


def console_scripts(wheel: zipfile.ZipFile) -> dict[str, str]:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt"))
    groups = configparser.ConfigParser(delimiters=("=",))
    groups.read_string(wheel.read(name).decode())
    return dict(groups["console_scripts"])


def test_every_console_script_leads_somewhere(wheel: zipfile.ZipFile) -> None:
    scripts = console_scripts(wheel)
    assert set(scripts) == {"gst", *NODES}
    for target in scripts.values():
        module, _, function = target.partition(":")
        if ".nodes." in module:
            pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
            pytest.importorskip("gst_interfaces.msg", reason="gst_interfaces is not built")
        assert callable(getattr(importlib.import_module(module), function)), target


def test_torch_is_pinned_without_torchvision(wheel: zipfile.ZipFile) -> None:
    requirements = metadata(wheel).get_all("Requires-Dist", [])
    assert any(line.startswith("torch==2.13.0") and "vlm" in line for line in requirements)
    assert not any("torchvision" in line for line in requirements)
    pinned = re.search(r"^torch_version=(.+)$", (ROOT / "scripts/setup.sh").read_text(encoding="utf-8"), re.MULTILINE)
    assert pinned is not None
    assert pinned.group(1) == "2.13.0"


def test_colcon_puts_the_nodes_where_ros_looks() -> None:
    text = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    assert "install_scripts=$base/lib/gst_ros" in text
    assert "script_dir=$base/lib/gst_ros" in text
