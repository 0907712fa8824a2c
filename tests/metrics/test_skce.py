"""Squared kernel calibration errors against definitions and published values."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, Predictions
from calibrant.kernels import (
    Euclidean,
    ExponentialKernel,
    GammaExponentialKernel,
    GaussianKernel,
    GramKernel,
    Matern32Kernel,
    Matern52Kernel,
    RationalQuadraticKernel,
    TotalVariation,
    WhiteKernel,
)
from calibrant.metrics import KCE, MMCE, SKCE, Affordable, TopLabel
from cores import core
from naming import each
from oracles.kernels import (
    PROFILES,
    euclidean,
    h_by_four_expectations,
    skce_by_definition,
    tensor,
    total_variation,
    white,
)
from properties import examples
from simulate import calibrated, sharpened

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")  # Tiny data is the point here.

TV = ExponentialKernel(TotalVariation(), 1.0) @ WhiteKernel()
RADIAL = [
    ExponentialKernel(TotalVariation(), 0.3),
    ExponentialKernel(Euclidean(), 0.7),
    GaussianKernel(Euclidean(), 0.5),
    GaussianKernel(TotalVariation(), 0.5),
    GammaExponentialKernel(1.5, Euclidean(), 0.6),
    Matern32Kernel(Euclidean(), 0.6),
    Matern52Kernel(Euclidean(), 0.6),
    RationalQuadraticKernel(0.8, Euclidean(), 0.6),
]


def slow(radial):
    """The same kernel as plain functions."""
    distance = total_variation if isinstance(radial.distance, TotalVariation) else euclidean
    profile = PROFILES[radial.profile]
    return tensor(lambda p, q: profile(distance(p, q) / radial.lengthscale, radial.shape), white)


@pytest.fixture(params=["numpy", ""])
def engine(request):
    """Run with the NumPy twin, then with compiled code."""
    with core(request.param):
        yield


@examples(25)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(3, 9),
    k=st.sampled_from([2, 3]),
    digits=st.sampled_from([1, 15]),
    rare=st.booleans(),
)
def test_weighted_pairs_are_those_of_a_double_loop(seed, n, k, digits, rare):
    """A pair of rows counts as the product of their weights; with ties, rows without weight, and rare events."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([20.0, *[0.2] * (k - 1)] if rare else np.ones(k), n).round(digits)
    probs /= probs.sum(axis=1, keepdims=True)
    labels = (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    weights = rng.exponential(size=n) * (rng.random(n) < 0.8)
    weights[:2] = [0.3, 2.5]
    radial = ExponentialKernel(TotalVariation(), 0.3)
    h = [
        [h_by_four_expectations(slow(radial), probs[i], labels[i], probs[j], labels[j]) for j in range(n)]
        for i in range(n)
    ]
    for unbiased in (True, False):
        pairs = [(i, j) for i in range(n) for j in range(n) if i != j or not unbiased]
        expected = math.fsum(weights[i] * weights[j] * h[i][j] for i, j in pairs)
        expected /= math.fsum(weights[i] * weights[j] for i, j in pairs)
        for name in ("numpy", ""):
            with core(name):
                value = SKCE(radial @ WhiteKernel(), unbiased)(Predictions(probs, labels, weights))
            assert value == pytest.approx(expected, rel=1e-10, abs=1e-14), (name, unbiased)


@each("radial", RADIAL)
@each("k", [2, 4])
@each("unbiased, blocksize", [(True, None), (False, None), (True, 2), (True, 3), (False, 1), (False, 4)])
def test_every_form_equals_its_definition(radial, k, unbiased, blocksize):
    p = calibrated(n=9, k=k, seed=k)
    expected = skce_by_definition(slow(radial), p.probs, p.labels, unbiased=unbiased, blocksize=blocksize)
    for name in ("numpy", ""):
        with core(name):
            value = SKCE(radial @ WhiteKernel(), unbiased, blocksize)(p)
        assert value == pytest.approx(expected, rel=1e-11, abs=1e-14), name


@each("k", [2, 4])
def test_any_target_kernel_equals_its_definition(k, engine):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(k, k))
    gram = root @ root.T
    p = calibrated(n=9, k=k)
    kernel = tensor(lambda a, b: np.exp(-total_variation(a, b) / 0.4), lambda y, z: gram[y, z])
    value = SKCE(ExponentialKernel(TotalVariation(), 0.4) @ GramKernel(gram))(p)
    assert value == pytest.approx(skce_by_definition(kernel, p.probs, p.labels), rel=1e-11)


