"""The simulations behind the coverage tables: true values, rows of the tables, and a reduced grid."""

import csv
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from scipy.special import digamma
from scipy.stats import norm

from calibrant.lab.store import Store
from calibrant.metrics import (
    ECE,
    KCE,
    METRICS,
    NLL,
    SKCE,
    Accuracy,
    Brier,
    CoxIntercept,
    CoxSlope,
    InTheLarge,
    ObservedExpectedRatio,
)
from naming import each
from one_process import one_process
from studies.coverage import STUDY
from studies.coverage.battery import BATTERY, LEVEL, LIFTED, OwnMethod, Paired
from studies.coverage.cells import BETAS, CLASSES, SHAPES, SLOPES, Cell, World, simulate
from studies.coverage.rows import kept_truths
from studies.coverage.tables import rows_of
from studies.coverage.truths import LENGTHSCALES, SKCE_NAMES, Truth, skce_between, true_values
from studies.coverage.units import LimitsUnit, plan
from studies.simulations import command_line
from studies.simulations.units import load

SMALL = {"n_rows": 2**14, "n_batches": 16}
TINY = r"beta-2 K=2 slope=0.5 (truth|n=100 (accuracy|rms-debiased|naive ece|nll difference))$"
PAGES = ("coverage.csv", "truths.csv", "coverage.md")


DOCS = Path(__file__).parents[2] / "docs" / "coverage"
TRUTHS = kept_truths(DOCS)
"""The committed true values, of a million rows each."""


@each("shape", [shape for shape in SHAPES if shape != "normal-logits"])
def test_true_values_of_calibrated_predictions_are_the_known_ones(shape):
    """Means of Dirichlet laws: of p^2, and of p log p."""
    found = TRUTHS[World(shape, 1.0)]
    sizes = {"dirichlet-1": np.ones(3), "dirichlet-0.1": np.full(10, 0.1)}
    alpha = np.array(BETAS[shape]) if shape in BETAS else sizes[shape]
    total = alpha.sum()
    brier = 1 - np.sum(alpha * (alpha + 1)) / (total * (total + 1))
    nll = np.sum(alpha / total * (digamma(total + 1) - digamma(alpha + 1)))
    assert found["brier"].value == pytest.approx(brier, abs=1e-5 + 5 * found["brier"].error)
    assert found["nll"].value == pytest.approx(nll, abs=1e-5 + 5 * found["nll"].error)
    for name in ("ece", "kde-ece", "rms", "rms-one-vs-rest", *SKCE_NAMES, "ece difference"):
        assert found[name] == Truth(0.0, 0.0)
    assert found["cox-slope"].value == pytest.approx(1.0, rel=1e-9)


UNCALIBRATED = [next(World(shape, slope) for slope in (0.5, 0.7) if World(shape, slope) in TRUTHS) for shape in SHAPES]


@each("world", UNCALIBRATED)
def test_the_committed_true_values_are_those_of_the_code(world):
    """Of fewer rows, within five errors and what a coarser grid changes."""
    found = true_values(world, n_rows=2**12, n_batches=4)
    assert [*found] == [*TRUTHS[world]]
    for name, (value, error) in TRUTHS[world].items():
        if not name.startswith(("rms", "kde-ece")):  # Their bins hold too few of these rows.
            assert found[name].value == pytest.approx(value, abs=1e-3 + 5 * (error + found[name].error)), name


