"""Any result as a record for JSON, and as a data frame."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from calibrant.exceptions import InputError
from calibrant.results.curves import ClasswiseCurves, ReliabilityCurve
from calibrant.results.estimate import Measures


def as_record(result: object) -> Any:
    """Turn a result into dictionaries, lists, numbers and strings that JSON can hold.

    Numbers that JSON lacks become the strings "inf", "-inf" and "nan".

    Examples
    --------
    >>> from calibrant.results import Estimate
    >>> as_record(Estimate(name="NLL()", value=float("inf")))
    {'name': 'NLL()', 'value': 'inf', 'details': {}, 'about': None}
    """
    if type(result) is float:  # Most parts of a result are.
        return result if math.isfinite(result) else str(result)
    # A calibrator is written as its text, which says what it has learnt; its fields are only its settings.
    if is_dataclass(result) and not isinstance(result, type) and not hasattr(result, "fit"):
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
        By default the first of these that is installed.

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
    from calibrant.results.advice import LearningCurve, Recommendation

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
