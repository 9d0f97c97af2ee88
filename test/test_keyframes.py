"""The keyframe store: bounded, evenly spread, deterministic, addressed by time."""

from __future__ import annotations

import numpy as np
import pytest

from gst_ros.errors import ConfigError, MediaError
from gst_ros.media.images import decode_image
from gst_ros.memory.keyframes import KeyframeConfig, KeyframeStore

SECOND = 1_000_000_000


def noise(seed: int, width: int = 64, height: int = 48) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def small_store(limit_mb: float = 1.0, interval_s: float = 0.1, **more) -> KeyframeStore:
    return KeyframeStore(KeyframeConfig(keyframe_limit_mb=limit_mb, keyframe_interval_s=interval_s, **more))


def fill(store: KeyframeStore, stamps_ns, image=None) -> None:
    image = noise(0, 320, 240) if image is None else image
    for stamp_ns in stamps_ns:
        store.offer(stamp_ns, lambda: image)


def test_one_keyframe_in_each_interval():
    store = small_store(interval_s=0.5)
    fill(store, range(0, 5 * SECOND, SECOND // 10))
    assert [k.stamp_ns for k in store] == [i * SECOND // 2 for i in range(10)]


def test_images_are_asked_for_only_when_they_are_kept():
    store, asked = small_store(interval_s=1.0), []
    for stamp_ns in range(0, 3 * SECOND, SECOND // 100):
        store.offer(stamp_ns, lambda stamp_ns=stamp_ns: asked.append(stamp_ns) or noise(1))
    assert asked == [0, SECOND, 2 * SECOND]


def test_bytes_stay_bounded_however_long_the_clip():
    store = small_store(limit_mb=1.0)
    image, most = noise(0, 320, 240), 0
    for i in range(3000):
        store.offer(i * SECOND // 10, lambda: image)
        most = max(most, store.bytes_used)
        assert store.bytes_used == sum(len(k.jpeg) for k in store) <= store.bytes_limit
    assert most > 0.9 * store.bytes_limit  # the bound was really reached


def test_thinning_keeps_the_whole_clip_evenly_covered():
    store = small_store(limit_mb=1.0)
    end_ns = 3000 * SECOND // 10
    fill(store, range(0, end_ns, SECOND // 10), noise(0, 320, 240))
    stamps = [k.stamp_ns for k in store]
    gaps = np.diff(stamps)
    assert stamps[0] == 0
    assert set(gaps.tolist()) == {store.interval_ns}
    assert end_ns - stamps[-1] <= store.interval_ns
    assert store.interval_ns % (SECOND // 10) == 0 and store.interval_ns > SECOND // 10


def test_what_is_kept_is_the_first_frame_of_each_interval_even_at_a_variable_rate():
    rng = np.random.default_rng(3)
    stamps = np.cumsum(rng.integers(1, SECOND // 3, 2000)).tolist()
    store = small_store(limit_mb=1.0)
    fill(store, stamps, noise(0, 320, 240))
    first_of_cell: dict[int, int] = {}
    for stamp_ns in stamps:
        first_of_cell.setdefault((stamp_ns - stamps[0]) // store.interval_ns, stamp_ns)
    assert [k.stamp_ns for k in store] == list(first_of_cell.values())


def test_the_same_frames_give_the_same_keyframes():
    stores = [small_store(), small_store()]
    for store in stores:
        fill(store, range(0, 60 * SECOND, SECOND // 30))
    assert list(stores[0]) == list(stores[1])


def test_a_large_gap_and_epoch_stamps_do_no_harm():
    store = small_store(limit_mb=1.0)
    epoch = 1_700_000_000 * SECOND
    stamps = [epoch + i * SECOND // 10 for i in range(400)] + [epoch + 10**9 * SECOND]
    fill(store, stamps, noise(0, 320, 240))
    assert store[0].stamp_ns == epoch and store.bytes_used <= store.bytes_limit


def test_older_frames_are_not_kept():
    store = small_store()
    fill(store, [10 * SECOND, 5 * SECOND, 10 * SECOND])
    assert [k.stamp_ns for k in store] == [10 * SECOND]


def test_an_undecodable_image_leaves_its_place_to_the_next():
    store = small_store(interval_s=1.0)

    def broken():
        raise MediaError("cut off")

    with pytest.raises(MediaError):
        store.offer(0, broken)
    assert len(store) == 0
    assert store.offer(SECOND // 10, lambda: noise(0))
    assert [k.stamp_ns for k in store] == [SECOND // 10]


def test_thumbnails_are_scaled_down_but_never_up():
    store = small_store(keyframe_side_px=100)
    store.offer(0, lambda: noise(0, 400, 200))
    store.offer(SECOND, lambda: noise(0, 50, 80))
    assert store[0].image_rgb().shape == (50, 100, 3) and (store[0].width, store[0].height) == (400, 200)
    assert store[1].image_rgb().shape == (80, 50, 3)


def test_red_stays_red():
    red = np.zeros((40, 60, 3), np.uint8)
    red[..., 0] = 255
    store = small_store()
    store.offer(0, lambda: red)
    assert store[0].image_rgb()[20, 30].tolist() == pytest.approx([255, 0, 0], abs=6)
    assert decode_image(store[0].jpeg)[20, 30, 0] > 245


def test_an_image_larger_than_the_whole_limit_is_made_to_fit():
    store = small_store(limit_mb=1.0, keyframe_side_px=4000, keyframe_quality=100)
    store.offer(0, lambda: noise(0, 2000, 1500))
    assert 0 < store.bytes_used <= store.bytes_limit and len(store) == 1


def test_access_by_time_with_tolerance():
    store = small_store(interval_s=1.0)
    fill(store, [0, SECOND, 2 * SECOND])
    assert store.at(SECOND + 40_000_000, tolerance_ns=50_000_000).stamp_ns == SECOND
    assert store.nearest(SECOND // 2).stamp_ns == 0  # the earlier one of two
    assert store.nearest(99 * SECOND).stamp_ns == 2 * SECOND
    assert store.nearest(-5).stamp_ns == 0


def test_the_error_says_what_was_asked_and_what_was_found():
    store = small_store(interval_s=1.0)
    with pytest.raises(MediaError, match="holds none"):
        store.at(0, SECOND)
    fill(store, [0, SECOND, 2 * SECOND])
    with pytest.raises(MediaError, match=r"0\.05 s of 1\.400 s: the nearest is at 1\.000 s, of 3 keyframes") as caught:
        store.at(1_400_000_000, tolerance_ns=50_000_000)
    assert "keyframe_limit_mb" in str(caught.value)


def test_even_selection_includes_both_ends():
    store = small_store(interval_s=1.0)
    fill(store, range(0, 20 * SECOND, SECOND), noise(0))
    picked = [k.stamp_ns // SECOND for k in store.evenly(4)]
    assert picked == [0, 6, 13, 19]
    assert len(store.evenly(100)) == 20 and store.evenly(0) == []


def test_a_copy_does_not_follow_the_original():
    store = small_store(interval_s=1.0)
    fill(store, [0, SECOND])
    copy = store.copy()
    fill(store, [2 * SECOND])
    assert (len(copy), len(store)) == (2, 3) and copy.bytes_used < store.bytes_used
    fill(copy, [2 * SECOND])
    assert list(copy) == list(store)


@pytest.mark.parametrize(
    ("name", "value"), [("keyframe_limit_mb", 0.0), ("keyframe_interval_s", -1.0), ("keyframe_quality", 101)]
)
def test_settings_out_of_range_are_refused(name, value):
    with pytest.raises(ConfigError, match=name):
        KeyframeConfig(**{name: value})
