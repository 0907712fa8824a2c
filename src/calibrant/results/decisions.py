"""Results about decisions: what they cost, and from which probability on to act."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from calibrant._border.types import FloatArray
from calibrant.results.base_rates import Population
from calibrant.results.comparison import Interval
from calibrant.results.readable import Readable
from calibrant.results.selective import CoverageAtRisk, RiskCoverage


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CurveBand(Readable):
    """A curve with limits at each point, and limits for all points together.

    Attributes
    ----------
    value : ndarray of shape (m,)
    error : ndarray of shape (m,)
        Standard errors.
    low, high : ndarray of shape (m,)
        Limits at each point alone; infinite where there are too few rows for limits of known coverage.
    joint_low, joint_high : ndarray of shape (m,)
        Limits that hold at all points together; infinite where `low` and `high` are.
    """

    value: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    joint_low: FloatArray
    joint_high: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DecisionCurve(Readable):
    """Net benefit of acting from a threshold on, for many thresholds.

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
    net_benefit : CurveBand
        True positives per row, minus false positives per row times the odds of the threshold.
    over_all : CurveBand
        Net benefit minus that of acting on every row, paired on the rows.
    treat_all : ndarray of shape (m,)
        Net benefit of acting on every row; that of acting on none is 0.
    loss : ndarray of shape (m,)
        L(t) = 2 (t FP + (1 - t) FN) per row, whose differences can be compared between thresholds. Its integral from 0
        to 1 is the squared error.
    standardised : ndarray of shape (m,)
        Net benefit divided by the prevalence: 1 at best.
    avoided : ndarray of shape (m,)
        Interventions avoided per row, compared with acting on all, at equal benefit.
    prevalence : float
        Share of the event.
    known_prevalence : bool
        Whether the prevalence was given rather than taken from the rows.
    event : str
        The class that is acted on.
    level : float
    n_samples : int
    n_events : int
    """

    thresholds: FloatArray
    net_benefit: CurveBand
    over_all: CurveBand
    treat_all: FloatArray
    loss: FloatArray
    standardised: FloatArray
    avoided: FloatArray
    prevalence: float
    known_prevalence: bool
    event: str
    level: float
    n_samples: int
    n_events: int


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DecisionDifference(Readable):
    """Differences in net benefit and loss between two sets of predictions for the same rows, for many thresholds.

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
    net_benefit : CurveBand
        Net benefit after, minus that before.
    loss : CurveBand
        L(t) after, minus that before.
    level : float
    n_samples : int
    """

    thresholds: FloatArray
    net_benefit: CurveBand
    loss: CurveBand
    level: float
    n_samples: int


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DecisionCost(Readable):
    """Mean cost per row of acting where the probability is at least a threshold.

    Attributes
    ----------
    threshold : float
        Where acting begins.
    best_if_calibrated : float
        Where it would begin if the probabilities were calibrated, by the costs alone.
    costs : mapping of str to float
        Costs of the four outcomes.
    cost : Interval
    treat_all, treat_none : float
        Cost per row of acting on all, and on none.
    over_all, over_none : Interval
        Cost minus that of acting on all, and on none, paired on the rows: negative if the predictions are worth using.
    exchange_rate : float
        Number of true positives that count as much as one false positive, by the costs: the odds of
        `best_if_calibrated`.
    net_benefit : Interval
        True positives per row, minus false positives per row times the exchange rate. It is the cost of acting on none
        minus `cost`, in units of a missed event.
    net_benefit_of_all : float
        Net benefit of acting on all; that of acting on none is 0.
    shares : mapping of str to float
        Shares of the four outcomes.
    """

    threshold: float
    best_if_calibrated: float
    costs: Mapping[str, float]
    cost: Interval
    treat_all: float
    treat_none: float
    over_all: Interval
    over_none: Interval
    exchange_rate: float
    net_benefit: Interval
    net_benefit_of_all: float
    shares: Mapping[str, float]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BestThreshold(Readable):
    """The prediction whose recalibrated probability is the threshold of the costs.

    Attributes
    ----------
    target : float
        The threshold for calibrated probabilities.
    value : float or None
        The prediction, as it is, at which to act; None if it cannot be told.
    low, high : float or None
        Its confidence limits.
    level : float
    intercept, slope : float or None
        Coefficients of the logistic recalibration that was inverted.
    reason : str
        Why there is no value, or why there are no limits.
    """

    target: float
    value: float | None
    low: float | None
    high: float | None
    level: float
    intercept: float | None = None
    slope: float | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Decisions(Readable):
    """What decisions by predictions cost, where to act, and which rows can be answered safely.

    Attributes
    ----------
    name : str
    cost : DecisionCost or None
    best : BestThreshold or None
    curve : DecisionCurve or None
    selective : RiskCoverage or None
    guarantee : CoverageAtRisk or None
    """

    name: str
    cost: DecisionCost | None = None
    best: BestThreshold | None = None
    curve: DecisionCurve | None = None
    selective: RiskCoverage | None = None
    guarantee: CoverageAtRisk | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DecisionChange(Readable):
    """What a fix changes, where every row was calibrated by a fit to other rows.

    Attributes
    ----------
    method : str
        The calibrator.
    before, after : Interval
        Cost per row.
    cost : Interval
        Cost after, minus that before, paired on the rows.
    curve : DecisionDifference
    """

    method: str
    before: Interval
    after: Interval
    cost: Interval
    curve: DecisionDifference


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DecisionReport(Readable):
    """What a page shows about decisions.

    Attributes
    ----------
    models : mapping of str to Decisions
    change : DecisionChange or None
        From the first to the last of the models, if that is a fix of the first.
    base_rate : mapping of str to tuple of two floats
        For each class, its share of the rows and the share to which probabilities and weights were moved; empty if
        they were not.
    population : Population or None
        The rows from which the new shares were estimated.
    """

    models: Mapping[str, Decisions] = field(default_factory=dict)
    change: DecisionChange | None = None
    base_rate: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    population: Population | None = None
