"""How often a promised error rate is broken, by the fixed sequence and by looking for the best."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant.decisions import coverage_at_risk
from studies.decisions.covering import ERRORS_OF_FIVE, FIVE, SHARES_OF_FIVE, answered


class Kept(NamedTuple):
    """Shares of runs whose true error rate is above the promised one, and mean coverages."""

    broken: float
    coverage: float
    naive_broken: float
    naive_coverage: float
    best: float


def continuous(n: int, max_risk: float, delta: float, runs: int, rng: np.random.Generator) -> Kept:
    """Confidences are uniform, and wrong with probability 0.4 (1 - c)^2: above t, 0.4 (1 - t)^2 / 3 are wrong."""
    found = []
    for _ in range(runs):
        c = np.sort(rng.random(n))[::-1]
        wrong = rng.random(n) < 0.4 * (1 - c) ** 2
        found.append(_one(c, wrong, max_risk, delta, lambda t: 0.4 * (1 - t) ** 2 / 3))
    return _kept(found, float(np.sqrt(3 * max_risk / 0.4)))


def discrete(n: int, max_risk: float, delta: float, runs: int, rng: np.random.Generator) -> Kept:
    """Five confidences, as language models say them."""
    shares = np.cumsum(SHARES_OF_FIVE)
    true = dict(zip(FIVE.tolist(), (np.cumsum(SHARES_OF_FIVE * ERRORS_OF_FIVE) / shares).tolist(), strict=True))
    reached = zip(shares.tolist(), true.values(), strict=True)
    best = max((share for share, risk in reached if risk <= max_risk), default=0.0)
    found = []
    for _ in range(runs):
        which = np.sort(rng.choice(5, n, p=SHARES_OF_FIVE))
        found.append(_one(FIVE[which], rng.random(n) < ERRORS_OF_FIVE[which], max_risk, delta, true.__getitem__))
    return _kept(found, best)


def _kept(found: list[list[float]], best: float) -> Kept:
    broken, coverage, naive_broken, naive_coverage = np.mean(found, axis=0).tolist()
    return Kept(broken, coverage, naive_broken, naive_coverage, best)


def _one(c: FloatArray, wrong: BoolArray, max_risk: float, delta: float, true: Callable[[float], float]) -> list[float]:
    """Return whether the promise is broken, and the coverage, of both rules; confidences descend."""
    n = len(c)
    kept = coverage_at_risk(answered(c, wrong), max_risk=max_risk, confidence=1 - delta)
    last = np.append(c[1:] != c[:-1], True)
    good = np.flatnonzero(last & (np.cumsum(wrong) <= max_risk * np.arange(1, n + 1)))
    naive = float(c[good[-1]]) if len(good) else None
    return [
        float(kept.threshold is not None and true(kept.threshold) > max_risk),
        kept.coverage,
        float(naive is not None and true(naive) > max_risk),
        float(good[-1] + 1) / n if len(good) else 0.0,
    ]