def test_radial_kernels_on_class_numbers_serve_ordered_classes():
    p = calibrated(n=9, k=4)
    kernel = tensor(lambda a, b: np.exp(-total_variation(a, b)), lambda y, z: np.exp(-((y - z) ** 2) / 2))
    value = SKCE(ExponentialKernel() @ GaussianKernel())(p)
    assert value == pytest.approx(skce_by_definition(kernel, p.probs, p.labels), rel=1e-11)


@pytest.mark.parametrize("k", [2, 3])
def test_sums_products_and_scales_equal_their_definition(k):
    a, b = ExponentialKernel(TotalVariation(), 0.3), GaussianKernel(Euclidean(), 0.5)
    joint = 2.0 * (a * b + 0.5 * a) @ WhiteKernel() + b @ GaussianKernel()

    def function(x, y):
        p, q = x[0], y[0]
        u, v = np.exp(-total_variation(p, q) / 0.3), np.exp(-(euclidean(p, q) ** 2) / 0.5)
        return 2 * (u * v + 0.5 * u) * (x[1] == y[1]) + v * np.exp(-((x[1] - y[1]) ** 2) / 2)

    p = calibrated(n=8, k=k)
    for unbiased, blocksize in ((True, None), (False, None), (True, 2), (False, 3)):
        expected = skce_by_definition(function, p.probs, p.labels, unbiased=unbiased, blocksize=blocksize)
        assert SKCE(joint, unbiased, blocksize)(p) == pytest.approx(expected, rel=1e-11)


def test_products_of_tensor_products_multiply_factor_by_factor():
    a, b = ExponentialKernel(TotalVariation(), 0.3), GaussianKernel(Euclidean(), 0.5)
    p = calibrated(n=10)
    product = (a @ WhiteKernel()) * (b @ GaussianKernel())
    assert SKCE(product)(p) == pytest.approx(SKCE((a * b) @ (WhiteKernel() * GaussianKernel()))(p))


def test_any_function_of_two_pairs_is_a_kernel():
    p = calibrated(n=7)

    def kernel(a, b):
        return np.exp(-total_variation(a[0], b[0])) * (a[1] == b[1])

    assert SKCE(kernel)(p) == pytest.approx(SKCE(TV)(p), rel=1e-11)
    assert SKCE(kernel, unbiased=False)(p) == pytest.approx(SKCE(TV, unbiased=False)(p), rel=1e-11)


GAUSS = GaussianKernel() @ WhiteKernel()


@each(
    "labels, unbiased, biased",
    [([0, 1], 0.0, 0.0), ([0, 0], 0.0, 0.5), ([1, 0], -2 / math.e, 1 - 1 / math.e), ([1, 1], 0.0, 0.5)],
)
def test_published_closed_forms_for_two_certain_predictions(labels, unbiased, biased):
    p = Predictions([[1.0, 0.0], [0.0, 1.0]], labels)
    assert SKCE(GAUSS)(p) == pytest.approx(unbiased, abs=1e-15)
    assert SKCE(GAUSS, unbiased=False)(p) == pytest.approx(biased, rel=1e-14)
    tiled = p.take(np.tile([0, 1], 10))
    assert SKCE(GAUSS, blocksize=2)(tiled) == pytest.approx(unbiased, abs=1e-15)


