"""The verdict about predictive distributions, in words."""

from typing import NamedTuple

import numpy as np

from calibrant._border.numerals import as_given, between, counted, percent, pvalue, significant
from calibrant.assessment.forecasts.limits import limits_of_coverage
from calibrant.assessment.sentences import with_few_redraws
from calibrant.assessment.size import BEYOND, UNKNOWN, WITHIN, compare_with
from calibrant.assessment.verdict import TOLERANCE
from calibrant.hypotest.omnibus.facts import SIGNIFICANT_Z
from calibrant.hypotest.omnibus.revealed import LEVEL
from calibrant.hypotest.omnibus.statistic import BIAS
from calibrant.hypotest.omnibus.transforms import Transforms
from calibrant.results import TestResult, Verdict
from calibrant.results.words.parts import smallest_pvalue

HALVES = {"high": ("higher", "lower"), "wide": ("wider", "narrower")}
"""Names of the two halves of the forecasts, by the last word of the direction of a trend."""

MIXED = "too narrow in parts and too wide in others"
"""What is wrong with a shape, if nothing more is known."""

ALIKE = (
    "No calibrator here corrects a trend of the centre: each moves all forecasts alike. Refit the model, or replace "
    "its predictions by a regression of the targets on them, fitted to other rows."
)
"""What to do about a trend of the centre."""

BY_PARTS = (
    "No calibrator here corrects a spread that is wrong in parts of such forecasts. Refit the model, or fit a "
    "calibrator to the rows of each part."
)
"""What to do about a trend of the spread that no calibrator corrects."""

BY_WIDTH = "The calibrator spread-by-level corrects this."
"""What to do about a trend of the spread over the predicted width."""

HIDDEN = "it differs between forecasts, which the mean over all rows hides"
"""Why a small error is not known to be within the tolerance if there is a trend."""


def judge(worst: Transforms, test: TestResult, tolerance: float = TOLERANCE) -> Verdict:
    """Say whether the forecasts are calibrated, in which direction they err, and by how much; see `verdict.judge`.

    The test is about the `worst` transforms.
    """
    is_found = test.pvalue <= LEVEL
    error = float(test.estimate or 0.0)
    low, high, reason = limits_of_coverage(error, worst.weights, test.details.get("tests", 1))
    scale = compare_with(tolerance, low, high)
    part = _part(test) if is_found else NO_PART
    if part.name == "trend" and scale == WITHIN:
        scale, reason = UNKNOWN, HIDDEN
    if not is_found and scale == BEYOND:
        scale = UNKNOWN
    code = _code(worst, part) if is_found else ("calibrated" if scale == WITHIN else "consistent")
    return Verdict(
        code=code,
        headline=_headline(code, worst, tolerance, part, slightly=is_found and scale == WITHIN),
        explanation=_explanation(worst, test, (low, high, reason), scale, tolerance)
        + ("" if is_found else _off_alone(worst))
        + (f" {words}" if (words := about_a_trend(worst, test)) else ""),
        error=error,
        expected=test.details["expected"],
        detectable=test.details["detectable"],
        gap=worst.gap,
        pvalue=test.pvalue,
        level=LEVEL,
        low=low,
        high=high,
        reason="" if low is not None else reason,
        size=scale,
        tolerance=tolerance,
        gave_away=test.details["revealed_by"],
        part=part.name,
    )


def about_a_trend(worst: Transforms, test: TestResult) -> str:
    """Say what corrects the trend that revealed an error; empty if no trend did."""
    part = _part(test)
    if test.pvalue > LEVEL or part.name != "trend":
        return ""
    over_width = part.direction.endswith("wide")
    if part.direction.startswith(tuple(BIAS.values())):
        return "" if over_width else ALIKE  # A shift of all targets by the same number is a trend over the width.
    if over_width and not worst.subject and worst.n_draws is None and worst.levels is None:
        return BY_WIDTH
    return BY_PARTS


class _Part(NamedTuple):
    """The part of the test that revealed an error, and in which direction."""

    name: str
    direction: str


NO_PART = _Part("", "")


def _part(test: TestResult) -> _Part:
    """Return the part of the test that revealed the error."""
    found = test.details["found_by"]
    return _Part(found, test.details["parts"][found]["direction"] or "")


def _explanation(
    worst: Transforms,
    test: TestResult,
    found: tuple[float | None, float | None, str],
    scale: str,
    tolerance: float,
) -> str:
    about = f" of {'' if worst.central else 'the '}{worst.subject}" if worst.subject else ""
    drawn = ", by ranks" if worst.by_rank else ""
    low, high, _ = found
    compared = _compared(scale, tolerance, found, len(worst.weights))
    found_by = f"; what revealed it: {test.details['revealed_by']}" if test.details["revealed_by"] else ""
    found_by = with_few_redraws(test) or found_by
    limits = "" if low is None else f" (limits of at least 95%: {between((low, high), significant)})"
    return (
        f"The mean gap between nominal and observed coverage of quantiles (MACE{drawn}){about} is "
        f"{significant(test.estimate or 0.0)}{limits}. For calibrated forecasts it would be "
        f"{significant(test.details['expected'])} on average by chance, and up to "
        f"{significant(test.details['detectable'])} in 95 of 100 data sets of this size. The exact test gives "
        f"{pvalue(test.pvalue, smallest_pvalue(test))}{found_by}. {compared}"
    )


