"""Draw the bundled demo: three clips of one small home, and one question of each of the twelve tasks.

    python scripts/make_drawn_demo.py [--output demo]

Everything is made here from numbers (homes, textures, walk) and every true answer is computed from the
same geometry; nothing comes from a data set. The result is the same on every run with the same library
versions. It takes one to two minutes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import av
import numpy as np
from drawn_demo.drawing import Camera, render
from drawn_demo.furniture import build
from drawn_demo.homes import HOME
from drawn_demo.questions import MARKED_OBJECT, SECTION, draw_mark, make_questions
from drawn_demo.textures import make_textures
from drawn_demo.walk import FPS, walk_poses
from numpy.typing import NDArray
from tqdm import tqdm

CAMERA = Camera()


def write_video(path: Path, frames: list[NDArray[np.uint8]]) -> None:
    """Encode frames as H.264 with exact 1/10 s stamps."""
    with av.open(str(path), "w", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", rate=FPS, options={"crf": "33", "preset": "veryslow", "threads": "1"})
        stream.width, stream.height, stream.pix_fmt = CAMERA.width, CAMERA.height, "yuv420p"
        for image in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())


def main() -> None:
    """Write the demo folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parents[1] / "demo")
    output: Path = parser.parse_args().output
    media = output / "media"
    media.mkdir(parents=True, exist_ok=True)

    textures = make_textures()
    questions = make_questions(media, textures)
    (output / "questions.json").write_text(json.dumps(questions, indent=1, ensure_ascii=False) + "\n", "utf-8")
    boxes, plain, marked = build(HOME), [], []
    for pose in tqdm(walk_poses(), desc="drawing", unit="frame"):
        image, owner = render(boxes, textures, CAMERA, pose)
        plain.append(image)
        marked.append(draw_mark(image, owner, boxes))
    write_video(media / "walk.mp4", plain)
    write_video(media / f"walk_marked_{MARKED_OBJECT}.mp4", marked)
    write_video(media / "section.mp4", plain[SECTION])


if __name__ == "__main__":
    main()
