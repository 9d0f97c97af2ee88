"""Spread and balance: over a whole set, not only within a place.

Places are made in processes of their own, so what a question is to look like follows from the set's seed and from the
question's number in the set alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from gst_ros.scenes.rng import rng

T = TypeVar("T")


class Deck:
    """An endless sequence in which every item comes equally often: shuffled block after shuffled block.

    Args:
        items: The items of a block.
        seed: Seed of the set.
        purpose: What the sequence is for; another purpose gives another sequence.
    """

    def __init__(self, items: Sequence[T], seed: int, *purpose: str) -> None:
        self._items: Sequence[object] = items
        self._seed, self._purpose = seed, purpose

    def order(self, block: int) -> list[int]:
        """The order of one block, as indices of its items."""
        random = rng(self._seed, "deck", *self._purpose, str(block))
        return [int(i) for i in random.permutation(len(self._items))]

    def index(self, number: int) -> int:
        """Index of the item at a place of the sequence."""
        block, rest = divmod(number, len(self._items))
        return self.order(block)[rest]


def choose(
    items: Sequence[T],
    bins: Sequence[int],
    wanted: Iterator[int],
    count: int,
    *,
    gap: Callable[[int, int], int],
    cost: Callable[[T], float],
    accept: Callable[[T], bool],
) -> int:
    """Choose items one by one, each as near as can be to the bin that is wanted next.

    Args:
        items: What there is to choose from; of equally good ones the first is taken.
        bins: The bin of each item.
        wanted: The bins wanted, one after the other.
        count: How many items to choose.
        gap: How far two bins lie apart.
        cost: What speaks against an item, given what was chosen so far; decides within a bin. Infinite: never.
        accept: Called with the item chosen; False puts it aside and chooses again.

    Returns:
        How many were accepted.
    """
    left = list(range(len(items)))
    chosen = 0
    while chosen < count:
        bin_wanted = next(wanted)
        while True:
            costs = {i: cost(items[i]) for i in left}
            possible = [i for i in left if costs[i] != float("inf")]
            if not possible:
                return chosen
            best = min(possible, key=lambda i: (gap(bins[i], bin_wanted), costs[i], i))
            left.remove(best)
            if accept(items[best]):
                chosen += 1
                break
    return chosen


def line_gap(a: int, b: int) -> int:
    """Distance of bins on a line."""
    return abs(a - b)


def circle_gap(count: int) -> Callable[[int, int], int]:
    """Distance of bins on a circle of ``count`` bins."""

    def gap(a: int, b: int) -> int:
        steps = (a - b) % count
        return min(steps, count - steps)

    return gap
