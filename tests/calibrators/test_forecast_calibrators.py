"""What every calibrator of predictive distributions promises, and oracle values of each."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from calibrant import (
    Forecasts,
    InputError,
    Laplace,
    MvNormal,
    Normal,
    Predictions,
    Quantiles,
    Recalibrated,
    Samples,
    Student,
)
from calibrant.calibrators import TemperatureScaling, calibrate
from calibrant.calibrators.forecasts import (
    FORECAST_CALIBRATORS,
    EnsembleInflation,
    ForecastCompose,
    PITMap,
    QuantileShift,
    ShiftScaling,
    SpreadByLevel,
    SpreadScaling,
    StudentScaling,
    UnchangedForecasts,
    forecast_calibrator_name,
    parse_forecast,
)
from calibrant.calibrators.forecasts.forecast_calibrator import NEEDS
from calibrant.forecasts import MonteCarlo
from calibrant.metrics import CRPS, ENCE, IntervalCoverage, IntervalScore, LogScore, PinballLoss
from forecast_laws import g1, g2
from naming import each
from properties import examples

FIT, TEST, X = g1()
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
COLUMNS_FIT, COLUMNS_TEST = (
    Forecasts(Quantiles(LEVELS, f.distribution.quantile(LEVELS)), f.targets) for f in (FIT, TEST)
)
ENSEMBLES_FIT, ENSEMBLES_TEST = g2()
EVERY = [*FORECAST_CALIBRATORS, "shift-scale>pit"]
every_calibrator = each("name", EVERY)


def data_for(calibrator):
    """Return forecasts to fit and to judge that a calibrator takes."""
    if calibrator.accepts == "ensemble":
        return ENSEMBLES_FIT, ENSEMBLES_TEST
    return (COLUMNS_FIT, COLUMNS_TEST) if calibrator.accepts == "quantiles" else (FIT, TEST)


@every_calibrator
class TestEveryCalibrator:
    def test_gives_a_law_that_metrics_take(self, name):
        calibrator = FORECAST_CALIBRATORS[name]()
        fit, test = data_for(calibrator)
        after = calibrate(calibrator.fit(fit), test)
        assert after.n_samples == test.n_samples
        assert np.array_equal(after.targets, test.targets)
        values = [metric(after) for metric in (CRPS(), PinballLoss(), IntervalScore(), IntervalCoverage())]
        assert np.isfinite(values).all()
        assert 0.6 < values[-1] < 0.96
        assert values[0] <= CRPS()(test)
        law = after.distribution
        levels = np.array([0.1, 0.5, 0.8])
        assert (np.diff(law.quantile(levels), axis=1) >= 0).all()
        assert (law.cdf(law.quantile(levels)) >= levels - 1e-9).all()
        assert law.sample(np.random.default_rng(0), 3).shape == (law.n, 3)
        if calibrator.has_density and test.distribution.has_density:
            assert LogScore()(after) < LogScore()(test) + 1e-12

    def test_describes_itself(self, name):
        calibrator = FORECAST_CALIBRATORS[name]()
        assert calibrator.accepts in NEEDS
        assert calibrator.guarantee in {"none", "marginal coverage", "per group"}
        assert calibrator.gives in {"law", "intervals"}
        assert calibrator.use_when.endswith(".")
        assert calibrator.n_parameters
        assert calibrator.least_rows >= 1

    def test_keeps_what_it_says(self, name):
        calibrator = FORECAST_CALIBRATORS[name]()
        fit, test = data_for(calibrator)
        if calibrator.gives == "intervals":
            return
        after = calibrator.fit(fit).apply(test.distribution)
        same_mean = np.allclose(after.mean(), test.distribution.mean(), atol=1e-9)
        same_median = np.allclose(after.quantile(0.5), test.distribution.quantile(0.5), atol=1e-9)
        assert (same_mean, same_median) == (calibrator.keeps_mean, calibrator.keeps_median)

    def test_weights_are_copies_and_0_is_absence(self, name):
        calibrator = FORECAST_CALIBRATORS[name]()
        fit, test = data_for(calibrator)
        weights = np.arange(fit.n_samples) % 3
        weighted = calibrator.fit(Forecasts(fit.distribution, fit.targets, weights)).apply(test.distribution)
        copies = clone(calibrator).fit(fit.take(np.repeat(np.arange(fit.n_samples), weights))).apply(test.distribution)
        assert weighted.quantile([0.05, 0.4, 0.9]) == pytest.approx(copies.quantile([0.05, 0.4, 0.9]), abs=2e-5)

    def test_ignores_the_order_of_rows_and_is_refitted(self, name):
        calibrator = FORECAST_CALIBRATORS[name]()
        fit, test = data_for(calibrator)
        first = calibrator.fit(fit).apply(test.distribution).quantile(0.8)
        shuffled = fit.take(np.random.default_rng(0).permutation(fit.n_samples))
        calibrator.fit(fit.take(slice(0, 100)))
        assert calibrator.fit(shuffled).apply(test.distribution).quantile(0.8) == pytest.approx(first, abs=2e-5)

    def test_is_an_estimator(self, name):
        calibrator = FORECAST_CALIBRATORS[name]()
        fit, test = data_for(calibrator)
        with pytest.raises(NotFittedError):
            calibrator.apply(test.distribution)
        fitted = clone(calibrator).fit(fit)
        again = pickle.loads(pickle.dumps(fitted))  # noqa: S301 (our own)
        assert np.array_equal(
            again.apply(test.distribution).quantile(0.3), fitted.apply(test.distribution).quantile(0.3)
        )
        assert repr(calibrator) == repr(clone(calibrator).set_params(**calibrator.get_params(deep=False)))

    def test_says_what_it_needs(self, name):
        calibrator = FORECAST_CALIBRATORS[name]()
        fit, _ = data_for(calibrator)
        with pytest.raises(TypeError, match="is fitted to Forecasts"):
            calibrator.fit(Predictions([0.5], [1]))
        with pytest.raises(TypeError, match="apply takes a distribution"):
            calibrator.fit(fit).apply(fit)
        strange = Forecasts(MonteCarlo(stats.multivariate_normal(np.zeros(2)), n=30), np.zeros((30, 2)))
        if name != "identity":
            with pytest.raises(InputError, match=r"needs .*, but these are"):
                calibrator.fit(strange)


@each(
    "name, learnt, crps, log_score, coverage",
    [
        ("identity", {}, 0.759903701, 2.312588076, 0.66),
        ("scale", {"factor_": 1.988919163}, 0.726031069, 1.664151131, 0.93),
        ("shift-scale", {"shift_": 0.300787931, "factor_": 1.966043249}, 0.703255092, 1.632887763, 0.9225),
        ("offset-scale", {"shift_": 0.190682507, "factor_": 1.962322366}, 0.702569443, 1.629345547, 0.9225),
    ],
)
def test_closed_forms_on_g1(name, learnt, crps, log_score, coverage):
    fitted = FORECAST_CALIBRATORS[name]().fit(FIT)
    for key, value in learnt.items():
        assert getattr(fitted, key) == pytest.approx(value, abs=1e-8)
    after = fitted.calibrate(TEST)
    assert CRPS()(after) == pytest.approx(crps, abs=1e-8)
    assert LogScore()(after) == pytest.approx(log_score, abs=1e-8)
    assert IntervalCoverage(0.9)(after) == pytest.approx(coverage, abs=1e-12)


def test_the_scale_of_least_crps_on_g1():
    fitted = SpreadScaling("crps").fit(FIT)
    assert fitted.factor_ == pytest.approx(1.598865324, abs=1e-6)
    assert CRPS()(fitted.calibrate(TEST)) == pytest.approx(0.724055903, abs=1e-7)


def test_closed_forms_are_those_of_the_definition():
    """Row by row, with weights: one factor, in units of the spread, and in units of the target."""
    law, weights = FIT.distribution, np.tile([1.0, 2.0, 0.5, 3.0], 50)
    rows = list(zip(FIT.targets - law.loc, law.scale, weights, strict=True))
    f, total = Forecasts(law, FIT.targets, weights), weights.sum()
    factor = np.sqrt(sum(w * (e / s) ** 2 for e, s, w in rows) / total)
    assert SpreadScaling().fit(f).factor_ == pytest.approx(factor)
    shift = sum(w * e / s for e, s, w in rows) / total
    fitted = ShiftScaling().fit(f)
    factor = np.sqrt(sum(w * (e / s - shift) ** 2 for e, s, w in rows) / total)
    assert (fitted.shift_, fitted.factor_) == pytest.approx((shift, factor))
    offset = sum(w * e / s**2 for e, s, w in rows) / sum(w / s**2 for _, s, w in rows)
    fitted = ShiftScaling(shift="constant").fit(f)
    factor = np.sqrt(sum(w * ((e - offset) / s) ** 2 for e, s, w in rows) / total)
    assert (fitted.shift_, fitted.factor_) == pytest.approx((offset, factor))


@pytest.mark.parametrize("name", ["scale-crps", "shift-scale-crps"])
def test_shift_and_factor_of_least_crps_are_those_of_a_search(name):
    """By the closed form of a normal law and a simplex search, which need no derivatives."""
    law, y = FIT.distribution, FIT.targets

    def mean_crps(logs):
        shift = logs[1] if name == "shift-scale-crps" else 0.0
        z = (y - law.loc - shift * law.scale) / (np.exp(logs[0]) * law.scale)
        rows = z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi)
        return np.mean(np.exp(logs[0]) * law.scale * rows)

    best = optimize.minimize(mean_crps, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13})
    fitted = FORECAST_CALIBRATORS[name]().fit(FIT)
    assert fitted.factor_ == pytest.approx(np.exp(best.x[0]), abs=1e-5)
    assert getattr(fitted, "shift_", best.x[1]) == pytest.approx(best.x[1], abs=1e-5)
    assert CRPS()(fitted.calibrate(FIT)) == pytest.approx(best.fun, abs=1e-9)


def test_student_on_g1():
    fitted = StudentScaling().fit(FIT)
    assert (fitted.shift_, fitted.factor_, fitted.df_) == pytest.approx((0.384278, 1.360097, 4.544515), abs=2e-5)
    after = fitted.calibrate(TEST)
    assert LogScore()(after) == pytest.approx(1.599108323, abs=1e-5)
    assert CRPS()(after) == pytest.approx(0.695332574, abs=1e-5)
    plain = StudentScaling(shift=False).fit(FIT)
    assert (plain.factor_, plain.df_) == pytest.approx((1.411819, 4.723132), abs=2e-5)
    assert LogScore()(plain.calibrate(TEST)) == pytest.approx(1.646180634, abs=1e-5)


@examples(5)
@given(st.integers(0, 10**6))
def test_student_is_the_maximum_of_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    f = Forecasts(Normal(np.zeros(300), 1.0), 0.4 + 1.5 * rng.standard_t(rng.uniform(2, 8), 300))
    ours = StudentScaling().fit(f)
    df, loc, scale = stats.t.fit(f.targets, 5.0)
    theirs = -stats.t(df, loc, scale).logpdf(f.targets).mean()
    assert LogScore()(ours.calibrate(f)) <= theirs + 1e-7


def test_student_returns_a_normal_where_that_fits():
    rng = np.random.default_rng(0)
    f = Forecasts(Normal(np.zeros(500), 1.0), rng.uniform(-1, 1, 500))
    fitted = StudentScaling().fit(f)
    assert fitted.df_ == np.inf
    assert isinstance(fitted.apply(f.distribution), Normal)
    assert (fitted.shift_, fitted.factor_) == pytest.approx((f.targets.mean(), f.targets.std()))


@pytest.mark.parametrize(
    "law", [Laplace(np.zeros(400), 1.0), Student(np.zeros(400), 1.0, 4.0)], ids=["laplace", "student"]
)
@each("name", ["scale", "scale-crps", "shift-scale", "shift-scale-crps"])
def test_any_law_is_scaled_back(law, name):
    """Targets drawn from a law that is wider by 3 and shifted by 1 bring back about these numbers, as least scores."""
    truth = law.affine(np.full(400, 1.0 if "shift" in name else 0.0), np.full(400, 3.0))
    f = Forecasts(law, truth.sample(np.random.default_rng(5), 1)[:, 0])
    fitted = FORECAST_CALIBRATORS[name]().fit(f)
    assert fitted.factor_ == pytest.approx(3.0, abs=0.5)
    score = LogScore() if "crps" not in name else CRPS()
    best = score(fitted.calibrate(f))
    for change in (0.99, 1.01):
        moved = clone(fitted).fit(f)
        moved.factor_ *= change
        assert score(moved.calibrate(f)) > best
        if hasattr(moved, "shift_"):
            moved.factor_, moved.shift_ = fitted.factor_, fitted.shift_ + change - 1
            assert score(moved.calibrate(f)) > best


def test_vectors_are_scaled():
    rng = np.random.default_rng(1)
    law = MvNormal(np.zeros((500, 2)), np.array([[[2.0, 0.5], [0.5, 1.0]]] * 500))
    y = 3 * law.sample(rng, 1)[:, 0]
    factor = SpreadScaling().fit(Forecasts(law, y)).factor_
    distance = np.einsum("ni,ij,nj->n", y, np.linalg.inv(law.cov[0]), y)
    assert factor == pytest.approx(np.sqrt(distance.mean() / 2), rel=1e-6)


def test_spread_by_level_is_the_maximum_of_the_likelihood():
    rng = np.random.default_rng(2)
    sigma = rng.lognormal(size=800)
    f = Forecasts(Normal(np.zeros(800), sigma), 2 * sigma**0.5 * rng.standard_normal(800))
    fitted = SpreadByLevel().fit(f)

    def loss(c):
        return -stats.norm(0, np.exp(c[0]) * sigma ** (1 + c[1])).logpdf(f.targets).mean()

    best = optimize.minimize(loss, [0.0, 0.0], options={"gtol": 1e-9}).x
    assert (fitted.intercept_, fitted.slope_) == pytest.approx(best, abs=1e-6)
    assert fitted.slope_ == pytest.approx(-0.5, abs=0.1)
    other = ShiftScaling().fit(f).calibrate(f)
    assert ENCE()(fitted.calibrate(f)) < ENCE()(other) / 3


def test_spread_by_level_on_g1():
    """By a gamma regression with a log link of the squared z on [1, ln sigma], half its coefficients: statsmodels 0.15.

    SciPy's Nelder-Mead finds the same maximum of the likelihood (0.29459100, -0.77567320).
    """
    fitted = SpreadByLevel().fit(FIT)
    assert (fitted.intercept_, fitted.slope_) == pytest.approx((0.2945909938, -0.7756732005), abs=1e-8)
    after = fitted.calibrate(TEST)
    assert CRPS()(after) == pytest.approx(0.7277499838, abs=1e-8)
    assert LogScore()(after) == pytest.approx(1.7019311108, abs=1e-8)


@pytest.mark.parametrize("power", [9.0, -9.0])
def test_spread_by_level_at_the_largest_change_has_the_best_level(power):
    rng = np.random.default_rng(1)
    sigma = np.exp(0.3 * rng.normal(size=200))
    f = Forecasts(Normal(np.zeros(200), sigma), sigma ** (1 + power) * rng.normal(size=200))
    fitted = SpreadByLevel().fit(f)

    def loss(c):
        return -stats.norm(0, np.exp(c[0]) * sigma ** (1 + c[1])).logpdf(f.targets).mean()

    best = optimize.minimize(loss, [0.0, 0.0], bounds=[(-20, 20), (-5, 5)], options={"ftol": 1e-15, "gtol": 1e-10})
    assert (fitted.intercept_, fitted.slope_) == pytest.approx(tuple(best.x), abs=1e-5)
    assert abs(fitted.slope_) == 5


def test_spread_by_level_with_a_single_error():
    """The likelihood has no finite maximum: the slope goes as far as it may."""
    fitted = SpreadByLevel().fit(Forecasts(Normal(np.zeros(3), [1.0, 2.0, 4.0]), [0.0, 0.0, 4.0]))
    assert fitted.slope_ == 5
    # The mean square of the standardised errors is 1.
    assert np.exp(-2 * fitted.intercept_) * 4.0**-10 / 3 == pytest.approx(1)


def test_spread_by_level_with_one_spread_is_scale():
    f = Forecasts(Normal(np.zeros(50), 2.0), FIT.targets[:50])
    assert SpreadByLevel().fit(f).apply(f.distribution).sd() == pytest.approx(
        SpreadScaling().fit(f).apply(f.distribution).sd()
    )


def test_the_map_through_all_points_on_g1():
    fitted = PITMap("all").fit(FIT)
    law = fitted.apply(TEST.distribution)
    expected = [0.00570042, 0.24493963, 0.63882309, 0.93266414, 0.99793667]
    assert law.map.inverse(LEVELS) == pytest.approx(expected, abs=1e-8)
    assert (TEST.targets <= law.quantile(0.5)).mean() == pytest.approx(0.4525)
    assert LogScore()(Forecasts(law, TEST.targets)) == pytest.approx(2.100632284, abs=1e-8)
    assert CRPS()(Forecasts(law, TEST.targets)) == pytest.approx(0.696059, abs=3e-6)  # by 2000 levels
    u = np.sort(FIT.distribution.cdf(FIT.targets))
    assert fitted.levels_ == pytest.approx(u, abs=1e-12)
    assert fitted.shares_ == pytest.approx(np.arange(1, 201) / 201)


@pytest.mark.parametrize("name", ["pit-all", "shift-scale>pit"])
def test_the_crps_of_a_map_is_twice_the_pinball_loss_over_all_levels(name):
    """Targets far outside, where transforms are 0 or 1 to rounding, must not spoil it."""
    rng = np.random.default_rng(5)
    f = Forecasts(Normal(np.zeros(600), 0.5), rng.standard_t(2, 600))
    after = FORECAST_CALIBRATORS[name]().fit(f).calibrate(f.take(np.argsort(f.targets)[::15]))
    levels = (np.arange(20_000) + 0.5) / 20_000
    quantiles = after.distribution.quantile(levels)
    gaps = after.targets[:, None] - quantiles
    pinball = 2 * np.maximum(levels * gaps, (levels - 1) * gaps).mean(axis=1)
    assert CRPS().per_row(after) == pytest.approx(pinball, rel=1e-3, abs=1e-3)


def test_few_knots_lie_on_the_map_through_all_points():
    few, every = PITMap().fit(FIT), PITMap("all").fit(FIT)
    assert few.shares_ == pytest.approx([1 / 201, *(np.arange(1, 9) / 9), 200 / 201])
    assert few.levels_ == pytest.approx(np.interp(few.shares_, every.shares_, every.levels_))
    assert PITMap(3).fit(FIT).shares_.tolist() == [0.25, 0.5, 0.75]
    assert PITMap(1).fit(FIT).shares_.tolist() == [0.5]
    assert (np.diff(PITMap(300).fit(FIT).levels_) > 0).all()
    assert len(PITMap().fit(FIT.take(slice(0, 70))).levels_) == 3
    law = PITMap().fit(FIT.take(slice(0, 19))).apply(TEST.distribution)
    assert law.quantile(0.2) == pytest.approx(TEST.distribution.quantile(0.2))


def test_the_map_counts_atoms_by_their_expected_share():
    law = MonteCarlo(stats.poisson(2.0), n=2000)
    f = Forecasts(law, stats.poisson(2.0).rvs(2000, random_state=1))
    fitted = PITMap().fit(f)
    assert fitted.levels_ == pytest.approx(fitted.shares_, abs=0.04)
    assert isinstance(fitted.apply(law), Recalibrated)


def test_transforms_of_0_and_1_do_not_break_the_map():
    f = Forecasts(Normal(np.zeros(60), 1.0), np.concatenate([[-1e6, 1e6, 1e6], np.linspace(-2, 2, 57)]))
    after = PITMap("all").fit(f).calibrate(f)
    assert np.isfinite(CRPS()(after))


@pytest.mark.parametrize("n", [200, 1000])
def test_a_map_through_all_points_costs_one_less_gamma(n):
    """Of calibrated forecasts the log score becomes worse by 1 - gamma = 0.4228, at any n; few knots cost little."""
    rng = np.random.default_rng(4)
    cost = {"all": [], "few": []}
    for _ in range(60):
        y = rng.standard_normal(n + 500)
        f = Forecasts(Normal(np.zeros(n + 500), 1.0), y)
        fit, test = f.take(slice(0, n)), f.take(slice(n, None))
        for knots, found in cost.items():
            found.append(LogScore()(PITMap(knots).fit(fit).calibrate(test)) - LogScore()(test))
    assert np.mean(cost["all"]) == pytest.approx(1 - np.euler_gamma, abs=0.03)
    assert 0 < np.mean(cost["few"]) < 0.06


@pytest.mark.parametrize("score", ["moments", "crps"])
def test_inflation_is_that_of_the_definition(score):
    """Moments by loops; the fair CRPS by loops over pairs of members, and a search."""
    f = ENSEMBLES_FIT.take(slice(0, 25))
    f = Forecasts(Samples(f.distribution.draws[:, :4]), f.targets)
    members, targets = f.distribution.draws.tolist(), f.targets.tolist()
    m, means = 4, [sum(row) / 4 for row in members]
    shift = sum(y - mean for y, mean in zip(targets, means, strict=True)) / 25
    squares = sum((y - mean - shift) ** 2 for y, mean in zip(targets, means, strict=True)) / 25
    variance = sum(sum((x - mean) ** 2 for x in row) / (m - 1) for row, mean in zip(members, means, strict=True)) / 25
    expected = (shift, np.sqrt(squares / ((1 + 1 / m) * variance)))

    def fair(both):
        total = 0.0
        for row, mean, y in zip(members, means, targets, strict=True):
            moved = [mean + both[0] + both[1] * (x - mean) for x in row]
            pairs = sum(abs(a - b) for a in moved for b in moved) / (m * (m - 1))
            total += sum(abs(x - y) for x in moved) / m - pairs / 2
        return total / 25

    if score == "crps":
        options = {"xatol": 1e-9, "fatol": 1e-13}
        expected = optimize.minimize(fair, expected, method="Nelder-Mead", options=options).x
    fitted = EnsembleInflation(score).fit(f)
    found = (fitted.shift_[0], fitted.factor_)
    if score == "crps":  # Piecewise linear in both: the value is unique, the place nearly so.
        assert fair(found) == pytest.approx(fair(expected), abs=1e-5)
    else:
        assert found == pytest.approx(expected, abs=1e-12)


def test_inflation_on_g2():
    assert CRPS("fair")(ENSEMBLES_TEST) == pytest.approx(0.658682567, abs=1e-9)
    by_score, by_moments = (EnsembleInflation(score).fit(ENSEMBLES_FIT) for score in ("crps", "moments"))
    assert CRPS("fair")(by_score.calibrate(ENSEMBLES_TEST)) == pytest.approx(0.548043990, abs=1e-4)
    assert (by_score.shift_[0], by_score.factor_) == pytest.approx((-0.470507, 1.928080), abs=1e-4)
    assert (by_moments.shift_[0], by_moments.factor_) == pytest.approx((-0.444399417, 1.671755498), abs=1e-8)
    assert CRPS("fair")(by_moments.calibrate(ENSEMBLES_TEST)) == pytest.approx(0.548007764, abs=1e-8)
    after, before = by_score.apply(ENSEMBLES_TEST.distribution), ENSEMBLES_TEST.distribution
    assert np.array_equal(np.argsort(after.draws, axis=1), np.argsort(before.draws, axis=1))


def test_vector_ensembles_are_inflated():
    rng = np.random.default_rng(3)
    mean = rng.standard_normal((200, 2))
    members = mean[:, None] + [1.0, -2.0] + 0.5 * rng.standard_normal((200, 15, 2))
    f = Forecasts(Samples(members), mean + rng.standard_normal((200, 2)))
    fitted = EnsembleInflation().fit(f)
    assert fitted.shift_ == pytest.approx([-1.0, 2.0], abs=0.25)
    assert fitted.factor_ == pytest.approx(2.0, abs=0.3)


@given(n=st.integers(3, 40), seed=st.integers(0, 10**6))
@examples(25)
def test_columns_are_shifted_by_order_statistics(n, seed):
    rng = np.random.default_rng(seed)
    levels, values = [0.2, 0.5, 0.9], np.sort(rng.normal(size=(n, 3)), axis=1)
    f = Forecasts(Quantiles(levels, values), rng.normal(size=n))
    fitted = QuantileShift().fit(f)
    expected = []
    for level, column in zip(levels, values.T, strict=True):
        ordered = [*sorted(f.targets - column), np.inf]
        rank = next(k for k in range(1, n + 2) if k >= (n + 1) * level - 1e-9)
        expected.append(ordered[rank - 1])
    assert fitted.shifts_.tolist() == pytest.approx(expected)
    after = fitted.apply(f.distribution)
    assert after.values == pytest.approx(np.sort(values + expected, axis=1))


def test_shifted_columns_on_g1():
    fitted = QuantileShift().fit(COLUMNS_FIT)
    assert fitted.shifts_ == pytest.approx([-0.56769871, 0.01286944, 0.21120599, 0.56344753, 0.69453735], abs=1e-8)
    after = fitted.calibrate(COLUMNS_TEST)
    pinball = [[PinballLoss((level,))(f) for level in LEVELS] for f in (COLUMNS_TEST, after)]
    assert pinball[0] == pytest.approx([0.157863, 0.392955, 0.501009, 0.448006, 0.224404], abs=1e-6)
    assert pinball[1] == pytest.approx([0.144814, 0.392541, 0.479921, 0.385852, 0.146529], abs=1e-6)
    covered = (after.targets[:, None] <= after.distribution.values).mean(axis=0)
    assert covered == pytest.approx([0.05, 0.22, 0.4475, 0.7425, 0.9075])
    assert QuantileShift(outward=True).fit(COLUMNS_FIT).shifts_[0] == pytest.approx(-0.651779, abs=1e-6)


def test_too_few_rows_for_a_level_give_infinity():
    few = COLUMNS_FIT.take(slice(0, 18))
    assert QuantileShift().fit(few).shifts_[-1] == np.inf
    assert QuantileShift(outward=True).fit(few).shifts_[0] == -np.inf
    assert np.isfinite(QuantileShift().fit(COLUMNS_FIT.take(slice(0, 19))).shifts_).all()
    with pytest.raises(InputError, match=r"the levels of those of the fit, 0.05, 0.25"):
        QuantileShift().fit(few).apply(Quantiles([0.1, 0.9], [[0.0, 1.0]]))


def test_compositions_are_fitted_in_order():
    both = FORECAST_CALIBRATORS["shift-scale>pit"]().fit(FIT)
    first = ShiftScaling().fit(FIT)
    second = PITMap().fit(first.calibrate(FIT))
    assert np.array_equal(both.stages_[1].levels_, second.levels_)
    assert both.apply(TEST.distribution).quantile(0.1) == pytest.approx(
        second.apply(first.apply(TEST.distribution)).quantile(0.1)
    )
    assert not both.keeps_mean
    assert both.accepts == "density on the line"
    assert both.least_rows == 200
    assert ForecastCompose([SpreadScaling(), UnchangedForecasts()]).keeps_median


def test_names():
    assert forecast_calibrator_name(" Scale → PIT") == "scale>pit"
    assert isinstance(parse_forecast("identity"), UnchangedForecasts)
    with pytest.raises(InputError, match="Did you mean 'student'"):
        parse_forecast("studnet")
    with pytest.raises(InputError, match="There are identity, scale") as error:
        parse_forecast("sigmoidd")
    assert "platt" not in str(error.value)  # A calibrator of classes.
    with pytest.raises(InputError, match="'IOP-OI' is not one"):  # Ambiguous among calibrators of classes only.
        parse_forecast("IOP-OI")
    with pytest.raises(KeyError, match="Did you mean"):
        FORECAST_CALIBRATORS["scal"]
    with pytest.raises(TypeError, match="name must be a string"):
        parse_forecast(3)


@each(
    "call, words",
    [
        (
            lambda: SpreadScaling().fit(Forecasts(Normal([1.0, 2.0], 1.0), [1.0, 2.0])),
            "targets equal the predicted means",
        ),
        (lambda: ShiftScaling().fit(Forecasts(Normal([1.0, 2.0], 1.0), [2.0, 3.0])), "targets have the same distance"),
        (lambda: StudentScaling().fit(Forecasts(Normal([1.0], 1.0), [2.0])), "targets have the same distance"),
        (lambda: EnsembleInflation().fit(Forecasts(Samples([[1.0, 1.0]] * 3), [2.0, 3.0, 1.0])), "the members of an"),
        (lambda: SpreadScaling("nll").fit(FIT), 'score must be "log" or "crps"'),
        (lambda: ShiftScaling("row").fit(FIT), 'shift must be "spread" or "constant"'),
        (lambda: EnsembleInflation("log").fit(ENSEMBLES_FIT), 'score must be "crps" or "moments"'),
        (lambda: PITMap("many").fit(FIT), 'knots must be "few", "all" or a whole number'),
        (lambda: PITMap(0).fit(FIT), "knots must be"),
        (lambda: SpreadScaling().fit(ENSEMBLES_FIT), 'for ensembles "inflate"'),
        (lambda: PITMap().fit(ENSEMBLES_FIT), "cannot leave the range of the members"),
        (lambda: SpreadScaling().fit(FIT).apply(MvNormal([[0.0, 0.0]], 1.0)), "must have the 1 coordinates"),
        (lambda: ForecastCompose([]).fit(FIT), "at least one calibrator"),
    ],
)
def test_mistakes_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_classes_and_forecasts_are_not_mixed_up():
    p = Predictions([0.2, 0.7], [0, 1])
    with pytest.raises(TypeError, match="but got TemperatureScaling and Forecasts"):
        calibrate(TemperatureScaling().fit(p), FIT)
    with pytest.raises(TypeError, match="but got SpreadScaling and Predictions"):
        calibrate(SpreadScaling().fit(FIT), p)
    with pytest.raises(TypeError, match="stages must be a list"):
        ForecastCompose([TemperatureScaling()]).fit(FIT)


def test_members_that_are_all_equal_have_no_spread_to_inflate():
    """By rounding their variance is not 0, and the factor was 4e12."""
    rng = np.random.default_rng(0)
    members = Samples(np.repeat(rng.normal(10, 1, (50, 1)), 20, axis=1))
    with pytest.raises(InputError, match="the members of an ensemble are equal in every row"):
        EnsembleInflation().fit(Forecasts(members, rng.normal(10, 1, 50)))
