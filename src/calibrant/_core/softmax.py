"""The likelihood of a softmax: its derivatives by the logits, and sums for its Hessian; compiled, or in NumPy."""

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import over_classes
from calibrant._core.library import library

# Sizes of the blocks of rows, factors and registers of products in the compiled code.
_HEIGHT, _DOWN, _ACROSS = 32, 6, 2
_CACHED = 256


def residuals_of(
    logits: FloatArray, labels: IntArray, share: FloatArray, probs: FloatArray
) -> tuple[FloatArray, np.float64]:
    """Return the derivatives of a weighted log loss with respect to the logits, in their place, and the loss itself.

    The softmax of the logits is left in `probs`; `share` holds the weights, (n, 1). Compiled exponentials are 0 below
    e^-708.

    Examples
    --------
    >>> probs = np.empty((1, 2))
    >>> residuals, loss = residuals_of(np.log([[0.25, 0.75]]), np.array([0]), np.ones((1, 1)), probs)
    >>> probs.round(12).tolist(), residuals.round(12).tolist(), float(loss.round(12))
    ([[0.25, 0.75]], [[-0.75, 0.75]], 1.38629436112)
    """
    core = library()
    if core is None or not (logits.flags.c_contiguous and probs.flags.c_contiguous):
        return residuals_in_numpy(logits, labels, share, probs)
    loss, labels = np.empty(1), np.ascontiguousarray(labels, dtype=np.int64)
    core.softmax_residuals(logits, labels, np.ascontiguousarray(share), *logits.shape, probs, loss)
    return logits, loss[0]


def residuals_in_numpy(
    logits: FloatArray, labels: IntArray, share: FloatArray, probs: FloatArray
) -> tuple[FloatArray, np.float64]:
    """Return the same without compiled code."""
    each = np.arange(len(labels))
    logits -= over_classes(np.maximum, logits)
    np.exp(logits, out=probs)
    total = over_classes(np.add, probs)
    probs /= total
    loss = np.sum(share[:, 0] * (np.log(total[:, 0]) - logits[each, labels]))
    residuals = np.multiply(probs, share, out=logits)
    residuals[each, labels] -= share[:, 0]
    return residuals, loss


def pair_sums(probs: FloatArray, share: FloatArray, features: FloatArray) -> FloatArray:
    """Return the sums of products of two features times probabilities, then times minus products of two of these.

    For probabilities (n, K), weights of the rows (n, 1) and features (n, m), they are
    (K + K (K + 1) / 2, m (m + 1) / 2); pairs are in the order of the rows of an upper triangular matrix.

    Examples
    --------
    >>> pair_sums(np.array([[0.25, 0.75]]), np.ones((1, 1)), np.array([[2.0, 1.0]])).tolist()[:3]
    [[1.0, 0.5, 0.25], [3.0, 1.5, 0.75], [-0.25, -0.125, -0.0625]]
    """
    core, (n, k), m = library(), probs.shape, features.shape[1]
    if core is None:
        return pair_sums_in_numpy(probs, share, features)
    rows, columns = k + n_pairs(k), n_pairs(m)
    n_factors, width = _filled(rows, _DOWN), _filled(columns, _ACROSS * core.lanes)
    work, sums = np.zeros(_HEIGHT * (n_factors + width)), np.empty((n_factors, width))
    whole = (np.ascontiguousarray(part) for part in (probs, share, features))
    core.softmax_curvature(*whole, n, k, m, n_factors, width, work, sums)
    return np.ascontiguousarray(sums[:rows, :columns])


def pair_sums_in_numpy(probs: FloatArray, share: FloatArray, features: FloatArray) -> FloatArray:
    """Return the same without compiled code, from rows whose products fit into the cache."""
    blocks = [slice(start, start + _CACHED) for start in range(0, len(probs), _CACHED)]
    return np.sum([_pair_sums(probs[rows], share[rows], features[rows]) for rows in blocks], axis=0)


def _pair_sums(probs: FloatArray, share: FloatArray, features: FloatArray) -> FloatArray:
    n, k = probs.shape
    p, f = np.ascontiguousarray(probs.T), np.ascontiguousarray(features.T)
    factors, products = np.empty((k + n_pairs(k), n)), np.empty((n_pairs(len(f)), n))
    np.multiply(p, share[:, 0], out=factors[:k])
    _multiply_pairs(factors[:k], -p, factors[k:])
    _multiply_pairs(f, f, products)
    return factors @ products.T


def n_pairs(n: int) -> int:
    """Return the number of pairs of n things, including pairs of a thing with itself."""
    return n * (n + 1) // 2


def _filled(n: int, step: int) -> int:
    return -(-n // step) * step


def _multiply_pairs(one: FloatArray, other: FloatArray, out: FloatArray) -> None:
    """Write the products of row i of `one` and row j of `other` for all i <= j, in order."""
    start = 0
    for j in range(len(one)):
        stop = start + len(one) - j
        np.multiply(one[j], other[j:], out=out[start:stop])
        start = stop
