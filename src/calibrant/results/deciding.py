"""Decisions in words, for a terminal and for a page."""

from calibrant.results.decisions import BaseRates, BestThreshold, DecisionReport
from calibrant.results.selective import CoverageAtRisk
from calibrant.results.writing import percent

FEW = 12
"""Up to this many distinct confidences, or classes, are listed one by one."""


PROBABILITIES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""What becomes of these is shown where a base rate moves them."""


def base_rate_words(report: DecisionReport) -> str:
    """Say what a base rate has done.

    Examples
    --------
    >>> print(base_rate_words(DecisionReport(base_rate={"no": (0.5, 0.98), "yes": (0.5, 0.02)})))
    Probabilities and rows are moved to another base rate, yes from 50% to 2%, which is right if the probabilities are
    calibrated here and each class looks the same there. A probability of 50% of yes becomes 2%. Weights fix the share
    of each class, so that tests and ranges by chance, which redraw labels, are rough here: judge calibration at the
    base rate of the rows.
    """
    shown = [*report.base_rate.items()][len(report.base_rate) == 2 :][:FEW]
    words = ", ".join(f"{name} from {percent(old)} to {percent(new)}" for name, (old, new) in shown)
    return (
        f"Probabilities and rows are moved to another base rate, {words}, which is right if the probabilities are "
        f"calibrated here and each class looks the same there. {_halved(report)}Weights fix the share of each class, "
        "so that tests and ranges by chance, which redraw labels, are rough here: judge calibration at the base rate "
        "of the rows."
    )


def _halved(report: DecisionReport) -> str:
    """Say what becomes of a probability of one half, if there are two classes."""
    if len(report.base_rate) != 2:
        return ""
    name = list(report.base_rate)[1]
    return f"A probability of 50% of {name} becomes {_rounded(moved_probability(0.5, report))}. "


def moved_probability(probability: float, report: DecisionReport) -> float:
    """Return what becomes of a probability of the second of two classes.

    Examples
    --------
    >>> round(moved_probability(0.8, DecisionReport(base_rate={"no": (0.7, 0.98), "yes": (0.3, 0.02)})), 12)
    0.16
    """
    (old_no, new_no), (old, new) = report.base_rate.values()
    yes, no = probability * new / old, (1 - probability) * new_no / old_no
    return yes / (yes + no)


def base_rate_rows(report: DecisionReport) -> list[tuple[str, str, str]]:
    """Return what a base rate moves, from what, and to what: shares of classes; of two, also some probabilities.

    Examples
    --------
    >>> base_rate_rows(DecisionReport(base_rate={"no": (0.5, 0.98), "yes": (0.5, 0.02)}))[1:4]
    [('Share of yes', '50%', '2%'), ('Probability of yes', '10%', '0.226%'), ('Probability of yes', '25%', '0.676%')]
    """
    rows = [(f"Share of {name}", _rounded(old), _rounded(new)) for name, (old, new) in report.base_rate.items()]
    if len(rows) == 2:
        name = list(report.base_rate)[1]
        rows += [(f"Probability of {name}", _rounded(p), _rounded(moved_probability(p, report))) for p in PROBABILITIES]
    return rows


def _rounded(share: float) -> str:
    return percent(float(f"{share:.3g}"))


def base_rates_words(found: BaseRates) -> str:
    """Say which shares the classes have.

    Examples
    --------
    >>> import numpy as np
    >>> value = np.array([0.5, 0.3, 0.2])
    >>> print(base_rates_words(BaseRates(classes=("a", "b", "c"), value=value, low=value - 0.1, high=value + 0.1,
    ...     level=0.95, trained_rate=value, n_samples=100, assumption="Each class looks as it did.")))
    Estimated from 100 rows, with 95% limits: a 50% (40% to 60%), b 30% (20% to 40%), c 20% (10% to 30%). Each class
    looks as it did.
    """
    limits = [""] * len(found.classes)
    if found.low is not None and found.high is not None:
        ends = zip(found.low.tolist(), found.high.tolist(), strict=True)
        limits = [f" ({percent(low)} to {percent(high)})" for low, high in ends]
    parts = [
        f"{name} {percent(value)}{around}"
        for name, value, around in zip(found.classes, found.value.tolist(), limits, strict=True)
    ]
    rest = f" and {len(parts) - FEW} more" if len(parts) > FEW else ""
    how = f", with {percent(found.level)} limits" if not found.reason else ""
    why = f" No limits: {found.reason}." if found.reason else ""
    listed = ", ".join(parts[:FEW])
    return f"Estimated from {found.n_samples:,} rows{how}: {listed}{rest}.{why} {found.assumption}"


def guarantee_words(found: CoverageAtRisk) -> str:
    """Say which rows can be answered.

    Examples
    --------
    >>> print(guarantee_words(CoverageAtRisk(max_risk=0.05, confidence=0.95, threshold=0.9, coverage=0.8, count=80,
    ...     errors=0, risk=0.0, high=0.037, steps=(), n_samples=100, n_distinct=2)))
    Answer rows with a confidence of at least 0.9, 80% of them: with 95% confidence, at most 5% of such answers are
    wrong. Here 0 of 80 are, with an upper limit of 3.7%.
    """
    if found.threshold is None or found.high is None:
        return f"No threshold can be promised with {percent(found.confidence)} confidence: {found.reason}."
    return (
        f"Answer rows with a confidence of at least {found.threshold:.6g}, {percent(found.coverage)} of them: with "
        f"{percent(found.confidence)} confidence, at most {percent(found.max_risk)} of such answers are wrong. Here "
        f"{found.errors:,} of {found.count:,} are, with an upper limit of {percent(found.high)}."
    )


def threshold_words(best: BestThreshold) -> str:
    """Say where to act on predictions as they are.

    Examples
    --------
    >>> print(threshold_words(BestThreshold(target=0.05, value=0.02, low=0.01, high=0.04, level=0.95)))
    After a fix, act from 0.05 on. By logistic recalibration, that is where the predictions as they are reach 0.02 (0.01
    to 0.04).
    """
    if best.value is None:
        return f"Where to act on the predictions as they are cannot be told: {best.reason}."
    limits = "" if best.low is None or best.high is None else f" ({best.low:.3g} to {best.high:.3g})"
    return (
        f"After a fix, act from {best.target:.3g} on. By logistic recalibration, that is where the predictions as they "
        f"are reach {best.value:.3g}{limits}."
    )
