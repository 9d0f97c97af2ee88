"""``gst locate``: where in a map a picture was taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gst_ros.mapping.camera import CameraMount, PinholeCamera
    from gst_ros.mapping.spatial_map import SpatialMap

EXIT_LOST = 3
_HEIGHT_STD = 0.01  # of the height, where it is taken to be the map's
_PITCH_STD_DEG = 0.5
_MOST_ZOOM = 8.0


@click.command("locate", short_help="Find where in a map a picture was taken.")
@click.argument("map_folder", metavar="MAP", type=click.Path(path_type=Path))
@click.argument("image", type=click.Path(path_type=Path))
@click.option("--camera", "calibration", type=click.Path(path_type=Path), help="Calibration; its query_view is used.")
@click.option(
    "--pitch", "pitch_deg", type=click.FloatRange(-60, 80), help="Downward tilt of the camera, degrees. Default: level."
)
@click.option(
    "--pitch-std",
    "pitch_std_deg",
    type=click.FloatRange(0, 20),
    default=_PITCH_STD_DEG,
    show_default=True,
    help="Standard deviation of --pitch, degrees.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    map_folder: Path,
    image: Path,
    calibration: Path | None,
    pitch_deg: float | None,
    pitch_std_deg: float,
    as_json: bool,
) -> int:
    """Print the pose of the camera that took IMAGE: x and y in metres, yaw in degrees.

    They are in the map's own frame: its origin is on the floor below the camera of the video's first picture, x ahead,
    y to the left, yaw from x to y.

    A picture is taken for a level one of the video's camera and height, unless told otherwise: by the section
    query_view of --camera (width, height, fx, pitch_deg, height_m), and by --pitch. A picture of the mapped video
    itself needs its tilt: --pitch 35, say. With a wrong tilt, pictures are lost.

    Exit code 3 when the picture cannot be located with confidence.
    """
    import numpy as np

    from gst_ros.mapping.map_files import load_map
    from gst_ros.mapping.relocalise import Located
    from gst_ros.media.images import read_image

    place = load_map(map_folder)
    picture = read_image(image)
    camera, prior, assumed = _camera(place, picture.shape[1], picture.shape[0], calibration, pitch_deg, pitch_std_deg)
    found = place.locate(picture, camera, prior)
    if not isinstance(found, Located):
        reason = found.reason
        if not any(depths.known.any() for depths in place.relocaliser.depths):
            reason = "the map has no landmarks: make it anew of a longer walk"
        click.echo(json.dumps({"lost": reason, "assumed": assumed}) if as_json else f"lost: {reason}")
        if assumed and not as_json:
            click.echo(f"  assumed: {', '.join(assumed)}")
        return EXIT_LOST
    std = np.sqrt(np.diag(found.covariance))
    values = {
        "x_m": round(float(found.pose[0]), 3),
        "y_m": round(float(found.pose[1]), 3),
        "yaw_deg": round(float(np.degrees(found.pose[2])), 2),
        "std_x_m": round(float(std[0]), 3),
        "std_y_m": round(float(std[1]), 3),
        "std_yaw_deg": round(float(np.degrees(std[2])), 2),
        "confidence": round(found.confidence, 3),
        "features": found.n_inliers,
        "assumed": assumed,
    }
    if as_json:
        click.echo(json.dumps(values))
        return 0
    click.echo(
        f"x {values['x_m']} m, y {values['y_m']} m, yaw {values['yaw_deg']} deg"
        f" (std {values['std_x_m']}, {values['std_y_m']} m, {values['std_yaw_deg']} deg;"
        f" confidence {values['confidence']}, {values['features']} features)"
    )
    if assumed:
        click.echo(f"  assumed: {', '.join(assumed)}")
    return 0


def _camera(
    place: SpatialMap,
    width: int,
    height: int,
    calibration: Path | None,
    pitch_deg: float | None,
    pitch_std_deg: float,
) -> tuple[PinholeCamera | None, CameraMount | None, list[str]]:
    """Camera and mount of a picture, and what of them nobody told.

    Raises:
        MediaError: The calibration cannot be used.
    """
    from dataclasses import replace

    from gst_ros.errors import MediaError
    from gst_ros.mapping.camera import CameraMount
    from gst_ros.mapping.camera_files import query_camera

    usual = CameraMount(
        place.mount.height_m,
        0.0,
        height_std_m=_HEIGHT_STD * place.mount.height_m,
        pitch_std_deg=_PITCH_STD_DEG,
        roll_std_deg=0.15,
    )
    if calibration is None:
        assumed = ["the lens of the map's camera", f"its height, {place.mount.height_m:g} m"]
        if pitch_deg is None:
            return None, None, [*assumed, "a level picture (otherwise give --pitch)"]
        return None, replace(usual, pitch_deg=pitch_deg, pitch_std_deg=pitch_std_deg), assumed
    told = query_camera(calibration, width, height, usual)
    if told is None:
        raise MediaError(
            "missing",
            file=calibration,
            field="query_view",
            remedy="add it: width, height, fx, pitch_deg, height_m; or leave --camera out",
        )
    camera, prior = told
    zoom = (camera.fx / camera.width) / (place.camera.fx / place.camera.width)
    if not 1 / _MOST_ZOOM <= zoom <= _MOST_ZOOM:
        raise MediaError(
            f"a lens of {zoom:.3g} times the focal length of the map's shows nothing alike",
            file=calibration,
            field="query_view.fx",
            remedy="check fx and width",
        )
    if pitch_deg is not None:
        prior = replace(prior, pitch_deg=pitch_deg, pitch_std_deg=pitch_std_deg)
    return camera, prior, []
