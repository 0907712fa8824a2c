"""Counts of events in cells: their law against the exact one, and the tests that rest on them."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from calibrant import Predictions
from calibrant.binning import EqualMass
from calibrant.hypotest import ConsistencyTest, OmnibusTest
from calibrant.hypotest.omnibus import line
from calibrant.hypotest.omnibus.line import LineEvidence
from calibrant.metrics import ECE, METRICS, DebiasedSquaredGap
from calibrant.resampling import event_counts
from calibrant.resampling.event_counts import EventCells, fine_cells, thinned
from simulate import sharpened

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")


def law_of_the_count(probs):
    """Poisson-binomial probabilities, one row after the other."""
    law = np.array([1.0])
    for p in probs:
        law = np.convolve(law, [1 - p, p])
    return law


CELLS = {
    "narrow": [0.3, 0.301, 0.302, 0.305],
    "wide": [0.05, 0.5, 0.9, 0.2, 0.4],
    "rare": [0.0, 0.001, 0.02, 0.02, 0.1],
    "frequent": [0.9, 0.99, 1.0, 0.95],
    "certain and not": [0.0, 1.0, 0.5, 1.0],
    "equal": [0.25] * 6,
    "impossible": [0.0, 0.0],
    "one": [0.7],
}


def cells_of(*groups):
    starts = np.cumsum([0] + [len(group) for group in groups[:-1]])
    probs = np.concatenate(groups)
    return EventCells(probs, np.arange(len(probs)), starts, starts)


def drawn(cells, n_resamples, seed=0):
    return np.concatenate(list(cells.draw(n_resamples, np.random.default_rng(seed))), axis=1)


def test_counts_have_the_law_of_sums_of_independent_events():
    """20 000 draws of eight cells at once; the chance of a p-value below 1e-4 in any of them is below 1e-3."""
    counts = drawn(cells_of(*CELLS.values()), 20_000)
    for probs, found in zip(CELLS.values(), counts, strict=True):
        law = law_of_the_count(probs)
        seen = np.bincount(found.astype(int), minlength=len(law))
        possible = law > 0
        assert seen[~possible].sum() == 0
        if possible.sum() > 1:
            # What is expected less than five times is pooled.
            often = law * 20_000 >= 5
            pooled = [(*x[often], x[~often].sum()) for x in (seen.astype(float), law * 20_000)]
            if pooled[1][-1] == 0:
                pooled = [x[:-1] for x in pooled]
            assert chisquare(*pooled).pvalue > 1e-4


def test_cells_are_drawn_independently():
    counts = drawn(cells_of([0.2, 0.6, 0.9], [0.1, 0.5], [0.3, 0.8]), 20_000)
    assert np.abs(np.corrcoef(counts) - np.eye(3)).max() < 4 / np.sqrt(20_000)


def test_draws_depend_on_the_seed_and_not_on_threads(monkeypatch):
    cells = cells_of(*CELLS.values())
    some = {}
    for n_threads in ("1", "4"):
        monkeypatch.setenv("OMP_NUM_THREADS", n_threads)
        some[n_threads] = drawn(cells, 100)
    assert np.array_equal(some["1"], some["4"])
    assert not np.array_equal(some["1"], drawn(cells, 100, seed=1))


def test_observed_events_are_counted_in_the_same_cells():
    rng = np.random.default_rng(0)
    events = rng.integers(0, 2, (7, 3))
    order = rng.permutation(7)
    cells = EventCells(np.full(7, 0.5), order, np.array([0, 3]), np.array([0, 3]))
    assert np.array_equal(cells.count(events == 1), [events[order[:3]].sum(axis=0), events[order[3:]].sum(axis=0)])


def test_fine_cells_respect_ties_places_and_weights(monkeypatch):
    monkeypatch.setattr(event_counts, "FEW_ROWS", 10)
    monkeypatch.setattr(event_counts, "GROUPS", 8)
    monkeypatch.setattr(event_counts, "WEIGHTED_GROUPS", 4)
    rng = np.random.default_rng(0)
    probs = rng.integers(0, 40, 200) / 40
    for weights in (None, rng.integers(1, 4, 200) / 3):
        p = Predictions(probs, rng.integers(0, 2, 200), weights)
        cells = fine_cells(p)
        rows = np.split(cells.order, cells.starts[1:])
        assert sorted(np.concatenate(rows)) == list(range(200))
        assert all(len(np.unique(p.weights[some])) == 1 for some in rows)
        groups = np.split(p.positive[cells.order], cells.groups[1:])
        assert all(low.max() < high.min() for low, high in pairwise(groups))
        assert len(groups) <= 8
        assert set(thinned(cells.groups, 200, 2)) <= set(cells.groups)
    assert fine_cells(Predictions(probs, p.labels, rng.lognormal(sigma=2, size=200))) is None
    assert fine_cells(p.take(np.arange(10))) is None


def rows_in_cells(monkeypatch, groups=64):
    """Take the path of many rows with few."""
    monkeypatch.setattr(event_counts, "FEW_ROWS", 20)
    monkeypatch.setattr(event_counts, "GROUPS", groups)
    monkeypatch.setattr(event_counts, "WEIGHTED_GROUPS", groups)


def binary(seed, n, *, weighted=False, slope=1.0):
    rng = np.random.default_rng(seed)
    q = rng.beta(0.6, 1.5, n)
    weights = rng.integers(1, 4, n) if weighted else None
    p = Predictions(q, (rng.random(n) < q).astype(int), weights)
    return p if slope == 1 else sharpened(p, slope)


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_of_cells_are_those_of_the_rows_with_means_in_place_of_coefficients(monkeypatch, weighted):
    p = binary(0, 500, weighted=weighted)
    rows_in_cells(monkeypatch)
    fine = LineEvidence.of(p, p.weights / p.weights.max())
    assert fine.is_fine
    variance = p.positive * (1 - p.positive)
    x = np.log(p.positive) - np.log1p(-p.positive)
    x -= np.average(x, weights=p.weights**2 * variance)
    for component, coefficients in enumerate((np.ones(500), x, 1 - 2 * p.positive)):
        score = spread = 0.0
        for rows in np.split(fine.cells.order, fine.cells.starts[1:]):
            step = p.weights[rows].mean() * np.average(coefficients[rows], weights=variance[rows])
            score += step * (p.labels[rows] - p.positive[rows]).sum()
            spread += step**2 * variance[rows].sum()
        found = fine.components(p.labels[:, None])[component]
        assert found[0, 0] == pytest.approx(score / np.sqrt(spread), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_running_sum_of_cells_is_that_of_the_rows(monkeypatch, weighted):
    """With places at ends of groups and equal weights in a cell nothing is lost."""
    p = binary(0, 500, weighted=weighted)
    labels = np.random.default_rng(1).integers(0, 2, (500, 4))
    monkeypatch.setattr(line, "PLACES", 16)
    exact = LineEvidence.of(p, p.weights).statistics(labels)[[0, 3]]
    rows_in_cells(monkeypatch)
    assert LineEvidence.of(p, p.weights).statistics(labels)[[0, 3]] == pytest.approx(exact)


def test_levers_of_many_rows_lose_almost_nothing():
    """The correlation of the slope's score with that of the rows, by formula, at the number of cells that is used."""
    for weights in (None, np.random.default_rng(2).lognormal(sigma=1.0, size=60_000)):
        p = Predictions(binary(1, 60_000).probs, np.tile([0, 1], 30_000), weights)
        w = p.weights / p.weights.max()
        exact = LineEvidence.of(p.take(np.arange(4096)), w[:4096])
        assert not exact.is_fine
        fine = LineEvidence.of(p, w)
        assert fine.is_fine
        variance = w**2 * p.positive * (1 - p.positive)
        cell = np.empty(60_000, dtype=int)
        cell[fine.cells.order] = np.repeat(np.arange(len(fine.cells.starts)), fine.cells.sizes)
        x = np.log(p.positive) - np.log1p(-p.positive)
        for coefficients, used in (
            (np.ones_like(x), fine.coefficients[0]),
            (x - np.average(x, weights=variance), fine.coefficients[1]),
            (1 - 2 * p.positive, fine.coefficients[2]),
        ):
            unit = p.positive * (1 - p.positive)
            both = (unit * w * coefficients * used[cell]).sum()
            own = (unit * (w * coefficients) ** 2).sum() * (unit * used[cell] ** 2).sum()
            assert both / np.sqrt(own) > 0.999


