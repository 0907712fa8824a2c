"""What the p-values of a unit say: rates with Monte Carlo intervals, and the whole distribution with its band."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray
from studies.simulations.limits import Departure, band_width, clopper_pearson, departure
from studies.validity.units import Unit

LEVELS = (0.01, 0.05, 0.10)
"""Levels at which rejections are counted."""

CONFIDENCE = 0.999
"""Level of each interval and each band where predictions are calibrated."""

POWER_LEVEL, POWER_CONFIDENCE = 0.05, 0.95
"""Where they are not: the level of the tests, and the confidence of the intervals."""


@dataclass(frozen=True)
class Rate:
    """A share of data sets on which the test rejects at a level, with its interval."""

    level: float
    value: float
    low: float
    high: float

    @property
    def is_above(self) -> bool:
        """Whether the test rejects more often than its level allows, beyond chance."""
        return self.low > self.level

    @property
    def is_below(self) -> bool:
        """Whether it rejects less often, beyond chance."""
        return self.high < self.level


@dataclass(frozen=True, eq=False)
class Summary:
    """One row of a table.

    Attributes
    ----------
    unit : Unit
    refused : int
        Data sets that the test refused with an explanation; they count as not rejected, with a p-value of 1.
    pvalues : ndarray of shape (sets,)
    rates : tuple of Rate
    departure : Departure
        Of the distribution function of the p-values from the uniform one.
    band : float
        What chance explains of it.
    """

    unit: Unit
    refused: int
    pvalues: FloatArray
    rates: tuple[Rate, ...]
    departure: Departure
    band: float

    @property
    def refuses(self) -> bool:
        """Whether no data set was answered."""
        return self.refused == len(self.pvalues)

    @property
    def rejects_too_often(self) -> bool:
        """Whether the rate is above the level, beyond chance, at any of the levels."""
        return any(rate.is_above for rate in self.rates)

    @property
    def rejects_too_seldom(self) -> bool:
        """Whether it is below, beyond chance, at any of them."""
        return any(rate.is_below for rate in self.rates)

    @property
    def rises_above(self) -> bool:
        """Whether p-values below some t, small or large, are more frequent than t, beyond chance."""
        return self.departure.excess > self.band

    @property
    def falls_below(self) -> bool:
        """Whether p-values below some t are less frequent than t, beyond chance."""
        return self.departure.deficit > self.band

    @property
    def level_verdict(self) -> str:
        """What the rates say."""
        return "refuses" if self.refuses else _verdict(self.rejects_too_often, self.rejects_too_seldom)

    @property
    def whole_verdict(self) -> str:
        """What the whole distribution says."""
        return "refuses" if self.refuses else _verdict(self.rises_above, self.falls_below)


def _verdict(above: bool, below: bool) -> str:
    words = [word for word, holds in (("too often", above), ("too seldom", below)) if holds]
    return " and ".join(words) or "as stated"


def summarise(unit: Unit, raw: FloatArray) -> Summary:
    """Summarise p-values, NaN where the test refused."""
    pvalues = np.where(np.isnan(raw), 1.0, raw)
    levels, confidence = (LEVELS, CONFIDENCE) if unit.cell.is_null else ((POWER_LEVEL,), POWER_CONFIDENCE)
    return Summary(
        unit=unit,
        refused=int(np.isnan(raw).sum()),
        pvalues=pvalues,
        rates=tuple(_rate(pvalues, level, confidence) for level in levels),
        departure=departure(pvalues),
        band=band_width(len(pvalues), confidence),
    )


def _rate(pvalues: FloatArray, level: float, confidence: float) -> Rate:
    rejected, total = int((pvalues <= level).sum()), len(pvalues)
    return Rate(level, rejected / total, *clopper_pearson(rejected, total, confidence))
