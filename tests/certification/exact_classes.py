"""Certified values for predictions of three classes, from their definitions."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from mpmath import mp, mpf

from certification.exact import Row, ece, mean


def of_classes(p: Sequence[Row], y: Sequence[int]) -> dict[str, Any]:
    """Return the answers for predictions p of three classes and labels y."""
    n = len(p)
    top = [max(range(3), key=lambda k, row=row: row[k]) for row in p]  # type: ignore[misc]  # row is bound here
    hits = [mpf(int(a == b)) for a, b in zip(top, y, strict=True)]
    confidence = [max(row) for row in p]
    residuals = [[mpf(int(k == label)) - row[k] for k in range(3)] for row, label in zip(p, y, strict=True)]

    def skce(kernel: Callable[[Row, Row], Any]) -> Any:
        pairs = combinations(range(n), 2)
        return 2 * mp.fsum(kernel(p[i], p[j]) * mp.fdot(residuals[i], residuals[j]) for i, j in pairs) / (n * (n - 1))

    def slope(beta: Any) -> Any:
        terms = []
        for row, label in zip(p, y, strict=True):
            powers = [q**beta for q in row]
            mean_log = mp.fsum(w * mp.log(q) for w, q in zip(powers, row, strict=True)) / mp.fsum(powers)
            terms.append(mean_log - mp.log(row[label]))
        return mp.fsum(terms)

    biased = mp.fsum(
        mp.exp(-mp.fsum(abs(s - t) for s, t in zip(p[i], p[j], strict=True))) * mp.fdot(residuals[i], residuals[j])
        for i in range(n)
        for j in range(n)
    ) / (n**2)
    per_class = [[i for i in range(n) if top[i] == k] for k in range(3)]
    return {
        "accuracy": mean(hits),
        "nll": -mean([mp.log(row[label]) for row, label in zip(p, y, strict=True)]),
        "brier": mean([mp.fsum(e**2 for e in row) for row in residuals]),
        "ece": ece(confidence, hits),
        "ece-one-vs-rest": mean([ece([row[k] for row in p], [int(label == k) for label in y]) for k in range(3)]),
        "ece-per-predicted-class": mp.fsum(
            mpf(len(rows)) / n * ece([confidence[i] for i in rows], [hits[i] for i in rows]) for rows in per_class
        ),
        "skce-exponential-total-variation": skce(
            lambda a, b: mp.exp(-2 * mp.fsum(abs(s - t) for s, t in zip(a, b, strict=True)) / 2)
        ),
        "skce-gaussian-euclidean": skce(
            lambda a, b: mp.exp(-2 * mp.fsum((s - t) ** 2 for s, t in zip(a, b, strict=True)))
        ),
        "skce-biased": biased,
        # A mean over all pairs is the same for copies of the rows, which are enough here for compiled code.
        "skce-biased-copies": biased,
        "temperature": 1 / mp.findroot(slope, 1),
    }