@pytest.mark.parametrize("weighted", [False, True])
def test_pvalues_by_counts_are_uniform(monkeypatch, weighted):
    """150 calibrated sets; P(KS p-value < 1e-3) = 1e-3, as p-values of 99 redraws are uniform on 1/100, ..., 1."""
    rows_in_cells(monkeypatch, groups=32)
    rng = np.random.default_rng(5)
    found = [OmnibusTest(99)(binary(seed, 150, weighted=weighted), rng=seed + 10**6).pvalue for seed in range(150)]
    smooth = np.array(found) - rng.random(150) / 100
    assert kstest(smooth, "uniform").pvalue > 1e-3


def test_power_by_counts_is_that_by_rows(monkeypatch):
    """30 sets with a slope of 0.7: the two tests agree but for their random draws."""
    sets = [binary(seed, 400, slope=1.4) for seed in range(30)]
    by_rows = [OmnibusTest(199)(p, rng=seed).pvalue for seed, p in enumerate(sets)]
    rows_in_cells(monkeypatch)
    by_counts = [OmnibusTest(199)(p, rng=seed).pvalue for seed, p in enumerate(sets)]
    assert np.abs(np.array(by_rows) - by_counts).max() < 0.15
    assert abs(np.mean(np.array(by_rows) <= 0.05) - np.mean(np.array(by_counts) <= 0.05)) <= 0.1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", [ECE(), ECE(EqualMass(7), norm=2), DebiasedSquaredGap(), METRICS["rms-debiased"]])
