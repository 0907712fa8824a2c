"""Order-preserving maps keep the order of every row, ties and zeros included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from calibrant import Predictions
from calibrant.calibrators import OrderPreserving, calibrate
from order_cases import bent, families
from simulate import calibrated, sharpened


def fitted_map(family):
    p = bent(n=300, k=5)
    return OrderPreserving(family, smoothness=0.01).fit(p.probs, p.labels)


MAPS = {family: fitted_map(family) for family in ("diag", "oi")}


@families
class TestOrder:
    @given(st.integers(0, 2**32), st.floats(0.01, 3.0))
    def test_single_precision_rows_keep_their_strict_order(self, family, seed, concentration):
        rng = np.random.default_rng(seed)
        probs = rng.dirichlet(np.full(5, concentration), 40).astype(np.float32)
        probs[::3, 1] = np.nextafter(probs[::3, 0], np.float32(1))  # As near as single precision can say.
        probs[1::3, 2] = probs[1::3, 3]
        probs[probs.max(axis=1) == 0] = 0.2
        with np.errstate(divide="ignore"):
            p = Predictions.from_logits(
                np.log(probs.astype(np.float64)), np.zeros(40, dtype=int), classes=list(range(5))
            )
        result = calibrate(MAPS[family], p).probs
        before, after = probs[:, :, None] < probs[:, None, :], result[:, :, None] < result[:, None, :]
        possible = result[:, :, None] + result[:, None, :] > 1e-290
        assert np.array_equal(before & possible, after & possible)

    def test_double_precision_rows_never_trade_places(self, family):
        rng = np.random.default_rng(0)
        probs = rng.dirichlet(np.ones(5), 3000)
        probs[:, 1] = probs[:, 0]
        probs[:, 2] = np.nextafter(probs[:, 0], 1.0)
        z = np.log(probs)
        result = MAPS[family].transform(z - logsumexp(z, axis=1, keepdims=True))
        before = z[:, :, None] < z[:, None, :]
        assert not np.any(before & (result[:, :, None] > result[:, None, :]))
        assert np.array_equal(result[:, 0], result[:, 1])

    def test_ties_stay_ties(self, family):
        row = np.array([[0.1, 0.3, 0.1, 0.2, 0.3]])
        result = MAPS[family].predict_proba(row)[0]
        assert result[0] == result[2]
        assert result[1] == result[4]
        uniform = MAPS[family].predict_proba(np.full((1, 5), 0.2))
        assert uniform == pytest.approx(np.full((1, 5), 0.2), abs=1e-15)

    def test_zeros_stay_zeros_and_do_not_change_the_others(self, family):
        fitted = MAPS[family]
        result = fitted.predict_proba([[0.6, 0.4, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]])
        assert result[:, 2:].max() == 0
        assert result[1, 0] == 1
        tiny = fitted.predict_proba([[0.6, 0.4, 1e-300, 1e-300, 1e-300]])
        assert result[0, :2] == pytest.approx(tiny[0, :2], abs=1e-12)

    def test_the_names_of_classes_do_not_matter(self, family):
        fitted = MAPS[family]
        probs = np.random.default_rng(0).dirichlet(np.ones(5), 50)
        order = np.array([3, 0, 4, 1, 2])
        assert fitted.predict_proba(probs[:, order]) == pytest.approx(fitted.predict_proba(probs)[:, order], abs=1e-15)

    def test_an_offset_of_the_logits_does_not_matter(self, family):
        p = sharpened(calibrated(k=4), 0.5)
        logits = np.log(p.probs)
        shifted = logits + np.linspace(-50, 50, len(logits))[:, None]
        one = OrderPreserving(family, scores="logits").fit(logits, p.labels).predict_proba(logits)
        other = OrderPreserving(family, scores="logits").fit(shifted, p.labels).predict_proba(shifted)
        assert one == pytest.approx(other, abs=1e-9)
