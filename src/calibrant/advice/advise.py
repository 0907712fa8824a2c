"""Which calibrator to use, decided by rows that were held out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from calibrant._border.types import Progress, Rng
from calibrant._core.threads import in_order
from calibrant.advice.choice import SURE, choose
from calibrant.advice.cross_fit import GROUPS, cross_fit_all, cross_fit_groups, draw_folds, group_table
from calibrant.advice.plan import Plan
from calibrant.advice.reasons import decided_by, disagreement, headline, reasons
from calibrant.advice.rule import NOTHING, allows_certainty, has_impossible_labels, shortlist, stack_of
from calibrant.assessment.verdict import examine
from calibrant.calibrators import Calibrator, Identity
from calibrant.calibrators.compose import parse
from calibrant.calibrators.names import calibrator_name
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import takes_two_arrays
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import Recommendation
from calibrant.results.assessment import smallest_pvalue

MOST_REDRAWS = 999
"""Redraws of the labels behind the verdict that the advice is compared with, as in assess."""

SMALL_PVALUE = 0.05
"""Up to this p-value of the verdict, a smaller loss is reason enough for a fix. Of 100 calibrated predictions the exact
test finds 5, and some of these have no smaller loss."""

TWO_CLASSES = 2
"""Of two classes the test sees whatever a map of the probability can mend, gains of accuracy too. Standard errors would
add wrong advice only: where no sure row happens to be wrong, a map that is too sure gains a little in every row."""


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
        Of rows that the model was not trained on.
    keep_argmax : bool, default=False
        Whether the predicted class of every row has to stay.
    candidates : sequence of names, or mapping of names to calibrators, optional
        From the simplest to the most flexible; by default those of `shortlist`, or `forecast_shortlist`.
    score : {"nll", "brier", "crps", "log"}, optional
        What decides: log loss (the default) or Brier score, and of forecasts the CRPS (the default) or the log score.
        A calibration error never does, because predictions that are all the same can have none.
    n_folds : int, default=5
    n_resamples : int, default=1000
        Redraws of the labels in the test, at most 999; and bootstrap samples of the rows where a score is infinite.
    level : float, default=0.95
        Of the intervals.
    features : data frame, mapping of names to arrays, or array of shape (n, d), optional
        Of the same rows: `calibrant.groups.GroupBoosting` is then a candidate too, "groups". It is recommended if its
        loss is smaller than that of the one recommended otherwise by more than two standard errors, as new rows will
        need their features. In every fold it searches the rows of the other folds only.
    progress : callable, optional
        Called with (steps done, steps in all).
    rng : Generator, int or None

    Returns
    -------
    Recommendation, or ForecastRecommendation for forecasts
        Its `calibrator` is fitted to all rows.

    Notes
    -----
    The number of rows and of classes, and whether decisions have to stay, give a short list (`RULE`; the table is in
    docs/calibrators.md). Doing nothing is always on it. Every candidate is fitted to all folds but one and applied to
    that one, so that no row is judged by a map that has seen its label.

    A candidate improves on doing nothing if its loss is smaller and the omnibus test of `assess` finds the predictions
    miscalibrated (p up to 0.05); or, with more than two classes, if its loss is smaller by more than three standard
    errors of the paired difference: the test does not see a gain of accuracy where classes are told apart better. If
    none does, the advice is to do nothing. Intervals are those of `compare`: by Student's law of the paired
    differences, or of percentiles if a score is infinite.

    If one does, the stack is recommended, a mixture that shrinks towards equal weights where rows are few: the smallest
    of several losses is often the smallest by luck. Without a stack, it is the candidate of the smallest loss. A
    simpler one takes its place if its loss is, with two standard errors to spare, at most 0.001 larger. With less than
    500 rows, standard errors are not to be relied on, and if there is a stack nothing is decided by them: no other
    takes its place, and only the test, which is exact, can speak for it. A candidate whose score is infinite is out.

    Forecasts are treated alike: their short list is `FORECAST_RULE`, their test that of `assess_forecasts`; there is no
    stack, and a simpler candidate may be worse by 0.001 of the CRPS or of a nat.

    The intervals are about the rows, not about drawing other rows to fit the calibrators to; the score of the best of
    several is a little too good.

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
        return recommend_forecasts(
            predictions,
            candidates,
            score=score or "crps",
            n_folds=n_folds,
            n_resamples=n_resamples,
            level=level,
            progress=progress,
            rng=rng,
        )
    plan = Plan(score or "nll", n_folds, n_resamples, level)
    return _recommend_classes(check_predictions(predictions), keep_argmax, candidates, plan, features, progress, rng)


def _recommend_classes(
    predictions: Predictions,
    keep_argmax: bool,
    candidates: Sequence[str] | Mapping[str, Calibrator] | None,
    plan: "Plan",
    features: object,
    progress: Progress | None,
    rng: Rng,
) -> Recommendation:
    """Recommend a calibrator for predicted classes."""
    used = predictions if predictions.weights.all() else predictions.take(predictions.weights > 0)
    plan.check(used)
    tried = _candidates(used, keep_argmax, candidates)
    table = None if features is None else group_table(features, predictions, keep_argmax)
    generator = np.random.default_rng(rng)
    folds = draw_folds(used, plan.n_folds, generator)
    total, done = plan.n_folds + len(tried) + 2 + (table is not None), 0

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    found = cross_fit_all(tried, used, folds, tick)
    if table is not None:
        found[GROUPS] = cross_fit_groups(table, used, folds)
    judged = {}
    for one in in_order(lambda name: plan.judge(name, found[name], used), list(found)):
        judged[one.candidate.name] = one
        tick()
    # The draws of assess with the same seed, so that both speak of the same verdict.
    again = np.random.default_rng(rng) if isinstance(rng, int) else generator
    examined = examine(used, min(plan.n_resamples, MOST_REDRAWS), rng=again)
    verdict, floor = examined.verdict, smallest_pvalue(examined.test)
    tick()
    chosen = choose(
        {name: one.losses for name, one in judged.items()},
        used.weights,
        Bootstrap(plan.n_resamples),
        plan.level,
        generator,
        safe=stack_of(tried),
        exceptional=None if table is None else GROUPS,
        miscalibrated=verdict.pvalue <= SMALL_PVALUE,
        sure=SURE if used.n_classes > TWO_CLASSES else np.inf,
    )
    tick()
    advice = plan.advice(chosen, judged, found[chosen.name].calibrator, used, keep_argmax, rng)
    differs = disagreement(advice, verdict, floor)
    why = tuple(filter(None, (*reasons(advice, used, decided_by(advice, verdict, floor)), differs)))
    return replace(advice, headline=headline(advice), reasons=why, disagreement=differs)


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
    """Return candidates by name; refuse unknown ones, and those that change predicted classes that have to stay.

    Examples
    --------
    >>> [*named_candidates(["ts", "platt"])]
    ['ts', 'platt']
    """
    if isinstance(given, str):
        raise TypeError(f"candidates must be a sequence of names, but is the string {given!r}. Pass [{given!r}].")
    named = dict(given) if isinstance(given, Mapping) else {calibrator_name(name): parse(name) for name in given}
    changing = [name for name, calibrator in named.items() if not calibrator.preserves_argmax]
    if keep_argmax and changing:
        raise InputError(
            f"candidates must keep the predicted classes, but {changing[0]!r} can change them. Drop it, or allow "
            "changes with keep_argmax=False."
        )
    return named
