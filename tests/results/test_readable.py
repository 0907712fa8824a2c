"""Results, printed."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import calibrant
from calibrant import Forecasts, Normal, Predictions, assess, compare, recommend, reliability_curve
from calibrant.calibrators.forecasts import ConformalIntervals, check_intervals
from calibrant.decisions import decision_curve
from calibrant.metrics import ECE
from calibrant.results.drawing.notebook import FIGURES, TABLES
from calibrant.results.words.printed import PRINTED

RNG = np.random.default_rng(0)
P = RNG.random(300)
DATA = Predictions(P, (RNG.random(300) < P**2).astype(int))


@pytest.mark.parametrize(
    "result",
    [
        assess(DATA, rng=0),
        reliability_curve(DATA),
        compare({"a": DATA, "b": DATA}, metrics=["nll"], rng=0),
        recommend(DATA, candidates=["ts"], rng=0),
        ECE().estimate(DATA),
        decision_curve(DATA),
    ],
    ids=lambda result: type(result).__name__,
)
def test_results_print_in_a_few_short_lines_without_arrays(result):
    lines = repr(result).splitlines()
    assert lines[0] == type(result).__name__
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 110
    assert "array(" not in repr(result)


def test_what_prints_in_its_own_way_is_a_result():
    assert {*PRINTED, *TABLES, *FIGURES} <= set(calibrant.results.__all__)


def test_an_assessment_begins_with_its_verdict():
    shown = repr(assess(DATA, sections=("metrics",), metrics=["nll"], rng=0))
    assert "  verdict    Biased: it predicts class 1 too often" in shown
    assert f"  metrics    nll {calibrant.metrics.NLL()(DATA):.4g}" in shown


def test_a_comparison_and_advice_print_values_by_name():
    other = Predictions(P**2, DATA.labels)
    lines = repr(compare({"a": DATA, "b": other}, metrics=["nll", "ece"], rng=0)).splitlines()
    values = [calibrant.metrics.NLL()(p) for p in (DATA, other)]
    assert lines[1].startswith(f"  nll          a {values[0]:.4g}; b {values[1]:.4g} ({values[1] - values[0]:+.3g}*)")
    curve = calibrant.learning_curve(["ts"], DATA, [20, 50], n_repeats=2, metrics=["nll"], rng=0)
    assert "  ts, nll           20 rows " in repr(curve)
    advice = repr(recommend(DATA, candidates=["ts"], rng=0))
    assert "  nll of " in advice
    assert "…" not in advice.splitlines()[1]


def test_predictions_have_a_length_and_rows():
    assert len(DATA) == 300
    assert len(DATA[:10]) == 10
    assert len(DATA[DATA.labels == 1]) == DATA.labels.sum()
    assert DATA[-1].probs.tolist() == DATA.probs[-1:].tolist()
    assert [len(DATA[rows]) for rows in ([1, 2], np.array([5]), slice(None, None, 3))] == [2, 1, 100]


def test_predictions_of_an_estimator():
    X = RNG.normal(size=(200, 2))
    y = np.array(["b", "a"])[(X[:, 0] + RNG.normal(size=200) > 0).astype(int)]
    model = LogisticRegression().fit(X[:100], y[:100])
    found = Predictions.from_estimator(model, X[100:], y[100:], sample_weight=np.arange(1, 101))
    assert found.classes == ("a", "b")
    np.testing.assert_array_equal(found.probs, model.predict_proba(X[100:]))
    assert found.weights[-1] == 100
    with pytest.raises(TypeError, match="model must have predict_proba, but ndarray has none"):
        Predictions.from_estimator(X, X, y)


def test_bins_may_be_a_number():
    assert ECE(bins=7) == ECE(calibrant.binning.EqualWidth(7))
    assert calibrant.metrics.DebiasedECE(bins=7) == calibrant.metrics.DebiasedECE(calibrant.binning.EqualMass(7))
    for bad in (True, "many", 1.5):
        with pytest.raises(TypeError, match="bins must be a Binning such as"):
            ECE(bins=bad)


def test_intervals_that_promise_nothing_of_all_rows_print_too():
    """Of groups only each has a p-value: a part without one is shown by its name, or by its kind."""
    rng = np.random.default_rng(0)
    f = Forecasts(Normal(np.zeros(100), 1.0), rng.normal(size=100))
    found = check_intervals(ConformalIntervals(), f, np.repeat(["left", "right"], 50), rng=0)
    assert found.total.pvalue is None
    assert "  total      CoveredPart" in repr(found)
