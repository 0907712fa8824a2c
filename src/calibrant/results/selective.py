"""Outcomes about abstaining: the errors among the rows that are answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from calibrant._border.types import FloatArray, IntArray
from calibrant.results.comparison import Interval
from calibrant.results.reading import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RiskCoverage(Readable):
    """The error rate among the most confident rows, for every share of rows that can be answered.

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
        Distinct confidences, descending: rows with at least this confidence are answered.
    coverage, risk : ndarray of shape (m,)
        Share of the rows that are answered, and error rate among them.
    count, errors : ndarray of shape (m,)
        Number of rows that are answered, and of errors among them.
    aurc, excess_aurc, augrc : float
        See the metrics of these names.
    areas : mapping of str to Interval
        The same with limits, or why there are none: "AURC", "E-AURC" and "AUGRC".
    n_samples, n_distinct : int
        Rows, and distinct confidences: coverage can only jump from one of these to the next.
    """

    thresholds: FloatArray
    coverage: FloatArray
    risk: FloatArray
    count: IntArray
    errors: IntArray
    aurc: float
    excess_aurc: float
    augrc: float
    n_samples: int
    n_distinct: int
    areas: Mapping[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RiskStep(Readable):
    """One threshold that was tested on the way to the largest coverage.

    Attributes
    ----------
    threshold : float
    coverage : float
    count, errors : int
        Rows with at least this confidence, and errors among them.
    high : float
        Upper confidence limit of the error rate.
    passed : bool
    """

    threshold: float
    coverage: float
    count: int
    errors: int
    high: float
    passed: bool


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CoverageAtRisk(Readable):
    """The largest share of rows that can be answered with an error rate below a limit, with confidence.

    Attributes
    ----------
    max_risk, confidence : float
        Among rows with at least the threshold, the error rate exceeds `max_risk` with probability 1 - `confidence` at
        most, over the rows that the threshold was found with.
    threshold : float or None
        Answer rows with at least this confidence; None if no threshold is safe.
    coverage : float
        Share of the rows that are answered; 0 without a threshold.
    count, errors : int
    risk : float or None
        Error rate of these rows.
    high : float or None
        Its upper confidence limit.
    steps : tuple of RiskStep
        What was tested, in this order; the first that fails ends it.
    n_samples, n_distinct : int
    reason : str
        Why there is no threshold.
    """

    max_risk: float
    confidence: float
    threshold: float | None
    coverage: float
    count: int
    errors: int
    risk: float | None
    high: float | None
    steps: tuple[RiskStep, ...]
    n_samples: int
    n_distinct: int
    reason: str = ""
