"""The conventions of other packages, reproduced and checked against the packages themselves."""

import itertools

import numpy as np
import pytest
import torch
from sklearn.calibration import calibration_curve

from calibrant import Predictions, reliability_curve
from calibrant.binning import EqualMass, EqualWidth
from calibrant.binning.interval import torch_edges
from calibrant.metrics import ECE
from naming import each
from simulate import calibrated


def round_probabilities(n=500, seed=0):
    """Probabilities in steps of 0.05, where conventions differ, with exact zeros and ones."""
    rng = np.random.default_rng(seed)
    probs = rng.integers(0, 21, n) / 20
    return probs, (rng.random(n) < probs**1.3).astype(int)


@each("n_bins", [5, 10, 15, 20])
@pytest.mark.parametrize(
    "strategy, binning", [("uniform", EqualWidth), ("quantile", EqualMass)], ids=["uniform", "quantile"]
)
def test_scikit_learn_curve(n_bins, strategy, binning):
    probs, labels = round_probabilities()
    observed, predicted = calibration_curve(labels, probs, n_bins=n_bins, strategy=strategy)
    curve = reliability_curve(Predictions(probs, labels), binning(n_bins, convention="scikit-learn"))
    assert curve.observed == pytest.approx(observed)
    assert curve.predicted == pytest.approx(predicted)


@pytest.mark.parametrize("n_bins", [5, 10, 15, 20, 33])
def testtorch_edges(n_bins):
    assert np.array_equal(torch_edges(n_bins), torch.linspace(0, 1, n_bins + 1, dtype=torch.float64).numpy())


@each("n_bins", [5, 10, 15, 20])
@each("name, norm", [("l1", 1), ("l2", 2), ("max", np.inf)])
def test_torchmetrics_binary(n_bins, name, norm):
    from torchmetrics.functional.classification import binary_calibration_error

    probs, labels = round_probabilities()
    theirs = binary_calibration_error(torch.tensor(probs), torch.tensor(labels), n_bins=n_bins, norm=name)
    ours = ECE(EqualWidth(n_bins, convention="torchmetrics"), norm)(Predictions(probs, labels))
    assert ours == pytest.approx(float(theirs))


def test_torchmetrics_multiclass():
    from torchmetrics.functional.classification import multiclass_calibration_error

    p = calibrated(n=800, k=4)
    theirs = multiclass_calibration_error(torch.tensor(p.probs), torch.tensor(p.labels), num_classes=4, n_bins=10)
    assert ECE(EqualWidth(10, convention="torchmetrics"))(p) == pytest.approx(float(theirs))


def test_torchmetrics_puts_one_into_a_bin_of_its_own():
    p = Predictions([0.95, 1.0], [1, 0])
    assert ECE(EqualWidth(10, convention="torchmetrics"))(p) == pytest.approx(0.525)
    assert ECE(EqualWidth(10))(p) == pytest.approx(0.475)


def guo_by_definition(probs, labels, n_bins):
    """The loop of the paper's companion code: confidences in (lower, upper], shares of all rows."""
    edges, total = np.linspace(0, 1, n_bins + 1), 0.0
    for lower, upper in itertools.pairwise(edges):
        inside = (probs > lower) & (probs <= upper)
        if inside.any():
            total += inside.mean() * abs(probs[inside].mean() - labels[inside].mean())
    return total


@each("n_bins", [5, 10, 15, 20])
def test_guo_leaves_exact_zeros_out(n_bins):
    probs, labels = round_probabilities()
    labels[probs == 0] = 1
    p = Predictions(probs, labels)
    ours = ECE(EqualWidth(n_bins, convention="guo"))(p)
    assert ours == pytest.approx(guo_by_definition(probs, labels, n_bins))
    assert ours < ECE(EqualWidth(n_bins))(p)
