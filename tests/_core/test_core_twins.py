"""Every compiled routine against its twin in NumPy, on odd sizes, strides, denormal numbers and weights of zero."""

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant._core import pairs, redraws, twin, twin_draws
from calibrant._core.distances import Kernel, RadialMatrix
from calibrant._core.line import beta as beta_module
from calibrant._core.line import sums as sums_module
from calibrant._core.line.beta import BetaSums
from calibrant._core.line.boxes import Line
from calibrant._core.line.sums import MOST_FOLDS, HeldOut, KernelSums
from calibrant._core.line.twin import PlainSums
from calibrant._core.sorted1d import SortedLine
from calibrant.smoothing.gaps import row_gaps
from oracles.kernels import PROFILES
from properties import examples

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.one_of(st.integers(1, 40), st.sampled_from([111, 112, 113, 127, 128, 129, 225]))
WIDTHS = st.integers(1, 19)
LAYOUTS = st.sampled_from(["C", "F", "rows", "columns", "reversed"])
# Smaller numbers than the smallest normal one, zeros, and ordinary sizes.
SCALES = st.sampled_from([1.0, 1e-3, 0.0, 5e-324, 1e-310, 1e-200])
QUICK = examples(30)


def laid_out(a, layout):
    """Return the same numbers with other steps from row to row and from column to column."""
    if layout == "C":
        return np.ascontiguousarray(a)
    if layout == "F":
        return np.asfortranarray(a)
    if layout == "reversed":
        return np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1]
    room = np.full((2 * len(a), 3 * a.shape[1]), np.nan)
    some = room[::2, : a.shape[1]] if layout == "rows" else room[: len(a), ::3]
    some[:] = a
    return some


def some_weights(rng, shape, scale):
    """Return weights of which some are zero and some are times a scale."""
    weights = rng.exponential(size=shape)
    weights[rng.random(shape) < 0.3] = 0.0
    weights[rng.random(shape) < 0.2] *= scale
    return weights


