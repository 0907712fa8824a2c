"""Replicates in groups: the same sums as term by term, whatever the way of a box."""

from unittest.mock import patch

import numpy as np
import pytest

from calibrant._core.library import Matrix, required
from calibrant._core.line import sums as sums_module
from calibrant._core.line.boxes import Line
from calibrant._core.line.gaps import Replicates, is_worth_grouping
from calibrant._core.line.sums import HeldOut, KernelSums, Way
from calibrant._core.line.twin import PlainSums
from calibrant.smoothing.gaps import row_gaps
from cores import LEVELS, core, on_threads
from naming import each

COLUMNS = 2 * required().lanes + 3


def crowded(rng):
    """Two crowds with few rows between and at the ends, some of them alone in their box."""
    crowds = np.concatenate([rng.normal(0.3, 0.01, 450), rng.normal(0.32, 0.002, 450)])
    return np.clip(np.concatenate([crowds, rng.random(30), [0.0, 1.0, 0.9999, 0.5, 0.501, 0.502]]), 0, 1)


SHAPES = {
    "crowded": crowded,
    "even": lambda rng: rng.random(500),
    "near one": lambda rng: 1 - rng.exponential(0.01, 500).clip(0, 1),
    "equal": lambda rng: rng.choice([0.2, 0.7, 1.0], 500),
}


def data(shape, seed=0):
    rng = np.random.default_rng(seed)
    positions = SHAPES[shape](rng)
    n = len(positions)
    weights = rng.multinomial(n, np.full(n, 1 / n), COLUMNS).T * rng.exponential(size=(n, 1))
    return positions, rng.integers(0, 2, n).astype(float), weights


@each("reflect", [True, False])
@each("bandwidth", [0.004, 0.03, 0.7])
@each("shape", list(SHAPES))
def test_gaps_equal_those_of_the_double_loop(shape, bandwidth, reflect):
    positions, outcomes, weights = data(shape)
    line, n = Line.of(positions), len(positions)
    sums, plain = (kind(line, bandwidth, "gaussian", reflect) for kind in (KernelSums, PlainSums))
    found = Replicates(sums, outcomes > 0.5).gaps(Matrix.view(weights), np.full(n, 1e-9), 1.0, COLUMNS)
    expected = row_gaps(plain, positions, 1, drop=True).of_weights(outcomes, weights)
    assert found[:, 0] / found[:, 1] == pytest.approx(expected, rel=1e-9)
    assert found[:, 1] + found[:, 3] == pytest.approx(weights.sum(axis=0), rel=1e-12)


def test_the_crowded_rows_need_every_way():
    positions, _, _ = data("crowded")
    ways = {way for h in (0.004, 0.03) for way in KernelSums(Line.of(positions), h).rows.way.tolist()}
    assert ways == set(Way)


@each("shape", list(SHAPES))
@each("bandwidth", [0.002, 0.02, 0.4])
def test_sums_outside_the_fold_of_each_row_equal_the_double_loop(shape, bandwidth):
    positions, outcomes, weights = data(shape)
    folds, line = np.arange(len(positions)) % 5, Line.of(positions)
    found = HeldOut(line, folds, outcomes > 0.5, weights[:, 0]).sums(KernelSums(line, bandwidth))
    outside = weights[:, :1] * (folds[:, None] != np.arange(5))
    for ours, charges in zip(found, (outside * (outcomes > 0.5)[:, None], outside), strict=True):
        loop = PlainSums(line, bandwidth).leave_one_out(charges)[np.arange(len(folds)), folds]
        np.testing.assert_allclose(ours, loop, rtol=1e-9, atol=1e-11)


def test_the_layout_of_the_weights_and_the_number_of_threads_do_not_matter():
    positions, outcomes, weights = data("even")
    replicates, least = Replicates(KernelSums(Line.of(positions), 0.05), outcomes > 0.5), np.full(500, 1e-9)
    with on_threads(1):
        first = replicates.gaps(Matrix.view(np.ascontiguousarray(weights)), least, 1.0, COLUMNS)
    for layout in (np.ascontiguousarray, np.asfortranarray):
        with on_threads(3):
            again = replicates.gaps(Matrix.view(layout(weights)), least, 1.0, COLUMNS)
        np.testing.assert_array_equal(again, first)


def test_few_columns_and_rows_that_are_mostly_alone_are_left_to_others():
    positions, _, _ = data("even")
    assert not is_worth_grouping(KernelSums(Line.of(positions), 0.05), 1)
    assert not is_worth_grouping(KernelSums(Line.of(positions), 0.05, "triweight"), COLUMNS)
    assert not is_worth_grouping(KernelSums(Line.of(positions), 1e-4), COLUMNS)


@each("level", LEVELS)
@each("n", [1, 2, 3, 5, 6, 7, 185])
def test_any_number_of_rows_in_a_box_is_summed_with_any_number_of_lanes(level, n):
    """Rows are read four at a time, also where a register holds two: what is beyond the last must not be garbage."""
    rng = np.random.default_rng(n)
    line, weights, happened = Line.of(0.4 + 0.01 * rng.random(n)), rng.random((n, 2)), rng.random(n) < 0.5
    with core(level), patch.multiple(sums_module, _FEW_PAIRS=-1, _FEW_SOURCES=0):
        _spoil_the_stack()
        least = np.full(n, 1e-9)
        found = Replicates(KernelSums(line, 0.5), happened).gaps(Matrix.view(weights), least, 1.0, 2)
    plain = PlainSums(line, 0.5)
    hits, mass = plain.leave_one_out(weights * happened[:, None]), plain.leave_one_out(weights)
    lonely = mass <= 1e-9 * weights.mean(axis=0)
    gaps = np.abs(np.where(lonely, 0.0, hits / np.where(lonely, 1.0, mass)) - line.x[np.argsort(line.order)][:, None])
    expected = [(weights * gaps * ~lonely).sum(axis=0), (weights * ~lonely).sum(axis=0)]
    np.testing.assert_allclose(found[:, :2].T, expected, rtol=0, atol=1e-12 * n)


def _spoil_the_stack():
    """Leave numbers where the compiled code will keep its tables: sums of NaN, which fill tiles on the stack."""
    from calibrant._core import pairs
    from calibrant._core.distances import RadialMatrix

    with np.errstate(invalid="ignore"):
        pairs.pair_sum(RadialMatrix(np.full((200, 2), np.nan), np.full((200, 2), np.nan)))
