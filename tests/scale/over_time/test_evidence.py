"""The e-process by its definition, row by row, and what makes it valid."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, Predictions
from calibrant._core.laws import expit
from calibrant.scale.over_time import CoxAlternatives, FirstDay, SpreadStart
from calibrant.scale.over_time.cells import Cells, cells_of_rows, gather, merged
from calibrant.scale.over_time.evidence import accumulate, begun, posterior
from calibrant.scale.over_time.stream import collect


def evidence_by_definition(days, alternatives, stakes):
    """E_t = sum over first days s of g_s, times the mean over lines of the likelihood ratio of all rows from s on."""
    found, factors, seen = [], [], []
    for z, y in days:
        seen.append(z)
        rows = np.concatenate(seen)
        p = 1 / (1 + np.exp(-rows))
        m = np.sum(p * (1 - p) * rows) / np.sum(p * (1 - p))
        day = []
        for a, b in alternatives.lines():
            factor = 1.0
            for zi, yi in zip(z, y, strict=True):
                p, q = 1 / (1 + np.exp(-zi)), 1 / (1 + np.exp(-(m + a + b * (zi - m))))
                factor *= q / p if yi else (1 - q) / (1 - p)
            day.append(factor)
        factors.append(day)
        total = sum(stakes[s] * np.mean(np.prod(factors[s:], axis=0)) for s in range(len(factors)))
        found.append(total + 1 - sum(stakes[: len(factors)]))
    return np.array(found)


SMALL = CoxAlternatives(shifts=(-0.5, 0.0, 0.5), slopes=(0.7, 1.0, 1.4))
DISTINCT = [-2.0, -0.5, 0.25, 1.0, 3.0]
"""Log-odds in cells of their own."""

rows = st.lists(st.tuples(st.sampled_from(DISTINCT), st.booleans()), min_size=1, max_size=6)


@given(st.lists(rows, min_size=1, max_size=5), st.sampled_from([SpreadStart(), FirstDay()]))
def test_evidence_from_cells_is_that_of_rows(days, start):
    rows = [(np.array([z for z, _ in day]), np.array([y for _, y in day])) for day in days]
    cells = [gather(np.stack([expit(-z), expit(z)], axis=1), np.ones(len(z)), y.astype(float)) for z, y in rows]
    found = np.exp(collect(cells, SMALL, start).log_e)
    np.testing.assert_allclose(found, evidence_by_definition(rows, SMALL, start.stakes(len(days))), rtol=1e-9)


def one_cell(p, y):
    return gather(np.stack([1 - p, p], axis=1), np.ones(len(p)), y.astype(float))


def expected_factors(p, cell):
    """Return the expectation of every alternative's factor over all outcomes of rows with probabilities p."""
    total = 0.0
    for y in map(np.array, product([0, 1], repeat=len(p))):
        chance = np.prod(np.where(y, p, 1 - p))
        day = cell(p, y)
        base = day.log_odds @ day.events - np.logaddexp(0, day.log_odds) @ day.count
        total = total + chance * np.exp(CoxAlternatives().log_likelihoods([day])[0] - base)
    return total


def test_factors_of_a_cell_expect_at_most_1_with_its_own_mean_and_more_with_its_middle():
    p = 1 / (1 + np.exp(-np.array([0.001, 0.002, 0.003, 0.030])))
    assert len(one_cell(p, np.zeros(4)).count) == 1
    own = expected_factors(p, one_cell)
    assert np.all(own <= 1 + 1e-12)
    assert own.min() < 1 - 1e-9

    def middle(p, y):
        return Cells(np.array([1 / 64]), np.array([4.0]), np.array([float(y.sum())]))

    assert expected_factors(p, middle).max() > 1 + 1e-4


