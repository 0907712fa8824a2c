"""How often limits of net benefits, costs, thresholds and base rates contain the true ones."""

from dataclasses import dataclass

import numpy as np

from calibrant import Predictions
from calibrant.decisions import Costs, best_threshold, decision_curve, estimate_base_rate, expected_cost
from calibrant.metrics import ExpectedCost, NetBenefit


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
        labels = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(np.int64)
        probs = 1 / (1 + np.exp(-self.slope * z))
        return Predictions._trusted(  # noqa: SLF001 (small draws would warn)
            np.column_stack([1 - probs, probs]), labels, np.ones(n), (0, 1)
        )


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
    hits = given = 0
    for _ in range(runs):
        found = expected_cost(world.draw(n, rng), costs=costs).cost
        if found.low is not None and found.high is not None:
            given += 1
            hits += found.low <= true <= found.high
    return [hits / given if given else np.nan, given / runs]


def threshold(world: World, n: int, runs: int, rng: np.random.Generator) -> list[float]:
    """Return the same of the best threshold."""
    target = 0.02 if world == RARE else 0.1
    true = 1 / (1 + np.exp(-world.slope * np.log(target / (1 - target))))
    hits = given = 0
    for _ in range(runs):
        found = best_threshold(world.draw(n, rng), threshold=target)
        if found.low is not None and found.high is not None:
            given += 1
            hits += found.low <= true <= found.high
    return [hits / given if given else np.nan, given / runs]


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
