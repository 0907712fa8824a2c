"""Where text is printed; a module of its own, so that help needs nothing heavy."""

from typing import NoReturn

from rich.console import Console


class _Console(Console):
    """A console that leaves a closed pipe to the command, whose exit code is not that of a failed gate."""

    def on_broken_pipe(self) -> NoReturn:
        """Say that the reader is gone."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Return where results are printed, or what is only for people who wait for them."""
    return _Console(stderr=stderr)
