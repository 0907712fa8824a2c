import math
import threading
from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from calibrant._core import engine, pairs, twin
from calibrant._core.distances import Kernel, RadialMatrix
from calibrant._core.library import required
from cores import on_threads
from naming import each
from oracles.kernels import PROFILES
from oracles.pairs import matrix, simulate

MODULES = (pairs, twin)
STRIP = required().strip
KERNELS = [
    Kernel(radial, distance, lengthscale, shape)
    for radial, distance in product(PROFILES, ("total-variation", "euclidean"))
    for lengthscale, shape in ((0.5, 1.3), (1e-4, 0.6))
]
EXPONENTIAL = Kernel("exponential", "total-variation", 0.4)
GRAM = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.5], [0.1, 0.5, 1.0]])


def tolerance(H):
    return 1e-12 * np.abs(H).mean() * H.size


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
@each("kernel", KERNELS)
@each("alike", [True, False])
def test_every_reduction_agrees_with_the_definition(module, kernel, alike):
    P, A, _ = simulate(37, 3, seed=1)
    B = None if alike else A @ GRAM
    H = matrix(kernel, P, P, A, A if alike else B)
    upper, off_diagonal, atol = np.triu(H, 1), H - np.diag(np.diag(H)), tolerance(H)
    weights = np.random.default_rng(2).random(37)
    columns = np.random.default_rng(3).normal(size=(37, 5))

    assert module.pair_sum(RadialMatrix(P, A, B, kernel)) == pytest.approx(upper.sum(), abs=atol, rel=0)
    rows = module.row_sums(RadialMatrix(P, A, B, kernel), weights=weights)
    np.testing.assert_allclose(rows, off_diagonal @ weights, rtol=0, atol=atol)
    np.testing.assert_allclose(
        module.row_sums(RadialMatrix(P, A, B, kernel)), off_diagonal.sum(axis=1), rtol=0, atol=atol
    )
    forms = module.quadratic_forms(RadialMatrix(P, A, B, kernel), columns)
    np.testing.assert_allclose(forms, np.einsum("ib,ij,jb->b", columns, off_diagonal, columns), rtol=0, atol=5 * atol)


@each("kernel", KERNELS)
def test_products_and_columns_of_the_twin_agree_with_the_definition(kernel):
    P, A, _ = simulate(60, 3, seed=1)
    H = matrix(kernel, P, P, A, A @ GRAM)
    columns = np.random.default_rng(3).normal(size=(60, 5))
    found = twin.matmul(RadialMatrix(P, A, A @ GRAM, kernel), columns)
    np.testing.assert_allclose(found, (H - np.diag(np.diag(H))) @ columns, rtol=0, atol=tolerance(H))
    some = twin.columns(RadialMatrix(P, A, A @ GRAM, kernel), np.arange(0, 60, 3))
    np.testing.assert_allclose(some, H[:, ::3], rtol=1e-10, atol=1e-14)


@each("n", [2, 37, 400, 1300])
def test_quadratic_forms_agree_with_the_definition(n):
    P, A, _ = simulate(n, 3, seed=5)
    H = np.exp(-cdist(P, P, "cityblock") / 2 / EXPONENTIAL.lengthscale) * (A @ A.T)
    np.fill_diagonal(H, 0.0)
    columns = np.random.default_rng(6).random((n, 7))
    expected = np.einsum("ib,ib->b", columns, H @ columns)
    for module in MODULES:
        found = module.quadratic_forms(RadialMatrix(P, A, kernel=EXPONENTIAL), columns)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance(H))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
@each("width", [0, 1, 2, STRIP - 1, STRIP, STRIP + 1, 3 * STRIP + 5])
@each("order", ["C", "F"])
def test_quadratic_forms_take_any_number_of_columns_in_any_order(module, width, order):
    P, A, _ = simulate(130, 3, seed=17)
    H = matrix(EXPONENTIAL, P, P, A, A @ GRAM)
    np.fill_diagonal(H, 0.0)
    columns = np.asarray(np.random.default_rng(18).normal(size=(130, width)), order=order)
    found = module.quadratic_forms(RadialMatrix(P, A, A @ GRAM, EXPONENTIAL), columns)
    assert found.shape == (width,)
    np.testing.assert_allclose(found, np.einsum("ib,ij,jb->b", columns, H, columns), rtol=0, atol=tolerance(H))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
