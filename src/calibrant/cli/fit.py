"""`calibrant fit`: learn a calibrator from a file of predictions."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from calibrant._border.numerals import as_given
from calibrant.cli.engines import Engine
from calibrant.cli.fitted import MEASURES, OPTIMISTIC, describe, fingerprint, learnt, print_fitted
from calibrant.cli.groups import Features
from calibrant.cli.intervals import IntervalOptions
from calibrant.cli.options import FIXING, EitherSource, File, Out, Source, expanded

if TYPE_CHECKING:
    from calibrant._border.types import FloatArray
    from calibrant.calibrators import Calibrator
    from calibrant.predictions import Predictions
    from calibrant.results import Estimate


BY_PASSES = ("ts", "vs", "ms")
"""Methods that an engine fits by passes over the files."""


def fit(
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
    from calibrant.cli import outputs
    from calibrant.cli.group_fixing import fit_groups, wants_groups
    from calibrant.exceptions import InputError

    if method == "auto":
        raise InputError(
            "--method must name a calibrator, but is 'auto'. calibrant recommend judges them on rows that they were "
            "not fitted to, and prints the command that fits the best."
        )
    paths = expanded(files)
    source.check()
    engine.check(paths, source)
    _check_engine(engine, paths, raw_logits=raw_logits, of_groups=wants_groups(method, features))
    if wants_groups(method, features):
        outputs.check_out(out, paths, outputs.CALIBRATOR)
        _check_groups(source, raw_logits=raw_logits)
        intervals.check("groups", of_forecasts=False)
        fit_groups(paths, source, features, out)
        return
    if source.are_forecasts:
        from calibrant.cli.forecasting import fit_forecasts

        outputs.check_out(out, paths, outputs.CALIBRATOR)
        if raw_logits:
            raise InputError("--raw-logits is for classes, but the options describe forecasts. Remove it.")
        fit_forecasts(paths, source, method, intervals, out)
        return
    intervals.check(method, of_forecasts=False)
    _fit_classes(paths, "ts" if method is None else method, source, engine, out, raw_logits=raw_logits)


def _check_engine(engine: Engine, files: list[Path], *, raw_logits: bool, of_groups: bool) -> None:
    """Refuse a sketch for methods that need rows, and options that no fit uses."""
    from calibrant.exceptions import InputError

    if engine.waves is not None:
        raise InputError("--waves is for the kernel error of evaluate and report; no calibrator uses it. Remove it.")
    option = "--raw-logits" if raw_logits else "the fix of groups" if of_groups else ""
    if option and engine.takes(files):
        raise InputError(f"{option} needs rows in memory, but they are read as a sketch. Leave out one of them.")


def _check_groups(source: EitherSource, *, raw_logits: bool) -> None:
    """Refuse to fix groups of forecasts or of raw logits."""
    from calibrant.exceptions import InputError

    if source.are_forecasts or raw_logits:
        what = "forecasts" if source.are_forecasts else "raw logits"
        raise InputError(
            f"groups are fixed by the log-odds of classes, but the options are for {what}. Leave out --features, or "
            "fit each group from a separate file."
        )


def _fit_classes(
    paths: list[Path], method: str, source: Source, engine: Engine, out: Path, *, raw_logits: bool
) -> None:
    """Learn a calibrator from class predictions."""
    from calibrant.calibrators.combinations.compose import parse
    from calibrant.calibrators.names import calibrator_name
    from calibrant.calibrators.store import save
    from calibrant.cli import outputs, show
    from calibrant.counts import class_shares

    method = calibrator_name(method)
    calibrator = _raw(method) if raw_logits else parse(method, scores="logits" if source.logits else "probs")
    _refuse_redirection(method)
    outputs.check_out(out, paths, outputs.CALIBRATOR)
    if method in BY_PASSES and not raw_logits and engine.makes_sketch(paths):
        _fit_passes(paths, method, source, engine, out)
        return
    predictions, logits = _read_raw(paths, source) if raw_logits else (_read(paths, source, engine), None)
    with show.listening_bar("fitting", quiet=source.silent):
        fit_to(calibrator, predictions, logits)
    details: dict[str, object] = {
        "method": method,
        "n_samples": predictions.n_rows,
        "fingerprint": fingerprint(predictions.probs),
        "class_shares": class_shares(predictions).tolist(),
    }
    if raw_logits:
        details["scores"] = calibrator.scores
    checksum = save(calibrator, out, details=details)
    with show.listening_bar("measuring", quiet=source.silent):
        before, after, changed = in_sample(calibrator, predictions, logits)
    found, measured = learnt(calibrator), {"before": before, "after": after, "changed": changed}
    what = f"{method} of raw logits" if raw_logits else method
    print_fitted(
        f"{what}, fitted to {show.rows(predictions.n_rows)} of {predictions.n_classes} classes",
        describe(found),
        {**details, "learnt": found, "in_sample": measured, "sha256": checksum},
        out,
        json=source.json,
    )


def _fit_passes(paths: list[Path], method: str, source: Source, engine: Engine, out: Path) -> None:
    """Learn a calibrator by passes over files, with few rows in memory at a time."""
    from calibrant.calibrators.store import save
    from calibrant.cli import show

    found = engine.fit(paths, source, method)
    details: dict[str, object] = {"method": method, "n_samples": found.n_samples, "class_shares": found.shares.tolist()}
    checksum = save(found.calibrator, out, details=details)
    if source.json:
        measured = {"nll_before": found.before, "nll_after": found.after, "passes": found.n_passes}
        show.print_json({**details, "learnt": learnt(found.calibrator), "in_sample": measured, "sha256": checksum})
        return
    rows = f"{show.rows(found.n_samples)} of {len(found.shares)} classes by {found.n_passes} passes"
    show.print_heading(f"{method}, fitted to {rows}")
    show.print_lines(describe(learnt(found.calibrator)))
    show.print_lines(
        [f"log loss of the same rows: {as_given(found.before)} before, {as_given(found.after)} after", OPTIMISTIC]
    )
    show.print_path("calibrator", out)


def _read(files: list[Path], source: Source, engine: Engine) -> "Predictions":
    """Read rows, or the cells of a sketch of two classes."""
    from calibrant.exceptions import InputError
    from calibrant.scale.grouped import GroupedSketch

    found = engine.sketch(files, source)
    sketch = found.total() if isinstance(found, GroupedSketch) else found
    if sketch is None:
        return source.predictions(files)
    if sketch.n_classes > 2:
        raise InputError(
            f"a sketch of {sketch.n_classes} classes holds no whole rows of probabilities, which calibrators of "
            "several classes need. Fit to the rows, or to a part of them."
        )
    return sketch.one_vs_rest(1)


def _refuse_redirection(method: str) -> None:
    """Refuse to run if the shell has taken an unquoted ts>irm for a redirection to a file named irm."""
    from calibrant.calibrators import CALIBRATORS
    from calibrant.exceptions import InputError

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


def _raw(method: str) -> "Calibrator":
    """Return the calibrator of this name for raw logits; refuse a method that cannot use them."""
    from calibrant.calibrators.combinations.compose import parse
    from calibrant.exceptions import InputError

    calibrator = parse(method, scores="raw-logits")
    try:
        calibrator.check_raw_logits()
    except InputError as error:
        advice = str(error).replace('build it with scores="logits"', "write --logits instead of --raw-logits")
        raise InputError(advice) from error
    return calibrator


def _read_raw(files: list[Path], source: Source) -> "tuple[Predictions, FloatArray]":
    """Read logits, and keep them beside the predictions."""
    from calibrant.cli.show import listening_bar
    from calibrant.exceptions import InputError
    from calibrant.io import read_raw_logits

    if source.renormalise or source.percent:
        option = "--renormalise" if source.renormalise else "--percent"
        raise InputError(f"{option} is for probabilities, but --raw-logits means that the columns hold logits.")
    with listening_bar("reading", quiet=source.silent):
        return read_raw_logits(files, **source.as_options())


def fit_to(calibrator: "Calibrator", predictions: "Predictions", logits: "FloatArray | None" = None) -> None:
    """Fit a calibrator to checked predictions, or to the raw logits behind them."""
    import numpy as np

    from calibrant.calibrators.inputs import warn_of_impossible_labels

    calibrator.classes_ = np.array(predictions.classes)
    if logits is not None:
        calibrator.learn_from(logits, predictions.labels, predictions.weights)
        return
    log_probs = predictions.with_labels(predictions.labels).log_probs  # Not cached: as large as probs.
    warn_of_impossible_labels(calibrator, log_probs, predictions.labels, predictions.weights)
    calibrator.learn(log_probs, predictions.labels, predictions.weights)


def in_sample(
    calibrator: "Calibrator", predictions: "Predictions", logits: "FloatArray | None" = None
) -> "tuple[dict[str, Estimate], dict[str, Estimate], float]":
    """Return the measures before and after, and the share of rows whose predicted class has changed."""
    import numpy as np

    from calibrant.metrics import METRICS

    calibrated = _calibrated(calibrator, predictions, logits)
    before, after = ({name: METRICS[name].estimate(p) for name in MEASURES} for p in (predictions, calibrated))
    return before, after, float(np.mean(calibrated.predicted != predictions.predicted))


def _calibrated(calibrator: "Calibrator", predictions: "Predictions", logits: "FloatArray | None") -> "Predictions":
    """Return calibrated predictions, computed in blocks: all logarithms at once would double the memory."""
    import numpy as np

    from calibrant._core.progress import told
    from calibrant._core.threads import in_order
    from calibrant.calibrators import calibrate
    from calibrant.calibrators.calibrate import calibrate_logits
    from calibrant.predictions import Predictions, row_blocks

    probs, observed = np.empty(predictions.probs.shape), np.empty(predictions.n_samples)
    blocks = list(row_blocks(probs.shape))

    def fill(rows: slice) -> None:
        some = predictions.take(rows)
        part = calibrate(calibrator, some) if logits is None else calibrate_logits(calibrator, logits[rows], some)
        probs[rows], observed[rows] = part.probs, part.observed_log_probs

    for _ in told(in_order(fill, blocks), len(blocks)):
        pass
    return Predictions._joined(predictions, probs, observed)  # noqa: SLF001 (normalised by construction)
