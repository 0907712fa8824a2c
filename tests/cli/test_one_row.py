"""One class plus one row: a new metric, test or calibrator is found wherever the others are."""

import importlib.util
import inspect
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import doc_tables
from calibrant import Forecasts, Normal, Predictions, assess, assess_forecasts
from calibrant.calibrators import CALIBRATORS
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS, ForecastCalibrator
from calibrant.calibrators.rules import Rule, vector
from calibrant.cli import main
from calibrant.hypotest import TESTS, CalibrationTest
from calibrant.metrics import FORECAST_METRICS, METRICS, Metric
from calibrant.metrics.forecasts.metric import ForecastScore
from calibrant.report import render_html
from calibrant.results import TestResult
from naming import each

RNG = np.random.default_rng(0)
P = RNG.random(200)
DATA = Predictions(P, (RNG.random(200) < P).astype(int))


@pytest.fixture
def file(tmp_path):
    rows = (f"{p},{y}" for p, y in zip(P, DATA.labels, strict=True))
    path = tmp_path / "p.csv"
    path.write_text("\n".join(["proba_1,label", *rows]))
    return str(path)


@pytest.fixture
def forecasts(tmp_path):
    rows = (f"{p},1,{y}" for p, y in zip(P, P + RNG.normal(size=200), strict=True))
    path = tmp_path / "f.csv"
    path.write_text("\n".join(["mu,sigma,y", *rows]))
    return [str(path), "--label", "y", "--mean", "mu", "--sd", "sigma", "--quiet"]


