"""Compute the certified answers from their definitions, in 50 digits: `python -m calibrant.selfcheck.certify`.

Nothing of calibrant's own methods is used here: every value is a plain sum, or the root of a plain sum, in mpmath.
Predictions are multiples of 1/1024, so that rows sum to 1 exactly and no rounding happens before the first formula.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, combinations
from typing import Any

from mpmath import mp, mpf

UNIT = 1024
"""Predictions are multiples of one part in this."""

DIGITS = 30
"""Significant digits of the answers."""

Row = Sequence[Any]


def integers(seed: int) -> Iterator[int]:
    """Yield integers below 2^31 of a linear congruential generator, which any language can repeat."""
    state = seed
    while True:
        state = (1_103_515_245 * state + 12_345) % 2**31
        yield state >> 4


def binary_data(n: int = 48) -> dict[str, list[Any]]:
    """Return distinct predictions of an event, in parts of 1024, and outcomes that are a little less extreme."""
    draw = integers(1)
    predicted: list[int] = []
    while len(predicted) < n:
        candidate = 1 + next(draw) % (UNIT - 1)
        if candidate not in predicted and 2 * candidate != UNIT:
            predicted.append(candidate)
    labels = [int(next(draw) % UNIT < (2 * p + UNIT // 2) // 3) for p in predicted]
    return {"parts": predicted, "labels": labels}


def class_data(n: int = 40) -> dict[str, list[Any]]:
    """Return predictions of three classes, in parts of 1024, without ties in a row, and labels."""
    draw = integers(2)
    parts: list[list[int]] = []
    while len(parts) < n:
        low, high = sorted((1 + next(draw) % (UNIT - 1), 1 + next(draw) % (UNIT - 1)))
        row = [low, high - low, UNIT - high]
        if len({*row}) == 3 and min(row) > 0:
            parts.append(row)
    labels = []
    for row in parts:
        place = next(draw) % UNIT
        labels.append(0 if place < row[0] else 1 if place < row[0] + row[1] else 2)
    return {"parts": parts, "labels": labels}


def forecast_data(n: int = 32) -> dict[str, list[Any]]:
    """Return means, standard deviations and targets, in parts of 1024."""
    draw = integers(3)
    mean = [next(draw) % 4096 - 2048 for _ in range(n)]
    sd = [512 + next(draw) % 1024 for _ in range(n)]
    target = [m + next(draw) % 4096 - 2048 for m in mean]
    return {"mean": mean, "sd": sd, "target": target}


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


def of_event(data: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the answers for predictions of an event."""
    p, y = [mpf(k) / UNIT for k in data["parts"]], [mpf(label) for label in data["labels"]]
    n, total = len(p), mp.fsum(y)
    z = [log_odds(q) for q in p]
    residuals = [t - q for t, q in zip(y, p, strict=True)]
    order = sorted(range(n), key=lambda i: p[i])
    path = [mpf(0), *accumulate(residuals[i] / n for i in order)]
    fitted, ordered = pools(p, y), [y[i] for i in order]
    squared_error = mean([e**2 for e in residuals])
    log_loss = -mean([mp.log(q) if t else mp.log(1 - q) for q, t in zip(p, y, strict=True)])
    intercept, slope = logistic_fit([(mpf(1), x) for x in z], y, (0, 1))
    line = [intercept + slope * x for x in z]
    likelihood = mp.fsum(t * x - mp.log(1 + mp.exp(x)) for t, x in zip(y, line, strict=True))
    spiegelhalter = mp.fsum(e * (1 - 2 * q) for e, q in zip(residuals, p, strict=True)) / mp.sqrt(
        mp.fsum((1 - 2 * q) ** 2 * q * (1 - q) for q in p)
    )
    groups = [order[6 * g : 6 * g + 6] for g in range(8)]
    hosmer = mp.fsum(
        mp.fsum(residuals[i] for i in rows) ** 2 / (6 * (m := mean([p[i] for i in rows])) * (1 - m)) for rows in groups
    )
    sigma = mp.sqrt(mp.fsum(q * (1 - q) for q in p)) / n
    x = max(map(abs, path)) / sigma
    pair = {
        (i, j): 2 * residuals[i] * residuals[j] * mp.exp(-4 * abs(p[i] - p[j])) for i, j in combinations(range(n), 2)
    }
    ranked = mp.fsum(
        1 if p[i] > p[j] else mpf(1) / 2 if p[i] == p[j] else 0 for i in range(n) if y[i] for j in range(n) if not y[j]
    )
    temperature = 1 / logistic_fit([(q,) for q in z], y, (1,))[0]
    beta_c, beta_a, beta_b = logistic_fit(
        [(mpf(1), mp.log(q), -mp.log(1 - q)) for q in p], y, (intercept, slope, slope)
    )
    correct = mp.fsum(1 for q, t in zip(p, y, strict=True) if (q > mpf(1) / 2) == bool(t))
    return {
        "accuracy": correct / n,
        "nll": log_loss,
        "brier": 2 * squared_error,
        "squared-error": squared_error,
        "ece": ece(p, y),
        "ece-max": max(abs(gap) for _, gap in equal_width_gaps(p, y)),
        "ece-l2": mp.sqrt(mp.fsum(share * gap**2 for share, gap in equal_width_gaps(p, y))),
        "ece-equal-mass-8": mp.fsum(
            share * abs(gap) for share, gap in binned_gaps(p, y, lambda i: order.index(i) // 6)
        ),
        "kde-ece-gaussian": kde_ece(p, y, lambda c, q: mp.exp(-((16 * (c - q)) ** 2) / 2)),
        "kde-ece-triweight": kde_ece(p, y, lambda c, q: max(0, 1 - (4 * (c - q)) ** 2) ** 3),
        "kde-ece-epanechnikov": kde_ece(p, y, lambda c, q: max(0, 1 - (4 * (c - q)) ** 2)),
        "ecce": max(map(abs, path)),
        "ecce-range": max(path) - min(path),
        "miscalibration": squared_error - mean([(t - f) ** 2 for t, f in zip(ordered, fitted, strict=True)]),
        "discrimination": total / n * (1 - total / n)
        - mean([(t - f) ** 2 for t, f in zip(ordered, fitted, strict=True)]),
        "miscalibration-log": log_loss - mean([entropy(f) for f in fitted]),
        "cox-slope": slope,
        "cox-intercept": intercept,
        "in-the-large": logistic_fit([(mpf(1),)] * n, y, (0,), offset=z)[0],
        "oe-ratio": total / mp.fsum(p),
        "skce-unbiased": 2 * mp.fsum(pair.values()) / (n * (n - 1)),
        "skce-biased": (2 * mp.fsum(pair.values()) + mp.fsum(2 * e**2 for e in residuals)) / n**2,
        "mmce": mp.sqrt(
            mp.fsum(
                residuals[i] * residuals[j] * mp.exp(-abs(p[i] - p[j]) / mpf(0.4)) for i in range(n) for j in range(n)
            )
            / n**2
        ),
        "spiegelhalter": abs(spiegelhalter),
        "spiegelhalter-pvalue": mp.erfc(abs(spiegelhalter) / mp.sqrt(2)),
        "hosmer-lemeshow": hosmer,
        "hosmer-lemeshow-pvalue": chi_squared_tail(hosmer, 8),
        "cox": 2 * (likelihood + n * log_loss),
        "cox-pvalue": chi_squared_tail(2 * (likelihood + n * log_loss), 2),
        "ecce-pvalue": 4 * mp.nsum(lambda k: (-1) ** int(k) * normal_cdf(-(2 * k + 1) * x), [0, 40]),
        "auc": ranked / (total * (n - total)),
        "temperature": temperature,
        "platt-slope": slope,
        "beta-a": beta_a,
        "beta-b": beta_b,
        "beta-c": beta_c,
    }


def of_classes(data: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the answers for predictions of three classes."""
    p, y = [[mpf(k) / UNIT for k in row] for row in data["parts"]], data["labels"]
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
        "ece-classwise": mean([ece([row[k] for row in p], [int(label == k) for label in y]) for k in range(3)]),
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


def of_forecasts(data: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the answers for normal forecasts."""
    mu, sd, target = ([mpf(k) / UNIT for k in data[name]] for name in ("mean", "sd", "target"))
    n = len(mu)
    rows = list(zip(mu, sd, target, strict=True))
    z = [(t - m) / s for m, s, t in rows]
    quantile = mp.sqrt(2) * mp.erfinv(mpf(9) / 10)

    def gaussian(x: Any, variance: Any) -> Any:
        """Return the mean of exp(-d^2 / 2) over a normal d of mean x."""
        return mp.exp(-(x**2) / (2 * (1 + variance))) / mp.sqrt(1 + variance)

    def pair(i: int, j: int) -> Any:
        distance = mp.sqrt((mu[i] - mu[j]) ** 2 + (sd[i] - sd[j]) ** 2)
        return mp.exp(-distance) * (
            gaussian(target[i] - target[j], 0)
            - gaussian(target[i] - mu[j], sd[j] ** 2)
            - gaussian(mu[i] - target[j], sd[i] ** 2)
            + gaussian(mu[i] - mu[j], sd[i] ** 2 + sd[j] ** 2)
        )

    return {
        "crps": mean(
            [
                s * (x * (2 * normal_cdf(x) - 1) + 2 * mp.npdf(x) - 1 / mp.sqrt(mp.pi))
                for s, x in zip(sd, z, strict=True)
            ]
        ),
        "log-score": mean([mp.log(s * mp.sqrt(2 * mp.pi)) + x**2 / 2 for s, x in zip(sd, z, strict=True)]),
        "interval-score": mean(
            [2 * quantile * s + 20 * s * max(0, abs(x) - quantile) for s, x in zip(sd, z, strict=True)]
        ),
        "interval-coverage": mean([int(abs(x) <= quantile) for x in z]),
        "skce": 2 * mp.fsum(pair(i, j) for i, j in combinations(range(n), 2)) / (n * (n - 1)),
    }


def certificate() -> dict[str, Any]:
    """Return data and answers."""
    answers: dict[str, Callable[[dict[str, list[Any]]], dict[str, Any]]] = {
        "event": of_event,
        "classes": of_classes,
        "forecasts": of_forecasts,
    }
    data = {"event": binary_data(), "classes": class_data(), "forecasts": forecast_data()}
    with mp.workdps(50):
        values = {
            f"{part}/{name}": mp.nstr(value, DIGITS, strip_zeros=False)
            for part, compute in answers.items()
            for name, value in compute(data[part]).items()
        }
    return {"command": "python -m calibrant.selfcheck.certify", "unit": UNIT, "data": data, "values": values}


def main() -> None:
    """Write the certificate to standard output."""
    json.dump(certificate(), sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