@each("world", UNCALIBRATED)
@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
def test_metrics_of_many_simulated_rows_approach_the_true_values(world):
    found = TRUTHS[world]
    p, other = simulate(Cell(world, 60_000), np.random.default_rng(1))
    metrics = {"nll": NLL(), "brier": Brier(), "accuracy": Accuracy(), "ece": ECE(), "rms": METRICS["rms-debiased"]}
    for name, metric in metrics.items():
        assert metric(p) == pytest.approx(found[name].value, abs=0.012, rel=0.012)
    assert CoxSlope()(p) == pytest.approx(found["cox-slope"].value, rel=0.05)
    assert CoxIntercept()(p) == pytest.approx(found["cox-intercept"].value, abs=0.15)
    assert InTheLarge()(p) == pytest.approx(found["in-the-large"].value, abs=0.05)
    assert ObservedExpectedRatio()(p) == pytest.approx(found["oe-ratio"].value, rel=0.012)
    if CLASSES[world.shape] > 2:
        for name in ("one-vs-rest", "per-predicted-class"):
            assert METRICS[f"rms-debiased-{name}"](p) == pytest.approx(found[f"rms-{name}"].value, rel=0.03)
    assert NLL()(other) - NLL()(p) == pytest.approx(found["nll difference"].value, abs=0.01, rel=0.05)
    assert Brier()(other) - Brier()(p) == pytest.approx(found["brier difference"].value, abs=0.01, rel=0.05)
    assert CoxSlope()(other) - CoxSlope()(p) == pytest.approx(found["cox-slope difference"].value, abs=0.06)
    assert ECE()(other) < 0.012
    few = p if CLASSES[world.shape] == 2 else p.take(np.arange(4000))
    kernel = BATTERY["skce"].metric.kernel
    (at_median,) = skce_between(np.array([SKCE().details(few)["lengthscale"]]), found)
    assert SKCE()(few) == pytest.approx(at_median, rel=0.2)
    assert SKCE(kernel)(few) == pytest.approx(found["skce at 0.25"].value, rel=0.2)
    assert found["skce difference"].value == -found["skce at 0.25"].value
    assert KCE(kernel)(few) == pytest.approx(np.sqrt(found["skce at 0.25"].value), rel=0.13)


def test_kernel_errors_between_known_lengthscales_are_interpolated():
    known = {name: Truth(scale / (1 + scale), 0.0) for name, scale in zip(SKCE_NAMES, LENGTHSCALES, strict=True)}
    scales = np.array([1.9, 0.37, 0.25, 0.05, 0.0007])
    assert skce_between(scales, known) == pytest.approx(scales / (1 + scales), rel=0.005)
    assert skce_between(np.array([0.25, 5.0]), known) == pytest.approx([0.2, 2 / 3], rel=1e-12)


@pytest.mark.parametrize("slope", SLOPES)
def test_the_second_model_is_calibrated(slope):
    """Sums of its residuals, alone and times its predictions, within 4.4 standard errors of 0."""
    for shape in SHAPES:
        p = simulate(Cell(World(shape, slope), 20_000), np.random.default_rng(2)).other
        for weight in (1.0, p.probs):
            error = np.sqrt((weight**2 * p.probs * (1 - p.probs)).sum(axis=0))
            assert np.all(np.abs((weight * p.residuals).sum(axis=0)) < 4.4 * error + 1e-9)


def test_limits_are_counted_by_where_they_miss():
    unit = LimitsUnit(Cell(World("beta-2", 1.0), 100, 5), "naive ece")
    limits = np.array([[0, 1, 2, 3], [0.2, 0.4, 0, 1], [0.6, 0.7, 0, 0.5], [np.nan] * 4, [0.5, 0.5, 0, 0.1]])
    percentile, basic = rows_of(unit, limits, {"ece": Truth(0.5, 0.0)})
    assert (percentile.covered, percentile.too_low, percentile.too_high, percentile.answered) == (2, 1, 1, 4)
    assert (basic.covered, basic.too_low, basic.too_high) == (2, 1, 1)
    assert percentile.coverage == 0.5
    assert not percentile.is_good
    assert percentile.width == pytest.approx(0.15)


def test_limits_of_a_tuned_kernel_are_about_the_error_at_the_lengthscale_of_the_sample():
    unit = LimitsUnit(Cell(World("beta-2", 0.5), 100, 4), "skce-median")
    known = {name: Truth(scale, 0.0) for name, scale in zip(SKCE_NAMES, LENGTHSCALES, strict=True)}
    limits = np.array([[0.2, 0.3, 0.25], [0.2, 0.3, 0.5], [0.2, 0.3, 0.125], [np.nan, np.nan, 0.25]])
    (row,) = rows_of(unit, limits, known)
    assert (row.covered, row.too_low, row.too_high, row.answered) == (1, 1, 1, 3)
    assert row.truth.value == pytest.approx(0.25, rel=1e-12)


def test_the_summary_has_a_range_for_every_region_with_cells(finished):
    _, pages = finished
    page = pages["coverage.md"].decode()
    line = next(line for line in page.splitlines() if line.startswith("| accuracy: wilson |"))
    assert line.count(" to ") == 5  # All cells, 100 rows, all others, not calibrated, two classes.


