"""The calibration error of whole probability vectors against its definition and published values."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, Predictions
from calibrant.metrics import DirichletECE, KdeECE
from calibrant.metrics.dirichlet_ece import _by_probabilities
from naming import each
from properties import examples
from simulate import calibrated, sharpened

SIX = Predictions(
    [[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]],
    labels=[0, 1, 1, 1, 2, 0],
)


@each(
    "b, absolute, squared",
    [
        (0.01, 0.9999924, 0.5324173),
        (0.05, 0.9724398, 0.5155840),
        (0.1, 0.8855303, 0.4663167),
        (0.5, 0.6227383, 0.2505146),
    ],
)
def test_six_rows_give_the_reference_values(b, absolute, squared):
    assert DirichletECE(b)(SIX) == pytest.approx(absolute, abs=5e-8)
    assert DirichletECE(b, norm=2)(SIX) ** 2 == pytest.approx(squared, abs=5e-8)


def by_loops(p, b, norm):
    from scipy.stats import dirichlet

    total = 0.0
    for i in range(p.n_samples):
        hits = np.zeros(p.n_classes)
        for j in range(p.n_samples):
            if j != i:
                hits[p.labels[j]] += p.weights[j] * dirichlet.pdf(p.probs[i], p.probs[j] / b + 1)
        total += p.weights[i] * (np.abs(hits / hits.sum() - p.probs[i]) ** norm).sum()
    return (total / p.weights.sum()) ** (1 / norm)


@examples(8)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(5, 25), k=st.integers(2, 5), b=st.floats(0.02, 1))
def test_equals_the_double_loop(seed, n, k, b):
    source, rng = calibrated(n=n, k=k, seed=seed, concentration=2.0), np.random.default_rng(seed)
    p = Predictions(source.probs, source.labels, rng.exponential(size=n) + 0.1)
    assert DirichletECE(b)(p) == pytest.approx(by_loops(p, b, 1), rel=1e-8)
    assert DirichletECE(b, 2)(p) == pytest.approx(by_loops(p, b, 2), rel=1e-8)


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
def test_for_two_classes_it_is_twice_the_beta_kernel_even_at_exact_zeros_and_ones():
    rng = np.random.default_rng(1)
    c = np.append(rng.random(300), [0.0, 0.0, 1.0, 1.0, 1.0])
    p = Predictions(c, (rng.random(305) < c).astype(int))
    assert DirichletECE(0.02)(p) == pytest.approx(2 * KdeECE("beta", 0.02)(p), rel=1e-9)


def test_one_row_has_no_neighbours_and_frequencies_0():
    estimate = DirichletECE(0.1).estimate(SIX.take([0]))
    assert estimate.value == pytest.approx(1.0)  # 0.7 + 0.2 + 0.1
    assert estimate.details == {"bandwidth": 0.1, "rows": 1, "isolated": 1}
    assert math.isfinite(DirichletECE()(SIX.take([0])))


def test_a_row_that_rules_out_what_all_others_allow_is_dropped_and_counted():
    p = Predictions([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]], labels=[0, 2, 2])
    estimate = DirichletECE(0.001).estimate(p)
    assert estimate.value == pytest.approx(0.2 + 0.3 + 0.5)
    assert estimate.details["isolated"] == 1


def test_the_details_hold_the_bandwidth_that_predicts_best():
    p = calibrated(n=500, k=3, seed=2)
    found = DirichletECE().estimate(p)
    assert found.value == DirichletECE(found.details["bandwidth"])(p)

    def loss(b):
        from scipy.special import gammaln

        alpha = p.probs / b
        log_kernel = np.log(p.probs) @ alpha.T - gammaln(alpha + 1).sum(axis=1)
        np.fill_diagonal(log_kernel, -np.inf)
        K = np.exp(log_kernel - log_kernel.max(axis=1, keepdims=True))
        own = (K * (p.labels[:, None] == p.labels)).sum(axis=1) / K.sum(axis=1)
        return -np.log(np.clip(own, 1e-6, 1)).mean()

    assert loss(found.details["bandwidth"]) <= min(loss(b) for b in np.geomspace(0.001, 1, 40)) + 1e-3


def test_many_rows_are_replaced_by_an_evenly_spaced_part():
    p = calibrated(n=1500, k=3, seed=3)
    estimate = DirichletECE(0.1, most_rows=250).estimate(p)
    assert estimate.details["rows"] == 250
    tuned = DirichletECE(most_rows=250)
    assert tuned(p) == tuned.estimate(p).value == tuned.fit_bandwidth(p)(p)
    shuffled = p.take(np.random.default_rng(3).permutation(1500))
    assert DirichletECE(0.1, most_rows=250)(shuffled) == pytest.approx(estimate.value, rel=1e-9)
    assert DirichletECE(0.1, most_rows=250)(sharpened(p, 0.3)) > 1.5 * estimate.value


def test_memory_stays_far_below_the_matrix():
    p = calibrated(n=4000, k=4, seed=4)
    W = np.random.default_rng(4).integers(0, 3, (4000, 30)).astype(float)
    evaluate = DirichletECE(0.1).prepare(p)
    tracemalloc.start()
    evaluate(W)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6  # The matrix would take 128 MB.


def test_bad_settings_are_refused():
    with pytest.raises(InputError, match="bandwidth must be positive and finite, but is -1"):
        DirichletECE(-1)
    with pytest.raises(TypeError, match="bandwidth must be a number, but is 'cv'"):
        DirichletECE("cv")
    with pytest.raises(InputError, match="norm must be a finite number of at least 1"):
        DirichletECE(0.1, norm=0)
    with pytest.raises(InputError, match="most_rows must be a whole number of at least 1"):
        DirichletECE(0.1, most_rows=0)


@pytest.mark.parametrize("digits", [0, 1, 2, 16])
def test_rows_are_chosen_in_the_order_of_all_their_numbers(digits):
    rng = np.random.default_rng(digits)
    parts = rng.random((300, 3)).round(digits) + 1
    p = Predictions(parts / parts.sum(axis=1, keepdims=True), rng.integers(0, 3, 300), rng.integers(0, 3, 300))
    rows = np.flatnonzero(p.weights > 0)
    expected = rows[np.lexsort([p.labels[rows], *p.probs[rows].T])]
    assert _by_probabilities(p, rows).tolist() == expected.tolist()
