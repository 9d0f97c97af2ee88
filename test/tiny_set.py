"""Small question sets of our own making, for tests that run whole evaluations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np

WIDTH, HEIGHT = 64, 48
TASKS = {
    "ed_v": ("Object_Localization_Egocentric_Direction_visual", "-134", 1),
    "edist_s": ("Object_Localization_Egocentric_Distance_semantic", 3.2, 1),
    "position": ("Self_Localization_Global_Position", "<point>391 698</point>", 2),
    "tds_medium": ("Global_Structure_Understanding_Topdown_Selection_Medium", "C", 4),
}


def make_set(folder: Path, videos: int = 2, questions: int = 4, frames: int = 6) -> Path:
    """Write ``videos`` clips (folders of images) and ``questions`` questions, spread over them in turn.

    Returns:
        The question file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(videos):
        make_clip(folder / f"clip{number}", frames, seed=number)
    for number in range(4):
        write_image(folder / f"view{number}.png", seed=100 + number)
    records = [make_question(number, f"clip{number % videos}") for number in range(questions)]
    return write_questions(folder / "questions.json", records)


def make_question(number: int, video: str) -> dict[str, Any]:
    official_name, answer, images = list(TASKS.values())[number % len(TASKS)]
    return {
        "task": official_name,
        "uid": f"question_{number:03d}",
        "scene": f"scene_{number % 5}",
        "answer": answer,
        "texts": ["This is the video:", f"Question number {number}."],
        "copied_video_path": video,
        "images": [{"index": i + 1, "copied_path": f"view{i}.png"} for i in range(images)],
    }


def write_questions(file: Path, records: list[dict[str, Any]]) -> Path:
    file.write_text(json.dumps(records), encoding="utf-8")
    return file


def make_clip(folder: Path, frames: int, seed: int = 0) -> Path:
    """A clip as a folder of numbered images."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(frames):
        write_image(folder / f"{number:04d}.png", seed=1000 * seed + number)
    return folder


def write_image(file: Path, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (HEIGHT // 8, WIDTH // 8, 3), dtype=np.uint8)
    cv2.imwrite(str(file), cv2.resize(image, (WIDTH, HEIGHT), interpolation=cv2.INTER_NEAREST))


def make_video(file: Path, frames: int, fps: int = 10) -> list[int]:
    """Write an mp4; returns the frames' presentation times in nanoseconds, as PyAV reads them back."""
    import av

    with av.open(str(file), "w") as container:
        stream = container.add_stream("mpeg4", rate=fps)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(frames):
            pixels = np.full((HEIGHT, WIDTH, 3), number * 255 // max(1, frames - 1), np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())
    return presentation_times_ns(file)


def presentation_times_ns(file: Path) -> list[int]:
    """Presentation times of a video's frames, read with PyAV and nothing of ours."""
    import av

    with av.open(str(file)) as container:
        return [round(frame.pts * frame.time_base * 1_000_000_000) for frame in container.decode(video=0)]


def records_of(run: Path, kind: str) -> list[dict[str, Any]]:
    """The records of one kind in a run folder, read without the code under test."""
    lines = (run / "records.jsonl").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    return [entry for entry in entries if entry["kind"] == kind]
