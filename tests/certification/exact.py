"""Definitions in mpmath that several certified values share: plain sums, and roots of plain sums."""

from collections.abc import Callable, Sequence
from typing import Any

from mpmath import mp, mpf

Row = Sequence[Any]


def mean(values: Sequence[Any]) -> Any:
    """Return the mean."""
    return mp.fsum(values) / len(values)


def log_odds(p: Any) -> Any:
    """Return log(p / (1 - p))."""
    return mp.log(p) - mp.log(1 - p)


def logistic(z: Any) -> Any:
    """Return the probability of log-odds."""
    return 1 / (1 + mp.exp(-z))


def binned_gaps(p: Row, y: Row, cell: Callable[[int], int]) -> list[tuple[Any, Any]]:
    """Return the share of every cell and its mean outcome minus its mean prediction."""
    cells: dict[int, list[int]] = {}
    for i in range(len(p)):
        cells.setdefault(cell(i), []).append(i)
    return [(mpf(len(rows)) / len(p), mean([y[i] - p[i] for i in rows])) for rows in cells.values()]


def equal_width_gaps(p: Row, y: Row) -> list[tuple[Any, Any]]:
    """Return the gaps of 15 cells of equal width."""
    return binned_gaps(p, y, lambda i: int(mp.ceil(15 * p[i])))


def ece(p: Row, y: Row) -> Any:
    """Return the expected calibration error in 15 cells of equal width."""
    return mp.fsum(share * abs(gap) for share, gap in equal_width_gaps(p, y))


def kde_ece(p: Row, y: Row, kernel: Callable[[Any, Any], Any]) -> Any:
    """Return the mean gap between a prediction and the kernel regression of the other rows, mirrored at 0 and 1."""
    gaps = []
    for i, c in enumerate(p):
        weights = [0 if j == i else kernel(c, q) + kernel(c, -q) + kernel(c, 2 - q) for j, q in enumerate(p)]
        gaps.append(abs(mp.fdot(weights, y) / mp.fsum(weights) - c))
    return mean(gaps)


def pools(p: Row, y: Row) -> list[Any]:
    """Return the isotonic regression of the outcomes, in ascending order of the predictions, by adjacent violators."""
    blocks: list[list[Any]] = []
    for i in sorted(range(len(p)), key=lambda i: p[i]):
        blocks.append([mpf(y[i]), 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            total, size = blocks.pop()
            blocks[-1] = [blocks[-1][0] + total, blocks[-1][1] + size]
    return [total / size for total, size in blocks for _ in range(size)]


def entropy(f: Any) -> Any:
    """Return -f log f - (1 - f) log(1 - f)."""
    return -mp.fsum(q * mp.log(q) for q in (f, 1 - f) if q > 0)


def logistic_fit(features: Sequence[Row], y: Row, start: Row, offset: Row | None = None) -> list[Any]:
    """Return the coefficients of maximum likelihood, by Newton's method from `start`."""
    offset = [mpf(0)] * len(y) if offset is None else offset

    def score(*beta: Any) -> list[Any]:
        fitted = [logistic(o + mp.fdot(beta, x)) for x, o in zip(features, offset, strict=True)]
        return [
            mp.fsum((target - q) * x[k] for x, target, q in zip(features, y, fitted, strict=True))
            for k in range(len(beta))
        ]

    return list(mp.findroot(score, tuple(start), tol=mpf(10) ** -80))


def chi_squared_tail(x: Any, df: int) -> Any:
    """Return the probability above x."""
    return mp.gammainc(mpf(df) / 2, x / 2, regularized=True)


def normal_cdf(x: Any) -> Any:
    """Return the probability below x."""
    return mp.erfc(-x / mp.sqrt(2)) / 2
