"""Predictions that differ by rounding alone are the same for calibrators of two classes, in fits and afterwards."""

import numpy as np
import pytest

from calibrant.calibrators import CALIBRATORS, SplineCalibration
from naming import each

NAMES = ["isotonic", "centred-isotonic", "rocch", "venn-abers", "spline", "histogram", "bbq", "platt", "beta", "irova"]


def votes(seed=0):
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 10, 400) / 10
    return p, (rng.random(400) < 0.15 + 0.7 * p).astype(int), rng.integers(-3, 4, 400)


@each("name", NAMES)
def test_rounding_of_votes_changes_neither_a_fit_nor_its_use(name):
    p, labels, noise = votes()
    rounded = p * (1 + noise * np.finfo(float).eps)
    exact, other = (CALIBRATORS[name]().fit(scores, labels) for scores in (p, rounded))
    expected = exact.predict_proba(np.append(p, np.linspace(0.01, 0.99, 50)))
    assert other.predict_proba(np.append(p, np.linspace(0.01, 0.99, 50))) == pytest.approx(expected, abs=1e-9)
    assert exact.predict_proba(rounded) == pytest.approx(expected[:400], abs=1e-9)


@each("size", [1e-7, 1e-8, 1e-10, 1e-12, 1e-14])
def test_a_spline_of_nearly_equal_scores_is_that_of_equal_ones(size):
    grid = np.linspace(0.02, 0.98, 40)
    for seed in range(3):
        p, labels, noise = votes(seed)
        exact, other = (SplineCalibration().fit(scores, labels) for scores in (p, p * (1 + size * noise / 3)))
        assert other.predict_proba(grid) == pytest.approx(exact.predict_proba(grid), abs=size + 1e-9)


@each("name", ["iop-diag", "iop-oi", "iop-deep", "joint"])
def test_knots_do_not_fall_between_scores_that_differ_by_rounding(name):
    rng = np.random.default_rng(1)
    p = rng.multinomial(10, np.ones(3) / 3, 300) / 10
    labels = (rng.random((300, 1)) > (0.7 * p + 0.1).cumsum(axis=1)).sum(axis=1).clip(max=2)
    rounded = np.minimum(p * (1 + rng.integers(-3, 4, p.shape) * np.finfo(float).eps), 1)
    exact, other = (CALIBRATORS[name]().fit(scores, labels) for scores in (p, rounded))
    others = rng.dirichlet(np.ones(3), 50)
    assert other.predict_proba(others) == pytest.approx(exact.predict_proba(others), abs=1e-7)
