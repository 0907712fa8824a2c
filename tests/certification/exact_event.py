"""Certified values for predictions of an event, from their definitions."""

from itertools import accumulate, combinations
from typing import Any

from mpmath import mp, mpf

from certification.exact import (
    Row,
    binned_gaps,
    chi_squared_tail,
    ece,
    entropy,
    equal_width_gaps,
    kde_ece,
    log_odds,
    logistic_fit,
    mean,
    normal_cdf,
    pools,
)


def of_event(p: Row, y: Row) -> dict[str, Any]:
    """Return the answers for predictions p and outcomes y."""
    return {**scores(p, y), **binned(p, y), **cumulative(p, y), **kernels(p, y), **classical(p, y), **fits(p, y)}


def log_loss(p: Row, y: Row) -> Any:
    """Return the mean negative log-likelihood."""
    return -mean([mp.log(q) if t else mp.log(1 - q) for q, t in zip(p, y, strict=True)])


def residuals(p: Row, y: Row) -> list[Any]:
    """Return outcomes minus predictions."""
    return [t - q for t, q in zip(y, p, strict=True)]


def ascending(p: Row) -> list[int]:
    """Return the rows in the order of their predictions."""
    return sorted(range(len(p)), key=lambda i: p[i])


def scores(p: Row, y: Row) -> dict[str, Any]:
    """Return proper scores and their parts by isotonic regression."""
    n, total, fitted = len(p), mp.fsum(y), pools(p, y)
    squared_error = mean([e**2 for e in residuals(p, y)])
    recalibrated = mean([(y[i] - f) ** 2 for i, f in zip(ascending(p), fitted, strict=True)])
    correct = mp.fsum(1 for q, t in zip(p, y, strict=True) if (q > mpf(1) / 2) == bool(t))
    ranked = mp.fsum(
        1 if p[i] > p[j] else mpf(1) / 2 if p[i] == p[j] else 0 for i in range(n) if y[i] for j in range(n) if not y[j]
    )
    return {
        "accuracy": correct / n,
        "nll": log_loss(p, y),
        "brier": 2 * squared_error,
        "squared-error": squared_error,
        "miscalibration": squared_error - recalibrated,
        "discrimination": total / n * (1 - total / n) - recalibrated,
        "miscalibration-log": log_loss(p, y) - mean([entropy(f) for f in fitted]),
        "oe-ratio": total / mp.fsum(p),
        "auc": ranked / (total * (n - total)),
    }


def binned(p: Row, y: Row) -> dict[str, Any]:
    """Return calibration errors in cells, and with a kernel in their place."""
    gaps, order = equal_width_gaps(p, y), ascending(p)
    return {
        "ece": ece(p, y),
        "ece-max": max(abs(gap) for _, gap in gaps),
        "ece-l2": mp.sqrt(mp.fsum(share * gap**2 for share, gap in gaps)),
        "ece-equal-mass-8": mp.fsum(
            share * abs(gap) for share, gap in binned_gaps(p, y, lambda i: order.index(i) // 6)
        ),
        "kde-ece-gaussian": kde_ece(p, y, lambda c, q: mp.exp(-((16 * (c - q)) ** 2) / 2)),
        "kde-ece-triweight": kde_ece(p, y, lambda c, q: max(0, 1 - (4 * (c - q)) ** 2) ** 3),
        "kde-ece-epanechnikov": kde_ece(p, y, lambda c, q: max(0, 1 - (4 * (c - q)) ** 2)),
    }


def cumulative(p: Row, y: Row) -> dict[str, Any]:
    """Return how far the running sum of residuals goes, and how probable that is."""
    e, n = residuals(p, y), len(p)
    path = [mpf(0), *accumulate(e[i] / n for i in ascending(p))]
    sigma = mp.sqrt(mp.fsum(q * (1 - q) for q in p)) / n
    x = max(map(abs, path)) / sigma
    return {
        "ecce": max(map(abs, path)),
        "ecce-range": max(path) - min(path),
        "ecce-pvalue": 4 * mp.nsum(lambda k: (-1) ** int(k) * normal_cdf(-(2 * k + 1) * x), [0, 40]),
    }


def kernels(p: Row, y: Row) -> dict[str, Any]:
    """Return kernel calibration errors with exponential kernels."""
    e, n = residuals(p, y), len(p)
    pairs = mp.fsum(2 * e[i] * e[j] * mp.exp(-4 * abs(p[i] - p[j])) for i, j in combinations(range(n), 2))
    return {
        "skce-unbiased": 2 * pairs / (n * (n - 1)),
        "skce-biased": (2 * pairs + mp.fsum(2 * r**2 for r in e)) / n**2,
        "mmce": mp.sqrt(
            mp.fsum(e[i] * e[j] * mp.exp(-abs(p[i] - p[j]) / mpf(0.4)) for i in range(n) for j in range(n)) / n**2
        ),
    }


def classical(p: Row, y: Row) -> dict[str, Any]:
    """Return the statistics of Spiegelhalter, and of Hosmer and Lemeshow, with their p-values."""
    e, order = residuals(p, y), ascending(p)
    z = abs(
        mp.fsum(r * (1 - 2 * q) for r, q in zip(e, p, strict=True))
        / mp.sqrt(mp.fsum((1 - 2 * q) ** 2 * q * (1 - q) for q in p))
    )
    groups = [order[6 * g : 6 * g + 6] for g in range(8)]
    centres = [mean([p[i] for i in rows]) for rows in groups]
    hosmer = mp.fsum(
        mp.fsum(e[i] for i in rows) ** 2 / (6 * m * (1 - m)) for rows, m in zip(groups, centres, strict=True)
    )
    return {
        "spiegelhalter": z,
        "spiegelhalter-pvalue": mp.erfc(z / mp.sqrt(2)),
        "hosmer-lemeshow": hosmer,
        "hosmer-lemeshow-pvalue": chi_squared_tail(hosmer, 8),
    }


def fits(p: Row, y: Row) -> dict[str, Any]:
    """Return what maximises likelihoods: slope and intercept, temperature, the beta map, and Cox's test."""
    n, z = len(p), [log_odds(q) for q in p]
    intercept, slope = logistic_fit([(mpf(1), x) for x in z], y, (0, 1))
    line = [intercept + slope * x for x in z]
    likelihood = mp.fsum(t * x - mp.log(1 + mp.exp(x)) for t, x in zip(y, line, strict=True))
    cox = 2 * (likelihood + n * log_loss(p, y))
    beta = logistic_fit([(mpf(1), mp.log(q), -mp.log(1 - q)) for q in p], y, (intercept, slope, slope))
    return {
        "cox-slope": slope,
        "cox-intercept": intercept,
        "in-the-large": logistic_fit([(mpf(1),)] * n, y, (0,), offset=z)[0],
        "cox": cox,
        "cox-pvalue": chi_squared_tail(cox, 2),
        "temperature": 1 / logistic_fit([(x,) for x in z], y, (1,))[0],
        "platt-slope": slope,
        **{f"beta-{name}": value for name, value in zip("cab", beta, strict=True)},
    }
