"""Bootstrap samples as counts."""

import numpy as np
import pytest

from calibrant import InputError
from calibrant._core import redraws, twin_draws
from calibrant.resampling import bootstrap as bootstrap_module
from calibrant.resampling.bootstrap import Bootstrap, group_rows
from cores import core
from naming import each


def drawn(plan, n, seed=0):
    return np.concatenate(list(plan.counts(n, np.random.default_rng(seed))), axis=1)


def test_every_sample_has_as_many_rows_as_the_data():
    counts = drawn(Bootstrap(200), 50)
    assert counts.shape == (50, 200)
    assert (counts.sum(axis=0) == 50).all()


def test_counts_have_the_moments_of_the_multinomial_law():
    counts = drawn(Bootstrap(20_000), 10)
    assert counts.mean(axis=1) == pytest.approx(np.ones(10), abs=5 * np.sqrt(0.9 / 20_000))
    covariance = np.cov(counts)
    assert np.diag(covariance) == pytest.approx(np.full(10, 0.9), abs=0.05)
    assert covariance[0, 1:] == pytest.approx(np.full(9, -0.1), abs=0.05)


def test_draws_do_not_depend_on_the_size_of_blocks(monkeypatch):
    plan = Bootstrap(37, strata=[*"aaabbbcc"])
    whole = drawn(plan, 8)
    monkeypatch.setattr(bootstrap_module, "BLOCK_CELLS", 40)
    assert np.array_equal(drawn(plan, 8), whole)


def test_clusters_are_drawn_together_and_as_often_as_there_are():
    clusters = np.array([3, 1, 1, 7, 3, 3])
    counts = drawn(Bootstrap(300, clusters=clusters), 6)
    for cluster in (1, 3, 7):
        rows = counts[clusters == cluster]
        assert (rows == rows[0]).all()
    assert (counts[[0, 1, 3]].sum(axis=0) == 3).all()


def test_strata_keep_their_number_of_rows():
    strata = np.array([*"abbabab"])
    counts = drawn(Bootstrap(300, strata=strata), 7)
    assert (counts[strata == "a"].sum(axis=0) == 3).all()
    assert (counts[strata == "b"].sum(axis=0) == 4).all()


def test_clusters_within_strata():
    clusters, strata = [*"aabbccdd"], [*"xxxxyyyy"]
    counts = drawn(Bootstrap(100, clusters, strata), 8)
    assert (counts[[0, 2]].sum(axis=0) == 2).all()
    assert (counts[[4, 6]].sum(axis=0) == 2).all()


def test_a_cluster_in_two_strata_is_refused():
    with pytest.raises(InputError, match="that of row 1 lies in several"):
        drawn(Bootstrap(3, [*"aab"], [*"xyy"]), 3)


def test_another_number_of_entries_is_refused():
    with pytest.raises(InputError, match="clusters must have one value per row, but there are 2 for 3 rows"):
        drawn(Bootstrap(3, clusters=[1, 2]), 3)
    with pytest.raises(InputError, match="by must have one value per row"):
        group_rows([1, 2], 3)


def test_cluster_sums_are_sums_over_clusters():
    values = np.arange(8.0).reshape(4, 2)
    assert Bootstrap(1, clusters=[*"baab"]).cluster_sums(values).tolist() == [[6, 8], [6, 8]]
    assert Bootstrap(1).cluster_sums(values) is values


def test_take_keeps_clusters_and_strata_of_the_rows():
    part = Bootstrap(5, clusters=[*"abcd"], strata=[1, 1, 2, 2]).take([3, 1])
    assert part.clusters.tolist() == ["d", "b"]
    assert part.strata.tolist() == ["2", "1"]


def test_groups_are_named_and_hold_their_rows():
    assert {name: rows.tolist() for name, rows in group_rows([2, 1, 2], 3).items()} == {"1": [1], "2": [0, 2]}


@each("n, n_samples", [(1, 3), (2, 9), (1001, 8), (3000, 21)])
def test_compiled_draws_are_those_of_numpy(n, n_samples):
    keys = np.random.default_rng(n).integers(0, 2**64, n_samples, dtype=np.uint64)
    assert np.array_equal(redraws.count_draws(keys, n), twin_draws.count_draws(keys, n))


def test_random_bits_are_the_published_ones_of_splitmix64():
    """The first outputs of the reference implementation in C, started at 1234567."""
    states = np.uint64(1234567) + np.arange(1, 4, dtype=np.uint64) * twin_draws.GOLDEN
    assert twin_draws.mix(states).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_rows_are_fractions_of_the_range_of_the_bits():
    bits = np.array([0, 2**63, 2**64 - 1, 2**62 - 1], dtype=np.uint64)
    assert twin_draws.row_of(bits, 10).tolist() == [0, 5, 9, 2]
    assert twin_draws.row_of(bits, 2**32 - 1).tolist() == [0, 2**31 - 1, 2**32 - 2, 2**30 - 1]


def test_the_draws_do_not_depend_on_the_core():
    compiled = drawn(Bootstrap(30), 40)
    with core("numpy"):
        assert np.array_equal(drawn(Bootstrap(30), 40), compiled)
