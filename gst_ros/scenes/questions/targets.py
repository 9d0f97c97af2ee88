"""Which objects the videos show well enough to be asked for."""

from __future__ import annotations

from dataclasses import dataclass

from gst_ros.scenes.instances import InstanceFacts
from gst_ros.scenes.questions.options import QuestionOptions
from gst_ros.scenes.recording import Recording, Video


@dataclass(frozen=True)
class Target:
    """An object that may be asked for.

    Attributes:
        facts: What the videos show of it.
        video: The video that shows it best; the one that its questions are about.
    """

    facts: InstanceFacts
    video: Video

    @property
    def id(self) -> str:
        """Id of the object."""
        return self.facts.thing.id

    @property
    def centre_m(self) -> tuple[float, float, float]:
        """Centre of its box, frame ``map``."""
        return self.facts.thing.centre_m


def find_targets(recording: Recording, options: QuestionOptions) -> tuple[list[Target], dict[str, int]]:
    """The objects that may be asked for.

    Args:
        recording: The place and what was filmed of it.
        options: The thresholds.

    Returns:
        The targets in the place's order, and per reason how many objects are none.
    """
    videos = {video.name: video for video in recording.videos}
    scale = (recording.preset.video.width / 640.0) ** 2
    targets: list[Target] = []
    rejected: dict[str, int] = {}
    for facts in recording.facts.values():
        if not facts.thing.askable:
            continue
        problem = target_problem(facts, options, scale)
        if problem:
            rejected[problem] = rejected.get(problem, 0) + 1
        else:
            targets.append(Target(facts, videos[facts.video]))
    return targets, rejected


def target_problem(facts: InstanceFacts, options: QuestionOptions, scale: float = 1.0) -> str:
    """Why an object cannot be asked for; empty when it can.

    Args:
        facts: What the videos show of it.
        options: The thresholds.
        scale: Pixels of the videos per pixel of a 640 x 512 image.
    """
    if not facts.video:
        return "never in a video"
    if facts.pixels < options.least_pixels * scale:
        return "too small in the video"
    if len(facts.visible.get(facts.video, ())) < options.least_frames:
        return "too short in the video"
    if facts.cut_off:
        return "cut off in its best frame"
    if facts.unoccluded < options.least_unoccluded:
        return "hidden in its best frame"
    return ""