def test_published_seeded_values(engine):
    random.seed(1234)
    probs = [random.random() for _ in range(100)]  # noqa: S311 (the published recipe)
    labels = [bool(random.getrandbits(1)) for _ in range(100)]
    assert SKCE(TV)(Predictions(probs, labels)) == pytest.approx(0.028399084017414655, rel=1e-12)
    rng = np.random.default_rng(1234)
    p = Predictions(rng.random(100), rng.choice([True, False], 100))
    assert SKCE(TV)(p) == pytest.approx(0.03320398246523166, rel=1e-12)
    rng = np.random.default_rng(1234)
    p = Predictions(rng.dirichlet((3, 2, 5), 100), rng.integers(1, 4, 100) - 1)
    norm = ExponentialKernel(Euclidean()) @ WhiteKernel()
    assert SKCE(norm)(p) == pytest.approx(0.02015240706950358, rel=1e-12)
    assert SKCE(TV)(p) == pytest.approx(0.02129650889373521, rel=1e-12)
    assert SKCE(TV, unbiased=False)(p) == pytest.approx(0.027938175902661185, rel=1e-12)
    p = Predictions([[0.1, 0.8, 0.1], [0.2, 0.5, 0.3]], [1, 2])
    assert SKCE(norm)(p) == pytest.approx(-0.10317943453412069, rel=1e-12)


@examples(40)
@given(st.integers(2, 30), st.integers(2, 6), st.integers(0, 10**6))
def test_properties(n, k, seed):
    p = calibrated(n=n, k=k, seed=seed)
    rng = np.random.default_rng(seed)
    rows, classes = rng.permutation(n), rng.permutation(k)
    unbiased, biased = SKCE(TV)(p), SKCE(TV, unbiased=False)(p)
    assert biased >= -1e-15
    assert SKCE(TV, blocksize=n)(p) == unbiased
    assert SKCE(TV)(p.take(rows)) == pytest.approx(unbiased, abs=1e-13)
    permuted = Predictions(p.probs[:, classes], np.argsort(classes)[p.labels])
    assert SKCE(TV)(permuted) == pytest.approx(unbiased, abs=1e-13)
    ones = np.ones((n, 1))
    draws = rng.integers(0, 3, (n, 3)).astype(float) + ones  # Every row has weight.
    expected = [SKCE(TV)(Predictions(p.probs, p.labels, w)) for w in draws.T]
    assert SKCE(TV).prepare(p)(draws) == pytest.approx(expected, abs=1e-13)


def test_scalar_binary_equals_two_columns_whatever_the_engine(engine):
    p = calibrated(n=50, k=2)
    wide = Predictions(np.column_stack([p.probs, np.zeros(50)]), p.labels)  # An impossible third class.
    assert SKCE(TV)(p) == pytest.approx(SKCE(TV)(wide), rel=1e-12)
    weights = np.random.default_rng(0).random((50, 4))
    assert SKCE(TV).prepare(p)(weights) == pytest.approx(SKCE(TV).prepare(wide)(weights), rel=1e-11)
    assert SKCE(TV, blocksize=7)(p) == pytest.approx(SKCE(TV, blocksize=7)(wide), rel=1e-12)


@pytest.mark.parametrize("k, n_sets", [(2, 10_000), (10, 10_000)])
def test_the_unbiased_estimate_averages_to_zero_on_calibrated_data(k, n_sets):
    """|z| < 3.3 over 10 000 sets of 8 rows, all in one array: h is summed over pairs of rows of each set."""
    rng = np.random.default_rng(k)
    probs = rng.dirichlet(np.ones(k), (n_sets, 8))
    labels = (rng.random((n_sets, 8, 1)) >= probs.cumsum(axis=2)[:, :, :-1]).sum(axis=2)
    p = Predictions(probs.reshape(-1, k), labels.ravel())
    blocks = pairs_of_blocks(p, 8) / 28
    assert (blocks > 0).any()
    assert (blocks < 0).any()
    assert abs(blocks.mean()) < 3.3 * blocks.std() / math.sqrt(n_sets)
    assert SKCE(TV, blocksize=8)(p) == pytest.approx(blocks.mean(), rel=1e-9)


def pairs_of_blocks(p, m):
    from calibrant.kernels.discrepancy import pair_matrix

    return pair_matrix(p, TV).block_sums(m)


@each("n, k", [(2, 3), (4, 2), (6, 2)])
def test_the_average_over_all_labels_is_the_population_value(n, k):
    """Labels drawn from q instead of p: the mean over all K^n vectors is that of k_P <q_i - p_i, q_j - p_j>."""
    rng = np.random.default_rng(0)
    probs, truth = rng.dirichlet(np.ones(k), (2, n))
    mean = 0.0
    for labels in itertools.product(range(k), repeat=n):
        chance = math.prod(truth[i, y] for i, y in enumerate(labels))
        mean += chance * SKCE(TV)(Predictions(probs, labels))
    gaps = truth - probs
    expected = np.mean(
        [
            math.exp(-total_variation(probs[i], probs[j])) * (gaps[i] @ gaps[j])
            for i, j in itertools.combinations(range(n), 2)
        ]
    )
    assert mean == pytest.approx(expected, rel=1e-11, abs=1e-15)


