"""The work of `calibrant fit`: learn a calibrator, save it, and print what it has learnt."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calibrant._border.numerals import as_given, counted
from calibrant._border.types import FloatArray
from calibrant._core.progress import told
from calibrant._core.threads import in_order
from calibrant.calibrators import CALIBRATORS, Calibrator, calibrate
from calibrant.calibrators.calibrate import calibrate_logits
from calibrant.calibrators.combinations.compose import parse
from calibrant.calibrators.forecasts import forecast_calibrator_name, parse_forecast
from calibrant.calibrators.inputs import warn_of_impossible_labels
from calibrant.calibrators.names import calibrator_name
from calibrant.calibrators.store import save
from calibrant.cli.options.engines import Engine
from calibrant.cli.options.features import METHOD, feature_columns
from calibrant.cli.options.reading import CALIBRATOR, EitherSource, Source, check_out
from calibrant.cli.printing import show
from calibrant.cli.printing.fitted import OPTIMISTIC, describe, fingerprint, forecast_details, learnt, print_fitted
from calibrant.cli.printing.groups import left_out_lines
from calibrant.cli.work.intervals import fit_intervals, intervals_of
from calibrant.counts import class_shares
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution
from calibrant.io import read_raw_logits
from calibrant.metrics import METRICS
from calibrant.predictions import Predictions, row_blocks
from calibrant.results import Estimate

BY_PASSES = ("ts", "vs", "ms")
"""Methods that an engine fits by passes over the files."""

MEASURES = ("nll", "brier", "ece", "accuracy")
"""Metrics that are printed before and after."""

FORECAST_MEASURES = ("crps-fair", "crps", "log-score", "interval-coverage", "interval-width", "mace")
"""Metrics that are printed before and after, if they apply to the laws."""

USUAL = {"Normal": "shift-scale", "Quantiles": "quantile-shift"}
"""Default method for each kind of laws; for ensembles, the first that `recommend` tries."""


def fit_classes(paths: list[Path], method: str, source: Source, engine: Engine, out: Path, *, raw_logits: bool) -> None:
    """Learn a calibrator from class predictions."""
    method = calibrator_name(method)
    calibrator = _raw(method) if raw_logits else parse(method, scores="logits" if source.logits else "probs")
    _refuse_redirection(method)
    check_out(out, paths, CALIBRATOR)
    if method in BY_PASSES and not raw_logits and engine.makes_sketch(paths):
        _fit_passes(paths, method, source, engine, out)
        return
    predictions, logits = _read_raw(paths, source) if raw_logits else (_read(paths, source, engine), None)
    with show.listening_bar("fitting", quiet=source.silent):
        _fit_to(calibrator, predictions, logits)
    details = _details(method, predictions)
    if raw_logits:
        details["scores"] = calibrator.scores
    checksum = save(calibrator, out, details=details)
    with show.listening_bar("measuring", quiet=source.silent):
        measured = _in_sample(predictions, _calibrated(calibrator, predictions, logits))
    found = learnt(calibrator)
    print_fitted(
        f"{method}{' of raw logits' if raw_logits else ''}, {_fitted_to(predictions)}",
        describe(found),
        {**details, "learnt": found, "in_sample": measured, "sha256": checksum},
        out,
        json=source.json,
    )


def fit_groups(files: Sequence[Path], source: EitherSource, features: str | None, out: Path) -> None:
    """Learn the steps that fix groups, save them, and print them."""
    from calibrant.groups import GroupBoosting
    from calibrant.groups import save as save_groups
    from calibrant.groups.columns import as_values, cut_into_levels

    before, table = source.rows(files, *feature_columns(files, source, features))
    with show.listening_bar("fitting", quiet=source.silent):
        fixed = GroupBoosting().fit(before, features=table)
    details = _details(METHOD, before)
    checksum = save_groups(fixed, out, details=details)
    after = Predictions(fixed.predict_proba(before, features=table), before.labels, before.weights, before.classes)
    cut = {name: cut_into_levels(name, as_values(values), 2) for name, values in table.items()}
    left_out = {name: reason for name, reason in cut.items() if isinstance(reason, str)}
    print_fitted(
        f"{METHOD}, {_fitted_to(before)}",
        [*repr(fixed.report_).splitlines(), *left_out_lines(left_out)],
        {**details, "learnt": fixed.report_, "in_sample": _in_sample(before, after), "sha256": checksum},
        out,
        json=source.json,
    )


def fit_forecasts(
    files: Sequence[Path],
    source: EitherSource,
    method: str | None,
    out: Path,
    *,
    level: float | None,
    column: str | None,
) -> None:
    """Learn a calibrator from forecasts and observed values, or intervals with a level and a column."""
    from calibrant.metrics.forecasts.table import suited_metrics

    named = None if method is None else forecast_calibrator_name(method)
    if named is not None and intervals_of(named) is not None:
        fit_intervals(files, source, named, level, column, out)
        return
    forecasts, _ = source.forecasts(files)
    method = named or _usual(forecasts.distribution)
    with show.listening_bar("fitting", quiet=source.silent):
        calibrator = parse_forecast(method).fit(forecasts)
    details = forecast_details(method, forecasts)
    checksum = save(calibrator, out, details=details)
    after = calibrator.calibrate(forecasts)
    metrics = {
        name: metric
        for name, metric in suited_metrics(forecasts).items()
        if name in FORECAST_MEASURES and metric.suits(after)
    }
    before, changed = ({name: metric.estimate(f) for name, metric in metrics.items()} for f in (forecasts, after))
    found = learnt(calibrator)
    print_fitted(
        f"{method}, fitted to {counted(forecasts.n_samples, 'forecast')} ({details['law']})",
        describe(found),
        {**details, "learnt": found, "in_sample": {"before": before, "after": changed}, "sha256": checksum},
        out,
        json=source.json,
    )


def _usual(law: Distribution) -> str:
    from calibrant.advice.rule import forecast_shortlist

    return USUAL.get(type(law).__name__) or forecast_shortlist(law, law.n)[0]


def _fitted_to(predictions: Predictions) -> str:
    return f"fitted to {show.rows(predictions.n_rows)} of {predictions.n_classes} classes"


def _details(method: str, predictions: Predictions) -> dict[str, Any]:
    """Return the details of a fit that are stored with the calibrator."""
    return {
        "method": method,
        "n_samples": predictions.n_rows,
        "fingerprint": fingerprint(predictions.probs),
        "class_shares": class_shares(predictions).tolist(),
    }


def _in_sample(before: Predictions, after: Predictions) -> dict[str, dict[str, Estimate] | float]:
    """Return the measures before and after, and the share of rows whose predicted class has changed."""
    one, other = ({name: METRICS[name].estimate(p) for name in MEASURES} for p in (before, after))
    return {"before": one, "after": other, "changed": float(np.mean(after.predicted != before.predicted))}


def _fit_passes(paths: list[Path], method: str, source: Source, engine: Engine, out: Path) -> None:
    """Learn a calibrator by passes over files, with few rows in memory at a time."""
    found = engine.fit(paths, source, method)
    details: dict[str, object] = {"method": method, "n_samples": found.n_samples, "class_shares": found.shares.tolist()}
    checksum = save(found.calibrator, out, details=details)
    if source.json:
        measured = {"nll_before": found.before, "nll_after": found.after, "passes": found.n_passes}
        show.print_json({**details, "learnt": learnt(found.calibrator), "in_sample": measured, "sha256": checksum})
        return
    rows = f"{show.rows(found.n_samples)} of {len(found.shares)} classes by {found.n_passes} passes"
    show.print_heading(f"{method}, fitted to {rows}")
    losses = f"log loss of the same rows: {as_given(found.before)} before, {as_given(found.after)} after"
    show.print_lines([*describe(learnt(found.calibrator)), losses, OPTIMISTIC])
    show.print_path("calibrator", out)


def _read(files: list[Path], source: Source, engine: Engine) -> Predictions:
    """Read rows, or the cells of a sketch of two classes."""
    from calibrant.scale.grouped import GroupedSketch

    found = engine.sketch(files, source)
    sketch = found.total() if isinstance(found, GroupedSketch) else found
    if sketch is None:
        return source.rows(files)[0]
    if sketch.n_classes > 2:
        raise InputError(
            f"a sketch of {sketch.n_classes} classes holds no whole rows of probabilities, which calibrators of "
            "several classes need. Fit to the rows, or to a part of them."
        )
    return sketch.one_vs_rest(1)


def _refuse_redirection(method: str) -> None:
    """Refuse to run if the shell has taken an unquoted ts>irm for a redirection to a file named irm."""
    try:
        output = os.fstat(sys.stdout.fileno())
    except (OSError, ValueError):  # Standard output is no file.
        return
    for name in CALIBRATORS:
        if Path(name).is_file() and os.path.samestat(output, Path(name).stat()):
            raise InputError(
                f"the output goes to a file named {name}: write the method in quotation marks, --method "
                f"'{method}>{name}'."
            )


def _raw(method: str) -> Calibrator:
    """Return the calibrator of this name for raw logits; refuse a method that cannot use them."""
    calibrator = parse(method, scores="raw-logits")
    try:
        calibrator.check_raw_logits()
    except InputError as error:
        advice = str(error).replace('build it with scores="logits"', "write --logits instead of --raw-logits")
        raise InputError(advice) from error
    return calibrator


def _read_raw(files: list[Path], source: Source) -> tuple[Predictions, FloatArray]:
    """Read logits, and keep them beside the predictions."""
    if source.renormalise or source.percent:
        option = "--renormalise" if source.renormalise else "--percent"
        raise InputError(f"{option} is for probabilities, but --raw-logits means that the columns hold logits.")
    with show.listening_bar("reading", quiet=source.silent):
        return read_raw_logits(files, **source.as_options())


def _fit_to(calibrator: Calibrator, predictions: Predictions, logits: FloatArray | None) -> None:
    """Fit a calibrator to checked predictions, or to the raw logits behind them."""
    calibrator.classes_ = np.array(predictions.classes)
    if logits is not None:
        calibrator.learn_from(logits, predictions.labels, predictions.weights)
        return
    log_probs = predictions.with_labels(predictions.labels).log_probs  # Not cached: as large as probs.
    warn_of_impossible_labels(calibrator, log_probs, predictions.labels, predictions.weights)
    calibrator.learn(log_probs, predictions.labels, predictions.weights)


def _calibrated(calibrator: Calibrator, predictions: Predictions, logits: FloatArray | None) -> Predictions:
    """Return calibrated predictions, computed in blocks: all logarithms at once would double the memory."""
    probs, observed = np.empty(predictions.probs.shape), np.empty(predictions.n_samples)
    blocks = list(row_blocks(probs.shape))

    def fill(rows: slice) -> None:
        some = predictions.take(rows)
        part = calibrate(calibrator, some) if logits is None else calibrate_logits(calibrator, logits[rows], some)
        probs[rows], observed[rows] = part.probs, part.observed_log_probs

    for _ in told(in_order(fill, blocks), len(blocks)):
        pass
    return Predictions._joined(predictions, probs, observed)  # noqa: SLF001 (normalised by construction)
