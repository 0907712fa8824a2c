"""Results written out."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant import as_record, assess, reliability_curve, to_frame
from calibrant.calibrators import TemperatureScaling
from calibrant.metrics import METRICS
from calibrant.results import (
    Compared,
    Difference,
    Estimate,
    Interval,
    TestResult,
    favours,
    known_limits,
)
from naming import each
from simulate import calibrated


def test_a_record_survives_json():
    record = as_record(assess(calibrated(), n_resamples=19, rng=0))
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["n_samples"] == 400
    assert len(record["test"]["null"]) == 19


@each("value, written", [(math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan"), (0.5, 0.5)])
def test_numbers_that_json_lacks_are_written_as_words(value, written):
    assert as_record(Estimate(name="x", value=value))["value"] == written


def test_details_of_any_kind_become_plain_values():
    details = {"array": np.arange(2), "scalar": np.float64(1.5), "tuple": (1, "a"), "set": {3}, 7: object}
    record = as_record(Estimate(name="x", value=1.0, details=details))["details"]
    assert record == {"array": [0, 1], "scalar": 1.5, "tuple": [1, "a"], "set": [3], "7": str(object)}


@each("backend, kind", [("polars", pl.DataFrame), ("pandas", pd.DataFrame), ("pyarrow", pa.Table)])
def test_a_curve_becomes_a_frame_with_a_row_for_each_point(backend, kind):
    curve = reliability_curve(calibrated(k=2))
    frame = to_frame(curve, backend=backend)
    assert isinstance(frame, kind)
    assert frame.shape == (len(curve.predicted), 8)


def test_named_estimates_become_a_frame_with_a_row_each():
    p = calibrated()
    frame = to_frame({key: metric.estimate(p) for key, metric in METRICS.items()}, backend="polars")
    assert frame["key"].to_list() == list(METRICS)
    assert frame["value"].to_list() == [metric(p) for metric in METRICS.values()]


def test_a_sequence_and_a_single_result_become_rows():
    result = TestResult(name="t", statistic=1.0, pvalue=0.5)
    assert to_frame([result, result], backend="polars").shape == (2, 3)
    assert to_frame(result, backend="polars")["pvalue"].to_list() == [0.5]


def test_results_cannot_be_changed():
    result = Estimate(name="x", value=1.0)
    with pytest.raises(AttributeError):
        result.value = 2.0


def difference(low, high, **settings):
    significant = low is not None and (low > 0 or high < 0)
    return Difference(value=0.5, low=low, high=high, pvalue=0.5, adjusted=0.5, is_significant=significant, **settings)


def test_limits_are_known_or_not():
    value = Interval(name="NLL()", value=1.0, low=0.5, high=2.0, level=0.9, method="x")
    assert known_limits(value) == (0.5, 2.0)
    assert known_limits(difference(0.1, 0.2)) == (0.1, 0.2)
    assert known_limits(difference(None, None)) is known_limits(None) is None


def test_a_difference_favours_by_its_limits_and_by_what_is_better():
    def side(low, high, better):
        entry = Compared(model="b", metric="m", better=better, value=1.0, difference=difference(low, high))
        return favours(entry)

    assert [side(-2, -1, better) for better in ("lower", "higher", "none")] == [1, -1, 0]
    assert [side(1, 2, better) for better in ("lower", "higher", "none")] == [-1, 1, 0]
    assert side(-1, 1, "lower") == side(None, None, "lower") == 0
    assert favours(Compared(model="a", metric="m", better="lower", value=1.0)) == 0


def test_the_record_of_a_calibrator_is_its_text_which_says_what_it_has_learnt():
    fitted = TemperatureScaling().fit([0.9, 0.1, 0.8, 0.2, 0.7], [1, 0, 0, 0, 1])
    assert as_record({"calibrator": fitted}) == {"calibrator": str(fitted)}
    assert "temperature_" in str(fitted)
