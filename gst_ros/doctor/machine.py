"""Python, disk, shared memory, EGL."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import sys
from pathlib import Path

import gst_ros
from gst_ros.doctor.probes import Finding, Probe, try_import
from gst_ros.environment import checkout_dir, distribution_version, git_state, share_dir
from gst_ros.errors import ConfigError

SHARED_MEMORY = Path("/dev/shm")
"""Where Fast DDS puts its segments on Linux."""

_ENOUGH_SHARED_MEMORY_MB = 256  # three nodes with 32 MB each, twice over
_ENOUGH_DISK_GB = 2.0
_EGL_PACKAGES = "libegl1 libegl-mesa0 libgl1-mesa-dri libgles2 libglx-mesa0 libopengl0"
_OPENGL = "'{GL_RENDERER}, OpenGL {GL_VERSION}'.format(**module.create_context().info)"


def _python() -> Finding:
    version = f"{platform.python_version()} ({sys.executable}), {platform.system()} {platform.machine()}"
    return Finding("Python", "ok", version, True)


def _package() -> Finding:
    checkout = checkout_dir()
    place = str(checkout) if checkout else str(Path(gst_ros.__file__).parent)
    git = git_state()
    commit = f", commit {git[0][:10]}{' with changes' if git[1] else ''}" if git else ""
    detail = f"{gst_ros.__version__} in {place}{commit}"
    try:
        share_dir()
    except ConfigError as error:
        return Finding("gst_ros", "missing", f"{detail}; {error.problem}", True, error.remedy or "")
    return Finding("gst_ros", "ok", detail, True)


def _disk() -> Finding:
    free_gb = shutil.disk_usage(Path.cwd()).free / 1e9
    detail = f"{free_gb:.1f} GB free in {Path.cwd()}"
    if free_gb < _ENOUGH_DISK_GB:
        remedy = f"free some: runs, models and videos need room ({_ENOUGH_DISK_GB:.0f} GB or more)"
        return Finding("disk", "warning", detail, remedy=remedy)
    return Finding("disk", "ok", detail)


def _shared_memory() -> Finding:
    if not SHARED_MEMORY.is_dir():
        return Finding(
            "shared memory", "warning", f"no {SHARED_MEMORY}: images go over UDP", remedy="mount a tmpfs there"
        )
    usage = shutil.disk_usage(SHARED_MEMORY)
    total_mb, free_mb = usage.total // 2**20, usage.free // 2**20
    detail = f"{free_mb} of {total_mb} MB free in {SHARED_MEMORY}"
    if not os.access(SHARED_MEMORY, os.W_OK):
        return Finding("shared memory", "warning", f"{SHARED_MEMORY} is read-only", remedy="make it writable")
    if free_mb < _ENOUGH_SHARED_MEMORY_MB:
        remedy = "remount it larger (in a container: docker run --shm-size=1g), or remove stale fastrtps_* files there"
        return Finding("shared memory", "warning", detail, remedy=remedy)
    return Finding("shared memory", "ok", detail)


def _egl() -> Finding:
    remedy = f"apt-get install {_EGL_PACKAGES} (only for making scenes)"
    try:
        ctypes.CDLL("libEGL.so.1")
    except OSError:
        return Finding("EGL", "missing", "no libEGL", remedy=remedy)
    if distribution_version("moderngl") is None:
        return Finding("EGL", "ok", "libEGL.so.1 loads; whether it draws is known once moderngl is installed")
    # A driver that does not fit can end the process, so the attempt is made in one of its own.
    found, problem = try_import("gst_ros.scenes.rendering.renderer", _OPENGL)
    if found is None:
        return Finding("EGL", "missing", f"libEGL.so.1 loads, but there is no OpenGL 3.3: {problem}", remedy=remedy)
    return Finding("EGL", "ok", f"renders without a screen: {found}")


PROBES = (
    Probe("Python", _python, required=True),
    Probe("gst_ros", _package, required=True),
    Probe("disk", _disk),
    Probe("shared memory", _shared_memory),
    Probe("EGL", _egl),
)
