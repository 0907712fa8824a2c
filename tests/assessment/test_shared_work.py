"""What metrics of the same predictions share, and what is computed for all classes at once, equals the plain way."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist

from calibrant import Predictions
from calibrant._core import threads
from calibrant._core.bins import bin_columns, bin_index, bin_sums
from calibrant._core.distances import distances
from calibrant.binning import EqualMass, EqualWidth
from calibrant.binning.interval import largest_values
from calibrant.binning.sums import bin_totals
from calibrant.binning.ties import comparable
from calibrant.curves import kernel_curve
from calibrant.kernels import Euclidean, TotalVariation
from calibrant.kernels.distances import median_distance
from calibrant.metrics import (
    ICI,
    KCE,
    METRICS,
    SKCE,
    UCME,
    Affordable,
    Classwise,
    DebiasedSquaredGap,
    DirichletECE,
    GapQuantile,
    KdeECE,
    Metric,
    PerPredictedClass,
    SimplexECE,
    kde_ece,
)
from calibrant.metrics.lifts import by_prediction
from naming import each

EDGES = st.sampled_from([b / n for n in (2, 3, 7, 15) for b in range(n + 1)])
NEAR = st.builds(
    lambda e, d: min(max(e + d, 0.0), 1.0), EDGES, st.sampled_from([0.0, 1e-16, 4e-13, -4e-13, 6e-13, -6e-13])
)
VALUES = st.lists(st.one_of(NEAR, st.floats(0, 1)), min_size=1, max_size=60).map(np.array)


def simulated(n, k, seed=0, digits=None, weighted=False):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(k), size=n)
    labels = (rng.random(n)[:, None] > truth.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)
    probs = truth**1.5
    probs = probs if digits is None else probs.round(digits) + 1e-3
    weights = rng.integers(0, 4, size=n) if weighted else None
    return Predictions(probs / probs.sum(axis=1, keepdims=True), labels, weights)


pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")  # Few rows are enough here.


class TestSumsInBins:
    @given(VALUES, st.sampled_from([1, 2, 3, 7, 15]))
    def test_values_are_compared_at_twelve_decimals(self, values, n_bins):
        edges = comparable(np.arange(n_bins + 1) / n_bins)
        rule = np.searchsorted(edges[1:-1], comparable(values), side="left")
        assert EqualWidth(n_bins).cut(values, np.ones(len(values))).index.tolist() == rule.tolist()

    @given(VALUES, st.sampled_from([2, 3, 15]), st.randoms(use_true_random=False))
    def test_one_pass_sums_what_a_loop_does(self, values, n_bins, random):
        weights, labels = np.array([[random.random(), random.randint(0, 1)] for _ in values]).T
        sums = np.zeros((3, n_bins))
        last = largest_values(n_bins)
        for value, weight, label in zip(values, weights, labels, strict=True):
            sums[:, np.sum(last < value)] += weight, weight * value, weight * label
        found = bin_sums(values, weights, labels.astype(np.int64), last)
        np.testing.assert_allclose(found, sums, rtol=1e-13, atol=1e-300)
        pair = bin_columns(np.column_stack([values, values]), weights, last)
        np.testing.assert_allclose(pair, [sums[:2], sums[:2]], rtol=1e-13, atol=1e-300)

    @pytest.mark.parametrize("weight", [1.0, 0.1], ids=["counted", "added"])
    def test_events_of_many_redraws_are_the_sums_of_each(self, weight):
        rng = np.random.default_rng(0)
        values, events = rng.random(90), rng.random((90, 40)) < 0.3
        cut = EqualWidth(7).cut(values, np.ones(90))
        found = bin_totals(cut, np.full(90, weight))(events)
        alone = [np.bincount(cut.index, weights=weight * column, minlength=7) for column in events.T]
        assert np.array_equal(found, np.transpose(alone))  # To the last bit: p-values compare redraws with data.

    def test_bins_of_unequal_width_are_found_too(self):
        values, last = np.linspace(0, 1, 200), np.array([0.01, 0.02, 0.9])
        assert bin_index(values, last).tolist() == np.searchsorted(last, values, side="left").tolist()

    @given(st.integers(1, 60), st.integers(2, 5), st.integers(0, 99), st.sampled_from([None, 1, 2]))
    def test_classes_in_bins_of_equal_mass_are_those_of_each_alone(self, n, k, seed, digits):
        p = simulated(n, k, seed, digits)
        metric = DebiasedSquaredGap(EqualMass(4))
        alone = [metric(p.one_vs_rest(c)) for c in range(k)]
        np.testing.assert_allclose(metric.class_values(p), alone, rtol=1e-9, atol=1e-14)


class TestDistances:
    @each("n, m, k", [(1, 1, 1), (70, 33, 3), (5, 130, 40)])
    def test_compiled_distances_are_scipys(self, n, m, k):
        x, y = (np.random.default_rng(s).dirichlet(np.ones(k), size=size) for s, size in ((0, n), (1, m)))
        np.testing.assert_allclose(distances(x, y, squared=False), cdist(x, y, "cityblock"), rtol=1e-13, atol=1e-16)
        np.testing.assert_allclose(distances(x, y, squared=True), cdist(x, y, "sqeuclidean"), rtol=1e-13, atol=1e-16)

    @given(st.lists(st.floats(0, 1), min_size=3, max_size=40))
    def test_the_median_of_two_classes_is_that_of_all_pairs(self, values):
        points = np.column_stack([1 - np.array(values), values])
        truth = np.median(pdist(points, "cityblock") / 2)
        if truth > 1e-9:
            assert median_distance(TotalVariation(), points) == pytest.approx(truth, abs=1e-15)
            assert median_distance(Euclidean(), points) == pytest.approx(np.sqrt(2) * truth, abs=1e-15)

    def test_many_classes_take_fewer_rows_for_the_same_median_nearly(self, monkeypatch):
        points = simulated(1500, 200).probs
        exact = np.median(pdist(points, "cityblock") / 2)
        monkeypatch.setattr("calibrant.kernels.distances.MEDIAN_WORK", 25 * 10**6)  # 500 of 1500 rows
        assert median_distance(TotalVariation(), points) == pytest.approx(exact, rel=0.01)


class TestRedrawnLabels:
    @each("weighted", [False, True])
    @pytest.mark.parametrize("metric", [UCME(), SimplexECE(), METRICS["ece-simplex-median"]], ids=["u", "s", "m"])
    def test_all_labels_at_once_are_each_by_itself(self, metric, weighted):
        p = simulated(80, 4, weighted=weighted, digits=1)
        labels = np.random.default_rng(1).integers(0, 4, size=(80, 3))
        alone = [metric.prepare(q)(q.weights[:, None].astype(float))[0] for q in map(p.with_labels, labels.T)]
        np.testing.assert_allclose(metric.prepare_labels(p)(labels), alone, rtol=1e-11)
        assert metric(p) == pytest.approx(metric.prepare(p)(p.weights[:, None])[0], rel=1e-11)


class TestManyClasses:
    def test_more_than_32_classes_share_a_bandwidth_and_say_so(self):
        p = simulated(200, 33)
        found = Classwise(KdeECE()).estimate(p)
        h = found.details["bandwidth"]
        values = [KdeECE(bandwidth=h)(p.one_vs_rest(c)) for c in range(33)]
        assert [*found.details["classes"].values()] == pytest.approx(values)
        assert found.value == pytest.approx(np.mean(values))
        few = simulated(60, 32)
        assert "bandwidth" not in Classwise(KdeECE()).estimate(few).details

    def test_the_shared_bandwidth_is_among_those_of_the_classes(self):
        p = simulated(150, 33)
        own = [KdeECE().fit_bandwidth(p.one_vs_rest(c)).bandwidth for c in range(0, 33, 3)]  # Some are enough.
        assert min(own) <= Classwise(KdeECE()).estimate(p).details["bandwidth"] <= max(own)

    @pytest.mark.parametrize("lift", [Classwise, PerPredictedClass])
    def test_it_changes_errors_little(self, lift, monkeypatch):
        shared = lift(KdeECE())(simulated(1500, 40))
        monkeypatch.setattr(kde_ece, "MOST_SEARCHED_CLASSES", 40)
        assert shared == pytest.approx(lift(KdeECE())(simulated(1500, 40)), rel=0.1)

    def test_rows_predicted_as_a_class_are_smoothed_wider_than_all_rows(self):
        p = simulated(600, 33)
        found = PerPredictedClass(KdeECE()).estimate(p)
        whole = KdeECE().fit_bandwidth(p.top_label()).bandwidth
        assert found.details["bandwidth"] == whole
        for rows, c, view in by_prediction(p):
            width = min(whole * (600 / len(rows)) ** 0.2, 0.5)
            assert found.details["classes"][c] == pytest.approx(KdeECE(bandwidth=width)(view))

    def test_replicates_and_labels_use_the_shared_bandwidth_as_well(self):
        p = simulated(150, 33)
        for metric in (Classwise(KdeECE()), PerPredictedClass(KdeECE())):
            value = metric(p)
            assert metric.prepare(p)(p.weights[:, None])[0] == pytest.approx(value)
            assert metric.prepare_labels(p)(p.labels[:, None])[0] == pytest.approx(value)

    def test_blocks_of_many_classes_are_equal_and_cover_nearly_all_rows(self):
        size = Affordable()(10_000, n_classes=1000)
        assert 10_000 // size * size >= 9_990
        assert size * (size - 1) // 2 * (10_000 // size) <= 2e7
        assert Affordable()(10_000, n_classes=100) == 10_000

    def test_what_takes_long_says_so(self):
        few, many = simulated(50, 10), simulated(3000, 60)
        assert DirichletECE().is_affordable(few)
        assert not DirichletECE().is_affordable(many)
        assert SimplexECE().is_affordable(few)


class TestOnce:
    def test_metrics_and_curves_search_a_bandwidth_once(self, monkeypatch):
        p, calls = simulated(300, 2), []
        choose = kde_ece.as_bandwidth.__globals__["choose_bandwidth"]
        monkeypatch.setitem(
            kde_ece.as_bandwidth.__globals__, "choose_bandwidth", lambda *args: calls.append(1) or choose(*args)
        )
        KdeECE().estimate(p)
        KdeECE(norm=2).estimate(p)
        kernel_curve(p)
        assert len(calls) == 1

    def test_both_kernel_errors_sum_the_pairs_once(self, monkeypatch):
        p = simulated(100, 3)
        squared = SKCE()(p)
        monkeypatch.setattr(SKCE, "prepare", None)
        assert KCE()(p) == pytest.approx(np.sign(squared) * np.sqrt(abs(squared)))

    def test_distances_to_one_curve_are_fitted_once(self, monkeypatch):
        p = simulated(100, 2)
        value = ICI()(p)
        monkeypatch.setattr("calibrant.smoothing.smoothers.Loess.fit", None)
        assert GapQuantile(0)(p) <= value <= GapQuantile(1)(p)

    @each("name", [name for name, metric in METRICS.items() if metric.least_rows == 1])
    def test_the_value_is_that_of_the_evaluator_at_the_own_weights(self, name):
        p = simulated(60, 3, weighted=True, digits=1)
        metric: Metric = METRICS[name]
        assert metric(p) == pytest.approx(metric.prepare(p)(p.weights[:, None])[0], rel=1e-9, abs=1e-12)
        assert metric.estimate(p).value == metric(p)


def test_jobs_within_jobs_do_not_wait_for_each_other():
    def outer(i):
        return sum(threads.in_order(lambda j: i * j, range(5), 2))

    assert list(threads.in_order(outer, range(20), 2)) == [10 * i for i in range(20)]


def test_threads_are_kept_for_the_next_call():
    import threading

    def names():
        return set(threads.in_order(lambda _: threading.current_thread().name, range(40), 2))

    assert len(names() | names() | names()) <= 2


def test_rows_are_grouped_by_prediction():
    p = simulated(200, 6, weighted=True)
    groups = by_prediction(p)
    assert sorted(np.concatenate([rows for rows, _, _ in groups]).tolist()) == list(range(200))
    assert all(one < other for (_, one, _), (_, other, _) in pairwise(groups))
    for rows, c, view in groups:
        whole = p.one_vs_rest(c).take(rows)
        for name in ("probs", "labels", "weights"):
            assert np.array_equal(getattr(view, name), getattr(whole, name))
        assert view.classes == whole.classes
