"""Many classes, many groups, many locations: what must not grow with their number, and what must not change."""

import numpy as np
import pytest

from calibrant import DataWarning, Predictions, assess, reliability_curve
from calibrant.assessment.sections import class_summaries
from calibrant.binning import EqualMass, EqualWidth
from calibrant.curves import classwise_curves
from calibrant.hypotest import CMETest
from calibrant.hypotest.deviation_law import deviation_law
from calibrant.hypotest.mean_embedding import MANY_LOCATIONS, leading_directions
from calibrant.kernels import ExponentialKernel, GramKernel, TotalVariation, WhiteKernel
from calibrant.kernels.targets import gram_of
from calibrant.metrics import ECE, SKCE, UCME, Brier, Classwise, DebiasedECE, KdeECE
from calibrant.smoothing.bandwidth import HeldOutLoss, choose_bandwidth
from calibrant.smoothing.sample import Sample
from naming import each
from simulate import calibrated


def weighted(k, n=40, seed=0):
    rng = np.random.default_rng(seed)
    p = calibrated(n=n, k=k, seed=seed)
    return Predictions(p.probs.round(2) + 1e-4, p.labels, rng.integers(0, 3, n) + (np.arange(n) == 0), renormalise=True)


def unweighted(k):
    """Return predictions of which many lie on the edges of bins and intervals."""
    p = weighted(k, n=200)
    return Predictions((p.probs * 40).round() + 0.5 * (p.probs < 0.01), p.labels, renormalise=True)


@each("bins", [EqualWidth(15), EqualWidth(7, "guo"), EqualMass(5)])
@each("metric", [ECE, DebiasedECE])
def test_all_classes_at_once_have_the_values_of_each_view(metric, bins):
    p = weighted(6)
    one_by_one = [metric(bins)(p.one_vs_rest(c)) for c in range(6)]
    assert metric(bins).class_values(p).tolist() == one_by_one
    assert [*Classwise(metric(bins)).details(p)["classes"].values()] == one_by_one


@pytest.mark.parametrize("made", [weighted, unweighted])
def test_curves_of_all_classes_are_those_of_each_view(made):
    p = made(5)
    for c, curve in enumerate(classwise_curves(p, reliability_curve).curves):
        alone = reliability_curve(p.one_vs_rest(c))
        for name in ("predicted", "observed", "low", "high", "lower", "upper", "count", "weight"):
            np.testing.assert_array_equal(getattr(curve, name), getattr(alone, name))
        assert curve.error.value == alone.error.value
        for name in ("edges", "positives", "negatives"):
            np.testing.assert_array_equal(getattr(curve.histogram, name), getattr(alone.histogram, name))


def test_the_cells_of_the_average_hold_the_predictions_of_all_classes():
    p = unweighted(5)
    average = classwise_curves(p, reliability_curve).average
    cells = zip(average.lower, average.upper, strict=True)
    inside = [((low < p.probs) | (p.probs == 0) & (low == 0)) & (p.probs <= high) for low, high in cells]
    assert average.count.tolist() == average.weight.tolist() == [part.sum() for part in inside]
    assert average.count.sum() == p.probs.size


def test_histograms_are_those_of_numpy():
    p = Predictions(np.round(np.linspace(0, 1, 201), 3), np.arange(201) % 2)
    histogram = reliability_curve(p).histogram
    expected = np.histogram(p.positive[p.labels == 1], 40, range=(0, 1))[0]
    assert histogram.positives.tolist() == expected.tolist()


def test_summaries_of_classes_follow_their_definition():
    p = weighted(4)
    for c, found in enumerate(class_summaries(p)):
        assert found.n_observed == ((p.labels == c) & (p.weights > 0)).sum()
        assert found.predicted == pytest.approx(np.average(p.probs[:, c], weights=p.weights), rel=1e-14)
        assert found.observed == pytest.approx(np.average(p.labels == c, weights=p.weights), rel=1e-14)
        assert found.error == ECE()(p.one_vs_rest(c))


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
@pytest.mark.parametrize("n", [1, 60])
def test_the_average_of_curves_between_the_steps_is_taken_at_their_points(n):
    p = Predictions([[0.2, 0.4, 0.4]] * n, ([0, 1, 1] * 20)[:n])
    average = classwise_curves(p, reliability_curve).average
    share = np.bincount(p.labels, minlength=3) / n
    assert average.predicted == pytest.approx([0.2, 0.4])
    assert average.observed == pytest.approx([share[0], (share[1] + share[2]) / 2])
    assert len(average.count) == len(average.lower) == 2


def test_classes_that_never_occur_need_no_search(monkeypatch):
    tried = []
    original = HeldOutLoss.each
    monkeypatch.setattr(HeldOutLoss, "each", lambda loss, sums: tried.append(len(sums)) or original(loss, sums))
    with pytest.warns(DataWarning, match="fewer rows"):
        p = Predictions(np.random.default_rng(0).dirichlet(np.ones(200), 10), np.arange(10))
    Classwise(KdeECE()).estimate(p)
    assert len(tried) <= 2 * 10  # Twice for each class that occurs: the grid, and a vertex.