def close(found, expected, size):
    """Compare up to the rounding of sums whose terms have absolute values that sum to `size`."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * size + 1e-300)


@QUICK
@given(
    seed=SEEDS,
    n=SIZES,
    k=st.integers(1, 7),
    depth=st.integers(1, 5),
    width=WIDTHS,
    layout=LAYOUTS,
    scale=SCALES,
    radial=st.sampled_from(sorted(PROFILES)),
    distance=st.sampled_from(["total-variation", "euclidean"]),
    power=st.floats(-5, 1),
)
def test_pairs(*, seed, n, k, depth, width, layout, scale, radial, distance, power):
    rng = np.random.default_rng(seed)
    P = np.round(rng.dirichlet(np.full(k, 0.5), n), 3)
    P[rng.random(P.shape) < 0.1] *= scale
    A = rng.normal(size=(n, depth)) * some_weights(rng, (n, 1), scale)
    gram = rng.normal(size=(depth, depth))
    columns, weights = rng.normal(size=(n, width)) * some_weights(rng, (n, 1), scale), some_weights(rng, n, scale)
    P, A, B, columns = (laid_out(a, layout) for a in (P, A, A @ (gram + gram.T), columns))
    kernel, size = Kernel(radial, distance, 10.0**power, 0.8), np.abs(A).sum(axis=1) @ np.abs(B).max(axis=1) * n
    for H in (RadialMatrix(P, A, right, kernel) for right in (None, B)):
        close(pairs.pair_sum(H), twin.pair_sum(H), size)
        ours, theirs = (module.row_sums(H, weights=weights) for module in (pairs, twin))
        close(ours, theirs, size * weights.max())
        ours, theirs = (module.quadratic_forms(H, columns) for module in (pairs, twin))
        close(ours, theirs, size * np.abs(columns).max() ** 2)
        for blocksize in {2, 7, max(n // 2, 2)}:
            ours, theirs = (module.block_sums(H, blocksize) for module in (pairs, twin))
            close(ours, theirs, size)


@QUICK
@given(seed=SEEDS, n=SIZES, width=st.integers(1, 130), layout=LAYOUTS, scale=SCALES, power=st.floats(-12, 1))
def test_sorted_sums(seed, n, width, layout, scale, power):
    rng = np.random.default_rng(seed)
    p, r = rng.choice(np.append(rng.random(n), [0.0, 5e-324, 1.0]), n), rng.normal(size=n) * some_weights(rng, n, scale)
    weights, columns = some_weights(rng, n, scale), laid_out(rng.normal(size=(n, width)), layout)
    kernel, line = Kernel("exponential", "euclidean", 10.0**power), SortedLine.of(p, 10.0**power)
    # Steps between the numbers that are no single ones.
    r, weights = (laid_out(a[:, None], layout)[:, 0] for a in (r, weights))
    H, size = RadialMatrix(p[:, None], r[:, None], None, kernel), np.abs(r).sum() * np.abs(r).max()
    close(line.pair_sum(r), twin.pair_sum(H), size)
    close(line.row_sums(r, weights), twin.row_sums(H, weights=weights), size * weights.max())
    product, diagonal = line.matmul(r, columns)
    close(product, twin.matmul(H, columns), size * np.abs(columns).max())
    assert np.array_equal(diagonal, r * r)


POSITIONS = {
    "anywhere": lambda rng, n: rng.random(n),
    "at the ends": lambda rng, n: rng.choice([0.0, 1.0, 5e-324, 1e-310, 0.5, 1 - 2**-53], n),
    "in crowds": lambda rng, n: np.round(rng.beta(0.3, 0.2, n), 2),
}


@QUICK
@given(
    seed=SEEDS,
    n=SIZES,
    width=WIDTHS,
    layout=LAYOUTS,
    scale=SCALES,
    power=st.floats(-4, 0.4),
    kernel=st.sampled_from(["gaussian", "triweight", "epanechnikov", "beta"]),
    reflect=st.booleans(),
    boxes=st.booleans(),
    positions=st.sampled_from(sorted(POSITIONS)),
)
def test_sums_on_a_line(*, seed, n, width, layout, scale, power, kernel, reflect, boxes, positions):
    rng = np.random.default_rng(seed)
    x, points = (POSITIONS[positions](rng, m) for m in (n, 9))
    charges, h = laid_out(rng.normal(size=(n, width)) * some_weights(rng, (n, 1), scale), layout), 10.0**power
    line = Line.of(laid_out(x[:, None], layout)[:, 0])
    beta = kernel == "beta"
    fast = BetaSums(line, h) if beta else KernelSums(line, h, kernel, reflect)
    plain = PlainSums(line, h, kernel, reflect)
    module = beta_module if beta else sums_module
    with patch.object(module, "_FEW_PAIRS", -1 if boxes else module._FEW_PAIRS):
        found = fast.leave_one_out(charges), fast.at(points, charges)
    size = np.abs(charges).sum(axis=0).max() * max(plain.peak(x).max(), plain.peak(points).max()) * max(1, 1 / h)
    close(found[0], plain.leave_one_out(charges), 10 * size)
    close(found[1], plain.at(points, charges), 10 * size)


@QUICK
@given(
    seed=SEEDS,
    n=SIZES,
    columns=WIDTHS,
    layout=LAYOUTS,
    scale=SCALES,
    power=st.floats(-3, 0),
    kernel=st.sampled_from(["gaussian", "triweight", "epanechnikov", "beta"]),
    norm=st.sampled_from([1, 2, 1.5]),
    drop=st.booleans(),
)
def test_mean_gaps_of_replicates(*, seed, n, columns, layout, scale, power, kernel, norm, drop):
    rng = np.random.default_rng(seed)
    x, y = np.round(rng.beta(2, 1, n), 3), rng.integers(0, 2, n).astype(float)
    weights = some_weights(rng, (n, columns), scale)
    weights[rng.integers(0, n)] = 1.0  # A replicate without any weight has no mean.
    hits, own = rng.random((n, columns)) < 0.5, some_weights(rng, n, scale)
    own[0] = 1.0
    line, h = Line.of(x), 10.0**power
    fast = BetaSums(line, h) if kernel == "beta" else KernelSums(line, h, kernel)
    found, expected = (row_gaps(sums, x, norm, drop=drop) for sums in (fast, PlainSums(line, h, kernel)))
    weights, hits = laid_out(weights, layout), laid_out(hits, layout).astype(bool)
    tolerance = {"rtol": 1e-7, "atol": 1e-9}
    np.testing.assert_allclose(found.of_weights(y, weights), expected.of_weights(y, weights), **tolerance)
    np.testing.assert_allclose(found.of_labels(hits, own), expected.of_labels(hits, own), **tolerance)


@QUICK
@given(seed=SEEDS, n=st.integers(1, 400), folds=st.integers(1, MOST_FOLDS), scale=SCALES, power=st.floats(-3, 0))
def test_sums_outside_folds(seed, n, folds, scale, power):
    rng = np.random.default_rng(seed)
    line, happened = Line.of(rng.random(n).round(rng.integers(2, 17))), rng.random(n) < 0.5
    weights, own = some_weights(rng, n, scale), rng.integers(0, folds, n)
    ours = HeldOut(line, own, happened, weights).sums(KernelSums(line, 10.0**power))
    outside = weights[:, None] * (own[:, None] != np.arange(folds))
    for found, charges in zip(ours, (outside * happened[:, None], outside), strict=True):
        close(found, PlainSums(line, 10.0**power).leave_one_out(charges)[np.arange(n), own], 10 * weights.sum())


@QUICK
@given(keys=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=19), n=st.integers(1, 300), step=st.integers(1, 3))
def test_draws(keys, n, step):
    keys = np.repeat(np.array(keys, dtype=np.uint64), step)[::step]
    assert np.array_equal(redraws.count_draws(keys, n), twin_draws.count_draws(keys, n))


@QUICK
@given(seed=SEEDS, n=st.integers(0, 120), n_groups=st.integers(1, 6), power=st.sampled_from([0.02, 1.0, 30.0]))
def test_drawn_counts(seed, n, n_groups, power):
    rng = np.random.default_rng(seed)
    probs = rng.random(n) ** power
    probs[rng.random(n) < 0.1] = rng.integers(0, 2)
    ends = np.sort(np.append(rng.integers(0, n + 1, n_groups - 1), n))  # A group may have no row.
    values, keys = rng.random(n + n_groups), rng.integers(0, 2**64, 60, dtype=np.uint64)
    found = (core.count_sums(probs, ends, values, keys) for core in (redraws, twin_draws))
    np.testing.assert_array_equal(*found)
