"""Histograms side by side as an SVG picture: the figure of scene_statistics.py."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass

COLUMNS = 4
WIDTH, HEIGHT = 236, 150
LEFT, TOP, RIGHT, BOTTOM = 10, 26, 10, 24
BAR, TEXT, LINE = "#4a7fb5", "#222", "#999"
SVG = "http://www.w3.org/2000/svg"


@dataclass(frozen=True)
class Histogram:
    """Counts in bins.

    Attributes:
        title: What was counted, with its unit.
        counts: One number for each bin.
        labels: What stands below: one text for each bin, or one for each edge, some of them empty.
    """

    title: str
    counts: Sequence[int]
    labels: Sequence[str]


def draw(histograms: Sequence[Histogram]) -> str:
    """An SVG picture of histograms, four to a row."""
    rows = -(-len(histograms) // COLUMNS)
    size = {"width": str(COLUMNS * WIDTH), "height": str(rows * HEIGHT)}
    root = ElementTree.Element("svg", {"xmlns": SVG, **size, "font-family": "sans-serif", "font-size": "11"})
    ElementTree.SubElement(root, "rect", {**size, "fill": "white"})
    for k, histogram in enumerate(histograms):
        left, top = k % COLUMNS * WIDTH, k // COLUMNS * HEIGHT
        _draw_one(ElementTree.SubElement(root, "g", {"transform": f"translate({left} {top})"}), histogram)
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _draw_one(group: ElementTree.Element, histogram: Histogram) -> None:
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    bar, most = wide / len(histogram.counts), max(1, *histogram.counts)
    _text(group, WIDTH / 2, 16, histogram.title, "bold")
    for k, count in enumerate(histogram.counts):
        height = high * count / most
        place = {"x": f"{LEFT + k * bar + 0.5:.1f}", "y": f"{TOP + high - height:.1f}"}
        size = {"width": f"{bar - 1:.1f}", "height": f"{height:.1f}"}
        ElementTree.SubElement(
            ElementTree.SubElement(group, "rect", {**place, **size, "fill": BAR}), "title"
        ).text = str(count)
    axis = {"x1": str(LEFT), "x2": str(WIDTH - RIGHT), "y1": str(TOP + high), "y2": str(TOP + high), "stroke": LINE}
    ElementTree.SubElement(group, "line", axis)
    on_edges = len(histogram.labels) == len(histogram.counts) + 1
    for k, label in enumerate(histogram.labels):
        _text(group, LEFT + (k if on_edges else k + 0.5) * bar, HEIGHT - 9, label)


def _text(group: ElementTree.Element, x: float, y: float, text: str, weight: str = "normal") -> None:
    if text:
        where = {"x": f"{x:.1f}", "y": f"{y:g}", "text-anchor": "middle", "font-weight": weight, "fill": TEXT}
        ElementTree.SubElement(group, "text", where).text = text
