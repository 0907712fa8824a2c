"""Errors of every class under many labels: all classes in one pass, against one class after the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Predictions
from calibrant.binning import Cells, EqualMass, EqualWidth, class_sums
from calibrant.binning.class_sums import ClassEvents
from calibrant.metrics import ECE, Classwise, DebiasedECE, DebiasedSquaredGap, Reliability, Resolution
from properties import examples

METRICS = (
    Classwise(ECE()),
    Classwise(ECE(bins=EqualMass(4), norm=2)),
    Classwise(ECE(bins=EqualWidth(5, convention="guo"))),
    Classwise(DebiasedECE()),
    Classwise(Reliability()),
    Classwise(Resolution()),
    Classwise(DebiasedSquaredGap()),
    Classwise(DebiasedSquaredGap(bins=EqualWidth(3))),
)


def predictions(seed, n, k, *, weighted):
    """Rows with ties, zeros and ones, and some of weight 0."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(8, rng.dirichlet(np.ones(k)), n)
    weights = rng.lognormal(size=n) * (rng.random(n) < 0.8) + 1e-3 * (np.arange(n) == 0) if weighted else None
    return Predictions(counts / 8, rng.integers(0, k, n), weights), rng.integers(0, k, (n, 3))


@examples(15)  # Of eight metrics, by definition for every column of labels.
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(2, 6), st.booleans())
@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
def test_values_are_those_of_the_labels_themselves(seed, n, k, weighted):
    p, labels = predictions(seed, n, k, weighted=weighted)
    for metric in METRICS:
        expected = [metric(p.with_labels(column)) for column in labels.T]
        assert metric.prepare_labels(p)(labels) == pytest.approx(expected, rel=1e-10, abs=1e-9), metric


@pytest.mark.parametrize("together", [1, 40, 10**6])
def test_sums_are_counted_row_by_row_however_many_labels_are_taken_together(monkeypatch, together):
    monkeypatch.setattr(class_sums, "TOGETHER", together)
    rng = np.random.default_rng(0)
    cuts = [Cells(rng.integers(-1, size, 20), size) for size in (3, 1, 4)]
    values, labels = [rng.normal(size=(20, 3)), rng.normal(size=(20, 1)), np.ones((20, 1))], rng.integers(0, 3, (20, 7))
    found = ClassEvents.of(cuts, values).sums(labels)
    for c, cut in enumerate(cuts):
        expected = np.zeros((3, cut.n_bins, 7))
        for i, b in np.argwhere(labels == c):
            if cut.index[i] >= 0:
                expected[:, cut.index[i], b] += values[0][i, c], values[1][i, 0], 1
        assert np.array_equal(found[c], expected)
