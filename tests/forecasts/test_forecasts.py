"""The container of forecasts and what all predictive distributions have in common."""

import numpy as np
import pytest
from scipy import stats

from calibrant import InputError
from calibrant.forecasts import (
    Forecasts,
    Laplace,
    Mixture,
    MonteCarlo,
    MvNormal,
    Normal,
    Samples,
    default_lengthscale,
    target_deviation,
    target_discrepancy,
)
from naming import each

N = 6


def _laws():
    rng = np.random.default_rng(0)
    loc, scale = rng.normal(size=N), rng.uniform(0.5, 2, N)
    roots = rng.normal(size=(N, 2, 2))
    full = MvNormal(rng.normal(size=(N, 2)), roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(2))
    weights = rng.dirichlet(np.ones(2), N)
    return {
        "normal": Normal(loc, scale),
        "laplace": Laplace(loc, scale),
        "full": full,
        "diagonal": MvNormal(full.loc, full.sd() ** 2),
        "normals": Mixture(weights, [Normal(loc, scale), Normal(loc + 1, 1.0)]),
        "mixed": Mixture([0.25, 0.75], [Normal(loc, scale), Laplace(loc, 0.5)]),
        "vectors": Mixture([0.5, 0.5], [full, MvNormal(full.loc + 1, 1.0)]),
        "samples": Samples(rng.normal(size=(N, 9))),
        "vector samples": Samples(rng.normal(size=(N, 5, 2))),
        "student": MonteCarlo(stats.t(df=5, loc=loc, scale=scale), n_draws=64),
        "vector student": MonteCarlo(stats.multivariate_t([0.0, 1.0], df=5), n_draws=32, n=N),
        "students": Mixture(weights, [MonteCarlo(stats.t(df=k, loc=k * loc), n_draws=64) for k in (5, 9)]),
    }


LAWS = _laws()
EXACT = {name: law for name, law in LAWS.items() if law.is_exact}
PROFILES = ("gaussian", "exponential")
every_law = each("law", LAWS)


def distance(one, other):
    return one.mixture_wasserstein(other) if isinstance(one, Mixture) else one.wasserstein(other)


def forecasts(law, seed=1):
    return Forecasts(law, law.sample(np.random.default_rng(seed), 1)[:, 0])


