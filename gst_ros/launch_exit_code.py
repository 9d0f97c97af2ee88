"""Hands the exit code of our deployments to ``ros2 launch``: an extension of its ``ros2launch.option`` point.

``ros2 launch`` itself knows 0 and 1 only. It calls this extension when everything has been shut down. It does
nothing after launch files of other packages.
"""

from __future__ import annotations

import sys
from typing import Any

from ros2launch.option import OptionExtension


class ExitCode(OptionExtension):  # type: ignore[misc]
    """Exit with the code of the node whose end ended the run."""

    def postlaunch(self, launch_return_code: int, args: Any) -> None:
        """Exit with our code; a failure of launch itself is never turned into a success."""
        # Not imported, then not launched by us: launch files of other packages pay nothing.
        launching = sys.modules.get("gst_ros.launching")
        code = None if launching is None else launching.exit_code()
        if code:
            raise SystemExit(code)
