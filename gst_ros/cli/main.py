"""The ``gst`` command group: lazy subcommands, one-line errors, exit codes.

Exit codes: 0 fine; 1 a defect of ours (with its traceback); 2 bad input or configuration; 3 the machinery
failed (a full disk, a device that gives errors) or a run is incomplete; 130 on Ctrl-C; 141, in silence, when the
reader of a pipe has gone (``gst score RUN | head -1``), as a shell has it for every other program.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from gst_ros import __version__
from gst_ros.errors import GstError

EXIT_MACHINERY = 3
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


class LazyGroup(click.Group):
    """A group whose subcommands are imported when they are asked for: one for every module of a package.

    Args:
        package: Dotted name of the package whose modules are the subcommands.
    """

    def __init__(self, *args: Any, package: str = "gst_ros.cli", **options: Any) -> None:
        super().__init__(*args, **options)
        self._package = package

    def _module_names(self) -> dict[str, str]:
        """Subcommand names to module names."""
        path = importlib.import_module(self._package).__path__
        names = (module.name for module in pkgutil.iter_modules(path))
        return {name.replace("_", "-"): name for name in names if name != "main" and not name.startswith("_")}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The subcommands' names, sorted."""
        return sorted(self._module_names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one subcommand; None when there is no such module."""
        module_name = self._module_names().get(cmd_name)
        if module_name is None:
            return None
        command = importlib.import_module(f"{self._package}.{module_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"{self._package}.{module_name}.command is not a click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand of a command line.

        Raises:
            click.UsageError: There is none of this name; it names the nearest one.
        """
        name = args[0]
        if not name.startswith("-") and name not in self._module_names():
            near = difflib.get_close_matches(name, self._module_names(), n=1, cutoff=0.5)
            remedy = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(self.list_commands(ctx))}"
            raise click.UsageError(f"no such command '{name}' ({remedy})", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gst", message="%(prog)s %(version)s")
@click.pass_context
def gst(ctx: click.Context) -> None:
    """Global spatial awareness: evaluate answerers on video questions, over ROS 2 or in one process."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: The words after ``gst``; those of this process when None.
    """
    _write_any_text()
    try:
        code = _run(arguments)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()  # here, and not at the end of Python, where an error could not be told
    except BrokenPipeError:
        _discard_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        _discard_output()
        where = f"{error.filename}: " if error.filename else ""
        _say(f"gst: error: {where}the system reports: {error.strerror or error} (what was recorded is kept)")
        return EXIT_MACHINERY
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        # Commands return their exit code, or None for 0; click itself hands back the code of ctx.exit().
        result = gst.main(args=None if arguments is None else list(arguments), prog_name="gst", standalone_mode=False)
    except GstError as error:
        click.echo(f"gst: error: {error}", err=True)
        return error.exit_code
    except click.exceptions.Abort:  # what click makes of Ctrl-C
        click.echo("gst: interrupted", err=True)
        return EXIT_INTERRUPTED
    except SystemExit as error:
        # Only click and rich do that, when a pipe breaks, and with the code that means a defect here.
        if error.code == 1:
            raise BrokenPipeError from error
        raise
    except click.ClickException as error:
        command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "gst"
        problem = " ".join(error.format_message().split()).rstrip(".")
        click.echo(f"gst: error: {problem}; see '{command} --help'", err=True)
        return error.exit_code
    return result if isinstance(result, int) else 0


def _write_any_text() -> None:
    """Let no letter that the terminal's encoding lacks end a command: it becomes a question mark."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _discard_output() -> None:
    """Point standard output to nowhere, so that Python does not try once more as it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, sys.stdout.fileno())
        finally:
            os.close(nowhere)


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        click.echo(line, err=True)


def main() -> NoReturn:
    """Entry point of the console script."""
    sys.exit(run())


if __name__ == "__main__":
    main()