def contract(path):
    """A module of tests as it would be with the rows that the tables have now."""
    spec = importlib.util.spec_from_file_location("fresh", Path(__file__).parents[1] / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def keeps_its_promises(tests, **row):
    """Run every test of a class of contract tests with one row."""
    promises = [test for name, test in vars(tests).items() if name.startswith("test_")]
    assert len(promises) >= 5
    for test in promises:
        inspect.unwrap(test)(tests(), **row)


def lines_of_code(kind):
    """Lines without the docstring and empty lines."""
    text = inspect.getsource(kind).replace(f'"""{kind.__doc__}"""', "")
    return sum(bool(line.strip()) for line in text.splitlines())


@dataclass(frozen=True)
class LargestResidual(Metric):
    """The largest distance of a prediction from its outcome."""

    label, meaning, caution = "Largest residual", "Of any row.", "is no mean"
    group, principal = "Mine", True
    family, measures = "rank", "both"

    def prepare(self, predictions):
        residuals = np.abs(predictions.residuals[:, 1])
        return lambda weights: np.where(weights > 0, residuals[:, None], 0.0).max(axis=0)


@dataclass(frozen=True)
class HalfTest(CalibrationTest):
    """A test that always answers one half."""

    label, meaning, caution, principal = "Half", "Nothing at all.", "Never valid.", True

    def run(self, data, rng, progress):
        return TestResult(name="HalfTest()", statistic=1.0, pvalue=0.5)


@dataclass(eq=False, repr=False)
class Popular(Calibrator):
    """Multiply the odds of every class by its number of rows."""

    kind, preserves_argmax, n_parameters = "parametric", False, "K"
    data_efficiency, expressiveness, use_when = "high", "low", "Only in this test."
    rules = (Rule(("shift_",), lambda shift: vector(shift).min() >= 0, "must not be negative"),)
    scores: str = "probs"

    def _fit(self, log_probs, labels, weights):
        self.shift_ = np.log1p(np.bincount(labels, weights, log_probs.shape[1]))

    def _apply(self, log_probs):
        return log_probs + self.shift_

    def _operations(self, x, k):
        return x + self.shift_


@dataclass(frozen=True)
class LargestMiss(ForecastScore):
    """The distance of a target from its predicted mean."""

    label, meaning, group, principal = "Largest miss", "Of any target.", "Mine", True
    measures = "both"

    def per_row(self, forecasts):
        return np.abs(forecasts.targets - forecasts.distribution.mean())


class MeanError(ForecastCalibrator):
    """Shift all laws by the mean error."""

    n_parameters = "1"
    use_when = "Only in this test."

    def _fit(self, forecasts):
        self.error_ = np.average(forecasts.targets - forecasts.distribution.mean(), weights=forecasts.weights)

    def _apply(self, distribution):
        return distribution.affine(np.full(distribution.n, self.error_), np.ones(distribution.n))


WORDS = {
    "Mine",
    "largest-residual",
    "Largest residual",
    "Of any row.",
    "is no mean",
    "`half`",
    "Nothing at all.",
    "Never valid.",
    "popular",
    "Popular",
    "largest-miss",
    "Largest miss",
    "Of any target.",
    "mean-error",
    "MeanError",
}
"""By these the tests below find the new rows."""


@each("kind", [LargestResidual, HalfTest, Popular, LargestMiss, MeanError])
def test_a_class_is_ten_lines_or_little_more(kind):
    assert lines_of_code(kind) <= 13


def test_no_row_is_found_before_it_is_added(file, forecasts, capsys, tmp_path):
    few, pages = ["--quiet", "--resamples", "19"], [str(tmp_path / name) for name in ("classes.html", "forecasts.html")]
    assert main(["evaluate", file, *few]) == main(["evaluate", *forecasts, "--resamples", "19"]) == 0
    assert main(["test", file, "--test", "all"]) == 0
    assert main(["recommend", file, "--candidates", "ts", *few]) == 0
    assert main(["recommend", *forecasts, "--candidates", "scale", "--resamples", "19"]) == 0
    assert main(["report", file, "--calibrate", "ts", *few, "--out", pages[0]]) == 0
    assert main(["report", *forecasts, "--calibrate", "scale", "--resamples", "19", "--out", pages[1]]) == 0
    found = [capsys.readouterr().out, *(Path(page).read_text() for page in pages)]
    found += [doc_tables.metrics_table(), doc_tables.metrics_table(FORECAST_METRICS), doc_tables.tests_table()]
    found += [doc_tables.calibrators_table(), doc_tables.forecast_calibrators_table()]
    assert [word for word in sorted(WORDS) if any(word in text for text in found)] == []


def test_a_metric(file, capsys, monkeypatch):
    monkeypatch.setitem(METRICS, "largest-residual", LargestResidual())
    assert main(["evaluate", file, "--quiet", "--resamples", "19"]) == 0
    shown = capsys.readouterr().out
    assert "Mine" in shown
    assert "largest-residual is no mean" in shown
    source = render_html(assess(DATA, n_resamples=19, rng=0))
    assert "Largest residual" in source
    assert "Of any row." in source
    assert "The Largest residual is no mean." in source
    assert "| `largest-residual` | Largest residual | Mine |" in doc_tables.metrics_table()
    promises = contract("metrics/test_metric_contract.py")
    assert "largest-residual" in promises.every_metric.rows
    keeps_its_promises(promises.TestEveryMetric, metric=LargestResidual(), k=2)


def test_a_test(file, capsys, monkeypatch):
    monkeypatch.setitem(TESTS, "half", HalfTest())
    assert main(["test", file, "--test", "half"]) == 0
    assert "Detects: Nothing at all.\n  Never valid." in capsys.readouterr().out
    source = render_html(assess(DATA, n_resamples=19, rng=0))
    assert "Nothing at all." in source
    assert "Never valid." in source
    assert "| `half` | `HalfTest` | Half | Nothing at all. | Never valid. |" in doc_tables.tests_table()
    promises = contract("metrics/test_weights.py")
    assert "half" in promises.every_test.rows
    inspect.unwrap(promises.test_a_constant_factor_changes_no_test)(HalfTest())
    with pytest.raises(AssertionError):  # The contract fails for what does not keep it: this test ignores weights.
        inspect.unwrap(promises.test_weights_matter_to_every_test)(HalfTest())


def test_a_calibrator(file, capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(CALIBRATORS, "popular", Popular)
    few = ["--quiet", "--resamples", "19"]
    assert main(["recommend", file, "--candidates", "popular", *few]) == 0
    assert "popular" in capsys.readouterr().out
    assert main(["report", file, "--calibrate", "popular", *few, "--out", str(tmp_path / "page.html")]) == 0
    assert "popular" in (tmp_path / "page.html").read_text()
    assert "| `popular` | `Popular` |" in doc_tables.calibrators_table()
    promises = contract("calibrators/test_calibrators.py")
    assert "popular" in promises.every_calibrator.rows
    keeps_its_promises(promises.TestEveryCalibrator, build=Popular, k=3)


def test_a_metric_of_forecasts(forecasts, capsys, monkeypatch):
    monkeypatch.setitem(FORECAST_METRICS, "largest-miss", LargestMiss())
    assert main(["evaluate", *forecasts, "--resamples", "19"]) == 0
    shown = capsys.readouterr().out
    assert "Mine" in shown
    assert "largest-miss" in shown
    source = render_html(assess_forecasts(Forecasts(Normal(P, 1.0), P), n_resamples=19, rng=0))
    assert "Largest miss" in source
    assert "Of any target." in source
    assert "| `largest-miss` | Largest miss | Mine |" in doc_tables.metrics_table(FORECAST_METRICS)
    assert "largest-miss" in contract("metrics/test_weights.py").every_forecast_metric.rows


def test_a_calibrator_of_forecasts(forecasts, capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(FORECAST_CALIBRATORS, "mean-error", MeanError)
    few = ["--resamples", "19"]
    assert main(["recommend", *forecasts, "--candidates", "mean-error", *few]) == 0
    assert "mean-error" in capsys.readouterr().out
    assert main(["report", *forecasts, "--calibrate", "mean-error", *few, "--out", str(tmp_path / "page.html")]) == 0
    assert "mean-error" in (tmp_path / "page.html").read_text()
    assert "| `mean-error` | `MeanError` |" in doc_tables.forecast_calibrators_table()
    assert "name='mean-error'" in contract("calibrators/test_forecast_calibrators.py").every_calibrator.rows
