"""Confidence limits: definitions, coverage with a Monte Carlo bound, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import beta, binom, binomtest, bootstrap, norm

from calibrant import DataWarning, Forecasts, InputError, Normal, Predictions
from calibrant.binning import EqualMass, EqualWidth
from calibrant.curves import bands
from calibrant.intervals import interval
from calibrant.intervals.debiased import _of_roots, _upper, debiased_difference
from calibrant.intervals.kernel import _expected_squares
from calibrant.intervals.limits import Limits, PairLaw
from calibrant.intervals.means import N_REDRAWS, _redrawn, _with_expected
from calibrant.intervals.methods import METHODS, known_interval, method_for, why_not
from calibrant.intervals.requirements import UNEQUAL
from calibrant.intervals.squared_gaps import are_filled, cross_sums, diagonal_sum, parts_of, square_sums
from calibrant.kernels import ExponentialKernel, TotalVariation, WhiteKernel
from calibrant.metrics import (
    ECE,
    KCE,
    METRICS,
    NLL,
    SKCE,
    UCME,
    Accuracy,
    Brier,
    Classwise,
    CoxSlope,
    DebiasedSquaredGap,
    InTheLarge,
    ObservedExpectedRatio,
    PerPredictedClass,
    Root,
    TopLabel,
)
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.resampling.redraws import redraw_labels
from naming import each
from simulate import calibrated, sharpened

SQUARED = DebiasedSquaredGap(EqualWidth(15))
RMS = Root(SQUARED)
KERNEL = ExponentialKernel(TotalVariation(), 0.5) @ WhiteKernel()


def binary(n, slope, rng):
    """Predictions of which the true log-odds are `slope` times the predicted ones."""
    probs = rng.beta(2, 2, n)
    labels = (rng.random(n) < expit(slope * logit(probs))).astype(int)
    return Predictions._trusted(np.column_stack([1 - probs, probs]), labels, np.ones(n), (0, 1))  # Hundreds of sets.


def monte_carlo_bound(level, n_sets):
    """Coverage below this, or above one minus it, is not chance (one in a thousand)."""
    return norm.ppf(0.999) * np.sqrt(level * (1 - level) / n_sets)


def test_wilson_limits_are_those_of_scipy():
    p = Predictions([0.9] * 100, labels=[1] * 80 + [0] * 20)
    limits = interval(p, Accuracy(), level=0.9)
    expected = binomtest(80, 100).proportion_ci(0.9, "wilson")
    assert (limits.low, limits.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert (limits.method, limits.name) == ("wilson", "Accuracy()")


def test_studentised_bootstrap_is_its_definition():
    p = sharpened(calibrated(n=80, k=3), 0.5)
    plan, rng = Bootstrap(199), np.random.default_rng(3)
    rows = Brier().per_row(p)
    mean = rows.mean()
    all_counts = np.concatenate(list(plan.counts(80, rng)), axis=1).T
    by_label = 1 + np.sum(p.probs**2, axis=1, keepdims=True) - 2 * p.probs  # The Brier score of every label.
    (labels,) = redraw_labels(p, N_REDRAWS, rng)
    expected = np.mean([by_label[np.arange(80), column].var() / 80 for column in labels.T])
    deciding = np.sum((rows - mean) ** 2) ** 2 / np.sum((rows - mean) ** 4)
    error = np.sqrt((deciding * rows.var() / 80 + expected) / (deciding + 1))
    studentised = []
    for counts in all_counts:
        sample = np.repeat(rows, counts.astype(int))
        studentised.append((sample.mean() - mean) / (sample.std() / np.sqrt(80)))
    low, high = np.quantile(studentised, [0.025, 0.975], method="inverted_cdf")
    limits = interval(p, Brier(), "bootstrap-t", bootstrap=plan, rng=3)
    assert (limits.low, limits.high) == pytest.approx((mean - high * error, mean - low * error), rel=1e-9)


def test_rows_that_are_all_equal_have_the_limits_that_are_expected():
    """Of 100 rows with probability 0.98, two are expected to be wrong though none is: the limits must know."""
    p = Predictions._trusted(np.tile([0.02, 0.98], (100, 1)), np.ones(100, dtype=int), np.ones(100), (0, 1))
    limits = interval(p, NLL(), "bootstrap-t", rng=0)
    spread = np.sqrt(0.98 * 0.02 / 100) * np.log(49)  # Of the mean of a two-valued loss.
    assert limits.value == pytest.approx(-np.log(0.98), rel=1e-12)
    assert limits.high == pytest.approx(limits.value + 1.96 * spread, rel=0.25)
    certain = Predictions._trusted(np.eye(2)[[1, 0, 1]], np.array([1, 0, 1]), np.ones(3), (0, 1))
    certain = interval(certain, Brier(), "bootstrap-t", rng=0)
    assert (certain.low, certain.high) == (0.0, 0.0)


def test_the_predictions_have_less_part_in_the_standard_error_the_more_rows_decide():
    errors = np.array([2.0, 2.0, 0.0, 2.0])
    deviations = np.array([[1.0, 1.0, 0.0, 1.0], [0.0, -1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]])
    combined = _with_expected(errors, deviations, np.array([16.0, 16.0, 9.0, np.inf]))
    # One, three and no rows decide: (4 + 16) / 2, (12 + 16) / 4, 9; what is not finite does not count.
    assert combined == pytest.approx(np.sqrt([10, 7, 9, 4]), rel=1e-12)


@each("metric", [NLL(), Brier(), Accuracy()])
@each("k", [2, 3, 25])
def test_scores_of_redrawn_labels_are_those_of_every_redraw(metric, k):
    """Of fewer classes than redraws, scores are looked up; of more, computed."""
    p = calibrated(n=30, k=k)
    labels = np.hstack([*redraw_labels(p, N_REDRAWS, np.random.default_rng(0))])
    expected = [metric.per_row(p.with_labels(column)) for column in labels.T]
    assert np.array_equal([*_redrawn(p, metric, np.random.default_rng(0))], expected)


def test_limits_of_scores_cover_where_few_rows_are_wrong():
    """Two wrong rows in 100, each with the same loss: how often no row is wrong decides, 0.13."""
    rng = np.random.default_rng(6)
    truth = -0.98 * np.log(0.98) - 0.02 * np.log(0.02)
    n_sets, covered = 200, 0
    for _ in range(n_sets):
        p = Predictions._trusted(np.tile([0.02, 0.98], (100, 1)), (rng.random(100) < 0.98) * 1, np.ones(100), (0, 1))
        limits = interval(p, NLL(), "bootstrap-t", bootstrap=Bootstrap(199), rng=rng)
        covered += limits.low <= truth <= limits.high
    assert covered / n_sets > 0.93 - monte_carlo_bound(0.93, n_sets)


def test_bca_limits_are_those_of_scipy():
    p = binary(60, 0.6, np.random.default_rng(8))
    rows = np.arange(60)

    def slope(index, axis=-1):
        del axis
        return CoxSlope()(p.take(index.astype(int)))

    theirs = bootstrap((rows,), slope, vectorized=False, n_resamples=1000, method="BCa", rng=1).confidence_interval
    ours = interval(p, CoxSlope(), "bca", bootstrap=Bootstrap(4000), rng=2)
    assert ours.method == "bca"
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.08 * (theirs.high - theirs.low))


def test_bca_of_clusters_leaves_out_whole_clusters():
    p = binary(90, 0.6, np.random.default_rng(9))
    copies = p.take(np.repeat(np.arange(90), 2))
    clusters = np.repeat(np.arange(90), 2)
    one = interval(p, CoxSlope(), "bca", bootstrap=Bootstrap(999), rng=0)
    two = interval(copies, CoxSlope(), "bca", bootstrap=Bootstrap(999, clusters=clusters), rng=0)
    assert two.high - two.low == pytest.approx(one.high - one.low, rel=0.1)


def test_studentised_bootstrap_of_clusters_that_are_rows_is_that_of_rows():
    p = calibrated(n=60, k=3)
    rows, clusters = Bootstrap(99), Bootstrap(99, clusters=np.arange(100, 160))
    for method in ("hall", "bootstrap-t"):
        one, two = (interval(p, NLL(), method, bootstrap=plan, rng=0) for plan in (rows, clusters))
        assert (one.low, one.high) == pytest.approx((two.low, two.high), rel=1e-12)


def test_copies_in_clusters_leave_the_interval_of_the_originals():
    p = calibrated(n=60, k=3)
    rows = np.repeat(np.arange(60), 3)
    copies = Predictions._trusted(p.probs[rows], p.labels[rows], np.ones(180), p.classes)
    one = interval(p, NLL(), bootstrap=Bootstrap(999), rng=0)
    three = interval(copies, NLL(), bootstrap=Bootstrap(999, clusters=rows), rng=0)
    assert three.high - three.low == pytest.approx(one.high - one.low, rel=0.1)
    alone = interval(copies, NLL(), bootstrap=Bootstrap(999), rng=0)
    assert alone.high - alone.low == pytest.approx((one.high - one.low) / np.sqrt(3), rel=0.15)


def test_infinite_log_loss_has_infinite_limits():
    p = Predictions([0.0, 0.5, 0.6, 0.4] * 20, labels=[1, 0, 1, 1] * 20)
    limits = interval(p, NLL(), rng=0)
    assert (limits.value, limits.low, limits.high) == (np.inf, np.inf, np.inf)


def test_limits_of_a_pair_law_solve_their_equation():
    law = PairLaw(0.03, expected=2e-4, seen=3e-4, observed=5e-4, typical=0.01)
    for theta in law.limits(0.95):
        variance = 2e-4 + law.slope(2e-4) * theta
        assert (0.03 - theta) ** 2 == pytest.approx(norm.ppf(0.975) ** 2 * variance, rel=1e-10)


@given(st.floats(-9, 9), st.floats(0, 2), st.floats(-1, 9), st.floats(0, 20), st.floats(0, 1))
def test_limits_of_a_pair_law_contain_the_estimate(estimate, seen, observed, typical, rare):
    low, high = PairLaw(estimate, 1.0, seen, observed, typical, rare).limits(0.95)
    assert low <= estimate <= high


@each("name", [name for name in METRICS if name.startswith("rms-debiased")])
@each("temperature", [1.0, 0.4])
def test_limits_of_the_root_mean_square_error_are_about_the_value(name, temperature):
    p = sharpened(calibrated(n=900, k=3), temperature)
    limits = interval(p, METRICS[name], rng=0)
    assert limits.low <= limits.value <= limits.high
    assert (limits.low > 0) == (temperature < 1)


def test_the_slope_of_a_pair_law_is_the_typical_one_without_error_and_the_observed_one_with_it():
    assert PairLaw(0.0, 1e-6, 1e-6, 1e-6, 0.3).slope(1e-6) == pytest.approx(0.3, rel=1e-12)
    assert PairLaw(0.1, 1e-12, 1e-12, 0.02, 0.3).slope(1e-12) == pytest.approx(0.2, rel=1e-4)
    # The variance at the observed error is the observed one: 0.3 = 0.1 + 0.5 * 0.4, but for what is typical.
    assert PairLaw(0.4, 0.1, 0.1, 0.3, 0.0).slope(0.1) == pytest.approx(0.2 / (0.4 + np.sqrt(0.1)), rel=1e-12)
    assert PairLaw(0.0, 0.0, 0.0, 0.0, 0.3).limits(0.95) == (0.0, 0.0)


@given(
    estimate=st.floats(-1, 3),
    seen=st.floats(0, 2),
    observed=st.floats(-1, 9),
    typical=st.floats(0, 2),
    rare=st.floats(0, 1),
)
def test_the_expected_scatter_decides_about_0_and_a_smaller_one_raises_the_lower_limit(
    estimate, seen, observed, typical, rare
):
    low, high = PairLaw(estimate, 1.0, seen, observed, typical, rare).limits(0.95)
    usual = PairLaw(estimate, 1.0, 1.0, observed, typical).limits(0.95)
    z = norm.ppf(0.975)
    assert (low > 0) == (estimate > z) or abs(estimate - z) < 1e-9
    assert usual[0] <= low <= high
    if low <= 0 or seen >= 1:
        assert low == usual[0]
    variance = 1 + (PairLaw(estimate, 1.0, seen, observed, typical).slope(1.0) + rare) * high
    assert (high - estimate) ** 2 == pytest.approx(z**2 * variance, rel=1e-9)


def test_a_lower_limit_above_0_solves_the_equation_of_the_smaller_scatter():
    law = PairLaw(0.03, expected=2e-4, seen=1e-4, observed=3e-4, typical=0.001)
    low, _ = law.limits(0.95)
    assert low > PairLaw(0.03, expected=2e-4, seen=2e-4, observed=3e-4, typical=0.001).limits(0.95)[0] > 0
    variance = 1e-4 + law.slope(1e-4) * low
    assert (0.03 - low) ** 2 == pytest.approx(norm.ppf(0.975) ** 2 * variance, rel=1e-10)
    # What is seen may be chance: less than half of what is expected is not believed.
    assert PairLaw(0.03, expected=2e-4, seen=0.0, observed=3e-4, typical=0.001).limits(0.95)[0] == low


class Definition:
    """Sums over pairs by two loops, from bins, residuals and weights of each part of a metric."""

    def __init__(self, p, metric):
        self.p, self.parts = p, self.views(p, metric)
        self.weights = p.weights / p.weights.max()

    @staticmethod
    def views(p, metric):
        """Return, by part: its factor, and for each row the bin, the class, and the probability of the class."""
        metric = metric.metric  # Of the root.
        if isinstance(metric, Classwise):
            ranges = [(1 / p.n_classes, np.full(p.n_samples, c)) for c in range(p.n_classes)]
        else:
            ranges = [(1.0, p.probs.argmax(axis=1) if p.n_classes > 2 else np.ones(p.n_samples, dtype=int))]
        found = []
        for factor, event in ranges:
            probs = p.probs[np.arange(p.n_samples), event]
            bins = np.maximum(np.ceil(15 * probs) - 1, 0)
            if isinstance(metric, PerPredictedClass):
                bins = bins + 100 * event
            found.append((factor, bins, event, probs))
        return found

    def pairs(self):
        """Yield i, j and, by part, the coefficient of the pair."""
        w = self.weights
        for i in range(self.p.n_samples):
            for j in range(self.p.n_samples):
                found = []
                for factor, bins, _, _ in self.parts:
                    own = w[bins == bins[i]]
                    several = own.sum() ** 2 - (own**2).sum()
                    same = bins[i] == bins[j] and several > 1e-9
                    found.append(factor * own.sum() / w.sum() / several * w[i] * w[j] if same else 0.0)
                yield i, j, found

    def row_sums(self):
        rows = np.zeros(self.p.n_samples)
        for i, j, coefficients in self.pairs():
            for coefficient, (_, _, event, probs) in zip(coefficients, self.parts, strict=True):
                residuals = (self.p.labels == event) - probs
                rows[i] += (i != j) * coefficient * residuals[i] * residuals[j]
        return rows

    def expected_squares(self):
        """Return the sum of the expected h_ij^2, and that of the h_ii, if the labels follow the predictions."""

        def covariance(i, k, m):
            (_, _, a, p), (_, _, b, q) = self.parts[k], self.parts[m]
            return p[i] * (1 - p[i]) if a[i] == b[i] else -p[i] * q[i]

        total = diagonal = 0.0
        n_parts = range(len(self.parts))
        for i, j, c in self.pairs():
            if i == j:
                diagonal += sum(c[k] * covariance(i, k, k) for k in n_parts)
            else:
                total += sum(c[k] * c[m] * covariance(i, k, m) * covariance(j, k, m) for k in n_parts for m in n_parts)
        return total, diagonal


LIFTS = [RMS, *(Root(lift(SQUARED)) for lift in (TopLabel, Classwise, PerPredictedClass))]


@each("weighted", [False, True])
@each("metric", LIFTS)
def test_parts_are_sums_over_pairs(metric, weighted):
    p = calibrated(n=24, k=3, seed=5)
    if weighted:
        p = Predictions(p.probs, p.labels, 7e100 * np.arange(24))
    definition, parts = Definition(p, metric), parts_of(metric, p)
    rows = np.sum([part.row_sums() for part in parts], axis=0)
    assert rows == pytest.approx(definition.row_sums(), rel=1e-9, abs=1e-15)
    total, diagonal = definition.expected_squares()
    assert diagonal_sum(parts) == pytest.approx(diagonal, rel=1e-9)
    assert square_sums(parts).expected == pytest.approx(total, rel=1e-9)
    certain = p.with_labels(p.predicted)
    assert square_sums(parts_of(metric, certain)).expected == pytest.approx(total, rel=1e-9)


def test_observed_squares_are_those_of_the_residuals_about_the_mean_of_their_bin():
    p = Predictions([0.98] * 6, labels=[0, 0, 1, 1, 1, 0])
    centred = (p.labels - p.labels.mean()) * np.sqrt(6 / 5)  # Their squares add up to 6 times the unbiased variance.
    by_pair = [(centred[i] * centred[j]) ** 2 for i in range(6) for j in range(6) if i != j]
    assert square_sums(parts_of(RMS, p)).observed == pytest.approx(sum(by_pair) / 30**2, rel=1e-9)


@each("metric", LIFTS)
def test_debiased_limits_solve_the_equation_of_their_variances(metric):
    """V(t) = c + s t, with c as expected and V at the estimate as observed, from sums over pairs by two loops."""
    p = sharpened(calibrated(n=30, k=3, seed=8), 0.6)
    definition = Definition(p, metric)
    rows, (expected, diagonal) = definition.row_sums(), definition.expected_squares()
    observed = square_sums(parts_of(metric, p)).observed
    noise, estimate = 2 * expected, rows.sum()
    excess = 2 * observed + 4 * (np.sum((rows - rows.mean()) ** 2) - observed) - noise
    root = np.sqrt(noise)
    slope = (max(excess, 0) + 4 * expected / diagonal * root) / (max(estimate, 0) + root)
    limits = interval(p, metric, "debiased", bootstrap=Bootstrap(19), rng=0)
    assert 0 < limits.high < 1
    for theta in {limits.low, limits.high} - {0.0}:
        variance = noise + slope * theta**2
        assert (estimate - theta**2) ** 2 == pytest.approx(norm.ppf(0.975) ** 2 * variance, rel=1e-9)


def filled_by_definition(p, metric):
    """Whether bins with at least one uncertain row, counted as p (1 - p), add two thirds of the means of p (1 - p)."""
    filled = everything = 0.0
    for _, bins, _, probs in Definition.views(p, metric):
        for b in set(bins.tolist()):
            spread = (probs * (1 - probs))[bins == b]
            everything += spread.mean()
            filled += spread.mean() * (spread.sum() >= 1)
    return filled >= everything * 2 / 3


@each("metric", LIFTS)
def test_limits_are_refused_where_bins_are_not_filled(metric):
    found = set()
    for n in (40, 80, 160, 320, 640):
        p = calibrated(n=n, k=4, seed=n)
        filled = filled_by_definition(p, metric)
        assert are_filled(parts_of(metric, p)) == filled
        found.add(filled)
        if filled:
            assert interval(p, metric, bootstrap=Bootstrap(19), rng=0).method == "debiased"
        else:
            with pytest.raises(InputError, match=r'its bins hold too few rows.*method="debiased" gives limits'):
                interval(p, metric, bootstrap=Bootstrap(19), rng=0)
    assert found == {False, True}


def test_the_estimate_of_one_bin_is_the_pair_mean():
    p = Predictions([0.2, 0.4, 0.5, 0.3, 0.9], labels=[0, 1, 1, 0, 0])
    residuals = p.labels - p.positive
    pairs = [residuals[i] * residuals[j] for i in range(5) for j in range(5) if i != j]
    (part,) = parts_of(DebiasedSquaredGap(EqualWidth(1)), p)
    assert part.row_sums().sum() == pytest.approx(np.mean(pairs), rel=1e-12)


def test_rows_that_a_convention_leaves_in_no_bin_count_in_the_total_only():
    p = Predictions([0.0, 0.0, 0.5, 0.5], labels=[0, 1, 1, 1])
    (part,) = parts_of(DebiasedSquaredGap(EqualWidth(2, convention="guo")), p)
    assert part.row_sums().tolist() == pytest.approx([0, 0, 0.0625, 0.0625])


def test_bins_of_one_row_say_nothing():
    p = Predictions([0.1, 0.5, 0.9], labels=[0, 1, 1])
    limits = interval(p, RMS, "debiased", rng=0)
    assert (limits.low, limits.high) == (0.0, 1.0)


@each("metric", [*LIFTS, *(root.metric for root in LIFTS)])
def test_the_difference_of_gaps_turns_with_the_order_of_the_models_and_is_0_for_twins(metric):
    good = calibrated(n=400, k=3)
    bad = sharpened(good, 0.4)
    one, two = debiased_difference(good, bad, metric, 0.95), debiased_difference(bad, good, metric, 0.95)
    assert one.value == pytest.approx(metric(bad) - metric(good), rel=1e-9)
    assert one.value == pytest.approx(-two.value, rel=1e-12)
    assert (one.limits.low, one.limits.high) == pytest.approx((-two.limits.high, -two.limits.low), rel=1e-9)
    assert 0 < one.limits.low < one.value < one.limits.high
    assert one.pvalue < 0.05
    same = debiased_difference(good, good, metric, 0.95)
    assert (same.value, same.limits.low, same.limits.high, same.pvalue) == pytest.approx((0, 0, 0, 1), abs=1e-9)


@each("seed", range(12))
@each("temperature", [1.0, 0.9, 0.7])
def test_limits_of_a_difference_of_roots_contain_it_and_exclude_0_if_and_only_if_the_p_value_says_so(seed, temperature):
    good = calibrated(n=200, k=2, seed=seed)
    bad = sharpened(good, temperature)
    bad = Predictions(0.97 * bad.probs + 0.015, bad.labels)
    found = debiased_difference(good, bad, Root(DebiasedSquaredGap()), 0.95)
    squared = debiased_difference(good, bad, DebiasedSquaredGap(), 0.95)
    assert found.limits.low <= found.value <= found.limits.high
    assert (found.limits.low > 0 or found.limits.high < 0) == (found.pvalue < 0.05)
    assert found.pvalue == (squared.pvalue if found.value != 0 else 1.0)


def test_models_that_are_wrong_by_the_same_amount_in_opposite_ways_are_not_called_different():
    """150 pairs, log-odds shifted by 0.35 up or down: 5% and at most 3.3 standard errors (0.059) are significant."""
    found = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        truth = rng.beta(2, 2, 200)
        labels = rng.random(200) < truth
        high, low = (Predictions(expit(logit(truth) + by), labels) for by in (0.35, -0.35))
        found.append(debiased_difference(high, low, RMS, 0.95).pvalue)
    assert 0 < np.mean(np.array(found) < 0.05) < 0.109


def test_limits_of_a_difference_of_roots_are_made_of_those_of_squares_and_of_the_smaller_root():
    """Roots 0.3 and 0.1, whose squares differ by 0.08: 0.09 and 0.0625 + 0.0225 are squares that one can check."""
    own = Limits(0.0, 0.15)
    assert _of_roots(0.08, 0.1) == pytest.approx(0.2, rel=1e-12)
    assert _upper(0.2, 0.08, 0.09, 0.1, own) == pytest.approx(0.3, rel=1e-12)  # d(0.09, 0)
    towards = np.hypot(0.2 - _of_roots(0.0525, 0.1), 0.2 - _of_roots(0.08, 0.15))
    assert _upper(-0.2, -0.08, -0.0525, 0.1, own) == pytest.approx(-0.2 + towards, rel=1e-12)
    nearly = _upper(-0.2, -0.08, -1e-9, 0.1, own)
    assert -0.2 < nearly < 0


def test_cross_sums_are_those_of_the_difference():
    """Squares of the difference of two models, from one list of parts in which those of the first are negative."""
    good = calibrated(n=300, k=3)
    first, second = parts_of(LIFTS[2], good), parts_of(LIFTS[2], sharpened(good, 0.5))
    together = square_sums([replace(part, coefficient=-part.coefficient) for part in first] + second)
    pieces = zip(square_sums(first), square_sums(second), cross_sums(first, second), strict=True)
    assert [one + two - 2 * cross for one, two, cross in pieces] == pytest.approx([*together], rel=1e-9)


@each("temperature", [0.5, 0.99])
@each("metric", [DebiasedSquaredGap(), Classwise(DebiasedSquaredGap())])
def test_limits_of_a_difference_of_squares_are_those_of_one_sum_over_pairs(metric, temperature):
    """Normal, with the variance of the sum, but at least that without any error, which counts for models alike."""
    good = calibrated(n=300, k=3)
    bad = sharpened(good, temperature)
    parts = [replace(part, coefficient=-part.coefficient) for part in parts_of(metric, good)] + parts_of(metric, bad)
    rows, squares = np.sum([part.row_sums() for part in parts], axis=0), square_sums(parts)
    variance = 2 * squares.observed + 4 * (np.sum((rows - rows.mean()) ** 2) - squares.observed)
    law = norm(rows.sum(), np.sqrt(max(variance, 2 * squares.expected)))
    found = debiased_difference(good, bad, metric, 0.95)
    assert found.value == pytest.approx(metric(bad) - metric(good), rel=1e-9)
    assert found.limits == pytest.approx(law.interval(0.95), rel=1e-7)
    assert found.pvalue == pytest.approx(2 * min(law.cdf(0), law.sf(0)), rel=1e-6)


@pytest.mark.parametrize("metric, method", [(RMS, "debiased"), (SKCE(KERNEL), "law")], ids=["rms", "skce"])
def test_a_model_that_is_rightly_sure_is_not_found_miscalibrated(metric, method):
    """Hardly any of its predictions is wrong, so that the residuals scatter less than they might."""
    rng = np.random.default_rng(3)
    n_sets, found = 200, 0
    for _ in range(n_sets):
        probs = rng.beta(50, 0.5, 100)
        p = Predictions._trusted(
            np.column_stack([1 - probs, probs]), (rng.random(100) < probs).astype(int), np.ones(100), (0, 1)
        )
        found += METHODS[method](p, metric, 0.95, Bootstrap(1), rng).low > 0
    assert found / n_sets < 0.05 + monte_carlo_bound(0.95, n_sets)


@pytest.mark.parametrize("slope, truth", [(1.0, 0.0), (0.4, 0.1173)])
def test_debiased_limits_cover_with_and_without_miscalibration(slope, truth):
    rng = np.random.default_rng(0)
    n_sets, covered = 200, 0
    for _ in range(n_sets):
        limits = METHODS["debiased"](binary(400, slope, rng), RMS, 0.95, Bootstrap(1), rng)
        covered += limits.low <= truth <= limits.high
    assert abs(covered / n_sets - 0.95) < 0.02 + monte_carlo_bound(0.95, n_sets)


def test_debiased_limits_of_the_under_confident_are_not_too_wide():
    """Their labels scatter less than they say; if the lower limit did not know that, it would cover in 0.976."""
    probs = beta.ppf((np.arange(100_000) + 0.5) / 100_000, 2, 2)
    bins = np.minimum((15 * probs).astype(int), 14)
    by_bin = np.bincount(bins, expit(1.5 * logit(probs)) - probs) ** 2 / np.bincount(bins)
    truth = np.sqrt(by_bin.sum() / len(probs))
    rng = np.random.default_rng(6)
    n_sets, covered = 1200, 0
    for _ in range(n_sets):
        limits = METHODS["debiased"](binary(100, 1.5, rng), RMS, 0.95, Bootstrap(1), rng)
        covered += limits.low <= truth <= limits.high
    assert 0.93 < covered / n_sets < 0.97


@each("metric", [NLL(), Brier(), Accuracy()])
def test_limits_of_scores_cover(metric):
    rng = np.random.default_rng(1)
    truth = metric(binary(200_000, 0.7, rng))
    n_sets, covered = 120, 0
    for _ in range(n_sets):
        limits = interval(binary(150, 0.7, rng), metric, bootstrap=Bootstrap(199), rng=rng)
        covered += limits.low <= truth <= limits.high
    assert abs(covered / n_sets - 0.95) < 0.02 + monte_carlo_bound(0.95, n_sets)


@each("slope", [1.0, 0.4, 2.0])
def test_the_law_of_skce_covers(slope):
    rng = np.random.default_rng(2)
    metric = SKCE(KERNEL)
    truth = 0.0 if slope == 1 else np.mean([metric(binary(10_000, slope, rng)) for _ in range(5)])
    n_sets, covered = 100, 0
    for _ in range(n_sets):
        limits = interval(binary(120, slope, rng), metric, "law", rng=rng)
        covered += limits.low <= truth <= limits.high
    assert abs(covered / n_sets - 0.95) < 0.03 + monte_carlo_bound(0.95, n_sets)


@each("slope, seed, excludes_0", [(1.0, 1, False), (0.3, 0, True)])
def test_limits_of_skce_solve_the_equation_of_their_variances(slope, seed, excludes_0):
    """V(t) = c + s t, all from dense matrices and sums over labels; the upper limit adds what chance may hide to s."""
    p, quantile = binary(60, slope, np.random.default_rng(seed)), norm.ppf(0.975)
    n, off, n_pairs = 60, ~np.eye(60, dtype=bool), 60 * 59
    near = np.exp(-np.abs(p.positive[:, None] - p.positive) / 0.5)
    of_label = [np.eye(2)[y] - p.probs for y in range(2)]
    pairs = near * (p.residuals @ p.residuals.T)
    estimate, seen, diagonal = pairs[off].mean(), np.mean(pairs[off] ** 2), pairs.diagonal().mean()
    chances = {(y, z): np.outer(p.probs[:, y], p.probs[:, z]) for y in range(2) for z in range(2)}
    squares = sum(chance * (near * (of_label[y] @ of_label[z].T)) ** 2 for (y, z), chance in chances.items())
    expected = squares[off].mean()
    rows = (pairs.sum(axis=1) - pairs.diagonal()) / (n - 1)
    observed = 2 * seen / n_pairs + 4 / n * (rows.var(ddof=1) - seen / (n - 1))
    rare = max((own**2).sum(axis=1).max() for own in of_label) / n_pairs

    def variance(theta, noise, more=0.0):
        chance = np.sqrt(noise)
        s = (max(observed - noise, 0) + 4 / n * expected / diagonal * chance) / (max(estimate, 0) + chance)
        return noise + (s + more) * max(theta, 0)

    noise = 2 * expected / n_pairs
    low, high = METHODS["law"](p, SKCE(KERNEL), 0.95, Bootstrap(1), np.random.default_rng(0))
    assert (estimate - high) ** 2 == pytest.approx(quantile**2 * variance(high, noise, rare), rel=1e-9)
    assert (low > 0) == excludes_0
    least = min(noise, max(2 * seen / n_pairs, noise / 2)) if excludes_0 else noise
    assert (estimate - low) ** 2 == pytest.approx(quantile**2 * variance(low, least), rel=1e-9)


def test_expected_squares_of_residual_products_are_means_over_all_labels():
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 2)
    rows = np.eye(3)[:, None] - probs  # Residuals of both rows for every label.
    by_labels = sum(probs[0, y] * probs[1, z] * (rows[y, 0] @ rows[z, 1]) ** 2 for y in range(3) for z in range(3))
    assert _expected_squares(probs[:1], probs[1:])[0, 0] == pytest.approx(by_labels, rel=1e-12)


def test_rare_pairs_widen_the_law_of_skce_where_none_was_seen():
    """No row is wrong: the upper limit must allow for an error of a few pairs of half the largest value, 2."""
    n = 100
    p = Predictions._trusted(np.tile([0.001, 0.999], (n, 1)), np.ones(n, dtype=int), np.ones(n), (0, 1))
    limits = interval(p, SKCE(KERNEL), "law", rng=0)
    assert limits.high > norm.ppf(0.975) ** 2 * 1.99 / (n * (n - 1))


def test_predictions_of_0_and_1_have_the_limits_of_the_rows_as_they_are():
    """They expect no scatter: what happened is all there is."""
    p = Predictions._trusted(np.tile([0.0, 1.0], (60, 1)), np.repeat([1, 0], [40, 20]), np.ones(60), (0, 1))
    for metric, method in ((RMS, "debiased"), (SKCE(KERNEL), "law")):
        limits = interval(p, metric, method, rng=0)
        assert 0 < limits.low < limits.high < 1


@pytest.mark.parametrize("temperature", [0.3, 1.0])
def test_limits_of_kce_are_signed_roots_of_those_of_skce(temperature):
    p = sharpened(calibrated(n=100, k=3), temperature)
    squared, root = interval(p, SKCE(KERNEL), "law", rng=0), interval(p, KCE(KERNEL), "law", rng=0)
    assert (squared.low > 0) == (temperature < 1)
    for found, of in ((root.low, squared.low), (root.high, squared.high), (root.value, squared.value)):
        assert found == pytest.approx(np.copysign(np.sqrt(abs(of)), of), rel=1e-12)


@pytest.mark.parametrize(
    "metric, wanted",
    [(ECE(), (0.0, 0.95)), (SKCE(KERNEL), (-np.inf, 0.95)), (METRICS["in-the-large"], (0.025, 0.975))],
    ids=["error", "signed error", "both sides"],
)
def test_the_range_by_chance_has_one_end_where_only_one_side_speaks_against_calibration(metric, wanted):
    null = np.linspace(0, 1, 1001)
    found = known_interval(calibrated(n=40, k=3), metric, 0.1, 0.95, Bootstrap(9), np.random.default_rng(0), null)
    assert found.null == pytest.approx(wanted, rel=1e-12)


def test_losses_whose_squares_overflow_have_no_limits():
    logits = 1e200 * np.random.default_rng(0).normal(size=(400, 2))
    with pytest.warns(DataWarning, match="exactly 0 or 1"):
        p = Predictions.from_logits(logits, np.arange(400) % 2)
    limits = interval(p, NLL())
    assert (limits.low, limits.high, limits.method) == (None, None, "none")
    assert limits.reason == "values are too large to compute limits"


def test_errors_that_chance_makes_positive_have_their_range_by_chance_instead_of_limits():
    p = calibrated(n=400, k=3, seed=2)
    limits = interval(p, ECE(), bootstrap=Bootstrap(199), rng=0)
    assert limits.null[0] < limits.expected < limits.null[1]
    assert limits.null[0] < limits.value < limits.null[1]
    assert (limits.low, limits.high, limits.method) == (None, None, "none")
    assert limits.reason == "chance alone makes such an error positive; rms-debiased can have limits"
    with pytest.raises(InputError, match='method="debiased" does not suit ECE'):
        interval(p, ECE(), "debiased")


def test_bins_and_views_are_those_of_the_metric():
    p = sharpened(calibrated(n=300, k=3), 0.4)
    rng = np.random.default_rng(0)

    def limits(predictions, metric):
        return METHODS["debiased"](predictions, metric, 0.95, Bootstrap(1), rng)

    assert limits(p, Root(TopLabel(SQUARED))) == limits(p.top_label(), RMS)
    assert limits(p.top_label(), RMS) == limits(p, RMS)
    assert limits(p, Root(DebiasedSquaredGap(EqualMass(5)))) != limits(p, RMS)
    binary_view = p.one_vs_rest(0)
    assert limits(binary_view, Root(Classwise(SQUARED))) == pytest.approx(limits(binary_view, RMS), rel=1e-9)
    for metric in (*LIFTS, SQUARED):
        low, high = limits(p, metric)
        assert low < metric(p) < high


def test_weights_in_proportion_change_nothing():
    p = calibrated(n=100, k=3)
    scaled = Predictions(p.probs, p.labels, np.full(100, 1e200))
    for metric in (NLL(), Accuracy(), RMS):
        one, two = interval(p, metric, rng=0), interval(scaled, metric, rng=0)
        assert (two.low, two.high) == pytest.approx((one.low, one.high), rel=1e-9)


@each("metric", METRICS)
def test_every_metric_has_a_method_or_none_and_no_calibration_error_has_percentiles(metric):
    p = calibrated(n=60, k=3)
    method = method_for(metric, p)
    assert method in {None, *METHODS}
    if metric.measures == "calibration" and metric.better == "lower":
        assert method != "percentile"
        with pytest.raises(InputError, match="miss the true value"):
            interval(p, metric, "percentile")


LEAST_WRONG = [
    (Accuracy(), 10, 4),
    (NLL(), 15, 10),
    (Brier(), 15, 10),
    (InTheLarge(), 15, 10),
    (ObservedExpectedRatio(), 15, 10),
    (Root(DebiasedSquaredGap(EqualWidth(1))), 10, 4),
]


def nearly_sure(expected, wrong, n=1000):
    """Rows of which so many are expected to be wrong, and so many are."""
    sure = np.full((n, 3), expected / n / 2)
    sure[:, 1] = 1 - expected / n
    return Predictions._trusted(sure, np.repeat([0, 1], [wrong, n - wrong]), np.ones(n), (0, 1, 2))


@pytest.mark.parametrize(
    "metric, expected, there", LEAST_WRONG, ids=[type(metric).__name__ for metric, *_ in LEAST_WRONG]
)
def test_limits_need_wrong_rows_that_are_expected_and_there_or_fifty_that_are_there(metric, expected, there):
    few = expected - 0.01
    assert method_for(metric, nearly_sure(expected, there)) is not None
    assert method_for(metric, nearly_sure(expected, there - 1)) is None
    assert method_for(metric, nearly_sure(few, 49)) is None
    assert method_for(metric, nearly_sure(few, 50)) is not None
    heavy = nearly_sure(few, 49)
    heavy = Predictions._trusted(heavy.probs, heavy.labels, np.full(1000, 7.0), (0, 1, 2))  # Weights are no rows.
    assert method_for(metric, heavy) is None
    found = rf'but {expected - 0.1:g} are expected and 49 observed; method="[a-z-]+" gives'
    message = rf"at least {expected} wrong rows.* and {there} observed, or 50 observed, {found}"
    with pytest.raises(InputError, match=message):
        interval(nearly_sure(few, 49), metric)


def test_weighted_rows_that_are_too_few_are_said_to_be_so_by_their_weights():
    """55 of 300 rows are wrong, but nearly all of the weight is that of 30 right ones."""
    wrong = np.repeat([True, False], [55, 245])
    weights = np.where(np.arange(300) >= 270, 100.0, 1.0)
    p = Predictions(np.full(300, 0.8), ~wrong, weights)
    rows = weights.sum() ** 2 / (weights**2).sum()
    expected, observed = rows * 0.2, rows * 55 / weights.sum()
    numbers = (np.floor(10 * number) / 10 for number in (expected, observed))
    said = r"but {:g} are expected and {:g} observed \(in rows of equal weight\)".format(*numbers)
    with pytest.raises(InputError, match=said):
        interval(p, Root(DebiasedSquaredGap(EqualWidth(1))))


def test_limits_of_skce_need_fifty_wrong_rows():
    assert method_for(SKCE(KERNEL), nearly_sure(50, 49)) == "law"
    assert method_for(SKCE(KERNEL), nearly_sure(49.99, 49)) is None
    assert method_for(SKCE(KERNEL), nearly_sure(49.99, 50)) == "law"
    with pytest.raises(
        InputError, match="at least 50 wrong rows must be expected from the predictions and 25 observed"
    ):
        interval(nearly_sure(60, 24), SKCE(KERNEL))


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
def test_the_slope_has_limits_only_if_some_rows_are_right():
    """Of a thousand classes none is likely: hardly any row is expected to be right, and nearly all are wrong."""
    rng = np.random.default_rng(10)
    p = Predictions(rng.dirichlet(np.full(1000, 50.0), 100), rng.integers(0, 1000, 100))
    with pytest.raises(InputError, match=r"at least 15 rows of the rarer outcome must be expected"):
        interval(p, CoxSlope())
    assert interval(p, CoxSlope(), "percentile", bootstrap=Bootstrap(19), rng=0).method == "percentile"


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
def test_labels_that_all_agree_do_not_make_limits_narrow():
    """They seem not to scatter at all; of 100 rows, about one should be wrong here, and twenty are predicted to be."""
    p = Predictions([0.8] * 100, labels=[1] * 100)
    for metric in (RMS, CoxSlope(), METRICS["oe-ratio"], NLL(), Accuracy()):
        with pytest.raises(InputError, match="observed, or 50"):
            interval(p, metric, rng=0)
    assert interval(p, RMS, "debiased", rng=0).low < 0.19


def test_limits_of_skce_need_a_thousand_rows():
    rng = np.random.default_rng(0)
    assert method_for(SKCE(KERNEL), binary(999, 1.0, rng)) is None
    assert method_for(SKCE(KERNEL), binary(1000, 1.0, rng)) == "law"
    with pytest.raises(InputError, match=r'at least 1000 rows are needed, but there are 500; method="law" gives'):
        interval(binary(500, 1.0, rng), SKCE(KERNEL))


def test_limits_of_skce_are_refused_where_labels_scatter_less_than_predicted():
    rng = np.random.default_rng(1)
    p = binary(1200, 3.0, rng)  # Labels are far surer than the predictions.
    with pytest.raises(InputError, match=r'scatter less than the predictions say.*method="law" gives limits'):
        interval(p, SKCE(KERNEL), rng=0)
    with pytest.raises(InputError, match="scatter less"):
        interval(p, KCE(KERNEL), rng=0)
    assert interval(p, SKCE(KERNEL), "law", rng=0).low > 0
    assert interval(binary(1200, 0.5, rng), SKCE(KERNEL), rng=0).method == "law"


def test_limits_of_skce_need_a_lengthscale_that_reaches_other_rows():
    p = calibrated(n=1000, k=10, seed=3)
    median = SKCE().details(p)["lengthscale"]

    def with_lengthscale(lengthscale):
        return SKCE(ExponentialKernel(TotalVariation(), lengthscale) @ WhiteKernel())

    for lengthscale in ("median", 0.37 * median, 5.0):
        assert method_for(with_lengthscale(lengthscale), p) == "law"
    with pytest.raises(InputError, match=r'its lengthscale is far below the median distance.*method="law" gives'):
        interval(p, with_lengthscale(0.3 * median))


def test_wilson_limits_cover_from_ten_wrong_rows_on_and_not_always_below():
    """Exactly, by the binomial law: the reason for the number."""

    def coverage(n, wrong):
        counts = np.arange(n + 1)
        low, high = bands.wilson(counts / n, np.full(n + 1, n), 0.95)
        inside = (low <= wrong / n) & (wrong / n <= high)
        return binom.pmf(counts, n, wrong / n)[inside].sum()

    for n in (100, 1000):
        enough = [coverage(n, wrong) for wrong in np.linspace(10, 50, 200)]
        assert 0.93 <= min(enough) <= max(enough) <= 0.97
        few = [coverage(n, wrong) for wrong in np.linspace(0.5, 5, 100)]
        assert min(few) < 0.93
        assert max(few) > 0.97


def test_limits_for_forecasts_were_not_simulated_and_must_be_asked_for_by_name():
    f = Forecasts(Normal(np.linspace(0, 2, 20), np.ones(20)), np.linspace(-1, 1, 20))
    assert method_for(SKCE(), f) is None
    with pytest.raises(InputError, match=r'predictions of classes only; method="law" gives limits anyway'):
        interval(f, SKCE())
    limits = interval(f, SKCE(), "law", rng=0)
    assert limits.low < limits.value < limits.high


def test_what_is_known_leaves_out_what_is_not_known_to_cover_and_keeps_the_range_under_calibration():
    p = calibrated(n=40, k=3)
    rng = np.random.default_rng(0)
    found = known_interval(p, LIFTS[-1], 0.1, 0.95, Bootstrap(99), rng)
    assert (found.low, found.high, found.method) == (None, None, "none")
    assert found.reason.startswith("its bins hold too few rows")
    assert found.null[0] < found.expected < found.null[1]
    slow = known_interval(p, UCME(), 0.1, 0.95, Bootstrap(99), rng)
    assert (slow.low, slow.null) == (None, None)
    assert slow.reason.startswith("chance alone")
    assert known_interval(p, METRICS["discrimination"], 0.1, 0.95, Bootstrap(99), rng) is None
    in_clusters = known_interval(p, LIFTS[-1], 0.1, 0.95, Bootstrap(99, clusters=np.arange(40)), rng)
    assert (in_clusters.low, in_clusters.null) == (None, None)
    assert in_clusters.reason == "they are for independent rows, not for clusters"


def test_weights_are_counted_as_kish_does_where_bins_must_be_filled():
    """A row that weighs as much as some others leaves nearly as many as there are, whatever the unit."""
    p = calibrated(n=400, k=3)
    weights = np.ones(400)
    weights[0] = 3.0
    for scale in (1.0, 1e-6, 1e6):
        weighted = Predictions(p.probs, p.labels, scale * weights)
        assert are_filled(parts_of(RMS, weighted)) == are_filled(parts_of(RMS, p)) is True
    few = np.where(np.arange(400) < 30, 1.0, 1e-6)  # Nearly all of the weight is on thirty rows.
    assert not are_filled(parts_of(RMS, Predictions(p.probs, p.labels, few)))


def test_limits_are_refused_where_a_few_rows_decide_about_the_variance():
    """(sum of w^2)^2 / sum of w^4: 20 heavy rows among light ones are enough, 19 are not, whatever the unit."""
    p = calibrated(n=600, k=3)
    for scale in (1.0, 1e150):
        enough, few = (np.where(np.arange(600) < heavy, 1e4, 1e-4) * scale for heavy in (20, 19))
        for metric in (Accuracy(), NLL(), RMS, CoxSlope()):
            assert why_not(metric, Predictions(p.probs, p.labels, enough), Bootstrap(9)) != UNEQUAL
            assert why_not(metric, Predictions(p.probs, p.labels, few), Bootstrap(9)) == UNEQUAL
    heavy_tailed = Predictions(p.probs, p.labels, np.random.default_rng(0).lognormal(0, 1.5, 600))
    with pytest.raises(InputError, match="weights are so unequal that fewer than 20 rows determine"):
        interval(heavy_tailed, NLL())
    assert method_for(NLL(), Predictions(p.probs, p.labels, np.random.default_rng(0).exponential(size=600)))
    assert method_for(Accuracy(), Predictions(p.probs[:15], p.labels[:15], np.full(15, 2.0))) is None
    assert why_not(Accuracy(), p.take(range(15)), Bootstrap(9)) != UNEQUAL  # Few rows, but equal ones.


def test_limits_of_scores_cover_where_labels_are_far_surer_than_the_predictions():
    """As of smoothed labels: 30 wrong rows are expected, and 9 there on average.

    A rule that half of the expected ones must be there let 3 of 100 data sets pass, of which two had limits that miss.
    """
    rng, u = np.random.default_rng(0), np.linspace(0.08, 0.12, 2001)
    truth = 2 * np.mean(0.97 * u**2 + 0.03 * (1 - u) ** 2)
    found = []
    for _ in range(200):
        low, is_high = rng.uniform(0.08, 0.12, 300), rng.random(300) < 0.5
        labels = (rng.random(300) < 0.03) ^ is_high
        p = Predictions(np.where(is_high, 1 - low, low), labels)
        if method_for(Brier(), p) is not None:
            found.append(interval(p, Brier(), rng=0))
    assert len(found) > 60  # Ten wrong rows are there in 0.41 of the data sets.
    share = np.mean([one.low <= truth <= one.high for one in found])
    assert share > 0.95 - 4 * np.sqrt(0.95 * 0.05 / len(found))


def test_debiased_limits_are_refused_where_labels_are_far_surer_than_the_predictions():
    for metric in (NLL(), Brier()):
        assert why_not(metric, nearly_sure(60, 10), Bootstrap(9)) == ""
    assert why_not(Accuracy(), nearly_sure(60, 18), Bootstrap(9)) == ""
    one_bin = Root(DebiasedSquaredGap(EqualWidth(1)))
    assert (
        why_not(one_bin, nearly_sure(60, 20), Bootstrap(9)) == why_not(one_bin, nearly_sure(30, 12), Bootstrap(9)) == ""
    )
    assert why_not(one_bin, nearly_sure(60, 19), Bootstrap(9)).startswith("less than 0.4 of the expected")
    assert why_not(one_bin, nearly_sure(30, 11), Bootstrap(9)).endswith("is observed, and fewer than 20")


def test_few_clusters_are_refused_and_accuracy_in_clusters_has_no_wilson_limits():
    p = calibrated(n=600, k=3)
    few, many = (Bootstrap(99, clusters=np.arange(600) % k) for k in (29, 30))
    with pytest.raises(InputError, match="at least 30 clusters are needed"):
        interval(p, NLL(), bootstrap=few)
    assert interval(p, NLL(), bootstrap=many, rng=0).method == "hall"
    assert interval(p, Accuracy(), bootstrap=many, rng=0).method == "hall"


@each(
    "metric, method",
    [
        (NLL(), "law"),
        (ECE(), "hall"),
        (ECE(), "bootstrap-t"),
        (NLL(), "sandwich"),
        (NLL(), "wilson"),
        (NLL(), "debiased"),
        (CoxSlope(), "debiased"),
    ],
)
def test_a_method_by_name_must_be_for_the_metric(metric, method):
    with pytest.raises(InputError, match=f'method="{method}" does not suit'):
        interval(calibrated(n=60, k=3), metric, method)


def test_what_is_not_valid_is_refused():
    p = calibrated(n=60, k=3)
    with pytest.raises(InputError, match="no interval with known coverage"):
        interval(p, UCME())
    with pytest.raises(InputError, match='method must be "auto" or one of'):
        interval(p, ECE(), "jackknife")
    with pytest.raises(InputError, match="level must be a number between 0 and 1"):
        interval(p, ECE(), level=95)
    with pytest.raises(InputError, match="for independent rows, not for clusters"):
        interval(p, RMS, bootstrap=Bootstrap(9, clusters=np.arange(60) // 2))
    weighted = Predictions(p.probs, p.labels, np.arange(1, 61))
    with pytest.raises(InputError, match="rows of equal weight"):
        interval(weighted, SKCE(KERNEL), "law")
