"""``gst`` as a process with nodes below it, for tests that kill some of them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import psutil

PATIENCE_S = 90.0


def wait_until(condition: Callable[[], bool], what: str, seconds: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds:g} s"
        time.sleep(0.02)


class GstRun:
    """One ``gst`` process. On leaving the block nothing of it is alive any more, whatever has happened."""

    def __init__(self, *arguments: object) -> None:
        self._err = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        command = [sys.executable, "-m", "gst_ros.cli.main", *map(str, arguments)]
        self.popen = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self._err)
        self._seen: dict[int, psutil.Process] = {}

    def __enter__(self) -> GstRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.nodes()
        self.popen.kill()
        self.popen.wait()
        for process in self.alive():
            process.kill()
        self._err.close()

    def nodes(self) -> dict[str, psutil.Process]:
        """The nodes' processes by module name."""
        found: dict[str, psutil.Process] = {}
        try:
            children = psutil.Process(self.popen.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return found
        for child in children:
            self._seen[child.pid] = child
            try:
                modules = [word for word in child.cmdline() if word.startswith("gst_ros.nodes.")]
            except psutil.NoSuchProcess:
                continue
            if modules:
                found[modules[0].rpartition(".")[2]] = child
        return found

    def node(self, name: str) -> psutil.Process:
        """The process of one node, waiting for it if need be."""
        wait_until(lambda: name in self.nodes(), f"node {name}")
        return self.nodes()[name]

    def alive(self) -> list[psutil.Process]:
        """Processes that this run has started and that are not at their end yet."""
        return [p for p in self._seen.values() if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]

    def wait(self) -> int:
        """The exit code."""
        self.nodes()
        return self.popen.wait(timeout=PATIENCE_S)

    def wait_for_answers(self, run: Path, count: int) -> None:
        """Wait until so many answers are on the disk."""
        file = run / "records.jsonl"

        def there() -> bool:
            self.nodes()
            assert self.popen.poll() is None, self.errors()
            return file.exists() and file.read_text().count('{"kind": "answer"') >= count

        wait_until(there, f"{count} answers")

    def errors(self) -> str:
        """What came on stderr so far."""
        self._err.seek(0)
        return self._err.read().decode()
