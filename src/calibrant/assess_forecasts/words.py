"""The verdict about predictive distributions, in words."""

import numpy as np

from calibrant.assess_forecasts.transforms import Transforms
from calibrant.results import TestResult, Verdict

LEVEL = 0.05
"""A p-value at or below this speaks against calibration."""

SIGNIFICANT_Z = 1.96
"""A deviation of this many standard errors has a direction."""

INNER, OUTER = 0.5, 0.9
"""The verdict speaks of central intervals of these probabilities."""


def judge(worst: Transforms, test: TestResult) -> Verdict:
    """Say whether the forecasts are calibrated, in which direction they err, and by how much.

    Parameters
    ----------
    worst : Transforms
        Those that the test is about.
    test : TestResult
    """
    code = "consistent" if test.pvalue > LEVEL else _direction(worst)
    sign = "≤" if test.pvalue <= test.details["smallest_pvalue"] else "="
    expected, detectable = test.details["expected"], test.details["detectable"]
    error = float(test.statistic)
    about = f" of the {worst.subject}" if worst.subject else ""
    return Verdict(
        code=code,
        headline=_headline(code, worst),
        explanation=(
            f"The mean gap between nominal and observed coverage of quantiles (MACE){about} is {error:.3g}. For "
            f"calibrated forecasts it would be {expected:.3g} on average by chance, and above {detectable:.3g} in 5 of "
            f"100 data sets of this size. The exact test gives p {sign} {test.pvalue:.2g}."
        ),
        error=error,
        expected=expected,
        detectable=detectable,
        gap=OUTER - worst.coverage(OUTER),
        pvalue=test.pvalue,
        level=LEVEL,
    )


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
    """Tell whether narrow or wide intervals err to the other side than intervals do on average."""
    for level in (INNER, OUTER):
        z = (level - worst.coverage(level)) * np.sqrt(worst.n_effective / (level * (1 - level)))
        if z * np.sign(width) < -SIGNIFICANT_Z:
            return True
    return False


def _headline(code: str, worst: Transforms) -> str:
    n_rows = len(worst.weights)
    about = f" ({worst.subject})" if worst.subject else ""
    holds = (
        f"{INNER:.0%} {worst.regions} hold {worst.coverage(INNER):.1%} of the targets, "
        f"{OUTER:.0%} {worst.regions} hold {worst.coverage(OUTER):.1%}{about}."
    )
    if code == "biased":
        above = 1 - worst.share(0.5)
        low = "low" if above > 0.5 else "high"
        return f"Biased: the forecasts are too {low}; {above:.1%} of the targets are above the predicted median{about}."
    return {
        "consistent": f"Consistent with calibration, as far as {n_rows:,} {'row' if n_rows == 1 else 'rows'} can tell: "
        + holds,
        "over-confident": "Too narrow (over-confident): " + holds,
        "under-confident": "Too wide (under-confident): " + holds,
        "miscalibrated": "Miscalibrated in shape, too narrow in parts and too wide in others: " + holds,
    }[code]
