"""Putting one thing against a wall, into a corner, on another thing, on a wall."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gst_ros.scenes.furnishing.models import ModelPool, Mount, Piece
from gst_ros.scenes.furnishing.space import FLAT_M, TALL_M, Box, Edge, Space, bounding, centred
from gst_ros.scenes.place import PlacedObject

WALL_GAP_M = 0.02
"""Furniture stands this far from the wall, clear of the skirting."""
HANG_GAP_M = 0.003
STEP_M = 0.12
IN_FRONT_M = 0.12
"""What stands at a wall is nearer to it than this."""
THIN_M = 0.12
"""What hangs on a wall and is thinner than this is in nobody's way."""
TRIES = 5
Tint = tuple[float, float, float]


class Names:
    """Object ids that are unique within the place: ``armchair_0``, ``armchair_1``, ..."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def new(self, label: str) -> str:
        """The next id of a label."""
        number = self._counts.get(label, 0)
        self._counts[label] = number + 1
        return f"{label.replace(' ', '_')}_{number}"

    def used(self, label: str) -> int:
        """How many things of a label there are."""
        return self._counts.get(label, 0)


@dataclass
class Furnisher:
    """Furnishes one room.

    Attributes:
        space: The room.
        pool: Models that may be used.
        random: Source of randomness of this room.
        names: Ids of the whole place.
        clutter: How full the room gets; 1 is middling.
        objects: What has been placed.
        tops: Height of the flat top of things that have one, by id.
        lamps: Where the ceiling's lights are.
    """

    space: Space
    pool: ModelPool
    random: np.random.Generator
    names: Names
    clutter: float = 1.0
    objects: list[PlacedObject] = field(default_factory=list)
    tops: dict[str, float] = field(default_factory=dict)
    lamps: tuple[tuple[float, float], ...] = ()

    def put(
        self,
        piece: Piece,
        x: float,
        y: float,
        yaw_deg: float,
        *,
        z: float = 0.0,
        on: str = "",
        mount: Mount = "floor",
        zones: Sequence[Box] = (),
        tint: Tint | None = None,
    ) -> PlacedObject:
        """Place a thing without further checks, and remember it."""
        low = piece.size_m[2] <= FLAT_M and mount == "floor"
        thin = mount == "wall" and piece.size_m[0] < THIN_M
        thing = PlacedObject(
            id=self.names.new(piece.label),
            label=piece.label,
            model=piece.model,
            room=self.space.room.id,
            position_m=(round(x, 4), round(y, 4), round(z, 4)),
            yaw_deg=round((yaw_deg + 180.0) % 360.0 - 180.0, 2),
            size_m=piece.size_m,
            on=on,
            mount=mount,
            blocks=not (low or thin or on or mount == "ceiling"),
            tint=tint or self.tint(),
            askable=self.pool.askable(piece.label),
        )
        self.objects.append(thing)
        self.pool.note(piece.model)
        if piece.top_m is not None:
            self.tops[thing.id] = piece.top_m
        self.space.add(bounding(thing.footprint()), z, z + piece.size_m[2], thing.id, zones)
        return thing

    def tint(self) -> Tint:
        """A slight change of brightness and hue, at most 15 %, so that look-alikes differ."""
        value = 1.0 + np.clip(self.random.normal(0.0, 0.05), -0.11, 0.11)
        hue = np.clip(self.random.normal(0.0, 0.015, 3), -0.035, 0.035)
        r, g, b = (round(float(v), 3) for v in value + hue)
        return (r, g, b)

    def against(
        self,
        pieces: Sequence[Piece],
        *,
        front_m: float = 0.5,
        side_m: float = 0.0,
        prefer: str = "",
        edges: Sequence[Edge] | None = None,
        accept: Callable[[Piece, Edge, float], bool] | None = None,
    ) -> PlacedObject | None:
        """Put the first of some models that fits with its back against a wall.

        Args:
            pieces: Models in order of preference.
            front_m: Floor kept clear in front of it.
            side_m: Floor kept clear on both of its sides.
            prefer: ``corner``, ``middle`` or nothing in particular.
            edges: Sides of the room that come into question; by default all.
            accept: A further condition on model, side and station.
        """
        for piece in pieces:
            for edge, along in self.spots(piece, prefer, edges):
                if accept and not accept(piece, edge, along):
                    continue
                found = self._at_wall(piece, edge, along, front_m, side_m)
                if found:
                    return found
        return None

    def spots(self, piece: Piece, prefer: str = "", edges: Sequence[Edge] | None = None) -> list[tuple[Edge, float]]:
        """Where along the walls a thing could stand as far as corners and openings go, best first."""
        _depth, width, _height = piece.size_m
        scored = []
        for edge in edges if edges is not None else self.space.edges:
            low, high = width / 2 + WALL_GAP_M, edge.length_m - width / 2 - WALL_GAP_M
            if high < low:
                continue
            stations = [low, high, (low + high) / 2, *np.arange(low + STEP_M, high, STEP_M)]
            for number, station in enumerate(stations):
                along = float(station)
                if not self.wall_free(edge, along, piece, piece.elevation_m):
                    continue
                bonus = {"corner": 1.0 if number < 2 else 0.0, "middle": 1.0 if number == 2 else 0.0}.get(prefer, 0.0)
                hug = 0.3 if number < 2 else 0.0
                scored.append((bonus + hug + float(self.random.random()), edge, along))
        scored.sort(key=lambda item: -item[0])
        return [(edge, along) for _, edge, along in scored]

    def wall_free(self, edge: Edge, along: float, piece: Piece, z: float) -> bool:
        """Whether no opening is behind a thing; low things may stand under and before windows."""
        half, top = piece.size_m[1] / 2, z + piece.size_m[2]
        for hole in edge.holes:
            if along + half + 0.08 <= hole.low_m or along - half - 0.08 >= hole.high_m:
                continue
            if hole.kind == "window" and z == 0.0 and top <= TALL_M:
                continue
            if z < hole.head_m + 0.08 and top > hole.sill_m - 0.06:
                return False
        return True

    def _at_wall(self, piece: Piece, edge: Edge, along: float, front_m: float, side_m: float) -> PlacedObject | None:
        depth, width, height = piece.size_m
        near = HANG_GAP_M if piece.elevation_m > 0 else WALL_GAP_M
        far = near + depth
        box = edge.box(along - width / 2, along + width / 2, near, far)
        zones = []
        if front_m > 0:
            zones.append(edge.box(along - width / 2, along + width / 2, far, far + front_m))
        if side_m > 0:
            zones.append(edge.box(along - width / 2 - side_m, along - width / 2, near, far))
            zones.append(edge.box(along + width / 2, along + width / 2 + side_m, near, far))
        low = piece.elevation_m
        if not self.space.fits(box, low, low + height, zones=zones) or not self.space.connected([box]):
            return None
        x, y = edge.point(along, near + depth / 2)
        return self.put(piece, x, y, edge.yaw_deg, z=low, mount="wall" if low > 0 else "floor", zones=zones)

    def hang(
        self,
        piece: Piece,
        z: float,
        *,
        edges: Sequence[Edge] | None = None,
        along_m: float | None = None,
        margin_m: float = 0.03,
    ) -> PlacedObject | None:
        """Hang a thing on a wall at a height, where nothing is in front of or behind it."""
        depth, width, height = piece.size_m
        lifted = Piece(piece.model, piece.label, piece.size_m, piece.top_m, z)
        if along_m is None:
            spots = self.spots(lifted, "", edges)[:60]
        else:
            spots = [
                (edge, along_m)
                for edge in edges or ()
                if width / 2 <= along_m <= edge.length_m - width / 2 and self.wall_free(edge, along_m, lifted, z)
            ]
        for edge, along in spots:
            thin = depth < THIN_M
            # A socket would fit behind a cupboard, where nobody sees it.
            reach = max(depth, IN_FRONT_M - margin_m) if thin else depth
            box = edge.box(along - width / 2, along + width / 2, HANG_GAP_M, HANG_GAP_M + reach)
            if not self.space.fits(box, z - margin_m, z + height + margin_m, gap_m=margin_m, flat=thin):
                continue
            if not thin and z < 1.9 and not self.space.connected([box]):
                continue
            x, y = edge.point(along, HANG_GAP_M + depth / 2)
            return self.put(lifted, x, y, edge.yaw_deg, z=z, mount="wall")
        return None

    def on_top(
        self,
        carrier: PlacedObject,
        piece: Piece,
        *,
        where: str = "",
        turn_deg: float = 0.0,
        jitter_deg: float = 12.0,
    ) -> PlacedObject | None:
        """Put a thing on another.

        Args:
            carrier: What it stands on.
            piece: The thing.
            where: ``front``, ``back``, ``centre`` of the carrier's top, or anywhere.
            turn_deg: Its direction relative to the carrier's front.
            jitter_deg: How far the direction may stray.
        """
        top = self.tops.get(carrier.id)
        if top is None:
            return None
        z = carrier.position_m[2] + top
        c, s = math.cos(math.radians(carrier.yaw_deg)), math.sin(math.radians(carrier.yaw_deg))
        for _ in range(8):
            turn = turn_deg + float(self.random.uniform(-jitter_deg, jitter_deg))
            a = math.radians(turn)
            depth = abs(piece.size_m[0] * math.cos(a)) + abs(piece.size_m[1] * math.sin(a))
            width = abs(piece.size_m[0] * math.sin(a)) + abs(piece.size_m[1] * math.cos(a))
            room_d = carrier.size_m[0] / 2 - depth / 2 - 0.02
            room_w = carrier.size_m[1] / 2 - width / 2 - 0.02
            if room_d < 0 or room_w < 0:
                continue
            low, high = {"front": (0.3, 1.0), "back": (-1.0, -0.5), "centre": (-0.15, 0.15)}.get(where, (-1.0, 1.0))
            forward = room_d * float(self.random.uniform(low, high))
            side = room_w * (
                float(self.random.uniform(-0.15, 0.15)) if where == "centre" else float(self.random.uniform(-1, 1))
            )
            x = carrier.position_m[0] + c * forward - s * side
            y = carrier.position_m[1] + s * forward + c * side
            yaw = carrier.yaw_deg + turn
            box = _turned_box(x, y, piece.size_m, yaw)
            if self.space.fits(box, z + 1e-3, z + piece.size_m[2], gap_m=0.01, carrier=carrier.id, flat=True):
                return self.put(piece, x, y, yaw, z=z, on=carrier.id, mount="object")
        return None

    def floor_spot(
        self, piece: Piece, x: float, y: float, yaw_deg: float, *, gap_m: float = 0.03, zones: Sequence[Box] = ()
    ) -> Box | None:
        """The box of a thing at a place on the floor when it fits there, else None."""
        box = _turned_box(x, y, piece.size_m, yaw_deg)
        return box if self.space.fits(box, 0.0, piece.size_m[2], gap_m=gap_m, zones=zones) else None


def _turned_box(x: float, y: float, size_m: tuple[float, float, float], yaw_deg: float) -> Box:
    """The upright box around a turned footprint."""
    c, s = abs(math.cos(math.radians(yaw_deg))), abs(math.sin(math.radians(yaw_deg)))
    return centred(x, y, size_m[0] * c + size_m[1] * s, size_m[0] * s + size_m[1] * c)
