"""Two halves of the rows: one to search, one to test."""

import numpy as np

from calibrant._border.types import BoolArray, IntArray
from calibrant.groups.rows import Rows


def draw_half(rows: Rows, clusters: IntArray | None, rng: np.random.Generator) -> BoolArray:
    """Return which rows are in the first half.

    Of two neighbours in the order of the predictions one is drawn, so that both halves have about the same
    predictions. Labels play no part: given predictions and features, those of the other half remain independent.
    Clusters are drawn as a whole, by their mean predictions.
    """
    if clusters is None:
        return _one_of_two(rows.probs, rng)
    sizes = np.bincount(clusters)
    return _one_of_two(np.bincount(clusters, rows.probs) / sizes, rng)[clusters]


def _one_of_two(values: np.ndarray, rng: np.random.Generator) -> BoolArray:
    order = np.argsort(values, kind="stable")
    first = rng.random((len(values) + 1) // 2) < 0.5
    chosen = np.stack([first, ~first], axis=1).ravel()[: len(values)]
    found = np.empty(len(values), dtype=bool)
    found[order] = chosen
    return found