def test_evidence_expects_at_most_1_after_any_day_whatever_the_start():
    """Two alternatives, three days, a fair coin: all eight outcomes."""
    up, down = np.log([[1.6, 0.7], [0.4, 1.3]])
    for stakes in (SpreadStart().stakes(3), FirstDay().stakes(3), np.array([0.2, 0.3, 0.5])):
        paths = [accumulate(np.array([up if y else down for y in path]), stakes) for path in product([0, 1], repeat=3)]
        np.testing.assert_allclose(np.exp([path.log_e for path in paths]).mean(axis=0), 1, rtol=1e-12)


def test_stakes_sum_to_1_with_the_days_to_come():
    """The sum of 1 / (n log^2 n) from 2 on is 2.1097428012368919744... (OEIS A115563)."""
    assert SpreadStart().stakes(1)[0] == pytest.approx(1 / (2 * np.log(2) ** 2) / 2.1097428012368919744, rel=1e-8)
    far = SpreadStart().stakes(10**6)
    assert 1 - far.sum() == pytest.approx(1 / np.log(10**6 + 1.5) / 2.1097428012368919744, rel=1e-5)


def test_certain_predictions_are_left_out_and_counted():
    cells = cells_of_rows(Predictions([0.0, 0.0, 1.0, 1.0, 0.5], labels=[0, 1, 1, 0, 1]))
    assert (cells.n_certain, cells.n_refuted, cells.n_rows) == (4, 2, 5)
    assert cells.count.tolist() == [1.0]
    assert np.isfinite(collect([cells], CoxAlternatives(), SpreadStart()).log_e).all()


def test_rows_with_weights_are_refused():
    with pytest.raises(InputError, match="count once each"):
        cells_of_rows(Predictions([0.2, 0.3], labels=[0, 1], weights=[1, 2]))


def test_days_without_rows_change_nothing_but_what_is_staked():
    day = one_cell(np.array([0.3, 0.6]), np.array([1, 1]))
    empty = merged([])
    found = collect([empty, day, empty], CoxAlternatives(), FirstDay())
    assert found.log_e[0] == 0
    assert found.log_e[1] == found.log_e[2] == pytest.approx(collect([day], CoxAlternatives(), FirstDay()).log_e[0])


def test_evidence_stays_finite_when_it_is_overwhelming():
    sure = one_cell(np.full(10_000, 0.001), np.ones(10_000))
    found = collect([sure, sure], CoxAlternatives(), SpreadStart())
    assert np.isfinite(found.log_e).all()
    assert found.log_e[-1] > 1000


def test_shares_and_suffixes():
    assert posterior(np.log([1.0, 3.0])).tolist() == pytest.approx([0.25, 0.75])
    factors = np.log([[2.0, 1.0], [0.5, 4.0]])
    assert np.exp(begun(factors)) == pytest.approx([(1 + 4) / 2, 4.5 / 2])


def test_calibrated_streams_rarely_raise_an_alarm_and_shifted_ones_do():
    """400 streams of 150 rows, looked at after each: at most 5% may exceed 20, plus 3.3 standard errors."""
    from studies.over_time.runs import log_factors
    from studies.over_time.worlds import COMMON

    rng = np.random.default_rng(5)
    z = COMMON.log_odds((150, 400), rng)
    over = [
        (accumulate(log_factors(z, COMMON.outcomes(z, rng, shift)), SpreadStart().stakes(150)).log_e >= np.log(20))
        .any(axis=0)
        .mean()
        for shift in (0.0, 1.0)
    ]
    assert over[0] <= 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / 400)
    assert over[1] > 0.7


def test_the_study_watches_what_the_library_watches():
    from studies.over_time.runs import log_factors

    rng = np.random.default_rng(6)
    z = rng.normal(-1, 1, 12)
    y = (rng.random(12) < 0.3).astype(float)
    days = [
        gather(np.array([[expit(-zi), expit(zi)]]), np.ones(1), np.array([yi])) for zi, yi in zip(z, y, strict=True)
    ]
    found = collect(days, CoxAlternatives(), SpreadStart())
    np.testing.assert_allclose(found.log_factors(11), log_factors(z[:, None], y[:, None])[:, 0], atol=1e-12)
