"""Results of watching calibration over time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calibrant._border.types import FloatArray
from calibrant.results.readable import Readable

WIDE = 1.96
"""Number of standard errors from an estimate to its 95% limits."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WatchedDay(Readable):
    """One day, or any other period, of a watch.

    Attributes
    ----------
    name : str
    n_samples : int
    predicted, observed : float or None
        Mean probability of the event and its frequency; None without rows.
    shift, slope : float or None
        Calibration in the large and slope of the log-odds of this day alone; None if the likelihood has no finite
        maximum.
    shift_error, slope_error : float or None
        Their standard errors.
    log_e : float
        Natural logarithm of the evidence against "no change", after this day.
    log_e_plugin : float or None
        The same as if the line of the reference period were known exactly; not valid, for comparison only.
    """

    name: str
    n_samples: int
    predicted: float | None
    observed: float | None
    shift: float | None
    shift_error: float | None
    slope: float | None
    slope_error: float | None
    log_e: float
    log_e_plugin: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RepairCandidate(Readable):
    """A repair that was tried.

    Attributes
    ----------
    name : str
        "none", "intercept", "slope", "line" or "isotonic".
    label : str
        The repair in words.
    n_parameters : int
    gain : float
        Log-likelihood gained over "none" on the days it was fitted to.
    score : float
        The gain minus half the number of parameters times the logarithm of the number of rows.
    fitted_gain : float
        Log-likelihood gained per 1000 rows of the days it was fitted to.
    later_gain : float or None
        The same on later days; None without any.
    """

    name: str
    label: str
    n_parameters: int
    gain: float
    score: float
    fitted_gain: float
    later_gain: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Repair(Readable):
    """The simplest repair that the outcomes since a change support; "none" if the change has passed.

    Attributes
    ----------
    name : str
        As in `candidates`.
    intercept, slope : float or None
        Repaired log-odds are intercept + slope times those of the prediction; None for "isotonic".
    candidates : tuple of RepairCandidate
        From the simplest to the most flexible.
    fitted, later : tuple of str
        The days it was fitted to, and those it was judged on.
    later_log_e : float or None
        Logarithm of the largest evidence against the repaired predictions on later days or, if the change has passed,
        against the predictions themselves.
    log_odds, repaired : ndarray or None
        The map of "isotonic": log-odds of predictions, and the repaired probability from each of them on.
    """

    name: str
    intercept: float | None
    slope: float | None
    candidates: tuple[RepairCandidate, ...]
    fitted: tuple[str, ...]
    later: tuple[str, ...]
    later_log_e: float | None = None
    log_odds: FloatArray | None = None
    repaired: FloatArray | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Change(Readable):
    """What a watch found once it raised an alarm.

    Attributes
    ----------
    alarm : str
        The first day after which the evidence was beyond its limit.
    since, earliest, latest : str
        The most likely first day of the change, and the range of 95% of its posterior law.
    directions : mapping of str to float
        Posterior probability of each direction, "too low", "too high", "too extreme" and "too timid", the largest
        first.
    shift, slope : float
        Calibration in the large and slope of the log-odds since then, up to the last day or `until`, as in
        `WatchedDay`; with a reference, compared with it. Posterior means if the likelihood has no finite maximum.
    shift_error, slope_error : float or None
        Their standard errors, as if the first day were known.
    class_name : str
        The class with most of the evidence, if each class was watched.
    n_samples : int
        Rows of these days, without those predicted with certainty.
    predicted, observed : float
        Mean prediction and frequency of these rows; with a reference, predictions are recalibrated by it.
    until : str or None
        The most likely last day of a change that has passed, which means that it lasts with a probability of at most
        5%. None if it lasts, or if later days leave that open.
    lasts : float
        Posterior probability that the change, or another that followed it, lasts up to the last day watched.
    after : WatchedDay or None
        All days after `until` together, named after the first, without rows predicted with certainty; with a
        reference, compared with it. Its evidence is the largest in a watch that begins with these days, and is below
        the limit.
    repair : Repair or None
        None if there is no day to fit one to.
    """

    alarm: str
    since: str
    earliest: str
    latest: str
    directions: Mapping[str, float]
    shift: float
    slope: float
    shift_error: float | None = None
    slope_error: float | None = None
    class_name: str = ""
    n_samples: int
    predicted: float
    observed: float
    until: str | None = None
    lasts: float = 1.0
    after: WatchedDay | None = None
    repair: Repair | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """The first direction, and any other with a probability of 95% or more."""
        return tuple(name for i, name in enumerate(self.directions) if i == 0 or self.directions[name] >= 0.95)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WatchResult(Readable):
    """Whether calibration changed over a number of days.

    Attributes
    ----------
    headline : str
    story : tuple of str
        What was found, in sentences.
    days : tuple of WatchedDay
    alpha : float
        Probability of ever raising an alarm if nothing changes, at most.
    log_limit : float
        Natural logarithm of the evidence at which the alarm is raised.
    change : Change or None
        None without an alarm.
    notes : tuple of str
        What is worth knowing about the days: refuted certainties, days without rows, missing dates.
    reference : mapping
        The reference period, with the fields of a `WatchedDay` except evidence; empty without one.
    settings : mapping
    """

    headline: str
    story: tuple[str, ...]
    days: tuple[WatchedDay, ...]
    alpha: float
    log_limit: float
    change: Change | None = None
    notes: tuple[str, ...] = ()
    reference: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The state: "good" without an alarm, "unclear" if the change has passed, "bad" otherwise."""
        if self.change is None:
            return "good"
        return "bad" if self.change.until is None else "unclear"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ChangeTest(Readable):
    """Whether calibration differs between two periods.

    Attributes
    ----------
    headline : str
    names : tuple of str
    n_samples : tuple of int
    intercepts, slopes : tuple of float
        The line of the log-odds of each period.
    shift, slope : float
        Second period minus first: the height of the line at the common centre of the log-odds, and its slope.
    shift_error, slope_error : float
        Their standard errors.
    statistic, pvalue : float
        Likelihood ratio of two lines against one, and the probability of a larger one by chance (chi-squared, 2
        degrees of freedom).
    omnibus_pvalue : float
        By permuting which outcomes belong to which period, exact for predictions in the same cell; detects any change.
    notes : tuple of str
    """

    headline: str
    names: tuple[str, str]
    n_samples: tuple[int, int]
    intercepts: tuple[float, float]
    slopes: tuple[float, float]
    shift: float
    shift_error: float
    slope: float
    slope_error: float
    statistic: float
    pvalue: float
    omnibus_pvalue: float
    notes: tuple[str, ...] = ()
