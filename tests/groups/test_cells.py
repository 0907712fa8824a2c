"""The list of groups and their sums, against loops over rows."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.tree import DecisionTreeRegressor

from calibrant.groups.cells import (
    Grid,
    Sizes,
    affordable_depth,
    combinations_of,
    without_alike_levels,
    without_rare_levels,
)
from calibrant.groups.columns import Levels
from calibrant.groups.evidence import ClusteredRows, IndependentRows
from calibrant.groups.rows import Rows
from calibrant.groups.tree import ResidualTree
from group_cases import logistic
from naming import each
from properties import examples


def grid_of(columns):
    levels = tuple(Levels(f"c{j}", tuple(map(str, range(max(codes) + 1)))) for j, codes in enumerate(columns))
    return Grid(levels, tuple(np.array(codes) for codes in columns))


def listed(grid, rows, least, depth):
    """Return the cells of the list: the definition, by loops."""
    n = len(rows.probs)

    def of_cell(cell):
        return np.flatnonzero(np.all([grid.codes[j] == level for j, level in cell], axis=0) & np.ones(n, dtype=bool))

    found = {(): of_cell(())}
    for size in range(1, depth + 1):
        for columns in combinations(range(len(grid.levels)), size):
            for levels in product(*(range(len(grid.levels[j])) for j in columns)):
                cell = tuple(zip(columns, levels, strict=True))
                members = of_cell(cell)
                expected = sum(rows.probs[members])
                large = len(members) >= least and min(expected, len(members) - expected) >= 5
                parents = [tuple(pair for pair in cell if pair != left) for left in cell]
                if large and not any(len(members) > 0.8 * len(of_cell(parent)) for parent in parents):
                    found[cell] = members
    return found


@st.composite
def tables(draw):
    n = draw(st.integers(60, 120))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    columns = [rng.integers(0, k, n) for k in draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))]
    if draw(st.booleans()):
        columns.append(np.where(rng.random(n) < 0.9, columns[0], 0))
    probs = rng.uniform(0.2, 0.8, n)
    return grid_of(columns), Rows(probs, (rng.random(n) < probs).astype(float), np.ones(n)), rng


@examples(12)
@given(tables(), st.integers(1, 3))
def test_the_list_and_its_sums_are_those_of_loops(data, depth):
    grid, rows, _ = data
    expected = listed(grid, rows, 20, depth)
    found = {}
    for combination in combinations_of(grid, Sizes([rows], 20), depth):
        sums = IndependentRows(rows).sums(combination)
        found |= dict(zip(combination.cells, zip(sums.residuals, sums.variances, sums.z, strict=True), strict=True))
        for place, cell in enumerate(combination.cells):
            np.testing.assert_array_equal(combination.codes == place, grid.mask(cell))
    assert set(found) == set(expected)
    for cell, members in expected.items():
        residual = sum(rows.events[i] - rows.probs[i] for i in members)
        variance = sum(rows.probs[i] * (1 - rows.probs[i]) for i in members)
        np.testing.assert_allclose(found[cell], (residual, variance, residual / variance**0.5), atol=1e-12)


def test_tables_that_are_too_large_are_sorted_with_the_same_outcome(monkeypatch):
    rng = np.random.default_rng(0)
    grid = grid_of([rng.integers(0, k, 500) for k in (5, 4, 3)])
    rows = Rows(np.full(500, 0.5), np.ones(500), np.ones(500))
    dense = [c.cells for c in combinations_of(grid, Sizes([rows], 15), 3)]
    monkeypatch.setattr("calibrant.groups.cells.DENSE", 0.001)
    assert [c.cells for c in combinations_of(grid, Sizes([rows], 15), 3)] == dense


def test_levels_with_the_same_rows_as_an_earlier_one_are_left_out():
    rng = np.random.default_rng(1)
    first = rng.integers(0, 3, 400)
    again = np.where(rng.random(400) < 0.95, first, 0)
    other = rng.integers(0, 3, 400)
    kept = without_alike_levels(grid_of([first, again, other])).codes
    assert (kept[1] == -1).all()
    np.testing.assert_array_equal(kept[0], first)
    np.testing.assert_array_equal(kept[2], other)


def test_rare_levels_are_left_out():
    codes = np.repeat([0, 1, 2], [50, 49, 60])
    kept = without_rare_levels(grid_of([codes]), 50).codes[0]
    assert set(kept.tolist()) == {0, 2, -1}


def test_groups_need_effective_numbers_of_rows_and_of_the_rarer_outcome():
    n = 200
    keys, inside = np.repeat([0, 1], 100), np.arange(n)
    probs = np.where(keys == 0, 0.5, 0.04)
    plain = Sizes([Rows(probs, np.zeros(n), np.ones(n))], 50)
    assert plain.large(inside, keys, 2).tolist() == [True, False]
    weights = np.where(np.arange(n) % 100 == 0, 100.0, 1.0)  # (199)^2 / (10099) = 3.9 rows
    assert not Sizes([Rows(np.full(n, 0.5), np.zeros(n), weights)], 50).large(inside, keys, 2).any()
    assert Sizes([Rows(np.full(n, 0.5), np.zeros(n), weights)], 50, are_copies=True).large(inside, keys, 2).all()


def test_sums_over_clusters_are_those_of_loops():
    """The variance is the sum of squares, but at least that of rows with the correlation of all rows of a cluster."""
    rng = np.random.default_rng(2)
    n = 300
    probs = rng.uniform(0.1, 0.9, n)
    rows = Rows(probs, (rng.random(n) < probs).astype(float), rng.uniform(0.5, 1.5, n))
    clusters, codes = rng.integers(0, 40, n), rng.integers(0, 3, n)
    combination = list(combinations_of(grid_of([codes]), Sizes([rows], 10), 1))[1]
    evidence = ClusteredRows(rows, clusters)
    sums = evidence.sums(combination)
    spread = np.sqrt(rows.variances)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j and clusters[i] == clusters[j]]
    shared = sum(rows.residuals[i] * rows.residuals[j] for i, j in pairs) + sum(rows.residuals**2 - rows.variances)
    correlation = max(0.0, shared / sum(spread[i] * spread[j] for i, j in pairs))
    for place, ((_, level),) in enumerate(combination.cells):
        own = [sum(rows.residuals[i] for i in range(n) if clusters[i] == c and codes[i] == level) for c in range(40)]
        among = sum(spread[i] * spread[j] for i, j in pairs if codes[i] == level == codes[j])
        least = sum(rows.variances[codes == level]) + correlation * among
        variance = max(sum(r * r for r in own), least)
        assert sums.variances[place] == pytest.approx(variance)
        assert sums.residuals[place] == pytest.approx(sum(own))
        error, mass = np.sqrt(variance), sum(rows.weights[codes == level])
        assert evidence.pvalue(codes == level) == pytest.approx(2 * norm.sf(abs(sum(own)) / error))
        limits = norm.interval(0.99, sum(own) / mass, error / mass)
        assert evidence.limits(codes == level, 0.01) == pytest.approx(limits)


def test_no_rare_event_in_a_group_of_clusters_is_less_likely_than_its_pvalue():
    """No event among 300 rows of 2 % has the probability 0.0023; the sum of squares alone gives less than 1e-60."""
    rows = Rows(np.full(300, 0.02), np.zeros(300), np.ones(300))
    everything = np.ones(300, dtype=bool)
    assert ClusteredRows(rows, np.arange(300)).pvalue(everything) >= 2 * 0.98**300
    assert ClusteredRows(rows, np.arange(300) // 3).pvalue(everything) >= 2 * 0.98**300


@pytest.mark.parametrize(
    ("factor", "shift", "spread"),
    [(3.0, 0.0, 0.0), (3.0, 0.8, 0.0), (1.0, 0.8, 1.0)],
    ids=["over-confident", "over-confident and shifted", "weights"],
)
def test_limits_of_a_group_miss_no_more_often_than_they_say(factor, shift, spread):
    """Limits by the law of shifted predictions alone miss in 11 % of the data sets."""
    rng, runs, level, missed = np.random.default_rng(0), 250, 0.05, 0
    for _ in range(runs):
        odds, weights = rng.normal(size=250), np.exp(rng.normal(size=250) * spread)
        probs, truth = logistic(factor * odds), logistic(odds + shift)
        rows = Rows(probs, (rng.random(250) < truth).astype(float), weights / weights.mean())
        low, high = IndependentRows(rows).limits(np.ones(250, dtype=bool), level)
        missed += not low <= np.average(truth - probs, weights=weights) <= high
    assert missed / runs <= level + 2.6 * np.sqrt(level * (1 - level) / runs)


@examples(20)
@given(st.integers(0, 10**6))
def test_the_first_split_of_the_tree_is_the_best_of_all(seed):
    """Every way to cut ranges, and every set of categories, by loops."""
    rng = np.random.default_rng(seed)
    n = 120
    levels = [Levels("number", edges=(1.0, 2.0, 3.0), are_numbers=True), Levels("text", ("a", "b", "c", "d"))]
    codes = [rng.integers(0, 5, n), rng.integers(0, 5, n)]
    residuals, variances = rng.normal(size=n), rng.uniform(0.1, 0.3, n)

    def gain(inside):
        parts = [inside, ~inside, np.ones(n, dtype=bool)]
        z = [residuals[part].sum() ** 2 / variances[part].sum() if part.any() else 0.0 for part in parts]
        return -1.0 if min(inside.sum(), (~inside).sum()) < 10 else z[0] + z[1] - z[2]

    ranges = [{*range(k)} | missing for k in range(5) for missing in (set(), {4})]
    sets = [set(some) for size in range(1, 5) for some in combinations(range(5), size)]
    best = max(
        gain(np.isin(codes[j], list(some))) for j, choices in ((0, ranges), (1, sets)) for some in choices if some
    )
    leaves = ResidualTree(2, 10).grow(levels, codes, residuals, variances)
    assert len(leaves) == 2
    assert gain(leaves[0].mask(codes)) == pytest.approx(best)
    assert not (leaves[0].mask(codes) & leaves[1].mask(codes)).any()


@each("seed", range(3))
def test_the_tree_is_that_of_scikit_learn(seed):
    """A regression tree on r / v with weights v, grown best first, gains the squares of sums of r over sums of v."""
    rng = np.random.default_rng(seed)
    n = 1500
    levels = [Levels(name, edges=tuple(map(float, range(1, 12))), are_numbers=True) for name in "abc"]
    codes = [rng.integers(0, 12, n) for _ in levels]
    variances = rng.uniform(0.05, 0.25, n)
    residuals = rng.normal(0.3 * ((codes[0] > 7) & (codes[1] < 5)), np.sqrt(variances))
    tree = DecisionTreeRegressor(max_leaf_nodes=6, min_samples_leaf=60, random_state=0)
    theirs = tree.fit(np.column_stack(codes), residuals / variances, sample_weight=variances)
    places = theirs.apply(np.column_stack(codes))
    leaves = ResidualTree(6, 60).grow(levels, codes, residuals, variances)
    ours = {frozenset(np.flatnonzero(leaf.mask(codes)).tolist()) for leaf in leaves}
    assert ours == {frozenset(np.flatnonzero(places == place).tolist()) for place in np.unique(places)}
    assert len(ours) == 6


def test_many_columns_make_groups_of_fewer_columns():
    assert [affordable_depth(n, 3) for n in (1, 24, 25, 70, 71, 3000)] == [1, 3, 2, 2, 1, 1]
