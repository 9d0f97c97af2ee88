"""Runs of our own making, answered in turn, and what is on the page of one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from gst_ros.bench.metrics import ScoringConfig
from gst_ros.bench.questions import load_questions
from gst_ros.bench.records import RunFolder, RunHeader, read_run
from gst_ros.bench.scoring import record_answer
from gst_ros.report.judged import Judged, judge

# Of the four kinds of questions of tiny_set: true answers are -134 degrees, 3.2 m, (391, 698) and C.
PREDS = ("-134", "3.2", "<point>391 698</point>", "C", "46", "3.0", "<point>391 578</point>", "B")
SCORES = (1.0, 1.0, 1.0, 1.0, 0.0, 0.9, 0.8, 0.0)
STEPS = ("map", "unsure pose", "map", "prior")

EVIL = "<script>alert('x')</script>\"'><img src=x onerror=alert(2)>{{ 7 * 7 }}</svg></style>"


def make_run(folder: Path, questions: Path, preds: Sequence[str] = PREDS, order: int = 1, **fields: Any) -> Path:
    """Answer questions in turn; ``fields`` are laid over each record."""
    found = load_questions(questions)
    header = RunHeader(
        {"name": "memory"}, {"scoring": {}}, info={"evaluation": {"questions": str(questions), "data_root": ""}}
    )
    with RunFolder.open(folder, header) as run:
        for number, question in list(enumerate(found.questions))[::order]:
            record = record_answer(
                question,
                preds[number % len(preds)],
                ScoringConfig(),
                confidence=0.9 - 0.1 * (number // 4),
                explanation=f"explanation {number}",
                evidence={"step": STEPS[number % 4], "view_features": number},
                seconds=0.5 + number,
                frames_received=6,
            )
            run.append_answer(dataclasses.replace(record, **fields))
    return folder


def judged_of(run: Path) -> list[Judged]:
    return judge(read_run(run).answers.values(), ScoringConfig())


class Elements(HTMLParser):
    """Every start tag of a page, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, tag: str, css_class: str = "") -> list[dict[str, str]]:
        return [
            a for name, a in self.tags if name == tag and (not css_class or css_class in a.get("class", "").split())
        ]
