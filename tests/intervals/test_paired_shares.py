"""Limits of differences of accuracy of which few rows, or none, differ."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import chi2, multinomial

from calibrant import Forecasts, Normal, Predictions, compare, interval
from calibrant.intervals.paired_shares import PairedShares


def test_the_limits_are_the_published_ones():
    # Airway hyper-responsiveness before and after a transplant: one child changed in one direction, seven in the other,
    # of 21 (Fagerland, Lydersen and Laake, Statistics in Medicine 33, 2014, table III).
    low, high = PairedShares(1, 7, 21).limits(0.95)
    assert (round(low, 3), round(high, 3)) == (-0.517, -0.026)
    assert PairedShares(1, 7, 21).pvalue() == pytest.approx(chi2(1).sf(36 / 8), rel=1e-9)  # McNemar.


def likelihood(q, d, b, c, n):
    """Logarithm of the likelihood of probabilities q + d, q and the rest."""
    terms = ((b, q + d), (c, q), (n - b - c, 1 - 2 * q - d))
    return sum(count * np.log(max(p, 1e-300)) for count, p in terms if count)


@pytest.mark.parametrize("counts", [(0, 0, 40), (3, 0, 100), (2, 5, 60), (7.5, 1.25, 90.5), (0, 19, 300)])
def test_the_limits_solve_the_score_equation(counts):
    b, c, n = counts
    limits = PairedShares(*counts).limits(0.95)
    assert limits.low <= (b - c) / n <= limits.high
    for d in limits:
        bounds = max(0, -d), (1 - d) / 2
        q = minimize_scalar(
            lambda q, d=d: -likelihood(q, d, b, c, n), bounds=bounds, method="bounded", options={"xatol": 1e-12}
        ).x
        squared = (b - c - n * d) ** 2 / (n * (2 * q + d - d**2))
        assert squared == pytest.approx(chi2(1).ppf(0.95), rel=1e-4)


def test_all_rows_may_differ():
    for counts in ((20, 0, 20), (0, 20, 20), (0, 0, 1)):
        low, high = PairedShares(*counts).limits(0.95)
        assert -1 <= low < high <= 1
        assert low <= (counts[0] - counts[1]) / counts[2] <= high


@pytest.mark.parametrize("expected", [(0, 0.2), (0, 3), (1, 1), (1, 3), (3, 3), (2, 8)])
def test_the_limits_cover(expected):
    n, most = 200, 25
    p = np.array([*expected, n - sum(expected)]) / n
    counts = [(b, c) for b in range(most) for c in range(most)]
    chance = multinomial(n, p).pmf([(b, c, n - b - c) for b, c in counts])
    limits = np.array([PairedShares(b, c, n).limits(0.95) for b, c in counts])
    true = p[0] - p[1]
    assert chance @ ((limits[:, 0] <= true) & (true <= limits[:, 1])) >= 0.93


def models(n_changed, n=400):
    rng = np.random.default_rng(0)
    probs = rng.uniform(0.55, 0.95, n)
    labels = (rng.random(n) < 0.7).astype(int)
    changed = np.where(np.arange(n) < n_changed, 1 - probs, probs**1.1)
    return {"a": Predictions(probs, labels), "b": Predictions(changed, labels)}


def test_equal_decisions_do_not_make_the_difference_of_accuracy_certain():
    difference = compare(models(0), ["accuracy"], rng=0).entry("b", "accuracy").difference
    z2 = chi2(1).ppf(0.95)
    assert (difference.low, difference.high) == pytest.approx((-z2 / (400 + z2), z2 / (400 + z2)), rel=1e-9)
    assert (difference.value, difference.pvalue, difference.is_significant) == (0.0, 1.0, False)
    few = compare(models(10), ["accuracy"], rng=0).entry("b", "accuracy").difference
    assert few.method == "tango"
    assert few.low < few.value < few.high
    clusters = compare(models(0), ["accuracy"], clusters=np.arange(400) // 2).entry("b", "accuracy").difference
    assert (clusters.low, clusters.reason) == (None, "at least 20 rows must differ in their score")


def test_weights_count_as_effective_rows():
    both = models(5)
    weights = np.r_[np.tile([1.0, 3.0], 200)]
    weighted = {name: Predictions(p.probs, p.labels, weights) for name, p in both.items()}
    found = compare(weighted, ["accuracy"]).entry("b", "accuracy").difference
    rows = weights.sum() ** 2 / (weights**2).sum()
    right = [p.probs.argmax(axis=1) == p.labels for p in both.values()]
    shares = [weights[chosen].sum() / weights.sum() for chosen in (right[1] & ~right[0], right[0] & ~right[1])]
    wanted = PairedShares(*(rows * share for share in shares), rows).limits(0.95)
    assert (found.low, found.high) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.filterwarnings("ignore:the accuracy 0 is below chance:calibrant.DataWarning")
def test_a_difference_that_is_the_same_in_every_row_has_no_limits():
    labels = np.tile([0, 1], 100)
    first, second = (Predictions(np.where(labels == 1, p, 1 - p), labels) for p in (0.4, 0.45))
    difference = compare({"a": second, "b": first}, ["brier"]).entry("b", "brier").difference
    assert difference.low is None
    assert difference.reason.startswith("nothing in these rows varies")


def test_limits_of_no_width_are_refused():
    p = Predictions(np.full(400, 0.5), np.tile([0, 1], 200))
    for metric in ("nll", "brier", "squared-error"):
        found = interval(p, metric)
        assert (found.low, found.high, found.method) == (None, None, "none")
        assert found.reason.startswith("nothing in these rows varies")
        assert interval(p, metric, "hall").low == pytest.approx(found.value, rel=1e-12)  # Asked for by name.
    found = compare({"a": p, "b": p}, ["rms-debiased", "in-the-large", "resolution", "aurc"], n_resamples=19)
    for entry in found.entries[4:]:
        assert (entry.difference.low, entry.difference.pvalue) == (None, 1.0)
        assert entry.difference.reason
    asked = compare({"a": p, "b": p}, ["brier"], n_resamples=39, differences="percentile").entry("b", "brier")
    assert (asked.difference.low, asked.difference.high) == (0, 0)


def test_forecasts_that_cover_the_same_targets_may_differ_elsewhere():
    y = np.random.default_rng(0).normal(size=300)
    both = {"a": Forecasts(Normal(np.zeros(300), 1.0), y), "b": Forecasts(Normal(np.zeros(300), 1.0001), y)}
    difference = compare(both, ["interval-coverage", "crps"]).entry("b", "interval-coverage").difference
    assert (difference.low, difference.high) == pytest.approx((-0.01264, 0.01264), abs=1e-5)
