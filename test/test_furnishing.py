"""Furnished places: nothing in anything else, all reachable, and things stand as people put them."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
import shapely
import yaml

from gst_ros.scenes.catalogue import Catalogue, _curated
from gst_ros.scenes.furnishing.furnish import VERBS
from gst_ros.scenes.furnishing.models import ModelPool
from gst_ros.scenes.furnishing.placing import Furnisher, Names
from gst_ros.scenes.furnishing.rules import rules
from gst_ros.scenes.furnishing.space import FLAT_M, Space, open_space, overlap
from gst_ros.scenes.grow import GrowOptions, grow_place
from gst_ros.scenes.place import Opening, Place, PlacedObject, Room, SceneError, Wall, load_place
from gst_ros.scenes.rng import rng
from gst_ros.scenes.validity import check_place

BUILT_IN = GrowOptions(builtin_only=True)
PLACES = [("home", 0), ("home", 4), ("home", 7), ("office", 1), ("classroom", 1), ("restaurant", 1)]


@pytest.fixture(scope="module")
def places() -> dict[tuple[str, int], Place]:
    return {(kind, seed): grow_place(kind, seed, "bench", None, BUILT_IN) for kind, seed in PLACES}  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    try:
        return Catalogue.open()
    except SceneError as error:
        pytest.skip(f"no furniture here: {error}")


def ahead(thing: PlacedObject, away_m: float) -> shapely.Point:
    """A point before a thing's front."""
    angle, reach = math.radians(thing.yaw_deg), thing.size_m[0] / 2 + away_m
    return shapely.Point(thing.position_m[0] + math.cos(angle) * reach, thing.position_m[1] + math.sin(angle) * reach)


def outline_of(place: Place, thing: PlacedObject) -> shapely.Polygon:
    return shapely.Polygon(next(room.outline for room in place.rooms if room.id == thing.room))


@pytest.mark.parametrize("kind, seed", PLACES)
def test_a_place_without_a_catalogue_has_no_problems(
    places: dict[tuple[str, int], Place], kind: str, seed: int
) -> None:
    place = places[kind, seed]
    assert check_place(place) == []
    assert all(thing.model.startswith("builtin/") for thing in place.objects)
    assert len(place.objects) >= 25


def test_the_same_seed_gives_the_same_bytes(places: dict[tuple[str, int], Place], tmp_path: Path) -> None:
    again = grow_place("home", 4, "bench", None, BUILT_IN)
    assert again.to_json() == places["home", 4].to_json()
    assert again.to_json() != places["home", 7].to_json()
    again.save(tmp_path / "scene.json")
    assert load_place(tmp_path / "scene.json").to_json() == again.to_json()


def test_chairs_look_at_their_tables(places: dict[tuple[str, int], Place]) -> None:
    looked = 0
    for place in places.values():
        tables = [t for t in place.objects if "table" in t.label or "desk" in t.label]
        for chair in [t for t in place.objects if t.label in ("chair", "school chair", "office chair")]:
            near = [t for t in tables if shapely.Polygon(t.footprint()).distance(ahead(chair, 0.0)) < 0.35]
            assert near, f"{place.name}: {chair.id} looks at no table"
            looked += 1
    assert looked > 60


def test_sofas_and_cupboards_have_their_backs_at_a_wall(places: dict[tuple[str, int], Place]) -> None:
    checked = 0
    for place in places.values():
        for thing in [t for t in place.objects if t.label in ("sofa", "wardrobe", "bookcase", "dresser", "toilet")]:
            outline = outline_of(place, thing)
            back = ahead(thing, -thing.size_m[0] - 0.05)
            assert not outline.contains(back), f"{thing.id}: open floor behind it"
            assert outline.contains(ahead(thing, 0.3)), f"{thing.id}: a wall before it"
            checked += 1
    assert checked > 15


def test_pictures_hang_on_walls_and_not_behind_things(places: dict[tuple[str, int], Place]) -> None:
    count = 0
    for place in places.values():
        for picture in [t for t in place.objects if t.label == "picture"]:
            outline = outline_of(place, picture)
            assert outline.exterior.distance(ahead(picture, -picture.size_m[0])) < 0.01
            middle = picture.position_m[2] + picture.size_m[2] / 2
            assert 1.3 < middle < 1.8 and not picture.blocks and not picture.askable
            count += 1
    assert count >= 8


def hidden_behind(place: Place) -> list[tuple[str, str]]:
    """Thin things on walls with something that stands right before all of them."""
    found = []
    for thin in [t for t in place.objects if t.mount == "wall" and t.size_m[0] < 0.12]:
        low, high = thin.position_m[2], thin.position_m[2] + thin.size_m[2]
        for other in [t for t in place.objects if t.mount == "floor" and t.blocks and t.room == thin.room]:
            covers = other.position_m[2] < high and other.position_m[2] + other.size_m[2] > low
            if covers and shapely.Polygon(other.footprint()).contains(ahead(thin, 0.08)):
                found.append((thin.id, other.id))
    return found