@each("blocksize", [2, 3, 5, 6, 16, 17, 50, 101])
def test_block_sums_agree_with_the_definition(module, blocksize):
    P, A, B = simulate(101, 4, seed=4)
    H = np.triu(matrix(EXPONENTIAL, P, P, A, B), 1)
    blocks = [slice(i * blocksize, (i + 1) * blocksize) for i in range(101 // blocksize)]
    found = module.block_sums(RadialMatrix(P, A, B, EXPONENTIAL), blocksize)
    np.testing.assert_allclose(found, [H[b, b].sum() for b in blocks], rtol=0, atol=tolerance(H))


@pytest.mark.parametrize("few", [1, 8])
def test_a_few_large_blocks_are_shared_by_the_threads(monkeypatch, few):
    P, A, B = simulate(101, 4, seed=4)
    H = np.triu(matrix(EXPONENTIAL, P, P, A, B), 1)
    shared = []
    monkeypatch.setattr(pairs, "_LARGE_BLOCK", 25)
    monkeypatch.setattr(pairs, "_FEW_BLOCKS", few)
    monkeypatch.setattr(pairs, "pair_sum", lambda *args, **options: shared.append(1) or PAIR_SUM(*args, **options))
    found = pairs.block_sums(RadialMatrix(P, A, B, EXPONENTIAL), 25)
    expected = [H[b : b + 25, b : b + 25].sum() for b in range(0, 100, 25)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance(H))
    assert len(shared) == (4 if few == 8 else 0)


PAIR_SUM = pairs.pair_sum


def reductions(module, P, A, B, n_threads):
    rng = np.random.default_rng(8)
    weights, columns = rng.random(len(P)), rng.normal(size=(len(P), 21))
    H = RadialMatrix(P, A, B, EXPONENTIAL)
    with on_threads(n_threads):
        return [
            np.array(module.pair_sum(H)),
            module.row_sums(H, weights=weights),
            module.quadratic_forms(H, columns),
            module.block_sums(H, 20),
            module.block_sums(H, len(P) // 2),
        ]


def test_blocks_of_many_classes_are_taken_a_few_at_a_time(monkeypatch):
    P, A, B = (np.random.default_rng(0).random((61, 5)) for _ in range(3))
    expected = pairs.block_sums(RadialMatrix(P, A, B, EXPONENTIAL), 7)
    monkeypatch.setattr(pairs, "_CELLS_OF_BLOCKS_PER_JOB", 100)
    np.testing.assert_array_equal(pairs.block_sums(RadialMatrix(P, A, B, EXPONENTIAL), 7), expected)


# 513 rows make several jobs, of which the last is one panel; 700 classes make more than one slice.
@pytest.mark.parametrize("n, n_classes", [(511, 1), (513, 2), (260, 700), (113, 10)])
@pytest.mark.parametrize("alike", [True, False])
def test_many_rows_or_classes_agree_with_the_twin_for_any_number_of_threads(n, n_classes, alike, monkeypatch):
    for setting in ("_COLUMNS_PER_JOB", "_ROWS_OF_BLOCKS_PER_JOB"):
        monkeypatch.setattr(pairs, setting, 512)
    P, A, _ = simulate(n, n_classes, seed=9)
    gram = np.random.default_rng(10).normal(size=(n_classes, n_classes))
    B = None if alike else A @ (gram + gram.T)
    expected = reductions(twin, P, A, B, 1)
    one = reductions(pairs, P, A, B, 1)
    for ours, theirs in zip(one, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())
    for n_threads in (2, 7):
        assert all(map(np.array_equal, reductions(pairs, P, A, B, n_threads), one))
    assert all(map(np.array_equal, reductions(twin, P, A, B, 3), expected))


def test_residuals_may_have_fewer_or_more_columns_than_there_are_classes():
    P, A, _ = simulate(60, 4, seed=10)
    for width in (1, 9):
        A = np.random.default_rng(11).normal(size=(60, width))
        H = matrix(EXPONENTIAL, P, P, A, A)
        assert pairs.pair_sum(RadialMatrix(P, A, kernel=EXPONENTIAL)) == pytest.approx(
            np.triu(H, 1).sum(), abs=tolerance(H)
        )


@each("kernel", KERNELS)
def test_equal_rows_are_at_distance_zero_exactly(kernel):
    row = np.random.default_rng(13).dirichlet(np.ones(700))
    found = pairs.pair_sum(RadialMatrix(np.stack([row, row]), np.ones((2, 1)), kernel=kernel))
    assert found == 1.0


# 1 / 99 and 1 / 101 are on both sides of the lengthscale from which on no pair takes an exponential.
@each("lengthscale", [1 / 101, 1 / 99, 0.5, 20.0])
@each("n_classes", [1, 2, 7, 300])
@each("shift", [0.0, -0.5])
def test_exponential_of_the_total_variation_is_that_of_an_exact_sum(lengthscale, n_classes, shift):
    rng = np.random.default_rng(19)
    P = rng.dirichlet(np.full(n_classes + 1, 0.4), 20)[:, :n_classes] + shift / n_classes
    P[1::4] = P[::4]
    P[3::4] = P[2::4] * (1 + 1e-12 * rng.random((5, n_classes)))
    kernel = Kernel("exponential", "total-variation", lengthscale)
    for i, j in product(range(4), range(9)):
        expected = math.exp(-math.fsum(np.abs(P[i] - P[j])) / 2 / lengthscale)
        found = pairs.pair_sum(RadialMatrix(P[[i, j]], np.ones((2, 1)), kernel=kernel))
        assert found == pytest.approx(expected, rel=1e-13, abs=0)
        assert found <= 1.0
        assert found == 1.0 or not np.array_equal(P[i], P[j])


@pytest.mark.parametrize("distance", ["total-variation", "euclidean"])
def test_nearly_equal_rows_keep_their_distance_under_a_tiny_lengthscale(distance):
    row = np.random.default_rng(14).dirichlet(np.ones(5))
    P = np.stack([row, row + 1e-9 * np.array([1, -1, 0, 0, 0])])
    kernel = Kernel("exponential", distance, 1e-9)
    A = np.ones((2, 1))
    assert pairs.pair_sum(RadialMatrix(P, A, kernel=kernel)) == pytest.approx(
        matrix(kernel, P, P, A, A)[0, 1], rel=1e-12
    )


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_no_rows_or_one_row_have_no_pairs(module):
    for n in (0, 1):
        P, A = np.ones((n, 2)) / 2, np.ones((n, 2))
        assert module.pair_sum(RadialMatrix(P, A, kernel=EXPONENTIAL)) == 0.0
        assert not module.row_sums(RadialMatrix(P, A, kernel=EXPONENTIAL)).any()
        assert np.array_equal(
            module.quadratic_forms(RadialMatrix(P, A, kernel=EXPONENTIAL), np.ones((n, 3))), np.zeros(3)
        )
        assert len(module.block_sums(RadialMatrix(P, A, kernel=EXPONENTIAL), 10)) == 0


def test_inputs_are_not_changed_and_may_be_read_only_and_not_contiguous():
    P, A, _ = simulate(200, 6, seed=15)
    strided, residuals = np.asfortranarray(P), A[:, ::-1]
    before = strided.copy()
    strided.flags.writeable = False
    found = pairs.pair_sum(RadialMatrix(strided, residuals, kernel=EXPONENTIAL))
    assert found == pairs.pair_sum(RadialMatrix(P, residuals.copy(), kernel=EXPONENTIAL))
    assert np.array_equal(before, strided)


def test_calls_from_several_threads_do_not_disturb_each_other():
    P, A, _ = simulate(2000, 4, seed=16)
    expected = pairs.pair_sum(RadialMatrix(P, A, kernel=EXPONENTIAL))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(pairs.pair_sum(RadialMatrix(P, A, kernel=EXPONENTIAL))))
        for _ in range(6)
    ]
    with on_threads(2):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [expected] * 6


def test_published_value_of_the_unbiased_estimator():
    # Three classes, exp(-||p - q||), white targets: the example of the pycalibration README.
    rng = np.random.default_rng(1234)
    P = rng.dirichlet((3, 2, 5), 100)
    labels = rng.integers(1, 4, 100) - 1
    A = np.eye(3)[labels] - P
    kernel = Kernel("exponential", "euclidean", 1.0)
    for module in MODULES:
        total = module.pair_sum(RadialMatrix(P, A, kernel=kernel))
        assert total / (100 * 99 / 2) == pytest.approx(0.02015240706950358, rel=1e-12)


def test_without_the_library_the_twin_serves(monkeypatch):
    import calibrant._core

    assert engine() is pairs
    monkeypatch.setattr(calibrant._core, "library", lambda: None)
    assert engine() is twin
