"""What this installation consists of: its files, its software versions, its ROS.

Nothing heavy is imported: versions come from package metadata, so that asking costs milliseconds.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import gst_ros
from gst_ros.errors import ConfigError

RosSource = Literal["wheels", "installation"]

_PACKAGE = "gst_ros"
_OPENCV_DISTRIBUTIONS = (
    "opencv-python-headless",
    "opencv-python",
    "opencv-contrib-python-headless",
    "opencv-contrib-python",
    "opencv",
)


def checkout_dir() -> Path | None:
    """The source checkout that this package is used from, None when it is installed elsewhere."""
    root = Path(gst_ros.__file__).resolve().parent.parent
    return root if (root / "package.xml").is_file() and (root / "launch").is_dir() else None


def share_dir() -> Path:
    """The folder that holds ``config/``, ``launch/`` and ``demo/``.

    The checkout in use comes first, so that edits there are effective; then the prefix that this package is
    installed in; then the prefix that ament knows; then the Python environment.

    Raises:
        ConfigError: None of them has it.
    """
    checkout = checkout_dir()
    if checkout is not None:
        return checkout
    package = Path(gst_ros.__file__).resolve().parent
    prefixes = [*package.parents, *map(Path, _path_list("AMENT_PREFIX_PATH")), Path(sys.prefix)]
    for prefix in prefixes:
        share = prefix / "share" / _PACKAGE
        if (share / "package.xml").is_file():
            return share
    raise ConfigError(
        "the shared files of gst_ros (config, launch) are not installed",
        file=package,
        remedy="install the package with scripts/setup.sh, pip or colcon",
    )


def distribution_version(*names: str) -> str | None:
    """Version of the first distribution of these names that is installed, from its metadata."""
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def ros_source() -> RosSource | None:
    """Where rclpy comes from: the ROS 2 wheels in this Python environment, a ROS installation, or nowhere."""
    folder = _module_dir("rclpy")
    if folder is None:
        return None
    in_environment = folder.is_relative_to(Path(sys.prefix).resolve())
    return "wheels" if in_environment and distribution_version("ros-rclpy") else "installation"


def ros_distro() -> str | None:
    """Name of the ROS distribution in use, for example ``kilted``."""
    if ros_source() == "wheels":
        for distribution in importlib.metadata.distributions():
            # The wheels are ros-rclpy and, for its distribution, ros-kilted-rclpy.
            words = (distribution.metadata["Name"] or "").lower().replace("_", "-").split("-")
            if len(words) == 3 and words[0] == "ros" and words[2] == "rclpy":
                return words[1]
    return os.environ.get("ROS_DISTRO") or None


def rmw_name() -> str:
    """Name of the middleware that rclpy will load."""
    return os.environ.get("RMW_IMPLEMENTATION") or "rmw_fastrtps_cpp"


def git_state(root: Path | None = None) -> tuple[str, bool] | None:
    """Commit of a checkout and whether tracked files differ from it; None where there is no checkout or no git.

    Args:
        root: The checkout; by default the one that this package is used from.
    """
    root = root or checkout_dir()
    if root is None or not (root / ".git").exists():
        return None
    git = ["git", "-C", str(root), "--no-optional-locks"]
    try:
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True)
        changes = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return commit.stdout.strip(), bool(changes.stdout.strip())


def software_versions() -> dict[str, Any]:
    """Versions of everything that can change a result, ready for JSON; None for what is not installed."""
    git = git_state()
    return {
        "gst_ros": gst_ros.__version__,
        "git_commit": git[0] if git else None,
        "git_modified": git[1] if git else None,
        "python": platform.python_version(),
        "system": platform.platform(),
        "numpy": distribution_version("numpy"),
        "opencv": distribution_version(*_OPENCV_DISTRIBUTIONS) or _untracked_version("cv2"),
        "av": distribution_version("av"),
        "torch": distribution_version("torch"),
        "transformers": distribution_version("transformers"),
        "ros_distro": ros_distro(),
        "ros_source": ros_source(),
        "rclpy": distribution_version("rclpy"),
        "rmw": rmw_name() if ros_source() else None,
        "gst_interfaces": distribution_version("ros-gst-interfaces", "gst-interfaces"),
    }


def load_interfaces() -> int:
    """Make the libraries of ``gst_interfaces`` loadable when they lie in this Python environment.

    The middleware loads type support by library name, along LD_LIBRARY_PATH. The ROS 2 wheels and a sourced
    colcon workspace set that; a virtual environment beside a ROS installation does not. A library that is
    loaded already is found by its name, so they are loaded here, by path.

    Returns:
        How many libraries were loaded; 0 where that is not needed.
    """
    folder = Path(sys.prefix) / "lib"
    if ros_source() != "installation" or str(folder) in _path_list("LD_LIBRARY_PATH"):
        return 0
    libraries = sorted(folder.glob("libgst_interfaces__*.so"))
    for library in libraries:
        ctypes.CDLL(str(library))
    return len(libraries)


def _path_list(variable: str) -> list[str]:
    return [entry for entry in os.environ.get(variable, "").split(os.pathsep) if entry]


def _module_dir(name: str) -> Path | None:
    """Folder of a top-level package, without importing it."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).resolve().parent


def _untracked_version(module: str) -> str | None:
    """Version of a module that a system package brought without metadata."""
    if _module_dir(module) is None:
        return None
    loaded = sys.modules.get(module)
    return str(getattr(loaded, "__version__", "of the system"))