def test_bedside_tables_are_beside_beds(places: dict[tuple[str, int], Place]) -> None:
    count = 0
    for place in places.values():
        for table in [t for t in place.objects if t.label == "bedside table"]:
            beds = [b for b in place.objects if b.label in ("bed", "child bed") and b.room == table.room]
            gaps = [shapely.Polygon(table.footprint()).distance(shapely.Polygon(b.footprint())) for b in beds]
            assert min(gaps) < 0.1
            count += 1
    assert count >= 3


def test_sockets_switches_and_rugs_are_scenery(places: dict[tuple[str, int], Place]) -> None:
    for place in places.values():
        for thing in place.objects:
            if thing.label in ("rug", "picture", "terrace", "path", "mirror", "kitchen counter"):
                assert not thing.askable
            if thing.size_m[2] <= FLAT_M and thing.mount == "floor":
                assert not thing.blocks
        labels = Counter(t.label for t in place.objects if t.askable)
        assert sum(count == 1 for count in labels.values()) >= 4
        assert any(count > 1 for count in labels.values())


def test_clutter_fills_rooms() -> None:
    sparse = grow_place("home", 4, "bench", None, GrowOptions(builtin_only=True, clutter=0.5))
    full = grow_place("home", 4, "bench", None, GrowOptions(builtin_only=True, clutter=1.5))
    assert len(full.objects) > 1.25 * len(sparse.objects)
    assert [room.outline for room in full.rooms] == [room.outline for room in sparse.rooms]


def test_bad_wishes_are_refused_in_one_line() -> None:
    with pytest.raises(SceneError, match=r"unknown kind of place 'castle'.*one of: home, office"):
        grow_place("castle", 1, "bench", None, BUILT_IN)  # type: ignore[arg-type]
    with pytest.raises(SceneError, match="no furniture catalogue"):
        grow_place("home", 1, "bench", None)
    with pytest.raises(SceneError, match="no home for seed 1"):
        grow_place("home", 1, "bench", None, GrowOptions(builtin_only=True, area_m2=5.0))


def test_the_rules_speak_of_known_labels_and_verbs() -> None:
    curated = _curated()
    known = set(curated["labels"]) | set(curated["relabelled"].values()) | set(rules().builtin) | {"front door"}
    used: set[str] = set(rules().own) | set(rules().mixed) | set(rules().tops) | set(rules().wall)
    for steps in rules().rooms.values():
        for step in steps:
            assert step.verb in VERBS, step
            if step.verb == "extras":
                assert step.labels[0] in rules().extras
                continue
            used |= set(step.labels)
            for key in ("with", "board", "teacher", "teacher_chair", "bar", "stools", "over", "of"):
                used |= set(step.options.get(key, ()))
    for labels in rules().extras.values():
        used |= set(labels)
    for steps in rules().tops.values():
        for step in steps:
            assert step.verb in ("put", "settings")
            used |= set(step.labels)
    assert sorted(used - known) == []


def test_every_label_of_the_rules_of_own_things_is_built_in() -> None:
    pool = ModelPool(None, "bench")
    for label in rules().own:
        assert pool.options(label), label
    text = (Path(__file__).parents[1] / "gst_ros/scenes/data/furnishing.yaml").read_text(encoding="utf-8")
    assert set(yaml.safe_load(text)["rooms"]) == set(rules().rooms)


# A room of 5 m x 4 m with a door in its south wall, for the primitives.


def bare_room(*, window: bool = False) -> Space:
    room = Room("living_0", "living", ((0, 0), (5, 0), (5, 4), (0, 4)), "planks:1", "plaster:1", 2.5)
    holes: tuple[Opening, ...] = (Opening("door", 2.1, 0.9, 0.0, 2.1),)
    north = (Opening("window", 1.0, 3.2, 0.9, 2.1),) if window else ()
    walls = (
        Wall("south", (-0.1, -0.1), (5.1, -0.1), 0.2, 2.5, "plaster:1", "plaster:1", holes),
        Wall("north", (-0.1, 4.1), (5.1, 4.1), 0.2, 2.5, "plaster:1", "plaster:1", north),
    )
    return open_space(room, walls, ())


def furnisher(space: Space) -> Furnisher:
    return Furnisher(space, ModelPool(None, "bench"), rng(5, "test"), Names())


