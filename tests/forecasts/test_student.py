"""Student predictive distributions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant import Forecasts, InputError, Mixture, Normal, Student
from calibrant.forecasts import target_discrepancy
from calibrant.kernels import Euclidean, ExponentialKernel, GaussianKernel, Wasserstein
from calibrant.metrics import CRPS, ENCE, FORECAST_METRICS, SKCE, Sharpness
from forecast_laws import crps_by_definition
from naming import each
from properties import examples


@each("scale, y, expected", [(1, 0, 0.257025363), (1, 1, 0.603830563), (2, 3, 1.937056985)])
def test_the_crps_is_that_of_scoringrules(scale, y, expected):
    assert CRPS()(Forecasts(Student([0.0], scale, 5.0), [float(y)])) == pytest.approx(expected, abs=1e-9)


@examples(10)
@given(st.floats(3, 50), st.floats(-8, 8), st.floats(0.2, 5))
def test_the_crps_is_the_integral(df, y, scale):
    law = Student([0.7], scale, df)
    assert CRPS()(Forecasts(law, [y])) == pytest.approx(crps_by_definition(law, y), abs=1e-7)


def test_it_is_the_law_of_scipy():
    loc, scale, df = np.array([0.0, 2.0]), np.array([1.0, 0.3]), np.array([1.5, 7.0])
    law, theirs = Student(loc, scale, df), stats.t(df, loc, scale)
    y = np.array([0.4, -3.0])
    assert law.cdf(y) == pytest.approx(theirs.cdf(y), rel=1e-12)
    assert law.log_density(y) == pytest.approx(theirs.logpdf(y), rel=1e-12)
    assert law.quantile(0.03) == pytest.approx(theirs.ppf(0.03), rel=1e-9)
    assert law.log_density(np.column_stack([y, y]))[:, 1] == pytest.approx(law.log_density(y))
    assert law.sd().tolist() == [np.inf, pytest.approx(theirs.std()[1])]
    draws = law.sample(np.random.default_rng(0), 20_000)
    assert np.median(draws, axis=1) == pytest.approx(loc, abs=0.03)
    assert (draws <= law.quantile(0.9)[:, None]).mean(axis=1) == pytest.approx([0.9, 0.9], abs=0.01)


def test_many_degrees_of_freedom_are_normal():
    y = np.array([-1.0, 0.3, 6.0])
    t, normal = Student([0.0, 1.0, 2.0], 2.0, 1e9), Normal([0.0, 1.0, 2.0], 2.0)
    for what in ("mean_distance", "cdf", "log_density"):
        assert getattr(t, what)(y) == pytest.approx(getattr(normal, what)(y), rel=1e-7)
    assert t.mean_spread() == pytest.approx(normal.mean_spread(), rel=1e-7)
    assert t.mean_difference(normal) == pytest.approx(normal.mean_difference(normal), rel=1e-6)
    assert t.wasserstein(normal) == pytest.approx(normal.wasserstein(normal), abs=0.05)
    assert t.expect("gaussian", 1.0, y) == pytest.approx(normal.expect("gaussian", 1.0, y), abs=2e-3)
    assert t.expect_pair("exponential", 1.0, normal) == pytest.approx(
        normal.expect_pair("exponential", 1.0, normal), abs=5e-3
    )


def test_infinite_spreads_are_refused_where_they_are_needed():
    f = Forecasts(Student([0.0, 1.0], 1.0, [1.5, 5.0]), [0.0, 0.0])
    assert not ENCE().suits(f)
    with pytest.raises(InputError, match="Sharpness needs distributions with finite standard deviations"):
        Sharpness()(f)
    values = {name: metric(f) for name, metric in FORECAST_METRICS.items() if metric.suits(f) and name != "skce"}
    assert np.isfinite(list(values.values())).all()


def test_too_few_degrees_of_freedom_are_refused():
    with pytest.raises(InputError, match="df must exceed 1, so that there is a mean, but row 1 is 1"):
        Student([0.0, 0.0], 1.0, [2.0, 1.0])


@each(
    "law",
    [
        Student([0.0, 0.7], [1.0, 1.4], 5.0),
        Student([0.0, 0.7], [1.0, 1.4], 2.5),
        Mixture([0.5, 0.5], [Student([0.0, 0.7], 1.0, 4.0), Normal([1.0, 0.0], 1.0)]),
    ],
)
def test_pairs_of_calibrated_forecasts_have_no_discrepancy_on_average(law):
    """The targets are 400 quantiles of each law. Expectations over pairs and points had errors that did not cancel."""
    first, second = (
        Forecasts(law.take(np.full(400, row)), law.take([row]).quantile((np.arange(400) + 0.5) / 400)[0])
        for row in (0, 1)
    )
    for profile in ("gaussian", "exponential"):
        assert abs(target_discrepancy(first, second, profile, 1.0).mean()) < 1e-4
    kernel = ExponentialKernel(Wasserstein(), 1.0) @ GaussianKernel(Euclidean(), 1.0)
    if not isinstance(law, Mixture):
        data = Forecasts(law, [0.3, -1.0])
        redrawn = SKCE(kernel).prepare_labels(data)(data.targets[:, None])[0]
        assert redrawn == pytest.approx(SKCE(kernel)(data), abs=1e-12)
