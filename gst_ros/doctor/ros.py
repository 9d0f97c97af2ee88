"""ROS and its source, middleware, Fast DDS profile, interfaces, ros2 launch."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from gst_ros.doctor.probes import Finding, Probe, try_import
from gst_ros.environment import checkout_dir, rmw_name, ros_distro, ros_source, share_dir

PROFILE_VARIABLES = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")
"""Where Fast DDS 3 and Fast DDS 2 look for the name of a profile."""

_SET_UP = "bash scripts/setup.sh"
_WITHOUT_ROS = f"{_SET_UP}, or source a ROS 2 installation; `gst eval --no-ros` runs without"
_NEEDED_SEGMENT_BYTES = 16 * 2**20
# Asking a type for its type support loads the libraries that a node will load.
_USE_INTERFACES = "module.AnswerQuestion.__class__.__import_type_support__() or module.__file__"
_FIND_LIBRARIES = "from gst_ros.environment import load_interfaces; load_interfaces()"


def _ros() -> Finding:
    source = ros_source()
    if source is None:
        return Finding("ROS 2", "missing", "rclpy is not installed", True, _WITHOUT_ROS)
    text, problem = try_import("rclpy", "module.__file__")
    where = f"wheels in {sys.prefix}" if source == "wheels" else "installation"
    if source == "installation" and text is not None:
        where = f"installation in {_prefix(Path(text), 'rclpy')}"
    if text is None:
        return Finding("ROS 2", "missing", f"{where}, but rclpy does not load: {problem}", True, _WITHOUT_ROS)
    return Finding("ROS 2", "ok", f"{ros_distro() or 'unknown distribution'}, {where}", True)


def _middleware() -> Finding:
    name = rmw_name()
    if ros_source() is None:
        return Finding("middleware", "missing", "no ROS 2", True, _WITHOUT_ROS)
    text, problem = try_import("rclpy", "module.get_rmw_implementation_identifier()")
    if text is None:
        remedy = "unset RMW_IMPLEMENTATION" if "RMW_IMPLEMENTATION" in os.environ else _SET_UP
        return Finding("middleware", "missing", f"{name} does not load: {problem}", True, remedy)
    return Finding("middleware", "ok", text, True)


def _profile() -> Finding:
    subject = "Fast DDS profile"
    if "fastrtps" not in rmw_name():
        return Finding(subject, "ok", f"not used by {rmw_name()}")
    set_by = next((variable for variable in PROFILE_VARIABLES if os.environ.get(variable)), None)
    if set_by is None:
        path = share_dir() / "config" / "fastdds.xml"
        origin = "set by gst eval and the launch files"
        other = f"for nodes that you start by hand: export {PROFILE_VARIABLES[0]}={path}"
    else:
        path, origin, other = Path(os.environ[set_by]), f"set by {set_by}", f"unset {set_by}, to have the project's own"
    if not path.is_file():
        remedy = other if set_by else _SET_UP
        return Finding(subject, "missing", f"{path} ({origin}) is not there: large images get lost", remedy=remedy)
    try:
        segment = largest_segment_bytes(path)
    except ElementTree.ParseError as error:
        return Finding(subject, "missing", f"{path} ({origin}) is not XML: {error}", remedy=other)
    if segment is None or segment < _NEEDED_SEGMENT_BYTES:
        size = "no segment size" if segment is None else f"a segment of {segment / 2**20:.1f} MB"
        detail = f"{path} ({origin}) has {size}: large images sent best effort get lost"
        return Finding(subject, "warning", detail, remedy=other)
    return Finding(subject, "ok", f"{path}, {segment / 2**20:.0f} MB of shared memory, {origin}")


def largest_segment_bytes(profile: Path) -> int | None:
    """The largest shared-memory segment that a Fast DDS profile file declares, None when it declares none.

    Raises:
        xml.etree.ElementTree.ParseError: It is not XML.
    """
    sizes = [
        int((element.text or "").strip())
        for element in ElementTree.parse(profile).iter()
        if element.tag.rpartition("}")[2] == "segment_size" and (element.text or "").strip().isdecimal()
    ]
    return max(sizes, default=None)


def _interfaces() -> Finding:
    subject = "gst_interfaces"
    if importlib.util.find_spec("rclpy") is None:
        return Finding(subject, "missing", "no ROS 2", True, _WITHOUT_ROS)
    text, problem = try_import("gst_interfaces.srv", _USE_INTERFACES, before=_FIND_LIBRARIES)
    if text is None:
        remedy = f"{_SET_UP}, or build it with colcon and source its workspace"
        return Finding(subject, "missing", f"does not load: {problem}", True, remedy)
    prefix = _prefix(Path(text), subject)
    stale = stale_interfaces(prefix / "share" / subject)
    if stale:
        detail = f"built from other sources than this checkout's: {', '.join(stale)}"
        return Finding(subject, "warning", detail, remedy=f"build it again: {_SET_UP}, or colcon build")
    return Finding(subject, "ok", f"in {prefix}", True)


def _prefix(module: Path, package: str) -> Path:
    """The ament prefix that a Python module is installed in; its folder when there is none."""
    return next((folder for folder in module.parents if (folder / "share" / package).is_dir()), module.parent)


def stale_interfaces(share: Path) -> list[str]:
    """Interface files of the checkout in use that differ from the built ones, by name.

    Args:
        share: The built package's share folder, which keeps the sources that it was built from.
    """
    checkout = checkout_dir()
    if checkout is None or not share.is_dir():
        return []
    sources = [
        path for kind in ("msg", "srv") for path in sorted((checkout / "gst_interfaces" / kind).glob("*." + kind))
    ]
    return [path.name for path in sources if not _same_text(path, share / path.parent.name / path.name)]


def _same_text(one: Path, other: Path) -> bool:
    return other.is_file() and one.read_bytes() == other.read_bytes()


def _launch() -> Finding:
    command = shutil.which("ros2")
    if command and importlib.util.find_spec("launch_ros") is not None:
        return Finding("ros2 launch", "ok", command)
    remedy = "none needed: `gst eval` starts the same nodes; it comes with a ROS installation"
    return Finding("ros2 launch", "missing", "not installed", remedy=remedy)


PROBES = (
    Probe("ROS 2", _ros, required=True),
    Probe("middleware", _middleware, required=True),
    Probe("gst_interfaces", _interfaces, required=True),
    Probe("Fast DDS profile", _profile),
    Probe("ros2 launch", _launch),
)
