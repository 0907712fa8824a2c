"""The sentences of a verdict."""

from dataclasses import dataclass

from calibrant._border.numerals import as_given, between, counted, percent, pvalue, significant
from calibrant.assessment.size import BEYOND, WITHIN, ClassSize, Size, compare_with
from calibrant.hypotest.calibration_test import weights_follow_labels
from calibrant.hypotest.omnibus.facts import SIGNIFICANT_Z, Facts, facts_of
from calibrant.hypotest.omnibus.revealed import IMPOSSIBLE, LEVEL, Revealed, at_length, in_words
from calibrant.predictions import Predictions
from calibrant.results import TestResult
from calibrant.results.words.metrics import ZERO_ANYWAY
from calibrant.results.words.parts import smallest_pvalue

RARE = 0.01
"""Shares below this are written with more digits."""

ROUNDING = 1e-12
"""Shares below this are 0: sums of weights are rounded."""

EXTREMITY = {"over-confident": "too extreme", "under-confident": "too timid"}
"""The words for confidence, applied to the probability of class 1."""


@dataclass(frozen=True, eq=False)
class Case:
    """Everything that the sentences are about."""

    code: str
    predictions: Predictions
    facts: Facts
    test: TestResult
    revealed: Revealed
    size: Size
    scale: str
    tolerance: float
    slope: float | None
    worst: ClassSize | None = None

    @property
    def is_found(self) -> bool:
        """Whether the test speaks against calibration."""
        return self.test.pvalue <= LEVEL

    @property
    def is_rough(self) -> bool:
        """Whether the test is only approximate, because its redraws keep weights that depend on the labels."""
        # A sketch has no weights of rows.
        return isinstance(self.predictions, Predictions) and weights_follow_labels(self.predictions)

    @property
    def is_binary(self) -> bool:
        """Whether the sentences are about class 1 rather than about the confidence."""
        return self.predictions.n_classes == 2

    @property
    def is_coarse(self) -> bool:
        """Whether the tolerance is not small beside the share of the rarer of two classes."""
        return self.is_binary and self.rarer < 2 * self.tolerance

    @property
    def rarer(self) -> float:
        """The observed share of the rarer of two classes, or the predicted one if only one class was observed."""
        shares = (min(share, max(0.0, 1 - share)) for share in (self.facts.observed, self.facts.predicted))
        return next((share for share in shares if share > ROUNDING), 0.0)

    @property
    def is_certain(self) -> bool:
        """Whether P(class 1), or the confidence with more than two classes, is exactly 0 or 1 in every row."""
        view = self.predictions if self.is_binary else self.predictions.top_label()
        return not view.probs.all(axis=1).any()


def headline(case: Case) -> str:
    """Return the verdict in one sentence: the kind of error, and two numbers that a person can check."""
    facts = _about_the_event(case) if case.is_binary else _about_confidence(case)
    return f"{_lead(case)}: {facts}"


def _lead(case: Case) -> str:
    if case.code == "calibrated":
        return f"Calibrated to within {as_given(case.tolerance)}"
    if case.code == "consistent":
        return f"Consistent with calibration, as far as {counted(case.predictions.n_rows)} can tell"
    words = _kind(case)
    if case.scale == WITHIN and not case.is_coarse:
        return f"Slightly {words}"
    return words[:1].upper() + words[1:]


def _kind(case: Case) -> str:
    if case.is_binary and case.code in EXTREMITY:
        return f"{EXTREMITY[case.code]} ({case.code})"
    if case.code != "miscalibrated":
        return case.code
    if case.revealed.part == IMPOSSIBLE:
        return f"miscalibrated, with {in_words(case.revealed)}"
    if not case.is_binary and (case.revealed.is_about_classes or case.revealed.direction):
        return f"miscalibrated in {in_words(case.revealed)}"
    return "miscalibrated, in both directions"


def _about_the_event(case: Case) -> str:
    predicted, observed = percentages(case.facts.predicted, case.facts.observed)
    direction = ""
    if case.code == "biased":
        direction = " too often," if case.facts.predicted > case.facts.observed else " too rarely,"
    event = f"it predicts class {case.predictions.classes[1]}{direction} with {predicted} on average where {observed}"
    return f"{event} are observed{_about_the_slope(case)}."


def _about_the_slope(case: Case) -> str:
    if not case.is_found or case.slope is None:
        return ""
    words = ""
    if case.code not in EXTREMITY and abs(case.facts.too_extreme) > SIGNIFICANT_Z and not case.facts.is_mixed:
        words = ": too extreme" if case.facts.too_extreme > 0 else ": too timid"
    return f"; slope {_beside_one(case.slope)}{words}"


def _beside_one(slope: float) -> str:
    """Return a slope with two digits, or with as many as show on which side of 1 it is.

    Examples
    --------
    >>> _beside_one(0.6213), _beside_one(1.0042), _beside_one(1.0)
    ('0.62', '1.004', '1')
    """
    texts = (significant(slope, digits) for digits in range(2, 7))
    return next((text for text in texts if float(text) != 1), "1")


