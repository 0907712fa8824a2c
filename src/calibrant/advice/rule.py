"""The rules: which calibrators are worth trying, by the number of rows and classes, or by the kind of forecasts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.calibrators.names import THEN
from calibrant.forecasts import Distribution, Quantiles, Samples
from calibrant.predictions import Predictions

NOTHING = "identity"
"""The calibrator that changes nothing, the baseline of every fix."""

GUARD = "guard"
"""The calibrator that keeps probabilities away from 0."""

STACKS = ("stack", "stack-order")
"""Mixtures of calibrators, with which other candidates are compared."""

Case = Literal["two", "many", "keep", "density", "columns", "ensemble", "few members", "vector"]
"""Two classes, more classes, or predicted classes unchanged; univariate distributions with a density, columns of
quantiles and others without one, ensembles of many or few members, vectors with a density."""


@dataclass(frozen=True)
class Row:
    """One line of a rule: a calibrator or a composition, and when it is a candidate."""

    name: str
    cases: tuple[Case, ...]
    least_rows: int = 0
    least_rows_per_class: int = 0
    most_classes: int | None = None

    def suits(self, case: Case | None, n_rows: int, n_classes: int = 1) -> bool:
        """Return whether it is tried in this case, with so many rows and classes."""
        enough = n_rows >= max(self.least_rows, self.least_rows_per_class * n_classes)
        return case in self.cases and enough and (self.most_classes is None or n_classes <= self.most_classes)

    @property
    def condition(self) -> str:
        """When the calibrator is a candidate, in words."""
        words = [
            f"from {self.least_rows} rows on" * bool(self.least_rows),
            f"from {self.least_rows_per_class} rows per class on" * bool(self.least_rows_per_class),
            f"up to {self.most_classes} classes" * (self.most_classes is not None),
        ]
        return ", ".join(filter(None, words)) or "always"


RULE = (
    Row("ts", ("two", "many", "keep")),
    Row("iop-diag", ("keep",), least_rows=200),
    Row("stack-order", ("keep",)),
    Row("platt", ("two",)),
    Row("spline", ("two",), least_rows=200),
    Row("svs", ("two", "many")),
    Row("sms", ("many",), most_classes=200),
    Row("stack", ("two", "many")),
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
        Whether the predicted classes must stay the same.
    impossible : bool, default=False
        Whether an observed label had probability 0. The guard then comes first, as hardly any other fix makes such
        labels possible; stacks have their own guard.
    certain : bool, default=False
        Whether no row contradicts certainty: every predicted class is right, or all labels are the same. The guard then
        comes last, as nothing else would bound a fix. With two classes it always comes last, except after `svs` and
        stacks, which have their own bounds: it costs next to nothing there, and parts of the rows are often free of
        errors.

    Examples
    --------
    >>> shortlist(100, 2)
    ('ts>guard', 'platt>guard', 'svs', 'stack')
    >>> shortlist(500, 10)
    ('ts', 'svs', 'sms', 'stack')
    >>> shortlist(500, 10, keep_argmax=True, certain=True)
    ('ts>guard', 'iop-diag>guard', 'stack-order>guard')
    """
    case: Case = "keep" if keep_argmax else "two" if n_classes == 2 else "many"
    names = [row.name for row in RULE if row.suits(case, n_rows, n_classes)]
    bounded = () if certain else (*STACKS, "svs") if n_classes == 2 else names
    names = [name if name in bounded or name.endswith(GUARD) else f"{name}{THEN}{GUARD}" for name in names]
    if not impossible:
        return tuple(names)
    return (GUARD, *(name if name in STACKS else f"{GUARD}{THEN}{name}" for name in names))


def stack_of(names: Iterable[str]) -> str | None:
    """Return the name of the candidate that is a stack, or None."""
    return next((name for name in names if name.split(THEN)[0] in STACKS), None)


def has_impossible_labels(predictions: Predictions) -> bool:
    """Return whether an observed label had probability 0; weights must be positive."""
    return bool(np.isneginf(predictions.log_probs[np.arange(predictions.n_samples), predictions.labels]).any())


def allows_certainty(predictions: Predictions) -> bool:
    """Return whether every predicted class is right, or all labels are the same; weights must be positive."""
    labels = predictions.labels
    return bool((predictions.predicted == labels).all() or (labels == labels[0]).all())


MEMBERS = 50
"""Ensembles of fewer members are inflated by moments: the fair CRPS would make them too wide (docs)."""

FORECAST_RULE = (
    Row("scale", ("density", "vector"), 20),
    Row("inflate-moments", ("few members",), 20),
    Row("inflate", ("ensemble",), 20),
    Row("scale-crps", ("columns",), 20),
    Row("offset-scale", ("density",), 50),
    Row("shift-scale", ("density",), 50),
    Row("shift-scale-crps", ("columns",), 50),
    Row("spread-by-level", ("density",), 200),
    Row("student", ("density",), 200),
    Row("quantile-shift", ("columns",), 200),
    Row("shift-scale>pit", ("density",), 200),
)
"""Every candidate, from the simplest to the most flexible."""


def _case_of(law: Distribution) -> Case | None:
    """Return the case of forecasts; None if there is no candidate for them."""
    if isinstance(law, Samples):
        return "ensemble" if law.n_draws >= MEMBERS else "few members"
    if law.event_shape:
        return "vector" if law.has_density else None
    return "density" if law.has_density else "columns"


def forecast_shortlist(law: Distribution, n_rows: int) -> tuple[str, ...]:
    """Return the calibrators that are worth trying for forecasts, from the simplest to the most flexible.

    Parameters
    ----------
    law : Distribution
    n_rows : int
        Number of rows to fit to.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> forecast_shortlist(Normal([0.0], 1.0), 100)
    ('scale', 'offset-scale', 'shift-scale')
    >>> forecast_shortlist(Samples([[0.0, 1.0]]), 1000)
    ('inflate-moments',)
    """
    case = _case_of(law)
    names = (row.name for row in FORECAST_RULE if row.suits(case, n_rows))
    return tuple(name for name in names if name != "quantile-shift" or isinstance(law, Quantiles))
