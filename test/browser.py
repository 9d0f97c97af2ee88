"""A real browser for tests: a Chromium that is driven through a pipe, by its DevTools protocol.

It needs the program alone, no driver and no package.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ANSWER_WITHIN_S = 60.0


def find_browser() -> str:
    """The browser's path; skips the test where there is none."""
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    pytest.skip(f"no browser ({', '.join(NAMES[:3])}) is installed")


class Browser:
    """One tab. Messages are JSON objects, each followed by a zero byte, through two pipes."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out = os.fdopen(to_browser, "wb", buffering=0)
        self._in = os.fdopen(from_browser, "rb")
        self._numbers = itertools.count(1)
        self._rest = b""
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.requests: list[str] = []
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command to the tab."""
        return self._send(method, self._session, **parameters)

    def show(self, url: str, width: int = 1280, height: int = 900, scripts: bool = True, scheme: str = "light") -> None:
        """Open a page and wait until it has loaded."""
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.requests.clear()
        self.errors.clear()
        self.call("Page.navigate", url="about:blank")
        self._wait_for("Page.loadEventFired")
        self.call("Page.navigate", url=url)
        self._wait_for("Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """What a JavaScript expression gives, as JSON."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def picture(self, path: Path, whole: bool = True) -> None:
        """A PNG of the page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def _send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer.get("result", {})

    def _wait_for(self, event: str) -> None:
        while self._read().get("method") != event:
            pass

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = self._in.read1(1 << 20)
            if not part:
                raise EOFError("the browser has ended")
            self._rest += part
        text, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            self.requests += [] if url.startswith("data:") else [url]
        elif message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.errors.append(json.dumps(message["params"]))
        return message


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser, for the time of the block; skips the test where there is none."""
    program = find_browser()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for_browser, to_browser = os.pipe()
        from_browser, of_browser = os.pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        options += ["--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={profile}"]
        # Chromium reads commands from descriptor 3 and writes to 4; the shell puts the pipes there. Not every sh: dash
        # knows numbers of one digit only.
        process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{for_browser} 4>&{of_browser}', "bash", program, *options, "about:blank"],
            pass_fds=(for_browser, of_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(for_browser)
        os.close(of_browser)
        watch = threading.Timer(ANSWER_WITHIN_S, process.kill)
        watch.start()
        try:
            try:
                browser = Browser(to_browser, from_browser)
            except (EOFError, BrokenPipeError):
                pytest.skip(f"{program} does not start here")
            yield browser
        finally:
            watch.cancel()
            process.kill()
            process.wait()
