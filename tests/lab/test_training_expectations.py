"""What penalties are on average over labels that calibrated probabilities draw, by formulas of their own."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, softmax

torch = pytest.importorskip("torch")

from calibrant.lab.training import PENALTIES  # noqa: E402 (PyTorch may be missing)
from training_cases import one_thread  # noqa: E402, F401 (a fixture)

ROOTS = ("mmce", "sb-ece")
"""Penalties that are roots: the mean of their squares is known."""


def confidences(logits, truth):
    """Return confidences, and how likely each prediction is right."""
    probs = softmax(logits, axis=1)
    return probs.max(axis=1), truth[np.arange(len(probs)), probs.argmax(axis=1)]


def mmce(logits, truth):
    """Pairs of different rows have a mean of their means; a row with itself has its variance as well."""
    c, q = confidences(logits, truth)
    kernel = np.exp(-np.abs(c[:, None] - c) / 0.4)
    return ((q - c) @ kernel @ (q - c) + np.sum(q * (1 - q))) / len(c) ** 2


def skce(logits, truth, kernel=lambda d: np.exp(-(d**2) / 2)):
    p = softmax(logits, axis=1)
    n, r = len(p), truth - p
    pairs = kernel(np.linalg.norm(p[:, None] - p, axis=2)) * (r @ r.T)
    return (pairs.sum() - np.trace(pairs)) / (n * (n - 1))


def kde_ece(logits, truth):
    """The labels of the other rows, weighed by the kernel, have a mean and a variance."""
    p = softmax(logits, axis=1)
    logs = np.log(p) @ p.T / 0.1 - gammaln(p / 0.1 + 1).sum(axis=1)
    np.fill_diagonal(logs, -np.inf)
    weights = softmax(logs, axis=1)
    return np.mean(np.sum((weights @ truth - p) ** 2 + weights**2 @ (truth * (1 - truth)), axis=1))


def soft_binned_ece(logits, truth):
    c, q = confidences(logits, truth)
    shares = softmax(-((c[:, None] - (np.arange(15) + 0.5) / 15) ** 2) / 0.01, axis=1)
    squares = ((q - c) @ shares) ** 2 + (q * (1 - q)) @ shares**2
    return np.sum(squares / shares.sum(axis=0)) / len(c)


MEANS = {
    "mmce": mmce,
    "skce": skce,
    "skce-exponential": lambda logits, truth: skce(logits, truth, lambda d: np.exp(-d)),
    "kde-ece": kde_ece,
    "sb-ece": soft_binned_ece,
}


def drawn(name, logits, labels):
    """Return a penalty, squared if it is a root, and its gradient."""
    z = torch.tensor(logits, requires_grad=True)
    value = PENALTIES[name](z, torch.tensor(labels))
    value = value**2 if name in ROOTS else value
    value.backward()
    return value.item(), z.grad.numpy()


def differences(function, logits, step=1e-5):
    found = np.zeros_like(logits)
    for at in np.ndindex(*logits.shape):
        moved = np.zeros_like(logits)
        moved[at] = step
        found[at] = (function(logits + moved) - function(logits - moved)) / (2 * step)
    return found


def test_every_penalty_has_a_mean():
    assert MEANS.keys() == PENALTIES.keys()


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_means_over_all_labels_are_those_of_the_formula(name, factor):
    """Every vector of labels of four rows, by its probability; with a factor of 0.5 the logits are twice too large."""
    logits = np.random.default_rng(0).normal(0, 1.5, (4, 3))
    truth = softmax(factor * logits, axis=1)
    value, gradient = 0.0, np.zeros_like(logits)
    for labels in product(range(3), repeat=4):
        weight = np.prod(truth[np.arange(4), labels])
        own, slope = drawn(name, logits, list(labels))
        value, gradient = value + weight * own, gradient + weight * slope
    assert value == pytest.approx(MEANS[name](logits, truth), rel=1e-9, abs=1e-12)
    assert gradient == pytest.approx(differences(lambda z: MEANS[name](z, truth), logits), abs=1e-8)


@pytest.mark.parametrize("name", PENALTIES)
def test_simulated_means_of_batches(name):
    """Of 64 rows of calibrated labels: 0 for the unbiased ones, else what chance makes of the others."""
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 1.5, (64, 4))
    truth = softmax(logits, axis=1)
    draws = (rng.random((200, 64, 1)) > truth.cumsum(axis=1)).sum(axis=2).clip(max=3)
    values = np.array([drawn(name, logits, labels)[0] for labels in draws])
    expected = MEANS[name](logits, truth)
    assert abs(values.mean() - expected) < 4 * values.std() / np.sqrt(len(values))
    if name.startswith("skce"):
        assert expected == pytest.approx(0, abs=1e-15)
    else:
        assert expected > 4 * values.std() / np.sqrt(len(values))  # Chance alone makes them positive.
