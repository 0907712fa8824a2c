"""Weights have one meaning: relative in metrics and tests, copies in calibrators; extremes are refused or harmless."""

import itertools

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.assessment.sections import further_tests
from calibrant.binning import EqualMass
from calibrant.calibrators import CALIBRATORS
from calibrant.forecasts import Forecasts, Normal
from calibrant.hypotest import TESTS, BlockSKCETest, CMETest, DistributionFreeSKCETest
from calibrant.hypotest.distribution_free import _effective_pairs
from calibrant.metrics import (
    FORECAST_METRICS,
    METRICS,
    SKCE,
    UCME,
    ChanceECE,
    DebiasedECE,
    KdeECE,
    PerPredictedClass,
)
from naming import each

SCALES = [7, 1e-3]
every_test, every_forecast_metric = each("test", TESTS), each("metric", FORECAST_METRICS)


def weighted(k=3, n=150, seed=0):
    """Rows with ties and whole weights, the hardest for bins of equal mass."""
    rng = np.random.default_rng(seed)
    probs = np.round(rng.dirichlet(np.full(k, 0.7), n), 2)
    probs /= probs.sum(axis=1, keepdims=True)
    return probs, rng.integers(0, k, n), rng.integers(0, 4, n).astype(float)


def normal_forecasts(n=80):
    rng = np.random.default_rng(0)
    loc, scale = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    return Normal(loc, scale), rng.normal(loc, scale), rng.uniform(0.5, 1.5, n)


@each("k", [2, 4])
@each("metric", METRICS)
def test_a_constant_factor_changes_no_metric(metric, k):
    probs, labels, weights = weighted(k)
    expected = metric(Predictions(probs, labels, weights))
    for scale in SCALES:
        assert metric(Predictions(probs, labels, scale * weights)) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@every_forecast_metric
def test_a_constant_factor_changes_no_metric_of_forecasts(metric):
    law, targets, weights = normal_forecasts()
    expected = metric(Forecasts(law, targets, weights))
    for scale in SCALES:
        assert metric(Forecasts(law, targets, scale * weights)) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def result_of(test, data):
    result = test(data, rng=0)
    return result.statistic, result.pvalue, result.estimate or 0.0


