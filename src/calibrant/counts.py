"""Class probabilities from counts: relative frequency, Laplace correction, m-estimate."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence, Sized
from dataclasses import dataclass

import numpy as np

from calibrant._border.checks import SUM_TOLERANCE, as_weights
from calibrant._border.convert import convert
from calibrant._border.labels import as_classes, as_labels
from calibrant._border.numerals import as_given
from calibrant._border.settings import check_count
from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions


class Smoothing(ABC):
    """A rule that turns class counts into probabilities.

    Every rule adds pseudo-counts and divides by the sum. Called with an array of counts, (..., K), it returns
    probabilities of the same shape. Counts may be sums of weights.
    """

    @abstractmethod
    def pseudo_counts(self, counts: FloatArray) -> FloatArray:
        """Return the numbers to add to the counts, of shape (K,)."""

    def __call__(self, counts: object) -> FloatArray:
        """Return the probabilities of the classes, (..., K)."""
        clean = _as_counts(counts)
        with np.errstate(over="ignore"):
            raised = clean + self.pseudo_counts(clean)
            total = raised.sum(axis=-1, keepdims=True)
        if not np.all((total > 0) & (total < np.inf)):
            _refuse_total(clean, total, self)
        return raised / total


@dataclass(frozen=True)
class RelativeFrequency(Smoothing):
    r"""The empirical probability :math:`n_i / |S|`: no smoothing.

    Examples
    --------
    >>> RelativeFrequency()([1, 3]).tolist()
    [0.25, 0.75]
    """

    def pseudo_counts(self, counts: FloatArray) -> FloatArray:
        """Return zeros."""
        return np.zeros(counts.shape[-1])


@dataclass(frozen=True)
class LaplaceCorrection(Smoothing):
    r"""One pseudo-count for each of the K classes: :math:`(n_i + 1) / (|S| + K)`.

    Examples
    --------
    >>> LaplaceCorrection()([0, 2]).tolist()
    [0.25, 0.75]
    """

    def pseudo_counts(self, counts: FloatArray) -> FloatArray:
        """Return ones."""
        return np.ones(counts.shape[-1])


@dataclass(frozen=True)
class MEstimate(Smoothing):
    r"""A total of m pseudo-counts, divided by a prior: :math:`(n_i + m \pi_i) / (|S| + m)`.

    Parameters
    ----------
    m : float
        Number of pseudo-counts, not negative. 0 gives the relative frequency.
    prior : sequence of K probabilities, "uniform" or "observed", default="uniform"
        "observed" is the class frequencies of all counts that the rule is called with, which are those of the whole
        training data for the leaves of a tree or the segments of a hull. K pseudo-counts with the prior "uniform" are
        the Laplace correction.

    Examples
    --------
    >>> MEstimate(2, prior=[0.75, 0.25])([0, 2]).tolist()
    [0.375, 0.625]
    >>> MEstimate(2, prior="observed")([[1, 1], [5, 1]]).tolist()
    [[0.625, 0.375], [0.8125, 0.1875]]
    """

    m: float
    prior: str | Sequence[float] | FloatArray = "uniform"

    def __post_init__(self) -> None:
        if isinstance(self.m, bool) or not isinstance(self.m, (int, float, np.integer, np.floating)):
            raise TypeError(f"m must be a number, but is {self.m!r}.")
        if not 0 <= self.m < np.inf:
            raise InputError(f"m must be finite and not negative, but is {self.m!r}. It is a number of pseudo-counts.")
        if not (isinstance(self.prior, str) and self.prior in ("uniform", "observed")):
            object.__setattr__(self, "prior", _as_prior(self.prior))

    def pseudo_counts(self, counts: FloatArray) -> FloatArray:
        """Return m times the prior."""
        n_classes = counts.shape[-1]
        if self.prior == "uniform":
            return np.full(n_classes, self.m / n_classes)
        if self.prior == "observed":
            return self.m * RelativeFrequency()(counts.reshape(-1, n_classes).sum(axis=0))
        if len(self.prior) != n_classes:
            raise InputError(
                f"prior must have one probability per class, but has {len(self.prior)} for {n_classes} classes."
            )
        return self.m * np.array(self.prior)


def relative_frequency(counts: object) -> FloatArray:
    """Return the share of each class, n_i / n, with the shape of the counts.

    Parameters
    ----------
    counts : array-like of shape (..., K)
        Number of rows of each class, or the sum of their weights; `class_counts` computes them from labels.

    Examples
    --------
    >>> relative_frequency(class_counts(["spam", "ham", "spam", "spam"], classes=["ham", "spam"])).tolist()
    [0.25, 0.75]
    """
    return RelativeFrequency()(counts)


def laplace(counts: object) -> FloatArray:
    """Return the Laplace-corrected share of each class, (n_i + 1) / (n + K).

    Parameters
    ----------
    counts : array-like of shape (..., K)

    Examples
    --------
    >>> laplace([2, 1, 0]).round(3).tolist()
    [0.5, 0.333, 0.167]
    """
    return LaplaceCorrection()(counts)


def m_estimate(counts: object, m: float, prior: str | Sequence[float] | FloatArray = "uniform") -> FloatArray:
    """Return the m-estimate of the share of each class, (n_i + m prior_i) / (n + m).

    Parameters
    ----------
    counts : array-like of shape (..., K)
    m : float
    prior : sequence of K probabilities, "uniform" or "observed", default="uniform"
        As for `MEstimate`.

    Examples
    --------
    >>> m_estimate([1, 0], m=3, prior=[0.5, 0.5]).tolist()
    [0.625, 0.375]
    """
    return MEstimate(m, prior)(counts)


def class_counts(labels: object, classes: int | Sequence[object], weights: object = None) -> FloatArray:
    """Return the number of rows of each class, or the sum of their weights.

    Parameters
    ----------
    labels : array-like of shape (n,)
        As for `Predictions`: integers 0 to K - 1, booleans, names found in `classes`, or one-hot rows.
    classes : int or sequence of length K
        The number of classes, or their names in order; a class need not occur in the labels.
    weights : array-like of shape (n,), optional
        By default, each row counts 1.

    Returns
    -------
    ndarray of shape (K,)

    Examples
    --------
    >>> class_counts([0, 2, 2], classes=3).tolist()
    [1.0, 0.0, 2.0]
    """
    n_classes, names = _as_classes(classes)
    raw = convert(labels, "labels")
    if raw.values.ndim == 0:
        raise InputError("labels must have one entry per row, but are a single value. Pass a list.")
    indices, _ = as_labels(raw, raw, (len(raw.values), n_classes), names)
    mass = as_weights(None if weights is None else convert(weights, "weights"), len(indices))
    return np.bincount(indices, weights=mass, minlength=n_classes).astype(np.float64)


def as_smoothing(smoothing: Smoothing | None) -> Smoothing:
    """Return the rule itself, or the relative frequency for None."""
    if smoothing is None:
        return RelativeFrequency()
    if not isinstance(smoothing, Smoothing):
        raise TypeError(f"smoothing must be None or a rule such as LaplaceCorrection(), but is {smoothing!r}.")
    return smoothing


def _as_classes(classes: object) -> tuple[int, tuple[Hashable, ...] | None]:
    """Return the number of classes, and their names if they were given."""
    if isinstance(classes, (int, np.integer)):
        check_count(classes, "classes")
        return int(classes), None
    n_classes = len(classes) if isinstance(classes, Sized) else 0
    if n_classes == 0:
        raise InputError(f"classes must be the number of classes or a list of their names, but is {classes!r:.60}.")
    return n_classes, as_classes(classes, n_classes)


def _as_counts(data: object) -> FloatArray:
    values = convert(data, "counts").values
    if values.dtype.kind not in "fiub":
        raise TypeError(f"counts must be numbers, but have dtype {values.dtype}. Count labels with class_counts.")
    if values.ndim == 0 or values.shape[-1] == 0:
        raise InputError(f"counts must have one entry per class, (..., K), but have shape {values.shape}.")
    counts = values.astype(np.float64)
    bad = ~(np.isfinite(counts) & (counts >= 0))
    if bad.any():
        place = tuple(np.argwhere(bad)[0].tolist())
        raise InputError(
            f"counts must be finite and not negative, but the entry at {place} is {as_given(counts[place])}."
        )
    return counts


def _as_prior(prior: object) -> tuple[float, ...]:
    if isinstance(prior, (str, int, float)):
        raise TypeError(f'prior must be K probabilities, "uniform" or "observed", but is {prior!r}.')
    values = convert(prior, "prior").values
    if values.ndim != 1 or values.dtype.kind not in "fiub" or not np.all(values >= 0):
        raise InputError(f"prior must be a list of K probabilities, none of them negative, but is {prior!r:.80}.")
    total = float(values.sum())
    if not abs(total - 1) <= SUM_TOLERANCE:
        raise InputError(
            f"prior must sum to 1, but sums to {as_given(total)}. Divide it by its sum if it holds counts."
        )
    return tuple((values / total).tolist())


def _refuse_total(counts: FloatArray, total: FloatArray, rule: Smoothing) -> None:
    place = tuple(np.argwhere(~((total > 0) & (total < np.inf)))[0, :-1].tolist())
    found = "infinite. Rescale them." if counts[place].any() else "0. Use LaplaceCorrection() for empty counts."
    raise InputError(f"counts{[*place] or ''} must have a positive, finite sum for {rule!r}, but it is {found}")


def class_shares(predictions: Predictions) -> FloatArray:
    """Return the share of each class among the labels, by weight.

    Examples
    --------
    >>> class_shares(Predictions([0.8, 0.3, 0.2, 0.7], labels=[1, 0, 0, 0])).tolist()
    [0.75, 0.25]
    """
    mass = np.bincount(predictions.labels, predictions.weights, minlength=predictions.n_classes)
    return np.asarray(mass / predictions.weights.sum())
