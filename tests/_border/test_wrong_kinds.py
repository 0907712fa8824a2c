"""What a user may take for predictions, models or metrics is refused with a remedy."""

import numpy as np
import pytest

from calibrant import Predictions, assess, compare, interval, recommend, reliability_curve
from calibrant.metrics import ECE
from naming import each

PROBS = np.full((4, 2), 0.5)
P = Predictions(PROBS, [0, 1, 0, 1])


@each(
    "call, words",
    [
        (lambda: assess(PROBS), r"predictions must be Predictions, but is of type ndarray. Pass Predictions\("),
        (lambda: recommend(PROBS), "predictions must be Predictions, but is of type ndarray"),
        (lambda: reliability_curve(PROBS), "predictions must be Predictions, but is of type ndarray"),
        (lambda: interval(PROBS, ECE()), "ECE is computed from Predictions, but got ndarray"),
        (
            lambda: interval(ECE(), P),
            r"metric must be a metric such as ECE.* but is Predictions",
        ),
        (lambda: interval(P, 0.5), "metric must be a metric .* but is 0.5"),
        (lambda: compare([P, P]), "models must be a mapping of names to Predictions, but is of type list"),
        (lambda: compare({"a": P, "b": PROBS}), "model 'b' must be Predictions, but is of type ndarray"),
        (lambda: compare({"a": P}, {"x": "ece"}), "metric 'x' must be a metric .* but is 'ece'"),
    ],
)
def test_the_wrong_kind_is_refused(call, words):
    with pytest.raises(TypeError, match=words):
        call()
