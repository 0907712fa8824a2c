"""Pool adjacent violators, as isotonic regression and the ROC convex hull do.

In all functions, entry j of `positives` and `negatives` is the weight of the two classes at the j-th highest score.
Bounds 0 = b_0 < ... < b_s = m denote the pools b_i to b_(i+1) - 1.
"""

from fractions import Fraction

import numpy as np

from calibrant._border.numerals import significant
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.isotonic import isotonic_regression
from calibrant.results import ConvexHull, ROCCurve

ROUNDING = 1e-12
"""Pools whose probabilities agree within this relative error are equal, unless counts allow an exact comparison."""

EXACT = 2.0**53
"""Products of integers below this are exact in double precision."""


def pool(positives: FloatArray, negatives: FloatArray) -> IntArray:
    """Return the bounds of the pools of isotonic regression, strictly descending in probability."""
    positives, negatives, tolerance = _comparable(positives, negatives)
    total = positives + negatives
    bounds = isotonic_regression(positives / total, weights=total, increasing=False).blocks.astype(np.int64)
    a, b = _sums(positives, bounds), _sums(negatives, bounds)
    # Rounding may have kept equal pools apart.
    one, other = a[:-1] * b[1:], a[1:] * b[:-1]
    equal = one - other <= tolerance * (one + other)
    return bounds[np.concatenate([[True], ~equal, [True]])]


def split_equal(positives: FloatArray, negatives: FloatArray, bounds: IntArray) -> IntArray:
    """Return the bounds of the smallest pools with the same probabilities as the given pools.

    They result from merging only strict violators, and end wherever the ROC curve touches its hull.
    """
    positives, negatives, tolerance = _comparable(positives, negatives)
    lengths = np.diff(bounds)
    a, b = _sums(positives, bounds), _sums(negatives, bounds)
    # The distance to the chord sums to zero over each pool, so rounding errors do not accumulate across pools.
    depth = np.cumsum(positives * np.repeat(b, lengths) - negatives * np.repeat(a, lengths))
    before = np.concatenate([[0.0], depth])[bounds[:-1]]
    touches = np.abs(depth - np.repeat(before, lengths)) <= tolerance * np.repeat(a * b, lengths)
    touches[bounds[1:] - 1] = True
    return np.concatenate([[0], np.flatnonzero(touches) + 1])


def merge_violators(positives: FloatArray, negatives: FloatArray) -> IntArray:
    """Return the merges of pool-adjacent-violators from the highest score down, as rows (start, middle, stop).

    Only strict violators are merged. The loop keeps the order of merges that working by hand would have.
    """
    positives, negatives, tolerance = _comparable(positives, negatives)
    pools: list[tuple[int, float, float]] = []
    merges: list[tuple[int, int, int]] = []
    for j, (a, b) in enumerate(zip(positives.tolist(), negatives.tolist(), strict=True)):
        start = j
        while pools:
            before, c, d = pools[-1]
            one, other = a * d, c * b
            if one - other <= tolerance * (one + other):
                break
            merges.append((before, start, j + 1))
            pools.pop()
            start, a, b = before, a + c, b + d  # noqa: PLW2901 (the entry grows into a pool)
        pools.append((start, a, b))
    return np.array(merges, dtype=np.int64).reshape(-1, 3)


def merging_steps(hull: ConvexHull) -> list[str]:
    r"""Return the probabilities of the rows as text, before adjacent violators are merged and after each merge.

    Parameters
    ----------
    hull : ConvexHull

    Returns
    -------
    list of str
        Rows from the highest score to the lowest; brackets enclose the rows of one pool. Probabilities are fractions if
        the weights are integers. The total length grows with the square of the number of rows, so this is for small
        examples.

    Examples
    --------
    >>> from calibrant.roc import convex_hull, roc_curve
    >>> print(*merging_steps(convex_hull(roc_curve([5, 4, 3, 2, 1], [1, 0, 1, 1, 0]))), sep="\n")
    1-0-1-1-0
    1-[1/2-1/2]-1-0
    1-[2/3-2/3-2/3]-0
    """
    pools = [(j, j + 1) for j in range(len(hull.curve.scores))]
    lines = [_line(hull.curve, pools)]
    for start, _, stop in hull.merges.tolist():
        kept = [p for p in pools if p[1] <= start or p[0] >= stop]
        pools = sorted([*kept, (start, stop)])
        lines.append(_line(hull.curve, pools))
    return lines


def _sums(values: FloatArray, bounds: IntArray) -> FloatArray:
    return np.add.reduceat(values, bounds[:-1])


def _comparable(positives: FloatArray, negatives: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return weights whose products neither overflow nor underflow, and the relative tolerance of the products."""
    sizes = positives.sum(), negatives.sum()
    if max(sizes) < EXACT and sizes[0] * sizes[1] < EXACT and not np.any(positives % 1) and not np.any(negatives % 1):
        return positives, negatives, 0.0
    return positives / max(sizes), negatives / max(sizes), ROUNDING


def _line(curve: ROCCurve, pools: list[tuple[int, int]]) -> str:
    texts = []
    for start, stop in pools:
        size = int(curve.count[start:stop].sum())
        value = _ratio(float(curve.positives[start:stop].sum()), float(curve.negatives[start:stop].sum()))
        texts.append(value if size == 1 else f"[{'-'.join([value] * size)}]")
    return "-".join(texts)


def _ratio(positives: float, negatives: float) -> str:
    if positives.is_integer() and negatives.is_integer():
        return str(Fraction(int(positives), int(positives + negatives)))
    return significant(positives / (positives + negatives))
