"""Outcomes of measuring, testing and assessing, and how any outcome is written out."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.results.reading import Readable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from calibrant.results.forecasts import ForecastAssessment
    from calibrant.results.ranking import ROCOutline

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.results.comparison import Interval
from calibrant.results.curves import ClasswiseCurves, CumulativeCurve, ReliabilityCurve
from calibrant.results.estimate import Description, Estimate, Measures, ScoreDecomposition
from calibrant.results.parts import parts_in_words
from calibrant.results.reading import main_rows
from calibrant.results.verdict import Verdict


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TestResult(Readable):
    """Outcome of a test of the hypothesis that the predictions are calibrated.

    Attributes
    ----------
    name : str
        The test with its settings.
    statistic : float
    pvalue : float
        Probability, under calibration, of a statistic at least this large; never 0.
    estimate : float or None
        The calibration error that the statistic is built on.
    null : ndarray or None
        Draws of the statistic under calibration, where the test made them.
    details : mapping
    about : Description or None
        What the test sees, and what its validity rests on.
    """

    __test__ = False  # Not a test case, despite its name.

    name: str
    statistic: float
    pvalue: float
    estimate: float | None = None
    null: FloatArray | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    about: Description | None = None

    def _printed(self) -> list[tuple[str, str]]:
        from calibrant.results.writing import bare_pvalue

        rows = dict(super()._printed())
        first = {"test": rows.pop("name"), "p-value": bare_pvalue(self.pvalue, smallest_pvalue(self))}
        left = {name: text for name, text in rows.items() if name not in ("pvalue", "null", "about")}
        if "parts" in self.details:
            left = {name: text for name, text in left.items() if name != "details"} | parts_in_words(self.details)
        return [*(first | left).items()]


def smallest_pvalue(test: TestResult) -> float | None:
    """Return the least p-value that the test can give, also where its redraws were not kept; None if not known."""
    known = test.details.get("smallest_pvalue")
    if known is not None:
        return float(known)
    return None if test.null is None else 1 / (1 + len(test.null))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ClassSummary(Readable):
    """One class against the rest.

    Attributes
    ----------
    name : str
    n_observed : int
        Rows whose label is the class.
    predicted, observed : float
        Mean predicted probability and frequency of the class.
    error : float
        ECE of the class against the rest.
    """

    name: str
    n_observed: int
    predicted: float
    observed: float
    error: float


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Assessment(Readable):
    """Everything that a report shows about one set of predictions.

    What belongs to a section that was not requested is empty, or None.

    Attributes
    ----------
    name : str
    n_samples, n_classes : int
    verdict : Verdict
    test : TestResult
        The one behind the verdict.
    metrics : mapping of str to Estimate
        By their name in `METRICS`.
    curve : ReliabilityCurve or None
        Confidence against correctness; for two classes, probability of class 1 against its frequency.
    classes : tuple of ClassSummary
    groups : mapping of str to Assessment
        The same for parts of the rows, if requested.
    settings : mapping
        Seed, resamples, version, tolerance, and which sections were computed.
    curves : mapping of str to ReliabilityCurve
        Other curves of what `curve` shows, by how they are made: "isotonic", "kernel".
    cumulative : CumulativeCurve or None
        Running sum of outcomes minus predictions, of what `curve` shows.
    decompositions : tuple of ScoreDecomposition
        The squared error and the log loss in parts.
    ranking : ROCOutline or None
        How well what `curve` shows is ranked; None if the event always happened, or never.
    classwise : ClasswiseCurves or None
        A curve of every class against the rest, for more than two classes.
    adjusted : mapping of str to float
        The p-value of every group, adjusted for their number by Holm's method.
    intervals : mapping of str to Interval
        Confidence limits of those metrics for which a valid method is known, by their name in `METRICS`.
    tests : mapping of str to TestResult
        Other tests than `test`, by their name in `TESTS`, without their null draws.
    """

    name: str
    n_samples: int
    n_classes: int
    verdict: Verdict
    test: TestResult
    metrics: Mapping[str, Estimate] = field(default_factory=dict)
    curve: ReliabilityCurve | None = None
    classes: tuple[ClassSummary, ...] = ()
    groups: Mapping[str, "Assessment"] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    curves: Mapping[str, ReliabilityCurve] = field(default_factory=dict)
    cumulative: CumulativeCurve | None = None
    decompositions: tuple[ScoreDecomposition, ...] = ()
    ranking: "ROCOutline | None" = None
    classwise: ClasswiseCurves | None = None
    adjusted: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    tests: Mapping[str, TestResult] = field(default_factory=dict)

    def _printed(self) -> list[tuple[str, str]]:
        return main_rows(self, self.intervals)


def as_record(result: object) -> Any:
    """Turn a result into dictionaries, lists, numbers and strings that JSON can hold.

    Numbers that JSON lacks become the strings "inf", "-inf" and "nan".

    Examples
    --------
    >>> as_record(Estimate(name="NLL()", value=float("inf")))
    {'name': 'NLL()', 'value': 'inf', 'details': {}, 'about': None}
    """
    if type(result) is float:  # Most parts of a result are.
        return result if math.isfinite(result) else str(result)
    if is_dataclass(result) and not isinstance(result, type):
        return {f.name: as_record(getattr(result, f.name)) for f in fields(result)}
    if isinstance(result, Mapping):
        return {str(key): as_record(value) for key, value in result.items()}
    if isinstance(result, np.ndarray):
        return as_record(result.tolist())
    if isinstance(result, np.generic):
        return as_record(result.item())
    if isinstance(result, float):
        return result if np.isfinite(result) else str(result)
    if isinstance(result, Iterable) and not isinstance(result, str):
        return [as_record(value) for value in result]
    return result if isinstance(result, (str, int, bool, type(None))) else str(result)


def to_frame(result: object, *, backend: str | None = None) -> Any:
    """Turn a result into a data frame.

    Parameters
    ----------
    result : result, sequence of results, or mapping of names to results
        A curve gives one row per point, and the curves of all classes form one long frame; a recommendation one row per
        candidate; a sequence or mapping gives one row per result, with its scalar fields.
    backend : {"polars", "pandas", "pyarrow"}, optional
        The first of these that is installed, if not given.

    Returns
    -------
    polars.DataFrame, pandas.DataFrame or pyarrow.Table
    """
    import narwhals as nw

    backend = backend or next((name for name in ("polars", "pandas", "pyarrow") if find_spec(name)), None)
    if backend is None:
        raise InputError("to_frame needs a data frame library: pip install polars (or pandas, or pyarrow).")
    return nw.from_dict(_columns(result), backend=backend).to_native()  # type: ignore[arg-type]


def _columns(result: object) -> dict[str, list[object]]:
    if isinstance(result, ReliabilityCurve):
        return _points(result)
    if isinstance(result, ClasswiseCurves):
        return _long(result)
    from calibrant.results.advice import Recommendation
    from calibrant.results.learning import LearningCurve

    if isinstance(result, (LearningCurve, Recommendation)):
        return _columns(result.points if isinstance(result, LearningCurve) else result.candidates)
    if isinstance(result, Measures):
        return _columns(result.estimates)
    if isinstance(result, Mapping):
        rows = [{"key": str(key)} | _scalars(value) for key, value in result.items()]
    elif isinstance(result, Sequence):
        rows = [_scalars(value) for value in result]
    else:
        rows = [_scalars(result)]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _long(result: ClasswiseCurves) -> dict[str, list[object]]:
    tables = [_points(curve) for curve in result.curves]
    classes: list[object] = [name for name, table in zip(result.names, tables, strict=True) for _ in table["predicted"]]
    return {"class": classes} | {key: [value for table in tables for value in table[key]] for key in tables[0]}


def _points(curve: ReliabilityCurve) -> dict[str, list[object]]:
    arrays = {f.name: getattr(curve, f.name) for f in fields(curve)}
    return {name: array.tolist() for name, array in arrays.items() if isinstance(array, np.ndarray)}


def _scalars(result: Any) -> dict[str, object]:
    values = {f.name: getattr(result, f.name) for f in fields(result)}
    return {name: value for name, value in values.items() if isinstance(value, (str, int, float))}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Page(Readable):
    """One self-contained page; a notebook shows it.

    Attributes
    ----------
    title : str
    assessments : mapping of str to Assessment or ForecastAssessment
        What the page shows, by the names of the models.
    path : Path or None
        Where it was written.
    html : str
        The page itself.
    """

    title: str
    assessments: "Mapping[str, Assessment | ForecastAssessment]"
    path: Path | None = None
    html: str
