"""Relative frequency, Laplace correction and m-estimate."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from calibrant import InputError
from calibrant.counts import (
    LaplaceCorrection,
    MEstimate,
    RelativeFrequency,
    class_counts,
    laplace,
    m_estimate,
    relative_frequency,
)
from naming import each

every_rule = pytest.mark.parametrize(
    "rule", [RelativeFrequency(), LaplaceCorrection(), MEstimate(3), MEstimate(0.5, "observed")], ids=repr
)
some_counts = arrays(np.float64, array_shapes(max_dims=3, max_side=5), elements=st.integers(0, 1000).map(float))
reproducible = settings(derandomize=True)


def test_the_three_leaves_of_the_document():
    counts = [[40, 20], [5, 10], [5, 20]]
    assert relative_frequency(counts)[:, 1].round(2).tolist() == [0.33, 0.67, 0.80]
    assert laplace(counts)[:, 1] == pytest.approx([21 / 62, 11 / 17, 21 / 27])


def test_by_hand_for_three_classes():
    assert relative_frequency([2, 1, 1]).tolist() == [0.5, 0.25, 0.25]
    assert laplace([2, 1, 0]) == pytest.approx([3 / 6, 2 / 6, 1 / 6])
    assert m_estimate([2, 1, 0], m=1, prior=[0.2, 0.3, 0.5]) == pytest.approx([2.2 / 4, 1.3 / 4, 0.5 / 4])


def test_an_observed_prior_is_that_of_all_counts_together():
    counts = np.array([[9, 1], [0, 10]])
    assert m_estimate(counts, 4, "observed") == pytest.approx(m_estimate(counts, 4, [9 / 20, 11 / 20]))


@given(some_counts)
@reproducible
def test_laplace_is_the_m_estimate_with_m_equal_to_k_and_a_uniform_prior(counts):
    k = counts.shape[-1]
    assert laplace(counts) == pytest.approx(m_estimate(counts, k, np.full(k, 1 / k)), abs=1e-15)
    assert laplace(counts) == pytest.approx(m_estimate(counts, k), abs=1e-15)


@given(some_counts, st.floats(1e-3, 1e3))
@reproducible
def test_smoothed_probabilities_sum_to_one_and_are_never_extreme(counts, m):
    for probs in (laplace(counts), m_estimate(counts, m)):
        assert probs.shape == counts.shape
        assert probs.sum(axis=-1) == pytest.approx(1, abs=1e-12)
        assert probs.min() > 0
        assert counts.shape[-1] == 1 or probs.max() < 1


@given(some_counts)
@reproducible
def test_the_m_estimate_lies_between_the_frequency_and_the_prior(counts):
    counts = counts + 1
    prior = np.arange(1.0, counts.shape[-1] + 1)
    prior /= prior.sum()
    frequency = relative_frequency(counts)
    weight = counts.sum(axis=-1, keepdims=True) / (counts.sum(axis=-1, keepdims=True) + 7)
    assert m_estimate(counts, 7, prior) == pytest.approx(weight * frequency + (1 - weight) * prior, abs=1e-12)
    assert m_estimate(counts, 0, prior) == pytest.approx(frequency, abs=1e-15)


def test_without_rows_smoothing_gives_the_prior():
    assert laplace([0, 0, 0, 0]).tolist() == [0.25] * 4
    assert m_estimate([0, 0], 2, [0.9, 0.1]).tolist() == [0.9, 0.1]


@each("rule", [RelativeFrequency(), MEstimate(0), MEstimate(2, "observed")])
def test_the_frequency_of_nothing_is_refused(rule):
    with pytest.raises(InputError, match=r"positive, finite sum .* but it is 0.*LaplaceCorrection"):
        rule([0, 0])


def test_the_place_of_an_empty_set_is_named():
    with pytest.raises(InputError, match=r"counts\[1\] must have a positive"):
        relative_frequency([[1, 2], [0, 0]])


@every_rule
class TestEveryRule:
    def test_stacked_counts_are_treated_one_by_one(self, rule):
        counts = np.random.default_rng(0).integers(1, 9, (4, 5, 3))
        if getattr(rule, "prior", None) == "observed":
            rule = MEstimate(rule.m, relative_frequency(counts.sum(axis=(0, 1))))
        stacked = rule(counts)
        assert stacked[2, 3] == pytest.approx(rule(counts[2, 3]), abs=1e-15)

    def test_rebuilds_from_its_repr_and_pickles(self, rule):
        assert eval(repr(rule)) == rule  # noqa: S307 (our own repr)
        assert pickle.loads(pickle.dumps(rule)) == rule  # noqa: S301 (our own object)

    def test_changes_no_argument(self, rule):
        counts = np.array([[1.0, 2.0], [3.0, 4.0]])
        rule(counts)
        assert counts.tolist() == [[1, 2], [3, 4]]

    def test_huge_counts_are_refused_rather_than_not_a_number(self, rule):
        with pytest.raises(InputError, match=r"positive, finite sum .* infinite\. Rescale"):
            rule([1e308, 1e308])


def test_rules_with_an_array_as_prior_compare_and_hash():
    assert MEstimate(2, np.array([0.25, 0.75])) == MEstimate(2, (0.25, 0.75))
    assert len({MEstimate(2, [0.25, 0.75]), MEstimate(2, (0.25, 0.75))}) == 1


def test_labels_are_counted_with_and_without_weights():
    assert class_counts([0, 2, 2, 2], 3).tolist() == [1, 0, 3]
    assert class_counts(["b", "a", "b"], ["a", "b", "c"]).tolist() == [1, 2, 0]
    assert class_counts([True, False, True], 2, weights=[0.5, 2, 1]).tolist() == [2, 1.5]
    assert class_counts(pd.Series([5, 7, 7]), [5, 7]).tolist() == [1, 2]
    assert class_counts([[0, 1], [0, 1], [1, 0]], 2).tolist() == [1, 2]
    assert class_counts([], 3).tolist() == [0, 0, 0]


@each(
    "counts, kind, message",
    [
        ([1, -2], InputError, r"not negative, but the entry at \(1,\) is -2"),
        ([[1, 2], [np.nan, 1]], InputError, r"the entry at \(1, 0\) is nan"),
        ([1, np.inf], InputError, "finite"),
        (3, InputError, r"one entry per class.*shape \(\)"),
        (np.zeros((2, 0)), InputError, "one entry per class"),
        (["ham", "spam"], TypeError, "class_counts"),
        (None, TypeError, "counts must be an array"),
    ],
)
def test_bad_counts(counts, kind, message):
    with pytest.raises(kind, match=message):
        laplace(counts)


@each(
    "m, prior, kind, message",
    [
        (-1, "uniform", InputError, "m must be finite and not negative"),
        (np.nan, "uniform", InputError, "m must be finite"),
        (np.inf, "uniform", InputError, "m must be finite"),
        ("2", "uniform", TypeError, "m must be a number"),
        (True, "uniform", TypeError, "m must be a number"),
        (2, "flat", TypeError, 'K probabilities, "uniform" or "observed"'),
        (2, 0.3, TypeError, "K probabilities"),
        (2, [0.5, 0.6], InputError, "prior must sum to 1, but sums to 1.1"),
        (2, [1.5, -0.5], InputError, "none of them negative"),
        (2, [np.nan, 1], InputError, "none of them negative"),
        (2, [[0.5, 0.5]], InputError, "list of K probabilities"),
        (2, [0.2, 0.3, 0.5], InputError, "one probability per class, but has 3 for 2 classes"),
    ],
)
def test_bad_m_estimates(m, prior, kind, message):
    with pytest.raises(kind, match=message):
        m_estimate([1, 1], m, prior)


@each(
    "labels, classes, kind, message",
    [
        ([0, 3], 3, InputError, "labels must be 0 to 2, but row 1 is 3"),
        (["a", "x"], ["a", "b"], InputError, "found in classes, but row 1 is 'x'"),
        (["a", None], ["a", "b"], InputError, "must not be missing"),
        (["a"], 2, InputError, "labels are names"),
        (1, 2, InputError, "single value"),
        ([0], 0, InputError, "classes must be a whole number of at least 1"),
        ([0], None, InputError, "number of classes or a list of their names, but is None"),
        ([0], [], InputError, "number of classes or a list of their names"),
        (["a"], {"a", "b"}, TypeError, "classes must be a list of names"),
    ],
)
def test_bad_labels(labels, classes, kind, message):
    with pytest.raises(kind, match=message):
        class_counts(labels, classes)
