"""`norm=` means one thing: where all gaps are equal, every norm is that gap."""

import numpy as np
import pytest

from calibrant import Forecasts, InputError, Normal, Predictions
from calibrant.binning import EqualWidth
from calibrant.metrics import ECE, DirichletECE, KdeECE, QuantileCalibration, SweepECE
from naming import each

# 0.25 and 0.75 are both 0.25 from their frequencies; no kernel of width 0.01 reaches from one to the other.
EQUAL_GAPS = Predictions([0.25] * 4 + [0.75] * 4, labels=[0] * 4 + [1] * 4)
BINARY = {
    "bins": lambda norm: ECE(EqualWidth(2), norm),
    "sweep": lambda norm: SweepECE(norm=norm),
    "kernel": lambda norm: KdeECE(bandwidth=0.01, norm=norm),
    "triweight": lambda norm: KdeECE("triweight", 0.01, norm=norm),
    "Beta": lambda norm: KdeECE("beta", 1e-5, norm=norm),
}


@each("norm", [1, 1.5, 2, 7])
@each("metric", BINARY)
def test_of_equal_gaps_it_is_the_gap(metric, norm):
    assert metric(norm)(EQUAL_GAPS) == pytest.approx(0.25, rel=1e-9)
    redrawn = metric(norm).prepare_labels(EQUAL_GAPS)(EQUAL_GAPS.labels[:, None])
    assert redrawn == pytest.approx([0.25], rel=1e-9)


@each("norm", [1, 2, 3])
def test_on_the_simplex_it_is_that_of_vectors(norm):
    # Two classes: each row has the gap twice.
    assert DirichletECE(1e-5, norm)(EQUAL_GAPS) == pytest.approx((2 * 0.25**norm) ** (1 / norm), rel=1e-9)


def test_the_integral_has_a_root_too():
    p = Predictions([0.5] * 4, labels=[1] * 4)
    squared = np.trapezoid((1 - GRID) ** 2 * DENSITY, GRID) / np.trapezoid(DENSITY, GRID)
    assert KdeECE(bandwidth=0.05, boundary="none", form="integral", norm=2)(p) == pytest.approx(np.sqrt(squared))


GRID = np.linspace(0, 1, 100_001)
DENSITY = np.exp(-0.5 * ((GRID - 0.5) / 0.05) ** 2)


def test_of_forecasts_likewise():
    f = Forecasts(Normal(np.zeros(4), np.ones(4)), np.full(4, -100.0))  # every level is exceeded
    levels = (0.5,)
    assert [QuantileCalibration(levels, norm=norm)(f) for norm in (1, 2, np.inf)] == pytest.approx([0.5] * 3)


@each("norm", [0.5, 0, np.nan, True, "2", None])
@each("metric", [*BINARY.values(), lambda norm: DirichletECE(0.1, norm)])
def test_what_is_no_norm_is_refused_alike(metric, norm):
    with pytest.raises(InputError, match=r"norm must be a (finite )?number of at least 1"):
        metric(norm)


def test_the_largest_gap_is_for_bins_only():
    with pytest.raises(InputError, match="norm must be a finite number of at least 1, but is inf"):
        KdeECE(norm=np.inf)
