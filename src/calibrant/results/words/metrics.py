"""Sentences about metrics: what values and limits rest on, and why there are none."""

import math
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Protocol

from calibrant._border.numerals import count, counted, percent

if TYPE_CHECKING:
    from calibrant.results.comparison import Difference, Interval
    from calibrant.results.estimate import Estimate
    from calibrant.results.forecasts import ForecastAssessment

AT_LEAST = "dvoretzky-kiefer-wolfowitz"
"""The method of limits that may hold with more than their probability."""

ONE_OUTCOME = "one_outcome"
"""The detail of estimates that have no value because all outcomes are alike."""

SEPARATED = "separated"
"""The detail of estimates that have no value because a threshold on the predictions separates the outcomes."""

FLAT = "flat"
"""The detail of estimates that have no value because the likelihood hardly differs between numbers."""

WITHOUT_VALUE = {
    ONE_OUTCOME: "all outcomes are alike, and no finite number is most likely",
    SEPARATED: "a threshold on the predictions separates the outcomes, and no finite number is most likely",
    FLAT: "the outcomes barely overlap, or the predictions barely differ, and no number is clearly most likely",
}
"""Why an estimate has no value, by its detail."""

REFUTED = "refuted"
"""The detail of estimates that counts wrong predictions of 0 or 1."""

UNPAIRED = "unpaired"
"""The detail of debiased errors that are 0 for all outcomes, as no two rows share a bin."""

ZERO_ANYWAY = "0 whatever is observed, as no two rows share a bin"
"""What such an error is worth."""


def why_without_value(estimate: "Estimate") -> str:
    """Return why an estimate has no value; empty if it has one."""
    return next((why for detail, why in WITHOUT_VALUE.items() if estimate.details.get(detail)), "")


def cautions(named: "Iterable[tuple[str, Estimate]]") -> list[str]:
    """Return the caution of each estimate whose metric has one, beginning with its name.

    Examples
    --------
    >>> from calibrant.results import Description, Estimate
    >>> about = Description(label="Brier score", caution="is a sum")
    >>> cautions([("brier", Estimate(name="Brier()", value=0.5, about=about))])
    ['brier is a sum']
    """
    return [f"{name} {estimate.about.caution}" for name, estimate in named if estimate.about and estimate.about.caution]


def fit_caveats(named: "Iterable[tuple[str, Estimate]]") -> list[str]:
    """Say which coefficients have no value or depend on wrong predictions of 0 and 1, and which errors must be 0.

    Examples
    --------
    >>> from calibrant.results import Estimate
    >>> fit_caveats([("slope", Estimate(name="CoxSlope()", value=0.1, details={"refuted": 2}))])[0][:49]
    'slope depends on how 2 wrong predictions of 0 or '
    """
    missing, refuted, zero = dict[str, list[str]](), dict[int, list[str]](), list[str]()
    for name, estimate in named:
        if why := why_without_value(estimate):
            missing.setdefault(why, []).append(name)
        elif wrong := estimate.details.get(REFUTED):
            refuted.setdefault(wrong, []).append(name)
        elif estimate.details.get(UNPAIRED):
            zero.append(name)
    notes = [f"no value for {', '.join(names)}: {why}" for why, names in missing.items()]
    notes += [f"{name} is {ZERO_ANYWAY}" for name in zero]
    for wrong, names in refuted.items():
        depend = "depends" if len(names) == 1 else "depend"
        notes.append(
            f"{', '.join(names)} {depend} on how {counted(wrong, 'wrong prediction')} of 0 or 1 (to within 1e-12) "
            f"{'is' if wrong == 1 else 'are'} treated: they are given log-odds of -27.6 or 27.6, and each outweighs "
            "many rows"
        )
    return notes


