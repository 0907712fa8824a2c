"""Which calibrator to use, decided on held-out rows."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from calibrant._border.types import Progress, Rng
from calibrant._core.threads import in_order
from calibrant.advice.choice import MOST_REDRAWS, SMALL_PVALUE, SURE, choose
from calibrant.advice.cross_fit import GROUPS, cross_fit_all, cross_fit_groups, draw_folds, group_table
from calibrant.advice.rule import NOTHING, allows_certainty, has_impossible_labels, shortlist, stack_of
from calibrant.advice.scoring import SCORES, Scoring
from calibrant.advice.sentences import of_classes
from calibrant.assessment.verdict import examine
from calibrant.calibrators import CALIBRATORS, Calibrator, Identity
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import takes_two_arrays
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.resampling.seeds import version_and_seed
from calibrant.results import Recommendation
from calibrant.results.words.parts import smallest_pvalue


@takes_two_arrays
def recommend(  # noqa: PLR0913 (each is one decision of the user)
    predictions: object,
    keep_argmax: bool = False,
    candidates: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    score: Literal["nll", "brier", "crps", "log"] | None = None,
    n_folds: int = 5,
    n_resamples: int = 1000,
    level: float = 0.95,
    features: object = None,
    progress: Progress | None = None,
    rng: Rng = None,
) -> Any:
    """Recommend a calibrator for predictions or forecasts, or advise to leave them as they are.

    Parameters
    ----------
    predictions : Predictions or Forecasts
        Predictions for rows that the model was not trained on.
    keep_argmax : bool, default=False
        Whether the predicted class of every row must stay the same.
    candidates : sequence of names, or mapping of names to calibrators, optional
        From the simplest to the most flexible; by default those of `shortlist`, or `forecast_shortlist`.
    score : {"nll", "brier", "crps", "log"}, optional
        What decides: log loss (the default) or Brier score, and for forecasts the CRPS (the default) or the log score.
        A calibration error never does, because predictions that are all the same can have an error of 0.
    n_folds : int, default=5
    n_resamples : int, default=1000
        Redraws of the labels in the test, at most 999; and bootstrap samples of the rows if a score is infinite.
    level : float, default=0.95
        Level of the intervals.
    features : data frame, mapping of names to arrays, or array of shape (n, d), optional
        Features of the same rows: `calibrant.groups.GroupBoosting` is then a candidate too, "groups". It is recommended
        only if its loss is smaller than that of the candidate recommended otherwise by more than two standard errors,
        because new rows will need their features. In every fold it searches only the rows of the other folds.
    progress : callable, optional
        Called with (steps done, steps in all).
    rng : Generator, int or None

    Returns
    -------
    Recommendation, or ForecastRecommendation for forecasts
        Its `calibrator` is fitted to all rows.

    Notes
    -----
    The number of rows and of classes, and `keep_argmax`, determine a short list (`RULE`; the table is in
    docs/calibrators.md). Doing nothing is always on it. Every candidate is fitted to all folds but one and applied to
    that one, so that no row is judged by a map that has seen its label.

    A candidate improves on doing nothing if its loss is smaller and the omnibus test of `assess` finds the predictions
    miscalibrated (p up to 0.05); or, with more than two classes, if its loss is smaller by more than three standard
    errors of the paired difference, since the test does not see gains of accuracy. If none does, the advice is to do
    nothing. Intervals are those of `compare`: by Student's law of the paired differences, or percentiles if a score is
    infinite.

    If one does, the stack is recommended, a mixture that shrinks towards equal weights if rows are few: the smallest of
    several losses is often the smallest by luck. Without a stack, the candidate of the smallest loss is recommended. A
    simpler one replaces it if its loss is, with two standard errors to spare, at most 0.001 larger, or at most 0.0014
    of the log loss of the base rate (0.002 of its Brier score) if that is less: where events are rare, 0.001 may be
    more than there is to gain. With less than 500 rows standard errors are unreliable; if there is a stack, they then
    decide nothing: no other candidate replaces it, and only the test, which is exact, can speak for it. A candidate
    whose score is infinite is excluded.

    Forecasts are treated in the same way: their short list is `FORECAST_RULE`, and their test that of
    `assess_forecasts`. There is no stack, and a simpler candidate may be worse by 0.001 of the CRPS, or by 0.001 nats.

    The intervals describe the chance in the rows that are scored, not in the rows that calibrators are fitted to; the
    score of the best of several is a little too good.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.uniform(size=1000)
    >>> labels = (rng.random(1000) < truth).astype(int)
    >>> over_confident = Predictions.from_logits(3 * np.log(truth / (1 - truth)), labels)
    >>> advice = recommend(over_confident, rng=0)
    >>> advice.name, round(advice.calibrator.stages_[0].temperature_)
    ('ts>guard', 3)
    """
    if not isinstance(keep_argmax, (bool, np.bool_)):
        raise TypeError(f"keep_argmax must be True or False, but is {keep_argmax!r}. Pass names as candidates=.")
    if isinstance(predictions, Forecasts):
        from calibrant.advice.forecasts import recommend_forecasts

        if keep_argmax or features is not None:
            raise TypeError("keep_argmax and features are for classes, but these are Forecasts.")
        scoring = Scoring(score or "crps", n_folds, n_resamples, level)
        return recommend_forecasts(predictions, candidates, scoring, progress, rng)
    scoring = Scoring(score or "nll", n_folds, n_resamples, level)
    return _recommend_classes(check_predictions(predictions), keep_argmax, candidates, scoring, features, progress, rng)


def _recommend_classes(
    predictions: Predictions,
    keep_argmax: bool,
    candidates: Sequence[str] | Mapping[str, Calibrator] | None,
    scoring: Scoring,
    features: object,
    progress: Progress | None,
    rng: Rng,
) -> Recommendation:
    """Recommend a calibrator for predicted classes."""
    used = predictions if predictions.weights.all() else predictions.take(predictions.weights > 0)
    scoring.check(used)
    tried = _candidates(used, keep_argmax, candidates)
    table = None if features is None else group_table(features, predictions, keep_argmax)
    generator = np.random.default_rng(rng)
    folds = draw_folds(used, scoring.n_folds, generator)
    total, done = scoring.n_folds + len(tried) + 2 + (table is not None), 0

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    found = cross_fit_all(tried, used, folds, tick)
    if table is not None:
        found[GROUPS] = cross_fit_groups(table, used, folds)
    losses = {name: SCORES[scoring.score].per_row(one.predictions) for name, one in found.items()}
    # With an int, the same draws as in assess with this seed, so that both give the same verdict.
    examined = examine(used, min(scoring.n_resamples, MOST_REDRAWS), rng=rng if isinstance(rng, int) else generator)
    tick()
    tolerance = scoring.tolerance(used)
    chosen = choose(
        losses,
        used.weights,
        Bootstrap(scoring.n_resamples),
        scoring.level,
        generator,
        safe=stack_of(tried),
        tolerance=tolerance,
        exceptional=None if table is None else GROUPS,
        miscalibrated=examined.verdict.pvalue <= SMALL_PVALUE,
        # With two classes the test sees everything that a map of the probability can correct, gains of accuracy
        # included. Standard errors would only add wrong advice: if no confident row happens to be wrong, a map that is
        # too confident gains a little in every row.
        sure=SURE if used.n_classes > 2 else np.inf,
    )
    tick()
    judged = []
    for one in in_order(lambda name: scoring.candidate(name, found[name], losses[name], used, chosen), list(found)):
        judged.append(one)
        tick()
    advice = Recommendation(
        name=chosen.name,
        headline="",
        reasons=(),
        calibrator=found[chosen.name].calibrator,
        candidates=tuple(judged),
        best=chosen.best,
        alternative=chosen.alternative,
        over_alternative=chosen.over_alternative,
        keep_argmax=keep_argmax,
        score=scoring.score,
        tolerance=tolerance,
        n_samples=used.n_samples,
        n_classes=used.n_classes,
        n_folds=scoring.n_folds,
        n_resamples=scoring.n_resamples,
        level=scoring.level,
        settings=version_and_seed(rng),
    )
    return of_classes(advice, examined.verdict, smallest_pvalue(examined.test), used)


def _candidates(
    predictions: Predictions, keep_argmax: bool, given: Sequence[str] | Mapping[str, Calibrator] | None
) -> dict[str, Calibrator]:
    """Return the candidates by name, doing nothing first."""
    if given is None:
        given = shortlist(
            predictions.n_samples,
            predictions.n_classes,
            keep_argmax=keep_argmax,
            impossible=has_impossible_labels(predictions),
            certain=allows_certainty(predictions),
        )
    return {NOTHING: Identity()} | {
        name: calibrator for name, calibrator in named_candidates(given, keep_argmax).items() if name != NOTHING
    }


def named_candidates(
    given: Sequence[str] | Mapping[str, Calibrator], keep_argmax: bool = False
) -> Mapping[str, Calibrator]:
    """Return candidates by name; refuse unknown ones, and with `keep_argmax` those that can change predicted classes.

    Examples
    --------
    >>> [*named_candidates(["ts", "platt"])]
    ['ts', 'platt']
    """
    named = CALIBRATORS.chosen(given, "candidates")
    changing = [name for name, calibrator in named.items() if not calibrator.preserves_argmax]
    if keep_argmax and changing:
        raise InputError(
            f"candidates must keep the predicted classes, but {changing[0]!r} can change them. Drop it, or allow "
            "changes with keep_argmax=False."
        )
    return named