def test_kce_is_the_signed_root():
    p = calibrated(n=40)
    assert KCE(TV)(p) ** 2 == pytest.approx(abs(SKCE(TV)(p)))
    assert np.sign(KCE(TV)(p)) == np.sign(SKCE(TV)(p))


def test_mmce_equals_its_definition_and_half_the_binary_skce(engine):
    p = sharpened(calibrated(n=60, k=4), 0.5)
    view = p.top_label()
    c, e = view.positive, view.labels - view.positive
    expected = math.sqrt(np.sum(np.outer(e, e) * np.exp(-np.abs(c[:, None] - c) / 0.4)) / 60**2)
    assert MMCE()(p) == pytest.approx(expected)
    binary = TopLabel(SKCE(ExponentialKernel(TotalVariation(), 0.4) @ WhiteKernel(), unbiased=False))
    assert MMCE()(p) ** 2 == pytest.approx(binary(p) / 2)


def test_the_default_lengthscale_is_the_median_distance():
    p = calibrated(n=30)
    distances = [total_variation(a, b) for a, b in itertools.combinations(p.probs, 2)]
    estimate = SKCE().estimate(p)
    assert estimate.details["lengthscale"] == pytest.approx(np.median(distances))
    fixed = ExponentialKernel(TotalVariation(), float(np.median(distances))) @ WhiteKernel()
    assert estimate.value == pytest.approx(SKCE(fixed)(p))


def test_block_sizes_may_depend_on_the_number_of_rows():
    p = calibrated(n=50)
    assert SKCE(TV, blocksize=math.isqrt)(p) == SKCE(TV, blocksize=7)(p)
    assert Affordable(100)(14) == 14
    assert Affordable(100)(50) == 4


@each(
    "build, error, words",
    [
        (lambda p: SKCE(3), TypeError, "kernel must be a tensor product"),
        (lambda p: SKCE(ExponentialKernel()), TypeError, "kernel must be a tensor product"),
        (lambda p: SKCE(blocksize=1), InputError, "blocksize must be at least 2 for the unbiased estimate"),
        (lambda p: SKCE(blocksize=0, unbiased=False), InputError, "blocksize must be a whole number of at least 1"),
        (lambda p: SKCE(blocksize=2.5), InputError, "blocksize must be a whole number"),
        (SKCE(blocksize=51), InputError, "blocksize must be at most the number of rows, 50, but is 51"),
        (SKCE(blocksize=lambda n: n / 2), InputError, "blocksize must be a whole number"),
        (lambda p: SKCE(features=64, blocksize=2), InputError, "features and blocksize exclude each other"),
        (lambda p: SKCE(features=0), InputError, "features must be a whole number of at least 1"),
        (SKCE(Matern32Kernel() @ WhiteKernel(), features=8), InputError, "features are for"),
        (lambda p: SKCE()(p.take([0])), InputError, "needs at least two rows"),
        (lambda p: SKCE()(p.probs), TypeError, "SKCE is computed from Predictions or Forecasts, but got ndarray"),
        (lambda p: MMCE(lengthscale=0), InputError, "lengthscale must be a positive number, but is 0"),
        (lambda p: MMCE(lengthscale="wide"), InputError, "lengthscale must be a positive number, but is 'wide'"),
        (lambda p: SKCE(TV)(Predictions(p.probs, p.labels, np.eye(50)[0])), InputError, "two rows of positive weight"),
    ],
)
def test_bad_settings_are_refused(build, error, words):
    with pytest.raises(error, match=words):
        build(calibrated(n=50))


def test_redrawn_labels_of_a_single_weighted_row_are_refused():
    p = Predictions([[0.5, 0.3, 0.2]] * 3, labels=[0, 1, 2], weights=[1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="at least two rows of positive weight"):
        SKCE().prepare_labels(p)(p.labels[:, None])
