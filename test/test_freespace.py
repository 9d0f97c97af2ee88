"""Where a walker can be, on places drawn by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from gst_ros.scenes.freespace import FreeSpace
from gst_ros.scenes.place import Opening, Place, PlacedObject, Room, SceneError, Wall


def box_object(name: str, x: float, y: float, size: tuple[float, float, float], **more: object) -> PlacedObject:
    return PlacedObject(name, "box", "builtin/crate:1", "a", (x, y, 0.0), 0.0, size, **more)  # type: ignore[arg-type]


def two_rooms(door: Opening | None, *objects: PlacedObject) -> Place:
    """Two rooms of 4 m x 3 m side by side, 0.2 m of wall between them."""
    a = Room("a", "living", ((0, 0), (4, 0), (4, 3), (0, 3)), "planks:1", "plaster:1", 2.5)
    b = Room("b", "living", ((4.2, 0), (8.2, 0), (8.2, 3), (4.2, 3)), "planks:1", "plaster:1", 2.5)
    middle = Wall("m", (4.1, -0.1), (4.1, 3.1), 0.2, 2.5, "plaster:1", "plaster:1", (door,) if door else ())
    return Place("test", "home", 1, "bench", (a, b), (middle,), tuple(objects))


DOOR = Opening("door", 1.1, 0.9, 0.0, 2.1)


def test_free_area_is_the_room_less_the_radius() -> None:
    for radius in (0.0, 0.25, 0.4):
        space = FreeSpace(two_rooms(None), radius)
        expected = 2 * (4 - 2 * radius) * (3 - 2 * radius)
        assert float(space.free.sum()) * space.resolution_m**2 == pytest.approx(expected, rel=0.04)
        assert space.components == 2


def test_a_door_joins_and_a_window_or_a_narrow_door_does_not() -> None:
    assert FreeSpace(two_rooms(DOOR)).components == 1
    assert FreeSpace(two_rooms(dataclasses.replace(DOOR, kind="passage"))).components == 1
    assert FreeSpace(two_rooms(dataclasses.replace(DOOR, kind="window", sill_m=0.9))).components == 2
    assert FreeSpace(two_rooms(dataclasses.replace(DOOR, kind="french_window"))).components == 2
    assert FreeSpace(two_rooms(dataclasses.replace(DOOR, width_m=0.4))).components == 2
    assert FreeSpace(two_rooms(dataclasses.replace(DOOR, width_m=0.4)), radius_m=0.1).components == 1


def test_the_leaf_of_a_door_is_in_the_way() -> None:
    # Hinge at the wall's start, opening to the left, which is room a: the leaf stands at y = 1.0 or a little less.
    space = FreeSpace(two_rooms(dataclasses.replace(DOOR, style=1)))
    leaf_point = (3.6, 0.98)
    assert not space.contains(leaf_point)
    assert FreeSpace(two_rooms(DOOR)).contains(leaf_point)
    assert space.components == 1


@pytest.mark.parametrize(
    "more, blocked",
    [
        ({}, True),
        ({"blocks": False}, False),
        ({"mount": "ceiling"}, False),
        ({"on": "other"}, False),
        ({"mount": "wall", "position_m": (2.0, 1.5, 2.0)}, False),
        ({"mount": "wall", "position_m": (2.0, 1.5, 1.2)}, True),
    ],
)
def test_what_stands_in_the_way(more: dict[str, object], blocked: bool) -> None:
    thing = dataclasses.replace(box_object("box", 2.0, 1.5, (0.6, 0.6, 0.5)), **more)  # type: ignore[arg-type]
    space = FreeSpace(two_rooms(DOOR, thing))
    assert space.contains((2.0, 1.5)) is not blocked
    assert space.contains((2.0 + 0.3 + 0.2, 1.5)) is not blocked
    assert space.contains((2.0 + 0.3 + 0.3, 1.5))


def test_a_turned_object_takes_its_turned_footprint() -> None:
    thing = dataclasses.replace(box_object("box", 2.0, 1.5, (2.0, 0.2, 0.5)), yaw_deg=90.0)
    space = FreeSpace(two_rooms(DOOR, thing), radius_m=0.1)
    assert not space.contains((2.0, 2.3)) and space.contains((2.9, 1.5))


def test_cells_and_points_are_each_others_inverse() -> None:
    space = FreeSpace(two_rooms(DOOR))
    for cell in ((0, 0), (17, 40), (space.rows - 1, space.columns - 1)):
        assert space.to_cell(space.to_point(cell)) == cell
    low, high = space.to_point((10, 10)), space.to_point((20, 10))
    assert high[1] > low[1] and high[0] == low[0]


def test_outside_belongs_to_no_part() -> None:
    space = FreeSpace(two_rooms(DOOR))
    assert space.component_of((-3.0, 1.0)) == 0 and space.component_of((1e6, 1e6)) == 0
    assert space.component_of((4.1, 2.6)) == 0  # inside the wall


def test_nearest_free_point() -> None:
    space = FreeSpace(two_rooms(None))
    x, y = space.nearest((0.0, 1.5))
    assert x == pytest.approx(0.25, abs=0.06) and y == pytest.approx(1.5, abs=0.06)
    right = space.component_of((6.0, 1.5))
    x, _ = space.nearest((0.0, 1.5), component=right)
    assert x == pytest.approx(4.45, abs=0.06)
    with pytest.raises(SceneError, match="no free floor"):
        FreeSpace(two_rooms(None), radius_m=2.0).nearest((0.0, 0.0))


def test_distances_go_through_the_door() -> None:
    space = FreeSpace(two_rooms(DOOR))
    lengths = space.distances_from((2.0, 1.45))
    across = lengths[space.to_cell((6.2, 1.45))]
    assert across == pytest.approx(4.2, rel=0.02)
    # Round the door's jamb: longer than straight through the wall, by at most 8 % more than the shortest way.
    around = lengths[space.to_cell((6.2, 2.7))]
    assert math.hypot(4.2, 1.25) - 0.05 < around < 1.09 * (2.0 + math.hypot(2.2, 1.25))
    assert np.isinf(FreeSpace(two_rooms(None)).distances_from((2.0, 1.5))[space.to_cell((6.2, 1.5))])
    assert np.isinf(space.distances_from((-2.0, 0.0))).all()


def test_bad_sizes_are_refused() -> None:
    for radius, resolution in ((-0.1, 0.05), (0.2, 0.0)):
        with pytest.raises(SceneError, match="must be positive"):
            FreeSpace(two_rooms(None), radius, resolution)
