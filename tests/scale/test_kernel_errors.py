"""KDE-ECE and SKCE from the cells of a sketch, against the same of the rows: the bounds of docs/scale.md."""

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.curves import kernel_curve
from calibrant.kernels import ExponentialKernel, GaussianKernel, TotalVariation, WhiteKernel
from calibrant.metrics import KCE, SKCE, KdeECE
from calibrant.scale import Sketch
from scale_cases import SHAPES, classes, weights_of

FIXED = ExponentialKernel(TotalVariation(), 0.2) @ WhiteKernel()
METRICS = {
    "gaussian": (KdeECE(bandwidth=0.02), 2e-3),
    "triweight": (KdeECE("triweight", 0.05), 2e-3),
    "beta": (KdeECE("beta", 0.01), 2e-3),
    "silverman": (KdeECE(bandwidth="silverman"), 1e-3),
    "integral": (KdeECE(bandwidth=0.02, form="integral"), 1e-3),
    "skce": (SKCE(FIXED), 1e-3),
    "biased skce": (SKCE(FIXED, unbiased=False), 1e-3),
}


def both(shape, n, weighted=False):
    rng = np.random.default_rng(0)
    p, y = SHAPES[shape](n, rng)
    w = weights_of(n, rng) if weighted else None
    return Predictions(p, y, w), Sketch().update(p, y, w).one_vs_rest(1)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("shape", SHAPES)
def test_errors_are_those_of_the_rows(shape, name):
    metric, bound = METRICS[name]
    rows, cells = both(shape, 20_000)
    assert metric(cells) == pytest.approx(metric(rows), rel=1e-9 if shape == "forest" else bound)


def test_another_kernel():
    metric = SKCE(GaussianKernel(lengthscale=0.3) @ WhiteKernel())
    rows, cells = both("sure", 2000)
    assert metric(cells) == pytest.approx(metric(rows), rel=1e-3)


@pytest.mark.parametrize("name", METRICS)
def test_errors_of_weighted_ties_are_those_of_the_rows(name):
    """Means of leave-one-out gaps depend on each weight, not only on sums of them and of their squares."""
    rows, cells = both("forest", 20_000, weighted=True)
    metric = METRICS[name][0]
    loose = isinstance(metric, KdeECE) and metric.form == "loo"
    assert metric(cells) == pytest.approx(metric(rows), rel=1e-3 if loose else 1e-9)


def test_the_curve_is_that_of_the_rows():
    rows, cells = both("forest", 3000)
    found, expected = (kernel_curve(one, bandwidth=0.05, n_resamples=199, rng=0) for one in (cells, rows))
    np.testing.assert_allclose(found.observed, expected.observed, rtol=1e-9)
    assert found.count.tolist() == expected.count.tolist()
    # Bands are drawn by other random numbers: a quantile of 199 varies by a twelfth of the band, three times that here.
    width = (expected.high - expected.low).max()
    assert np.abs(found.low - expected.low).max() < 0.25 * width
    assert np.abs(found.high - expected.high).max() < 0.25 * width


@pytest.mark.parametrize("rule", ["cv", "loo", "silverman", "silverman-robust", "mix-n-match"])
def test_bandwidths_of_ties_are_those_of_the_rows(rule):
    rows, cells = both("forest", 25_000)
    metric = KdeECE(bandwidth=rule)
    found, expected = metric.details(cells)["bandwidth"], metric.details(rows)["bandwidth"]
    assert found == pytest.approx(expected, rel=1e-3 if rule == "silverman-robust" else 1e-12)


def test_bandwidths_that_are_searched_hardly_move_the_value():
    for shape in ("smooth", "sure", "half"):
        rows, cells = both(shape, 60_000)
        assert KdeECE()(cells) == pytest.approx(KdeECE()(rows), rel=0.03)


def test_the_median_lengthscale_is_about_that_of_the_rows():
    for shape in ("smooth", "forest"):
        rows, cells = both(shape, 20_000)
        assert SKCE()(cells) == pytest.approx(SKCE()(rows), rel=0.02)
        assert KCE()(cells) == pytest.approx(KCE()(rows), rel=0.01)


def test_the_confidence_of_several_classes():
    p, y = classes(20_000, 5, np.random.default_rng(0))
    rows, cells = Predictions(p, y).top_label(), Sketch(5).update(p, y).top_label()
    for metric in (SKCE(FIXED), KdeECE(bandwidth=0.02)):
        assert metric(cells) == pytest.approx(metric(rows), rel=1e-3)


@pytest.mark.parametrize("metric", [SKCE(blocksize=2), SKCE(features=16)])
def test_what_needs_single_rows_refuses(metric):
    _, cells = both("forest", 1000)
    with pytest.raises(InputError, match="single rows"):
        metric(cells)
