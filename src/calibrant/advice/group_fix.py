"""The fix of groups as a candidate: it needs features, which other calibrators do not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import IntArray
from calibrant.advice.cross_fit import OutOfFold
from calibrant.exceptions import InputError
from calibrant.groups import GroupBoosting
from calibrant.groups.columns import as_table
from calibrant.predictions import Predictions

GROUPS = "groups"
"""The name of the candidate."""


def group_table(features: object, predictions: Predictions, keep_argmax: bool) -> dict[str, NDArray[np.generic]]:
    """Return the columns of features at the rows that have weight; refuse what the fix of groups cannot do."""
    if keep_argmax:
        raise InputError(
            "features are for the fix of groups, which can change predicted classes. Leave them out, or allow changes "
            "with keep_argmax=False."
        )
    table = as_table(features, predictions.n_samples)
    return {name: values[predictions.weights > 0] for name, values in table.items()}


def cross_fit_groups(
    table: dict[str, NDArray[np.generic]], predictions: Predictions, folds: list[IntArray]
) -> OutOfFold:
    """Fix every fold by the groups that are found among the other folds."""
    probs = np.empty(predictions.probs.shape)
    for rows in folds:
        others = np.ones(predictions.n_samples, dtype=bool)
        others[rows] = False
        known = {name: values[others] for name, values in table.items()}
        fixed = GroupBoosting().fit(predictions.take(others), features=known)
        own = {name: values[rows] for name, values in table.items()}
        probs[rows] = fixed.predict_proba(predictions.take(rows), features=own)
    after = Predictions._trusted(  # noqa: SLF001 (probabilities by construction)
        probs, predictions.labels, predictions.weights, predictions.classes
    )
    whole: Any = GroupBoosting().fit(predictions, features=table)
    return OutOfFold(after, True, whole)
