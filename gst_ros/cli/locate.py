"""``gst locate``: where in a map a picture was taken."""

from __future__ import annotations

import json
from pathlib import Path

import click

EXIT_LOST = 3


@click.command("locate", short_help="Find where in a map a picture was taken.")
@click.argument("map_folder", metavar="MAP", type=click.Path(path_type=Path))
@click.argument("image", type=click.Path(path_type=Path))
@click.option("--camera", "calibration", type=click.Path(path_type=Path), help="Calibration; its query_view is used.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(map_folder: Path, image: Path, calibration: Path | None, as_json: bool) -> int:
    """Print the pose of the camera that took IMAGE: x and y in metres, yaw in degrees, frame map.

    Exit code 3 when the picture cannot be located with confidence.
    """
    import numpy as np

    from gst_ros.mapping.camera_files import query_camera
    from gst_ros.mapping.map_files import load_map
    from gst_ros.mapping.relocalise import Located
    from gst_ros.media.images import read_image

    place = load_map(map_folder)
    picture = read_image(image)
    known = None if calibration is None else query_camera(calibration, picture.shape[1], picture.shape[0])
    camera, prior = known if known else (None, None)
    found = place.locate(picture, camera, prior)
    if not isinstance(found, Located):
        click.echo(json.dumps({"lost": found.reason}) if as_json else f"lost: {found.reason}")
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
    }
    if as_json:
        click.echo(json.dumps(values))
    else:
        click.echo(
            f"x {values['x_m']} m, y {values['y_m']} m, yaw {values['yaw_deg']} deg"
            f" (std {values['std_x_m']}, {values['std_y_m']} m, {values['std_yaw_deg']} deg;"
            f" confidence {values['confidence']}, {values['features']} features)"
        )
    return 0
