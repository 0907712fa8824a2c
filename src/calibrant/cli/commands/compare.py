"""`calibrant compare`: models on the same rows, with paired differences."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from calibrant._border.numerals import count, decimals, pvalue, significant
from calibrant._border.warn import warn
from calibrant.cli.options.judging import Comparing
from calibrant.cli.options.reading import (
    ALL,
    INPUT,
    JUDGING,
    OUTPUT,
    Cluster,
    File,
    distinct,
    expanded,
    first_given,
    first_of,
)
from calibrant.cli.printing import show
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from calibrant.cli.options.reading import Columns
    from calibrant.forecasts import Forecasts
    from calibrant.predictions import Predictions
    from calibrant.results import ChangeTest, Comparison


def command(  # noqa: PLR0913 (each is one decision of the user)
    *files: File,
    options: Comparing = Comparing(),
    metrics: Annotated[tuple[str, ...], Parameter(group=OUTPUT, consume_multiple=True)] = (),
    baseline: Annotated[str | None, Parameter(group=JUDGING)] = None,
    row_id: Annotated[str | None, Parameter(name="--id", group=INPUT)] = None,
    cluster: Cluster = None,
    differences: Annotated[Literal["valid", "percentile"], Parameter(group=JUDGING)] = "valid",
    bandwidth: Annotated[Literal["baseline", "own"], Parameter(group=JUDGING)] = "baseline",
    fail_if: Annotated[tuple[str, ...], Parameter(group=JUDGING, consume_multiple=True)] = (),
    fail_if_worse_than: Annotated[str | None, Parameter(group=JUDGING)] = None,
) -> int:
    """Compare models that predicted the same rows, one per FILE, or the sketches of two periods.

    All models are judged on the same rows, so differences from the baseline are paired. With two sketches, the
    command tests whether calibration has changed; it then takes only --resamples, --seed, --json and --quiet.

    For example:
      calibrant compare before.parquet after.parquet
      calibrant compare a.csv b.csv c.csv --id row --metrics nll brier kde-ece
      calibrant compare old.csv new.csv --fail-if-worse-than old --quiet
      calibrant compare monday.sketch tuesday.sketch
      calibrant compare old.csv new.csv --label y --mean mu --sd sigma

    Parameters
    ----------
    files
        Two or more files, or a pattern such as 'model-*.csv'; each model is named after its file.
    metrics
        Names of metrics; by default the scores and the calibration errors that matter most.
    baseline
        Name of the model to compare with; by default the first file.
    row_id
        Column that identifies the rows, if their order differs between the files.
    differences
        How to judge differences: "valid" uses a method with known coverage, and none for metrics without one;
        "percentile" uses bootstrap percentiles for every metric; docs/coverage.md tells how often these cover.
    bandwidth
        Bandwidth of metrics such as kde-ece: that of the baseline for all models, or each model's own.
    fail_if
        Exit with code 1 if a condition such as 'ece>0.05' holds for any model on all rows together, regardless of --by.
    fail_if_worse_than
        Exit with code 1 if any model is significantly (or infinitely) worse than this one, the baseline, in any metric
        on all rows together, regardless of --by; with code 2 if no difference has an interval to judge it by.
    """
    given = {
        "--metrics": metrics,
        "--baseline": baseline,
        "--id": row_id,
        "--cluster": cluster,
        "--differences": differences != "valid",
        "--bandwidth": bandwidth != "baseline",
        "--fail-if": fail_if,
        "--fail-if-worse-than": fail_if_worse_than,
    }
    if _are_sketches(files):
        _check_sketches(options, given)
        return _compare_sketches(files, options)
    from calibrant import metrics as every
    from calibrant.assessment.comparison import DEFAULT_METRICS, compare
    from calibrant.cli import gates
    from calibrant.cli.printing.assessments import print_comparison
    from calibrant.metrics.names import chosen_metrics

    known = every.FORECAST_METRICS if options.are_forecasts else every.METRICS
    chosen = [*chosen_metrics(_without_all(metrics), known)] or None
    gates.check_gates(fail_if, chosen or ([*known] if options.are_forecasts else DEFAULT_METRICS), known)
    _check_kind(options, given)
    paths = _named(expanded(files) if files else [])
    base = _baseline(paths, baseline, fail_if_worse_than)
    options.check()
    models, others = _read(paths, options, row_id, (cluster, options.by))
    groups: dict[str, object] = {"clusters": others.get(cluster or ""), "by": others.get(options.by or "")}
    drawn = "rows" if cluster is None else "clusters"
    with show.progress_bar("comparing", quiet=options.silent) as progress:
        comparison = compare(
            models,
            chosen,
            baseline=base,
            n_resamples=options.resamples,
            ranges=options.json,  # The table has no room for ranges.
            differences=differences,
            bandwidth=bandwidth,
            **groups,
            progress=progress,
            rng=options.seed,
        )
    if options.json:
        show.print_json(comparison)
    else:
        print_comparison(comparison, drawn)
        for name, group in comparison.groups.items():
            show.print_heading(f"{options.by} {name}: {show.rows(group.n_samples)}")
            print_comparison(group, drawn)
    failures = [line for model in models for line in gates.failed(fail_if, comparison.of(model), model)]
    if fail_if_worse_than is not None:
        failures += _worse(comparison, powerless_is_fine=bool(failures))
    return show.report_failures(failures)


def _without_all(metrics: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names; refuse "all", which only `evaluate` takes."""
    if ALL in metrics:
        raise InputError(
            "--metrics must be names of metrics, but one is 'all'. p-values are adjusted for the number of "
            "differences, so that all metrics would hide the one that matters: name a few, such as nll brier "
            "rms-debiased."
        )
    return metrics