def test_every_unit_has_a_file_of_its_own(tmp_path):
    units = plan()
    assert len({unit.filename for unit in units}) == len(units)
    assert {unit.cell.sets for unit in units if isinstance(unit, LimitsUnit)} == {1000}
    cells = {key: [u for u in units if isinstance(u, LimitsUnit) and u.key == key] for key in BATTERY}
    assert min(map(len, cells.values())) >= 12


def run(folder, *options, sets=6):
    arguments = ["--out", folder / "out", "--cache", folder / "cache", "--sets", sets, "--jobs", 1, "--only", TINY]
    # The pages are what is looked at here, not the last digits of true values.
    with one_process(), patch("studies.coverage.units.true_values", partial(true_values, **SMALL)):
        assert command_line.run(STUDY, [str(argument) for argument in (*arguments, *options)]) == 0
    return {page: (folder / "out" / page).read_bytes() for page in PAGES}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    return folder, run(folder)


def test_a_second_run_computes_nothing_and_damaged_files_are_done_again(finished):
    folder, pages = finished
    files = sorted((folder / "cache" / "steps").glob("*.json"))
    assert len(files) == 5
    stamps = [path.stat().st_mtime_ns for path in files]
    assert run(folder) == pages
    assert [path.stat().st_mtime_ns for path in files] == stamps
    for path, damage in zip(files, ("", "[]", "[[0.5, 0.4]]", "{", "{}"), strict=True):
        path.write_text(damage)
    assert run(folder) == pages


def test_tables_hold_every_method_and_name_what_is_missing(finished):
    _, pages = finished
    rows = list(csv.DictReader(pages["coverage.csv"].decode().splitlines()))
    assert [(row["metric"], row["method"], row["offered"]) for row in rows] == [
        ("accuracy", "wilson", "yes"),
        ("rms-debiased", "debiased", "yes"),
        ("naive ece", "percentile", "no"),
        ("naive ece", "basic", "no"),
        ("nll difference", "hall", "yes"),
        ("nll difference", "percentile", "no"),
        ("nll difference", "basic", "no"),
    ]
    page = pages["coverage.md"].decode()
    assert "- beta-2 K=2 slope=1 n=100 rms-debiased\n" in page
    assert "- beta-2 K=2 slope=0.5 n=100 rms-debiased\n" not in page
    assert "## naive ece: basic (not offered)" in page


def test_values_are_read_as_they_were_computed(finished):
    folder, _ = finished
    unit = LimitsUnit(Cell(World("beta-2", 0.5), 100, 6), "accuracy")
    np.testing.assert_array_equal(load(unit, Store(folder / "cache")), np.array(unit.compute(), dtype=float))


OFFERED = [
    (key, entry)
    for key, entry in BATTERY.items()
    if isinstance(entry, (OwnMethod, Paired)) and entry.offered and entry.cost < 70
]
SETS = 20
SLOPES = (1.0, 0.5, 1.5)
REDUCED = {key: [shape for shape in ("beta-2", "dirichlet-1") if shape in entry.shapes] for key, entry in OFFERED}


def least_coverage(sets):
    """Return what limits that cover 2 % less often than they say exceed, but for one time in a thousand."""
    return LEVEL - 0.02 - norm.ppf(0.999) * np.sqrt(LEVEL * (1 - LEVEL) / sets)


def shortened(unit, limits):
    """Return limits of 60 % of their width; a lengthscale behind them stays."""
    ends = limits[:, : 2 * len(BATTERY[unit.key].truths)].reshape(len(limits), -1, 2)
    middle = ends.mean(axis=2, keepdims=True)
    short = (middle + 0.6 * (ends - middle)).reshape(len(limits), -1)
    return np.hstack([short, limits[:, short.shape[1] :]])


