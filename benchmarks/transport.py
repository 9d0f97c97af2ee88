"""How fast frames go from the camera player to the memory node, losslessly, and in how much memory.

    python benchmarks/transport.py [--frames 20000] [--baseline-frames 3000] [--cores 2] [--video FILE]

The real nodes run as processes of their own, as ``gst eval`` starts them, in lockstep mode; the player
decodes a clip and the memory takes every frame in. Before and after, a bare rclpy publisher/subscriber
pair (bare_pair.py: nothing decoded, nothing looked at, the simplest lossless flow control) sends messages
of the same type and size with the same Fast DDS profile on the same cores. The last line printed is JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import click
import numpy as np
import psutil
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from gst_ros.deployment import CAMERA_PLAYER, SPATIAL_REASONING, EvalOptions, describe_eval, environment_for_nodes
from gst_ros.errors import GstError, SessionError
from gst_ros.evaluation.session import Playback
from gst_ros.runner import node_command, parameter_file_text

WIDTH, HEIGHT, FPS = 640, 512, 10
TARGET_FPS, TARGET_PLAYER_MB = 150, 300
BARE_PAIR = Path(__file__).with_name("bare_pair.py")


@dataclass(frozen=True)
class NodeUse:
    """What one process used: processor time over the playback, and the most memory it ever held."""

    cpu_s: float
    peak_mb: float


def make_clip(path: Path, frames: int) -> None:
    """Write a cheap H.264 clip: a still textured background with a square that moves."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(60, 190, (HEIGHT // 32, WIDTH // 32), dtype=np.uint8)
    yuv = np.full((HEIGHT * 3 // 2, WIDTH), 128, np.uint8)  # planes below each other: brightness, then colour
    background = np.kron(coarse, np.ones((32, 32), np.uint8))
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "ultrafast", "g": "100"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in tqdm(range(frames), desc="writing the clip", unit="frame", file=sys.stderr):
            yuv[:HEIGHT] = background
            left, top = 8 * number % (WIDTH - 64), 3 * number % (HEIGHT - 64)
            yuv[top : top + 64, left : left + 64] = 235
            container.mux(stream.encode(av.VideoFrame.from_ndarray(yuv, format="yuv420p")))
        container.mux(stream.encode())


def decode_rate(path: Path, at_most: int = 2000) -> float:
    """Frames per second of PyAV alone, decoding to rgb8 in this process."""
    started, count = time.perf_counter(), 0
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            frame.to_ndarray(format="rgb24")
            count += 1
            if count == at_most:
                break
    return count / (time.perf_counter() - started)


def bare_pair_rate(frames: int, window: int, environment: dict[str, str]) -> tuple[float, int]:
    """Run the bare pair. Returns frames per second and frames lost."""
    command = [sys.executable, str(BARE_PAIR)]
    tail = ["--frames", str(frames), "--window", str(window)]
    with (
        subprocess.Popen([*command, "subscriber", *tail], env=environment, stdout=subprocess.PIPE, text=True) as taker,
        subprocess.Popen([*command, "publisher", *tail], env=environment) as giver,
    ):
        try:
            output, _ = taker.communicate(timeout=60 + frames / 5)
            giver.wait(timeout=30)
        except subprocess.TimeoutExpired as error:
            raise SessionError("the bare pair did not come to an end") from error
        finally:
            taker.kill()
            giver.kill()
    result = json.loads(output.strip().splitlines()[-1])
    return (result["frames"] - 1) / result["seconds"], result["lost"] + result["out_of_order"]


@contextlib.contextmanager
def running_nodes(folder: Path, environment: dict[str, str]) -> Iterator[dict[str, psutil.Process]]:
    """Start player and memory with the parameters that ``gst eval`` would give them; stop them at the end."""
    deployment = describe_eval(EvalOptions(questions=folder, output=folder, answerer="random", mode="lockstep"))
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name in (CAMERA_PLAYER, SPATIAL_REASONING):
            parameters = folder / f"{name}.yaml"
            parameters.write_text(parameter_file_text(deployment.node(name).parameters), encoding="utf-8")
            command = [*node_command(deployment.node(name), parameters), "--log-level", "warn"]
            processes[name] = subprocess.Popen(command, env=environment)
        yield {name: psutil.Process(process.pid) for name, process in processes.items()}
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def play(video: Path, frames: int | None, processes: dict[str, psutil.Process]) -> tuple[Playback, dict[str, NodeUse]]:
    """Play one clip through the running nodes, as the evaluator does."""
    import rclpy

    from gst_ros.evaluation.plan import EvaluationConfig
    from gst_ros.nodes.ros_session import RosSession

    rclpy.init(args=[])
    session = RosSession(rclpy.create_node("transport_benchmark"), EvaluationConfig(mode="lockstep"))
    try:
        session.connect()
        before = {name: _cpu_s(process) for name, process in processes.items()}
        with tqdm(total=frames and frames / FPS, desc="player -> memory", unit="media s", file=sys.stderr) as bar:
            playback = session.play(video, lambda at_s, _: bar.update(max(0.0, at_s - bar.n)) and None)
        used = {name: NodeUse(_cpu_s(process) - before[name], _peak_mb(process)) for name, process in processes.items()}
    finally:
        session.close()
        rclpy.try_shutdown()
    return playback, used


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _peak_mb(process: psutil.Process) -> float:
    """The most resident memory the process ever held, from the kernel's own high-water mark."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii", errors="replace")
    kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(kib) * 1024 / 1e6


def report(playback: Playback, used: dict[str, NodeUse], baseline: list[float], decode_fps: float) -> dict[str, Any]:
    """Print the table; return what goes into the line of JSON."""
    fps = playback.frames_sent / playback.seconds
    baseline_fps = sum(baseline) / len(baseline)
    lost = playback.frames_sent - playback.frames_received
    player, memory = used[CAMERA_PLAYER], used[SPATIAL_REASONING]
    per_frame_ms = 1000 / max(1, playback.frames_sent)
    table = Table(title=f"Lockstep player -> memory, {WIDTH}x{HEIGHT}, {playback.frames_sent} frames")
    for heading in ("", "measured", "wanted"):
        table.add_column(heading, justify="left" if not heading else "right")
    table.add_row("player -> memory, frames/s", f"{fps:.1f}", f">= {TARGET_FPS}")
    table.add_row("bare rclpy pair, frames/s (before, after)", " / ".join(f"{rate:.1f}" for rate in baseline), "")
    table.add_row("ratio to the bare pair", f"{fps / baseline_fps:.2f}", "")
    table.add_row("decoding alone, frames/s", f"{decode_fps:.1f}", "")
    table.add_row("frames lost", str(lost), "0")
    table.add_row("same stamps in the same order", "yes" if playback.lossless else "NO", "yes")
    table.add_row("player: peak memory, MB", f"{player.peak_mb:.0f}", f"<= {TARGET_PLAYER_MB}")
    table.add_row("memory node: peak memory, MB", f"{memory.peak_mb:.0f}", "")
    table.add_row("player: processor time, ms/frame", f"{player.cpu_s * per_frame_ms:.2f}", "")
    table.add_row("memory node: processor time, ms/frame", f"{memory.cpu_s * per_frame_ms:.2f}", "")
    Console().print(table)
    return {
        "fps": round(fps, 1),
        "lost": lost,
        "baseline_fps": round(baseline_fps, 1),
        "player_peak_mb": round(player.peak_mb, 1),
        "ratio": round(fps / baseline_fps, 3),
        "frames": playback.frames_sent,
        "lossless": playback.lossless,
        "decode_fps": round(decode_fps, 1),
        "cores": len(os.sched_getaffinity(0)),
    }


@click.command(help=__doc__)
@click.option("--frames", default=20_000, show_default=True, type=click.IntRange(10), help="Length of the clip.")
@click.option("--baseline-frames", default=3_000, show_default=True, type=click.IntRange(10), help="Per bare run.")
@click.option("--window", default=8, show_default=True, type=click.IntRange(1), help="Images under way, bare pair.")
@click.option(
    "--cores", default=2, show_default=True, type=click.IntRange(1), help="Processor cores for all processes."
)
@click.option("--video", type=click.Path(exists=True, path_type=Path), help="Play this clip instead of a made one.")
def main(frames: int, baseline_frames: int, window: int, cores: int, video: Path | None) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    # A domain of its own, so that nothing else on this machine or network takes part.
    os.environ.setdefault("ROS_DOMAIN_ID", str(random.SystemRandom().randrange(1, 101)))
    environment = environment_for_nodes(os.environ, os.getpid())
    # This process takes part as well: the same profile, and nobody else's business on other machines.
    shared = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE", "ROS_AUTOMATIC_DISCOVERY_RANGE")
    os.environ.update({name: environment[name] for name in shared if name in environment})
    try:
        with tempfile.TemporaryDirectory(prefix="gst_transport_") as scratch:
            clip = video or Path(scratch) / "clip.mp4"
            if video is None:
                make_clip(clip, frames)
            decode_fps = decode_rate(clip)
            before, lost_before = bare_pair_rate(baseline_frames, window, environment)
            with running_nodes(Path(scratch), environment) as processes:
                playback, used = play(clip, None if video else frames, processes)
            after, lost_after = bare_pair_rate(baseline_frames, window, environment)
    except GstError as error:
        print(f"transport: error: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from error
    result = report(playback, used, [before, after], decode_fps)
    result["baseline_lost"] = lost_before + lost_after
    print(json.dumps(result))
    raise SystemExit(0 if playback.lossless else SessionError.exit_code)


if __name__ == "__main__":
    main()
