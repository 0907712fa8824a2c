"""Calibration of forecasts in `calibrant fit` and `apply`."""

from pathlib import Path
from typing import TYPE_CHECKING

from calibrant._border.numerals import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from calibrant._border.types import FloatArray
    from calibrant.calibrators.store import StoredCalibrator
    from calibrant.cli.intervals import IntervalOptions
    from calibrant.cli.options import EitherSource
    from calibrant.forecasts import Distribution

MEASURES = ("crps-fair", "crps", "log-score", "interval-coverage", "interval-width", "mace")
"""Metrics that are printed before and after, if they apply to the laws."""

USUAL = {"Normal": "shift-scale", "Quantiles": "quantile-shift"}
"""Default method for each kind of laws; for ensembles, the first that `recommend` tries."""


def fit_forecasts(
    files: "Sequence[Path]", source: "EitherSource", method: str | None, options: "IntervalOptions", out: Path
) -> None:
    """Learn a calibrator from forecasts and observed values, save it, and print what it learnt."""
    from calibrant.calibrators.forecasts import forecast_calibrator_name, parse_forecast
    from calibrant.calibrators.store import save
    from calibrant.cli import show
    from calibrant.cli.fitted import describe, forecast_details, learnt, print_fitted
    from calibrant.cli.intervals import fit_intervals, intervals_of
    from calibrant.metrics.forecasts.table import suited_metrics

    named = None if method is None else forecast_calibrator_name(method)
    options.check(named)
    if named is not None and (intervals := intervals_of(named)) is not None:
        fit_intervals(files, source, intervals, named, options, out)
        return
    forecasts, _ = source.forecasts(files)
    method = _usual(forecasts.distribution) if named is None else named
    with show.listening_bar("fitting", quiet=source.silent):
        calibrator = parse_forecast(method).fit(forecasts)
    details = forecast_details(method, forecasts)
    checksum = save(calibrator, out, details=details)
    after = calibrator.calibrate(forecasts)
    metrics = {name: metric for name, metric in suited_metrics(forecasts).items() if name in MEASURES}
    shown = [name for name, metric in metrics.items() if metric.suits(after)]
    before, changed = ({name: metrics[name].estimate(f) for name in shown} for f in (forecasts, after))
    found, measured = learnt(calibrator), {"before": before, "after": changed}
    print_fitted(
        f"{method}, fitted to {counted(forecasts.n_samples, 'forecast')} ({details['law']})",
        describe(found),
        {**details, "learnt": found, "in_sample": measured, "sha256": checksum},
        out,
        json=source.json,
    )


STEPS = 2
"""Steps before a file is written again: its forecasts are read, and calibrated."""


def _usual(law: "Distribution") -> str:
    from calibrant.advice.rule import forecast_shortlist

    return USUAL.get(type(law).__name__) or forecast_shortlist(law, law.n)[0]


def apply_forecasts(
    file: Path, stored: "StoredCalibrator", out: Path, source: "EitherSource", *, replace: bool
) -> None:
    """Write a copy of the file with columns of calibrated forecasts."""
    from calibrant.cli import show
    from calibrant.cli.fitted import law_fingerprint, listed, warn_if_fitted_here
    from calibrant.cli.intervals import COLUMN
    from calibrant.io.rewrite import rewrite_forecasts

    rows = 0

    def calibrated(
        law: "Distribution", others: "Mapping[str, object] | None" = None
    ) -> "Distribution | dict[str, FloatArray]":
        nonlocal rows
        rows = law.n
        progress(1, STEPS)
        warn_if_fitted_here(stored, law_fingerprint(law))
        if stored.calibrator.gives == "intervals":
            ends = stored.calibrator.interval(law, *(others or {}).values())
            found: Distribution | dict[str, FloatArray] = {"low": ends.low, "high": ends.high}
        else:
            found = stored.calibrator.apply(law)
        progress(STEPS, STEPS)
        return found

    with show.progress_bar("calibrating", quiet=source.silent, then="writing") as progress:
        column = stored.details.get(COLUMN)
        request = source.forecast_request(needs_target=False)
        others = () if column is None else (column,)
        columns = rewrite_forecasts(file, out, calibrated, request, others=others, replace=replace)
    if source.json:
        show.print_json({"n_samples": rows, "columns": list(columns), "sha256": stored.sha256})
        return
    method = stored.details.get("method", type(stored.calibrator).__name__)
    show.print_lines([f"{show.rows(rows)} calibrated by {method} ({stored.sha256[:12]})."])
    show.print_path("table", out)
    if not replace:
        show.print_lines([f"The new columns are {listed(columns)}."])