def infinity_caveats(named: "Iterable[tuple[str, Estimate]]") -> list[str]:
    """Say which rows make a score infinite.

    Examples
    --------
    >>> from calibrant.results import Estimate
    >>> infinity_caveats([("nll", Estimate(name="NLL()", value=9.9, details={"infinite_rows": 1, "first_rows": (4,)}))])
    ['nll is infinite: what was observed in 1 row was given probability 0 (row 5, counted from 1)']
    """
    return [
        f"{name} is infinite: what was observed in {counted(rows)} was given probability 0{_which(estimate)}"
        for name, estimate in named
        if (rows := estimate.details.get("infinite_rows"))
    ]


def _which(estimate: "Estimate") -> str:
    first = [str(row + 1) for row in estimate.details.get("first_rows", ())]
    more = estimate.details["infinite_rows"] - len(first)
    if not first:
        return ""
    rest = f" and {count(more)} more" if more else ""
    return f" (row{'s' if len(first) > 1 else ''} {', '.join(first)}{rest}, counted from 1)"


def forecast_notes(assessment: "ForecastAssessment", shown: Collection[str], named: Callable[[str], str]) -> list[str]:
    """Explain the limits and the intervals behind the metrics shown; `named` writes the name of a metric."""
    notes = wide_limits(((key, assessment.limits.get(key)) for key in shown), named)
    for key in shown:
        if key == "interval-coverage" and assessment.law == "Samples":
            notes.append(
                f"{named(key)} is that of intervals between quantiles of the members; even for calibrated ensembles, "
                "these hold fewer targets than the intervals by rank in the verdict"
            )
    return notes


def wide_limits(limits: "Iterable[tuple[str, Interval | None]]", named: Callable[[str], str]) -> list[str]:
    """Say which limits may hold with more than their level, if any; `named` writes the name of a metric."""
    wide = {key: known.level for key, known in limits if known is not None and known.method == AT_LEAST}
    if not wide:
        return []
    names, (level, *_) = "; ".join(map(named, wide)), wide.values()
    return [
        f"the limits of {names} hold with a probability of at least {percent(level)}, so they are wider than others"
    ]


def missing_limits(results: "Iterable[tuple[str, Interval | Difference | None]]") -> dict[str, list[str]]:
    """Return, for each reason why there are no limits, the names of the results that it concerns."""
    found: dict[str, dict[str, None]] = {}
    for name, result in results:
        if result is not None and result.reason:
            found.setdefault(result.reason, {})[name] = None
    return {reason: [*names] for reason, names in found.items()}


CALIBRATED = "95 of 100 data sets of a calibrated model"
"""The data sets that a range by chance describes, in words."""


def chance_in_words(result: "Interval | None", written: Callable[[float], str]) -> str:
    """Return the range by chance in words: up to a limit, or between two if both sides speak against calibration.

    Examples
    --------
    >>> from calibrant.results import Interval
    >>> error = Interval(name="ECE()", value=0.03, low=None, high=None, level=0.95, method="none", null=(0.0, 0.02))
    >>> chance_in_words(error, str)
    'up to 0.02'
    """
    if result is None or result.null is None:
        return ""
    low, high = result.null
    return f"up to {written(high)}" if low in (0.0, -math.inf) else f"{written(low)} to {written(high)}"


class Limited(Protocol):
    """A result with limits, which may not be known."""

    @property
    def low(self) -> float | None:
        """The lower limit."""

    @property
    def high(self) -> float | None:
        """The upper limit."""


def known_limits(result: Limited | None) -> tuple[float, float] | None:
    """Return the limits of a result; None if it has none."""
    if result is None or result.low is None or result.high is None:
        return None
    return result.low, result.high


def shown_limits(result: Limited | None) -> tuple[float, ...]:
    """Return the limits that are worth showing: none if both are the same infinity.

    Examples
    --------
    >>> from calibrant.results import Interval
    >>> shown_limits(Interval(name="NLL()", value=1.0, low=math.inf, high=math.inf, level=0.95, method="bootstrap"))
    ()
    """
    limits = known_limits(result)
    return () if limits is None or (limits[0] == limits[1] and math.isinf(limits[0])) else limits
