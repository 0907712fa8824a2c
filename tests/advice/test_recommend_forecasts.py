"""Which calibrator of predictive distributions is recommended."""

import numpy as np
import pytest

from calibrant import (
    Forecasts,
    InputError,
    MvNormal,
    Normal,
    Quantiles,
    Recalibrated,
    Samples,
    assess_forecasts,
    fix,
    recommend,
)
from calibrant.advice import FORECAST_RULE, calibrate_held_out, forecast_shortlist
from calibrant.advice.forecasts import cross_fit_forecasts, draw_forecast_folds
from calibrant.calibrators.forecasts import (
    FORECAST_CALIBRATORS,
    EnsembleInflation,
    PITMap,
    ShiftScaling,
    SpreadScaling,
    UnchangedForecasts,
)
from calibrant.metrics import CRPS, LogScore
from calibrant.results import as_record
from forecast_laws import g1, g2
from naming import each

FIT, TEST, _ = g1()
RNG = np.random.default_rng(0)


def made(n, noise, spread=1.0):
    """Return forecasts N(m, (spread s)^2) with targets m + s noise."""
    mean, sd = RNG.normal(size=n), RNG.uniform(0.5, 1.5, n)
    return Forecasts(Normal(mean, spread * sd), mean + sd * noise(n))


def test_calibrated_forecasts_are_left_alone():
    chosen = [recommend(made(300, RNG.standard_normal), rng=seed, n_resamples=99).name for seed in range(8)]
    assert chosen.count("identity") >= 7


@pytest.mark.parametrize(
    "noise, spread, expected",
    [
        (RNG.standard_normal, 0.5, {"scale"}),
        (lambda n: RNG.standard_normal(n) + 1.0, 1.0, {"shift-scale"}),
        (lambda n: 2 * RNG.standard_t(2.5, n), 1.0, {"student"}),
        (lambda n: RNG.exponential(size=n) - 1, 1.0, {"shift-scale>pit"}),
    ],
    ids=["narrow", "biased", "heavy tails", "skewed"],
)
def test_the_fix_suits_the_fault(noise, spread, expected):
    f = made(2000, noise, spread)
    advice = recommend(f, score="log", rng=0, n_resamples=99)
    assert advice.name in expected
    assert advice.calibrator.calibrate(f).n_samples == 2000
    assert advice.headline.startswith(f"Use {advice.name}: on rows it was not fitted to, the log score falls")


def test_advice_on_g1():
    advice = recommend(FIT, rng=0, n_resamples=199)
    assert [one.name for one in advice.candidates] == ["identity", *forecast_shortlist(FIT.distribution, 200)]
    before = advice.candidate("identity")
    assert before.loss == pytest.approx(CRPS()(FIT))
    assert advice.name != "identity"
    chosen = advice.candidate(advice.name)
    assert chosen.over_nothing.low <= chosen.over_nothing.value <= chosen.over_nothing.high < 0
    assert CRPS()(advice.calibrator.calibrate(TEST)) < CRPS()(TEST) - 0.03
    assert "Intervals of probability 90% held" in " ".join(advice.reasons)
    assert repr(advice).startswith("ForecastRecommendation\n  advice     Use ")
    assert "<th>MACE" in advice._repr_html_()
    assert as_record(advice)["candidates"][0]["name"] == "identity"
    assert repr(recommend(FIT, rng=0, n_resamples=199)) == repr(advice)


def test_losses_are_those_of_rows_that_were_held_out():
    folds = draw_forecast_folds(200, 5, np.random.default_rng(1))
    after = cross_fit_forecasts(ShiftScaling(), FIT, folds).forecasts
    by_hand = np.empty(200)
    for fold in folds:
        fitted = ShiftScaling().fit(FIT.take(np.setdiff1d(np.arange(200), fold)))
        by_hand[fold] = CRPS().per_row(fitted.calibrate(FIT.take(fold)))
    assert CRPS().per_row(after) == pytest.approx(by_hand)
    assert sorted(np.concatenate(folds)) == list(range(200))


def test_ensembles_columns_and_vectors_have_their_own_candidates():
    ensembles, _ = g2()
    advice = recommend(ensembles, rng=0, n_resamples=99)
    assert isinstance(advice.calibrator, EnsembleInflation)
    assert advice.candidates[0].loss == pytest.approx(CRPS("fair")(ensembles))
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    columns = Forecasts(Quantiles(levels, FIT.distribution.quantile(levels)), FIT.targets)
    advice = recommend(columns, rng=0, n_resamples=99)
    assert {one.name for one in advice.candidates} == {"identity", "scale-crps", "shift-scale-crps", "quantile-shift"}
    assert advice.name != "identity"
    law = MvNormal(np.zeros((100, 2)), 1.0)
    vectors = Forecasts(law, 3 * law.sample(RNG, 1)[:, 0])
    advice = recommend(vectors, rng=0, n_resamples=99)
    assert advice.name == "scale"
    assert advice.candidates[1].mace is None


def test_the_rule_names_what_there_is():
    names = [row.name for row in FORECAST_RULE]
    assert len(set(names)) == len(names)
    for row in FORECAST_RULE:
        assert FORECAST_CALIBRATORS[row.name]().gives == "law"
    assert forecast_shortlist(Normal([0.0], 1.0), 49) == ("scale",)
    assert "student" in forecast_shortlist(Normal([0.0], 1.0), 200)
    assert forecast_shortlist(Samples(np.zeros((2, 3, 2))), 999) == ("inflate-moments",)
    assert forecast_shortlist(Samples(np.zeros((2, 50))), 999) == ("inflate",)


