"""The rule: which calibrators are worth trying, by the number of rows and classes."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.calibrators.names import THEN
from calibrant.predictions import Predictions

NOTHING = "identity"
"""What every fix is measured against."""

GUARD = "guard"
"""What bounds probabilities away from 0."""

Case = Literal["two", "many", "keep"]
"""Two classes, more classes, or predicted classes that have to stay."""


@dataclass(frozen=True)
class Row:
    """One line of the rule: when a calibrator is a candidate.

    Attributes
    ----------
    name : str
        Of a calibrator, or of a composition.
    cases : tuple of {"two", "many", "keep"}
    least_rows, least_rows_per_class : int
    most_classes : int or None
    """

    name: str
    cases: tuple[Case, ...]
    least_rows: int = 0
    least_rows_per_class: int = 0
    most_classes: int | None = None

    def suits(self, n_rows: int, n_classes: int) -> bool:
        """Tell whether there are enough rows, and not too many classes."""
        enough = n_rows >= max(self.least_rows, self.least_rows_per_class * n_classes)
        return enough and (self.most_classes is None or n_classes <= self.most_classes)

    @property
    def condition(self) -> str:
        """The same in words."""
        words = [
            f"from {self.least_rows} rows on" * bool(self.least_rows),
            f"from {self.least_rows_per_class} rows a class on" * bool(self.least_rows_per_class),
            f"up to {self.most_classes} classes" * (self.most_classes is not None),
        ]
        return ", ".join(filter(None, words)) or "always"


RULE = (
    Row("ts", ("two", "many", "keep")),
    Row("ets", ("keep",), least_rows=200),
    Row("ts>irm>guard", ("keep",), least_rows=1000),
    Row("platt", ("two",)),
    Row("beta", ("two",), least_rows=200),
    Row("quadratic", ("two",), least_rows=200),
    Row("spline", ("two",), least_rows=200),
    Row("centred-isotonic>guard", ("two",), least_rows=5000),
    Row("svs", ("many",)),
    Row("vs", ("many",), least_rows_per_class=100),
    Row("sms", ("many",), most_classes=200),
    Row("ts>irova>guard", ("many",), least_rows_per_class=1000),
)
"""Every candidate, from the simplest to the most flexible."""


def shortlist(
    n_rows: int, n_classes: int, *, keep_argmax: bool = False, impossible: bool = False, certain: bool = False
) -> tuple[str, ...]:
    """Return the calibrators that are worth trying, from the simplest to the most flexible.

    Parameters
    ----------
    n_rows, n_classes : int
    keep_argmax : bool, default=False
        Whether the predicted classes have to stay.
    impossible : bool, default=False
        Whether a label that was observed had probability 0. The guard then comes first, as hardly any other fix makes
        it possible.
    certain : bool, default=False
        Whether nothing in the rows speaks against certainty: every predicted class is right, or all labels are the
        same. The guard then comes last, as nothing else would bound a fix. It always does for two classes, where it
        costs next to nothing and a part of the rows is often free of errors.

    Examples
    --------
    >>> shortlist(100, 2)
    ('ts>guard', 'platt>guard')
    >>> shortlist(500, 10)
    ('ts', 'svs', 'sms')
    >>> shortlist(500, 10, keep_argmax=True, certain=True)
    ('ts>guard', 'ets>guard')
    """
    case: Case = "keep" if keep_argmax else "two" if n_classes == 2 else "many"
    names = [row.name for row in RULE if case in row.cases and row.suits(n_rows, n_classes)]
    if certain or n_classes == 2:
        names = [name if name.endswith(GUARD) else f"{name}{THEN}{GUARD}" for name in names]
    return (GUARD, *(f"{GUARD}{THEN}{name}" for name in names)) if impossible else tuple(names)


def has_impossible_labels(predictions: Predictions) -> bool:
    """Tell whether a label that was observed had probability 0; no weight is 0."""
    return bool(np.isneginf(predictions.log_probs[np.arange(predictions.n_samples), predictions.labels]).any())


def allows_certainty(predictions: Predictions) -> bool:
    """Tell whether every predicted class is right, or all labels are the same; no weight is 0."""
    labels = predictions.labels
    return bool((predictions.predicted == labels).all() or (labels == labels[0]).all())
