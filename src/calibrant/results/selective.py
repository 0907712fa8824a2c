"""Results about abstaining: the error rate among the rows that are answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from calibrant._border.types import FloatArray, IntArray
from calibrant.results.comparison import Interval
from calibrant.results.readable import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RiskCoverage(Readable):
    """The error rate among the most confident rows, for every possible share of answered rows.

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
        Distinct confidences, descending: rows with at least this confidence are answered.
    coverage, risk : ndarray of shape (m,)
        Share of the rows that are answered, and error rate among them.
    count, errors : ndarray of shape (m,)
        Number of rows that are answered, and of errors among them.
    aurc, excess_aurc, augrc : float
        Areas under the curve: see the metrics of these names.
    areas : mapping of str to Interval
        These areas, as "AURC", "E-AURC" and "AUGRC", with limits or the reason why there are none.
    n_samples, n_distinct : int
        Number of rows, and of distinct confidences, between which coverage jumps.
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
        The probability, over random rows from which the threshold is found, that the error rate among answered rows
        exceeds `max_risk` is at most 1 - `confidence`.
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
        The thresholds that were tested, in order; the first that fails ends the search.
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
