"""Stamps are strictly increasing whatever the container says, and unchanged where it is right."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gst_ros.media.stamps import StampSequence, pts_to_ns

S = 1_000_000_000


def stamps_of(times_ns: list[int | None], interval_ns: int = S // 10) -> tuple[list[int], StampSequence[int]]:
    sequence: StampSequence[int] = StampSequence(interval_ns)
    out = [pair for i, pts in enumerate(times_ns) for pair in sequence.push(pts, i)]
    out += sequence.flush()
    assert [item for _, item in out] == list(range(len(times_ns))), "every frame once, in order"
    return [stamp for stamp, _ in out], sequence


def test_time_base_to_nanoseconds_is_exact():
    assert pts_to_ns(1024, Fraction(1, 10240)) == 100_000_000
    assert pts_to_ns(3, Fraction(1, 3)) == S
    assert pts_to_ns(1, Fraction(1, 3)) == 333_333_333
    assert pts_to_ns(1, Fraction(1001, 30000)) == 33_366_667
    assert pts_to_ns(2**40, Fraction(1, 90000)) == 12_216_795_864_177_778  # beyond what a float holds exactly
    assert pts_to_ns(-1, Fraction(1, 1000)) == -1_000_000


def test_good_times_are_kept_as_they_are():
    stamps, sequence = stamps_of([5, 7, 1000, 1001, S])
    assert stamps == [5, 7, 1000, 1001, S]
    assert (sequence.estimated, sequence.shift_ns) == (0, 0)


def test_a_negative_start_is_shifted_to_zero_as_a_whole():
    stamps, sequence = stamps_of([-3 * S, -2 * S, S])
    assert stamps == [0, S, 4 * S]
    assert sequence.estimated == 0


def test_a_positive_start_stays():
    assert stamps_of([7 * S, 8 * S])[0] == [7 * S, 8 * S]


def test_missing_times_are_placed_between_their_neighbours_and_counted():
    stamps, sequence = stamps_of([0, None, None, 3 * S])
    assert stamps == [0, S, 2 * S, 3 * S]
    assert sequence.estimated == 2


def test_missing_times_at_the_start_and_the_end():
    assert stamps_of([None, None, 0, S // 10])[0] == [0, S // 10, 2 * S // 10, 3 * S // 10]
    assert stamps_of([None, S])[0] == [9 * S // 10, S]
    assert stamps_of([0, None])[0] == [0, S // 10]


def test_a_duplicate_time_gets_a_stamp_of_its_own():
    stamps, sequence = stamps_of([0, S, S, 2 * S])
    assert stamps == [0, S, S + S // 2, 2 * S]
    assert sequence.estimated == 1


def test_decode_order_times_lose_no_frame():
    # As AVI gives them for B-frames.
    stamps, _ = stamps_of([1 * S, 2 * S, 4 * S, 3 * S, 6 * S, 5 * S, 8 * S])
    assert stamps == [1 * S, 2 * S, 4 * S, 5 * S, 6 * S, 7 * S, 8 * S]


def test_no_times_at_all_means_the_nominal_rate():
    assert stamps_of([None] * 20)[0] == [i * S // 10 for i in range(20)]


def test_a_clock_that_starts_again_goes_on():
    first = [i * S for i in range(100, 105)]
    again = [i * S for i in range(30)]
    stamps, sequence = stamps_of([*first, *again], interval_ns=S)
    assert sequence.restarted
    assert stamps[:5] == first
    assert stamps[5:] == [i * S for i in range(105, 135)]


@given(st.lists(st.one_of(st.none(), st.integers(-(10**12), 10**15)), max_size=60))
def test_any_times_give_strictly_increasing_stamps_from_zero_on(times: list[int | None]):
    stamps, _ = stamps_of(times)
    assert all(b > a for a, b in itertools.pairwise(stamps))
    assert not stamps or stamps[0] >= 0


def test_interval_must_be_positive():
    with pytest.raises(ValueError, match="interval_ns"):
        StampSequence(0)
