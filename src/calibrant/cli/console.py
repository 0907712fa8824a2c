"""Where text is printed; a module of its own, so that help needs nothing heavy."""

from typing import NoReturn

from rich.console import Console


class _Console(Console):
    """A console that lets the command handle a closed pipe, so that its exit code is not that of a failed gate."""

    def on_broken_pipe(self) -> NoReturn:
        """Signal that the reader has closed the pipe."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Return the console for results, or the one for progress."""
    return _Console(stderr=stderr)
