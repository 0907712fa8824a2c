"""From numbers to a verdict: whether an error was found, in which direction, and whether it is large."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibrant._border.types import Progress, Rng
from calibrant.assessment.sentences import Case, explain, headline
from calibrant.assessment.size import (
    BEYOND,
    UNKNOWN,
    WITHIN,
    ClassSize,
    Size,
    class_size,
    compare_with,
    measure_size,
)
from calibrant.exceptions import InputError
from calibrant.hypotest import OmnibusTest
from calibrant.hypotest.omnibus.facts import facts_of, kind_of, slope_of
from calibrant.hypotest.omnibus.revealed import LEVEL, Revealed, in_words, revealed_in
from calibrant.predictions import Predictions
from calibrant.results import TestResult, Verdict

TOLERANCE = 0.02
"""The largest calibration error that does not matter, by default."""

SIZE_RESAMPLES = 199
"""Number of redraws for the size of the error by chance."""

MOST_CLASSES = 100
"""With more classes, only the class that revealed the error is measured separately."""


def check_tolerance(tolerance: float) -> None:
    """Refuse tolerances that are not between 0 and 1."""
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not 0 < tolerance < 1:
        raise InputError(f"tolerance must be a number above 0 and below 1, such as 0.02, but is {tolerance!r}.")


class Examined(NamedTuple):
    """A verdict, and the test and the size that it rests on."""

    verdict: Verdict
    test: TestResult
    size: Size


def examine(
    predictions: Predictions,
    n_resamples: int = 999,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
    rng: Rng = None,
) -> Examined:
    """Test predictions, measure their error, and judge them; with an int as seed, this is kept with the predictions."""

    def compute() -> Examined:
        generator = np.random.default_rng(rng)
        test = OmnibusTest(n_resamples)(predictions, rng=generator, progress=progress)
        size = measure_size(predictions, min(n_resamples, SIZE_RESAMPLES), generator)
        return Examined(judge(predictions, test, size, tolerance), test, size)

    if not isinstance(rng, int):
        return compute()
    return predictions.once(("examined", n_resamples, tolerance, rng), compute)


def judge(predictions: Predictions, test: TestResult, size: Size, tolerance: float = TOLERANCE) -> Verdict:
    """Say whether the predictions are calibrated, in which direction they err, and by how much.

    Whether something is found depends on the p-value alone, preferably of an `OmnibusTest`, which says what revealed
    it. How bad it is depends on the limits of the error alone: both within the tolerance, both beyond, or neither. For
    more than two classes the error is that of the confidence; if a class or the runners-up revealed it, the errors of
    classes against the rest must be within the tolerance as well.
    """
    is_found = test.pvalue <= LEVEL
    binary = predictions.n_classes == 2
    view = predictions if binary else predictions.top_label()
    facts = facts_of(view)
    direction = kind_of(facts, binary=binary)
    revealed = revealed_in(test, direction, facts)
    classes = _class_sizes(predictions, revealed) if is_found else []
    scale = _scale(size, tolerance, is_found=is_found, classes=classes)
    code = direction if is_found else ("calibrated" if scale == WITHIN else "consistent")
    case = Case(
        code=code,
        predictions=predictions,
        facts=facts,
        test=test,
        revealed=revealed,
        size=size,
        scale=scale,
        tolerance=tolerance,
        slope=slope_of(view) if binary else None,
        worst=max(classes, key=lambda one: one.error, default=None),
    )
    return Verdict(
        code=code,
        headline=headline(case),
        explanation=explain(case),
        error=size.error,
        expected=size.expected,
        detectable=size.detectable,
        gap=facts.predicted - facts.observed,
        pvalue=test.pvalue,
        level=LEVEL,
        low=size.low,
        high=size.high,
        reason=size.reason,
        size=scale,
        tolerance=tolerance,
        gave_away=in_words(revealed) if is_found else "",
        part=revealed.part if is_found else "",
        slope=case.slope,
    )


def _scale(size: Size, tolerance: float, *, is_found: bool, classes: Sequence[ClassSize]) -> str:
    """Compare the limits with the tolerance: never beyond if no error was found, and within only if all classes are."""
    scale = compare_with(tolerance, size.low, size.high)
    if scale == WITHIN and any(compare_with(tolerance, one.low, one.high) != WITHIN for one in classes):
        return UNKNOWN
    return UNKNOWN if scale == BEYOND and not is_found else scale


def _class_sizes(predictions: Predictions, revealed: Revealed) -> list[ClassSize]:
    """Measure the class that revealed the error, or all classes if they are few, unless the confidence revealed it."""
    if predictions.n_classes == 2 or not revealed.is_about_classes:
        return []
    names = [str(name) for name in predictions.classes]
    if revealed.class_name in names:
        return [class_size(predictions, names.index(str(revealed.class_name)))]
    if len(names) > MOST_CLASSES:
        return [ClassSize("", 0.0, None, None)]
    return [class_size(predictions, c) for c in range(len(names))]
