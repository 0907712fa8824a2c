"""The verdict on a set of predictions."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibrant.results.readable import Readable

if TYPE_CHECKING:
    from calibrant.results.svg import Element


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Verdict(Readable):
    """Whether predictions are calibrated, in words and numbers: what a person reads first.

    Attributes
    ----------
    code : {"calibrated", "consistent", "over-confident", "under-confident", "biased", "miscalibrated"}
        "calibrated": nothing was found, and the error is shown to lie within the tolerance. "consistent": nothing was
        found, but the rows are too few to say more. The others name the direction of what was found.
    headline : str
        One sentence.
    explanation : str
        The numbers behind it, in words.
    error : float
        The calibration error: the debiased root mean square over bins of equal mass ("rms-debiased"), of the
        probability of class 1 for two classes, of the confidence for more; for forecasts, MACE.
    expected : float
        Its mean if the model were perfectly calibrated.
    detectable : float
        Errors below this could be chance with this number of rows.
    gap : float
        Mean confidence minus accuracy; for two classes, mean probability of class 1 minus its frequency; for forecasts,
        90% minus the share of targets in central 90% intervals.
    pvalue : float
        The p-value of the exact test.
    level : float
        Miscalibration counts as found if the p-value is at most this.
    low, high : float or None
        95% limits of the error; None if no limits of known coverage exist.
    reason : str
        Why there are no limits.
    size : {"within tolerance", "beyond tolerance", "not known"}
        Whether both limits are at most the tolerance, both are above it, or neither.
    tolerance : float
        The largest error that does not matter.
    gave_away : str
        What the test found, in words such as "the slope" or "class Shirt"; empty if nothing was found.
    part : str
        The part of the test that these words are about, by its name in the details of the test.
    slope : float or None
        For two classes, the slope of recalibrated log-odds: below 1 the predictions are too extreme, above 1 too
        timid. None if no finite slope fits.
    """

    code: str
    headline: str
    explanation: str
    error: float
    expected: float
    detectable: float
    gap: float
    pvalue: float
    level: float
    low: float | None = None
    high: float | None = None
    reason: str = ""
    size: str = "not known"
    tolerance: float = 0.02
    gave_away: str = ""
    part: str = ""
    slope: float | None = None

    def _in_notebook(self) -> "list[Element]":
        from calibrant.results import notebook

        return notebook.sentences(self.headline, self.explanation)


def state(verdict: Verdict) -> str:
    """Return the state of a verdict: "good", "unclear" or "bad", by the size of the error rather than by its p-value.

    Examples
    --------
    >>> numbers = dict(error=0.04, expected=0.01, detectable=0.02, gap=0.0, pvalue=0.001, level=0.05)
    >>> words = dict(code="over-confident", headline="", explanation="")
    >>> state(Verdict(**words, **numbers, size="beyond tolerance")), state(Verdict(**words, **numbers))
    ('bad', 'unclear')
    """
    if verdict.code == "calibrated":
        return "good"
    return "bad" if verdict.size == "beyond tolerance" else "unclear"
