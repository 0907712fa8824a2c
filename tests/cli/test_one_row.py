"""One class plus one row: a new metric, test or calibrator is found wherever the others are."""

from dataclasses import dataclass

import numpy as np
import pytest

from calibrant import Predictions, assess
from calibrant.calibrators import CALIBRATORS, TemperatureScaling
from calibrant.cli import main
from calibrant.hypotest import TESTS, CalibrationTest
from calibrant.metrics import METRICS, Metric
from calibrant.report import render_html
from calibrant.results import Description, TestResult

RNG = np.random.default_rng(0)
P = RNG.random(200)
DATA = Predictions(P, (RNG.random(200) < P).astype(int))


@pytest.fixture
def file(tmp_path):
    rows = (f"{p},{y}" for p, y in zip(P, DATA.labels, strict=True))
    path = tmp_path / "p.csv"
    path.write_text("\n".join(["proba_1,label", *rows]))
    return str(path)


@dataclass(frozen=True)
class LargestResidual(Metric):
    """The largest distance of a prediction from its outcome."""

    family = "rank"
    measures = "both"

    def about(self):
        return Description(label="Largest residual", meaning="Of any row.", group="Mine", principal=True)

    def prepare(self, predictions):
        residuals = np.abs(predictions.residuals[:, 1])
        return lambda weights: np.where(weights > 0, residuals[:, None], 0.0).max(axis=0)


@dataclass(frozen=True)
class HalfTest(CalibrationTest):
    """A test that always answers one half."""

    def about(self):
        return Description(label="Half", meaning="Nothing at all.", caution="Never valid.")

    def run(self, data, rng, progress):
        return TestResult(name="HalfTest()", statistic=1.0, pvalue=0.5)


class WarmerScaling(TemperatureScaling):
    """A temperature by another name."""


def test_a_metric(file, capsys, monkeypatch):
    monkeypatch.setitem(METRICS, "largest-residual", LargestResidual())
    assert main(["evaluate", file, "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "Mine" in shown
    assert "largest-residual" in shown
    source = render_html(assess(DATA, rng=0))
    assert "Largest residual" in source
    assert "Of any row." in source


def test_a_test(file, capsys, monkeypatch):
    monkeypatch.setitem(TESTS, "half", HalfTest())
    assert main(["test", file, "--test", "half"]) == 0
    assert "Detects: Nothing at all.\n  Never valid." in capsys.readouterr().out


def test_a_calibrator(file, capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(CALIBRATORS, "warmer", WarmerScaling)
    assert main(["recommend", file, "--candidates", "warmer", "--quiet"]) == 0
    assert "warmer" in capsys.readouterr().out