def _check_sketches(options: Comparing, given: "Mapping[str, object]") -> None:
    """Refuse options that do not apply to two sketches: a gate that is ignored would seem to pass."""
    if option := first_of(given) or options.first_of_rows:
        raise InputError(
            f"{option} is for models on the same rows, but sketches hold no rows: they are only tested for a change of "
            "calibration. Leave it out, or compare files of rows."
        )
    options.check()


def _check_kind(options: Comparing, given: "Mapping[str, object]") -> None:
    """Refuse options that do not apply to forecasts, whose limits are formulas."""
    unused = {name: given[name] for name in ("--cluster", "--differences", "--bandwidth")}
    options.refuse_for_forecasts(unused | {"--resamples": first_given(options, ["resamples"])})


def _named(files: list[Path]) -> dict[str, Path]:
    """Return the files by model: the file name without extension, or the path if these names repeat."""
    if len(files) < 2:
        raise InputError("compare needs at least two files: the baseline first, then the others.")
    return dict(zip(distinct(files, [file.stem for file in files]), files, strict=True))


def _baseline(models: "Collection[str]", baseline: str | None, no_worse_than: str | None) -> str | None:
    """Return the model that the others are compared with, None for the first."""
    for option, wanted in (("--fail-if-worse-than", no_worse_than), ("--baseline", baseline)):
        if wanted is not None and wanted not in models:
            names = ", ".join(map(repr, models))
            raise InputError(f"{option} must be one of the files, {names}, but is {wanted!r}.")
    if None not in (baseline, no_worse_than) and baseline != no_worse_than:
        raise InputError(
            f"--fail-if-worse-than is about the baseline, but names {no_worse_than!r}, and --baseline {baseline!r}. "
            "Leave one of them out."
        )
    return baseline if no_worse_than is None else no_worse_than


def _worse(comparison: "Comparison", *, powerless_is_fine: bool) -> list[str]:
    """Return the models that are worse than the baseline; warn of those that cannot be judged, and fail if none can."""
    from calibrant.cli import gates

    for line in gates.not_judged(comparison):
        warn(line)
    if gates.is_powerless(comparison) and not powerless_is_fine:
        raise InputError(
            f"--fail-if-worse-than {comparison.baseline} cannot be judged by any of these metrics; the notes say why. "
            "Name others with --metrics, such as nll or brier, or give more rows."
        )
    return gates.worse_than_baseline(comparison)


