"""``gst scenes``: make, show and check sets of places.

    <name>.py      one file per subcommand, each with a click command named ``command``

As in :mod:`gst_ros.cli`, a subcommand's heavy imports are inside its function.
"""

from __future__ import annotations

import click

from gst_ros.cli.main import LazyGroup


@click.group("scenes", cls=LazyGroup, package=__name__)
def command() -> None:
    """Make sets of furnished places with videos, questions and their truth; look at them; check them."""
