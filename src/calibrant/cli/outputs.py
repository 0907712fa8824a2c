"""Where a command writes: the terminal, or a file that is not one of its inputs and has the right extension."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from calibrant.cli import streams


class _Console(Console):
    """A console that continues when the reader closes the pipe, so that gates still determine the exit code."""

    def on_broken_pipe(self) -> None:
        """Discard all further output."""
        streams.discard(self.file)


def console(*, stderr: bool = False) -> Console:
    """Return the console for results, or the one for progress."""
    return _Console(stderr=stderr, emoji=False)  # A name such as :warning: is no emoji.


PAGE = (".html", ".htm")
CALIBRATOR = (".json",)


def check_out(out: Path, inputs: Sequence[Path], endings: Sequence[str]) -> None:
    """Refuse an output path that must not be written to, before anything is read or computed."""
    from calibrant.io import check_writable

    for file in inputs:
        refuse_same(file, out)
    check_writable(out)
    _check_ending(out, endings)


def refuse_same(file: Path, out: Path, advice: str = "Name another file.") -> None:
    """Refuse to write to the file that is read, by whatever path."""
    from calibrant.exceptions import InputError
    from calibrant.io import printable

    if out.exists() and file.exists() and out.samefile(file):
        raise InputError(f"--out is {printable(str(file))} itself. {advice}")


def refuse_among_results(config: Path, folder: Path) -> None:
    """Refuse a config that files of its own experiment could replace; none of these ends in .toml."""
    from calibrant.exceptions import InputError
    from calibrant.io import printable

    place = config.resolve()
    if config.is_file() and place.suffix != ".toml" and place.is_relative_to(folder.resolve()):
        raise InputError(
            f"{printable(config)} lies in the folder of --out, whose files could replace it. Name another folder, or "
            "give it the ending .toml."
        )


def _check_ending(out: Path, endings: Sequence[str]) -> None:
    from calibrant.exceptions import InputError
    from calibrant.io import printable

    if out.suffix.lower() not in endings:
        raise InputError(
            f"--out must end in {' or '.join(endings)}, but is {printable(out)}. Name it "
            f"{printable(out.with_suffix(endings[0]))}, for example."
        )
