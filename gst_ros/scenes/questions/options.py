"""How many questions, and every threshold that decides whether one is fair."""

from __future__ import annotations

from dataclasses import dataclass

from gst_ros.bench.tasks import TASKS, find_task
from gst_ros.config import Settings, setting
from gst_ros.errors import ConfigError, QuestionError


@dataclass(frozen=True)
class QuestionOptions(Settings):
    """What to ask. Pixel counts are those of an image of 640 x 512."""

    per_task: int = setting(6, "Questions per task and place; fewer when no more pass the filters.", low=1, high=100)
    tasks: tuple[str, ...] = setting((), "Task keys or official names; empty for all.")

    # Targets
    least_pixels: int = setting(1000, "A target's pixels in its best frame.", low=1)
    least_frames: int = setting(10, "Frames in which a video must show a target.", low=1)
    least_unoccluded: float = setting(0.5, "Share of a target that nothing hides in its best frame.", low=0.0, high=1.0)
    least_distance_m: float = setting(0.5, "Nearer targets are not asked for.", unit="m", above=0.0)

    # Query views
    positions: int = setting(36, "Positions at which query views are tried.", low=1)
    yaws_per_position: int = setting(4, "View directions tried at each position.", low=1)
    views: int = setting(12, "Query views that are taken before the ones taken are used again.", low=1)
    margin: float = setting(0.10, "A target must stay so much of the view's width and height outside it.", low=0.0)
    margin_deg: float = setting(3.0, "A target must stay so far outside a view.", unit="deg", low=0.0)
    nearest_m: float = setting(0.6, "A query view shows nothing nearer.", unit="m", low=0.0)
    least_depth_spread_m: float = setting(
        1.0, "Difference between far and near in a query view (90 and 10 of 100).", unit="m", low=0.0
    )
    least_edges: float = setting(0.03, "Share of a query view's pixels that lie on edges.", low=0.0, high=1.0)
    least_objects: int = setting(3, "Objects that a query view shows.", low=0)
    least_objects_share: float = setting(0.05, "Share of a query view that shows objects.", low=0.0, high=1.0)
    least_known: float = setting(
        0.6, "Share of a query view's object pixels that belong to objects which the video shows.", low=0.0, high=1.0
    )
    off_trajectory_m: float = setting(0.3, "A query view is so far from any frame of the video, or", unit="m", low=0.0)
    off_trajectory_deg: float = setting(30.0, "turned by so much against it.", unit="deg", low=0.0, high=180.0)

    # GST-Bench-Local
    least_local_share: float = setting(0.003, "Share of a view that a target in view covers.", low=0.0, high=1.0)

    # Look-alikes and paths
    least_difference: float = setting(
        0.012, "Two plans to choose from differ in this share of the rooms' area, however they are turned.", above=0.0
    )
    most_difference: float = setting(0.4, "A look-alike differs from the plan in at most this share.", above=0.0)
    clip_length_m: tuple[float, ...] = setting((3.0, 8.0), "Shortest and longest path of a trajectory clip.", unit="m")
    clip_seconds: float = setting(20.0, "Longest trajectory clip.", unit="s", above=0.0)
    least_path_distance_m: float = setting(0.8, "Mean distance between two paths to choose from.", unit="m", above=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            tasks = tuple(find_task(name).key for name in self.tasks)
        except QuestionError as error:
            raise ConfigError(error.problem, field="tasks", remedy=error.remedy) from error
        object.__setattr__(self, "tasks", tasks)
        if len(self.clip_length_m) != 2 or not 0 < self.clip_length_m[0] < self.clip_length_m[1]:
            raise ConfigError("expected two lengths, the shorter first", field="clip_length_m")

    def wants(self, task: str) -> bool:
        """Whether questions of a task are asked for.

        Args:
            task: Its key.
        """
        if task not in TASKS:
            raise KeyError(task)
        return not self.tasks or task in self.tasks
