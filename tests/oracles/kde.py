"""KDE-ECE as its definition says it, row by row and pair by pair, without a line of the package."""

import math

import numpy as np

from oracles.lines import beta_matrix, kernel_matrix


def kde_ece_by_loops(c, y, h, kernel, boundary, *, w=None, norm=1, isolated="drop"):
    """The double loop; a row whose neighbours weigh next to nothing is dropped, or has frequency 0."""
    n = len(c)
    w = [1.0] * n if w is None else np.asarray(w).tolist()
    c, y = np.asarray(c).tolist(), np.asarray(y).tolist()
    K = (beta_matrix(c, c, h) if kernel == "beta" else kernel_matrix(c, c, h, kernel, boundary == "reflect")).tolist()
    gaps, weights = [], []
    for i in range(n):
        num, den = 0.0, 0.0
        for j in range(n):
            if j != i:
                num += w[j] * K[i][j] * y[j]
                den += w[j] * K[i][j]
        peak = K[i][i] if kernel == "beta" else 1.0  # Of a row and itself, without images.
        alone = den <= 1e-9 * (sum(w) / n) * peak
        if alone and isolated == "drop":
            continue
        pi_hat = 0.0 if alone else num / den
        gaps.append(abs(pi_hat - c[i]) ** norm)
        weights.append(w[i])
    return (math.fsum(np.multiply(gaps, weights)) / math.fsum(weights)) ** (1 / norm)


def kde_ece_by_matrix(c, y, h, kernel, boundary):
    """The same with the whole matrix of the kernel, for rows that all have neighbours."""
    K = beta_matrix(c, c, h) if kernel == "beta" else kernel_matrix(c, c, h, kernel, boundary == "reflect")
    np.fill_diagonal(K, 0.0)
    return float(np.mean(np.abs(K @ y / K.sum(axis=1) - c)))


def integral_by_densities(c, y, h, n_grid):
    """The published form: the ratio of two triweight densities, data mirrored at the nearer end, on a grid."""

    def density(x, grid):
        mirrored = np.concatenate([x, np.where(x < 0.5, -x, 2 - x)])
        u = (grid[:, None] - mirrored) / h
        return np.where(np.abs(u) < 1, 1 - u * u, 0.0).clip(0) ** 3 @ np.ones(len(mirrored)) * 35 / 32 / h / len(x)

    grid = np.linspace(0, 1, n_grid)
    everywhere, hits = density(c, grid), density(c[y == 1], grid)
    some = everywhere > 0
    accuracy = np.minimum(y.mean() * hits[some] / everywhere[some], 1.0)
    integrand = np.zeros(n_grid)
    integrand[some] = np.abs(grid[some] - accuracy) * everywhere[some]
    return np.trapezoid(integrand, grid) / np.trapezoid(everywhere, grid)