def test_what_is_offered_covers(monkeypatch):
    """The reduced grid: 20 sets per cell of 200 rows, of 300 by class; the committed table has 1000 sets.

    The three or six cells of a kind of limits must cover in 84.3 or 86.9 % of their 60 or 120 sets, as long as chance
    alone is no reason. All limits together must in 88.0 %: they share 180 sets, those of 200 rows of both shapes and
    those of 300 rows. Limits of 60 % of their width do not. Both limits of a bootstrap of 39 samples are samples, as
    they are of 399.
    """
    monkeypatch.setattr("studies.coverage.battery.N_RESAMPLES", 39)
    covered, too_short = {}, {}
    for key, shapes in REDUCED.items():
        n = 300 if BATTERY[key].shapes == LIFTED else 200
        units = [LimitsUnit(Cell(World(shape, slope), n, SETS), key) for shape in shapes for slope in SLOPES]
        limits = [np.array(unit.compute(), dtype=float) for unit in units]
        rows = [rows_of(u, found, TRUTHS[u.cell.world])[0] for u, found in zip(units, limits, strict=True)]
        assert {row.method for row in rows} == {BATTERY[key].offered}
        # Refused where by chance far fewer rows are wrong than expected.
        assert sum(row.answered for row in rows) >= 0.95 * len(units) * SETS, key
        covered[key] = np.mean([row.coverage for row in rows])
        short = [rows_of(u, shortened(u, x), TRUTHS[u.cell.world])[0] for u, x in zip(units, limits, strict=True)]
        too_short[key] = np.mean([row.coverage for row in short])
    least = {key: least_coverage(len(shapes) * len(SLOPES) * SETS) for key, shapes in REDUCED.items()}
    assert {key: share for key, share in covered.items() if share <= least[key]} == {}
    assert np.mean([*too_short.values()]) < least_coverage(3 * len(SLOPES) * SETS) < np.mean([*covered.values()])


def test_the_naive_bootstrap_of_a_calibrated_model_never_covers():
    cell = Cell(World("beta-2", 1.0), 100, 30)
    unit = LimitsUnit(cell, "naive ece")
    percentile, _ = rows_of(unit, np.array(unit.compute(), dtype=float), TRUTHS[cell.world])
    assert percentile.covered == 0


def committed():
    return list(csv.DictReader((DOCS / "coverage.csv").read_text(encoding="utf-8").splitlines()))


def test_the_committed_tables_hold_every_unit():
    rows = committed()
    names = ("metric", "method", "predictions")
    found = {(*(r[k] for k in names), float(r["slope"]), float(r["weights"]), int(r["n"])) for r in rows}
    for unit in plan():
        if isinstance(unit, LimitsUnit):
            world = unit.cell.world
            cell = (world.shape, world.slope, world.weights, unit.cell.n)
            assert all((unit.key, method, *cell) in found for method in BATTERY[unit.key].truths), unit.name
    assert all(int(row["sets"]) >= 1000 for row in rows)
    assert "Every unit of the grid is complete." in (DOCS / "coverage.md").read_text(encoding="utf-8")


def offered(rows):
    """Return those of offered limits that at least half of the data sets have."""
    return [r for r in rows if r["offered"] == "yes" and 2 * int(r["refused"]) <= int(r["sets"])]


def test_limits_are_offered_only_where_they_cover_93_to_97_percent():
    """But for chance: every share's own interval reaches there, and not many shares lie outside."""
    rows = [r for r in offered(committed()) if "difference" not in r["metric"]]
    shares = np.array([float(r["coverage"]) for r in rows])
    answered = np.array([int(r["sets"]) - int(r["refused"]) for r in rows])
    reach = 1.96 * np.sqrt(shares * (1 - shares) / answered)
    outside = (shares - reach > 0.97) | (shares + reach < 0.93)
    assert [rows[i] for i in np.flatnonzero(outside)] == []
    assert np.mean((shares < 0.93) | (shares > 0.97)) < 0.1
    known = {key for key, entry in BATTERY.items() if isinstance(entry, OwnMethod)}
    assert {r["metric"] for r in rows} >= known


def test_the_committed_tables_show_what_the_page_says():
    """Differences cover at least, but for chance; the percentiles of a calibrated model's ECE never do."""
    rows = committed()
    for row in offered(rows):
        share, answered = float(row["coverage"]), int(row["sets"]) - int(row["refused"])
        assert share + 1.96 * np.sqrt(share * (1 - share) / answered) >= 0.93
    naive = [r for r in rows if (r["metric"], r["method"], r["slope"]) == ("naive ece", "percentile", "1")]
    assert len(naive) >= len(SHAPES)
    assert all(float(row["coverage"]) == 0 for row in naive)