def test_binned_metrics_of_counts_are_those_of_labels(monkeypatch, metric, weighted):
    p = binary(3, 600, weighted=weighted)
    rows_in_cells(monkeypatch, groups=32)
    labels = np.random.default_rng(1).integers(0, 2, (600, 5))
    counted = metric.prepare_counts(p)
    expected = metric.prepare_labels(p)(labels)
    # Only 1 - 2 p is replaced by its mean in a cell, which moves the square by less than 1e-4.
    assert counted.evaluate(counted.cells.count(labels == 1)) == pytest.approx(expected, abs=1e-4)
    if isinstance(metric, ECE):
        assert counted.evaluate(counted.cells.count(labels == 1)) == pytest.approx(expected, abs=1e-12)


def test_the_consistency_test_by_counts_has_the_law_of_that_by_labels(monkeypatch):
    p = binary(4, 800)
    by_labels = ConsistencyTest(METRICS["rms-debiased"], 999)(p, rng=0)
    rows_in_cells(monkeypatch)
    by_counts = ConsistencyTest(METRICS["rms-debiased"], 999)(p, rng=1)
    assert by_counts.statistic == by_labels.statistic
    for share in (0.5, 0.9):
        assert np.quantile(by_counts.null, share) == pytest.approx(
            np.quantile(by_labels.null, share), rel=0.25, abs=2e-3
        )
    assert kstest(by_counts.null, by_labels.null).pvalue > 1e-3


def test_top_labels_are_drawn_by_counts_too(monkeypatch):
    rows_in_cells(monkeypatch)
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(4), 300)
    p = Predictions(probs, [rng.choice(4, p=row) for row in probs])
    seen = []
    result = ConsistencyTest(ECE(), 64, null="top-label")(p, rng=0, progress=lambda *step: seen.append(step))
    assert result.statistic == pytest.approx(ECE()(p))
    assert seen == [(32, 64), (64, 64)]
