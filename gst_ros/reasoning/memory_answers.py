"""The answerer ``memory``: answers from the map of the walk, by geometry alone.

Each answer says by which step it was found: ``map`` where everything it rests on was found; ``unsure pose`` where the
best guess of where the query view was taken had to do; ``prior`` where what is usual in this place stands in for what
could not be found; ``guess`` where nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gst_ros.bench.tasks import find_task
from gst_ros.errors import MediaError
from gst_ros.mapping.camera import MapError
from gst_ros.mapping.manhattan import QUARTER_RAD
from gst_ros.mapping.plan_match import PlanRegistration
from gst_ros.mapping.planar import wrap
from gst_ros.mapping.relocalise import Located
from gst_ros.media.images import decode_image
from gst_ros.memory.cuboids import Cuboid
from gst_ros.reasoning.answerer import Answer, Query, Recall
from gst_ros.reasoning.memory_settings import MemoryAnswererConfig
from gst_ros.reasoning.path_places import settled_by_plan
from gst_ros.reasoning.paths import DrawnPath, rank_paths, read_drawn_path
from gst_ros.reasoning.random_guess import LETTERS, RandomGuess
from gst_ros.reasoning.scene import Scene

Array = NDArray[np.float64]

_LEAST_AGREEMENT = 0.3
"""A map that agrees less with a plan does not lie on it."""


@dataclass
class _Finding:
    """An answer in the making.

    Attributes:
        text: The answer.
        step: How it was found; see the module.
        confidence: 0 to 1.
        reasons: Parts of a sentence for people.
        evidence: The figures behind it, JSON types.
    """

    text: str
    step: str
    confidence: float
    reasons: list[str]
    evidence: dict[str, Any] = field(default_factory=dict)


class MemoryAnswerer:
    """Answers from the map of the walk.

    Args:
        config: Settings.
    """

    name = "memory"
    needs_walk = True

    def __init__(self, config: MemoryAnswererConfig) -> None:
        self._config = config
        self._guess = RandomGuess(config)
        self._scene: Scene | None = None
        self._ways: dict[str, Callable[[Scene, Query], _Finding]] = {
            "ed_v": self._direction,
            "edist_v": self._distance,
            "gp_v": self._place_of_marked,
            "position": self._position,
            "orientation": self._orientation,
            "tds_easy": self._selection,
            "tds_medium": self._selection,
            "tds_hard": self._selection,
            "trajectory": self._trajectory,
        }

    def answer(self, query: Query, memory: Recall) -> Answer:
        """Answer one question.

        Raises:
            AnswererError: There is not even a guess for the task.
        """
        way = self._ways.get(find_task(query.task).key)
        if way is None:
            return self._guessed(query, memory, "the map knows no names of objects")
        try:
            found = way(self._scene_of(memory), query)
        except (MapError, MediaError) as error:
            return self._guessed(query, memory, error.problem)
        reason = f"{found.step}: {'; '.join(found.reasons)}"
        details = {"step": found.step, **found.evidence}
        return Answer(found.text, round(min(max(found.confidence, 0.0), 1.0), 3), reason, details)

    def pose(self, query: Query, memory: Recall) -> Answer:
        """Where the query's first image was taken, in ``map``: x and y in metres, yaw in degrees.

        Raises:
            MapError: There is no map, or nothing in it resembles the image.
        """
        view, step = self._view(self._scene_of(memory), query)
        x_m, y_m, yaw_deg = float(view.pose[0]), float(view.pose[1]), math.degrees(float(view.pose[2]))
        std_m = math.sqrt(float(np.trace(view.covariance[:2, :2])))
        text = f"x {x_m:.2f} m, y {y_m:.2f} m, yaw {yaw_deg:.0f} deg, give or take {std_m:.2f} m"
        details = {"step": step, **_pose_evidence(view)}
        return Answer(text, round(view.confidence, 3), f"{step}: {_pose_words(view)}", details)

    def _guessed(self, query: Query, memory: Recall, why: str) -> Answer:
        guess = self._guess.answer(query, memory)
        chance = {"acc": 1 / max(len(query.images), 2), "angle": 0.1, "point": 0.1, "mra": 0.1}
        confidence = round(chance.get(find_task(query.task).metric, 0.0), 3)
        return Answer(guess.text, confidence, f"guess: {why}", {"step": "guess"})

    def _scene_of(self, memory: Recall) -> Scene:
        walk = memory.walk()
        if self._scene is None or self._scene.walk is not walk:
            self._scene = Scene(walk, self._scene)
        return self._scene

    # Where a marked object is, from a view

    def _direction(self, scene: Scene, query: Query) -> _Finding:
        thing, view, step = self._marked(scene), *self._view(scene, query)
        ahead = np.array(thing.centre_m) - view.pose[:2]
        angle_deg = math.degrees(float(wrap(math.atan2(ahead[1], ahead[0]) - view.pose[2])))
        across_m = math.hypot(thing.std_m, math.sqrt(float(np.trace(view.covariance[:2, :2]))))
        std_deg = math.hypot(
            math.degrees(math.atan2(across_m, max(float(np.linalg.norm(ahead)), 0.1))),
            math.degrees(math.sqrt(float(view.covariance[2, 2]))),
        )
        found = _Finding(
            str(round(angle_deg)),
            step,
            view.confidence / (1.0 + (std_deg / 20.0) ** 2),
            [f"{angle_deg:.1f} deg, give or take {std_deg:.1f}", _pose_words(view), _thing_words(thing)],
        )
        found.evidence = {**_pose_evidence(view), **_thing_evidence(thing), "std_deg": round(std_deg, 2)}
        return found

    def _distance(self, scene: Scene, query: Query) -> _Finding:
        thing = self._marked(scene)
        try:
            view, step = self._view(scene, query)
        except MapError as error:
            usual_m = float(np.median(np.linalg.norm(scene.free_points_m - thing.centre_m, axis=1)))
            words = [f"the usual distance to it in this place is {usual_m:.1f} m", error.problem, _thing_words(thing)]
            return _Finding(f"{usual_m:.1f}", "prior", 0.3, words, _thing_evidence(thing))
        flat_m = float(np.linalg.norm(np.array(thing.centre_m) - view.pose[:2]))
        up_m = (thing.z_low_m + thing.z_high_m) / 2 - view.height_m
        distance_m = math.hypot(flat_m, up_m) if self._config.distance == "straight" else flat_m
        std_m = math.sqrt(
            thing.std_m**2
            + float(np.trace(view.covariance[:2, :2])) / 2
            + (scene.walk.place.relative_scale_std * distance_m) ** 2
        )
        found = _Finding(
            f"{distance_m:.1f}",
            step,
            view.confidence / (1.0 + (std_m / max(distance_m, 0.3) / 0.3) ** 2),
            [f"{distance_m:.2f} m, give or take {std_m:.2f}", _pose_words(view), _thing_words(thing)],
        )
        found.evidence = {**_pose_evidence(view), **_thing_evidence(thing), "std_m": round(std_m, 3)}
        return found

    def _place_of_marked(self, scene: Scene, query: Query) -> _Finding:
        thing, plan = self._marked(scene), self._plan(scene, query.images[0])
        text = _point(plan, np.array(thing.centre_m))
        confidence = _plan_confidence(plan) / (1.0 + (thing.std_m / 0.6) ** 2)
        evidence = {**_thing_evidence(thing), **_plan_evidence(plan)}
        return _Finding(text, "map", confidence, [_thing_words(thing), _plan_words(plan)], evidence)

    # Where the view was taken

    def _position(self, scene: Scene, query: Query) -> _Finding:
        plan = self._plan(scene, query.images[-1])
        try:
            view, step = self._view(scene, query)
        except MapError as error:
            middle = _most_central(scene.free_points_m)
            words = ["the middle of the free floor", error.problem, _plan_words(plan)]
            return _Finding(_point(plan, middle), "prior", 0.15, words, _plan_evidence(plan))
        evidence = {**_pose_evidence(view), **_plan_evidence(plan)}
        confidence = view.confidence * _plan_confidence(plan)
        return _Finding(_point(plan, view.pose[:2]), step, confidence, [_pose_words(view), _plan_words(plan)], evidence)

    def _orientation(self, scene: Scene, query: Query) -> _Finding:
        plan, (view, step) = self._plan(scene, query.images[-1]), self._view(scene, query)
        heading_deg = plan.heading_deg(float(view.pose[2]))
        evidence = {**_pose_evidence(view), **_plan_evidence(plan)}
        confidence = view.confidence * _plan_confidence(plan)
        words = [f"{heading_deg:.1f} deg", _pose_words(view), _plan_words(plan)]
        return _Finding(str(round(heading_deg)), step, confidence, words, evidence)

    # Which plan, which path

    def _selection(self, scene: Scene, query: Query) -> _Finding:
        ranking = scene.ranking(query.images)
        scores = [None if r is None else round(r.score, 3) for r in ranking.registrations]
        words = [f"{LETTERS[ranking.best]} agrees best with the map: {_scores(scores)}"]
        confidence = 1.0 - 0.75 * math.exp(-ranking.margin / 0.03)
        evidence = {"scores": scores, "margin": round(ranking.margin, 4)}
        return _Finding(LETTERS[ranking.best], "map", confidence, words, evidence)

    def _trajectory(self, scene: Scene, query: Query) -> _Finding:
        images = [decode_image(image) for image in query.images]
        drawn: list[DrawnPath | None] = []
        for image in images:
            try:
                drawn.append(read_drawn_path(image))
            except MediaError:
                drawn.append(None)
        walls = scene.walls
        yaws = None if walls is None else [-walls.yaw_rad + k * QUARTER_RAD for k in range(4)]
        try:
            ranking = rank_paths(scene.path_m, drawn, yaws_rad=yaws)
        except ValueError as error:
            raise MapError(str(error)) from error
        if scene.grid is not None:
            ranking = settled_by_plan(ranking, scene.grid, images)
        errors = [None if fit is None else round(fit.error_m, 3) for fit in ranking.fits]
        words = [f"{LETTERS[ranking.best]} fits the walk best: {_scores(errors, ' m')}"]
        if any(a is not None for a in ranking.agreements):
            agreements = [None if a is None else round(a, 2) for a in ranking.agreements]
            words.append(f"the map agrees with the plan there: {_scores(agreements)}")
        confidence = 1.0 - 0.75 * math.exp(-ranking.margin / 0.15)
        return _Finding(
            LETTERS[ranking.best], "map", confidence, words, {"errors_m": errors, "margin": round(ranking.margin, 4)}
        )

    # What they rest on

    def _marked(self, scene: Scene) -> Cuboid:
        thing = scene.marked
        if thing is None:
            raise MapError(f"no mark was seen from a known place ({len(scene.walk.marks)} marks in all)")
        return thing

    def _view(self, scene: Scene, query: Query) -> tuple[Located, str]:
        """Where the first image was taken, and by which step that is known.

        Raises:
            MapError: Nothing in the map resembles it.
        """
        found = scene.view(query.images[0])
        if isinstance(found, Located):
            return found, "map"
        if found.best is None:
            raise MapError(f"the view is not recognised ({found.reason})")
        return found.best, "unsure pose"

    def _plan(self, scene: Scene, image: bytes) -> PlanRegistration:
        plan = scene.plan(image)
        if plan.agreement < _LEAST_AGREEMENT:
            raise MapError(f"the map does not lie on the plan (agreement {plan.agreement:.2f})")
        return plan


def _most_central(points: Array) -> Array:
    """The point with the least mean distance from all (of a sample of them)."""
    some = points[:: max(1, len(points) // 400)]
    apart = np.linalg.norm(some[:, None] - some[None], axis=2).mean(axis=1)
    return np.asarray(some[int(np.argmin(apart))])


def _point(plan: PlanRegistration, point_m: Array) -> str:
    x, y = np.clip(np.round(plan.points_999(point_m[None])[0]), 0, 999).astype(int)
    return f"<point>{x} {y}</point>"


def _plan_confidence(plan: PlanRegistration) -> float:
    return (1.0 - 0.75 * math.exp(-max(plan.margin, 0.0) / 0.05)) * min(1.0, max(plan.agreement, 0.0) / 0.6)


def _pose_words(view: Located) -> str:
    x, y, yaw = view.pose
    return (
        f"view at ({x:.2f}, {y:.2f}) m, {math.degrees(yaw):.0f} deg"
        f" ({view.n_inliers} features, confidence {view.confidence:.2f})"
    )


def _thing_words(thing: Cuboid) -> str:
    x, y = thing.centre_m
    return f"marked object at ({x:.2f}, {y:.2f}) m, give or take {thing.std_m:.2f} m, from {thing.views} views"


def _plan_words(plan: PlanRegistration) -> str:
    return f"plan agrees {plan.agreement:.2f} with the map, {plan.margin:.2f} ahead of the next place"


def _pose_evidence(view: Located) -> dict[str, Any]:
    return {
        "view_pose": [round(float(v), 4) for v in view.pose],
        "view_features": view.n_inliers,
        "view_confidence": round(view.confidence, 3),
        "view_keyframes": list(view.keyframes[:4]),
    }


def _thing_evidence(thing: Cuboid) -> dict[str, Any]:
    return {
        "object_m": [round(v, 3) for v in thing.centre_m],
        "object_size_m": [round(v, 2) for v in (*thing.size_m, thing.z_high_m - thing.z_low_m)],
        "object_std_m": round(thing.std_m, 3),
        "object_views": thing.views,
    }


def _plan_evidence(plan: PlanRegistration) -> dict[str, Any]:
    return {
        "plan_agreement": round(plan.agreement, 3),
        "plan_margin": round(plan.margin, 3),
        "plan_m_per_px": round(plan.m_per_px, 5),
        "plan_yaw_deg": round(math.degrees(plan.yaw_rad), 1),
    }


def _scores(values: list[float | None], unit: str = "") -> str:
    return ", ".join(f"{LETTERS[k]} {'-' if v is None else f'{v:g}{unit}'}" for k, v in enumerate(values))