def test_the_floor_before_a_door_stays_clear() -> None:
    space = bare_room()
    assert len(space.doors) == 1
    (zone,) = space.zones
    assert zone == pytest.approx((2.0, 0.0, 2.9, 0.75))
    assert not space.fits((2.2, 0.3, 2.8, 0.6), 0.0, 0.5)
    assert space.fits((2.2, 0.3, 2.8, 0.6), 2.0, 2.2)  # above heads
    assert space.fits((2.2, 0.9, 2.8, 1.4), 0.0, 0.5)


def test_tall_things_do_not_stand_before_windows() -> None:
    room = furnisher(bare_room(window=True))
    north = [e for e in room.space.edges if e.normal == (0.0, -1.0)]
    wardrobe = max(room.pool.options("wardrobe"), key=lambda p: p.size_m[1])
    chest = room.pool.options("chest")[0]
    assert room.against([wardrobe], edges=north) is None  # 1.5 m wide: no wall is left beside the window
    assert room.against([chest], edges=north) is not None


def test_a_barricade_is_refused() -> None:
    space = bare_room()
    assert space.connected()
    assert not space.connected([(1.5, 0.8, 3.4, 1.0), (1.4, 0.0, 1.6, 1.0), (3.3, 0.0, 3.5, 1.0)])
    assert space.connected([(0.0, 3.0, 5.0, 4.0)])


def test_things_on_a_table_stay_on_it_and_apart() -> None:
    room = furnisher(bare_room())
    table = room.put(room.pool.options("dining table")[0], 2.5, 2.5, 90.0)
    made = [room.on_top(table, p) for p in room.pool.options("small plant") * 6]
    placed = [m for m in made if m]
    assert len(placed) >= 3
    top = shapely.Polygon(table.footprint())
    for thing in placed:
        assert thing.on == table.id and thing.position_m[2] == pytest.approx(table.size_m[2])
        assert top.covers(shapely.Polygon(thing.footprint()))
    for i, a in enumerate(placed):
        for b in placed[i + 1 :]:
            assert not shapely.Polygon(a.footprint()).intersects(shapely.Polygon(b.footprint()))


def test_names_count_up_and_tints_stay_small() -> None:
    names = Names()
    assert [names.new("coffee table"), names.new("coffee table"), names.new("sofa")] == [
        "coffee_table_0",
        "coffee_table_1",
        "sofa_0",
    ]
    room = furnisher(bare_room())
    tints = [room.tint() for _ in range(200)]
    assert all(0.85 <= v <= 1.15 for tint in tints for v in tint) and len(set(tints)) > 150


def test_boxes_overlap_with_a_gap() -> None:
    assert overlap((0, 0, 1, 1), (0.9, 0.9, 2, 2)) and not overlap((0, 0, 1, 1), (1, 0, 2, 1))
    assert overlap((0, 0, 1, 1), (1.04, 0, 2, 1), 0.05) and not overlap((0, 0, 1, 1), (1.06, 0, 2, 1), 0.05)


# With the furniture catalogue, where it is installed.


@pytest.mark.parametrize("kind, seed", [("home", 2), ("home", 9), ("office", 0), ("classroom", 0), ("restaurant", 0)])
def test_a_place_with_furniture_has_no_problems(catalogue: Catalogue, kind: str, seed: int) -> None:
    place = grow_place(kind, seed, "bench", catalogue)  # type: ignore[arg-type]
    assert check_place(place, catalogue) == []
    labels = Counter(t.label for t in place.objects if t.askable)
    assert sum(count == 1 for count in labels.values()) >= 8
    for thing in place.objects:
        if not thing.model.startswith("builtin/"):
            model = catalogue.model(thing.model)
            assert thing.size_m == model.size_m and thing.label == model.label


def test_nothing_stands_before_sockets_and_switches(catalogue: Catalogue) -> None:
    place = grow_place("office", 3, "bench", catalogue)
    assert sum(thing.label in ("socket", "switch") for thing in place.objects) >= 8
    assert hidden_behind(place) == []


def test_train_and_bench_share_no_models_where_a_label_has_two(catalogue: Catalogue) -> None:
    bench = {t.model for t in grow_place("home", 3, "bench", catalogue).objects}
    train = {t.model for t in grow_place("home", 3, "train", catalogue).objects}
    shared = [catalogue.model(m) for m in bench & train if not m.startswith("builtin/")]
    assert all(model.split == "both" for model in shared)
    assert bench - train and train - bench


def test_licences_are_kept_to(catalogue: Catalogue) -> None:
    place = grow_place("home", 6, "local", catalogue, GrowOptions(licences=("CC0-1.0",)))
    used = {catalogue.model(t.model).licence for t in place.objects if not t.model.startswith("builtin/")}
    assert used == {"CC0-1.0"}
    assert sum(t.askable for t in place.objects) >= 20
