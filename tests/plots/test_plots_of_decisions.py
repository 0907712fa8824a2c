"""The plots of decision curves and of risk against coverage."""

import numpy as np
import pytest

from calibrant import Predictions
from calibrant.decisions import coverage_at_risk, decision_curve, risk_coverage
from calibrant.plots import plot_decision_curve, plot_risk_coverage
from decision_cases import cancer


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax, label):
    return next(found for found in ax.lines if found.get_label() == label)


@pytest.mark.parametrize("joint", [True, False])
def test_a_decision_curve_shows_its_values_and_band(joint):
    y, _, p = cancer()
    curve = decision_curve(y, p, rng=0)
    ax = plot_decision_curve({"model": curve}, joint=joint)
    assert labels(ax) == ["model", "act on all", "act on none"]
    assert np.array_equal(line(ax, "model").get_ydata(), curve.net_benefit.value)
    assert np.array_equal(line(ax, "act on all").get_ydata(), curve.treat_all)
    top = np.nanmax(ax.collections[0].get_paths()[0].vertices[:, 1])
    band = curve.net_benefit.joint_high if joint else curve.net_benefit.high
    assert top == pytest.approx(band[np.isfinite(band)].max())


def test_a_single_curve_without_limits():
    ax = plot_decision_curve(decision_curve([1, 0, 0], [0.9, 0.2, 0.1], rng=0))
    assert labels(ax)[0] == "predictions"


def test_risk_and_the_coverage_that_is_kept():
    y, _, p = cancer()
    data = Predictions(p, y)
    kept = coverage_at_risk(data, max_risk=0.1)
    ax = plot_risk_coverage(risk_coverage(data), guarantee=kept)
    assert labels(ax)[1:] == ["wanted: at most 0.1", f"kept at {kept.coverage:.1%}, confidence 95%"]
    assert line(ax, labels(ax)[2]).get_xdata()[0] == kept.coverage


def test_few_confidences_are_points():
    said = Predictions([0.9, 0.9, 0.6], [1, 1, 0], classes=("wrong", "right"))
    ax = plot_risk_coverage({"answers": risk_coverage(said)})
    assert ax.lines[0].get_marker() == "o"
    assert ax.lines[0].get_ydata().tolist() == pytest.approx([0, 1 / 3])
