"""Net benefit and its relatives: published values, definitions, identities, coverage of bands."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from calibrant import DataWarning, InputError, Predictions, interval
from calibrant.decisions import decision_curve, decision_difference
from calibrant.decisions.cells import Means
from calibrant.metrics import Costs, ExpectedCost, NetBenefit, SquaredError
from decision_cases import cancer
from naming import each
from properties import examples

AT = [0.01, 0.05, 0.10, 0.20, 0.35, 0.50]
# Computed by the package dcurves 1.1.7.
NET_BENEFIT = [0.132431, 0.105544, 0.087407, 0.067333, 0.050154, 0.021333]
TREAT_ALL = [0.131313, 0.094737, 0.044444, -0.075, -0.323077, -0.72]
FAMILY_HISTORY = [0.030774, 0.025614, 0.018519, 0.001667, -0.033333, -0.089333]


def by_definition(p, y, w, t):
    """Return net benefit and loss, row by row."""
    true = sum(wi for pi, yi, wi in zip(p, y, w, strict=True) if pi >= t and yi == 1) / sum(w)
    false = sum(wi for pi, yi, wi in zip(p, y, w, strict=True) if pi >= t and yi == 0) / sum(w)
    missed = sum(wi for pi, yi, wi in zip(p, y, w, strict=True) if pi < t and yi == 1) / sum(w)
    return true - false * t / (1 - t), 2 * (t * false + (1 - t) * missed)


class TestTutorial:
    def test_net_benefit_is_that_of_dcurves(self):
        y, history, p = cancer()
        curve = decision_curve(y, p, thresholds=AT, rng=0)
        assert curve.net_benefit.value == pytest.approx(NET_BENEFIT, abs=1e-6)
        assert curve.treat_all == pytest.approx(TREAT_ALL, abs=1e-6)
        assert curve.avoided[1:4] == pytest.approx([0.205333, 0.386667, 0.569333], abs=1e-6)
        assert (curve.n_samples, curve.n_events) == (750, 105)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # It is 0 or 1.
            other = decision_curve(y, history, thresholds=AT, rng=0)
        assert other.net_benefit.value == pytest.approx(FAMILY_HISTORY, abs=1e-6)

    def test_known_prevalence_is_that_of_dcurves(self):
        y, _, p = cancer()
        curve = decision_curve(y, p, thresholds=AT[1:4], prevalence=0.3, rng=0)
        assert curve.net_benefit.value == pytest.approx([0.256007, 0.225298, 0.187697], abs=1e-6)
        assert curve.prevalence == pytest.approx(0.3, abs=1e-15)

    def test_standard_errors_are_those_of_means(self):
        y, _, p = cancer()
        curve = decision_curve(y, p, thresholds=AT[1:4], rng=0)
        # The reference divides by n, not by n - 1.
        factor = np.sqrt(749 / 750)
        assert factor * curve.net_benefit.error == pytest.approx([0.012546, 0.012195, 0.011755], abs=1e-6)
        assert curve.over_all.value == pytest.approx([0.010807, 0.042963, 0.142333], abs=1e-6)
        assert factor * curve.over_all.error == pytest.approx([0.004177, 0.006282, 0.009333], abs=1e-6)

    def test_the_loss_integrates_to_the_squared_error(self):
        y, _, p = cancer()
        ends = np.unique([0.0, *p, 1.0])
        middle = (ends[1:] + ends[:-1]) / 2  # Between two predictions the loss is a straight line.
        loss = decision_curve(y, p, thresholds=middle, n_resamples=9, rng=0).loss  # Not of the resamples.
        assert loss @ np.diff(ends) == pytest.approx(0.084929098, abs=1e-9)
        assert loss @ np.diff(ends) == pytest.approx(SquaredError()(y, p), abs=1e-12)

    def test_the_bands_contain_the_value_and_the_joint_one_is_wider(self):
        y, _, p = cancer()
        curve = decision_curve(y, p, rng=0)
        for band in (curve.net_benefit, curve.over_all):
            assert np.all((band.joint_low <= band.low) & (band.low <= band.value))
            assert np.all((band.value <= band.high) & (band.high <= band.joint_high))
        assert np.isfinite(curve.net_benefit.low[:40]).all()


rows = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.9, 1.0]), min_size=n, max_size=n),
        st.lists(st.integers(0, 1), min_size=n, max_size=n),
        st.lists(st.sampled_from([0.5, 1.0, 2.0, 0.0]), min_size=n, max_size=n).filter(any),
    )
)


@given(rows)
@examples(25)
def test_values_are_those_of_the_definition(data):
    p, y, w = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predictions = Predictions(p, y, w)
    t = np.array([0.1, 0.2, 0.25, 0.3, 0.7])
    curve = decision_curve(predictions, thresholds=t, n_resamples=9, rng=0)
    expected = np.array([by_definition(p, y, w, threshold) for threshold in t])
    assert curve.net_benefit.value == pytest.approx(expected[:, 0], abs=1e-12)
    assert curve.loss == pytest.approx(expected[:, 1], abs=1e-12)
    pi = curve.prevalence
    assert curve.net_benefit.value == pytest.approx(pi - curve.loss / (2 * (1 - t)), abs=1e-12)
    assert curve.over_all.value == pytest.approx(curve.net_benefit.value - curve.treat_all, abs=1e-12)
    assert curve.avoided == pytest.approx(curve.over_all.value * (1 - t) / t, abs=1e-12)
    assert curve.standardised * pi == pytest.approx(curve.net_benefit.value if pi else 0 * t, abs=1e-12)


def example(n=400, seed=0, temperature=1.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(-1.5, 1.5, n)
    y = rng.random(n) < 1 / (1 + np.exp(-z))
    return Predictions.from_logits(z / temperature, y.astype(int))


def test_errors_are_those_of_row_by_row_sums():
    p = example()
    w = np.random.default_rng(1).uniform(0.2, 2.0, len(p))
    weighted = Predictions(p.probs, p.labels, w)
    curve = decision_curve(weighted, thresholds=[0.1, 0.3], rng=0)
    for j, t in enumerate((0.1, 0.3)):
        u = w / w.sum() * (NetBenefit(t).per_row(p) - NetBenefit(t)(weighted))
        kept = 1 - np.sum((w / w.sum()) ** 2)
        assert curve.net_benefit.error[j] == pytest.approx(np.sqrt(np.sum(u**2) / kept), rel=1e-12)


def test_a_known_prevalence_varies_within_the_outcomes():
    p = example()
    curve = decision_curve(p, thresholds=[0.2], prevalence=0.1, rng=0)
    acts, event = p.positive >= 0.2, p.labels == 1
    odds = 0.25
    variances = [np.var(acts[own], ddof=1) / own.sum() for own in (event, ~event)]
    expected = np.sqrt(0.1**2 * variances[0] + (0.9 * odds) ** 2 * variances[1])
    assert curve.net_benefit.error[0] == pytest.approx(expected, rel=1e-12)


def test_a_constant_factor_of_the_weights_changes_nothing():
    p = example()
    w = np.random.default_rng(1).uniform(0.2, 2.0, len(p))
    one, two = (decision_curve(Predictions(p.probs, p.labels, f * w), rng=0) for f in (1, 1e5))
    assert one.net_benefit.joint_low == pytest.approx(two.net_benefit.joint_low, rel=1e-9)


def test_the_metric_has_the_same_value_and_limits():
    p = example()
    curve, limits = decision_curve(p, thresholds=[0.2], rng=0), interval(p, NetBenefit(0.2), rng=0)
    assert limits.value == pytest.approx(curve.net_benefit.value[0], abs=1e-12)
    # The limits of the metric let the predictions have a part in the standard error.
    assert limits.low == pytest.approx(curve.net_benefit.low[0], abs=0.003)


def test_differences_are_paired():
    before, after = example(temperature=0.4), example()
    found = decision_difference(before, after, thresholds=[0.1, 0.3], rng=0)
    for j, t in enumerate((0.1, 0.3)):
        rows = NetBenefit(t).per_row(after) - NetBenefit(t).per_row(before)
        assert found.net_benefit.value[j] == pytest.approx(rows.mean(), abs=1e-12)
        assert found.net_benefit.error[j] == pytest.approx(rows.std(ddof=1) / np.sqrt(len(rows)), rel=1e-9)
        assert found.loss.value[j] == pytest.approx(-2 * (1 - t) * rows.mean(), abs=1e-12)


def test_where_few_rows_decide_there_are_no_limits():
    p = Predictions([0.9] * 3 + [0.1] * 297, [1] * 3 + [0] * 292 + [1] * 5)
    curve = decision_curve(p, thresholds=[0.05, 0.5], rng=0)
    assert curve.net_benefit.low.tolist()[1] == -np.inf
    assert np.isinf(curve.over_all.high[0])  # Nobody is left out at 0.05.


def test_joint_limits_of_independent_means_are_those_of_the_largest_of_normal_numbers():
    """The quantile of the largest of k, of 40 000 draws within 4 standard errors of its probability."""
    for k, cells in ((1, 1), (1, 7), (4, 4)):
        factor = np.repeat(np.eye(k), cells // k, axis=0) * np.arange(1.0, k + 1)
        means = Means(
            np.arange(k) / 10, factor, np.zeros(k), np.ones(k, dtype=bool), 1e9, np.full(k, 9.0), 9.0, np.ones(k)
        )
        low, high = means.joint_limits(0.9, 40_000, np.random.default_rng(k))
        reach = (high - low) / 2 / means.error
        assert (high + low) / 2 == pytest.approx(means.value)
        assert reach == pytest.approx(np.full(k, reach[0]))
        assert (1 - 2 * norm.sf(reach[0])) ** k == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 40_000))


def test_bands_cover():
    """The true curve, from many rows, lies in the joint band of few as often as promised."""
    t = np.linspace(0.05, 0.5, 10)
    true = decision_curve(example(100_000, seed=99, temperature=0.5), thresholds=t, n_resamples=9, rng=0)
    inside, joint = np.zeros(10), 0
    runs = 50
    for seed in range(runs):
        band = decision_curve(
            example(500, seed=1000 + seed, temperature=0.5), thresholds=t, n_resamples=400, rng=seed
        ).net_benefit
        hits = (band.low <= true.net_benefit.value) & (true.net_benefit.value <= band.high)
        inside += hits
        joint += np.all((band.joint_low <= true.net_benefit.value) & (true.net_benefit.value <= band.joint_high))
    error = np.sqrt(0.05 * 0.95 / runs)
    assert np.all(inside / runs > 0.95 - 3.5 * error)
    assert np.all(inside / runs < 0.95 + 3.5 * error)
    assert 0.95 - 3 * error < joint / runs < 0.95 + 3 * error + 0.01


def test_limits_far_beyond_most_predictions_cover_where_they_are_given():
    """About 14 of 100 samples have enough rows beyond this threshold, more than there are on average."""
    rng, runs, n = np.random.default_rng(0), 300, 1000
    t = 1 / (1 + np.exp(-norm.ppf(0.99) / 2))
    z = norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    event = 1 / (1 + np.exp(-z))
    true = np.mean((z >= norm.ppf(0.99)) * (event - (1 - event) * t / (1 - t)))
    given = hits = 0
    for _ in range(runs):
        z = rng.normal(size=n)
        p = Predictions(1 / (1 + np.exp(-z / 2)), (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int))
        band = decision_curve(p, thresholds=[t], n_resamples=1, rng=0).net_benefit
        given += np.isfinite(band.low[0])
        hits += np.isfinite(band.low[0]) and band.low[0] <= true <= band.high[0]
    assert 0.05 < given / runs < 0.3
    assert hits / given > 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / given)  # It was 0.57.


def test_the_limit_next_to_zero_is_near_it_where_there_are_just_enough_rows():
    def curve(n_beyond):
        p = Predictions([0.9] * n_beyond + [0.1] * 400, [1] * n_beyond + [0] * 360 + [1] * 40)
        return decision_curve(p, thresholds=[0.5], rng=0).net_benefit

    too_few, few, many = curve(4), curve(5), curve(80)
    assert too_few.low[0] == -np.inf
    assert few.low[0] == pytest.approx(0, abs=1e-6)
    assert few.low[0] < few.value[0] - 1.96 * few.error[0]
    assert few.joint_low[0] <= few.low[0]
    assert many.low[0] == pytest.approx(many.value[0] - 1.96 * many.error[0], rel=0.02)


@each(
    "settings, words",
    [
        ({"thresholds": [0.5, 1.0]}, "above 0 and below 1"),
        ({"thresholds": []}, "at least one"),
        ({"prevalence": 1.5}, "prevalence must be a probability"),
        ({"level": 2}, "level"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        decision_curve(example(50), **settings)


def test_more_classes_and_other_rows_are_refused():
    three = Predictions(np.full((4, 3), 1 / 3), [0, 1, 2, 0])
    with pytest.raises(InputError, match="there are 3 classes"):
        decision_curve(three)
    with pytest.raises(InputError, match="same rows"):
        decision_difference(example(50), example(50, seed=1))
    with pytest.raises(InputError, match="both outcomes"):
        decision_curve([1, 1], [0.5, 0.6], prevalence=0.2)


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
@each("form", [lambda p: p, lambda p: 1 - (1 - p), lambda p: np.column_stack([1 - p, p])])
def test_predictions_in_hundredths_reach_thresholds_in_hundredths(form):
    rng = np.random.default_rng(6)
    hundredths, events = rng.integers(0, 101, 400), rng.integers(0, 2, 400)
    p = Predictions(form(hundredths / 100), events)
    curve = decision_curve(p, n_resamples=50, rng=0)
    for i, (threshold, found) in enumerate(zip(curve.thresholds, curve.net_benefit.value, strict=True), start=1):
        odds, acts = i / (100 - i), hundredths >= i  # Whole numbers have no rounding.
        expected = (acts * np.where(events == 1, 1.0, -odds)).mean()
        assert found == pytest.approx(expected, abs=1e-9)
        assert NetBenefit(float(threshold))(p) == pytest.approx(expected, abs=1e-9)
        cost = (acts * (events == 0) * i + ~acts * (events == 1) * (100 - i)).mean()
        assert ExpectedCost(Costs(i, 100 - i))(p) == pytest.approx(cost, abs=1e-9)
