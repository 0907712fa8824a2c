"""Where a command writes: to a terminal, or to a file that it does not read and whose extension fits its content."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from calibrant.cli import streams


class _Console(Console):
    """A console that goes on when its reader has closed the pipe, so that the exit code is that of the gates."""

    def on_broken_pipe(self) -> None:
        """Write to nowhere from now on."""
        streams.discard(self.file)


def console(*, stderr: bool = False) -> Console:
    """Return the console for results, or the one for progress."""
    return _Console(stderr=stderr, emoji=False)  # Names are shown as they are.


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
    """Refuse to write where the data is read from, under any path."""
    from calibrant.exceptions import InputError
    from calibrant.io import printable

    if out.exists() and file.exists() and out.samefile(file):
        raise InputError(f"--out is {printable(str(file))} itself. {advice}")


def refuse_among_results(config: Path, folder: Path) -> None:
    """Refuse a config that the files of its own experiment, none of which ends in .toml, could replace."""
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
