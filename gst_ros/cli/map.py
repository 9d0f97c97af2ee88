"""``gst map``: a map from a video."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gst_ros.mapping.camera_files import CameraOfClip
    from gst_ros.mapping.mapper import Mapper
    from gst_ros.mapping.spatial_map import SpatialMap
    from gst_ros.media.clip import Clip

_HEIGHT = click.FloatRange(0.01, 1000)


@click.command("map", short_help="Make a metric map of a video.")
@click.argument("video", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the map.")
@click.option("--camera", "calibration", default="", help="Calibration file. Default: camera.json beside the video.")
@click.option("--ignore-camera-files", is_flag=True, help="Estimate the camera from the video alone.")
@click.option("--height", "height_m", type=_HEIGHT, help="Height of the camera above the floor, metres.")
@click.option(
    "--height-std", "height_std_m", type=click.FloatRange(0, 1000), help="Standard deviation of that height, metres."
)
@click.option("--pitch", "pitch_deg", type=click.FloatRange(-89, 89), help="Downward tilt of the camera, degrees.")
@click.option("--roll", "roll_deg", type=click.FloatRange(-180, 180), help="Its tilt to the right, degrees.")
@click.option("--fov", "fov_deg", type=click.FloatRange(1, 177), help="Its horizontal field of view, degrees.")
@click.option("--features", type=click.Choice(["auto", "xfeat", "sift"]), default="auto", show_default=True)
def command(
    video: Path,
    out: Path,
    calibration: str,
    ignore_camera_files: bool,
    height_m: float | None,
    height_std_m: float | None,
    pitch_deg: float | None,
    roll_deg: float | None,
    fov_deg: float | None,
    features: str,
) -> int:
    """Follow the camera through VIDEO (a file or a folder of images) and write a map of where it went.

    --out becomes a folder with the map (for `gst locate`), trajectory.tum (the camera's poses) and map.png: free floor
    white, obstacles black, unknown grey; the walk red (orange where the camera was lost), its start a blue dot. The
    frame `map` has its origin on the floor below the first picture's camera, x ahead, y to the left, in metres. A map
    that is there already is replaced.

    What is not told of the camera is estimated from the video, but for its height, which gives the scale: 1.5 m if
    nothing is known.
    """
    from gst_ros.mapping.camera_files import CameraOptions, camera_for
    from gst_ros.mapping.map_files import check_target, save_map
    from gst_ros.mapping.mapper import Mapper, MapperConfig
    from gst_ros.mapping.relocalise import RelocaliseConfig
    from gst_ros.media.clip import open_clip

    check_target(out)
    options = CameraOptions(
        calibration_file=calibration,
        ignore_files=ignore_camera_files,
        horizontal_fov_deg=fov_deg or 0.0,
        height_m=height_m or 0.0,
        height_std_m=height_std_m or 0.0,
        pitch_deg=pitch_deg,
        roll_deg=roll_deg,
    )
    with open_clip(video) as clip:
        click.echo("looking at the camera ...", err=True)
        known = camera_for(clip, options)
        mapper = Mapper(known.camera, known.mount, MapperConfig(relocalise=RelocaliseConfig(features=features)))
        place = _mapped(mapper, clip, known)
    save_map(place, out)
    click.echo(f"camera: {known.source}")
    for note in () if known.estimate is None else known.estimate.notes:
        click.echo(f"  {note}")
    frames = len(place.trajectory.stamps_ns)
    click.echo(f"{frames} frames, {len(place.keyframes)} keyframes -> {out}")
    for note in place.notes:
        click.echo(f"note: {note}")
    return 0


def _mapped(mapper: Mapper, clip: Clip, known: CameraOfClip) -> SpatialMap:
    """The map of a clip, with all that a user should know among its notes.

    Raises:
        MapError: The clip shows too little.
    """
    from dataclasses import replace

    from tqdm import tqdm

    from gst_ros.mapping.camera import MapError
    from gst_ros.mapping.camera_files import map_frames

    for frame in tqdm(map_frames(clip, known), desc="tracking", unit="frame", total=clip.frames_claimed):
        mapper.add(frame)
    click.echo("optimising, and making the grid and what pictures are located by ...", err=True)
    try:
        place = mapper.finish()
        if len(place.keyframes) < 2:
            raise MapError(
                "shows too little to map: the camera hardly moves, or nothing in the pictures can be followed",
                remedy="give a longer video, of a camera that moves through a lit place",
            )
    except MapError as error:
        raise MapError(error.problem, file=clip.path, field=error.field, remedy=error.remedy) from error
    return replace(place, notes=(*place.notes, *_notes(place, clip)))


def _notes(place: SpatialMap, clip: Clip) -> Iterator[str]:
    if clip.resized:
        yield (
            f"{clip.resized} frames had another size than the first, {clip.width} x {clip.height}, and were scaled to"
            " it: where they were cropped or taken with another lens, the map is wrong"
        )
    if clip.damaged:
        yield f"{clip.damaged} frames or packets were damaged or are missing"
    if not any(depths.known.any() for depths in place.relocaliser.depths):
        yield "the map has no landmarks, so that 'gst locate' finds no picture in it: map a longer walk"
    if place.grid is None:
        yield "the walk was too short for a grid of free floor and obstacles"
