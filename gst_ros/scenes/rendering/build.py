"""A whole place as one mesh with instance ids."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gst_ros.scenes.catalogue import Catalogue
from gst_ros.scenes.place import Opening, Place, PlacedObject, Room, SceneError, Wall
from gst_ros.scenes.rendering.builtin import PREFIX, builtin_mesh
from gst_ros.scenes.rendering.materials import surface
from gst_ros.scenes.rendering.mesh import Mesh, SceneMesh, merge
from gst_ros.scenes.rendering.shapes import box, disc, plain, polygon
from gst_ros.scenes.rendering.structure import wall_frame, wall_pieces

CELL_M = 6.0
"""Floors and ceilings are cut into cells of this size, because a piece of geometry is lit by only a few lamps."""

STRUCTURE = "structure/"
OUTER_GROUND_M = 60.0


def build_scene_mesh(place: Place, catalogue: Catalogue | None = None) -> SceneMesh:
    """Triangles of everything in a place.

    Args:
        place: What to build.
        catalogue: Where its furniture models come from; None is enough for a place of built-in models.

    Raises:
        SceneError: A model or a material is unknown.
    """
    names: dict[int, str] = {}
    meshes: list[Mesh] = []
    ids: list[NDArray[np.uint16]] = []
    overhead: list[NDArray[np.bool_]] = []
    for name, mesh, is_overhead in _instances(place, catalogue):
        if not len(mesh.faces):
            continue
        number = len(names) + 1
        if number > np.iinfo(np.uint16).max:
            raise SceneError("the place has more than 65535 instances", file=place.name, remedy="make it smaller")
        names[number] = name
        meshes.append(mesh)
        ids.append(np.full(len(mesh.faces), number, np.uint16))
        overhead.append(np.full(len(mesh.faces), is_overhead))
    return SceneMesh(merge(meshes), np.concatenate(ids), names, np.concatenate(overhead))


def object_matrix(thing: PlacedObject) -> NDArray[np.float64]:
    """4 x 4 transform from the object's frame to ``map``."""
    c, s = math.cos(math.radians(thing.yaw_deg)), math.sin(math.radians(thing.yaw_deg))
    x, y, z = thing.position_m
    return np.array([[c, -s, 0.0, x], [s, c, 0.0, y], [0.0, 0.0, 1.0, z], [0.0, 0.0, 0.0, 1.0]])


def _instances(place: Place, catalogue: Catalogue | None) -> Iterator[tuple[str, Mesh, bool]]:
    """Name, mesh and whether a top-down picture leaves it out."""
    for room in place.rooms:
        yield from _room(room)
    for wall in place.walls:
        for name, mesh in wall_pieces(wall):
            yield f"{STRUCTURE}wall/{wall.id}/{name}", mesh, False
        yield from _thresholds(wall, place)
    for number, light in enumerate(place.lights):
        x, y, z = light.position_m
        glow = plain(1.0, 0.99, 0.95, emissive=1.0)
        yield f"{STRUCTURE}lamp/{number}", disc((x, y, z + 0.03), 0.16, glow, up=False), True
    for thing in place.objects:
        yield thing.id, object_mesh(thing, catalogue), thing.mount == "ceiling"
    yield from _outer_ground(place)


def object_mesh(thing: PlacedObject, catalogue: Catalogue | None) -> Mesh:
    """The triangles of one object where it stands, frame ``map``.

    Args:
        thing: The object.
        catalogue: Where its model comes from, unless it is built in.

    Raises:
        SceneError: Its model is unknown.
    """
    if thing.model.startswith(PREFIX):
        return builtin_mesh(thing.model, thing.size_m).transformed(object_matrix(thing), thing.tint)
    if catalogue is None:
        raise SceneError(f"'{thing.id}' needs a furniture catalogue", file=thing.model, remedy="give one")
    model = catalogue.model(thing.model)
    stretch = np.diag([*(a / b for a, b in zip(thing.size_m, model.size_m, strict=True)), 1.0])
    return catalogue.mesh(thing.model).transformed(object_matrix(thing) @ stretch, thing.tint)


