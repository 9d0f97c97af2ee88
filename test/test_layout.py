"""Floor plans: walls close, rooms hang together, and the wishes are met."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import shapely

from gst_ros.scenes.layout.drafts import Draft, outer, shared
from gst_ros.scenes.layout.links import IMPOSSIBLE, linked
from gst_ros.scenes.layout.plan import FloorPlan, draw_plan, total_area_m2
from gst_ros.scenes.layout.programmes import RULES, home_programme
from gst_ros.scenes.place import SceneError
from gst_ros.scenes.rendering.structure import wall_frame
from gst_ros.scenes.rng import rng

KINDS = ("home", "office", "classroom", "restaurant")


def plan_of(kind: str, seed: int, **wishes: object) -> FloorPlan:
    """The first plan of a seed that works out, as grow_place takes it."""
    for attempt in range(24):
        try:
            return draw_plan(kind, seed, attempt=attempt, **wishes)  # type: ignore[arg-type]
        except SceneError:
            continue
    raise AssertionError(f"no plan for {kind} {seed}")


PLANS = [(kind, seed) for kind in KINDS for seed in range(4 if kind == "home" else 2)]


@pytest.fixture(scope="module")
def plans() -> dict[tuple[str, int], FloorPlan]:
    return {(kind, seed): plan_of(kind, seed) for kind, seed in PLANS}


def bodies(plan: FloorPlan) -> dict[str, shapely.Polygon]:
    result = {}
    for wall in plan.walls:
        half = wall.thickness_m / 2
        corners = np.array([[0, -half], [wall.length_m, -half], [wall.length_m, half], [0, half]])
        frame = wall_frame(wall)
        result[wall.id] = shapely.Polygon(corners @ frame[:2, :2].T + frame[:2, 3])
    return result


def joined_rooms(plan: FloorPlan) -> list[tuple[str, str]]:
    """Pairs of rooms that a door or passage joins, found by points on both of its sides."""
    shapes = {room.id: shapely.Polygon(room.outline) for room in plan.rooms}
    pairs = []
    for wall in plan.walls:
        for opening in wall.openings:
            if opening.kind not in ("door", "passage"):
                continue
            middle, away = opening.start_m + opening.width_m / 2, wall.thickness_m / 2 + 0.2
            ends = [(wall_frame(wall) @ [middle, side, 0, 1])[:2] for side in (away, -away)]
            sides = [next((i for i, s in shapes.items() if s.contains(shapely.Point(*end))), "") for end in ends]
            assert all(sides), f"{wall.id}: a door leads out of the place"
            pairs.append((sides[0], sides[1]))
    return pairs


def parts(names: set[str], pairs: list[tuple[str, str]]) -> int:
    """Number of connected parts."""
    group = {name: name for name in names}
    for a, b in pairs:
        if a in group and b in group:
            old, new = group[a], group[b]
            group = {name: new if g == old else g for name, g in group.items()}
    return len(set(group.values()))


@pytest.mark.parametrize("kind, seed", PLANS)
def test_every_room_is_walled_in(plans: dict[tuple[str, int], FloorPlan], kind: str, seed: int) -> None:
    plan = plans[kind, seed]
    walls = shapely.union_all(list(bodies(plan).values())).buffer(2e-3)
    for room in plan.rooms:
        shape = shapely.Polygon(room.outline)
        assert shape.is_valid and shape.exterior.is_ccw
        assert shape.exterior.difference(walls).length < 1e-6
        assert shape.buffer(-2e-3).intersection(walls.buffer(-2e-3)).area < 1e-6
    for a, b in itertools.combinations(plan.rooms, 2):
        assert shapely.Polygon(a.outline).intersection(shapely.Polygon(b.outline)).area < 1e-9


@pytest.mark.parametrize("kind, seed", PLANS)
def test_rooms_hang_together_without_passing_private_ones(
    plans: dict[tuple[str, int], FloorPlan], kind: str, seed: int
) -> None:
    plan = plans[kind, seed]
    pairs = joined_rooms(plan)
    assert parts({room.id for room in plan.rooms}, pairs) == 1
    core = {room.id for room in plan.rooms if room.outdoor or RULES[room.kind].core}
    assert parts(core, pairs) == 1
    private = {room.id for room in plan.rooms} - core
    for name in private:
        doors = [pair for pair in pairs if name in pair]
        others = {a if b == name else b for a, b in doors}
        assert others & core or all(other.startswith("bedroom") for other in others)


@pytest.mark.parametrize("kind, seed", PLANS)
def test_openings_lie_in_their_walls_and_apart(plans: dict[tuple[str, int], FloorPlan], kind: str, seed: int) -> None:
    plan = plans[kind, seed]
    outlines = [shapely.Polygon(room.outline) for room in plan.rooms]
    for wall in plan.walls:
        end = 0.0
        for opening in wall.openings:
            assert opening.start_m >= end
            end = opening.start_m + opening.width_m
            assert end <= wall.length_m
            assert 0 <= opening.sill_m < opening.head_m <= wall.height_m
            assert opening.width_m >= (0.7 if opening.kind in ("door", "passage") else 0.4)
            # Jambs keep off the rooms' corners: beside the opening there is wall on both faces.
            frame = wall_frame(wall)
            for station in (opening.start_m - 0.12, end + 0.12):
                for side in (wall.thickness_m / 2 + 0.01, -wall.thickness_m / 2 - 0.01):
                    point = shapely.Point(*(frame @ [station, side, 0, 1])[:2])
                    beside = shapely.Point(*(frame @ [(opening.start_m + end) / 2, side, 0, 1])[:2])
                    for outline in outlines:
                        assert not outline.contains(beside) or outline.contains(point)


def test_walls_end_short_of_the_faces_of_walls_that_they_meet(plans: dict[tuple[str, int], FloorPlan]) -> None:
    for plan in plans.values():
        shapes = bodies(plan)
        for a, b in itertools.permutations(plan.walls, 2):
            across = np.array(b.end) - b.start
            across = np.array([-across[1], across[0]]) / b.length_m
            along_a = (np.array(a.end) - a.start) / a.length_m
            if abs(float(along_a @ across)) < 0.5 or not shapes[a.id].intersects(shapes[b.id]):
                continue
            for end in (a.start, a.end):
                away = abs(float((np.array(end) - b.start) @ across))
                assert abs(away - b.thickness_m / 2) > 5e-4, f"{a.id} ends in the plane of a face of {b.id}"


def test_the_same_seed_gives_the_same_plan_and_others_differ() -> None:
    assert plan_of("home", 3) == plan_of("home", 3)
    outlines = {plan_of("home", seed).rooms for seed in range(6)}
    assert len(outlines) == 6


def test_shapes_vary() -> None:
    """Outlines with steps, L-shaped rooms, open plans and gardens all occur among a few dozen homes."""
    stepped = bent = wide = gardens = 0
    for seed in range(30):
        plan = plan_of("home", seed)
        indoor = [shapely.Polygon(room.outline) for room in plan.rooms if not room.outdoor]
        whole = shapely.union_all([shape.buffer(0.2, join_style="mitre") for shape in indoor])
        stepped += whole.area < 0.97 * whole.envelope.area
        bent += any(shape.area < 0.93 * shape.envelope.area for shape in indoor)
        wide += any(o.kind == "passage" for wall in plan.walls for o in wall.openings)
        gardens += any(room.outdoor for room in plan.rooms)
    assert stepped >= 4 and bent >= 4 and wide >= 4 and 4 <= gardens <= 24


@pytest.mark.parametrize("area", [45.0, 90.0, 150.0])
def test_area_follows_the_wish(area: float) -> None:
    # Walls take about a tenth, corridors come on top.
    assert 0.7 * area < total_area_m2(plan_of("home", 11, area_m2=area)) < 1.15 * area


def test_garden_on_request() -> None:
    with_garden, without = plan_of("home", 5, garden=True), plan_of("home", 5, garden=False)
    gardens = [room for room in with_garden.rooms if room.outdoor]
    assert [room.kind for room in gardens] == ["garden"]
    assert any("garden_0" in pair for pair in joined_rooms(with_garden))
    fences = [wall for wall in with_garden.walls if wall.height_m < 2.0]
    assert len(fences) >= 3 and all(wall.material_left.startswith("fence") for wall in fences)
    assert not any(room.outdoor for room in without.rooms)


def test_an_impossible_area_is_refused() -> None:
    with pytest.raises(SceneError, match="another seed or area"):
        draw_plan("home", 1, area_m2=6.0)


def test_front_door_is_in_an_outer_wall_and_lamps_hang_under_the_ceiling(
    plans: dict[tuple[str, int], FloorPlan],
) -> None:
    for plan in plans.values():
        rooms = {room.id: room for room in plan.rooms}
        (door,) = plan.fixtures
        assert door.label == "front door"
        x, y, _ = door.position_m
        back = door.yaw_deg + 180.0
        outside = shapely.Point(x + math.cos(math.radians(back)) * 0.6, y + math.sin(math.radians(back)) * 0.6)
        assert not any(shapely.Polygon(room.outline).contains(outside) for room in plan.rooms)
        for light in plan.lights:
            room = rooms[light.room]
            assert shapely.Polygon(room.outline).contains(shapely.Point(*light.position_m[:2]))
            assert room.ceiling_m - light.position_m[2] == pytest.approx(0.05, abs=1e-6)
        lit = {light.room for light in plan.lights}
        assert lit == {room.id for room in plan.rooms if not room.outdoor}


def test_programmes_have_two_to_eight_rooms_and_the_wanted_area() -> None:
    counts = set()
    for seed in range(60):
        random = rng(seed, "test")
        area = float(random.uniform(40, 160))
        rooms = home_programme(area, random)
        counts.add(len(rooms))
        assert sum(a for _, a in rooms) == pytest.approx(area, rel=0.02) or len(rooms) == 2
        assert all(a <= RULES[kind].max_m2 + 1e-6 for kind, a in rooms)
    assert min(counts) == 2 and max(counts) == 8


def test_shared_boundaries_of_drafts() -> None:
    big, small = Draft("living", ((0, 0, 40, 60), (40, 20, 60, 60))), Draft("bathroom", ((40, 0, 60, 20),))
    found = shared(big, small)
    assert {(s.vertical, s.at, s.low, s.high) for s in found} == {(True, 40, 0, 20), (False, 20, 40, 60)}
    assert outer([big, small], 1) == 40
    assert outer([big, small], 0) == 240 - 40
    assert big.area_m2 == pytest.approx(32.0)


def test_a_room_without_a_way_in_is_impossible() -> None:
    living, bathroom = Draft("living", ((0, 0, 50, 50),)), Draft("bathroom", ((50, 0, 70, 30),))
    links, price = linked([living, bathroom], rng(1, "test"), open_plan=0.0)
    assert [(link.a, link.b) for link in links] == [(0, 1)] and price < IMPOSSIBLE
    apart = Draft("bathroom", ((50, 45, 70, 90),))  # touches along 0.5 m only
    assert linked([living, apart], rng(1, "test"), open_plan=0.0)[1] >= IMPOSSIBLE