def test_candidates_may_be_given():
    advice = recommend(FIT, candidates=["PIT", "Shift-Scale"], rng=0, n_resamples=99)
    assert [one.name for one in advice.candidates] == ["identity", "pit", "shift-scale"]
    mine = recommend(FIT, candidates={"mine": PITMap(3)}, rng=0, n_resamples=99)
    assert [one.name for one in mine.candidates] == ["identity", "mine"]


def test_the_advice_and_the_verdict_are_compared():
    """Few rows of a small fault: the test may find what no candidate repairs, and then that is said."""
    noise = np.random.default_rng(11)
    for seed in range(5):
        y = noise.standard_normal(60) * noise.uniform(0.2, 1.7, 60)
        mean = noise.standard_normal(60)
        f = Forecasts(Normal(mean, 1.0), mean + y)
        advice = recommend(f, rng=seed, n_resamples=99)
        found = assess_forecasts(f, rng=seed, n_resamples=99).verdict.pvalue <= 0.05
        assert bool(advice.disagreement) == (found != (advice.name != "identity"))


def test_one_candidate_is_neither_the_best_nor_the_simplest_of_several():
    fit, _ = g2()
    advice = recommend(fit, rng=0)
    said = " ".join((advice.headline, *advice.reasons))
    assert "The only candidate for 250 forecasts (Samples), inflate-moments, was judged by the fair CRPS" in said
    assert not any(words in said for words in ("Candidates", "Each", "smallest", "simpler", "best"))
    rng = np.random.default_rng(3)
    draws = rng.normal(size=(60, 12))
    nothing = recommend(Forecasts(Samples(draws[:, 1:]), draws[:, 0]), rng=0)
    said = " ".join((nothing.headline, *nothing.reasons))
    assert nothing.headline == (
        "Leave the forecasts as they are: inflate-moments does not lower the fair CRPS by more than chance."
    )
    assert not any(words in said for words in ("Candidates", "Each", "of all", "The best"))


def test_a_trend_that_nothing_mends_is_said():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=400)
    trend = Forecasts(Normal(mean, np.ones(400)), 1.5 * mean + rng.normal(size=400))
    words = "No calibrator here corrects a trend of the centre"
    assert any(words in reason for reason in recommend(trend, candidates=["scale"], rng=0).reasons)
    assert not any("No calibrator" in reason for reason in recommend(TEST, candidates=["scale"], rng=0).reasons)


def test_fix_and_held_out_rows():
    fitted = fix(FIT, method="scale")
    assert isinstance(fitted, SpreadScaling)
    assert LogScore()(fitted.calibrate(TEST)) == pytest.approx(1.664151131, abs=1e-8)
    left_alone = [isinstance(fix(made(100, RNG.standard_normal), rng=0), UnchangedForecasts) for _ in range(3)]
    assert sum(left_alone) >= 2  # The test behind it is wrong in 5 of 100 sets.
    after, how = calibrate_held_out(FIT, "shift-scale>pit", rng=0)
    assert how.method == "shift-scale>pit"
    assert after.n_samples == 200
    assert not isinstance(after.distribution, Recalibrated)  # One map for each fold.
    assert CRPS()(after) < CRPS()(FIT)
    after, how = calibrate_held_out(FIT, rng=0)
    assert how.recommendation.name == how.method
    assert how.recommendation.candidate(how.method).loss == pytest.approx(CRPS()(after))
    assert how.recommendation.candidate(how.method).loss == recommend(FIT, rng=0).candidate(how.method).loss


def test_a_map_through_all_points_has_a_density_that_loses():
    advice = recommend(made(300, RNG.standard_normal), candidates=["pit-all"], score="log", rng=0, n_resamples=99)
    assert advice.name == "identity"
    assert advice.candidate("pit-all").loss > advice.candidate("identity").loss + 0.2


def test_weights_are_kept_apart():
    weights = np.concatenate([np.ones(150), np.zeros(50)])
    weighted = recommend(Forecasts(FIT.distribution, FIT.targets, weights), rng=0, n_resamples=99)
    part = recommend(FIT.take(slice(0, 150)), rng=0, n_resamples=99)
    assert weighted.n_samples == 150
    assert [one.loss for one in weighted.candidates] == pytest.approx([one.loss for one in part.candidates])


@each(
    "call, words",
    [
        (lambda: recommend(FIT, score="mace"), 'score must be "crps" or "log"'),
        (lambda: recommend(g2()[0], score="log"), "the log score needs distributions with a density"),
        (lambda: recommend(FIT.take(slice(0, 19))), "at least 20 rows are needed"),
        (lambda: recommend(FIT, n_folds=150), "from 2 to half the rows, 100"),
        (lambda: recommend(FIT, candidates=["studnet"]), "Did you mean 'student'"),
        (lambda: fix(FIT, method="ts"), "but 'ts' is not one"),
    ],
)
def test_mistakes_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_wrong_kinds_are_named():
    with pytest.raises(TypeError, match="keep_argmax and features are for classes"):
        recommend(FIT, keep_argmax=True)
    with pytest.raises(TypeError, match="must be a sequence of names"):
        recommend(FIT, candidates="scale")
