"""What the tests of order-preserving maps share."""

import numpy as np
import pytest

from calibrant import Predictions
from simulate import calibrated

families = pytest.mark.parametrize("family", ["diag", "oi"])


def bent(n=400, k=4, seed=0):
    """Predictions that are over-confident at the top and not below."""
    p = calibrated(n=n, k=k, seed=seed, concentration=0.5)
    probs = p.probs ** (1 + p.probs) + 1e-6
    return Predictions(
        probs / probs.sum(axis=1, keepdims=True), p.labels, np.random.default_rng(seed).integers(1, 4, n)
    )
