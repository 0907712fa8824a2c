"""The verdict: the numbers of a test in words that a person reads first."""

import numpy as np

from calibrant.predictions import Predictions
from calibrant.results import TestResult, Verdict

LEVEL = 0.05
"""A p-value at or below this speaks against calibration."""

SIGNIFICANT_Z = 1.96
"""A mean gap of this many standard errors has a direction."""


def judge(predictions: Predictions, test: TestResult, size: TestResult) -> Verdict:
    """Say whether the predictions are calibrated, in which direction they err, and by how much.

    Parameters
    ----------
    predictions : Predictions
    test : TestResult
        Decides whether they are calibrated: an exact `ConsistencyTest`.
    size : TestResult
        Of a `ConsistencyTest` with the error that is shown; its redraws say what chance would make of it.
    """
    if size.null is None or size.estimate is None:
        raise TypeError("judge needs a test that keeps its estimate and its null draws, such as ConsistencyTest.")
    confidence, accuracy, z_confidence = _gap(predictions.top_label())
    code = "consistent"
    if test.pvalue <= LEVEL:
        code = _direction(predictions, confidence - accuracy, z_confidence)
    sign = "≤" if test.pvalue <= test.details["smallest_pvalue"] else "="
    detectable = float(np.quantile(size.null, 1 - LEVEL))
    expected = float(size.null.mean())
    return Verdict(
        code=code,
        headline=_headline(code, predictions, confidence, accuracy),
        explanation=(
            f"The calibration error (KDE-ECE) is {size.estimate:.3g}. For a perfectly calibrated model it would be "
            f"{expected:.3g} on average by chance, and above {detectable:.3g} in 5 of 100 data sets of this size. "
            f"The exact test gives p {sign} {test.pvalue:.2g}."
        ),
        error=size.estimate,
        expected=expected,
        detectable=detectable,
        gap=confidence - accuracy,
        pvalue=test.pvalue,
        level=LEVEL,
    )


def _gap(view: Predictions) -> tuple[float, float, float]:
    """Return mean prediction, frequency, and their difference in standard errors under calibration."""
    weights = view.weights / view.weights.sum()
    predicted, observed = float(weights @ view.positive), float(weights @ view.labels)
    error = float(np.sqrt(weights**2 @ (view.positive * (1 - view.positive))))
    return (
        predicted,
        observed,
        (predicted - observed) / error if error > 0 else np.copysign(np.inf, predicted - observed),
    )


def _direction(predictions: Predictions, gap: float, z: float) -> str:
    if predictions.n_classes == 2:
        _, _, z_bias = _gap(predictions)
        if abs(z_bias) > max(SIGNIFICANT_Z, abs(z)):
            return "biased"
    if gap == 0 or abs(z) < SIGNIFICANT_Z:
        return "miscalibrated"
    return "over-confident" if gap > 0 else "under-confident"


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _headline(code: str, predictions: Predictions, confidence: float, accuracy: float) -> str:
    claims = f"its confidence is {confidence:.1%} on average, and it is right {accuracy:.1%} of the time."
    if code == "biased":
        predicted, observed, _ = _gap(predictions)
        often = "too often" if predicted > observed else "too rarely"
        return (
            f"Biased: it predicts class {predictions.classes[1]} {often}, with probability {predicted:.1%} on average "
            f"where {observed:.1%} are observed."
        )
    return {
        "consistent": f"Consistent with calibration, as far as {_rows(predictions.n_samples)} can tell: " + claims,
        "over-confident": "Over-confident: " + claims,
        "under-confident": "Under-confident: " + claims,
        "miscalibrated": "Miscalibrated, in both directions: " + claims,
    }[code]
