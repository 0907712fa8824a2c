"""The estimator contract of scikit-learn, which calibrators keep without importing it."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls as of_scipy
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.base import clone as clone_of_sklearn
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_validate
from sklearn.utils import get_tags

from calibrant import InputError
from calibrant._core.nnls import least_of_few, nnls
from calibrant.calibrators import CALIBRATORS, Compose, OneVsRest, PlattScaling, StructuredScaling, TemperatureScaling
from calibrant.calibrators.estimator import clone
from naming import each
from simulate import calibrated


class Peer(BaseEstimator):
    """The same settings as structured scaling, in scikit-learn's base class."""

    def __init__(self, structure="matrix", guard=0.01, inner=None):
        self.structure, self.guard, self.inner = structure, guard, inner


class Ours(TemperatureScaling):
    def __init__(self, structure="matrix", guard=0.01, inner=None):
        self.structure, self.guard, self.inner = structure, guard, inner


@each("settings", [{}, {"guard": 1.0}, {"inner": PlattScaling(scores="raw")}])
def test_settings_are_those_of_scikit_learn(settings):
    ours, peer = Ours(**settings), Peer(**settings)
    assert ours.get_params() == peer.get_params()
    assert ours.get_params(deep=False) == peer.get_params(deep=False)
    assert repr(ours) == repr(peer).replace("Peer", "Ours")


@each("name", [*CALIBRATORS, "ts>guard"])
def test_both_ways_to_clone_agree(name):
    p = calibrated(n=60, k=2, seed=0)
    fitted = CALIBRATORS[name]().fit(p.probs, p.labels)
    for copied in (clone(fitted), clone_of_sklearn(fitted)):
        assert repr(copied) == repr(fitted)
        assert not any(key.endswith("_") for key in vars(copied))
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301 (written here)
    assert np.array_equal(again.predict_proba(p.probs), fitted.predict_proba(p.probs))


def test_settings_of_a_setting_are_reached():
    lifted = OneVsRest(PlattScaling())
    lifted.set_params(calibrator__scores="raw")
    assert lifted.calibrator.scores == "raw"
    with pytest.raises(InputError, match="'slope' must be a setting of OneVsRest, but is not"):
        lifted.set_params(slope=1.0)


def test_copies_share_no_estimator():
    stages = [TemperatureScaling(), StructuredScaling()]
    copied = clone(Compose(stages))
    assert all(one is not other for one, other in zip(copied.stages, stages, strict=True))


def test_what_scikit_learn_asks_for():
    p = calibrated(n=200, k=3, seed=0)
    assert get_tags(TemperatureScaling()).estimator_type is None
    with pytest.raises(NotFittedError, match="TemperatureScaling is not fitted yet"):
        TemperatureScaling().predict_proba(p.probs)
    with config_context(enable_metadata_routing=True):
        weighted = TemperatureScaling().set_fit_request(sample_weight=True)
        found = cross_validate(
            weighted, p.probs, p.labels, scoring=lambda c, x, y: c.temperature_, params={"sample_weight": p.weights}
        )
        assert np.isfinite(found["test_score"]).all()
        assert clone_of_sklearn(weighted).get_metadata_routing().fit.requests == {"sample_weight": True}


@given(st.integers(1, 8), st.integers(0, 10**6))
def test_non_negative_least_squares_are_those_of_scipy(n, seed):
    rng = np.random.default_rng(seed)
    factor, target = rng.normal(size=(n + int(rng.integers(0, 3)), n)), rng.normal(size=n)
    target = np.append(target, rng.normal(size=len(factor) - n))
    expected, norm = of_scipy(factor, target)
    near = (None, rng.normal(size=n), np.linalg.lstsq(factor, target)[0])[seed % 3]  # Any start will do.
    found = nnls(factor, target, near=near)
    assert found.min() >= 0
    assert np.linalg.norm(factor @ found - target) == pytest.approx(norm, abs=1e-9)
    assert found == pytest.approx(expected, abs=1e-7 * (1 + np.abs(expected).max()))


@given(st.integers(1, 3), st.sampled_from([0.0, 1e-4, 1e-8]), st.integers(0, 10**6))
def test_the_minimum_over_few_entries_that_are_not_negative(n, alike, seed):
    rng = np.random.default_rng(seed)
    factor, target = rng.normal(size=(n + 1, n)), rng.normal(size=n + 1)
    factor[:, 0] = factor[:, -1] + alike * factor[:, 0] if alike and n > 1 else factor[:, 0]
    factor /= np.linalg.norm(factor, axis=0)
    matrix, pull = factor.T @ factor, factor.T @ target
    found = least_of_few(matrix, pull, near=rng.normal(size=n))
    if found is None:  # Only where rounding would decide.
        assert np.linalg.cond(matrix) > 1e5
        return
    expected, norm = of_scipy(factor, target)
    accuracy = 1e-14 * np.linalg.cond(matrix)
    assert found == pytest.approx(expected, abs=accuracy)
    assert np.linalg.norm(factor @ found - target) == pytest.approx(norm, abs=1e-12)
    # The conditions of Karush, Kuhn and Tucker: nothing rises that could lower the value, what is positive is flat.
    slopes = matrix @ found - pull
    assert found.min() >= 0
    assert slopes.min() >= -1e-14 * n * (1 + np.abs(found).max())
    assert slopes[found > 0] == pytest.approx(0, abs=1e-14 * n * (1 + np.abs(found).max()))


def test_a_minimum_that_touches_a_bound_or_needs_many_entries():
    assert least_of_few(np.eye(2), np.array([2.0, 0.0]), near=np.ones(2)).tolist() == [2.0, 0.0]
    assert least_of_few(np.eye(3), np.array([-1.0, -2.0, -3.0]), near=np.ones(3)).tolist() == [0.0, 0.0, 0.0]
    assert least_of_few(np.ones((2, 2)), np.array([1.0, 1.0]), near=np.ones(2)) is None
    assert least_of_few(np.eye(4), np.ones(4), near=np.ones(4)) is None