@every_law
class TestEveryLaw:
    def test_rows_can_be_taken(self, law):
        f, rows = forecasts(law), [4, 0, 0, 5]
        part = f.take(rows)
        for profile in PROFILES:
            whole = target_discrepancy(f, f, profile, 0.7)
            assert target_discrepancy(part, f.take([1, 4]), profile, 0.7) == pytest.approx(whole[np.ix_(rows, [1, 4])])
        assert distance(part.distribution, law) == pytest.approx(distance(law, law)[rows])
        assert np.array_equal(part.distribution.mean(), law.mean()[rows])
        assert np.array_equal(f.take(np.arange(N) > 2).targets, f.targets[3:])
        assert f.take(slice(2, 4)).distribution.n == 2

    def test_pairs_are_symmetric(self, law):
        for profile in PROFILES:
            pairs = law.expect_pair(profile, 0.7, law)
            assert np.allclose(pairs, pairs.T, rtol=0, atol=1e-14)
            assert np.all((pairs > 0) & (pairs < 1))
        assert np.allclose(distance(law, law), distance(law, law).T, atol=1e-12)
        assert np.allclose(np.diagonal(distance(law, law)), 0, atol=1e-7)

    def test_expectations_shrink_with_distance_and_lengthscale(self, law):
        y = law.mean()[:1]
        for profile in PROFILES:
            assert law.expect(profile, 1e6, y) == pytest.approx(np.ones((N, 1)), abs=1e-4)
            assert np.all(law.expect(profile, 1.0, y + 1e4) < 1e-12)

    def test_embedded_points_have_the_distances(self, law):
        points = law.embed()
        if points is None:
            assert isinstance(law, Mixture) or law.event_shape
        else:
            gaps = np.linalg.norm(points[:, None] - points, axis=-1)
            assert np.abs(gaps - law.wasserstein(law)).max() < 1e-13

    def test_draws_have_the_stated_moments(self, law):
        draws = law.sample(np.random.default_rng(2), 20_000)
        assert draws.shape == (N, 20_000, *law.event_shape)
        exact = law.is_exact  # If not, its own moments are averages over few draws.
        error = 5 * law.sd() / np.sqrt(20_000 if exact else 32)
        assert np.all(np.abs(draws.mean(axis=1) - law.mean()) < error)
        assert np.all(np.abs(draws.std(axis=1) / law.sd() - 1) < (0.06 if exact else 0.8))

    def test_expectations_are_averages_over_draws(self, law):
        """Also the slow sanity check of every closed form by simulation, within five standard errors."""
        rng = np.random.default_rng(3)
        left, right = law.sample(rng, 40_000), law.sample(rng, 40_000)
        extra = 0.0 if law.is_exact else 0.15  # The error of a Monte Carlo law's own few draws.
        for profile in PROFILES:
            gaps = np.abs(left - np.roll(right, 1, axis=0)).reshape(N, 40_000, -1)
            gaps = np.sqrt(np.square(gaps).sum(axis=-1)) / 0.7
            values = np.exp(-gaps if profile == "exponential" else -0.5 * gaps**2)
            pairs = law.expect_pair(profile, 0.7, law)[np.arange(N), np.arange(N) - 1]
            error = 5 * values.std(axis=1) / np.sqrt(40_000) + extra
            assert np.all(np.abs(values.mean(axis=1) - pairs) < error)

    def test_distribution_functions_match_draws(self, law):
        if law.event_shape:
            with pytest.raises(InputError, match="needs univariate distributions"):
                law.cdf(law.mean())
            return
        y = np.column_stack([law.mean(), law.mean() + law.sd()])
        draws = law.sample(np.random.default_rng(4), 40_000)
        share = np.column_stack([(draws <= column[:, None]).mean(axis=1) for column in y.T])
        assert np.abs(law.cdf(y) - share).max() < 5 * 0.5 / 200
        assert np.array_equal(law.cdf(y)[:, 0], law.cdf(y[:, 0]))
        assert np.all(law.cdf_below(y) <= law.cdf(y))
        assert law.take([3, 3, 1]).cdf(y[[3, 3, 1], 0]) == pytest.approx(law.cdf(y[:, 0])[[3, 3, 1]])

    def test_batches_average_to_the_whole(self, law):
        f = forecasts(law)
        whole = target_discrepancy(f, f, "gaussian", 1.0)
        parts = [target_discrepancy(part, part, "gaussian", 1.0) for part in f.batches(8)]
        assert np.allclose(np.mean(parts, axis=0), whole, rtol=0, atol=1e-13)
        assert (np.ptp(parts, axis=0).max() == 0) == law.is_exact


@each("law", EXACT)
def test_exact_discrepancies_are_inner_products(law):
    for profile in PROFILES:
        f = forecasts(law)
        assert np.linalg.eigvalsh(target_discrepancy(f, f, profile, 0.8)).min() > -1e-11


def test_laws_of_different_kinds_meet():
    """A Samples of many quantiles stands for the law itself: the middle of 4000 equally likely parts."""
    levels = (np.arange(4000) + 0.5) / 4000
    many = Samples(stats.norm.ppf(levels)[None] * 2 + 1)
    one = Normal([1.0], [2.0])
    for other in (Normal([0.0], [1.0]), Laplace([0.5], [1.0]), LAWS["mixed"], LAWS["student"], Samples([[0.0, 1.0]])):
        for profile in PROFILES:
            expected = one.expect_pair(profile, 1.0, other)
            assert np.abs(many.expect_pair(profile, 1.0, other) - expected).max() < 1e-4
            assert np.abs(other.expect_pair(profile, 1.0, many) - expected.T).max() < 1e-4


def test_monte_carlo_is_unbiased_within_its_standard_error():
    """Also on the diagonal, where a row meets itself: there, pairing a draw with itself would give 1."""
    loc, scale = np.zeros(400), np.full(400, 1.3)
    exact, drawn = Normal(loc, scale), MonteCarlo(stats.norm(loc, scale), n_draws=64)
    for profile in PROFILES:
        expected = exact.expect_pair(profile, 1.0, exact)[0, 0]
        diagonal = np.diagonal(drawn.expect_pair(profile, 1.0, drawn))
        assert abs(diagonal.mean() - expected) < 4 * diagonal.std() / np.sqrt(400)
        parts = [part.expect_pair(profile, 1.0, part).mean() for part in drawn.batches(16)]
        error = np.std(parts, ddof=1) / 4
        assert 0 < error < 0.01
        assert abs(np.mean(parts) - expected) < 4.5 * error


