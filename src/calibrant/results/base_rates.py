"""Base rates of rows without labels."""

from collections.abc import Hashable
from dataclasses import dataclass

from calibrant._border.types import FloatArray
from calibrant.results.assessment import TestResult
from calibrant.results.reading import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BaseRate(Readable):
    """The base rate of rows without labels, by maximum likelihood.

    Attributes
    ----------
    value, low, high : float
        The base rate of class 1, and its limits by the profile of the likelihood.
    level : float
    trained_rate : float
        The base rate that the probabilities are calibrated for.
    n_samples : int
    assumption : str
        What the value and its limits rest on.
    """

    value: float
    low: float
    high: float
    level: float
    trained_rate: float
    n_samples: int
    assumption: str


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BaseRates(Readable):
    """The shares of several classes among rows without labels, by maximum likelihood.

    Attributes
    ----------
    classes : tuple
    value : ndarray of shape (K,)
        The share of every class.
    low, high : ndarray of shape (K,) or None
        Its limits by the profile of the likelihood, each by itself.
    level : float
    trained_rate : ndarray of shape (K,)
        The shares that the probabilities are calibrated for.
    n_samples : int
    assumption : str
        What the values and their limits rest on.
    n_trained : int or None
        The number of rows that these shares were taken from, whose chance is in the limits; None if they were given.
    reason : str
        Why there are no limits.
    """

    classes: tuple[Hashable, ...]
    value: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    level: float
    trained_rate: FloatArray
    n_samples: int
    assumption: str
    n_trained: int | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Population(Readable):
    """Rows without labels, where predictions are used, and the shares of their classes.

    Attributes
    ----------
    name : str
        Of the file.
    shares : BaseRates
        Estimated with the labelled rows as those of the old shares.
    test : TestResult
        Of the calibration of the labelled rows as they are, which the estimate rests on.
    """

    name: str
    shares: BaseRates
    test: TestResult
