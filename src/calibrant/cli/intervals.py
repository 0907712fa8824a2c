"""Conformal intervals: fitted, saved, and tested on new rows."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from calibrant._border.numerals import count, counted, percent, pvalue_cell, significant
from calibrant.cli.options import FIXING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from calibrant.calibrators.forecasts import ConformalIntervals
    from calibrant.calibrators.forecasts.conformal import Conformal
    from calibrant.calibrators.store import StoredCalibrator
    from calibrant.cli.options import EitherSource
    from calibrant.forecasts import Forecasts
    from calibrant.results import CoveredPart, IntervalCheck

COLUMN = "column"
"""Key in a saved calibrator for the column of groups, or of ratios, that new files need."""


@Parameter(name="*", group=FIXING)
@dataclass(frozen=True, kw_only=True)
class IntervalOptions:
    """What conformal intervals promise, and for which rows."""

    level: Annotated[
        float | None, Parameter(help="Conformal intervals: share of new values to contain; 0.9 by default.")
    ] = None
    by: Annotated[
        str | None, Parameter(help="Conformal intervals: column of groups; the promise holds in each of them.")
    ] = None
    ratio: Annotated[
        str | None,
        Parameter(help="For --method conformal-weighted: column of the ratios of new to old densities of x."),
    ] = None

    def check(self, method: str | None, *, of_forecasts: bool = True) -> None:
        """Refuse options that the method does not use; it is None if none is named."""
        from calibrant._border.checks import check_level
        from calibrant.exceptions import InputError

        weighted = method == "conformal-weighted"
        if self.used and (not of_forecasts or method is None or intervals_of(method) is None):
            found = "none is named" if method is None else f"the method is {method}"
            raise InputError(
                f"{self.used} is for conformal intervals of forecasts, such as --method conformal, but {found}. "
                "Name one, or leave the option out."
            )
        if self.level is not None:
            check_level(self.level)
        if self.by is not None and weighted:
            raise InputError("--by is for the other conformal methods; conformal-weighted takes --ratio. Remove it.")
        if self.ratio is not None and not weighted:
            raise InputError(f"--ratio is for --method conformal-weighted, but the method is {method}. Remove it.")

    @property
    def used(self) -> str:
        """The first of the options that is given; empty if none is."""
        named = {"--level": self.level, "--by": self.by, "--ratio": self.ratio}
        return next((name for name, value in named.items() if value is not None), "")

    @property
    def column(self) -> str | None:
        """The column of groups or of ratios."""
        return self.by if self.ratio is None else self.ratio


def intervals_of(method: str) -> "Conformal | None":
    """Return the conformal intervals of this name; None if it names another method."""
    from calibrant.calibrators.forecasts import parse_forecast
    from calibrant.calibrators.forecasts.conformal import Conformal

    found = parse_forecast(method)
    return found if isinstance(found, Conformal) else None


def fit_intervals(
    files: "Sequence[Path]",
    source: "EitherSource",
    calibrator: "Conformal",
    method: str,
    options: IntervalOptions,
    out: Path,
) -> None:
    """Learn intervals, save them, and print what they promise."""
    from calibrant.calibrators.forecasts import ConformalIntervals
    from calibrant.calibrators.store import save
    from calibrant.cli import show
    from calibrant.cli.fitted import forecast_details, learnt
    from calibrant.io import printable

    forecasts, others = source.forecasts(files, options.column)
    if options.level is not None:
        calibrator.set_params(level=options.level)
    calibrator.fit(forecasts, others.get(options.column or ""))
    details = {**forecast_details(method, forecasts), COLUMN: options.column}
    checksum = save(calibrator, out, details=details)
    if source.json:
        show.print_json({**details, "level": calibrator.level, "learnt": learnt(calibrator), "sha256": checksum})
        return
    show.print_heading(f"{method}, fitted to {counted(forecasts.n_samples, 'forecast')} ({details['law']})")
    share = f"{percent(calibrator.level)} of new values"
    promised = f"The intervals promise to contain {share}, on average over sets of rows to fit to"
    if isinstance(calibrator, ConformalIntervals):
        show.print_lines([f"{promised}{', in each group' if options.by else ''}. For this fit:"])
        _print_promises(calibrator)
    else:
        show.print_lines([f"{promised}, if the ratios of densities are exact; estimated ratios guarantee nothing."])
    words = "To test the promise on new rows: calibrant test NEW_FILE --calibrator"
    show.print_command(words, f"{printable(out)}, with the columns named as here.")
    show.print_path("calibrator", out)


def _print_promises(calibrator: "ConformalIntervals") -> None:
    """Print how many new values the intervals of this fit contain: 95% limits of their coverage."""
    from rich.table import Table
    from rich.text import Text
    from scipy.special import betaincinv

    from calibrant.cli.outputs import console
    from calibrant.io import printable

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("rows", overflow="fold")
    for heading in ("number", "rank", "threshold", "new values inside, 95%"):
        table.add_column(heading, justify="right")
    for name, n, rank, scores in zip(
        calibrator.groups_, calibrator.n_fitted_, calibrator.ranks_, calibrator.thresholds_, strict=True
    ):
        held = "all: too few rows, infinite intervals" if rank > n else ""
        if 0 < rank <= n:
            low, high = betaincinv(rank, n + 1 - rank, [0.025, 0.975])
            held = f"{percent(low, 1)} to {percent(high, 1)}"
        written = ", ".join(significant(float(score), 4) for score in scores)
        table.add_row(Text(printable(str(name) or "all")), count(n), count(rank) if rank else "", written, held)
    console().print(table)


def read_with_column(
    files: "Sequence[Path]", source: "EitherSource", stored: "StoredCalibrator"
) -> "tuple[Forecasts, NDArray[np.generic] | None]":
    """Read forecasts, and the column that the intervals were fitted with."""
    column = stored.details.get(COLUMN)
    forecasts, others = source.forecasts(files, column)
    return forecasts, others.get(column or "")


def judge_fitted(files: "Sequence[Path]", calibrator: Path, source: "EitherSource") -> "IntervalCheck":
    """Test whether the saved intervals keep their promise on these rows."""
    from calibrant.calibrators.forecasts import judge_intervals
    from calibrant.calibrators.store import load_with_details
    from calibrant.cli.fitted import are_rows_of_fit, law_fingerprint
    from calibrant.exceptions import InputError

    stored = load_with_details(calibrator)
    if getattr(stored.calibrator, "gives", "law") != "intervals":
        raise InputError(
            "--calibrator must be a file of conformal intervals, whose promise can be tested. Apply other calibrators "
            "with calibrant apply, and test the new columns."
        )
    if not source.are_forecasts:
        raise InputError("the intervals are for forecasts: name their columns, for example with --mean and --sd.")
    forecasts, column = read_with_column(files, source, stored)
    if are_rows_of_fit(stored, law_fingerprint(forecasts.distribution)):
        raise InputError(
            "the intervals were fitted to these rows, so they contain the promised share by construction. Test them on "
            "other rows."
        )
    return judge_intervals(stored.calibrator, forecasts, column)


def print_check(check: "IntervalCheck") -> None:
    """Print how many targets the intervals contain, for all rows and for each group."""
    from rich.table import Table
    from rich.text import Text

    from calibrant.cli import show
    from calibrant.cli.outputs import console
    from calibrant.io import printable

    show.print_lines([check.headline])
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("rows", overflow="fold")
    for heading in ("number", "own intervals", "inside", "95% if promised", "p", "width"):
        table.add_column(heading, justify="right")
    for part in (check.total, *check.parts):
        cells = (count(part.n_samples), percent(part.before, 1), percent(part.covered, 1), *_by_chance(part))
        table.add_row(Text(printable(part.name or "all")), *cells, significant(part.width, 4))
    console().print(table)
    if check.reason:
        show.print_lines([f"not tested: {check.reason}"])


def _by_chance(part: "CoveredPart") -> tuple[str, str]:
    if part.low is None or part.high is None or part.pvalue is None:
        return "", ""
    return f"{percent(part.low, 1)} to {percent(part.high, 1)}", pvalue_cell(part.pvalue)