def fair(n=200, seed=1):
    """Three classes whose labels are drawn from the predictions, with weights that differ."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(3), n)
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return probs, labels, rng.uniform(0.5, 1.5, n)


@every_test
def test_a_constant_factor_changes_no_test(test):
    probs, labels, weights = fair()
    expected = result_of(test, Predictions(probs, labels, weights))
    for scale in SCALES:
        assert result_of(test, Predictions(probs, labels, scale * weights)) == pytest.approx(expected, rel=1e-11)


@every_test
def test_a_row_of_weight_0_is_absent_in_every_test(test):
    probs, labels, weights = fair()
    expected = result_of(test, Predictions(probs, labels, weights))
    wrong = np.eye(3)[[0, 1, 2] * 10]
    more = Predictions(np.vstack([wrong, probs]), np.append([1] * 30, labels), np.append(np.zeros(30), weights))
    assert result_of(test, more) == expected


@each(
    "metric",
    [KdeECE(bandwidth=0.002), KdeECE(bandwidth=0.002, isolated="zero"), KdeECE(bandwidth=0.002, form="integral")],
)
def test_rows_of_weight_0_make_no_neighbours_of_distant_rows(metric):
    """At 6.6 bandwidths a row counts as none; the limit is a multiple of the mean weight of those that count."""
    p, labels = [0.5, 0.5132, 0.7, 0.702], [1, 0, 1, 0]
    far = np.linspace(0.0, 0.3, 96)
    more = Predictions(np.append(p, far), np.append(labels, far > 0.1), np.append(np.ones(4), np.zeros(96)))
    assert metric(more) == pytest.approx(metric(Predictions(p, labels)), rel=1e-12)


@every_test
def test_weights_matter_to_every_test(test):
    probs, labels, weights = fair()
    assert result_of(test, Predictions(probs, labels, np.sqrt(weights))) != result_of(test, Predictions(probs, labels))


@each("name", ["skce", "skce-block", "skce-distribution-free", "cme"])
def test_forecasts_of_weight_0_are_absent(name):
    law, targets, weights = normal_forecasts()
    test = TESTS[name]
    kept = np.arange(80) >= 5
    without = test(Forecasts(law.take(kept), targets[kept], weights[kept]), rng=0)
    assert test(Forecasts(law, targets, weights * kept), rng=0).pvalue == without.pvalue


@each("metric", METRICS)
def test_huge_and_tiny_weights_mean_what_ones_mean(metric):
    probs, labels, _ = weighted(n=60)
    expected = metric(Predictions(probs, labels))
    for size in (1e308, 5e-324):
        found = metric(Predictions(probs, labels, np.full(60, size)))
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15), size


def test_ordinary_weights_are_kept_as_given():
    assert Predictions([0.2, 0.7], [0, 1], [3.0, 1e5]).weights.tolist() == [3.0, 1e5]
    assert Predictions([0.2, 0.7], [0, 1], [5e-324, 5e-324]).weights.tolist() == [1.0, 1.0]


def test_weights_that_underflow_beside_the_largest_are_refused():
    with pytest.raises(InputError, match=r"at least 1e-307 of the largest, 1e\+10, but row 1 is 1e-300"):
        Predictions([0.2, 0.7], [0, 1], [1e10, 1e-300])


@each("bad", [1e308, 5e-324])
@each("name", [*CALIBRATORS])
def test_calibrators_refuse_weights_that_are_no_number_of_copies(name, bad):
    probs, labels, weights = weighted(n=40)
    weights[7] = bad
    with pytest.raises(InputError, match=r"sample_weight must be 0 or lie between 1e-100 and 1e\+100, but row 7"):
        CALIBRATORS[name]().fit(probs, labels, weights)


def test_a_predicted_class_without_weight_does_not_enter():
    probs, labels, _ = weighted(n=60)
    weights = (probs.argmax(axis=1) != 1).astype(float)
    p = Predictions(probs, labels, weights)
    metric = PerPredictedClass(KdeECE())
    expected = metric(p.take(np.flatnonzero(weights)))
    assert metric(p) == metric.estimate(p).value == pytest.approx(expected, rel=1e-12)
    assert metric.prepare_labels(p)(labels[:, None])[0] == pytest.approx(expected, rel=1e-12)


def test_debiased_error_equals_its_definition_over_pairs():
    rng = np.random.default_rng(3)
    p, y, w = rng.random(25), rng.integers(0, 2, 25), rng.exponential(size=25)
    index = EqualMass(4).cut(p, w).index
    total = 0.0
    for b in np.unique(index):
        rows = np.flatnonzero(index == b)
        gap = np.average(p[rows] - y[rows], weights=w[rows])
        pairs = [(w[i] * w[j], (y[i] - y[j]) ** 2 / 2) for i, j in itertools.permutations(rows, 2)]
        variance = sum(weight * value for weight, value in pairs) / sum(weight for weight, _ in pairs)
        kish = w[rows].sum() ** 2 / (w[rows] ** 2).sum()
        total += w[rows].sum() / w.sum() * (gap**2 - variance / kish)
    found = DebiasedECE(EqualMass(4)).estimate(Predictions(p, y, w)).details["squared"]
    assert found == pytest.approx(total, rel=1e-10)


def test_debiased_error_of_calibrated_weighted_rows_is_0_on_average():
    """Mean of D over 400 sets within 3.9 standard errors of 0; with weights taken as rows it is 12 above."""
    rng = np.random.default_rng(0)
    squared = []
    for _ in range(400):
        p, w = np.round(rng.random(60), 1), rng.exponential(scale=5, size=60)
        squared.append(DebiasedECE().estimate(Predictions(p, rng.random(60) < p, w)).details["squared"])
    assert abs(np.mean(squared)) < 3.9 * np.std(squared) / 20


def test_chance_error_uses_squared_weights():
    """One bin, weights 3 and 1 sixteen times: sqrt(2 (9 + 1) 16 / 4 / pi) / 64."""
    p = Predictions([0.5] * 32, [0, 1] * 16, [3.0, 1.0] * 16)
    assert ChanceECE()(p) == pytest.approx(np.sqrt(2 * 10 * 16 / 4 / np.pi) / 64)


def test_kernel_tests_estimate_what_the_metrics_measure():
    p = Predictions(*fair())
    for name in ("skce", "skce-distribution-free"):
        assert TESTS[name](p, rng=0).estimate == pytest.approx(SKCE()(p), rel=1e-10)
    assert BlockSKCETest(blocksize=20)(p).estimate == pytest.approx(SKCE(blocksize=20)(p), rel=1e-10)
    assert CMETest()(p).estimate == pytest.approx(UCME()(p), rel=1e-10)


def test_the_bound_takes_the_worst_pairing():
    """Of all ways to pair six rows, the one with the largest sum of w_i^2 w_j^2; of ones, half the rows."""
    w = np.array([0.3, 2.0, 1.1, 0.7, 1.9, 0.2])
    pairings = [
        sum(w[a] ** 2 * w[b] ** 2 for a, b in zip(order[::2], order[1::2], strict=True))
        for order in itertools.permutations(range(6))
    ]
    mass = (w.sum() ** 2 - (w**2).sum()) / 2
    assert _effective_pairs(w, 6) == pytest.approx(mass**2 / (25 * max(pairings)))
    for size, expected in ((60, 30), (20, 30), (7, 24), (2, 30)):
        assert _effective_pairs(np.full(60, 3.0), size) == pytest.approx(expected)


def test_the_biased_bound_counts_effective_rows():
    p = Predictions(*fair())
    biased = SKCE(unbiased=False)
    kish = p.weights.sum() ** 2 / (p.weights**2).sum()
    expected = np.exp(-0.5 * max(0.0, np.sqrt(kish * biased(p) / 2) - 1) ** 2)
    assert DistributionFreeSKCETest(biased)(p).pvalue == pytest.approx(expected)


def rare(n=100, seed=0, weights=None):
    rng = np.random.default_rng(seed)
    probs = rng.beta(0.5, 20, n)
    return Predictions(probs, rng.random(n) < probs, weights)


@pytest.mark.filterwarnings("ignore::calibrant.exceptions.DataWarning")
@each("name", ["skce", "skce-block", "cme"])
def test_laws_for_many_events_refuse_few(name):
    with pytest.raises(InputError, match=r"OmnibusTest \(--test omnibus\)"):
        TESTS[name](rare(), rng=0)


def test_heavy_weights_leave_few_events():
    probs, labels, _ = fair(600)
    heavy = np.exp(1.5 * np.random.default_rng(0).standard_normal(600))
    TESTS["skce"](Predictions(probs, labels), rng=0)
    with pytest.raises(InputError, match="at least 50 effective events"):
        TESTS["skce"](Predictions(probs, labels, heavy), rng=0)


def enumerated(test, p):
    """Return the exact p-value: the probability of all labels whose statistic is not smaller."""
    observed, total = test(p, rng=0).statistic, 0.0
    for labels in itertools.product((0, 1), repeat=p.n_samples):
        if test.examine(p.with_labels(np.array(labels)), p.weights / p.weights.max()).statistic >= observed - 1e-9:
            total += np.where(np.array(labels) == 1, p.positive, 1 - p.positive).prod()
    return total


@each("name", ["spiegelhalter", "hosmer-lemeshow", "ecce", "ecce-range"])
def test_redrawn_pvalues_of_few_rows_are_exact(name):
    """Within 3.9 standard errors of 999 redraws of the sum over all labels, where the closed form may be far off."""
    p = Predictions([0.02, 0.05, 0.2, 0.3, 0.3, 0.6, 0.9], [0, 1, 0, 1, 0, 1, 0], [1.0, 3.0, 1.0, 0.5, 2.0, 1.0, 1.0])
    exact, result = enumerated(TESTS[name], p), TESTS[name](p, rng=0)
    assert result.details["redraws"] == 999
    assert result.pvalue == pytest.approx(exact, abs=3.9 * np.sqrt(exact * (1 - exact) / 999) + 0.001)


@pytest.mark.filterwarnings("ignore::calibrant.exceptions.DataWarning")
def test_assessments_show_exact_tests_of_rare_events():
    """Before, the kernel test rejected 0.08 of such sets at level 0.01; 3.3 standard errors above 0.05 are allowed."""
    pvalues = [further_tests(rare(60, seed), 39, np.random.default_rng(seed)) for seed in range(60)]
    for name in ("spiegelhalter", "ecce", "skce"):
        rejected = np.mean([found[name].pvalue <= 0.05 for found in pvalues if name in found])
        assert rejected < 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / 60)
