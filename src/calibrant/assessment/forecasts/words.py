"""The verdict about predictive distributions, in words."""

import numpy as np

from calibrant.assessment.forecasts.transforms import Transforms
from calibrant.assessment.verdict import LEVEL, TOLERANCE
from calibrant.assessment.verdict.size import BEYOND, UNKNOWN, WITHIN, compare_with
from calibrant.results import TestResult, Verdict
from calibrant.results.writing import counted

SIGNIFICANT_Z = 1.96
"""A deviation of this many standard errors has a direction."""


def judge(worst: Transforms, test: TestResult, tolerance: float = TOLERANCE) -> Verdict:
    """Say whether the forecasts are calibrated, in which direction they err, and by how much.

    Parameters
    ----------
    worst : Transforms
        Those that the test is about.
    test : TestResult
    tolerance : float, default=0.02
        The largest error that does not matter.
    """
    is_found = test.pvalue <= LEVEL
    error = float(test.statistic)
    low, high, reason = limits(worst, error, test.details.get("tests", 1))
    scale = compare_with(tolerance, low, high)
    if not is_found and scale == BEYOND:
        scale = UNKNOWN
    code = _direction(worst) if is_found else ("calibrated" if scale == WITHIN else "consistent")
    return Verdict(
        code=code,
        headline=_headline(code, worst, tolerance, slightly=is_found and scale == WITHIN),
        explanation=_explanation(worst, test, (low, high, reason), scale, tolerance)
        + ("" if is_found else _off_alone(worst)),
        error=error,
        expected=test.details["expected"],
        detectable=test.details["detectable"],
        gap=worst.gap,
        pvalue=test.pvalue,
        level=LEVEL,
        low=low,
        high=high,
        reason=reason,
        size=scale,
        tolerance=tolerance,
        gave_away=(worst.subject or "the quantiles") if is_found else "",
    )


def limits(worst: Transforms, error: float, n_tests: int) -> tuple[float | None, float | None, str]:
    r"""Return limits of MACE that hold with a probability of at least 95%, or why there are none.

    The distribution of n transforms is nowhere further than :math:`\epsilon = \sqrt{\log(2 m / 0.05) / (2 n)}` from the
    true one in any of m tests (Dvoretzky, Kiefer, Wolfowitz, with Massart's constant), so that the mean distance of
    levels is not either.
    """
    if not np.all(worst.weights == worst.weights[0]):
        return None, None, "limits are for rows of equal weight"
    reach = float(np.sqrt(np.log(2 * n_tests / 0.05) / (2 * len(worst.weights))))
    return max(0.0, error - reach), min(1.0, error + reach), ""


def _explanation(
    worst: Transforms,
    test: TestResult,
    found: tuple[float | None, float | None, str],
    scale: str,
    tolerance: float,
) -> str:
    sign = "≤" if test.pvalue <= test.details["smallest_pvalue"] else "="
    about = f" of the {worst.subject}" if worst.subject else ""
    drawn = ", by ranks with ties broken once at random" if worst.is_drawn else ""
    low, high, reason = found
    limits = "" if low is None else f" (limits of at least 95%: {low:.3g} to {high:.3g})"
    return (
        f"The mean gap between nominal and observed coverage of quantiles (MACE{drawn}){about} is "
        f"{test.statistic:.3g}{limits}. For calibrated forecasts it would be {test.details['expected']:.3g} on average "
        f"by chance, and up to {test.details['detectable']:.3g} in 95 of 100 data sets of this size. The exact test "
        f"gives p {sign} {test.pvalue:.2g}. {_compared(scale, tolerance, reason)}"
    )


def _compared(scale: str, tolerance: float, reason: str) -> str:
    """Say whether the error is within the tolerance."""
    if scale == UNKNOWN:
        why = f": {reason}" if reason else ""
        return f"Whether it is within the tolerance of {tolerance:g} is not known{why}."
    return f"It is {'within' if scale == WITHIN else 'beyond'} the tolerance of {tolerance:g}."


def _direction(worst: Transforms) -> str:
    """Name the strongest deviation: of the transforms to one side, or of the intervals that would hold the targets."""
    scale = np.sqrt(12 * worst.n_effective)  # A uniform number has the variance 1 / 12.
    shift = (worst.mean(worst.values) - 0.5) * scale if worst.central else 0.0
    width = (worst.mean(worst.needed) - 0.5) * scale
    if abs(shift) > SIGNIFICANT_Z and abs(shift) >= abs(width):
        return "biased"
    if abs(width) < SIGNIFICANT_Z or _contradicts(worst, width):
        return "miscalibrated"
    return "over-confident" if width > 0 else "under-confident"


def _contradicts(worst: Transforms, width: float) -> bool:
    """Return whether narrow or wide intervals err in the direction opposite to the average."""
    for level in worst.spoken:
        z = (level - worst.coverage(level)) * np.sqrt(worst.n_effective / (level * (1 - level)))
        if z * np.sign(width) < -SIGNIFICANT_Z:
            return True
    return False


def _off_alone(worst: Transforms) -> str:
    """Name intervals that hold more or fewer targets than chance explains, where the error of all levels does not."""
    from scipy.special import ndtri

    if not worst.central or not worst.spoken:
        return ""
    bar = float(-ndtri(LEVEL / 2 / len(worst.spoken)))
    off = {
        level: (worst.coverage(level) - level) * np.sqrt(worst.n_effective / (level * (1 - level)))
        for level in worst.spoken
    }
    parts = [
        f"{100 * level:.4g}% {worst.regions} hold {'more' if z > 0 else 'fewer'}"
        for level, z in off.items()
        if abs(z) > bar
    ]
    if not parts:
        return ""
    return f" Taken alone, {' and '.join(parts)} than chance explains, which the mean over all levels does not show."


def _headline(code: str, worst: Transforms, tolerance: float, *, slightly: bool) -> str:
    """Say it in one sentence."""
    words = _sentence(code, worst, tolerance)
    return f"Slightly {words[0].lower()}{words[1:]}" if slightly else words


def _held(worst: Transforms) -> str:
    """Say how many targets are in regions that are known."""
    if not worst.spoken:
        first, last = worst.ends
        words = f"the quantiles of level {first:g} and {last:g}, which are {last - first:.0%} of their distribution,"
        return f"between {words} are {worst.between:.1%} of the targets"
    parts = [f"{100 * level:.4g}% {worst.regions} hold {worst.coverage(level):.1%}" for level in worst.spoken]
    return ", ".join([f"{parts[0]} of the targets", *parts[1:]])


def _sentence(code: str, worst: Transforms, tolerance: float) -> str:
    n_rows = len(worst.weights)
    about = f" ({worst.subject})" if worst.subject else ""
    holds = f"{_held(worst)}{about}."
    if code == "biased":
        above = 1 - worst.share(0.5)
        low = "low" if above > 0.5 else "high"
        return f"Biased: the forecasts are too {low}; {above:.1%} of the targets are above the predicted median{about}."
    return {
        "calibrated": f"Calibrated to within {tolerance:g}: {holds}",
        "consistent": f"Consistent with calibration, as far as {counted(n_rows)} can tell: " + holds,
        "over-confident": "Too narrow (over-confident): " + holds,
        "under-confident": "Too wide (under-confident): " + holds,
        "miscalibrated": "Miscalibrated in shape, too narrow in parts and too wide in others: " + holds,
    }[code]
