"""Holm's adjustment."""

import numpy as np
import pytest

from calibrant import InputError
from calibrant.hypotest.multiple import holm
from naming import each


def holm_by_closure(pvalues):
    """The closed testing procedure behind it: the largest Bonferroni p-value of any set that holds the test."""
    m = len(pvalues)
    adjusted = np.zeros(m)
    for subset in range(1, 2**m):
        members = [i for i in range(m) if subset >> i & 1]
        bonferroni = min(1.0, len(members) * min(pvalues[i] for i in members))
        adjusted[members] = np.maximum(adjusted[members], bonferroni)
    return adjusted


@each("seed", range(20))
def test_it_is_the_closure_of_bonferroni(seed):
    rng = np.random.default_rng(seed)
    pvalues = np.round(rng.random(rng.integers(1, 8)) ** 3, 2)  # with ties
    assert holm(pvalues) == pytest.approx(holm_by_closure(pvalues))


def test_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert holm([0.0, 1.0]).tolist() == [0.0, 1.0]


def test_a_mapping_keeps_its_keys_and_their_order():
    adjusted = holm({"skce": 0.03, "ecce": 0.001, "cox": 0.9})
    assert list(adjusted) == ["skce", "ecce", "cox"]
    assert adjusted == pytest.approx({"skce": 0.06, "ecce": 0.003, "cox": 0.9})


def test_the_chance_of_any_false_rejection_is_kept():
    """Five independent true hypotheses at 0.05; the exact chance is 1 - 0.99**5 = 0.049."""
    rng = np.random.default_rng(0)
    any_rejected = np.mean([holm(rng.random(5)).min() <= 0.05 for _ in range(4000)])
    assert any_rejected == pytest.approx(1 - 0.99**5, abs=3.9 * np.sqrt(0.049 * 0.951 / 4000))


@each("bad", [[0.1, 1.2], [-0.1], [0.1, np.nan], [[0.1, 0.2]], []])
def test_what_is_not_a_pvalue_is_refused(bad):
    with pytest.raises(InputError, match="pvalues must"):
        holm(bad)


def test_text_is_refused():
    with pytest.raises(TypeError, match="pvalues must"):
        holm(["a"])
    with pytest.raises(TypeError, match="pvalues must"):
        holm("0.1")
