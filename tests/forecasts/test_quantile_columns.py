"""Laws given by columns of quantiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Forecasts, InputError, Quantiles
from calibrant.exceptions import DataWarning
from calibrant.metrics import CRPS, IntervalCoverage, IntervalScore, LogScore, PinballLoss
from forecast_laws import crps_by_definition
from naming import each
from properties import examples

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
steps = st.lists(st.floats(0.05, 3), min_size=4, max_size=4)


@examples(15)
@given(steps, st.floats(-6, 12))
def test_the_crps_is_the_integral(gaps, y):
    values = np.concatenate([[-1.0], -1.0 + np.cumsum(gaps)])
    law = Quantiles(LEVELS, [values])
    assert CRPS()(Forecasts(law, [y])) == pytest.approx(crps_by_definition(law, y, values), abs=1e-8)


@examples(10)
@given(steps)
def test_moments_are_those_of_equally_likely_quantiles(gaps):
    law = Quantiles(LEVELS, [np.concatenate([[2.0], 2.0 + np.cumsum(gaps)])])
    points = law.quantile((np.arange(100_000) + 0.5) / 100_000)[0]
    assert law.mean()[0] == pytest.approx(points.mean(), rel=1e-3)
    assert law.sd()[0] == pytest.approx(points.std(), rel=1e-3)
    assert law.cdf(points[None, ::1000])[0] == pytest.approx((np.arange(0, 100_000, 1000) + 0.5) / 100_000, abs=1e-9)


def test_tails_go_through_the_last_two_levels():
    law = Quantiles([0.2, 0.5, 0.8, 0.9], [[0.0, 1.0, 2.0, 3.0]], tails="exponential")
    # Above 2 a fifth is left, above 3 a tenth: half of it per unit.
    assert 1 - law.cdf(np.array([[4.0, 5.0]])) == pytest.approx(np.array([[0.05, 0.025]]))
    assert law.quantile(0.975)[0] == pytest.approx(5.0)
    assert np.exp(law.log_density(np.array([4.0]))) == pytest.approx(0.05 * np.log(2))
    assert np.exp(law.log_density(np.array([0.5]))) == pytest.approx(0.3)
    assert np.exp(law.log_density(np.array([-1.0]))) == pytest.approx(law.cdf(np.array([-1.0])) * np.log(2.5))


def test_a_density_has_to_be_declared():
    law = Quantiles(LEVELS, [[0.0, 1.0, 2.0, 3.0, 4.0]])
    assert not LogScore().suits(Forecasts(law, [1.0]))
    assert Quantiles(LEVELS, law.values, tails="exponential").has_density
    assert not Quantiles(LEVELS, [[0.0, 1.0, 1.0, 3.0, 4.0]], tails="exponential").has_density


def test_equal_columns_hold_an_atom():
    law = Quantiles([0.25, 0.5, 0.75], [[0.0, 1.0, 1.0]])
    assert law.cdf(np.array([1.0])).tolist() == [1.0]  # The tail begins where the atom is, and has no width.
    assert law.cdf_below(np.array([1.0])).tolist() == [0.5]
    assert law.cdf(np.array([0.5])).tolist() == [0.375]


def test_metrics_take_the_columns_as_they_are():
    f = Forecasts(Quantiles(LEVELS, [[0.0, 1.0, 2.0, 3.0, 4.0]] * 4), [-1.0, 0.5, 3.5, 3.9])
    assert IntervalCoverage(0.9)(f) == 0.75
    assert IntervalScore(0.5)(f) == pytest.approx(2 + 4 * (2 + 0.5 + 0.5 + 0.9) / 4)
    assert PinballLoss((0.5,))(f) == pytest.approx((3 + 1.5 + 1.5 + 1.9) / 8)


def test_rows_that_descend_are_sorted_with_a_warning():
    with pytest.warns(DataWarning, match="must not descend, but do in 1 of 2 rows"):
        law = Quantiles([0.2, 0.8], [[3.0, 1.0], [1.0, 2.0]])
    assert law.values.tolist() == [[1.0, 3.0], [1.0, 2.0]]


def test_infinite_quantiles_of_calibrators():
    law = Quantiles([0.1, 0.5, 0.9], [[0.0, 1.0, 2.0]] * 2).with_values(np.array([[0.0, 1.0, np.inf], [0.0, 1.0, 2.0]]))
    f = Forecasts(law, [5.0, 5.0])
    assert np.isinf(CRPS().per_row(f)).tolist() == [True, False]
    assert IntervalCoverage(0.8).per_row(f).tolist() == [1.0, 0.0]
    assert law.quantile([0.5, 0.9]).tolist() == [[1.0, np.inf], [1.0, 2.0]]
    assert law.mean()[0] == np.inf
    assert not law.has_sd
    both = law.with_values(np.array([[-np.inf, 1.0, np.inf]]))
    assert both.cdf(np.array([5.0])).tolist() == [0.5]
    with pytest.raises(InputError, match="a mean is not known where"):
        both.mean()


@each(
    "levels, values, words",
    [
        ([0.5], [[1.0]], "at least two numbers between 0 and 1"),
        ([0.5, 0.5], [[1.0, 2.0]], "in ascending order"),
        ([0.5, 1.0], [[1.0, 2.0]], "between 0 and 1"),
        ([0.5, 0.6], [[1.0, 2.0, 3.0]], "one column per level, 2"),
        ([0.5, 0.6], [[1.0, np.inf]], "must be finite"),
    ],
)
def test_bad_columns_are_refused(levels, values, words):
    with pytest.raises(InputError, match=words):
        Quantiles(levels, values)