@each("kernel", ["gaussian", "triweight", "beta"])
def test_bandwidths_tried_at_once_have_the_losses_of_each(kernel):
    rng = np.random.default_rng(1)
    sample = Sample.of(rng.random(30), (rng.random(30) < 0.5).astype(float), rng.integers(1, 4, 30).astype(float))
    from calibrant._core.line.boxes import Line
    from calibrant._core.line.twin import PlainSums

    loss = HeldOutLoss(sample, np.arange(30) % 5)
    several = [PlainSums(Line.of(sample.positions), h, kernel) for h in (0.01, 0.1, 0.4)]
    assert loss.each(several) == pytest.approx([loss(one) for one in several], rel=1e-13)


@each("kernel", ["gaussian", "triweight", "epanechnikov", "beta"])
def test_sums_with_several_bandwidths_are_those_with_each(kernel):
    """In any order of the rows, and of so many that a few bandwidths are taken at a time."""
    from calibrant._core.line.boxes import Line
    from calibrant._core.line.twin import PlainSums, leave_one_out_of_each

    rng = np.random.default_rng(2)
    for n in (30, 80, 150):
        line, charges = Line.of(rng.random(n)), rng.random((n, 3))
        several = [PlainSums(line, h, kernel) for h in (0.01, 0.03, 0.1, 0.2, 0.4)]
        expected = np.array([one.leave_one_out(charges) for one in several])
        assert leave_one_out_of_each(several, charges) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_equal_outcomes_take_the_widest_bandwidth():
    sample = Sample.of(np.linspace(0.1, 0.3, 20), np.zeros(20), np.ones(20))
    assert choose_bandwidth(sample, "cv", "gaussian", "reflect") == 0.5


def test_the_leading_directions_of_many_locations_are_those_of_the_matrix():
    law = deviation_law(UCME(), calibrated(n=30, k=25))
    assert law.n_locations > MANY_LOCATIONS
    variances, vectors = leading_directions(law)
    values, all_vectors = np.linalg.eigh(law.covariance())
    assert variances == pytest.approx(values[-len(variances) :], rel=1e-9)
    overlap = np.linalg.norm(all_vectors[:, -len(variances) :].T @ vectors) ** 2
    assert overlap == pytest.approx(len(variances), rel=1e-6)


@each("targets", [WhiteKernel(), 3.0 * WhiteKernel(), GramKernel(np.eye(4) + 0.5)])
def test_the_covariance_and_its_product_follow_the_definition(targets):
    p = calibrated(n=12, k=4)
    metric = UCME(
        ExponentialKernel(TotalVariation(), 0.5) @ targets + ExponentialKernel(TotalVariation(), 2.0) @ targets
    )
    law = deviation_law(metric, p)
    expected = np.zeros((law.n_locations,) * 2)
    for label in range(4):
        deviations = metric.deviations(p.with_labels(np.full(12, label)))
        expected += (deviations * p.probs[:, [label]]).T @ deviations / 12
    np.testing.assert_allclose(law.covariance(), expected, atol=1e-13)
    vector = np.random.default_rng(0).standard_normal(law.n_locations)
    np.testing.assert_allclose(law.operator() @ vector, expected @ vector, atol=1e-12)


def test_a_scaled_white_kernel_is_the_scaled_identity():
    rows = np.random.default_rng(0).random((3, 4))
    gram = gram_of(2.0 * WhiteKernel(), 4)
    assert gram.matrix is None
    np.testing.assert_allclose(gram.times(rows), 2 * rows)
    np.testing.assert_allclose(gram.columns(rows, np.array([1, 1, 3])), 2 * rows[:, [1, 1, 3]])
    full = gram_of(GramKernel(2 * np.eye(4)), 4)
    np.testing.assert_allclose(gram.times_factor(rows) ** 2, full.times_factor(rows) ** 2)
    assert gram.distance(0, 1) == full.distance(0, 1) == 4


@pytest.mark.parametrize("metric", [SKCE(), UCME(), ECE().class_values], ids=["skce", "ucme", "ece"])
def test_memory_does_not_grow_with_the_square_of_the_number_of_classes(metric):
    from traced import peak_memory

    with pytest.warns(DataWarning, match="fewer rows"):
        p = Predictions(np.random.default_rng(0).dirichlet(np.ones(1000), 4), np.arange(4))
    metric(p)  # Whatever is loaded once is loaded now.
    assert peak_memory(lambda: metric(p)) < 1000**2 * 8 / 4


def test_certain_predictions_are_refused_and_not_divided_by_rounding():
    from calibrant import InputError

    rng = np.random.default_rng(0)
    with pytest.warns(DataWarning):
        p = Predictions(np.eye(12)[rng.integers(0, 12, 20)], rng.integers(0, 12, 20))
    with pytest.raises(InputError, match="certain"):
        CMETest()(p)


def test_groups_are_split_in_one_pass_and_keep_their_rows():
    p = calibrated(n=30, k=2)
    found = assess(p, by=["b", "a", "b"] * 10, n_resamples=19, rng=0).groups
    assert [*found] == ["a", "b"]
    assert found["a"].metrics["brier"].value == Brier()(p.take(np.arange(1, 30, 3)))
