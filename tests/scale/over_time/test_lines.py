"""Lines of log-odds on cells against CoxTest on rows."""

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.hypotest import CoxTest
from calibrant.scale.over_time.cells import Cells, cells_of_rows
from calibrant.scale.over_time.lines import coefficients, fit_line, require_line


def tied(seed=0, n_rows=500):
    rng = np.random.default_rng(seed)
    p = rng.choice([0.05, 0.2, 0.4, 0.7, 0.9], n_rows)
    return Predictions(p, rng.random(n_rows) < 0.1 + 0.7 * p)


def test_lines_of_cells_are_those_of_rows():
    view = tied()
    wanted, found = CoxTest()(view).details, coefficients(cells_of_rows(view))
    assert found["slope"] == pytest.approx(wanted["slope"], rel=1e-8)
    assert found["slope_error"] == pytest.approx(wanted["slope_se"], rel=1e-6)
    assert found["shift"] == pytest.approx(wanted["calibration_in_the_large"], rel=1e-8)
    assert found["shift_error"] == pytest.approx(wanted["calibration_in_the_large_se"], rel=1e-6)
    line = fit_line(cells_of_rows(view))
    assert line.intercept == pytest.approx(wanted["intercept"], abs=1e-8)
    assert np.sqrt(line.covariance[0, 0]) == pytest.approx(wanted["intercept_se"], rel=1e-6)


def test_fine_cells_lose_little():
    rng = np.random.default_rng(1)
    p = rng.random(20_000)
    view = Predictions(p, rng.random(20_000) < p**1.3)
    wanted = CoxTest()(view).details
    assert coefficients(cells_of_rows(view))["slope"] == pytest.approx(wanted["slope"], abs=0.02 * wanted["slope_se"])


@pytest.mark.parametrize(
    "day",
    [
        Cells(np.array([-1.0, 1.0]), np.array([3.0, 3.0]), np.array([0.0, 3.0])),  # separated
        Cells(np.array([-1.0, 1.0]), np.array([3.0, 3.0]), np.array([0.0, 0.0])),  # no events
        Cells(np.array([0.5]), np.array([9.0]), np.array([3.0])),  # one prediction only
    ],
)
def test_where_no_finite_line_is_most_likely_there_is_none(day):
    assert fit_line(day) is None
    assert coefficients(day)["slope"] is None
    with pytest.raises(InputError, match="the reference must have events, non-events"):
        require_line(day, "the reference")


def test_a_day_without_rows_has_no_coefficients():
    empty = Cells(np.empty(0), np.empty(0), np.empty(0))
    assert set(coefficients(empty).values()) == {None}
