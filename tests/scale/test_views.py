"""What comes from the cells of a sketch, against the same of the rows."""

import numpy as np
import pytest

from calibrant import Predictions
from calibrant.binning import EqualWidth
from calibrant.metrics import ECE
from calibrant.scale import Sketch
from scale_cases import SHAPES, classes


def with_edges(shape, n, rng):
    """Return predictions of a shape, some of them moved onto edges of bins."""
    p, y = SHAPES[shape](n, rng)
    p = p.astype(float)
    bins = rng.choice([10, 15, 20, 100], n)
    return np.where(rng.random(n) < 0.3, np.round(p * bins) / bins, p), y


@pytest.mark.parametrize("n_bins", [10, 15, 16, 20, 25, 30, 50, 100])
@pytest.mark.parametrize("shape", SHAPES)
def test_errors_in_bins_of_equal_width_are_exact(shape, n_bins):
    p, y = with_edges(shape, 20_000, np.random.default_rng(0))
    rows, cells = Predictions(p, y), Sketch().update(p, y).one_vs_rest(1)
    for convention in ("calibrant", "scikit-learn", "torchmetrics", "guo"):
        metric = ECE(EqualWidth(n_bins, convention))
        assert metric(cells) == pytest.approx(metric(rows), abs=1e-12)


def test_views_of_two_classes():
    p, y = with_edges("smooth", 20_000, np.random.default_rng(1))
    rows, sketch = Predictions(p, y), Sketch().update(p, y)
    assert sketch.one_vs_rest(0).weights.sum() == sketch.top_label().weights.sum() == 20_000
    assert ECE()(sketch.one_vs_rest(0)) == pytest.approx(ECE()(rows.one_vs_rest(0)), abs=1e-12)
    assert ECE()(sketch.top_label()) == pytest.approx(ECE()(rows.top_label()), abs=1e-12)


def test_views_of_several_classes():
    p, y = classes(20_000, 5, np.random.default_rng(2))
    rows, sketch = Predictions(p, y), Sketch(5).update(p, y)
    assert ECE()(sketch.top_label()) == pytest.approx(ECE()(rows.top_label()), abs=1e-12)
    for c in range(5):
        assert ECE()(sketch.one_vs_rest(c)) == pytest.approx(ECE()(rows.one_vs_rest(c)), abs=1e-12)
