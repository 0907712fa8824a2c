"""`calibrant experiment`: run a whole experiment, show its progress, and show its results."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from calibrant.cli.options.reading import INPUT, File, Json, Out, Quiet
from calibrant.cli.printing import show
from calibrant.cli.printing.experiment import print_result, print_status, step_bar
from calibrant.exceptions import InputError
from calibrant.io import printable

command = App(
    name="experiment",
    help=(
        "Train networks, calibrate them in many ways, and compare the results on test rows.\n\n"
        "For example:\n  calibrant experiment run digits --out digits\n  calibrant experiment status digits"
    ),
)


@command.command
def run(
    config: Annotated[str, Parameter(group=INPUT)], /, *, out: Out, json: Json = False, quiet: Quiet = False
) -> None:
    """Run the experiment that CONFIG describes, or the steps of it that are still missing.

    A run may be stopped at any time; the same command continues it.

    For example:
      calibrant experiment run digits --out digits
      calibrant experiment run study.toml --out results --quiet

    Parameters
    ----------
    config
        A TOML file, or the name of a shipped config: demo, digits, fashion-mnist, fashion-mnist-logits.
    out
        Folder for the results, and for the files from which a run continues.
    """
    from calibrant.lab import experiment as experiments
    from calibrant.lab.experiment.output import without_curves

    _refuse_among_results(Path(config), out)
    with step_bar(quiet=quiet or json) as (progress, note):
        result = experiments.run(config, out, progress=progress, note=note)
    if json:
        show.print_json(without_curves(result))
        return
    print_result(result)
    show.print_path("page", out / "index.html")


def _refuse_among_results(config: Path, folder: Path) -> None:
    """Refuse a config that files of its own experiment could replace; none of these ends in .toml."""
    place = config.resolve()
    if config.is_file() and place.suffix != ".toml" and place.is_relative_to(folder.resolve()):
        raise InputError(
            f"{printable(config)} lies in the folder of --out, whose files could replace it. Name another folder, or "
            "give it the ending .toml."
        )


@command.command
def status(folder: File, /, *, json: Json = False) -> int:
    """Show the progress of the experiment in FOLDER, after verifying every file.

    The exit code is 1 if steps are still missing.

    For example:
      calibrant experiment status digits

    Parameters
    ----------
    folder
        The folder that was given to --out.
    """
    from calibrant.lab import experiment as experiments

    found = experiments.status(folder)
    if json:
        show.print_json(found)
    else:
        print_status(found)
    return int(not found.is_complete)


@command.command(name="show")
def show_result(folder: File, /, *, json: Json = False) -> None:
    """Show the table of the finished experiment in FOLDER.

    For example:
      calibrant experiment show digits
      calibrant experiment show digits --json

    Parameters
    ----------
    folder
        The folder that was given to --out.
    """
    from calibrant.lab import experiment as experiments
    from calibrant.lab.experiment.output import without_curves

    result = experiments.load_result(folder)
    if json:
        show.print_json(without_curves(result))
        return
    print_result(result)
    show.print_path("page", folder / "index.html")
