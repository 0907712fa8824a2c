"""`calibrant fit`: learn a calibrator from a file of predictions."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from calibrant.cli.options.engines import Engine
from calibrant.cli.options.features import METHOD, Features
from calibrant.cli.options.reading import CALIBRATOR, FIXING, EitherSource, File, Out, check_out, expanded, first_given
from calibrant.exceptions import InputError


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

    def check(self, method: str | None, *, of_forecasts: bool) -> None:
        """Refuse options that the method does not use; it is None if none is named."""
        used = first_given(self)
        if of_forecasts and method is not None:
            from calibrant.calibrators.forecasts import forecast_calibrator_name

            method = forecast_calibrator_name(method)
        if not used:
            return
        from calibrant._border.settings import check_level
        from calibrant.cli.work.intervals import intervals_of

        weighted = method == "conformal-weighted"
        if not of_forecasts or method is None or intervals_of(method) is None:
            found = "none is named" if method is None else f"the method is {method}"
            raise InputError(
                f"{used} is for conformal intervals of forecasts, such as --method conformal, but {found}. "
                "Name one, or leave the option out."
            )
        if self.level is not None:
            check_level(self.level)
        if self.by is not None and weighted:
            raise InputError("--by is for the other conformal methods; conformal-weighted takes --ratio. Remove it.")
        if self.ratio is not None and not weighted:
            raise InputError(f"--ratio is for --method conformal-weighted, but the method is {method}. Remove it.")

    @property
    def column(self) -> str | None:
        """The column of groups or of ratios."""
        return self.by if self.ratio is None else self.ratio


def command(
    *files: File,
    method: Annotated[str | None, Parameter(group=FIXING)] = None,
    features: Features = None,
    raw_logits: Annotated[bool, Parameter(group=FIXING)] = False,
    intervals: IntervalOptions = IntervalOptions(),
    source: EitherSource = EitherSource(),
    engine: Engine = Engine(),
    out: Out = Path("calibrator.json"),
) -> None:
    """Learn a calibrator from the predictions and labels in FILES, and save it.

    Use rows that the model was not trained on, and on which it will not be evaluated afterwards.
    Forecasts (predictive distributions) are read with --mean and --sd, with --draws or with --quantiles.

    For example:
      calibrant fit validation.csv
      calibrant fit validation.csv --method 'ts>irm' --out calibrator.json
      calibrant fit logits.csv --raw-logits --method vs
      calibrant fit validation.csv --features 'x_*'
      calibrant fit 'logs/*.parquet' --method vs --engine local
      calibrant fit forecasts.csv --label y --mean mu --sd sigma --method 'shift-scale>pit'
      calibrant fit forecasts.csv --label y --mean mu --sd sigma --method conformal --level 0.95 --by region

    Parameters
    ----------
    files
        CSV, JSON Lines, Parquet, Arrow IPC or NPZ with one column per class and a column of labels, or a sketch of two
        classes. The rows of several files are taken together. With --engine, or for a folder, ts, vs and ms are fitted
        by a few passes over the files, and other methods to a sketch.
    method
        Name of a calibrator, such as ts, or several in order of application, such as 'ts>irm' (the shell needs the
        quotation marks). Default: ts; for a mean and sd, shift-scale; for quantiles, quantile-shift; for draws,
        inflate, or inflate-moments if there are fewer than 50; with --features, groups, which fixes groups of rows
        whose predictions are off.
    features
        Columns of features that define groups: a pattern such as 'x_*', or a comma-separated list. With --method
        groups, by default all other columns. Files given to calibrant apply need the columns that were used.
    raw_logits
        The columns hold logits, and the calibrator (vs, ms, iop-diag or irova) maps these instead of the
        probabilities, so that a constant added to a row matters. calibrant apply then needs --logits.
    out
        Where to write the calibrator; it must end in .json.
    """
    if method == "auto":
        raise InputError(
            "--method must name a calibrator, but is 'auto'. calibrant recommend judges them on rows that they were "
            "not fitted to, and prints the command that fits the best."
        )
    if features is not None and method not in (None, METHOD):
        raise InputError(
            f"--features is for --method groups, the only one that uses columns of features, but the method is "
            f"{method}. Leave out one of them."
        )
    of_groups = method == METHOD or features is not None
    paths = expanded(files)
    source.check()
    engine.check(paths, source)
    _check_rows(engine.takes(paths), waves=engine.waves, raw_logits=raw_logits, of_groups=of_groups)
    _check_kind(source, raw_logits=raw_logits, of_groups=of_groups)
    intervals.check(METHOD if of_groups else method, of_forecasts=source.are_forecasts)
    from calibrant.cli.work import fit as fitting

    if not of_groups and not source.are_forecasts:
        fitting.fit_classes(paths, method or "ts", source, engine, out, raw_logits=raw_logits)
        return
    check_out(out, paths, CALIBRATOR)
    if of_groups:
        fitting.fit_groups(paths, source, features, out)
    else:
        fitting.fit_forecasts(paths, source, method, out, level=intervals.level, column=intervals.column)


def _check_rows(is_sketched: bool, *, waves: int | None, raw_logits: bool, of_groups: bool) -> None:
    """Refuse a sketch for methods that need rows, and options that no fit uses."""
    if waves is not None:
        raise InputError("--waves is for the kernel error of evaluate and report; no calibrator uses it. Remove it.")
    option = "--raw-logits" if raw_logits else "the fix of groups" if of_groups else ""
    if option and is_sketched:
        raise InputError(f"{option} needs rows in memory, but they are read as a sketch. Leave out one of them.")


def _check_kind(source: EitherSource, *, raw_logits: bool, of_groups: bool) -> None:
    """Refuse to fix groups of forecasts or of raw logits, and raw logits of forecasts."""
    if of_groups and (source.are_forecasts or raw_logits):
        what = "forecasts" if source.are_forecasts else "raw logits"
        raise InputError(
            f"groups are fixed by the log-odds of classes, but the options are for {what}. Leave out --features, or "
            "fit each group from a separate file."
        )
    source.refuse_for_forecasts({"--raw-logits": raw_logits})
