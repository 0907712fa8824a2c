"""One score per class: the argument of a map of a class against the rest."""

from typing import Literal

import numpy as np

from calibrant._typing import FloatArray
from calibrant.calibrators.base import normalised
from calibrant.calibrators.binary import log_odds_of_classes
from calibrant.exceptions import InputError

Score = Literal["probability", "logit", "margin"]

SCORE_DECIMALS = 12
"""Scores of classes that agree to this many decimals are ties: they were computed by different sums."""


def class_scores(log_probs: FloatArray, score: Score) -> FloatArray:
    """Return one score for every class, (n, K), rounded so that equal probabilities make ties."""
    if score == "probability":
        values = log_odds_of_classes(log_probs)
    elif score == "logit":
        values = normalised(log_probs)
    elif score == "margin":
        ascending = np.sort(log_probs, axis=1)
        best, second = ascending[:, -1:], ascending[:, -2:-1]
        values = log_probs - np.where(log_probs == best, second, best)
    else:
        raise InputError(f'score must be "probability", "logit" or "margin", but is {score!r}.')
    return np.round(values, SCORE_DECIMALS)
