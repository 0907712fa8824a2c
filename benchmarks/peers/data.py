"""The data that both sides are given: arrays, as a user of either has them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Data:
    """Predictions that are 1.7 times too sure, or those of a real network."""

    name: str
    probs: np.ndarray
    labels: np.ndarray

    @property
    def shape(self):
        return self.probs.shape

    @property
    def binary(self):
        return self.probs.shape[1] == 2

    @cached_property
    def p1(self):
        return np.ascontiguousarray(self.probs[:, 1])

    @cached_property
    def given(self):
        """Return what a user has: one column of two classes, all of more."""
        return self.p1 if self.binary else self.probs

    @cached_property
    def confidence(self):
        """Return the binary view that errors of the top label look at: P(class 1), or the largest probability."""
        return self.p1 if self.binary else self.probs.max(axis=1)

    @cached_property
    def hits(self):
        """Return the outcomes of that view."""
        return self.labels if self.binary else (self.probs.argmax(axis=1) == self.labels).astype(np.int64)

    @cached_property
    def loc(self):
        return np.linspace(-2.0, 2.0, len(self.labels))

    @cached_property
    def scale(self):
        return 0.5 + self.p1

    @cached_property
    def targets(self):
        """Return numbers whose forecasts Normal(loc, scale) are a little too narrow."""
        rng = np.random.default_rng(1)
        return self.loc + 1.2 * self.scale * rng.normal(size=len(self.labels))

    @cached_property
    def draws(self):
        rng = np.random.default_rng(2)
        return self.loc[:, None] + self.scale[:, None] * rng.normal(size=(len(self.labels), 20))

    @cached_property
    def half(self):
        return len(self.labels) // 2


def simulated(n, k, seed=0):
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, k))
    labels = (logits + rng.gumbel(size=(n, k))).argmax(axis=1)
    return Data(f"{n:,} x {k}".replace(",", " "), _softmax(1.7 * logits), labels)


def network():
    """Return the test rows of a network for Fashion-MNIST that comes with the package: 10 000 x 10."""
    from calibrant.lab.datasets import load_logits

    _, test = load_logits("ce")
    return Data("network, 10 000 x 10", np.array(test.probs), np.array(test.labels))


def _softmax(logits):
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)
