"""Compiled redraws: labels, sums and distances against their twins, and the law of the labels."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from calibrant import Predictions
from calibrant._core import redraws, twin_draws
from calibrant._core.library import library
from calibrant._core.redraws import Rows
from calibrant.hypotest import OmnibusTest
from calibrant.hypotest.omnibus.omnibus import gather, redrawn_statistics
from cores import LEVELS, core
from naming import each
from properties import examples
from simulate import draw_labels

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")

compiled = pytest.mark.skipif(library() is None, reason="nothing is compiled")


def predictions(seed, n, k, *, weighted=False, zeros=0.3):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, 0.5), n) + 1e-9
    probs[rng.random(probs.shape) < zeros] = 0.0
    probs[probs.sum(axis=1) == 0, -1] = 1.0
    probs /= probs.sum(axis=1, keepdims=True)
    weights = rng.lognormal(size=n) if weighted else None
    return Predictions(probs, draw_labels(probs, rng), weights)


def keys(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2**64, size=n, dtype=np.uint64)


def test_uniform_numbers_are_uniform():
    found = twin_draws.draw_uniform(keys(50), 400)
    assert found.min() >= 0
    assert found.max() < 1
    assert kstest(found.ravel(), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("k", [3, 40])
def test_labels_have_the_law_of_the_predictions(k):
    """Three rows, 20 000 redraws: the chance of a p-value below 1e-4 in any of six is below 1e-3."""
    p = predictions(k, 3, k)
    labels = twin_draws.draw_labels(p.probs, keys(20_000))
    for probs, drawn in zip(p.probs, labels, strict=True):
        seen = np.bincount(drawn, minlength=k)
        assert seen[probs == 0].sum() == 0
        often = probs * 20_000 >= 5
        pooled = [np.append(x[often], x[~often].sum() + 1e-9) for x in (seen.astype(float), probs * 20_000)]
        assert chisquare(*pooled).pvalue > 1e-4


def test_nothing_impossible_is_drawn_where_rounding_leaves_a_gap():
    probs = np.array([[0.1] * 10 + [0.0]])  # They add up to 1 - 1e-16.
    top = twin_draws.draw_labels(probs, keys(3))
    assert top.max() < 10
    assert np.cumsum(probs)[-1] < 1


def law_of_counts(probs):
    """The probability of every number of events, by all ways in which they can happen."""
    law = np.zeros(len(probs) + 1)
    for events in product([0, 1], repeat=len(probs)):
        law[sum(events)] += np.prod(np.where(events, probs, 1 - probs))
    return law


@given(st.lists(st.floats(0, 1), max_size=8))
def test_the_law_of_the_number_of_events(probs):
    first, law = twin_draws.event_law(np.array(probs))
    expected = law_of_counts(np.array(probs))
    assert np.pad(law, (first, len(expected) - first - len(law))) == pytest.approx(expected, abs=1e-14)
    assert first == (expected >= 1e-30).argmax()


@pytest.mark.parametrize("counted", [redraws.count_sums, twin_draws.count_sums])
def test_counts_of_groups_have_the_law_of_their_rows(counted):
    """Numbers of events of three groups, each in its own digit: the law of all three together in 20 000 redraws."""
    probs, ends = np.array([0.02, 0.3, 0.5, 0.9, 0.2, 0.2, 0.97]), np.array([3, 4, 7])
    values = np.concatenate([[0, 1, 2, 3], [0, 10], [0, 100, 200, 300]]).astype(float)
    found = counted(probs, ends, values, keys(20_000))
    parts = [law_of_counts(some) for some in np.split(probs, ends[:-1])]
    expected = 20_000 * np.einsum("i,j,k->kji", *parts).ravel()
    places = np.add.outer(np.add.outer(values[6:], values[4:6]), values[:4]).ravel()
    seen = (found == places[:, None]).sum(axis=1)
    assert seen.sum() == 20_000
    often = expected >= 5
    pooled = [np.append(x[often], x[~often].sum()) for x in (seen, expected)]
    assert chisquare(*pooled).pvalue > 1e-4


@compiled
@given(st.integers(0, 10**6), st.integers(1, 30), st.sampled_from([3, 5, 16, 17, 33, 100]), st.booleans())
@examples(20)
def test_sums_are_those_of_the_labels_of_the_twin(seed, n, k, weighted):
    p = predictions(seed, n, k, weighted=weighted)
    rng = np.random.default_rng(seed)
    top, second, bins = rng.integers(0, k, n), rng.integers(0, k, n), rng.integers(0, 3, n)
    features, means = rng.normal(size=(n, 16)), rng.normal(size=(k, 16))
    labels = twin_draws.draw_labels(p.probs, keys(20, seed))
    rows = Rows(p.probs, p.weights, top, second, bins, features, means)
    blocks = list(rows.redraw(keys(20, seed)))
    found = [np.concatenate(parts, axis=-1) for parts in zip(*blocks, strict=True)]
    own = np.take_along_axis(p.probs, labels, axis=1)
    clipped = np.clip(own, 1e-12, 1 - 1e-12)
    events = labels == np.arange(k)[:, None, None]  # (K, n, B)
    weights = p.weights[:, None]
    expected = (
        (weights * np.log(own)).sum(axis=0),
        (weights * events).sum(axis=1),
        (weights * events * np.log(clipped / (1 - clipped))).sum(axis=1),
        np.array([(weights * (labels == top[:, None]))[bins == b].sum(axis=0) for b in range(bins.max() + 1)]),
        (weights * (labels == second[:, None])).sum(axis=0),
        ((np.einsum("knb,nd->bkd", events, features) - means) ** 2).sum(axis=(1, 2)),
    )
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9)
    assert twin_draws.feature_errors(labels, features, means) == pytest.approx(expected[-1])


@each("k", [2, 3, 10, 40])
@each("level", [*LEVELS, "numpy"])
def test_every_core_gives_the_same_statistics(k, level):
    """The statistics of redraws are those that the evidence finds in the labels of the twin."""
    p = predictions(k, 60, k, weighted=True)
    with core(level):
        evidence = gather(p)
        found = np.concatenate(list(redrawn_statistics(p, evidence, 25, np.random.default_rng(3))), axis=1)
    labels = twin_draws.draw_labels(p.probs, keys(25, seed=3)).astype(np.int64)
    expected = np.concatenate([one.statistics(labels) for one in gather(p)])
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-8)


@compiled
@each("k", [3, 16, 17])
@each("depth", [8, 40, 72])
def test_features_are_added_to_the_class_of_their_row(k, depth):
    """More rows than are worked on at a time, more redraws, and numbers that no register holds at once."""
    rng = np.random.default_rng(k * depth)
    labels = rng.integers(0, k, (150, 400))
    labels[:, 0] = k - 1  # A redraw in which most classes have no row.
    features, means = rng.normal(size=(150, depth)), rng.normal(size=(k, depth))
    expected = twin_draws.feature_errors(labels, features, means)
    for level in LEVELS:
        with core(level):
            assert redraws.feature_errors(labels, features, means) == pytest.approx(expected, rel=1e-12)


@compiled
@pytest.mark.parametrize("k", [7, 20])
def test_threads_and_blocks_change_no_bit(monkeypatch, k):
    p = predictions(5, 100, k)
    found = []
    names = ("_LABELS", "_CACHED", "_MANY", "_MOST_SUMS", "_BLOCK")
    ways = {  # All at once; without blocks of rows; in blocks of seven rows; of one.
        "1": (2**24, 2**15, 1, 2**22, 2**24),
        "3": (900, 10, 1, 1, 2**17),
        "2": (2500, 2**15, 16, 2**22, 112),
        "4": (100, 5000, 16, 2**22, 1),
    }
    for n_threads, sizes in ways.items():
        monkeypatch.setenv("OMP_NUM_THREADS", n_threads)
        for name, size in zip(names, sizes, strict=True):
            monkeypatch.setattr(redraws, name, size)
        evidence = gather(p)
        found.append(np.concatenate(list(redrawn_statistics(p, evidence, 99, np.random.default_rng(3))), axis=1))
    assert all(np.array_equal(found[0], other) for other in found[1:])


@each("n, k", [(1, 3), (2, 5), (3, 1000)])
def test_few_rows_of_many_classes_give_a_pvalue(n, k):
    result = OmnibusTest(39)(predictions(0, n, k), rng=0)
    assert 0 < result.pvalue <= 1
    assert all(np.isfinite(part["statistic"]) for part in result.details["parts"].values())


@pytest.mark.parametrize("k", [3, 20])
def test_pvalues_of_many_classes_are_uniform(k):
    """150 calibrated sets of 40 weighted rows; a KS p-value below 1e-3 has a chance of 1e-3 (ties make it smaller)."""
    rng = np.random.default_rng(k)
    sets = (predictions(seed, 40, k, weighted=True, zeros=0.1) for seed in range(150))
    found = [OmnibusTest(99)(p, rng=seed).pvalue for seed, p in enumerate(sets)]
    assert kstest(np.array(found) - rng.random(150) / 100, "uniform").pvalue > 1e-3
