"""The demo's home and three others that serve as wrong choices."""

from __future__ import annotations

from drawn_demo.furniture import Item, Layout

HOME = Layout(
    size_m=(9.0, 7.0),
    # two doors from the living room (left) to the bedroom (top right) and the study (bottom right), one between them
    walls=(
        (5.0, 0.14, 5.14, 1.1),
        (5.0, 2.0, 5.14, 4.4),
        (5.0, 5.3, 5.14, 6.86),
        (5.14, 3.5, 5.8, 3.64),
        (6.7, 3.5, 8.86, 3.64),
    ),
    items=(
        Item("sofa", "sofa", (0.25, 2.3, 1.15, 4.3)),
        Item("coffee table", "table", (1.75, 2.8, 2.4, 3.8)),
        Item("living-room rug", "rug", (1.3, 2.0, 3.0, 4.6)),
        Item("dining table", "table", (1.3, 5.3, 2.7, 6.1)),
        Item("dining chair 1", "chair", (1.1, 6.2, 1.55, 6.65)),
        Item("dining chair 2", "chair", (2.3, 6.2, 2.75, 6.65)),
        Item("dining chair 3", "chair", (2.95, 5.5, 3.4, 5.95)),
        Item("plant", "plant", (4.3, 6.2, 4.8, 6.7)),
        Item("television", "television", (1.9, 0.2, 3.3, 0.65)),
        Item("cabinet", "cabinet", (3.7, 0.2, 4.7, 0.6)),
        Item("picture 1", "picture", (0.14, 2.7, 0.17, 3.9)),
        Item("picture 2", "picture", (4.97, 2.6, 5.0, 3.7)),
        Item("window 1", "window", (1.4, 6.83, 2.9, 6.86)),
        Item("window 2", "window", (0.14, 4.9, 0.17, 6.1)),
        Item("bed", "bed", (6.9, 4.5, 8.85, 6.1)),
        Item("wardrobe", "wardrobe", (5.4, 6.25, 7.0, 6.84)),
        Item("armchair", "armchair", (7.9, 3.75, 8.65, 4.4)),
        Item("window 3", "window", (7.3, 6.83, 8.5, 6.86)),
        Item("picture 3", "picture", (6.8, 3.64, 7.7, 3.67)),
        Item("desk", "table", (7.3, 0.25, 8.8, 0.95)),
        Item("desk chair", "chair", (7.8, 1.05, 8.25, 1.5)),
        Item("bookcase", "bookcase", (8.5, 1.8, 8.85, 3.2)),
        Item("chest", "chest", (5.3, 2.85, 6.1, 3.4)),
        Item("study rug", "rug", (6.0, 1.2, 7.4, 2.5)),
        Item("picture 4", "picture", (7.0, 3.47, 8.2, 3.5)),
        Item("window 4", "window", (5.8, 0.14, 7.0, 0.17)),
    ),
)
OTHER_HOMES = (
    Layout(
        size_m=(8.0, 6.4),
        walls=((0.14, 3.0, 2.0, 3.14), (2.9, 3.0, 7.86, 3.14), (4.0, 3.14, 4.14, 5.0), (4.0, 5.9, 4.14, 6.26)),
        items=(
            Item("counter", "counter", (0.2, 0.2, 3.6, 0.8)),
            Item("table", "table", (5.0, 1.0, 6.8, 2.0)),
            Item("bed", "bed", (5.6, 4.3, 7.8, 6.0)),
            Item("sofa", "sofa", (0.3, 3.6, 1.2, 5.8)),
            Item("chest", "chest", (2.4, 5.6, 3.6, 6.2)),
        ),
        floor="tiles",
    ),
    Layout(
        size_m=(9.6, 5.6),
        walls=((3.2, 0.14, 3.34, 2.2), (3.2, 3.1, 3.34, 5.46), (6.4, 0.14, 6.54, 3.6), (6.4, 4.5, 6.54, 5.46)),
        items=(
            Item("bed 1", "bed", (0.9, 0.3, 3.1, 1.9)),
            Item("wardrobe", "wardrobe", (0.2, 4.8, 2.2, 5.4)),
            Item("sofa", "sofa", (3.5, 2.0, 4.3, 3.8)),
            Item("rug", "rug", (4.4, 1.8, 6.0, 4.0)),
            Item("counter", "counter", (6.8, 0.2, 9.4, 0.8)),
            Item("table", "table", (7.4, 3.4, 8.8, 4.6)),
        ),
    ),
    Layout(
        size_m=(7.0, 7.0),
        walls=((2.4, 2.4, 2.54, 6.86), (2.54, 2.4, 3.6, 2.54), (4.6, 2.4, 6.86, 2.54)),
        items=(
            Item("sofa", "sofa", (5.0, 0.3, 6.7, 1.2)),
            Item("bookcase", "bookcase", (0.2, 0.4, 0.6, 2.2)),
            Item("bed", "bed", (4.6, 5.0, 6.8, 6.7)),
            Item("desk", "table", (0.3, 5.9, 1.9, 6.7)),
            Item("plant", "plant", (2.7, 6.2, 3.2, 6.7)),
        ),
        floor="tiles",
    ),
)
