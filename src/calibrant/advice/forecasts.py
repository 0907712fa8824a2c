"""Which calibrator of predictive distributions to use, decided on held-out rows."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from calibrant._border.numerals import count, percent
from calibrant._border.types import FloatArray, IntArray, Progress, Rng
from calibrant.advice.choice import MOST_REDRAWS, SMALL_PVALUE, TOLERANCE, Choice, choose
from calibrant.advice.cross_fit import check_folds
from calibrant.advice.rule import NOTHING, forecast_shortlist
from calibrant.advice.scoring import Scoring
from calibrant.advice.sentences import with_words
from calibrant.assessment.forecasts.verdict import about_a_trend, judge
from calibrant.calibrators.estimator import clone
from calibrant.calibrators.forecasts import (
    FORECAST_CALIBRATORS,
    ForecastCalibrator,
    UnchangedForecasts,
)
from calibrant.calibrators.forecasts.forecast_calibrator import NEEDS
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts, join
from calibrant.hypotest.omnibus.forecasts import run_on_forecasts
from calibrant.metrics import CRPS, LogScore
from calibrant.metrics.forecasts.intervals import IntervalCoverage
from calibrant.metrics.forecasts.metric import ForecastScore
from calibrant.metrics.forecasts.table import suited_metrics
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.resampling.seeds import version_and_seed
from calibrant.results import ForecastCandidate, ForecastRecommendation
from calibrant.results.words.parts import smallest_pvalue

FORECAST_SCORES: Mapping[str, ForecastScore] = {"crps": CRPS(ensemble="fair"), "log": LogScore()}
"""Proper scores by which candidates may be compared."""

LEAST_ROWS = 20
"""With fewer rows even one factor is a guess."""

FEW_ROWS = 200
"""With fewer rows, flexible candidates are not tried."""


class CrossFitted(NamedTuple):
    """Forecasts for all rows, calibrated by fits to other rows, and the fit to all rows."""

    forecasts: Forecasts
    calibrator: ForecastCalibrator


def recommend_forecasts(
    forecasts: Forecasts,
    candidates: Sequence[str] | Mapping[str, ForecastCalibrator] | None,
    scoring: Scoring,
    progress: Progress | None = None,
    rng: Rng = None,
) -> ForecastRecommendation:
    """Recommend a calibrator for forecasts; see `calibrant.recommend`.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> rng = np.random.default_rng(0)
    >>> too_narrow = Forecasts(Normal(np.zeros(300), 1.0), rng.normal(scale=2.0, size=300))
    >>> advice = recommend_forecasts(too_narrow, ["scale", "student"], Scoring("crps", 5, 1000, 0.95), rng=0)
    >>> advice.name, round(advice.calibrator.factor_, 1)
    ('scale', 2.0)
    >>> isinstance(advice, ForecastRecommendation), isinstance(advice.candidates[0], ForecastCandidate)
    (True, True)
    """
    used = forecasts if forecasts.weights.all() else forecasts.take(np.flatnonzero(forecasts.weights > 0))
    _check(used, scoring)
    tried = _candidates(used, scoring.score, candidates)
    generator = np.random.default_rng(rng)
    folds = draw_forecast_folds(used.n_samples, scoring.n_folds, generator)
    total = len(tried) + 2
    tell = progress or (lambda _done, _total: None)
    found: dict[str, CrossFitted] = {}
    for name, calibrator in tried.items():
        found[name] = cross_fit_forecasts(calibrator, used, folds)
        tell(len(found), total)
    losses = {name: FORECAST_SCORES[scoring.score].per_row(one.forecasts) for name, one in found.items()}
    again = np.random.default_rng(rng) if isinstance(rng, int) else generator
    test, worst = run_on_forecasts(used, "omnibus", min(scoring.n_resamples, MOST_REDRAWS), again)
    verdict = judge(worst, test)
    tell(total - 1, total)
    tolerance = _tolerance(losses[NOTHING], used.weights, scoring.score)
    chosen = choose(
        losses,
        used.weights,
        Bootstrap(scoring.n_resamples),
        scoring.level,
        generator,
        miscalibrated=verdict.pvalue <= SMALL_PVALUE,
        tolerance=tolerance,
    )
    tell(total, total)
    advice = ForecastRecommendation(
        name=chosen.name,
        headline="",
        reasons=(),
        calibrator=found[chosen.name].calibrator,
        candidates=tuple(_judged(name, one, losses[name], chosen) for name, one in found.items()),
        best=chosen.best,
        alternative=chosen.alternative,
        over_alternative=chosen.over_alternative,
        score=scoring.score,
        tolerance=tolerance,
        law=type(used.distribution).__name__,
        n_samples=used.n_samples,
        n_folds=scoring.n_folds,
        n_resamples=scoring.n_resamples,
        level=scoring.level,
        settings=version_and_seed(rng),
    )
    further = (_covered(advice), _few_rows(advice))
    return with_words(advice, verdict, smallest_pvalue(test), _tried(advice), further, about_a_trend(worst, test))


def draw_forecast_folds(n_rows: int, n_folds: int, rng: np.random.Generator) -> list[IntArray]:
    """Divide the rows at random into folds of equal size."""
    shuffled = rng.permutation(n_rows)
    return [np.sort(shuffled[start::n_folds]) for start in range(n_folds)]


def cross_fit_forecasts(calibrator: ForecastCalibrator, forecasts: Forecasts, folds: list[IntArray]) -> CrossFitted:
    """Calibrate every fold by a fit to the other folds."""
    rows = np.arange(forecasts.n_samples)
    laws = []
    for fold in folds:
        fitted = clone(calibrator).fit(forecasts.take(np.setdiff1d(rows, fold)))
        laws.append(fitted.apply(forecasts.distribution.take(fold)))
    after = Forecasts._trusted(join(laws, folds), forecasts.targets, forecasts.weights)  # noqa: SLF001 (checked)
    return CrossFitted(after, clone(calibrator).fit(forecasts))


def _judged(name: str, found: CrossFitted, losses: FloatArray, chosen: Choice) -> ForecastCandidate:
    after = found.forecasts
    on_line, mace = after.distribution.has_cdf, suited_metrics(after).get("mace")  # Of quantiles at their own levels.
    return ForecastCandidate(
        name=name,
        loss=float(np.average(losses, weights=after.weights)),
        mace=mace(after) if on_line and mace is not None else None,
        coverage=IntervalCoverage(0.9)(after) if on_line else None,
        over_nothing=chosen.over_nothing.get(name),
        behind_best=chosen.behind_best.get(name),
    )


def _tolerance(losses: FloatArray, weights: FloatArray, score: str) -> float:
    """Return the loss accepted for a simpler candidate: 0.001 nats, or 0.001 of the CRPS, which has a unit."""
    value = abs(float(np.average(losses, weights=weights))) if score == "crps" else 1.0
    return TOLERANCE * value if np.isfinite(value) else TOLERANCE


def _tried(advice: ForecastRecommendation) -> str:
    judged = f"judged by the {advice.score_name} in {advice.n_folds} folds that it was not fitted to"
    rows, names = f"{count(advice.n_samples)} forecasts ({advice.law})", [one.name for one in advice.candidates[1:]]
    if len(names) == 1:
        return f"The only candidate for {rows}, {names[0]}, was {judged}."
    return f"Candidates for {rows}: {', '.join(names) or 'none'}. Each was {judged}."


def _few_rows(advice: ForecastRecommendation) -> str:
    if advice.n_samples >= FEW_ROWS or advice.law == "Samples":
        return ""
    return f"With {advice.n_samples} rows only simple candidates are tried; from {FEW_ROWS} rows on there are more."


def _covered(advice: ForecastRecommendation) -> str:
    before, after = advice.candidates[0].coverage, advice.candidate(advice.name).coverage
    if advice.name == NOTHING or before is None or after is None:
        return ""
    found = (
        f"Intervals of probability 90% held {percent(before, 1)} of the targets before, and hold {percent(after, 1)} "
        "after."
    )
    if advice.law == "Samples":
        found += " They lie between quantiles of the members, so they hold fewer even for calibrated ensembles."
    return found


def _candidates(
    forecasts: Forecasts, score: str, given: Sequence[str] | Mapping[str, ForecastCalibrator] | None
) -> dict[str, ForecastCalibrator]:
    """Return the candidates by name, doing nothing first."""
    law = forecasts.distribution
    if given is None:
        given = forecast_shortlist(law, forecasts.n_samples)
    named = FORECAST_CALIBRATORS.chosen(given, "candidates")
    for name, calibrator in named.items():
        if calibrator.gives == "intervals":
            raise InputError(
                f"candidates must give whole distributions, but {name!r} gives intervals, which scores cannot judge."
            )
        if not calibrator.suits(law):
            raise InputError(
                f"{name!r} cannot be tried: it needs {NEEDS[calibrator.accepts].words}, but these are {law}."
            )
        if score == "log" and not calibrator.has_density:
            raise InputError(f'the log score needs a density, but {name!r} leaves none. Drop it, or use score="crps".')
    return {NOTHING: UnchangedForecasts()} | {name: one for name, one in named.items() if name != NOTHING}


def _check(forecasts: Forecasts, scoring: Scoring) -> None:
    """Refuse other scores and too few rows."""
    if scoring.score not in FORECAST_SCORES:
        raise InputError(
            f'score must be "crps" or "log", but is {scoring.score!r}. Calibration errors cannot choose: the overall '
            "distribution of the targets has an error of 0, and is of no use as a forecast."
        )
    if scoring.score == "log" and not forecasts.distribution.has_density:
        raise InputError(
            f'the log score needs distributions with a density, but these are {forecasts.distribution}. Use "crps".'
        )
    if forecasts.n_samples < LEAST_ROWS:
        raise InputError(
            f"at least {LEAST_ROWS} rows are needed to choose between calibrators, but there are "
            f"{forecasts.n_samples} (rows of weight 0 do not count)."
        )
    check_folds(scoring.n_folds, forecasts)