def _compared(scale: str, tolerance: float, found: tuple[float | None, float | None, str], n_rows: int) -> str:
    """Say whether the error is within the tolerance."""
    low, high, reason = found
    if compare_with(tolerance, low, high) == BEYOND != scale:
        return f"Its limits are beyond the tolerance of {as_given(tolerance)}, but the test does not confirm an error."
    if scale == UNKNOWN:
        why = f"is not known: {reason}" if reason else f"cannot be told from {counted(n_rows)}"
        return f"Whether it is within the tolerance of {as_given(tolerance)} {why}."
    return f"It is {'within' if scale == WITHIN else 'beyond'} the tolerance of {as_given(tolerance)}."


def _code(worst: Transforms, part: _Part) -> str:
    """Name the kind of error that a part of the test revealed."""
    if part.name in ("shape", "trend"):
        return "miscalibrated"
    if part.name == "centre":
        return "biased"
    return _direction(worst)


def _direction(worst: Transforms) -> str:
    """Name the strongest deviation: of the transforms to one side, or of the width of intervals."""
    scale = np.sqrt(12 * worst.n_effective)  # A uniform number has the variance 1 / 12.
    shift = (worst.mean((worst.lower + worst.upper) / 2) - 0.5) * scale if worst.central else 0.0
    width = (worst.mean(worst.needed) - 0.5) * scale
    if abs(shift) > SIGNIFICANT_Z and abs(shift) >= abs(width):
        return "biased"
    if abs(width) < SIGNIFICANT_Z or _contradicts(worst, width):
        return "miscalibrated"
    return "over-confident" if width > 0 else "under-confident"


def _contradicts(worst: Transforms, width: float) -> bool:
    """Return whether narrow or wide intervals err in the direction opposite to the average."""
    for level in worst.named_levels:
        z = (level - worst.coverage(level)) * np.sqrt(worst.n_effective / (level * (1 - level)))
        if z * np.sign(width) < -SIGNIFICANT_Z:
            return True
    return False


def _off_alone(worst: Transforms) -> str:
    """Name intervals that hold more or fewer targets than chance explains, if the test as a whole finds nothing."""
    from scipy.special import ndtri

    if not worst.central or not worst.named_levels:
        return ""
    bar = float(-ndtri(LEVEL / 2 / len(worst.named_levels)))
    off = {
        level: (worst.coverage(level) - level) * np.sqrt(worst.n_effective / (level * (1 - level)))
        for level in worst.named_levels
    }
    parts = [
        f"{percent(level)} {worst.regions} hold {'more' if z > 0 else 'fewer'}"
        for level, z in off.items()
        if abs(z) > bar
    ]
    if not parts:
        return ""
    return f" Taken alone, {' and '.join(parts)} than chance explains, which the test as a whole does not show."


def _headline(code: str, worst: Transforms, tolerance: float, part: _Part, *, slightly: bool) -> str:
    """Return the verdict in one sentence."""
    words = _in_parts(worst, part.direction) if part.name == "trend" else _sentence(code, worst, tolerance, part)
    return f"Slightly {words[0].lower()}{words[1:]}" if slightly else words


def _held(worst: Transforms) -> str:
    """Say which share of the targets lies in the known regions."""
    if not worst.named_levels:
        first, last = worst.ends
        return (
            f"{percent(worst.between, 1)} of the targets are between the quantiles of level {as_given(first)} and "
            f"{as_given(last)}, where {percent(last - first)} are expected"
        )
    parts = [
        f"{percent(level)} {worst.regions} hold {percent(worst.coverage(level), 1)}" for level in worst.named_levels
    ]
    return ", ".join([f"{parts[0]} of the targets", *parts[1:]])


def _in_parts(worst: Transforms, direction: str) -> str:
    """Say how forecasts err where they are high or wide, and elsewhere."""
    kind = direction.rpartition(" ")[2]
    upper, lower = (worst.half(list(HALVES).index(kind), upper=side) for side in (True, False))
    first, second = HALVES[kind]
    about = f" ({worst.subject})" if worst.subject else ""
    start = f"Miscalibrated in parts, {direction.replace('they', 'forecasts')}: "
    if direction.startswith(("too low", "too high")):
        above, below = 1 - upper.share(0.5), 1 - lower.share(0.5)
        where = (
            f"are above the predicted median in the {first} half of the forecasts, {percent(below, 1)} in the "
            f"{second} half"
        )
        return f"{start}{percent(above, 1)} of the targets {where}{about}."
    if worst.named_levels:
        level = worst.named_levels[-1]
        inside, outside = upper.coverage(level), lower.coverage(level)
        held = f"{percent(level)} {worst.regions} hold {percent(inside, 1)} of the targets"
    else:
        inside, outside = upper.between, lower.between
        held = f"{percent(inside, 1)} of the targets are between the first and the last quantile"
    where = f"in the {first} half of the forecasts, {percent(outside, 1)} in the {second} half"
    return f"{start}{held} {where}{about}."


def _sentence(code: str, worst: Transforms, tolerance: float, part: _Part) -> str:
    n_rows = len(worst.weights)
    about = f" ({worst.subject})" if worst.subject else ""
    holds = f"{_held(worst)}{about}."
    if code == "biased":
        above = 1 - worst.share(0.5)
        low = "low" if above > 0.5 else "high"
        return (
            f"Biased: the forecasts are too {low}; {percent(above, 1)} of the targets are above the predicted "
            f"median{about}."
        )
    return {
        "calibrated": f"Calibrated to within {as_given(tolerance)}: {holds}",
        "consistent": f"Consistent with calibration, as far as {counted(n_rows)} can tell: " + holds,
        "over-confident": "Too narrow (over-confident): " + holds,
        "under-confident": "Too wide (under-confident): " + holds,
        "miscalibrated": f"Miscalibrated in shape, {part.direction or MIXED}: {holds}",
    }[code]