def test_the_seed_decides_the_draws():
    frozen = stats.gamma(a=np.arange(1.0, 4.0))
    assert np.array_equal(MonteCarlo(frozen, seed=3).draws, MonteCarlo(frozen, seed=3).draws)
    assert not np.array_equal(MonteCarlo(frozen, seed=3).draws, MonteCarlo(frozen, seed=4).draws)


def test_draws_are_independent_of_targets_drawn_with_the_same_seed():
    law = MonteCarlo(stats.norm(np.zeros(50)), seed=0)
    for rng in (np.random.default_rng(0), np.random.default_rng([0, 0]), np.random.default_rng(0).spawn(1)[0]):
        assert not np.isin(law.sample(rng, 256), law.draws).any()
    first, second = law.draws[:, :128].ravel(), law.draws[:, 128:].ravel()
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(len(first))


def test_unknown_laws_become_monte_carlo():
    rng = np.random.default_rng(5)
    for frozen, targets in [
        (stats.t(df=4, loc=np.zeros(3)), rng.normal(size=3)),
        (stats.norm(), rng.normal(size=3)),
        (stats.poisson(mu=[1.0, 2.0, 3.0]), [1, 2, 3]),
        (stats.multivariate_normal([0.0, 1.0]), rng.normal(size=(3, 2))),
    ]:
        f = Forecasts(frozen, targets)
        assert isinstance(f.distribution, MonteCarlo)
        assert f.distribution.draws.shape[:2] == (3, 256)
        assert target_deviation(f, "gaussian", 1.0, f.targets).shape == (3, 3)


def test_the_lengthscale_depends_on_spreads_only():
    assert default_lengthscale(Normal([0, 50, 9], [1, 2, 9])) == 2.0
    assert default_lengthscale(Laplace([0.0], [3.0])) == pytest.approx(3 * np.sqrt(2))
    assert default_lengthscale(MvNormal([[0, 0]], [[9, 16]])) == 5.0
    assert default_lengthscale(Samples([[0.0, 2.0], [1.0, 1.0]])) == 1.0
    assert default_lengthscale(Samples([[3.0, 3.0]])) == 1.0


def test_ensembles_and_counts_have_atoms():
    p = Samples([[1.0, 2.0, 2.0, 5.0]])
    assert (p.cdf([2.0])[0], p.cdf_below([2.0])[0]) == (0.75, 0.25)
    counts = MonteCarlo(stats.poisson(mu=[1.0, 1.0]))
    assert counts.cdf(np.array([0.0, 1.0])) == pytest.approx(np.array([1, 2]) / np.e)
    assert counts.cdf_below(np.array([0.0, 1.0])) == pytest.approx(np.array([0, 1]) / np.e)
    mixed = Mixture([0.5, 0.5], [p, Normal([2.0], [1.0])])
    assert (mixed.cdf([2.0])[0], mixed.cdf_below([2.0])[0]) == (0.625, 0.375)


def test_few_draws_leave_the_discrepancy_of_calibrated_rows_unbiased():
    """The draws are one more part of a row, so that the mean over pairs of rows stays 0, here with two draws a row."""
    rng = np.random.default_rng(6)
    means = []
    for seed in range(200):
        law = MonteCarlo(stats.t(df=5, loc=rng.normal(size=20)), n_draws=2, seed=seed)
        f = Forecasts(law, law.sample(rng, 1)[:, 0])
        h = target_discrepancy(f, f, "gaussian", 1.0)
        means.append((h.sum() - np.trace(h)) / (20 * 19))
    assert abs(np.mean(means)) < 4 * np.std(means) / np.sqrt(200)
    assert np.std(means) < 0.05  # Degenerate: of order 1 / 20, not 1 / sqrt(20).


def test_the_callers_error_state_does_not_matter():
    with np.errstate(all="raise"):
        for law in LAWS.values():
            f = forecasts(law)
            assert np.isfinite(target_discrepancy(f, f, "gaussian", 0.01)).all()
            assert np.isfinite(target_discrepancy(f, f, "exponential", 0.001)).all()
            assert np.isfinite(distance(law, law)).all()
        assert Laplace([0.0], [1.0]).cdf(np.array([-1e4])) == 0