def _about_confidence(case: Case) -> str:
    confidence, accuracy = percentages(case.facts.predicted, case.facts.observed)
    claims = f"its confidence is {confidence} on average, and it is right {accuracy} of the time"
    names = [str(name) for name in case.predictions.classes]
    if case.code != "miscalibrated" or case.revealed.class_name not in names:
        return f"{claims}."
    one = facts_of(case.predictions.one_vs_rest(names.index(case.revealed.class_name)))
    predicted, observed = percentages(one.predicted, one.observed)
    return f"its probability is {predicted} on average where {observed} are observed; {claims}."


def explain(case: Case) -> str:
    """Return the explanation: the error with its limits and its size by chance, the test, and what they mean."""
    sentences = [_about_the_error(case), _about_the_test(case), _about_the_size(case)]
    if case.is_coarse and case.scale != BEYOND:
        sentences.append(
            f"A tolerance of {as_given(case.tolerance)} is coarse where the rarer class has a share of "
            f"{significant(100 * case.rarer, 2)}%: give a smaller one."
        )
    return " ".join(sentences)


def _about_the_error(case: Case) -> str:
    size = case.size
    what = f"calibration error{'' if case.is_binary else ' of the confidence'} (root mean square, debiased)"
    if case.is_certain:
        which = "predictions are exactly 0 or 1" if case.is_binary else "confidences are exactly 1"
        return f"The {what} is {significant(size.error)}. All {which}: chance plays no part."
    if size.low is None and size.detectable == 0:
        rows = f"{counted(case.predictions.n_rows).capitalize()} {'is' if case.predictions.n_rows == 1 else 'are'}"
        return f"{rows} too few to measure the {what}, which is {ZERO_ANYWAY}."
    limits = "" if size.low is None else f" (95% limits {between((size.low, size.high), significant)})"
    return (
        f"The {what} is {significant(size.error)}{limits}. For a perfectly calibrated model it would be "
        f"{significant(size.expected)} on average by chance, and up to {significant(size.detectable)} in 95 of "
        "100 data sets of this size."
    )


def with_few_redraws(test: TestResult) -> str:
    """Say that so few redraws can never give a p-value against calibration; empty if they can."""
    smallest = smallest_pvalue(test) or 0.0
    if smallest <= LEVEL:
        return ""
    needed, drawn = round(1 / LEVEL) - 1, round(1 / smallest) - 1
    redraws = "1 redraw" if drawn == 1 else f"{drawn} redraws"
    return f", but {redraws} can never speak against calibration: at least {needed} are needed"


def _about_the_test(case: Case) -> str:
    which = "test, approximate as the weights depend on the labels," if case.is_rough else "exact test"
    found = f"The {which} gives {pvalue(case.test.pvalue, smallest_pvalue(case.test))}"
    few = with_few_redraws(case.test)
    if few:
        return f"{found}{few}."
    if not case.is_found and case.size.error > case.size.detectable:
        return f"{found}. It combines several kinds of errors: a single one above its usual range is not enough."
    if not case.is_found or not case.revealed.part:
        return f"{found}."
    return f"{found}; what revealed it: {at_length(case.revealed)}."


def _about_the_size(case: Case) -> str:
    tolerance = f"the tolerance of {as_given(case.tolerance)}"
    if case.scale == WITHIN:
        return f"The difference is real, but within {tolerance}." if case.is_found else f"It is within {tolerance}."
    if case.scale == BEYOND:
        return f"It is beyond {tolerance}.{_about_the_worst(case.worst)}"
    if case.size.low is None:
        return f"No limits have known coverage ({case.size.reason}), so it cannot be compared with {tolerance}."
    if case.worst is not None and compare_with(case.tolerance, case.size.low, case.size.high) == WITHIN:
        return f"The confidence is within {tolerance}.{_about_the_worst(case.worst)}"
    if compare_with(case.tolerance, case.size.low, case.size.high) == BEYOND:
        return f"Its limits are beyond {tolerance}, but the test does not confirm an error."
    unknown = f"Whether it is within {tolerance} cannot be told from {counted(case.predictions.n_rows)}."
    return unknown + _about_the_worst(case.worst)


def _about_the_worst(worst: ClassSize | None) -> str:
    """Say how large the error of the worst class is, if classes were measured."""
    if worst is None or not worst.name:
        return ""
    limits = "" if worst.low is None else f" (95% limits {between((worst.low, worst.high), significant)})"
    return f" Class {worst.name} against the rest has an error of {significant(worst.error)}{limits}."


def percentages(first: float, second: float) -> tuple[str, str]:
    """Write two shares as percentages with one decimal, or more if one is rare or both would look alike.

    Examples
    --------
    >>> percentages(0.02, 0.026), percentages(0.0012, 0.00118), percentages(0.5, 0.5)
    (('2.0%', '2.6%'), ('0.120%', '0.118%'), ('50.0%', '50.0%'))
    """
    digits = 2 if 0 < min(first, second) < RARE or max(first, second) < RARE else 1
    for more in (digits, digits + 1):
        written = percent(first, more), percent(second, more)
        if written[0] != written[1]:
            return written
    return percent(first, digits), percent(second, digits)