def _read(
    named: dict[str, Path], options: Comparing, row_id: str | None, others: tuple[str | None, ...]
) -> "tuple[Mapping[str, Predictions | Forecasts], Columns]":
    """Read every file, by the name of its model, with rows in the order of the first, and other columns of that."""
    first, *_ = named.values()
    parts = [options.either([file], row_id, *(others if file == first else ())) for file in named.values()]
    models = {name: data for name, (data, _) in zip(named, parts, strict=True)}
    if row_id is not None:
        ids = [_ids(file, row_id, columns[row_id]) for file, (_, columns) in zip(named.values(), parts, strict=True)]
        for (name, file), found in zip(named.items(), ids, strict=True):
            models[name] = models[name].take(_positions(ids[0], found, f"{first.name} and {file.name}"))
    return models, parts[0][1]


def _ids(file: Path, column: str, found: "NDArray[np.generic]") -> dict[object, int]:

    values = found.tolist()
    rows = {value: row for row, value in enumerate(values)}
    if len(rows) < len(values):
        twice = next(value for row, value in enumerate(values) if rows[value] != row)
        raise InputError(f"--id must identify each row, but {column} of {file.name} holds {twice!r} more than once.")
    return rows


def _positions(wanted: dict[object, int], found: dict[object, int], files: str) -> list[int]:

    missing = [value for value in wanted if value not in found]
    if missing or len(found) > len(wanted):
        what = f"the second lacks {missing[0]!r}" if missing else "the second has further rows"
        raise InputError(f"{files} must hold the same rows, but {what}.")
    return [found[value] for value in wanted]


def _are_sketches(files: tuple[Path, ...]) -> bool:
    """Whether all files are sketches; refuse a mixture of sketches and rows."""
    from calibrant.cli.options.engines import SKETCH

    found = [file.suffix.lower() == SKETCH for file in files]
    if any(found) and not all(found):
        raise InputError("compare takes either sketches or files of rows, but got both. Make a sketch of each file.")
    return any(found)


def _compare_sketches(files: tuple[Path, ...], options: Comparing) -> int:
    """Compare two sketches, and print what was found."""
    from calibrant.scale import read_sketch
    from calibrant.scale.over_time import compare_periods

    if len(files) != 2:
        raise InputError(f"compare needs two sketches, but {len(files)} are given. Use watch for more.")
    one, other = distinct(files, [file.stem for file in files])
    before, after = map(read_sketch, files)
    result = compare_periods(before, after, names=(one, other), n_resamples=options.resamples, rng=options.seed)
    if options.json:
        show.print_json(result)
    else:
        show.print_lines([result.headline], show.STYLES["good" if result.headline.startswith("No") else "bad"])
        show.print_lines(_about_change(result, options.resamples))
    return 0


def _about_change(result: "ChangeTest", n_resamples: int) -> list[str]:
    width = max(len(name) for name in result.names)
    own = [
        f"  {name:<{width}}  {count(n):>12} rows; log-odds {decimals(a)} + {decimals(b)} z, where z is the predicted "
        "log-odds"
        for name, n, a, b in zip(result.names, result.n_samples, result.intercepts, result.slopes, strict=True)
    ]
    ratio = f"likelihood ratio {significant(result.statistic)}, {pvalue(result.pvalue)}"
    redrawn = pvalue(result.omnibus_pvalue, 1 / (n_resamples + 1))
    return [
        *own,
        f"Level and slope: {ratio} (chi-squared, 2 degrees of freedom).",
        f"Any change, by redraws of which outcomes belong to which period: {redrawn}.",
        "A change is stated if either p-value is at most 0.025.",
        *result.notes,
    ]
