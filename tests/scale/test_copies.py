"""Rows that stand for many: everything that takes them must agree with as many rows."""

import warnings

import numpy as np
import pytest

from calibrant import InputError, Predictions, interval, reliability_curve
from calibrant.curves import isotonic_curve
from calibrant.curves.cumulative import cumulative_curve
from calibrant.hypotest import TESTS, ConsistencyTest, OmnibusTest, SpiegelhalterTest
from calibrant.hypotest.omnibus.facts import facts_of
from calibrant.intervals.methods import method_for
from calibrant.metrics import ECE, METRICS, KdeECE
from calibrant.scale import Sketch
from naming import each
from scale_cases import SHAPES

OF_CELLS = {key: metric for key, metric in METRICS.items() if metric.cells}


def both(n=6000, seed=0):
    p, y = SHAPES["forest"](n, np.random.default_rng(seed))
    p = np.clip(p, 0.01, 0.99)
    return Predictions(p, y), Sketch().update(p, y).one_vs_rest(1)


ROWS, CELLS = both()


@pytest.mark.parametrize("name", OF_CELLS)
def test_metrics_are_those_of_the_rows(name):
    assert OF_CELLS[name](CELLS) == pytest.approx(OF_CELLS[name](ROWS), rel=1e-10, abs=1e-12)


@each("form", ["loo", "integral"])
def test_what_has_no_neighbours_is_counted_in_rows(form):
    """The limit was 1e-9 times the mean weight of cells: the more rows they stood for, the more rows were dropped.

    The lonely row has 20 000 neighbours at 7.6 bandwidths, together 5e-9 of a row.
    """
    p = np.array([0.1] * 20_000 + [0.252])
    y = np.array([1] * 2000 + [0] * 18_000 + [1])
    rows, cells = Predictions(p, y), Sketch().update(p, y).one_vs_rest(1)
    metric = KdeECE(bandwidth=0.02, form=form)
    assert metric(cells) == pytest.approx(metric(rows), rel=1e-9)
    if form == "loo":
        assert metric.estimate(cells).details["isolated"] == metric.estimate(rows).details["isolated"] == 0


@each("name", sorted(METRICS.keys() - OF_CELLS.keys()))
def test_other_metrics_refuse(name):
    with pytest.raises(InputError, match="single rows"):
        METRICS[name](CELLS)


@pytest.mark.parametrize(
    "name", ["accuracy", "nll", "brier", "rms-debiased", "rms-debiased-one-vs-rest", "cox-slope", "oe-ratio"]
)
def test_limits_are_those_of_the_rows(name):
    rows, cells = both(20_000)
    metric = METRICS[name]
    assert method_for(metric, cells) == method_for(metric, rows)
    found, expected = interval(cells, metric, rng=0), interval(rows, metric, rng=0)
    assert [found.low, found.high] == pytest.approx([expected.low, expected.high], rel=1e-9)


def test_facts_are_those_of_the_rows():
    found, expected = facts_of(CELLS), facts_of(ROWS)
    assert found[:4] == pytest.approx(expected[:4], rel=1e-9)
    assert found.is_mixed == expected.is_mixed


def test_spiegelhalter_is_that_of_the_rows():
    found, expected = SpiegelhalterTest()(CELLS), SpiegelhalterTest()(ROWS)
    assert (found.statistic, found.pvalue) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)


@each("name", [key for key, test in TESTS.items() if not test.cells])
def test_other_tests_refuse(name):
    with pytest.raises(InputError, match="single rows"):
        TESTS[name](CELLS, rng=0)


def test_curves_are_those_of_the_rows():
    found, expected = reliability_curve(CELLS), reliability_curve(ROWS)
    for field in ("predicted", "observed", "low", "high", "count"):
        np.testing.assert_allclose(getattr(found, field), getattr(expected, field), rtol=1e-9)
    found, expected = (isotonic_curve(one, n_resamples=99, rng=0) for one in (CELLS, ROWS))
    for field in ("predicted", "observed", "low", "high", "count"):
        np.testing.assert_allclose(getattr(found, field), getattr(expected, field), rtol=1e-9)
    assert cumulative_curve(CELLS).sigma == pytest.approx(cumulative_curve(ROWS).sigma, rel=1e-12)


def test_statistics_and_range_by_chance_are_those_of_the_rows():
    found, expected = OmnibusTest(999)(CELLS, rng=0), OmnibusTest(999)(ROWS, rng=0)
    for name, part in expected.details["parts"].items():
        assert found.details["parts"][name]["statistic"] == pytest.approx(part["statistic"], rel=1e-9)
    found, expected = (ConsistencyTest(ECE(), 999)(one, rng=0).details for one in (CELLS, ROWS))
    # The standard error of either mean is about 1% of it.
    assert found["expected"] == pytest.approx(expected["expected"], rel=0.06)


def test_the_omnibus_test_keeps_its_level():
    rng, rejected = np.random.default_rng(1), 0
    for _ in range(150):
        p = rng.beta(0.6, 2, 2000)
        sketch = Sketch(digits=5).update(p, rng.random(2000) < p)
        rejected += OmnibusTest(99)(sketch.one_vs_rest(1), rng=rng).pvalue <= 0.1
    assert 5 <= rejected <= 28  # 15 expected; 0.1% of binomial laws are beyond


def test_labels_cannot_be_drawn_row_by_row():
    from calibrant.resampling.redraws import redraw_labels

    with pytest.raises(InputError, match="labels of a sketch cannot be redrawn"):
        next(redraw_labels(CELLS, 1, np.random.default_rng(0)))


def test_rows_are_counted_and_taken():
    assert (ROWS.n_rows, CELLS.n_rows, CELLS.is_weighted) == (6000, 6000, False)
    part = CELLS[:5]
    assert part.copies.tolist() == CELLS.copies[:5].tolist()
    with warnings.catch_warnings():
        assert part.with_labels(part.labels).n_rows == part.n_rows == part.top_label().n_rows
