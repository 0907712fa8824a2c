"""Optimal transport between small discrete measures, for many pairs at once."""

from itertools import permutations

import numpy as np

from calibrant._border.types import FloatArray

MOST_PERMUTED = 5
"""Up to this number of atoms of equal weight, all permutations are tried, for all pairs at once."""

LP_CELLS = 4096
"""Cells of the cost matrices that share one linear programme: one call per pair would spend its time on set-up."""

LP_TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""The strictest that the solver allows."""


def transport_cost(costs: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the least cost of moving `left` to `right`, for every pair.

    Parameters
    ----------
    costs : ndarray of shape (..., M, M')
        Non-negative costs of moving a unit of mass from an atom to an atom.
    left, right : ndarray of shape (..., M) and (..., M')
        Weights of the atoms, which sum to 1; they broadcast against the leading axes of `costs`.
    """
    n_left, n_right = costs.shape[-2:]
    left = np.broadcast_to(left, costs.shape[:-1])
    right = np.broadcast_to(right, (*costs.shape[:-2], n_right))
    if n_left == 1 or n_right == 1:
        # The only coupling is the product.
        return np.einsum("...ab,...a,...b->...", costs, left, right)
    if n_left == n_right and _uniform(left) and _uniform(right):
        return _assign(costs)
    if n_left == 2:
        return _divide(costs, left, right)
    if n_right == 2:
        return _divide(costs.swapaxes(-1, -2), right, left)
    flat = [values.reshape(-1, *values.shape[costs.ndim - 2 :]) for values in (costs, left, right)]
    return _linear_programme(*flat).reshape(costs.shape[:-2])


def _uniform(weights: FloatArray) -> bool:
    return bool(np.all(np.abs(weights - 1 / weights.shape[-1]) < 1e-12))


def _assign(costs: FloatArray) -> FloatArray:
    """Solve with equal weights: some permutation is optimal."""
    size = costs.shape[-1]
    atoms = np.arange(size)
    if size <= MOST_PERMUTED:
        least = np.full(costs.shape[:-2], np.inf)
        for permutation in permutations(range(size)):
            np.minimum(least, costs[..., atoms, permutation].sum(axis=-1), out=least)
        return least / size
    from scipy.optimize import linear_sum_assignment

    flat = costs.reshape(-1, size, size)
    least = np.array([cost[linear_sum_assignment(cost)].sum() for cost in flat])
    return (least / size).reshape(costs.shape[:-2])


def _divide(costs: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """Solve with two atoms on the left: the first serves the atoms where it is cheapest relative to the second."""
    order = np.argsort(costs[..., 0, :] - costs[..., 1, :], axis=-1)
    first, second, capacity = (
        np.take_along_axis(values, order, axis=-1) for values in (costs[..., 0, :], costs[..., 1, :], right)
    )
    served_before = np.cumsum(capacity, axis=-1) - capacity
    served = np.clip(left[..., :1] - served_before, 0.0, capacity)
    return (served * first + (capacity - served) * second).sum(axis=-1)


def _linear_programme(costs: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """Solve any case, many pairs in one sparse programme."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    n_left, n_right = costs.shape[1:]
    block = max(1, LP_CELLS // (n_left * n_right))
    # One margin follows from the others; without it, rounding cannot make the constraints contradict each other.
    rows = kron(eye_array(n_left), np.ones((1, n_right)))
    columns = kron(np.ones((1, n_left)), eye_array(n_right)).tocsr()[:-1]
    margins = vstack([rows, columns])
    least = np.empty(len(costs))
    for start in range(0, len(costs), block):
        part = slice(start, start + block)
        cost = costs[part].reshape(-1, n_left * n_right)
        # In units of the largest cost, so that the solver's tolerances are relative.
        unit = cost.max(axis=1, keepdims=True).clip(min=1e-300)
        masses = np.concatenate([left[part], right[part, :-1]], axis=1)
        plan = linprog(
            (cost / unit).ravel(),
            A_eq=kron(eye_array(len(cost)), margins),
            b_eq=masses.ravel(),
            method="highs",
            options=LP_TOLERANCES,
        )
        least[part] = (np.maximum(plan.x, 0.0).reshape(cost.shape) * cost).sum(axis=1)
    return least
