"""Every kind of mistake in a place is found and named."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from gst_ros.scenes.place import Opening, Place, PlacedObject, Room, Wall
from gst_ros.scenes.validity import check_place

DOOR = Opening("door", 1.1, 0.9, 0.0, 2.1, 1)


def thing(name: str, x: float, y: float, room: str = "a", **more: Any) -> PlacedObject:
    values: dict[str, Any] = {"position_m": (x, y, 0.0), "yaw_deg": 0.0, "size_m": (0.6, 0.8, 0.7)}
    return PlacedObject(name, "table", "builtin/table:1", room, **{**values, **more})


def good_place() -> Place:
    """Two furnished rooms with a door between them; a lamp on a table, a rug below it, a picture on a wall."""
    a = Room("a", "living", ((0, 0), (4, 0), (4, 3), (0, 3)), "planks:1", "plaster:1", 2.5)
    b = Room("b", "bedroom", ((4.2, 0), (8.2, 0), (8.2, 3), (4.2, 3)), "carpet:1", "plaster:1", 2.5)
    walls = (
        Wall("south", (-0.1, -0.1), (8.3, -0.1), 0.2, 2.5, "plaster:1", "brick:1", (Opening("window", 1, 1, 0.9, 2),)),
        Wall("north", (-0.1, 3.1), (8.3, 3.1), 0.2, 2.5, "brick:1", "plaster:1"),
        Wall("west", (-0.1, -0.1), (-0.1, 3.1), 0.2, 2.5, "brick:1", "plaster:1"),
        Wall("east", (8.3, -0.1), (8.3, 3.1), 0.2, 2.5, "plaster:1", "brick:1"),
        Wall("middle", (4.1, 0.0), (4.1, 3.0), 0.2, 2.5, "plaster:1", "plaster:1", (DOOR,)),
    )
    objects = (
        thing("table_0", 1.2, 1.0),
        thing("lamp_0", 1.2, 1.0, position_m=(1.2, 1.0, 0.7), size_m=(0.2, 0.2, 0.4), on="table_0", mount="object"),
        thing("rug_0", 1.2, 1.0, size_m=(1.5, 2.0, 0.012), blocks=False),
        thing("picture_0", 2.0, 2.98, position_m=(2.0, 2.98, 1.3), size_m=(0.03, 0.6, 0.5), yaw_deg=-90.0, mount="wall",
              blocks=False),
        thing("bed_0", 7.0, 1.5, "b", size_m=(2.0, 1.4, 0.9)),
    )  # fmt: skip
    return Place("test", "home", 1, "bench", (a, b), walls, objects)


def with_object(name: str, **changes: Any) -> Callable[[Place], Place]:
    def change(place: Place) -> Place:
        objects = tuple(dataclasses.replace(t, **changes) if t.id == name else t for t in place.objects)
        assert objects != place.objects
        return dataclasses.replace(place, objects=objects)

    return change


def with_wall(name: str, **changes: Any) -> Callable[[Place], Place]:
    def change(place: Place) -> Place:
        walls = tuple(dataclasses.replace(w, **changes) if w.id == name else w for w in place.walls)
        assert walls != place.walls
        return dataclasses.replace(place, walls=walls)

    return change


def with_room(name: str, **changes: Any) -> Callable[[Place], Place]:
    def change(place: Place) -> Place:
        rooms = tuple(dataclasses.replace(r, **changes) if r.id == name else r for r in place.rooms)
        return dataclasses.replace(place, rooms=rooms)

    return change


def without(name: str) -> Callable[[Place], Place]:
    return lambda place: dataclasses.replace(place, objects=tuple(t for t in place.objects if t.id != name))


def plus(*things: PlacedObject) -> Callable[[Place], Place]:
    return lambda place: dataclasses.replace(place, objects=(*place.objects, *things))


def opening(**changes: Any) -> Opening:
    return dataclasses.replace(DOOR, **changes)


def test_a_good_place_has_no_problems() -> None:
    assert check_place(good_place()) == []


@pytest.mark.parametrize(
    "break_it, message",
    [
        (plus(thing("table_0", 3.0, 0.5)), "object id 'table_0' occurs 2 times"),
        (with_wall("east", id="west"), "wall id 'west' occurs 2 times"),
        (with_object("bed_0", room="nowhere"), "unknown room 'nowhere'"),
        (with_object("bed_0", position_m=(float("nan"), 1.0, 0.0)), "is not a number"),
        (with_object("bed_0", size_m=(0.0, 1.0, 1.0)), "size is not positive"),
        (with_wall("west", end=(-0.1, -0.1)), "no length"),
        (with_wall("west", material_left="gold:1"), "unknown material 'gold:1'"),
        (with_room("a", floor="lava:1"), "unknown material 'lava:1'"),
        (with_wall("middle", openings=(opening(start_m=2.5),)), "reaches beyond the wall's ends"),
        (with_wall("middle", openings=(opening(head_m=2.7),)), "do not fit the wall"),
        (with_wall("middle", openings=(opening(), opening(start_m=1.5))), "openings overlap"),
        (with_room("a", outline=((0, 0), (4, 3), (4, 0), (0, 3))), "no simple polygon"),
        (with_room("a", outline=((0, 3), (4, 3), (4, 0), (0, 0))), "not counter-clockwise"),
        (with_room("a", outline=((0, 0), (4.5, 0), (4.5, 3), (0, 3))), "a and b overlap"),
        (with_room("a", outline=((0, 0), (4.1, 0), (4.1, 3), (0, 3))), "a: a wall stands inside its outline"),
        (without("bed_0"), "b: the room is empty"),
        (with_object("bed_0", position_m=(7.4, 1.5, 0.0)), "bed_0: it pokes out of b"),
        (with_object("bed_0", yaw_deg=45.0, size_m=(2.6, 1.8, 0.9)), "bed_0: it pokes out of b"),
        (with_object("bed_0", position_m=(7.0, 1.5, -0.2)), "sinks into the floor"),
        (with_object("bed_0", size_m=(2.0, 1.4, 2.6)), "pokes through the ceiling"),
        (with_object("bed_0", position_m=(7.0, 1.5, 0.2)), "floats 0.20 m above the floor"),
        (plus(thing("chair_0", 1.6, 1.3)), "table_0 and chair_0 are in each other"),
        (plus(thing("chair_0", 1.75, 1.5, yaw_deg=45.0)), "table_0 and chair_0 are in each other"),
        (plus(thing("rug_1", 1.6, 1.4, size_m=(1.0, 1.0, 0.012))), "rug_0 and rug_1 lie on each other"),
        (with_object("lamp_0", on=""), "no object is named"),
        (with_object("lamp_0", on="table_9"), "'table_9', which does not exist"),
        (with_object("lamp_0", position_m=(1.5, 1.0, 0.7)), "lamp_0: it reaches beyond table_0"),
        (with_object("lamp_0", position_m=(1.2, 1.0, 1.2)), "lamp_0: it does not rest on table_0"),
        (plus(thing("chest_0", 3.4, 1.55)), "chest_0: it stands in middle, opening 0 (door)"),
        (plus(thing("picture_1", 1.4, 0.02, position_m=(1.4, 0.02, 1.4), size_m=(0.03, 0.5, 0.4), yaw_deg=90.0,
                    mount="wall", blocks=False)), ""),
        (plus(thing("shelf_0", 3.5, 0.92, size_m=(0.3, 0.3, 1.5))), "the door leaf of middle, opening 0 is in it"),
        (with_wall("middle", openings=(opening(width_m=0.4),)), "cannot be reached by a walker"),
        (with_wall("middle", openings=()), "cannot be reached by a walker"),
        (with_object("bed_0", position_m=(5.25, 1.5, 0.0), size_m=(2.0, 2.9, 0.9)), "b: it cannot be reached"),
        (with_object("bed_0", model="builtin/throne:1"), "unknown model 'builtin/throne:1'"),
    ],
)  # fmt: skip
def test_a_mistake_is_found(break_it: Callable[[Place], Place], message: str) -> None:
    problems = check_place(break_it(good_place()))
    if not message:  # a picture in front of no opening is no mistake
        assert problems == []
    else:
        assert any(message in problem for problem in problems), problems


def test_a_picture_in_a_window_and_a_leaf_in_a_wall_are_found() -> None:
    before_window = thing("picture_1", 1.4, 0.0, position_m=(1.4, -0.05, 1.2), size_m=(0.03, 0.5, 0.4), yaw_deg=90.0,
                          mount="wall", blocks=False)  # fmt: skip
    assert any("opening 0 (window)" in line for line in check_place(plus(before_window)(good_place())))
    # Hinge at the end nearest to the north wall, and too near: the leaf turns into it.
    near = with_wall("middle", openings=(opening(start_m=2.05, style=2),))
    assert any("the door leaf of middle, opening 0 is in north" in line for line in check_place(near(good_place())))


def test_two_leaves_in_each_other_are_found() -> None:
    place = good_place()
    crossing = Wall("cross", (0.0, 1.0), (4.0, 1.0), 0.1, 2.5, "plaster:1", "plaster:1",
                    (Opening("door", 3.0, 0.85, 0.0, 2.0, 2),))  # fmt: skip
    problems = check_place(dataclasses.replace(place, walls=(*place.walls, crossing)))
    assert any("door leaves of" in line for line in problems)


def test_tolerated_contacts() -> None:
    """What touches, hangs above or stands on a rug is in order."""
    beside = thing("chest_0", 1.8, 1.0)  # touches the table's side
    above = thing("cupboard_0", 7.0, 2.8, "b", position_m=(7.0, 2.8, 1.4), size_m=(0.3, 0.6, 0.6), yaw_deg=-90.0,
                  mount="wall")  # fmt: skip
    assert check_place(plus(beside, above)(good_place())) == []
