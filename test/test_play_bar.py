"""The progress bar of a playback."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed; scripts/setup.sh installs it")

from gst_ros.media.playback import State
from gst_ros.media.player import PlayerReport
from gst_ros.nodes.play_bar import PlayBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def play(bar: PlayBar, duration_s: float | None) -> None:
    bar.update(PlayerReport(state=State.READY, path="a/clip.mp4", duration_s=duration_s))
    for k in range(3):
        bar.update(
            PlayerReport(
                state=State.PLAYING, path="a/clip.mp4", duration_s=duration_s, position_s=k * 2.0, frames_sent=20 * k
            )
        )
    bar.update(
        PlayerReport(
            state=State.FINISHED,
            path="a/clip.mp4",
            duration_s=duration_s,
            position_s=5.9,
            frames_sent=60,
            frames_dropped=1,
        )
    )


@pytest.mark.parametrize("duration_s", [6.0, None])
def test_a_terminal_sees_how_far_the_clip_has_come(duration_s: float | None) -> None:
    terminal = Terminal()
    play(PlayBar(terminal), duration_s)
    last = terminal.getvalue().rstrip().rpartition("\r")[2]
    assert "clip.mp4" in last and "60 frames, 1 dropped" in last
    assert ("100%" in last and "6.0/6.0 s" in last) if duration_s else "5.9 s" in last


def test_a_log_file_is_left_alone() -> None:
    stream = io.StringIO()
    play(PlayBar(stream), 6.0)
    assert stream.getvalue() == ""
