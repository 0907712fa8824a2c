"""Sums and losses straight from their definitions, pair by pair, without a line of the package."""

import math

import numpy as np


def kernel_value(kernel, u):
    if kernel == "gaussian":
        return math.exp(-u * u / 2)
    if abs(u) >= 1:
        return 0.0
    return (1 - u * u) ** (3 if kernel == "triweight" else 1)


def pair_value(kernel, reflect, h, a, b):
    value = kernel_value(kernel, (a - b) / h)
    if reflect:
        value += kernel_value(kernel, (a + b) / h) + kernel_value(kernel, (a - (2 - b)) / h)
    return value


def leave_one_out_by_loops(c, Q, h, kernel, reflect):
    c, rows = c.tolist(), range(len(c))
    K = [[0.0 if i == j else pair_value(kernel, reflect, h, c[i], c[j]) for j in rows] for i in rows]
    return np.array(K) @ Q


def sums_at_by_loops(points, c, Q, h, kernel, reflect):
    K = [[pair_value(kernel, reflect, h, float(point), place) for place in c.tolist()] for point in points]
    return np.array(K).reshape(len(points), len(c)) @ Q


def kernel_matrix(points, c, h, kernel, reflect):
    """The kernel between all points and rows, as one matrix."""
    a, b = np.asarray(points)[:, None], np.asarray(c)[None, :]

    def profile(u):
        if kernel == "gaussian":
            return np.exp(-u * u / 2)
        parabola = np.where(np.abs(u) < 1, 1 - u * u, 0.0)
        return parabola * parabola * parabola if kernel == "triweight" else parabola  # A power takes ten times as long.

    K = profile((a - b) / h)
    return K + profile((a + b) / h) + profile((a - (2 - b)) / h) if reflect else K


def leave_one_out_by_matrix(c, Q, h, kernel, reflect):
    K = kernel_matrix(c, c, h, kernel, reflect)
    np.fill_diagonal(K, 0.0)
    return K @ Q


def beta_matrix(points, c, b):
    from scipy.special import betaln, xlog1py, xlogy

    z, a = np.asarray(points)[:, None], np.asarray(c)[None, :]
    return np.exp(xlogy(a / b, z) + xlog1py((1 - a) / b, -z) - betaln(a / b + 1, (1 - a) / b + 1))


def clustered(rng, n, share=0.9, width=1e-3):
    """Confidences of a network: most of them next to 1."""
    c = rng.random(n)
    close = rng.random(n) < share
    c[close] = 1 - width * rng.random(close.sum())
    return c
