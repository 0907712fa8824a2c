"""The command line of a study."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from calibrant.lab.runner import complete
from calibrant.lab.store import Store, is_running, locked
from studies.simulations.units import Unit, content, load


@dataclass(frozen=True)
class Study:
    """What is simulated, and where the results go.

    Attributes
    ----------
    name : str
        Of the package, and of the folder of the units in build.
    description : str
        One sentence for the help.
    plan : callable
        Returns the units, cheapest first. That of a grid takes a number of data sets per cell, or None.
    write : callable
        Given where the tables go and the values of the complete units by name, writes them. That of a grid takes all
        units, then the values by unit, and ``keep=True`` for rows of tables whose units are not in the cache.
    tables : str
        The file of the tables in docs; by default a folder with the name of the study.
    is_grid : bool
        Whether it is a grid of cells with many data sets each.
    """

    name: str
    description: str
    plan: Callable[..., Sequence[Unit]]
    write: Callable[..., None]
    tables: str = ""
    is_grid: bool = False


def run(study: Study, arguments: Sequence[str]) -> int:
    """Complete what is missing, write the tables; return the exit code."""
    options = _parser(study).parse_args(arguments)
    units = study.plan(options.sets) if study.is_grid else study.plan()
    store = Store(options.cache)
    if not options.tables:
        if is_running(options.cache):
            sys.stderr.write(f"another process is running the study in {options.cache}. Wait until it ends.\n")
            return 2
        try:
            _complete([unit for unit in units if options.only.search(unit.name)], store, options.jobs)
        except KeyboardInterrupt:
            sys.stderr.write("interrupted; call again to continue.\n")
            return 130
    found = {unit: values for unit in units if (values := load(unit, store)) is not None}
    if study.is_grid:
        study.write(options.out, units, found, keep=options.keep)
    else:
        study.write(options.out, {unit.name: values for unit, values in found.items()})
    sys.stderr.write(f"{len(found)} of {len(units)} units are complete; tables in {options.out}.\n")
    return 0


def _complete(units: Sequence[Unit], store: Store, jobs: int) -> None:
    with locked(store.folder, "study"):
        todo, number = store.missing(units), count(1)

        def tell(unit: Unit, _seconds: float) -> None:
            sys.stderr.write(f"[{next(number)}/{len(todo)}] {unit.name}\n")
            sys.stderr.flush()

        complete(todo, store, content, tell, jobs=jobs)


def _parser(study: Study) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m studies {study.name}",
        description=f"{study.description} The next run continues one that stopped.",
    )
    tables, units = Path("docs", study.tables or study.name), Path("build", study.name)
    parser.add_argument("--out", type=Path, default=tables, help="file or folder of the tables (%(default)s)")
    parser.add_argument("--cache", type=Path, default=units, help="folder of the units (%(default)s)")
    parser.add_argument(
        "--only", type=_pattern, default=re.compile(""), help="units whose name matches, e.g. 'K=2 .*cox'"
    )
    parser.add_argument("--jobs", type=_positive, default=2, help="worker processes (%(default)s)")
    parser.add_argument("--tables", action="store_true", help="run nothing, write the tables from what is complete")
    if study.is_grid:
        parser.add_argument(
            "--sets", type=_positive, help="data sets per cell, instead of those of the published table"
        )
        parser.add_argument(
            "--keep", action="store_true", help="leave rows that are in the tables already and not in the cache"
        )
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, but is {value}.")
    return value


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"must be a regular expression, but is {text!r}: {error}.") from error
