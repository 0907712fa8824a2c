"""`calibrant test`: whether the miscalibration could be chance."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from calibrant._border.numerals import as_given
from calibrant.cli.options.judging import Options
from calibrant.cli.options.reading import ALL, JUDGING, File, expanded, first_given
from calibrant.cli.printing import show
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from calibrant.hypotest import CalibrationTest
    from calibrant.kernels.discrepancy import Data
    from calibrant.results import TestResult

SLOW = "redraws of the kernel error of ensembles take minutes. Name the test to run it; omnibus is exact as well."
"""Why "all" leaves out one test of ensembles."""


def command(
    *files: File,
    options: Options = Options(),
    test: Annotated[tuple[str, ...], Parameter(name="--test", group=JUDGING, consume_multiple=True)] = (),
    kernel: Annotated[str | None, Parameter(group=JUDGING)] = None,
    calibrator: Annotated[Path | None, Parameter(group=JUDGING)] = None,
    fail_below: Annotated[float | None, Parameter(group=JUDGING)] = None,
) -> int:
    """Test whether the deviations from calibration in FILES could be chance.

    The default is the omnibus test behind the verdict of evaluate, for classes and for forecasts; with --kernel, the
    consistency test. Both are exact: they redraw the labels from the predictions.

    For example:
      calibrant test predictions.csv
      calibrant test predictions.csv --test omnibus skce --fail-below 0.05
      calibrant test predictions.csv --test all --json
      calibrant test new.csv --label y --mean mu --sd sigma --calibrator conformal.json

    Parameters
    ----------
    files
        CSV, JSON Lines, Parquet, Arrow IPC or NPZ with one column per class and a column of labels, or with forecasts.
        The rows of several files are taken together.
    test
        Names of tests, or "all": then tests that cannot be applied to these rows say why, and the others run.
    kernel
        Kernel on predictions for the kernel tests, such as exponential or gaussian.
    calibrator
        File of conformal intervals, written by calibrant fit: test whether they contain as many values of these new
        rows as promised.
    fail_below
        Exit with code 1 if any p-value, adjusted for the number of tests, is below this level.
    """
    from calibrant.cli import gates
    from calibrant.cli.printing.tests import print_tests, revealed
    from calibrant.hypotest.multiple import holm
    from calibrant.hypotest.suited import measured

    _check_level(fail_below)
    paths = expanded(files)
    options.check()
    if calibrator is not None:
        _check_intervals(options, has_test=bool(test) or kernel is not None)
        return _test_intervals(paths, calibrator, options, fail_below)
    _check_names(test, kernel, options)
    data, _ = options.either(paths)
    tests, refused = _chosen(test, options, kernel, data)
    results = _results(tests, options, data, refused, must_run=test != (ALL,))
    gates.check_reach(results, fail_below)
    adjusted = holm({name: result.pvalue for name, result in results.items()})
    if options.json:
        found = {
            name: {
                "result": replace(result, null=None),
                "adjusted": adjusted[name],
                "revealed_by": revealed(result),
            }
            for name, result in results.items()
        }
        show.print_json(found | {name: {"refused": reason} for name, reason in refused.items()})
    else:
        errors = {name: measured(tests[name], result) for name, result in results.items()}
        print_tests(results, adjusted, errors, refused)
    return show.report_failures(gates.below(adjusted, fail_below))


def _chosen(
    names: tuple[str, ...], options: Options, kernel: str | None, data: "Data"
) -> "tuple[dict[str, CalibrationTest], dict[str, str]]":
    """Return the named tests, or the default one, and why some of them do not apply to the data."""
    from calibrant.hypotest.suited import configured, unsuited

    found = _names(names) if names else ("omnibus" if kernel is None else "consistency",)
    refused = {name: reason for name in found if (reason := unsuited(name, data))}
    if refused and names != (ALL,):  # A test that was requested by name must run.
        name, reason = next(iter(refused.items()))
        raise InputError(f"--test {name}: {reason}")
    suited = [name for name in found if name not in refused]
    tests: dict[str, CalibrationTest] = {name: configured(name, data, options.resamples, kernel) for name in suited}
    if names == (ALL,) and kernel is None and _are_ensembles(data):
        refused["consistency"] = SLOW
        del tests["consistency"]
    return tests, refused


def _results(
    tests: "Mapping[str, CalibrationTest]", options: Options, data: "Data", refused: dict[str, str], *, must_run: bool
) -> "dict[str, TestResult]":
    """Run the tests; those that refuse the rows go to `refused`, unless they must run."""
    results = {}
    for name, test in tests.items():
        with show.progress_bar(name, quiet=options.silent) as progress:
            try:
                results[name] = test(data, rng=options.seed, progress=progress)
            except InputError as error:
                if must_run:
                    raise InputError(f"--test {name}: {error}") from error
                refused[name] = str(error)
    if not results:
        raise InputError("no test can be applied to these rows. " + next(iter(refused.values())))
    return results


def _are_ensembles(data: object) -> bool:
    from calibrant.forecasts import Forecasts, Samples

    return isinstance(data, Forecasts) and isinstance(data.distribution, Samples)


def _check_intervals(options: Options, *, has_test: bool) -> None:
    """Refuse options that the test of intervals does not use, before anything is read."""
    if has_test:
        raise InputError("--calibrator tests the promise of intervals, without --test and --kernel. Remove them.")
    if option := first_given(options, ("resamples", "seed")):
        raise InputError(f"{option} has no effect here: the promise of intervals is tested by counting. Remove it.")


def _test_intervals(files: list[Path], calibrator: Path, options: Options, fail_below: float | None) -> int:
    """Test whether intervals keep their promise on new rows."""
    from calibrant.cli import gates
    from calibrant.cli.work.intervals import judge_fitted, print_check

    found = judge_fitted(files, calibrator, options)
    if options.json:
        show.print_json(found)
    else:
        print_check(found)
    if fail_below is not None and found.pvalue is None:
        raise InputError(f"--fail-below cannot be judged: {found.reason.rstrip('.')}. Leave it out.")
    return show.report_failures(gates.below({"the promise of the intervals": found.pvalue or 0.0}, fail_below))


def _check_level(level: float | None) -> None:
    if level is not None and not 0 < level <= 1:
        raise InputError(f"--fail-below must be above 0 and at most 1, but is {as_given(level)}.")


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    from calibrant.hypotest import TESTS

    return tuple(TESTS) if names == (ALL,) else tuple(dict.fromkeys(names))


def _check_names(names: tuple[str, ...], kernel: str | None, options: Options) -> None:
    """Refuse tests and kernels that do not exist, or do not belong together, before anything is read."""
    from calibrant._border.spellings import meant
    from calibrant.hypotest import TESTS
    from calibrant.hypotest.suited import RADIAL

    unknown = [name for name in names if name not in TESTS and names != (ALL,)]
    if unknown:
        suited = [name for name, test in TESTS.items() if test.takes_forecasts or not options.are_forecasts]
        raise InputError(
            f'--test must be "all" or names of tests, but {unknown[0]!r} is not. {meant(unknown[0], suited)}'
        )
    if kernel is not None and kernel not in RADIAL:
        raise InputError(f"--kernel must be one of {', '.join(RADIAL)}, but is {kernel!r}.")
    if kernel is not None:
        _check_kernel(names, of_quantiles=options.quantiles is not None)


def _check_kernel(names: tuple[str, ...], *, of_quantiles: bool) -> None:
    """Refuse a kernel that not all named tests would use."""
    from calibrant.hypotest import TESTS
    from calibrant.hypotest.suited import takes_kernel

    if of_quantiles:
        raise InputError("--kernel needs whole distributions, but columns of quantiles have none. Remove it.")
    without = [name for name in names if names != (ALL,) and not takes_kernel(TESTS[name])]
    if without:
        raise InputError(f"--kernel is for the kernel tests, but {without[0]} has none. Remove one of them.")
