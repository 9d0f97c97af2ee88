"""``gst map``: a map from a video."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("map", short_help="Make a metric map of a video.")
@click.argument("video", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the map.")
@click.option("--camera", "calibration", default="", help="Calibration file. Default: camera.json beside the video.")
@click.option("--ignore-camera-files", is_flag=True, help="Estimate the camera from the video alone.")
@click.option("--height", "height_m", default=0.0, help="Height of the camera above the floor, metres.")
@click.option("--height-std", "height_std_m", default=0.0, help="Standard deviation of that height, metres.")
@click.option("--pitch", "pitch_deg", type=float, help="Downward tilt of the camera, degrees.")
@click.option("--features", type=click.Choice(["auto", "xfeat", "sift"]), default="auto", show_default=True)
def command(
    video: Path,
    out: Path,
    calibration: str,
    ignore_camera_files: bool,
    height_m: float,
    height_std_m: float,
    pitch_deg: float | None,
    features: str,
) -> int:
    """Follow the camera through VIDEO (a file or a folder of images) and write a map of where it went.

    --out becomes a folder with the map (for `gst locate`), trajectory.tum (camera poses) and map.png (free floor white,
    obstacles black, the walk red).
    """
    import cv2
    from tqdm import tqdm

    from gst_ros.mapping.camera_files import CameraOptions, camera_for, map_frames
    from gst_ros.mapping.map_files import save_map
    from gst_ros.mapping.mapper import Mapper, MapperConfig
    from gst_ros.mapping.picture import draw_map
    from gst_ros.mapping.relocalise import RelocaliseConfig
    from gst_ros.mapping.trajectory_files import write_tum
    from gst_ros.media.clip import open_clip

    options = CameraOptions(
        calibration_file=calibration,
        ignore_files=ignore_camera_files,
        height_m=height_m,
        height_std_m=height_std_m,
        pitch_deg=pitch_deg,
    )
    with open_clip(video) as clip:
        known = camera_for(clip, options)
        mapper = Mapper(known.camera, known.mount, MapperConfig(relocalise=RelocaliseConfig(features=features)))
        for frame in tqdm(map_frames(clip, known), desc="tracking", unit="frame", total=clip.frames_claimed):
            mapper.add(frame)
    place = mapper.finish()
    save_map(place, out)
    write_tum(place, out / "trajectory.tum")
    cv2.imwrite(str(out / "map.png"), cv2.cvtColor(draw_map(place), cv2.COLOR_RGB2BGR))
    click.echo(f"camera: {known.source}")
    frames = len(place.trajectory.stamps_ns)
    click.echo(f"{frames} frames, {len(place.keyframes)} keyframes -> {out}")
    for note in place.notes:
        click.echo(f"note: {note}")
    return 0
