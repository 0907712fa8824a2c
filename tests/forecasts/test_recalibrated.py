"""Laws whose probabilities are mapped, and laws that are joined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import (
    Forecasts,
    InputError,
    Laplace,
    Mixture,
    MvNormal,
    Normal,
    Quantiles,
    Recalibrated,
    Samples,
    Student,
)
from calibrant.forecasts import ProbabilityMap, join
from calibrant.metrics import CRPS, SKCE
from forecast_laws import crps_by_definition
from naming import each
from properties import examples

MAP = ProbabilityMap([0.02, 0.1, 0.3, 0.55, 0.97], [0.05, 0.3, 0.4, 0.5, 0.8])
BASES = {
    "normal": Normal([2.0], 3.0),
    "laplace": Laplace([2.0], 3.0),
    "student": Student([2.0], 3.0, 3.0),
    "mixture": Mixture([0.3, 0.7], [Normal([0.0], 1.0), Normal([4.0], 2.0)]),
    "quantiles": Quantiles([0.1, 0.4, 0.5, 0.9], [[0.0, 1.0, 1.5, 4.0]], tails="exponential"),
}
every_base = each("base", BASES)


@every_base
@each("y", [-5.0, 2.3, 12.0])
def test_the_crps_is_the_integral(base, y):
    law = Recalibrated(base, MAP)
    cuts = np.concatenate([law.quantile(MAP.shares[1:-1])[0], base.quantile([0.1, 0.4, 0.5, 0.9])[0]])
    assert CRPS()(Forecasts(law, [y])) == pytest.approx(crps_by_definition(law, y, cuts), abs=5e-9)


@every_base
def test_density_quantiles_and_distribution_function_agree(base):
    law = Recalibrated(base, MAP)
    levels = np.array([0.01, 0.2, 0.45, 0.7, 0.95])
    y = law.quantile(levels)
    assert law.cdf(y)[0] == pytest.approx(levels, rel=1e-9)
    step = 1e-5
    slope = (law.cdf(y + step) - law.cdf(y - step)) / (2 * step)
    assert np.exp(law.log_density(y)) == pytest.approx(slope, rel=1e-4)


@every_base
def test_moments_and_draws(base):
    law = Recalibrated(base, MAP)
    points = law.quantile((np.arange(200_000) + 0.5) / 200_000)[0]
    assert law.mean()[0] == pytest.approx(points.mean(), rel=2e-3)
    assert law.sd()[0] == pytest.approx(points.std(), rel=0.05 if isinstance(base, Student) else 2e-3)
    draws = law.sample(np.random.default_rng(1), 4000)
    assert law.cdf(draws).mean() == pytest.approx(0.5, abs=4 * np.sqrt(1 / 12 / 4000))


def test_rows_of_one_shape_are_those_of_each_alone():
    law = Recalibrated(Normal([0.0, 50.0, -3.0], [1.0, 0.1, 7.0]), MAP)
    y = np.array([0.4, 49.0, 20.0])
    alone = [CRPS()(Forecasts(Recalibrated(law.base.take([i]), MAP), y[[i]])) for i in range(3)]
    assert CRPS().per_row(Forecasts(law, y)) == pytest.approx(alone, rel=1e-12)
    moved = law.affine(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 0.5]))
    assert moved.mean() == pytest.approx([1.0, 2.0, 3.0] + np.array([2.0, 2.0, 0.5]) * law.mean())
    assert moved.sd() == pytest.approx(np.array([2.0, 2.0, 0.5]) * law.sd())


@examples(20)
@given(st.lists(st.floats(0.02, 1), min_size=2, max_size=12), st.lists(st.floats(0.01, 1), min_size=12, max_size=12))
def test_a_map_and_its_inverse(some, others):
    levels, shares = (np.cumsum(part)[:-1] / np.sum(part) for part in (some, others[: len(some)]))
    found = ProbabilityMap(levels, shares)
    p = np.linspace(0.001, 0.999, 50)
    assert found.inverse(found(p)) == pytest.approx(p, abs=1e-9)
    straight = Recalibrated(Normal([1.0], 2.0), ProbabilityMap(levels, levels))
    y = np.array([0.3])
    assert straight.mean_distance(y) == pytest.approx(straight.base.mean_distance(y), rel=1e-10)
    assert straight.mean_spread() == pytest.approx(straight.base.mean_spread(), rel=1e-8)
    assert straight.mean() == pytest.approx([1.0], rel=1e-12)


def test_blocks_of_rows_change_nothing(monkeypatch):
    parts = [Normal([0.0, 1.0, 2.0], 1.0), Normal([4.0, 0.0, 2.5], 2.0)]
    whole = Recalibrated(Mixture([0.3, 0.7], parts), MAP)
    expected = [whole.sd(), whole.mean_spread()]
    monkeypatch.setattr("calibrant.forecasts.recalibrated.CELLS", 1)
    again = Recalibrated(whole.base, MAP)
    assert [again.sd(), again.mean_spread()] == [pytest.approx(one, rel=1e-13) for one in expected]


def test_without_knots_it_is_the_base():
    law = Recalibrated(Normal([1.0], 2.0), ProbabilityMap([], []))
    assert CRPS()(Forecasts(law, [0.0])) == pytest.approx(CRPS()(Forecasts(law.base, [0.0])), rel=1e-9)


def test_what_cannot_be_mapped_is_refused():
    with pytest.raises(InputError, match="base must be univariate"):
        Recalibrated(MvNormal([[0.0, 0.0]], 1.0), MAP)
    with pytest.raises(InputError, match="levels must ascend strictly"):
        ProbabilityMap([0.5, 0.5], [0.2, 0.3])
    with pytest.raises(InputError, match="as many levels as shares, but there are 1 and 2"):
        ProbabilityMap([0.5], [0.2, 0.3])
    with pytest.raises(InputError, match="a log density needs distributions with a density"):
        Recalibrated(Samples([[0.0, 1.0]]), MAP).log_density(np.array([0.0]))


PARTS = [Normal([0.0, 1.0], [1.0, 2.0]), Recalibrated(Normal([3.0], 1.0), MAP), Student([2.0], 1.0, 4.0)]
PLACES = [np.array([3, 0]), np.array([1]), np.array([2])]
Y = np.array([0.1, 2.0, 4.0, -1.0])


def test_joined_laws_are_those_of_their_rows():
    whole = join(PARTS, PLACES)
    order = [(0, 1), (1, 0), (2, 0), (0, 0)]
    for what in ("cdf", "cdf_below", "log_density", "mean_distance"):
        expected = [getattr(PARTS[k].take([i]), what)(Y[[row]])[0] for row, (k, i) in enumerate(order)]
        assert getattr(whole, what)(Y) == pytest.approx(expected)
    for what in ("mean", "sd", "mean_spread"):
        assert getattr(whole, what)() == pytest.approx([getattr(PARTS[k].take([i]), what)()[0] for k, i in order])
    assert whole.quantile([0.2, 0.7])[1] == pytest.approx(PARTS[1].quantile([0.2, 0.7])[0])
    assert whole.take([2, 2, 0]).mean().tolist() == [2.0, 2.0, 1.0]
    assert whole.affine(np.ones(4), np.full(4, 2.0)).mean() == pytest.approx(1 + 2 * whole.mean())
    assert whole.sample(np.random.default_rng(0), 7).shape == (4, 7)
    apart = whole.wasserstein(whole)
    assert apart == pytest.approx(apart.T, abs=1e-12)
    assert apart[0, 3] == pytest.approx(np.sqrt(2), rel=1e-12)
    assert np.isfinite(SKCE()(Forecasts(whole, Y)))


def test_laws_of_one_kind_stay_that_kind():
    both = join([Student([1.0], 1.0, 3.0), Student([2.0], 2.0, 4.0)], [np.array([1]), np.array([0])])
    assert isinstance(both, Student)
    assert both.df.tolist() == [4.0, 3.0]
    members = join([Samples([[1.0, 2.0]]), Samples([[3.0, 4.0]])], [np.array([0]), np.array([1])])
    assert isinstance(members, Samples)
    ragged = join([Samples([[1.0, 2.0]]), Samples([[3.0, 4.0, 5.0]])], [np.array([0]), np.array([1])])
    assert ragged.mean().tolist() == [1.5, 4.0]
