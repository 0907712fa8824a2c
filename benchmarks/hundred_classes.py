"""Models of a hundred classes, of which a draw has five or ten rows for each: stand-ins for a network on CIFAR-100.

Their rows are made anew for every draw. Choices are made by the first half, the second is looked at once.
"""

from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import log_softmax
from stack_models import Model

from calibrant import Predictions

HUNDRED = "a hundred classes"
"""Group of these models."""

CLASSES, NEW_ROWS, KNOWN_ROWS = 100, 5000, 12000


class FreshModel(Model):
    """A model whose `load` also takes the number of rows and the draw."""

    def drawn(self, n, draw):
        return tuple(Predictions.from_logits(*part) for part in self.load(*self.arguments, n, draw))


def hundred_classes(folder):
    """Return the models; those of pairs are of the networks on CIFAR-10 that are in `folder`."""
    networks = [
        ("pairs of densenet169", pairs, ("densenet169", None), {500: 10, 1000: 10}, True),
        ("pairs of wide ResNet", pairs, ("wideresnet-16-4", None), {500: 20, 1000: 15}, True),
        ("pairs of densenet169, ts is right", pairs, ("densenet169", 1.7), {500: 60, 1000: 40}, True),
        ("pairs of vgg13", pairs, ("vgg13_bn", None), {500: 13, 1000: 10}, False),
        ("pairs of mobilenet", pairs, ("mobilenet_v2", None), {500: 13, 1000: 10}, False),
        ("pairs of vgg13, ts is right", pairs, ("vgg13_bn", 1.5), {500: 13, 1000: 40}, False),
        ("pairs of wide ResNet, ts is right", pairs, ("wideresnet-16-4", 1.3), {500: 13, 1000: 40}, False),
    ]
    others = [
        ("network, 0", halves, (groups, 0.5, 20000, 30, 1e-4, 0), {500: 20, 1000: 15}, True),
        ("network, 1", halves, (groups, 0.45, 12000, 25, 1e-3, 1), {500: 13, 1000: 10}, False),
        ("network on two digits, 0", halves, (two_digits, (128,), 8000, 40, 0.25, 0), {500: 20, 1000: 15}, True),
        ("network on two digits, 1", halves, (two_digits, (200, 100), 12000, 20, 0.3, 1), {500: 12, 1000: 10}, False),
        ("simulated, 0", alike, (1.7, 0.15, 0.05, 0.3, 0), {500: 20, 1000: 14}, True),
        ("simulated, 1", alike, (2.2, 0.1, 0.1, 0.5, 1), {500: 12, 1000: 10}, False),
    ]
    for name, load, (network, temperature), draws, is_first in networks:
        file = Path(folder or "") / f"{network}-cifar-10.npz"
        if file.exists():
            others.append((name, load, (str(file), temperature), draws, is_first))
    return [
        FreshModel(HUNDRED, name, load, arguments, draws, is_first) for name, load, arguments, draws, is_first in others
    ]


@cache
def network_of(file):
    with np.load(file) as arrays:
        labels = arrays["ground_truth"].ravel().astype(int)
        return np.log(np.maximum(arrays["predictions"].astype(float), 1e-45)), labels


def pairs(file, temperature, n, draw):
    """Return pairs of rows of a network, p(a, b) = p(a) p(b), with both labels, or those a temperature is right for."""
    log_probs, labels = network_of(file)
    rng, order = np.random.default_rng([draw, n]), np.random.default_rng(draw).permutation(len(labels))

    def made(rows, size):
        one, other = rng.choice(rows, size), rng.choice(rows, size)
        both = log_softmax((log_probs[one][:, :, None] + log_probs[other][:, None, :]).reshape(size, CLASSES), axis=1)
        owners = 10 * labels[one] + labels[other]
        if temperature is not None:
            owners = (both / temperature + rng.gumbel(size=both.shape)).argmax(axis=1)
        return both, owners

    half = len(order) // 2
    return made(order[:half], n), made(order[half:], NEW_ROWS)


def halves(make, *settings_and_draw):
    """Return rows of a trained network: half of them may be fitted to, of the others some are new."""
    *settings, n, draw = settings_and_draw
    log_probs, labels = make(*settings)
    order = np.random.default_rng(draw).permutation(len(labels))
    half = len(order) // 2
    some, new = np.random.default_rng([draw, n]).permutation(order[:half])[:n], order[half:][:NEW_ROWS]
    return (log_probs[some], labels[some]), (log_probs[new], labels[new])


@cache
def groups(spread, n_train, n_epochs, alpha, seed):
    """Return what a network says about simulated inputs; groups of five classes are alike."""
    fixed, rng, d = np.random.default_rng([CLASSES, 7 + seed]), np.random.default_rng([seed, 1]), 40
    own, shared = fixed.normal(size=(CLASSES, d)), np.repeat(fixed.normal(size=(CLASSES // 5, d)), 5, axis=0)
    centres = spread * (own + 1.2 * shared)
    mixing, scales = fixed.normal(size=(d, d)) / np.sqrt(d), np.exp(0.1 * fixed.normal(size=CLASSES))

    def rows(n):
        labels = rng.integers(CLASSES, size=n)
        inputs = centres[labels] + scales[labels, None] * rng.normal(size=(n, d))
        return np.tanh(inputs @ mixing) + 0.5 * inputs, labels

    return trained((256,), n_epochs, alpha, seed, rows(n_train), rows(KNOWN_ROWS))


@cache
def two_digits(hidden, n_train, n_epochs, noise, seed):
    """Return what a network says about two real digits at once, with noise; it was trained on half of the digits."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    images, rng = images / 16.0, np.random.default_rng([seed, 3])
    order, half = rng.permutation(len(digits)), len(digits) // 2

    def rows(known, n):
        one, other = rng.choice(known, n), rng.choice(known, n)
        inputs = np.concatenate([images[one], images[other]], axis=1) + noise * rng.normal(size=(n, 128))
        return inputs, 10 * digits[one] + digits[other]

    train, new = rows(order[:half], n_train), rows(order[half:], KNOWN_ROWS)
    return trained(hidden, n_epochs, 1e-4, seed, train, new)


def trained(hidden, n_epochs, alpha, seed, train, new):
    """Return log-probabilities and labels of new rows."""
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier(hidden, max_iter=n_epochs, random_state=seed, learning_rate_init=2e-3, alpha=alpha)
    network.fit(*train)
    outputs, labels = new
    *layers, last = zip(network.coefs_, network.intercepts_, strict=True)  # Its probabilities would be rounded to 0.
    for coef, intercept in layers:
        outputs = np.maximum(outputs @ coef + intercept, 0.0)
    return log_softmax(outputs @ last[0] + last[1], axis=1), labels


def alike(sharpness, bias, scale, likeness, seed, n, draw):
    """Return log-probabilities that are too sharp; groups of five classes are alike, and classes differ a little."""
    fixed, rng = np.random.default_rng([seed, 5]), np.random.default_rng([seed, n, draw])
    scales, biases = np.exp(scale * fixed.normal(size=CLASSES)), bias * fixed.normal(size=CLASSES)

    def made(size):
        own, shared = rng.normal(size=(size, CLASSES)), np.repeat(rng.normal(size=(size, CLASSES // 5)), 5, axis=1)
        logits = 4.5 * (np.sqrt(1 - likeness) * own + np.sqrt(likeness) * shared)
        labels = (logits * scales + biases + rng.gumbel(size=logits.shape)).argmax(axis=1)
        return log_softmax(sharpness * logits, axis=1), labels

    return made(n), made(NEW_ROWS)
