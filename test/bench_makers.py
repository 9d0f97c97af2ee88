"""Self-made questions, media and answers for the tests of the bench."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from gst_ros.bench.leaderboard import load_leaderboard
from gst_ros.bench.questions import Question
from gst_ros.bench.tasks import TASKS

TRUTHS: dict[str, Any] = {"angle": "-134", "mra": 13.2, "point": "<point>323 292</point>", "acc": "C"}


def encoded_image(extension: str = ".png", height: int = 24, width: int = 32) -> bytes:
    """A small image with some content, as PNG, JPEG, ..."""
    pixels = np.arange(height * width * 3, dtype=np.uint8).reshape(height, width, 3)
    done, data = cv2.imencode(extension, pixels)
    assert done
    return data.tobytes()


def record(task: str = "ed_v", uid: str = "scene1_question_1", /, **fields: Any) -> dict[str, Any]:
    """The fields of an official question of a task; a field given as ``...`` is left out."""
    made = {
        "task": TASKS[task].official_name,
        "uid": uid,
        "scene": "scene_1",
        "answer": TRUTHS[TASKS[task].metric],
        "texts": ["This is the exploration video:", "Your current view is :", "Where – in ° – is the object?"],
        "copied_video_path": "video1.mp4",
        "images": [{"index": i + 1, "copied_path": f"image_{i + 1:02}.png"} for i in range(TASKS[task].images)],
    }
    made.update(fields)
    return {name: value for name, value in made.items() if value is not ...}


def write_media(folder: Path, images: int = 4) -> None:
    """The video and the images that :func:`record` names. No test here looks into the video."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "video1.mp4").write_bytes(b"\0\0\0\x20ftypisom not a real film")
    for i in range(images):
        (folder / f"image_{i + 1:02}.png").write_bytes(encoded_image())


def write_question(folder: Path, fields: Mapping[str, Any], media: bool = True) -> Path:
    """One folder with one question, as on the project page."""
    folder.mkdir(parents=True, exist_ok=True)
    if media:
        write_media(folder)
    (folder / "question.json").write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8")
    return folder


def synthetic_questions(seed: int = 7) -> list[Question]:
    """Questions with the published number of each task, with truths spread over the answer spaces; no media."""
    rng = np.random.default_rng(seed)
    questions = []
    for key, count in load_leaderboard().question_counts.items():
        task = TASKS[key]
        for number in range(count):
            truth: Any
            if task.metric == "angle":
                truth = float(rng.integers(-180, 181))
                answer: Any = str(int(truth))
            elif task.metric == "mra":
                answer = truth = round(float(rng.uniform(0.8, 14.0)), 1)
            elif task.metric == "point":
                truth = (float(rng.integers(0, 1000)), float(rng.integers(0, 1000)))
                answer = f"<point>{int(truth[0])} {int(truth[1])}</point>"
            else:
                answer = truth = "ABCD"[int(rng.integers(4))]
            uid = f"scene{number % 50}_{task.official_name}_{number}"
            fields = record(key, uid, answer=answer)
            images = tuple(Path(entry["copied_path"]) for entry in fields["images"])
            texts = tuple(fields["texts"])
            questions.append(
                Question(uid, task, "scene_1", texts, Path("video1.mp4"), images, truth, fields, Path("question.json"))
            )
    return questions
