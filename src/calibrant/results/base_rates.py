"""Base rates of rows without labels."""

from collections.abc import Hashable
from dataclasses import dataclass

from calibrant._border.types import FloatArray
from calibrant.results.assessment import TestResult
from calibrant.results.readable import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BaseRate(Readable):
    """The base rate of rows without labels, by maximum likelihood.

    Attributes
    ----------
    value, low, high : float
        The base rate of class 1, and its limits by profile likelihood.
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
        Limits of each share alone, by profile likelihood.
    level : float
    trained_rate : ndarray of shape (K,)
        The shares that the probabilities are calibrated for.
    n_samples : int
    assumption : str
        What the values and their limits rest on.
    n_trained : int or None
        The number of rows from which `trained_rate` was estimated, whose chance error the limits include; None if it
        was given.
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
    """A data set without labels, on which predictions are used, and the shares of its classes.

    Attributes
    ----------
    name : str
        Name of the file.
    shares : BaseRates
        Estimated shares; the labelled rows have the old ones.
    test : TestResult
        Test of the calibration of the labelled rows, on which the estimate rests.
    """

    name: str
    shares: BaseRates
    test: TestResult
