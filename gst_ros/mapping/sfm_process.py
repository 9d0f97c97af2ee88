"""COLMAP in a process of its own: ``python -m gst_ros.mapping.sfm_process FOLDER``.

COLMAP is C++ that ends the whole process where it finds a state that it did not expect; a map that is being made must
outlive that. The folder holds ``images/`` and ``request.json``; ``models.npz`` comes back.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.mapping.camera import Array, MapError, PinholeCamera

EXTRA = "six-dof"
_REQUEST, _RESULT = "request.json", "models.npz"


@dataclass(frozen=True)
class SfmOptions:
    """What COLMAP is asked for.

    Attributes:
        features: SIFT features of a picture, at most.
        contrast: Least contrast of a feature; COLMAP's own default is 0.0067.
        overlap: Pictures after each one that it is matched with; and those 2, 4, 8, ... places later.
        least_inliers: A picture is registered with so many points or more.
        threads: Threads.
        seed: Of the random choices.
    """

    features: int = 2048
    contrast: float = 0.0067
    overlap: int = 8
    least_inliers: int = 30
    threads: int = 2
    seed: int = 0


@dataclass(frozen=True)
class SfmModel:
    """One piece of a reconstruction, in a frame and at a scale of its own.

    Attributes:
        names: Its N pictures.
        rotations: N x 3 x 3, ``camera_optical_frame`` to the piece's frame.
        positions: N x 3, of the cameras.
        points: P x 3, those that three pictures or more show.
        seen: K x 2, which picture shows which point (numbers of both).
        error_px: Mean reprojection error.
    """

    names: tuple[str, ...]
    rotations: Array
    positions: Array
    points: Array
    seen: NDArray[np.int64]
    error_px: float


def check_installed() -> None:
    """Refuse to begin without ``pycolmap``.

    Raises:
        MapError: It names the optional dependency.
    """
    if importlib.util.find_spec("pycolmap") is None:
        raise MapError(
            "six degrees of freedom need pycolmap, which is not installed", remedy=f"pip install 'gst_ros[{EXTRA}]'"
        )


def reconstruct(folder: Path, camera: PinholeCamera, options: SfmOptions) -> list[SfmModel]:
    """Run COLMAP's incremental mapping on ``folder/images``, whose names are in the order of time.

    Args:
        folder: Scratch, which is left full of COLMAP's files.
        camera: Intrinsics of all pictures.
        options: What is asked for.

    Returns:
        The pieces, largest first; none where COLMAP found no beginning.

    Raises:
        MapError: COLMAP crashed.
    """
    request = {**vars(options), "camera": [camera.fx, camera.fy, camera.cx, camera.cy]}
    (folder / _REQUEST).write_text(json.dumps(request), encoding="utf-8")
    command = [sys.executable, "-m", "gst_ros.mapping.sfm_process", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        said = next((line for line in reversed(done.stderr.splitlines()) if "rror" in line), "")
        raise MapError(f"structure from motion ended with code {done.returncode} {said:.200}".strip())
    with np.load(folder / _RESULT, allow_pickle=False) as arrays:
        models = [
            SfmModel(
                tuple(str(name) for name in arrays[f"names{k}"]),
                arrays[f"rotations{k}"],
                arrays[f"positions{k}"],
                arrays[f"points{k}"],
                arrays[f"seen{k}"],
                float(arrays[f"error{k}"]),
            )
            for k in range(int(arrays["count"]))
        ]
    return sorted(models, key=lambda model: -len(model.names))


def main(folder: Path) -> None:
    """What the process does."""
    request: dict[str, Any] = json.loads((folder / _REQUEST).read_text(encoding="utf-8"))
    colmap: Any = importlib.import_module("pycolmap")
    colmap.logging.minloglevel = int(colmap.logging.Level.ERROR)
    database, images = folder / "database.db", folder / "images"
    _match(colmap, database, images, request)
    options = colmap.IncrementalPipelineOptions()
    options.ba_refine_focal_length = options.ba_refine_principal_point = options.ba_refine_extra_params = False
    options.mapper.abs_pose_refine_focal_length = options.mapper.abs_pose_refine_extra_params = False
    options.mapper.abs_pose_min_num_inliers = request["least_inliers"]
    options.num_threads, options.random_seed = request["threads"], request["seed"]
    options.extract_colors = False
    (folder / "models").mkdir()
    found = colmap.incremental_mapping(database, images, folder / "models", options)
    arrays: dict[str, Any] = {"count": len(found)}
    for k, model in enumerate(found.values()):
        names, rotations, positions, number = _poses(model)
        shown = [point for point in model.points3D.values() if point.track.length() >= 3]
        points = np.array([point.xyz for point in shown]).reshape(-1, 3)
        seen = [(number[e.image_id], row) for row, point in enumerate(shown) for e in point.track.elements]
        arrays[f"seen{k}"] = np.array(seen, dtype=np.int64).reshape(-1, 2)
        arrays |= {f"names{k}": names, f"rotations{k}": rotations, f"positions{k}": positions, f"points{k}": points}
        arrays[f"error{k}"] = model.compute_mean_reprojection_error()
    np.savez(folder / _RESULT, **arrays)


def _match(colmap: Any, database: Path, images: Path, request: dict[str, Any]) -> None:
    fx, fy, cx, cy = request["camera"]
    reader = colmap.ImageReaderOptions()
    reader.camera_model = "PINHOLE"
    # COLMAP's pixel centres lie at half integers.
    reader.camera_params = f"{fx},{fy},{cx + 0.5},{cy + 0.5}"
    extraction = colmap.FeatureExtractionOptions()
    extraction.use_gpu, extraction.num_threads = False, request["threads"]
    extraction.sift.max_num_features = request["features"]
    extraction.sift.peak_threshold = request["contrast"]
    colmap.extract_features(
        database,
        images,
        camera_mode=colmap.CameraMode.SINGLE,
        reader_options=reader,
        extraction_options=extraction,
        device=colmap.Device.cpu,
    )
    matching = colmap.FeatureMatchingOptions()
    matching.use_gpu, matching.num_threads = False, request["threads"]
    pairing = colmap.SequentialPairingOptions()
    pairing.overlap, pairing.quadratic_overlap = request["overlap"], True
    colmap.match_sequential(database, matching_options=matching, pairing_options=pairing, device=colmap.Device.cpu)


def _poses(model: Any) -> tuple[list[str], Array, Array, dict[int, int]]:
    names: list[str] = []
    rotations, positions = [], []
    number: dict[int, int] = {}
    for key, image in model.images.items():
        if not image.has_pose:
            continue
        number[key] = len(names)
        world_from_camera = image.cam_from_world().inverse()
        names.append(str(image.name))
        rotations.append(world_from_camera.rotation.matrix())
        positions.append(world_from_camera.translation)
    return names, np.array(rotations), np.array(positions), number


def _end_with(parent: int) -> None:
    """End this process soon after its parent did: nobody waits for the result any more."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    main(Path(sys.argv[1]))
