"""Adjust calibrated probabilities to a different base rate."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant._border.numerals import as_given
from calibrant._border.types import FloatArray, IntArray
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.rules import Rule, are_shares
from calibrant.exceptions import InputError


def _are_rates(values: FloatArray) -> bool:
    return are_shares(values) and bool(values.min() > 0)


@dataclass(eq=False, repr=False)
class PriorShift(Calibrator):
    r"""Adjust probabilities from one base rate to another that is known.

    It is correct if only the shares of the classes have changed, not the distribution of the features within a class
    (prior shift, or label shift), and if the probabilities are calibrated for the old base rate: calibrate first.
    Correcting twice is as wrong as not correcting. For a model that was trained with class weights, the old base rate
    is the weighted one.

    It is not in CALIBRATORS, because labelled rows from before the change do not show the new base rate.
    `calibrant.decisions.estimate_base_rate` estimates it from new rows without labels.

    Parameters
    ----------
    base_rate : float, or sequence of length K
        The new share of class 1 for two classes, or the new shares of all classes.
    trained_rate : float, or sequence of length K, optional
        The shares that the probabilities are calibrated for; by default those of the labels in `fit`.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    trained_rate_, base_rate_ : ndarray of shape (K,)
        Shares of the classes, before and after.

    Notes
    -----
    With the shares :math:`\pi_k` before and :math:`\pi'_k` after,

    .. math:: q_k = \frac{p_k \pi'_k / \pi_k}{\sum_j p_j \pi'_j / \pi_j},

    which for two classes shifts the log-odds by :math:`\ln \frac{\pi' (1 - \pi)}{(1 - \pi') \pi}`.

    References
    ----------
    M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities",
    Neural Computation 14 (2002).

    Examples
    --------
    >>> shift = PriorShift(0.02, trained_rate=0.3).fit([0.2, 0.9], [0, 1])
    >>> shift.predict_proba([0.8, 0.3]).round(4)[:, 1].tolist()
    [0.16, 0.02]
    """

    base_rate: object
    trained_rate: object = None
    scores: Literal["probs", "logits"] = "probs"

    kind = "parametric"
    preserves_argmax = False
    n_parameters = "K - 1"
    data_efficiency = "high"
    expressiveness = "low"
    use_when = "The shares of the classes have changed, are known, and nothing else has changed."
    rules = (
        Rule(("trained_rate_",), _are_rates, "must be shares above 0 that sum to 1"),
        Rule(("base_rate_",), _are_rates, "must be shares above 0 that sum to 1"),
    )

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        k = log_probs.shape[1]
        found: object = np.bincount(labels, weights, minlength=k) / weights.sum()
        self.base_rate_ = as_rates(self.base_rate, k, "base_rate")
        self.trained_rate_ = as_rates(found if self.trained_rate is None else self.trained_rate, k, "trained_rate")

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        return log_probs + log_ratios(self.trained_rate_, self.base_rate_)

    def _operations(self, x: ops.Value, k: int) -> ops.Value:  # noqa: ARG002 (one signature)
        return x + log_ratios(self.trained_rate_, self.base_rate_)

    def between(self, classes: object) -> "PriorShift":
        """Fit the shift without rows and return it; both base rates must be given.

        Examples
        --------
        >>> PriorShift(0.5, trained_rate=0.2).between(["no", "yes"]).predict_proba([0.1]).round(4).tolist()
        [[0.6923, 0.3077]]
        """
        if self.trained_rate is None:
            raise InputError("trained_rate must be given, because there are no labels to compute it from.")
        self.classes_ = np.array(classes)
        k = len(self.classes_)
        self.base_rate_ = as_rates(self.base_rate, k, "base_rate")
        self.trained_rate_ = as_rates(self.trained_rate, k, "trained_rate")
        return self


def log_ratios(trained: FloatArray, base: FloatArray) -> FloatArray:
    """Return the number to add to the log-probability of each class."""
    return np.asarray(np.log(base) - np.log(trained))


def as_rates(value: object, n_classes: int, name: str) -> FloatArray:
    """Return the shares of all classes, given these or, for two classes, the share of class 1.

    Examples
    --------
    >>> as_rates(0.25, 2, "base_rate").tolist()
    [0.75, 0.25]
    """
    try:
        rates = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be one share, or one per class, but is {value!r:.60}.") from error
    if rates.shape == (1,) and n_classes == 2:
        rates = np.array([1 - rates[0], rates[0]])
    if rates.shape != (n_classes,):
        raise InputError(
            f"{name} must be {'one share, or ' if n_classes == 2 else ''}{n_classes} shares, one per class, but "
            f"there are {rates.size}."
        )
    if not (np.all(rates > 0) and np.all(rates < 1)):
        bad = int(np.flatnonzero(~((rates > 0) & (rates < 1)))[0])
        raise InputError(
            f"{name} must be above 0 and below 1, but is {as_given(rates[bad])} for class number {bad}: a class that "
            "never occurs has no probability to move."
        )
    if abs(float(rates.sum()) - 1) > 1e-6:
        raise InputError(f"{name} must sum to 1, but sums to {as_given(rates.sum())}.")
    return rates / rates.sum()