def _room(room: Room) -> Iterator[tuple[str, Mesh, bool]]:
    for number, cell in enumerate(_cells(room.outline)):
        yield f"{STRUCTURE}floor/{room.id}/{number}", polygon(cell, 0.0, surface(room.floor)), False
        if not room.outdoor:
            kind = "panel_ceiling" if room.kind in _PANELLED else "ceiling"
            mesh = polygon(cell, room.ceiling_m, surface(kind), up=False)
            yield f"{STRUCTURE}ceiling/{room.id}/{number}", mesh, True
    if not room.outdoor:
        # The roof keeps the sun out where the ceiling alone would let it in along the walls.
        roof = polygon(_grown(room.outline), room.ceiling_m + 0.12, plain(0.4, 0.4, 0.4))
        yield f"{STRUCTURE}roof/{room.id}", roof, True


_PANELLED = ("office", "meeting", "corridor", "classroom", "restaurant")


def _grown(outline: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    import shapely

    grown = shapely.Polygon(outline).buffer(0.1, join_style="mitre")
    return [(x, y) for x, y in grown.exterior.coords[:-1]]


def _cells(outline: tuple[tuple[float, float], ...]) -> Iterator[list[tuple[float, float]]]:
    """The parts of a polygon that lie in the cells of a grid."""
    import shapely

    whole = shapely.Polygon(outline)
    x0, y0, x1, y1 = whole.bounds
    columns, rows = max(1, math.ceil((x1 - x0) / CELL_M)), max(1, math.ceil((y1 - y0) / CELL_M))
    xs, ys = np.linspace(x0, x1, columns + 1), np.linspace(y0, y1, rows + 1)
    for i in range(columns):
        for k in range(rows):
            part = whole.intersection(shapely.box(xs[i], ys[k], xs[i + 1], ys[k + 1]))
            for piece in getattr(part, "geoms", [part]):
                if piece.geom_type == "Polygon" and piece.area > 1e-6:
                    yield [(x, y) for x, y in piece.exterior.coords[:-1]]


def _thresholds(wall: Wall, place: Place) -> Iterator[tuple[str, Mesh, bool]]:
    """The floor under doors and passages, in the material of the room on the wall's left."""
    frame = wall_frame(wall)
    half = wall.thickness_m / 2
    for number, opening in enumerate(wall.openings):
        if opening.sill_m > 0.02:
            continue
        floor = surface(_floor_beside(wall, opening, place))
        strip = box(
            (opening.start_m, -half, -0.05), (opening.start_m + opening.width_m, half, 0.0), floor, bottom=False
        )
        yield f"{STRUCTURE}threshold/{wall.id}/{number}", strip.transformed(frame), False


def _floor_beside(wall: Wall, opening: Opening, place: Place) -> str:
    import shapely

    middle = opening.start_m + opening.width_m / 2
    sides = np.array([[middle, 0.3 + wall.thickness_m, 0, 1], [middle, -0.3 - wall.thickness_m, 0, 1]])
    for x, y, *_ in sides @ wall_frame(wall).T:
        for room in place.rooms:
            if not room.outdoor and shapely.Polygon(room.outline).contains(shapely.Point(x, y)):
                return room.floor
    return place.rooms[0].floor


def _outer_ground(place: Place) -> Iterator[tuple[str, Mesh, bool]]:
    """What windows look out on, just below the floors; a top-down picture leaves it out."""
    points = np.array([corner for room in place.rooms for corner in room.outline])
    (x0, y0), (x1, y1) = points.min(axis=0) - OUTER_GROUND_M, points.max(axis=0) + OUTER_GROUND_M
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    yield f"{STRUCTURE}ground", polygon(corners, -0.06, surface(f"grass:{place.seed % 50}")), True
