"""KDE-ECE against its definition, published values and known truths."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, Predictions
from calibrant.metrics import Classwise, KdeECE, PerPredictedClass, TopLabel
from cores import core
from naming import each
from oracles.kde import integral_by_densities, kde_ece_by_loops, kde_ece_by_matrix
from oracles.lines import clustered
from properties import examples
from simulate import calibrated

KERNELS = ["gaussian", "triweight", "epanechnikov", "beta"]
EVERY_KERNEL = each("kernel", KERNELS)
BOTH_BOUNDARIES = each("boundary", ["reflect", "none"])
BOTH_WAYS = each("name", ["", "numpy"])

P = np.array([0.1, 0.2, 0.3, 0.35, 0.6, 0.7, 0.8, 0.9])
Y = np.array([0, 0, 1, 0, 1, 0, 1, 1])
EIGHT = Predictions(P, Y)


def rows(seed, n):
    rng = np.random.default_rng(seed)
    c = rng.beta(3, 1, n)
    return c, (rng.random(n) < c**1.5).astype(int)


# The Beta kernel takes anything below 1e-300 for 0.
CONFIDENCE = st.one_of(st.floats(1e-290, 1), st.sampled_from([0.0, 0.5, 0.9, 1.0]))


@EVERY_KERNEL
@BOTH_BOUNDARIES
@BOTH_WAYS
@examples(8)
@given(
    data=st.lists(st.tuples(CONFIDENCE, st.integers(0, 1), st.sampled_from([0.5, 1.0, 3.0])), min_size=2, max_size=40),
    h=st.floats(0.005, 0.2),
    norm=st.sampled_from([1, 2, 1.5]),
    isolated=st.sampled_from(["drop", "zero"]),
)
def test_equals_the_double_loop_on_any_few_rows(kernel, boundary, name, data, h, norm, isolated):
    c, y, w = (np.array(part) for part in zip(*data, strict=True))
    metric = KdeECE(kernel, h, boundary, norm, isolated)
    try:
        expected = kde_ece_by_loops(c, y, h, kernel, boundary, w=w, norm=norm, isolated=isolated)
    except ZeroDivisionError:  # No row has neighbours: as if frequencies were 0.
        expected = kde_ece_by_loops(c, y, h, kernel, boundary, w=w, norm=norm, isolated="zero")
    with core(name):
        assert metric(_quiet(c, y, w)) == pytest.approx(expected, abs=1e-8, rel=0)


@EVERY_KERNEL
@BOTH_BOUNDARIES
@examples(6)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(100, 250), h=st.floats(0.005, 0.2))
def test_equals_the_whole_matrix_on_some_hundred_rows(kernel, boundary, seed, n, h):
    rng = np.random.default_rng(seed)
    c = np.repeat(rng.beta(2, 0.5, n), 2)  # In pairs, so that nobody is alone.
    y = rng.integers(0, 2, 2 * n)
    expected = kde_ece_by_matrix(c, y, h, kernel, boundary)
    for name in ("", "numpy"):
        with core(name):
            found = KdeECE(kernel, h, boundary)(Predictions(c, y))
        assert found == pytest.approx(expected, abs=1e-8, rel=0)


@EVERY_KERNEL
@each("h", [0.005, 0.03, 0.2])
def test_equals_the_whole_matrix_on_a_thousand_rows(kernel, h):
    rng = np.random.default_rng(1)
    c = np.repeat(clustered(rng, 500), 2)
    y = (rng.random(1000) < c).astype(int)
    found = KdeECE(kernel, h)(Predictions(c, y))
    assert found == pytest.approx(kde_ece_by_matrix(c, y, h, kernel, "reflect"), abs=1e-8, rel=0)


@each("h, reflected, plain", [(0.05, 0.3255324, 0.3255324), (0.1, 0.2432983, 0.2446532), (0.2, 0.1765193, 0.1906792)])
def test_eight_rows_give_the_reference_values(h, reflected, plain):
    assert KdeECE(bandwidth=h)(EIGHT) == pytest.approx(reflected, abs=5e-8)
    assert KdeECE(bandwidth=h, boundary="none")(EIGHT) == pytest.approx(plain, abs=5e-8)


@each("b, value", [(0.01, 0.3550515), (0.05, 0.2095085), (0.1, 0.1778333)])
def test_eight_rows_with_the_beta_kernel_give_the_reference_values(b, value):
    assert KdeECE("beta", b)(EIGHT) == pytest.approx(value, abs=5e-8)


def test_eight_rows_with_the_robust_rule_of_thumb_give_the_reference_values():
    estimate = KdeECE(bandwidth="silverman-robust").estimate(EIGHT)
    assert estimate.details["bandwidth"] == pytest.approx(0.1755973, abs=5e-8)
    assert estimate.value == pytest.approx(0.1866602, abs=5e-8)


def test_classes_are_lifted_as_the_pseudo_code_says():
    p = calibrated(n=150, k=3, seed=3)
    predicted, h = p.probs.argmax(axis=1), 0.1
    by_class, multi = 0.0, 0.0
    for k in range(3):
        hits = (p.labels == k).astype(int)
        members = predicted == k
        by_class += members.mean() * kde_ece_by_loops(p.probs[members, k], hits[members], h, "gaussian", "reflect")
        multi += kde_ece_by_loops(p.probs[:, k], hits, h, "gaussian", "reflect") / 3
    overall = kde_ece_by_loops(p.probs.max(axis=1), (predicted == p.labels).astype(int), h, "gaussian", "reflect")
    metric = KdeECE(bandwidth=h)
    assert PerPredictedClass(metric)(p) == pytest.approx(by_class, abs=1e-10)
    assert Classwise(metric)(p) == pytest.approx(multi, abs=1e-10)
    assert metric(p) == pytest.approx(overall, abs=1e-10)
    assert TopLabel(metric)(p) == pytest.approx(overall, abs=1e-10)


def population_error():
    """The mean of |q - p| for p ~ Beta(1/2, 1/2), with logit q = 2 logit p, by the substitution p = sin(t)^2."""
    t = (np.arange(200_000) + 0.5) / 200_000 * math.pi / 2
    p = np.sin(t) ** 2
    return float(np.mean(np.abs(p**2 / (p**2 + (1 - p) ** 2) - p)))


def test_the_search_finds_an_error_that_the_rule_of_thumb_smooths_away():
    assert population_error() == pytest.approx(0.0784476, abs=1e-6)  # The published value.
    rng = np.random.default_rng(4)
    p = rng.beta(0.5, 0.5, 100_000)
    predictions = Predictions(p**2 / (p**2 + (1 - p) ** 2), (rng.random(100_000) < p).astype(int))
    for rule in ("cv", "loo"):
        assert KdeECE(bandwidth=rule)(predictions) == pytest.approx(population_error(), rel=0.04)
    assert KdeECE(bandwidth="silverman")(predictions) < 0.92 * population_error()


def test_the_integral_equals_the_ratio_of_two_densities():
    c, y = rows(5, 700)
    metric = KdeECE("triweight", "mix-n-match", form="integral")
    h = 3 * np.std(c[y == 1]) * 1400**-0.2
    estimate = metric.estimate(Predictions(c, y))
    assert estimate.details == {"bandwidth": pytest.approx(h, rel=1e-12)}
    assert estimate.value == pytest.approx(integral_by_densities(c, y, h, 2001), abs=1e-5)


@EVERY_KERNEL
def test_the_integral_of_rows_that_are_always_wrong_is_their_mean_prediction(kernel):
    # With frequency 0 everywhere it is the mean of the density, here of one that is symmetric about 0.5.
    p = _quiet(np.tile([0.4, 0.5, 0.6], 20), np.zeros(60, dtype=int), np.ones(60))
    assert KdeECE(kernel, 0.02, form="integral")(p) == pytest.approx(0.5, abs=1e-6)


def test_the_integral_is_reweighted_and_relabelled_like_any_metric():
    c, y = rows(6, 300)
    p, rng = Predictions(c, y), np.random.default_rng(6)
    metric = KdeECE(bandwidth=0.05, form="integral")
    W, labels = rng.integers(1, 4, (300, 3)).astype(float), rng.integers(0, 2, (300, 3))
    copies = [metric(Predictions(np.repeat(c, w), np.repeat(y, w))) for w in W.T.astype(int)]
    assert metric.prepare(p)(W) == pytest.approx(copies, rel=1e-10)
    assert metric.weights == "frequency"
    relabelled = [metric(Predictions(c, column)) for column in labels.T]
    assert metric.prepare_labels(p)(labels) == pytest.approx(relabelled, rel=1e-10)


@EVERY_KERNEL
def test_the_event_and_its_opposite_have_the_same_error(kernel):
    c, y = rows(7, 500)
    for rule in ("cv", 0.03):
        value = KdeECE(kernel, rule)(Predictions(c, y))
        assert KdeECE(kernel, rule)(Predictions(1 - c, 1 - y)) == pytest.approx(value, rel=1e-8)


def test_isolated_rows_are_dropped_and_counted_or_have_frequency_0():
    p = Predictions([0.2, 0.2, 0.7], labels=[1, 1, 1])
    dropped = KdeECE("triweight", 0.1).estimate(p)
    assert dropped.value == pytest.approx(0.8)
    assert dropped.details == {"bandwidth": 0.1, "isolated": 1}
    assert KdeECE("triweight", 0.1, isolated="zero")(p) == pytest.approx((0.8 + 0.8 + 0.7) / 3)


def test_a_row_without_weight_is_neither_a_neighbour_nor_counted():
    p = Predictions([0.2, 0.2, 0.7, 0.70001], labels=[1, 1, 1, 0], weights=[1, 1, 1, 0])
    estimate = KdeECE("triweight", 0.1).estimate(p)
    assert estimate.value == pytest.approx(0.8)
    assert estimate.details["isolated"] == 1


@each("bandwidth", ["cv", "loo", "silverman", "silverman-robust", "mix-n-match", 0.1])
@EVERY_KERNEL
class TestOddData:
    def test_one_row_has_no_neighbours_and_frequency_0(self, kernel, bandwidth):
        estimate = KdeECE(kernel, bandwidth).estimate(Predictions([0.3], labels=[1]))
        assert estimate.value == pytest.approx(0.3)
        assert estimate.details["isolated"] == 1

    def test_equal_confidences_are_compared_with_the_frequency_of_the_others(self, kernel, bandwidth):
        # Leaving out one of 60 hits leaves 59 of 99, leaving out one of 40 misses leaves 60.
        p = Predictions([0.8] * 100, labels=[1] * 60 + [0] * 40)
        expected = 0.6 * (0.8 - 59 / 99) + 0.4 * (0.8 - 60 / 99)
        assert KdeECE(kernel, bandwidth)(p) == pytest.approx(expected, rel=1e-9)

    def test_exact_zeros_and_ones_are_compared_among_themselves(self, kernel, bandwidth):
        c, y = np.repeat([0.0, 1.0], 50), [0] * 45 + [1] * 5 + [1] * 40 + [0] * 10
        # Of 5 hits among 50, leaving one out leaves 4 of 49, else 5 of 49; likewise at 1.
        at_0 = 0.1 * 4 / 49 + 0.9 * 5 / 49
        at_1 = 0.8 * (1 - 39 / 49) + 0.2 * (1 - 40 / 49)
        found = KdeECE(kernel, 0.05 if isinstance(bandwidth, str) else bandwidth)(_quiet(c, np.array(y), np.ones(100)))
        assert found == pytest.approx((at_0 + at_1) / 2, rel=1e-9)
        assert 0 <= KdeECE(kernel, bandwidth)(_quiet(c, np.array(y), np.ones(100))) <= 1


def test_a_class_that_is_never_predicted_does_not_enter():
    p = Predictions([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.3, 0.6, 0.1]] * 20, labels=[0, 1, 2] * 20)
    details = PerPredictedClass(KdeECE()).estimate(p).details
    assert list(details["classes"]) == [0, 1]


def test_a_class_that_is_predicted_once_does_not_break_the_others():
    p = Predictions([[0.6, 0.3, 0.1]] * 20 + [[0.1, 0.2, 0.7]], labels=[0] * 20 + [2])
    # As in the pseudo-code, its only row has frequency 0.
    assert PerPredictedClass(KdeECE())(p) == pytest.approx((20 * 0.4 + 0.7) / 21, rel=1e-9)


@each(
    "settings, message",
    [
        ({"bandwidth": 0}, "bandwidth must be positive and finite, but is 0"),
        ({"bandwidth": -0.1}, "bandwidth must be positive and finite"),
        ({"bandwidth": math.nan}, "bandwidth must be positive and finite"),
        ({"bandwidth": math.inf}, "bandwidth must be positive and finite"),
        ({"bandwidth": "scott"}, 'bandwidth must be one of "cv", "loo"'),
        ({"kernel": "cosine"}, 'kernel must be one of "gaussian"'),
        ({"boundary": "wrap"}, 'boundary must be one of "reflect", "none"'),
        ({"isolated": "keep"}, 'isolated must be one of "drop", "zero"'),
        ({"form": "sum"}, 'form must be one of "loo", "integral"'),
        ({"norm": 0}, "norm must be a finite number of at least 1"),
        ({"norm": math.inf}, "norm must be a finite number of at least 1"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        KdeECE(**settings)


def test_settings_of_the_wrong_kind_are_refused():
    with pytest.raises(TypeError, match="bandwidth must be a number, but is None"):
        KdeECE(bandwidth=None)
    with pytest.raises(TypeError, match="KdeECE is computed from Predictions, but got list"):
        KdeECE().estimate([0.1])


def test_a_bandwidth_fitted_on_one_data_set_is_used_on_another():
    one, other = (Predictions(*rows(seed, 800)) for seed in (8, 9))
    fitted = KdeECE("triweight", norm=2).fit_bandwidth(one)
    assert isinstance(fitted.bandwidth, float)
    assert (fitted.kernel, fitted.norm) == ("triweight", 2)
    assert fitted.details(other)["bandwidth"] == KdeECE("triweight").details(one)["bandwidth"]
    assert fitted(other) == KdeECE("triweight", fitted.bandwidth, norm=2)(other)
    assert fitted.fit_bandwidth(other) is fitted


def _quiet(c, y, w):
    """Predictions without the warnings that odd data deserves."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Predictions(c, y, w)
