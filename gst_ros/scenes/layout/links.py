"""Which rooms are joined: every room can be reached, nobody walks through a bathroom, and loops occur."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gst_ros.scenes.layout.drafts import Draft, Segment, outer, shared
from gst_ros.scenes.layout.partition import cramped
from gst_ros.scenes.layout.programmes import RULES

DOOR_SPAN_DM = 13
"""A stretch of boundary this long takes a door with its frame and corners."""
OPEN_SPAN_DM = 22
IMPOSSIBLE = 1e6

# What it costs to join two kinds by the only way in: low for what people build. Order within a pair is alphabetical.
_COSTS: dict[tuple[str, str], float] = {
    ("dining", "kitchen"): 0.2,
    ("dining", "living"): 0.3,
    ("kitchen", "living"): 0.5,
    ("hall", "living"): 0.1,
    ("bedroom", "hall"): 0.1,
    ("bathroom", "hall"): 0.1,
    ("hall", "kitchen"): 0.3,
    ("dining", "hall"): 0.4,
    ("bedroom", "living"): 1.2,
    ("bathroom", "living"): 1.8,
    ("bathroom", "studio"): 0.1,
    ("living", "study"): 0.6,
    ("bathroom", "bedroom"): 3.0,
    ("bathroom", "kitchen"): 5.0,
    ("bedroom", "kitchen"): 6.0,
    ("bedroom", "dining"): 3.0,
    ("bathroom", "dining"): 3.5,
    ("living", "wc"): 2.5,
    ("kitchen", "wc"): 4.0,
    ("kitchen", "storage"): 0.3,
    ("kitchen", "restaurant"): 0.1,
    ("restaurant", "wc"): 0.4,
    ("kitchen", "study"): 4.0,
    ("bedroom", "study"): 2.5,
}


@dataclass(frozen=True)
class Link:
    """Two rooms, by index, that are joined across a stretch of boundary."""

    a: int
    b: int
    wide: bool
    segment: Segment


def cost(a: str, b: str) -> float:
    """Reluctance to join two kinds of room."""
    pair = (a, b) if a <= b else (b, a)
    if "corridor" in pair or "hall" in pair:
        return _COSTS.get(pair, 0.2)
    return _COSTS.get(pair, 4.0 if RULES[a].core or RULES[b].core else 8.0)


def linked(rooms: list[Draft], random: np.random.Generator, *, open_plan: float) -> tuple[list[Link], float]:
    """Join all rooms.

    Args:
        rooms: The rooms; indices in the result refer to them.
        random: Source of randomness for what is optional.
        open_plan: Chance that living, dining and cooking are joined by a wide opening instead of a door.

    Returns:
        The links, and what they cost (``IMPOSSIBLE`` or more when a room is cut off).
    """
    spans = {}
    for a in range(len(rooms)):
        for b in range(a + 1, len(rooms)):
            found = shared(rooms[a], rooms[b])
            if found and found[0].length >= DOOR_SPAN_DM:
                spans[a, b] = found[0]
    core = [i for i, room in enumerate(rooms) if RULES[room.kind].core]
    chosen, total = _tree(rooms, spans, core)
    for i in (k for k in range(len(rooms)) if k not in core):
        best = min(_ways_in(rooms, spans, i, chosen), default=None)
        if best is None:
            return [], IMPOSSIBLE
        total += best[0]
        chosen.append(best[1])
    for pair in sorted(set(spans) - set(chosen)):
        kinds = [rooms[i].kind for i in pair]
        both_core = all(RULES[kind].core for kind in kinds)
        en_suite = sorted(kinds) == ["bathroom", "bedroom"]
        if (both_core and cost(*kinds) <= 1.0 and random.random() < 0.5) or (en_suite and random.random() < 0.15):
            chosen.append(pair)
    links = []
    for pair in chosen:
        social = all(rooms[i].kind in ("living", "dining", "kitchen") for i in pair)
        roomy = spans[pair].length >= OPEN_SPAN_DM
        links.append(Link(*pair, bool(social and roomy and random.random() < open_plan), spans[pair]))
    return links, total


def _tree(
    rooms: list[Draft], spans: dict[tuple[int, int], Segment], core: list[int]
) -> tuple[list[tuple[int, int]], float]:
    """Cheapest tree over the rooms that people pass through (Kruskal)."""
    group = {i: i for i in core}
    chosen, total = [], 0.0
    pairs = [pair for pair in spans if pair[0] in group and pair[1] in group]
    for a, b in sorted(pairs, key=lambda p: (cost(rooms[p[0]].kind, rooms[p[1]].kind), p)):
        if group[a] != group[b]:
            old, new = group[b], group[a]
            group = {i: new if g == old else g for i, g in group.items()}
            chosen.append((a, b))
            total += cost(rooms[a].kind, rooms[b].kind)
    if len(set(group.values())) > 1:
        total += IMPOSSIBLE
    return chosen, total


def _ways_in(
    rooms: list[Draft], spans: dict[tuple[int, int], Segment], index: int, chosen: list[tuple[int, int]]
) -> list[tuple[float, tuple[int, int]]]:
    """How a private room can be entered: from rooms people pass through, or a second bathroom from a bedroom."""
    kind = rooms[index].kind
    ways = []
    for pair in spans:
        if index not in pair:
            continue
        other = pair[0] if pair[1] == index else pair[1]
        other_kind = rooms[other].kind
        second = kind == "bathroom" and any(r.kind == "bathroom" for k, r in enumerate(rooms) if k != index)
        reached = any(other in done for done in chosen)
        if RULES[other_kind].core or (second and other_kind == "bedroom" and reached):
            ways.append((cost(kind, other_kind), pair))
    return ways


def drawbacks(rooms: list[Draft]) -> float:
    """What speaks against a draft apart from its links: cramped rooms, rooms without an outer wall."""
    total = sum(cramped(room) for room in rooms)
    for i, room in enumerate(rooms):
        if RULES[room.kind].window and outer(rooms, i) < 18:
            total += 4.0
    if all(outer(rooms, i) < 14 for i, room in enumerate(rooms) if RULES[room.kind].core):
        total += IMPOSSIBLE  # nowhere for the front door
    return total
