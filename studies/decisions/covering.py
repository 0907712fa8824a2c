"""How often limits of net benefits, costs, thresholds and base rates contain the true ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant import Predictions
from calibrant._border.types import BoolArray, FloatArray
from calibrant.decisions import (
    Costs,
    best_threshold,
    decision_curve,
    estimate_base_rate,
    estimate_base_rates,
    expected_cost,
)
from calibrant.intervals.methods import known_interval
from calibrant.intervals.sandwich import influence_difference
from calibrant.metrics import AUGRC, AURC, ExcessAURC, ExpectedCost, NetBenefit
from calibrant.resampling.bootstrap import Bootstrap


def binary(positive: FloatArray, labels: BoolArray, classes: tuple[str | int, ...] = (0, 1)) -> Predictions:
    """Return predictions of two classes that warn of nothing, as small draws would."""
    return Predictions._trusted(  # noqa: SLF001 (made of numbers that are right)
        np.column_stack([1 - positive, positive]), labels.astype(np.int64), np.ones(len(positive)), classes
    )


def answered(confidence: FloatArray, wrong: BoolArray) -> Predictions:
    """Return confidences in answers, and which were right."""
    return binary(confidence, ~wrong, ("wrong", "right"))


@dataclass(frozen=True)
class World:
    """Normal log-odds, and predictions whose log-odds are a multiple of them."""

    name: str
    mean: float
    sd: float
    slope: float

    def draw(self, n: int, rng: np.random.Generator) -> Predictions:
        """Return predictions of n rows."""
        z = rng.normal(self.mean, self.sd, n)
        labels = rng.random(n) < 1 / (1 + np.exp(-z))
        probs = 1 / (1 + np.exp(-self.slope * z))
        return binary(probs, labels)


CALIBRATED = World("14 % events, calibrated", -2.5, 1.5, 1.0)
EXTREME = World("14 % events, twice too extreme", -2.5, 1.5, 2.0)
RARE = World("2 % events, calibrated", -4.7, 1.2, 1.0)
WORLDS = (CALIBRATED, EXTREME, RARE)

USUAL = (0.02, 0.05, 0.1, 0.2, 0.4)
THRESHOLDS = {CALIBRATED: USUAL, EXTREME: USUAL, RARE: (0.01, 0.02, 0.05, 0.1)}

N_TRUE = 4_000_000
"""Rows behind a true value, whose error is then below a tenth of that of the largest samples."""


def net_benefit(world: World, n: int, runs: int, rng: np.random.Generator) -> list[float]:
    """Return the least and largest share over thresholds of limits that contain the true value, joint, and given."""
    t = THRESHOLDS[world]
    large = world.draw(N_TRUE, rng)
    true = np.array([NetBenefit(threshold)(large) for threshold in t])
    hits, given, joint, bands = np.zeros(len(t)), np.zeros(len(t)), 0, 0
    for _ in range(runs):
        band = decision_curve(world.draw(n, rng), thresholds=t, n_resamples=1000, rng=rng).net_benefit
        known = np.isfinite(band.low)
        hits += known & (band.low <= true) & (true <= band.high)
        given += known
        bands += bool(known.any())
        joint += bool(known.any()) and bool(np.all((band.joint_low <= true) & (true <= band.joint_high)))
    enough = given >= runs / 2
    shares = hits[enough] / given[enough]
    least, largest = (float(shares.min()), float(shares.max())) if len(shares) else (np.nan, np.nan)
    return [least, largest, joint / bands if bands else np.nan, float(given.mean() / runs)]


def cost(world: World, n: int, runs: int, rng: np.random.Generator) -> list[float]:
    """Return the share of limits of a cost that contain the true one, and in how many runs there are limits."""
    costs = Costs(1, 50) if world == RARE else Costs(1, 9)
    true = ExpectedCost(costs)(world.draw(N_TRUE, rng))
    return _covered(true, [expected_cost(world.draw(n, rng), costs=costs).cost for _ in range(runs)])


def threshold(world: World, n: int, runs: int, rng: np.random.Generator) -> list[float]:
    """Return the same of the best threshold."""
    target = 0.02 if world == RARE else 0.1
    true = 1 / (1 + np.exp(-world.slope * np.log(target / (1 - target))))
    return _covered(true, [best_threshold(world.draw(n, rng), threshold=target) for _ in range(runs)])


def _covered(true: float, found: Sequence[Any]) -> list[float]:
    """Return the share of limits that contain the true value, and in how many runs there are limits."""
    hits = [one.low <= true <= one.high for one in found if one.low is not None and one.high is not None]
    return [float(np.mean(hits)) if hits else np.nan, len(hits) / len(found)]


def base_rates(rate: float, n: int, runs: int, rng: np.random.Generator) -> list[float]:
    """Return how often limits of a base rate contain it, with logits that are right, and twice too large."""
    return [base_rate(rate, n, runs, rng, factor) for factor in (1.0, 2.0)]


def base_rate(rate: float, n: int, runs: int, rng: np.random.Generator, factor: float = 1.0) -> float:
    """Return how often the limits of a base rate contain it; logits are `factor` times too large."""
    hits = 0
    for _ in range(runs):
        s = rng.standard_normal(n) + 1.5 * (rng.random(n) < rate)
        probs = 1 / (1 + np.exp(-factor * (1.5 * s - 1.125)))
        found = estimate_base_rate(probs, 0.5)
        hits += found.low <= rate <= found.high
    return hits / runs


def labelled_base_rates(old: float, new: float, n: int, m: int, runs: int, rng: np.random.Generator) -> list[float]:
    """Return how often limits of a base rate contain it, if the old one is known from n rows, and new rows are m.

    Then how often those contain it that take the mean prediction of these rows, or the share of their labels, for the
    old base rate; and, with log-odds a quarter too large, how often the first do, and the mean estimate.
    """
    hits, total = np.zeros(4), 0.0
    for _ in range(runs):
        p, labels = _normal_scores(old, old, n, rng)
        q, _ = _normal_scores(new, old, m, rng)
        share = min(max(float(labels.mean()), 0.5 / n), 1 - 0.5 / n)
        for factor in (1.0, 1.25):
            here, there = (1 / (1 + np.exp(-factor * z)) for z in (p, q))
            found = estimate_base_rates(there, binary(here, np.zeros(n, dtype=bool)))  # Unlabelled.
            if found.low is None or found.high is None:
                raise ValueError(found.reason)
            covered = float(found.low[1] <= new <= found.high[1])
            if factor == 1:
                known = [estimate_base_rate(there, rate) for rate in (float(here.mean()), share)]
                hits[:3] += [covered, *(limits.low <= new <= limits.high for limits in known)]
            else:
                hits[3] += covered
                total += float(found.value[1])
    return [*(hits / runs).tolist(), total / runs]


def _normal_scores(rate: float, old: float, n: int, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
    """Return log-odds that are right at the old base rate, and labels of rows with another."""
    labels = rng.random(n) < rate
    return 1.5 * (rng.standard_normal(n) + 1.5 * labels) - 1.125 + np.log(old / (1 - old)), labels


SHARES = {(60, 30, 10): (200, 1000), (98, 1, 1): (200, 1000), (40, 20, 10, 10, 10, 10): (500,)}
"""Shares of several classes in percent, and numbers of rows."""


def class_shares(percent: tuple[int, ...], n: int, runs: int, rng: np.random.Generator) -> list[float]:
    """Return how often limits of a share contain it, the least, mean and largest of the classes.

    The fourth number is the mean if logits are twice too large, from a quarter of the runs.
    """
    right, wrong = (
        np.mean([_shares_covered(percent, n, factor, rng) for _ in range(runs // divisor)], axis=0)
        for factor, divisor in ((1.0, 1), (2.0, 4))
    )
    return [float(right.min()), float(right.mean()), float(right.max()), float(wrong.mean())]


def _shares_covered(percent: tuple[int, ...], n: int, factor: float, rng: np.random.Generator) -> BoolArray:
    true = np.array(percent) / 100
    centres = 2.0 * np.eye(len(true))
    x = rng.standard_normal((n, len(true))) + centres[rng.choice(len(true), n, p=true)]
    heights = np.exp(factor * (x @ centres.T))
    found = estimate_base_rates(heights / heights.sum(axis=1, keepdims=True), np.full(len(true), 1 / len(true)))
    if found.low is None or found.high is None:
        raise ValueError(found.reason)
    return np.asarray((found.low <= true) & (true <= found.high))


Answers = tuple[FloatArray, BoolArray]
FIVE, SHARES_OF_FIVE = np.array([0.99, 0.95, 0.9, 0.8, 0.6]), np.array([0.2, 0.3, 0.25, 0.15, 0.1])
ERRORS_OF_FIVE = np.array([0.02, 0.04, 0.08, 0.2, 0.4])


def _five(n: int, rng: np.random.Generator) -> Answers:
    which = rng.choice(5, n, p=SHARES_OF_FIVE)
    return FIVE[which], rng.random(n) < ERRORS_OF_FIVE[which]


def _uniform(error: Callable[[FloatArray], FloatArray]) -> Callable[[int, np.random.Generator], Answers]:
    def draw(n: int, rng: np.random.Generator) -> Answers:
        c = rng.random(n)
        return c, rng.random(n) < error(c)

    return draw


def _as_expected(most: float) -> Callable[[int, np.random.Generator], Answers]:
    """Return calibrated confidences, uniform above 1 - most."""

    def draw(n: int, rng: np.random.Generator) -> Answers:
        doubt = most * rng.random(n)
        return 1 - doubt, rng.random(n) < doubt

    return draw


ANSWERS: dict[str, Callable[[int, np.random.Generator], Answers]] = {
    "13 % wrong, fewer where sure": _uniform(lambda c: 0.4 * (1 - c) ** 2),
    "10 % wrong everywhere": _uniform(lambda c: 0.1 + 0 * c),
    "2 % wrong, fewer where sure": _uniform(lambda c: 0.06 * (1 - c) ** 2),
    "10 % wrong, more where sure": _uniform(lambda c: 0.3 * c**2),
    "11 % wrong, five confidences": _five,
    "10 % wrong, as expected": _as_expected(0.2),
    "2 % wrong, as expected": _as_expected(0.04),
}
"""Confidences in answers, and which are wrong."""

AREAS = (AURC(), ExcessAURC(), AUGRC())


def areas(world: str, n: int, runs: int, rng: np.random.Generator) -> list[float]:
    """Return how often limits of areas contain the true ones, and in how many runs there are limits.

    The fourth number is that of the difference of the first area to that of a noisier confidence.
    """
    draw = ANSWERS[world]

    def noisier(c: FloatArray) -> FloatArray:
        return np.asarray(0.5 * c + 0.5 * rng.random(len(c)))

    c, wrong = draw(N_TRUE // 4, rng)
    large, other = answered(c, wrong), answered(noisier(c), wrong)
    true = np.array([metric(large) for metric in AREAS])
    more = AURC()(other) - true[0]
    hits, given, differ, of_differ = np.zeros(3), 0, 0, 0
    for _ in range(runs):
        c, wrong = draw(n, rng)
        p, q = answered(c, wrong), answered(noisier(c), wrong)
        found = [known_interval(p, m, m(p), 0.95, Bootstrap(1), rng, null=None) for m in AREAS]
        low = np.array([np.nan if f is None or f.low is None else f.low for f in found])
        high = np.array([np.nan if f is None or f.high is None else f.high for f in found])
        given += bool(np.isfinite(low).all())
        hits += (low <= true) & (true <= high)
        if wrong.any():
            limits = influence_difference(p, q, AURC(), Bootstrap(1)).limits(0.95)
            of_differ += 1
            differ += limits.low <= more <= limits.high
    shares = hits / given if given else np.full(3, np.nan)
    return [*shares.tolist(), differ / of_differ if of_differ else np.nan, given / runs]
