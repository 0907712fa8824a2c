"""The laws that need no `scipy.special`, against it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from calibrant._core.laws import (
    divergence,
    expit,
    log_gamma,
    normal_quantile,
    normal_tail,
    student_quantile,
    student_tail,
)
from naming import each

FREEDOMS = st.floats(1.0, 1e12)


@given(st.floats(-60, 60), FREEDOMS)
def test_tails_are_those_of_student(x: float, freedom: float) -> None:
    # SciPy itself is off by up to 1e-10 in far tails with many degrees of freedom, and takes tiny x for 0.
    error = 1e-300 if abs(x) > 1e-6 else 1e-8
    assert student_tail(x, freedom) == pytest.approx(float(special.stdtr(freedom, -x)), rel=1e-9, abs=error)


@given(st.floats(-1e-5, 1e-5))
def test_tails_near_0_have_a_formula_with_one_degree_of_freedom(x: float) -> None:
    assert student_tail(x, 1.0) == pytest.approx(0.5 - np.arctan(x) / np.pi, rel=1e-14)


@each("freedom", [1.0, 1.5, 2.0, 7.3, 150.0, 199.9, 200.1, 1e4, 1e8])
@each("level", [0.1, 0.5, 0.6, 0.75, 0.95, 0.975, 0.995, 0.9999])
def test_quantiles_are_those_of_student(level: float, freedom: float) -> None:
    # Old releases of SciPy are off in the eleventh digit of Cauchy's law, which has a formula.
    expected = np.tan(np.pi * (level - 0.5)) if freedom == 1 else special.stdtrit(freedom, level)
    assert student_quantile(level, freedom) == pytest.approx(float(expected), rel=2e-11, abs=1e-11)


def test_tails_of_two_degrees_of_freedom_have_a_formula() -> None:
    # P(T > t) = (1 - t / sqrt(2 + t^2)) / 2, here without cancellation.
    for t in (0.0, 0.3, 1.0, 5.0, 1e3, 1e6):
        norm = np.sqrt(2 + t * t)
        assert student_tail(t, 2.0) == pytest.approx(1 / (norm * (norm + t)), rel=1e-13)


@given(st.floats(1e-12, 1 - 1e-12))
def test_normal_law(level: float) -> None:
    assert normal_quantile(level) == pytest.approx(float(special.ndtri(level)), rel=1e-12, abs=1e-13)
    assert normal_tail(-normal_quantile(level)) == pytest.approx(level, rel=1e-11)


def test_tails_of_the_normal_law_keep_their_digits() -> None:
    for x in (-40.0, -1.0, 0.0, 3.0, 10.0, 37.0):
        assert normal_tail(x) == pytest.approx(float(special.ndtr(-x)), rel=1e-13)


@given(st.lists(st.floats(-800, 800), min_size=1))
def test_logistic_curve(x: list[float]) -> None:
    np.testing.assert_allclose(expit(np.array(x)), special.expit(np.array(x)), rtol=4e-16, atol=1e-307)


def test_logarithms_of_the_gamma_function_are_those_of_scipy() -> None:
    x = np.concatenate([np.geomspace(1e-300, 1e300, 400), np.linspace(0.9, 2.1, 500)]).reshape(30, 30)
    assert log_gamma(x) == pytest.approx(special.gammaln(x), rel=1e-13, abs=1e-15)


def test_divergences_are_those_of_scipy() -> None:
    p, q = np.meshgrid([0.0, 1e-300, 1e-9, 0.3, 0.5, 1.0], [0.0, 1e-300, 0.2, 0.5, 1.0])
    assert divergence(p, q) == pytest.approx(special.rel_entr(p, q), rel=1e-13)
    assert -divergence(p, 1.0) == pytest.approx(special.entr(p), rel=1e-13)
