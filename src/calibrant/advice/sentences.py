"""A recommendation in words."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from calibrant._border.numerals import as_given, between, counted, few_percent, percent, pvalue, significant, with_sign
from calibrant.advice.choice import ROWS_OF_DOUBT, TOLERANCE
from calibrant.advice.cross_fit import GROUPS
from calibrant.advice.rule import GUARD, NOTHING, allows_certainty, has_impossible_labels, stack_of
from calibrant.advice.scoring import COIN
from calibrant.calibrators.names import THEN
from calibrant.predictions import Predictions
from calibrant.results import Candidate, Difference, ForecastCandidate, ForecastRecommendation, Recommendation, Verdict

Advice = Recommendation | ForecastRecommendation

A = TypeVar("A", Recommendation, ForecastRecommendation)


def headline(advice: Advice) -> str:
    """Say in one sentence what to do."""
    loss, what = advice.score_name, _what(advice)
    before, after = advice.candidates[0].loss, advice.candidate(advice.name).loss
    if advice.name != NOTHING and not after < before:
        return (
            f"Use {advice.name}: a test finds the {what} miscalibrated. With so few rows the {loss} does not show the "
            f"gain: {significant(before, 4)} before, {significant(after, 4)} after on rows it was not fitted to."
        )
    if advice.name != NOTHING:
        return (
            f"Use {advice.name}: on rows it was not fitted to, the {loss} falls from {significant(before, 4)} to "
            f"{significant(after, 4)}."
        )
    if np.isinf(before):
        return f"Leave the {what} as they are: the {loss} is infinite with every candidate."
    if _excludes_zero(advice.candidate(advice.best).over_nothing):
        return f"Leave the {what} as they are: a test finds nothing to fix, and a smaller {loss} alone is not enough."
    none = f"{advice.candidates[1].name} does not lower" if _is_alone(advice) else "no candidate lowers"
    return f"Leave the {what} as they are: {none} the {loss} by more than chance."


def with_words(
    advice: A, verdict: Verdict, floor: float | None, tried: str, further: Iterable[str], last: str = ""
) -> A:
    """Add headline, reasons and disagreement with the verdict, whose test has the smallest p-value `floor`.

    Of the reasons, `tried` comes first, `further` ones after what decided, and `last` is last; empty ones are left out.
    """
    differs = disagreement(advice, verdict, floor)
    found = (tried, *differences_in_words(advice), decided_by(advice, verdict, floor), *further, differs, last)
    return replace(advice, headline=headline(advice), reasons=tuple(filter(None, found)), disagreement=differs)


def of_classes(
    advice: Recommendation, verdict: Verdict, floor: float | None, predictions: Predictions
) -> Recommendation:
    """Add the words of advice for predicted classes."""
    chosen = advice.candidate(advice.name)
    further = (_of_groups(advice, chosen), _decisions(advice, chosen), *_reservations(advice, chosen, predictions))
    return with_words(advice, verdict, floor, _tried(advice), further)


def _of_groups(advice: Recommendation, chosen: Candidate) -> str:
    """Say why the fix of groups is or is not recommended; empty if no features were given."""
    found = next((one for one in advice.candidates if one.name == GROUPS), None)
    if found is None:
        return ""
    if advice.name == GROUPS:
        return "It corrects groups of rows, so new rows need the columns that its steps name."
    if found.loss == advice.candidates[0].loss:
        return "The fix of groups changes nothing: no group is clearly off."
    change = found.loss - chosen.loss
    if change >= 0:
        return f"The fix of groups has a larger loss, by {significant(change)}."
    return (
        f"The fix of groups has a smaller loss, by {significant(-change)}, but not by more than two standard "
        "errors. That is required because new rows would need the features, too. GroupSearch, or calibrant groups, "
        "shows which groups are off."
    )


def differences_in_words(advice: Advice) -> tuple[str, str, str]:
    """Compare the recommended candidate with doing nothing, with the best and with a simpler one, in sentences."""
    chosen = advice.candidate(advice.name)
    return _gain(advice, chosen), _choice(advice, chosen), _alternative(advice)


def decided_by(advice: Advice, verdict: Verdict, floor: float | None = None) -> str:
    """Say what decided: a test with its p-value, or standard errors; `floor` is the smallest p-value of that test.

    Empty if no loss was smaller, or if `disagreement` says it.
    """
    chosen, test = advice.candidate(advice.name), pvalue(verdict.pvalue, floor)
    is_found = verdict.pvalue <= verdict.level
    if advice.name == NOTHING:
        if is_found or advice.best == NOTHING or np.isinf(chosen.loss):
            return ""
        unless = ", unless it is smaller by more than three standard errors" if _may_be_sure(advice) else ""
        return (
            f"What decided: the omnibus test finds no miscalibration ({test}), so a smaller loss does not count"
            f"{unless}."
        )
    if advice.name == GROUPS:
        return (
            "What decided: its loss is smaller than that of the best other candidate by more than two standard errors."
        )
    if is_found:
        though = "" if _excludes_zero(chosen.over_nothing) else ", though the interval of its change covers 0"
        found = f"What decided: the omnibus test finds the {_what(advice)} miscalibrated ({test})"
        if _only_a_stack(advice):
            return f"{found}, and {advice.n_samples} rows are too few to choose a candidate by its loss{though}."
        return f"{found}: a smaller loss counts{though}."
    if np.isinf(advice.candidates[0].loss):
        return "What decided: its loss is finite."
    return "What decided: its loss is smaller by more than three standard errors."


def _may_be_sure(advice: Advice) -> bool:
    """Return whether standard errors may speak for a candidate without a test; see `recommend`."""
    if not isinstance(advice, Recommendation):
        return True
    return advice.n_classes > 2 and not _only_a_stack(advice)


def _only_a_stack(advice: Advice) -> bool:
    """Return whether there are so few rows that only the stack or nothing can be recommended."""
    return advice.n_samples < ROWS_OF_DOUBT and stack_of(one.name for one in advice.candidates) is not None


def _excludes_zero(difference: Difference | None) -> bool:
    return difference is not None and difference.is_significant


def disagreement(advice: Advice, verdict: Verdict, floor: float | None = None) -> str:
    """Say why nothing is advised although the verdict finds miscalibration, or the other way round; else empty."""
    is_found = verdict.pvalue <= verdict.level
    if is_found == (advice.name != NOTHING):
        return ""
    test = pvalue(verdict.pvalue, floor)
    if not is_found:
        why = "a paired difference of losses can see errors that a test of one model does not."
        if (
            isinstance(advice, Recommendation)
            and advice.candidate(advice.name).accuracy > advice.candidates[0].accuracy
        ):
            why = "part of the gain is accuracy, which no test of calibration sees."
        return f"The verdict finds no miscalibration ({test}): {why}"
    found = f"The verdict finds the {_what(advice)} {verdict.code} ({test}; what revealed it: {verdict.gave_away})"
    if verdict.size == "within tolerance":
        return (
            f"{found}, but within the tolerance of {as_given(verdict.tolerance)}: the difference is real, but too "
            "small for a fix to gain more than chance."
        )
    return (
        f"{found}: on rows that it was not fitted to, no candidate corrects that by more than chance. "
        "More rows, or other candidates, may."
    )


def _tried(advice: Recommendation) -> str:
    names = ", ".join(candidate.name for candidate in advice.candidates[1:]) or "none"
    kept = ", predicted classes unchanged" if advice.keep_argmax else ""
    return (
        f"Candidates for {counted(advice.n_samples)} of {advice.n_classes} classes{kept}: {names}. Each was judged by "
        f"the {advice.score_name} in {advice.n_folds} folds that it was not fitted to."
    )


def _what(advice: Advice) -> str:
    return "predictions" if isinstance(advice, Recommendation) else "forecasts"


def _is_alone(advice: Advice) -> bool:
    """Return whether there is only one candidate besides doing nothing."""
    return len(advice.candidates) == 2


def _gain(advice: Advice, chosen: Candidate | ForecastCandidate) -> str:
    if advice.name != NOTHING:
        change = _written(advice, chosen.over_nothing)
        return f"Compared with doing nothing, the {advice.score_name} changes by {change}."
    if advice.best == NOTHING:
        least = "smaller loss" if _is_alone(advice) else "smallest loss of all"
        return "" if np.isinf(chosen.loss) else f"Doing nothing has the {least}."
    best = advice.candidate(advice.best)
    which = "It" if _is_alone(advice) else f"The best candidate, {best.name},"
    chance = "" if _excludes_zero(best.over_nothing) else ", which could be chance"
    return f"{which} changes the {advice.score_name} by {_written(advice, best.over_nothing)}{chance}."


def _choice(advice: Advice, chosen: Candidate | ForecastCandidate) -> str:
    if advice.name == NOTHING or _is_alone(advice):
        return ""
    if advice.name == stack_of([advice.name]) and _only_a_stack(advice):
        return _by_few_rows(advice, chosen)
    if advice.name == advice.best:
        names = [one.name for one in advice.candidates]
        least = "It has the smallest loss of those that improve on doing nothing"
        if advice.name == GROUPS:
            return f"{least}."
        if names.index(advice.name) == 1:
            return f"{least}, and is the simplest."
        measure = stack_of(names)
        than = "" if measure in (None, advice.name) else f" as {measure}, with which they are compared"
        return f"{least}; no simpler one is certain to be as good{than}."
    behind = f"{advice.best}: the difference is {_written(advice, chosen.behind_best)}"
    if advice.name == stack_of([advice.name]):
        return (
            "It mixes calibrators with weights learnt from rows they were not fitted to, and is preferred because the "
            f"smallest of several losses is often the smallest by luck. Here it is that of {behind}."
        )
    high = None if chosen.behind_best is None else chosen.behind_best.high
    wider = high is not None and high > advice.tolerance
    more = ", which allows for skewness as well, and reaches further" if wider else ""
    measure = stack_of(one.name for one in advice.candidates if one.loss < advice.candidates[0].loss)
    above = (
        f"the best, {behind}{more}"
        if measure in (None, advice.best)
        else f"{measure}, with which others are compared. The smallest loss is that of {behind}"
    )
    spare = "with two standard errors to spare"
    most = f"{significant(advice.tolerance, 2)}{_part_of_base_rate(advice)}"
    return f"It is the simplest whose loss, {spare}, is at most {most} above that of {above}."


def _part_of_base_rate(advice: Advice) -> str:
    """Say what part of the loss of the base rate is accepted, where that is less than the usual 0.001."""
    if isinstance(advice, ForecastRecommendation) or advice.tolerance >= TOLERANCE:
        return ""
    return f", {percent(TOLERANCE / COIN[advice.score], 2)} of the {advice.score_name} of the base rate,"


def _by_few_rows(advice: Advice, chosen: Candidate | ForecastCandidate) -> str:
    rule = (
        f"With fewer than {ROWS_OF_DOUBT} rows only {advice.name} can be recommended, which mixes calibrators with "
        "weights learnt from rows they were not fitted to: a few rows of large loss may decide which loss is the "
        "smallest."
    )
    if advice.name == advice.best:
        return f"{rule} Here it is its own."
    more = f" If more rows confirm this, use {advice.best}." if _excludes_zero(chosen.behind_best) else ""
    return f"{rule} Here it is that of {advice.best}: the difference is {_written(advice, chosen.behind_best)}.{more}"


def _alternative(advice: Advice) -> str:
    said = advice.name != advice.best and advice.alternative == advice.best  # By `_choice`, of the same two.
    if said or advice.alternative is None or advice.over_alternative is None:
        return ""
    return f"Compared with the best simpler one, {advice.alternative}: {_written(advice, advice.over_alternative)}."


def _decisions(advice: Recommendation, chosen: Candidate) -> str:
    if advice.name == NOTHING:
        return ""
    if chosen.changed == 0:
        return "It changes no predicted class."
    return (
        f"It changes the predicted class of {few_percent(chosen.changed)} of the rows; the accuracy goes from "
        f"{percent(advice.candidates[0].accuracy, 2)} to {percent(chosen.accuracy, 2)}. With keep_argmax none would "
        "change."
    )


def _mixed_in(name: str) -> str:
    """Say whether the recommended calibrator makes impossible labels possible, or a guard should be added."""
    if name == stack_of([name]):
        return f'has to be mixed in first, which {name} does by itself, with its own "{GUARD}"'
    if name.split(THEN, maxsplit=1)[0] == GUARD:
        return f'has to be mixed in first, which is the "{GUARD}" of {name}'
    return f'should be mixed in first ("{GUARD}")'


def _reservations(advice: Recommendation, chosen: Candidate, predictions: Predictions) -> list[str]:
    found = []
    if not chosen.converged:
        found.append(f"The optimiser of {chosen.name} did not converge in every fold: do not rely on it.")
    if has_impossible_labels(predictions):
        found.append(
            "Some observed labels had probability 0, an infinite log loss: a small share of the uniform distribution "
            f"{_mixed_in(advice.name)}."
        )
    if allows_certainty(predictions):
        found.append("No row contradicts certainty, so these rows say little about how confident a model may be.")
    n_observed = np.count_nonzero(np.bincount(predictions.labels))
    if n_observed < predictions.n_classes:
        found.append(
            f"Only {n_observed} of the {predictions.n_classes} classes were observed: a fix learns that the others do "
            "not occur."
        )
    if advice.name == NOTHING and advice.n_samples < ROWS_OF_DOUBT and advice.best != NOTHING:
        found.append(f"With {advice.n_samples} rows only large gains stand out from chance; more rows may show one.")
    return found


def _written(advice: Advice, difference: Difference | None) -> str:
    if difference is None:
        return "undefined, because both are infinite"
    if np.isinf(difference.value):
        return f"{with_sign(difference.value)}: one of the two losses is infinite"
    limits = between((difference.low, difference.high), with_sign)
    return f"{with_sign(difference.value)} ({percent(advice.level)} interval {limits})"
