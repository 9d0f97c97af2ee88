"""numpy, OpenCV, PyAV, torch, transformers, the data engine's packages, furniture, models."""

from __future__ import annotations

import os
from pathlib import Path

from gst_ros.doctor.probes import Finding, Probe, try_import
from gst_ros.environment import distribution_version

_SET_UP = "bash scripts/setup.sh"
_MODEL_EXTRA = f"{_SET_UP} (only answerers that run a model here need it)"
_GPU_SIGNS = (Path("/dev/nvidiactl"), Path("/proc/driver/nvidia/version"))
_FURNITURE_DIR = Path("/usr/share/sweethome3d/furniture")
SCENES_PACKAGES = (
    "embreex",
    "fast-simplification",
    "javaproperties",
    "jinja2",
    "moderngl",
    "scipy",
    "shapely",
    "trimesh",
)
"""What the extra ``scenes`` installs (setup.py)."""


def _needed(subject: str, module: str, pip_name: str) -> Finding:
    version, problem = try_import(module, "module.__version__")
    if version is None:
        return Finding(subject, "missing", problem, True, f"{_SET_UP}, or pip install {pip_name}")
    return Finding(subject, "ok", version, True)


def _numpy() -> Finding:
    return _needed("numpy", "numpy", "numpy")


def _opencv() -> Finding:
    return _needed("OpenCV", "cv2", "opencv-python-headless")


def _pyav() -> Finding:
    return _needed("PyAV", "av", "av")


def _torch() -> Finding:
    version = distribution_version("torch")
    gpu = any(sign.exists() for sign in _GPU_SIGNS)
    if version is None:
        return Finding("torch", "missing", "not installed", remedy=_MODEL_EXTRA)
    # PyPI's own builds for CUDA carry no local version; what they need are packages of NVIDIA's.
    cuda = "+cu" in version or ("+" not in version and _has_cuda_packages())
    build = "CUDA build" if cuda else "CPU build"
    if gpu and not cuda:
        remedy = "pip install --force-reinstall a CUDA build of the same version to use the GPU"
        return Finding("torch", "warning", f"{version}, {build}, although there is an NVIDIA GPU", remedy=remedy)
    return Finding("torch", "ok", f"{version}, {build}, {'NVIDIA GPU found' if gpu else 'no NVIDIA GPU'}")


def _has_cuda_packages() -> bool:
    names = ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu13", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime-cu11")
    return distribution_version(*names) is not None


def _transformers() -> Finding:
    version = distribution_version("transformers")
    if version is None:
        return Finding("transformers", "missing", "not installed", remedy=_MODEL_EXTRA)
    return Finding("transformers", "ok", version)


def _scenes_extra() -> Finding:
    missing = [name for name in SCENES_PACKAGES if distribution_version(name) is None]
    if missing:
        remedy = f"{_SET_UP}, or pip install 'gst_ros[scenes]' (only for making scenes)"
        return Finding("scenes extra", "missing", f"not installed: {', '.join(missing)}", remedy=remedy)
    versions = [f"{name} {distribution_version(name)}" for name in ("moderngl", "embreex")]
    return Finding("scenes extra", "ok", f"all {len(SCENES_PACKAGES)} packages, {', '.join(versions)}")


def _furniture() -> Finding:
    folder = Path(os.environ.get("GST_FURNITURE_DIR") or _FURNITURE_DIR)
    archives = sorted(folder.glob("*.sh3f")) if folder.is_dir() else []
    if not archives:
        remedy = "apt-get install sweethome3d-furniture, or set GST_FURNITURE_DIR (only for making scenes)"
        detail = f"no *.sh3f in {folder}"
        return Finding("furniture", "missing", detail, remedy=remedy)
    size_mb = sum(archive.stat().st_size for archive in archives) / 1e6
    return Finding("furniture", "ok", f"catalogues: {len(archives)}, {size_mb:.0f} MB in {folder}")


def hub_cache_dir() -> Path:
    """Where huggingface_hub keeps downloaded models, by the environment variables that it reads."""
    if os.environ.get("HF_HUB_CACHE"):
        return Path(os.environ["HF_HUB_CACHE"]).expanduser()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    home = Path(os.environ["HF_HOME"]).expanduser() if os.environ.get("HF_HOME") else cache / "huggingface"
    return home / "hub"


def _models() -> Finding:
    folder = hub_cache_dir()
    found = sorted(path.name for path in folder.glob("models--*") if path.is_dir()) if folder.is_dir() else []
    if not found:
        remedy = "hf download MODEL (only answerers that run a model here need one)"
        return Finding("models", "missing", f"none in {folder}", remedy=remedy)
    names = [name.removeprefix("models--").replace("--", "/") for name in found]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return Finding("models", "ok", f"{', '.join(names[:3])}{more} in {folder}")


PROBES = (
    Probe("numpy", _numpy, required=True),
    Probe("OpenCV", _opencv, required=True),
    Probe("PyAV", _pyav, required=True),
    Probe("torch", _torch),
    Probe("transformers", _transformers),
    Probe("scenes extra", _scenes_extra),
    Probe("furniture", _furniture),
    Probe("models", _models),
)
