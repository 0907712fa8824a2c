"""The command line of the simulations."""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from calibrant.validity import tables, workers
from calibrant.validity.units import load, plan


def main(arguments: Sequence[str]) -> int:
    """Complete what is missing, write the tables; return the exit code."""
    options = _parser().parse_args(arguments)
    units = plan(options.sets)
    if not options.tables:
        todo = [unit for unit in units if options.only.search(unit.name) and load(unit, options.cache) is None]
        try:
            workers.run(todo, options.cache, options.jobs)
        except KeyboardInterrupt:
            sys.stderr.write("interrupted; call again to continue.\n")
            return 130
    found = {unit: pvalues for unit in units if (pvalues := load(unit, options.cache)) is not None}
    tables.write(options.out, units, found)
    sys.stderr.write(f"{len(found)} of {len(units)} units are complete; tables in {options.out}.\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m calibrant.validity",
        description="Simulate levels and power of the tests of calibration. The next run continues one that stopped.",
    )
    parser.add_argument("--out", type=Path, default=Path("docs/validity"), help="folder of the tables (%(default)s)")
    parser.add_argument("--cache", type=Path, default=Path("build/validity"), help="folder of the units (%(default)s)")
    parser.add_argument("--sets", type=_positive, help="data sets a cell, instead of those of the published table")
    parser.add_argument(
        "--only", type=_pattern, default=re.compile(""), help="units whose name matches, e.g. 'K=2 .*cox'"
    )
    parser.add_argument("--jobs", type=_positive, default=2, help="worker processes (%(default)s)")
    parser.add_argument("--tables", action="store_true", help="run nothing, write the tables from what is complete")
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
